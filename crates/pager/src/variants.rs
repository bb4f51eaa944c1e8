//! The variants. Each runs one program at a time, as its state is static, as on a device.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use flashpager_trace::Run;

use crate::ffi;

/// The sizes of a design, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesignSizes {
    /// Number of frames of the cache.
    pub frames: u32,
    /// Size of a cache page, a power of two.
    pub page_bytes: u32,
    /// Size of a flash page, a power of two.
    pub flash_page_bytes: u32,
    /// Size of a codeword of host ECC, a power of two; 1 for none.
    pub codeword_bytes: u32,
    /// Size of the image.
    pub image_bytes: u32,
    /// The budget of `pa-clock`, the seed of `random`, or the valid pages of `fifo-sc`.
    pub parameter: u32,
}

/// The pager's own statistics, as `docs/model.md` names them. Sums are taken modulo 2³².
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PagerCounts {
    pub references: u32,
    pub misses: u32,
    pub reference_bits_set: u32,
    pub loads: u32,
    pub prefetches: u32,
    pub other_page: u32,
    pub other_buffer: u32,
    pub forward: u32,
    pub backward: u32,
    pub column_changes: u32,
    pub bytes_fetched: u32,
    pub bytes_skipped: u32,
    pub walk: u32,
    pub max_walk: u32,
    pub false_faults: u32,
    pub downgrades: u32,
    pub tag_bytes_fetched: u32,
    pub mac_bytes: u32,
}

/// The reason why a variant did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantError {
    /// The design is larger than the variant's arrays.
    TooLarge,
    /// The pager's error, of `enum fp_pager_error`; or -100 for a byte that is not the image's.
    Pager(i32),
    /// Behind an MMU a program reads by itself.
    NoReads,
    /// The chip has counted other operations than the pager.
    ChipDiffers,
}

impl fmt::Display for VariantError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(to, "the design is larger than the variant's arrays"),
            Self::Pager(error) => write!(to, "the pager returned {error}"),
            Self::NoReads => write!(to, "a pager behind an MMU has no function that reads"),
            Self::ChipDiffers => write!(to, "the chip and the pager have other counts"),
        }
    }
}

impl std::error::Error for VariantError {}

/// The pager with a policy, a lookup and a register.
pub struct Variant {
    /// Name of the policy in the engine, without its parameter.
    pub policy: &'static str,
    /// `table`, `hint` or `scan`; or `mmu`, whose page table is emulated.
    pub lookup: &'static str,
    /// Name of the register model in the engine.
    pub register: &'static str,
    /// The schedule: what the pager does while the flash loads.
    pub schedule: &'static str,
    /// `true` if it has the narrow types of a small image.
    pub is_small: bool,
    /// Size of the tag of each unit, which is checked before the unit is used; 0 for none.
    pub tag_bytes: u32,
    program: Mutex<Program>,
}

/// The functions of a variant, of which one program at a time may run.
struct Program(*const ffi::VariantFunctions);

// SAFETY: it points to a constant; the state that its functions change is behind the mutex.
unsafe impl Send for Program {}

impl Variant {
    const fn new(
        policy: &'static str,
        lookup: &'static str,
        register: &'static str,
        schedule: &'static str,
        is_small: bool,
        tag_bytes: u32,
        functions: *const ffi::VariantFunctions,
    ) -> Self {
        let program = Mutex::new(Program(functions));
        Self { policy, lookup, register, schedule, is_small, tag_bytes, program }
    }

    /// Returns `true` if the variant's arrays are large enough for a design.
    pub fn holds(&self, sizes: &DesignSizes) -> bool {
        let (frames, pages, page_bytes) = if self.is_small {
            (ffi::SMALL_FRAMES, ffi::SMALL_PAGES, ffi::SMALL_PAGE_BYTES)
        } else {
            (ffi::FRAMES, ffi::PAGES, ffi::PAGE_BYTES)
        };
        let DesignSizes { page_bytes: bytes, flash_page_bytes, image_bytes, .. } = *sizes;
        let powers = bytes.is_power_of_two() && flash_page_bytes.is_power_of_two();
        (1..=frames).contains(&sizes.frames)
            && powers
            && bytes <= page_bytes.min(flash_page_bytes)
            && flash_page_bytes <= 1 << 15
            && sizes.codeword_bytes.is_power_of_two()
            && sizes.codeword_bytes <= flash_page_bytes.min(ffi::CODEWORD_BYTES)
            && image_bytes > 0
            && image_bytes.div_ceil(bytes) <= pages
    }

    /// Runs a program that takes `runs`: one byte of each page, or all bytes if `whole`. Each byte is
    /// compared with the image.
    ///
    /// # Errors
    /// A [`VariantError`], which a correct pager never returns for bytes of the image.
    pub fn run(
        &self,
        sizes: &DesignSizes,
        runs: &[Run],
        whole: bool,
    ) -> Result<PagerCounts, VariantError> {
        if !self.holds(sizes) {
            return Err(VariantError::TooLarge);
        }
        let runs: Vec<ffi::DeviceRun> = runs
            .iter()
            .map(|run| ffi::DeviceRun { offset: run.offset, length: run.length })
            .collect();
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = ffi::DeviceCounts::default();
        // SAFETY: the arguments have the declared types, the sizes fit the arrays, and the pager
        // refuses offsets behind the image.
        let error = unsafe {
            let functions = &*program.0;
            let mut error = (functions.start)(sizes);
            if error == 0 {
                error = (functions.take)(runs.as_ptr(), runs.len(), whole.into());
            }
            (functions.get_counts)(&raw mut counts);
            error
        };
        if error != 0 {
            return Err(VariantError::Pager(error));
        }
        let PagerCounts {
            loads,
            prefetches,
            column_changes,
            bytes_fetched,
            bytes_skipped,
            tag_bytes_fetched,
            ..
        } = counts.pager;
        let counted_by_pager = ffi::ChipCounts {
            loads,
            prefetches,
            column_changes,
            bytes_fetched,
            bytes_skipped,
            tag_bytes_fetched,
        };
        if counts.chip != counted_by_pager {
            return Err(VariantError::ChipDiffers);
        }
        Ok(counts.pager)
    }

    /// Copies bytes of an image by `fp_pager_read()`.
    ///
    /// # Errors
    /// [`VariantError::Pager`] if bytes lie behind the image, [`VariantError::NoReads`] behind an
    /// MMU.
    pub fn read(&self, sizes: &DesignSizes, from: u32, to: &mut [u8]) -> Result<(), VariantError> {
        if !self.holds(sizes) {
            return Err(VariantError::TooLarge);
        }
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as in `run`; `to` has the given length.
        let error = unsafe {
            let functions = &*program.0;
            let Some(read) = functions.read else { return Err(VariantError::NoReads) };
            match (functions.start)(sizes) {
                0 => read(from, to.as_mut_ptr(), to.len()),
                error => error,
            }
        };
        if error == 0 { Ok(()) } else { Err(VariantError::Pager(error)) }
    }
}

include!(concat!(env!("OUT_DIR"), "/variants.rs"));
