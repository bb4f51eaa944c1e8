//! Luck: how far the time of a program depends on where the linker put its code.
//!
//! Behind a cache in hardware two functions that share a set evict each other, and a commit that
//! moves one of them by four bytes changes the time of both. So the time of one link is one draw. Here
//! many links are drawn that execute the same code, each is replayed to the last miss, and the
//! recorded link is compared with them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use flashpager_base::random::SplitMix64;
use flashpager_base::{Error, ProgressFn, Result, named};
use flashpager_layout::{AddedCode, LinkEdit, Order, PieceSequence, UnitPlacement, Units};
use rayon::prelude::*;
use serde::Serialize;

use super::program::recorded_units;
use super::replays::{FoldedTrace, replayed_at, times_ns};
use super::request::check_weights;
use super::traces::{TraceSet, check_reads_pass};
use super::units::{Coverage, ExecutedBytes, executed_share, length_executed};
use crate::design::Design;
use crate::result::ResultRow;

/// Share of the functions that an edit makes longer or shorter.
const EDITED_SHARE: f64 = 0.05;
/// A function grows or shrinks by a multiple of this many bytes, at most [`MOST_STEPS`] of them.
const STEP_BYTES: u32 = 4;
const MOST_STEPS: usize = 16;
/// A shift is a multiple of [`STEP_BYTES`] below this many bytes.
const SHIFT_END_BYTES: u32 = 4096;
/// The most draws at once.
const MOST_DRAWS: u32 = 100_000;
/// Draws that are made at once, and then replayed in parallel.
const CHUNK: usize = 16;
/// Resamples from which the error of a quantile is taken.
const RESAMPLES: usize = 200;

/// The difference of a drawn link from the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawKind {
    /// A commit: one function in twenty grows or shrinks by 4 to 64 bytes at its end, and one
    /// function is added.
    Edits,
    /// Any order of the functions.
    Orders,
    /// All functions lie 0 to 4,092 bytes further on.
    Shifts,
}

named! {
    DrawKind: "unknown kind of draw",
    "edits" => Edits,
    "orders" => Orders,
    "shifts" => Shifts,
}

/// A program, the designs that run it, and the links to draw.
#[derive(Clone, Debug)]
pub struct LuckRequest {
    /// Recorded executions of one image, each with its weight.
    pub traces: Vec<(PathBuf, f64)>,
    /// The map of the link of the recorded program; without one the units are functions.
    pub map: Option<PathBuf>,
    /// The designs.
    pub designs: Vec<Design>,
    /// The kind of draw.
    pub kind: DrawKind,
    /// Number of links to draw.
    pub draws: u32,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// A quantile of drawn times, and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantile {
    /// The time in nanoseconds.
    pub time_ns: f64,
    /// Standard error of that time in nanoseconds, by the bootstrap.
    pub error_ns: f64,
}

/// The times of drawn links with a design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DesignLuck {
    /// Results of the recorded link, by trace.
    pub rows: Vec<ResultRow>,
    /// Time of the recorded link in nanoseconds, the sum over traces by their weights.
    pub time_ns: f64,
    /// Times of the drawn links in nanoseconds, in the order of the draws.
    pub drawn_ns: Vec<f64>,
    /// Share of the drawn links that are slower than the recorded one; equal ones count half.
    pub better_than: f64,
    /// The shortest drawn time in nanoseconds.
    pub best_ns: f64,
    /// The time below which 5 % of the drawn ones lie.
    pub p5: Quantile,
    /// The median.
    pub p50: Quantile,
    /// The time below which 95 % lie.
    pub p95: Quantile,
    /// The longest drawn time in nanoseconds.
    pub worst_ns: f64,
}

/// The luck of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Luck {
    /// The kind of draw.
    pub kind: DrawKind,
    /// By design.
    pub designs: Vec<DesignLuck>,
    /// The units, and assumptions on them.
    pub coverage: Coverage,
}

