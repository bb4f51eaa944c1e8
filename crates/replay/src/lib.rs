//! Replay: a trace through a pager and data registers gives [`Counts`].
//!
//! Nothing here knows a nanosecond. The pager's decisions do not depend on the
//! register, so one replay serves any number of register designs at once.

mod cell;
mod hierarchy;
mod many;
mod next_uses;
pub mod pager;
mod references;
pub mod register;
mod requests;
mod single;
mod sweep;

use serde::Serialize;

pub use cell::Cell;
pub use hierarchy::{HierarchyDesign, ICacheShape, TlbShape, WORD_BYTES};
pub use many::{passes, replay_cells, trace_reads};
pub use single::{Events, RunSink, WordSink, replay};
pub use sweep::sweep;

use crate::pager::{Page, PolicySpec, Shape, VictimSearch};
use crate::register::{Access, RegisterCase};
use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result};

/// Most pages an image may have: bounds the memory of page tables.
pub const MAX_PAGES: u64 = 1 << 28;

/// The cache as designed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheDesign {
    /// Bytes of RAM for frames.
    pub cache_bytes: u64,
    /// Bytes of a cache page, a power of two.
    pub cache_page_bytes: u32,
    /// Who is evicted.
    pub policy: PolicySpec,
    /// Lines of a set of a cache in hardware: page p is in set p mod sets. Nothing where a page may
    /// be in every frame, as in software.
    pub ways: Option<u32>,
    /// What stands in front of it; nothing on a small microcontroller.
    pub hierarchy: Option<HierarchyDesign>,
}

/// Most bytes of a cache in sets.
pub const MAX_SETS_BYTES: u64 = 1 << 24;

impl CacheDesign {
    /// Frames in the cache: `cache_bytes / cache_page_bytes`.
    pub fn frames(&self) -> u64 {
        self.cache_bytes / u64::from(self.cache_page_bytes.max(1))
    }

    /// Check it.
    pub fn check(&self) -> Result<()> {
        power_of_two("cache page", self.cache_page_bytes)?;
        if self.frames() == 0 {
            return Err(Error::design(format!(
                "a cache of {} bytes is smaller than its page of {} bytes",
                self.cache_bytes, self.cache_page_bytes
            )));
        }
        if let Some(hierarchy) = &self.hierarchy {
            hierarchy.check(self.cache_page_bytes)?;
        }
        let frames = self.frames().min(u64::from(u32::MAX)) as u32;
        self.ways.map_or(Ok(()), |ways| self.check_sets(ways))?;
        self.policy.check(self.ways.unwrap_or(frames))
    }

    /// Check that there is a power of two of sets, and nothing left over.
    fn check_sets(&self, ways: u32) -> Result<()> {
        let Self { cache_bytes, cache_page_bytes, .. } = *self;
        let set_bytes = u64::from(ways) * u64::from(cache_page_bytes);
        let shape =
            format!("a cache of {cache_bytes} bytes in sets of {ways} x {cache_page_bytes} bytes");
        if set_bytes == 0 || !cache_bytes.is_multiple_of(set_bytes) {
            return Err(Error::design(format!(
                "{shape}: a set of {set_bytes} bytes does not divide it; take other ways, or a \
                 cache of whole sets"
            )));
        }
        let sets = cache_bytes / set_bytes;
        if !sets.is_power_of_two() {
            return Err(Error::design(format!(
                "{shape} has {sets} sets, which no bits of an address choose: take ways that leave a \
                 power of two of sets"
            )));
        }
        if cache_bytes > MAX_SETS_BYTES {
            return Err(Error::design(format!(
                "{shape}: take at most {} MiB for a cache in hardware",
                MAX_SETS_BYTES >> 20
            )));
        }
        Ok(())
    }

    /// What its policy is built for, with an image of so many pages.
    pub fn shape(&self, pages: u32) -> Shape {
        let frames = self.frames().min(u64::from(u32::MAX)) as u32;
        Shape { frames, pages, ways: self.ways }
    }
}

