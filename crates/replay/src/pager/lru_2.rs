//! LRU-2 (O'Neil, O'Neil & Weikum, SIGMOD 1993): evict the page whose last reference but one is
//! longest ago.
//!
//! References are numbered one by one, hits and faults alike. The victim is the page in a frame
//! whose last reference but one has the smallest number; pages without one go before all others,
//! and among them the least recently used. With c frames, the c pages evicted last are ghosts: the
//! number of their last reference is kept. A fault first takes the page out of the ghosts if it is
//! there; the last reference kept there becomes its last but one. After that, if no frame is free,
//! the victim is evicted and becomes the newest ghost, and the oldest is forgotten if there are
//! more than c. A page that comes in otherwise has no last reference but one.
//!
//! Two details are ours. There is no correlated reference period, because consecutive references to
//! a page are one. The number of ghosts is limited, where the paper remembers references for a
//! time. Without ghosts no new page could stay in a cache full of pages used twice: each fault
//! would evict the page that came in last. `walk` is the number of frames: a device examines each
//! of them for the victim, because keeping them in order would cost a search on every hit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use flashpager_base::Result;

use super::lists::{Lists, Slot, Slots};
use super::{
    INDEX_BYTES, Moment, Page, PerSet, PerSize, Policy, PolicyMetadata, PolicyParameter,
    ReferenceOutcome, Shape,
};

const GHOSTS: usize = 0;

/// The numbers of the last reference but one, or 0, and of the last reference.
type Uses = (u64, u64);

/// LRU-2 with a heap of the pages in frames by their uses. A hit leaves the heap as it is: uses
/// only grow, so an outdated entry surfaces too early and is corrected then.
pub struct Lru2 {
    slots: Slots,
    uses: Vec<Uses>,
    ghosts: Lists<1>,
    heap: BinaryHeap<Reverse<(Uses, Slot)>>,
    capacity: usize,
    references: u64,
}

impl Lru2 {
    fn evict(&mut self) -> Option<Page> {
        while let Some(mut first) = self.heap.peek_mut() {
            let Reverse((uses, slot)) = *first;
            let current = self.uses[slot as usize];
            if uses != current {
                *first = Reverse((current, slot));
                continue;
            }
            PeekMut::pop(first);
            let victim = self.slots.page_of(slot);
            self.ghosts.push(GHOSTS, slot);
            if self.ghosts.len(GHOSTS) > self.capacity
                && let Some(forgotten) = self.ghosts.pop(GHOSTS)
            {
                self.slots.forget(forgotten);
            }
            return Some(victim);
        }
        None
    }
}

impl Policy for Lru2 {
    /// Two reference numbers of 4 bytes per frame; a page number and a reference number per ghost,
    /// of which there are as many as frames; the number of references; and the position and number
    /// of ghosts in their ring.
    const METADATA: Option<PolicyMetadata> = Some(PolicyMetadata {
        bytes_per_frame: 12.0 + INDEX_BYTES as f64,
        fixed_bytes: 4 + 2 * INDEX_BYTES,
    });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        Ok(Self {
            slots: Slots::new(shape),
            uses: Vec::new(),
            ghosts: Lists::new(),
            heap: BinaryHeap::new(),
            capacity: shape.usable_frames() as usize,
            references: 0,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        self.references += 1;
        let known = self.slots.slot_of(page);
        if let Some(slot) = known {
            let uses = &mut self.uses[slot as usize];
            *uses = (uses.1, self.references);
            if self.ghosts.list_of(slot).is_none() {
                return ReferenceOutcome::Hit;
            }
            self.ghosts.remove(slot);
        }
        let (mut walk, mut victim) = (0, None);
        if self.heap.len() == self.capacity {
            victim = self.evict();
            walk = self.capacity as u32;
        }
        let slot = known.unwrap_or_else(|| {
            let slot = self.slots.add(page);
            if slot as usize >= self.uses.len() {
                self.uses.resize(slot as usize + 1, (0, 0));
            }
            self.uses[slot as usize] = (0, self.references);
            slot
        });
        self.heap.push(Reverse((self.uses[slot as usize], slot)));
        ReferenceOutcome::miss(walk, victim)
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.slots.slot_of(page).is_some_and(|slot| self.ghosts.list_of(slot).is_none())
    }
}
