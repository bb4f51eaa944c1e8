//! The emulated medium of `runtime/medium`.

use std::ffi::CString;
use std::path::PathBuf;
use std::ptr::{NonNull, null};

use flashpager_base::{Error, Result};

use super::spec::StoreSpec;
use crate::ffi;

/// An emulated medium, open until it is dropped.
pub struct EmulatedMedium(NonNull<ffi::FpEmulated>);

impl EmulatedMedium {
    /// Makes the medium of `spec`, or opens its file.
    ///
    /// # Errors
    /// If the file cannot be made, or holds another medium.
    pub fn open(spec: &StoreSpec) -> Result<Self> {
        let invalid =
            |path: &PathBuf| Error::data(path.display().to_string(), "has a zero byte in its name");
        let path = spec.file.as_ref().map(|path| {
            CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| invalid(path))
        });
        let path = path.transpose()?;
        let config = ffi::FpEmulatedConfig {
            program_bytes: spec.geometry.program_bytes,
            block_bytes: spec.geometry.block_bytes,
            block_count: spec.geometry.block_count,
            path: path.as_ref().map_or(null(), |path| path.as_ptr()),
            seed: spec.seed,
            factory_bad: spec.faults.factory_bad_blocks,
            endurance_cycles: spec.faults.endurance_cycles,
            program_fail_ppm: spec.faults.program_fail_ppm,
            erase_fail_ppm: spec.faults.erase_fail_ppm,
            corrected_ppm: spec.faults.corrected_ppm,
        };
        // SAFETY: the config is complete, and its path lives until the call returns.
        let medium = unsafe { ffi::fp_emulated_open(&raw const config) };
        NonNull::new(medium).map(Self).ok_or_else(|| {
            let error = std::io::Error::last_os_error();
            match &spec.file {
                Some(file) if error.kind() == std::io::ErrorKind::AlreadyExists => Error::data(
                    file.display().to_string(),
                    "is no medium of this shape; name another file, or remove it",
                ),
                Some(file) => Error::file(file, error),
                None => Error::io(format!("a medium of {} bytes", spec.geometry.bytes()), error),
            }
        })
    }

    /// Returns the medium, for the store.
    pub fn medium(&self) -> *const ffi::FpMedium {
        // SAFETY: the medium is open.
        unsafe { ffi::fp_emulated_medium(self.0.as_ptr()) }
    }

    /// Returns the operations so far.
    pub fn counters(&self) -> ffi::FpEmulatedCounters {
        let mut counters = ffi::FpEmulatedCounters::default();
        // SAFETY: the medium is open, and the struct has its size.
        unsafe { ffi::fp_emulated_counters(self.0.as_ptr(), &raw mut counters) };
        counters
    }

    /// Returns how often `block` was erased, or `None` if it is bad.
    pub fn wear_of(&self, block: u32) -> Option<u32> {
        let medium = self.0.as_ptr();
        // SAFETY: the medium is open, and the block is one of its blocks.
        unsafe {
            (!ffi::fp_emulated_is_bad(medium, block)).then(|| ffi::fp_emulated_wear(medium, block))
        }
    }
}

impl Drop for EmulatedMedium {
    fn drop(&mut self) {
        // SAFETY: it is open, and is closed once.
        unsafe { ffi::fp_emulated_close(self.0.as_ptr()) }
    }
}
