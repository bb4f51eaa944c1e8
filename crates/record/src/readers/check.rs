//! A comparison of the code that a log shows with the code of the placed files.

use flashpager_base::{Error, Result};

use super::MAX_INSTRUCTION_BYTES;
use crate::placement::{PlacedCode, Placer};

/// Differences up to which the file is believed: debuggers and kernels change single instructions.
const MAX_DIFFERENCES: u32 = 10;

/// Compares instructions of a log with the bytes of the placed files.
#[derive(Default)]
pub(crate) struct CodeCheck {
    code: Vec<PlacedCode>,
    /// Name of the file, for messages.
    file: String,
    compared: u32,
    differing: u32,
    /// Address of the first instruction that differs.
    first: Option<u64>,
}

impl CodeCheck {
    /// Reads the code that `placer` places. Without files nothing is compared.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn new(placer: Option<&Placer>) -> Result<Self> {
        let Some(placer) = placer else { return Ok(Self::default()) };
        let file = placer.images().first().map(|image| image.path.clone()).unwrap_or_default();
        Ok(Self { code: placer.placed_code()?, file, ..Self::default() })
    }

    /// Compares an instruction at `address`. `digits` are its bytes in hexadecimal, in groups
    /// between spaces; a group is a number in the byte order of the processor, or bytes in order.
    ///
    /// # Errors
    /// If there are too many differences, because another file ran.
    pub fn compare(&mut self, address: u64, digits: &[u8]) -> std::result::Result<(), String> {
        let Some((code, _)) = self.code_at(address) else { return Ok(()) };
        let is_same = matches(code, digits);
        self.count(address, is_same)
    }

    /// Compares the first bytes of an instruction at `address`.
    ///
    /// # Errors
    /// If [`CodeCheck::compare`] would fail.
    pub fn compare_bytes(&mut self, address: u64, bytes: &[u8]) -> std::result::Result<(), String> {
        let Some((code, _)) = self.code_at(address) else { return Ok(()) };
        let length = code.len().min(bytes.len());
        let (code, bytes) = (&code[..length], &bytes[..length]);
        let is_same = code == bytes || code.iter().eq(bytes.iter().rev());
        self.count(address, is_same)
    }

    /// Returns true if no code is placed.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// The placed bytes from `address` on, and whether they are Thumb code; `None` outside.
    pub fn code_at(&self, address: u64) -> Option<(&[u8], bool)> {
        let after = self.code.partition_point(|code| code.start <= address);
        let code = self.code[..after].last()?;
        let ahead = usize::try_from(address - code.start).ok()?;
        let bytes = code.bytes.get(ahead..).filter(|bytes| !bytes.is_empty())?;
        Some((bytes, code.is_thumb(address)))
    }

    fn count(&mut self, address: u64, is_same: bool) -> std::result::Result<(), String> {
        self.compared = self.compared.saturating_add(1);
        if is_same {
            return Ok(());
        }
        self.differing += 1;
        let first = *self.first.get_or_insert(address);
        if self.differing > MAX_DIFFERENCES { Err(self.refusal(first)) } else { Ok(()) }
    }

    fn refusal(&self, first: u64) -> String {
        format!(
            "{} of {} instructions differ from {} (the first at {first:#x}): this ELF is not what \
             ran",
            self.differing, self.compared, self.file
        )
    }

    /// Concludes. Returns a note if some instructions differed.
    ///
    /// # Errors
    /// If the log is short and at least half of it differs.
    pub fn finish(self, input: &str) -> Result<Option<String>> {
        let Some(first) = self.first else { return Ok(None) };
        if self.differing * 2 >= self.compared {
            return Err(Error::data(input, self.refusal(first)));
        }
        let plural = if self.differing == 1 { "" } else { "s" };
        Ok(Some(format!(
            "why {} instruction{plural} differed from {} (the first at {first:#x})",
            self.differing, self.file
        )))
    }
}

/// Returns true if `code` begins with the bytes of `digits`.
fn matches(code: &[u8], digits: &[u8]) -> bool {
    let mut at = 0;
    for group in digits.split(|byte| *byte == b' ').filter(|group| !group.is_empty()) {
        let mut bytes = [0; MAX_INSTRUCTION_BYTES];
        let length = group.len() / 2;
        let Some(bytes) = bytes.get_mut(..length) else { return false };
        for (byte, pair) in bytes.iter_mut().zip(group.chunks_exact(2)) {
            let digit = |index: usize| (pair[index] as char).to_digit(16);
            let (Some(high), Some(low)) = (digit(0), digit(1)) else { return false };
            *byte = (high << 4 | low) as u8;
        }
        let here = &code[at.min(code.len())..];
        let here = &here[..here.len().min(length)];
        // The section may end within the instruction.
        let in_order = bytes[..here.len()] == *here;
        // Thumb has the first half of an instruction first, and each half low byte first.
        let mut halves = [0; MAX_INSTRUCTION_BYTES];
        halves[..length].copy_from_slice(bytes);
        halves[..length].chunks_exact_mut(2).for_each(<[u8]>::reverse);
        bytes.reverse();
        if !in_order && bytes[..here.len()] != *here && halves[..here.len()] != *here {
            return false;
        }
        at += length;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn groups_are_compared_in_both_byte_orders() {
        assert!(matches(&[0x4f, 0xf0, 0x00, 0x0b, 9], b"f04f 0b00"));
        assert!(matches(&[0xf0, 0x4f, 0x0b, 0x00], b"f04f 0b00"));
        assert!(matches(&[0x31, 0xed], b"31 ed"));
        assert!(matches(&[0x4f, 0xf0, 0x00, 0x0b], b"f04f0b00"));
        assert!(!matches(&[0x31, 0xee], b"31 ed"));
        assert!(matches(&[0x31], b"31 ed"));
        assert!(!matches(&[0], b"0g"));
    }
}
