//! Text of `valgrind --tool=lackey --trace-mem=yes`.
//!
//! `I  04016b80,3` is an instruction at that address, three bytes long; ` L`,
//! ` S` and ` M` are data accesses; Valgrind's own messages start with `==`.

use flashpager_base::Result;

use super::fetch::{Fetch, ReadAccess};
use super::input::{TextLines, parse_decimal, parse_hex};

/// Longest instruction of any architecture that Valgrind runs, with headroom.
const MAX_INSTRUCTION_BYTES: u64 = 64;

/// Longest access of an instruction, with headroom.
const MAX_READ_BYTES: u64 = 4096;

/// Whether a file that starts with `start` looks like this format.
pub fn recognises(start: &[u8]) -> bool {
    [&b"I  "[..], b" L ", b" S ", b" M ", b"=="].iter().any(|head| start.starts_with(head))
}

/// An instruction that is read and may yet turn out to be none.
struct PendingInstruction {
    line: u64,
    fetch: Fetch,
    /// What it read.
    reads: Vec<ReadAccess>,
    /// Whether it accessed data.
    accessed: bool,
    /// Whether it follows itself, and accessed data before.
    repeated: bool,
}

impl PendingInstruction {
    /// Valgrind comes back to a repeated instruction (`rep movsb`) to find that nothing is left
    /// to repeat, and goes on behind it: a processor does not.
    fn is_end_of_repetition(&self, next: &Fetch) -> bool {
        let behind = self.fetch.address.checked_add(self.fetch.bytes.into());
        self.repeated && !self.accessed && behind == Some(next.address)
    }
}

/// What lackey says last of a program that it has seen end.
const LAST: &[u8] = b"Exit code:";

/// Told each instruction with its line number and what it read.
type InstructionSink<'a> = &'a mut dyn FnMut(u64, Fetch, &[ReadAccess]) -> Result<()>;

/// Hand every instruction of `lines`, with its line number, to `sink`. Gives whether lackey
/// says that the program ended: it does not where that became another one.
pub fn read(lines: &mut TextLines, sink: InstructionSink<'_>) -> Result<bool> {
    let mut has_ended = false;
    let mut held: Option<PendingInstruction> = None;
    while let Some(line) = lines.next_line()? {
        match line {
            [b'I', b' ', b' ', access @ ..] => {
                let mut fields = access.splitn(2, |byte| *byte == b',');
                let address = fields.next().and_then(parse_hex);
                let bytes = fields.next().and_then(parse_decimal);
                let fetch = match (address, bytes) {
                    (Some(address), Some(bytes @ 1..=MAX_INSTRUCTION_BYTES)) => {
                        Fetch { address, bytes: bytes as u32, instructions: 1 }
                    }
                    _ => return Err(lines.error_showing("not an 'I  address,size' line")),
                };
                let line = lines.number();
                let repeated =
                    held.as_ref().is_some_and(|before| before.accessed && before.fetch == fetch);
                let next = PendingInstruction {
                    line,
                    fetch,
                    reads: Vec::new(),
                    accessed: false,
                    repeated,
                };
                if let Some(before) = held.replace(next)
                    && !before.is_end_of_repetition(&fetch)
                {
                    sink(before.line, before.fetch, &before.reads)?;
                }
            }
            [b' ', kind @ (b'L' | b'S' | b'M'), b' ', access @ ..] => {
                if let Some(held) = &mut held {
                    held.accessed = true;
                    // A modification reads before it writes.
                    if *kind != b'S' {
                        let mut fields = access.splitn(2, |byte| *byte == b',');
                        let address = fields.next().and_then(parse_hex);
                        let bytes = fields.next().and_then(parse_decimal);
                        if let (Some(address), Some(bytes @ 1..=MAX_READ_BYTES)) = (address, bytes)
                        {
                            held.reads.push(ReadAccess { address, bytes: bytes as u32 });
                        }
                    }
                }
            }
            [b'=', b'=', said @ ..] => {
                has_ended |= said.windows(LAST.len()).any(|words| words == LAST);
            }
            [b'-', b'-', ..] | [] => {}
            _ => {
                return Err(lines.error_showing(
                    "not lackey text (write it with --log-file, apart from what the program prints)",
                ));
            }
        }
    }
    if let Some(last) = held {
        sink(last.line, last.fetch, &last.reads)?;
    }
    Ok(has_ended)
}
