//! ARC, the adaptive replacement cache (Megiddo & Modha, FAST 2003): it balances recency and
//! frequency by the references to ghosts.
//!
//! Four lists by time of use: T1 and B1 of pages seen once lately, T2 and B2 of pages seen at least
//! twice; those in T1 and T2 are in frames, those in B1 and B2 are ghosts. With c frames, p from 0
//! to c is the share of T1, 0 at first. The paper's cases:
//!
//! 1. In T1 or T2: a hit. The page becomes the newest of T2.
//! 2. In B1: p grows by max(1, ⌊|B2|/|B1|⌋), to c at most. Replace; the page becomes the newest of
//!    T2.
//! 3. In B2: p shrinks by max(1, ⌊|B1|/|B2|⌋), to 0 at least. Replace; the page becomes the newest
//!    of T2.
//! 4. In none of the four. If |T1| + |B1| = c: if |T1| < c, forget the oldest of B1 and replace;
//!    else evict the oldest of T1 and do not remember it. If |T1| + |B1| < c and the four hold c
//!    pages or more: forget the oldest of B2 if they hold 2c, and replace. The page becomes the
//!    newest of T1.
//!
//! Replace: if T1 is not empty and |T1| > p, or |T1| = p in case 3, the oldest of T1 becomes the
//! newest of B1; else the oldest of T2 becomes the newest of B2. The lengths are those before the
//! page is moved.
//!
//! Here p is a whole number and quotients are rounded down; in the paper p is real. `walk` is 0,
//! because the victim is known without a search.

use flashpager_base::Result;

use super::lists::{Lists, Slots};
use super::{
    INDEX_BYTES, Moment, Page, PerSet, PerSize, Policy, PolicyMetadata, PolicyParameter,
    ReferenceOutcome, Shape,
};

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

/// ARC with its four lists.
pub struct Arc {
    slots: Slots,
    lists: Lists<4>,
    capacity: usize,
    /// The share of T1, p in the paper.
    target: usize,
}

impl Arc {
    /// Turns a page in a frame into a ghost. Returns the page.
    fn replace(&mut self, page_in_b2: bool) -> Option<Page> {
        let recent = self.lists.len(T1);
        let from_t1 = recent > self.target || (page_in_b2 && recent == self.target);
        let (from, to) = if from_t1 && recent > 0 { (T1, B1) } else { (T2, B2) };
        let slot = self.lists.oldest(from)?;
        self.lists.renew(to, slot);
        Some(self.slots.page_of(slot))
    }

    fn forget_oldest(&mut self, list: usize) -> Option<Page> {
        let slot = self.lists.pop(list)?;
        Some(self.slots.forget(slot))
    }

    /// Takes a page out of the ghosts and adapts p. Returns the victim.
    fn take_ghost(&mut self, page_in_b2: bool) -> Option<Page> {
        let (recent, frequent) = (self.lists.len(B1), self.lists.len(B2));
        if page_in_b2 {
            self.target = self.target.saturating_sub((recent / frequent).max(1));
        } else {
            self.target = (self.target + (frequent / recent).max(1)).min(self.capacity);
        }
        self.replace(page_in_b2)
    }

    /// Makes room for a page that is in no list. Returns the victim, if there is one.
    fn make_room(&mut self) -> Option<Page> {
        let [t1, t2, b1, b2] = [T1, T2, B1, B2].map(|list| self.lists.len(list));
        if t1 == self.capacity {
            self.forget_oldest(T1)
        } else if t1 + b1 == self.capacity {
            self.forget_oldest(B1);
            self.replace(false)
        } else if t1 + t2 + b1 + b2 >= self.capacity {
            if t1 + t2 + b1 + b2 == 2 * self.capacity {
                self.forget_oldest(B2);
            }
            self.replace(false)
        } else {
            None
        }
    }
}

impl Policy for Arc {
    /// Two links and a bit per frame; a page number, two links and a bit per ghost, of which there
    /// are as many as frames; the ends and lengths of four lists; and p.
    const METADATA: Option<PolicyMetadata> = Some(PolicyMetadata {
        bytes_per_frame: 5.0 * INDEX_BYTES as f64 + 0.25,
        fixed_bytes: 9 * INDEX_BYTES,
    });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        Ok(Self {
            slots: Slots::new(shape),
            lists: Lists::new(),
            capacity: shape.usable_frames() as usize,
            target: 0,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        let Some(slot) = self.slots.slot_of(page) else {
            let victim = self.make_room();
            let slot = self.slots.add(page);
            self.lists.push(T1, slot);
            return ReferenceOutcome::miss(0, victim);
        };
        let outcome = match self.lists.list_of(slot) {
            Some(list @ (B1 | B2)) => ReferenceOutcome::miss(0, self.take_ghost(list == B2)),
            _ => ReferenceOutcome::Hit,
        };
        self.lists.renew(T2, slot);
        outcome
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.slots
            .slot_of(page)
            .is_some_and(|slot| matches!(self.lists.list_of(slot), Some(T1 | T2)))
    }
}
