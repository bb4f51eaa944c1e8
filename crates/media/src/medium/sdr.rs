//! Raw NAND with a single data rate: every operation is composed of latch cycles.
//!
//! The compositions are those of Hu, "Estimating Flash Media Performance For Embedded Systems"
//! (2010), section 1.1.

use flashpager_base::{Error, Result};

use crate::bus::Bus;
use crate::datasheet::{MemoryKind, Part, Sdr, Sourced};
use crate::operation::{
    Medium, Operation, OperationKind, OperationRequest, OperationStep, implausible, required,
    unsupported,
};

/// The least and the most time of a cycle that is not 0. A number outside is in another unit.
const CYCLES_NS: (f64, f64) = (0.1, 10_000.0);
/// The same for the busy times t_RCBSY and t_DBSY.
const WAITS_NS: (f64, f64) = (50.0, 1_000_000.0);
/// Address cycles of large-page and small-page chips if the part states none.
const ADDRESS_CYCLES: (u32, u32) = (5, 4);
/// The address cycles among them that carry the column.
const COLUMN_CYCLES: (u32, u32) = (2, 1);

/// Composes the steps of one part on one bus from its cycles.
struct CycleComposer<'a> {
    part: &'a Part,
    sdr: &'a Sdr,
    kind: OperationKind,
    /// The host's access time, below which no cycle can be.
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

    /// A cycle of the part, stretched to an access of the bus.
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

    /// The change to another column of the register's page, up to its first byte.
    fn column_change(&self) -> Result<OperationStep> {
        let ns = self.time("t_rhw_ns")? + 4.0 * self.cycle("t_wc_ns")? + self.time("t_ccs_ns")?;
        Ok(OperationStep::command("change column 05h–E0h", "t_RHW + 4 t_WC + t_CCS", ns))
    }
}

/// The waits that the article leaves out: name, parameter, formula.
const BEFORE_BUSY: (&str, &str, &str) = ("WE# high to busy", "t_wb_ns", "t_WB");
const BEFORE_DATA: (&str, &str, &str) = ("address to data", "t_adl_ns", "t_ADL");

/// The steps of an operation in order, and the waits that are not counted.
struct StepSequence<'a> {
    cycles: CycleComposer<'a>,
    waits: bool,
    steps: Vec<OperationStep>,
    left_out: Vec<OperationStep>,
}

