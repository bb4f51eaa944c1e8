//! Serial flash: SPI NAND through its data register, and SPI NOR, PCM, MRAM and FRAM, which are
//! read in place.

use flashpager_base::{Error, Result, shown};

use crate::bus::{Bus, words};
use crate::datasheet::{COMMAND_BITS, MemoryKind, Part, ReadMode, Sourced, Spi};
use crate::operation::{
    LINE_BYTES, Medium, Operation, OperationKind, OperationRequest, OperationStep, required,
    unknown_mode, unsupported,
};

/// Bits of the row of a page of SPI NAND.
const ROW_BITS: u32 = 24;
/// Bits of the column within a page.
const COLUMN_BITS: u32 = 16;
/// Bits of a status register's number and value.
const STATUS_BITS: u32 = 16;
/// Address bits of memory read in place, if the part states none.
const ADDRESS_BITS: u32 = 24;

/// Composes steps at one clock.
struct ClockComposer {
    clock_mhz: f64,
}

impl ClockComposer {
    fn ns(&self, clocks: f64) -> f64 {
        clocks * 1e3 / self.clock_mhz
    }

    fn command(&self, name: &str, bits: u32) -> OperationStep {
        let clocks = COMMAND_BITS + bits;
        OperationStep::command(name, format!("{clocks} clocks"), self.ns(f64::from(clocks)))
    }

    fn data(&self, name: &str, clocks: f64, bytes: u64) -> OperationStep {
        OperationStep::transfer(name, format!("{clocks} clocks"), self.ns(clocks), bytes)
    }

    fn status(&self) -> OperationStep {
        self.command("read status", STATUS_BITS)
    }
}

impl Spi {
    fn mode_clock_mhz(&self, mode: &ReadMode) -> f64 {
        mode.clock_mhz.as_ref().unwrap_or(&self.clock_mhz).value
    }

    /// The requested mode, else the fastest for which the bus has lines.
    fn mode(&self, part: &Part, request: &OperationRequest<'_>) -> Result<&ReadMode> {
        let bus_lines = request.bus.map_or(u32::MAX, |bus| bus.width_bits);
        let lines = bus_lines.min(part.width_bits.value);
        if let Some(name) = request.mode {
            let named = self.modes.iter().find(|mode| mode.name == name);
            let mode = named.ok_or_else(|| unknown_mode(name, &self.modes()))?;
            let wanted = mode.lines().unwrap_or([1, 1, 1]).into_iter().max().unwrap_or(1);
            if wanted > lines {
                return Err(Error::design(format!(
                    "mode {name} needs {wanted} data lines, and there are {lines}"
                )));
            }
            return Ok(mode);
        }
        let ns = |mode: &ReadMode| {
            let bytes = request.bytes.unwrap_or_else(|| self.usual_bytes(part));
            let lead = match request.kind {
                // A cache read goes on without another command.
                OperationKind::CacheRead => 0.0,
                _ => mode.lead_clocks(self.lead_bits(part)),
            };
            self.clocks(Some(mode), request.bus).ns(mode.data_clocks(bytes) + lead)
        };
        // A mode without a command can only follow another read.
        let starts = |mode: &&ReadMode| mode.lines().is_some_and(|lines| lines[0] > 0);
        let is_usual = |mode: &&ReadMode| mode.command().is_none();
        let fits =
            |mode: &&ReadMode| mode.lines().is_some_and(|all| all.iter().all(|l| *l <= lines));
        let fitting = || self.modes.iter().filter(starts).filter(fits);
        let best = fitting().filter(is_usual).min_by(|a, b| ns(a).total_cmp(&ns(b)));
        best.ok_or_else(|| {
            let plural = if lines == 1 { "" } else { "s" };
            let named: Vec<&str> = fitting().map(|mode| &*mode.name).collect();
            if !named.is_empty() {
                return Error::design(format!(
                    "{} is read on {lines} data line{plural} by {} alone, which is taken only \
                     where it is named: name it as the read mode",
                    part.name,
                    named.join(" or "),
                ));
            }
            Error::design(format!(
                "{} has no read mode for a bus of {lines} data line{plural} (known: {})",
                part.name,
                self.modes().join(", ")
            ))
        })
    }

