//! A sequence under one design, cut into windows that can be replayed separately.

use std::ops::Range;

use flashpager_base::Result;
use flashpager_replay::pager::{
    NEVER, Page, Policy, PolicyParameter, ReferenceOutcome, SizesVisitor, VictimSearch,
};
use flashpager_replay::register::{Register, RegisterDesign};
use flashpager_replay::{CacheDesign, Counts, FaultClass, FoldedSequence, RoundReplay, replay};
use flashpager_trace::{MemoryTrace, Run};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::reduce::reduced;
use crate::sequence::{Piece, PieceSequence};

/// Number of pieces executed in a window: of a loop, those of two rounds.
const WINDOW_PIECES: usize = 1024;

/// Number of pieces replayed before a window if the policy is not LRU.
const PREFIX_PIECES: usize = 1024;

/// Largest number of pieces searched backwards for a prefix, each loop as one round. Small programs
/// never fill a cache.
const MAX_LOOKED_BACK: usize = 1 << 16;

/// Bytes of a prefix over those of a cache in sets. Code of as many bytes as the cache leaves sets
/// half empty.
const SETS_PREFIX: u64 = 4;

/// A cost function of layouts: a sequence under a design, and the cost of its counts.
pub struct LayoutTask<'a> {
    /// The executed pieces.
    pub sequence: &'a PieceSequence,
    /// The cache.
    pub cache: CacheDesign,
    /// The data register.
    pub register: RegisterDesign,
    /// Weight of this task's cost among all tasks.
    pub weight: f64,
    /// Returns the cost of counts, in any unit.
    pub cost: &'a (dyn Fn(&Counts) -> f64 + Sync),
    /// True if the cost depends on the classes of faults.
    pub needs_classes: bool,
}

/// A window of a sequence.
struct Window {
    /// Pieces that fill the cache before the window.
    prefix: Vec<u32>,
    /// Positions of the window's symbols in the folded stream.
    symbols: Range<usize>,
    /// Number of pieces executed: of a loop, those of two rounds.
    pieces: usize,
    /// Bytes fetched, including those of dropped pieces.
    bytes: u64,
    /// Number of dropped pieces.
    dropped: u64,
}

/// First and last page of each piece of a stream.
pub(crate) type PiecePages = Vec<(Page, Page)>;

/// A [`LayoutTask`] that is prepared for replays.
pub(crate) struct WindowedStream<'a> {
    task: &'a LayoutTask<'a>,
    /// The pieces, sorted by unit.
    pieces: Vec<Piece>,
    /// Range of the pieces of each unit.
    by_unit: Vec<Range<usize>>,
    executed: FoldedSequence,
    windows: Vec<Window>,
    shift: u32,
}

impl<'a> WindowedStream<'a> {
    pub(crate) fn new(task: &'a LayoutTask<'a>, units: usize) -> Self {
        let LayoutTask { sequence, cache, .. } = task;
        let is_lru = cache.repeats_rounds();
        let page_bytes = cache.cache_page_bytes;
        // Two pages that are in one set evict each other in a cache that is not full.
        let (executed, dropped) = if is_lru && cache.ways.is_none() {
            let reduced = reduced(sequence, page_bytes, cache.frames());
            (reduced.executed, reduced.dropped)
        } else {
            (sequence.executed.clone(), Vec::new())
        };
        // The pieces that are not dropped, sorted by unit.
        let used: FxHashSet<u32> = executed.iter().copied().collect();
        let mut left: Vec<u32> = used.into_iter().collect();
        left.sort_unstable_by_key(|number| {
            let piece = &sequence.pieces[*number as usize];
            (piece.unit, piece.start, piece.bytes)
        });
        let mut renamed = vec![0; sequence.pieces.len()];
        for (new, old) in left.iter().enumerate() {
            renamed[*old as usize] = new as u32;
        }
        let pieces: Vec<Piece> =
            left.iter().map(|number| sequence.pieces[*number as usize]).collect();
        let by_unit = (0..units as u32).map(|unit| {
            let start = pieces.partition_point(|piece| piece.unit < unit);
            start..pieces.partition_point(|piece| piece.unit <= unit)
        });
        let by_unit = by_unit.collect();
        let executed: Vec<u32> =
            executed.into_iter().map(|number| renamed[number as usize]).collect();
        let numbers = pieces.len() as u32;
        let folded = if is_lru {
            FoldedSequence::new(&executed, numbers)
        } else {
            FoldedSequence::unfolded(executed.clone(), numbers)
        };
        let windows =
            windows(&pieces, (&executed, &folded), &dropped, sequence.bytes, is_lru, cache);
        let executed = folded;
        Self { task, pieces, by_unit, executed, windows, shift: page_bytes.trailing_zeros() }
    }

