//! Traces: sequences of runs, and their file.
//!
//! All traces are streams: a source fills one chunk of runs at a time, so that memory does not
//! grow with the length of a trace.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod blocks;
pub mod calls;
pub mod check;
pub mod columns;
mod executed;
pub mod export;
pub mod file;
mod first_runs;
pub mod gaps;
mod group;
mod image;
mod info;
mod marks;
mod memory;
pub mod output;
mod page_references;
mod progress;
mod relocations;
mod run;
mod source;
mod warm_up;
mod window_reader;
mod windows;

pub use blocks::BlockCounts;
pub use executed::ExecutedRuns;
pub use file::{TraceFile, TraceWriter};
pub use first_runs::FirstRuns;
pub use gaps::{Gap, GapReason};
pub use image::{Image, Section, Symbol};
pub use info::{Ending, OutsideFile, TraceInfo, nothing_placed};
pub use marks::MarkReader;
pub use memory::MemoryTrace;
pub use progress::{ProgressFn, ProgressTrace, WeightedWork, WorkPart};
pub use relocations::{Relocation, RelocationError, Relocations};
pub use run::{ExecutedRunMerger, MAX_IMAGE_BYTES, MAX_RUN_BYTES, Mark, Run, RunBuilder};
pub use source::{CHUNK_RUNS, RunSource, Trace, for_marked_runs, for_runs};
pub use warm_up::WarmUp;
pub use window_reader::{CapturedWindow, WindowReader};
pub use windows::TraceWindows;
