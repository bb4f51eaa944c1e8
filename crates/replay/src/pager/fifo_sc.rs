//! FIFO with second chance (Draves 1991, as in Mach 2.5; In, Shin & Kim, LCTES 2007,
//! section 3.2): two FIFO lists of fixed size.
//!
//! `fifo-sc(valid)`, 1 ≤ valid < frames, or in percent of the frames, rounded down but
//! at least 1. Pages in *valid* are marked valid in the page table, those in *invalid*
//! are in frames but marked invalid.
//!
//! * A page of *valid* is referenced: a hit that changes nothing.
//! * A page of *invalid*: a false fault. It goes to the tail of *valid*, and the head
//!   of *valid* moves down to the tail of *invalid*.
//! * A page in no frame: a fault. With no free frame the head of *invalid* is evicted.
//!   The page goes to the tail of *valid*. If *valid* holds more than `valid` pages
//!   then, its head moves down.
//!
//! `walk` is 0, because the victim is known without a search. `downgrades` counts the
//! pages that move down.

use flashpager_base::{Error, Result};

use super::lists::{Lists, Slots};
use super::{
    INDEX_BYTES, Moment, Page, PerSet, Policy, PolicyMetadata, PolicyParameter, ReferenceOutcome,
    VictimSearch,
};
use super::{PerSize, Shape};

const VALID: usize = 0;
const INVALID: usize = 1;

/// FIFO with second chance, which moves pages down at the false fault.
pub type FifoSc = SecondChance<false>;

/// FIFO with second chance. If it `DEFERS`, a false fault moves no page down; the next true fault
/// moves all surplus pages down.
pub struct SecondChance<const DEFERS: bool> {
    slots: Slots,
    lists: Lists<2>,
    frames: usize,
    most_valid: usize,
}

/// The maximum number of pages in *valid*.
fn most_valid(name: &str, frames: u32, parameters: &[PolicyParameter]) -> Result<u32> {
    let (valid, written) = match parameters.first() {
        Some(PolicyParameter::Number(valid)) => (*valid, valid.to_string()),
        Some(PolicyParameter::Percent(share)) if *share >= 100 || *share == 0 => {
            return Err(Error::design(format!(
                "{name}({share}%): the valid list takes 1 to 99 % of the frames"
            )));
        }
        Some(PolicyParameter::Percent(share)) => {
            ((u64::from(frames) * share / 100).max(1), format!("{share}%"))
        }
        _ => return Err(Error::design(format!("{name} needs the length of its valid list"))),
    };
    if valid == 0 || valid >= u64::from(frames) {
        return Err(Error::design(format!(
            "{name}({written}): the valid list takes at least 1 frame and leaves at least 1 of \
             the {frames} for the invalid list"
        )));
    }
    Ok(valid as u32)
}

impl<const DEFERS: bool> SecondChance<DEFERS> {
    const NAME: &str = if DEFERS { "pa-fifo-sc" } else { "fifo-sc" };

    /// Moves the surplus pages of *valid* down. Returns their number.
    #[inline]
    fn move_down(&mut self) -> u32 {
        let mut downgrades = 0;
        while self.lists.len(VALID) > self.most_valid {
            if let Some(head) = self.lists.pop(VALID) {
                self.lists.push(INVALID, head);
            }
            downgrades += 1;
        }
        downgrades
    }
}

impl<const DEFERS: bool> Policy for SecondChance<DEFERS> {
    const SEES_HITS: bool = false;
    const COUNTS_SPARE_FRAMES: bool = true;

    /// Two links per frame and a bit for its list; the ends of both lists, and the length of
    /// *valid*.
    const METADATA: Option<PolicyMetadata> = Some(PolicyMetadata {
        bytes_per_frame: 2.0 * INDEX_BYTES as f64 + 0.125,
        fixed_bytes: 5 * INDEX_BYTES,
    });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self> {
        Ok(Self {
            slots: Slots::new(shape),
            lists: Lists::new(),
            frames: shape.frames as usize,
            most_valid: most_valid(Self::NAME, shape.frames, parameters)? as usize,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        if let Some(slot) = self.slots.slot_of(page) {
            if self.lists.list_of(slot) == Some(VALID) {
                return ReferenceOutcome::Hit;
            }
            self.lists.renew(VALID, slot);
            let downgrades = if DEFERS { 0 } else { self.move_down() };
            return ReferenceOutcome::FalseFault { downgrades };
        }
        let mut downgrades = if DEFERS { self.move_down() } else { 0 };
        let full = self.lists.len(VALID) + self.lists.len(INVALID) == self.frames;
        let victim = if full { self.lists.pop(INVALID) } else { None };
        let victim = victim.map(|slot| self.slots.forget(slot));
        let slot = self.slots.add(page);
        self.lists.push(VALID, slot);
        downgrades += self.move_down();
        ReferenceOutcome::Miss { search: VictimSearch { walk: 0, downgrades }, victim }
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.slots.slot_of(page).is_some_and(|slot| self.lists.list_of(slot) == Some(VALID))
    }
}
