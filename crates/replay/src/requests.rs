//! Block requests, counted so that every register behind the caches can be told
//! what it did.
//!
//! After a request the register holds that block's flash page, and its next
//! column is the block's end, whatever came before. So what it does at a request
//! depends on that block and the block before alone, and counting pairs by what
//! matters of them gives the counts of every register model and flash page size
//! exactly: where the later block lies, whether it lies before or behind the
//! earlier one, how far, and in which of the flash page sizes both share a page.
//! Only two buffers remember more; they are followed one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use flashpager_base::sizes::MAX_FLASH_PAGE_BYTES;
use flashpager_base::{Error, Result};
use rustc_hash::FxHashMap;

use super::{Counts, FaultClass};
use crate::pager::{Outcome, Page, Search};
use crate::register::{Register, RegisterDesign, RegisterModel};

/// Most memory for the counts of one view.
const MAX_BYTES: u64 = 4 << 30;

/// Before the first request.
const NO_BLOCK: Page = Page::MAX;

/// The requests of caches that differ only in size.
pub(super) struct Requests {
    block_bytes: u32,
    pagers: Vec<PagerCounts>,
    last: LastBlocks,
    /// Blocks as the cache fetches them first, then codewords, by their size.
    views: Vec<View>,
    /// Registers with two buffers, each at every size.
    followed: Vec<(RegisterDesign, Vec<Followed>)>,
}

/// What does not depend on the register.
#[derive(Clone, Copy, Default)]
struct PagerCounts {
    misses: u64,
    bits_set: u64,
    false_faults: u64,
    downgrades: u64,
    false_fault_downgrades: u64,
    walk: u64,
    max_walk: u32,
}

/// The last block each size asked for.
enum LastBlocks {
    OfEach(Vec<Page>),
    /// Where always the smallest sizes miss, neighbours mostly asked for the same
    /// block last: (sizes up to here, block), the smallest sizes at the end.
    Shared(Vec<(usize, Page)>),
}

impl Requests {
    /// No requests yet, at `sizes` sizes. `inclusion` promises that always the
    /// smallest sizes miss, and with walk 0.
    pub(super) fn new(
        block_bytes: u32,
        pages: u32,
        sizes: usize,
        inclusion: bool,
        registers: &[RegisterDesign],
    ) -> Result<Self> {
        let (units, flash_pages) = units_and_pages(block_bytes, registers);
        let views = units
            .into_iter()
            .map(|unit| View::new(block_bytes, unit, &flash_pages, pages, sizes, inclusion))
            .collect::<Result<_>>()?;
        let last = if inclusion {
            LastBlocks::Shared(vec![(sizes, NO_BLOCK)])
        } else {
            LastBlocks::OfEach(vec![NO_BLOCK; sizes])
        };
        let mut two_buffers: Vec<RegisterDesign> =
            registers.iter().copied().filter(|register| register.model.has_two_buffers()).collect();
        two_buffers.sort_unstable();
        two_buffers.dedup();
        let follow = |design: RegisterDesign| {
            (design, vec![Followed::new(Register::new(design, block_bytes, pages)); sizes])
        };
        let followed = two_buffers.into_iter().map(follow).collect();
        let pagers = vec![PagerCounts::default(); sizes];
        Ok(Self { block_bytes, pagers, last, views, followed })
    }

    /// What became of a reference to `block` in `sizes`, if it was no hit.
    #[inline]
    pub(super) fn add(&mut self, sizes: Range<usize>, block: Page, outcome: Outcome) {
        match outcome {
            Outcome::Hit => {}
            Outcome::BitSet => {
                self.pagers[sizes].iter_mut().for_each(|pager| pager.bits_set += 1);
            }
            Outcome::FalseFault { downgrades } => {
                for pager in &mut self.pagers[sizes] {
                    pager.false_faults += 1;
                    pager.downgrades += u64::from(downgrades);
                    pager.false_fault_downgrades += u64::from(downgrades);
                }
            }
            Outcome::Miss { search, .. } => self.miss(sizes, block, search),
        }
    }

