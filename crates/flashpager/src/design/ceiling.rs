//! Ceilings: the least time that a design could take, with its cache pages in the order that they
//! have, and with any order, replica, page size and policy. `docs/model.md` defines them.
//!
//! No design passes them:
//!
//! * Misses: every policy caches the page that it misses, so it misses at least as often as MIN.
//!   Sets, homes and registers do not change what a policy can keep. In any order, with any page,
//!   each byte that is executed lies in the RAM, so at least the bytes that MIN over bytes misses
//!   are fetched. A cache that holds something at first could have been empty and have fetched it,
//!   each byte or page once.
//! * Bytes: a miss fetches a cache page and writes it. One that fetches n bytes that were missing
//!   takes a cache page of n bytes at least, and none is larger than a flash page.
//! * Loads, columns that only grow: after a load the column moves behind each byte that is fetched,
//!   so each load passes at most a flash page over the bus.
//! * Loads, other registers: the register serves what it holds as often as it is asked, so it is no
//!   better than RAM of its size. Frames and registers together are a cache to which a load, asked
//!   for or ahead, adds at most a flash page, and MIN adds the fewest.
//! * Time: prices are not below 0, and what is left out only adds. Behind the program's back, one
//!   flash loads and one bus transfers, each one thing at a time; only the last one may outlast the
//!   program.

use flashpager_base::{Error, Result};
use flashpager_replay::register::RegisterModel;
use flashpager_replay::{Counts, PieceReferences};
use flashpager_trace::Trace;
use serde::Serialize;

use super::Design;
use crate::cost::{Handler, NorComparison, Prices, Ram, Time};

/// A bound that no design of its kind passes: counts that none is below, and their time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// The fewest misses.
    pub misses: u64,
    /// The fewest flash pages loaded.
    pub loads: u64,
    /// The fewest bytes over the bus.
    pub bytes_fetched: u64,
    /// The least time.
    pub time: Time,
    /// The comparison with NOR; `None` without a NOR part.
    pub nor: Option<NorComparison>,
}

/// The ceilings of a design for a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceilings {
    /// Bytes of RAM that the second ceiling takes for code.
    pub ram_bytes: u64,
    /// The ceiling of this order of the code and this cache page, in as many frames.
    pub of_order: Ceiling,
    /// The ceiling of any order, replica, page size and policy, in as much RAM.
    pub of_any_order: Ceiling,
}

/// Units of code that pass through a data register: a page, or a byte.
struct RegisterUnits {
    /// Units of the frames.
    frames: u64,
    /// Units of a flash page.
    flash_page: u64,
    /// Bytes of a unit.
    unit_bytes: u64,
}

