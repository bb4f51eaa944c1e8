//! Pages in the order of their last use, searched and moved a row at a time.

use pulp::NullaryFnOnce;

use super::NOT_FOUND;
#[cfg(target_arch = "x86_64")]
use super::rows::{Avx2Of16, Avx2Of32, Avx512Of16, Avx512Of32};
use super::rows::{OrderRow, Plain16, Plain32, VectorUnit};
use crate::pager::Page;

/// The number of entries kept in order; the depths of pages below them are found by counting.
const NEAR: usize = 1024;
/// The most lanes of a row. The number of near entries is a multiple of it.
const MOST_LANES: usize = 32;

/// Pages in the order of use, the page used last first.
pub struct UseOrder {
    processor: VectorUnit,
    near: NearEntries,
    far: FarPages,
}

/// The near pages, in the smallest entries that hold their numbers.
enum NearEntries {
    /// Page numbers below 2¹⁶ − 1.
    Short(Entries<u16>),
    /// Larger page numbers.
    Long(Entries<u32>),
}

/// The pages used last, in order, filled up to a whole row with entries that are no page.
struct Entries<T> {
    entries: Vec<T>,
    length: usize,
}

/// A page number as an entry.
trait Entry: Copy + Default {
    /// The entry that is no page.
    const NONE: Self;
    /// The entry of a page.
    fn of(page: Page) -> Self;
    /// The page of an entry.
    fn page(self) -> Page;
}

impl Entry for u16 {
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn of(page: Page) -> Self {
        page as Self
    }

    #[inline(always)]
    fn page(self) -> Page {
        self.into()
    }
}

impl Entry for u32 {
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn of(page: Page) -> Self {
        page
    }

    #[inline(always)]
    fn page(self) -> Page {
        self
    }
}

impl UseOrder {
    /// Creates an empty order for depths below `deepest` and pages below `pages`.
    pub fn new(deepest: usize, pages: u32, processor: VectorUnit) -> Self {
        let room = deepest.clamp(1, NEAR).next_multiple_of(2 * MOST_LANES);
        let near = if pages <= u32::from(u16::NONE) {
            NearEntries::Short(Entries { entries: vec![u16::NONE; room], length: 0 })
        } else {
            NearEntries::Long(Entries { entries: vec![u32::NONE; room], length: 0 })
        };
        Self { processor, near, far: FarPages::new(pages, deepest > room) }
    }

    /// For each of `wanted` take it out, and let the one beside it of `inserted` come first.
    /// Writes how many pages were used after each of `wanted`; [`NOT_FOUND`] for one that is
    /// too deep, or not here.
    pub fn exchange(&mut self, wanted: &[Page], inserted: &[Page], depths: &mut Vec<u32>) {
        depths.clear();
        depths.resize(wanted.len(), NOT_FOUND);
        let Self { processor, near, far } = self;
        macro_rules! exchange {
            ($near:expr, $row:expr, $head:literal) => {
                ExchangePass::<_, $head> { row: $row, near: $near, far, wanted, inserted, depths }
            };
        }
        match (processor, near) {
            #[cfg(target_arch = "x86_64")]
            (VectorUnit::Avx512(simd), NearEntries::Short(near)) => {
                simd.vectorize(exchange!(near, Avx512Of16(*simd), 2));
            }
            #[cfg(target_arch = "x86_64")]
            (VectorUnit::Avx512(simd), NearEntries::Long(near)) => {
                simd.vectorize(exchange!(near, Avx512Of32(*simd), 4));
            }
            #[cfg(target_arch = "x86_64")]
            (VectorUnit::Avx2(simd), NearEntries::Short(near)) => {
                simd.vectorize(exchange!(near, Avx2Of16(*simd), 4));
            }
            #[cfg(target_arch = "x86_64")]
            (VectorUnit::Avx2(simd), NearEntries::Long(near)) => {
                simd.vectorize(exchange!(near, Avx2Of32(*simd), 4));
            }
            (VectorUnit::Any, NearEntries::Short(near)) => exchange!(near, Plain16, 2).call(),
            (VectorUnit::Any, NearEntries::Long(near)) => exchange!(near, Plain32, 2).call(),
        }
    }
}

/// A pass of exchanges over a block, with the first `HEAD` rows in registers.
struct ExchangePass<'a, R: OrderRow<Entry: Entry>, const HEAD: usize> {
    row: R,
    near: &'a mut Entries<R::Entry>,
    far: &'a mut FarPages,
    wanted: &'a [Page],
    inserted: &'a [Page],
    depths: &'a mut [u32],
}