impl Counts {
    /// The sums, the distances and the loads of flash pages, without the classes of faults,
    /// which only prices need.
    pub fn summary(&self) -> Self {
        Self {
            fault_classes: Vec::new(),
            loads_by_flash_page: self.loads_by_flash_page.clone(),
            distance_histogram: self.distance_histogram.clone(),
            first_words: self.first_words.clone(),
            ..*self
        }
    }

    /// The share of requests in the register's page that ask for the next block; 0 without any.
    pub fn next_block_share(&self) -> f64 {
        let of = |wanted: Option<i32>| -> u64 {
            let asked = self.distance_histogram.iter();
            asked.filter(|(at, _)| wanted.is_none_or(|w| w == *at)).map(|(_, count)| count).sum()
        };
        let all = of(None);
        if all == 0 { 0.0 } else { of(Some(1)) as f64 / all as f64 }
    }

    /// The counts of a device that emulates the reference bit by the valid bit: where a
    /// bit is set again, there is a false fault.
    pub fn with_emulated_bit(mut self) -> Self {
        self.hits -= self.reference_bits_set;
        self.false_faults += self.reference_bits_set;
        self
    }

    /// The counts of a device that checks the tag of each page it fetches. The tag stands in the
    /// spare area, so a register of one page changes its column to it, and back before it fetches
    /// from the same page again. The classes of faults stay those without tags.
    pub fn with_tags(mut self, tags: &Tags) -> Self {
        self.tag_bytes_fetched = self.misses * u64::from(tags.tag_bytes);
        self.mac_bytes = self.misses * u64::from(tags.mac_bytes);
        self.bytes_fetched += self.tag_bytes_fetched;
        if tags.changes_column {
            self.column_changes = self.misses + self.forward + self.backward;
        }
        self
    }

    /// What was counted after `before`, which is what the same replay counts of the trace's first
    /// runs alone. It is exact for policies that do not look ahead: up to there they did the same.
    /// The walks that remain are those of the classes of faults that do.
    pub fn minus(&self, before: &Self) -> Self {
        let fault_classes = less(&self.fault_classes, &before.fault_classes);
        Self {
            references: self.references - before.references,
            hits: self.hits - before.hits,
            misses: self.misses - before.misses,
            false_faults: self.false_faults - before.false_faults,
            reference_bits_set: self.reference_bits_set - before.reference_bits_set,
            loads: self.loads - before.loads,
            prefetches: self.prefetches - before.prefetches,
            prefetches_in_vain: self.prefetches_in_vain - before.prefetches_in_vain,
            other_page: self.other_page - before.other_page,
            other_buffer: self.other_buffer - before.other_buffer,
            forward: self.forward - before.forward,
            backward: self.backward - before.backward,
            column_changes: self.column_changes - before.column_changes,
            bytes_read: self.bytes_read - before.bytes_read,
            bytes_fetched: self.bytes_fetched - before.bytes_fetched,
            bytes_skipped: self.bytes_skipped - before.bytes_skipped,
            tag_bytes_fetched: self.tag_bytes_fetched - before.tag_bytes_fetched,
            mac_bytes: self.mac_bytes - before.mac_bytes,
            bytes_written: self.bytes_written - before.bytes_written,
            walk: self.walk - before.walk,
            max_walk: fault_classes.iter().map(|(class, _)| class.search.walk).max().unwrap_or(0),
            downgrades: self.downgrades - before.downgrades,
            false_fault_downgrades: self.false_fault_downgrades - before.false_fault_downgrades,
            words: self.words - before.words,
            line_refills: self.line_refills - before.line_refills,
            tlb_misses: self.tlb_misses - before.tlb_misses,
            distance_histogram: less(&self.distance_histogram, &before.distance_histogram),
            fault_classes,
            first_words: less(&self.first_words, &before.first_words),
            loads_by_flash_page: less(&self.loads_by_flash_page, &before.loads_by_flash_page),
        }
    }