    pub(crate) fn windows(&self) -> usize {
        self.windows.len()
    }

    /// Returns the approximate effort of replaying a window, in pieces.
    pub(crate) fn effort(&self, window: usize) -> usize {
        self.windows[window].pieces + self.windows[window].prefix.len()
    }

    /// Returns the pages of all pieces for units at `offsets`.
    pub(crate) fn table(&self, offsets: &[u32]) -> PiecePages {
        let mut table = vec![(0, 0); self.pieces.len()];
        for (unit, offset) in offsets.iter().enumerate() {
            self.put(&mut table, unit, *offset);
        }
        table
    }

    /// Updates the pages of a unit that lies at `offset`.
    #[inline]
    pub(crate) fn put(&self, table: &mut PiecePages, unit: usize, offset: u32) {
        let range = self.by_unit[unit].clone();
        for (at, piece) in table[range.clone()].iter_mut().zip(&self.pieces[range]) {
            let first = offset + piece.start;
            *at = (first >> self.shift, (first + (piece.bytes - 1)) >> self.shift);
        }
    }

    /// Copies the pages of a unit.
    #[inline]
    pub(crate) fn copy(&self, from: &PiecePages, to: &mut PiecePages, unit: usize) {
        let range = self.by_unit[unit].clone();
        to[range.clone()].copy_from_slice(&from[range]);
    }

    /// Passes the weighted costs of `windows` to `take`, one after another, until it returns false.
    /// The image has at most `image_bytes`. Misses are added to `misses` by unit, if it is given.
    pub(crate) fn replay(
        &self,
        (offsets, table): (&[u32], &PiecePages),
        windows: impl Iterator<Item = usize>,
        image_bytes: u64,
        misses: Option<&mut [f64]>,
        take: impl FnMut(f64) -> bool,
    ) -> Result<()> {
        let CacheDesign { policy, ways, hierarchy, .. } = &self.task.cache;
        if hierarchy.is_some() || policy.needs_next_use() {
            return self.replay_slowly(offsets, windows, image_bytes, take);
        }
        let replaying = WindowReplay { stream: self, table, windows, image_bytes, misses, take };
        policy.visit_sizes(ways.is_some(), replaying)?
    }

    /// Does the same as [`Self::replay`] with the replay that supports every design.
    fn replay_slowly(
        &self,
        offsets: &[u32],
        windows: impl Iterator<Item = usize>,
        image_bytes: u64,
        mut take: impl FnMut(f64) -> bool,
    ) -> Result<()> {
        for window in windows {
            let window = &self.windows[window];
            let run = |number: &u32| {
                let piece = &self.pieces[*number as usize];
                let offset = offsets[piece.unit as usize] + piece.start;
                Run { offset, length: piece.bytes }
            };
            // A policy that is replayed here is not folded.
            let runs = self.executed.symbols()[window.symbols.clone()].iter().map(run).collect();
            let trace = MemoryTrace::with_image(runs, image_bytes);
            let registers = [self.task.register];
            let (counts, _) = replay(&trace, &self.task.cache, &registers, &|| true, None)?;
            if !take(self.task.weight * (self.task.cost)(&counts[0])) {
                break;
            }
        }
        Ok(())
    }
}

