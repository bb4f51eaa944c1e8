//! The code and data that a function of a linked program reaches, and whether all of it lies in RAM.
//!
//! The answer is sound: it is `closed` only if every instruction that may be executed was decoded,
//! every jump and call has known targets, and every read is known to be of RAM.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod analysis;
mod arithmetic;
mod decode;
mod execute;
mod graph;
mod instruction;
mod program;
mod report;
mod state;
mod value;
mod variables;

pub use graph::{Block, CodeGraph, Exit, Function, Resumption, code_graph};
pub use report::{Call, Finding, FindingKind, ReachReport, ReachRequest, Step, Verdict, reach};
