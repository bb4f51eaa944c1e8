//! Readers of foreign formats: one file and one line of `importers!` each.

pub(crate) mod csv;
pub(crate) mod din;
pub(crate) mod drmemtrace;
pub(crate) mod etrace;
pub(crate) mod execlog;
pub(crate) mod gem5;
pub(crate) mod lackey;
pub(crate) mod perf;
pub(crate) mod qemu_log;
pub(crate) mod renode;
pub(crate) mod spike;
pub(crate) mod tarmac;

/// Longest instruction that a log may show, in bytes.
const MAX_INSTRUCTION_BYTES: usize = 16;

mod check;
mod instructions;
mod text;
mod threads;
