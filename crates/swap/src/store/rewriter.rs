//! MTDCOMPR's way with NAND: blocks are read, erased and written back.

use flashpager_base::Result;

use super::pinned_box::PinnedBox;
use super::spec::Geometry;
use super::statistics::{StoreError, result};
use crate::ffi;

/// NAND that looks as if it could be rewritten.
pub struct Rewriter {
    rewriter: PinnedBox<[u64]>,
    _block: PinnedBox<[u8]>,
    _good: PinnedBox<[u32]>,
}

impl Rewriter {
    /// Over `nand` of that shape.
    ///
    /// # Errors
    /// NAND that it cannot be laid over.
    pub fn new(nand: *const ffi::FpMedium, geometry: Geometry) -> Result<Self> {
        let block = PinnedBox::<[u8]>::zeroed(geometry.block_bytes as usize);
        let good = PinnedBox::<[u32]>::zeroed(geometry.block_count as usize);
        // SAFETY: a function of nothing.
        let bytes = unsafe { ffi::fp_shim_rewriter_bytes() };
        let rewriter = PinnedBox::<[u64]>::zeroed(bytes.div_ceil(size_of::<u64>()));
        // SAFETY: the NAND is open, and the memory as large as the header says.
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

    /// As the store is shown it.
    pub fn medium(&self) -> *const ffi::FpMedium {
        // SAFETY: the rewriter is alive.
        unsafe { ffi::fp_shim_rewriter_medium(self.as_ptr()) }
    }
    /// Put the block at hand onto the NAND.
    ///
    /// # Errors
    /// NAND that failed or is full.
    pub fn flush(&self) -> std::result::Result<(), StoreError> {
        // SAFETY: the rewriter was made and its NAND is open.
        result(unsafe { ffi::fp_swap_rewriter_flush(self.as_ptr()) })
    }
}