impl<R: OrderRow<Entry: Entry>, const HEAD: usize> NullaryFnOnce for ExchangePass<'_, R, HEAD> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { row, near, far, wanted, inserted, depths } = self;
        let mut head = [row.splat(R::Entry::NONE); HEAD];
        for (head, entries) in head.iter_mut().zip(near.entries.chunks_exact(R::LANES)) {
            *head = row.load(entries);
        }
        for ((&wanted, &inserted), depth) in wanted.iter().zip(inserted).zip(depths) {
            let key = row.splat(R::Entry::of(wanted));
            let mut above = row.splat(R::Entry::of(inserted));
            let mut moved = head;
            let mut bits = 0;
            for (index, moved) in moved.iter_mut().enumerate() {
                let here = *moved;
                bits |= row.matches(here, key) << (index * R::LANES);
                *moved = row.moved_on(above, here);
                above = here;
            }
            if bits == 0 {
                head = moved;
                *depth = exchange_below::<R, HEAD>(row, near, far, above, wanted);
                continue;
            }
            let passed = bits ^ (bits - 1);
            for (index, (head, moved)) in head.iter_mut().zip(moved).enumerate() {
                *head = row.choose(passed >> (index * R::LANES), moved, *head);
            }
            *depth = bits.trailing_zeros();
        }
        for (head, entries) in head.into_iter().zip(near.entries.chunks_exact_mut(R::LANES)) {
            row.store(head, entries);
        }
    }
}

/// Continues an exchange below the first `HEAD` rows, the last of which was `above`. Returns the
/// depth.
#[inline(always)]
fn exchange_below<R: OrderRow<Entry: Entry>, const HEAD: usize>(
    row: R,
    near: &mut Entries<R::Entry>,
    far: &mut FarPages,
    mut above: R::Vector,
    wanted: Page,
) -> u32 {
    let key = row.splat(R::Entry::of(wanted));
    let rows = near.entries.chunks_exact_mut(R::LANES).enumerate();
    for (index, entries) in rows.take(near.length / R::LANES + 1).skip(HEAD) {
        let here = row.load(entries);
        let bits = row.matches(here, key);
        let moved = row.moved_on(above, here);
        if bits != 0 {
            row.store(row.choose(bits ^ (bits - 1), moved, here), entries);
            return (index * R::LANES) as u32 + bits.trailing_zeros();
        }
        row.store(moved, entries);
        above = here;
    }
    let rank = far.take(wanted);
    let depth = rank.map_or(NOT_FOUND, |rank| (near.length + rank) as u32);
    // The last entry of all rows fell out.
    if near.length < near.entries.len() {
        near.length += 1;
    } else {
        let mut last = [R::Entry::NONE; MOST_LANES];
        row.store(above, &mut last);
        far.put(last[R::LANES - 1].page());
    }
    depth
}

/// Pages that are not among the near ones, in the order in which they left those. Each moment at
/// which a page came has a bit, which is set until the page is taken out.
struct FarPages {
    /// By page, the moment it came + 1; 0 for a page that is not here.
    place: Vec<u32>,
    /// True if ranks are needed. Otherwise pages that leave the near ones are forgotten.
    ranks: bool,
    /// By moment, the page that came.
    pages: Vec<Page>,
    is_here: Vec<u64>,
    /// The number of bits set in each block of words.
    in_block: Vec<u32>,
    count: usize,
}

impl FarPages {
    const WORDS_OF_BLOCK: usize = 64;
    /// The moments that pass before compacting is worthwhile.
    const SPARE: usize = 1 << 15;

    fn new(pages: u32, ranks: bool) -> Self {
        Self {
            place: vec![0; if ranks { pages as usize } else { 0 }],
            ranks,
            pages: Vec::new(),
            is_here: Vec::new(),
            in_block: Vec::new(),
            count: 0,
        }
    }

    /// Takes `page` out. Returns the number of pages that came later.
    fn take(&mut self, page: Page) -> Option<usize> {
        let last_moment = std::mem::take(self.place.get_mut(page as usize)?);
        let moment = last_moment.checked_sub(1)? as usize;
        let word = moment / 64;
        let bit = 1u64 << (moment % 64);
        let block = word / Self::WORDS_OF_BLOCK;
        let end = ((block + 1) * Self::WORDS_OF_BLOCK).min(self.is_here.len());
        let ones =
            |words: &[u64]| words.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let rank = (self.is_here[word] & !(bit | (bit - 1))).count_ones() as usize
            + ones(&self.is_here[word + 1..end])
            + self.in_block[block + 1..].iter().map(|count| *count as usize).sum::<usize>();
        self.is_here[word] &= !bit;
        self.in_block[block] -= 1;
        self.count -= 1;
        Some(rank)
    }

    /// Takes in `page`, which left the near ones.
    fn put(&mut self, page: Page) {
        if !self.ranks {
            return;
        }
        if self.pages.len() > 2 * self.count + Self::SPARE {
            self.close_up();
        }
        let moment = self.pages.len();
        self.pages.push(page);
        if moment / 64 == self.is_here.len() {
            self.is_here.push(0);
        }
        let block = moment / 64 / Self::WORDS_OF_BLOCK;
        if block == self.in_block.len() {
            self.in_block.push(0);
        }
        self.is_here[moment / 64] |= 1 << (moment % 64);
        self.in_block[block] += 1;
        self.count += 1;
        self.place[page as usize] = moment as u32 + 1;
    }

    /// Compacts: forgets the moments whose pages were taken out.
    fn close_up(&mut self) {
        let pages = std::mem::take(&mut self.pages);
        let is_here = std::mem::take(&mut self.is_here);
        self.in_block.clear();
        self.count = 0;
        for (moment, page) in pages.into_iter().enumerate() {
            if is_here[moment / 64] >> (moment % 64) & 1 == 1 {
                self.put(page);
            }
        }
    }
}
