//! Attribution: which code of a program causes the faults of a design.
//!
//! A fault belongs to whoever owns the byte that was to be executed or read: a symbol,
//! a line of source, or an image. The faults are counted by the replay and
//! priced afterwards, as all counts are.

mod owners;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use flashpager_base::{Error, Result, named, shown};
use flashpager_replay::{Counts, Events, Fault, FaultClass, replay};
use flashpager_trace::{FirstRuns, Mark, Run, RunSource, Trace, TraceInfo, for_marked_runs};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::cost::Prices;
use crate::design::{Design, Evaluation, NO_SUMS};
use crate::spec::DesignSpec;
use owners::Owners;

pub use owners::OwnerInfo;

/// Misses are worth a note from one in so many on.
const NOTABLE: u64 = 10;

/// What faults are summed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// A function, or whatever else owns code.
    Symbol,
    /// A line of source, by the DWARF line table.
    Line,
    /// A file.
    Image,
}

named! {
    GroupBy: "faults cannot be attributed by",
    "symbol" => Symbol,
    "line" => Line,
    "image" => Image,
}

/// Code, and the faults that executing it caused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Owner {
    /// The code.
    #[serde(flatten)]
    pub info: OwnerInfo,
    /// Bytes executed, once for each time.
    pub bytes_executed: u64,
    /// Bytes read as data, once for each time.
    pub bytes_read: u64,
    /// True faults.
    pub misses: u64,
    /// Those of them that a data read had.
    pub read_misses: u64,
    /// Those that loaded a flash page into the register.
    pub loads: u64,
    /// Misses in a flash page that is not held.
    pub other_page: u64,
    /// Misses in the flash page of the buffer that was not used last.
    pub other_buffer: u64,
    /// Misses in the register's page, at its next column or behind.
    pub forward: u64,
    /// Misses in the register's page, before its next column.
    pub backward: u64,
    /// Column changes without a load.
    pub column_changes: u64,
    /// Bytes over the bus, skipped ones included.
    pub bytes_fetched: u64,
    /// Bytes over the bus that were thrown away.
    pub bytes_skipped: u64,
    /// Time of its faults: load, column change, fetch, write and handler.
    pub fault_ns: f64,
    /// How far that may be off, as a share of it; nothing where the whole trace was replayed, or
    /// where windows cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault_error: Option<f64>,
}

/// The code that causes the faults of a design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attribution {
    /// The design, with what its part gave.
    pub design: DesignSpec,
    /// Frames of its cache.
    pub frames: u64,
    /// What it was priced by.
    pub prices: Prices,
    /// The whole replay, of which the owners are the parts.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Time of all faults.
    pub fault_ns: f64,
    /// All that was executed, longest fault time first.
    pub owners: Vec<Owner>,
    /// What could not be told, and what to do about it.
    pub notes: Vec<String>,
}

/// One owner's part of a replay, before it has a price.
#[derive(Clone, Default)]
struct Tally {
    bytes_executed: u64,
    bytes_read: u64,
    read_misses: u64,
    sums: Counts,
    classes: FxHashMap<FaultClass, u64>,
}

impl Tally {
    fn add(&mut self, fault: &Fault) {
        self.sums.misses += 1;
        self.sums.add_access(&fault.access);
        *self.classes.entry(FaultClass::of(&fault.access, fault.search)).or_default() += 1;
    }

    /// In an order of its own, so that sums come out the same every time.
    fn fault_ns(&self, price: impl Fn(&FaultClass) -> f64) -> f64 {
        let mut classes: Vec<(&FaultClass, &u64)> = self.classes.iter().collect();
        classes.sort_unstable();
        // From 0: a sum of nothing is -0.
        classes.into_iter().fold(0.0, |sum, (class, count)| sum + price(class) * *count as f64)
    }
}

