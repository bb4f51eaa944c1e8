//! NAND that is rewritten in place, as MTDCOMPR does it: blocks are read, erased and written back.

use flashpager_base::Result;

use super::pinned_box::PinnedBox;
use super::spec::Geometry;
use super::statistics::{StoreError, result};
use crate::ffi;

/// A medium that rewrites in place, over NAND.
pub struct Rewriter {
    rewriter: PinnedBox<[u64]>,
    _block: PinnedBox<[u8]>,
    _good: PinnedBox<[u32]>,
}

impl Rewriter {
    /// Makes a rewriter over NAND of this shape.
    ///
    /// # Errors
    /// If the NAND cannot carry a rewriter.
    pub fn new(nand: *const ffi::FpMedium, geometry: Geometry) -> Result<Self> {
        let block = PinnedBox::<[u8]>::zeroed(geometry.block_bytes as usize);
        let good = PinnedBox::<[u32]>::zeroed(geometry.block_count as usize);
        // SAFETY: a function without arguments.
        let bytes = unsafe { ffi::fp_shim_rewriter_bytes() };
        let rewriter = PinnedBox::<[u64]>::zeroed(bytes.div_ceil(size_of::<u64>()));
        // SAFETY: the NAND is open, and the memory has the sizes that the header states.
        let code = unsafe {
            ffi::fp_swap_rewriter_init(
                rewriter.as_ptr().cast::<ffi::FpSwapRewriter>(),
                nand,
                block.as_ptr().cast::<u8>(),
                good.as_ptr().cast::<u32>(),
            )
        };
        result(code)?;
        Ok(Self { rewriter, _block: block, _good: good })
    }

    fn as_ptr(&self) -> *mut ffi::FpSwapRewriter {
        self.rewriter.as_ptr().cast::<ffi::FpSwapRewriter>()
    }

    /// Returns the medium, for the store.
    pub fn medium(&self) -> *const ffi::FpMedium {
        // SAFETY: the rewriter is alive.
        unsafe { ffi::fp_shim_rewriter_medium(self.as_ptr()) }
    }
    /// Writes the block in memory to the NAND.
    ///
    /// # Errors
    /// If the NAND fails or is full.
    pub fn flush(&self) -> std::result::Result<(), StoreError> {
        // SAFETY: the rewriter is initialized, and its NAND is open.
        result(unsafe { ffi::fp_swap_rewriter_flush(self.as_ptr()) })
    }
}
