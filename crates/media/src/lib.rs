//! The flash medium: parts and buses, what an operation takes on each kind of medium, and
//! how fast a medium is on a host; and the cores of processors.

pub mod bus;
pub mod cores;
pub mod estimate;
pub mod onenand;
pub mod operation;
pub mod parallel;
pub mod part;
pub mod sd;
pub mod sdr;
pub mod spi;