    /// Count what the register did for one fault.
    pub fn add_access(&mut self, access: &Access) {
        match access.case {
            RegisterCase::OtherPage => self.other_page += 1,
            RegisterCase::OtherBuffer => self.other_buffer += 1,
            RegisterCase::Forward => self.forward += 1,
            RegisterCase::Backward => self.backward += 1,
        }
        self.loads += u64::from(access.load);
        self.prefetches += u64::from(access.prefetches);
        self.prefetches_in_vain += u64::from(access.dropped);
        self.column_changes += u64::from(access.column_change);
        self.bytes_fetched += u64::from(access.bytes_fetched);
        self.bytes_skipped += u64::from(access.bytes_skipped);
    }
}

/// Tags that authenticate what is fetched at a miss, one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// Bytes of a tag.
    pub tag_bytes: u32,
    /// Bytes of which its MAC is taken: what is fetched, behind version and number.
    pub mac_bytes: u32,
    /// Whether getting it is a column change.
    pub changes_column: bool,
}

/// Of a count that only some designs have.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How often more each of `all` came than in `before`, both ascending; nothing where it did not.
fn less<K: Copy + Ord>(all: &[(K, u64)], before: &[(K, u64)]) -> Vec<(K, u64)> {
    let of_before = |key: &K| {
        before.binary_search_by_key(key, |(of, _)| *of).map_or(0, |place| before[place].1)
    };
    let rest = all.iter().map(|(key, count)| (*key, count - of_before(key)));
    rest.filter(|(_, count)| *count > 0).collect()
}

/// Pages of `cache_page_bytes` in an image.
fn image_pages(image_bytes: u32, cache_page_bytes: u32) -> Result<u32> {
    let pages = u64::from(image_bytes).div_ceil(u64::from(cache_page_bytes));
    if pages > MAX_PAGES {
        return Err(Error::design(format!(
            "an image of {image_bytes} bytes in cache pages of {cache_page_bytes} bytes has over \
             {MAX_PAGES} pages; place the code lower or take larger pages",
        )));
    }
    Ok(pages as u32)
}

/// A true fault, as a replay hands it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The cache page that was missing.
    pub page: Page,
    /// Flash offset of the byte to be executed.
    pub offset: u32,
    /// What the register did.
    pub access: Access,
    /// What was done for a victim.
    pub search: VictimSearch,
    /// What the host did since the fault before, or since the start.
    pub executed: Executed,
    /// What it did from this fault on until it first needed something of the page
    /// beside the critical block; nothing where it never did before the next fault,
    /// or where no critical block was asked for.
    pub left: Option<Executed>,
}

/// What the host does between two faults, in the units that cost time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Bytes.
    pub bytes: u64,
    /// References to the page cache, that of a fault included.
    pub references: u64,
    /// References that set a page's bit again.
    pub reference_bits_set: u64,
    /// References to pages marked invalid.
    pub false_faults: u64,
    /// Pages moved down for these.
    pub downgrades: u64,
    /// Words fetched; 0 without an instruction cache, as the rest.
    pub words: u64,
    /// Lines refilled, that of a fault included.
    pub line_refills: u64,
    /// Refills whose page the TLB did not know, that of a fault included.
    pub tlb_misses: u64,
}

impl std::ops::Add for Executed {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            bytes: self.bytes + more.bytes,
            references: self.references + more.references,
            reference_bits_set: self.reference_bits_set + more.reference_bits_set,
            false_faults: self.false_faults + more.false_faults,
            downgrades: self.downgrades + more.downgrades,
            words: self.words + more.words,
            line_refills: self.line_refills + more.line_refills,
            tlb_misses: self.tlb_misses + more.tlb_misses,
        }
    }
}

