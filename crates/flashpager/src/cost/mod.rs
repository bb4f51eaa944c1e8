//! Cost: counts × media × handler gives time, bandwidth and latency.
//!
//! Nothing here knows a policy. The four steps are those of CARDIS 2010,
//! section 4.2: load, fetch, write, read.

mod energy;
mod latency;
mod read_disturb;

use serde::{Deserialize, Serialize};

pub use energy::FlashEnergy;
pub use latency::{Latency, fault_latencies};
pub use read_disturb::ReadDisturb;

use crate::error::{Error, Result};
use crate::media::bus::Bus;
use crate::media::operation::What;
use crate::media::part::{EccPlace, Kind, Part, Power};
use crate::replay::{Counts, FaultClass};

/// The papers' MB: 2²⁰ bytes.
pub const MIB: f64 = 1_048_576.0;

const NS_PER_S: f64 = 1e9;

/// The RAM that holds the frames, on the processor's bus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ram {
    /// Time to read one byte to the CPU.
    pub t_read_ns: f64,
    /// Time to write one byte into a frame.
    pub t_write_ns: f64,
}

/// What software adds. All zero in the CARDIS paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Handler {
    /// Of every page reference: finding the page in the cache.
    pub lookup_ns: f64,
    /// Of every true fault: entry, exit, finding a victim but for the walk.
    pub fault_ns: f64,
    /// Of every frame looked at.
    pub walk_step_ns: f64,
}

/// All prices of one part on one bus, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// A load of a page into the register: t_R, and its commands where they count.
    pub t_load_ns: f64,
    /// t_R alone.
    pub t_r_ns: f64,
    /// Command, address and status cycles of a load, where they are known.
    pub t_load_commands_ns: Option<f64>,
    /// A byte over the bus.
    pub t_byte_ns: f64,
    /// A column change; absent where the part gives none.
    pub t_column_change_ns: Option<f64>,
    /// The RAM.
    pub ram: Ram,
    /// The software.
    pub handler: Handler,
    /// What the part takes of its supply, where it says.
    pub power: Option<Power>,
}

impl Prices {
    /// The prices of `part` on `bus`; loads cost t_R, as in the papers, and with
    /// `count_commands` their commands, too.
    ///
    /// # Errors
    /// A part that is no NAND or has no time on the bus; commands that have no price;
    /// times below 0.
    pub fn new(
        part: &Part,
        bus: Bus,
        ram: Ram,
        handler: Handler,
        count_commands: bool,
    ) -> Result<Self> {
        let t_load = part.t_r_ns.as_ref().filter(|_| part.kind == Kind::Nand).ok_or_else(|| {
            Error::design(format!("{} is no NAND part: code cannot be paged from it", part.name))
        })?;
        let all = [
            ram.t_read_ns,
            ram.t_write_ns,
            handler.lookup_ns,
            handler.fault_ns,
            handler.walk_step_ns,
        ];
        if let Some(wrong) = all.iter().find(|time| !(**time >= 0.0 && **time <= 1e9)) {
            return Err(Error::design(format!("{wrong} is no time in nanoseconds")));
        }
        let t_load_commands_ns = part.load_commands_ns(bus);
        let commands = match (count_commands, t_load_commands_ns) {
            (false, _) => 0.0,
            (true, Some(ns)) => ns,
            (true, None) => {
                return Err(Error::design(format!(
                    "{} does not say what the commands of a load take: they cannot be counted",
                    part.name
                )));
            }
        };
        Ok(Self {
            t_load_ns: t_load.value + commands,
            t_r_ns: t_load.value,
            t_load_commands_ns,
            t_byte_ns: part.byte_time(bus)?,
            t_column_change_ns: part.column_change_ns(bus),
            ram,
            handler,
            power: part.power(What::Read),
        })
    }

    /// A fault of `class` that writes `bytes_written` into its frame: load, column
    /// change, fetch, write and handler. Reads and lookups belong to no fault.
    pub fn fault_ns(&self, class: &FaultClass, bytes_written: u64) -> f64 {
        let mut ns = self.handler.fault_ns
            + f64::from(class.walk) * self.handler.walk_step_ns
            + f64::from(class.bytes_fetched) * self.t_byte_ns
            + bytes_written as f64 * self.ram.t_write_ns;
        if class.load {
            ns += self.t_load_ns;
        }
        if class.column_change {
            ns += self.column_change_ns();
        }
        ns
    }

    /// A column change that has no price makes every sum with it no number.
    fn column_change_ns(&self) -> f64 {
        self.t_column_change_ns.unwrap_or(f64::NAN)
    }
}

/// The time of a whole replay, step by step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Time {
    /// All steps together.
    pub time_ns: f64,
    /// Array to register.
    pub load_ns: f64,
    /// Register over the bus.
    pub fetch_ns: f64,
    /// Into frames.
    pub write_ns: f64,
    /// Frames to the CPU.
    pub read_ns: f64,
    /// Column changes.
    pub column_change_ns: f64,
    /// Lookups, faults and walks.
    pub handler_ns: f64,
    /// Bytes read over time, in 2²⁰ bytes/s.
    pub bandwidth_mib_s: f64,
}

