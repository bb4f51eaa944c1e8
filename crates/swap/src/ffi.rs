//! Declarations of `runtime/swap/flashpager_swap.h` and `runtime/medium/emulated.h`. The build
//! script generates those structs that have numbers only.

use std::ffi::{c_char, c_int, c_void};

// The C compressors call these libraries.
use libz_sys as _;
use lz4_sys as _;
use zstd_sys as _;

type ReadFn = unsafe extern "C" fn(*mut c_void, u32, u32, *mut c_void, u32) -> c_int;
type ProgramFn = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void, u32) -> c_int;

#[repr(C)]
pub struct FpMedium {
    pub context: *mut c_void,
    pub read: Option<ReadFn>,
    pub program: Option<ProgramFn>,
    pub erase: Option<unsafe extern "C" fn(*mut c_void, u32) -> c_int>,
    pub is_bad: Option<unsafe extern "C" fn(*mut c_void, u32) -> bool>,
    pub mark_bad: Option<unsafe extern "C" fn(*mut c_void, u32) -> c_int>,
    pub release: Option<unsafe extern "C" fn(*mut c_void, u32)>,
    pub program_bytes: u32,
    pub block_bytes: u32,
    pub block_count: u32,
}

type CompressFn = unsafe extern "C" fn(*mut c_void, *const u8, u32, *mut u8, u32) -> u32;
type DecompressFn = unsafe extern "C" fn(*mut c_void, *const u8, u32, *mut u8, u32) -> c_int;

#[repr(C)]
pub struct FpCompressor {
    pub context: *mut c_void,
    pub compress: Option<CompressFn>,
    pub decompress: Option<DecompressFn>,
    pub name: *const c_char,
}

/// `struct fp_swap_layout`, opaque to the binding.
#[repr(C)]
pub struct FpSwapLayout {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct FpSwapConfig {
    pub medium: *const FpMedium,
    pub layout: *const FpSwapLayout,
    pub compressor: *const FpCompressor,
    pub verify: *mut c_void,
    pub crc: Option<unsafe extern "C" fn(u32, *const c_void, usize) -> u32>,
    pub page_bytes: u32,
    pub slot_count: u32,
    pub reserve_blocks: u32,
    pub chunk_count: u32,
    pub memory: *mut c_void,
    pub memory_bytes: usize,
}

include!(concat!(env!("OUT_DIR"), "/FpSwapStat.rs"));

/// `struct fp_swap_rewriter`, in memory of [`fp_shim_rewriter_bytes`].
#[repr(C)]
pub struct FpSwapRewriter {
    _opaque: [u8; 0],
}

/// `struct fp_swap`, in memory of [`fp_shim_store_bytes`].
#[repr(C)]
pub struct FpSwap {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct FpEmulatedConfig {
    pub program_bytes: u32,
    pub block_bytes: u32,
    pub block_count: u32,
    pub path: *const c_char,
    pub seed: u64,
    pub factory_bad: u32,
    pub endurance_cycles: u32,
    pub program_fail_ppm: u32,
    pub erase_fail_ppm: u32,
    pub corrected_ppm: u32,
}

include!(concat!(env!("OUT_DIR"), "/FpEmulatedCounters.rs"));

/// `struct fp_emulated`, opaque to the binding.
#[repr(C)]
pub struct FpEmulated {
    _opaque: [u8; 0],
}

pub const OK: c_int = 0;
pub const EMPTY: c_int = -1;
pub const FULL: c_int = -2;
pub const CORRUPT: c_int = -3;
pub const IO: c_int = -4;
pub const NO_STORE: c_int = -5;
pub const OTHER: c_int = -7;
pub const SMALL: c_int = -8;

unsafe extern "C" {
    pub static fp_swap_fragments: FpSwapLayout;
    pub static fp_swap_log: FpSwapLayout;

    pub fn fp_swap_format(store: *mut FpSwap, config: *const FpSwapConfig) -> c_int;
    pub fn fp_swap_mount(store: *mut FpSwap, config: *const FpSwapConfig) -> c_int;
    pub fn fp_swap_write(store: *mut FpSwap, slot: u32, page: *const c_void) -> c_int;
    pub fn fp_swap_read(store: *mut FpSwap, slot: u32, page: *mut c_void) -> c_int;
    pub fn fp_swap_free(store: *mut FpSwap, slot: u32) -> c_int;
    pub fn fp_swap_holds(store: *const FpSwap, slot: u32) -> bool;
    pub fn fp_swap_sync(store: *mut FpSwap) -> c_int;
    pub fn fp_swap_idle(store: *mut FpSwap) -> c_int;
    pub fn fp_swap_stat(store: *const FpSwap, stat: *mut FpSwapStat);
    pub fn fp_swap_check(store: *mut FpSwap) -> *const c_char;

    pub fn fp_swap_rewriter_init(
        rewriter: *mut FpSwapRewriter,
        nand: *const FpMedium,
        block: *mut u8,
        good: *mut u32,
    ) -> c_int;
    pub fn fp_swap_rewriter_flush(rewriter: *mut FpSwapRewriter) -> c_int;

    pub fn fp_emulated_open(config: *const FpEmulatedConfig) -> *mut FpEmulated;
    pub fn fp_emulated_close(medium: *mut FpEmulated);
    pub fn fp_emulated_medium(medium: *mut FpEmulated) -> *const FpMedium;
    pub fn fp_emulated_counters(medium: *const FpEmulated, counters: *mut FpEmulatedCounters);
    pub fn fp_emulated_wear(medium: *const FpEmulated, block: u32) -> u32;
    pub fn fp_emulated_is_bad(medium: *const FpEmulated, block: u32) -> bool;

    pub fn fp_shim_store_bytes() -> usize;
    pub fn fp_shim_rewriter_bytes() -> usize;
    pub fn fp_shim_rewriter_medium(rewriter: *const FpSwapRewriter) -> *const FpMedium;
    pub fn fp_shim_log_words(
        slots: usize,
        blocks: usize,
        page_bytes: u32,
        program_bytes: u32,
    ) -> usize;
    pub fn fp_shim_log_reserve(
        program_bytes: u32,
        block_bytes: u32,
        block_count: u32,
        page_bytes: u32,
        slots: u32,
    ) -> u32;
    pub fn fp_shim_fragment_words(slots: usize, chunks: usize, page_bytes: u32) -> usize;
    pub fn fp_shim_compressor_bytes(compressor: c_int, page_bytes: u32) -> usize;
    pub fn fp_shim_compressor(
        compressor: c_int,
        page_bytes: u32,
        memory: *mut c_void,
    ) -> *const FpCompressor;
    #[cfg(test)]
    fn fp_shim_size(number: std::ffi::c_uint) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each struct has the size of its C original. An additional field, or one of another width,
    /// fails.
    #[test]
    fn structs_are_as_large_as_in_c() {
        let here = [
            size_of::<FpMedium>(),
            size_of::<FpCompressor>(),
            size_of::<FpSwapConfig>(),
            size_of::<FpSwapStat>(),
            size_of::<FpEmulatedConfig>(),
            size_of::<FpEmulatedCounters>(),
        ];
        for (number, size) in here.into_iter().enumerate() {
            // SAFETY: a function of a number, for any number.
            assert_eq!(size, unsafe { fp_shim_size(number as u32) }, "struct {number}");
        }
    }
}
