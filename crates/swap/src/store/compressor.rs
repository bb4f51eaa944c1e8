//! A compressor of the C library that counts its pages.

use std::ffi::{c_int, c_void};

use flashpager_base::{Error, Result};

use super::pinned_box::PinnedBox;
use super::spec::Compressor;
use crate::ffi;

/// The context of the interface that the store sees: counts a call, then passes it on.
struct CountingTap {
    inner: *const ffi::FpCompressor,
    compressed: u64,
    decompressed: u64,
}

/// # Safety
/// The caller keeps the rules for `compress` of `struct fp_compressor`; `context` is a
/// [`CountingTap`].
unsafe extern "C" fn counted_compress(
    context: *mut c_void,
    page: *const u8,
    page_bytes: u32,
    out: *mut u8,
    capacity: u32,
) -> u32 {
    // SAFETY: the tap and its compressor live as long as the store that calls them.
    unsafe {
        let tap = context.cast::<CountingTap>();
        (*tap).compressed += 1;
        let inner = (*tap).inner;
        (*inner)
            .compress
            .map_or(0, |compress| compress((*inner).context, page, page_bytes, out, capacity))
    }
}

/// # Safety
/// The caller keeps the rules for `decompress` of `struct fp_compressor`; `context` is a
/// [`CountingTap`].
unsafe extern "C" fn counted_decompress(
    context: *mut c_void,
    data: *const u8,
    size: u32,
    page: *mut u8,
    page_bytes: u32,
) -> c_int {
    // SAFETY: the tap and its compressor live as long as the store that calls them.
    unsafe {
        let tap = context.cast::<CountingTap>();
        (*tap).decompressed += 1;
        let inner = (*tap).inner;
        (*inner)
            .decompress
            .map_or(-1, |decompress| decompress((*inner).context, data, size, page, page_bytes))
    }
}

/// A compressor with its memory, whose calls are counted.
pub struct InstrumentedCompressor {
    tap: PinnedBox<CountingTap>,
    /// The interface that the store sees; points to `tap`.
    interface: PinnedBox<ffi::FpCompressor>,
    /// Holds the compressor to which `tap` points.
    _memory: PinnedBox<[u128]>,
}

impl InstrumentedCompressor {
    /// Makes a compressor for pages of this size. Returns `None` for [`Compressor::None`].
    ///
    /// # Errors
    /// If the compressor cannot take pages of this size.
    pub fn new(compressor: Compressor, page_bytes: u32) -> Result<Option<Self>> {
        let Some(number) = compressor.number() else { return Ok(None) };
        let bytes = compressor.memory_bytes(page_bytes);
        let memory = PinnedBox::<[u128]>::zeroed(bytes.div_ceil(size_of::<u128>()));
        // SAFETY: the memory has the size that the compressor needs, and is aligned to 16.
        let inner = unsafe {
            ffi::fp_shim_compressor(number, page_bytes, memory.as_ptr().cast::<c_void>())
        };
        if inner.is_null() {
            let message =
                format!("{} cannot compress pages of {page_bytes} bytes", compressor.name());
            return Err(Error::design(message));
        }
        let tap =
            PinnedBox::from_box(Box::new(CountingTap { inner, compressed: 0, decompressed: 0 }));
        let interface = PinnedBox::from_box(Box::new(ffi::FpCompressor {
            context: tap.as_ptr().cast::<c_void>(),
            compress: Some(counted_compress),
            decompress: Some(counted_decompress),
            // SAFETY: the compressor is in `memory`, and its name is a static string.
            name: unsafe { (*inner).name },
        }));
        Ok(Some(Self { tap, interface, _memory: memory }))
    }
    /// Returns the interface for the store.
    pub fn interface(&self) -> *const ffi::FpCompressor {
        self.interface.as_ptr()
    }

    /// Returns how many pages were compressed and decompressed.
    pub fn pages(&self) -> (u64, u64) {
        // SAFETY: the tap is alive, and no call into the store is running.
        let tap = unsafe { &*self.tap.as_ptr() };
        (tap.compressed, tap.decompressed)
    }
}
