//! Replays of a link with veneers in flash, in the orders in which a linker may lay them.

use flashpager_base::Result;
use flashpager_base::random::SplitMix64;
use flashpager_layout::Units;
use rayon::prelude::*;

use super::super::traces::TraceSet;
use super::super::veneers::{Veneers, count};
use super::whole::{WholeReplay, WholeResult};

/// Alignment of GNU ld's section of veneers in bytes.
pub(super) const VENEER_ALIGN: u32 = 8;
/// Most veneers of which all orders are replayed.
const FEW_VENEERS: u32 = 4;
/// Orders that are drawn of more veneers, and the seed of their draws.
const DRAWN_ORDERS: usize = 48;
const ORDER_SEED: u64 = 41;

/// The results of a link with its veneers in flash, and a note on them: `after`, which has none, if the
/// link needs none or their cost is not known, else those of the slowest order. `before_ns` is the time
/// with nothing pinned.
///
/// # Errors
/// The errors of the replay.
pub(super) fn with_veneers(
    after: WholeResult,
    (traces, units): (&TraceSet, &Units),
    whole: &WholeReplay<'_>,
    chosen: (&[u32], &[u32]),
    before_ns: f64,
) -> Result<(WholeResult, Option<String>)> {
    let Some(veneers) = Veneers::of(traces, units, chosen.0)? else { return Ok((after, None)) };
    match VeneerRange::replayed(&veneers, traces, whole, chosen)? {
        None => {
            let note = veneers.note(&after.rows, None);
            Ok((after, Some(note)))
        }
        Some(range) => {
            let cost = |instructions: &str| range.words(instructions, before_ns);
            let note = veneers.note(&after.rows, Some(&cost));
            Ok((range.slowest, Some(note)))
        }
    }
}

/// The results of a link with veneers in flash, over the orders in which they may lie.
pub(super) struct VeneerRange {
    /// The fewest and the most misses.
    misses: (u64, u64),
    /// Time of the fastest order in nanoseconds, the sum over traces by their weights.
    fastest_ns: f64,
    /// Orders that were replayed.
    orders: usize,
    is_all_orders: bool,
    /// Veneers in flash.
    count: u32,
    /// The results with the slowest order.
    slowest: WholeResult,
}

impl VeneerRange {
    /// Replays the traces with `veneers` behind the code in flash, in several orders, as only the linker
    /// knows theirs. `None` if none lies in flash, or their code is not known.
    ///
    /// # Errors
    /// The errors of the replay.
    pub(super) fn replayed(
        veneers: &Veneers,
        traces: &TraceSet,
        whole: &WholeReplay<'_>,
        (pinned, order): (&[u32], &[u32]),
    ) -> Result<Option<Self>> {
        let Some(folded) = veneers.folded(traces)? else { return Ok(None) };
        let count = veneers.count_in_flash();
        let orders = slot_orders(count);
        let replayed = |slots: &Vec<u32>| {
            let added = |first: u32| veneers.runs_at(first, slots);
            let code = (veneers.bytes_in_flash(), VENEER_ALIGN);
            whole.with_code((pinned, order), code, &added, &folded)
        };
        let mut results = orders.par_iter().map(replayed).collect::<Result<Vec<_>>>()?;
        results.sort_by(|a, b| a.link_ns.total_cmp(&b.link_ns));
        let misses = results.iter().map(misses);
        let (fewest, most) = (misses.clone().min(), misses.max());
        let fastest_ns = results.first().map_or(0.0, |first| first.link_ns);
        let orders = results.len();
        Ok(results.pop().map(|slowest| Self {
            misses: (fewest.unwrap_or(0), most.unwrap_or(0)),
            fastest_ns,
            orders,
            is_all_orders: count <= FEW_VENEERS,
            count,
            slowest,
        }))
    }

    /// The time of the slowest order in nanoseconds.
    pub(super) fn slowest_ns(&self) -> f64 {
        self.slowest.link_ns
    }

    /// The costs in words, with those of the `instructions`.
    fn words(&self, instructions: &str, before_ns: f64) -> String {
        let (fewest, most) = self.misses;
        let misses = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        let gain = |time_ns: f64| format!("{:.2}", before_ns / time_ns);
        let (least, greatest) = (gain(self.slowest.link_ns), gain(self.fastest_ns));
        let gain = if least == greatest { least } else { format!("{least} to {greatest}") };
        let orders = match self.is_all_orders {
            true => "in any order of them".to_owned(),
            false => {
                format!("in {} drawn orders of them, as only the linker knows theirs", self.orders)
            }
        };
        format!(
            "which the answer counts: with {} behind the code in flash {misses} misses and \
             {gain} times as fast {orders} ({instructions}; the slowest is counted; the table, the \
             calls of --max-call and links a commit later leave veneers out)",
            count(u64::from(self.count), "veneer"),
        )
    }
}

/// The misses of all traces.
fn misses(result: &WholeResult) -> u64 {
    result.rows.iter().map(|row| row.evaluation.counts.misses).sum()
}

/// Orders of so many slots: all if they are few, else drawn ones.
pub(super) fn slot_orders(count: u32) -> Vec<Vec<u32>> {
    let recorded: Vec<u32> = (0..count).collect();
    if count <= FEW_VENEERS {
        return permutations(&recorded);
    }
    let mut random = SplitMix64::new(ORDER_SEED);
    let draw = |_| {
        let mut order = recorded.clone();
        random.shuffle(&mut order);
        order
    };
    (0..DRAWN_ORDERS).map(draw).collect()
}

/// All orders of a few numbers.
fn permutations(numbers: &[u32]) -> Vec<Vec<u32>> {
    if numbers.is_empty() {
        return vec![Vec::new()];
    }
    let with_first = |first: usize| {
        let rest: Vec<u32> = [&numbers[..first], &numbers[first + 1..]].concat();
        let lead = numbers[first];
        permutations(&rest).into_iter().map(move |rest| [vec![lead], rest].concat())
    };
    (0..numbers.len()).flat_map(with_first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_of_a_few() {
        assert_eq!(slot_orders(3).len(), 6);
        let drawn = slot_orders(9);
        assert_eq!(drawn.len(), DRAWN_ORDERS);
        for mut order in drawn {
            order.sort_unstable();
            assert_eq!(order, (0..9).collect::<Vec<u32>>());
        }
    }
}
