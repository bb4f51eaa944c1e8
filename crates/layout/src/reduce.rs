//! Dropping executions that cannot change a count of LRU, in any layout.
//!
//! Let a piece be executed at p, t and n, and not in between. Let all code that is executed from p
//! to n lie in at most as many cache pages as there are frames, in every layout. Then every page
//! that is referenced again between p and n hits, with t or without it, because fewer pages than
//! frames lie between the two references. Behind n, t is never the last reference to its page,
//! because n is. So t changes no miss and can be dropped; then the next execution may be dropped
//! against p, too.

use crate::sequence::PieceSequence;

/// No number, or never.
const NONE: u32 = u32::MAX;

/// A sequence without the dropped executions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reduced {
    /// Numbers of the executed pieces.
    pub executed: Vec<u32>,
    /// Number of executions dropped before each.
    pub dropped: Vec<u32>,
}

/// Granules in a list, the last used first. A granule is a part of a unit with the size of a cache
/// page, counted from the start of the unit. Granules bound the number of pages.
struct RecentGranules {
    next: Vec<u32>,
    previous: Vec<u32>,
    first: u32,
    /// Time of the last use of each.
    used: Vec<u32>,
}

impl RecentGranules {
    fn new(granules: usize) -> Self {
        let none = || vec![NONE; granules];
        Self { next: none(), previous: none(), first: NONE, used: none() }
    }

    fn touch(&mut self, granule: u32, now: u32) {
        let place = granule as usize;
        if self.used[place] != NONE && self.first != granule {
            let (before, after) = (self.previous[place], self.next[place]);
            self.next[before as usize] = after;
            if after != NONE {
                self.previous[after as usize] = before;
            }
        }
        if self.first != granule {
            self.next[place] = self.first;
            if self.first != NONE {
                self.previous[self.first as usize] = granule;
            }
            self.previous[place] = NONE;
            self.first = granule;
        }
        self.used[place] = now;
    }

    /// Returns true if all granules used since `since` lie in at most `frames` pages in any layout.
    /// A sequence of k neighbours lies in at most k + 1 pages.
    fn fits(&self, since: u32, frames: u32) -> bool {
        let mut granule = self.first;
        let mut pages = 0;
        while granule != NONE {
            let place = granule as usize;
            let used = self.used[place];
            if used < since {
                return true;
            }
            // Neighbours that were used later are counted already.
            let counted = |neighbour: Option<&u32>| {
                neighbour.is_some_and(|other| *other != NONE && *other > used)
            };
            let neighbours = u32::from(counted(self.used.get(place + 1)))
                + u32::from(place > 0 && counted(self.used.get(place - 1)));
            pages += 2 - neighbours;
            if pages > frames {
                return false;
            }
            granule = self.next[place];
        }
        true
    }
}