/// Draws links and replays them. Progress is the number of links replayed so far. Once
/// `should_continue` returns false, the answer is that of the links replayed until then.
///
/// # Errors
/// If the traces are of several images, a trace cannot be read or has no units that can move, or a
/// design cannot execute a trace. [`Error::Interrupted`] if it is stopped before the first link.
pub fn luck(
    request: &LuckRequest,
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, u32>,
) -> Result<Luck> {
    request.check()?;
    let traces = TraceSet::load(&request.traces, &[], 0.0)?;
    if traces.has_reads() {
        request.designs.iter().try_for_each(check_reads_pass)?;
    }
    let (units, notes) = recorded_units(&traces, request.map.as_deref(), false, should_continue)?;
    let executed = traces.executed(should_continue)?;
    let designs: Vec<(Design, f64)> =
        request.designs.iter().map(|design| (design.clone(), 1.0)).collect();
    let weights = traces.weights();
    let recorded = UnitPlacement::recorded(&units);
    let folded = FoldedTrace::of_all(traces.training())?;
    let rows = replayed_at(&recorded, &units, &designs, &folded)?;
    let time_ns = times_ns(&rows, designs.len(), &weights);
    let sequences =
        traces.training().map(|(_, trace)| PieceSequence::of(&units, trace, should_continue));
    let coverage = Coverage {
        movable: units.movable().len(),
        executed_share: executed_share(&units, &sequences.collect::<Result<Vec<_>>>()?),
        notes,
    };

    let mut random = SplitMix64::new(request.seed);
    let draws = LinkDraws::new(&units, executed_lengths(&units, &executed), request.kind);
    let mut drawn_ns = vec![Vec::new(); designs.len()];
    let mut replays = LinkReplays::new(should_continue, progress);
    let mut left = request.draws as usize;
    while left > 0 && !replays.is_stopped {
        let links = (0..CHUNK.min(left)).map(|_| draws.draw(&mut random));
        let links = links.collect::<Result<Vec<UnitPlacement>>>()?;
        left -= links.len();
        let times = replays.of(&links, |link| {
            let rows = replayed_at(link, &units, &designs, &folded)?;
            Ok(times_ns(&rows, designs.len(), &weights))
        })?;
        for times in times {
            drawn_ns.iter_mut().zip(times).for_each(|(drawn, time)| drawn.push(time));
        }
    }
    if drawn_ns.iter().any(Vec::is_empty) {
        return Err(Error::Interrupted);
    }
    let by_design = rows.chunks(weights.len()).zip(time_ns).zip(drawn_ns);
    let design_luck = |((rows, time_ns), drawn_ns): ((&[ResultRow], f64), Vec<f64>)| {
        DesignLuck::new(rows.to_vec(), time_ns, drawn_ns, request.seed)
    };
    Ok(Luck { kind: request.kind, designs: by_design.map(design_luck).collect(), coverage })
}

impl LuckRequest {
    /// Checks what can be checked before a trace is read.
    fn check(&self) -> Result<()> {
        if self.traces.is_empty() || self.designs.is_empty() {
            return Err(Error::design("luck needs a trace and a design"));
        }
        if !(1..=MOST_DRAWS).contains(&self.draws) {
            return Err(Error::design(format!("{} draws: it is 1 to {MOST_DRAWS}", self.draws)));
        }
        self.designs.iter().try_for_each(|design| design.check_plain_store("draw links"))?;
        check_weights(self.traces.iter().map(|(_, weight)| weight))
    }
}

/// Replays drawn links on all cores, until it is stopped.
pub(super) struct LinkReplays<'a> {
    should_continue: &'a (dyn Fn() -> bool + Sync),
    /// Receives the number of links replayed so far.
    progress: ProgressFn<'a, u32>,
    replayed: AtomicU32,
    /// True once `should_continue` has returned false.
    pub(super) is_stopped: bool,
}

impl<'a> LinkReplays<'a> {
    /// Begins without a link.
    pub(super) fn new(
        should_continue: &'a (dyn Fn() -> bool + Sync),
        progress: ProgressFn<'a, u32>,
    ) -> Self {
        Self { should_continue, progress, replayed: AtomicU32::new(0), is_stopped: false }
    }

    /// Replays `links`. Returns their results in order; only those of the first links if it is
    /// stopped meanwhile.
    ///
    /// # Errors
    /// The errors of `replay`.
    pub(super) fn of<L: Sync, T: Send>(
        &mut self,
        links: &[L],
        replay: impl Fn(&L) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let replayed = links.par_iter().map(|link| {
            if !(self.should_continue)() {
                return Ok(None);
            }
            let result = replay(link)?;
            (self.progress)(self.replayed.fetch_add(1, Ordering::Relaxed) + 1);
            Ok(Some(result))
        });
        let replayed: Vec<Option<T>> = replayed.collect::<Result<_>>()?;
        self.is_stopped = replayed.iter().any(Option::is_none);
        Ok(replayed.into_iter().map_while(|result| result).collect())
    }
}

/// Draws links of a program.
pub(super) struct LinkDraws<'a> {
    units: &'a Units,
    /// The order of the units in each link.
    order: Order,
    /// Bytes of each unit up to its last executed one, by its number.
    executed_bytes: Vec<u32>,
    kind: DrawKind,
    /// Number of commits between the recorded link and a drawn one, if the draws are edits.
    commits: u32,
    /// True if an order for the linker names all units, so that functions that a commit adds come
    /// behind them.
    adds_last: bool,
}

