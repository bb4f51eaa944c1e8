//! Cost: counts × media × handler gives time, bandwidth and latency.
//!
//! Nothing here knows a policy. The four steps are those of CARDIS 2010,
//! section 4.2: load, fetch, write, read.

mod energy;
mod execution;
mod fetch;
pub mod handler;
mod latency;
mod line_fetch;
mod read_disturb;
mod run_time;

use serde::{Deserialize, Serialize};

pub use energy::FlashEnergy;
pub use execution::{Distribution, Execution, ExecutionTime};
pub use fetch::{Fetch, FetchPrices};
pub use handler::Handler;
pub use latency::{Latency, fault_latencies};
pub use line_fetch::{LineExecution, LineFetch};
pub use read_disturb::ReadDisturb;
pub use run_time::{RunTime, Work, fault_path};

use flashpager_base::{Error, Result};
use flashpager_media::bus::Bus;
use flashpager_media::operation::OperationKind;
use flashpager_media::part::{EccPlace, MemoryKind, Part, Power};
use flashpager_replay::{Counts, Executed, FaultClass, Tags};
use handler::{BusyUntil, Jobs, Schedule, Timeline};

/// The papers' MB: 2²⁰ bytes.
pub const MIB: f64 = 1_048_576.0;

const NS_PER_S: f64 = 1e9;

/// The RAM that holds the frames, on the processor's bus; by default that of the CARDIS smart
/// card.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ram {
    /// Time to read one byte to the CPU.
    pub t_read_ns: f64,
    /// Time to write one byte into a frame.
    pub t_write_ns: f64,
}

impl Default for Ram {
    fn default() -> Self {
        Self { t_read_ns: 40.0, t_write_ns: 40.0 }
    }
}

/// All prices of one part on one bus, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// A load of a page into the register: t_R, and its commands where they count; or
    /// as measured.
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
    /// With a processor: what it takes for a byte of the trace, on average, instead of
    /// reading it.
    pub t_execute_ns: Option<f64>,
    /// The software.
    pub handler: Handler,
    /// What of a fault goes on at once.
    pub schedule: Schedule,
    /// Whether setting a reference bit again is a false fault.
    pub emulates_bit: bool,
    /// What checks the tag of what a fault fetches; nothing without authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<TagPrices>,
    /// What stands in front of the page cache.
    pub fetch: Option<FetchPrices>,
    /// What the part takes of its supply, where it says.
    pub power: Option<Power>,
}

/// What a tag costs at each fault.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TagPrices {
    /// Bytes of it over the bus.
    pub bytes: u32,
    /// Whether getting it is a column change, and what follows in the same page another.
    pub changes_column: bool,
    /// Checking it: `tag_check_ns`, and `mac_block_ns` for each 16 bytes.
    pub check_ns: f64,
}

/// Bytes of a block of AES.
const MAC_BLOCK_BYTES: u32 = 16;

impl TagPrices {
    /// The prices of tags that `handler` checks.
    pub fn new(tags: &Tags, handler: &Handler) -> Self {
        let blocks = tags.mac_bytes.div_ceil(MAC_BLOCK_BYTES);
        Self {
            bytes: tags.tag_bytes,
            changes_column: tags.changes_column,
            check_ns: handler.tag_check_ns + f64::from(blocks) * handler.mac_block_ns,
        }
    }
}

