//! What all crates of the engine share: one error type, text from strangers made fit
//! to show, enums that people choose from by name, sizes of pages, and seeded random numbers.

pub mod error;
mod named;
pub mod random;
pub mod sizes;
mod text;

pub use error::{Error, Result};
#[doc(hidden)]
pub use named::find_named;
pub use text::{did_you_mean, shown};

/// The engine's version, as written into every file it makes.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Callback that reports progress: a search or a replay calls it, from any thread, with how far it
/// has come.
pub type ProgressFn<'a, P> = &'a (dyn Fn(P) + Sync);
