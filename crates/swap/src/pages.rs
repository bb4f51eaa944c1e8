//! The file of memory pages (`.pages`): Parquet with a row a page, Zstandard-compressed,
//! and a JSON description ([`PagesInfo`]) under the key [`METADATA_KEY`].

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use flashpager_base::{Error, Result};
use flashpager_trace::columns::footer::{Footer, Group, Kind, Physical};
use flashpager_trace::columns::pages::plain_values;
use flashpager_trace::columns::{crc32, parquet_error};
use flashpager_trace::output::{Output, Space};
use flate2::Crc;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde::{Deserialize, Serialize};

use super::workload::Contents;

/// Version of the file's layout, in [`PagesInfo::schema_version`].
pub const SCHEMA_VERSION: u32 = 1;

/// The Parquet metadata key of the JSON description.
pub const METADATA_KEY: &str = "flashpager.pages";

/// The Parquet metadata key of the checksums: CRC-32 of the description and of the
/// rows (of each: process, address and length of the mapping's name, little-endian, that
/// name, the page), in hexadecimal.
pub const CHECKSUM_KEY: &str = "flashpager.crc32";

/// Bytes of pages in a row group: bounds the memory of writer and reader.
const GROUP_BYTES: usize = 4 << 20;

/// Pages that are read from a file at most, in bytes.
const MAX_BYTES: u64 = 4 << 30;

/// The smallest and the largest page that kernels have, or MMUs of small chips.
const PAGE_BYTES: std::ops::RangeInclusive<u32> = 64..=1 << 16;

/// Longest name of a mapping that is kept: a path can have so many.
const MAX_NAME_BYTES: usize = 4096;

const KIND: Kind = Kind {
    name: "file of pages",
    hint: "'flashpager swap capture' makes one",
    columns: &[
        ("process", Physical::Int32),
        ("mapping", Physical::Bytes),
        ("address", Physical::Int64),
        ("bytes", Physical::Fixed),
    ],
    max_rows: (GROUP_BYTES / *PAGE_BYTES.start() as usize) as u64,
};

/// What a file of pages says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesInfo {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Bytes of a page: those of the kernel that it was captured from.
    pub page_bytes: u32,
    /// Pages in the file.
    pub pages: u64,
    /// How many pages were asked for; null for all.
    pub limit: Option<u64>,
    /// Whether pages full of zeros are among them.
    pub with_zero_pages: bool,
    /// Whether the processes were stopped meanwhile, so that their pages are of one moment.
    pub stopped: bool,
    /// Where the pages are from; the column `process` counts these from 0.
    pub processes: Vec<Process>,
}

/// A process whose pages were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its name.
    pub program: String,
    /// Its anonymous pages, in RAM or swapped out.
    pub anonymous_pages: u64,
    /// Of them swapped out.
    pub swapped_pages: u64,
    /// Of its pages that were captured or left out: full of zeros.
    pub zero_pages: u64,
    /// Its pages in the file.
    pub pages: u64,
}

/// Where a page was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// Its process, in [`PagesInfo::processes`].
    pub process: u32,
    /// `[heap]`, `[stack]`, a file of which it is a changed copy, or empty.
    pub mapping: &'a str,
    /// Its address there.
    pub address: u64,
}

/// Writes a file of pages, one row group in memory at a time.
pub struct PagesWriter {
    writer: SerializedFileWriter<Output>,
    place: String,
    page_bytes: u32,
    processes: Vec<i32>,
    mappings: Vec<ByteArray>,
    addresses: Vec<i64>,
    bytes: Vec<FixedLenByteArray>,
    pages: u64,
    checksum: Crc,
}

