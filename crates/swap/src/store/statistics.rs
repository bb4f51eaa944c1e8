//! Results, statistics, counters and wear of a store.

use std::ffi::c_int;

use flashpager_base::Error;
use serde::{Deserialize, Serialize};

use crate::ffi;

/// Errors of a store's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The slot holds no page.
    #[error("the slot holds no page")]
    Empty,
    /// The medium has no space; the slot still holds its old page.
    #[error("the medium is full")]
    Full,
    /// The medium gave other bytes than were written.
    #[error("the medium gave other bytes than were written")]
    Corrupt,
    /// The medium failed.
    #[error("the medium failed")]
    Io,
    /// The medium holds no store.
    #[error("the medium holds no store; format it")]
    NoStore,
    /// The medium holds a store that this one cannot mount.
    #[error("the medium holds a store of another version or shape; format it, or take another one")]
    Other,
    /// Too few blocks of the medium are good.
    #[error("too few blocks of the medium are good")]
    Small,
    /// No such slot, or a page of another size.
    #[error("no such slot, or a page of another size")]
    Invalid,
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::data("swap store", error.to_string())
    }
}

/// Converts a return code of the library.
pub(super) fn result(code: c_int) -> std::result::Result<(), StoreError> {
    match code {
        ffi::OK => Ok(()),
        ffi::EMPTY => Err(StoreError::Empty),
        ffi::FULL => Err(StoreError::Full),
        ffi::CORRUPT => Err(StoreError::Corrupt),
        ffi::IO => Err(StoreError::Io),
        ffi::NO_STORE => Err(StoreError::NoStore),
        ffi::OTHER => Err(StoreError::Other),
        ffi::SMALL => Err(StoreError::Small),
        _ => Err(StoreError::Invalid),
    }
}

/// Statistics, named after zram's `mm_stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Uncompressed bytes of the pages held.
    pub orig_data_size: u64,
    /// Compressed bytes of the pages held.
    pub compr_data_size: u64,
    /// Bytes of the medium in use, headers included.
    pub mem_used_total: u64,
    /// Bytes of the medium that can be used.
    pub mem_limit: u64,
    /// The most bytes that were ever in use.
    pub mem_used_max: u64,
    /// Slots that hold a page.
    pub pages: u32,
    /// Pages filled with one repeated word, of which only the word is kept.
    pub same_pages: u32,
    /// Incompressible pages, stored uncompressed.
    pub huge_pages: u32,
    /// Pages that were lost.
    pub lost_pages: u32,
    /// Bad blocks of the medium.
    pub bad_blocks: u32,
    /// Erasures since format or mount.
    pub erases: u32,
    /// Compressed bytes handed to the layout.
    pub written_size: u64,
    /// Bytes moved by garbage collection.
    pub moved_size: u64,
    /// Bytes programmed by the layout.
    pub programmed_size: u64,
    /// Compressed over original bytes of the pages that are not same-filled; `None` without any.
    pub compression_ratio: Option<f64>,
    /// Bytes in use over original bytes of the same pages; `None` without any.
    pub used_ratio: Option<f64>,
}

/// Operations of the medium and the compressor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreCounters {
    /// Reads of the medium.
    pub reads: u64,
    /// Reads that load another flash page into the data register.
    pub loads: u64,
    /// Reads that change the column within the data register.
    pub columns: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Programs of flash pages, or of byte ranges in place.
    pub programs: u64,
    /// Bytes programmed.
    pub program_bytes: u64,
    /// Erasures.
    pub erases: u64,
    /// Pages that were compressed.
    pub compressed_pages: u64,
    /// Pages that were decompressed.
    pub decompressed_pages: u64,
}

impl std::ops::Sub for StoreCounters {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            loads: self.loads - before.loads,
            columns: self.columns - before.columns,
            read_bytes: self.read_bytes - before.read_bytes,
            programs: self.programs - before.programs,
            program_bytes: self.program_bytes - before.program_bytes,
            erases: self.erases - before.erases,
            compressed_pages: self.compressed_pages - before.compressed_pages,
            decompressed_pages: self.decompressed_pages - before.decompressed_pages,
        }
    }
}

/// Erasures of the medium's good blocks. For media that rewrite in place, the rewrites of each
/// block's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wear {
    /// Blocks that are not bad.
    pub good_blocks: u32,
    /// Erasures of the least worn block.
    pub min: u32,
    /// Mean erasures per block.
    pub mean: f64,
    /// Erasures of the most worn block.
    pub max: u32,
}
