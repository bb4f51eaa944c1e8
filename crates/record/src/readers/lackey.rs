//! Text of `valgrind --tool=lackey --trace-mem=yes`.
//!
//! A line `I  04016b80,3` is an instruction at that address, three bytes long. Lines that begin
//! with ` L`, ` S` and ` M` are the loads, stores and modifications of the instruction before
//! them. Lines that begin with `==` are messages of Valgrind.

use flashpager_base::{Result, shown};
use flashpager_trace::Ending;

use crate::fetch::{Fetch, ReadAccess};
use crate::input::{Input, TextLines, parse_decimal, parse_hex};
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

/// Longest instruction of any architecture that Valgrind runs, with headroom.
const MAX_INSTRUCTION_BYTES: u64 = 64;

/// Longest access of an instruction, with headroom.
const MAX_READ_BYTES: u64 = 4096;

/// Part of the message that lackey writes when a program ends.
const EXIT_MESSAGE: &[u8] = b"Exit code:";

/// Part of Valgrind's message about an instruction that it cannot translate. The instruction's
/// bytes follow.
const UNKNOWN_MESSAGE: &str = "unhandled instruction";

/// Beginnings of the messages of Valgrind's translator. They lack the `==` of other messages.
const TRANSLATOR_MESSAGES: [&[u8]; 3] = [b"vex ", b"disInstr(", b"ARM64 front end"];

fn recognises(start: &[u8]) -> bool {
    [&b"I  "[..], b" L ", b" S ", b" M ", b"=="].iter().any(|head| start.starts_with(head))
}

/// Reads all instructions. The program has ended if lackey wrote its exit code. Lackey does not
/// write it if the program executed another program.
fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    let mut reader = LackeyReader::default();
    let mut lines = TextLines::new(input);
    while let Some(line) = lines.next_line()? {
        match line {
            [b'I', b' ', b' ', access @ ..] => {
                let Some(fetch) = parse_fetch(access) else {
                    return Err(lines.error_showing("not an 'I  address,size' line"));
                };
                reader.add_instruction(lines.number(), fetch, session)?;
                session.doubt_if_cut(&lines);
            }
            [b' ', kind @ (b'L' | b'S' | b'M'), b' ', access @ ..] => {
                reader.add_access(*kind, access);
            }
            [b'-', b'-', ..] | [] => {}
            message => {
                if !reader.add_message(message) {
                    return Err(lines.error_showing(
                        "not lackey text (write it with --log-file, apart from what the program \
                         prints)",
                    ));
                }
            }
        }
    }
    reader.finish(session)
}

fn parse_fetch(access: &[u8]) -> Option<Fetch> {
    let (address, bytes) = parse_access(access)?;
    let is_possible = (1..=MAX_INSTRUCTION_BYTES).contains(&bytes);
    is_possible.then_some(Fetch { address, bytes: bytes as u32, instructions: 1 })
}

/// Parses `address,size`.
fn parse_access(access: &[u8]) -> Option<(u64, u64)> {
    let mut fields = access.splitn(2, |byte| *byte == b',');
    Some((parse_hex(fields.next()?)?, parse_decimal(fields.next()?)?))
}

/// State between two lines.
#[derive(Default)]
struct LackeyReader {
    /// The last instruction, which the next line may still change.
    pending: Option<PendingInstruction>,
    /// True once lackey has reported the program's exit code.
    has_exited: bool,
    /// The first instruction that Valgrind could not translate.
    unknown: Option<UnknownInstruction>,
}

/// An instruction that has been read. The lines behind it decide which data it read, and whether
/// a processor would have executed it at all.
struct PendingInstruction {
    line: u64,
    fetch: Fetch,
    reads: Vec<ReadAccess>,
    /// True if the instruction accessed data.
    accessed: bool,
    /// True if the instruction before is the same one and accessed data.
    repeated: bool,
}

impl PendingInstruction {
    /// Returns true if this is the last, empty round of a repeated instruction (`rep movsb`).
    /// Valgrind returns to the instruction once more to find that nothing is left to repeat, and
    /// goes on behind it. A processor does not.
    fn is_end_of_repetition(&self, next: &Fetch) -> bool {
        let behind = self.fetch.address.checked_add(self.fetch.bytes.into());
        self.repeated && !self.accessed && behind == Some(next.address)
    }
}

