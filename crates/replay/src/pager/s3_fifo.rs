//! S3-FIFO (Yang et al., SOSP 2023): most pages are used once, so new pages pass through a small
//! queue first.
//!
//! Pages are in two FIFO queues, *small* and *main*. A third queue, *ghosts*, remembers evicted
//! pages. With c frames, s = max(1, ⌊c/10⌋) is the share of *small* and there are c − s ghosts at
//! most. Every page has a counter, 0 when it comes in; a hit adds 1, up to 3.
//!
//! A fault first takes the page out of *ghosts* if it is there. With no free frame it then looks at
//! one page after another until one is evicted:
//!
//! * if *small* holds s pages or more, at its oldest: if its counter is over 1, it goes to the new
//!   end of *main* with counter 0; else it is evicted and goes to the new end of *ghosts*, whose
//!   oldest is forgotten if they are too many;
//! * else at the oldest of *main*: if its counter is over 0, it goes to the new end of *main* with
//!   one less; else it is evicted and not remembered.
//!
//! Last, the page goes to the new end of *main* if it was a ghost, else of *small*. `walk` counts
//! the pages examined in both queues, the victim included.
//!
//! Two details are ours. The paper searches *small* until a page leaves the cache from it; if
//! *main* overflows meanwhile, it evicts a page from there as well, two for one fault. Here a fault
//! evicts one page. While frames are free, all pages come into *small*.

use flashpager_base::Result;

use super::lists::{Lists, Slots};
use super::{
    INDEX_BYTES, Moment, Page, PerSet, PerSize, Policy, PolicyMetadata, PolicyParameter,
    ReferenceOutcome, Shape,
};

const SMALL: usize = 0;
const MAIN: usize = 1;
const GHOSTS: usize = 2;

/// The largest value of a counter.
const MOST_COUNTED: u8 = 3;

/// S3-FIFO with its three queues as linked lists.
pub struct S3Fifo {
    slots: Slots,
    lists: Lists<3>,
    counters: Vec<u8>,
    capacity: usize,
    small_share: usize,
}

impl S3Fifo {
    /// Frees a frame. Returns the walk and the page it held.
    fn evict(&mut self) -> (u32, Page) {
        let mut walk = 0;
        loop {
            walk += 1;
            let in_small = self.lists.len(SMALL) >= self.small_share;
            let from = if in_small { SMALL } else { MAIN };
            let slot = self.lists.oldest(from).expect("a full cache has a page here");
            let counter = &mut self.counters[slot as usize];
            if in_small && *counter > 1 {
                *counter = 0;
                self.lists.renew(MAIN, slot);
            } else if !in_small && *counter > 0 {
                *counter -= 1;
                self.lists.renew(MAIN, slot);
            } else if in_small {
                let victim = self.slots.page_of(slot);
                self.lists.renew(GHOSTS, slot);
                if self.lists.len(GHOSTS) > self.capacity - self.small_share
                    && let Some(forgotten) = self.lists.pop(GHOSTS)
                {
                    self.slots.forget(forgotten);
                }
                return (walk, victim);
            } else {
                self.lists.remove(slot);
                return (walk, self.slots.forget(slot));
            }
        }
    }
}

impl Policy for S3Fifo {
    /// A link and a two-bit counter per frame; a page number per ghost, of which there are 0.9 per
    /// frame and one for the rounding; the ends of both queues; the length of *small*; and the
    /// position and number of ghosts in their ring.
    const METADATA: Option<PolicyMetadata> = Some(PolicyMetadata {
        bytes_per_frame: INDEX_BYTES as f64 + 0.25 + 0.9 * INDEX_BYTES as f64,
        fixed_bytes: 6 * INDEX_BYTES,
    });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        let capacity = shape.usable_frames() as usize;
        Ok(Self {
            slots: Slots::new(shape),
            lists: Lists::new(),
            counters: Vec::new(),
            capacity,
            small_share: (capacity / 10).max(1),
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        let known = self.slots.slot_of(page);
        let ghost = known.filter(|slot| self.lists.list_of(*slot) == Some(GHOSTS));
        if let (Some(slot), None) = (known, ghost) {
            let counter = &mut self.counters[slot as usize];
            *counter = (*counter + 1).min(MOST_COUNTED);
            return ReferenceOutcome::Hit;
        }
        if let Some(slot) = ghost {
            self.lists.remove(slot);
        }
        let full = self.lists.len(SMALL) + self.lists.len(MAIN) == self.capacity;
        let (mut walk, mut victim) = (0, None);
        if full {
            let (looked_at, evicted) = self.evict();
            (walk, victim) = (looked_at, Some(evicted));
        }
        let slot = ghost.unwrap_or_else(|| self.slots.add(page));
        if slot as usize >= self.counters.len() {
            self.counters.resize(slot as usize + 1, 0);
        }
        self.counters[slot as usize] = 0;
        self.lists.push(if ghost.is_some() { MAIN } else { SMALL }, slot);
        ReferenceOutcome::miss(walk, victim)
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.slots.slot_of(page).is_some_and(|slot| self.lists.list_of(slot) != Some(GHOSTS))
    }
}
