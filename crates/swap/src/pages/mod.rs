//! The file of memory pages (`.pages`): Parquet with a row a page, Zstandard-compressed,
//! and a JSON description ([`PagesInfo`]) under the key [`METADATA_KEY`].

mod reader;
mod writer;

use flashpager_trace::columns::footer::{ParquetKind, PhysicalType};
use flate2::Crc;
use serde::{Deserialize, Serialize};

pub use reader::{Pages, info};
pub use writer::PagesWriter;

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

const PAGES_FILE: ParquetKind = ParquetKind {
    name: "file of pages",
    hint: "'flashpager swap capture' makes one",
    columns: &[
        ("process", PhysicalType::Int32),
        ("mapping", PhysicalType::Bytes),
        ("address", PhysicalType::Int64),
        ("bytes", PhysicalType::Fixed),
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
    pub processes: Vec<CapturedProcess>,
}

/// A process whose pages were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedProcess {
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
pub struct PageOrigin<'a> {
    /// Its process, in [`PagesInfo::processes`].
    pub process: u32,
    /// `[heap]`, `[stack]`, a file of which it is a changed copy, or empty.
    pub mapping: &'a str,
    /// Its address there.
    pub address: u64,
}

fn add_to_checksum(checksum: &mut Crc, place: PageOrigin<'_>, bytes: &[u8]) {
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
