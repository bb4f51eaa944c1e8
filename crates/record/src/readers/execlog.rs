//! Logs of QEMU's plugin `execlog`: `0, 0xa12, 0xf8012400, "movs r4, #0"`.
//!
//! The fields are the processor, the address, and the 32 bits there, which may be more or less than
//! the instruction: its length comes from the file that is placed.

use flashpager_base::Result;
use flashpager_trace::Ending;

use super::instructions::{LogLine, LoggedCode, LoggedInstruction, read_lines};
use super::text::{decimal, hex};
use crate::input::Input;
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

fn recognises(start: &[u8]) -> bool {
    let is_instruction = |line: &[u8]| matches!(parse(line), LogLine::Instruction(_));
    start.split(|byte| *byte == b'\n').any(is_instruction)
}

fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    read_lines(input, session, "cpu", parse)
}

/// Parses a line. Lines of the program itself are skipped.
fn parse(line: &[u8]) -> LogLine<'_> {
    let parsed = (|| {
        let (thread, rest) = decimal(line)?;
        let (address, rest) = hex(rest.strip_prefix(b", 0x")?)?;
        let (word, rest) = hex(rest.strip_prefix(b", 0x")?)?;
        rest.starts_with(b", \"").then_some(())?;
        let code = LoggedCode::Word(u32::try_from(word).ok()?);
        Some(LoggedInstruction { thread, address, code })
    })();
    parsed.map_or(LogLine::Other, LogLine::Instruction)
}