    /// The clock of reads in `mode`, or without a mode that of everything else.
    fn clocks(&self, mode: Option<&ReadMode>, bus: Option<Bus>) -> ClockComposer {
        let host = bus.map_or(f64::MAX, |bus| 1e3 / bus.access_ns());
        let own = mode.map_or(self.clock_mhz.value, |mode| self.mode_clock_mhz(mode));
        ClockComposer { clock_mhz: own.min(host) }
    }

    fn lead_bits(&self, part: &Part) -> u32 {
        match part.kind {
            MemoryKind::Nand => COLUMN_BITS,
            _ => self.address_bits.as_ref().map_or(ADDRESS_BITS, |bits| bits.value),
        }
    }

    fn usual_bytes(&self, part: &Part) -> u64 {
        if part.kind == MemoryKind::Nand { part.whole_page_bytes() } else { LINE_BYTES }
    }

    /// The steps before the data, in the mode that [`Medium::byte_ns`] prices.
    fn operation_of_no_bytes(
        &self,
        part: &Part,
        kind: OperationKind,
        bus: Bus,
    ) -> Option<Operation> {
        let mode = self.mode(part, &OperationRequest::read(None, bus)).ok()?;
        let request = OperationRequest {
            kind,
            mode: Some(&mode.name),
            ..OperationRequest::read(Some(0), bus)
        };
        self.operation(part, &request).ok()
    }

    fn lead(&self, clocks: &ClockComposer, mode: &ReadMode, part: &Part) -> OperationStep {
        let lead = mode.lead_clocks(self.lead_bits(part));
        OperationStep::command(
            "command, address, dummies",
            format!("{lead} clocks"),
            clocks.ns(lead),
        )
    }

    /// The data of a program, on all program lines of the part, or on one line if the bus has
    /// fewer.
    fn program_data(
        &self,
        clocks: &ClockComposer,
        part: &Part,
        bus: Option<Bus>,
        bytes: u64,
    ) -> OperationStep {
        let own = self.program_lines.as_ref().map_or(1, |lines| lines.value);
        let there = bus.map_or(u32::MAX, |bus| bus.width_bits).min(part.width_bits.value);
        let lines = if there < own { 1 } else { own };
        clocks.data("data in", words(bytes, lines) as f64, bytes)
    }

    /// The steps of a read, a cache read or a column change.
    fn read(
        &self,
        part: &Part,
        request: &OperationRequest<'_>,
        mode: &ReadMode,
        bytes: u64,
    ) -> Result<Vec<OperationStep>> {
        let kind = request.kind;
        let clocks = self.clocks(None, request.bus);
        let read_clocks = self.clocks(Some(mode), request.bus);
        let load = || required(part.t_r_ns.as_ref(), "t_r_ns", part, kind);
        let data = read_clocks.data("data out", mode.data_clocks(bytes), bytes);
        if kind == OperationKind::CacheRead {
            let next = OperationStep::hidden("next page, array to register", "t_R", load()?);
            return Ok(vec![data, next]);
        }
        let lead = self.lead(&read_clocks, mode, part);
        if kind == OperationKind::Read && part.kind == MemoryKind::Nand {
            return Ok(vec![
                clocks.command("page read 13h", ROW_BITS),
                OperationStep::busy("array to register", "t_R", load()?),
                clocks.status(),
                lead,
                data,
            ]);
        }
        Ok(vec![lead, data])
    }

    /// The steps that program a page of a NAND.
    fn program_page(
        &self,
        part: &Part,
        bus: Option<Bus>,
        bytes: u64,
    ) -> Result<Vec<OperationStep>> {
        let clocks = self.clocks(None, bus);
        let t_prog = required(part.t_prog_ns.as_ref(), "t_prog_ns", part, OperationKind::Program)?;
        Ok(vec![
            clocks.command("write enable", 0),
            clocks.command("program load", COLUMN_BITS),
            self.program_data(&clocks, part, bus, bytes),
            clocks.command("program execute 10h", ROW_BITS),
            OperationStep::busy("program", "t_PROG", t_prog),
            clocks.status(),
        ])
    }

