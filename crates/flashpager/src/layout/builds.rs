//! Two builds of a program: what of their difference in time is code, and what is luck of the links.
//!
//! Behind a cache in hardware a change of the code also moves all code behind it, so the times of two
//! links differ by the change and by the luck of both. Here both builds are put at the same places,
//! again and again, as links after a commit have them: the mean difference is that of the code.

use std::path::{Path, PathBuf};

use flashpager_base::random::SplitMix64;
use flashpager_base::{Error, ProgressFn, Result};
use flashpager_binary::elf::is_unnamed;
use flashpager_binary::link::recorded_at;
use flashpager_binary::names::demangled;
use flashpager_layout::{
    Build, JointUnits, MatchNames, MatchedBuilds, PieceSequence, Unit, UnitPlacement, Units,
};
use flashpager_replay::{Events, Fault, FaultClass, replay};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::luck::{DrawKind, LinkDraws, LinkReplays, executed_lengths};
use super::program::recorded_units;
use super::request::check_is_sum;
use super::traces::{TraceSet, check_reads_pass};
use crate::design::Design;

/// The fewest draws whose interval is of use.
const FEWEST_DRAWS: u32 = 5;
const MOST_DRAWS: u32 = 100_000;
/// Draws that are made at once, and then replayed in parallel.
const CHUNK: usize = 8;
/// Marks of the clones that a compiler makes of a function, with a number or a hash behind each.
const CLONES: [&str; 4] = ["constprop", "isra", "lto_priv", "llvm"];
/// Marks of the parts into which a compiler cuts a function, with a number behind some.
const PARTS: [&str; 2] = ["part", "cold"];

/// A recorded build.
#[derive(Clone, Debug)]
pub struct RecordedBuild {
    /// The trace.
    pub trace: PathBuf,
    /// The map of its link; without one the units are functions.
    pub map: Option<PathBuf>,
}

/// Two builds, and the design that runs them.
#[derive(Clone, Debug)]
pub struct BuildsRequest {
    /// The builds A and B.
    pub builds: [RecordedBuild; 2],
    /// The design.
    pub design: Design,
    /// Number of links to draw.
    pub draws: u32,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// A ratio of times, B's to A's, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioInterval {
    /// The ratio: the geometric mean.
    pub ratio: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A function of two builds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionChange {
    /// Its name in B, or in A if B does not have it.
    pub name: String,
    /// Its length in A in bytes. `None` if A does not have it.
    pub bytes_a: Option<u32>,
    /// Its length in B in bytes. `None` if B does not have it.
    pub bytes_b: Option<u32>,
    /// Bytes that A executes of it, once for each time.
    pub executed_a: u64,
    /// Bytes that B executes of it, once for each time.
    pub executed_b: u64,
    /// Its misses in A, the mean of all draws.
    pub misses_a: f64,
    /// Its misses in B, the mean of all draws.
    pub misses_b: f64,
    /// The change of its time, as a share of A's time. Time beside that of misses is shared by executed
    /// bytes, so the shares add up to the mean change only if instructions are as long in both builds.
    pub share: f64,
}

/// The comparison of two builds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuildComparison {
    /// Time of A as it was linked, in nanoseconds.
    pub time_a_ns: f64,
    /// Time of B as it was linked, in nanoseconds.
    pub time_b_ns: f64,
    /// Ratio of the times of the two links: code and luck.
    pub link_ratio: f64,
    /// Ratio of the times at the same places.
    pub code: RatioInterval,
    /// What the links add to that: [`BuildComparison::link_ratio`] over the ratio of the code.
    pub luck_ratio: f64,
    /// Times of A and B in nanoseconds in each drawn link.
    pub drawn_ns: Vec<(f64, f64)>,
    /// Functions that differ in length, in executed bytes or in misses, the largest share of time
    /// first.
    pub functions: Vec<FunctionChange>,
    /// Number of units that both builds have.
    pub matched: usize,
    /// Number of units of A alone.
    pub only_a: usize,
    /// Number of units of B alone.
    pub only_b: usize,
    /// Bytes executed in units that both builds have, as a share of all, in A and B.
    pub matched_shares: (f64, f64),
    /// Assumptions on the units.
    pub notes: Vec<String>,
}

