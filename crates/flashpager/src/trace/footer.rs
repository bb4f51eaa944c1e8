//! The footer of a trace file. The `parquet` crate takes the sizes, counts and
//! nesting in a footer on trust: a damaged or hostile one costs it gigabytes,
//! the stack or hours. So it is read here, and only as far as a trace needs it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::thrift::{BINARY, I32, I64, LIST, STRUCT, Thrift};
use crate::error::{Error, Result};

/// Largest footer, description included: half a million symbols fit.
const MAX_FOOTER_BYTES: u32 = 64 << 20;

const MAGIC: &[u8; 4] = b"PAR1";
const UNCOMPRESSED: i64 = 0;
const ZSTD: i64 = 6;
const INT32: i64 = 1;
const REQUIRED: i64 = 0;

/// What a footer says, not yet compared with the rest of the file.
#[derive(Debug, Default)]
pub struct Footer {
    /// Rows of all groups.
    pub rows: u64,
    pub groups: Vec<Group>,
    pairs: Vec<(String, String)>,
}

#[derive(Debug, Default)]
pub struct Group {
    /// 1 to the limit given to [`Footer::read`].
    pub rows: u64,
    /// Offsets, then lengths.
    pub columns: [Column; 2],
}

/// A column of a group. Sizes and offsets may point anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Column {
    /// Whether its pages are compressed with Zstandard; else they are not.
    pub zstd: bool,
    pub bytes: u64,
    pub data_page_offset: u64,
    pub dictionary_page_offset: Option<u64>,
}

impl Footer {
    /// Read and check the footer of `file`, whose groups have up to `max_rows` rows.
    ///
    /// # Errors
    /// When the file cannot be read, is truncated, damaged, or no trace.
    pub fn read(path: &Path, file: &mut File, max_rows: u64) -> Result<Self> {
        let place = path.display().to_string();
        let failed = |e| Error::file(path, e);
        let damaged = |what: &str| {
            Error::data(&place, format!("is truncated or damaged ({what}): make or copy it again"))
        };
        if file.metadata().is_ok_and(|meta| meta.is_dir()) {
            return Err(Error::data(place, "is a folder, not a trace"));
        }
        let mut start = Vec::new();
        file.by_ref().take(4).read_to_end(&mut start).map_err(failed)?;
        if start != MAGIC {
            return Err(Error::data(
                place,
                "is no flashpager trace; 'flashpager trace import' reads foreign formats",
            ));
        }
        let end = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let mut tail = [0; 8];
        if end >= 12 {
            file.seek(SeekFrom::Start(end - 8)).map_err(failed)?;
            file.read_exact(&mut tail).map_err(failed)?;
        }
        let ([length @ .., _, _, _, _], [_, _, _, _, magic @ ..]) = (&tail, &tail);
        let length = u32::from_le_bytes(*length);
        if magic != MAGIC {
            return Err(damaged("its end is missing"));
        }
        if u64::from(length) > end - 12 || length > MAX_FOOTER_BYTES {
            return Err(damaged("its footer is too long"));
        }
        let mut bytes = vec![0; length as usize];
        file.seek(SeekFrom::Start(end - 8 - u64::from(length))).map_err(failed)?;
        file.read_exact(&mut bytes).map_err(failed)?;
        let (footer, schema) = parse(&bytes).ok_or_else(|| damaged("in its footer"))?;
        if schema != [(&b"offset"[..], true), (b"length", true)] {
            return Err(Error::data(place, "is Parquet without the two columns of a trace"));
        }
        // Few enough to be added up.
        let small = footer.groups.iter().all(|group| group.rows <= max_rows);
        if !small || footer.groups.iter().map(|group| group.rows).sum::<u64>() != footer.rows {
            return Err(damaged("its row groups do not add up"));
        }
        Ok(footer)
    }

    /// The text under `key`.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// The columns of a schema: name, and whether it is a plain number.
type Schema<'a> = Vec<(&'a [u8], bool)>;

