//! The runs of a row group, each as the number of a distinct run.
//!
//! A program executes few distinct runs very often. Looked up once, a run is a small number from
//! then on: for both columns, for the checksum and for the counts.

use crate::run::{Mark, Run};

/// A place in the hash table without a run.
const EMPTY: u32 = u32::MAX;

/// Places of an empty hash table. It grows so that at least half of them are empty.
const FIRST_PLACES: usize = 1 << 8;

/// A distinct run of a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupRun {
    /// Offset of its first byte.
    pub offset: u32,
    /// Its length, with its kind in the upper bits.
    pub stored_length: u32,
    /// Number of times that it is in the group, at least 1.
    pub count: u32,
}

impl GroupRun {
    /// The run and its kind.
    pub fn decoded(self) -> (Run, Mark) {
        let (mark, length) = Mark::decode(self.stored_length);
        (Run { offset: self.offset, length }, mark)
    }
}

/// The runs of a row group.
pub(crate) struct RunGroup {
    /// Distinct runs in the order in which they first appear.
    distinct: Vec<GroupRun>,
    /// The runs, by their indices in `distinct`.
    numbers: Vec<u32>,
    /// A hash table of the same indices. Its length is a power of two.
    places: Vec<u32>,
}

impl Default for RunGroup {
    fn default() -> Self {
        Self { distinct: Vec::new(), numbers: Vec::new(), places: vec![EMPTY; FIRST_PLACES] }
    }
}

impl RunGroup {
    /// Adds a run.
    #[inline]
    pub fn push(&mut self, run: Run, mark: Mark) {
        let number = self.count(run.offset, mark.encode(run.length));
        self.numbers.push(number);
    }

    /// Adds executed runs.
    pub fn push_executed(&mut self, runs: &[Run]) {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.extend(runs.iter().map(|run| self.count(run.offset, run.length)));
        self.numbers = numbers;
    }

    /// Counts a run. Returns its number.
    #[inline]
    fn count(&mut self, offset: u32, stored_length: u32) -> u32 {
        let mut place = self.first_place(offset, stored_length);
        loop {
            let number = self.places[place];
            let Some(known) = self.distinct.get_mut(number as usize) else {
                return self.insert(place, GroupRun { offset, stored_length, count: 1 });
            };
            if (known.offset, known.stored_length) == (offset, stored_length) {
                known.count += 1;
                return number;
            }
            place = (place + 1) & (self.places.len() - 1);
        }
    }

    /// The place at which the search for a run begins.
    #[inline]
    fn first_place(&self, offset: u32, stored_length: u32) -> usize {
        let key = u64::from(offset) << 32 | u64::from(stored_length);
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ key.wrapping_mul(0x9e37_79b9) << 32;
        (hash >> 32) as usize & (self.places.len() - 1)
    }

    /// Adds a distinct run at an empty place. Returns its number.
    #[cold]
    fn insert(&mut self, place: usize, run: GroupRun) -> u32 {
        let number = self.distinct.len() as u32;
        self.places[place] = number;
        self.distinct.push(run);
        if self.distinct.len() * 2 > self.places.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        self.places = vec![EMPTY; self.places.len() * 2];
        for (number, run) in self.distinct.iter().enumerate() {
            let mut place = self.first_place(run.offset, run.stored_length);
            while self.places[place] != EMPTY {
                place = (place + 1) & (self.places.len() - 1);
            }
            self.places[place] = number as u32;
        }
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Tells whether there is no run.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The distinct runs in the order in which they first appear.
    pub fn distinct(&self) -> &[GroupRun] {
        &self.distinct
    }

    /// The runs, by their indices in [`Self::distinct`].
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Removes all runs.
    pub fn clear(&mut self) {
        self.distinct.clear();
        self.numbers.clear();
        self.places.fill(EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_numbered_in_the_order_of_their_appearance() {
        let mut group = RunGroup::default();
        // More distinct runs than the first table has places, each several times.
        let run = |i: u32| Run { offset: i * 4, length: 4 + i % 3 };
        for _ in 0..2 {
            for i in (0..1000).flat_map(|i| [i, i / 2]) {
                group.push(run(i), if i % 7 == 0 { Mark::Read } else { Mark::Executed });
            }
        }
        assert_eq!(group.len(), 4000);
        let mut first_seen = Vec::new();
        for (&number, i) in group.numbers().iter().zip((0..1000).flat_map(|i| [i, i / 2]).cycle()) {
            let mark = if i % 7 == 0 { Mark::Read } else { Mark::Executed };
            assert_eq!(group.distinct()[number as usize].decoded(), (run(i), mark));
            if number as usize == first_seen.len() {
                first_seen.push(i);
            }
        }
        assert_eq!(first_seen, (0..1000).collect::<Vec<u32>>());
        let counted: u32 = group.distinct().iter().map(|run| run.count).sum();
        assert_eq!(counted, 4000);
        group.clear();
        assert!(group.is_empty());
        group.push(run(5), Mark::Executed);
        assert_eq!((group.numbers(), group.distinct().len()), (&[0][..], 1));
    }
}
