//! CFLRU, clean-first LRU (Park et al., CASES 2006): a clean page that is nearly the oldest is
//! evicted before an older dirty one, whose eviction costs a write.
//!
//! `cflru(window)`, 1 ≤ window, or in percent of the frames, 1 to 100, rounded down but at least 1.
//! On a fault with no free frame the `window` least recently used pages are examined, the oldest
//! first, and the first clean one is evicted. If all are dirty, the least recently used page is
//! evicted. A window larger than the cache means all frames. With a window of 1, or while nothing
//! is written, as in a replay of code, CFLRU is LRU.
//!
//! A page is clean when it is loaded, dirty after a write to it, and clean again once it is written
//! back. Only references renew a page's age; a write and a write-back do not. `walk` counts the
//! frames examined, with the victim: 1 if the oldest page is clean, the window if all are dirty.
//!
//! The window is fixed. The paper also has a window that adapts to the costs observed.

use flashpager_base::{Error, Result};

use super::lists::{Lists, Slot, Slots};
use super::{
    INDEX_BYTES, Moment, Page, PerSet, PerSize, Policy, PolicyMetadata, PolicyParameter,
    ReferenceOutcome, Shape,
};

const USED: usize = 0;

/// CFLRU with its pages in a list by time of use.
pub struct Cflru {
    slots: Slots,
    order: Lists<1>,
    /// True if the page of a slot is dirty.
    dirty: Vec<bool>,
    capacity: usize,
    window: usize,
}

/// The window in frames.
fn window_of(frames: u32, parameters: &[PolicyParameter]) -> Result<u64> {
    match parameters.first() {
        Some(PolicyParameter::Number(0)) => {
            Err(Error::design("cflru(0): the window takes at least 1 frame"))
        }
        Some(PolicyParameter::Number(window)) => Ok(*window),
        Some(PolicyParameter::Percent(share)) if !(1..=100).contains(share) => Err(Error::design(
            format!("cflru({share}%): the window takes 1 to 100 % of the frames"),
        )),
        Some(PolicyParameter::Percent(share)) => Ok((u64::from(frames) * share / 100).max(1)),
        _ => Err(Error::design("cflru needs its window")),
    }
}

impl Cflru {
    /// Selects the victim. Returns its slot and the walk.
    #[inline]
    fn select_victim(&self) -> Option<(Slot, u32)> {
        let oldest_first = || self.order.oldest_first(USED);
        let in_window = (1..).zip(oldest_first().take(self.window));
        let clean = in_window.into_iter().find(|(_, slot)| !self.dirty[*slot as usize]);
        match clean {
            Some((walk, slot)) => Some((slot, walk)),
            None => oldest_first().next().map(|slot| (slot, self.window as u32)),
        }
    }

    /// Marks a page as dirty or clean.
    fn mark(&mut self, page: Page, dirty: bool) {
        if let Some(slot) = self.slots.slot_of(page) {
            self.dirty[slot as usize] = dirty;
        }
    }
}

impl Policy for Cflru {
    /// Two links and a dirty bit per frame, and the newest frame.
    const METADATA: Option<PolicyMetadata> = Some(PolicyMetadata {
        bytes_per_frame: 2.0 * INDEX_BYTES as f64 + 0.125,
        fixed_bytes: INDEX_BYTES,
    });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self> {
        let capacity = shape.usable_frames() as usize;
        Ok(Self {
            slots: Slots::new(shape),
            order: Lists::new(),
            dirty: Vec::new(),
            capacity,
            window: window_of(shape.frames, parameters)?.min(capacity as u64) as usize,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        if let Some(slot) = self.slots.slot_of(page) {
            self.order.renew(USED, slot);
            return ReferenceOutcome::Hit;
        }
        let (mut walk, mut victim) = (0, None);
        if self.order.len(USED) == self.capacity
            && let Some((slot, looked_at)) = self.select_victim()
        {
            self.order.remove(slot);
            walk = looked_at;
            victim = Some(self.slots.forget(slot));
        }
        let slot = self.slots.add(page);
        if slot as usize >= self.dirty.len() {
            self.dirty.resize(slot as usize + 1, false);
        }
        self.dirty[slot as usize] = false;
        self.order.push(USED, slot);
        ReferenceOutcome::miss(walk, victim)
    }

    fn written(&mut self, page: Page) {
        self.mark(page, true);
    }

    fn cleaned(&mut self, page: Page) {
        self.mark(page, false);
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.slots.slot_of(page).is_some()
    }
}
