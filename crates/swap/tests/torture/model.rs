//! A model of the states that a store may be in.
//!
//! Calls are counted from the last certain state: that after a format, or after a mount whose slots
//! were all read. Moment 0 is that state, moment `n` the state after the n-th call. The model keeps
//! each slot's page at each moment, and the moments that a mount may restore: none before the last
//! sync, and none that contradicts what was read after a mount.

use std::collections::HashSet;

/// The slot has no page.
pub const EMPTY: u32 = u32::MAX;

/// A page that rightly reads as corrupt, as it was in a flash page that cannot be read. Its number
/// is unknown.
pub const LOST: u32 = u32::MAX - 1;

/// Result of reading a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotContent {
    Page(u32),
    Empty,
    Corrupt,
    /// Bytes of no page that was ever written.
    Wrong,
}

#[derive(Clone, Copy)]
struct SlotEntry {
    /// The moment from which the slot holds the page.
    from: u32,
    page: u32,
    /// The call gave an error, so it is open whether it was done.
    open: bool,
}

#[derive(Clone)]
struct SlotHistory {
    /// The slot's page at moment 0.
    base: u32,
    entries: Vec<SlotEntry>,
}

pub struct Model {
    slots: Vec<SlotHistory>,
    /// Slots that have entries.
    changed: Vec<u32>,
    /// The current moment.
    now: u32,
    /// The first moment that a mount may restore.
    earliest: u32,
    /// The moments that a mount may restore, after one that was read in part; empty for all.
    possible: Vec<bool>,
    /// Slots and pages that were in flash pages that cannot be read.
    doomed: HashSet<(u32, u32)>,
}

impl Model {
    pub fn new(slots: u32) -> Self {
        Self {
            slots: vec![SlotHistory { base: EMPTY, entries: Vec::new() }; slots as usize],
            changed: Vec::new(),
            now: 0,
            earliest: 0,
            possible: Vec::new(),
            doomed: HashSet::new(),
        }
    }

    /// Calls since the last certain state.
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Begins a call that lets `slot` hold `page`.
    pub fn begin(&mut self, slot: u32, page: u32) {
        debug_assert!(self.possible.is_empty());
        self.now += 1;
        let at = &mut self.slots[slot as usize];
        if at.entries.is_empty() {
            self.changed.push(slot);
        }
        at.entries.push(SlotEntry { from: self.now, page, open: false });
    }

    /// The call changed nothing.
    pub fn undo(&mut self, slot: u32) {
        self.slots[slot as usize].entries.pop();
        if self.slots[slot as usize].entries.is_empty() {
            self.changed.pop();
        }
    }

    /// The call may have changed something.
    pub fn leave_open(&mut self, slot: u32) {
        if let Some(entry) = self.slots[slot as usize].entries.last_mut() {
            entry.open = true;
        }
    }

    /// All calls so far are on the medium.
    pub fn synced(&mut self) {
        self.earliest = self.now;
    }

    /// Pages that a slot may hold now, the newest first.
    pub fn current(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        let slot = &self.slots[slot as usize];
        let sure = slot.entries.iter().rposition(|entry| !entry.open);
        let open = slot.entries[sure.map_or(0, |at| at + 1)..].iter().rev();
        let last = sure.map_or(slot.base, |at| slot.entries[at].page);
        open.map(|entry| entry.page).chain(std::iter::once(last))
    }

    /// The newest page that a slot may hold.
    pub fn newest(&self, slot: u32) -> u32 {
        self.current(slot).next().unwrap_or(EMPTY)
    }

    fn fits(&self, slot: u32, page: u32, seen: SlotContent) -> bool {
        match seen {
            // A lost page may be found in another place.
            SlotContent::Page(number) => {
                page == number || (page == LOST && self.doomed.contains(&(slot, number)))
            }
            SlotContent::Empty => page == EMPTY,
            SlotContent::Corrupt => page == LOST || self.doomed.contains(&(slot, page)),
            SlotContent::Wrong => false,
        }
    }

