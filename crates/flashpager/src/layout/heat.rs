//! Heat: how much of each page of an image is executed, and which units lie there.

use std::collections::{BTreeMap, BTreeSet};

use flashpager_layout::PieceSequence;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// An executed page of an image.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageHeat {
    /// Its number: its offset divided by the page size.
    pub page: u32,
    /// Executed bytes of the page, counted at each execution and weighted by trace.
    pub executed_bytes: f64,
    /// Numbers of the units that execute something in it.
    pub units: Vec<u32>,
}

/// Consecutive bytes of a unit that are executed equally often.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ExecutedRange {
    unit: u32,
    start: u32,
    bytes: u32,
    times: f64,
}

/// The number of executions of each byte of each unit.
#[derive(Clone, Debug)]
pub struct Heat(Vec<ExecutedRange>);

impl Heat {
    /// The heat of sequences, each with its weight.
    pub fn of<'a>(sequences: impl IntoIterator<Item = (&'a PieceSequence, f64)>) -> Self {
        let mut stretches = Vec::new();
        for (sequence, weight) in sequences {
            let mut executed = vec![0i64; sequence.pieces.len()];
            sequence.executed.iter().for_each(|piece| executed[*piece as usize] += 1);
            // For each byte the number of its executions, less that of the byte before.
            let mut change: BTreeMap<(u32, u32), i64> = BTreeMap::new();
            for (piece, times) in sequence.pieces.iter().zip(executed) {
                *change.entry((piece.unit, piece.start)).or_default() += times;
                *change.entry((piece.unit, piece.start + piece.bytes)).or_default() -= times;
            }
            let mut times = 0;
            let mut change = change.into_iter().peekable();
            while let Some(((unit, start), more)) = change.next() {
                times += more;
                let Some(((_, end), _)) = change.peek().filter(|_| times > 0) else { continue };
                let times = weight * times as f64;
                stretches.push(ExecutedRange { unit, start, bytes: end - start, times });
            }
        }
        Self(stretches)
    }

    /// The executed pages of an image in which units lie at `offsets`, by their numbers.
    pub fn pages(&self, page_bytes: u32, offsets: &[u32]) -> Vec<PageHeat> {
        let mut pages: FxHashMap<u32, (f64, BTreeSet<u32>)> = FxHashMap::default();
        let page_bytes = u64::from(page_bytes);
        for stretch in &self.0 {
            let start = offsets[stretch.unit as usize] + stretch.start;
            // The end of the last page is 4 GiB.
            let (mut at, end) = (u64::from(start), u64::from(start) + u64::from(stretch.bytes));
            while at < end {
                let page = at / page_bytes;
                let next = end.min((page + 1) * page_bytes);
                let (executed, units) = pages.entry(page as u32).or_default();
                *executed += stretch.times * (next - at) as f64;
                units.insert(stretch.unit);
                at = next;
            }
        }
        let page_heat = |(page, (executed_bytes, units)): (u32, (f64, BTreeSet<u32>))| PageHeat {
            page,
            executed_bytes,
            units: units.into_iter().collect(),
        };
        let mut pages: Vec<PageHeat> = pages.into_iter().map(page_heat).collect();
        pages.sort_by_key(|page| page.page);
        pages
    }
}

#[cfg(test)]
mod tests {
    use flashpager_layout::Piece;
    use proptest::prelude::*;

    use super::*;

    fn pieces() -> impl Strategy<Value = PieceSequence> {
        let piece = (0u32..4, 0u32..60, 1u32..40);
        let piece = piece.prop_map(|(unit, start, bytes)| Piece { unit, start, bytes });
        let all = prop::collection::vec(piece, 1..9);
        (all, prop::collection::vec(any::<prop::sample::Index>(), 0..40)).prop_map(
            |(pieces, executed)| {
                let executed = executed.iter().map(|one| one.index(pieces.len()) as u32).collect();
                PieceSequence { pieces, executed, ..PieceSequence::default() }
            },
        )
    }

    proptest! {
        /// Pages are as hot as their bytes, counted one by one.
        #[test]
        fn each_byte_counts_where_it_lies(
            (one, other) in (pieces(), pieces()),
            offsets in prop::array::uniform4(0u32..500),
        ) {
            let mut expected: BTreeMap<u32, (f64, BTreeSet<u32>)> = BTreeMap::new();
            for (sequence, weight) in [(&one, 1.0), (&other, 3.0)] {
                for piece in sequence.iter() {
                    let start = offsets[piece.unit as usize] + piece.start;
                    for at in start..start + piece.bytes {
                        let (bytes, units) = expected.entry(at / 32).or_default();
                        *bytes += weight;
                        units.insert(piece.unit);
                    }
                }
            }
            let pages = Heat::of([(&one, 1.0), (&other, 3.0)]).pages(32, &offsets);
            let pages: BTreeMap<u32, (f64, BTreeSet<u32>)> = pages
                .into_iter()
                .map(|page| (page.page, (page.executed_bytes, page.units.into_iter().collect())))
                .collect();
            prop_assert_eq!(pages, expected);
        }
    }
}
