//! Functions paged as a whole, on a processor without an MMU: a trace replayed through RAM of bytes,
//! and priced.
//!
//! The functions are the units that `layout` and `pin` take from a trace's symbols.

mod pinning;

use std::path::Path;
use std::sync::Arc;

use flashpager_base::{Error, Result, shown};
use flashpager_layout::Units;
use flashpager_replay::units::{
    AllocatorSpec, MAX_HEAP_BYTES, UNIT_ALIGN, UnitCounts, UnitProgram, UnitSequence,
    aligned_bytes, replay_units,
};
use flashpager_trace::{TraceFile, TraceInfo, WarmUp};
use serde::Serialize;

use crate::design::{Assumption, Design};
pub use crate::design::{EngineInstructions, FunctionEvaluation, FunctionPrices};
use crate::layout::{ExecutedBytes, NamedUnits, units};
use crate::simulation;
use pinning::PinSearch;

/// A design that pages functions.
#[derive(Clone, Debug)]
pub struct FunctionDesign {
    /// Part, bus, register and processor. Its cache is not used.
    pub design: Design,
    /// The rule by which functions get their places in RAM.
    pub allocator: AllocatorSpec,
    /// Bytes of RAM, for paged functions, resident ones, and tables.
    pub ram_bytes: u64,
    /// Bytes of RAM that the software keeps for each paged function.
    pub table_bytes: u32,
    /// Names of functions that lie in RAM from the start.
    pub resident: Vec<String>,
    /// The most bytes of RAM for functions that replays choose to pin beside them; 0 for none.
    pub pin_bytes: u64,
    /// Instructions of the software.
    pub engine: EngineInstructions,
}

/// The RAM of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionRam {
    /// Bytes of the RAM in all.
    pub ram_bytes: u64,
    /// Bytes of resident functions.
    pub resident_bytes: u64,
    /// Bytes of executed code in no function, which is resident.
    pub outside_bytes: u64,
    /// Bytes of tables for the paged functions.
    pub table_bytes: u64,
    /// Bytes left for paged functions.
    pub heap_bytes: u32,
}

/// A function of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionUse {
    /// Its name.
    pub name: String,
    /// Its bytes, rounded up to [`UNIT_ALIGN`].
    pub bytes: u64,
    /// References to it; 0 for a resident one.
    pub references: u64,
    /// References that load it.
    pub misses: u64,
}

/// The result of replaying one trace through a design that pages functions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionRow {
    /// The part.
    pub part: String,
    /// The bus.
    pub bus: String,
    /// The model of the data register.
    pub register: String,
    /// Bytes of a flash page.
    pub flash_page_bytes: u32,
    /// Bytes of a codeword; `None` without host ECC.
    pub codeword_bytes: Option<u32>,
    /// The processor; `None` without one.
    pub processor: Option<String>,
    /// The NOR part to compare with; `None` without one.
    pub nor_part: Option<String>,
    /// The allocator.
    pub policy: String,
    /// True if no device can run the allocator, because it looks ahead.
    pub looks_ahead: bool,
    /// The RAM.
    pub ram: FunctionRam,
    /// Instructions of the software.
    pub engine: EngineInstructions,
    /// Resident functions, in the order of the image.
    pub resident: Vec<String>,
    /// Resident functions that replays chose.
    pub pinned: Vec<String>,
    /// Number of paged functions.
    pub paged: usize,
    /// Bytes of the paged functions in flash.
    pub flash_bytes: u64,
    /// Bytes executed in no function.
    pub outside_executed_bytes: u64,
    /// Bytes read as data, which are not paged.
    pub data_bytes: u64,
    /// The counts.
    pub counts: UnitCounts,
    /// Counts and their prices.
    #[serde(flatten)]
    pub evaluation: FunctionEvaluation,
    /// The paged functions that were executed, by misses, then references, then in the order of the
    /// image.
    pub functions: Vec<FunctionUse>,
    /// Parameters that the design left open, with the values taken and the rules that chose them.
    pub assumed: Vec<Assumption>,
    /// Names of functions that are no units, with the unit that each lies in.
    pub notes: Vec<String>,
}