    /// `block` is missing in `sizes`.
    #[inline]
    fn miss(&mut self, sizes: Range<usize>, block: Page, search: Search) {
        for (_, at_sizes) in &mut self.followed {
            for followed in &mut at_sizes[sizes.clone()] {
                followed.request(block * self.block_bytes, search);
            }
        }
        match &mut self.last {
            LastBlocks::OfEach(last) => {
                for size in sizes {
                    let before = std::mem::replace(&mut last[size], block);
                    let pager = &mut self.pagers[size];
                    pager.misses += 1;
                    pager.downgrades += u64::from(search.downgrades);
                    pager.walk += u64::from(search.walk);
                    pager.max_walk = pager.max_walk.max(search.walk);
                    for view in &mut self.views {
                        view.add(size..size + 1, before, block, search);
                    }
                }
            }
            LastBlocks::Shared(last) => {
                // Counted as a difference; summed up in the end.
                self.pagers[sizes.end - 1].misses += 1;
                let mut start = 0;
                while let Some(&(end, before)) = last.last() {
                    let here = start..end.min(sizes.end);
                    for view in &mut self.views {
                        view.add(here.clone(), before, block, Search::default());
                    }
                    if end > sizes.end {
                        break;
                    }
                    last.pop();
                    start = end;
                    if end == sizes.end {
                        break;
                    }
                }
                last.push((sizes.end, block));
            }
        }
    }

    /// Whether the counts have grown beyond what memory should hold; then they
    /// are no longer right.
    pub(super) fn check_memory(&self) -> Result<()> {
        if self.views.iter().any(|view| view.is_full) {
            return Err(Error::design(format!(
                "counting {} cache sizes with cache pages of {} bytes takes over {} GiB: ask for \
                 fewer cache sizes at once, or larger cache pages",
                self.pagers.len(),
                self.block_bytes,
                MAX_BYTES >> 30
            )));
        }
        Ok(())
    }

    /// The counts of every size, which had `references` each, with every one of
    /// `registers`, which are those given to [`Requests::new`].
    pub(super) fn finish(
        mut self,
        references: &[u64],
        bytes_read: u64,
        registers: &[RegisterDesign],
    ) -> Vec<Vec<Counts>> {
        if matches!(self.last, LastBlocks::Shared(_)) {
            for size in (1..self.pagers.len()).rev() {
                self.pagers[size - 1].misses += self.pagers[size].misses;
            }
            self.views.iter_mut().for_each(View::sum_differences);
        }
        let counts = |(size, pager): (usize, &PagerCounts)| {
            let common = Counts {
                references: references[size],
                hits: references[size] - pager.misses - pager.false_faults,
                misses: pager.misses,
                reference_bits_set: pager.bits_set,
                false_faults: pager.false_faults,
                downgrades: pager.downgrades,
                false_fault_downgrades: pager.false_fault_downgrades,
                bytes_read,
                bytes_written: pager.misses * u64::from(self.block_bytes),
                walk: pager.walk,
                max_walk: pager.max_walk,
                ..Counts::default()
            };
            registers.iter().map(|register| self.counts_of(size, register, &common)).collect()
        };
        self.pagers.iter().enumerate().map(counts).collect()
    }

    fn counts_of(&self, size: usize, register: &RegisterDesign, common: &Counts) -> Counts {
        let unit = unit_bytes(register, self.block_bytes);
        let mut counts = common.clone();
        if let Some((_, at_sizes)) = self.followed.iter().find(|(design, _)| design == register) {
            at_sizes[size].tell(&mut counts);
            return counts;
        }
        for view in &self.views {
            let Some(page) = view.page_index(register.flash_page_bytes) else { continue };
            if view.unit_bytes == unit {
                view.tell(size, page, register.model, &mut counts);
            }
            if view.unit_bytes == self.block_bytes {
                counts.distance_histogram = view.distances(size, page);
            }
        }
        counts
    }
}

/// What is to be counted for `registers`: sizes of units fetched whole, and of
/// flash pages, both ascending. Nothing is for registers that are followed.
fn units_and_pages(block_bytes: u32, registers: &[RegisterDesign]) -> (Vec<u32>, Vec<u32>) {
    let counted = || registers.iter().filter(|register| !register.model.has_two_buffers());
    let units: BTreeSet<u32> =
        counted().flat_map(|register| [block_bytes, unit_bytes(register, block_bytes)]).collect();
    let pages: BTreeSet<u32> = counted().map(|register| register.flash_page_bytes).collect();
    (units.into_iter().collect(), pages.into_iter().collect())
}

