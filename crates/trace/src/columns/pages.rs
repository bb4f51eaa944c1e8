//! The values of a column in a row group, read page by page.
//!
//! The `parquet` crate panics on damaged pages. Therefore the two encodings that trace files have
//! are decoded here, and no other is accepted. Columns of other files are plain
//! ([`plain_values`]).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::footer::ColumnChunk;
use super::thrift::{FALSE, I32, STRUCT, TRUE, Thrift};

/// Largest column of a row group, and largest page, in bytes, compressed or not. 2²⁰ runs with a
/// dictionary of as many values take half of it.
const MAX_COLUMN_BYTES: u64 = 16 << 20;

/// Largest page header. One with statistics has about 60 bytes.
const MAX_HEADER_BYTES: u64 = 1024;

/// Zeros behind a page, so that 8 bytes can be loaded from any position in it.
const PADDING: usize = 8;

const DATA_PAGE: u64 = 0;
const DICTIONARY_PAGE: u64 = 2;
const PLAIN: u64 = 0;
const PLAIN_DICTIONARY: u64 = 2;
const RLE_DICTIONARY: u64 = 8;

/// Reads the pages of a column. Errors of the kinds `InvalidData` and `UnexpectedEof` mean that
/// the file is damaged.
struct PageReader {
    file: Arc<File>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    /// Position of the next page with its header.
    at: u64,
    /// End of the last page.
    end: u64,
}

impl PageReader {
    fn new(file: Arc<File>, column: &ColumnChunk) -> io::Result<Self> {
        if column.bytes > MAX_COLUMN_BYTES {
            return Err(damaged());
        }
        let at = column.dictionary_page_offset.unwrap_or(column.data_page_offset);
        Ok(Self {
            file,
            zstd: column.zstd.then(zstd::bulk::Decompressor::new).transpose()?,
            at,
            end: at + column.bytes,
        })
    }

    /// Replaces `page` by the bytes of the next page, decompressed.
    fn read(&mut self, page: &mut Vec<u8>) -> io::Result<PageHeader> {
        let mut file = &*self.file;
        let mut head = Vec::new();
        file.seek(SeekFrom::Start(self.at))?;
        file.take(MAX_HEADER_BYTES.min(self.end - self.at)).read_to_end(&mut head)?;
        let header = PageHeader::parse(&head).ok_or_else(damaged)?;
        self.at += header.header_bytes;
        if header.packed_bytes > self.end - self.at || header.unpacked_bytes > MAX_COLUMN_BYTES {
            return Err(damaged());
        }
        file.seek(SeekFrom::Start(self.at))?;
        self.at += header.packed_bytes;
        page.clear();
        let read = file.take(header.packed_bytes).read_to_end(page)?;
        if read as u64 != header.packed_bytes {
            return Err(damaged());
        }
        if let Some(zstd) = &mut self.zstd {
            let unpacked = zstd.decompress(page, header.unpacked_bytes as usize);
            *page = unpacked.map_err(|_| damaged())?;
        }
        if page.len() as u64 != header.unpacked_bytes {
            return Err(damaged());
        }
        Ok(header)
    }
}

/// Reads all values of a column with plain pages. Returns their number, and their bytes one after
/// another as Parquet stores them.
///
/// # Errors
/// If pages cannot be read, are damaged, or are not plain.
pub fn plain_values(file: Arc<File>, column: &ColumnChunk) -> io::Result<(u64, Vec<u8>)> {
    let mut pages = PageReader::new(file, column)?;
    let (mut count, mut values, mut page) = (0, Vec::new(), Vec::new());
    while pages.at < pages.end {
        let header = pages.read(&mut page)?;
        if (header.kind, header.encoding) != (DATA_PAGE, PLAIN)
            || (values.len() + page.len()) as u64 > MAX_COLUMN_BYTES
        {
            return Err(damaged());
        }
        count += header.values;
        values.append(&mut page);
    }
    Ok((count, values))
}