/// Replays the trace `path` through a design that pages functions.
///
/// # Errors
/// A trace that cannot be replayed or that names no functions, a design for pages, RAM that is too
/// small for a function, and [`Error::Interrupted`].
pub fn simulate(
    path: &Path,
    design: &FunctionDesign,
    should_continue: &(dyn Fn() -> bool + Sync),
) -> Result<FunctionRow> {
    design.design.check_functions()?;
    let file = simulation::open(path, WarmUp::default())?;
    let info = file.info();
    check_native(info)?;
    let mut executed = ExecutedBytes::default();
    executed.add_code(&file, &should_continue)?;
    let (units, _) = units(info, &executed)?;
    let mut program = FunctionProgram::of(&file, &units, design, &should_continue)?;
    let base = design.design.executing(info)?;
    let mut chosen = Vec::new();
    if design.pin_bytes > 0 {
        let program = &program;
        chosen = PinSearch { program, base: &base, design, should_continue }.run()?;
    }
    let pinned = chosen.iter().map(|unit| program.names[*unit].clone()).collect();
    chosen.into_iter().for_each(|unit| program.resident[unit] = true);
    let ram = program.ram(design)?;
    let counts = program.replay(design, &ram, &should_continue)?;
    let paged = program.paged().map(|unit| program.bytes[unit]);
    let evaluation = base.evaluate_functions(&counts, &design.engine);
    let spec = base.spec();
    let assumed = base.assumed().iter().filter(|one| one.field != "handler");
    Ok(FunctionRow {
        part: spec.part_name().to_owned(),
        bus: spec.bus.clone().unwrap_or_default(),
        register: spec.register.clone().unwrap_or_default(),
        flash_page_bytes: base.register().flash_page_bytes,
        codeword_bytes: base.register().codeword_bytes,
        processor: base.processor().map(ToString::to_string),
        nor_part: evaluation.nor.as_ref().and(spec.nor.clone()),
        policy: design.allocator.to_string(),
        looks_ahead: design.allocator.looks_ahead(),
        ram,
        engine: design.engine,
        resident: program.resident_names(),
        pinned,
        paged: paged.clone().count(),
        flash_bytes: paged.map(aligned_bytes).sum(),
        outside_executed_bytes: program.sequence.outside_bytes(),
        data_bytes: program.sequence.data_bytes(),
        functions: program.uses(&counts),
        counts,
        evaluation,
        assumed: assumed.cloned().collect(),
        notes: program.notes,
    })
}

/// Checks that a trace is of native code whose functions have names.
fn check_native(info: &TraceInfo) -> Result<()> {
    if info.architecture == "jvm" {
        return Err(Error::data(
            shown(&info.program),
            "is bytecode, which an interpreter pages by address: take --unit page",
        ));
    }
    if info.symbols().any(|symbol| symbol.bytes > 0) {
        return Ok(());
    }
    Err(Error::data(
        shown(&info.program),
        "names no functions, so there are none to page: record a program with symbols, or take \
         --unit page",
    ))
}

/// The functions of a program, and their visits in a trace.
#[derive(Clone)]
struct FunctionProgram {
    names: Vec<String>,
    /// Bytes of each function.
    bytes: Vec<u64>,
    resident: Vec<bool>,
    /// Bytes of executed code in no function.
    outside_bytes: u64,
    sequence: Arc<UnitSequence>,
    notes: Vec<String>,
}

impl FunctionProgram {
    fn of(
        file: &TraceFile,
        units: &Units,
        design: &FunctionDesign,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let named = NamedUnits::of(units, file.info(), &design.resident)?;
        let all = units.all().iter().zip(0_u32..);
        let functions: Vec<_> = all.filter(|(unit, _)| !unit.fixed).collect();
        let fixed = units.fixed().iter().map(|number| &units.all()[*number as usize]);
        let ranges: Vec<_> =
            functions.iter().map(|(unit, _)| u64::from(unit.offset)..unit.end()).collect();
        Ok(Self {
            names: functions.iter().map(|(unit, _)| unit.name.clone()).collect(),
            bytes: functions.iter().map(|(unit, _)| unit.bytes.into()).collect(),
            resident: functions.iter().map(|(_, number)| named.numbers.contains(number)).collect(),
            outside_bytes: fixed.map(|unit| aligned_bytes(unit.bytes.into())).sum(),
            sequence: Arc::new(UnitSequence::of(file, &ranges, should_continue)?),
            notes: named.notes,
        })
    }

    /// The same program with other resident functions.
    fn with_resident(&self, resident: Vec<bool>) -> Self {
        Self { resident, ..self.clone() }
    }