impl Prices {
    /// The prices of `part` on `bus`; loads cost t_R, as in the papers, and where it is said
    /// their commands, too; or what the handler says was measured. Of a part that is read in place
    /// a load is what comes before the data of a transaction, chip select to dummies.
    ///
    /// # Errors
    /// A part that holds no code or has no time on the bus; commands that have no price;
    /// times below 0.
    pub fn new(
        part: &Part,
        bus: Bus,
        software: &SoftwareCosts,
        reading: &ReadSettings<'_>,
    ) -> Result<Self> {
        let SoftwareCosts { ram, handler, schedule, emulates_bit, tags, fetch } = *software;
        let ReadSettings { count_commands, mode, bytes } = *reading;
        let in_place = part.kind.is_read_in_place();
        let (t_r_ns, t_byte_ns) = if in_place {
            part.in_place_ns(bus, mode, bytes)?
        } else {
            (t_r_ns(part)?, part.byte_time(bus)?)
        };
        let front = fetch.map(|fetch| {
            [
                ("fetch_ns", fetch.fetch_ns),
                ("refill_ns", fetch.refill_ns),
                ("lookup_ns", fetch.tlb_lookup_ns),
                ("page_walk_ns", fetch.page_walk_ns),
            ]
        });
        let ram_times = [("t_read_ns", ram.t_read_ns), ("t_write_ns", ram.t_write_ns)];
        let mut all =
            ram_times.into_iter().chain(handler.times()).chain(front.into_iter().flatten());
        if let Some((name, wrong)) = all.find(|(_, time)| !(*time >= 0.0 && *time <= 1e9)) {
            return Err(Error::design(format!(
                "{name} = {wrong:?} is no time in nanoseconds: take 0 to 1e9"
            )));
        }
        // What was measured has its commands in it.
        let count_commands = count_commands && !in_place && handler.load_stopover_ns.is_none();
        let commands_ns = (!in_place).then(|| part.load_commands_ns(bus));
        let t_load_commands_ns = commands_ns.flatten();
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
            t_load_ns: handler.load_stopover_ns.unwrap_or(t_r_ns + commands),
            t_r_ns,
            t_load_commands_ns,
            t_byte_ns,
            t_column_change_ns: part
                .column_change_ns(bus)
                .map(|change_ns| change_ns + handler.column_command_ns),
            ram,
            t_execute_ns: None,
            handler,
            schedule,
            emulates_bit,
            tag: tags.map(|tags| TagPrices::new(&tags, &handler)),
            fetch,
            power: part.power(OperationKind::Read),
        })
    }

    /// The jobs of a fault of `class` that writes `bytes_written` into its frame. Reads
    /// and lookups belong to no fault.
    pub fn jobs(&self, class: &FaultClass, bytes_written: u64) -> Jobs {
        let Handler { walk_step_ns, downgrade_ns, load_command_ns, .. } = self.handler;
        let mut transfer = f64::from(class.bytes_fetched) * self.t_byte_ns
            + bytes_written as f64 * self.ram.t_write_ns;
        let mut column_changes = u32::from(class.column_change);
        if let Some(tag) = self.tag {
            if tag.changes_column {
                column_changes = 1 + u32::from(!class.load);
            }
            transfer += f64::from(tag.bytes) * self.t_byte_ns + tag.check_ns;
        }
        if column_changes > 0 {
            transfer += f64::from(column_changes) * self.column_change_ns();
        }
        Jobs {
            pre_process_ns: self.handler.pre_process_ns
                + if class.load { load_command_ns } else { 0.0 },
            get_freeframe_ns: self.handler.get_freeframe_ns
                + f64::from(class.search.walk) * walk_step_ns
                + f64::from(class.search.downgrades) * downgrade_ns,
            load_stopover_ns: if class.load { self.t_load_ns } else { 0.0 },
            trans_host_mem_ns: transfer,
            trans_rest_ns: 0.0,
            update_mmu_ns: self.handler.update_mmu_ns,
            post_process_ns: self.handler.post_process_ns,
        }
    }

    /// The latency of a fault of `class` that writes `bytes_written` into its frame.
    pub fn fault_ns(&self, class: &FaultClass, bytes_written: u64) -> f64 {
        let jobs = self.jobs(class, bytes_written);
        if self.schedule.overlaps() {
            Timeline::new(self.schedule, &jobs, BusyUntil::default()).end_ns
        } else {
            jobs.sum_ns()
        }
    }

    /// PA-Clock's budget: the longest walk that the schedule hides behind a load, at least 1.
    /// Of `frames` frames no search can need more than one beyond a full turn.
    pub fn walk_budget(&self, frames: u32) -> u32 {
        self.steps_behind_load(0).clamp(1.0, f64::from(frames.saturating_add(1))) as u32
    }

    /// The longest walk that a load hides whole, with all else that the host does then and
    /// `downgrades` among it: without them PA-Clock's budget, before frames bound it. It is
    /// infinite where a step takes no time; `None` where the schedule hides nothing, or the
    /// host has more to do even without a search.
    pub fn longest_hidden_walk(&self, downgrades: u32) -> Option<f64> {
        let steps = self.steps_behind_load(downgrades);
        (self.schedule.overlaps() && steps >= 0.0).then_some(steps)
    }

    /// Steps of a walk that a load leaves time for; below 0 where it leaves none.
    fn steps_behind_load(&self, downgrades: u32) -> f64 {
        let Handler { get_freeframe_ns, walk_step_ns, downgrade_ns, update_mmu_ns, .. } =
            self.handler;
        let update_ns = if self.schedule.updates_early() { update_mmu_ns } else { 0.0 };
        let left_ns =
            self.t_load_ns - get_freeframe_ns - update_ns - f64::from(downgrades) * downgrade_ns;
        if left_ns < 0.0 {
            return f64::NEG_INFINITY;
        }
        if walk_step_ns == 0.0 {
            return f64::INFINITY;
        }
        // A step that just fits must not fall to rounding.
        (left_ns / walk_step_ns + 1e-9).floor()
    }

    /// What the host takes for what it does between faults.
    pub fn host_ns(&self, executed: &Executed) -> f64 {
        let Executed { references, reference_bits_set, false_faults, downgrades, .. } = *executed;
        let bits = if self.emulates_bit { reference_bits_set } else { 0 };
        self.read_ns(executed)
            + references as f64 * self.handler.lookup_ns
            + (false_faults + bits) as f64 * self.handler.false_fault_ns
            + downgrades as f64 * self.handler.downgrade_ns
    }

    /// What the program takes by itself for what it does between faults.
    pub fn read_ns(&self, executed: &Executed) -> f64 {
        let Executed { bytes, words, line_refills, tlb_misses, .. } = *executed;
        self.reading_ns(bytes, words, line_refills, tlb_misses)
    }

    /// What a processor takes, or else what the memories take that it reads.
    fn reading_ns(&self, bytes: u64, words: u64, line_refills: u64, tlb_misses: u64) -> f64 {
        let executing_ns = self.t_execute_ns.map(|ns| bytes as f64 * ns);
        match (self.fetch, executing_ns) {
            (None, None) => bytes as f64 * self.ram.t_read_ns,
            (None, Some(ns)) => ns,
            (Some(fetch), None) => fetch.of(words, line_refills, tlb_misses),
            (Some(fetch), Some(ns)) => ns + fetch.of(0, line_refills, tlb_misses),
        }
    }

    /// All false faults of `counts`, those of an emulated bit among them.
    fn false_faults_ns(&self, counts: &Counts) -> f64 {
        counts.false_faults as f64 * self.handler.false_fault_ns
            + counts.false_fault_downgrades as f64 * self.handler.downgrade_ns
    }

    /// A column change that has no price makes every sum with it no number.
    fn column_change_ns(&self) -> f64 {
        self.t_column_change_ns.unwrap_or(f64::NAN)
    }
}

