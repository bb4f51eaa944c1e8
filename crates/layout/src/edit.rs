//! Edits: another link of a program whose executed code stays the same.

use flashpager_base::Result;

use crate::order::Order;
use crate::place::{PlacedPart, UnitPlacement, place_parts};
use crate::units::{Room, Units};

/// Code that the recorded image does not have, and that is never executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedCode {
    /// Its place in the order: the number of units before it.
    pub place: usize,
    /// Length in bytes.
    pub bytes: u32,
    /// Alignment in bytes, a power of two.
    pub align: u32,
}

/// The differences of another link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEdit {
    /// The length of each unit by its number. It holds all that is executed of the unit.
    pub bytes: Vec<u32>,
    /// Functions that were added, by their places ascending.
    pub added: Vec<AddedCode>,
}

impl LinkEdit {
    /// The edit that changes nothing.
    pub fn none(units: &Units) -> Self {
        Self { bytes: units.all().iter().map(|unit| unit.bytes).collect(), added: Vec::new() }
    }

    /// Places the movable units of an edited program in `order`, as [`crate::place`] does.
    ///
    /// # Errors
    /// An image beyond 4 GiB.
    pub fn place(&self, units: &Units, order: &Order) -> Result<UnitPlacement> {
        let all = units.all();
        let part = |number: &u32| {
            let align = all[*number as usize].align;
            let bytes = self.bytes[*number as usize];
            PlacedPart { unit: Some(*number), bytes, align, room: units.room(*number) }
        };
        let mut parts: Vec<PlacedPart> = order.numbers().iter().map(part).collect();
        for added in self.added.iter().rev() {
            let AddedCode { place, bytes, align } = *added;
            let room = Room::default();
            parts.insert(place.min(parts.len()), PlacedPart { unit: None, bytes, align, room });
        }
        let parts = parts.into_iter();
        place_parts(units, parts, "edited")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Slots, Unit, place};

    fn unit(name: &str, offset: u32, bytes: u32, align: u32, fixed: bool) -> Unit {
        Unit { name: name.to_owned(), offset, bytes, align, fixed }
    }

    /// By hand: a grows by 4, a function of 6 bytes comes behind b, and c goes around what stays.
    #[test]
    fn edited_units_lie_behind_one_another() {
        let units = Units::new(
            vec![
                unit("vectors", 0, 8, 4, true),
                unit("a", 8, 4, 4, false),
                unit("b", 12, 6, 4, false),
                unit("c", 20, 8, 4, false),
                unit("stays", 40, 4, 4, true),
            ],
            44,
        )
        .expect("units that can be");
        let order = Order::original(&units);
        let mut edit = LinkEdit::none(&units);
        assert_eq!(edit.place(&units, &order).unwrap(), place(&units, &order).unwrap());
        edit.bytes[1] += 4;
        edit.added = vec![AddedCode { place: 2, bytes: 6, align: 4 }];
        let placement = edit.place(&units, &order).unwrap();
        // a 8..16, b 16..22, added 24..30, c 32..40.
        assert_eq!(placement.offsets, [0, 8, 16, 32, 40]);
        edit.bytes[1] += 4;
        // c would end at 44: it goes behind what stays.
        assert_eq!(edit.place(&units, &order).unwrap().offsets, [0, 8, 20, 44, 40]);
    }
    /// By hand: b lies in a slot. It moves only when a outgrows the free bytes before it.
    #[test]
    fn slots_hold_what_follows_them() {
        let units = Units::new(
            vec![
                unit("a", 0, 8, 4, false),
                unit("b", 8, 6, 2, false),
                unit("c", 14, 4, 2, false),
                unit("data", 20, 8, 4, true),
            ],
            28,
        )
        .expect("units that can be")
        .with_followers(vec![3]);
        let order = Order::original(&units);
        // a 0..8 and 16 free, b 24..30 and 16 free, c 46..50 and 4 free, data aligned.
        let slotted = units.clone().with_slack(&[0, 1], 16);
        let placement = place(&slotted, &order).unwrap();
        assert_eq!(placement.offsets, [0, 24, 46, 56]);
        assert_eq!(placement.gap_bytes, 16 + 16 + 6);
        let slots = Slots::of(&slotted, &order, &placement);
        assert_eq!(slots, Slots { offsets: vec![(0, 0), (1, 24)], followers_from: 56 });
        let frozen = units.in_slots(&slots);
        let mut edit = LinkEdit::none(&frozen);
        edit.bytes[0] += 16;
        edit.added = vec![AddedCode { place: 3, bytes: 8, align: 2 }];
        // c has no slot: it follows b. Data stays behind what was added.
        assert_eq!(edit.place(&frozen, &order).unwrap().offsets, [0, 24, 30, 56]);
        edit.bytes[0] += 4;
        assert_eq!(edit.place(&frozen, &order).unwrap().offsets, [0, 28, 34, 56]);
    }
}