/// Most memory that [`Requests`] take for `touched` different blocks, with their
/// counts once finished; walks apart.
pub(super) fn requests_bytes(
    block_bytes: u32,
    touched: u64,
    sizes: u64,
    registers: &[RegisterDesign],
) -> u64 {
    let (units, flash_pages) = units_and_pages(block_bytes, registers);
    let classes = flash_pages.len() as u64;
    let largest = u64::from(flash_pages.last().copied().unwrap_or(block_bytes));
    let of_unit = |unit: u32| {
        // Counts grow as a vector does.
        let by_unit = (8 + 2 * 8 * (2 * classes + 1) * sizes).saturating_mul(touched + 1);
        let places = largest.div_ceil(u64::from(unit.max(1)));
        by_unit.min(2 * MAX_BYTES) + 16 * classes * sizes * places
    };
    // Followed registers count loads by flash page, distances and classes.
    let followed = registers.iter().filter(|register| register.model.has_two_buffers()).count();
    let followed = (64 * sizes * followed as u64).saturating_mul(touched + 1);
    let finished = sizes * registers.len() as u64 * 16;
    units.into_iter().map(of_unit).fold(followed, u64::saturating_add).saturating_add(
        finished.saturating_mul(touched + 3 * largest.div_ceil(u64::from(block_bytes.max(1)))),
    )
}

/// What is fetched whole: the block, or the codeword around it.
fn unit_bytes(register: &RegisterDesign, block_bytes: u32) -> u32 {
    register.codeword_bytes.unwrap_or(1).max(block_bytes)
}

/// Pairs of units asked for one after another.
///
/// A pair is of class c when both units share a flash page of the c-th size and
/// all larger ones, but of no smaller one; the last class shares none. Its kind
/// is twice the class, one more when the later unit lies behind the earlier one.
struct View {
    unit_bytes: u32,
    /// From blocks to units.
    shift: u32,
    sizes: usize,
    /// Flash page sizes as powers of two of units, ascending.
    page_shifts: Vec<u32>,
    /// By the position of the highest bit in which two units differ, from 1.
    class_of_bit: [u8; 33],
    /// Unit → slot + 1.
    slots: Vec<u32>,
    /// Slot → unit.
    units: Vec<u32>,
    /// By slot, kind and size.
    by_unit: Vec<u64>,
    /// By class, distance in units and size.
    by_distance: Vec<u64>,
    /// By size, requests after a search: those of `by_unit` once more.
    searched: Vec<FxHashMap<Searched, u64>>,
    inclusion: bool,
    /// Whether [`MAX_BYTES`] were not enough.
    is_full: bool,
}

/// Requests that cost the same with every register, packed to be hashed fast:
/// the search, and kind, column in the largest flash page and distance, in order,
/// of units. The last two are below [`MAX_UNITS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Searched {
    search: Search,
    request: u64,
}

/// Most units in a flash page, which are of a byte at least.
const MAX_UNITS: u64 = MAX_FLASH_PAGE_BYTES as u64;

impl Searched {
    #[inline]
    fn new(search: Search, kind: usize, column: u32, distance: u32) -> Self {
        let request = (kind as u64 * MAX_UNITS + u64::from(column)) * MAX_UNITS;
        Self { search, request: request + u64::from(distance) }
    }

    /// Kind, column and distance.
    fn unpacked(self) -> (usize, u32, u32) {
        let place = self.request / MAX_UNITS;
        let (kind, column) = (place / MAX_UNITS, place % MAX_UNITS);
        (kind as usize, column as u32, (self.request % MAX_UNITS) as u32)
    }
}

