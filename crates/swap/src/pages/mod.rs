//! Files of memory pages (`.pages`): Parquet with a row per page, Zstandard-compressed, and a JSON
//! description ([`PagesInfo`]) under the key [`METADATA_KEY`].

mod reader;
mod writer;

use flashpager_trace::columns::footer::{ParquetKind, PhysicalType};
use flate2::Crc;
use serde::{Deserialize, Serialize};

pub use reader::{Pages, info};
pub use writer::PagesWriter;

/// Version of the file format, in [`PagesInfo::schema_version`].
pub const SCHEMA_VERSION: u32 = 1;

/// Parquet metadata key of the JSON description.
pub const METADATA_KEY: &str = "flashpager.pages";

/// Parquet metadata key of the checksums: the CRC-32 of the description and of the rows, in
/// hexadecimal. The CRC of a row covers the process, the address, the length of the mapping's name
/// (little-endian), that name and the page.
pub const CHECKSUM_KEY: &str = "flashpager.crc32";

/// Bytes of pages in a row group, which bounds the memory of writer and reader.
const GROUP_BYTES: usize = 4 << 20;

/// The maximum size of the pages read from a file, in bytes.
const MAX_BYTES: u64 = 4 << 30;

/// Page sizes that a file may have: from those of MMUs of small chips to the largest of kernels.
const PAGE_BYTES: std::ops::RangeInclusive<u32> = 64..=1 << 16;

/// The maximum length of a mapping's name in bytes: the longest path. A longer name is cut off.
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

/// The description of a file of pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesInfo {
    /// Version of the file format: [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Bytes of a page of the kernel that they were captured from.
    pub page_bytes: u32,
    /// Pages in the file.
    pub pages: u64,
    /// Requested maximum number of pages; null for all.
    pub limit: Option<u64>,
    /// True if pages full of zeros are in the file.
    pub with_zero_pages: bool,
    /// True if the processes were stopped during the capture, so that all pages are of one moment.
    pub stopped: bool,
    /// The processes that the pages are from. The column `process` is an index into this list.
    pub processes: Vec<CapturedProcess>,
}

/// A process whose pages were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedProcess {
    /// Name of the program.
    pub program: String,
    /// Anonymous pages, in RAM or swapped out.
    pub anonymous_pages: u64,
    /// Anonymous pages that were swapped out.
    pub swapped_pages: u64,
    /// Pages full of zeros, captured or left out.
    pub zero_pages: u64,
    /// Pages of this process in the file.
    pub pages: u64,
}

/// The origin of a captured page: its process, mapping and address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOrigin<'a> {
    /// Index of the process in [`PagesInfo::processes`].
    pub process: u32,
    /// The mapping: `[heap]`, `[stack]`, the file of which it is a changed copy, or empty.
    pub mapping: &'a str,
    /// Address of the page in the process.
    pub address: u64,
}

fn add_to_checksum(checksum: &mut Crc, origin: PageOrigin<'_>, bytes: &[u8]) {
    checksum.update(&origin.process.to_le_bytes());
    checksum.update(&origin.address.to_le_bytes());
    checksum.update(&(origin.mapping.len() as u32).to_le_bytes());
    checksum.update(origin.mapping.as_bytes());
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