impl PagesWriter {
    /// Start the file `path`, of pages of `page_bytes`. It appears when it is finished.
    ///
    /// # Errors
    /// When the file cannot be written, or no page has that size.
    pub fn create(path: &Path, page_bytes: u32) -> Result<Self> {
        check_page_bytes(page_bytes).map_err(Error::Design)?;
        let place = path.display().to_string();
        let output = Output::create(path, Space::default())?;
        let level = ZstdLevel::try_new(9).map_err(|e| parquet_error(&place, e))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_data_page_size_limit(GROUP_BYTES)
            .set_created_by(format!("flashpager {}", flashpager_base::VERSION))
            .build();
        let schema = format!(
            "message pages {{
                required int32 process (INTEGER(32,false));
                required binary mapping (STRING);
                required int64 address (INTEGER(64,false));
                required fixed_len_byte_array({page_bytes}) bytes;
            }}"
        );
        let schema = parse_message_type(&schema).map_err(|e| parquet_error(&place, e))?;
        let writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))
            .map_err(|e| parquet_error(&place, e))?;
        Ok(Self {
            writer,
            place,
            page_bytes,
            processes: Vec::new(),
            mappings: Vec::new(),
            addresses: Vec::new(),
            bytes: Vec::new(),
            pages: 0,
            checksum: Crc::new(),
        })
    }

    /// Add a page.
    ///
    /// # Errors
    /// When the file cannot be written, or the page has another size.
    pub fn push(&mut self, place: Place<'_>, bytes: &[u8]) -> Result<()> {
        if bytes.len() != self.page_bytes as usize {
            return Err(Error::design(format!(
                "a page of {} bytes among pages of {}",
                bytes.len(),
                self.page_bytes
            )));
        }
        let kept = place.mapping.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = kept.take_while(|end| *end <= MAX_NAME_BYTES).last().unwrap_or(0);
        self.processes.push(place.process as i32);
        self.mappings.push(place.mapping[..end].into());
        self.addresses.push(place.address as i64);
        self.bytes.push(ByteArray::from(bytes.to_vec()).into());
        let place = Place { mapping: &place.mapping[..end], ..place };
        add_to_checksum(&mut self.checksum, place, bytes);
        if self.bytes.len() * bytes.len() >= GROUP_BYTES { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let mut write = || -> std::result::Result<(), ParquetError> {
            let mut group = self.writer.next_row_group()?;
            if let Some(mut column) = group.next_column()? {
                column.typed::<Int32Type>().write_batch(&self.processes, None, None)?;
                column.close()?;
            }
            if let Some(mut column) = group.next_column()? {
                column.typed::<ByteArrayType>().write_batch(&self.mappings, None, None)?;
                column.close()?;
            }
            if let Some(mut column) = group.next_column()? {
                column.typed::<Int64Type>().write_batch(&self.addresses, None, None)?;
                column.close()?;
            }
            if let Some(mut column) = group.next_column()? {
                column.typed::<FixedLenByteArrayType>().write_batch(&self.bytes, None, None)?;
                column.close()?;
            }
            group.close()?;
            Ok(())
        };
        write().map_err(|e| parquet_error(&self.place, e))?;
        self.pages += self.bytes.len() as u64;
        self.processes.clear();
        self.mappings.clear();
        self.addresses.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Write the rest and `info`, whose version, size and number of pages are filled in
    /// here, and give the file its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self, mut info: PagesInfo) -> Result<PagesInfo> {
        if !self.bytes.is_empty() {
            self.write_group()?;
        }
        info.schema_version = SCHEMA_VERSION;
        info.page_bytes = self.page_bytes;
        info.pages = self.pages;
        let json =
            serde_json::to_string(&info).map_err(|e| Error::data(&self.place, e.to_string()))?;
        let checksums = format!("{:08x} {:08x}", crc32(json.as_bytes()), self.checksum.sum());
        self.writer.append_key_value_metadata(KeyValue::new(METADATA_KEY.to_owned(), json));
        self.writer.append_key_value_metadata(KeyValue::new(CHECKSUM_KEY.to_owned(), checksums));
        self.writer.into_inner().map_err(|e| parquet_error(&self.place, e))?.finish()?;
        Ok(info)
    }
}

/// Pages of memory with where they were.
#[derive(Clone, Debug)]
pub struct Pages {
    info: PagesInfo,
    rows: Vec<(u32, u32, u64)>,
    mappings: Vec<String>,
    bytes: Vec<u8>,
}

