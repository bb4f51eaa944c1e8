//! `runtime/pager/emulated/shape.h` in Rust's words.

use std::ffi::c_int;

use crate::{Counts, Sizes};

/// The largest sizes, as the header has them.
pub const FRAMES: u32 = 1024;
pub const PAGES: u32 = 32766;
pub const PAGE_BYTES: u32 = 4096;
pub const SMALL_FRAMES: u32 = 200;
pub const SMALL_PAGES: u32 = 120;
pub const SMALL_PAGE_BYTES: u32 = 64;
pub const CODEWORD_BYTES: u32 = 4096;

#[repr(C)]
pub struct Run {
    pub offset: u32,
    pub length: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Chip {
    pub loads: u32,
    pub prefetches: u32,
    pub column_changes: u32,
    pub bytes_fetched: u32,
    pub bytes_skipped: u32,
    pub tag_bytes_fetched: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Told {
    pub stat: Counts,
    pub chip: Chip,
}

#[repr(C)]
pub struct Shape {
    pub start: unsafe extern "C" fn(*const Sizes) -> c_int,
    pub take: unsafe extern "C" fn(*const Run, usize, c_int) -> c_int,
    pub read: Option<unsafe extern "C" fn(u32, *mut u8, usize) -> c_int>,
    pub tell: unsafe extern "C" fn(*mut Told),
}
