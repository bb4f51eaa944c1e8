//! Cache-directed sort (CDSort), as LLVM's `CodeLayout.cpp` describes it.

use rustc_hash::FxHashMap;

use crate::profile::Profile;
use crate::units::Units;

/// LLVM's defaults.
const CACHE_ENTRIES: i32 = 16;
const CACHE_BYTES: f64 = 2048.0;
const DISTANCE_POWER: f64 = 0.25;
const FREQUENCY_SCALE: f64 = 0.25;

struct FunctionChain {
    /// Indices of its units.
    units: Vec<usize>,
    bytes: f64,
    samples: f64,
    /// Indices of the chains that it calls or that call it.
    near: Vec<usize>,
}

struct CdSorter<'a> {
    bytes: &'a [f64],
    /// Callees of each unit, with the number of calls.
    calls: Vec<Vec<(usize, f64)>>,
    all_samples: f64,
    all_bytes: f64,
}

impl CdSorter<'_> {
    /// Returns the probability that a page with this density has left a cache of [`CACHE_ENTRIES`].
    fn miss_probability(&self, samples: f64, bytes: f64) -> f64 {
        let in_page = samples / bytes * CACHE_BYTES;
        if in_page >= self.all_samples {
            return 0.0;
        }
        (1.0 - in_page / self.all_samples).powi(CACHE_ENTRIES)
    }

    fn distance_score(distance: f64, calls: f64) -> f64 {
        calls * distance.max(0.1).powf(-DISTANCE_POWER)
    }

    /// Returns the gain of placing `second` directly behind `first`.
    fn gain(&self, first: &FunctionChain, second: &FunctionChain) -> f64 {
        let misses = |samples: f64, bytes: f64| samples * self.miss_probability(samples, bytes);
        let apart = misses(first.samples, first.bytes) + misses(second.samples, second.bytes);
        let together = misses(first.samples + second.samples, first.bytes + second.bytes);
        // Distances are counted from the first byte of the caller, as the place of the call is unknown.
        let mut address = FxHashMap::default();
        let mut at = 0.0;
        for &unit in first.units.iter().chain(&second.units) {
            address.insert(unit, at);
            at += self.bytes[unit];
        }
        let in_first = first.units.len();
        let own: Vec<usize> = first.units.iter().chain(&second.units).copied().collect();
        let side: FxHashMap<usize, bool> =
            own.iter().enumerate().map(|(place, unit)| (*unit, place < in_first)).collect();
        let mut near = 0.0;
        for unit in &own {
            for (callee, calls) in &self.calls[*unit] {
                let crosses = side.get(callee).is_some_and(|callee| *callee != side[unit]);
                if crosses {
                    let distance = (address[callee] - address[unit]).abs();
                    near += Self::distance_score(distance, *calls)
                        - Self::distance_score(self.all_bytes, *calls);
                }
            }
        }
        FREQUENCY_SCALE * (apart - together) + near
    }
}

