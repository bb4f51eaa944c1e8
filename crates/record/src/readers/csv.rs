//! CSV: a header line `offset,length`, then one run a line, decimal or with `0x`. A third column
//! `kind` states whether the run is `executed`, `continued` or a data `read`.

use flashpager_base::Result;
use flashpager_trace::{Ending, Mark, Run};

use crate::input::{Input, TextLines, parse_number};
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

fn recognises(start: &[u8]) -> bool {
    start.get(..6).is_some_and(|head| head.eq_ignore_ascii_case(b"offset"))
}

/// Reads all runs as they stand.
fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    let mut lines = TextLines::new(input);
    let has_kinds = read_header(&mut lines)?;
    // The end of the last executed run.
    let mut executed_end = None;
    while let Some(line) = lines.next_line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (run, mark) = parse(line, has_kinds).map_err(|what| lines.error_showing(what))?;
        if mark == Mark::Continued && executed_end != Some(run.offset) {
            return Err(lines.error_showing(continues_nothing(run, executed_end)));
        }
        if mark != Mark::Read {
            executed_end = Some(run.end());
        }
        session.add_run(lines.number(), run, mark)?;
    }
    Ok(Ending::Complete)
}

/// Reads the header. Returns whether there is a third column.
fn read_header(lines: &mut TextLines) -> Result<bool> {
    let header = lines.next_line()?.map(<[u8]>::to_ascii_lowercase);
    let header: Option<Vec<u8>> =
        header.map(|line| line.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect());
    match header.as_deref() {
        Some(b"offset,length") => Ok(false),
        Some(b"offset,length,kind") => Ok(true),
        _ => Err(lines.error_showing("the header is not 'offset,length'")),
    }
}

/// Parses a line. The error states what is wrong with it.
fn parse(line: &[u8], has_kinds: bool) -> std::result::Result<(Run, Mark), String> {
    let mut fields = line.splitn(if has_kinds { 3 } else { 2 }, |byte| *byte == b',');
    let mut number = || fields.next().and_then(parse_number);
    let (Some(offset), Some(length)) = (number(), number()) else {
        return Err("not two numbers 'offset,length'".into());
    };
    let run = Run::checked(offset, length)?;
    if !has_kinds {
        return Ok((run, Mark::Executed));
    }
    let mark = fields.next().and_then(|kind| Mark::named(kind.trim_ascii()));
    let mark = mark.ok_or("its kind is none of executed, continued, read")?;
    Ok((run, mark))
}

fn continues_nothing(run: Run, executed_end: Option<u32>) -> String {
    let before = match executed_end {
        Some(end) => format!("the executed run before it ends at {end:#x}"),
        None => "no executed run stands before it".to_owned(),
    };
    format!(
        "the continued run at {:#x} continues nothing ({before}); a run behind a jump is 'executed'",
        run.offset
    )
}
