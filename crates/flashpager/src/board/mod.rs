//! Boards: TOML files that describe the surroundings of a flash part.
//!
//! A board has two halves. One is a design ([`Board`]): part, bus, caches, times of the software. The
//! other is the host between the medium's pins and the application ([`BoardHost`]), which an estimate
//! of the medium's speed needs. Both are tables of one file, because they describe one device.

mod catalog;
mod fields;
mod file;
mod host;
mod host_file;
mod processor;
mod toml_file;

pub use catalog::{ShippedBoard, shipped, text};
pub use fields::{HOST_FIELDS, design_fields};
pub use file::{Board, BoardFirmware};
pub use host::{BoardEstimate, BoardHost, BoardMeasurement, DriverCode, LayerRates, estimate_on};
pub use host_file::address;
pub use toml_file::read_table;
