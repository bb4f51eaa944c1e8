//! The flashpager engine: how a program runs from NAND flash through a RAM
//! cache far too small for it.
//!
//! Data flows one way, and the crates stand in that order:
//!
//! ```text
//! program ─record─▶ trace ─replay─▶ Counts ─cost─▶ time
//! ```
//!
//! * [`trace`]: runs of fetched bytes, images, the trace file
//! * [`record`]: one reader per foreign format, the recorders' stream, and
//!   [`placement`]: which bytes of a program lie where in flash
//! * [`binary`]: ELF, lines of source, and [`driver`]: what the copy loop of a flash
//!   driver executes for each byte
//! * [`replay`]: a trace through a [`pager`], the cache of frames, and a data register
//!   gives [`replay::Counts`]
//! * [`media`]: flash parts and buses, and [`estimate`]: how fast a medium is on a host
//! * [`swap`]: data pages that go out, too, compressed
//!
//! Here they meet:
//!
//! * [`cost`]: counts × media × handler gives time, bandwidth, latency
//! * [`spec`]: a design as a person writes it down, what of it can be varied, and
//!   [`board`]: the files that hold one
//! * [`design`]: the same looked up and checked
//! * [`simulation`]: a trace file through designs, row by row
//! * [`warm_up`]: which first runs of a trace are not counted
//! * [`sample`]: a long trace by windows of it, with the error of what they tell
//! * [`attribution`]: which code of the program causes the faults of a design
//! * [`layout`]: an order of a program's functions with which designs run it faster
//! * [`samples`]: what a trace executes, as a profile for compilers
//! * [`linked`]: the input sections of a linked program, to be laid out anew
//! * [`calls`]: what a call of a function takes, and what of it goes into faults
//!
//! A replay knows no nanosecond and a price knows no policy: neither crate sees the
//! other. The engine prints nothing, reads no clock (but for `host` in [`swap`]) and never
//! panics on data.

pub mod attribution;
pub mod board;
pub mod calls;
pub mod cost;
pub mod design;
pub mod layout;
pub mod linked;
mod result;
pub mod sample;
pub mod sample_profile;
pub mod simulation;
pub mod spec;
pub mod stall;
pub mod warm_up;

pub use flashpager_base::{Error, ProgressFn, Result, VERSION, error, sizes};
pub use flashpager_binary as binary;
pub use flashpager_binary::driver;
pub use flashpager_media as media;
pub use flashpager_media::estimate;
pub use flashpager_record as record;
pub use flashpager_record::placement;
pub use flashpager_replay as replay;
pub use flashpager_replay::pager;
pub use flashpager_swap as swap;
pub use flashpager_trace as trace;