/// Compares two builds. Progress is the number of links replayed so far. Once `should_continue`
/// returns false, the answer is that of the links replayed until then.
///
/// # Errors
/// If a trace cannot be read or has no units that can move, the builds share no unit, or a design
/// cannot execute a trace. [`Error::Interrupted`] if it is stopped before enough links.
pub fn compare_builds(
    request: &BuildsRequest,
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, u32>,
) -> Result<BuildComparison> {
    request.check()?;
    let load = |build: &RecordedBuild| TraceSet::load(&[(build.trace.clone(), 1.0)], &[], 0.0);
    let [of_a, of_b] = &request.builds;
    let (traces_a, traces_b) = (load(of_a)?, load(of_b)?);
    check_same_program(&traces_a, &traces_b)?;
    let run = |build: &RecordedBuild, traces| {
        RunBuild::new(traces, build.map.as_deref(), &request.design, should_continue)
    };
    let builds = [run(of_a, traces_a)?, run(of_b, traces_b)?];
    let [a, b] = &builds;
    let matched = MatchedBuilds::new([&a.units, &b.units], [&a.names(), &b.names()]);
    let is_shared = |number: &u32| matched.matched(Build::A, *number as usize).is_some();
    if !a.units.movable().iter().any(is_shared) {
        return Err(Error::design(
            "the builds have no function in common: compare two builds of one program",
        ));
    }
    let joint = [matched.joint(Build::A)?, matched.joint(Build::B)?];
    let draws = joint.each_ref().map(|joint| {
        let executed = joint.largest([&a.executed_lengths, &b.executed_lengths]);
        LinkDraws::new(joint.units(), executed, DrawKind::Edits)
    });
    let [time_a_ns, time_b_ns] = [a.linked()?.time_ns, b.linked()?.time_ns];
    let mut random = SplitMix64::new(request.seed);
    let mut sums = DrawnSums::new(&builds);
    let mut replays = LinkReplays::new(should_continue, progress);
    for first in (0..request.draws as usize).step_by(CHUNK) {
        let end = (first + CHUNK).min(request.draws as usize);
        // A's link and B's link in turn.
        let links =
            (first..end).map(|number| Ok((number % 2, draws[number % 2].draw(&mut random)?)));
        let links = links.collect::<Result<Vec<(usize, UnitPlacement)>>>()?;
        let pairs = replays.of(&links, |(base, link)| pair_at(&builds, &joint[*base], link))?;
        pairs.iter().for_each(|pair| sums.add(pair));
        if replays.is_stopped {
            break;
        }
    }
    if sums.drawn_ns.len() < FEWEST_DRAWS as usize {
        return Err(Error::Interrupted);
    }
    let link_ratio = time_b_ns / time_a_ns;
    let code = sums.code();
    Ok(BuildComparison {
        time_a_ns,
        time_b_ns,
        link_ratio,
        code,
        luck_ratio: link_ratio / code.ratio,
        functions: sums.functions(&builds, &matched),
        matched: (0..a.units.all().len()).filter(|number| is_shared(&(*number as u32))).count(),
        only_a: a.without_match(&matched, Build::A),
        only_b: b.without_match(&matched, Build::B),
        matched_shares: (a.matched_share(&matched, Build::A), b.matched_share(&matched, Build::B)),
        notes: notes(a, b),
        drawn_ns: sums.drawn_ns,
    })
}

