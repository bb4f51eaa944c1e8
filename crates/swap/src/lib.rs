//! Compressed swap: pages that leave RAM go, compressed, to flash, PCM or RAM.
//!
//! The store itself is the C code of `runtime/swap/`, which a device links too. The feature
//! `host` (Linux) captures pages of this machine and pages a program for real, with the
//! kernel and its clock. Everything else only counts and prices.
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

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
