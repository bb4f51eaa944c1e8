//! Program files: ELF sections and symbols, where they begin, source lines, link maps, demangled
//! names, and the copy loops of flash drivers.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod binaries;
pub mod boot;
pub mod driver;
pub mod elf;
pub mod lines;
pub mod link;
pub mod literals;
pub mod names;
pub mod program;
pub mod sample_profile;
mod unwind;
