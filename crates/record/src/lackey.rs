//! Text of `valgrind --tool=lackey --trace-mem=yes`.
//!
//! `I  04016b80,3` is an instruction at that address, three bytes long; ` L`,
//! ` S` and ` M` are data accesses; Valgrind's own messages start with `==`.

use flashpager_base::Result;

use super::fetch::Fetch;
use super::input::{Lines, parse_decimal, parse_hex};

/// Longest instruction of any architecture that Valgrind runs, with headroom.
const MAX_INSTRUCTION_BYTES: u64 = 64;

/// Whether a file that starts with `start` looks like this format.
pub fn recognises(start: &[u8]) -> bool {
    [&b"I  "[..], b" L ", b" S ", b" M ", b"=="].iter().any(|head| start.starts_with(head))
}

/// Hand every instruction of `lines`, with its line number, to `sink`.
pub fn read(lines: &mut Lines, sink: &mut dyn FnMut(u64, Fetch) -> Result<()>) -> Result<()> {
    while let Some(line) = lines.next_line()? {
        match line {
            [b'I', b' ', b' ', access @ ..] => {
                let mut fields = access.splitn(2, |byte| *byte == b',');
                let address = fields.next().and_then(parse_hex);
                let bytes = fields.next().and_then(parse_decimal);
                match (address, bytes) {
                    (Some(address), Some(bytes @ 1..=MAX_INSTRUCTION_BYTES)) => {
                        let fetch = Fetch { address, bytes: bytes as u32, instructions: 1 };
                        sink(lines.number(), fetch)?;
                    }
                    _ => return Err(lines.error_showing("not an 'I  address,size' line")),
                }
            }
            [b' ', b'L' | b'S' | b'M', b' ', ..] | [b'=', b'=', ..] | [b'-', b'-', ..] | [] => {}
            _ => {
                return Err(lines.error_showing(
                    "not lackey text (write it with --log-file, apart from what the program prints)",
                ));
            }
        }
    }
    Ok(())
}