/// Reads a column of 32-bit numbers. Errors of the kinds `InvalidData` and `UnexpectedEof` mean
/// that the file is damaged.
pub struct ColumnReader {
    pages: PageReader,
    dictionary: Option<Vec<u32>>,
    /// The current page, with padding.
    page: Vec<u8>,
    /// Number of values of the page that have not been read.
    left: usize,
    encoding: Encoding,
}

enum Encoding {
    /// Numbers of four bytes. The next one is at this position.
    Plain(usize),
    /// Indices into the dictionary.
    Dictionary(Indices),
}

fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

impl ColumnReader {
    /// Starts to read `column` of `file`.
    ///
    /// # Errors
    /// If the column is too large, or the decompressor cannot be created.
    pub fn new(file: Arc<File>, column: &ColumnChunk) -> io::Result<Self> {
        Ok(Self {
            pages: PageReader::new(file, column)?,
            dictionary: None,
            page: Vec::new(),
            left: 0,
            encoding: Encoding::Plain(0),
        })
    }

    /// Appends the next `count` values to `values`.
    ///
    /// # Errors
    /// If pages cannot be read or are damaged.
    pub fn read(&mut self, count: usize, values: &mut Vec<u32>) -> io::Result<()> {
        let wanted = values.len() + count;
        while values.len() < wanted {
            if self.left == 0 {
                self.open_page()?;
                continue;
            }
            let now = self.left.min(wanted - values.len());
            match &mut self.encoding {
                Encoding::Plain(at) => {
                    let bytes = self.page.get(*at..*at + 4 * now).ok_or_else(damaged)?;
                    values.extend(numbers(bytes));
                    *at += 4 * now;
                }
                Encoding::Dictionary(indices) => {
                    let dictionary = self.dictionary.as_deref().unwrap_or_default();
                    indices.read(&self.page, now, dictionary, values).ok_or_else(damaged)?;
                }
            }
            self.left -= now;
        }
        Ok(())
    }

    /// Skips the next `count` values.
    ///
    /// # Errors
    /// If pages cannot be read or are damaged.
    pub fn skip(&mut self, mut count: usize) -> io::Result<()> {
        while count > 0 {
            if self.left == 0 {
                self.open_page()?;
                continue;
            }
            let now = self.left.min(count);
            match &mut self.encoding {
                Encoding::Plain(at) => *at += 4 * now,
                Encoding::Dictionary(indices) => {
                    indices.skip(&self.page, now).ok_or_else(damaged)?;
                }
            }
            self.left -= now;
            count -= now;
        }
        Ok(())
    }

    /// Returns true if all values of all pages have been read.
    pub fn is_at_end(&self) -> bool {
        self.left == 0 && self.pages.at == self.pages.end
    }

