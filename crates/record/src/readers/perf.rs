//! Text of `perf script --insn-trace`, decoded from Intel PT or CoreSight.
//!
//! `app 1234 [000] 5.1: 401136 main+0x0 (/tmp/app) insn: 55` is an instruction of the thread 1234.
//! Branch stacks (`-F brstack`) are samples of a few branches, and no trace.

use std::sync::LazyLock;

use flashpager_base::Result;
use flashpager_trace::{Ending, GapReason};
use memchr::memmem::{self, Finder};
use memchr::memrchr_iter;

use super::instructions::{LogLine, LoggedCode, LoggedInstruction, read_lines};
use super::text::{decimal, hex, hex_digit, word};
use crate::input::Input;
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

/// The words before the bytes of an instruction.
static CODE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b" insn: "));

fn recognises(start: &[u8]) -> bool {
    let is_known = |line: &[u8]| !matches!(parse(line), LogLine::Other);
    start.split(|byte| *byte == b'\n').any(is_known)
}

fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    read_lines(input, session, "thread", parse)
}

fn parse(line: &[u8]) -> LogLine<'_> {
    let Some(at) = CODE.find(line) else {
        if is_branch_stack(line) {
            return LogLine::Refused(
                "is a branch stack: samples of a few branches are no trace; decode an Intel PT or \
                 CoreSight recording with 'perf script --insn-trace'",
            );
        }
        let is_gap = memmem::find(line, b"instruction trace error").is_some();
        return if is_gap { LogLine::Gap(GapReason::LostPackets) } else { LogLine::Other };
    };
    let parsed = (|| {
        let digits = digits(line[at + CODE.needle().len()..].trim_ascii_start())?;
        // The time ends with a colon, and an event may follow it.
        let before = &line[..at];
        let colon =
            memrchr_iter(b':', before).find(|colon| before.get(colon + 1) == Some(&b' '))?;
        let (head, mut rest) = (&before[..colon], &before[colon + 2..]);
        rest = rest.trim_ascii_start();
        let (address, after) = hex(rest.strip_prefix(b"0x").unwrap_or(rest))?;
        matches!(after.first(), None | Some(b' ')).then_some(())?;
        let code = LoggedCode::Digits(digits);
        Some(LoggedInstruction { thread: thread(head), address, code })
    })();
    parsed.map_or(
        LogLine::Refused("has no address before 'insn:': use perf script --insn-trace"),
        LogLine::Instruction,
    )
}

/// The pairs of digits at the beginning of a text.
fn digits(text: &[u8]) -> Option<&[u8]> {
    let mut end = 0;
    while let Some([first, second]) = text.get(end..end + 2)
        && hex_digit(*first).is_some()
        && hex_digit(*second).is_some()
        && text.get(end + 2).is_none_or(u8::is_ascii_whitespace)
    {
        end = (end + 3).min(text.len());
    }
    (end > 0).then(|| text[..end].trim_ascii_end())
}

/// The thread of a line `comm pid/tid [cpu] time`: the number before the processor or the time.
fn thread(head: &[u8]) -> u32 {
    let mut number = 0;
    let mut rest = head;
    loop {
        let (part, after) = word(rest);
        if part.is_empty() || part.starts_with(b"[") {
            return number;
        }
        let id = part.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if let Some((thread, [])) = decimal(id) {
            number = thread;
        }
        rest = after;
    }
}

/// Returns true if a line has branches as `0x401136/0x401126/P/-/-/0`.
fn is_branch_stack(line: &[u8]) -> bool {
    memmem::find(line, b"/0x").is_some_and(|at| {
        let rest = &line[at + 3..];
        hex(rest).is_some_and(|(_, rest)| {
            rest.starts_with(b"/P/") || rest.starts_with(b"/M/") || rest.starts_with(b"/-/")
        })
    })
}