    /// Checks what a running store read from a slot. Returns whether it is the newest page.
    pub fn read(&mut self, slot: u32, seen: SlotContent) -> bool {
        let Some(page) = self.current(slot).find(|page| self.fits(slot, *page, seen)) else {
            return false;
        };
        // The read shows whether the open calls were done.
        let entries = &mut self.slots[slot as usize].entries;
        while let Some(entry) = entries.last_mut()
            && entry.open
        {
            if entry.page == page {
                entry.open = false;
                break;
            }
            // The moment stays in the count, as that of a call that changed nothing.
            let from = entry.from;
            entries.pop();
            if entries.is_empty() {
                self.changed.retain(|changed| *changed != slot);
            }
            debug_assert!(from <= self.now);
        }
        true
    }

    /// A flash page cannot be read any more. It may cost all slots and pages for which `was_in` is
    /// true.
    pub fn doom(&mut self, mut was_in: impl FnMut(u32, u32) -> bool) {
        for (number, slot) in self.slots.iter().enumerate() {
            let number = number as u32;
            let all = slot.entries.iter().map(|entry| entry.page).chain([slot.base]);
            for page in all.filter(|page| *page != EMPTY && *page != LOST) {
                if was_in(number, page) {
                    self.doomed.insert((number, page));
                }
            }
        }
    }

    /// Checks what slots hold after a mount; `None` was not read. If all were read, the state is
    /// certain again.
    ///
    /// # Errors
    /// If no moment fits, with a message.
    pub fn mounted(&mut self, seen: &[Option<SlotContent>]) -> Result<(), String> {
        let moments = self.now as usize + 1;
        let mut fitting = vec![true; moments];
        fitting[..self.earliest as usize].fill(false);
        if !self.possible.is_empty() {
            for (fits, possible) in fitting.iter_mut().zip(&self.possible) {
                *fits &= possible;
            }
        }
        let mut fits_slot = vec![false; moments];
        for (number, (slot, seen)) in self.slots.iter().zip(seen).enumerate() {
            let Some(seen) = *seen else { continue };
            let number = number as u32;
            if slot.entries.is_empty() {
                if !self.fits(number, slot.base, seen) {
                    return Err(format!(
                        "slot {number} gives {}, but held {} all the time",
                        name(seen),
                        page_name(slot.base)
                    ));
                }
                continue;
            }
            fits_slot.fill(false);
            let all = [SlotEntry { from: 0, page: slot.base, open: false }];
            let all: Vec<SlotEntry> = all.iter().chain(&slot.entries).copied().collect();
            for (at, entry) in all.iter().enumerate() {
                if self.fits(number, entry.page, seen) {
                    let end = end_of(&all[at + 1..], moments);
                    fits_slot[entry.from as usize..end].fill(true);
                }
            }
            for (fits, this) in fitting.iter_mut().zip(&fits_slot) {
                *fits &= this;
            }
            if !fitting.contains(&true) {
                let history: Vec<String> = all
                    .iter()
                    .map(|entry| {
                        let open = if entry.open { "?" } else { "" };
                        format!("{}: {}{open}", entry.from, page_name(entry.page))
                    })
                    .collect();
                return Err(format!(
                    "no moment from {} to {} fits: slot {number} gives {}, and held {}",
                    self.earliest,
                    self.now,
                    name(seen),
                    history.join(", ")
                ));
            }
        }
        if seen.contains(&None) {
            self.possible = fitting;
            return Ok(());
        }
        for (number, seen) in seen.iter().enumerate() {
            let base = match *seen {
                Some(SlotContent::Page(page)) => page,
                Some(SlotContent::Corrupt) => self.lost(number as u32, &fitting),
                _ => EMPTY,
            };
            self.slots[number].base = base;
        }
        for slot in std::mem::take(&mut self.changed) {
            self.slots[slot as usize].entries.clear();
        }
        self.now = 0;
        self.earliest = 0;
        self.possible.clear();
        if self.doomed.len() > 4096 {
            let slots = &self.slots;
            self.doomed.retain(|(slot, page)| [LOST, *page].contains(&slots[*slot as usize].base));
        }
        Ok(())
    }

