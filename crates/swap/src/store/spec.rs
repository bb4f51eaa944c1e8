//! A store as it is asked for: layout, compressor, the medium's shape and faults.

use std::ffi::c_int;
use std::path::PathBuf;

use flashpager_base::{Error, Result, named};
use serde::{Deserialize, Serialize};

use crate::ffi;

/// How pages lie on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreLayout {
    /// MTDCOMPR's, for media that rewrite in place.
    Fragments,
    /// For NAND: out of place, with garbage collection and wear levelling.
    Log,
    /// MTDCOMPR's way with NAND: fragments over blocks that are read, erased and written
    /// back.
    Rewrite,
}

impl StoreLayout {
    /// Whether it is for flash pages in erase blocks.
    pub fn is_for_nand(self) -> bool {
        self != Self::Fragments
    }
}

named! {
    StoreLayout: "unknown layout",
    "fragments" => Fragments,
    "log" => Log,
    "rewrite" => Rewrite,
}

/// What makes pages smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compressor {
    /// Pages are stored as they are.
    None,
    /// zlib's deflate of level 1, MTDCOMPR's.
    Deflate,
    /// LZ4's fast one.
    Lz4,
    /// Zstandard of level 1.
    Zstd,
    /// For small MCUs.
    Heatshrink,
}

impl Compressor {
    /// As `shim.c` numbers them.
    pub(super) fn number(self) -> Option<c_int> {
        match self {
            Self::None => None,
            Self::Deflate => Some(0),
            Self::Lz4 => Some(1),
            Self::Zstd => Some(2),
            Self::Heatshrink => Some(3),
        }
    }

    /// Bytes of RAM that it works in, for pages of that size.
    pub fn memory_bytes(self, page_bytes: u32) -> usize {
        // SAFETY: a function of two numbers, for any numbers.
        self.number()
            .map_or(0, |number| unsafe { ffi::fp_shim_compressor_bytes(number, page_bytes) })
    }
}

named! {
    Compressor: "unknown compressor",
    "none" => None,
    "deflate" => Deflate,
    "lz4" => Lz4,
    "zstd" => Zstd,
    "heatshrink" => Heatshrink,
}

/// The shape of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Bytes of a flash page; 1 where bytes are rewritten in place.
    pub program_bytes: u32,
    /// Bytes of an erase block; of media that rewrite in place, what wear is counted by.
    pub block_bytes: u32,
    /// Blocks.
    pub block_count: u32,
}

impl Geometry {
    /// Bytes of the medium.
    pub fn bytes(self) -> u64 {
        u64::from(self.block_bytes) * u64::from(self.block_count)
    }
}

/// What fails on an emulated medium, and when; by default nothing does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MediumFaults {
    /// Blocks that are bad from the start.
    pub factory_bad_blocks: u32,
    /// Erasures after which a block may fail; 0: never.
    pub endurance_cycles: u32,
    /// Of a million programs, those that fail and grow a bad block.
    pub program_fail_ppm: u32,
    /// Of a million erasures, those that do.
    pub erase_fail_ppm: u32,
    /// Of a million reads, those whose bits had to be corrected.
    pub corrected_ppm: u32,
}

/// A store to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSpec {
    /// How pages lie.
    pub layout: StoreLayout,
    /// What makes them smaller.
    pub compressor: Compressor,
    /// Whether each page that was compressed is decompressed and compared.
    pub verify: bool,
    /// Bytes of a page of memory: a multiple of 4, at most 32768.
    pub page_bytes: u32,
    /// Slots, numbered from 0.
    pub slot_count: u32,
    /// The medium.
    pub geometry: Geometry,
    /// Blocks that a log leaves free; 0: as few as it can.
    pub reserve_blocks: u32,
    /// The file that holds the medium; memory if absent.
    pub file: Option<PathBuf>,
    /// What fails.
    pub faults: MediumFaults,
    /// Of all that is random.
    pub seed: u64,
}

impl StoreSpec {
    /// Pieces that fragments may cut the medium into.
    pub(super) fn chunk_count(&self) -> u32 {
        (u64::from(self.slot_count) * 3 / 2 + 1).min(u32::MAX.into()) as u32
    }

    /// Bytes of RAM that the store takes beside its medium: slots, blocks, buffers and the
    /// compressor's.
    pub fn memory_bytes(&self) -> u64 {
        let rewriter = match self.layout {
            StoreLayout::Rewrite => {
                u64::from(self.geometry.block_bytes) + 4 * u64::from(self.geometry.block_count)
            }
            _ => 0,
        };
        let verify = if self.verify { u64::from(self.page_bytes) } else { 0 };
        4 * self.words() as u64
            + rewriter
            + verify
            + self.compressor.memory_bytes(self.page_bytes) as u64
    }