impl StepSequence<'_> {
    fn push(&mut self, step: OperationStep) {
        self.steps.push(step);
    }

    /// Adds a command cycle.
    fn command(&mut self, code: &str) -> Result<()> {
        self.push(self.cycles.command(code)?);
        Ok(())
    }

    /// Adds the cycles of a whole address.
    fn address(&mut self) -> Result<()> {
        let (all, _) = self.cycles.sdr.address_cycles(self.cycles.part);
        self.push(self.cycles.address(all)?);
        Ok(())
    }

    fn data_out(&mut self, bytes: u64) -> Result<()> {
        self.push(self.cycles.data_out(bytes)?);
        Ok(())
    }

    /// Adds a wait, to the steps or to those left out. A part that does not state it has none.
    fn wait(&mut self, (name, field, formula): (&str, &str, &str)) {
        if let Some(ns) = self.cycles.sdr.get(field) {
            let list = if self.waits { &mut self.steps } else { &mut self.left_out };
            list.push(OperationStep::wait(name, formula, ns));
        }
    }

    /// Adds work of the array, after the wait that precedes it.
    fn busy(&mut self, name: &str, formula: &str, ns: f64) {
        self.wait(BEFORE_BUSY);
        self.push(OperationStep::busy(name, formula, ns));
    }

    /// Adds the wait between the planes of a multi-plane command.
    fn next_plane(&mut self) -> Result<()> {
        let CycleComposer { part, sdr, kind, .. } = self.cycles;
        let t_dbsy = required(sdr.t_dbsy_ns.as_ref(), "sdr.t_dbsy_ns", part, kind)?;
        self.busy("next plane", "t_DBSY", t_dbsy);
        Ok(())
    }

    fn read(&mut self, bytes: u64) -> Result<()> {
        let is_large = self.cycles.part.has_column_change();
        // The area of a small page is chosen by the command: 00h, 01h or 50h.
        self.command(if is_large { "00h" } else { "00h/01h/50h" })?;
        self.address()?;
        if is_large {
            self.command("30h")?;
        }
        self.busy("array to register", "t_R", self.cycles.load()?);
        self.data_out(bytes)
    }

    fn program(&mut self, bytes: u64) -> Result<()> {
        if !self.cycles.part.has_column_change() {
            self.command("00h/01h/50h")?;
        }
        self.write_page(bytes)?;
        self.execute_program()
    }

    /// Adds the transfer of a page into the register.
    fn write_page(&mut self, bytes: u64) -> Result<()> {
        self.command("80h")?;
        self.address()?;
        self.wait(BEFORE_DATA);
        self.push(self.cycles.data_in(bytes)?);
        Ok(())
    }

    /// Adds the program of what the registers hold.
    fn execute_program(&mut self) -> Result<()> {
        let CycleComposer { part, kind, .. } = self.cycles;
        self.command("10h")?;
        self.busy("program", "t_PROG", required(part.t_prog_ns.as_ref(), "t_prog_ns", part, kind)?);
        self.steps.extend(self.cycles.status()?);
        Ok(())
    }

    fn erase(&mut self) -> Result<()> {
        let CycleComposer { part, sdr, kind, .. } = self.cycles;
        let t_bers = required(part.t_bers_ns.as_ref(), "t_bers_ns", part, kind)?;
        self.command("60h")?;
        let (_, row) = sdr.address_cycles(part);
        self.push(self.cycles.address(row)?);
        self.command("D0h")?;
        self.busy("erase", "t_BERS", t_bers);
        self.steps.extend(self.cycles.status()?);
        Ok(())
    }

    fn change_column(&mut self, bytes: u64) -> Result<()> {
        self.push(self.cycles.column_change()?);
        self.data_out(bytes)
    }

    fn cache_read(&mut self, bytes: u64) -> Result<()> {
        let CycleComposer { part, sdr, kind, .. } = self.cycles;
        let t_rcbsy = required(sdr.t_rcbsy_ns.as_ref(), "sdr.t_rcbsy_ns", part, kind)?;
        self.command("31h")?;
        self.busy("register to cache register", "t_RCBSY", t_rcbsy);
        self.data_out(bytes)?;
        let load_ns = self.cycles.load()?;
        self.push(OperationStep::hidden("next page, array to register", "t_R", load_ns));
        Ok(())
    }

    fn multi_plane_read(&mut self, bytes: u64, planes: u32) -> Result<()> {
        for plane in 1..=planes {
            self.command("00h")?;
            self.address()?;
            if plane < planes {
                self.command("32h")?;
                self.next_plane()?;
            }
        }
        self.command("30h")?;
        self.busy("arrays to registers", "t_R", self.cycles.load()?);
        for _ in 0..planes {
            self.command("06h")?;
            self.address()?;
            self.command("E0h")?;
            let t_ccs = self.cycles.time("t_ccs_ns")?;
            self.push(OperationStep::wait("plane selected", "t_CCS", t_ccs));
            self.data_out(bytes)?;
        }
        Ok(())
    }

    fn multi_plane_program(&mut self, bytes: u64, planes: u32) -> Result<()> {
        for plane in 1..=planes {
            self.write_page(bytes)?;
            if plane < planes {
                self.command("11h")?;
                self.next_plane()?;
            }
        }
        self.execute_program()
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

    /// Planes that load or program together.
    fn planes(&self) -> u32 {
        self.planes.as_ref().map_or(1, |planes| planes.value)
    }

    /// Cycles of a whole address, and of the row alone.
    fn address_cycles(&self, part: &Part) -> (u32, u32) {
        let cycles =
            |(large, small): (u32, u32)| if part.has_column_change() { large } else { small };
        let all =
            self.address_cycles.as_ref().map_or(cycles(ADDRESS_CYCLES), |cycles| cycles.value);
        (all, all.saturating_sub(cycles(COLUMN_CYCLES)))
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
        if self.planes() > 1 {
            can.push(OperationKind::MultiPlaneRead);
            can.push(OperationKind::MultiPlaneProgram);
        }
        can
    }

    fn operation(&self, part: &Part, request: &OperationRequest<'_>) -> Result<Operation> {
        let kind = request.kind;
        if !self.operations(part).contains(&kind) {
            return Err(unsupported(part, kind, &self.operations(part)));
        }
        let bytes = request.bytes.unwrap_or_else(|| part.whole_page_bytes());
        let mut sequence = StepSequence {
            cycles: self.cycles(part, kind, request.bus),
            waits: request.waits,
            steps: Vec::new(),
            left_out: Vec::new(),
        };
        match kind {
            OperationKind::Read => sequence.read(bytes)?,
            OperationKind::Program => sequence.program(bytes)?,
            OperationKind::Erase => sequence.erase()?,
            OperationKind::ChangeColumn => sequence.change_column(bytes)?,
            OperationKind::CacheRead => sequence.cache_read(bytes)?,
            OperationKind::MultiPlaneRead => sequence.multi_plane_read(bytes, self.planes())?,
            OperationKind::MultiPlaneProgram => {
                sequence.multi_plane_program(bytes, self.planes())?;
            }
        }
        let page_bytes = bytes.min(u64::from(part.flash_page_bytes()));
        let data_bytes = match kind {
            OperationKind::Erase => 0,
            OperationKind::MultiPlaneRead | OperationKind::MultiPlaneProgram => {
                u64::from(self.planes()) * page_bytes
            }
            _ => page_bytes,
        };
        let StepSequence { steps, left_out, .. } = sequence;
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
                && let Some(reason) = implausible(time.value, plausible)
            {
                wrong.push((name.to_owned(), format!("{name} = {} {reason}", time.value)));
            }
        }
        for name in ["t_rc_ns", "t_wc_ns"] {
            if self.get(name) == Some(0.0) {
                wrong.push((name.to_owned(), format!("{name} = 0: a cycle takes time")));
            }
        }
        let mut within = |name: &str, number: &Option<Sourced<u32>>, most: u32, least: u32| {
            if let Some(number) = number.as_ref().filter(|n| !(least..=most).contains(&n.value)) {
                let reason = format!("{name} = {} is not between {least} and {most}", number.value);
                wrong.push((name.to_owned(), reason));
            }
        };
        within("timing_mode", &self.timing_mode, 5, 0);
        within("address_cycles", &self.address_cycles, 8, 3);
        within("planes", &self.planes, 16, 1);
        wrong
    }
}
