//! Link maps: the input sections of a program in their order, and files that make a linker place
//! them in another order.

mod armlink;
mod check;
mod gnu;
mod lld;
mod map;
mod objects;
mod order;
mod pinned;
mod read;
mod slots;

pub use check::{
    CheckedLink, CheckedPins, OrderViolation, PinFault, SlippedUnit, UnpinnedUnit, ViolationKind,
    check, check_pinned, check_slots,
};
pub use map::{InputSection, LinkMap, Linker, OutputSection, Padding};
pub use order::{
    OrderLine, OrderText, fragment, fragment_with_holes, is_for_ram, lines, names, recorded_at,
    symbol_order,
};
pub use pinned::{PinFormat, PinText, pinned};
pub use slots::{SlotLines, SlottedSection, slot_fragment, slot_lines};