/// Replay `trace`, which `info` describes, through `design` and sum its faults, but for those of
/// its warm-up.
///
/// Lines come from the ELF files that were recorded, or from those of `elfs`
/// that were linked with them, such as one that still has its debug
/// information; symbols that the trace lacks come from `elfs`, too.
///
/// # Errors
/// A file of `elfs` that belongs to no image; lines of which no image has any;
/// whatever the replay gives.
pub fn attribute(
    trace: &dyn Trace,
    info: &TraceInfo,
    design: &Design,
    by: GroupBy,
    elfs: &[PathBuf],
    go_on: &dyn Fn() -> bool,
) -> Result<Attribution> {
    if design.is_executed() {
        return Err(Error::design(format!(
            "with {NO_SUMS}, a fault's time depends on what runs around it and cannot be summed by \
             owner; attribute the design without them"
        )));
    }
    let warm_up = trace.warm_up();
    if !warm_up.is_none() {
        design.check_warm_up()?;
    }
    let design = &*design.executing(info)?;
    let mut notes = Vec::new();
    let owners = Owners::of(info, trace.image_bytes(), by, elfs, &mut notes)?;
    let mut tallies = vec![Tally::default(); owners.len()];
    let begun = Cell::new(0_u64);
    let is_read = Cell::new(false);
    let mut sink = |_: usize, fault: &Fault| {
        if begun.get() > warm_up.runs {
            let tally = &mut tallies[owners.of_byte(fault.offset)];
            tally.add(fault);
            tally.read_misses += u64::from(is_read.get());
        }
    };
    // In step with the replay. What cannot be read ends that, too.
    let mut marks = trace.has_reads().then(|| MarkReader::of(trace)).transpose()?;
    let events = Events {
        critical_block_bytes: None,
        sink: &mut sink,
        begun: Some(&mut |_, _| {
            begun.set(begun.get() + 1);
            if let Some(marks) = &mut marks {
                is_read.set(marks.next() == Some(Mark::Read));
            }
        }),
        words: None,
    };
    let counts_of = |trace: &dyn Trace, events: Option<Events<'_>>| {
        let (mut counts, _) = replay(trace, design.cache(), &[design.register()], go_on, events)?;
        counts.pop().ok_or_else(|| Error::design("a replay needs a register"))
    };
    let mut counts = counts_of(trace, Some(events))?;
    if !warm_up.is_none() {
        counts = counts.minus(&counts_of(&FirstRuns::of(trace, warm_up.runs), None)?);
    }
    let mut left = warm_up.runs;
    for_marked_runs(trace, go_on, |run, mark| {
        if left > 0 {
            left -= 1;
            return Ok(());
        }
        owners.of_range(run.offset, run.end(), |owner, bytes| {
            let tally = &mut tallies[owner];
            match mark {
                Mark::Read => tally.bytes_read += u64::from(bytes),
                Mark::Executed | Mark::Continued => tally.bytes_executed += u64::from(bytes),
            }
        });
        Ok(())
    })?;

    let prices = design.prices();
    let written = u64::from(design.cache().cache_page_bytes);
    let fault_ns: Vec<f64> = tallies
        .iter()
        .map(|tally| tally.fault_ns(|class| prices.fault_ns(class, written)))
        .collect();
    if by == GroupBy::Symbol {
        let misses: Vec<u64> = tallies.iter().map(|tally| tally.sums.misses).collect();
        notes.extend(nameless(&owners, &misses));
    }
    let found: Vec<Owner> = tallies
        .iter()
        .zip(&fault_ns)
        .enumerate()
        .filter(|(_, (tally, _))| tally.bytes_executed + tally.bytes_read > 0)
        .map(|(owner, (tally, fault_ns))| Owner::of(design, owners.info(owner), tally, *fault_ns))
        .collect();
    Ok(Attribution {
        design: design.spec(),
        frames: design.frames(),
        prices,
        evaluation: design.evaluate(&counts),
        fault_ns: fault_ns.iter().sum(),
        owners: sorted(found),
        notes,
    })
}

/// What the runs of a trace are, one by one.
struct MarkReader<'t> {
    source: Box<dyn RunSource + 't>,
    runs: Vec<Run>,
    at: usize,
}

impl<'t> MarkReader<'t> {
    fn of(trace: &'t dyn Trace) -> Result<Self> {
        Ok(Self { source: trace.runs()?, runs: Vec::new(), at: 0 })
    }

    fn next(&mut self) -> Option<Mark> {
        if self.at == self.runs.len() {
            self.at = 0;
            self.source.read(&mut self.runs).ok()?;
        }
        self.at += 1;
        self.source.marks().get(self.at - 1).copied()
    }
}

