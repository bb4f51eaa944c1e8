//! The pager in C (`runtime/pager/`) as a library of Rust, for tests that compare it with the engine.
//!
//! A [`Variant`] is the pager compiled with one policy, lookup and register, in front of an emulated
//! chip that aborts on illegal use. On a device sizes are constants; here they are variables, so that
//! one compiled variant can be tried with many of them.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

#[allow(unsafe_code)]
mod ffi;
#[allow(unsafe_code, non_upper_case_globals)]
mod variants;

pub use variants::{DesignSizes, PagerCounts, VARIANTS, Variant, VariantError};
