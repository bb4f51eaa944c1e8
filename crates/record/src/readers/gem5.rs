//! Traces of gem5's `--debug-flags=Exec,-ExecSymbol`.
//!
//! `31000: system.cpu A0 T0 : 0x4000ac : movz x0, #1 : IntAlu : D=0x1` is an instruction at an
//! address. With `ExecMicro`, the parts of an instruction follow it, or stand for it, with a number
//! behind the address (`0x4000ac. 1`). With the symbol alone the address is unknown.

use flashpager_base::Result;
use flashpager_trace::Ending;
use memchr::memchr_iter;

use super::instructions::{LogLine, LoggedCode, LoggedInstruction, read_lines};
use super::text::{ThreadNames, decimal, hex};
use crate::input::Input;
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

fn recognises(start: &[u8]) -> bool {
    let mut reader = Gem5Reader::default();
    let is_known = |line: &[u8]| !matches!(reader.parse(line), LogLine::Other);
    start.split(|byte| *byte == b'\n').any(is_known)
}

fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    let mut reader = Gem5Reader::default();
    read_lines(input, session, "cpu", |line| reader.parse(line))
}

#[derive(Default)]
struct Gem5Reader {
    names: ThreadNames,
    /// Thread and address of the instruction whose parts follow.
    whole: Option<(u32, u64)>,
}

impl Gem5Reader {
    fn parse<'a>(&mut self, line: &'a [u8]) -> LogLine<'a> {
        let text = line.trim_ascii_start();
        let Some((name, rest)) = split(text) else { return LogLine::Other };
        if rest.starts_with(b"@") {
            return LogLine::Refused(
                "has a symbol instead of an address: run gem5 with \
                 --debug-flags=Exec,-ExecSymbol",
            );
        }
        let Some((address, rest)) = rest.strip_prefix(b"0x").and_then(hex) else {
            return LogLine::Other;
        };
        let thread = self.names.number(name);
        let part = rest.strip_prefix(b".").map(|part| decimal(part.trim_ascii_start()));
        match part {
            Some(Some((0, _))) if self.whole != Some((thread, address)) => {}
            Some(Some(_)) => return LogLine::Other,
            Some(None) => return LogLine::Refused("has no number of a part behind its address"),
            None => {}
        }
        // Parts follow their instruction at once.
        self.whole = part.is_none().then_some((thread, address));
        let code = LoggedCode::Unknown;
        LogLine::Instruction(LoggedInstruction { thread, address, code })
    }
}

/// Splits `31000: system.cpu A0 T0 : rest` into the name and the rest.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = text[digits..].strip_prefix(b": ").filter(|_| digits > 0)?;
    let colon = memchr_iter(b':', rest).find(|colon| {
        colon.checked_sub(1).and_then(|before| rest.get(before..colon + 2)) == Some(b" : ")
    })?;
    let end = colon - 1;
    let name = &rest[..end];
    let last = name.rsplit(u8::is_ascii_whitespace).next()?;
    let is_thread = last.strip_prefix(b"T").is_some_and(|number| decimal(number).is_some());
    is_thread.then(|| (name, rest[end + 3..].trim_ascii_start()))
}
