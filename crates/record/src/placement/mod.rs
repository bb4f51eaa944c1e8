//! Placement: the places of a program's bytes in flash, and the symbols that own them.
//!
//! As in the CARDIS paper (section 5.1), code sections lie one after another in the order of the
//! linker, image after image. The methods of a Java program are sorted by the names of their
//! classes, then as in the class.

pub mod arrange;
mod bytecode;
pub mod methods;
mod placer;
mod process;
mod spec;

pub use bytecode::{BYTECODE, METHOD_COMPONENT};
pub use placer::{FlashLocation, PlacedCode, PlacementOptions, Placer, UnplacedCode, short};
pub use spec::Placement;