/// Cuts a stream into windows, each with the pieces that fill the cache before it. For LRU they are
/// the last executed pieces, each once, until they have as many bytes as the cache: then they are
/// exact where a page may be in every frame. `executed` is there unfolded and folded.
fn windows(
    pieces: &[Piece],
    (executed, folded): (&[u32], &FoldedSequence),
    dropped: &[u32],
    all_bytes: u64,
    is_lru: bool,
    cache: &CacheDesign,
) -> Vec<Window> {
    let bytes_of = |numbers: &[u32]| -> u64 {
        numbers.iter().map(|number| u64::from(pieces[*number as usize].bytes)).sum()
    };
    let left = bytes_of(executed).max(1) as f64;
    let mut windows = Vec::new();
    let symbols = folded.symbols();
    let (mut first, mut start) = (0, 0);
    while first < symbols.len() {
        let (mut last, mut end, mut count) = (first, start, 0);
        while last < symbols.len() && count < WINDOW_PIECES {
            let (unfolded, twice) = folded.lengths(symbols[last]);
            (last, end, count) = (last + 1, end + unfolded, count + twice);
        }
        let prefix = if is_lru {
            recent(pieces, folded, first, cache)
        } else {
            executed[start.saturating_sub(PREFIX_PIECES)..start].to_vec()
        };
        let bytes = bytes_of(&executed[start..end]) as f64 / left * all_bytes as f64;
        let dropped = dropped
            .get(start..end)
            .map_or(0, |dropped| dropped.iter().map(|count| u64::from(*count)).sum());
        let (symbols, bytes) = (first..last, bytes as u64);
        windows.push(Window { prefix, symbols, pieces: count, bytes, dropped });
        (first, start) = (last, end);
    }
    windows
}

/// Returns the last pieces executed before the symbol at `end`, each once, with the last one at the end. Together they have as
/// many bytes as the cache, so that they lie in at least as many pages as it has frames; before a
/// cache in sets, [`SETS_PREFIX`] times as many.
fn recent(pieces: &[Piece], folded: &FoldedSequence, end: usize, cache: &CacheDesign) -> Vec<u32> {
    let page = cache.cache_page_bytes;
    let times = if cache.ways.is_some() { SETS_PREFIX } else { 1 };
    let wanted = cache.frames().saturating_mul(u64::from(page)).saturating_mul(times);
    let mut seen = FxHashSet::default();
    // Pieces may overlap: bytes are counted by parts of a unit that are as long as a page.
    let mut parts: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut bytes = 0;
    let mut recent = Vec::new();
    let mut looked_back = 0;
    folded.backwards(&folded.symbols()[..end], &mut |number| {
        looked_back += 1;
        if bytes >= wanted || looked_back > MAX_LOOKED_BACK {
            return false;
        }
        if !seen.insert(number) {
            return true;
        }
        recent.push(number);
        let piece = &pieces[number as usize];
        let mut at = piece.start;
        let end = piece.start + piece.bytes;
        while at < end {
            let part_end = ((at / page + 1) * page).min(end);
            let counted = parts.entry((piece.unit, at / page)).or_default();
            let more = (part_end - at).saturating_sub(*counted);
            *counted += more;
            bytes += u64::from(more);
            at = part_end;
        }
        true
    });
    recent.reverse();
    recent
}

struct WindowReplay<'s, 'a, W, F> {
    stream: &'s WindowedStream<'a>,
    table: &'s PiecePages,
    windows: W,
    image_bytes: u64,
    misses: Option<&'s mut [f64]>,
    take: F,
}

impl<W: Iterator<Item = usize>, F: FnMut(f64) -> bool> SizesVisitor for WindowReplay<'_, '_, W, F> {
    type Output = Result<()>;

    fn visit<P: Policy>(self, parameters: &[PolicyParameter]) -> Result<Result<()>> {
        let Self { stream, table, windows, image_bytes, mut misses, mut take } = self;
        let LayoutTask { cache, register, weight, cost, .. } = stream.task;
        let page_bytes = cache.cache_page_bytes;
        let pages = image_bytes.div_ceil(page_bytes.into()) as u32;
        let shape = cache.shape(pages);
        for window in windows {
            let window = &stream.windows[window];
            let mut counts = WindowCounts {
                stream,
                table,
                policy: P::new(shape, parameters)?,
                register: Register::new(*register, page_bytes, pages),
                previous: Page::MAX,
                counts: Counts::default(),
                classes: FxHashMap::default(),
                misses: misses.as_deref_mut(),
                logged: Vec::new(),
                open_loops: 0,
            };
            counts.fill(&window.prefix);
            stream
                .executed
                .execute(&stream.executed.symbols()[window.symbols.clone()], &mut counts);
            if !take(weight * cost(&counts.finish(window))) {
                break;
            }
        }
        Ok(Ok(()))
    }
}