/// A note where much is in code that no symbol names.
fn nameless(owners: &Owners, misses: &[u64]) -> Option<String> {
    let all: u64 = misses.iter().sum();
    let mut of_images: BTreeMap<String, u64> = BTreeMap::new();
    for (owner, misses) in misses.iter().enumerate() {
        if let Some(image) = owners.nameless_in(owner) {
            *of_images.entry(image).or_default() += misses;
        }
    }
    let (image, nameless) = of_images.into_iter().max_by_key(|(_, misses)| *misses)?;
    (nameless * NOTABLE > all).then(|| {
        format!(
            "{:.0} % of the misses are in code of {} that no symbol names; name a file with its \
             symbols with --elf",
            100.0 * nameless as f64 / all as f64,
            shown(image)
        )
    })
}

/// What parts of a trace tell of a whole that is `factor` times as much and that `evaluation` is
/// of: each with something before it, which is told again by itself and taken off. `error` is that
/// of a time by its values in the parts.
pub(crate) fn merged(
    mut parts: Vec<(Attribution, Attribution)>,
    evaluation: Evaluation,
    factor: f64,
    error: impl Fn(&[f64]) -> Option<f64>,
) -> Attribution {
    let count = parts.len();
    let mut owners = FxHashMap::<_, (Owner, Vec<f64>)>::default();
    let key = |owner: &Owner| (owner.info.offset, owner.info.name.clone(), owner.info.line);
    for (number, (with, before)) in parts.iter_mut().enumerate() {
        for owner in with.owners.drain(..) {
            let fault_ns = owner.fault_ns;
            let (_, times) = owners
                .entry(key(&owner))
                .and_modify(|(sum, _)| sum.combine(&owner, u64::saturating_add))
                .or_insert_with(|| (owner, vec![0.0; count]));
            times[number] = fault_ns;
        }
        for owner in before.owners.drain(..) {
            if let Some((sum, times)) = owners.get_mut(&key(&owner)) {
                sum.combine(&owner, u64::saturating_sub);
                times[number] -= owner.fault_ns;
            }
        }
    }
    let whole = |(owner, times): (Owner, Vec<f64>)| {
        let fault_ns = (factor * times.iter().sum::<f64>()).max(0.0);
        Owner { fault_ns, fault_error: error(&times), ..owner.scaled(factor) }
    };
    let owners = sorted(owners.into_values().map(whole).collect());
    let (first, _) = parts.swap_remove(0);
    let fault_ns = owners.iter().map(|owner| owner.fault_ns).sum();
    Attribution { evaluation, fault_ns, owners, ..first }
}

/// The longest fault time first.
fn sorted(mut owners: Vec<Owner>) -> Vec<Owner> {
    owners.sort_by(|a, b| {
        let by_time = b.fault_ns.total_cmp(&a.fault_ns);
        by_time.then(b.misses.cmp(&a.misses)).then(a.info.offset.cmp(&b.info.offset))
    });
    owners
}

impl Owner {
    fn of(design: &Design, info: OwnerInfo, tally: &Tally, fault_ns: f64) -> Self {
        let sums = design.tagged(tally.sums.clone());
        Self {
            info,
            bytes_executed: tally.bytes_executed,
            bytes_read: tally.bytes_read,
            misses: sums.misses,
            read_misses: tally.read_misses,
            loads: sums.loads,
            other_page: sums.other_page,
            other_buffer: sums.other_buffer,
            forward: sums.forward,
            backward: sums.backward,
            column_changes: sums.column_changes,
            bytes_fetched: sums.bytes_fetched,
            bytes_skipped: sums.bytes_skipped,
            fault_ns,
            fault_error: None,
        }
    }

    /// The summed counts, each once.
    fn counts(&mut self) -> [&mut u64; 12] {
        [
            &mut self.bytes_executed,
            &mut self.bytes_read,
            &mut self.misses,
            &mut self.read_misses,
            &mut self.loads,
            &mut self.other_page,
            &mut self.other_buffer,
            &mut self.forward,
            &mut self.backward,
            &mut self.column_changes,
            &mut self.bytes_fetched,
            &mut self.bytes_skipped,
        ]
    }

    fn combine(&mut self, other: &Self, how: fn(u64, u64) -> u64) {
        let mut other = other.clone();
        for (sum, count) in self.counts().into_iter().zip(other.counts()) {
            *sum = how(*sum, *count);
        }
    }

    fn scaled(mut self, factor: f64) -> Self {
        for count in self.counts() {
            *count = (*count as f64 * factor).round() as u64;
        }
        self
    }
}
