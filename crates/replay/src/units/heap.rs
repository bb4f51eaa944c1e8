//! The RAM of units: which of them lie in it, and where.

use std::ops::Range;

/// Stands for a unit that is not in RAM.
const ABSENT: u32 = u32::MAX;

/// Units in a piece of RAM, none of them over another.
pub(super) struct Heap {
    bytes: u32,
    /// Bytes of each unit.
    sizes: Vec<u32>,
    /// Offset of each unit; [`ABSENT`] if it is not in RAM.
    offsets: Vec<u32>,
    /// The units in RAM, ascending by their offsets.
    units: Vec<u32>,
    /// Bytes of the units in RAM.
    used_bytes: u32,
}

impl Heap {
    /// An empty heap of `bytes` for units of these sizes.
    pub(super) fn new(bytes: u32, sizes: &[u32]) -> Self {
        let (sizes, offsets) = (sizes.to_vec(), vec![ABSENT; sizes.len()]);
        Self { bytes, sizes, offsets, units: Vec::new(), used_bytes: 0 }
    }

    /// Bytes of the heap.
    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Bytes of a unit.
    pub(super) fn size(&self, unit: u32) -> u32 {
        self.sizes[unit as usize]
    }

    /// Bytes that no unit takes.
    pub(super) fn free_bytes(&self) -> u32 {
        self.bytes - self.used_bytes
    }

    /// Returns true if `unit` is in RAM.
    #[inline]
    pub(super) fn holds(&self, unit: u32) -> bool {
        self.offsets[unit as usize] != ABSENT
    }

    /// The units in RAM, ascending by their offsets.
    pub(super) fn units(&self) -> &[u32] {
        &self.units
    }

    /// The offset just behind a unit in RAM.
    pub(super) fn end(&self, unit: u32) -> u32 {
        self.offsets[unit as usize] + self.size(unit)
    }

    /// The units that have a byte in `from..to`, as places in [`Heap::units`].
    pub(super) fn overlapping(&self, from: u32, to: u32) -> Range<usize> {
        let first = self.units.partition_point(|unit| self.end(*unit) <= from);
        let behind = self.units.partition_point(|unit| self.offsets[*unit as usize] < to);
        first..behind.max(first)
    }

    /// The lowest offset at which `bytes` are free.
    pub(super) fn first_gap(&self, bytes: u32) -> Option<u32> {
        let mut free = 0;
        for unit in &self.units {
            if self.offsets[*unit as usize] - free >= bytes {
                return Some(free);
            }
            free = self.end(*unit);
        }
        (self.bytes - free >= bytes).then_some(free)
    }

    /// Puts `unit` at `offset`, where its bytes are free.
    pub(super) fn put(&mut self, unit: u32, offset: u32) {
        let place = self.units.partition_point(|other| self.offsets[*other as usize] < offset);
        self.units.insert(place, unit);
        self.offsets[unit as usize] = offset;
        self.used_bytes += self.size(unit);
    }

    /// Takes out the units at `places` of [`Heap::units`]. Returns their number.
    pub(super) fn take(&mut self, places: Range<usize>) -> u32 {
        let taken: Vec<u32> = self.units.drain(places).collect();
        for unit in &taken {
            self.offsets[*unit as usize] = ABSENT;
            self.used_bytes -= self.size(*unit);
        }
        taken.len() as u32
    }

    /// Takes out one unit.
    pub(super) fn take_unit(&mut self, unit: u32) {
        if let Some(place) = self.units.iter().position(|other| *other == unit) {
            self.take(place..place + 1);
        }
    }

    /// Moves all units down, in their order, until no byte between them is free. Returns the bytes of
    /// those that moved.
    pub(super) fn compact(&mut self) -> u64 {
        let (mut free, mut moved) = (0, 0);
        for unit in &self.units {
            let (offset, size) = (&mut self.offsets[*unit as usize], self.sizes[*unit as usize]);
            if *offset != free {
                moved += u64::from(size);
                *offset = free;
            }
            free += size;
        }
        moved
    }

    /// Puts `unit` at the lowest offset with enough free bytes. If there is none, all units move down
    /// first. Returns the bytes moved. The heap has enough free bytes in all.
    pub(super) fn put_compacting(&mut self, unit: u32) -> u64 {
        let size = self.size(unit);
        if let Some(offset) = self.first_gap(size) {
            self.put(unit, offset);
            return 0;
        }
        let moved = self.compact();
        self.put(unit, self.used_bytes);
        moved
    }
}
