//! Text of the tool `view` of DynamoRIO's drmemtrace.
//!
//! `90 64: 296231 ifetch 4 byte(s) @ 0x0000000000401028 48 83 eb 01 sub $0x1 %rbx -> %rbx` is an
//! instruction of the thread 296231. Other records are skipped.

use std::sync::LazyLock;

use flashpager_base::Result;
use flashpager_trace::Ending;
use memchr::memmem::Finder;

use super::instructions::{LogLine, LoggedCode, LoggedInstruction, read_lines};
use super::text::{decimal, hex};
use crate::input::Input;
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

/// The word that marks an instruction.
static FETCH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b" ifetch "));

fn recognises(start: &[u8]) -> bool {
    let is_instruction = |line: &[u8]| matches!(parse(line), LogLine::Instruction(_));
    start.split(|byte| *byte == b'\n').any(is_instruction)
}

fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    read_lines(input, session, "thread", parse)
}

fn parse(line: &[u8]) -> LogLine<'_> {
    let Some(at) = FETCH.find(line) else { return LogLine::Other };
    let parsed = (|| {
        let before = line[..at].trim_ascii_end();
        let name = before.rsplit(u8::is_ascii_whitespace).next()?;
        let (thread, _) = decimal(name.strip_prefix(b"T").unwrap_or(name))?;
        let (bytes, rest) = decimal(line[at + FETCH.needle().len()..].trim_ascii_start())?;
        let (address, _) = hex(rest.strip_prefix(b" byte(s) @ 0x")?)?;
        let code = LoggedCode::Length(bytes);
        Some(LoggedInstruction { thread, address, code })
    })();
    parsed.map_or(LogLine::Refused("is no 'ifetch' of drmemtrace's view"), LogLine::Instruction)
}
