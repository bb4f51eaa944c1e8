//! Flash parts: the catalog, files of one's own, and their checks.
//!
//! A part is a TOML file in `parts/`, every number with its source. Its data and its media are
//! defined below this module and re-exported here.

mod catalog;
mod check;

pub use crate::datasheet::{
    CardBusyTime, Ecc, EccPlace, Fact, MemoryKind, OneNand, Parallel, Part, ReadMode, Sd, Sdr,
    Sourced, Spi, Supply, schema,
};
pub use crate::medium::Power;
pub use catalog::{catalog, find, read};
pub use check::Complaint;