/// Returns the bytes of each unit up to its last executed one, by its number.
pub(super) fn executed_lengths(units: &Units, executed: &ExecutedBytes) -> Vec<u32> {
    let ranges = executed.ranges();
    units.all().iter().map(|unit| length_executed(&ranges, unit)).collect()
}

impl<'a> LinkDraws<'a> {
    /// Makes draws of a program of which [`executed_lengths`] are executed.
    pub(super) fn new(units: &'a Units, executed_bytes: Vec<u32>, kind: DrawKind) -> Self {
        let order = Order::original(units);
        Self { units, order, executed_bytes, kind, commits: 1, adds_last: false }
    }

    /// Makes draws of a program that is linked in `order` after so many `commits`.
    pub(super) fn after_commits(
        units: &'a Units,
        order: Order,
        executed_bytes: Vec<u32>,
        commits: u32,
    ) -> Self {
        let kind = DrawKind::Edits;
        Self { units, order, executed_bytes, kind, commits, adds_last: true }
    }

    /// Draws a link.
    pub(super) fn draw(&self, random: &mut SplitMix64) -> Result<UnitPlacement> {
        match self.kind {
            DrawKind::Edits => self.edit(random).place(self.units, &self.order),
            DrawKind::Orders => {
                let mut numbers = self.units.movable().to_vec();
                for place in 0..numbers.len() {
                    let other = place + random.below(numbers.len() - place);
                    numbers.swap(place, other);
                }
                let order = Order::new(self.units, numbers)?;
                LinkEdit::none(self.units).place(self.units, &order)
            }
            DrawKind::Shifts => {
                let steps = random.below((SHIFT_END_BYTES / STEP_BYTES) as usize) as u32;
                let added = AddedCode { place: 0, bytes: steps * STEP_BYTES, align: 1 };
                let edit = LinkEdit { added: vec![added], ..LinkEdit::none(self.units) };
                edit.place(self.units, &self.order)
            }
        }
    }

    /// Draws the edit of all commits together.
    fn edit(&self, random: &mut SplitMix64) -> LinkEdit {
        let mut edit = LinkEdit::none(self.units);
        (0..self.commits).for_each(|_| self.commit(random, &mut edit));
        edit.added.sort_by_key(|added| added.place);
        edit
    }

    /// Draws a commit on top of `edit`. Each function is edited with a probability of
    /// [`EDITED_SHARE`]. It grows or shrinks with the same probability, but grows if it would lose
    /// executed code. The function that is added has the size of one that is drawn, and lies at a
    /// place that is drawn.
    fn commit(&self, random: &mut SplitMix64, edit: &mut LinkEdit) {
        for number in self.order.numbers() {
            if random.unit_interval() >= EDITED_SHARE {
                continue;
            }
            let number = *number as usize;
            let change = STEP_BYTES * (1 + random.below(MOST_STEPS) as u32);
            let shrinks = random.unit_interval() < 0.5;
            let bytes = &mut edit.bytes[number];
            let least = self.executed_bytes[number].max(1);
            *bytes = if shrinks && bytes.saturating_sub(change) >= least {
                *bytes - change
            } else {
                bytes.saturating_add(change)
            };
        }
        let movable = self.units.movable();
        if movable.is_empty() {
            // All units are in RAM, so that no function has a size to draw.
            return;
        }
        let like = &self.units.all()[movable[random.below(movable.len())] as usize];
        let drawn = random.below(movable.len() + 1);
        let place = if self.adds_last { movable.len() } else { drawn };
        edit.added.push(AddedCode { place, bytes: like.bytes, align: like.align });
    }
}

impl DesignLuck {
    fn new(rows: Vec<ResultRow>, time_ns: f64, drawn_ns: Vec<f64>, seed: u64) -> Self {
        let mut sorted = drawn_ns.clone();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let slower = sorted.iter().filter(|drawn| **drawn > time_ns).count() as f64;
        let equal = sorted.iter().filter(|drawn| **drawn == time_ns).count() as f64;
        let [p5, p50, p95] = quantiles(&sorted, [0.05, 0.5, 0.95], seed);
        Self {
            rows,
            time_ns,
            better_than: (slower + 0.5 * equal) / count,
            best_ns: sorted[0],
            p5,
            p50,
            p95,
            worst_ns: sorted[sorted.len() - 1],
            drawn_ns,
        }
    }
}

