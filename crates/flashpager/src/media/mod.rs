//! The flash medium: its data register, parts and buses, and what an operation
//! takes on each kind of medium.

pub mod bus;
pub mod onenand;
pub mod operation;
pub mod parallel;
pub mod part;
pub mod register;
pub mod sd;
pub mod sdr;
pub mod spi;