    /// The numbers of the paged functions.
    fn paged(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.bytes.len()).filter(|unit| !self.resident[*unit])
    }

    fn resident_names(&self) -> Vec<String> {
        let all = self.names.iter().zip(&self.resident);
        all.filter(|(_, resident)| **resident).map(|(name, _)| name.clone()).collect()
    }

    /// Bytes of resident functions, and of tables for paged ones.
    fn taken_bytes(&self, design: &FunctionDesign) -> (u64, u64) {
        let all = self.bytes.iter().zip(&self.resident).filter(|(_, resident)| **resident);
        let resident_bytes = all.map(|(bytes, _)| aligned_bytes(*bytes)).sum();
        (resident_bytes, u64::from(design.table_bytes) * self.paged().count() as u64)
    }

    /// Returns true if the RAM holds all that is not paged.
    fn has_room(&self, design: &FunctionDesign) -> bool {
        let (resident_bytes, table_bytes) = self.taken_bytes(design);
        resident_bytes + self.outside_bytes + table_bytes <= design.ram_bytes
    }

    /// The division of a design's RAM.
    fn ram(&self, design: &FunctionDesign) -> Result<FunctionRam> {
        let (resident_bytes, table_bytes) = self.taken_bytes(design);
        let (ram_bytes, outside_bytes) = (design.ram_bytes, self.outside_bytes);
        let taken = resident_bytes + outside_bytes + table_bytes;
        let Some(left) = ram_bytes.checked_sub(taken) else {
            return Err(Error::design(format!(
                "{ram_bytes} bytes of RAM: resident functions take {resident_bytes}, executed code in \
                 no function {outside_bytes} and tables {table_bytes}; take more RAM, or leave \
                 functions paged"
            )));
        };
        let heap_bytes = left - left % u64::from(UNIT_ALIGN);
        if heap_bytes > MAX_HEAP_BYTES.into() {
            return Err(Error::design(format!(
                "{ram_bytes} bytes of RAM: take at most {MAX_HEAP_BYTES} for paged functions"
            )));
        }
        let heap_bytes = heap_bytes as u32;
        Ok(FunctionRam { ram_bytes, resident_bytes, outside_bytes, table_bytes, heap_bytes })
    }

    /// The visited paged functions that do not fit into the heap.
    fn too_large(&self, design: &FunctionDesign, ram: &FunctionRam) -> Vec<usize> {
        let largest = u64::from(design.allocator.largest_bytes(ram.heap_bytes));
        let visits = self.sequence.visits();
        let too_large =
            |unit: &usize| visits[*unit] > 0 && aligned_bytes(self.bytes[*unit]) > largest;
        self.paged().filter(too_large).collect()
    }

    /// Words for the functions `too_large`, of which there is one or more.
    fn not_fitting(
        &self,
        too_large: &[usize],
        design: &FunctionDesign,
        ram: &FunctionRam,
    ) -> String {
        let more = match too_large.len() {
            0 | 1 => String::new(),
            2 => ", nor does another".to_owned(),
            all => format!(", nor do {} others", all - 1),
        };
        let first = too_large
            .first()
            .map_or(("", 0), |unit| (self.names[*unit].as_str(), aligned_bytes(self.bytes[*unit])));
        format!(
            "{} of {} bytes does not fit into the {} bytes that {} has for a function{more}",
            shown(first.0),
            first.1,
            design.allocator.largest_bytes(ram.heap_bytes),
            design.allocator
        )
    }

    fn replay(
        &self,
        design: &FunctionDesign,
        ram: &FunctionRam,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<UnitCounts> {
        let too_large = self.too_large(design, ram);
        if let Some(unit) = too_large.first() {
            return Err(Error::design(format!(
                "{}: make it resident (--resident {}), or take more RAM",
                self.not_fitting(&too_large, design, ram),
                shown(&self.names[*unit])
            )));
        }
        let Self { sequence, bytes, resident, .. } = self;
        let program = UnitProgram { sequence, bytes, resident };
        let register = design.design.register();
        replay_units(program, design.allocator, ram.heap_bytes, register, should_continue)
    }

    /// The paged functions that were executed.
    fn uses(&self, counts: &UnitCounts) -> Vec<FunctionUse> {
        let mut uses: Vec<FunctionUse> = self
            .paged()
            .map(|unit| FunctionUse {
                name: self.names[unit].clone(),
                bytes: aligned_bytes(self.bytes[unit]),
                references: counts.by_unit[unit].references,
                misses: counts.by_unit[unit].misses,
            })
            .filter(|function| function.references > 0)
            .collect();
        uses.sort_by_key(|one| std::cmp::Reverse((one.misses, one.references)));
        uses
    }
}