/// Quantiles of ascending times with their standard errors, which are those of resamples.
fn quantiles(sorted: &[f64], shares: [f64; 3], seed: u64) -> [Quantile; 3] {
    let mut random = SplitMix64::new(seed ^ 0x6c75_636b);
    let mut resampled: [Vec<f64>; 3] = Default::default();
    for _ in 0..RESAMPLES {
        let mut again: Vec<f64> =
            (0..sorted.len()).map(|_| sorted[random.below(sorted.len())]).collect();
        again.sort_by(f64::total_cmp);
        resampled.iter_mut().zip(shares).for_each(|(all, share)| all.push(quantile(&again, share)));
    }
    std::array::from_fn(|number| {
        let values = &resampled[number];
        let mean = values.iter().sum::<f64>() / RESAMPLES as f64;
        let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        Quantile {
            time_ns: quantile(sorted, shares[number]),
            error_ns: (squares / (RESAMPLES - 1) as f64).sqrt(),
        }
    })
}

/// The quantile of ascending values: between two of them it is interpolated.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    sorted[low] + (place - low as f64) * (sorted[high] - sorted[low])
}

#[cfg(test)]
mod tests {
    use flashpager_layout::Unit;
    use flashpager_trace::{MemoryTrace, Run, Symbol};
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::super::made::{FRAMES, PAGE_BYTES, design, write_trace};
    use super::*;

    /// Bytes of a function.
    const FUNCTION_BYTES: u32 = 48;
    const FUNCTIONS: u32 = 12;

    /// A trace of functions of one length; the last 16 bytes of each are never executed.
    fn written(folder: &TempDir, executed: &[u32]) -> PathBuf {
        let path = folder.path().join("made.trace");
        let symbols = (0..FUNCTIONS).map(|function| Symbol {
            name: format!("f{function}"),
            offset: function * FUNCTION_BYTES,
            bytes: FUNCTION_BYTES,
        });
        let runs = executed.iter().map(|it| Run { offset: it * FUNCTION_BYTES, length: 32 });
        write_trace(&path, "", symbols.collect(), runs);
        path
    }

    fn request(path: PathBuf, kind: DrawKind, draws: u32) -> LuckRequest {
        LuckRequest {
            traces: vec![(path, 1.0)],
            map: None,
            designs: vec![design()],
            kind,
            draws,
            seed: 7,
        }
    }

    /// Counts misses byte by byte.
    fn misses(runs: &[(u32, u32)]) -> usize {
        let mut cached: Vec<u32> = Vec::new();
        let mut missed = 0;
        for (offset, length) in runs {
            for byte in *offset..offset + length {
                let page = byte / PAGE_BYTES;
                if let Some(place) = cached.iter().position(|other| *other == page) {
                    cached.remove(place);
                } else {
                    missed += 1;
                    if cached.len() == FRAMES {
                        cached.remove(0);
                    }
                }
                cached.push(page);
            }
        }
        missed
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Each drawn time is that of a plain cache for the places that were drawn: times differ as
        /// misses do, by the same price.
        #[test]
        fn draws_are_replayed_to_the_last_miss(
            executed in prop::collection::vec(0..FUNCTIONS, 2..120),
            kind in prop::sample::select(vec![DrawKind::Edits, DrawKind::Orders, DrawKind::Shifts]),
        ) {
            let folder = TempDir::new().unwrap();
            let request = request(written(&folder, &executed), kind, 20);
            let answer = luck(&request, &|| true, &|_| {}).unwrap();
            let design = &answer.designs[0];

            let traces = TraceSet::load(&request.traces, &[], 0.0).unwrap();
            let (units, _) = recorded_units(&traces, None, false, &|| true).unwrap();
            let draws = LinkDraws::new(
                &units,
                executed_lengths(&units, &traces.executed(&|| true).unwrap()),
                kind,
            );
            let mut random = SplitMix64::new(request.seed);
            let mut pairs = vec![(
                misses(&executed.iter().map(|it| (it * FUNCTION_BYTES, 32)).collect::<Vec<_>>()),
                design.time_ns,
            )];
            for time_ns in &design.drawn_ns {
                let link = draws.draw(&mut random).unwrap();
                let runs = executed.iter().map(|it| {
                    let number = units.owner(it * FUNCTION_BYTES).unwrap();
                    (link.offsets[number], 32)
                });
                pairs.push((misses(&runs.collect::<Vec<_>>()), *time_ns));
            }
            let (low, high) =
                (pairs.iter().min_by_key(|it| it.0).unwrap(), pairs.iter().max_by_key(|it| it.0).unwrap());
            let price = if high.0 == low.0 { 0.0 } else { (high.1 - low.1) / (high.0 - low.0) as f64 };
            for (misses, time_ns) in &pairs {
                let expected = low.1 + (misses - low.0) as f64 * price;
                prop_assert!((time_ns - expected).abs() < 1e-6 * expected, "{pairs:?}");
            }
            prop_assert!(high.0 == low.0 || price > 0.0);
        }

        /// Units of a drawn link keep their alignments, hold what is executed of them, and do not
        /// overlap.
        #[test]
        fn drawn_links_can_be(
            sizes in prop::collection::vec((1u32..200, 0u32..4, 0u32..100), 1..30),
            seed in any::<u64>(),
        ) {
            let (mut at, mut all, mut runs) = (0u32, Vec::new(), Vec::new());
            for (number, (bytes, align, executed)) in sizes.into_iter().enumerate() {
                let align = 1 << align;
                let offset = at.next_multiple_of(align);
                at = offset + bytes;
                if executed > 0 {
                    runs.push(Run { offset, length: executed.min(bytes) });
                }
                all.push(Unit { name: number.to_string(), offset, bytes, align, fixed: false });
            }
            let units = Units::new(all, at.into()).unwrap();
            let trace = MemoryTrace::with_image(runs, at.into());
            let mut executed = ExecutedBytes::default();
            executed.add(&trace, &|| true).unwrap();
            for kind in [DrawKind::Edits, DrawKind::Orders, DrawKind::Shifts] {
                let draws = LinkDraws::new(&units, executed_lengths(&units, &executed), kind);
                let mut random = SplitMix64::new(seed);
                for _ in 0..10 {
                    let link = draws.draw(&mut random).unwrap();
                    let mut taken = vec![false; link.image_bytes as usize + 1];
                    for (number, unit) in units.all().iter().enumerate() {
                        let to = link.offsets[number];
                        prop_assert_eq!(to % unit.align, 0);
                        for byte in to..to + draws.executed_bytes[number] {
                            prop_assert!(!std::mem::replace(&mut taken[byte as usize], true));
                        }
                    }
                }
            }
        }
    }

