//! Designs that page whole functions: what they refuse, and the prices of their counts.

use flashpager_base::{Error, Result};
use flashpager_media::part::Part;
use flashpager_replay::Executed;
use flashpager_replay::register::RegisterDesign;
use flashpager_replay::units::{UNIT_ALIGN, UnitCounts, UnitLoadClass};
use serde::{Deserialize, Serialize};

use super::Design;
use super::checks::check_nor;
use crate::cost::handler::Schedule;
use crate::cost::{
    FlashEnergy, Latency, LineFetch, NorComparison, ReadDisturb, RunTime, Time, bandwidth_mib_s,
    fetches_below_codeword, warnings,
};

/// Instructions of a call to a paged function that is in RAM.
///
/// Source: as all instructions here, counted in a prototype that pages unmodified Thumb functions of
/// the card firmware on a Cortex-M3 (GCC 12.2, QEMU lm3s6965evb).
pub const CALL_INSTRUCTIONS: u32 = 16;
/// Instructions of a return from a paged function to one that is in RAM.
pub const RETURN_INSTRUCTIONS: u32 = 12;
/// Instructions of a load of a function without fix-ups, beside the copy of its bytes.
pub const LOAD_INSTRUCTIONS: u32 = 84;
/// Instructions to encode the calls of a loaded function anew: 169 with fix-ups are 85 more.
pub const FIX_UP_INSTRUCTIONS: u32 = 85;

/// Instructions of the software that pages functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInstructions {
    /// A call to a paged function.
    pub call: u32,
    /// A return from a paged function, or to one.
    #[serde(rename = "return")]
    pub return_: u32,
    /// A load, beside the call or return that needs it, and beside the copy of its bytes.
    pub load: u32,
}

/// Each load has fix-ups: a trace does not show which functions call others.
impl Default for EngineInstructions {
    fn default() -> Self {
        Self {
            call: CALL_INSTRUCTIONS,
            return_: RETURN_INSTRUCTIONS,
            load: LOAD_INSTRUCTIONS + FIX_UP_INSTRUCTIONS,
        }
    }
}

/// The prices of paged functions, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FunctionPrices {
    /// A load of a flash page.
    pub t_load_ns: f64,
    /// The host's command for a load.
    pub load_command_ns: f64,
    /// A byte over the bus.
    pub t_byte_ns: f64,
    /// A column change; `None` if the part gives no time for it.
    pub t_column_change_ns: Option<f64>,
    /// A byte written into RAM, or moved in it.
    pub t_write_ns: f64,
    /// A call to a paged function.
    pub call_ns: f64,
    /// A return from a paged function, or to one.
    pub return_ns: f64,
    /// The software's part of a load.
    pub load_ns: f64,
}

/// The price of a replay of functions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionEvaluation {
    /// The prices.
    pub prices: FunctionPrices,
    /// The time, step by step. Lookups are calls and returns, the handler is the software of loads,
    /// and writes include moves.
    pub time: Time,
    /// Run time on the processor; `None` if the design has none.
    pub run: Option<RunTime>,
    /// Instructions added, as a share of the program's own; `None` without a processor.
    pub added_instructions: Option<f64>,
    /// The latency of loads, without the call or return that needs them.
    pub latency: Latency,
    /// The comparison with NOR; `None` without a NOR part.
    pub nor: Option<NorComparison>,
    /// Bandwidth of the design over that of NOR if the software took no time, 0 if nothing else takes
    /// any; `None` without a NOR part.
    pub nor_ratio_free_software: Option<f64>,
    /// Energy of the flash; `None` if the part's file has no currents.
    pub energy: Option<FlashEnergy>,
    /// Read disturb.
    pub read_disturb: ReadDisturb,
    /// True if less than an ECC codeword is fetched, which cannot be checked.
    pub ecc_unchecked: bool,
    /// Reasons why the design may disappoint.
    pub warnings: Vec<String>,
}

impl Design {
    /// Checks that the design pages functions.
    ///
    /// # Errors
    /// Everything that is defined for cache pages alone.
    pub fn check_functions(&self) -> Result<()> {
        let Self { spec, part, cache, prices, .. } = self;
        let refused = |what: &str, why: &str| {
            Err(Error::design(format!(
                "functions with {what}: {why}; leave it out, or --unit page"
            )))
        };
        if part.kind.is_read_in_place() {
            return Err(Error::design(format!(
                "functions from {}: it is read in place, where code runs without being paged, and \
                 faster; take a part that loads pages, or --unit page",
                part.name
            )));
        }
        if cache.ways.is_some() {
            return refused("a cache in hardware", "their place in RAM is chosen by software");
        }
        if cache.hierarchy.is_some() {
            return refused("an instruction cache", "what it asks for is defined for cache pages");
        }
        if self.homes.is_some() {
            return refused("homes", "a home belongs to a cache page");
        }
        if spec.tag_bytes.is_some() {
            return refused("tags", "a tag belongs to a cache page");
        }
        if self.is_executed() || self.line_fetch != LineFetch::Whole {
            return refused(super::NO_SUMS, "a function runs when all of it is there");
        }
        if prices.emulates_bit {
            return refused("an emulated reference bit", "calls and returns are seen by software");
        }
        if prices.schedule != Schedule::Sequential {
            return refused(
                &format!("the schedule {}", spec.schedule),
                "their software does one thing after another",
            );
        }
        Ok(())
    }