impl Design {
    /// The ceilings of the design for the counted runs of `trace`, the second one in `ram_bytes`.
    /// Register, part, bus and prices are those of the design.
    ///
    /// # Errors
    /// A part that is read in place, a board with an instruction cache, and a trace that cannot be
    /// read.
    pub fn ceilings(
        &self,
        trace: &dyn Trace,
        ram_bytes: u64,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Ceilings> {
        self.check_ceilings()?;
        let page_bytes = u64::from(self.cache.cache_page_bytes);
        let flash_page_bytes = u64::from(self.register.flash_page_bytes);
        let is_warm = !trace.warm_up().is_none();
        let bytes = PieceReferences::of_bytes(trace, should_continue)?;
        let bytes_read = bytes.referenced_units();
        let units =
            RegisterUnits { frames: ram_bytes, flash_page: flash_page_bytes, unit_bytes: 1 };
        let of_bytes = self.fewest(&bytes, &units, is_warm);
        let faults = of_bytes.bytes_fetched.div_ceil(flash_page_bytes);
        let of_any_order = Counts { misses: faults, bytes_read, ..of_bytes };
        drop(bytes);
        let pages = PieceReferences::of_pages(trace, self.cache.cache_page_bytes, should_continue)?;
        let units = RegisterUnits {
            frames: self.frames(),
            flash_page: flash_page_bytes / page_bytes,
            unit_bytes: page_bytes,
        };
        // The first reference may be the end of one that began in the warm-up.
        let references = pages.referenced_units().saturating_sub(u64::from(is_warm));
        let of_order = Counts { references, bytes_read, ..self.fewest(&pages, &units, is_warm) };
        Ok(Ceilings {
            ram_bytes,
            of_order: self.ceiling(&of_order),
            of_any_order: self.ceiling(&of_any_order),
        })
    }

    /// Refuses designs without a bound.
    fn check_ceilings(&self) -> Result<()> {
        if self.part.kind.is_read_in_place() {
            return Err(Error::design(format!(
                "a ceiling of {}, which is read in place: it is defined for parts that load flash \
                 pages; take a NAND part, or leave out --ceiling",
                self.part.name
            )));
        }
        if self.cache.hierarchy.is_some() {
            return Err(Error::design(
                "a ceiling behind an instruction cache is not defined: take a board without \
                 [icache], or leave out --ceiling",
            ));
        }
        Ok(())
    }

    /// The fewest misses, loads and bytes fetched by which `references` are served.
    fn fewest(&self, references: &PieceReferences, units: &RegisterUnits, is_warm: bool) -> Counts {
        let RegisterUnits { frames, flash_page, unit_bytes } = *units;
        let fetched_by = |capacity: u64| {
            if is_warm {
                references.fewest_fetched_warm(capacity)
            } else {
                references.fewest_fetched(capacity)
            }
        };
        let misses = fetched_by(frames);
        let loaded = match self.register.model {
            // Each load passes each of its units over the bus at most once.
            RegisterModel::Sequential | RegisterModel::StartColumn => {
                misses.saturating_sub(if is_warm { flash_page } else { 0 })
            }
            // A register serves the bytes that it holds any number of times, like RAM.
            RegisterModel::RandomColumn => fetched_by(frames.saturating_add(flash_page)),
            RegisterModel::DoubleBuffer | RegisterModel::DoubleBufferPrefetch => {
                fetched_by(frames.saturating_add(2 * flash_page))
            }
        };
        let bytes = misses * unit_bytes;
        Counts {
            misses,
            loads: loaded.div_ceil(flash_page),
            bytes_fetched: bytes,
            bytes_written: bytes,
            ..Counts::default()
        }
    }

    /// The ceiling with the fewest `counts`.
    fn ceiling(&self, counts: &Counts) -> Ceiling {
        let time = self.least_time(counts);
        let nor = self.evaluation(counts, time, Vec::new(), &[]).nor;
        let Counts { misses, loads, bytes_fetched, .. } = *counts;
        Ceiling { misses, loads, bytes_fetched, time, nor }
    }

    /// The least time of designs with at least `counts`. If flash or bus work on while the program
    /// runs, it is that of the one that works longest.
    fn least_time(&self, counts: &Counts) -> Time {
        let Prices { handler, schedule, .. } = self.prices;
        let unless = |is_hidden: bool, ns: f64| if is_hidden { 0.0 } else { ns };
        let handler = Handler {
            get_freeframe_ns: unless(schedule.overlaps(), handler.get_freeframe_ns),
            update_mmu_ns: unless(schedule.updates_early(), handler.update_mmu_ns),
            ..handler
        };
        let prices = Prices { handler, tag: None, ..self.prices };
        let sum = Time::of(counts, &prices);
        if !self.is_executed() {
            return sum;
        }
        let ram = Ram { t_write_ns: 0.0, ..prices.ram };
        let handler = Handler { load_command_ns: 0.0, ..handler };
        let host_prices = Prices { t_load_ns: 0.0, t_byte_ns: 0.0, ram, handler, ..prices };
        let host_ns = Time::of(counts, &host_prices).time_ns;
        // The last load, and the last transfer, may outlast the program.
        let but_last = |count: u64| count.saturating_sub(1) as f64 / count.max(1) as f64;
        let flash_ns = sum.load_ns * but_last(counts.loads);
        let bus_ns = (sum.fetch_ns + sum.write_ns) * but_last(counts.misses);
        Time::of_execution(counts, &prices, host_ns.max(flash_ns).max(bus_ns))
    }
}