/// A miss: the page, the piece that needed it, and the search for a victim.
type WindowMiss = (Page, u32, VictimSearch);

/// The counts of a window, as far as it was executed.
struct WindowCounts<'s, 'a, P> {
    stream: &'s WindowedStream<'a>,
    table: &'s PiecePages,
    policy: P,
    register: Register,
    /// The last page of the piece before.
    previous: Page,
    counts: Counts,
    classes: FxHashMap<FaultClass, u64>,
    /// Weighted misses by unit.
    misses: Option<&'s mut [f64]>,
    /// The misses of the second rounds that are being executed, in order.
    logged: Vec<WindowMiss>,
    /// Number of loops whose second round is being executed.
    open_loops: u32,
}

impl<P: Policy> WindowCounts<'_, '_, P> {
    /// Executes the pieces before the window, which are not counted.
    fn fill(&mut self, prefix: &[u32]) {
        for &piece in prefix {
            let (first, last) = self.table[piece as usize];
            let from = if first == self.previous { first + 1 } else { first };
            for page in from..=last {
                if let ReferenceOutcome::Miss { .. } = self.policy.reference(page, NEVER) {
                    self.register.request(page << self.stream.shift);
                }
            }
            self.previous = last;
        }
    }

    #[inline]
    fn miss(&mut self, (page, piece, search): WindowMiss) {
        let Self { stream, counts, classes, .. } = self;
        let access = self.register.request(page << stream.shift);
        counts.misses += 1;
        counts.walk += u64::from(search.walk);
        counts.downgrades += u64::from(search.downgrades);
        counts.add_access(&access);
        if stream.task.needs_classes {
            *classes.entry(FaultClass::of(&access, search)).or_default() += 1;
        }
        if let Some(misses) = &mut self.misses {
            misses[stream.pieces[piece as usize].unit as usize] += stream.task.weight;
        }
    }

    /// The counts of the whole `window`.
    fn finish(self, window: &Window) -> Counts {
        let Self { stream, mut counts, mut classes, .. } = self;
        counts.references += window.dropped;
        counts.hits = counts.references - counts.misses - counts.false_faults;
        counts.bytes_read = window.bytes;
        counts.bytes_written = counts.misses * u64::from(stream.task.cache.cache_page_bytes);
        if stream.task.needs_classes {
            counts.fault_classes = classes.drain().collect();
            counts.fault_classes.sort_unstable();
        }
        counts
    }
}

impl<P: Policy> RoundReplay for WindowCounts<'_, '_, P> {
    /// References and logged misses before the round.
    type Begun = (u64, usize);

    #[inline]
    fn execute(&mut self, piece: u32) {
        let (first, last) = self.table[piece as usize];
        let from = if first == self.previous { first + 1 } else { first };
        for page in from..=last {
            self.counts.references += 1;
            match self.policy.reference(page, NEVER) {
                ReferenceOutcome::Hit => {}
                ReferenceOutcome::BitSet => self.counts.reference_bits_set += 1,
                ReferenceOutcome::FalseFault { downgrades } => {
                    self.counts.false_faults += 1;
                    self.counts.downgrades += u64::from(downgrades);
                    self.counts.false_fault_downgrades += u64::from(downgrades);
                }
                ReferenceOutcome::Miss { search, .. } => {
                    let miss = (page, piece, search);
                    self.miss(miss);
                    if self.open_loops > 0 {
                        self.logged.push(miss);
                    }
                }
            }
        }
        self.previous = last;
    }

    fn begin_round(&mut self) -> Self::Begun {
        self.open_loops += 1;
        (self.counts.references, self.logged.len())
    }

    fn repeat_round(&mut self, (references, start): Self::Begun, times: u64) {
        self.open_loops -= 1;
        self.counts.references += (self.counts.references - references) * times;
        let end = self.logged.len();
        if end > start {
            for _ in 0..times {
                (start..end).for_each(|place| self.miss(self.logged[place]));
                if self.open_loops > 0 {
                    self.logged.extend_from_within(start..end);
                }
            }
        }
        if self.open_loops == 0 {
            self.logged.clear();
        }
    }
}
