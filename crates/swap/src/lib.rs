//! Compressed swap: pages that leave RAM go, compressed, to flash, PCM or RAM.
//!
//! The store itself is C (`runtime/swap/`): what runs here is what a device links. With
//! the feature `host` pages of this machine are captured and really paged (Linux), which
//! takes its kernel and its clock; all the rest only counts and prices.

#[cfg(all(feature = "host", target_os = "linux"))]
pub mod capture;
mod counts;
#[allow(unsafe_code)]
mod ffi;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod live;
pub mod live_bench;
pub mod machine;
pub mod medium;
pub mod pages;
pub mod price;
pub mod ratios;
pub mod spec;
pub mod store;
#[cfg(all(feature = "host", target_os = "linux"))]
#[allow(unsafe_code)]
mod userfault;
pub mod workload;

pub use live_bench::{LiveReport, live_bench};
pub use machine::{BenchReport, ChurnReport, bench, churn};
pub use spec::{SwapSpec, SwapSystem};
