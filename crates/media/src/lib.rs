//! The flash medium: parts and buses, the operations of each kind of medium, and the speed of a
//! medium on a host; and the cores of processors.
//!
//! Modules depend on those above them in this list:
//!
//! * [`bus`]: clock, cycles and data lines between flash and host
//! * [`datasheet`]: the data of part files
//! * [`operation`]: operations as steps, and the trait [`operation::Medium`]
//! * [`medium`]: raw NAND, OneNAND, SPI, memory on an address bus, and cards
//! * [`part`]: the catalog of parts and the checks of part files
//! * [`cores`]: processor cores
//! * [`estimate`]: the speed of a medium on a host

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod bus;
pub mod cores;
pub mod datasheet;
pub mod estimate;
pub mod medium;
pub mod operation;
pub mod part;