    /// Edits change about one function in twenty, by 4 to 64 bytes, both ways, and add one.
    #[test]
    fn edits_are_as_defined() {
        let unit = |number: u32| Unit {
            name: number.to_string(),
            offset: number * 256,
            bytes: 200,
            align: 4,
            fixed: false,
        };
        let units = Units::new((0..400).map(unit).collect(), 400 * 256).unwrap();
        let mut executed = ExecutedBytes::default();
        let runs = (0..400).map(|number| Run { offset: number * 256, length: 40 }).collect();
        executed.add(&MemoryTrace::with_image(runs, 400 * 256), &|| true).unwrap();
        let draws = LinkDraws::new(&units, executed_lengths(&units, &executed), DrawKind::Edits);
        let mut random = SplitMix64::new(3);
        let (mut grown, mut shrunk) = (0, 0);
        for _ in 0..100 {
            let edit = draws.edit(&mut random);
            let added = edit.added[0];
            assert!(added.place <= 400 && added.bytes == 200 && added.align == 4);
            for bytes in edit.bytes {
                let change = bytes.abs_diff(200);
                assert!(change <= 64 && change % 4 == 0);
                grown += u32::from(bytes > 200);
                shrunk += u32::from(bytes < 200);
            }
        }
        // 2,000 of 40,000 are expected, half of them each way.
        assert!((1_800..2_200).contains(&(grown + shrunk)), "{grown} {shrunk}");
        assert!((850..1_150).contains(&grown), "{grown} {shrunk}");
    }

    /// By hand: quantiles of 0, 10, 20, 30, 40 lie on a line, and equal draws have no error.
    #[test]
    fn quantiles_are_interpolated() {
        let sorted = [0.0, 10.0, 20.0, 30.0, 40.0];
        assert_eq!(quantile(&sorted, 0.5), 20.0);
        assert_eq!(quantile(&sorted, 0.05), 2.0);
        assert_eq!(quantile(&sorted, 0.95), 38.0);
        let same = DesignLuck::new(Vec::new(), 5.0, vec![5.0; 30], 1);
        assert_eq!((same.better_than, same.p95.error_ns), (0.5, 0.0));
        // The standard error of the median of 0 … 999 is about half of the square root of 1,000
        // ranks.
        let many = DesignLuck::new(Vec::new(), 250.0, (0..1000).map(f64::from).collect(), 1);
        assert!((many.better_than - 0.7495).abs() < 1e-12);
        assert!((10.0..22.0).contains(&many.p50.error_ns), "{:?}", many.p50);
    }
}
