//! Link maps: the input sections of a program in their order, and files that make a linker place
//! them in another order.

mod check;
mod gnu;
mod lld;
mod map;
mod objects;
mod order;
mod pinned;
mod read;

pub use check::{CheckedLink, OrderViolation, ViolationKind, check};
pub use map::{InputSection, LinkMap, Linker, OutputSection};
pub use order::{OrderLine, OrderText, fragment, lines, names, recorded_at, symbol_order};
pub use pinned::{PinFormat, PinText, pinned};
