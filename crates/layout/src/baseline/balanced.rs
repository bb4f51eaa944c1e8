//! Balanced partitioning: recursive graph bisection of Dhulipala et al., KDD 2016, as LLVM's
//! `BalancedPartitioning.cpp` applies it to functions. A query is a window of the trace.

use flashpager_base::random::SplitMix64;
use rustc_hash::FxHashMap;

use crate::profile::windows;
use crate::sequence::PieceSequence;

/// Largest number of rounds of exchanges, LLVM's default.
const ITERATIONS: usize = 40;
/// Share of the exchanges that are skipped, LLVM's default. Otherwise two halves may exchange sides
/// without end.
const SKIPPED: f64 = 0.1;

/// A unit, with the numbers of the windows in which it is executed.
struct Document {
    unit: u32,
    queries: Vec<u32>,
}

/// Orders units so that those which are executed in the same windows of `runs` runs lie near each
/// other.
pub(super) fn order(executed: &[u32], sequences: &[&PieceSequence], runs: usize) -> Vec<u32> {
    let mut queries: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    let mut next = 0;
    for sequence in sequences {
        for window in windows(sequence, runs) {
            for unit in window {
                queries.entry(unit).or_default().push(next);
            }
            next += 1;
        }
    }
    let mut documents: Vec<Document> = executed
        .iter()
        .map(|unit| Document { unit: *unit, queries: queries.remove(unit).unwrap_or_default() })
        .collect();
    let mut counts = vec![(0, 0); next as usize];
    bisect(&mut documents, &mut counts, &mut SplitMix64::new(0));
    documents.into_iter().map(|document| document.unit).collect()
}

/// Returns the cost of encoding the gaps of a query with these numbers of documents on each side.
fn cost(left: u32, right: u32) -> f64 {
    let part = |count: u32| f64::from(count) * f64::from(count + 1).log2();
    -(part(left) + part(right))
}

/// Returns the gain if a document of a query moves from the side `here` to the side `there`.
fn gain((here, there): (u32, u32)) -> f64 {
    cost(here, there) - cost(here - 1, there + 1)
}

fn bisect(documents: &mut [Document], counts: &mut [(u32, u32)], random: &mut SplitMix64) {
    if documents.len() < 2 {
        return;
    }
    let middle = documents.len().div_ceil(2);
    for _ in 0..ITERATIONS {
        if !improve(documents, middle, counts, random) {
            break;
        }
    }
    let (left, right) = documents.split_at_mut(middle);
    bisect(left, counts, random);
    bisect(right, counts, random);
}

/// Exchanges the documents with the largest gains, pair by pair. Returns whether there were any.
fn improve(
    documents: &mut [Document],
    middle: usize,
    counts: &mut [(u32, u32)],
    random: &mut SplitMix64,
) -> bool {
    for document in documents.iter() {
        document.queries.iter().for_each(|query| counts[*query as usize] = (0, 0));
    }
    for (place, document) in documents.iter().enumerate() {
        for query in &document.queries {
            let (left, right) = &mut counts[*query as usize];
            *(if place < middle { left } else { right }) += 1;
        }
    }
    let gains = |documents: &[Document], is_left: bool| {
        let weight_of = |document: &Document| -> f64 {
            let counts = document.queries.iter().map(|query| counts[*query as usize]);
            counts.map(|(l, r)| gain(if is_left { (l, r) } else { (r, l) })).sum()
        };
        let mut gains: Vec<(f64, usize)> =
            documents.iter().enumerate().map(|(place, one)| (weight_of(one), place)).collect();
        gains.sort_by(|a, b| b.0.total_cmp(&a.0));
        gains
    };
    let (left, right) = documents.split_at_mut(middle);
    let (from_left, from_right) = (gains(left, true), gains(right, false));
    let mut is_better = false;
    for ((a, x), (b, y)) in from_left.into_iter().zip(from_right) {
        if a + b <= 0.0 {
            break;
        }
        is_better = true;
        if random.unit_interval() >= SKIPPED {
            std::mem::swap(&mut left[x], &mut right[y]);
        }
    }
    is_better
}

#[cfg(test)]
mod tests {
    use super::super::tests::sequence;
    use super::*;

    /// By hand: windows {0, 2, 4} and {1, 3, 5} alternate. Of the first halves {0, 1, 2} and
    /// {3, 4, 5}, 1 and 4 win by changing sides; 0 and 2, 3 and 5 win nothing, as a window with
    /// two documents here and one there costs as much the other way round. Then both are whole.
    #[test]
    fn what_runs_in_the_same_windows_comes_together() {
        let sequence = sequence(&[0, 2, 4, 1, 3, 5, 0, 2, 4, 1, 3, 5]);
        let order = order(&[0, 1, 2, 3, 4, 5], &[&sequence], 3);
        let sides: Vec<u32> = order.iter().map(|unit| unit % 2).collect();
        assert_eq!(sides, [0, 0, 0, 1, 1, 1], "{order:?}");
    }

    #[test]
    fn a_query_whole_on_a_side_costs_least() {
        assert!(cost(4, 0) < cost(3, 1) && cost(3, 1) < cost(2, 2));
        // One of a query that is even: it costs less then.
        assert!(gain((2, 2)) > 0.0 && gain((4, 0)) < 0.0);
    }
}
