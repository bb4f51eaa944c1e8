//! Logs of the RISC-V simulator Spike: `-l`, `--log-commits`, or both.
//!
//! `-l` writes `core   0: 0x0000000080000000 (0x00004295) c.li t0, 5`, `--log-commits` writes
//! `core   0: 3 0x0000000080000000 (0x4295) x5 0x5` with the privilege in front. With both, each
//! instruction has both lines, and the lines of `-l` count, because they include instructions that trap.

use flashpager_base::Result;
use flashpager_trace::Ending;

use super::instructions::{LogLine, LoggedCode, LoggedInstruction, read_lines};
use super::text::{decimal, hex};
use crate::input::Input;
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

fn recognises(start: &[u8]) -> bool {
    start.split(|byte| *byte == b'\n').any(|line| {
        matches!(parse(line, &mut false), LogLine::Instruction(_)) && line.starts_with(b"core")
    })
}

fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    let mut has_listing = false;
    read_lines(input, session, "core", |line| parse(line, &mut has_listing))
}

/// Parses a line. `has_listing` is true if there was a line of `-l`.
fn parse<'a>(line: &'a [u8], has_listing: &mut bool) -> LogLine<'a> {
    const UNREADABLE: LogLine<'_> = LogLine::Refused("is no line of Spike's -l or --log-commits");
    let Some(rest) = line.strip_prefix(b"core") else { return LogLine::Other };
    let Some((thread, rest)) = decimal(rest.trim_ascii_start()) else { return UNREADABLE };
    let Some(rest) = rest.strip_prefix(b": ") else { return UNREADABLE };
    let rest = match rest {
        [b'0', b'x', rest @ ..] => {
            *has_listing = true;
            rest
        }
        // A commit begins with the privilege.
        [b'0'..=b'9', b' ', b'0', b'x', rest @ ..] => {
            if *has_listing {
                return LogLine::Other;
            }
            rest
        }
        // Symbols, exceptions and their values.
        _ => return LogLine::Other,
    };
    let Some((address, rest)) = hex(rest) else { return UNREADABLE };
    let Some(rest) = rest.strip_prefix(b" (0x") else { return UNREADABLE };
    let Some((word, after)) = hex(rest) else { return UNREADABLE };
    if after.first() != Some(&b')') {
        return UNREADABLE;
    }
    // Both have leading zeros.
    let digits = &rest[..rest.len() - after.len()];
    let length = match word {
        _ if word & 3 != 3 => 4,
        _ if word & 0x1f != 0x1f => 8,
        _ => digits.len() / 2 * 2,
    };
    let Some(start) = digits.len().checked_sub(length) else { return UNREADABLE };
    let code = LoggedCode::Digits(&digits[start..]);
    LogLine::Instruction(LoggedInstruction { thread, address, code })
}
