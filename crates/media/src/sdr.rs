//! Raw NAND with a single data rate: every operation composed of latch cycles.
//!
//! The compositions are those of Hu, "Estimating Flash Media Performance For
//! Embedded Systems" (2010), section 1.1; timing modes are ONFI's, as the table
//! of Linux's `nand_timings.c` has them.

use flashpager_base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bus::Bus;
use super::operation::{
    Medium, Operation, OperationKind, OperationRequest, OperationStep, implausible, required,
    unsupported,
};
use super::part::{MemoryKind, Part, Sourced};

/// Waits and cycles that a chip can have, if it has them at all, least and most: others are
/// in another unit.
const CYCLES_NS: (f64, f64) = (0.1, 10_000.0);
const WAITS_NS: (f64, f64) = (50.0, 1_000_000.0);
/// Cycles of an address on large-page and small-page chips, if the part says nothing.
const ADDRESS_CYCLES: (u32, u32) = (5, 4);
/// Of these, cycles that carry the column.
const COLUMN_CYCLES: (u32, u32) = (2, 1);

/// Declares the AC parameters once: their fields and, for timing modes 0 to 5, their
/// values where ONFI has them.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident $(= [$($mode:literal),*])?;)*) => {
        /// The table `[sdr]` of a raw NAND part: AC parameters in ns, as datasheets
        /// spell them. What is not given is that of the timing mode.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Sdr {
            /// ONFI SDR timing mode, 0 to 5.
            pub timing_mode: Option<Sourced<u32>>,
            /// Cycles of a whole address; 5, or 4 on small-page chips.
            pub address_cycles: Option<Sourced<u32>>,
            /// Planes that can load or program together.
            pub planes: Option<Sourced<u32>>,
            $($(#[$doc])* pub $name: Option<Sourced<f64>>,)*
        }

        impl Sdr {
            fn times(&self) -> impl Iterator<Item = (&'static str, &Sourced<f64>)> {
                [$((stringify!($name), &self.$name)),*]
                    .into_iter()
                    .filter_map(|(name, time)| time.as_ref().map(|time| (name, time)))
            }

            /// A parameter's value in ns: the part's own, or that of its timing mode.
            pub fn get(&self, name: &str) -> Option<f64> {
                match name {
                    $(stringify!($name) => self.$name.as_ref().map(|time| time.value).or_else(|| {
                        let modes: &[f64] = &[$($($mode),*)?];
                        let mode = self.timing_mode.as_ref()?.value;
                        modes.get(mode as usize).copied()
                    }),)*
                    _ => None,
                }
            }
        }
    };
}