    /// The steps that program memory read in place, a program unit at a time.
    fn program_in_place(
        &self,
        part: &Part,
        bus: Option<Bus>,
        bytes: u64,
    ) -> Result<Vec<OperationStep>> {
        let clocks = self.clocks(None, bus);
        let is_overwritten = part.kind.is_written_in_place();
        let unit = u64::from(part.program_unit_bytes()).max(1);
        let times = if is_overwritten { 1 } else { bytes.div_ceil(unit).max(1) };
        // RAM is not protected from writes.
        let (commands, named) = match part.kind {
            MemoryKind::Psram => (1, "command, address"),
            _ => (2, "write enable, command, address"),
        };
        let lead = times as f64 * f64::from(commands * COMMAND_BITS + self.lead_bits(part));
        let formula = format!("{times} × ({named})");
        let mut steps = vec![
            OperationStep::command("commands", formula, clocks.ns(lead)),
            self.program_data(&clocks, part, bus, bytes),
        ];
        if !is_overwritten {
            let kind = OperationKind::Program;
            let t_prog = required(part.t_prog_ns.as_ref(), "t_prog_ns", part, kind)?;
            let formula = format!("{times} t_PROG");
            steps.push(OperationStep::busy("program", formula, times as f64 * t_prog));
            let status = clocks.status();
            let formula = format!("{times} × {}", status.formula);
            steps.push(OperationStep { ns: times as f64 * status.ns, formula, ..status });
        }
        Ok(steps)
    }

    /// The steps that erase a block.
    fn erase(&self, part: &Part, bus: Option<Bus>) -> Result<Vec<OperationStep>> {
        let clocks = self.clocks(None, bus);
        let t_bers = required(part.t_bers_ns.as_ref(), "t_bers_ns", part, OperationKind::Erase)?;
        Ok(vec![
            clocks.command("write enable", 0),
            clocks.command("erase", ROW_BITS),
            OperationStep::busy("erase", "t_BERS", t_bers),
            clocks.status(),
        ])
    }

    /// Checks the read modes.
    fn check_modes(&self, part: &Part, faults: &mut Vec<(String, String)>) {
        if self.modes.is_empty() {
            faults.push((
                "modes".into(),
                "modes = []: a part can be read in one way at least".into(),
            ));
        }
        for (index, mode) in self.modes.iter().enumerate() {
            let name = shown(&mode.name);
            let message = match mode.lines() {
                None => Some(format!(
                    "mode '{name}' is not of the form 1-4-4 (lines of command, address and data)"
                )),
                Some(lines) if lines.iter().any(|lines| *lines > part.width_bits.value) => {
                    Some(format!(
                        "mode '{name}' needs more lines than width_bits = {}",
                        part.width_bits.value
                    ))
                }
                Some([0, ..]) if mode.command().is_some() => Some(format!(
                    "mode '{name}' has a command and no line for it: leave the command out, or give \
                     it 1, 2, 4 or 8 lines"
                )),
                Some(_) if self.modes[..index].iter().any(|other| other.name == mode.name) => {
                    Some(format!("mode '{name}' is here twice; a mode is asked for by its name"))
                }
                Some(_) => None,
            };
            faults.extend(message.map(|message| (format!("modes.{index}.name"), message)));
            if mode.dummy_clocks.value > 1000 {
                let message = format!("dummy_clocks = {} is over 1000", mode.dummy_clocks.value);
                faults.push((format!("modes.{index}.dummy_clocks"), message));
            }
        }
    }
}

