//! Pairs of requests, counted by the properties that matter to a register.

use std::collections::BTreeMap;
use std::ops::Range;

use flashpager_base::sizes::MAX_FLASH_PAGE_BYTES;
use flashpager_base::{Error, Result};
use rustc_hash::FxHashMap;

use super::{MAX_BYTES, NO_BLOCK};
use crate::pager::{Page, VictimSearch};
use crate::register::RegisterModel;
use crate::{Counts, FaultClass};

/// Counts of pairs of consecutively requested units.
///
/// A pair has class c if both units share a flash page of the c-th size and of all larger sizes,
/// but of no smaller one; pairs of the last class share none. Its kind is twice the class, plus one
/// if the later unit lies after the earlier one.
pub struct RequestPairs {
    /// Bytes of a unit.
    pub unit_bytes: u32,
    /// The shift from block numbers to unit numbers.
    shift: u32,
    sizes: usize,
    /// Binary logarithms of the flash page sizes in units, ascending.
    page_shifts: Vec<u32>,
    /// The class by the position, from 1, of the highest bit in which two units differ.
    class_of_bit: [u8; 33],
    /// By unit, its slot + 1.
    slots: Vec<u32>,
    /// By slot, its unit.
    units: Vec<u32>,
    /// Counts by slot, kind and size.
    by_unit: Vec<u64>,
    /// Counts by class, distance in units, and size.
    by_distance: Vec<u64>,
    /// By size, the requests among `by_unit` that followed a search.
    searched: Vec<FxHashMap<SearchedPair, u64>>,
    inclusion: bool,
    /// True if the counts would exceed [`MAX_BYTES`].
    pub is_full: bool,
}

/// Requests that cost the same with every register, packed to be hashed fast: the search, and in
/// `request` the kind, the column in the largest flash page and the distance. The last two are in
/// units, below [`MAX_UNITS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SearchedPair {
    search: VictimSearch,
    request: u64,
}

/// The most units in a flash page: units of one byte.
const MAX_UNITS: u64 = MAX_FLASH_PAGE_BYTES as u64;

impl SearchedPair {
    /// Packs a request.
    #[inline]
    pub fn new(search: VictimSearch, kind: usize, column: u32, distance: u32) -> Self {
        let request = (kind as u64 * MAX_UNITS + u64::from(column)) * MAX_UNITS;
        Self { search, request: request + u64::from(distance) }
    }

    /// Unpacks kind, column and distance.
    fn unpacked(self) -> (usize, u32, u32) {
        let kind_and_column = self.request / MAX_UNITS;
        let (kind, column) = (kind_and_column / MAX_UNITS, kind_and_column % MAX_UNITS);
        (kind as usize, column as u32, (self.request % MAX_UNITS) as u32)
    }
}

impl RequestPairs {
    /// Starts with no pairs.
    ///
    /// # Errors
    /// If the counts by distance would take too much memory.
    pub fn new(
        block_bytes: u32,
        unit_bytes: u32,
        flash_pages: &[u32],
        pages: u32,
        sizes: usize,
        inclusion: bool,
    ) -> Result<Self> {
        // Flash pages smaller than the unit belong to other registers.
        let page_shifts: Vec<u32> = flash_pages
            .iter()
            .filter(|page| **page >= unit_bytes)
            .map(|page| (page / unit_bytes).trailing_zeros())
            .collect();
        let shift = (unit_bytes / block_bytes).trailing_zeros();
        let class = |bit: usize| page_shifts.iter().filter(|page| (**page as usize) < bit).count();
        let reach = page_shifts.last().map_or(1, |page| 1usize << page);
        let distances = page_shifts.len() * 2 * reach * sizes;
        if distances as u64 > MAX_BYTES / 8 {
            return Err(Error::design(format!(
                "{sizes} cache sizes with flash pages of {reach} cache pages are too much to \
                 count at once; ask for fewer sizes"
            )));
        }
        Ok(Self {
            unit_bytes,
            shift,
            sizes,
            class_of_bit: std::array::from_fn(|bit| class(bit) as u8),
            slots: vec![0; (pages as usize >> shift) + 1],
            units: Vec::new(),
            by_unit: Vec::new(),
            by_distance: vec![0; distances],
            page_shifts,
            searched: vec![FxHashMap::default(); sizes],
            inclusion,
            is_full: false,
        })
    }

