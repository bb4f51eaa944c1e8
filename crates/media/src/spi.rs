//! Serial flash: SPI NAND through its data register, and SPI NOR, PCM, MRAM and
//! FRAM, which are read in place.

use flashpager_base::{Error, Result, shown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bus::Bus;
use super::operation::{
    LINE_BYTES, Medium, Operation, OperationKind, OperationRequest, OperationStep, required,
    unknown_mode, unsupported, words,
};
use super::part::{MemoryKind, Part, Sourced};

const COMMAND_BITS: u32 = 8;
/// SPI NAND: the row of a page, the column within it, and a status register's number
/// and value.
const ROW_BITS: u32 = 24;
const COLUMN_BITS: u32 = 16;
const STATUS_BITS: u32 = 16;
/// Address of memory read in place, if the part says nothing.
const ADDRESS_BITS: u32 = 24;

/// How a read of data is clocked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadMode {
    /// Lines of command, address and data, as `1-4-4`; command lines 0 where a
    /// continuous read needs no command. Behind them may stand the command, as `1-1-1-03h`,
    /// of a slower read than the usual one: it is taken only where it is named.
    pub name: String,
    /// Clocks between address and data, mode clocks included.
    pub dummy_clocks: Sourced<u32>,
    /// Fastest clock in this mode, if other than the part's.
    pub clock_mhz: Option<Sourced<f64>>,
    /// Address and data on both edges of the clock.
    #[serde(default)]
    pub double_rate: bool,
}

impl ReadMode {
    /// Lines of command, address and data.
    fn lines(&self) -> Option<[u32; 3]> {
        let name = self.command().map_or(&*self.name, |(lines, _)| lines);
        let mut lines = name.split('-').map(|lines| lines.parse::<u32>().ok());
        let found = [lines.next()??, lines.next()??, lines.next()??];
        let sane = matches!(found[0], 0 | 1 | 2 | 4 | 8)
            && found[1..].iter().all(|lines| matches!(lines, 1 | 2 | 4 | 8))
            && lines.next().is_none();
        sane.then_some(found)
    }

    /// The lines, and the command behind them, where it is named: two hexadecimal digits and `h`.
    fn command(&self) -> Option<(&str, &str)> {
        let named = |(_, command): &(&str, &str)| {
            command.strip_suffix('h').is_some_and(|hex| {
                hex.len() == 2 && hex.bytes().all(|digit| digit.is_ascii_hexdigit())
            })
        };
        self.name.rsplit_once('-').filter(named)
    }

    fn data_lines(&self) -> u32 {
        self.lines().map_or(1, |lines| lines[2])
    }

    fn rate(&self) -> f64 {
        if self.double_rate { 2.0 } else { 1.0 }
    }

    /// Clocks of command, an address of `bits` and dummies.
    fn lead_clocks(&self, bits: u32) -> f64 {
        let [command, address, _] = self.lines().unwrap_or([1, 1, 1]);
        let command = if command == 0 { 0 } else { COMMAND_BITS.div_ceil(command) };
        f64::from(command)
            + f64::from(bits.div_ceil(address)) / self.rate()
            + f64::from(self.dummy_clocks.value)
    }

    fn data_clocks(&self, bytes: u64) -> f64 {
        (words(bytes, self.data_lines()) as f64 / self.rate()).ceil()
    }
}