parameters! {
    /// ALE to data start.
    t_adl_ns = [400.0, 400.0, 400.0, 400.0, 400.0, 400.0];
    /// ALE hold time.
    t_alh_ns = [20.0, 10.0, 10.0, 5.0, 5.0, 5.0];
    /// ALE setup time.
    t_als_ns = [50.0, 25.0, 15.0, 10.0, 10.0, 10.0];
    /// ALE to RE# delay.
    t_ar_ns = [25.0, 10.0, 10.0, 10.0, 10.0, 10.0];
    /// Change column setup time.
    t_ccs_ns = [500.0, 500.0, 500.0, 500.0, 500.0, 500.0];
    /// CE# access time.
    t_cea_ns = [100.0, 45.0, 30.0, 25.0, 25.0, 25.0];
    /// CE# hold time.
    t_ch_ns = [20.0, 10.0, 10.0, 5.0, 5.0, 5.0];
    /// CE# HIGH to output High-Z.
    t_chz_ns = [100.0, 50.0, 50.0, 50.0, 30.0, 30.0];
    /// CLE hold time.
    t_clh_ns = [20.0, 10.0, 10.0, 5.0, 5.0, 5.0];
    /// CLE to RE# delay.
    t_clr_ns = [20.0, 10.0, 10.0, 10.0, 10.0, 10.0];
    /// CLE setup time.
    t_cls_ns = [50.0, 25.0, 15.0, 10.0, 10.0, 10.0];
    /// CE# HIGH to output hold.
    t_coh_ns = [0.0, 15.0, 15.0, 15.0, 15.0, 15.0];
    /// CE# setup time.
    t_cs_ns = [70.0, 35.0, 25.0, 25.0, 20.0, 15.0];
    /// Busy between the planes of a multi-plane command.
    t_dbsy_ns;
    /// Data hold time.
    t_dh_ns = [20.0, 10.0, 5.0, 5.0, 5.0, 5.0];
    /// Data setup time.
    t_ds_ns = [40.0, 20.0, 15.0, 10.0, 10.0, 7.0];
    /// Output High-Z to RE# LOW.
    t_ir_ns = [10.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    /// READ cycle time.
    t_rc_ns = [100.0, 50.0, 35.0, 30.0, 25.0, 20.0];
    /// Cache busy of a cache read (31h), the array being ready.
    t_rcbsy_ns;
    /// RE# access time.
    t_rea_ns = [40.0, 30.0, 25.0, 20.0, 20.0, 16.0];
    /// RE# HIGH hold time.
    t_reh_ns = [30.0, 15.0, 15.0, 10.0, 10.0, 7.0];
    /// RE# HIGH to output hold.
    t_rhoh_ns = [0.0, 15.0, 15.0, 15.0, 15.0, 15.0];
    /// RE# HIGH to WE# LOW.
    t_rhw_ns = [200.0, 100.0, 100.0, 100.0, 100.0, 100.0];
    /// RE# HIGH to output High-Z.
    t_rhz_ns = [200.0, 100.0, 100.0, 100.0, 100.0, 100.0];
    /// RE# LOW to output hold.
    t_rloh_ns = [0.0, 0.0, 0.0, 0.0, 5.0, 5.0];
    /// RE# pulse width.
    t_rp_ns = [50.0, 25.0, 17.0, 15.0, 12.0, 10.0];
    /// Ready to RE# LOW.
    t_rr_ns = [40.0, 20.0, 20.0, 20.0, 20.0, 20.0];
    /// WE# HIGH to busy.
    t_wb_ns = [200.0, 100.0, 100.0, 100.0, 100.0, 100.0];
    /// WRITE cycle time.
    t_wc_ns = [100.0, 45.0, 35.0, 30.0, 25.0, 20.0];
    /// WE# pulse width HIGH.
    t_wh_ns = [30.0, 15.0, 15.0, 10.0, 10.0, 7.0];
    /// WE# HIGH to RE# LOW.
    t_whr_ns = [120.0, 80.0, 80.0, 80.0, 80.0, 80.0];
    /// WE# pulse width.
    t_wp_ns = [50.0, 25.0, 17.0, 15.0, 12.0, 10.0];
}

/// Composes steps of one part on one bus.
struct CycleComposer<'a> {
    part: &'a Part,
    sdr: &'a Sdr,
    kind: OperationKind,
    /// The host cannot go faster.
    access_ns: f64,
    width_bytes: f64,
}

