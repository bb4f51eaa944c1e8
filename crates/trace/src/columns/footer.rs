//! The footer of a trace file, or of another Parquet file that flashpager writes.
//!
//! The `parquet` crate trusts the sizes, counts and nesting in a footer: a damaged or hostile one
//! costs it gigabytes, the stack or hours. Therefore the footer is parsed here, as far as these
//! files need it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::path::Path;

use flashpager_base::{Error, Result, shown};
use serde::de::DeserializeOwned;

use super::thrift::{BINARY, I32, I64, LIST, STRUCT, Thrift};

/// Largest footer with its description, in bytes. Half a million symbols fit.
const MAX_FOOTER_BYTES: u32 = 64 << 20;

const MAGIC: &[u8; 4] = b"PAR1";
const UNCOMPRESSED: i64 = 0;
const ZSTD: i64 = 6;
const REQUIRED: i64 = 0;

/// A kind of Parquet file, with the properties that its files must have.
pub struct ParquetKind {
    /// Name in messages, such as `trace`.
    pub name: &'static str,
    /// Advice on making a file of this kind, for the message about a file of another kind.
    pub hint: &'static str,
    /// Columns in their order. None of their values may be missing.
    pub columns: &'static [(&'static str, PhysicalType)],
    /// Largest number of rows in a row group.
    pub max_rows: u64,
}

/// Type of the values of a column, with Parquet's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum PhysicalType {
    /// Numbers of 32 bits.
    Int32 = 1,
    /// Numbers of 64 bits.
    Int64 = 2,
    /// Strings of bytes.
    Bytes = 6,
    /// Strings of [`Footer::fixed_bytes`] bytes each.
    Fixed = 7,
}

/// The contents of a footer, not yet compared with the rest of the file.
#[derive(Debug, Default)]
pub struct Footer {
    /// Number of rows in all groups.
    pub rows: u64,
    /// The row groups.
    pub groups: Vec<RowGroup>,
    /// Bytes of a value in the column of type [`PhysicalType::Fixed`].
    pub fixed_bytes: u64,
    pairs: Vec<(String, String)>,
}

/// A row group.
#[derive(Debug, Default)]
pub struct RowGroup {
    /// Number of rows, 1 to [`ParquetKind::max_rows`].
    pub rows: u64,
    /// The chunk of each of [`ParquetKind::columns`].
    pub columns: Vec<ColumnChunk>,
}

/// The values of a column in a row group. Sizes and offsets are not checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnChunk {
    /// True if the pages are compressed with Zstandard, false if they are not compressed.
    pub zstd: bool,
    /// Bytes of the pages in the file, with their headers.
    pub bytes: u64,
    /// Position in the file of the first page of values.
    pub data_page_offset: u64,
    /// Position in the file of the dictionary. `None` if there is none.
    pub dictionary_page_offset: Option<u64>,
}

