//! Slots of the units of an order.

use crate::order::Order;
use crate::place::UnitPlacement;
use crate::units::{Slots, Units};

impl Slots {
    /// Makes a slot of the place of each unit that has slack.
    pub fn of(units: &Units, order: &Order, placement: &UnitPlacement) -> Self {
        let offset = |number: u32| placement.offsets[number as usize];
        let numbers = order.numbers().iter().copied();
        let slotted = numbers.filter(|number| units.room(*number).slack_bytes > 0);
        Self {
            offsets: slotted.map(|number| (number, offset(number))).collect(),
            followers_from: units.followers().first().map_or(0, |number| offset(*number)),
        }
    }
}
