//! Sizes as people write them (`2K`, `1.9K`, `64`), and the limits of page sizes.

use crate::{Error, Result};

/// The largest flash page, in bytes. Real pages have at most 16 KiB.
pub const MAX_FLASH_PAGE_BYTES: u32 = 1 << 20;

/// The largest page of small-page chips, in bytes. They cannot change the column.
pub const SMALL_PAGE_BYTES: u32 = 512;

/// Checks that a size is a power of two; `name` is its name in the error.
///
/// # Errors
/// If it is not.
pub fn power_of_two(name: &str, bytes: u32) -> Result<()> {
    if bytes.is_power_of_two() {
        Ok(())
    } else {
        Err(Error::design(format!("a {name} of {bytes} bytes is no power of two")))
    }
}

/// The largest size that can be written.
const MAX_BYTES: u128 = 1 << 40;

/// Converts the bytes of a page, a codeword or a cache to 32 bits, as flash offsets have.
///
/// # Errors
/// If there are 4 GiB or more.
pub fn below_4_gib(name: &str, bytes: u64) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Error::design(format!("{name} = {bytes} is not below 4 GiB")))
}

/// The most digits after the decimal point.
const MAX_DECIMALS: usize = 6;

/// Parses a size with an optional `K`, `M` or `G` (powers of 1024) into bytes. A fraction of a
/// byte, as in 1.9 KB, is dropped.
///
/// # Errors
/// If the text is no size, or the size is 0 or over 1024 G.
pub fn parse_size(text: &str) -> Result<u64> {
    let no_size = || {
        Error::design(format!(
            "'{text}' is no size: write bytes, or K, M or G behind a number, as 2K"
        ))
    };
    let upper = text.trim().to_ascii_uppercase();
    let digits =
        upper.len() - upper.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, unit) = upper.split_at(digits);
    let unit = unit.trim_start();
    let unit = unit.strip_suffix("IB").or_else(|| unit.strip_suffix('B')).unwrap_or(unit);
    let factor: u128 = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(no_size()),
    };
    let (whole, decimals) = match number.split_once('.') {
        // Without a unit, a fraction would be one of a byte.
        Some((_, decimals))
            if unit.is_empty()
                || decimals.is_empty()
                || decimals.len() > MAX_DECIMALS
                || decimals.contains('.') =>
        {
            return Err(no_size());
        }
        Some(parts) => parts,
        None => (number, ""),
    };
    if whole.is_empty() {
        return Err(no_size());
    }
    let scale = 10_u128.pow(decimals.len() as u32);
    // A number with too many digits is too large in any unit.
    let scaled = format!("{whole}{decimals}").parse().unwrap_or(u128::MAX);
    let bytes = scaled.saturating_mul(factor) / scale;
    if !(1..=MAX_BYTES).contains(&bytes) {
        return Err(Error::design(format!("'{text}' is no size between 1 byte and 1024 G")));
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_as_people_write_them() {
        let right = [
            ("2K", 2048),
            ("1.9K", 1945),
            ("64", 64),
            (" 4 KiB ", 4096),
            ("3mb", 3 << 20),
            ("1024G", 1 << 40),
            ("512B", 512),
        ];
        for (text, bytes) in right {
            assert_eq!(parse_size(text).ok(), Some(bytes), "{text}");
        }
        for text in [
            "",
            "K",
            "2Q",
            "1.5",
            "1.K",
            ".5K",
            "-1",
            "0",
            "0K",
            "1025G",
            "1.1234567K",
            "1.2.3K",
            "9".repeat(60).as_str(),
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