    fn classes(&self) -> usize {
        self.page_shifts.len()
    }

    fn kinds(&self) -> usize {
        2 * self.classes() + 1
    }

    fn reach(&self) -> usize {
        self.page_shifts.last().map_or(1, |page| 1 << page)
    }

    /// Counts a request of `block` after one of `before`, by the caches of `sizes`.
    #[inline]
    pub fn add(&mut self, sizes: Range<usize>, before: Page, block: Page, search: VictimSearch) {
        let (unit, previous) = (block >> self.shift, before >> self.shift);
        let mut class = self.classes();
        if before != NO_BLOCK {
            class = self.class_of_bit[32 - (unit ^ previous).leading_zeros() as usize].into();
        }
        let shares = class < self.classes();
        let kind = 2 * class + usize::from(shares && unit > previous);

        let slot = match self.slots[unit as usize] {
            0 => self.new_slot(unit),
            slot => slot as usize - 1,
        };
        let at = (slot * self.kinds() + kind) * self.sizes;
        Self::count(&mut self.by_unit[at..at + self.sizes], &sizes, self.inclusion);
        if shares {
            let distance = (unit + self.reach() as u32 - previous) as usize;
            let at = (class * 2 * self.reach() + distance) * self.sizes;
            Self::count(&mut self.by_distance[at..at + self.sizes], &sizes, self.inclusion);
        }
        if search != VictimSearch::default() {
            let column = unit & (self.reach() as u32 - 1);
            let distance = if kind % 2 == 1 { unit - previous } else { 0 };
            let searched = SearchedPair::new(search, kind, column, distance);
            *self.searched[sizes.start].entry(searched).or_default() += 1;
        }
    }

    #[inline]
    fn count(counts: &mut [u64], sizes: &Range<usize>, inclusion: bool) {
        counts[sizes.start] = counts[sizes.start].wrapping_add(1);
        if inclusion && let Some(end) = counts.get_mut(sizes.end) {
            *end = end.wrapping_sub(1);
        }
    }

    #[cold]
    fn new_slot(&mut self, unit: u32) -> usize {
        let slot = self.units.len();
        if (8 * (slot + 1) * self.kinds() * self.sizes) as u64 > MAX_BYTES {
            self.is_full = true;
            return 0;
        }
        self.units.push(unit);
        self.slots[unit as usize] = slot as u32 + 1;
        self.by_unit.resize(self.by_unit.len() + self.kinds() * self.sizes, 0);
        slot
    }

    /// Turns differences between neighbouring sizes into counts.
    pub fn sum_differences(&mut self) {
        for counts in [&mut self.by_unit, &mut self.by_distance] {
            for counts in counts.chunks_exact_mut(self.sizes) {
                let mut sum = 0u64;
                for count in counts {
                    sum = sum.wrapping_add(*count);
                    *count = sum;
                }
            }
        }
    }

    /// The index of a flash page size.
    pub fn page_index(&self, flash_page_bytes: u32) -> Option<usize> {
        let units = flash_page_bytes / self.unit_bytes;
        self.page_shifts.iter().position(|shift| 1u32 << shift == units)
    }

