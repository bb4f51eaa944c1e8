//! The pager in C (`runtime/pager/`), driven: what its tests need to hold it against the engine.
//!
//! A [`Shape`] is the pager compiled with a policy, a lookup and a register, before an emulated chip
//! that aborts on illegal use. A device has its sizes as constants; here they are variables, so that
//! many of them can be tried.

#[allow(unsafe_code)]
mod ffi;
#[allow(unsafe_code, non_upper_case_globals)]
mod shapes;

pub use shapes::{Counts, Failure, SHAPES, Shape, Sizes};