fn parse(bytes: &[u8]) -> Option<(Footer, Schema<'_>)> {
    let (mut footer, mut schema) = (Footer::default(), Schema::new());
    Thrift::new(bytes).fields(&mut |input, id, kind| {
        match (id, kind) {
            (2, LIST) => drop(input.elements(&mut |input, at, kind| {
                let column = column_of_schema(input, kind)?;
                // The first is the root. Two columns are wanted, a third is one too many.
                if at > 0 && schema.len() < 3 {
                    schema.push(column);
                }
                Some(())
            })?),
            (3, I64) => footer.rows = natural(input)?,
            (4, LIST) => drop(input.elements(&mut |input, _, kind| {
                // A foreign file's groups need not be understood.
                if schema.len() == 2 {
                    footer.groups.push(group(input, kind)?)
                } else {
                    input.skip(kind)?
                }
                Some(())
            })?),
            (5, LIST) => drop(input.elements(&mut |input, _, kind| {
                footer.pairs.extend(pair(input, kind)?);
                Some(())
            })?),
            _ => input.skip(kind)?,
        }
        Some(())
    })?;
    Some((footer, schema))
}

fn column_of_schema<'a>(input: &mut Thrift<'a>, kind: u8) -> Option<(&'a [u8], bool)> {
    let (mut name, mut number, mut required) = (&[][..], false, false);
    structure(input, kind, &mut |input, id, kind| {
        match (id, kind) {
            (1, I32) => number = input.number()? == INT32,
            (3, I32) => required = input.number()? == REQUIRED,
            (4, BINARY) => name = input.binary()?,
            _ => input.skip(kind)?,
        }
        Some(())
    })?;
    Some((name, number && required))
}

fn group(input: &mut Thrift, kind: u8) -> Option<Group> {
    let (mut group, mut columns) = (Group::default(), 0);
    structure(input, kind, &mut |input, id, kind| {
        match (id, kind) {
            (1, LIST) => {
                columns = input.elements(&mut |input, at, kind| {
                    *group.columns.get_mut(usize::from(at))? = chunk(input, kind)?;
                    Some(())
                })?;
            }
            (3, I64) => group.rows = natural(input)?,
            _ => input.skip(kind)?,
        }
        Some(())
    })?;
    (columns == 2 && group.rows > 0).then_some(group)
}

fn chunk(input: &mut Thrift, kind: u8) -> Option<Column> {
    let (mut column, mut data_page) = (Column::default(), None);
    structure(input, kind, &mut |input, id, kind| match (id, kind) {
        // A column in another file.
        (1, _) => None,
        (3, STRUCT) => input.fields(&mut |input, id, kind| {
            match (id, kind) {
                (4, I32) => {
                    let codec = input.number()?;
                    column.zstd = codec == ZSTD;
                    (column.zstd || codec == UNCOMPRESSED).then_some(())?;
                }
                (7, I64) => column.bytes = natural(input)?,
                (9, I64) => data_page = Some(natural(input)?),
                (11, I64) => column.dictionary_page_offset = Some(natural(input)?),
                _ => input.skip(kind)?,
            }
            Some(())
        }),
        _ => input.skip(kind),
    })?;
    column.data_page_offset = data_page?;
    Some(column)
}

/// A key with its value, if it has one and both are text.
fn pair(input: &mut Thrift, kind: u8) -> Option<Option<(String, String)>> {
    let mut texts = [None, None];
    structure(input, kind, &mut |input, id, kind| {
        match (id, kind) {
            (1 | 2, BINARY) => {
                texts[usize::from(id) - 1] = std::str::from_utf8(input.binary()?).ok();
            }
            _ => input.skip(kind)?,
        }
        Some(())
    })?;
    let [key, value] = texts;
    Some(key.zip(value).map(|(key, value)| (key.to_owned(), value.to_owned())))
}

fn structure<'a>(
    input: &mut Thrift<'a>,
    kind: u8,
    take: &mut dyn FnMut(&mut Thrift<'a>, u8, u8) -> Option<()>,
) -> Option<()> {
    if kind == STRUCT { input.fields(take) } else { None }
}

/// A count or an offset, at most 2⁶², so that sums of two cannot overflow.
fn natural(input: &mut Thrift) -> Option<u64> {
    u64::try_from(input.number()?).ok().filter(|value| *value <= 1 << 62)
}