/// How a design reads its part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadSettings<'a> {
    /// Whether command, address and status cycles of a load count.
    pub count_commands: bool,
    /// How a part that is read in place is read; the fastest way if absent.
    pub mode: Option<&'a str>,
    /// Bytes of a cache page, which a transaction brings.
    pub bytes: u32,
}

/// The time of a load of a part with pages.
///
/// # Errors
/// A part that loads no pages.
pub fn t_r_ns(part: &Part) -> Result<f64> {
    let t_r = part.t_r_ns.as_ref().filter(|_| part.kind == MemoryKind::Nand);
    t_r.map(|t_r| t_r.value).ok_or_else(|| {
        Error::design(format!(
            "{} is no NAND part and is not read in place: code cannot be paged from it",
            part.name
        ))
    })
}

/// What the processor's side of a design costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftwareCosts {
    /// The RAM.
    pub ram: Ram,
    /// The handler.
    pub handler: Handler,
    /// What of a fault goes on at once.
    pub schedule: Schedule,
    /// Whether setting a reference bit again is a false fault.
    pub emulates_bit: bool,
    /// What it checks of what it fetches.
    pub tags: Option<Tags>,
    /// What stands in front of the page cache.
    pub fetch: Option<FetchPrices>,
}

/// The time of a whole replay, step by step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Time {
    /// All steps together, less what is hidden.
    pub time_ns: f64,
    /// Array to register.
    pub load_ns: f64,
    /// Register over the bus.
    pub fetch_ns: f64,
    /// Into frames.
    pub write_ns: f64,
    /// Frames to the CPU, or through instruction cache and TLB; with a processor, what it takes.
    pub read_ns: f64,
    /// Column changes.
    pub column_change_ns: f64,
    /// Finding pages in the page cache.
    pub lookups_ns: f64,
    /// What the host does for true faults.
    pub handler_ns: f64,
    /// False faults.
    pub false_faults_ns: f64,
    /// What goes on at once with something else. Below 0 where more is waited for loads
    /// ahead than they save.
    pub hidden_ns: f64,
    /// Bytes read over time, in 2²⁰ bytes/s.
    pub bandwidth_mib_s: f64,
}