impl BuildsRequest {
    /// Checks what can be checked before a trace is read.
    fn check(&self) -> Result<()> {
        if !(FEWEST_DRAWS..=MOST_DRAWS).contains(&self.draws) {
            let draws = self.draws;
            return Err(Error::design(format!(
                "{draws} draws: it is {FEWEST_DRAWS} to {MOST_DRAWS}"
            )));
        }
        let [a, b] = &self.builds;
        if a.map.is_some() != b.map.is_some() {
            return Err(Error::design(
                "one build has a map and the other has none: units of the two are not the same",
            ));
        }
        check_is_sum(&self.design, "compare the builds")
    }
}

fn check_same_program(a: &TraceSet, b: &TraceSet) -> Result<()> {
    let [of_a, of_b] = [a, b].map(|traces| traces.info().architecture.as_str());
    if of_a == of_b {
        return Ok(());
    }
    Err(Error::design(format!(
        "A is a program of {of_a}, B one of {of_b}: compare two builds for one architecture"
    )))
}

/// The notes of both builds, each once.
fn notes(a: &RunBuild, b: &RunBuild) -> Vec<String> {
    let of_a = a.notes.iter().map(|note| match b.notes.contains(note) {
        true => note.clone(),
        false => format!("A: {note}"),
    });
    let of_b =
        b.notes.iter().filter(|note| !a.notes.contains(note)).map(|note| format!("B: {note}"));
    of_a.chain(of_b).collect()
}

/// A build that is replayed.
struct RunBuild {
    traces: TraceSet,
    units: Units,
    design: Design,
    /// Bytes of each unit up to its last executed one.
    executed_lengths: Vec<u32>,
    /// Bytes executed of each unit, once for each time.
    executed_bytes: Vec<u64>,
    notes: Vec<String>,
}

