//! Layout: the units of a program in another order, and what the same execution is then.
//!
//! A program is cut into [`Units`], an [`Order`] says which comes after which, [`place()`] lays
//! them out as a linker does, and a [`UnitPlacement`] says where each byte of a recorded trace lies
//! then. Nothing here knows a nanosecond.

pub mod baseline;
mod order;
mod place;
pub mod profile;
mod reduce;
mod search;
mod sequence;
mod stream;
mod units;

pub use baseline::Baseline;
pub use order::Order;
pub use place::{UnitPlacement, place};
pub use profile::Profile;
pub use search::{Annealer, Budget, Cooling, Evaluations, SearchResult};
pub use sequence::{Piece, PieceSequence};
pub use stream::LayoutTask;
pub use units::{Unit, Units};