impl Time {
    /// Price `counts`.
    pub fn of(counts: &Counts, prices: &Prices) -> Self {
        let written = counts.bytes_written.checked_div(counts.misses).unwrap_or(0);
        let hidden = |(class, count): &(FaultClass, u64)| {
            let sum = prices.jobs(class, written).sum_ns();
            (sum - prices.fault_ns(class, written)) * *count as f64
        };
        let hidden_ns = if prices.schedule.overlaps() {
            counts.fault_classes.iter().map(hidden).sum()
        } else {
            0.0
        };
        Self::with_hidden(counts, prices, |steps_ns| steps_ns - hidden_ns)
    }

    /// Price `counts` of an execution that took `time_ns`.
    pub fn of_execution(counts: &Counts, prices: &Prices, time_ns: f64) -> Self {
        Self::with_hidden(counts, prices, |_| time_ns)
    }

    /// Steps, and what they take together, of their sum.
    fn with_hidden(counts: &Counts, prices: &Prices, together: impl Fn(f64) -> f64) -> Self {
        let times = |count: u64, price: f64| if count == 0 { 0.0 } else { count as f64 * price };
        let fault_ns = prices.handler.fixed_fault_ns();
        let downgrades = counts.downgrades - counts.false_fault_downgrades;
        let load_ns = times(counts.loads, prices.t_load_ns);
        let fetch_ns = times(counts.bytes_fetched, prices.t_byte_ns);
        let write_ns = times(counts.bytes_written, prices.ram.t_write_ns);
        let Counts { bytes_read, words, line_refills, tlb_misses, .. } = *counts;
        let read_ns = prices.reading_ns(bytes_read, words, line_refills, tlb_misses);
        let column_change_ns = times(counts.column_changes, prices.column_change_ns());
        let lookups_ns = times(counts.references, prices.handler.lookup_ns);
        let check_ns = prices.tag.map_or(0.0, |tag| tag.check_ns);
        let handler_ns = times(counts.misses, fault_ns + check_ns)
            + times(counts.loads, prices.handler.load_command_ns)
            + times(counts.walk, prices.handler.walk_step_ns)
            + times(downgrades, prices.handler.downgrade_ns);
        let false_faults_ns = prices.false_faults_ns(counts);
        let steps_ns = load_ns
            + fetch_ns
            + write_ns
            + read_ns
            + column_change_ns
            + lookups_ns
            + handler_ns
            + false_faults_ns;
        let time_ns = together(steps_ns);
        Self {
            time_ns,
            load_ns,
            fetch_ns,
            write_ns,
            read_ns,
            column_change_ns,
            lookups_ns,
            handler_ns,
            false_faults_ns,
            hidden_ns: steps_ns - time_ns,
            bandwidth_mib_s: bandwidth_mib_s(counts.bytes_read as f64, time_ns),
        }
    }
}

/// Bytes over time, in 2²⁰ bytes/s; 0 if no time passed.
pub fn bandwidth_mib_s(bytes: f64, time_ns: f64) -> f64 {
    if time_ns > 0.0 { bytes / time_ns * NS_PER_S / MIB } else { 0.0 }
}

/// The same bytes read in place from NOR.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NorComparison {
    /// What it is read on.
    pub nor_bus: String,
    /// Time to read all bytes from NOR, and with a processor to execute them.
    pub nor_time_ns: f64,
    /// NOR's bandwidth, in 2²⁰ bytes/s.
    pub nor_bandwidth_mib_s: f64,
    /// Our bandwidth over NOR's.
    pub nor_ratio: f64,
}

impl NorComparison {
    /// Compare `time` with `nor` on `bus`, where a processor takes `execution_ns` for what it
    /// reads, beside the reading; 0 without one.
    ///
    /// # Errors
    /// When the part is no NOR, or has no time on that bus.
    pub fn of(
        counts: &Counts,
        time: &Time,
        nor: &Part,
        bus: Bus,
        execution_ns: f64,
    ) -> Result<Self> {
        if nor.kind != MemoryKind::Nor {
            return Err(Error::design(format!("{} is no NOR part", nor.name)));
        }
        let t_nor_ns = nor.byte_time(bus)?;
        let bytes_read = counts.bytes_read as f64;
        let nor_time_ns = bytes_read * t_nor_ns + execution_ns;
        Ok(Self {
            nor_bus: bus.to_string(),
            nor_time_ns,
            nor_bandwidth_mib_s: if execution_ns > 0.0 {
                bandwidth_mib_s(bytes_read, nor_time_ns)
            } else {
                bandwidth_mib_s(1.0, t_nor_ns)
            },
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
            (MemoryKind::Nand, Some(t_r)) => {
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
    if !part.kind.is_nonvolatile() {
        warnings.push(format!(
            "{} is RAM: something has to copy the code there at the start",
            part.name
        ));
    }
    if part.kind.is_read_in_place() {
        return warnings;
    }
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
