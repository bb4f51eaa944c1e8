//! The bus between flash and host.

use std::fmt;
use std::str::FromStr;

use flashpager_base::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The numbers of data lines that a bus or a part can have.
pub const WIDTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// A bus: its clock, the cycles of an access, and its data lines.
///
/// A bus is written `33MHz-x8`, or `120MHz/8-x8` if an access takes 8 cycles of a 120 MHz clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bus {
    /// Clock in MHz.
    pub clock_mhz: f64,
    /// Clock cycles of one access, at least 1.
    pub cycles: u32,
    /// Data lines, one of [`WIDTHS`].
    pub width_bits: u32,
}

impl Bus {
    /// Time of one access.
    pub fn access_ns(self) -> f64 {
        f64::from(self.cycles) * 1e3 / self.clock_mhz
    }

    /// Bytes of one access; a fraction on a serial bus.
    pub fn access_bytes(self) -> f64 {
        f64::from(self.width_bits) / 8.0
    }
}

/// Words of `width_bits` that hold `bytes`, saturating at `u64::MAX`.
pub(crate) fn words(bytes: u64, width_bits: u32) -> u64 {
    let bits = u128::from(bytes) * 8;
    u64::try_from(bits.div_ceil(u128::from(width_bits.max(1)))).unwrap_or(u64::MAX)
}

impl FromStr for Bus {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.split_once("-x").and_then(|(rate, width)| {
            let (clock, cycles) = rate.split_once('/').unwrap_or((rate, "1"));
            let clock_mhz: f64 = clock.strip_suffix("MHz")?.parse().ok()?;
            let cycles: u32 = cycles.parse().ok()?;
            let width_bits: u32 = width.parse().ok()?;
            let sane = clock_mhz > 0.0
                && clock_mhz <= 10_000.0
                && (1..=1000).contains(&cycles)
                && WIDTHS.contains(&width_bits);
            sane.then_some(Self { clock_mhz, cycles, width_bits })
        });
        parsed.ok_or_else(|| {
            Error::design(format!(
                "bus '{text}' is not of the form 33MHz-x8 or 120MHz/8-x8 (clock, cycles an access, \
                 then 1, 2, 4, 8, 16, 32, 64, 128 or 256 data lines)"
            ))
        })
    }
}

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}MHz", self.clock_mhz)?;
        if self.cycles != 1 {
            write!(f, "/{}", self.cycles)?;
        }
        write!(f, "-x{}", self.width_bits)
    }
}

impl Serialize for Bus {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
