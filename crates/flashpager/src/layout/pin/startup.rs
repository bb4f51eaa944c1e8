//! The units that run before pinned code lies in RAM, and that have to stay in flash.
//!
//! Start-up code copies pinned code to RAM together with initialised data. Fetches alone do not show
//! when that copy is done, but some functions are entered only after it: C has its data before
//! `main` and before constructors. All that a trace executes before the first of them stays, whether
//! it copies or not. So do the entry of the ELF file and the reset handler of the vector table,
//! which are needed even where a trace begins later.

use flashpager_base::{Error, Result, did_you_mean, named, shown};
use flashpager_binary::boot::{BootKind, boot_points};
use flashpager_binary::names::is_called;
use flashpager_layout::Units;
use flashpager_trace::{Image, Mark, Run, Trace, TraceInfo, for_marked_runs};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Serialize, Serializer};

use super::super::traces::{LoadedTrace, TraceSet};

/// Functions that are entered only after initialised data was copied to RAM.
const ENTERED_AFTER_COPY: [&str; 7] = [
    // C11, 5.1.2: objects are initialised before program startup.
    "main",
    // newlib and picolibc: constructors, which may use initialised data.
    "__libc_init_array",
    // pico-sdk, crt0.S: called behind data_cpy.
    "runtime_init",
    // Zephyr, z_prep_c: called behind z_data_copy.
    "z_cstart",
    // NuttX, __start of each chip: called behind the copy.
    "nx_start",
    // Arm's C library, __main: called behind __scatterload.
    "__rt_entry",
    // ESP-IDF, whose boot loader has copied before.
    "app_main",
];

/// The value of [`super::PinRequest::copied_before`] for programs that a loader copies to RAM: all
/// of them can be pinned.
pub const LOADED: &str = "entry";

/// The reason for which a unit stays in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldReason {
    /// The request says so.
    Asked,
    /// It holds the vector table.
    VectorTable,
    /// It holds the reset handler of the vector table.
    ResetHandler,
    /// It holds the entry of the ELF file.
    Entry,
    /// The recording of the program begins in it.
    First,
    /// It runs before pinned code lies in RAM.
    BeforeCopy,
}

named! {
    HoldReason: "unknown reason",
    "asked" => Asked,
    "vector-table" => VectorTable,
    "reset-handler" => ResetHandler,
    "entry" => Entry,
    "first" => First,
    "before-copy" => BeforeCopy,
}

impl Serialize for HoldReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A movable unit that is not pinned, whatever that would save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldUnit {
    /// Name of the unit.
    pub name: String,
    /// The reason.
    pub reason: HoldReason,
}

/// The program's start, as the traces and the program file show it.
#[derive(Default)]
pub(super) struct Startup {
    /// Numbers of the movable units that have to stay in flash, each with the first reason.
    pub(super) held: FxHashMap<u32, HoldReason>,
    /// The function before which pinned code is in RAM; empty if no trace executes one.
    pub(super) copied_before: String,
    /// Assumptions, and what could not be found out.
    pub(super) notes: Vec<String>,
}

impl Startup {
    /// The start of the program of `traces`. `copied_before` names the function before which pinned
    /// code is in RAM, or [`LOADED`]; `None` for one that is known to be.
    ///
    /// # Errors
    /// If the traces do not name or do not execute the function, or code lies in RAM already.
    pub(super) fn of(
        traces: &TraceSet,
        units: &Units,
        copied_before: Option<&str>,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let info = traces.info();
        if info.architecture == "jvm" || copied_before == Some(LOADED) {
            return Ok(Self::default());
        }
        let ends = CopyEnds::of(info, copied_before)?;
        let mut startup = Self::default();
        let mut has_end = false;
        for trace in &traces.training {
            let first = FirstRuns::of(trace, units, &ends, should_continue)?;
            let end = first.first_end();
            has_end |= end.is_some();
            if let Some((_, offset)) = end
                && startup.copied_before.is_empty()
            {
                startup.copied_before = ends.name(offset).to_owned();
            }
            startup.hold_executed(&first, units, trace.info.has_start());
        }
        match copied_before {
            Some(name) if !has_end => {
                let message = format!("{} is never executed in the trace", shown(name));
                return Err(Error::design(message));
            }
            _ => startup.hold_boot_points(info, units),
        }
        let has_start = traces.training.iter().all(|trace| trace.info.has_start());
        startup.note_unknown(has_end, has_start);
        Ok(startup)
    }

    /// Holds the units that execute before the end of the copy, and, if the recording has the
    /// program's start, the one that it begins with.
    fn hold_executed(&mut self, first: &FirstRuns, units: &Units, has_start: bool) {
        if let Some(unit) = first.first_unit.filter(|_| has_start) {
            self.hold(units, unit, HoldReason::First);
        }
        for (unit, at) in &first.of_unit {
            if first.end_for(*unit).is_some_and(|end| *at < end) {
                self.hold(units, *unit, HoldReason::BeforeCopy);
            }
        }
    }

    fn hold(&mut self, units: &Units, unit: u32, reason: HoldReason) {
        if units.all()[unit as usize].fixed {
            return;
        }
        let known = self.held.entry(unit).or_insert(reason);
        *known = reason.min(*known);
    }

