//! LIRS (Jiang & Zhang, SIGMETRICS 2002): keep the pages whose last two uses were close together.
//!
//! A page in a frame is LIR (low inter-reference recency) or HIR. With c frames, h =
//! max(1, ⌊c/100⌋) are for HIR pages, and at most c − h pages are LIR. The *stack*
//! has the LIR pages and all pages used since the oldest of them was, in the order of
//! their last uses; *resident* is a FIFO queue of the HIR pages in frames. A *ghost* is
//! a page in the stack and in no frame; there are 2c of them at most.
//!
//! * A LIR page is referenced: a hit. It becomes the newest of the stack.
//! * A HIR page in a frame: a hit. If it is in the stack, it leaves *resident* and is
//!   promoted; else it goes to the new end of *resident*, and to the stack as its
//!   newest.
//! * A page in no frame: a fault. If the page is a ghost, it is taken out of the stack. With no
//!   free frame the oldest of *resident* is evicted. If it is in the stack, it becomes
//!   a ghost; if there are more than 2c ghosts now, the oldest one is forgotten.
//!   Then a page that was a ghost is promoted; any other becomes the newest of the
//!   stack, LIR if there are fewer than c − h LIR pages, else HIR at the new end of
//!   *resident*.
//!
//! To promote a page: it becomes LIR and the newest of the stack; the oldest LIR page
//! leaves the stack and goes to the new end of *resident* as HIR. After every
//! reference, as long as the oldest of the stack is not LIR, it is taken out: a ghost
//! is forgotten, a page in a frame stays in *resident*.
//!
//! Two details are ours: the rounding of h, and the limit on ghosts, which the paper
//! does not have. With one frame no page is LIR and the stack stays empty. `walk` is
//! 0, because the oldest of *resident* is the victim without a search.

use flashpager_base::Result;

use super::lists::{Lists, Slot, Slots};
use super::{
    INDEX_BYTES, Moment, Page, PerSet, PerSize, Policy, PolicyMetadata, PolicyParameter,
    ReferenceOutcome, Shape,
};

const STACK: usize = 0;

const RESIDENT: usize = 0;
/// The ghosts in the order of their evictions. It is also their order in the stack, because a page
/// in *resident* and in the stack came to the new end of both at the same time.
const GHOSTS: usize = 1;

/// LIRS with its stack and queues. A page in neither list of `queues` is LIR.
pub struct Lirs {
    slots: Slots,
    stack: Lists<1>,
    queues: Lists<2>,
    lir_pages: usize,
    capacity: usize,
    lir_share: usize,
}

impl Lirs {
    fn evict(&mut self) -> Option<Page> {
        let victim = self.queues.pop(RESIDENT)?;
        if self.stack.list_of(victim).is_none() {
            return Some(self.slots.forget(victim));
        }
        let page = self.slots.page_of(victim);
        self.queues.push(GHOSTS, victim);
        if self.queues.len(GHOSTS) > 2 * self.capacity
            && let Some(oldest) = self.queues.pop(GHOSTS)
        {
            self.stack.remove(oldest);
            self.slots.forget(oldest);
        }
        Some(page)
    }

    /// Makes a page LIR; it must be in no list. In exchange the oldest LIR page becomes HIR.
    fn promote(&mut self, slot: Slot) {
        self.stack.push(STACK, slot);
        if let Some(demoted) = self.stack.pop(STACK) {
            self.queues.push(RESIDENT, demoted);
        }
    }

    fn prune(&mut self) {
        while let Some(slot) = self.stack.oldest(STACK) {
            match self.queues.list_of(slot) {
                None => return,
                Some(RESIDENT) => self.stack.remove(slot),
                Some(_) => {
                    self.stack.remove(slot);
                    self.queues.remove(slot);
                    self.slots.forget(slot);
                }
            }
        }
    }

    fn hit(&mut self, slot: Slot) {
        let in_stack = self.stack.list_of(slot).is_some();
        let hir = self.queues.list_of(slot).is_some();
        if in_stack {
            self.stack.remove(slot);
        }
        if hir {
            self.queues.remove(slot);
        }
        if hir && in_stack {
            self.promote(slot);
        } else {
            self.stack.push(STACK, slot);
            if hir {
                self.queues.push(RESIDENT, slot);
            }
        }
    }

    /// Inserts a page, and returns the victim.
    fn fault(&mut self, page: Page, ghost: Option<Slot>) -> Option<Page> {
        if let Some(slot) = ghost {
            self.stack.remove(slot);
            self.queues.remove(slot);
        }
        let full = self.lir_pages + self.queues.len(RESIDENT) == self.capacity;
        let victim = if full { self.evict() } else { None };
        if let Some(slot) = ghost {
            self.promote(slot);
            return victim;
        }
        let slot = self.slots.add(page);
        self.stack.push(STACK, slot);
        if self.lir_pages < self.lir_share {
            self.lir_pages += 1;
        } else {
            self.queues.push(RESIDENT, slot);
        }
        victim
    }
}

impl Policy for Lirs {
    /// Two links and two bits per frame; a page number and two links per ghost, of which there are
    /// twice as many as frames; a page number in *resident* for one frame in 100, and one for the
    /// rounding; the end of the stack; and the numbers of ghosts, LIR pages and resident HIR pages.
    const METADATA: Option<PolicyMetadata> = Some(PolicyMetadata {
        bytes_per_frame: 8.0 * INDEX_BYTES as f64 + 0.25 + 0.01 * INDEX_BYTES as f64,
        fixed_bytes: 5 * INDEX_BYTES,
    });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        let capacity = shape.usable_frames() as usize;
        Ok(Self {
            slots: Slots::new(shape),
            stack: Lists::new(),
            queues: Lists::new(),
            lir_pages: 0,
            capacity,
            lir_share: capacity - (capacity / 100).max(1),
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        let known = self.slots.slot_of(page);
        let ghost = known.filter(|slot| self.queues.list_of(*slot) == Some(GHOSTS));
        let outcome = match (known, ghost) {
            (Some(slot), None) => {
                self.hit(slot);
                ReferenceOutcome::Hit
            }
            _ => ReferenceOutcome::miss(0, self.fault(page, ghost)),
        };
        self.prune();
        outcome
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.slots.slot_of(page).is_some_and(|slot| self.queues.list_of(slot) != Some(GHOSTS))
    }
}