impl std::ops::Sub for Executed {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            references: self.references - before.references,
            reference_bits_set: self.reference_bits_set - before.reference_bits_set,
            false_faults: self.false_faults - before.false_faults,
            downgrades: self.downgrades - before.downgrades,
            words: self.words - before.words,
            line_refills: self.line_refills - before.line_refills,
            tlb_misses: self.tlb_misses - before.tlb_misses,
        }
    }
}

/// Faults that cost the same, whatever the prices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct FaultClass {
    /// Whether the page was loaded from the array.
    pub load: bool,
    /// Whether the column was changed.
    pub column_change: bool,
    /// Bytes over the bus.
    pub bytes_fetched: u32,
    /// What was done for a victim.
    #[serde(flatten)]
    pub search: VictimSearch,
}

impl FaultClass {
    /// The class of a fault.
    pub fn of(access: &Access, search: VictimSearch) -> Self {
        let Access { load, column_change, bytes_fetched, .. } = *access;
        Self { load, column_change, bytes_fetched, search }
    }
}

/// What a replay counts, for one cache and one register.
///
/// `references = hits + misses + false_faults`, `misses = other_page + other_buffer +
/// forward + backward`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Collapsed page references.
    pub references: u64,
    /// References that found their page usable.
    pub hits: u64,
    /// References whose page had to be fetched: true faults.
    pub misses: u64,
    /// References to a page that was cached but marked invalid.
    pub false_faults: u64,
    /// References that set again the bit of a page that the hand had cleared: hits,
    /// or false faults where the bit is emulated.
    pub reference_bits_set: u64,
    /// Flash pages loaded into the register because they were asked for.
    pub loads: u64,
    /// Flash pages loaded ahead, or lines read ahead.
    pub prefetches: u64,
    /// Lines read ahead that left the prefetch buffer without having been asked for.
    #[serde(skip_serializing_if = "is_zero")]
    pub prefetches_in_vain: u64,
    /// Misses in a flash page that is not held.
    pub other_page: u64,
    /// Misses in the flash page of the buffer that was not used last, or in a prefetch buffer.
    pub other_buffer: u64,
    /// Misses in the register's page, at its next column or behind.
    pub forward: u64,
    /// Misses in the register's page, before its next column.
    pub backward: u64,
    /// Column changes without a load.
    pub column_changes: u64,
    /// Bytes delivered to the CPU.
    pub bytes_read: u64,
    /// Bytes over the bus, skipped ones included.
    pub bytes_fetched: u64,
    /// Bytes over the bus that were thrown away.
    pub bytes_skipped: u64,
    /// Bytes of tags over the bus; 0 without authentication.
    #[serde(skip_serializing_if = "is_zero")]
    pub tag_bytes_fetched: u64,
    /// Bytes of which a MAC was taken; 0 without authentication.
    #[serde(skip_serializing_if = "is_zero")]
    pub mac_bytes: u64,
    /// Bytes written into frames.
    pub bytes_written: u64,
    /// Frames looked at in search of victims.
    pub walk: u64,
    /// The longest of those searches.
    pub max_walk: u32,
    /// Pages moved from valid to invalid.
    pub downgrades: u64,
    /// Those of them that false faults moved.
    #[serde(skip)]
    pub false_fault_downgrades: u64,
    /// Words fetched through the instruction cache; 0 without one.
    pub words: u64,
    /// Lines refilled into the instruction cache.
    pub line_refills: u64,
    /// Refills whose page the TLB did not know; 0 without one.
    pub tlb_misses: u64,
    /// (distance in blocks, how often), ascending, for consecutive requests in
    /// one flash page.
    pub distance_histogram: Vec<(i32, u64)>,
    /// (offset in the line of the word that is wanted first, misses), ascending; only where the
    /// words of a line are used as they come.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_words: Vec<(u32, u64)>,
    /// (class, how often), ascending: what a latency distribution is priced from.
    #[serde(skip)]
    pub fault_classes: Vec<(FaultClass, u64)>,
    /// (flash page, its loads), ascending, loaded pages only.
    #[serde(skip)]
    pub loads_by_flash_page: Vec<(u32, u64)>,
}