impl CycleComposer<'_> {
    fn time(&self, name: &str) -> Result<f64> {
        self.sdr.get(name).ok_or_else(|| {
            Error::design(format!(
                "{} has neither {name} nor a timing_mode in [sdr]: the operation {} cannot be \
                 composed; add one of them to the part's file",
                self.part.name,
                self.kind.name()
            ))
        })
    }

    fn longest(&self, names: &[&str]) -> Result<f64> {
        names.iter().try_fold(0.0, |longest: f64, name| Ok(longest.max(self.time(name)?)))
    }

    /// A cycle of the part, as the bus lets it be.
    fn cycle(&self, name: &str) -> Result<f64> {
        Ok(self.time(name)?.max(self.access_ns))
    }

    fn command(&self, code: &str) -> Result<OperationStep> {
        let holds = self.longest(&["t_clh_ns", "t_ch_ns", "t_alh_ns", "t_dh_ns"])?;
        let ns = (self.time("t_wp_ns")? + holds).max(self.access_ns);
        Ok(OperationStep::command(
            format!("command {code}"),
            "t_WP + max(t_CLH, t_CH, t_ALH, t_DH)",
            ns,
        ))
    }

    fn address(&self, cycles: u32) -> Result<OperationStep> {
        let setup = (self.time("t_cs_ns")? - self.time("t_wp_ns")?).max(0.0);
        let ns = f64::from(cycles) * self.cycle("t_wc_ns")? + setup;
        Ok(OperationStep::command("address", format!("{cycles} t_WC + (t_CS − t_WP)"), ns))
    }

    fn words(&self, bytes: u64) -> u64 {
        (bytes as f64 / self.width_bytes).ceil() as u64
    }

    fn data_out(&self, bytes: u64) -> Result<OperationStep> {
        let words = self.words(bytes);
        let ns = words as f64 * self.cycle("t_rc_ns")? + self.time("t_rr_ns")?;
        Ok(OperationStep::transfer("data out", format!("{words} t_RC + t_RR"), ns, bytes))
    }

    fn data_in(&self, bytes: u64) -> Result<OperationStep> {
        let words = self.words(bytes);
        let holds = self.longest(&["t_clh_ns", "t_ch_ns", "t_dh_ns"])?;
        let ns = words as f64 * self.cycle("t_wc_ns")? + holds;
        let formula = format!("{words} t_WC + max(t_CLH, t_CH, t_DH)");
        Ok(OperationStep::transfer("data in", formula, ns, bytes))
    }

    fn status(&self) -> Result<[OperationStep; 2]> {
        let mut ns = 0.0;
        for name in ["t_cs_ns", "t_clh_ns", "t_clr_ns", "t_rp_ns", "t_rhz_ns"] {
            ns += self.time(name)?;
        }
        let formula = "t_CS + t_CLH + t_CLR + t_RP + t_RHZ";
        Ok([
            self.command("70h")?,
            OperationStep::command("read status", formula, ns.max(self.access_ns)),
        ])
    }

    fn load(&self) -> Result<f64> {
        required(self.part.t_r_ns.as_ref(), "t_r_ns", self.part, self.kind)
    }

    /// From the command to the first byte, at another column of the register's page.
    fn column_change(&self) -> Result<OperationStep> {
        let ns = self.time("t_rhw_ns")? + 4.0 * self.cycle("t_wc_ns")? + self.time("t_ccs_ns")?;
        Ok(OperationStep::command("change column 05h–E0h", "t_RHW + 4 t_WC + t_CCS", ns))
    }
}

/// Waits that the article leaves out: name, parameter, formula.
const BEFORE_BUSY: (&str, &str, &str) = ("WE# high to busy", "t_wb_ns", "t_WB");
const BEFORE_DATA: (&str, &str, &str) = ("address to data", "t_adl_ns", "t_ADL");

/// Steps in order, and beside them the waits that are not counted.
struct StepSequence<'a> {
    sdr: &'a Sdr,
    waits: bool,
    steps: Vec<OperationStep>,
    left_out: Vec<OperationStep>,
}

impl StepSequence<'_> {
    fn push(&mut self, step: OperationStep) {
        self.steps.push(step);
    }

    fn wait(&mut self, (name, field, formula): (&str, &str, &str)) {
        if let Some(ns) = self.sdr.get(field) {
            let list = if self.waits { &mut self.steps } else { &mut self.left_out };
            list.push(OperationStep::wait(name, formula, ns));
        }
    }

    /// The array at work, after the wait before it.
    fn busy(&mut self, name: &str, formula: &str, ns: f64) {
        self.wait(BEFORE_BUSY);
        self.push(OperationStep::busy(name, formula, ns));
    }
}

