//! The next uses of pages in the order of MIN's stack, through which new entries fall.

use pulp::NullaryFnOnce;

use super::NOT_FOUND;
#[cfg(target_arch = "x86_64")]
use super::rows::{Avx2Of32, Avx512Of32};
use super::rows::{FallingRow, Plain32, VectorUnit};
use crate::pager::{Moment, NEVER};

/// The maximum number of lanes of a row.
const MOST_LANES: usize = 16;

/// Next uses in the order of MIN's stack. A free place holds [`NEVER`], and so does a page that is
/// not used again, because no reference will look for it.
pub struct NextUses {
    processor: VectorUnit,
    entries: Vec<Moment>,
    /// The maximum number of entries, in whole rows.
    room: usize,
}

impl NextUses {
    /// Creates an empty list for depths below `deepest`.
    pub fn new(deepest: usize, processor: VectorUnit) -> Self {
        let room = deepest.max(1).next_multiple_of(MOST_LANES);
        Self { processor, entries: vec![NEVER; MOST_LANES], room }
    }

    /// Processes references one after another. `wanted` has the moment of each reference, and
    /// `falling` the next use of a page that enters the stack with it. The page whose next use is
    /// that moment is taken out, and the entering page falls to the free place. Writes the depth of
    /// each page taken out; [`NOT_FOUND`] if it is too deep or absent.
    pub fn sink(&mut self, wanted: &[Moment], falling: &[Moment], depths: &mut Vec<u32>) {
        depths.clear();
        depths.resize(wanted.len(), NOT_FOUND);
        let Self { processor, entries, room } = self;
        macro_rules! sink {
            ($row:expr) => {
                SinkPass { row: $row, entries, room: *room, wanted, falling, depths }
            };
        }
        match processor {
            #[cfg(target_arch = "x86_64")]
            VectorUnit::Avx512(simd) => simd.vectorize(sink!(Avx512Of32(*simd))),
            #[cfg(target_arch = "x86_64")]
            VectorUnit::Avx2(simd) => simd.vectorize(sink!(Avx2Of32(*simd))),
            VectorUnit::Any => sink!(Plain32).call(),
        }
    }
}

/// A pass of [`NextUses::sink`] over a block, with the first row in a register.
struct SinkPass<'a, R> {
    row: R,
    entries: &'a mut Vec<Moment>,
    room: usize,
    wanted: &'a [Moment],
    falling: &'a [Moment],
    depths: &'a mut [u32],
}

impl<R: FallingRow> NullaryFnOnce for SinkPass<'_, R> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { row, entries, room, wanted, falling, depths } = self;
        let mut head = row.load(entries);
        for ((&wanted, &falling), depth) in wanted.iter().zip(falling).zip(depths) {
            let wanted = row.splat(wanted);
            let (here, mut falling, bits) = row.sink(head, row.splat(falling), wanted);
            head = here;
            if bits != 0 {
                *depth = bits.trailing_zeros();
                continue;
            }
            let mut is_found = false;
            for (index, entries) in entries.chunks_exact_mut(R::LANES).enumerate().skip(1) {
                let (here, out, bits) = row.sink(row.load(entries), falling, wanted);
                row.store(here, entries);
                falling = out;
                if bits != 0 {
                    *depth = (index * R::LANES) as u32 + bits.trailing_zeros();
                    is_found = true;
                    break;
                }
            }
            let last = row.entry(falling);
            if !is_found && last != NEVER && entries.len() < room {
                entries.push(last);
                entries.resize(entries.len().next_multiple_of(MOST_LANES), NEVER);
            }
        }
        row.store(head, entries);
    }
}
