//! The C store, as a device links it, on a [`FaultyNand`].
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

// The crate links the C library.
use flashpager_swap as _;

use super::medium::{FaultyNand, OK};
use super::pages;

/// Result of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallResult {
    Ok,
    Empty,
    Full,
    Corrupt,
    Io,
    NoStore,
    Invalid,
    /// A store of another shape.
    Other,
    /// Too few good blocks for a format.
    Small,
    Unknown(i32),
}

impl CallResult {
    fn of(code: c_int) -> Self {
        match code {
            0 => Self::Ok,
            -1 => Self::Empty,
            -2 => Self::Full,
            -3 => Self::Corrupt,
            -4 => Self::Io,
            -5 => Self::NoStore,
            -6 => Self::Invalid,
            -7 => Self::Other,
            -8 => Self::Small,
            other => Self::Unknown(other),
        }
    }
}

#[repr(C)]
struct CMedium {
    context: *mut c_void,
    read: unsafe extern "C" fn(*mut c_void, u32, u32, *mut c_void, u32) -> c_int,
    program: unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void, u32) -> c_int,
    erase: unsafe extern "C" fn(*mut c_void, u32) -> c_int,
    is_bad: unsafe extern "C" fn(*mut c_void, u32) -> bool,
    mark_bad: unsafe extern "C" fn(*mut c_void, u32) -> c_int,
    release: Option<unsafe extern "C" fn(*mut c_void, u32)>,
    program_bytes: u32,
    block_bytes: u32,
    block_count: u32,
}

#[repr(C)]
struct CCompressor {
    context: *mut c_void,
    compress: unsafe extern "C" fn(*mut c_void, *const u8, u32, *mut u8, u32) -> u32,
    decompress: unsafe extern "C" fn(*mut c_void, *const u8, u32, *mut u8, u32) -> c_int,
    name: *const c_char,
}

#[repr(C)]
struct CConfig {
    medium: *const CMedium,
    layout: *const c_void,
    compressor: *const CCompressor,
    verify: *mut c_void,
    crc: unsafe extern "C" fn(u32, *const c_void, usize) -> u32,
    page_bytes: u32,
    slot_count: u32,
    reserve_blocks: u32,
    chunk_count: u32,
    memory: *mut c_void,
    memory_bytes: usize,
}

include!(concat!(env!("OUT_DIR"), "/FpSwapStat.rs"));

unsafe extern "C" {
    #[link_name = "fp_swap_log"]
    static LOG: [u8; 0];
    fn fp_swap_format(store: *mut c_void, config: *const CConfig) -> c_int;
    fn fp_swap_mount(store: *mut c_void, config: *const CConfig) -> c_int;
    fn fp_swap_write(store: *mut c_void, slot: u32, page: *const c_void) -> c_int;
    fn fp_swap_read(store: *mut c_void, slot: u32, page: *mut c_void) -> c_int;
    fn fp_swap_free(store: *mut c_void, slot: u32) -> c_int;
    fn fp_swap_holds(store: *const c_void, slot: u32) -> bool;
    fn fp_swap_sync(store: *mut c_void) -> c_int;
    fn fp_swap_idle(store: *mut c_void) -> c_int;
    fn fp_swap_log_write_bound(config: *const CConfig) -> u32;
    fn fp_swap_stat(store: *const c_void, stat: *mut FpSwapStat);
    fn fp_swap_check(store: *mut c_void) -> *const std::ffi::c_char;
    fn fp_shim_store_bytes() -> usize;
    fn fp_shim_log_words(slots: usize, blocks: usize, page_bytes: u32, program_bytes: u32)
    -> usize;
    fn fp_shim_size(number: std::ffi::c_uint) -> usize;
}

/// # Safety
/// `context` is a [`FaultyNand`] that nothing else uses during the call.
unsafe fn medium<'a>(context: *mut c_void) -> &'a mut FaultyNand {
    // SAFETY: the caller's promise.
    unsafe { &mut *context.cast::<FaultyNand>() }
}

/// # Safety
/// `context` is as for [`medium`], and `data` has `size` bytes.
unsafe extern "C" fn read(
    context: *mut c_void,
    block: u32,
    offset: u32,
    data: *mut c_void,
    size: u32,
) -> c_int {
    // SAFETY: the caller's promise. Memory from a store may be uninitialised, but it is writable.
    let (medium, out) = unsafe {
        data.cast::<u8>().write_bytes(0x77, size as usize);
        (medium(context), std::slice::from_raw_parts_mut(data.cast::<u8>(), size as usize))
    };
    medium.read(block, offset, out)
}