/// Drops from `sequence` the executions that cannot change a miss of LRU with `frames` frames of
/// `page_bytes`.
pub(crate) fn reduced(sequence: &PieceSequence, page_bytes: u32, frames: u64) -> Reduced {
    let frames = frames.min(u64::from(u32::MAX / 4)) as u32;
    // A free granule behind each unit keeps units from being neighbours.
    let units = sequence.pieces.iter().map(|piece| piece.unit + 1).max().unwrap_or(0) as usize;
    let mut ends = vec![0u32; units];
    for piece in &sequence.pieces {
        let end = &mut ends[piece.unit as usize];
        *end = (*end).max((piece.start + piece.bytes).div_ceil(page_bytes) + 1);
    }
    let mut starts = Vec::with_capacity(units);
    let mut all = 0u32;
    for end in ends {
        starts.push(all);
        all += end;
    }
    let granules: Vec<(u32, u32)> = sequence
        .pieces
        .iter()
        .map(|piece| {
            let start = starts[piece.unit as usize];
            let last = (piece.start + piece.bytes - 1) / page_bytes;
            (start + piece.start / page_bytes, start + last)
        })
        .collect();
    let mut recent = RecentGranules::new(all as usize);
    let count = sequence.executed.len();
    let mut keep = vec![true; count];
    // For each piece, its last execution that is kept, and a later one that is not decided yet.
    let mut kept = vec![NONE; sequence.pieces.len()];
    let mut open = vec![NONE; sequence.pieces.len()];
    // Each use of a granule has a time of its own.
    let mut now = 0u32;
    let mut begun = vec![0u32; count];
    for (place, &piece) in sequence.executed.iter().enumerate() {
        let number = piece as usize;
        let before = std::mem::replace(&mut open[number], NONE);
        begun[place] = now;
        if before != NONE {
            if recent.fits(begun[kept[number] as usize], frames) {
                keep[before as usize] = false;
            } else {
                kept[number] = before;
            }
        }
        if kept[number] == NONE {
            kept[number] = place as u32;
        } else {
            open[number] = place as u32;
        }
        let (first, last) = granules[number];
        if now > NONE - 1 - (last - first) - 1 {
            // There is no further time: all executions that follow are kept.
            break;
        }
        for granule in first..=last {
            recent.touch(granule, now);
            now += 1;
        }
    }
    let mut reduced = Reduced::default();
    let mut dropped = 0;
    for (&piece, keep) in sequence.executed.iter().zip(keep) {
        if keep {
            reduced.executed.push(piece);
            reduced.dropped.push(std::mem::take(&mut dropped));
        } else {
            dropped += 1;
        }
    }
    reduced
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Piece;

    /// Returns the pages that a plain LRU misses, in order.
    fn misses(
        sequence: &PieceSequence,
        executed: &[u32],
        offsets: &[u32],
        page_bytes: u32,
        frames: usize,
    ) -> Vec<u32> {
        let mut cached: Vec<u32> = Vec::new();
        let mut missed = Vec::new();
        for number in executed {
            let piece = &sequence.pieces[*number as usize];
            let first = offsets[piece.unit as usize] + piece.start;
            for page in first / page_bytes..=(first + piece.bytes - 1) / page_bytes {
                match cached.iter().position(|other| *other == page) {
                    Some(place) => drop(cached.remove(place)),
                    None => {
                        missed.push(page);
                        if cached.len() == frames {
                            cached.remove(0);
                        }
                    }
                }
                cached.push(page);
            }
        }
        missed
    }

    proptest! {
        /// In any layout with any gaps, LRU misses the same pages in the same order.
        #[test]
        fn what_is_dropped_changes_no_miss(
            pieces in prop::collection::vec((0u32..6, 0u32..60, 1u32..40), 1..12),
            executed in prop::collection::vec(prop::sample::Index::arbitrary(), 1..400),
            gaps in prop::collection::vec(0u32..50, 6),
            order in Just((0..6usize).collect::<Vec<_>>()).prop_shuffle(),
            page_bits in 2u32..7,
            frames in 1usize..12,
        ) {
            let pieces: Vec<Piece> = pieces
                .into_iter()
                .map(|(unit, start, bytes)| Piece { unit, start, bytes })
                .collect();
            // Repeated pieces, so that executions can be dropped.
            let executed: Vec<u32> = executed
                .iter()
                .enumerate()
                .flat_map(|(place, index)| {
                    let piece = index.index(pieces.len()) as u32;
                    vec![piece; 1 + place % 3]
                })
                .collect();
            let sequence = PieceSequence { pieces, executed, ..PieceSequence::default() };
            let mut offsets = vec![0; 6];
            let mut at = 0;
            for unit in order {
                at += gaps[unit];
                offsets[unit] = at;
                at += 100;
            }
            let page_bytes = 1 << page_bits;
            let left = reduced(&sequence, page_bytes, frames as u64);
            prop_assert_eq!(
                misses(&sequence, &left.executed, &offsets, page_bytes, frames),
                misses(&sequence, &sequence.executed, &offsets, page_bytes, frames)
            );
            let dropped: u32 = left.dropped.iter().sum();
            prop_assert!(left.executed.len() + dropped as usize <= sequence.executed.len());
        }
    }

    /// By hand: 0 and 1 are a page each or two; with four frames all of a loop over both but its
    /// first and last round can go, with three none.
    #[test]
    fn a_loop_that_fits_is_left_out() {
        let piece = |unit| Piece { unit, start: 0, bytes: 8 };
        let executed: Vec<u32> = (0..20).map(|place| place % 2).collect();
        let sequence = PieceSequence {
            pieces: vec![piece(0), piece(1)],
            executed,
            bytes: 160,
            ..PieceSequence::default()
        };
        assert_eq!(reduced(&sequence, 8, 4).executed, [0, 1, 0, 1]);
        assert_eq!(reduced(&sequence, 8, 3).executed.len(), 20);
    }
}
