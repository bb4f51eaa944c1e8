//! CSV: a header line `offset,length`, then one run a line, decimal or `0x`. With a third column
//! `kind` it says of each whether it is executed, goes on, or is a data read.

use flashpager_base::Result;
use flashpager_trace::{Mark, Run};

use super::input::{TextLines, parse_number};

/// Whether a file that starts with `start` looks like this format.
pub fn recognises(start: &[u8]) -> bool {
    start.get(..6).is_some_and(|head| head.eq_ignore_ascii_case(b"offset"))
}

/// Read all runs of `lines` into `sink`, as they stand, each with its line number.
pub fn read(
    lines: &mut TextLines,
    sink: &mut dyn FnMut(u64, Run, Mark) -> Result<()>,
) -> Result<()> {
    let header = lines.next_line()?.map(|line| line.to_ascii_lowercase());
    let header: Option<Vec<u8>> =
        header.map(|line| line.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect());
    let has_kinds = match header.as_deref() {
        Some(b"offset,length") => false,
        Some(b"offset,length,kind") => true,
        _ => return Err(lines.error_showing("the header is not 'offset,length'")),
    };
    while let Some(line) = lines.next_line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let mut fields = line.splitn(if has_kinds { 3 } else { 2 }, |byte| *byte == b',');
        let (offset, length) =
            (fields.next().and_then(parse_number), fields.next().and_then(parse_number));
        let run = match (offset, length) {
            (Some(offset), Some(length)) => Run::checked(offset, length),
            _ => Err("not two numbers 'offset,length'".into()),
        };
        let mark = if has_kinds {
            fields.next().and_then(|kind| Mark::named(kind.trim_ascii()))
        } else {
            Some(Mark::Executed)
        };
        let run = run.map_err(|what| lines.error_showing(what))?;
        let mark = mark
            .ok_or_else(|| lines.error_showing("its kind is none of executed, continued, read"))?;
        sink(lines.number(), run, mark)?;
    }
    Ok(())
}
