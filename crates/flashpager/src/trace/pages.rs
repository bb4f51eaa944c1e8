//! The pages of a column: checked here, decoded by the `parquet` crate, which
//! takes sizes and encodings in page headers on trust. Only what
//! [`super::TraceWriter`] writes gets through.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::footer::Column;
use super::thrift::{FALSE, I32, STRUCT, TRUE, Thrift};

/// Most bytes of a column in a row group or of a page in it, packed or not:
/// 2²⁰ runs and a dictionary of as many take half.
const MAX_COLUMN_BYTES: u64 = 16 << 20;

/// A page header has some 20 bytes, with statistics 60.
const MAX_HEADER_BYTES: u64 = 1024;

const DATA_PAGE: u64 = 0;
const DICTIONARY_PAGE: u64 = 2;
const PLAIN: u64 = 0;
const PLAIN_DICTIONARY: u64 = 2;
const RLE_DICTIONARY: u64 = 8;

/// Whether `column` and its pages fit each other and `file`.
///
/// # Errors
/// When the file cannot be read.
pub fn are_sane(file: &mut File, column: &Column) -> io::Result<bool> {
    if column.bytes > MAX_COLUMN_BYTES {
        return Ok(false);
    }
    let mut at = column.dictionary_page_offset.unwrap_or(column.data_page_offset);
    let end = at + column.bytes;
    let (mut values, mut dictionary) = (0, false);
    let mut head = Vec::new();
    while at < end {
        head.clear();
        file.seek(SeekFrom::Start(at))?;
        file.take(MAX_HEADER_BYTES.min(end - at)).read_to_end(&mut head)?;
        let Some(page) = PageHeader::parse(&head) else { return Ok(false) };
        let known = match (page.kind, page.encoding) {
            (DICTIONARY_PAGE, PLAIN | PLAIN_DICTIONARY) => {
                let first = !std::mem::replace(&mut dictionary, true) && values == 0;
                first && page.values * 4 == page.unpacked_bytes
            }
            (DATA_PAGE, PLAIN) => page.values > 0,
            (DATA_PAGE, PLAIN_DICTIONARY | RLE_DICTIONARY) => page.values > 0 && dictionary,
            _ => false,
        };
        let fits = page.unpacked_bytes <= MAX_COLUMN_BYTES
            && (column.zstd || page.packed_bytes == page.unpacked_bytes);
        if !known || !fits {
            return Ok(false);
        }
        if page.kind == DATA_PAGE {
            values += page.values;
        }
        at += page.header_bytes + page.packed_bytes;
    }
    Ok(at == end && values == column.values)
}

/// What a page says of itself.
#[derive(Debug, Default, PartialEq)]
struct PageHeader {
    header_bytes: u64,
    kind: u64,
    packed_bytes: u64,
    unpacked_bytes: u64,
    values: u64,
    encoding: u64,
}

impl PageHeader {
    /// The header at the start of `bytes`; `None` if it is damaged, or of a
    /// kind that no trace has. Stricter than the `parquet` crate, so that both
    /// read the same.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut header = Self::default();
        let (mut stated, mut described) = (None, None);
        let mut input = Thrift::new(bytes);
        input.fields(&mut |input, id, kind| {
            match (id, kind) {
                (1, I32) => stated = Some(natural(input)?),
                (2, I32) => header.unpacked_bytes = natural(input)?,
                (3, I32) => header.packed_bytes = natural(input)?,
                (4, I32) => drop(i32::try_from(input.number()?).ok()?),
                (5 | 7, STRUCT) if described.is_none() => {
                    described = Some(if id == 5 { DATA_PAGE } else { DICTIONARY_PAGE });
                    input.fields(&mut |input, inner, kind| {
                        match (inner, kind) {
                            (1, I32) => header.values = natural(input)?,
                            (2, I32) => header.encoding = natural(input)?,
                            (3 | 4, I32) if id == 5 => drop(natural(input)?),
                            (5, STRUCT) if id == 5 => {
                                input.fields(&mut |input, _, kind| input.skip_simple(kind))?;
                            }
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
        header.kind = described.filter(|_| described == stated)?;
        header.header_bytes = (bytes.len() - input.left()) as u64;
        Some(header)
    }
}

/// A count of 31 bits.
fn natural(input: &mut Thrift) -> Option<u64> {
    i32::try_from(input.number()?).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_page_header_is_read_to_its_end() {
        // type 0, 8 bytes, 6 packed, { 2 values, PLAIN, RLE, RLE }, end; then data.
        let bytes =
            [0x15, 0, 0x15, 16, 0x15, 12, 0x2c, 0x15, 4, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0, 99, 99];
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
