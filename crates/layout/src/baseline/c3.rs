//! Call-chain clustering (C3): Ottoni and Maher, CGO 2017, section 4.

use rustc_hash::FxHashMap;

use crate::profile::{Profile, sorted_by};
use crate::units::Units;

/// Orders functions by call-chain clustering. From the hottest function on, the cluster of each is
/// appended to that of its most likely caller, unless both are the same or would be too large
/// together. At the end the clusters are sorted by density, heat divided by size.
pub(super) fn order(
    units: &Units,
    executed: &[u32],
    profile: &Profile,
    cluster_bytes: u32,
) -> Vec<u32> {
    let mut callers: FxHashMap<u32, (f64, u32)> = FxHashMap::default();
    for (&(from, to), &weight) in &profile.called {
        let best = callers.entry(to).or_insert((weight, from));
        // Among equal callers, the first in the image counts.
        if weight > best.0 || (weight == best.0 && from < best.1) {
            *best = (weight, from);
        }
    }
    let bytes = |unit: u32| u64::from(units.all()[unit as usize].bytes);
    let mut cluster_of: FxHashMap<u32, usize> =
        executed.iter().enumerate().map(|(cluster, unit)| (*unit, cluster)).collect();
    let mut clusters: Vec<Vec<u32>> = executed.iter().map(|unit| vec![*unit]).collect();
    let mut sizes: Vec<u64> = executed.iter().map(|unit| bytes(*unit)).collect();
    for unit in sorted_by(executed.to_vec(), |unit| profile.bytes[unit as usize]) {
        let Some((_, caller)) = callers.get(&unit) else { continue };
        let (Some(&own), Some(&to)) = (cluster_of.get(&unit), cluster_of.get(caller)) else {
            continue;
        };
        if own == to || sizes[own] + sizes[to] > u64::from(cluster_bytes) {
            continue;
        }
        let moved = std::mem::take(&mut clusters[own]);
        moved.iter().for_each(|unit| {
            cluster_of.insert(*unit, to);
        });
        clusters[to].extend(moved);
        sizes[to] += std::mem::take(&mut sizes[own]);
    }
    let heat =
        |cluster: &[u32]| -> f64 { cluster.iter().map(|unit| profile.bytes[*unit as usize]).sum() };
    let mut dense: Vec<(f64, Vec<u32>)> = clusters
        .into_iter()
        .zip(sizes)
        .filter(|(cluster, _)| !cluster.is_empty())
        .map(|(cluster, size)| (heat(&cluster) / size as f64, cluster))
        .collect();
    dense.sort_by(|a, b| b.0.total_cmp(&a.0));
    dense.into_iter().flat_map(|(_, cluster)| cluster).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{profile, units};
    use super::*;

    /// By hand: function 2 is the hottest. Function 0 calls it 7 times and function 1 only 3 times,
    /// so it is placed behind 0. Then 3 is placed behind 1. The clusters 0 2 (heat 220 in 20 bytes)
    /// and 1 3 (heat 130 in 20 bytes) are sorted by density.
    #[test]
    fn clusters_follow_their_most_likely_caller() {
        let units = units(&[10, 10, 10, 10]);
        let calls = [((0, 2), 7.0), ((1, 2), 3.0), ((1, 3), 5.0)];
        let profile = profile(&[20.0, 30.0, 200.0, 100.0], &calls);
        assert_eq!(order(&units, &[0, 1, 2, 3], &profile, 4096), [0, 2, 1, 3]);
        // No two functions fit into one cluster, so they are sorted by density alone.
        assert_eq!(order(&units, &[0, 1, 2, 3], &profile, 19), [2, 3, 1, 0]);
    }
}
