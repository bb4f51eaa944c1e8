//! LRU and MIN at all sizes in one pass.
//!
//! Both have the inclusion property (Mattson et al. 1970): the pages of all
//! caches at once are a stack, of which a cache of n frames holds the first n. A
//! reference hits in the caches larger than its page's depth in the stack.

use std::ops::Range;

use flashpager_base::Result;
use wide::{CmpEq, CmpLt, i16x16, i32x8};

use super::{AllSizes, Moment, NEVER, Outcome, Page, Parameter};

/// Entries of the stack kept in order, to be searched; those below are found by
/// counting.
const NEAR: usize = 1024;

/// How many of the sizes miss, by depth.
struct MissesByDepth {
    /// At each depth the number of sizes no larger; deeper than the last: all.
    by_depth: Vec<u32>,
    sizes: usize,
}

impl MissesByDepth {
    fn new(frames: &[u32]) -> Self {
        let deepest = frames.last().map_or(0, |frames| *frames as usize);
        let mut by_depth = Vec::with_capacity(deepest);
        for (size, frames) in frames.iter().enumerate() {
            by_depth.resize(*frames as usize, size as u32);
        }
        Self { by_depth, sizes: frames.len() }
    }

    #[inline]
    fn at(&self, depth: usize) -> usize {
        self.by_depth.get(depth).map_or(self.sizes, |misses| *misses as usize)
    }
}

/// LRU: the stack is the order of last use.
pub struct LruStack {
    misses: MissesByDepth,
    order: Order,
}

enum Order {
    /// Page numbers below 2¹⁶.
    Short(UseOrder<i16>),
    Long(UseOrder<i32>),
}

impl AllSizes for LruStack {
    const INCLUSION: bool = true;

    fn bytes_per_page(_: usize) -> usize {
        size_of::<u32>()
    }

    fn new(frames: &[u32], pages: u32, _: &[Parameter]) -> Result<Self> {
        let deepest = frames.last().map_or(0, |frames| *frames as usize);
        let order = if pages <= 1 << 16 {
            Order::Short(UseOrder::new(deepest, pages))
        } else {
            Order::Long(UseOrder::new(deepest, pages))
        };
        Ok(Self { misses: MissesByDepth::new(frames), order })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment, mut tell: impl FnMut(Range<usize>, Outcome)) {
        let depth = match &mut self.order {
            Order::Short(order) => order.touch(page as i16, page),
            Order::Long(order) => order.touch(page as i32, page),
        };
        let misses = self.misses.at(depth);
        if misses > 0 {
            tell(0..misses, Outcome::miss(0, None));
        }
    }
}

/// MIN: a page's place in the stack is found by its next use, which is now. On
/// the way down to the place that becomes free, of two pages the one used sooner
/// stays and the other goes on.
///
/// Which of several pages that are never used again is evicted first is of no
/// consequence: none of them is ever missed.
pub struct MinStack {
    misses: MissesByDepth,
    deepest: usize,
    now: Moment,
    /// Next uses of `length` pages, then [`NEVER`] up to a multiple of the lanes.
    next_uses: Vec<i32>,
    length: usize,
}

impl AllSizes for MinStack {
    const INCLUSION: bool = true;

    fn bytes_per_page(_: usize) -> usize {
        0
    }

    fn new(frames: &[u32], _: u32, _: &[Parameter]) -> Result<Self> {
        let deepest = frames.last().map_or(0, |frames| *frames as usize);
        let misses = MissesByDepth::new(frames);
        Ok(Self { misses, deepest, now: 0, next_uses: Vec::new(), length: 0 })
    }

    #[inline]
    fn reference(
        &mut self,
        _: Page,
        next_use: Moment,
        mut tell: impl FnMut(Range<usize>, Outcome),
    ) {
        let found = position(&self.next_uses, self.now as i32);
        self.now += 1;
        let depth = found.unwrap_or(self.length);
        // The page itself comes to the top, however late it is used again.
        let (top, below) = match self.next_uses[..depth].split_first_mut() {
            Some((top, below)) => (std::mem::replace(top, next_use as i32), below),
            None => (next_use as i32, Default::default()),
        };
        let mut falling = top as Moment;
        for place in below {
            let here = *place as Moment;
            *place = falling.min(here) as i32;
            falling = falling.max(here);
        }
        if found.is_some() {
            self.next_uses[depth] = falling as i32;
        } else if depth < self.deepest && (falling != NEVER || depth == 0) {
            self.push(falling);
        }
        let misses = found.map_or(self.misses.sizes, |depth| self.misses.at(depth));
        if misses > 0 {
            tell(0..misses, Outcome::miss(0, None));
        }
    }
}

impl MinStack {
    #[inline]
    fn push(&mut self, next_use: Moment) {
        if self.length == self.next_uses.len() {
            self.next_uses.resize(self.length + i32::LANES, NEVER as i32);
        }
        self.next_uses[self.length] = next_use as i32;
        self.length += 1;
    }
}

/// An integer that is searched for, and moved, many at a time. Signs do not
/// matter: pages are only compared for equality.
trait Lane: Copy + Default {
    /// How many at a time.
    const LANES: usize;
    /// A bit for each of the first [`Lane::LANES`] of `among` that equals `wanted`.
    fn matches(among: &[Self], wanted: Self) -> u32;
    /// Move the first `count` of the first [`Lane::LANES`] on by one place.
    fn move_on(places: &mut [Self], count: usize);
    fn page(self) -> Page;
}

