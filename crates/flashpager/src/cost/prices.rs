//! The prices of a design: part, bus, RAM and software, in nanoseconds.

use flashpager_base::{Error, Result};
use flashpager_media::bus::Bus;
use flashpager_media::operation::OperationKind;
use flashpager_media::part::{MemoryKind, Part, Power};
use flashpager_replay::{Counts, Executed, FaultClass, Tags};
use serde::{Deserialize, Serialize};

use super::fetch_prices::FetchPrices;
use super::handler::{BusyUntil, Handler, Jobs, Schedule, Timeline};

/// The RAM that holds the frames, on the processor's bus. By default it takes no time: a processor
/// states what a copy takes, and instructions include reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ram {
    /// Time to read one byte to the CPU.
    pub t_read_ns: f64,
    /// Time to write one byte into a frame.
    pub t_write_ns: f64,
}

/// All prices of one part on one bus, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// A load of a page into the register: t_R, with its commands if they count, or a measured time.
    pub t_load_ns: f64,
    /// t_R alone.
    pub t_r_ns: f64,
    /// Command, address and status cycles of a load; `None` if the part does not give them.
    pub t_load_commands_ns: Option<f64>,
    /// A byte over the bus.
    pub t_byte_ns: f64,
    /// A column change; `None` if the part gives no time for it.
    pub t_column_change_ns: Option<f64>,
    /// The RAM.
    pub ram: Ram,
    /// Mean time of a processor for a byte of the trace, instead of the time of reading it; `None`
    /// without a processor.
    pub t_execute_ns: Option<f64>,
    /// The times of the fault handler.
    pub handler: Handler,
    /// The jobs of a fault that overlap.
    pub schedule: Schedule,
    /// True if the reference bit is emulated, so that setting it again is a false fault.
    pub emulates_bit: bool,
    /// Prices of checking the tag of fetched bytes; `None` without authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<TagPrices>,
    /// Prices of instruction cache and TLB; `None` without an instruction cache.
    pub fetch: Option<FetchPrices>,
    /// Power of the part; `None` if the part does not give it.
    pub power: Option<Power>,
}

/// The prices of a tag at each fault.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TagPrices {
    /// Bytes of the tag over the bus.
    pub bytes: u32,
    /// True if fetching the tag is a column change, and the next fetch from the same page another.
    pub changes_column: bool,
    /// Time of checking it: `tag_check_ns`, and `mac_block_ns` for each 16 bytes.
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
    /// The prices of `part` on `bus`.
    ///
    /// A load costs t_R, as in the papers, and its commands if they count; or the measured time, if
    /// the handler has one. For a part that is read in place, a load is the start of a transaction,
    /// before its data: from chip select to the dummy cycles.
    ///
    /// # Errors
    /// If the part holds no code or gives no time on the bus, a command has no price, or a time is
    /// below 0.
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
        // A measured load includes its commands.
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

    /// The jobs of a fault of `class` that writes `bytes_written` into its frame. Reads and lookups
    /// are no part of a fault.
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

    /// PA-Clock's budget: the longest walk that the schedule hides behind a load, at least 1 and at
    /// most one step more than a full turn over `frames`, which no search exceeds.
    pub fn walk_budget(&self, frames: u32) -> u32 {
        self.steps_behind_load(0).clamp(1.0, f64::from(frames.saturating_add(1))) as u32
    }

    /// The longest walk that a load hides completely, together with all other jobs of the host during
    /// the load and with `downgrades`. Without downgrades this is PA-Clock's budget, before the number
    /// of frames limits it. Infinite if a step takes no time. `None` if the schedule hides nothing, or
    /// if the other jobs alone outlast the load.
    pub fn longest_hidden_walk(&self, downgrades: u32) -> Option<f64> {
        let steps = self.steps_behind_load(downgrades);
        (self.schedule.overlaps() && steps >= 0.0).then_some(steps)
    }

    /// Steps of a walk for which a load leaves time; below 0 if it leaves none.
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
        // Rounding must not exclude a step that just fits.
        (left_ns / walk_step_ns + 1e-9).floor()
    }

    /// Time of the host between two faults: execution, lookups and false faults.
    pub fn host_ns(&self, executed: &Executed) -> f64 {
        let Executed { references, reference_bits_set, false_faults, downgrades, .. } = *executed;
        let bits = if self.emulates_bit { reference_bits_set } else { 0 };
        self.read_ns(executed)
            + references as f64 * self.handler.lookup_ns
            + (false_faults + bits) as f64 * self.handler.false_fault_ns
            + downgrades as f64 * self.handler.downgrade_ns
    }

    /// Time of the program's execution between two faults.
    pub fn read_ns(&self, executed: &Executed) -> f64 {
        let Executed { bytes, words, line_refills, tlb_misses, .. } = *executed;
        self.reading_ns(bytes, words, line_refills, tlb_misses)
    }

    /// Time of a processor, or, without one, of the memories that are read.
    pub(crate) fn reading_ns(
        &self,
        bytes: u64,
        words: u64,
        line_refills: u64,
        tlb_misses: u64,
    ) -> f64 {
        let executing_ns = self.t_execute_ns.map(|ns| bytes as f64 * ns);
        match (self.fetch, executing_ns) {
            (None, None) => bytes as f64 * self.ram.t_read_ns,
            (None, Some(ns)) => ns,
            (Some(fetch), None) => fetch.of(words, line_refills, tlb_misses),
            (Some(fetch), Some(ns)) => ns + fetch.of(0, line_refills, tlb_misses),
        }
    }

    /// Time of all false faults, including those of an emulated reference bit.
    pub(super) fn false_faults_ns(&self, counts: &Counts) -> f64 {
        counts.false_faults as f64 * self.handler.false_fault_ns
            + counts.false_fault_downgrades as f64 * self.handler.downgrade_ns
    }

    /// Time of a column change. Without a price it is NaN, and so is every sum with it.
    pub(super) fn column_change_ns(&self) -> f64 {
        self.t_column_change_ns.unwrap_or(f64::NAN)
    }
}

/// Settings of a design for reading its part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadSettings<'a> {
    /// True if command, address and status cycles of a load count.
    pub count_commands: bool,
    /// The mode in which a part that is read in place is read; `None` for its fastest one.
    pub mode: Option<&'a str>,
    /// Bytes of a transaction: a cache page.
    pub bytes: u32,
}

/// t_R of a part, in nanoseconds.
///
/// # Errors
/// If the part is not a NAND, so that it loads no pages.
pub fn t_r_ns(part: &Part) -> Result<f64> {
    let t_r = part.t_r_ns.as_ref().filter(|_| part.kind == MemoryKind::Nand);
    t_r.map(|t_r| t_r.value).ok_or_else(|| {
        Error::design(format!(
            "{} is no NAND part and is not read in place: code cannot be paged from it",
            part.name
        ))
    })
}

/// Costs of the processor's side of a design.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftwareCosts {
    /// The RAM.
    pub ram: Ram,
    /// The times of the fault handler.
    pub handler: Handler,
    /// The jobs of a fault that overlap.
    pub schedule: Schedule,
    /// True if the reference bit is emulated, so that setting it again is a false fault.
    pub emulates_bit: bool,
    /// Tags of fetched bytes; `None` without authentication.
    pub tags: Option<Tags>,
    /// Prices of instruction cache and TLB; `None` without an instruction cache.
    pub fetch: Option<FetchPrices>,
}