    /// Blocks that a log on this medium leaves free at least; 0 where there can be none, and for
    /// other layouts.
    pub fn least_reserve_blocks(&self) -> u32 {
        if self.layout != StoreLayout::Log {
            return 0;
        }
        let Geometry { program_bytes, block_bytes, block_count } = self.geometry;
        // SAFETY: a function of numbers, that are checked by it.
        unsafe {
            ffi::fp_shim_log_reserve(
                program_bytes,
                block_bytes,
                block_count,
                self.page_bytes,
                self.slot_count,
            )
        }
    }

    /// Words of memory for the store.
    pub(super) fn words(&self) -> usize {
        let Geometry { program_bytes, block_count, .. } = self.geometry;
        let slots = self.slot_count as usize;
        // SAFETY: functions of numbers, for any numbers.
        unsafe {
            match self.layout {
                StoreLayout::Log => ffi::fp_shim_log_words(
                    slots,
                    block_count as usize,
                    self.page_bytes,
                    program_bytes,
                ),
                StoreLayout::Fragments | StoreLayout::Rewrite => {
                    ffi::fp_shim_fragment_words(slots, self.chunk_count() as usize, self.page_bytes)
                }
            }
        }
    }

    /// Check it.
    ///
    /// # Errors
    /// Sizes and combinations that cannot be.
    pub(super) fn check(&self) -> Result<()> {
        let Geometry { program_bytes, block_bytes, block_count } = self.geometry;
        if program_bytes == 0
            || block_bytes == 0
            || block_count == 0
            || !block_bytes.is_multiple_of(program_bytes)
            || self.geometry.bytes() >= u64::from(u32::MAX)
        {
            return Err(Error::design(format!(
                "a medium of {block_count} blocks of {block_bytes} bytes, programmed {program_bytes} \
                 together, cannot be: it has at least one block, of whole flash pages, and less \
                 than 4 GiB"
            )));
        }
        if self.layout.is_for_nand() != (program_bytes > 1) {
            return Err(Error::design(match self.layout {
                StoreLayout::Fragments => {
                    "the layout fragments wants a medium that rewrites in place; take log (or \
                     rewrite) for NAND"
                        .to_owned()
                }
                layout => format!(
                    "the layout {} wants NAND; take fragments for a medium that rewrites in place",
                    layout.name()
                ),
            }));
        }
        if self.page_bytes == 0 || !self.page_bytes.is_multiple_of(4) || self.page_bytes > 32768 {
            return Err(Error::design(format!(
                "a page of {} bytes cannot be swapped: take a multiple of 4, at most 32768",
                self.page_bytes
            )));
        }
        if self.slot_count == 0 || self.slot_count == u32::MAX {
            return Err(Error::design(format!("a store has no {} slots", self.slot_count)));
        }
        if self.faults.factory_bad_blocks >= block_count {
            return Err(Error::design(format!(
                "factory_bad_blocks = {}: of {block_count} blocks some must be good",
                self.faults.factory_bad_blocks
            )));
        }
        if self.layout == StoreLayout::Log { self.check_log() } else { Ok(()) }
    }

    /// Check that a log has blocks enough, and such as it can use.
    fn check_log(&self) -> Result<()> {
        let Geometry { program_bytes, block_bytes, block_count } = self.geometry;
        let least = self.least_reserve_blocks();
        if least == 0 {
            return Err(Error::design(format!(
                "a log cannot lie on {block_count} blocks of {block_bytes} bytes, programmed \
                 {program_bytes} together: it wants flash pages of 256 bytes or more, 6 or more of \
                 them a block, blocks larger than a page of {} bytes, and at most 65534 of them",
                self.page_bytes
            )));
        }
        if self.reserve_blocks > 0 && self.reserve_blocks < least {
            return Err(Error::design(format!(
                "{} reserve blocks are too few for a log of {} slots on {block_count} blocks: leave \
                 {least} or more free",
                self.reserve_blocks, self.slot_count
            )));
        }
        let kept = self.reserve_blocks.max(least);
        if kept >= block_count {
            return Err(Error::design(format!(
                "a medium of {block_count} blocks of {block_bytes} bytes is too small for a log of \
                 {} slots, which leaves {kept} of them free; take a larger one, or fewer slots",
                self.slot_count
            )));
        }
        Ok(())
    }
}