impl RunBuild {
    /// Prepares the replay of a build that was linked with `map`.
    fn new(
        traces: TraceSet,
        map: Option<&Path>,
        design: &Design,
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self> {
        if traces.has_reads() {
            check_reads_pass(design)?;
        }
        let (units, notes) = recorded_units(&traces, map, false, should_continue)?;
        let executed_lengths = executed_lengths(&units, &traces.executed(should_continue)?);
        let mut executed_bytes = vec![0; units.all().len()];
        for (_, trace) in traces.training() {
            for piece in PieceSequence::of(&units, trace, should_continue)?.iter() {
                executed_bytes[piece.unit as usize] += u64::from(piece.bytes);
            }
        }
        let design = design.executing(traces.info())?.into_owned();
        Ok(Self { traces, units, design, executed_lengths, executed_bytes, notes })
    }

    fn names(&self) -> MatchNames {
        self.units.all().iter().map(match_names).collect()
    }

    /// Replays the build as it was linked.
    fn linked(&self) -> Result<DrawnTime> {
        self.at(&UnitPlacement::recorded(&self.units))
    }

    /// Replays the build with its units at the places of `placement`.
    fn at(&self, placement: &UnitPlacement) -> Result<DrawnTime> {
        let mut starts: Vec<(u32, usize)> =
            placement.offsets.iter().enumerate().map(|(unit, offset)| (*offset, unit)).collect();
        starts.sort_unstable();
        let owner = |offset: u32| {
            let behind = starts.partition_point(|(start, _)| *start <= offset);
            starts[behind.max(1) - 1].1
        };
        let mut classes: Vec<FxHashMap<FaultClass, u64>> = vec![FxHashMap::default(); starts.len()];
        let mut sink = |_: usize, fault: &Fault| {
            let class = FaultClass::of(&fault.access, fault.search);
            *classes[owner(fault.offset)].entry(class).or_default() += 1;
        };
        let events =
            Events { critical_block_bytes: None, sink: &mut sink, begun: None, words: None };
        let recorded = &self.traces.training[0].training;
        let trace = placement.remap(&self.units, recorded, &|| true)?;
        let (design, registers) = (&self.design, [self.design.register()]);
        let (counts, _) = replay(&trace, design.cache(), &registers, &|| true, Some(events))?;
        let time_ns = design.evaluate(&counts[0]).time.time_ns;
        let (prices, written) = (design.prices(), u64::from(design.cache().cache_page_bytes));
        let of_unit = |classes: &FxHashMap<FaultClass, u64>| {
            let mut classes: Vec<(&FaultClass, &u64)> = classes.iter().collect();
            // A fixed order, so that rounding is the same each time.
            classes.sort_unstable();
            classes.into_iter().fold((0, 0.0), |(misses, fault_ns), (class, count)| {
                (misses + count, fault_ns + prices.fault_ns(class, written) * *count as f64)
            })
        };
        Ok(DrawnTime { time_ns, of_units: classes.iter().map(of_unit).collect() })
    }

    fn without_match(&self, matched: &MatchedBuilds<'_>, build: Build) -> usize {
        let numbers = 0..self.units.all().len();
        numbers.filter(|number| matched.matched(build, *number).is_none()).count()
    }

    /// The share of the executed bytes that lie in units of both builds.
    fn matched_share(&self, matched: &MatchedBuilds<'_>, build: Build) -> f64 {
        let executed = self.executed_bytes.iter().enumerate();
        let shared = executed.filter(|(number, _)| matched.matched(build, *number).is_some());
        let shared: u64 = shared.map(|(_, bytes)| bytes).sum();
        shared as f64 / self.executed_bytes.iter().sum::<u64>().max(1) as f64
    }
}

/// Replays both builds at the same places.
fn pair_at(
    builds: &[RunBuild; 2],
    joint: &JointUnits,
    link: &UnitPlacement,
) -> Result<[DrawnTime; 2]> {
    let [a, b] = builds;
    Ok([a.at(&joint.placement(Build::A, link))?, b.at(&joint.placement(Build::B, link))?])
}

/// The names by which a unit is matched: as it is called, without numbers that a compiler gives to
/// clones, and without their marks. None for code that has no name.
fn match_names(unit: &Unit) -> Vec<String> {
    let name = recorded_at(&unit.name).map_or(unit.name.as_str(), |(name, _)| name);
    let name = name.rsplit_once(" at 0x").map_or(name, |(name, _)| name);
    if name.is_empty() || name.starts_with("@0x") || is_unnamed(name) {
        return Vec::new();
    }
    let name = without_hash(name);
    let unnumbered = without_numbers(&name);
    let mut words = unnumbered.split('.');
    let first: Vec<&str> = words.next().into_iter().collect();
    let unmarked: Vec<&str> =
        first.into_iter().chain(words.filter(|word| !CLONES.contains(word))).collect();
    [name.clone(), unnumbered.clone(), unmarked.join(".")].map(|name| demangled(&name)).into()
}

/// The name without the number or hash behind each mark of a clone or part.
fn without_numbers(name: &str) -> String {
    let is_mark = |word: &str| CLONES.contains(&word) || PARTS.contains(&word);
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut kept: Vec<&str> = Vec::new();
    let mut is_behind_mark = false;
    for (number, word) in name.split('.').enumerate() {
        if is_behind_mark && is_number(word) {
            is_behind_mark = false;
            continue;
        }
        is_behind_mark = number > 0 && is_mark(word);
        kept.push(word);
    }
    kept.join(".")
}

/// The name without the hash that older names of Rust end with: it differs between builds.
fn without_hash(name: &str) -> String {
    const DIGITS: usize = 16;
    let is_hash = |at: &usize| {
        let hash = name.as_bytes().get(at + 3..at + 3 + DIGITS);
        hash.is_some_and(|hash| hash.iter().all(u8::is_ascii_hexdigit))
            && name.as_bytes().get(at + 3 + DIGITS) == Some(&b'E')
    };
    let hash = name.match_indices("17h").map(|(at, _)| at).find(is_hash);
    hash.map_or(name.to_owned(), |at| {
        format!("{}17h{:0DIGITS$}{}", &name[..at], 0, &name[at + 3 + DIGITS..])
    })
}

/// The time of a build in a link.
struct DrawnTime {
    time_ns: f64,
    /// Misses and their time in nanoseconds, by unit.
    of_units: Vec<(u64, f64)>,
}

/// Sums over draws.
struct DrawnSums {
    drawn_ns: Vec<(f64, f64)>,
    /// Sums of misses and of their times, by build and unit.
    of_units: [Vec<(u64, f64)>; 2],
}

impl DrawnSums {
    fn new(builds: &[RunBuild; 2]) -> Self {
        let of_units = builds.each_ref().map(|build| vec![(0, 0.0); build.units.all().len()]);
        Self { drawn_ns: Vec::new(), of_units }
    }

