//! Numbers and words at the beginning of a text.

/// Parses hexadecimal digits, up to 16. Returns the number and what follows.
#[inline]
pub(crate) fn hex(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    let mut length = 0;
    while let Some(digit) = text.get(length).and_then(|byte| hex_digit(*byte)) {
        value = value << 4 | digit;
        length += 1;
    }
    (1..=16).contains(&length).then(|| (value, &text[length..]))
}

/// Value of a hexadecimal digit.
#[inline]
pub(crate) fn hex_digit(byte: u8) -> Option<u64> {
    match byte {
        b'0'..=b'9' => Some(u64::from(byte - b'0')),
        b'a'..=b'f' => Some(u64::from(byte - b'a') + 10),
        b'A'..=b'F' => Some(u64::from(byte - b'A') + 10),
        _ => None,
    }
}

/// Number of bytes that groups of hexadecimal digits have.
#[inline]
pub(crate) fn hex_length(digits: &[u8]) -> u32 {
    digits.iter().filter(|byte| **byte != b' ').count() as u32 / 2
}

/// Parses decimal digits of a 32-bit number. Returns the number and what follows.
#[inline]
pub(crate) fn decimal(text: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0u32;
    let mut length = 0;
    while let Some(digit @ b'0'..=b'9') = text.get(length) {
        value = value.checked_mul(10)?.checked_add(u32::from(digit - b'0'))?;
        length += 1;
    }
    (length > 0).then(|| (value, &text[length..]))
}

/// The first word of a text, and what follows the spaces behind it.
#[inline]
pub(crate) fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

/// Numbers of threads that a log has names for, in the order in which they appear.
#[derive(Default)]
pub(crate) struct ThreadNames(Vec<Vec<u8>>);

impl ThreadNames {
    /// The number of the thread with this name.
    pub fn number(&mut self, name: &[u8]) -> u32 {
        let known = self.0.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.0.push(name.to_vec());
            self.0.len() - 1
        }) as u32
    }
}
