//! Procedure positioning of Pettis and Hansen, PLDI 1990, section 3.

use rustc_hash::FxHashMap;

/// Orders procedures as Pettis and Hansen do. Chains are merged along the heaviest edge between
/// them, the sum of all calls between their procedures in both directions. Two chains can be joined
/// in four ways. The one chosen has those procedures at the joint that call each other most in the
/// original graph.
pub(super) fn order(executed: &[u32], called: &FxHashMap<(u32, u32), f64>) -> Vec<u32> {
    let index_of: FxHashMap<u32, usize> =
        executed.iter().enumerate().map(|(index, unit)| (*unit, index)).collect();
    let count = executed.len();
    // The undirected graph between indices of units.
    let mut original: FxHashMap<(usize, usize), f64> = FxHashMap::default();
    let mut edges: Vec<FxHashMap<usize, f64>> = vec![FxHashMap::default(); count];
    let mut calls: Vec<_> = called.iter().collect();
    calls.sort_unstable_by_key(|(pair, _)| **pair);
    for ((from, to), weight) in calls {
        let (Some(&a), Some(&b)) = (index_of.get(from), index_of.get(to)) else { continue };
        *original.entry((a.min(b), a.max(b))).or_default() += weight;
        *edges[a].entry(b).or_default() += weight;
        *edges[b].entry(a).or_default() += weight;
    }
    let between = |a: usize, b: usize| original.get(&(a.min(b), a.max(b))).copied().unwrap_or(0.0);
    let mut chains: Vec<Vec<usize>> = (0..count).map(|index| vec![index]).collect();
    loop {
        let mut heaviest: Option<(f64, usize, usize)> = None;
        for (a, edges) in edges.iter().enumerate() {
            for (&b, &weight) in edges.iter().filter(|(b, _)| a < **b) {
                let better = heaviest.is_none_or(|(most, x, y)| {
                    weight > most || (weight == most && (a, b) < (x, y))
                });
                if better {
                    heaviest = Some((weight, a, b));
                }
            }
        }
        let Some((_, a, b)) = heaviest else { break };
        let (first, second) = (std::mem::take(&mut chains[a]), std::mem::take(&mut chains[b]));
        chains[a] = joined(first, second, between);
        // The merged chain gets the edges of both.
        let of_b: Vec<(usize, f64)> = edges[b].drain().collect();
        edges[a].remove(&b);
        for (other, weight) in of_b.into_iter().filter(|(other, _)| *other != a) {
            edges[other].remove(&b);
            *edges[other].entry(a).or_default() += weight;
            *edges[a].entry(other).or_default() += weight;
        }
    }
    // The paper leaves open the order of chains without calls between them. They keep their order.
    chains.into_iter().flatten().map(|index| executed[index]).collect()
}

fn joined(
    mut first: Vec<usize>,
    mut second: Vec<usize>,
    between: impl Fn(usize, usize) -> f64,
) -> Vec<usize> {
    let ends = |chain: &[usize]| (chain[0], chain[chain.len() - 1]);
    let ((a, b), (c, d)) = (ends(&first), ends(&second));
    let ways = [between(b, c), between(b, d), between(a, c), between(a, d)];
    let mut best = 0;
    for way in 1..ways.len() {
        if ways[way] > ways[best] {
            best = way;
        }
    }
    if best == 2 || best == 3 {
        first.reverse();
    }
    if best == 1 || best == 3 {
        second.reverse();
    }
    first.extend(second);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the edge A–C of 10 is merged first (A C), then D–B of 9 (B D), then both chains,
    /// between which there are 4 + 3 + 2 calls. The joint may be A–B (4 calls), A–D (3), C–B (2) or
    /// C–D (0). A beside B is best, so the order is C A B D.
    #[test]
    fn the_ends_that_call_each_other_most_meet() {
        let called = [((0, 2), 6.0), ((2, 0), 4.0), ((3, 1), 9.0), ((0, 1), 4.0), ((0, 3), 3.0)];
        let called = called.into_iter().chain([((2, 1), 2.0)]).collect();
        assert_eq!(order(&[0, 1, 2, 3], &called), [2, 0, 1, 3]);
    }

    #[test]
    fn what_is_not_connected_stays_as_it_lies() {
        let called = [((3, 1), 1.0)].into_iter().collect();
        assert_eq!(order(&[0, 1, 2, 3], &called), [0, 1, 3, 2]);
    }
}
