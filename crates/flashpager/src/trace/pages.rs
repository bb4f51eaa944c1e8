//! Checks a row group before the `parquet` crate decodes it, because that crate
//! takes sizes and encodings in a file on trust: a damaged number costs it
//! gigabytes or a panic. Only what [`super::TraceWriter`] writes gets through.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

/// Most bytes of a column in a row group or of a page in it, packed or not:
/// 2²⁰ runs and a dictionary of as many take half.
const MAX_COLUMN_BYTES: i64 = 16 << 20;

/// A page header has some 20 bytes, with statistics 60.
const MAX_HEADER_BYTES: u64 = 1024;

const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
const PLAIN: i32 = 0;
const PLAIN_DICTIONARY: i32 = 2;
const RLE_DICTIONARY: i32 = 8;

/// Whether the row group's numbers, and those of its pages, fit each other and `file`.
///
/// # Errors
/// When the file cannot be read.
pub fn are_sane(file: &mut File, group: &RowGroupMetaData) -> io::Result<bool> {
    for column in group.columns() {
        if column.num_values() != group.num_rows() || !column_is_sane(file, column)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn column_is_sane(file: &mut File, column: &ColumnChunkMetaData) -> io::Result<bool> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let bytes = column.compressed_size();
    let packed = matches!(column.compression(), Compression::ZSTD(_));
    let (Ok(start), true) = (u64::try_from(start), (0..=MAX_COLUMN_BYTES).contains(&bytes)) else {
        return Ok(false);
    };
    let Some(end) = start.checked_add(bytes as u64).filter(|end| *end < i64::MAX as u64) else {
        return Ok(false);
    };
    if !packed && column.compression() != Compression::UNCOMPRESSED {
        return Ok(false);
    }
    let (mut at, mut values, mut dictionary) = (start, 0, false);
    let mut head = Vec::new();
    while at < end {
        head.clear();
        file.seek(SeekFrom::Start(at))?;
        file.take(MAX_HEADER_BYTES.min(end - at)).read_to_end(&mut head)?;
        let Some(page) = PageHeader::parse(&head) else { return Ok(false) };
        let (Ok(page_bytes), Ok(unpacked)) =
            (u64::try_from(page.packed_bytes), u64::try_from(page.unpacked_bytes))
        else {
            return Ok(false);
        };
        at += page.header_bytes as u64;
        let fits = page_bytes <= end - at.min(end)
            && unpacked <= MAX_COLUMN_BYTES as u64
            && (packed || unpacked == page_bytes);
        let known = match (page.kind, page.encoding) {
            (DICTIONARY_PAGE, PLAIN | PLAIN_DICTIONARY) => {
                let first = !std::mem::replace(&mut dictionary, true) && values == 0;
                first && u64::try_from(page.values).is_ok_and(|n| n * 4 == unpacked)
            }
            (DATA_PAGE, PLAIN) => page.values > 0,
            (DATA_PAGE, PLAIN_DICTIONARY | RLE_DICTIONARY) => page.values > 0 && dictionary,
            _ => false,
        };
        if !fits || !known {
            return Ok(false);
        }
        if page.kind == DATA_PAGE {
            values += i64::from(page.values);
        }
        at += page_bytes;
    }
    Ok(at == end && values == column.num_values())
}

/// What a page says of itself, in Thrift's compact protocol.
#[derive(Debug, Default, PartialEq)]
struct PageHeader {
    header_bytes: usize,
    kind: i32,
    packed_bytes: i32,
    unpacked_bytes: i32,
    values: i32,
    encoding: i32,
}

// Types of fields.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const STRUCT: u8 = 12;

impl PageHeader {
    /// The header at the start of `bytes`; `None` if it is damaged, or of a
    /// kind that no trace has. Stricter than the `parquet` crate, so that both
    /// read the same.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut header = Self { kind: -1, ..Self::default() };
        let mut described = None;
        let mut input = Thrift { rest: bytes };
        input.fields(&mut |input, id, kind| {
            match (id, kind) {
                (1, I32) => header.kind = input.number()?,
                (2, I32) => header.unpacked_bytes = input.number()?,
                (3, I32) => header.packed_bytes = input.number()?,
                (4, I32) => drop(input.number()?),
                (5 | 7, STRUCT) if described.is_none() => {
                    described = Some(if id == 5 { DATA_PAGE } else { DICTIONARY_PAGE });
                    input.fields(&mut |input, inner, kind| {
                        match (inner, kind) {
                            (1, I32) => header.values = input.number()?,
                            (2, I32) => header.encoding = input.number()?,
                            (3 | 4, I32) if id == 5 => drop(input.number()?),
                            (5, STRUCT) if id == 5 => input.fields(&mut Thrift::skip)?,
                            (3, TRUE | FALSE) if id == 7 => {}
                            _ => return None,
                        }
                        Some(())
                    })?;
                }
                _ => return None,
            }
            Some(())
        })?;
        header.header_bytes = bytes.len() - input.rest.len();
        (described == Some(header.kind)).then_some(header)
    }
}

struct Thrift<'a> {
    rest: &'a [u8],
}

impl<'a> Thrift<'a> {
    /// Hand each field of a structure, by number and type, to `take`.
    fn fields(
        &mut self,
        take: &mut dyn FnMut(&mut Self, u8, u8) -> Option<()>,
    ) -> Option<()> {
        let mut id = 0u8;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            // A step of 0 would spell the number out: no header needs that.
            id = id.checked_add(head >> 4).filter(|_| head >> 4 != 0)?;
            take(self, id, head & 15)?;
        }
    }

    fn skip(&mut self, _id: u8, kind: u8) -> Option<()> {
        match kind {
            TRUE | FALSE => {}
            BYTE => drop(self.byte()?),
            I16 | I32 | I64 => drop(self.varint()?),
            BINARY => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.rest = self.rest.get(length..)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self) -> Option<i32> {
        let value = self.varint()?;
        i32::try_from((value >> 1) as i64 ^ -((value & 1) as i64)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_page_header_is_read_to_its_end() {
        // type 0, 8 bytes, 6 packed, { 2 values, PLAIN, RLE, RLE }, end; then data.
        let bytes = [
            0x15, 0, 0x15, 16, 0x15, 12, 0x2c, 0x15, 4, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0, 99, 99,
        ];
        let header = PageHeader {
            header_bytes: 17,
            kind: DATA_PAGE,
            packed_bytes: 6,
            unpacked_bytes: 8,
            values: 2,
            encoding: PLAIN,
        };
        assert_eq!(PageHeader::parse(&bytes), Some(header));
        for end in 0..17 {
            assert_eq!(PageHeader::parse(&bytes[..end]), None);
        }
    }
}
