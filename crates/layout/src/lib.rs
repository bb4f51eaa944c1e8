//! Layout: the units of a program in another order, and the trace of the same execution then.
//!
//! A program is cut into [`Units`]. An [`Order`] is a sequence of them, [`place()`] lays them out
//! as a linker does, and a [`UnitPlacement`] has the new place of each byte of a recorded trace.
//! This crate knows counts and no time.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod baseline;
mod builds;
pub mod classes;
mod edit;
pub mod homes;
mod order;
mod place;
pub mod profile;
mod reduce;
mod search;
mod sequence;
mod slots;
mod stream;
mod units;

pub use baseline::Baseline;
pub use builds::{Build, JointUnits, MatchNames, MatchedBuilds};
pub use edit::{AddedCode, LinkEdit};
pub use order::Order;
pub use place::{UnitPlacement, place, place_with_code};
pub use profile::Profile;
pub use search::{Annealer, Budget, Cooling, Evaluations, SearchResult};
pub use sequence::{Piece, PieceSequence};
pub use stream::LayoutTask;
pub use units::{Room, Slots, Unit, Units};
