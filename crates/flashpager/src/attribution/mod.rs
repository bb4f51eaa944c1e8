//! Attribution: the code of a program that causes the faults of a design.
//!
//! A fault belongs to the owner of the byte that was to be executed or read: a symbol, a line of
//! source, or an image. The replay counts the faults, and they are priced afterwards like all
//! counts. So the faults of all owners add up to those of the whole replay, and so do their times.

mod owners;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use flashpager_base::{Error, Result, shown};
use flashpager_replay::{Counts, Events, Fault, FaultClass, replay};
use flashpager_trace::{FirstRuns, Mark, MarkReader, Trace, TraceInfo, for_marked_runs};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::cost::Prices;
use crate::design::{Design, Evaluation, HomesAccesses, NO_SUMS};
use crate::spec::DesignSpec;
use owners::Owners;

pub use owners::{GroupBy, OwnerInfo};

/// Misses in code without a symbol get a note if they exceed one in this many misses.
const NOTABLE: u64 = 10;

/// Code of a program, and the faults that executing or reading it caused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Owner {
    /// The code.
    #[serde(flatten)]
    pub info: OwnerInfo,
    /// Executed bytes, counted at each execution.
    pub bytes_executed: u64,
    /// Bytes read as data, counted at each read.
    pub bytes_read: u64,
    /// True faults.
    pub misses: u64,
    /// Misses of data reads.
    pub read_misses: u64,
    /// Misses that loaded a flash page into the register.
    pub loads: u64,
    /// Misses in a flash page that no buffer held.
    pub other_page: u64,
    /// Misses in the flash page of the buffer that was not used last, with two buffers.
    pub other_buffer: u64,
    /// Misses in the register's page, at its next column or after it.
    pub forward: u64,
    /// Misses in the register's page, before its next column.
    pub backward: u64,
    /// Column changes without a load.
    pub column_changes: u64,
    /// Bytes over the bus, skipped ones included.
    pub bytes_fetched: u64,
    /// Bytes over the bus that were skipped.
    pub bytes_skipped: u64,
    /// Time of the faults in nanoseconds: load, column change, fetch, write and handler.
    pub fault_ns: f64,
    /// Error of that time, as a share of it: half of a 95 % interval. `None` if the whole trace was
    /// replayed, or if a sample cannot bound it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault_error: Option<f64>,
}

/// The faults of a design by the code that causes them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attribution {
    /// The design, with its defaults filled in.
    pub design: DesignSpec,
    /// Frames of its cache.
    pub frames: u64,
    /// The prices of the design.
    pub prices: Prices,
    /// The result of the whole replay.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Time of all faults in nanoseconds.
    pub fault_ns: f64,
    /// All owners of executed or read bytes, the longest fault time first.
    pub owners: Vec<Owner>,
    /// Notes on missing information, and on how to supply it.
    pub notes: Vec<String>,
}

/// The faults of one owner, not yet priced.
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

    /// The sum of the faults' prices. It is added up in a fixed order, so that rounding is the same
    /// each time.
    fn fault_ns(&self, price: impl Fn(&FaultClass) -> f64) -> f64 {
        let mut classes: Vec<(&FaultClass, &u64)> = self.classes.iter().collect();
        classes.sort_unstable();
        // A fold from 0, because the sum of nothing is -0.
        classes.into_iter().fold(0.0, |sum, (class, count)| sum + price(class) * *count as f64)
    }
}

/// Replays `trace`, which `info` describes, through `design` and sums its faults by their owners.
/// Faults of the warm-up are not counted.
///
/// Lines come from the ELF files that were recorded, or from files of `elfs` of the same link, such
/// as one that still has its debug information. Symbols that the trace lacks come from `elfs`, too.
///
/// # Errors
/// If the design is executed fault by fault, code runs in RAM, a file of `elfs` belongs to no
/// image, lines are requested and no image has any, or the replay fails.
pub fn attribute(
    trace: &dyn Trace,
    info: &TraceInfo,
    design: &Design,
    by: GroupBy,
    elfs: &[PathBuf],
    should_continue: &(dyn Fn() -> bool + Sync),
) -> Result<Attribution> {
    if design.is_executed() {
        return Err(Error::design(format!(
            "with {NO_SUMS}, a fault's time depends on what runs around it and cannot be summed by \
             owner; attribute the design without them"
        )));
    }
    if !trace.warm_up().is_none() {
        design.check_warm_up()?;
    }
    let design = &*design.executing(info)?;
    let mut notes = Vec::new();
    let owners = Owners::of(info, trace.image_bytes(), by, elfs, &mut notes)?;
    let mut tallies = vec![Tally::default(); owners.len()];
    let homes = design.accesses_of_homes(trace, should_continue)?;
    notes.extend(homes.as_ref().map(|homes| homes.note.to_owned()));
    let homes = homes.as_ref();
    let counts = tally_faults(trace, design, &owners, &mut tallies, homes, should_continue)?;
    tally_bytes(trace, &owners, &mut tallies, should_continue)?;
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
    let executed_owners: Vec<Owner> = tallies
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
        owners: sorted(executed_owners),
        notes,
    })
}

