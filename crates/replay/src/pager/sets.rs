//! Caches in sets, as in hardware: page p can only be in set p mod sets.
//!
//! Each set is a small cache, so any policy can act in it ([`PerSet`]). The policies of hardware
//! caches have a layout of their own: a few words per set, side by side.

use std::ops::Range;

use flashpager_base::Result;

use super::no_op_hits::{NoOpHitSizes, NoOpHits};
use super::table::{Frame, PageTable};
use super::{
    INDEX_BYTES, Moment, Page, PerSize, Policy, PolicyMetadata, PolicyParameter, ReferenceOutcome,
    Shape,
};

/// The content of an empty way.
const NO_PAGE: Page = Page::MAX;

/// A cache of its own for each set.
pub struct PerSet<P> {
    sets: Vec<P>,
    /// Bits of a page's number that choose the set.
    set_bits: u32,
}

impl<P> PerSet<P> {
    #[inline]
    fn place(&self, page: Page) -> (usize, Page) {
        (page as usize & (self.sets.len() - 1), page >> self.set_bits)
    }
}

impl<P: Policy> Policy for PerSet<P> {
    const NEEDS_NEXT_USE: bool = P::NEEDS_NEXT_USE;
    const SEES_HITS: bool = P::SEES_HITS;
    const COUNTS_SPARE_FRAMES: bool = true;
    const METADATA: Option<PolicyMetadata> = P::METADATA;

    type AllSizes = PerSize<Self>;
    type InSets = Self;

    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self> {
        let sets = shape.sets();
        let of_set =
            Shape { frames: shape.ways(), pages: shape.pages.div_ceil(sets).max(1), ways: None };
        let sets_of = (0..sets).map(|_| P::new(of_set, parameters));
        Ok(Self { sets: sets_of.collect::<Result<_>>()?, set_bits: sets.trailing_zeros() })
    }

    #[inline]
    fn reference(&mut self, page: Page, next_use: Moment) -> ReferenceOutcome {
        let (set, in_set) = self.place(page);
        match self.sets[set].reference(in_set, next_use) {
            ReferenceOutcome::Miss { search, victim: Some(victim) } => {
                let victim = Some(victim << self.set_bits | set as Page);
                ReferenceOutcome::Miss { search, victim }
            }
            outcome => outcome,
        }
    }

    fn written(&mut self, page: Page) {
        let (set, in_set) = self.place(page);
        self.sets[set].written(in_set);
    }

    fn cleaned(&mut self, page: Page) {
        let (set, in_set) = self.place(page);
        self.sets[set].cleaned(in_set);
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        let (set, in_set) = self.place(page);
        self.sets[set].would_hit(in_set)
    }
}

/// LRU, if it `MOVES` pages, or FIFO: the pages of a set in the order of their use or their
/// arrival, the newest first.
pub struct InOrder<const MOVES: bool> {
    /// The pages, set by set.
    pages: Vec<Page>,
    ways: usize,
    set_mask: Page,
}

/// The result of a lookup in a set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SetLookup {
    /// The page is there and was the newest: nothing changed.
    Newest,
    /// The page is there.
    There,
    /// The page was not there and replaced this one.
    Gone(Page),
}

impl<const MOVES: bool> InOrder<MOVES> {
    #[inline]
    fn set(&self, page: Page) -> Range<usize> {
        let start = (page & self.set_mask) as usize * self.ways;
        start..start + self.ways
    }

    #[inline]
    fn take(&mut self, page: Page) -> SetLookup {
        let set = self.set(page);
        let set = &mut self.pages[set];
        if set[0] == page {
            return SetLookup::Newest;
        }
        if let [first, second] = set {
            let is_there = *second == page;
            if MOVES || !is_there {
                let gone = std::mem::replace(second, std::mem::replace(first, page));
                return if is_there { SetLookup::There } else { SetLookup::Gone(gone) };
            }
            return SetLookup::There;
        }
        let position = set.iter().position(|known| *known == page);
        if position.is_some() && !MOVES {
            return SetLookup::There;
        }
        // The pages before it move back by one.
        let mut newer = page;
        for known in &mut set[..=position.unwrap_or(self.ways - 1)] {
            std::mem::swap(known, &mut newer);
        }
        if position.is_some() { SetLookup::There } else { SetLookup::Gone(newer) }
    }
}

