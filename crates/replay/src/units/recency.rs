//! The order in which units were used last.

/// The last use of each unit.
pub(super) struct Recency {
    /// The number of the last reference to each unit, from 1; 0 before the first.
    last_uses: Vec<u64>,
    references: u64,
}

impl Recency {
    /// No use of any of `units` units.
    pub(super) fn new(units: usize) -> Self {
        Self { last_uses: vec![0; units], references: 0 }
    }

    /// Notes a reference to `unit`.
    #[inline]
    pub(super) fn used(&mut self, unit: u32) {
        self.references += 1;
        self.last_uses[unit as usize] = self.references;
    }

    /// The number of the last reference to `unit`.
    pub(super) fn last_use(&self, unit: u32) -> u64 {
        self.last_uses[unit as usize]
    }

    /// The unit of `units` that was used least recently.
    pub(super) fn oldest(&self, units: &[u32]) -> Option<u32> {
        units.iter().copied().min_by_key(|unit| self.last_use(*unit))
    }
}