/// # Safety
/// `context` is as for [`medium`], and `data` has `size` bytes.
unsafe extern "C" fn program(
    context: *mut c_void,
    block: u32,
    offset: u32,
    data: *const c_void,
    size: u32,
) -> c_int {
    // SAFETY: the caller's promise.
    let (medium, new) =
        unsafe { (medium(context), std::slice::from_raw_parts(data.cast::<u8>(), size as usize)) };
    medium.program(block, offset, new)
}

/// # Safety
/// `context` is as for [`medium`].
unsafe extern "C" fn erase(context: *mut c_void, block: u32) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { medium(context) }.erase(block)
}

/// # Safety
/// `context` is as for [`medium`].
unsafe extern "C" fn is_bad(context: *mut c_void, block: u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { medium(context) }.is_bad(block)
}

/// # Safety
/// `context` is as for [`medium`].
unsafe extern "C" fn mark_bad(context: *mut c_void, block: u32) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { medium(context) }.mark_bad(block)
}

/// # Safety
/// `page` has `page_bytes` bytes and `out` has `capacity`.
unsafe extern "C" fn compress(
    _: *mut c_void,
    page: *const u8,
    page_bytes: u32,
    out: *mut u8,
    capacity: u32,
) -> u32 {
    // SAFETY: the caller's promise; `out` may be uninitialised, so it is filled first.
    let (page, out) = unsafe {
        out.write_bytes(0, capacity as usize);
        (
            std::slice::from_raw_parts(page, page_bytes as usize),
            std::slice::from_raw_parts_mut(out, capacity as usize),
        )
    };
    pages::compress(page, out).map_or(0, |size| size as u32)
}

/// # Safety
/// `data` has `size` bytes and `page` has `page_bytes`.
unsafe extern "C" fn decompress(
    _: *mut c_void,
    data: *const u8,
    size: u32,
    page: *mut u8,
    page_bytes: u32,
) -> c_int {
    // SAFETY: the caller's promise; `page` may be uninitialised, so it is filled first.
    let (data, page) = unsafe {
        page.write_bytes(0, page_bytes as usize);
        (
            std::slice::from_raw_parts(data, size as usize),
            std::slice::from_raw_parts_mut(page, page_bytes as usize),
        )
    };
    if pages::decompress(data, page) { OK } else { -1 }
}

/// # Safety
/// `data` has `size` bytes.
unsafe extern "C" fn crc32(crc: u32, data: *const c_void, size: usize) -> u32 {
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
    let mut hasher = crc32fast::Hasher::new_with_initial(crc);
    hasher.update(bytes);
    hasher.finalize()
}

/// The shape of a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StoreShape {
    pub page_bytes: u32,
    pub slots: u32,
    pub reserve_blocks: u32,
    pub compressed: bool,
}

/// A store and its medium. C keeps pointers to the boxed values.
pub struct TorturedStore {
    store: *mut u64,
    store_words: usize,
    memory: *mut u32,
    memory_words: usize,
    config: *mut CConfig,
    c_medium: *mut CMedium,
    compressor: *mut CCompressor,
    medium: *mut FaultyNand,
    page_bytes: usize,
}

impl TorturedStore {
    pub fn new(shape: StoreShape, medium: FaultyNand) -> Self {
        let geometry = medium.geometry;
        let medium = Box::into_raw(Box::new(medium));
        let c_medium = Box::into_raw(Box::new(CMedium {
            context: medium.cast(),
            read,
            program,
            erase,
            is_bad,
            mark_bad,
            release: None,
            program_bytes: geometry.page_bytes,
            block_bytes: geometry.page_bytes * geometry.block_pages,
            block_count: geometry.blocks,
        }));
        let compressor = Box::into_raw(Box::new(CCompressor {
            context: null_mut(),
            compress,
            decompress,
            name: c"rle".as_ptr(),
        }));
        // SAFETY: functions of numbers.
        let (store_words, memory_words, same) = unsafe {
            (
                fp_shim_store_bytes().div_ceil(8),
                fp_shim_log_words(
                    shape.slots as usize,
                    geometry.blocks as usize,
                    shape.page_bytes,
                    geometry.page_bytes,
                ),
                fp_shim_size(0) == size_of::<CMedium>()
                    && fp_shim_size(1) == size_of::<CCompressor>()
                    && fp_shim_size(2) == size_of::<CConfig>()
                    && fp_shim_size(3) == size_of::<FpSwapStat>(),
            )
        };
        assert!(same, "a struct is not what it is in C");
        let memory = Box::into_raw(vec![0x5555_5555_u32; memory_words].into_boxed_slice());
        let memory = memory.cast::<u32>();
        let config = Box::into_raw(Box::new(CConfig {
            medium: c_medium,
            layout: (&raw const LOG).cast(),
            compressor: if shape.compressed { compressor } else { null() },
            verify: null_mut(),
            crc: crc32,
            page_bytes: shape.page_bytes,
            slot_count: shape.slots,
            reserve_blocks: shape.reserve_blocks,
            chunk_count: 0,
            memory: memory.cast(),
            memory_bytes: memory_words * size_of::<u32>(),
        }));
        let store = Box::into_raw(vec![0_u64; store_words].into_boxed_slice()).cast::<u64>();
        Self {
            store,
            store_words,
            memory,
            memory_words,
            config,
            c_medium,
            compressor,
            medium,
            page_bytes: shape.page_bytes as usize,
        }
    }

