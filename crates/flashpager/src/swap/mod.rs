//! Compressed swap: pages that leave RAM go, compressed, to flash, PCM or RAM.
//!
//! The store itself is C (`runtime/swap/`): what runs here is what a device links.

#[cfg(target_os = "linux")]
pub mod capture;
#[allow(unsafe_code)]
mod ffi;
pub mod pages;
pub mod store;
pub mod workload;
