//! The base of all crates of the engine: the error type, text from files made fit for messages,
//! enums that people choose from by name, sizes, and seeded random numbers.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod error;
mod named;
pub mod random;
pub mod sizes;
mod text;

pub use error::{Error, Result};
#[doc(hidden)]
pub use named::find_named;
pub use text::{did_you_mean, shown};

/// The version of the engine, which is written into every file it makes.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Callback that reports progress: a search or a replay calls it, from any thread, with how far it
/// has come.
pub type ProgressFn<'a, P> = &'a (dyn Fn(P) + Sync);