    /// Returns the page that reads as corrupt, or [`LOST`] if several are possible.
    fn lost(&self, number: u32, fitting: &[bool]) -> u32 {
        let slot = &self.slots[number as usize];
        let mut corrupt = None;
        let mut entries = vec![SlotEntry { from: 0, page: slot.base, open: false }];
        entries.extend(&slot.entries);
        for (at, entry) in entries.iter().enumerate() {
            let end = end_of(&entries[at + 1..], fitting.len());
            if !fitting[entry.from as usize..end].contains(&true)
                || !self.fits(number, entry.page, SlotContent::Corrupt)
            {
                continue;
            }
            if corrupt.is_some_and(|page| page != entry.page) {
                return LOST;
            }
            corrupt = Some(entry.page);
        }
        corrupt.unwrap_or(LOST)
    }
}

/// Returns the moment at which an entry ends, from the `later` ones.
fn end_of(later: &[SlotEntry], moments: usize) -> usize {
    later.iter().find(|later| !later.open).map_or(moments, |later| later.from as usize)
}

fn page_name(page: u32) -> String {
    match page {
        EMPTY => "nothing".into(),
        LOST => "a lost page".into(),
        number => format!("page {number}"),
    }
}

pub fn name(seen: SlotContent) -> String {
    match seen {
        SlotContent::Page(number) => page_name(number),
        SlotContent::Empty => page_name(EMPTY),
        SlotContent::Corrupt => "CORRUPT".into(),
        SlotContent::Wrong => "WRONG BYTES as right".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: u32) -> Option<SlotContent> {
        Some(SlotContent::Page(number))
    }

    #[test]
    fn all_slots_are_as_at_one_moment() {
        let mut model = Model::new(2);
        model.begin(0, 10);
        model.begin(1, 11);
        model.begin(0, 12);
        assert!(model.mounted(&[page(12), Some(SlotContent::Empty)]).is_err());
        assert!(model.mounted(&[page(10), page(11)]).is_ok());
        // The state of the mount is the certain one now.
        assert!(model.mounted(&[page(12), page(11)]).is_err());
        assert!(model.mounted(&[page(10), Some(SlotContent::Corrupt)]).is_err());
    }

    #[test]
    fn a_sync_and_what_was_served_stay() {
        let mut model = Model::new(2);
        model.begin(0, 10);
        model.begin(1, 11);
        model.synced();
        model.begin(0, 12);
        assert!(model.mounted(&[page(10), Some(SlotContent::Empty)]).is_err());
        assert!(model.mounted(&[page(12), None]).is_ok());
        assert!(model.mounted(&[page(10), page(11)]).is_err());
        assert!(model.mounted(&[page(12), page(11)]).is_ok());
    }

    #[test]
    fn a_call_that_failed_is_open() {
        let mut model = Model::new(1);
        model.begin(0, 10);
        model.begin(0, 11);
        model.leave_open(0);
        assert!(model.read(0, SlotContent::Page(10)));
        assert!(!model.read(0, SlotContent::Page(11)));
        model.begin(0, 12);
        model.leave_open(0);
        assert!(model.read(0, SlotContent::Page(12)));
        assert!(!model.read(0, SlotContent::Page(10)));
    }

    #[test]
    fn only_what_was_in_a_lost_page_is_corrupt() {
        let mut model = Model::new(2);
        model.begin(0, 10);
        model.begin(1, 11);
        model.doom(|_, page| page == 11);
        assert!(!model.read(0, SlotContent::Corrupt));
        assert!(model.read(1, SlotContent::Corrupt));
        assert!(model.mounted(&[page(10), Some(SlotContent::Corrupt)]).is_ok());
        assert!(model.mounted(&[page(10), Some(SlotContent::Empty)]).is_err());
    }
}