    fn add(&mut self, pair: &[DrawnTime; 2]) {
        self.drawn_ns.push((pair[0].time_ns, pair[1].time_ns));
        for (sums, drawn) in self.of_units.iter_mut().zip(pair) {
            for (sum, (misses, fault_ns)) in sums.iter_mut().zip(&drawn.of_units) {
                *sum = (sum.0 + misses, sum.1 + fault_ns);
            }
        }
    }

    /// The geometric mean of the ratios, with its interval.
    fn code(&self) -> RatioInterval {
        let logs: Vec<f64> = self.drawn_ns.iter().map(|(a, b)| (b / a).ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
        let half = student(logs.len() - 1) * (squares / (count - 1.0) / count).sqrt();
        RatioInterval { ratio: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() }
    }

    /// The functions that differ. Time beside that of misses is shared by executed bytes, in B at A's
    /// rate for functions that execute as many bytes in both, and the rest among the others.
    fn functions(
        &self,
        builds: &[RunBuild; 2],
        matched: &MatchedBuilds<'_>,
    ) -> Vec<FunctionChange> {
        let draws = self.drawn_ns.len() as f64;
        let times = self.drawn_ns.iter().fold([0.0; 2], |sum, (a, b)| [sum[0] + a, sum[1] + b]);
        let executed_ns = |side: usize| -> f64 {
            times[side] - self.of_units[side].iter().map(|(_, fault_ns)| fault_ns).sum::<f64>()
        };
        let all_bytes = |side: usize| builds[side].executed_bytes.iter().sum::<u64>() as f64;
        let rate = executed_ns(0) / all_bytes(0).max(1.0);
        let is_same = |number: usize| {
            matched.matched(Build::B, number).is_some_and(|in_a| {
                builds[0].executed_bytes[in_a] == builds[1].executed_bytes[number]
            })
        };
        let is_same: Vec<bool> = (0..builds[1].units.all().len()).map(is_same).collect();
        let same = builds[1].executed_bytes.iter().zip(&is_same).filter(|(_, is_same)| **is_same);
        let same_bytes = same.map(|(bytes, _)| bytes).sum::<u64>() as f64;
        let changed_bytes = all_bytes(1) - same_bytes;
        let (same_rate, changed_rate) = if changed_bytes > 0.0 {
            (rate, (executed_ns(1) - rate * same_bytes) / changed_bytes)
        } else {
            let rate = executed_ns(1) / same_bytes.max(1.0);
            (rate, rate)
        };
        let rates_of_b =
            is_same.iter().map(|is_same| if *is_same { same_rate } else { changed_rate });
        let rates = [vec![rate; builds[0].units.all().len()], rates_of_b.collect()];
        let mut rates = rates.into_iter();
        let sides: [UnitTimes<'_>; 2] = std::array::from_fn(|side| UnitTimes {
            build: &builds[side],
            of_units: &self.of_units[side],
            draws,
            ns_per_byte: rates.next().unwrap_or_default(),
        });
        let all_ns = times[0] / draws;
        let of_a = (0..builds[0].units.all().len())
            .map(|number| (Some(number), matched.matched(Build::A, number)));
        let of_b = (0..builds[1].units.all().len())
            .filter(|number| matched.matched(Build::B, *number).is_none())
            .map(|number| (None, Some(number)));
        let change = |(a, b): (Option<usize>, Option<usize>)| {
            let (in_a, in_b) = (a.map(|it| sides[0].unit(it)), b.map(|it| sides[1].unit(it)));
            let name = in_b.as_ref().or(in_a.as_ref()).map(|unit| unit.name.clone());
            let zero = UnitTime::default();
            let (of_a, of_b) = (in_a.as_ref().unwrap_or(&zero), in_b.as_ref().unwrap_or(&zero));
            FunctionChange {
                name: name.unwrap_or_default(),
                bytes_a: in_a.as_ref().map(|unit| unit.bytes),
                bytes_b: in_b.as_ref().map(|unit| unit.bytes),
                executed_a: of_a.executed,
                executed_b: of_b.executed,
                misses_a: of_a.misses,
                misses_b: of_b.misses,
                share: (of_b.time_ns - of_a.time_ns) / all_ns,
            }
        };
        let differs = |it: &FunctionChange| {
            it.bytes_a != it.bytes_b || it.executed_a != it.executed_b || it.misses_a != it.misses_b
        };
        let mut changes: Vec<FunctionChange> =
            of_a.chain(of_b).map(change).filter(differs).collect();
        changes.sort_by(|one, other| {
            let by_share = other.share.abs().total_cmp(&one.share.abs());
            by_share.then_with(|| one.name.cmp(&other.name))
        });
        changes
    }
}

/// The times of the units of a build.
struct UnitTimes<'a> {
    build: &'a RunBuild,
    of_units: &'a [(u64, f64)],
    draws: f64,
    /// Time in all draws beside that of misses, for each executed byte, by unit.
    ns_per_byte: Vec<f64>,
}