/// Orders functions by cache-directed sort. The two chains with the largest gain are merged: fewer
/// expected misses of a small cache, and shorter calls. At the end the chains are sorted by
/// density. Samples of a unit are its calls, at least one.
pub(super) fn order(units: &Units, executed: &[u32], profile: &Profile) -> Vec<u32> {
    let place: FxHashMap<u32, usize> =
        executed.iter().enumerate().map(|(place, unit)| (*unit, place)).collect();
    let bytes: Vec<f64> =
        executed.iter().map(|unit| f64::from(units.all()[*unit as usize].bytes)).collect();
    let samples: Vec<f64> =
        executed.iter().map(|unit| profile.calls[*unit as usize].max(1.0)).collect();
    let mut calls = vec![Vec::new(); executed.len()];
    let mut near = vec![Vec::new(); executed.len()];
    let mut called: Vec<_> = profile.called.iter().collect();
    called.sort_unstable_by_key(|(pair, _)| **pair);
    for ((from, to), weight) in called {
        let (Some(&from), Some(&to)) = (place.get(from), place.get(to)) else { continue };
        calls[from].push((to, *weight));
        near[from].push(to);
        near[to].push(from);
    }
    let sorting = CdSorter {
        bytes: &bytes,
        calls,
        all_samples: samples.iter().sum(),
        all_bytes: bytes.iter().sum(),
    };
    let mut chains: Vec<Option<FunctionChain>> = Vec::new();
    for (unit, mut near) in near.into_iter().enumerate() {
        near.sort_unstable();
        near.dedup();
        let (bytes, samples) = (bytes[unit], samples[unit]);
        chains.push(Some(FunctionChain { units: vec![unit], bytes, samples, near }));
    }
    let mut gains: FxHashMap<(usize, usize), (f64, bool)> = FxHashMap::default();
    let best_way = |chains: &[Option<FunctionChain>], a: usize, b: usize| {
        let (Some(x), Some(y)) = (&chains[a], &chains[b]) else { return (0.0, false) };
        let (forth, back) = (sorting.gain(x, y), sorting.gain(y, x));
        if back > forth { (back, true) } else { (forth, false) }
    };
    for a in 0..chains.len() {
        let near = chains[a].as_ref().map_or_else(Vec::new, |chain| chain.near.clone());
        for b in near.into_iter().filter(|b| a < *b) {
            gains.insert((a, b), best_way(&chains, a, b));
        }
    }
    loop {
        let best = gains
            .iter()
            .filter(|(_, (gain, _))| *gain > 0.0)
            .max_by(|a, b| a.1.0.total_cmp(&b.1.0).then_with(|| b.0.cmp(a.0)));
        let Some((&(a, b), &(_, is_back))) = best else { break };
        let (Some(x), Some(y)) = (chains[a].take(), chains[b].take()) else { break };
        let mut near: Vec<usize> = x
            .near
            .iter()
            .chain(&y.near)
            .copied()
            .filter(|other| *other != a && *other != b)
            .collect();
        near.sort_unstable();
        near.dedup();
        for other in &near {
            let Some(other) = &mut chains[*other] else { continue };
            other.near.retain(|one| *one != a && *one != b);
            other.near.push(a);
        }
        let (first, second) = if is_back { (y, x) } else { (x, y) };
        let mut units = first.units;
        units.extend(second.units);
        let (bytes, samples) = (first.bytes + second.bytes, first.samples + second.samples);
        chains[a] = Some(FunctionChain { units, bytes, samples, near: near.clone() });
        gains.retain(|(x, y), _| ![*x, *y].iter().any(|one| *one == a || *one == b));
        for other in near {
            let pair = (a.min(other), a.max(other));
            gains.insert(pair, best_way(&chains, pair.0, pair.1));
        }
    }
    let mut chains: Vec<FunctionChain> = chains.into_iter().flatten().collect();
    let density = |chain: &FunctionChain| chain.samples / chain.bytes;
    chains.sort_by(|a, b| density(b).total_cmp(&density(a)));
    chains.into_iter().flat_map(|chain| chain.units).map(|unit| executed[unit]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{profile, units};
    use super::*;

    /// By hand, with 1000 bytes each and 111 samples in all: a page of 2048 bytes of any chain
    /// but that of 3 alone holds all samples but few, so the calls decide. 0–1 (100 calls) is won
    /// most, 0 first: from 0 to 1 are then 1000 bytes either way, and of two equal ways the first
    /// is taken. 3 is called once from 0 and goes behind, where it is 2000 bytes away, or before,
    /// where it is 1000: before.
    #[test]
    fn callers_and_callees_come_together() {
        let units = units(&[1000, 1000, 1000, 1000]);
        let profile = profile(&[1.0; 4], &[((0, 1), 100.0), ((0, 3), 10.0)]);
        let order = order(&units, &[0, 1, 2, 3], &profile);
        assert_eq!(order, [3, 0, 1, 2]);
    }
}
