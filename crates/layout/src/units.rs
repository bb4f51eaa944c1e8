//! Units: the parts of an image that a linker can place elsewhere as a whole.

use flashpager_base::{Error, Result};
use flashpager_trace::{MAX_IMAGE_BYTES, Run};
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
    /// No order moves it: it keeps its place, as vectors do, or follows the units that move.
    pub fixed: bool,
}

impl Unit {
    /// Returns the offset just behind it.
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.bytes)
    }
}

/// A movable unit without slack has this part of the slack of the others before the followers.
const RESERVED_PART: u32 = 4;

/// The free bytes around a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// The unit is not placed before this offset.
    pub from: u32,
    /// Bytes behind the unit that stay free, so that it can grow without moving the next one.
    pub slack_bytes: u32,
}

/// Slots: offsets that units keep while others grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Numbers of units, each with the offset of its slot, in the order of the image.
    pub offsets: Vec<(u32, u32)>,
    /// Offset before which no follower is placed; 0 if there is none.
    pub followers_from: u32,
}

/// The units of an image, sorted by offset, without overlaps. Bytes between them are padding, which
/// another layout does not have. All executed code belongs to a unit.
///
/// A linker places *followers*, such as constants behind the code, where the units that move end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    units: Vec<Unit>,
    movable: Vec<u32>,
    fixed: Vec<u32>,
    followers: Vec<u32>,
    /// No follower is placed before this offset.
    followers_from: u32,
    /// The last unit of code behind the movable ones.
    last_code: Option<u32>,
    /// Free bytes between the movable units and the followers.
    reserve_bytes: u32,
    rooms: Vec<Room>,
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
        let rooms = vec![Room::default(); units.len()];
        Ok(Self {
            units,
            movable,
            fixed,
            followers: Vec::new(),
            followers_from: 0,
            last_code: None,
            reserve_bytes: 0,
            rooms,
            resident,
            start,
            image_bytes,
        })
    }

    /// Returns the units with those of these numbers as followers, in this order. They lie behind all
    /// movable units.
    pub fn with_followers(mut self, numbers: Vec<u32>) -> Self {
        self.fixed.retain(|number| !numbers.contains(number));
        self.followers = numbers;
        self
    }

    /// Returns the units with this number as that of the last unit of code behind the movable ones, such
    /// as `.fini`; `None` if all there is data. A linker adds code behind it.
    pub fn with_last_code(mut self, number: Option<u32>) -> Self {
        self.last_code = number;
        self
    }

    /// Returns the units with followers that are not placed before their recorded offset. They move
    /// only if an order needs more padding than the recorded one.
    pub fn holding_followers(mut self) -> Self {
        let first = self.followers.first().map(|number| &self.units[*number as usize]);
        self.followers_from = first.map_or(0, |unit| unit.offset);
        self
    }

    /// Returns the units with `slack_bytes` behind each of these movable ones, and with room for the
    /// growth of the others before the followers.
    pub fn with_slack(mut self, numbers: &[u32], slack_bytes: u32) -> Self {
        for number in numbers {
            self.rooms[*number as usize].slack_bytes = slack_bytes;
        }
        let others = self.movable.len().saturating_sub(numbers.len()) as u32;
        self.reserve_bytes = others.saturating_mul(slack_bytes) / RESERVED_PART;
        self
    }

    /// Returns the units without slack, none of which is placed before its slot.
    pub fn in_slots(mut self, slots: &Slots) -> Self {
        self.rooms.fill(Room::default());
        for (number, from) in &slots.offsets {
            self.rooms[*number as usize].from = *from;
        }
        (self.reserve_bytes, self.followers_from) = (0, slots.followers_from);
        self
    }

    /// Returns the free bytes around the unit with this number.
    pub fn room(&self, number: u32) -> Room {
        self.rooms[number as usize]
    }

    /// Returns the free bytes between the movable units and the followers.
    pub fn reserve_bytes(&self) -> u32 {
        self.reserve_bytes
    }

    /// Returns the units without followers, for orders whose followers are of no interest.
    pub(crate) fn ignoring_followers(&self) -> Self {
        Self { followers: Vec::new(), ..self.clone() }
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

    /// Returns true if the unit with this number is resident.
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

    /// Returns the numbers of the units that stay where they are.
    pub fn fixed(&self) -> &[u32] {
        &self.fixed
    }

    /// Returns the numbers of the followers, in their order.
    pub fn followers(&self) -> &[u32] {
        &self.followers
    }

    /// Returns the offset before which no follower is placed; 0 if there is none.
    pub fn followers_from(&self) -> u32 {
        self.followers_from
    }

    /// Returns the number of the last unit of code behind the movable ones; `None` if there is none.
    pub fn last_code(&self) -> Option<u32> {
        self.last_code
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

    /// Returns the number of the unit that a data read belongs to, with the bytes of the read that
    /// count; `None` if it lies before all units. The read moves as a whole with the unit that it
    /// begins in, or with the one before if that is padding: word-wise string functions read beyond
    /// the end of a string, whatever lies there.
    ///
    /// They also round the address of a string down. So an aligned read from a movable unit into
    /// other data belongs to the data, and counts from there on. It is in the same cache page.
    pub fn read(&self, run: Run) -> Option<(usize, Run)> {
        let behind = self.units.partition_point(|unit| unit.offset <= run.offset);
        let next = self.units.get(behind).filter(|unit| u64::from(unit.offset) < run.end());
        let next = next.map(|unit| {
            let offset = unit.offset;
            (behind, Run { offset, length: (run.end() - u64::from(offset)) as u32 })
        });
        let Some(number) = behind.checked_sub(1) else { return next };
        let is_rounded = run.length.is_power_of_two() && run.offset.is_multiple_of(run.length);
        let is_of_next = is_rounded && !self.units[number].fixed;
        let next = next.filter(|(next, _)| is_of_next && self.units[*next].fixed);
        next.or(Some((number, run)))
    }

    /// Returns true if a read of this unit ends beyond it.
    pub fn is_read_beyond(&self, number: usize, run: Run) -> bool {
        run.end() > self.units[number].end()
    }
}
