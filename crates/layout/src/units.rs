//! Units: the parts of an image that a linker can place elsewhere as a whole.

use flashpager_base::{Error, Result};
use flashpager_trace::MAX_IMAGE_BYTES;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A unit of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// Name; no other unit has the same.
    pub name: String,
    /// Offset of its first byte in the recorded image.
    pub offset: u32,
    /// Length in bytes, at least 1.
    pub bytes: u32,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// It keeps its place, as vectors do.
    pub fixed: bool,
}

impl Unit {
    /// Returns the offset just behind it.
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.bytes)
    }
}

/// The units of an image, sorted by offset, without overlaps. Bytes between them are padding, which
/// another layout does not have. All executed code belongs to a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    units: Vec<Unit>,
    movable: Vec<u32>,
    fixed: Vec<u32>,
    resident: Vec<bool>,
    /// Offset of the first unit that is not fixed, resident or not.
    start: u32,
    image_bytes: u64,
}

impl Units {
    /// Makes the units of an image of `image_bytes`. They may be given in any order.
    ///
    /// # Errors
    /// Units that overlap, lie beyond the image, are empty, share a name, or have an alignment that is
    /// no power of two; and images without a movable unit.
    pub fn new(mut units: Vec<Unit>, image_bytes: u64) -> Result<Self> {
        units.sort_by_key(|unit| unit.offset);
        let refused = |unit: &Unit, reason: &str| {
            let Unit { name, offset, .. } = unit;
            Err(Error::design(format!("unit {name} at {offset:#x} {reason}")))
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
            if u64::from(unit.offset) < free {
                return refused(unit, "lies over the one before it");
            }
            if unit.end() > image_bytes.min(MAX_IMAGE_BYTES) {
                return refused(unit, &format!("ends beyond the {image_bytes} bytes"));
            }
            free = unit.end();
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

    /// Returns the units with the movable ones of these numbers resident. No unit may be left.
    pub fn with_resident_numbers(&self, numbers: &[u32]) -> Self {
        let mut units = self.clone();
        numbers.iter().for_each(|number| units.resident[*number as usize] = true);
        units.movable.retain(|number| !units.resident[*number as usize]);
        units
    }

    /// Returns the offset of the first unit that is not fixed, resident or not. Movable units are
    /// placed from there on.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Tells whether the unit with this number is resident.
    pub fn is_resident(&self, number: usize) -> bool {
        self.resident[number]
    }

    /// Returns the bytes of the resident units.
    pub fn resident_bytes(&self) -> u64 {
        let all = self.units.iter().zip(&self.resident);
        all.filter(|(_, resident)| **resident).map(|(unit, _)| u64::from(unit.bytes)).sum()
    }

    /// Returns all units.
    pub fn all(&self) -> &[Unit] {
        &self.units
    }

    /// Returns the numbers of the movable units, in the order of the image.
    pub fn movable(&self) -> &[u32] {
        &self.movable
    }

    /// Returns the numbers of the units that stay.
    pub fn fixed(&self) -> &[u32] {
        &self.fixed
    }

    /// Returns the size of the recorded image in bytes.
    pub fn image_bytes(&self) -> u64 {
        self.image_bytes
    }

    /// Returns the number of the unit that the byte at `offset` belongs to.
    pub fn owner(&self, offset: u32) -> Option<usize> {
        let number = self.units.partition_point(|unit| unit.offset <= offset).checked_sub(1)?;
        let unit = &self.units[number];
        (offset - unit.offset < unit.bytes).then_some(number)
    }
}
