//! The flash medium: its data register, parts and buses.

pub mod bus;
pub mod part;
pub mod register;
