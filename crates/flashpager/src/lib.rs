//! The flashpager engine: replays the code fetches of a program through a RAM cache in front of a
//! flash part, and prices them.
//!
//! Data flows one way, and the crates stand in that order:
//!
//! ```text
//! program ─record─▶ trace ─replay─▶ Counts ─cost─▶ time
//! ```
//!
//! * [`trace`]: runs of fetched bytes, images, the trace file
//! * [`record`]: one reader for each foreign format, the recorders' stream, and [`placement`], which
//!   says where the bytes of a program lie in flash
//! * [`binary`]: ELF files, lines of source, and [`driver`], which counts the instructions of a flash
//!   driver's copy loop
//! * [`replay`]: the replay of a trace through a [`pager`], which is the cache of frames, and a data
//!   register; its result is [`replay::Counts`]
//! * [`media`]: flash parts and buses, and [`estimate`], the speed of a medium on a host
//! * [`reach`]: what a function of a program reaches outside of RAM
//! * [`swap`]: data pages in compressed swap
//!
//! This crate brings them together:
//!
//! * [`cost`]: time, bandwidth and latency of counts
//! * [`spec`]: a design as a user writes it, and the axes of a design space; [`board`]: files with
//!   designs
//! * [`design`]: a design with its part, bus and policy looked up and checked
//! * [`simulation`]: the replay of a trace file through designs
//! * [`warm_up`]: first runs of a trace that are not counted
//! * [`homes`]: the store in which every cache page has a flash page of its own, for a program
//! * [`functions`]: whole functions paged instead of pages
//! * [`sample`]: a sample of a long trace, with errors of its figures
//! * [`windows`]: bounds for a trace with gaps
//! * [`attribution`]: faults by the code that causes them
//! * [`layout`]: orders of a program's functions, and functions to pin in RAM
//! * [`sample_profile`]: execution counts of a trace as a profile for compilers
//! * [`linked`]: the input sections of a linked program, for another order
//! * [`bound`]: the misses of one call of a function at most
//! * [`calls`]: times of a function's calls; [`stall`]: the longest stall of a short stretch
//!
//! A replay knows no nanosecond and a price knows no policy: neither crate depends on the other. The
//! engine prints nothing, reads no clock (except for `host` in [`swap`]), and does not panic on data.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod attribution;
pub mod board;
pub mod bound;
pub mod calls;
mod classes;
pub mod cost;
pub mod design;
pub mod functions;
pub mod homes;
pub mod layout;
pub mod linked;
mod result;
pub mod sample;
pub mod sample_profile;
pub mod simulation;
pub mod spec;
pub mod stall;
pub mod warm_up;
pub mod windows;

pub use flashpager_base::{Error, ProgressFn, Result, VERSION, error, sizes};
pub use flashpager_binary as binary;
pub use flashpager_binary::driver;
pub use flashpager_media as media;
pub use flashpager_media::estimate;
pub use flashpager_reach as reach;
pub use flashpager_record as record;
pub use flashpager_record::placement;
pub use flashpager_replay as replay;
pub use flashpager_replay::pager;
pub use flashpager_swap as swap;
pub use flashpager_trace as trace;
