//! Lists of pages by age, both of pages in frames and of ghosts: pages remembered after their
//! eviction.

use super::table::PageTable;
use super::{Page, Shape};

/// The number of a page or a ghost, from 0. It is reused after the page is forgotten.
pub(super) type Slot = u32;

/// The slots of pages in frames and of ghosts.
pub(super) struct Slots {
    table: PageTable,
    pages: Vec<Page>,
    free: Vec<Slot>,
}

impl Slots {
    pub(super) fn new(shape: Shape) -> Self {
        Self { table: PageTable::new(shape), pages: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(super) fn slot_of(&self, page: Page) -> Option<Slot> {
        self.table.frame_of(page)
    }

    pub(super) fn add(&mut self, page: Page) -> Slot {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.pages[slot as usize] = page;
                slot
            }
            None => {
                self.pages.push(page);
                self.pages.len() as Slot - 1
            }
        };
        self.table.insert(page, slot);
        slot
    }

    #[inline]
    pub(super) fn page_of(&self, slot: Slot) -> Page {
        self.pages[slot as usize]
    }

    /// Frees a slot. Returns its page.
    pub(super) fn forget(&mut self, slot: Slot) -> Page {
        let page = self.pages[slot as usize];
        self.table.remove(page);
        self.free.push(slot);
        page
    }
}

/// `N` doubly linked lists of slots in the order they were pushed. A slot is in at most one of
/// them.
pub(super) struct Lists<const N: usize> {
    /// The links. The first `N` close each list to a ring, so that no link is ever absent; slot 0
    /// follows them.
    links: Vec<Link>,
    lengths: [usize; N],
}

#[derive(Clone, Copy)]
struct Link {
    older: u32,
    newer: u32,
    /// The list of the slot; `N` for a slot in none.
    list: u32,
}

impl<const N: usize> Lists<N> {
    pub(super) fn new() -> Self {
        let close = |list| Link { older: list, newer: list, list };
        Self { links: (0..N as u32).map(close).collect(), lengths: [0; N] }
    }

    #[inline]
    pub(super) fn len(&self, list: usize) -> usize {
        self.lengths[list]
    }

    #[inline]
    pub(super) fn list_of(&self, slot: Slot) -> Option<usize> {
        let list = self.links.get(slot as usize + N)?.list as usize;
        (list < N).then_some(list)
    }

    #[inline]
    pub(super) fn oldest(&self, list: usize) -> Option<Slot> {
        self.links[list].newer.checked_sub(N as u32)
    }

    /// The slots of `list`, the oldest first.
    pub(super) fn oldest_first(&self, list: usize) -> impl Iterator<Item = Slot> {
        let slot_at = |at: u32| at.checked_sub(N as u32);
        std::iter::successors(self.oldest(list), move |slot| {
            slot_at(self.links[*slot as usize + N].newer)
        })
    }

    /// Puts a slot that is in no list at the new end of `list`.
    #[inline]
    pub(super) fn push(&mut self, list: usize, slot: Slot) {
        let at = slot as usize + N;
        if at >= self.links.len() {
            let unlinked = Link { older: 0, newer: 0, list: N as u32 };
            self.links.resize(at + 1, unlinked);
        }
        let newest = self.links[list].older;
        self.links[at] = Link { older: newest, newer: list as u32, list: list as u32 };
        self.links[newest as usize].newer = at as u32;
        self.links[list].older = at as u32;
        self.lengths[list] += 1;
    }

    /// Takes a slot out of its list.
    #[inline]
    pub(super) fn remove(&mut self, slot: Slot) {
        let link = &mut self.links[slot as usize + N];
        let Link { older, newer, list } = *link;
        link.list = N as u32;
        self.links[newer as usize].older = older;
        self.links[older as usize].newer = newer;
        self.lengths[list as usize] -= 1;
    }

    /// Moves a slot from its list to the new end of `list`.
    #[inline]
    pub(super) fn renew(&mut self, list: usize, slot: Slot) {
        self.remove(slot);
        self.push(list, slot);
    }

    /// Takes the oldest slot out of `list`.
    pub(super) fn pop(&mut self, list: usize) -> Option<Slot> {
        let slot = self.oldest(list)?;
        self.remove(slot);
        Some(slot)
    }
}