/// The mean time of a unit.
#[derive(Default)]
struct UnitTime {
    name: String,
    bytes: u32,
    executed: u64,
    misses: f64,
    time_ns: f64,
}

impl UnitTimes<'_> {
    fn unit(&self, number: usize) -> UnitTime {
        let unit = &self.build.units.all()[number];
        let name = recorded_at(&unit.name).map_or(unit.name.as_str(), |(name, _)| name);
        let executed = self.build.executed_bytes[number];
        let (misses, fault_ns) = self.of_units[number];
        UnitTime {
            name: demangled(name),
            bytes: unit.bytes,
            executed,
            misses: misses as f64 / self.draws,
            time_ns: (fault_ns + self.ns_per_byte[number] * executed as f64) / self.draws,
        }
    }
}

/// Half of a 95 % interval in standard errors, by Student's distribution: an expansion around the
/// normal one (Abramowitz and Stegun, 26.7.5), within 0.3 % from 4 degrees of freedom on.
fn student(freedom: usize) -> f64 {
    const NORMAL: f64 = 1.959_964;
    let (z, n) = (NORMAL, freedom as f64);
    z + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * n * n * n)
}

#[cfg(test)]
mod tests {
    use flashpager_trace::{Run, Symbol};
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::super::made::{design, write_trace};
    use super::*;

    /// A function as it was linked: its offset, its length, and the bytes that a call executes.
    type Linked = (u32, u32, u32);

    /// Writes a trace of functions, called in this order.
    fn written(
        folder: &TempDir,
        name: &str,
        functions: &[(&str, Linked)],
        calls: &[usize],
    ) -> RecordedBuild {
        let path = folder.path().join(name);
        let symbol = |(name, (offset, bytes, _)): &(&str, Linked)| Symbol {
            name: (*name).to_owned(),
            offset: *offset,
            bytes: *bytes,
        };
        let symbols: Vec<Symbol> = functions.iter().map(symbol).collect();
        let run = |call: &usize| {
            let (_, (offset, _, length)) = functions[*call];
            Run { offset, length }
        };
        write_trace(&path, name, symbols, calls.iter().map(run));
        RecordedBuild { trace: path, map: None }
    }