impl Sdr {
    fn cycles<'a>(
        &'a self,
        part: &'a Part,
        kind: OperationKind,
        bus: Option<Bus>,
    ) -> CycleComposer<'a> {
        let width_bits = bus.map_or(32, |bus| bus.width_bits).min(part.width_bits.value);
        CycleComposer {
            part,
            sdr: self,
            kind,
            access_ns: bus.map_or(0.0, Bus::access_ns),
            width_bytes: f64::from(width_bits) / 8.0,
        }
    }

    /// Cycles of a whole address, and of its row alone.
    fn address_cycles(&self, part: &Part) -> (u32, u32) {
        let of = |(large, small): (u32, u32)| if part.has_column_change() { large } else { small };
        let all = self.address_cycles.as_ref().map_or(of(ADDRESS_CYCLES), |cycles| cycles.value);
        (all, all.saturating_sub(of(COLUMN_CYCLES)))
    }
}

impl Medium for Sdr {
    fn kinds(&self) -> &'static [MemoryKind] {
        &[MemoryKind::Nand]
    }

    fn operations(&self, part: &Part) -> Vec<OperationKind> {
        let mut can = vec![OperationKind::Read, OperationKind::Program, OperationKind::Erase];
        if part.has_column_change() {
            can.push(OperationKind::ChangeColumn);
            can.push(OperationKind::CacheRead);
        }
        if self.planes.as_ref().is_some_and(|planes| planes.value > 1) {
            can.push(OperationKind::MultiPlaneRead);
            can.push(OperationKind::MultiPlaneProgram);
        }
        can
    }

    fn operation(&self, part: &Part, request: &OperationRequest<'_>) -> Result<Operation> {
        let kind = request.kind;
        let c = self.cycles(part, kind, request.bus);
        let bytes = request.bytes.unwrap_or_else(|| part.whole_page_bytes());
        let (address, row) = self.address_cycles(part);
        let large = part.has_column_change();
        let planes = u64::from(self.planes.as_ref().map_or(1, |planes| planes.value));
        let mut pages = 1;
        let mut all = StepSequence {
            sdr: self,
            waits: request.waits,
            steps: Vec::new(),
            left_out: Vec::new(),
        };
        let t_prog = || required(part.t_prog_ns.as_ref(), "t_prog_ns", part, kind);
        let t_dbsy = || required(self.t_dbsy_ns.as_ref(), "sdr.t_dbsy_ns", part, kind);
        match kind {
            OperationKind::Read => {
                // The area of a small page is chosen by the command: 00h, 01h or 50h.
                all.push(c.command(if large { "00h" } else { "00h/01h/50h" })?);
                all.push(c.address(address)?);
                if large {
                    all.push(c.command("30h")?);
                }
                all.busy("array to register", "t_R", c.load()?);
                all.push(c.data_out(bytes)?);
            }
            OperationKind::Program => {
                if !large {
                    all.push(c.command("00h/01h/50h")?);
                }
                all.push(c.command("80h")?);
                all.push(c.address(address)?);
                all.wait(BEFORE_DATA);
                all.push(c.data_in(bytes)?);
                all.push(c.command("10h")?);
                all.busy("program", "t_PROG", t_prog()?);
                all.steps.extend(c.status()?);
            }
            OperationKind::Erase => {
                let t_bers = required(part.t_bers_ns.as_ref(), "t_bers_ns", part, kind)?;
                all.push(c.command("60h")?);
                all.push(c.address(row)?);
                all.push(c.command("D0h")?);
                all.busy("erase", "t_BERS", t_bers);
                all.steps.extend(c.status()?);
            }
            OperationKind::ChangeColumn if large => {
                all.push(c.column_change()?);
                all.push(c.data_out(bytes)?);
            }
            OperationKind::CacheRead if large => {
                let t_rcbsy = required(self.t_rcbsy_ns.as_ref(), "sdr.t_rcbsy_ns", part, kind)?;
                all.push(c.command("31h")?);
                all.busy("register to cache register", "t_RCBSY", t_rcbsy);
                all.push(c.data_out(bytes)?);
                all.push(OperationStep::hidden("next page, array to register", "t_R", c.load()?));
            }
            OperationKind::MultiPlaneRead if planes > 1 => {
                pages = planes;
                for plane in 1..=planes {
                    all.push(c.command("00h")?);
                    all.push(c.address(address)?);
                    if plane < planes {
                        all.push(c.command("32h")?);
                        all.busy("next plane", "t_DBSY", t_dbsy()?);
                    }
                }
                all.push(c.command("30h")?);
                all.busy("arrays to registers", "t_R", c.load()?);
                for _ in 0..planes {
                    all.push(c.command("06h")?);
                    all.push(c.address(address)?);
                    all.push(c.command("E0h")?);
                    all.push(OperationStep::wait("plane selected", "t_CCS", c.time("t_ccs_ns")?));
                    all.push(c.data_out(bytes)?);
                }
            }
            OperationKind::MultiPlaneProgram if planes > 1 => {
                pages = planes;
                for plane in 1..=planes {
                    all.push(c.command("80h")?);
                    all.push(c.address(address)?);
                    all.wait(BEFORE_DATA);
                    all.push(c.data_in(bytes)?);
                    if plane < planes {
                        all.push(c.command("11h")?);
                        all.busy("next plane", "t_DBSY", t_dbsy()?);
                    }
                }
                all.push(c.command("10h")?);
                all.busy("program", "t_PROG", t_prog()?);
                all.steps.extend(c.status()?);
            }
            _ => return Err(unsupported(part, kind, &self.operations(part))),
        }
        let data_bytes = match kind {
            OperationKind::Erase => 0,
            _ => pages * bytes.min(u64::from(part.flash_page_bytes())),
        };
        let StepSequence { steps, left_out, .. } = all;
        Ok(Operation { kind, mode: None, steps, data_bytes, left_out })
    }

    fn shortest_access_ns(&self, part: &Part, request: &OperationRequest<'_>) -> Result<f64> {
        let c = self.cycles(part, request.kind, None);
        c.time(if request.kind.writes() { "t_wc_ns" } else { "t_rc_ns" })
    }

    fn byte_ns(&self, part: &Part, bus: Bus) -> Result<f64> {
        let c = self.cycles(part, OperationKind::Read, Some(bus));
        Ok(c.cycle("t_rc_ns")? / c.width_bytes)
    }

    fn column_change_ns(&self, part: &Part, bus: Bus) -> Option<f64> {
        let c = self.cycles(part, OperationKind::ChangeColumn, Some(bus));
        part.has_column_change().then(|| c.column_change().ok()).flatten().map(|step| step.ns)
    }

    fn load_commands_ns(&self, part: &Part, bus: Bus) -> Option<f64> {
        self.operation(part, &OperationRequest::read(Some(0), bus))
            .ok()
            .map(|read| read.ns() - read.busy_ns())
    }

    fn pace(&self) -> Vec<(&'static str, f64)> {
        match (&self.t_rc_ns, &self.timing_mode) {
            (Some(cycle), _) => vec![("t_rc_ns", cycle.value)],
            (None, Some(mode)) => vec![("timing_mode", f64::from(mode.value))],
            (None, None) => Vec::new(),
        }
    }

    fn check(&self, _part: &Part) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        for (name, time) in self.times() {
            let waits = matches!(name, "t_rcbsy_ns" | "t_dbsy_ns");
            let plausible = if waits { WAITS_NS } else { CYCLES_NS };
            if time.value != 0.0
                && let Some(what) = implausible(time.value, plausible)
            {
                wrong.push((name.to_owned(), format!("{name} = {} {what}", time.value)));
            }
        }
        for name in ["t_rc_ns", "t_wc_ns"] {
            if self.get(name) == Some(0.0) {
                wrong.push((name.to_owned(), format!("{name} = 0: a cycle takes time")));
            }
        }
        let mut within = |name: &str, number: &Option<Sourced<u32>>, most: u32, least: u32| {
            if let Some(number) = number.as_ref().filter(|n| !(least..=most).contains(&n.value)) {
                let what = format!("{name} = {} is not between {least} and {most}", number.value);
                wrong.push((name.to_owned(), what));
            }
        };
        within("timing_mode", &self.timing_mode, 5, 0);
        within("address_cycles", &self.address_cycles, 8, 3);
        within("planes", &self.planes, 16, 1);
        wrong
    }
}
