//! Sizes of pages, and what they must be.

use crate::{Error, Result};

/// Largest flash page, in bytes. Real pages end at 16 KiB.
pub const MAX_FLASH_PAGE_BYTES: u32 = 1 << 20;

/// Pages up to this size belong to small-page chips, which cannot change the column.
pub const SMALL_PAGE_BYTES: u32 = 512;

/// Check that a size is a power of two.
pub fn power_of_two(what: &str, bytes: u32) -> Result<()> {
    if bytes.is_power_of_two() {
        Ok(())
    } else {
        Err(Error::design(format!("a {what} of {bytes} bytes is no power of two")))
    }
}