    /// Returns the medium, between calls.
    pub fn medium(&mut self) -> &mut FaultyNand {
        // SAFETY: it is ours, and C uses it in calls alone, which need `self` too.
        unsafe { &mut *self.medium }
    }

    fn store(&self) -> *mut c_void {
        self.store.cast()
    }

    /// Sets the shape of the next mount or format. It needs no more memory than the first one.
    pub fn reshape(&mut self, shape: StoreShape) {
        // SAFETY: it is ours, and C uses it in calls alone, which need `self` too.
        let config = unsafe { &mut *self.config };
        config.compressor = if shape.compressed { self.compressor } else { null() };
        config.page_bytes = shape.page_bytes;
        config.slot_count = shape.slots;
        self.page_bytes = shape.page_bytes as usize;
    }

    pub fn format(&mut self) -> CallResult {
        // SAFETY: all that the config points to lives as long as `self`.
        CallResult::of(unsafe { fp_swap_format(self.store(), self.config) })
    }

    /// Mounts the store as after a reset, with nothing left in memory.
    pub fn mount(&mut self) -> CallResult {
        // SAFETY: both are that large, and all that the config points to lives as long as `self`.
        CallResult::of(unsafe {
            self.store.write_bytes(0xaa, self.store_words);
            self.memory.write_bytes(0x55, self.memory_words);
            fp_swap_mount(self.store(), self.config)
        })
    }

    pub fn write(&mut self, slot: u32, page: &[u8]) -> CallResult {
        assert_eq!(page.len(), self.page_bytes);
        // SAFETY: the page has the store's bytes.
        CallResult::of(unsafe { fp_swap_write(self.store(), slot, page.as_ptr().cast()) })
    }

    pub fn read(&mut self, slot: u32, page: &mut [u8]) -> CallResult {
        assert_eq!(page.len(), self.page_bytes);
        // SAFETY: the page has the store's bytes.
        CallResult::of(unsafe { fp_swap_read(self.store(), slot, page.as_mut_ptr().cast()) })
    }

    pub fn free(&mut self, slot: u32) -> CallResult {
        // SAFETY: the store has been formatted or mounted.
        CallResult::of(unsafe { fp_swap_free(self.store(), slot) })
    }

    pub fn holds(&self, slot: u32) -> bool {
        // SAFETY: the store has been formatted or mounted.
        unsafe { fp_swap_holds(self.store(), slot) }
    }

    pub fn sync(&mut self) -> CallResult {
        // SAFETY: the store has been formatted or mounted.
        CallResult::of(unsafe { fp_swap_sync(self.store()) })
    }

    /// Returns whether there is more to do.
    pub fn idle(&mut self) -> Result<bool, CallResult> {
        // SAFETY: the store has been formatted or mounted.
        match unsafe { fp_swap_idle(self.store()) } {
            0 => Ok(false),
            1 => Ok(true),
            code => Err(CallResult::of(code)),
        }
    }

    /// Returns the store's bound for the operations of a write without failures.
    pub fn write_bound(&self) -> u64 {
        // SAFETY: all that the config points to lives as long as `self`.
        u64::from(unsafe { fp_swap_log_write_bound(self.config) })
    }

    pub fn stat(&self) -> FpSwapStat {
        let mut stat = FpSwapStat::default();
        // SAFETY: the store has been formatted or mounted; the struct is as in C.
        unsafe { fp_swap_stat(self.store(), &raw mut stat) };
        stat
    }

    /// Returns the first inconsistency that the store finds.
    pub fn check(&mut self) -> Option<String> {
        // SAFETY: the store has been formatted or mounted; what it gives is a static string.
        unsafe {
            let wrong = fp_swap_check(self.store());
            (!wrong.is_null())
                .then(|| std::ffi::CStr::from_ptr(wrong).to_string_lossy().into_owned())
        }
    }
}

impl Drop for TorturedStore {
    fn drop(&mut self) {
        // SAFETY: all came from boxes of these sizes, and C does not look at them any more.
        unsafe {
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.store, self.store_words)));
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.memory, self.memory_words)));
            drop(Box::from_raw(self.config));
            drop(Box::from_raw(self.c_medium));
            drop(Box::from_raw(self.compressor));
            drop(Box::from_raw(self.medium));
        }
    }
}