    /// Holds the units where the recorded files begin.
    fn hold_boot_points(&mut self, info: &TraceInfo, units: &Units) {
        for image in &info.images {
            let points = match boot_points(image) {
                Ok(points) => points,
                Err(why) => {
                    self.notes.push(format!(
                        "the entry and the vector table are in the program's file, and that could \
                         not be read ({why}; its path is as recorded: run this command in the same \
                         folder): what the recording begins with stays in flash"
                    ));
                    continue;
                }
            };
            for point in points {
                let reason = match point.kind {
                    BootKind::Entry => HoldReason::Entry,
                    BootKind::ResetHandler => HoldReason::ResetHandler,
                    BootKind::VectorTable => HoldReason::VectorTable,
                };
                if let Some(unit) = units.owner(point.offset) {
                    self.hold(units, unit as u32, reason);
                }
            }
        }
    }

    fn note_unknown(&mut self, has_end: bool, has_start: bool) {
        if has_end && has_start {
            return;
        }
        let why = if !has_start {
            "a part of the program's run was recorded, perhaps without its start"
        } else {
            "the trace executes no main or other function that is entered after the copy to RAM"
        };
        self.notes.push(format!(
            "{why}: what runs before pinned code is in RAM may be pinned, and then the program does \
             not start; name the first function after the copy (--copied-before), or what has to \
             stay (--never)"
        ));
    }
}

/// The functions at whose first byte pinned code is in RAM.
struct CopyEnds {
    /// Offset, image and name of each.
    ends: Vec<(u32, usize, String)>,
    /// Offsets at which the images end, ascending.
    image_ends: Vec<u64>,
}

impl CopyEnds {
    fn of(info: &TraceInfo, given: Option<&str>) -> Result<Self> {
        let is_end = |name: &str| match given {
            Some(given) => is_called(name, given),
            None => ENTERED_AFTER_COPY.contains(&name),
        };
        let mut ends = Vec::new();
        for (number, image) in info.images.iter().enumerate() {
            let named = image.symbols.iter().filter(|symbol| is_end(&symbol.name));
            ends.extend(named.map(|symbol| (symbol.offset, number, symbol.name.clone())));
        }
        if let Some(given) = given.filter(|_| ends.is_empty()) {
            let near = did_you_mean(given, info.symbols().map(|symbol| symbol.name.as_str()));
            let message = format!("the trace has no function {}{near}", shown(given));
            return Err(Error::design(message));
        }
        let image_ends = info.images.iter().map(Image::end).collect();
        Ok(Self { ends, image_ends })
    }

    fn name(&self, offset: u32) -> &str {
        let end = self.ends.iter().find(|(at, ..)| *at == offset);
        end.map_or("", |(_, _, name)| name)
    }

    fn image_of(&self, offset: u32) -> usize {
        self.image_ends.partition_point(|end| *end <= u64::from(offset))
    }
}

/// A point of an execution: number of the run, and an offset in it.
type Moment = (usize, u32);

/// The first executions of units and of the functions that are entered after the copy.
struct FirstRuns {
    /// The unit that executes first.
    first_unit: Option<u32>,
    /// The first execution of each unit.
    of_unit: FxHashMap<u32, Moment>,
    /// The image of each unit in [`Self::of_unit`].
    image_of_unit: FxHashMap<u32, usize>,
    /// The first end of the copy, by image.
    of_end: FxHashMap<usize, Moment>,
}

impl FirstRuns {
    fn of(
        trace: &LoadedTrace,
        units: &Units,
        ends: &CopyEnds,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let mut first = Self {
            first_unit: None,
            of_unit: FxHashMap::default(),
            image_of_unit: FxHashMap::default(),
            of_end: FxHashMap::default(),
        };
        let mut known: FxHashSet<Run> = FxHashSet::default();
        let mut number = 0;
        let parts = [Some(&trace.training), trace.held_out.as_ref()];
        for part in parts.into_iter().flatten() {
            for_marked_runs(part as &dyn Trace, should_continue, |run, mark| {
                number += 1;
                if mark != Mark::Read && known.insert(run) {
                    first.add(number, run, units, ends);
                }
                Ok(())
            })?;
        }
        Ok(first)
    }

    fn add(&mut self, number: usize, run: Run, units: &Units, ends: &CopyEnds) {
        for (offset, image, _) in &ends.ends {
            if (run.offset..=run.last()).contains(offset) {
                let moment = (number, *offset);
                let known = self.of_end.entry(*image).or_insert(moment);
                *known = moment.min(*known);
            }
        }
        let mut next = u64::from(run.offset);
        while next < run.end() {
            let at = next as u32;
            let Some(unit) = units.owner(at) else { return };
            let unit = unit as u32;
            self.first_unit.get_or_insert(unit);
            self.of_unit.entry(unit).or_insert((number, at));
            self.image_of_unit.entry(unit).or_insert_with(|| ends.image_of(at));
            next = units.all()[unit as usize].end();
        }
    }

    /// The first end of the copy in any image.
    fn first_end(&self) -> Option<Moment> {
        self.of_end.values().min().copied()
    }

    /// The end of the copy for a unit: that of its image, or of another image if that has none.
    /// A boot loader has a `main` of its own before that of the application.
    fn end_for(&self, unit: u32) -> Option<Moment> {
        let own = self.image_of_unit.get(&unit).and_then(|image| self.of_end.get(image));
        own.copied().or_else(|| self.first_end())
    }
}
