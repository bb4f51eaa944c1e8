//! Dinero `din`: one access a line, a label and a hexadecimal address.
//!
//! The labels are 0 for a read, 1 for a write and 2 for an instruction fetch. Reads and writes
//! are skipped, and so are the labels 3 (escape) and 4 (flush) of Dinero IV. The format has no
//! lengths of instructions: all have [`ImportSession::instruction_bytes`].

use flashpager_base::Result;
use flashpager_trace::Ending;

use crate::fetch::Fetch;
use crate::input::{Input, TextLines, parse_hex};
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

const FETCH: u8 = 2;

fn recognises(start: &[u8]) -> bool {
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    parse(line).is_some()
}

/// Parses a line to its label and address.
fn parse(line: &[u8]) -> Option<(u8, u64)> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    match fields.next()? {
        [label @ b'0'..=b'4'] => Some((label - b'0', parse_hex(fields.next()?)?)),
        _ => None,
    }
}

fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    let mut lines = TextLines::new(input);
    let bytes = session.instruction_bytes;
    while let Some(line) = lines.next_line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse(line) {
            Some((FETCH, address)) => {
                let fetch = Fetch { address, bytes, instructions: 1 };
                session.add_fetch(lines.number(), fetch, &[])?;
                session.doubt_if_cut(&lines);
            }
            Some(_) => {}
            None => {
                return Err(lines.error_showing("not a din line (a label 0 to 4, a hex address)"));
            }
        }
    }
    Ok(Ending::Complete)
}
