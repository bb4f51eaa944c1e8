//! CSV: a header line `offset,length`, then one run a line, decimal or with `0x`. Further columns,
//! in any order: `kind` states whether the run is `executed`, `continued` or a data `read`, and
//! `instructions` how many instructions it has. `gap` names the reason for which code is missing before
//! the run, or is empty. If a program or a range is placed, the offsets are addresses.

use flashpager_base::Result;
use flashpager_trace::{Ending, GapReason, Mark, Run};

use crate::input::{Input, TextLines, parse_number};
use crate::session::{ImportSession, Importer, Row};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

fn recognises(start: &[u8]) -> bool {
    start.get(..6).is_some_and(|head| head.eq_ignore_ascii_case(b"offset"))
}

/// A column behind offset and length.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Kind,
    Instructions,
    Gap,
}

/// Reads all runs as they stand.
fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    let mut lines = TextLines::new(input);
    let columns = read_header(&mut lines)?;
    // The end of the last executed run.
    let mut executed_end = None;
    let mut rows = 0u64;
    while let Some(line) = lines.next_line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (row, gap) = parse(line, &columns).map_err(|message| lines.error_showing(message))?;
        if let Some(reason) = gap {
            session.recording.gap(reason, None)?;
            executed_end = None;
        }
        if row.mark == Mark::Continued && executed_end != Some(row.address) {
            return Err(lines.error_showing(continues_nothing(row.address, executed_end)));
        }
        if row.mark != Mark::Read {
            executed_end = Some(row.address + u64::from(row.length));
        }
        session.add_row(lines.number(), row)?;
        session.doubt_if_cut(&lines);
        rows += 1;
    }
    if rows > 0 && session.recording.sink().runs() == 0 {
        return Err(lines.error(
            "no row lies in the placed code: are these offsets? Then leave --elf and --range out",
        ));
    }
    Ok(Ending::Complete)
}

/// Reads the header. Returns the columns behind offset and length.
fn read_header(lines: &mut TextLines) -> Result<Vec<Column>> {
    let header = lines.next_line()?.map(<[u8]>::to_ascii_lowercase).unwrap_or_default();
    let names: Vec<&[u8]> = header.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
    let columns: Option<Vec<Column>> = match &names[..] {
        [b"offset", b"length", more @ ..] => more
            .iter()
            .map(|name| match *name {
                b"kind" => Some(Column::Kind),
                b"instructions" => Some(Column::Instructions),
                b"gap" => Some(Column::Gap),
                _ => None,
            })
            .collect(),
        _ => None,
    };
    let is_twice = |columns: &Vec<Column>| {
        columns.iter().enumerate().any(|(at, column)| columns[..at].contains(column))
    };
    columns.filter(|columns| !is_twice(columns)).ok_or_else(|| {
        lines.error_showing(
            "the header is not 'offset,length', which 'kind', 'instructions' and 'gap' may follow",
        )
    })
}

/// Parses a line into a row and the gap before it. The error states what is wrong with it.
fn parse(line: &[u8], columns: &[Column]) -> std::result::Result<(Row, Option<GapReason>), String> {
    let mut fields = line.splitn(2 + columns.len(), |byte| *byte == b',');
    let mut number = || fields.next().and_then(parse_number);
    let (Some(address), Some(length)) = (number(), number()) else {
        return Err("not two numbers 'offset,length'".into());
    };
    let length = Run::checked(0, length)?.length;
    if address.checked_add(length.into()).is_none() {
        return Err(format!("a run at offset {address:#x} does not end below 4 GiB"));
    }
    let (mut mark, mut instructions, mut gap) = (Mark::Executed, None, None);
    for column in columns {
        let field = fields.next().unwrap_or_default();
        match column {
            Column::Kind => {
                mark = Mark::named(field.trim_ascii())
                    .ok_or("its kind is none of executed, continued, read")?;
            }
            Column::Instructions => {
                instructions = Some(parse_number(field).ok_or("no number of instructions")?);
            }
            Column::Gap => gap = parse_gap(field.trim_ascii())?,
        }
    }
    let instructions = match (instructions, mark) {
        (None, _) => 0,
        (Some(0), Mark::Read) => 0,
        (Some(count), mark) if mark != Mark::Read && (1..=u64::from(length)).contains(&count) => {
            count as u32
        }
        (Some(count), _) => {
            return Err(format!("{count} instructions in {length} bytes ({})", mark.name()));
        }
    };
    Ok((Row { address, length, mark, instructions }, gap))
}

/// Parses the reason of a gap; `None` without a gap.
fn parse_gap(field: &[u8]) -> std::result::Result<Option<GapReason>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    let reason = String::from_utf8_lossy(field).parse::<GapReason>();
    reason.map(Some).map_err(|message| message.to_string())
}

fn continues_nothing(address: u64, executed_end: Option<u64>) -> String {
    let before = match executed_end {
        Some(end) => format!("the executed run before it ends at {end:#x}"),
        None => "no executed run stands before it".to_owned(),
    };
    format!(
        "the continued run at {address:#x} continues nothing ({before}); a run behind a jump is \
         'executed'"
    )
}
