//! Specification of a store: layout, compressor, and the medium's shape and faults.

use std::ffi::c_int;
use std::path::PathBuf;

use flashpager_base::{Error, Result, named};
use serde::{Deserialize, Serialize};

use crate::ffi;

/// The layout of pages on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreLayout {
    /// MTDCOMPR's layout, for media that rewrite in place.
    Fragments,
    /// Out-of-place writes with garbage collection and wear levelling, for NAND.
    Log,
    /// MTDCOMPR's way with NAND: fragments over blocks that are read, erased and written back.
    Rewrite,
}

impl StoreLayout {
    /// Returns true if the layout needs flash pages in erase blocks.
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

/// A compression algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compressor {
    /// No compression.
    None,
    /// zlib's deflate at level 1, as in MTDCOMPR.
    Deflate,
    /// LZ4's fast compressor.
    Lz4,
    /// Zstandard at level 1.
    Zstd,
    /// heatshrink, for small microcontrollers.
    Heatshrink,
}

impl Compressor {
    /// Returns the number in `shim.c`. `None` has none.
    pub(super) fn number(self) -> Option<c_int> {
        match self {
            Self::None => None,
            Self::Deflate => Some(0),
            Self::Lz4 => Some(1),
            Self::Zstd => Some(2),
            Self::Heatshrink => Some(3),
        }
    }

    /// Returns the bytes of RAM that the compressor works in, for pages of this size.
    pub fn memory_bytes(self, page_bytes: u32) -> usize {
        // SAFETY: the function takes any two numbers.
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
    /// Bytes of a flash page; 1 if bytes are rewritten in place.
    pub program_bytes: u32,
    /// Bytes of an erase block. If bytes are rewritten in place, bytes of a block for which wear is
    /// counted.
    pub block_bytes: u32,
    /// Number of blocks.
    pub block_count: u32,
}

impl Geometry {
    /// Returns the bytes of the medium.
    pub fn bytes(self) -> u64 {
        u64::from(self.block_bytes) * u64::from(self.block_count)
    }
}

/// Faults of an emulated medium; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MediumFaults {
    /// Blocks that are bad from the start.
    pub factory_bad_blocks: u32,
    /// Erasures after which a block may fail; 0 for never.
    pub endurance_cycles: u32,
    /// Programs in a million that fail and make their block bad.
    pub program_fail_ppm: u32,
    /// Erasures in a million that fail and make their block bad.
    pub erase_fail_ppm: u32,
    /// Reads in a million whose bits had to be corrected.
    pub corrected_ppm: u32,
}

/// The specification of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSpec {
    /// The layout of pages.
    pub layout: StoreLayout,
    /// The compressor.
    pub compressor: Compressor,
    /// Decompress and compare each compressed page.
    pub verify: bool,
    /// Bytes of a page of memory: a multiple of 4, at most 32768.
    pub page_bytes: u32,
    /// Slots, numbered from 0.
    pub slot_count: u32,
    /// The medium's shape.
    pub geometry: Geometry,
    /// Blocks that a log leaves free; 0 for the fewest it can.
    pub reserve_blocks: u32,
    /// File that holds the medium. `None` keeps it in memory.
    pub file: Option<PathBuf>,
    /// Faults of the medium.
    pub faults: MediumFaults,
    /// Seed of everything random.
    pub seed: u64,
}

impl StoreSpec {
    /// The maximum number of pieces into which fragments may cut the medium.
    pub(super) fn chunk_count(&self) -> u32 {
        (u64::from(self.slot_count) * 3 / 2 + 1).min(u32::MAX.into()) as u32
    }

    /// Returns the bytes of RAM that the store uses beside its medium: slots, blocks, buffers and
    /// the compressor's memory.
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

    /// Returns the fewest blocks that a log on this medium leaves free. 0 if no log fits, and for
    /// other layouts.
    pub fn least_reserve_blocks(&self) -> u32 {
        if self.layout != StoreLayout::Log {
            return 0;
        }
        let Geometry { program_bytes, block_bytes, block_count } = self.geometry;
        // SAFETY: the function takes any numbers and checks them.
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

    /// Returns the 32-bit words of memory that the store needs.
    pub(super) fn words(&self) -> usize {
        let Geometry { program_bytes, block_count, .. } = self.geometry;
        let slots = self.slot_count as usize;
        // SAFETY: the functions take any numbers.
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

    /// Checks the specification.
    ///
    /// # Errors
    /// If a size or combination is impossible.
    pub(super) fn check(&self) -> Result<()> {
        let Geometry { program_bytes, block_bytes, block_count } = self.geometry;
        if program_bytes == 0
            || block_bytes == 0
            || block_count == 0
            || !block_bytes.is_multiple_of(program_bytes)
            || self.geometry.bytes() >= u64::from(u32::MAX)
        {
            return Err(Error::design(format!(
                "a medium cannot have {block_count} blocks of {block_bytes} bytes and flash pages \
                 of {program_bytes}: it has at least one block, a whole number of flash pages in \
                 each, and less than 4 GiB"
            )));
        }
        if self.layout.is_for_nand() != (program_bytes > 1) {
            return Err(Error::design(match self.layout {
                StoreLayout::Fragments => {
                    "the layout fragments needs a medium that rewrites in place; take log (or \
                     rewrite) for NAND"
                        .to_owned()
                }
                layout => format!(
                    "the layout {} needs NAND; take fragments for a medium that rewrites in place",
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
            return Err(Error::design(format!("a store cannot have {} slots", self.slot_count)));
        }
        if self.faults.factory_bad_blocks >= block_count {
            return Err(Error::design(format!(
                "factory_bad_blocks = {}: at least one of the {block_count} blocks must be good",
                self.faults.factory_bad_blocks
            )));
        }
        if self.layout == StoreLayout::Log { self.check_log() } else { Ok(()) }
    }

    /// Checks that a log fits on the medium.
    fn check_log(&self) -> Result<()> {
        let Geometry { program_bytes, block_bytes, block_count } = self.geometry;
        let least = self.least_reserve_blocks();
        if least == 0 {
            return Err(Error::design(format!(
                "a log cannot lie on {block_count} blocks of {block_bytes} bytes with flash pages \
                 of {program_bytes}: it needs flash pages of 256 bytes or more, 6 or more of them a \
                 block, blocks larger than a page of {} bytes, and at most 65534 of them",
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
