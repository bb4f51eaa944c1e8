//! Compressed swap: pages that leave RAM go, compressed, to flash, PCM or RAM.
//!
//! The store itself is C (`runtime/swap/`): what runs here is what a device links.

#[allow(unsafe_code)]
mod ffi;
pub mod machine;
pub mod medium;
pub mod price;
pub mod spec;
pub mod store;
pub mod workload;

pub use machine::{BenchReport, ChurnReport, bench, churn};
pub use spec::{SwapSpec, SwapSystem};