impl Medium for Spi {
    fn kinds(&self) -> &'static [MemoryKind] {
        &[
            MemoryKind::Nand,
            MemoryKind::Nor,
            MemoryKind::Pcm,
            MemoryKind::Mram,
            MemoryKind::Fram,
            MemoryKind::Psram,
        ]
    }

    fn operations(&self, part: &Part) -> Vec<OperationKind> {
        match part.kind {
            MemoryKind::Nand => {
                let mut can = vec![
                    OperationKind::Read,
                    OperationKind::Program,
                    OperationKind::Erase,
                    OperationKind::ChangeColumn,
                ];
                if self.continuous_read {
                    can.push(OperationKind::CacheRead);
                }
                can
            }
            // Bytes are overwritten in place, without an erase.
            MemoryKind::Mram | MemoryKind::Fram | MemoryKind::Psram => {
                vec![OperationKind::Read, OperationKind::Program]
            }
            _ => vec![OperationKind::Read, OperationKind::Program, OperationKind::Erase],
        }
    }

    fn modes(&self) -> Vec<String> {
        self.modes.iter().map(|mode| mode.name.clone()).collect()
    }

    fn starting_modes(&self) -> Vec<String> {
        let begins = |mode: &&ReadMode| mode.lines().is_some_and(|lines| lines[0] > 0);
        self.modes.iter().filter(begins).map(|mode| mode.name.clone()).collect()
    }

    fn operation(&self, part: &Part, request: &OperationRequest<'_>) -> Result<Operation> {
        let kind = request.kind;
        if !self.operations(part).contains(&kind) {
            return Err(unsupported(part, kind, &self.operations(part)));
        }
        let is_nand = part.kind == MemoryKind::Nand;
        let usual = match kind {
            OperationKind::Program if !is_nand => u64::from(part.program_unit_bytes()),
            _ => self.usual_bytes(part),
        };
        let bytes = request.bytes.unwrap_or(usual);
        let (steps, mode) = match (kind, is_nand) {
            (OperationKind::Program, true) => (self.program_page(part, request.bus, bytes)?, None),
            (OperationKind::Program, false) => {
                (self.program_in_place(part, request.bus, bytes)?, None)
            }
            (OperationKind::Erase, _) => (self.erase(part, request.bus)?, None),
            _ => {
                let mode = self.mode(part, request)?;
                (self.read(part, request, mode, bytes)?, Some(mode.name.clone()))
            }
        };
        let data_bytes = match kind {
            OperationKind::Erase => 0,
            _ if is_nand => bytes.min(u64::from(part.flash_page_bytes())),
            _ => bytes,
        };
        Ok(Operation { kind, mode, steps, data_bytes, left_out: Vec::new() })
    }

    fn shortest_access_ns(&self, part: &Part, request: &OperationRequest<'_>) -> Result<f64> {
        if request.kind == OperationKind::Erase || request.kind.writes() {
            return Ok(1e3 / self.clock_mhz.value);
        }
        Ok(1e3 / self.mode_clock_mhz(self.mode(part, request)?))
    }

    fn byte_ns(&self, part: &Part, bus: Bus) -> Result<f64> {
        let mode = self.mode(part, &OperationRequest::read(None, bus))?;
        let clocks_a_byte = 8.0 / f64::from(mode.data_lines()) / mode.rate();
        Ok(self.clocks(Some(mode), Some(bus)).ns(clocks_a_byte))
    }

    fn column_change_ns(&self, part: &Part, bus: Bus) -> Option<f64> {
        let change = self.operation_of_no_bytes(part, OperationKind::ChangeColumn, bus);
        change.filter(|_| part.kind == MemoryKind::Nand).map(|change| change.ns())
    }

    fn load_commands_ns(&self, part: &Part, bus: Bus) -> Option<f64> {
        let read = self.operation_of_no_bytes(part, OperationKind::Read, bus)?;
        Some(read.ns() - read.busy_ns())
    }

    fn bus_name(&self) -> &'static str {
        "SPI"
    }

    fn pace(&self) -> Vec<(&'static str, f64)> {
        vec![("clock_mhz", self.clock_mhz.value)]
    }

    fn check(&self, part: &Part) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        let mut clock = |field: String, clock: &Sourced<f64>| {
            if !(clock.value >= 0.01 && clock.value <= 1000.0) {
                let message =
                    format!("clock_mhz = {} is no clock in MHz (0.01 to 1000)", clock.value);
                wrong.push((field, message));
            }
        };
        clock("clock_mhz".into(), &self.clock_mhz);
        for (index, mode) in self.modes.iter().enumerate() {
            if let Some(own) = &mode.clock_mhz {
                clock(format!("modes.{index}.clock_mhz"), own);
            }
        }
        self.check_modes(part, &mut wrong);
        if let Some(bits) =
            self.address_bits.as_ref().filter(|bits| !(1..=64).contains(&bits.value))
        {
            let message = format!("address_bits = {} is not between 1 and 64", bits.value);
            wrong.push(("address_bits".into(), message));
        }
        if let Some(lines) = &self.program_lines {
            let (lines, most) = (lines.value, part.width_bits.value);
            if !matches!(lines, 1 | 2 | 4 | 8) || lines > most {
                let message = format!(
                    "program_lines = {lines} is not 1, 2, 4 or 8, up to width_bits = {most}"
                );
                wrong.push(("program_lines".into(), message));
            }
        }
        wrong
    }
}
