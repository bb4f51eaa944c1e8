//! Programs as files: ELF sections and symbols, lines of source, the names that people
//! gave, and what the copy loop of a flash driver executes.

pub mod binaries;
pub mod driver;
pub mod elf;
pub mod lines;
pub mod link;
pub mod names;
pub mod sample_profile;
mod unwind;
