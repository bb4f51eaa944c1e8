//! Dinero `din`: a label, then a hexadecimal address, one access a line.
//!
//! Labels: 0 read, 1 write, 2 instruction fetch; Dinero IV's 3 (escape) and 4
//! (flush) are passed over like reads and writes. The format has no
//! instruction lengths.

use flashpager_base::Result;

use super::fetch::Fetch;
use super::input::{TextLines, parse_hex};

/// Whether a file that starts with `start` looks like this format.
pub fn recognises(start: &[u8]) -> bool {
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    parse(line).is_some()
}

fn parse(line: &[u8]) -> Option<(u8, u64)> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    match fields.next()? {
        [label @ b'0'..=b'4'] => Some((label - b'0', parse_hex(fields.next()?)?)),
        _ => None,
    }
}

/// Hand every instruction fetch of `lines`, with its line number, to `sink`,
/// each `instruction_bytes` long.
pub fn read(
    lines: &mut TextLines,
    instruction_bytes: u32,
    sink: &mut dyn FnMut(u64, Fetch) -> Result<()>,
) -> Result<()> {
    while let Some(line) = lines.next_line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse(line) {
            Some((2, address)) => {
                let fetch = Fetch { address, bytes: instruction_bytes, instructions: 1 };
                sink(lines.number(), fetch)?;
            }
            Some(_) => {}
            None => {
                return Err(lines.error_showing("not a din line (a label 0 to 4, a hex address)"));
            }
        }
    }
    Ok(())
}