    fn compared(a: RecordedBuild, b: RecordedBuild, draws: u32) -> Result<BuildComparison> {
        let request = BuildsRequest { builds: [a, b], design: design(), draws, seed: 5 };
        compare_builds(&request, &|| true, &|_| {})
    }

    /// A link of functions of these lengths, `first` bytes into the image.
    fn link(lengths: &[(u32, u32)], first: u32) -> Vec<Linked> {
        let mut at = first;
        let place = |(bytes, executed): &(u32, u32)| {
            let offset = at.next_multiple_of(4);
            at = offset + bytes;
            (offset, *bytes, *executed)
        };
        lengths.iter().map(place).collect()
    }

    const NAMES: [&str; 8] = ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Code that is not executed pushes all other code: however the times of the links differ,
        /// the code's ratio is 1 to the last bit.
        #[test]
        fn a_shift_is_no_change_of_code(
            lengths in prop::collection::vec((16u32..120, 1u32..16), 8),
            calls in prop::collection::vec(0usize..8, 2..200),
            cold in 1u32..200,
            grown in 0usize..8,
            growth in 0u32..60,
        ) {
            let folder = TempDir::new().unwrap();
            let named = |linked: Vec<Linked>| -> Vec<(&str, Linked)> {
                NAMES.into_iter().zip(linked).collect()
            };
            let a = named(link(&lengths, 0));
            // Its end, which is not executed, may grow, too.
            let mut longer = lengths.clone();
            longer[grown].0 += growth;
            let mut b = named(link(&longer, cold));
            b.push(("cold", (0, cold, 1)));
            let comparison = compared(
                written(&folder, "a.trace", &a, &calls),
                written(&folder, "b.trace", &b, &calls),
                6,
            ).unwrap();
            prop_assert_eq!(comparison.code, RatioInterval { ratio: 1.0, low: 1.0, high: 1.0 });
            prop_assert_eq!(comparison.luck_ratio, comparison.time_b_ns / comparison.time_a_ns);
            prop_assert!(comparison.functions.iter().all(|it| it.share == 0.0 && it.misses_a == it.misses_b));
            prop_assert_eq!((comparison.matched, comparison.only_a, comparison.only_b), (8, 0, 1));
        }