impl<const MOVES: bool> Policy for InOrder<MOVES> {
    const SEES_HITS: bool = MOVES;
    const REPEATS_ROUNDS: bool = MOVES;
    const COUNTS_SPARE_FRAMES: bool = true;
    const METADATA: Option<PolicyMetadata> =
        Some(PolicyMetadata { bytes_per_frame: 0.0, fixed_bytes: INDEX_BYTES });

    type AllSizes = NoOpHitSizes<Self>;
    type InSets = Self;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        let (sets, ways) = (shape.sets(), shape.ways() as usize);
        let frames = sets as usize * ways;
        Ok(Self { pages: vec![NO_PAGE; frames], ways, set_mask: sets - 1 })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        match self.take(page) {
            SetLookup::Newest | SetLookup::There => ReferenceOutcome::Hit,
            SetLookup::Gone(victim) => {
                ReferenceOutcome::miss(0, (victim != NO_PAGE).then_some(victim))
            }
        }
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.pages[self.set(page)].contains(&page)
    }
}

impl<const MOVES: bool> NoOpHits for InOrder<MOVES> {
    const NESTS: bool = MOVES;

    #[inline]
    fn reference_to_no_op(&mut self, page: Page) -> (ReferenceOutcome, Option<Page>) {
        let newest = self.pages[self.set(page).start];
        let (outcome, unsettled) = match self.take(page) {
            SetLookup::Newest => (ReferenceOutcome::Hit, NO_PAGE),
            // With FIFO a hit changes nothing.
            SetLookup::There => (ReferenceOutcome::Hit, if MOVES { newest } else { NO_PAGE }),
            SetLookup::Gone(victim) => {
                (ReferenceOutcome::miss(0, None), if MOVES { newest } else { victim })
            }
        };
        (outcome, (unsettled != NO_PAGE).then_some(unsettled))
    }
}

/// The contents of ways, for policies in which a page stays in the way it came into. The number of
/// a frame is that of its set times the ways, plus its way.
pub(super) struct Ways {
    table: PageTable,
    /// By frame, the page + 1; 0 for an empty frame.
    pages: Vec<Page>,
    /// By set, the number of filled ways.
    filled: Vec<u32>,
    ways: u32,
}

impl Ways {
    pub(super) fn new(shape: Shape, ways: u32) -> Self {
        let sets = shape.sets();
        Self {
            table: PageTable::new(shape),
            pages: vec![0; sets as usize * ways as usize],
            filled: vec![0; sets as usize],
            ways,
        }
    }

    /// The ways of a set.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.ways
    }

    /// The frame of `page`, if it is cached.
    #[inline]
    pub(super) fn frame_of(&self, page: Page) -> Option<Frame> {
        self.table.frame_of(page)
    }

    /// The page in `frame`, if there is one.
    #[inline]
    pub(super) fn page_in(&self, frame: Frame) -> Option<Page> {
        self.pages[frame as usize].checked_sub(1)
    }

    /// The first frame of the set of `page`.
    #[inline]
    pub(super) fn first_frame(&self, page: Page) -> Frame {
        (page & (self.filled.len() as Page - 1)) * self.ways
    }

    /// Puts `page` into the next free way of its set, if one is free.
    #[inline]
    pub(super) fn take_free(&mut self, page: Page) -> Option<Frame> {
        let first = self.first_frame(page);
        let filled = &mut self.filled[(first / self.ways) as usize];
        if *filled == self.ways {
            return None;
        }
        let frame = first + *filled;
        *filled += 1;
        self.replace(frame, page);
        Some(frame)
    }

    /// Puts `page` into `frame`. Returns the page that was there.
    #[inline]
    pub(super) fn replace(&mut self, frame: Frame, page: Page) -> Option<Page> {
        let before = std::mem::replace(&mut self.pages[frame as usize], page + 1);
        let victim = before.checked_sub(1);
        if let Some(victim) = victim {
            self.table.remove(victim);
        }
        self.table.insert(page, frame);
        victim
    }
}
