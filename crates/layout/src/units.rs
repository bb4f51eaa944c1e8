//! Units: what a linker, or whoever builds the image, can put elsewhere as a whole.

use flashpager_base::{Error, Result};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Order;

/// Code that stays together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// Its name, which no other unit has.
    pub name: String,
    /// Its first byte in the recorded image.
    pub offset: u32,
    /// Its length, at least 1.
    pub bytes: u32,
    /// What its offset is a multiple of, a power of two.
    pub align: u32,
    /// Whether it stays where it is, as vectors do.
    pub fixed: bool,
}

impl Unit {
    /// The offset just behind it.
    pub fn end(&self) -> u32 {
        self.offset + self.bytes
    }
}

/// The units of an image, by ascending offset, none over another. What lies between them is
/// padding, which an image laid out anew does not have: what is executed belongs to a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    units: Vec<Unit>,
    movable: Vec<u32>,
    fixed: Vec<u32>,
    resident: Vec<bool>,
    /// Where the first lies that is not fixed, in RAM or not.
    start: u32,
    image_bytes: u32,
}

impl Units {
    /// Units of an image of `image_bytes`, in any order.
    ///
    /// # Errors
    /// Units over each other, beyond the image, empty, of one name, with an alignment that is no
    /// power of two or that a fixed one does not keep, and images in which nothing can move.
    pub fn new(mut units: Vec<Unit>, image_bytes: u32) -> Result<Self> {
        units.sort_by_key(|unit| unit.offset);
        let refused = |unit: &Unit, what: &str| {
            let Unit { name, offset, .. } = unit;
            Err(Error::design(format!("unit {name} at {offset:#x} {what}")))
        };
        let mut free = 0;
        let mut names = FxHashMap::default();
        for unit in &units {
            if unit.bytes == 0 {
                return refused(unit, "is empty");
            }
            if !unit.align.is_power_of_two() {
                return refused(unit, &format!("has an alignment of {}", unit.align));
            }
            if unit.offset < free {
                return refused(unit, "lies over the one before it");
            }
            match unit.offset.checked_add(unit.bytes).filter(|end| *end <= image_bytes) {
                Some(end) => free = end,
                None => return refused(unit, &format!("ends beyond the {image_bytes} bytes")),
            }
            if let Some(other) = names.insert(unit.name.as_str(), unit.offset) {
                return refused(unit, &format!("has the name of the one at {other:#x}"));
            }
        }
        let numbers = 0..units.len() as u32;
        let (fixed, movable): (Vec<u32>, Vec<u32>) =
            numbers.partition(|number| units[*number as usize].fixed);
        if movable.is_empty() {
            return Err(Error::design("no unit can be moved: there is nothing to lay out"));
        }
        let resident = vec![false; units.len()];
        let start = units[movable[0] as usize].offset;
        Ok(Self { units, movable, fixed, resident, start, image_bytes })
    }

    /// The same, but those of these names lie in RAM: they leave the flash image.
    ///
    /// # Errors
    /// Names of no unit or of one that stays, and images of which nothing is left.
    pub fn with_resident<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let units = self.with_resident_numbers(&Order::named(self, names)?);
        if units.movable.is_empty() {
            return Err(Error::design(
                "all that can be moved is resident: nothing is left to order",
            ));
        }
        Ok(units)
    }

    /// The same, but the movable units of these numbers lie in RAM; perhaps all of them.
    pub fn with_resident_numbers(&self, numbers: &[u32]) -> Self {
        let mut units = self.clone();
        numbers.iter().for_each(|number| units.resident[*number as usize] = true);
        units.movable.retain(|number| !units.resident[*number as usize]);
        units
    }

    /// Where the first unit lies that is not fixed, in RAM or not: what moves begins there.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Whether the unit of this number lies in RAM.
    pub fn is_resident(&self, number: usize) -> bool {
        self.resident[number]
    }

    /// Bytes of the units that lie in RAM.
    pub fn resident_bytes(&self) -> u64 {
        let all = self.units.iter().zip(&self.resident);
        all.filter(|(_, resident)| **resident).map(|(unit, _)| u64::from(unit.bytes)).sum()
    }

    /// All of them.
    pub fn all(&self) -> &[Unit] {
        &self.units
    }

    /// The numbers of those that can move, in the order of the image.
    pub fn movable(&self) -> &[u32] {
        &self.movable
    }

    /// The numbers of those that stay.
    pub fn fixed(&self) -> &[u32] {
        &self.fixed
    }

    /// Bytes of the recorded image.
    pub fn image_bytes(&self) -> u32 {
        self.image_bytes
    }

    /// The number of the unit of the byte at `offset`.
    pub fn owner(&self, offset: u32) -> Option<usize> {
        let number = self.units.partition_point(|unit| unit.offset <= offset).checked_sub(1)?;
        let unit = &self.units[number];
        (offset - unit.offset < unit.bytes).then_some(number)
    }
}
