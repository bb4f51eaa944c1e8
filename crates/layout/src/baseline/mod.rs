//! Published orders of functions, each from its paper. None of them needs a replay.
//!
//! All use the same profile. A *call* is a transition from one unit to the first byte of another;
//! its caller is the unit that was left. Units that are never executed follow as they lie in the
//! image.

mod balanced;
mod c3;
mod cdsort;
mod pettis_hansen;

use flashpager_base::{Result, named};

use crate::order::Order;
use crate::profile::{Profile, sorted_by};
use crate::sequence::PieceSequence;
use crate::units::Units;

/// A published order of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Baseline {
    /// The recorded order.
    Original,
    /// Most bytes fetched first.
    Heat,
    /// Most bytes fetched for each byte of code first.
    Density,
    /// Closest is best: Pettis and Hansen, "Profile guided code positioning", PLDI 1990,
    /// procedure positioning.
    PettisHansen,
    /// Call-chain clustering: Ottoni and Maher, "Optimizing function placement for large-scale
    /// data-center applications", CGO 2017.
    C3,
    /// Cache-directed sort, as LLVM's `CodeLayout.cpp` describes it.
    CdSort,
    /// Balanced partitioning by windows of 100 runs: Dhulipala et al., "Compressing graphs and
    /// indexes with recursive graph bisection", KDD 2016, as LLVM uses it for functions.
    Balanced100,
    /// Balanced partitioning by windows of 500 runs.
    Balanced500,
    /// Balanced partitioning by windows of 2000 runs.
    Balanced2000,
}

named! {
    Baseline: "unknown baseline",
    "original" => Original,
    "heat" => Heat,
    "density" => Density,
    "pettis-hansen" => PettisHansen,
    "c3" => C3,
    "cdsort" => CdSort,
    "balanced-100" => Balanced100,
    "balanced-500" => Balanced500,
    "balanced-2000" => Balanced2000,
}

impl Baseline {
    /// Returns the order of `units`. `cluster_bytes` is the largest cluster of call-chain clustering:
    /// a page in the paper, the cache here.
    ///
    /// # Errors
    /// Those of [`Order::new`], which do not occur for a profile of the same units.
    pub fn order(
        self,
        units: &Units,
        profile: &Profile,
        sequences: &[&PieceSequence],
        cluster_bytes: u32,
    ) -> Result<Order> {
        if self == Self::Original {
            return Ok(Order::original(units));
        }
        let executed = profile.executed(units);
        let size = |unit: u32| f64::from(units.all()[unit as usize].bytes);
        let bytes = |unit: u32| profile.bytes[unit as usize];
        let mut order = match self {
            Self::Original => executed,
            Self::Heat => sorted_by(executed, bytes),
            Self::Density => sorted_by(executed, |unit| bytes(unit) / size(unit)),
            Self::PettisHansen => pettis_hansen::order(&executed, &profile.called),
            Self::C3 => c3::order(units, &executed, profile, cluster_bytes),
            Self::CdSort => cdsort::order(units, &executed, profile),
            Self::Balanced100 => balanced::order(&executed, sequences, 100),
            Self::Balanced500 => balanced::order(&executed, sequences, 500),
            Self::Balanced2000 => balanced::order(&executed, sequences, 2000),
        };
        order.extend(profile.idle(units));
        Order::new(units, order)
    }
}

#[cfg(test)]
mod tests {
    use flashpager_trace::{MemoryTrace, Run};
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::Unit;

    /// Adjacent units with these sizes in bytes.
    pub(super) fn units(bytes: &[u32]) -> Units {
        let mut offset = 0;
        let mut all = Vec::new();
        for (number, &bytes) in bytes.iter().enumerate() {
            all.push(Unit { name: number.to_string(), offset, bytes, align: 1, fixed: false });
            offset += bytes;
        }
        Units::new(all, offset.into()).expect("units that can be")
    }

    pub(super) fn profile(bytes: &[f64], called: &[((u32, u32), f64)]) -> Profile {
        let mut calls = vec![0.0; bytes.len()];
        called.iter().for_each(|((_, to), times)| calls[*to as usize] += times);
        Profile {
            bytes: bytes.to_vec(),
            entries: calls.clone(),
            calls,
            called: called.iter().copied().collect(),
            transitions: FxHashMap::default(),
        }
    }

    /// Each unit of ten bytes executed whole, in that order.
    pub(super) fn sequence(executed: &[u32]) -> PieceSequence {
        let most = executed.iter().max().map_or(0, |unit| unit + 1);
        let runs = executed.iter().map(|unit| Run { offset: unit * 10, length: 10 }).collect();
        let trace = MemoryTrace::new(runs);
        PieceSequence::of(&units(&vec![10; most as usize]), &trace, &|| true)
            .expect("a trace in units")
    }

    /// By hand: 0 fetches 10 bytes, 1 twice 20 and 2 nothing; 3 fetches 10 of only 5 bytes.
    #[test]
    fn heat_counts_bytes_and_density_divides_by_the_size() {
        let units = units(&[10, 40, 10, 5]);
        let profile = profile(&[10.0, 40.0, 0.0, 10.0], &[]);
        let order = |baseline: Baseline| {
            let order = baseline.order(&units, &profile, &[], 2048).expect("an order");
            order.numbers().to_vec()
        };
        assert_eq!(order(Baseline::Heat), [1, 0, 3, 2]);
        assert_eq!(order(Baseline::Density), [3, 0, 1, 2]);
        assert_eq!(order(Baseline::Original), [0, 1, 2, 3]);
    }

    /// By hand: 0 calls 1 twice, and 1 calls 2. The returns count as entries, too.
    #[test]
    fn calls_enter_at_the_first_byte() {
        let units = units(&[10, 10, 10]);
        let runs = [(0, 4), (10, 4), (4, 4), (10, 2), (20, 10), (12, 8), (8, 2)];
        let runs = runs.into_iter().map(|(offset, length)| Run { offset, length }).collect();
        let trace = MemoryTrace::new(runs);
        let sequence = PieceSequence::of(&units, &trace, &|| true).expect("a trace in units");
        let profile = Profile::of(&units, [(&sequence, 1.0)]);
        assert_eq!(profile.called.get(&(0, 1)), Some(&2.0));
        assert_eq!(profile.called.get(&(1, 2)), Some(&1.0));
        assert_eq!(profile.called.len(), 2);
        assert_eq!(profile.calls, [0.0, 2.0, 1.0]);
        assert_eq!(profile.entries, [2.0, 3.0, 1.0]);
        assert_eq!(profile.transitions.get(&(1, 2)), Some(&2.0));
        assert_eq!(profile.bytes, [10.0, 14.0, 10.0]);
    }
}