/// The table `[spi]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spi {
    /// Fastest clock.
    pub clock_mhz: Sourced<f64>,
    /// Bits of the address of memory read in place; 24 if absent.
    pub address_bits: Option<Sourced<u32>>,
    /// Ways to read data.
    pub modes: Vec<ReadMode>,
    /// Data lines when programming; 1 if absent.
    pub program_lines: Option<Sourced<u32>>,
    /// SPI NAND: whole pages follow one another without a command, the next one being
    /// loaded meanwhile.
    #[serde(default)]
    pub continuous_read: bool,
}

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

    /// The mode asked for, else the fastest for which the bus has lines.
    fn mode(&self, part: &Part, request: &OperationRequest<'_>) -> Result<&ReadMode> {
        let bus_lines = request.bus.map_or(u32::MAX, |bus| bus.width_bits);
        let lines = bus_lines.min(part.width_bits.value);
        if let Some(name) = request.mode {
            let found = self.modes.iter().find(|mode| mode.name == name);
            let mode = found.ok_or_else(|| unknown_mode(name, &self.modes()))?;
            let wanted = mode.lines().unwrap_or([1, 1, 1]).into_iter().max().unwrap_or(1);
            if wanted > lines {
                return Err(Error::design(format!(
                    "mode {name} needs {wanted} data lines, and there are {lines}"
                )));
            }
            return Ok(mode);
        }
        // As long as a page: what counts is the rate of the data, then the lead.
        let ns = |mode: &ReadMode| {
            let bytes = request.bytes.unwrap_or_else(|| self.usual_bytes(part));
            let lead = match request.kind {
                // Goes on without another command.
                OperationKind::CacheRead => 0.0,
                _ => mode.lead_clocks(self.lead_bits(part)),
            };
            self.clocks(Some(mode), request.bus).ns(mode.data_clocks(bytes) + lead)
        };
        // Without a command it can only follow another read.
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

    /// The clock of reads in `mode`, or of all else.
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

    /// What goes before the data, in the mode whose time a byte [`Medium::byte_ns`] gives.
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

    /// As many lines as the part takes data from and the bus has; one if the bus has fewer
    /// than such a command needs, but never between.
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
            // Bytes are overwritten as they are.
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
        let reads = kind != OperationKind::Erase && !kind.writes();
        // Read modes are nothing to a program, nor is a clock that only one of them is bound to.
        let mode = if reads { Some(self.mode(part, request)?) } else { None };
        let clocks = self.clocks(None, request.bus);
        let read_clocks = self.clocks(mode, request.bus);
        let nand = part.kind == MemoryKind::Nand;
        let writes_at_once = part.kind.is_written_in_place();
        let enable = clocks.command("write enable", 0);
        let load = || required(part.t_r_ns.as_ref(), "t_r_ns", part, kind);
        let prog = || required(part.t_prog_ns.as_ref(), "t_prog_ns", part, kind);
        let bers = || required(part.t_bers_ns.as_ref(), "t_bers_ns", part, kind);
        let usual = match kind {
            OperationKind::Program if !nand => u64::from(part.program_unit_bytes()),
            _ => self.usual_bytes(part),
        };
        let bytes = request.bytes.unwrap_or(usual);
        let lead = || mode.map(|mode| self.lead(&read_clocks, mode, part));
        let out = || mode.map(|mode| read_clocks.data("data out", mode.data_clocks(bytes), bytes));
        let row_command = |name: &str| clocks.command(name, ROW_BITS);
        let steps = match (kind, nand) {
            (OperationKind::Read, true) => {
                let mut steps = vec![
                    row_command("page read 13h"),
                    OperationStep::busy("array to register", "t_R", load()?),
                    clocks.status(),
                ];
                steps.extend(lead().into_iter().chain(out()));
                steps
            }
            (OperationKind::CacheRead, _) => {
                let next = OperationStep::hidden("next page, array to register", "t_R", load()?);
                out().into_iter().chain([next]).collect()
            }
            (OperationKind::Read, false) | (OperationKind::ChangeColumn, _) => {
                lead().into_iter().chain(out()).collect()
            }
            (OperationKind::Program, true) => vec![
                enable,
                clocks.command("program load", COLUMN_BITS),
                self.program_data(&clocks, part, request.bus, bytes),
                row_command("program execute 10h"),
                OperationStep::busy("program", "t_PROG", prog()?),
                clocks.status(),
            ],
            (OperationKind::Program, false) => {
                let unit = u64::from(part.program_unit_bytes()).max(1);
                let times = if writes_at_once { 1 } else { bytes.div_ceil(unit).max(1) };
                let lead = times as f64 * f64::from(2 * COMMAND_BITS + self.lead_bits(part));
                let formula = format!("{times} × (write enable, command, address)");
                let mut steps = vec![
                    OperationStep::command("commands", formula, clocks.ns(lead)),
                    self.program_data(&clocks, part, request.bus, bytes),
                ];
                if !writes_at_once {
                    let busy = times as f64 * prog()?;
                    steps.push(OperationStep::busy("program", format!("{times} t_PROG"), busy));
                    let status = clocks.status();
                    let formula = format!("{times} × {}", status.formula);
                    steps.push(OperationStep { ns: times as f64 * status.ns, formula, ..status });
                }
                steps
            }
            _ => vec![
                enable,
                row_command("erase"),
                OperationStep::busy("erase", "t_BERS", bers()?),
                clocks.status(),
            ],
        };
        let data_bytes = match kind {
            OperationKind::Erase => 0,
            _ if nand => bytes.min(u64::from(part.flash_page_bytes())),
            _ => bytes,
        };
        let mode = mode.map(|mode| mode.name.clone());
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
                let what = format!("clock_mhz = {} is no clock in MHz (0.01 to 1000)", clock.value);
                wrong.push((field, what));
            }
        };
        clock("clock_mhz".into(), &self.clock_mhz);
        for (index, mode) in self.modes.iter().enumerate() {
            if let Some(own) = &mode.clock_mhz {
                clock(format!("modes.{index}.clock_mhz"), own);
            }
        }
        if self.modes.is_empty() {
            wrong.push((
                "modes".into(),
                "modes = []: a part can be read in one way at least".into(),
            ));
        }
        for (index, mode) in self.modes.iter().enumerate() {
            let name = shown(&mode.name);
            let what = match mode.lines() {
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
            wrong.extend(what.map(|what| (format!("modes.{index}.name"), what)));
            if mode.dummy_clocks.value > 1000 {
                let what = format!("dummy_clocks = {} is over 1000", mode.dummy_clocks.value);
                wrong.push((format!("modes.{index}.dummy_clocks"), what));
            }
        }
        if let Some(bits) =
            self.address_bits.as_ref().filter(|bits| !(1..=64).contains(&bits.value))
        {
            let what = format!("address_bits = {} is not between 1 and 64", bits.value);
            wrong.push(("address_bits".into(), what));
        }
        if let Some(lines) = &self.program_lines {
            let (lines, most) = (lines.value, part.width_bits.value);
            if !matches!(lines, 1 | 2 | 4 | 8) || lines > most {
                let what = format!(
                    "program_lines = {lines} is not 1, 2, 4 or 8, up to width_bits = {most}"
                );
                wrong.push(("program_lines".into(), what));
            }
        }
        wrong
    }
}
