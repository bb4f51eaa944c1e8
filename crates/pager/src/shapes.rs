//! Shapes, one program at a time in each: their state is static, as on a device.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use flashpager_trace::Run;

use crate::ffi;

/// The sizes of a design, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Frames of the cache.
    pub frames: u32,
    /// A cache page, a power of two.
    pub page_bytes: u32,
    /// A flash page, a power of two.
    pub flash_page_bytes: u32,
    /// A codeword of host ECC, a power of two; 1 for none.
    pub codeword_bytes: u32,
    /// The image.
    pub image_bytes: u32,
    /// The budget of `pa-clock`, the seed of `random`, the valid pages of `fifo-sc`.
    pub parameter: u32,
}

/// What the pager counted, as `docs/model.md` names it. Sums are taken modulo 2³².
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counts {
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

/// Why a shape did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The design is larger than shapes are made for.
    TooLarge,
    /// `enum fp_pager_error`, or -100 for a byte that is not the image's.
    Pager(i32),
    /// Behind an MMU a program reads by itself.
    NoReads,
    /// The chip counted something else than the pager did.
    ChipDiffers,
}

impl fmt::Display for Failure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(to, "the design is larger than a shape"),
            Self::Pager(error) => write!(to, "the pager gave {error}"),
            Self::NoReads => write!(to, "nothing is read through a pager behind an MMU"),
            Self::ChipDiffers => write!(to, "the chip did not count what the pager did"),
        }
    }
}

impl std::error::Error for Failure {}

/// The pager with a policy, a lookup and a register.
pub struct Shape {
    /// As the engine names it, without its parameter.
    pub policy: &'static str,
    /// `table`, `hint` or `scan`; `mmu`, whose entries are emulated.
    pub lookup: &'static str,
    /// The register model, as the engine names it.
    pub register: &'static str,
    /// What is done while the flash loads.
    pub schedule: &'static str,
    /// Whether it has the narrow types of a small image.
    pub is_small: bool,
    /// Of the tag of each unit, checked before it is used; 0 for none.
    pub tag_bytes: u32,
    program: Mutex<Program>,
}

struct Program(*const ffi::Shape);

// SAFETY: it points to a constant; what the functions there change is behind the mutex.
unsafe impl Send for Program {}

impl Shape {
    const fn new(
        policy: &'static str,
        lookup: &'static str,
        register: &'static str,
        schedule: &'static str,
        is_small: bool,
        tag_bytes: u32,
        program: *const ffi::Shape,
    ) -> Self {
        let program = Mutex::new(Program(program));
        Self { policy, lookup, register, schedule, is_small, tag_bytes, program }
    }

    /// Whether a design is not larger than it is made for.
    pub fn holds(&self, sizes: &Sizes) -> bool {
        let (frames, pages, page_bytes) = if self.is_small {
            (ffi::SMALL_FRAMES, ffi::SMALL_PAGES, ffi::SMALL_PAGE_BYTES)
        } else {
            (ffi::FRAMES, ffi::PAGES, ffi::PAGE_BYTES)
        };
        let Sizes { page_bytes: bytes, flash_page_bytes, image_bytes, .. } = *sizes;
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

    /// Let a program take `runs`: a byte of each page, or, if `whole`, all bytes. Every byte is
    /// compared with the image.
    ///
    /// # Errors
    /// What went wrong: nothing may.
    pub fn run(&self, sizes: &Sizes, runs: &[Run], whole: bool) -> Result<Counts, Failure> {
        if !self.holds(sizes) {
            return Err(Failure::TooLarge);
        }
        let runs: Vec<ffi::Run> =
            runs.iter().map(|run| ffi::Run { offset: run.offset, length: run.length }).collect();
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = ffi::Told::default();
        // SAFETY: the functions take what they are declared to; sizes are within the arrays, and
        // the pager refuses offsets behind the image.
        let error = unsafe {
            let program = &*program.0;
            let mut error = (program.start)(sizes);
            if error == 0 {
                error = (program.take)(runs.as_ptr(), runs.len(), whole.into());
            }
            (program.tell)(&raw mut told);
            error
        };
        if error != 0 {
            return Err(Failure::Pager(error));
        }
        let Counts {
            loads,
            prefetches,
            column_changes,
            bytes_fetched,
            bytes_skipped,
            tag_bytes_fetched,
            ..
        } = told.stat;
        let by_pager = ffi::Chip {
            loads,
            prefetches,
            column_changes,
            bytes_fetched,
            bytes_skipped,
            tag_bytes_fetched,
        };
        if told.chip != by_pager {
            return Err(Failure::ChipDiffers);
        }
        Ok(told.stat)
    }

    /// Copy bytes of an image by `fp_pager_read()`.
    ///
    /// # Errors
    /// What the pager gave, as for bytes behind the image; one behind an MMU reads nothing.
    pub fn read(&self, sizes: &Sizes, from: u32, to: &mut [u8]) -> Result<(), Failure> {
        if !self.holds(sizes) {
            return Err(Failure::TooLarge);
        }
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as in `run`; `to` is as long as is said.
        let error = unsafe {
            let program = &*program.0;
            let Some(read) = program.read else { return Err(Failure::NoReads) };
            match (program.start)(sizes) {
                0 => read(from, to.as_mut_ptr(), to.len()),
                error => error,
            }
        };
        if error == 0 { Ok(()) } else { Err(Failure::Pager(error)) }
    }
}

include!(concat!(env!("OUT_DIR"), "/shapes.rs"));