macro_rules! lane {
    ($int:ty, $unsigned:ty, $vector:ident, $lanes:literal) => {
        impl Lane for $int {
            const LANES: usize = $lanes;

            #[inline]
            fn matches(among: &[Self], wanted: Self) -> u32 {
                let mut lanes = [0; $lanes];
                lanes.copy_from_slice(&among[..$lanes]);
                $vector::new(lanes).cmp_eq($vector::splat(wanted)).move_mask() as u32
            }

            #[inline]
            fn move_on(places: &mut [Self], count: usize) {
                let (mut here, mut behind) = ([0; $lanes], [0; $lanes]);
                here.copy_from_slice(&places[..$lanes]);
                behind.copy_from_slice(&places[1..$lanes + 1]);
                let index = $vector::new(std::array::from_fn(|index| index as $int));
                let moves = index.cmp_lt($vector::splat(count as $int));
                let moved = moves.blend($vector::new(here), $vector::new(behind));
                places[1..$lanes + 1].copy_from_slice(&moved.to_array());
            }

            #[inline]
            fn page(self) -> Page {
                Page::from(self as $unsigned)
            }
        }
    };
}

lane!(i16, u16, i16x16, 16);
lane!(i32, u32, i32x8, 8);

/// Where `wanted` stands in `among`, whose length is a multiple of the lanes.
#[inline]
fn position<T: Lane>(among: &[T], wanted: T) -> Option<usize> {
    for (index, chunk) in among.chunks_exact(T::LANES).enumerate() {
        let found = T::matches(chunk, wanted);
        if found != 0 {
            return Some(index * T::LANES + found.trailing_zeros() as usize);
        }
    }
    None
}

/// Pages in order of their last use.
struct UseOrder<T> {
    /// A place for the newcomer, then the last used, newest first: `length`
    /// pages, and leftovers up to a multiple of the lanes.
    near: Vec<T>,
    length: usize,
    /// Most pages in `near`; what falls out goes to `far`.
    capacity: usize,
    far: Far,
}

impl<T: Lane> UseOrder<T> {
    /// For depths below `deepest` and pages below `pages`.
    fn new(deepest: usize, pages: u32) -> Self {
        let capacity = deepest.min(NEAR);
        let filler = T::default();
        Self {
            near: vec![filler; capacity.next_multiple_of(T::LANES) + 1],
            length: 0,
            capacity,
            far: Far::new(pages, deepest > NEAR),
        }
    }

    /// Make `page` the newest. Gives how many pages were newer, beyond all depths
    /// for one that is too deep or was never used.
    #[inline]
    fn touch(&mut self, key: T, page: Page) -> usize {
        // Most are found at once; of others it is cheaper to ask first.
        let stack = &self.near[1..];
        let shallow = stack.len().min(2 * T::LANES);
        let mut found = position(&stack[..shallow], key).filter(|depth| *depth < self.length);
        if found.is_none() && self.length > shallow && self.far.is_near(page) {
            found = position(&stack[shallow..], key).map(|depth| shallow + depth);
        }
        match found {
            Some(depth) => {
                self.come_first(key, depth);
                depth
            }
            None => self.come_near(key, page),
        }
    }

    /// Put `key` first; those before `depth` move on.
    #[inline]
    fn come_first(&mut self, key: T, depth: usize) {
        self.near[0] = key;
        let last = depth / T::LANES * T::LANES;
        T::move_on(&mut self.near[last..], depth - last + 1);
        for chunk in (0..last).step_by(T::LANES).rev() {
            T::move_on(&mut self.near[chunk..], T::LANES);
        }
    }

    #[inline(never)]
    fn come_near(&mut self, key: T, page: Page) -> usize {
        let depth = self.far.take(page).map_or(usize::MAX, |rank| self.capacity + rank);
        if self.length < self.capacity {
            self.length += 1;
        } else {
            self.far.put(self.near[self.length].page());
        }
        self.come_first(key, self.length - 1);
        depth
    }
}

/// Pages that are not among the nearest, in the order in which they left those:
/// a bit for each moment at which one left that has not come back since.
struct Far {
    /// By page: 0 for one never seen, [`Far::NEAR`], or the moment it left + 2.
    place: Vec<u32>,
    /// Whether ranks are wanted; else pages that leave are forgotten.
    ranks: bool,
    /// By moment.
    pages: Vec<Page>,
    is_here: Vec<u64>,
    /// Bits set in each block of words.
    in_block: Vec<u32>,
    count: usize,
}

impl Far {
    const NEAR: u32 = 1;
    const WORDS_OF_BLOCK: usize = 64;
    /// Moments to let pass before it is worth closing up.
    const SPARE: usize = 1 << 15;

    fn new(pages: u32, ranks: bool) -> Self {
        Self {
            place: vec![0; pages as usize],
            ranks,
            pages: Vec::new(),
            is_here: Vec::new(),
            in_block: Vec::new(),
            count: 0,
        }
    }

    #[inline]
    fn is_near(&self, page: Page) -> bool {
        self.place[page as usize] == Self::NEAR
    }

    /// Let `page` go to the nearest. Gives how many pages here left them later.
    fn take(&mut self, page: Page) -> Option<usize> {
        let place = std::mem::replace(&mut self.place[page as usize], Self::NEAR);
        let moment = place.checked_sub(2)? as usize;
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

    /// `page` has left the nearest.
    fn put(&mut self, page: Page) {
        if !self.ranks {
            self.place[page as usize] = 0;
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
        self.place[page as usize] = moment as u32 + 2;
    }

    /// Forget the moments whose pages came back.
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
