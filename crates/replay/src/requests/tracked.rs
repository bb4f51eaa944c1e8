//! Registers that remember more than the last request, so that each request is made to them.

use rustc_hash::FxHashMap;

use crate::pager::VictimSearch;
use crate::register::{Access, Register};
use crate::{Counts, FaultClass};

/// Accesses to a register, counted one by one.
#[derive(Clone, Default)]
pub struct AccessCounts {
    sums: Counts,
    classes: FxHashMap<FaultClass, u64>,
    loads_of: FxHashMap<u32, u64>,
    distances: FxHashMap<i32, u64>,
}

impl AccessCounts {
    /// Counts an access in the flash page `flash_page`.
    pub fn add(&mut self, access: &Access, flash_page: u32, search: VictimSearch) {
        self.sums.add_access(access);
        *self.classes.entry(FaultClass::of(access, search)).or_default() += 1;
        if access.load {
            *self.loads_of.entry(flash_page).or_default() += 1;
        }
        let first = access.prefetch.unwrap_or(0);
        for ahead in first..first + access.prefetches {
            *self.loads_of.entry(ahead).or_default() += 1;
        }
        if let Some(distance) = access.distance {
            *self.distances.entry(distance).or_default() += 1;
        }
    }

    /// Writes the counts of the accesses into `counts`.
    pub fn write_to(&self, counts: &mut Counts) {
        fn sorted<K: Copy + Ord>(counts: &FxHashMap<K, u64>) -> Vec<(K, u64)> {
            let mut all: Vec<(K, u64)> = counts.iter().map(|(key, count)| (*key, *count)).collect();
            all.sort_unstable();
            all
        }
        counts.loads = self.sums.loads;
        counts.prefetches = self.sums.prefetches;
        counts.prefetches_in_vain = self.sums.prefetches_in_vain;
        counts.other_page = self.sums.other_page;
        counts.other_buffer = self.sums.other_buffer;
        counts.forward = self.sums.forward;
        counts.backward = self.sums.backward;
        counts.column_changes = self.sums.column_changes;
        counts.bytes_fetched = self.sums.bytes_fetched;
        counts.bytes_skipped = self.sums.bytes_skipped;
        counts.header_bytes_fetched = self.sums.header_bytes_fetched;
        counts.fault_classes = sorted(&self.classes);
        counts.loads_by_flash_page = sorted(&self.loads_of);
        counts.distance_histogram = sorted(&self.distances);
    }
}

/// A register to which each request is made, with its counts.
#[derive(Clone)]
pub struct TrackedRegister {
    register: Register,
    counts: AccessCounts,
}

impl TrackedRegister {
    /// Starts with no requests.
    pub fn new(register: Register) -> Self {
        Self { register, counts: AccessCounts::default() }
    }

    /// Makes a request.
    pub fn request(&mut self, offset: u32, search: VictimSearch) {
        let access = self.register.request(offset);
        self.counts.add(&access, self.register.flash_page(offset), search);
    }

    /// Writes the counts of this register into `counts`.
    pub fn write_to(&self, counts: &mut Counts) {
        self.counts.write_to(counts);
    }
}
