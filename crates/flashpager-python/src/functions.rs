//! Replays of whole functions, and their results.

use std::path::PathBuf;

use flashpager::functions as engine;
use flashpager::replay::units;
use pyo3::prelude::*;

use crate::design::{Assumption, Design};
use crate::replay::{FlashEnergy, Latency, NorComparison, ReadDisturb, RunTime, Time};
use crate::seam::{raise, run, view};

view! {
    /// The counts of a replay of functions. `references = calls + returns = hits + misses`.
    UnitCounts = units::UnitCounts {
        /// References to functions that are paged.
        references: u64,
        /// References that find their function in RAM.
        hits: u64,
        /// References whose function has to be loaded.
        misses: u64,
        /// References that begin at the function's first byte.
        calls: u64,
        /// Calls that miss.
        call_misses: u64,
        /// References that begin elsewhere in the function.
        returns: u64,
        /// Returns that miss.
        return_misses: u64,
        /// Returns from a paged function to resident code, which are no references.
        resident_returns: u64,
        /// Functions evicted.
        evictions: u64,
        /// Bytes of functions moved in RAM.
        bytes_moved: u64,
        /// Flash pages loaded.
        loads: u64,
        /// Column changes; a load has none.
        column_changes: u64,
        /// Bytes delivered to the CPU: the lengths of all executed runs. Data reads are not in it.
        bytes_read: u64,
        /// Bytes over the bus, skipped ones included.
        bytes_fetched: u64,
        /// Bytes over the bus that are thrown away.
        bytes_skipped: u64,
        /// Bytes of functions written into RAM.
        bytes_written: u64,
    }
}

view! {
    /// The RAM of a design that pages functions.
    FunctionRam = engine::FunctionRam {
        /// Bytes of the RAM in all.
        ram_bytes: u64,
        /// Bytes of resident functions.
        resident_bytes: u64,
        /// Bytes of executed code in no function, which is resident.
        outside_bytes: u64,
        /// Bytes of tables for the paged functions.
        table_bytes: u64,
        /// Bytes left for paged functions.
        heap_bytes: u32,
    }
}

view! {
    /// A paged function that was executed.
    FunctionUse = engine::FunctionUse {
        /// Its name.
        name: String,
        /// Its bytes, rounded up to 4.
        bytes: u64,
        /// References to it.
        references: u64,
        /// References that load it.
        misses: u64,
    }
}

view! {
    /// Prices of paged functions, in nanoseconds.
    FunctionPrices = engine::FunctionPrices {
        /// A load of a flash page.
        t_load_ns: f64,
        /// The host's command for a load.
        load_command_ns: f64,
        /// A byte over the bus.
        t_byte_ns: f64,
        /// A column change; None if the part gives no time for it.
        t_column_change_ns: Option<f64>,
        /// A byte written into RAM, or moved in it.
        t_write_ns: f64,
        /// A call to a paged function.
        call_ns: f64,
        /// A return from a paged function, or to one.
        return_ns: f64,
        /// The software's part of a load.
        load_ns: f64,
    }
}

view! {
    /// Result of replaying a trace through a design that pages functions.
    FunctionRow = engine::FunctionRow {
        /// The part.
        part: String,
        /// The bus.
        bus: String,
        /// The model of the data register.
        register: String,
        /// Bytes of a flash page.
        flash_page_bytes: u32,
        /// The processor; None without one.
        processor: Option<String>,
        /// The NOR part to compare with; None without one.
        nor_part: Option<String>,
        /// The rule by which functions get their places in RAM.
        policy: String,
        /// True if no device can run the policy, because it looks ahead.
        looks_ahead: bool,
        /// The division of the RAM.
        ram: FunctionRam,
        /// Resident functions, in the order of the image.
        resident: Vec<String>,
        /// Resident functions that replays chose.
        pinned: Vec<String>,
        /// Number of paged functions.
        paged: usize,
        /// Bytes of the paged functions in flash.
        flash_bytes: u64,
        /// Bytes executed in no function.
        outside_executed_bytes: u64,
        /// Bytes read as data, which are not paged.
        data_bytes: u64,
        /// The counts.
        counts: UnitCounts,
        /// The prices.
        prices in evaluation: FunctionPrices,
        /// Time, step by step: lookups are calls and returns, the handler is the software of loads,
        /// and writes include moves.
        time in evaluation: Time,
        /// Run time on the processor; None without one.
        run in evaluation: Option<RunTime>,
        /// Instructions added, as a share of the program's own; None without a processor.
        added_instructions in evaluation: Option<f64>,
        /// Latency of loads.
        latency in evaluation: Latency,
        /// The comparison with NOR; None without one.
        nor in evaluation: Option<NorComparison>,
        /// Bandwidth over NOR's if the software took no time; None without NOR.
        nor_ratio_free_software in evaluation: Option<f64>,
        /// Energy of the flash; None if the part's file has no currents.
        energy in evaluation: Option<FlashEnergy>,
        /// Reads of the hottest erase block.
        read_disturb in evaluation: ReadDisturb,
        /// Reasons why the design may disappoint.
        warnings in evaluation: Vec<String>,
        /// The paged functions that were executed, those with most misses first.
        functions: Vec<FunctionUse>,
        /// Parameters that the design left open.
        assumed: Vec<Assumption>,
        /// Names that are those of parts of other functions.
        notes: Vec<String>,
    }
}

/// The policies for functions, each with a few words.
#[pyfunction]
pub fn function_policies() -> Vec<(&'static str, &'static str)> {
    units::ALLOCATORS.to_vec()
}

/// The instructions of the software that pages functions, if nothing else is known: a call, a
/// return, and a load.
#[pyfunction]
pub fn function_instructions() -> (u32, u32, u32) {
    let engine::EngineInstructions { call, return_, load } = engine::EngineInstructions::default();
    (call, return_, load)
}

/// Replay a trace through a design that pages whole functions. ``instructions`` are those of a call,
/// a return and a load. Replays choose functions of up to ``pin_bytes`` to be resident, too.
#[pyfunction]
#[pyo3(signature = (trace, design, policy, ram_bytes, *, resident=Vec::new(), pin_bytes=0, table_bytes=0, instructions=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn simulate_functions(
    py: Python<'_>,
    trace: PathBuf,
    design: Py<Design>,
    policy: &str,
    ram_bytes: u64,
    resident: Vec<String>,
    pin_bytes: u64,
    table_bytes: u32,
    instructions: Option<(u32, u32, u32)>,
) -> PyResult<FunctionRow> {
    let allocator = policy.parse().map_err(raise)?;
    let engine = instructions.map_or_else(engine::EngineInstructions::default, |given| {
        let (call, return_, load) = given;
        engine::EngineInstructions { call, return_, load }
    });
    let row = run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| {
            let design = design.get().checked()?.as_ref().clone();
            let functions = engine::FunctionDesign {
                design,
                allocator,
                ram_bytes,
                table_bytes,
                resident,
                pin_bytes,
                engine,
            };
            engine::simulate(&trace, &functions, should_continue)
        },
    )?;
    Ok(FunctionRow(row))
}
