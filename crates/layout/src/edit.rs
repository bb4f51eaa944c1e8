//! Edits: another link of a program whose executed code stays the same.

use flashpager_base::Result;

use crate::order::Order;
use crate::place::{PlacedPart, UnitPlacement, place_parts};
use crate::units::Units;

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
    /// A function that was added.
    pub added: Option<AddedCode>,
}

impl LinkEdit {
    /// The edit that changes nothing.
    pub fn none(units: &Units) -> Self {
        Self { bytes: units.all().iter().map(|unit| unit.bytes).collect(), added: None }
    }

    /// Places the movable units of an edited program in `order`, as [`crate::place`] does.
    ///
    /// # Errors
    /// An image beyond 4 GiB.
    pub fn place(&self, units: &Units, order: &Order) -> Result<UnitPlacement> {
        let all = units.all();
        let part = |number: &u32| {
            let align = all[*number as usize].align;
            PlacedPart { unit: Some(*number), bytes: self.bytes[*number as usize], align }
        };
        let added = self.added.map(|added| {
            let AddedCode { bytes, align, .. } = added;
            PlacedPart { unit: None, bytes, align }
        });
        let count = order.numbers().len();
        let place = self.added.map_or(count, |added| added.place.min(count));
        let (before, behind) = order.numbers().split_at(place);
        let parts = before.iter().map(part).chain(added).chain(behind.iter().map(part));
        place_parts(units, parts, "edited")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Unit, place};

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
        edit.added = Some(AddedCode { place: 2, bytes: 6, align: 4 });
        let placement = edit.place(&units, &order).unwrap();
        // a 8..16, b 16..22, added 24..30, c 32..40.
        assert_eq!(placement.offsets, [0, 8, 16, 32, 40]);
        edit.bytes[1] += 4;
        // c would end at 44: it goes behind what stays.
        assert_eq!(edit.place(&units, &order).unwrap().offsets, [0, 8, 20, 44, 40]);
    }
}
