//! `runtime/pager/emulated/variant.h` in Rust: the same structs, constants and functions.

use std::ffi::c_int;

use crate::{DesignSizes, PagerCounts};

/// The largest sizes of a variant with wide types, as the header has them.
pub const FRAMES: u32 = 1024;
pub const PAGES: u32 = 32766;
pub const PAGE_BYTES: u32 = 4096;
pub const CODEWORD_BYTES: u32 = 4096;
/// The largest sizes of a variant with narrow types.
pub const SMALL_FRAMES: u32 = 200;
pub const SMALL_PAGES: u32 = 120;
pub const SMALL_PAGE_BYTES: u32 = 64;

/// Bytes of the image that a program takes one after another: `struct variant_run`.
#[repr(C)]
pub struct DeviceRun {
    pub offset: u32,
    pub length: u32,
}

/// The operations that the emulated chip has counted: `struct variant_chip`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ChipCounts {
    pub loads: u32,
    pub prefetches: u32,
    pub column_changes: u32,
    pub bytes_fetched: u32,
    pub bytes_skipped: u32,
    pub tag_bytes_fetched: u32,
}

/// The counts of both sides of the port: `struct variant_counts`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct DeviceCounts {
    pub pager: PagerCounts,
    pub chip: ChipCounts,
}

/// The functions of a variant: `struct variant`.
#[repr(C)]
pub struct VariantFunctions {
    pub start: unsafe extern "C" fn(*const DesignSizes) -> c_int,
    pub take: unsafe extern "C" fn(*const DeviceRun, usize, c_int) -> c_int,
    pub read: Option<unsafe extern "C" fn(u32, *mut u8, usize) -> c_int>,
    pub get_counts: unsafe extern "C" fn(*mut DeviceCounts),
}
