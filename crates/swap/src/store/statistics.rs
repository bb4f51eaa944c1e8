//! What a store says of itself: results, statistics, counters, wear.

use std::ffi::c_int;

use flashpager_base::Error;
use serde::{Deserialize, Serialize};

use crate::ffi;

/// Why a store did not do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The slot holds no page.
    #[error("the slot holds no page")]
    Empty,
    /// No room on the medium; the slot keeps what it held.
    #[error("the medium is full")]
    Full,
    /// The medium gave other bytes than were written.
    #[error("the medium gave other bytes than were written")]
    Corrupt,
    /// The medium failed.
    #[error("the medium failed")]
    Io,
    /// Nothing to mount.
    #[error("the medium holds no store; format it")]
    NoStore,
    /// A store, but not one that can be mounted.
    #[error("the medium holds a store of another version or shape; format it, or take another one")]
    Other,
    /// A slot, or a size, that cannot be.
    #[error("no such slot, or a page of another size")]
    Invalid,
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::data("swap store", error.to_string())
    }
}

/// What a code of the library means.
pub(super) fn result(code: c_int) -> std::result::Result<(), StoreError> {
    match code {
        ffi::OK => Ok(()),
        ffi::EMPTY => Err(StoreError::Empty),
        ffi::FULL => Err(StoreError::Full),
        ffi::CORRUPT => Err(StoreError::Corrupt),
        ffi::IO => Err(StoreError::Io),
        ffi::NO_STORE => Err(StoreError::NoStore),
        ffi::OTHER => Err(StoreError::Other),
        _ => Err(StoreError::Invalid),
    }
}

/// Statistics, named after zram's `mm_stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Bytes of the pages held, as they were written.
    pub orig_data_size: u64,
    /// Bytes of them after compression.
    pub compr_data_size: u64,
    /// Bytes of the medium that they take, headers and all.
    pub mem_used_total: u64,
    /// Bytes of the medium that they may take.
    pub mem_limit: u64,
    /// The most they ever took.
    pub mem_used_max: u64,
    /// Slots that hold a page.
    pub pages: u32,
    /// Of them filled with one word: no data.
    pub same_pages: u32,
    /// Of them incompressible: stored as they are.
    pub huge_pages: u32,
    /// Of them lost.
    pub lost_pages: u32,
    /// Bad blocks of the medium.
    pub bad_blocks: u32,
    /// Erasures since format or mount.
    pub erases: u32,
    /// Bytes handed to the layout: compressed pages.
    pub written_size: u64,
    /// Bytes that collection moved.
    pub moved_size: u64,
    /// Bytes that the layout programmed.
    pub programmed_size: u64,
    /// What the compressor makes of the pages that are not same-filled; absent without any.
    pub compression_ratio: Option<f64>,
    /// What compressor and store make of them.
    pub used_ratio: Option<f64>,
}

/// What was asked of the medium, and of the compressor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreCounters {
    /// Reads of the medium.
    pub reads: u64,
    /// Of them loads of another flash page into the data register.
    pub loads: u64,
    /// Of them changes of the column within it.
    pub columns: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Programs: of flash pages, or of bytes in place.
    pub programs: u64,
    /// Bytes programmed.
    pub program_bytes: u64,
    /// Erasures.
    pub erases: u64,
    /// Pages given to the compressor.
    pub compressed_pages: u64,
    /// Pages that it gave back.
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

/// How the erasures of a medium are spread over its good blocks; of media that rewrite in
/// place, how often each block's bytes were rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wear {
    /// Blocks that are not bad.
    pub good_blocks: u32,
    /// Of the least worn.
    pub min: u32,
    /// On average.
    pub mean: f64,
    /// Of the most worn.
    pub max: u32,
}