impl View {
    fn new(
        block_bytes: u32,
        unit_bytes: u32,
        flash_pages: &[u32],
        pages: u32,
        sizes: usize,
        inclusion: bool,
    ) -> Result<Self> {
        // Smaller flash pages than the unit belong to other registers.
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

    #[inline]
    fn add(&mut self, sizes: Range<usize>, before: Page, block: Page, search: Search) {
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
        if search != Search::default() {
            let column = unit & (self.reach() as u32 - 1);
            let distance = if kind % 2 == 1 { unit - previous } else { 0 };
            let searched = Searched::new(search, kind, column, distance);
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

    /// From differences between neighbouring sizes to counts.
    fn sum_differences(&mut self) {
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

    fn page_index(&self, flash_page_bytes: u32) -> Option<usize> {
        let units = flash_page_bytes / self.unit_bytes;
        self.page_shifts.iter().position(|shift| 1u32 << shift == units)
    }

    /// (distance, how often), ascending, of requests in one flash page of that size.
    fn distances(&self, size: usize, page: usize) -> Vec<(i32, u64)> {
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

    /// Add to `counts` what a register does that holds flash pages of the
    /// `page`-th size.
    fn tell(&self, size: usize, page: usize, model: RegisterModel, counts: &mut Counts) {
        let units = 1u32 << self.page_shifts[page];
        let random = model == RegisterModel::RandomColumn;
        let mut loads_of: FxHashMap<u32, u64> = FxHashMap::default();
        // By column: other page, backward; by distance: forward.
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
        for (case, requests) in
            [(Case::OtherPage, &other), (Case::Backward, &backward), (Case::Forward, &forward)]
        {
            for (place, &count) in requests.iter().enumerate().filter(|(_, count)| **count > 0) {
                let class = self.class(model, case, place as u32, Search::default());
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
            let (case, place) = if kind / 2 > page {
                (Case::OtherPage, column)
            } else if kind % 2 == 0 {
                (Case::Backward, column)
            } else {
                (Case::Forward, distance)
            };
            let at_once = self.class(model, case, place, Search::default());
            if let Some(at_once) = classes.get_mut(&at_once) {
                *at_once -= count;
            }
            *classes.entry(self.class(model, case, place, searched.search)).or_default() += count;
        }
        counts.fault_classes = classes.into_iter().filter(|(_, count)| *count > 0).collect();
        counts.loads_by_flash_page = loads_of.into_iter().collect();
        counts.loads_by_flash_page.sort_unstable();
    }

    /// What one request costs. `place` is the column in the flash page, for
    /// [`Case::Forward`] the distance, both in units.
    fn class(&self, model: RegisterModel, case: Case, place: u32, search: Search) -> FaultClass {
        use RegisterModel::{
            DoubleBuffer, DoubleBufferPrefetch, RandomColumn, Sequential, StartColumn,
        };
        let (load, column_change, skipped) = match (model, case) {
            (Sequential, Case::OtherPage | Case::Backward) => (true, false, place),
            (StartColumn, Case::OtherPage | Case::Backward) => (true, false, 0),
            (Sequential | StartColumn, Case::Forward) => (false, false, place - 1),
            (RandomColumn, Case::OtherPage) => (true, false, 0),
            (RandomColumn, Case::Backward) => (false, true, 0),
            (RandomColumn, Case::Forward) => (false, place != 1, 0),
            // Followed one by one.
            (DoubleBuffer | DoubleBufferPrefetch, _) => (false, false, 0),
        };
        FaultClass { load, column_change, bytes_fetched: (skipped + 1) * self.unit_bytes, search }
    }
}

/// A register whose every request is made.
#[derive(Clone)]
struct Followed {
    register: Register,
    sums: Counts,
    classes: FxHashMap<FaultClass, u64>,
    loads_of: FxHashMap<u32, u64>,
    distances: FxHashMap<i32, u64>,
}

impl Followed {
    fn new(register: Register) -> Self {
        Self {
            register,
            sums: Counts::default(),
            classes: FxHashMap::default(),
            loads_of: FxHashMap::default(),
            distances: FxHashMap::default(),
        }
    }

    fn request(&mut self, offset: u32, search: Search) {
        let access = self.register.request(offset);
        self.sums.add_access(&access);
        *self.classes.entry(FaultClass::of(&access, search)).or_default() += 1;
        if access.load {
            *self.loads_of.entry(self.register.flash_page(offset)).or_default() += 1;
        }
        if let Some(ahead) = access.prefetch {
            *self.loads_of.entry(ahead).or_default() += 1;
        }
        if let Some(distance) = access.distance {
            *self.distances.entry(distance).or_default() += 1;
        }
    }

    fn tell(&self, counts: &mut Counts) {
        fn sorted<K: Copy + Ord>(counts: &FxHashMap<K, u64>) -> Vec<(K, u64)> {
            let mut all: Vec<(K, u64)> = counts.iter().map(|(key, count)| (*key, *count)).collect();
            all.sort_unstable();
            all
        }
        counts.loads = self.sums.loads;
        counts.prefetches = self.sums.prefetches;
        counts.other_page = self.sums.other_page;
        counts.other_buffer = self.sums.other_buffer;
        counts.forward = self.sums.forward;
        counts.backward = self.sums.backward;
        counts.bytes_fetched = self.sums.bytes_fetched;
        counts.bytes_skipped = self.sums.bytes_skipped;
        counts.fault_classes = sorted(&self.classes);
        counts.loads_by_flash_page = sorted(&self.loads_of);
        counts.distance_histogram = sorted(&self.distances);
    }
}

#[derive(Clone, Copy)]
enum Case {
    OtherPage,
    Backward,
    Forward,
}
