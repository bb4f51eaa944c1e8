//! Compressed swap: pages that leave RAM go, compressed, to flash, PCM or RAM.
//!
//! The store itself is C (`runtime/swap/`): what runs here is what a device links.

#[allow(unsafe_code)]
mod ffi;
pub mod medium;
pub mod store;
pub mod workload;