impl Footer {
    /// Reads and checks the footer of `file`.
    ///
    /// # Errors
    /// If the file cannot be read, is truncated or damaged, or is of another kind.
    pub fn read(path: &Path, file: &mut File, wanted: &ParquetKind) -> Result<Self> {
        let place = path.display().to_string();
        let failed = |e| Error::file(path, e);
        let damaged = |reason: &str| {
            Error::data(
                &place,
                format!("is truncated or damaged ({reason}): make or copy it again"),
            )
        };
        if file.metadata().is_ok_and(|meta| meta.is_dir()) {
            return Err(Error::data(place, format!("is a folder, not a {}", wanted.name)));
        }
        let mut start = Vec::new();
        file.by_ref().take(4).read_to_end(&mut start).map_err(failed)?;
        if start != MAGIC {
            return Err(Error::data(
                place,
                format!("is no flashpager {}; {}", wanted.name, wanted.hint),
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
        let count = wanted.columns.len();
        let (footer, schema) = parse(&bytes, count).ok_or_else(|| damaged("in its footer"))?;
        let columns = wanted.columns.iter().map(|(name, kind)| (name.as_bytes(), *kind as i64));
        if !schema.iter().map(|column| (column.name, column.physical)).eq(columns) {
            return Err(Error::data(
                place,
                format!("is Parquet without the columns of a {}", wanted.name),
            ));
        }
        // Small numbers, so that their sum cannot overflow.
        let small = footer.groups.iter().all(|group| group.rows <= wanted.max_rows);
        if !small || footer.groups.iter().map(|group| group.rows).sum::<u64>() != footer.rows {
            return Err(damaged("its row groups do not add up"));
        }
        Ok(footer)
    }

    /// Returns the text under a metadata key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Parses the JSON description under a metadata key. Its `schema_version` must be one of
    /// `versions`.
    ///
    /// # Errors
    /// If the description is missing, damaged, or of another version.
    pub fn description<T: DeserializeOwned>(
        &self,
        path: &Path,
        kind: &ParquetKind,
        key: &str,
        versions: RangeInclusive<u32>,
    ) -> Result<T> {
        #[derive(serde::Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let wrong = |reason: String| Error::data(path.display().to_string(), reason);
        let damaged =
            |e: serde_json::Error| wrong(format!("its description is damaged: {}", shown(e)));
        let json = self.value(key).ok_or_else(|| {
            let name = kind.name;
            wrong(format!("is a Parquet file but no flashpager {name} (no description in it)"))
        })?;
        let version: Version = serde_json::from_str(json).map_err(damaged)?;
        if !versions.contains(&version.schema_version) {
            let known: Vec<String> = versions.map(|number| number.to_string()).collect();
            return Err(wrong(format!(
                "has {} schema version {}, this flashpager reads version {}",
                kind.name,
                version.schema_version,
                listed(&known)
            )));
        }
        serde_json::from_str(json).map_err(damaged)
    }
}

/// Joins words as `1, 2 or 3`.
fn listed(words: &[String]) -> String {
    match words.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// A column of a schema.
#[derive(Default)]
struct SchemaColumn<'a> {
    name: &'a [u8],
    /// Parquet's number of the column's type; -1 if values may be missing.
    physical: i64,
    fixed_bytes: u64,
}

fn parse(bytes: &[u8], columns: usize) -> Option<(Footer, Vec<SchemaColumn<'_>>)> {
    let (mut footer, mut schema) = (Footer::default(), Vec::new());
    Thrift::new(bytes).fields(&mut |input, id, kind| {
        match (id, kind) {
            (2, LIST) => drop(input.elements(&mut |input, at, kind| {
                let column = column_of_schema(input, kind)?;
                // The first element is the root. One column too many is enough to refuse the file.
                if at > 0 && schema.len() <= columns {
                    schema.push(column);
                }
                Some(())
            })?),
            (3, I64) => footer.rows = natural(input)?,
            (4, LIST) => drop(input.elements(&mut |input, _, kind| {
                // The groups of a file with other columns are not needed.
                if schema.len() == columns {
                    footer.groups.push(group(input, kind, columns)?)
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
    footer.fixed_bytes = schema.iter().map(|column| column.fixed_bytes).max().unwrap_or_default();
    Some((footer, schema))
}

fn column_of_schema<'a>(input: &mut Thrift<'a>, kind: u8) -> Option<SchemaColumn<'a>> {
    let (mut column, mut required) = (SchemaColumn::default(), false);
    structure(input, kind, &mut |input, id, kind| {
        match (id, kind) {
            (1, I32) => column.physical = input.number()?,
            (2, I32) => column.fixed_bytes = natural(input)?,
            (3, I32) => required = input.number()? == REQUIRED,
            (4, BINARY) => column.name = input.binary()?,
            _ => input.skip(kind)?,
        }
        Some(())
    })?;
    if !required {
        column.physical = -1;
    }
    Some(column)
}

fn group(input: &mut Thrift, kind: u8, columns: usize) -> Option<RowGroup> {
    let mut group = RowGroup::default();
    structure(input, kind, &mut |input, id, kind| {
        match (id, kind) {
            (1, LIST) => {
                input.elements(&mut |input, _, kind| {
                    let column = chunk(input, kind)?;
                    group.columns.push(column);
                    (group.columns.len() <= columns).then_some(())
                })?;
            }
            (3, I64) => group.rows = natural(input)?,
            _ => input.skip(kind)?,
        }
        Some(())
    })?;
    (group.columns.len() == columns && group.rows > 0).then_some(group)
}

fn chunk(input: &mut Thrift, kind: u8) -> Option<ColumnChunk> {
    let (mut column, mut data_page) = (ColumnChunk::default(), None);
    structure(input, kind, &mut |input, id, kind| match (id, kind) {
        // The column is in another file.
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

/// Parses a key with its value. The inner `None` means that one of them is missing or no text.
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

/// Parses a count or an offset of at most 2⁶², so that the sum of two cannot overflow.
fn natural(input: &mut Thrift) -> Option<u64> {
    u64::try_from(input.number()?).ok().filter(|value| *value <= 1 << 62)
}
