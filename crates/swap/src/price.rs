//! The time that a swap system's counts take.

use serde::{Deserialize, Serialize};

use super::counts::MachineCounts;
use super::medium::{MediumPrices, MediumTime};
use super::store::Compressor;

/// Instructions that a compressor executes for each byte of a page.
///
/// Counted on x86-64 with callgrind in the C code that is linked here (gcc -O2), on pages of
/// `synthetic(25%)`. `benches/swap.rs` has the command.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompressorSpeed {
    /// Instructions for each byte of a page that is compressed.
    pub compress_instructions_per_byte: f64,
    /// Instructions for each byte of a page that is decompressed.
    pub decompress_instructions_per_byte: f64,
}

impl CompressorSpeed {
    /// Returns the counted speed of a compressor.
    pub fn of(compressor: Compressor) -> Self {
        let (compress, decompress) = match compressor {
            Compressor::None => (0.0, 0.0),
            Compressor::Deflate => (70.1, 11.7),
            Compressor::Lz4 => (9.5, 0.5),
            Compressor::Zstd => (13.9, 0.99),
            Compressor::Heatshrink => (75.2, 57.1),
        };
        Self {
            compress_instructions_per_byte: compress,
            decompress_instructions_per_byte: decompress,
        }
    }
}

/// Times of a swap system's operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwapPrices {
    /// Nanoseconds for each byte of RAM that the program reads or writes.
    pub ram_ns_per_byte: f64,
    /// Nanoseconds of a page fault, without store and medium.
    pub fault_ns: f64,
    /// Nanoseconds to compress a page.
    pub compress_page_ns: f64,
    /// Nanoseconds to decompress a page.
    pub decompress_page_ns: f64,
    /// Times of the medium's operations.
    pub medium: MediumPrices,
}

/// The time of a run, by its causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SwapTime {
    /// The program's reads and writes of RAM.
    pub ram_ns: f64,
    /// Page faults, false ones included.
    pub fault_ns: f64,
    /// Compression.
    pub compress_ns: f64,
    /// Decompression.
    pub decompress_ns: f64,
    /// Operations of the medium.
    pub medium: MediumTime,
    /// The sum of all.
    pub total_ns: f64,
}

impl SwapPrices {
    /// Returns the time that `counts` take.
    pub fn time(&self, counts: &MachineCounts) -> SwapTime {
        let n = |count: u64| count as f64;
        let medium = self.medium.time(&counts.store);
        let mut time = SwapTime {
            ram_ns: n(counts.bytes_read + counts.bytes_written) * self.ram_ns_per_byte,
            fault_ns: n(counts.faults + counts.false_faults) * self.fault_ns,
            compress_ns: n(counts.store.compressed_pages) * self.compress_page_ns,
            decompress_ns: n(counts.store.decompressed_pages) * self.decompress_page_ns,
            medium,
            total_ns: 0.0,
        };
        time.total_ns = time.ram_ns
            + time.fault_ns
            + time.compress_ns
            + time.decompress_ns
            + medium.read_ns
            + medium.program_ns
            + medium.erase_ns;
        time
    }
}