/// Replays `trace` through `design` and adds each fault after the warm-up to its owner. Returns the
/// counts after the warm-up.
fn tally_faults(
    trace: &dyn Trace,
    design: &Design,
    owners: &Owners,
    tallies: &mut [Tally],
    homes: Option<&HomesAccesses>,
    should_continue: &dyn Fn() -> bool,
) -> Result<Counts> {
    let warm_up = trace.warm_up();
    let begun = Cell::new(0_u64);
    let is_read = Cell::new(false);
    let mut from_homes = homes.map(|homes| homes.accesses.iter());
    let mut sink = |_: usize, fault: &Fault| {
        // The replay knows the register of the plain store alone.
        let access = from_homes.as_mut().and_then(Iterator::next).copied();
        let fault = &Fault { access: access.unwrap_or(fault.access), ..*fault };
        if begun.get() > warm_up.runs {
            let tally = &mut tallies[owners.of_byte(fault.offset)];
            tally.add(fault);
            tally.read_misses += u64::from(is_read.get());
        }
    };
    // The marks are read in step with the replay, which an error in them ends, too.
    let mut marks = trace.has_reads().then(|| MarkReader::of(trace)).transpose()?;
    let events = Events {
        critical_block_bytes: None,
        sink: &mut sink,
        begun: Some(&mut |_, _| {
            begun.set(begun.get() + 1);
            if let Some(marks) = &mut marks {
                is_read.set(marks.next_mark() == Some(Mark::Read));
            }
        }),
        words: None,
    };
    let counts_of = |trace: &dyn Trace, events: Option<Events<'_>>| {
        let (mut counts, _) =
            replay(trace, design.cache(), &[design.register()], should_continue, events)?;
        counts.pop().ok_or_else(|| Error::design("a replay needs a register"))
    };
    let counts = counts_of(trace, Some(events))?;
    if let Some(homes) = homes {
        return Ok(homes.counts.clone());
    }
    if warm_up.is_none() {
        return Ok(counts);
    }
    Ok(counts.minus(&counts_of(&FirstRuns::of(trace, warm_up.runs), None)?))
}

/// Adds the bytes of each run after the warm-up to their owners.
fn tally_bytes(
    trace: &dyn Trace,
    owners: &Owners,
    tallies: &mut [Tally],
    should_continue: &dyn Fn() -> bool,
) -> Result<()> {
    let mut warming = trace.warm_up().runs;
    for_marked_runs(trace, should_continue, |run, mark| {
        if warming > 0 {
            warming -= 1;
            return Ok(());
        }
        owners.of_run(run, |owner, bytes| {
            let tally = &mut tallies[owner];
            match mark {
                Mark::Read => tally.bytes_read += bytes,
                Mark::Executed | Mark::Continued => tally.bytes_executed += bytes,
            }
        });
        Ok(())
    })
}

/// A note on the image with most misses in code without a symbol; `None` if they are few.
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

/// The attribution of a whole trace, estimated as `factor` times the sum of sampled `parts`. Each
/// part comes with the attribution of its warm-up, which is subtracted. `evaluation` is the result
/// of the whole trace. `error` returns the error of a time from its values in the parts.
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

/// Owners, the longest fault time first.
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

    /// All counts that are sums.
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

    fn combine(&mut self, other: &Self, operation: fn(u64, u64) -> u64) {
        let mut other = other.clone();
        for (sum, count) in self.counts().into_iter().zip(other.counts()) {
            *sum = operation(*sum, *count);
        }
    }

    fn scaled(mut self, factor: f64) -> Self {
        for count in self.counts() {
            *count = (*count as f64 * factor).round() as u64;
        }
        self
    }
}
