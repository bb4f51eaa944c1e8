//! Caches in sets, as hardware has them: page p can only be in set p mod sets.
//!
//! Each set is a small cache by itself, so that any policy can act in one ([`PerSet`]). Those
//! that hardware has are laid out as it does it: a few words a set, side by side.

use std::ops::Range;

use flashpager_base::Result;

use super::no_op_hits::{NoOpHitSizes, NoOpHits};
use super::table::{Frame, PageTable};
use super::{
    INDEX_BYTES, Moment, Page, PerSize, Policy, PolicyMetadata, PolicyParameter, ReferenceOutcome,
    Shape,
};

/// A way that holds nothing.
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

/// LRU (`MOVES`) or FIFO: the pages of a set in the order in which they were used or came, the
/// newest first.
pub struct InOrder<const MOVES: bool> {
    /// Set by set.
    pages: Vec<Page>,
    ways: usize,
    set_mask: Page,
}

/// What a reference found in its set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SetLookup {
    /// Its page, and in front: nothing has changed.
    Newest,
    /// Its page.
    There,
    /// No such page; this one went for it.
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
        let place = set.iter().position(|known| *known == page);
        if place.is_some() && !MOVES {
            return SetLookup::There;
        }
        // What stands before it goes back by one.
        let mut newer = page;
        for known in &mut set[..=place.unwrap_or(self.ways - 1)] {
            std::mem::swap(known, &mut newer);
        }
        if place.is_some() { SetLookup::There } else { SetLookup::Gone(newer) }
    }
}

impl<const MOVES: bool> Policy for InOrder<MOVES> {
    const SEES_HITS: bool = MOVES;
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
    fn reference_settling(&mut self, page: Page) -> (ReferenceOutcome, Option<Page>) {
        let newest = self.pages[self.set(page).start];
        let (outcome, unsettled) = match self.take(page) {
            SetLookup::Newest => (ReferenceOutcome::Hit, NO_PAGE),
            // Of FIFO nothing has changed.
            SetLookup::There => (ReferenceOutcome::Hit, if MOVES { newest } else { NO_PAGE }),
            SetLookup::Gone(victim) => {
                (ReferenceOutcome::miss(0, None), if MOVES { newest } else { victim })
            }
        };
        (outcome, (unsettled != NO_PAGE).then_some(unsettled))
    }
}

/// Which page lies in which way, where a page stays in the way that it came into. A frame's
/// number is that of its set, times the ways, and its way.
pub(super) struct Ways {
    table: PageTable,
    /// By frame, the page + 1, as frames start as untouched zeros.
    pages: Vec<Page>,
    /// By set, ways that are filled.
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

    /// How many ways a set has.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.ways
    }

    /// The frame in which `page` is.
    #[inline]
    pub(super) fn frame_of(&self, page: Page) -> Option<Frame> {
        self.table.frame_of(page)
    }

    /// The page in `frame`.
    #[inline]
    pub(super) fn page_in(&self, frame: Frame) -> Option<Page> {
        self.pages[frame as usize].checked_sub(1)
    }

    /// The first frame of the set of `page`.
    #[inline]
    pub(super) fn first_frame(&self, page: Page) -> Frame {
        (page & (self.filled.len() as Page - 1)) * self.ways
    }

    /// Put `page` into the next free way of its set, if one is free.
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

    /// Put `page` into `frame`. Gives the page that was there.
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
