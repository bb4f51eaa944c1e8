//! Tarmac text, as ARM's models and simulators write it.
//!
//! An instruction is a line with `IT` (taken), `IS` (skipped by its condition; it is fetched, too)
//! or `ES`:
//!
//! * `1 clk IT (1) 00008008 a00a T svc_s : ADR r0,{pc}+0x2c`, with the number of the instruction
//! * `6000000 cs IT (00000000004d6eb8) 54fffea1 O ---_- : b.ne 0x4d6e8c`
//! * `354ns IT 00000350 490d LDR r1,[pc,#52]`
//! * `41000 ns ES (00000000:e59ff018) A svc: LDR pc,{pc}+0x20`
//!
//! An address may have the physical one behind a colon. The name of the processor may stand before.

use flashpager_base::Result;
use flashpager_trace::Ending;

use super::instructions::{LogLine, LoggedCode, LoggedInstruction, read_lines};
use super::text::{ThreadNames, hex, word};
use crate::input::Input;
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

/// Words before the kind of a line: time, unit and processor.
const MAX_WORDS_BEFORE: usize = 4;

fn recognises(start: &[u8]) -> bool {
    let mut names = ThreadNames::default();
    start.split(|byte| *byte == b'\n').any(|line| {
        line.starts_with(b"Tarmac Text")
            || matches!(parse(line, &mut names), LogLine::Instruction(_))
    })
}

fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    let mut names = ThreadNames::default();
    read_lines(input, session, "cpu", |line| parse(line, &mut names))
}

fn parse<'a>(line: &'a [u8], names: &mut ThreadNames) -> LogLine<'a> {
    const UNREADABLE: LogLine<'_> = LogLine::Refused("is no instruction of Tarmac");
    let (mut before, mut rest): (&[u8], _) = (b"", line);
    for _ in 0..MAX_WORDS_BEFORE {
        let (kind, after) = word(rest);
        match kind {
            b"IT" | b"IS" | b"ES" => {
                // Units and numbers are no names.
                let is_name = before.iter().any(u8::is_ascii_digit)
                    && before.iter().any(u8::is_ascii_alphabetic)
                    && !before.first().is_some_and(u8::is_ascii_digit);
                let thread = if is_name { names.number(before) } else { names.number(b"") };
                let known = if kind == b"ES" { in_parentheses(after) } else { behind(after) };
                return match known {
                    Some(Some((address, digits))) => LogLine::Instruction(LoggedInstruction {
                        thread,
                        address,
                        code: LoggedCode::Digits(digits),
                    }),
                    // Exceptions, and instructions that could not be fetched.
                    Some(None) => LogLine::Other,
                    None => UNREADABLE,
                };
            }
            b"" => return LogLine::Other,
            _ => (before, rest) = (kind, after),
        }
    }
    LogLine::Other
}

/// Parses `(address:code)`. The inner `None` is an event without an instruction.
fn in_parentheses(text: &[u8]) -> Option<Option<(u64, &[u8])>> {
    let Some(text) = text.strip_prefix(b"(") else { return Some(None) };
    let (address, rest) = hex(text)?;
    let rest = rest.strip_prefix(b":")?;
    let end = rest.iter().position(|byte| *byte == b')')?;
    Some(code(&rest[..end])?.map(|digits| (address, digits)))
}

/// Parses the address and the code behind `IT` or `IS`.
fn behind(text: &[u8]) -> Option<Option<(u64, &[u8])>> {
    let (first, rest) = word(text);
    let (second, rest) = word(rest);
    let (third, _) = word(rest);
    if let Some(inside) = first.strip_prefix(b"(") {
        let is_state = matches!(third, b"A" | b"T" | b"O" | b"T16" | b"T32" | b"A32" | b"A64");
        if is_state && code(second)?.is_none_or(|digits| digits.len() <= 8) && inside.len() >= 9 {
            // `(address) code state`.
            let (address, _) = hex(inside)?;
            return Some(code(second)?.map(|digits| (address, digits)));
        }
        let (address, _) = hex(second)?;
        return Some(code(third)?.map(|digits| (address, digits)));
    }
    let (address, _) = hex(first)?;
    Some(code(second)?.map(|digits| (address, digits)))
}

/// The code of an instruction; the inner `None` if it could not be fetched (`--------`).
fn code(digits: &[u8]) -> Option<Option<&[u8]>> {
    if !digits.is_empty() && digits.iter().all(|byte| *byte == b'-') {
        return Some(None);
    }
    let is_code = matches!(digits.len(), 4 | 8) && digits.iter().all(u8::is_ascii_hexdigit);
    is_code.then_some(Some(digits))
}