    /// Opens the next page, a dictionary or values.
    fn open_page(&mut self) -> io::Result<()> {
        let header = self.pages.read(&mut self.page)?;
        let plain = header.values * 4 == header.unpacked_bytes;
        match (header.kind, header.encoding) {
            (DICTIONARY_PAGE, PLAIN | PLAIN_DICTIONARY) if plain && self.dictionary.is_none() => {
                self.dictionary = Some(numbers(&self.page).collect());
                return Ok(());
            }
            (DATA_PAGE, PLAIN) if plain => self.encoding = Encoding::Plain(0),
            (DATA_PAGE, PLAIN_DICTIONARY | RLE_DICTIONARY) => {
                self.encoding = Encoding::Dictionary(Indices::new(&self.page)?);
            }
            _ => return Err(damaged()),
        }
        self.page.extend([0; PADDING]);
        self.left = header.values as usize;
        Ok(())
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// Indices into a dictionary, in Parquet's mix of repeated and bit-packed runs.
struct Indices {
    /// Bits of an index.
    width: usize,
    /// Position of the next run.
    at: usize,
    /// Number of indices left in the current run.
    left: usize,
    run: IndexRun,
}

enum IndexRun {
    Repeated(usize),
    /// Packed indices. The next one begins at this bit of the page.
    Packed(usize),
}

impl Indices {
    /// Starts with the indices of `page`, whose first byte is their width.
    fn new(page: &[u8]) -> io::Result<Self> {
        let width = page.first().filter(|width| **width <= 32).ok_or_else(damaged)?;
        Ok(Self { width: usize::from(*width), at: 1, left: 0, run: IndexRun::Repeated(0) })
    }

    /// Appends the dictionary values of the next `count` indices of the padded `page`.
    fn read(
        &mut self,
        page: &[u8],
        mut count: usize,
        dictionary: &[u32],
        values: &mut Vec<u32>,
    ) -> Option<()> {
        let mask = (1u64 << self.width) - 1;
        while count > 0 {
            if self.left == 0 {
                self.open_run(&page[..page.len() - PADDING])?;
                continue;
            }
            let now = count.min(self.left);
            match &mut self.run {
                IndexRun::Repeated(index) => {
                    values.extend(std::iter::repeat_n(*dictionary.get(*index)?, now));
                }
                IndexRun::Packed(bit) => {
                    for _ in 0..now {
                        let bytes = page.get(*bit / 8..)?.first_chunk()?;
                        let index = u64::from_le_bytes(*bytes) >> (*bit % 8) & mask;
                        values.push(*dictionary.get(index as usize)?);
                        *bit += self.width;
                    }
                }
            }
            self.left -= now;
            count -= now;
        }
        Some(())
    }

    /// Skips the next `count` indices of the padded `page`.
    fn skip(&mut self, page: &[u8], mut count: usize) -> Option<()> {
        while count > 0 {
            if self.left == 0 {
                self.open_run(&page[..page.len() - PADDING])?;
                continue;
            }
            let now = count.min(self.left);
            if let IndexRun::Packed(bit) = &mut self.run {
                *bit += now * self.width;
            }
            self.left -= now;
            count -= now;
        }
        Some(())
    }

    fn open_run(&mut self, page: &[u8]) -> Option<()> {
        let mut input = Thrift::new(page.get(self.at..)?);
        let head = usize::try_from(input.varint()?).ok()?;
        let start = page.len() - input.left();
        let packed = head & 1 == 1;
        let bytes =
            if packed { (head >> 1).checked_mul(self.width)? } else { self.width.div_ceil(8) };
        self.at = start.checked_add(bytes)?;
        let run = page.get(start..self.at)?;
        if packed {
            self.left = (head >> 1).checked_mul(8)?;
            self.run = IndexRun::Packed(start * 8);
        } else {
            self.left = head >> 1;
            let index = run.iter().rev().fold(0, |index, byte| index << 8 | usize::from(*byte));
            self.run = IndexRun::Repeated(index);
        }
        (self.left > 0).then_some(())
    }
}

/// The header of a page.
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
    /// Parses the header at the start of `bytes`; `None` if it is damaged, or of a kind that no trace
    /// file has.
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

/// Parses a count of 31 bits.
fn natural(input: &mut Thrift) -> Option<u64> {
    i32::try_from(input.number()?).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_repeat_and_are_packed() {
        // 3 bits wide: 5 times index 1, then 8 indices 0 to 7 in 3 bytes.
        let mut page = vec![3, 5 << 1, 1, 1 << 1 | 1, 0x88, 0xc6, 0xfa];
        page.extend([0; PADDING]);
        let dictionary: Vec<u32> = (100..108).collect();
        let read = |pieces: &[usize]| {
            let mut indices = Indices::new(&page).ok()?;
            let mut values = Vec::new();
            for &count in pieces {
                indices.read(&page, count, &dictionary, &mut values)?;
            }
            Some(values)
        };
        let all = [[101; 5].to_vec(), dictionary.clone()].concat();
        assert_eq!(read(&[13]), Some(all.clone()));
        assert_eq!(read(&[1, 3, 2, 1, 6]), Some(all));
        assert_eq!(read(&[14]), None);
        let mut short = Vec::new();
        let few = Indices::new(&page).unwrap().read(&page, 13, &dictionary[..7], &mut short);
        assert_eq!(few, None);
    }

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