    /// Prices the `counts` of functions, with software of `engine` instructions.
    pub fn evaluate_functions(
        &self,
        counts: &UnitCounts,
        engine: &EngineInstructions,
    ) -> FunctionEvaluation {
        let prices = self.function_prices(engine);
        let time = self.function_time(counts, &prices);
        let flash = counts.of_flash();
        let RegisterDesign { flash_page_bytes, codeword_bytes, .. } = self.register;
        // Functions lie at any offset, so as little as the alignment is fetched of a codeword.
        let fetched_bytes = if counts.misses == 0 { u32::MAX } else { UNIT_ALIGN };
        let mut warnings = warnings(&self.part, fetched_bytes, codeword_bytes, flash_page_bytes);
        let execution_ns = if self.processor.is_some() { time.read_ns } else { 0.0 };
        let compare = |nor: &Part| {
            let comparison = check_nor(nor, &self.part)
                .and_then(|()| NorComparison::of(&flash, &time, nor, self.nor_bus, execution_ns));
            let without = |reason: &Error| {
                warnings.push(format!(
                    "no comparison with NOR: {reason}; name another NOR part, or none"
                ));
            };
            comparison.inspect_err(without).ok()
        };
        let nor = self.nor.as_ref().and_then(compare);
        warnings.extend(self.doubts.iter().cloned());
        let latencies = load_latencies(counts, &prices);
        let software_ns = time.lookups_ns + counts.misses as f64 * prices.load_ns;
        let free_ns = time.time_ns - software_ns;
        let free_ratio = |nor: &NorComparison| {
            if free_ns > 0.0 { nor.nor_time_ns / free_ns } else { 0.0 }
        };
        FunctionEvaluation {
            prices,
            time,
            run: self.work.map(|work| RunTime::of(work, &time)),
            added_instructions: self.work.filter(|work| work.instructions > 0).map(|work| {
                engine.of(counts) as f64 / (work.instructions + work.outside_instructions) as f64
            }),
            latency: Latency::of(&latencies),
            nor_ratio_free_software: nor.as_ref().map(free_ratio),
            nor,
            energy: FlashEnergy::of(&flash, &self.prices),
            read_disturb: ReadDisturb::of(&flash, &time, &self.part, flash_page_bytes),
            ecc_unchecked: fetches_below_codeword(&self.part, fetched_bytes, codeword_bytes),
            warnings,
        }
    }

    /// The time of `counts` with software of `engine` instructions.
    pub(crate) fn function_time_ns(&self, counts: &UnitCounts, engine: &EngineInstructions) -> f64 {
        self.function_time(counts, &self.function_prices(engine)).time_ns
    }

    fn function_prices(&self, engine: &EngineInstructions) -> FunctionPrices {
        let instruction_ns = self.processor.as_ref().map_or(0.0, |core| core.instruction_ns());
        let of = |instructions: u32| f64::from(instructions) * instruction_ns;
        let prices = &self.prices;
        FunctionPrices {
            t_load_ns: prices.t_load_ns,
            load_command_ns: prices.handler.load_command_ns,
            t_byte_ns: prices.t_byte_ns,
            t_column_change_ns: prices.t_column_change_ns,
            t_write_ns: prices.ram.t_write_ns,
            call_ns: of(engine.call),
            return_ns: of(engine.return_),
            load_ns: of(engine.load),
        }
    }

    fn function_time(&self, counts: &UnitCounts, prices: &FunctionPrices) -> Time {
        let times = |count: u64, price: f64| if count == 0 { 0.0 } else { count as f64 * price };
        let change_ns = prices.t_column_change_ns.unwrap_or(f64::NAN);
        let executed = Executed { bytes: counts.bytes_read, ..Executed::default() };
        let load_ns = times(counts.loads, prices.t_load_ns);
        let fetch_ns = times(counts.bytes_fetched, prices.t_byte_ns);
        let write_ns = times(counts.bytes_written + counts.bytes_moved, prices.t_write_ns);
        let read_ns = self.prices.read_ns(&executed);
        let column_change_ns = times(counts.column_changes, change_ns);
        let lookups_ns = times(counts.calls, prices.call_ns)
            + times(counts.returns + counts.resident_returns, prices.return_ns);
        let handler_ns =
            times(counts.misses, prices.load_ns) + times(counts.loads, prices.load_command_ns);
        let time_ns =
            load_ns + fetch_ns + write_ns + read_ns + column_change_ns + lookups_ns + handler_ns;
        Time {
            time_ns,
            load_ns,
            fetch_ns,
            write_ns,
            read_ns,
            column_change_ns,
            lookups_ns,
            handler_ns,
            false_faults_ns: 0.0,
            hidden_ns: 0.0,
            bandwidth_mib_s: bandwidth_mib_s(counts.bytes_read as f64, time_ns),
        }
    }
}

impl EngineInstructions {
    /// Instructions of the software for `counts`, without copies.
    fn of(&self, counts: &UnitCounts) -> u64 {
        counts.calls * u64::from(self.call)
            + (counts.returns + counts.resident_returns) * u64::from(self.return_)
            + counts.misses * u64::from(self.load)
    }
}

/// The latencies of loads: (ns, how many), ascending.
fn load_latencies(counts: &UnitCounts, prices: &FunctionPrices) -> Vec<(f64, u64)> {
    let latency = |class: &UnitLoadClass| {
        let change_ns = match class.column_changes {
            0 => 0.0,
            changes => f64::from(changes) * prices.t_column_change_ns.unwrap_or(f64::NAN),
        };
        f64::from(class.loads) * (prices.t_load_ns + prices.load_command_ns)
            + change_ns
            + f64::from(class.bytes_fetched) * prices.t_byte_ns
            + (f64::from(class.bytes_written) + class.bytes_moved as f64) * prices.t_write_ns
            + prices.load_ns
    };
    let mut latencies: Vec<(f64, u64)> =
        counts.load_classes.iter().map(|(class, count)| (latency(class), *count)).collect();
    latencies.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    latencies
}