impl Time {
    /// Price `counts`.
    pub fn of(counts: &Counts, prices: &Prices) -> Self {
        let times = |count: u64, price: f64| if count == 0 { 0.0 } else { count as f64 * price };
        let load_ns = times(counts.loads, prices.t_load_ns);
        let fetch_ns = times(counts.bytes_fetched, prices.t_byte_ns);
        let write_ns = times(counts.bytes_written, prices.ram.t_write_ns);
        let read_ns = times(counts.bytes_read, prices.ram.t_read_ns);
        let column_change_ns = times(counts.column_changes, prices.column_change_ns());
        let handler_ns = times(counts.references, prices.handler.lookup_ns)
            + times(counts.misses, prices.handler.fault_ns)
            + times(counts.walk, prices.handler.walk_step_ns);
        let time_ns = load_ns + fetch_ns + write_ns + read_ns + column_change_ns + handler_ns;
        Self {
            time_ns,
            load_ns,
            fetch_ns,
            write_ns,
            read_ns,
            column_change_ns,
            handler_ns,
            bandwidth_mib_s: bandwidth_mib_s(counts.bytes_read as f64, time_ns),
        }
    }
}

/// Bytes over time, in 2²⁰ bytes/s; 0 if no time passed.
pub fn bandwidth_mib_s(bytes: f64, time_ns: f64) -> f64 {
    if time_ns > 0.0 { bytes / time_ns * NS_PER_S / MIB } else { 0.0 }
}

/// The same bytes read in place from NOR.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NorComparison {
    /// Time to read all bytes from NOR.
    pub nor_time_ns: f64,
    /// NOR's bandwidth, in 2²⁰ bytes/s.
    pub nor_bandwidth_mib_s: f64,
    /// Our bandwidth over NOR's.
    pub nor_ratio: f64,
}

impl NorComparison {
    /// Compare `time` with `nor` on `bus`.
    ///
    /// # Errors
    /// When the part is no NOR, or has no time on that bus.
    pub fn of(counts: &Counts, time: &Time, nor: &Part, bus: Bus) -> Result<Self> {
        if nor.kind != Kind::Nor {
            return Err(Error::design(format!("{} is no NOR part", nor.name)));
        }
        let t_nor_ns = nor.byte_time(bus)?;
        let nor_time_ns = counts.bytes_read as f64 * t_nor_ns;
        Ok(Self {
            nor_time_ns,
            nor_bandwidth_mib_s: bandwidth_mib_s(1.0, t_nor_ns),
            nor_ratio: if time.time_ns > 0.0 { nor_time_ns / time.time_ns } else { 0.0 },
        })
    }
}

/// What a part gives without a cache: the Min and Max columns of CARDIS 2010,
/// tables 1 and 2, in 2²⁰ bytes/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RawBandwidth {
    /// Time of a whole page over the bus.
    pub page_fetch_ns: f64,
    /// A load and a whole page for every byte.
    pub min_mib_s: f64,
    /// Page after page.
    pub max_mib_s: f64,
}

impl RawBandwidth {
    /// Of `part` on `bus`; a NOR part has no page and the same bandwidth always.
    pub fn of(part: &Part, bus: Bus) -> Result<Self> {
        let t_byte_ns = part.byte_time(bus)?;
        Ok(match (part.kind, &part.t_r_ns) {
            (Kind::Nand, Some(t_r)) => {
                let page = f64::from(part.flash_page_bytes());
                let page_fetch_ns = page * t_byte_ns;
                let whole_ns = t_r.value + page_fetch_ns;
                Self {
                    page_fetch_ns,
                    min_mib_s: bandwidth_mib_s(1.0, whole_ns),
                    max_mib_s: bandwidth_mib_s(page, whole_ns),
                }
            }
            _ => {
                let always = bandwidth_mib_s(1.0, t_byte_ns);
                Self { page_fetch_ns: 0.0, min_mib_s: always, max_mib_s: always }
            }
        })
    }
}

/// Whether less is fetched than the codeword that the host must check.
pub fn fetches_below_codeword(
    part: &Part,
    cache_page_bytes: u32,
    codeword_bytes: Option<u32>,
) -> bool {
    let fetched = cache_page_bytes.max(codeword_bytes.unwrap_or(0));
    let ecc = part.ecc.as_ref().filter(|ecc| ecc.place == EccPlace::Host);
    ecc.is_some_and(|ecc| fetched < ecc.codeword_bytes)
}

/// Why this design would disappoint in practice; empty when nothing is known against it.
pub fn warnings(
    part: &Part,
    cache_page_bytes: u32,
    codeword_bytes: Option<u32>,
    flash_page_bytes: u32,
) -> Vec<String> {
    let mut warnings = Vec::new();
    match &part.ecc {
        Some(ecc) if ecc.place == EccPlace::Host => {
            let fetched = cache_page_bytes.max(codeword_bytes.unwrap_or(0));
            if fetches_below_codeword(part, cache_page_bytes, codeword_bytes) {
                warnings.push(format!(
                    "{} has no on-die ECC: {fetched} bytes are less than its codeword of {} and cannot \
                     be checked. Set the codeword to {}, or take a part with on-die ECC",
                    part.name, ecc.codeword_bytes, ecc.codeword_bytes
                ));
            }
        }
        Some(_) => {}
        None => warnings.push(format!("{}: who corrects its errors is not known", part.name)),
    }
    if flash_page_bytes != part.flash_page_bytes() {
        warnings.push(format!(
            "{} has pages of {} bytes, not {flash_page_bytes}: this is a what-if",
            part.name,
            part.flash_page_bytes()
        ));
    }
    warnings
}