impl Pages {
    /// Read the file `path`.
    ///
    /// # Errors
    /// When the file cannot be read, is no file of pages, is damaged, holds no page, or
    /// more than 4 GiB of them.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, footer, info, checksums) = open(path)?;
        let place = path.display().to_string();
        let damaged = |what: String| {
            Error::data(&place, format!("is damaged ({what}): make or copy it again"))
        };
        if info.pages == 0 {
            return Err(Error::data(place, "holds no page"));
        }
        if info.pages * u64::from(info.page_bytes) > MAX_BYTES {
            return Err(Error::data(
                place,
                "holds more than 4 GiB of pages; capture fewer with --limit",
            ));
        }
        let file = Arc::new(file);
        let mut pages = Self { info, rows: Vec::new(), mappings: Vec::new(), bytes: Vec::new() };
        for (number, group) in footer.groups.iter().enumerate() {
            pages.add_group(&file, group).map_err(|e| match e.kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                    damaged(format!("in row group {}", number + 1))
                }
                _ => Error::io(&place, e),
            })?;
        }
        let mut checksum = Crc::new();
        for (place, bytes) in pages.iter() {
            add_to_checksum(&mut checksum, place, bytes);
        }
        if checksums.1 != checksum.sum() {
            return Err(damaged("its pages do not match their checksum".to_owned()));
        }
        Ok(pages)
    }

    fn add_group(&mut self, file: &Arc<File>, group: &Group) -> io::Result<()> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let mut columns = Vec::new();
        for column in &group.columns {
            let (count, values) = plain_values(Arc::clone(file), column)?;
            if count != group.rows {
                return Err(damaged());
            }
            columns.push(values);
        }
        let [processes, mappings, addresses, bytes] = &columns[..] else { return Err(damaged()) };
        let rows = group.rows as usize;
        if processes.len() != rows * 4
            || addresses.len() != rows * 8
            || bytes.len() != rows * self.info.page_bytes as usize
        {
            return Err(damaged());
        }
        let mut names = &mappings[..];
        for (process, address) in processes.as_chunks().0.iter().zip(addresses.as_chunks().0) {
            let process = u32::from_le_bytes(*process);
            let name = (|| {
                let (length, rest) = names.split_first_chunk()?;
                let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                names = rest;
                std::str::from_utf8(name).ok().filter(|name| name.len() <= MAX_NAME_BYTES)
            })();
            let (Some(name), true) = (name, (process as usize) < self.info.processes.len()) else {
                return Err(damaged());
            };
            // Neighbours are of one mapping, as a rule.
            if self.mappings.last().is_none_or(|last| last != name) {
                self.mappings.push(name.to_owned());
            }
            let mapping = (self.mappings.len() - 1) as u32;
            self.rows.push((process, mapping, u64::from_le_bytes(*address)));
        }
        if !names.is_empty() {
            return Err(damaged());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The description.
    pub fn info(&self) -> &PagesInfo {
        &self.info
    }

    /// The pages, in the file's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Place<'_>, &[u8])> {
        self.rows.iter().zip(self.bytes.chunks_exact(self.info.page_bytes as usize)).map(
            |(&(process, mapping, address), bytes)| {
                (Place { process, mapping: &self.mappings[mapping as usize], address }, bytes)
            },
        )
    }

    /// The bytes of all pages, one after another.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Contents for Pages {
    /// The pages in turn; of another size, their bytes in turn.
    fn fill(&self, content: u64, page: &mut [u8]) {
        let all = self.bytes.len() as u64;
        let mut at = (u128::from(content) * page.len() as u128 % u128::from(all)) as usize;
        let mut rest = page;
        while !rest.is_empty() {
            let from = &self.bytes[at..];
            let (now, later) = rest.split_at_mut(from.len().min(rest.len()));
            now.copy_from_slice(&from[..now.len()]);
            rest = later;
            at = 0;
        }
    }
}

/// Read the description of the file `path`, and no page.
///
/// # Errors
/// When the file cannot be read, is no file of pages, or is damaged.
pub fn info(path: &Path) -> Result<PagesInfo> {
    Ok(open(path)?.2)
}

fn open(path: &Path) -> Result<(File, Footer, PagesInfo, (u32, u32))> {
    let place = path.display().to_string();
    let mut file = File::open(path).map_err(|e| Error::file(path, e))?;
    let footer = Footer::read(path, &mut file, &KIND)?;
    let info: PagesInfo = footer.description(path, &KIND, METADATA_KEY, SCHEMA_VERSION)?;
    let json = footer.value(METADATA_KEY).unwrap_or_default();
    let checksums = footer
        .value(CHECKSUM_KEY)
        .and_then(|text| text.split_once(' '))
        .and_then(|(info, rows)| Some((hexadecimal(info)?, hexadecimal(rows)?)))
        .filter(|(sum, _)| *sum == crc32(json.as_bytes()))
        .ok_or_else(|| Error::data(&place, "its description is damaged: make or copy it again"))?;
    let fits = check_page_bytes(info.page_bytes).is_ok()
        && footer.fixed_bytes == u64::from(info.page_bytes)
        && footer.rows == info.pages
        && u64::from(u32::MAX) >= info.pages;
    if !fits {
        return Err(Error::data(&place, "its description does not fit its contents"));
    }
    Ok((file, footer, info, checksums))
}

fn add_to_checksum(checksum: &mut Crc, place: Place<'_>, bytes: &[u8]) {
    checksum.update(&place.process.to_le_bytes());
    checksum.update(&place.address.to_le_bytes());
    checksum.update(&(place.mapping.len() as u32).to_le_bytes());
    checksum.update(place.mapping.as_bytes());
    checksum.update(bytes);
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok()
}

fn check_page_bytes(page_bytes: u32) -> std::result::Result<(), String> {
    if PAGE_BYTES.contains(&page_bytes) && page_bytes.is_multiple_of(4) {
        return Ok(());
    }
    Err(format!(
        "{page_bytes} bytes are no page of memory: take a multiple of 4 from {} to {}",
        PAGE_BYTES.start(),
        PAGE_BYTES.end()
    ))
}
