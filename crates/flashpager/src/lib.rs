//! The flashpager engine: how a program runs from NAND flash through a RAM
//! cache far too small for it.
//!
//! Data flows one way, and the modules stand in that order:
//!
//! ```text
//! program ─▶ trace ─placement─▶ page references ─replay─▶ Counts ─cost─▶ time
//! ```
//!
//! * [`trace`]: runs of fetched bytes, the trace file, one reader per foreign format
//! * [`placement`]: which bytes of a program lie where in flash
//! * [`pager`]: the cache of frames, one file per replacement policy
//! * [`media`]: the data register, flash parts and buses
//! * [`replay`]: a trace through a pager and a register gives [`replay::Counts`]
//! * [`cost`]: counts × media × handler gives time, bandwidth, latency
//! * [`estimate`]: how fast a medium is on a host, and who eats the time
//! * [`design`]: all of it together, as a person asks for it
//! * [`board`]: files that say what lies around a flash part
//! * [`attribution`]: which code of the program causes the faults of a design
//! * [`driver`]: what the copy loop of a flash driver executes for each byte
//! * [`swap`]: data pages that go out, too, compressed
//!
//! A replay knows no nanosecond and a price knows no policy. The engine prints
//! nothing, reads no clock and never panics on data.

pub mod attribution;
pub mod board;
pub mod cost;
pub mod design;
pub mod driver;
pub mod error;
pub mod estimate;
pub mod media;
pub mod pager;
pub mod placement;
pub mod replay;
pub mod swap;
pub mod trace;

pub use error::{Error, Result};

/// The engine's version, as written into every file it makes.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