    /// Pairs of (distance, count), ascending, of requests within one flash page of that size.
    pub fn distances(&self, size: usize, page: usize) -> Vec<(i32, u64)> {
        let reach = self.reach();
        let units = 1 << self.page_shifts[page];
        let count = |distance: i32| -> u64 {
            let at = (reach as i32 + distance) as usize;
            (0..=page)
                .map(|class| self.by_distance[(class * 2 * reach + at) * self.sizes + size])
                .sum()
        };
        (1 - units..units)
            .map(|distance| (distance, count(distance)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// Adds to `counts` the actions of a register that holds flash pages of the `page`-th size.
    pub fn write_to(&self, size: usize, page: usize, model: RegisterModel, counts: &mut Counts) {
        let units = 1u32 << self.page_shifts[page];
        let random = model == RegisterModel::RandomColumn;
        let mut loads_of: FxHashMap<u32, u64> = FxHashMap::default();
        // `other` and `backward` are by column, `forward` by distance.
        let mut other = vec![0u64; units as usize];
        let mut backward = vec![0u64; units as usize];
        let mut forward = vec![0u64; units as usize];
        for (unit, of_kinds) in
            self.units.iter().zip(self.by_unit.chunks(self.kinds() * self.sizes))
        {
            let column = (unit & (units - 1)) as usize;
            let mut loads = 0;
            for (kind, of_sizes) in of_kinds.chunks(self.sizes).enumerate() {
                let count = of_sizes[size];
                if kind / 2 > page {
                    other[column] += count;
                    loads += count;
                } else if kind % 2 == 0 {
                    backward[column] += count;
                    loads += if random { 0 } else { count };
                }
            }
            if loads > 0 {
                *loads_of.entry(unit >> self.page_shifts[page]).or_default() += loads;
            }
        }
        let reach = self.reach();
        for (distance, forward) in forward.iter_mut().enumerate().skip(1) {
            *forward = (0..=page)
                .map(|class| (class * 2 * reach + reach + distance) * self.sizes + size)
                .map(|at| self.by_distance[at])
                .sum();
        }

        counts.other_page = other.iter().sum();
        counts.backward = backward.iter().sum();
        counts.forward = forward.iter().sum();
        let mut classes: BTreeMap<FaultClass, u64> = BTreeMap::new();
        for (case, requests) in [
            (PairCase::OtherPage, &other),
            (PairCase::Backward, &backward),
            (PairCase::Forward, &forward),
        ] {
            for (column, &count) in requests.iter().enumerate().filter(|(_, count)| **count > 0) {
                let class = self.class(model, case, column as u32, VictimSearch::default());
                counts.loads += if class.load { count } else { 0 };
                counts.column_changes += if class.column_change { count } else { 0 };
                counts.bytes_fetched += count * u64::from(class.bytes_fetched);
                counts.bytes_skipped += count * u64::from(class.bytes_fetched - self.unit_bytes);
                *classes.entry(class).or_default() += count;
            }
        }
        for (searched, &count) in &self.searched[size] {
            let (kind, column, distance) = searched.unpacked();
            let column = column & (units - 1);
            let (case, column) = if kind / 2 > page {
                (PairCase::OtherPage, column)
            } else if kind % 2 == 0 {
                (PairCase::Backward, column)
            } else {
                (PairCase::Forward, distance)
            };
            let at_once = self.class(model, case, column, VictimSearch::default());
            if let Some(at_once) = classes.get_mut(&at_once) {
                *at_once -= count;
            }
            *classes.entry(self.class(model, case, column, searched.search)).or_default() += count;
        }
        counts.fault_classes = classes.into_iter().filter(|(_, count)| *count > 0).collect();
        counts.loads_by_flash_page = loads_of.into_iter().collect();
        counts.loads_by_flash_page.sort_unstable();
    }

    /// The class of a fault. `units` is the column in the flash page, or for [`PairCase::Forward`]
    /// the distance from the last request.
    fn class(
        &self,
        model: RegisterModel,
        case: PairCase,
        units: u32,
        search: VictimSearch,
    ) -> FaultClass {
        use RegisterModel::{
            DoubleBuffer, DoubleBufferPrefetch, RandomColumn, Sequential, StartColumn,
        };
        let (load, column_change, skipped) = match (model, case) {
            (Sequential, PairCase::OtherPage | PairCase::Backward) => (true, false, units),
            (StartColumn, PairCase::OtherPage | PairCase::Backward) => (true, false, 0),
            (Sequential | StartColumn, PairCase::Forward) => (false, false, units - 1),
            (RandomColumn, PairCase::OtherPage) => (true, false, 0),
            (RandomColumn, PairCase::Backward) => (false, true, 0),
            (RandomColumn, PairCase::Forward) => (false, units != 1, 0),
            // These registers are tracked request by request.
            (DoubleBuffer | DoubleBufferPrefetch, _) => (false, false, 0),
        };
        FaultClass { load, column_change, bytes_fetched: (skipped + 1) * self.unit_bytes, search }
    }
}

/// The position of the later request of a pair, as in
/// [`RegisterCase`](crate::register::RegisterCase).
#[derive(Clone, Copy)]
enum PairCase {
    OtherPage,
    Backward,
    Forward,
}