/// An instruction that Valgrind could not translate.
struct UnknownInstruction {
    /// The instruction's bytes and some behind them, as Valgrind prints them.
    bytes: String,
    /// Address and function of the block that it is in, as `0x10914A: main`; empty until Valgrind
    /// prints them.
    block: String,
}

impl std::fmt::Display for UnknownInstruction {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "an instruction that Valgrind does not know ({}", self.bytes)?;
        if !self.block.is_empty() {
            write!(out, ", in the block at {}", self.block)?;
        }
        out.write_str(")")
    }
}

impl LackeyReader {
    /// Adds the instruction of an `I` line, and passes the one before it on.
    fn add_instruction(
        &mut self,
        line: u64,
        fetch: Fetch,
        session: &mut ImportSession<'_>,
    ) -> Result<()> {
        let repeated =
            self.pending.as_ref().is_some_and(|before| before.accessed && before.fetch == fetch);
        let next = PendingInstruction { line, fetch, reads: Vec::new(), accessed: false, repeated };
        match self.pending.replace(next) {
            Some(before) if !before.is_end_of_repetition(&fetch) => {
                session.add_fetch(before.line, before.fetch, &before.reads)
            }
            _ => Ok(()),
        }
    }

    /// Adds a data access of the last instruction. A modification reads before it writes.
    fn add_access(&mut self, kind: u8, access: &[u8]) {
        let Some(pending) = &mut self.pending else { return };
        pending.accessed = true;
        if kind != b'S'
            && let Some((address, bytes @ 1..=MAX_READ_BYTES)) = parse_access(access)
        {
            pending.reads.push(ReadAccess { address, bytes: bytes as u32 });
        }
    }

    /// Takes a message of Valgrind. Returns false for text that it does not write.
    fn add_message(&mut self, message: &[u8]) -> bool {
        if message.starts_with(b"==") {
            self.has_exited |=
                message.windows(EXIT_MESSAGE.len()).any(|words| words == EXIT_MESSAGE);
        }
        let is_of_translator = TRANSLATOR_MESSAGES.iter().any(|head| message.starts_with(head));
        let text = String::from_utf8_lossy(message);
        match &mut self.unknown {
            None if is_of_translator => {
                if let Some((_, bytes)) = text.split_once(UNKNOWN_MESSAGE) {
                    let bytes = bytes.trim_start_matches(" bytes").trim_start_matches(':').trim();
                    self.unknown =
                        Some(UnknownInstruction { bytes: shown(bytes), block: String::new() });
                }
                true
            }
            None => message.starts_with(b"=="),
            Some(unknown) => {
                // The stack of Valgrind itself comes before that of the program.
                if unknown.block.is_empty()
                    && let Some((_, block)) = text.split_once("    at ")
                    && let Some((block, file)) = block.split_once(" (in ")
                    && !file.contains("/valgrind/")
                {
                    unknown.block = shown(block);
                }
                // Valgrind may print anything while it gives up.
                true
            }
        }
    }

    /// Passes the last instruction on. Returns how the program ended.
    fn finish(mut self, session: &mut ImportSession<'_>) -> Result<Ending> {
        if let Some(last) = self.pending.take() {
            session.add_fetch(last.line, last.fetch, &last.reads)?;
        }
        let Some(unknown) = self.unknown else {
            // A text that was saved may lack the messages of lackey.
            let is_cut = session.is_live() && !self.has_exited;
            return Ok(if is_cut { Ending::Interrupted } else { Ending::Complete });
        };
        if self.has_exited {
            let message = format!("{unknown}: the program received SIGILL for it");
            session.recording.left_out(message);
            return Ok(Ending::Complete);
        }
        let message = format!("what follows {unknown}: record with --recorder step or qemu");
        session.recording.left_out(message);
        let ending = Ending::Failed(unknown.to_string());
        session.recording.ended = Some(ending.clone());
        Ok(ending)
    }
}