        /// The shares of functions add up to the mean change, and times are positive.
        #[test]
        fn shares_add_up(
            lengths in prop::collection::vec((20u32..120, 1u32..16), 8),
            calls in prop::collection::vec(0usize..8, 2..200),
            other in prop::collection::vec(0usize..8, 2..200),
        ) {
            let folder = TempDir::new().unwrap();
            let named: Vec<_> = NAMES.into_iter().zip(link(&lengths, 0)).collect();
            let comparison = compared(
                written(&folder, "a.trace", &named, &calls),
                written(&folder, "b.trace", &named, &other),
                6,
            ).unwrap();
            let sums = comparison.drawn_ns.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
            let shares: f64 = comparison.functions.iter().map(|it| it.share).sum();
            // Functions with neither other counts nor other lengths may have another share of the
            // time beside misses.
            let change = sums.1 / sums.0 - 1.0;
            prop_assert!((shares - change).abs() < 1e-9 * (1.0 + change.abs()), "{} {}", shares, change);
            prop_assert!(comparison.code.low <= comparison.code.ratio && comparison.code.ratio <= comparison.code.high);
        }
    }

    /// A cache of which code is far larger, so that nearly each call misses, and a function that one
    /// call in a hundred executes once more: a change of 1 %, in a link that has been pushed.
    #[test]
    fn a_change_of_one_percent_is_seen() {
        let folder = TempDir::new().unwrap();
        let lengths = [(96, 64); 8];
        let a: Vec<_> = NAMES.into_iter().zip(link(&lengths, 0)).collect();
        let b: Vec<_> = NAMES.into_iter().zip(link(&lengths, 52)).collect();
        let calls: Vec<usize> = (0..4000).map(|call| call * 5 % 8).collect();
        let more = calls.chunks(100).flat_map(|calls| {
            // One that was evicted, and is called again after others only.
            let [.., last] = calls else { unreachable!("chunks are not empty") };
            calls.iter().copied().chain([(last + 4) % 8])
        });
        let more: Vec<usize> = more.collect();
        let comparison = compared(
            written(&folder, "a.trace", &a, &calls),
            written(&folder, "b.trace", &b, &more),
            10,
        )
        .unwrap();
        assert!((comparison.code.ratio - 1.01).abs() < 0.001, "{:?}", comparison.code);
        assert!(
            comparison.code.low > 1.008 && comparison.code.high < 1.012,
            "{:?}",
            comparison.code
        );
        assert!(
            (comparison.code.ratio * comparison.luck_ratio - comparison.link_ratio).abs() < 1e-12
        );
    }

    /// By hand: hashes and numbers of clones differ between builds, and cut parts are no whole ones.
    #[test]
    fn names_of_units() {
        let names = |name: &str| {
            let unit = Unit { name: name.into(), offset: 0, bytes: 1, align: 1, fixed: false };
            match_names(&unit)
        };
        assert_eq!(names("f@0x360"), ["f", "f", "f"]);
        assert_eq!(names("f.isra.0"), ["f.isra.0", "f.isra", "f"]);
        assert_eq!(names("f.part.3"), ["f.part.3", "f.part", "f.part"]);
        // The cold part of a clone is no whole function, and no part of another kind.
        assert_eq!(names("f.cold"), ["f.cold"; 3]);
        assert_eq!(names("f.isra.0.cold"), ["f.isra.0.cold", "f.isra.cold", "f.cold"]);
        assert_eq!(names("f.part.0.cold.1"), ["f.part.0.cold.1", "f.part.cold", "f.part.cold"]);
        assert_eq!(names("f.constprop.1.isra.2")[1..], ["f.constprop.isra", "f"]);
        assert_eq!(names("_Z1fv.isra.0")[2], names("_Z1fv")[0]);
        assert_eq!(names("@0x360"), [""; 0]);
        assert_eq!(names("sub_1f0"), [""; 0]);
        let rust = |hash: &str| names(&format!("_ZN3app4main17h{hash}E"));
        assert_eq!(rust("0123456789abcdef"), rust("fedcba9876543210"));
        assert_eq!(rust("0123456789abcdef")[0], "app::main");
    }

    /// From the table of Student's distribution in Abramowitz and Stegun, 26.10.
    #[test]
    fn half_widths() {
        for (freedom, half) in [(4, 2.776), (9, 2.262), (19, 2.093), (120, 1.980)] {
            assert!((student(freedom) / half - 1.0).abs() < 0.004, "{freedom}");
        }
    }

    #[test]
    fn builds_of_other_programs_are_refused() {
        let folder = TempDir::new().unwrap();
        let a = written(&folder, "a.trace", &[("f", (0, 32, 32))], &[0]);
        let b = written(&folder, "b.trace", &[("g", (0, 32, 32))], &[0]);
        let refused = |a: &RecordedBuild, b: &RecordedBuild, draws| {
            compared(a.clone(), b.clone(), draws).err().map(|error| error.to_string())
        };
        let message = "the builds have no function in common: compare two builds of one program";
        assert_eq!(refused(&a, &b, 5).as_deref(), Some(message));
        assert_eq!(refused(&a, &a, 4).as_deref(), Some("4 draws: it is 5 to 100000"));
        let with_map = RecordedBuild { map: Some("a.map".into()), ..b };
        assert!(refused(&a, &with_map, 5).is_some_and(|message| message.contains("has a map")));
    }
}
