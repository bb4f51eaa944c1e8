//! Serial flash: SPI NAND through its data register, and SPI NOR, PCM, MRAM and
//! FRAM, which are read in place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bus::Bus;
use super::onenand::unknown_mode;
use super::operation::{Ask, Medium, Operation, Step, What, cannot, need};
use super::parallel::LINE_BYTES;
use super::part::{Kind, Part, Sourced};
use crate::error::{Error, Result};

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
pub struct Mode {
    /// Lines of command, address and data, as `1-4-4`; command lines 0 where a
    /// continuous read needs no command.
    pub name: String,
    /// Clocks between address and data, mode clocks included.
    pub dummy_clocks: Sourced<u32>,
    /// Fastest clock in this mode, if other than the part's.
    pub clock_mhz: Option<Sourced<f64>>,
    /// Address and data on both edges of the clock.
    #[serde(default)]
    pub double_rate: bool,
}

impl Mode {
    /// Lines of command, address and data.
    fn lines(&self) -> Option<[u32; 3]> {
        let mut lines = self.name.split('-').map(|lines| lines.parse::<u32>().ok());
        let found = [lines.next()??, lines.next()??, lines.next()??];
        let sane = matches!(found[0], 0 | 1 | 2 | 4 | 8)
            && found[1..].iter().all(|lines| matches!(lines, 1 | 2 | 4 | 8))
            && lines.next().is_none();
        sane.then_some(found)
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
        ((8 * bytes).div_ceil(u64::from(self.data_lines())) as f64 / self.rate()).ceil()
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
    pub modes: Vec<Mode>,
    /// Data lines when programming; 1 if absent.
    pub program_lines: Option<Sourced<u32>>,
    /// SPI NAND: whole pages follow one another without a command, the next one being
    /// loaded meanwhile.
    #[serde(default)]
    pub continuous_read: bool,
}

/// Composes steps at one clock.
struct Clocks {
    clock_mhz: f64,
}

impl Clocks {
    fn ns(&self, clocks: f64) -> f64 {
        clocks * 1e3 / self.clock_mhz
    }

    fn command(&self, name: &str, bits: u32) -> Step {
        let clocks = COMMAND_BITS + bits;
        Step::command(name, format!("{clocks} clocks"), self.ns(f64::from(clocks)))
    }

    fn data(&self, name: &str, clocks: f64, bytes: u64) -> Step {
        Step::transfer(name, format!("{clocks} clocks"), self.ns(clocks), bytes)
    }

    fn status(&self) -> Step {
        self.command("read status", STATUS_BITS)
    }
}

impl Spi {
    fn mode_clock_mhz(&self, mode: &Mode) -> f64 {
        mode.clock_mhz.as_ref().unwrap_or(&self.clock_mhz).value
    }

    /// The mode asked for, else the fastest for which the bus has lines.
    fn mode(&self, part: &Part, ask: &Ask<'_>) -> Result<&Mode> {
        let bus_lines = ask.bus.map_or(u32::MAX, |bus| bus.width_bits);
        let lines = bus_lines.min(part.width_bits.value);
        if let Some(name) = ask.mode {
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
        let ns = |mode: &Mode| {
            let clock =
                self.mode_clock_mhz(mode).min(ask.bus.map_or(f64::MAX, |bus| bus.clock_mhz));
            let bytes = ask.bytes.unwrap_or_else(|| self.usual_bytes(part));
            (mode.data_clocks(bytes) + mode.lead_clocks(self.lead_bits(part))) / clock
        };
        // Without a command it can only follow another read.
        let starts = |mode: &&Mode| mode.lines().is_some_and(|lines| lines[0] > 0);
        let fits = |mode: &&Mode| mode.lines().is_some_and(|all| all.iter().all(|l| *l <= lines));
        let best =
            self.modes.iter().filter(starts).filter(fits).min_by(|a, b| ns(a).total_cmp(&ns(b)));
        best.ok_or_else(|| {
            Error::design(format!(
                "{} has no read mode for a bus of {lines} data lines (known: {})",
                part.name,
                self.modes().join(", ")
            ))
        })
    }

    fn clocks(&self, mode: &Mode, bus: Option<Bus>) -> Clocks {
        let host = bus.map_or(f64::MAX, |bus| 1e3 / bus.access_ns());
        Clocks { clock_mhz: self.mode_clock_mhz(mode).min(host) }
    }

    fn lead_bits(&self, part: &Part) -> u32 {
        match part.kind {
            Kind::Nand => COLUMN_BITS,
            _ => self.address_bits.as_ref().map_or(ADDRESS_BITS, |bits| bits.value),
        }
    }

    fn usual_bytes(&self, part: &Part) -> u64 {
        if part.kind == Kind::Nand { part.whole_page_bytes() } else { LINE_BYTES }
    }

    fn lead(&self, clocks: &Clocks, mode: &Mode, part: &Part) -> Step {
        let lead = mode.lead_clocks(self.lead_bits(part));
        Step::command("command, address, dummies", format!("{lead} clocks"), clocks.ns(lead))
    }

    fn program_data(&self, clocks: &Clocks, bytes: u64) -> Step {
        let lines = self.program_lines.as_ref().map_or(1, |lines| lines.value).max(1);
        clocks.data("data in", (8 * bytes).div_ceil(lines.into()) as f64, bytes)
    }
}

impl Medium for Spi {
    fn operations(&self, part: &Part) -> Vec<What> {
        match part.kind {
            Kind::Nand => {
                let mut can = vec![What::Read, What::Program, What::Erase, What::ChangeColumn];
                if self.continuous_read {
                    can.push(What::CacheRead);
                }
                can
            }
            // Bytes are overwritten as they are.
            Kind::Mram | Kind::Fram => vec![What::Read, What::Program],
            _ => vec![What::Read, What::Program, What::Erase],
        }
    }

    fn modes(&self) -> Vec<String> {
        self.modes.iter().map(|mode| mode.name.clone()).collect()
    }

    fn operation(&self, part: &Part, ask: &Ask<'_>) -> Result<Operation> {
        let what = ask.what;
        if !self.operations(part).contains(&what) {
            return Err(cannot(part, what, &self.operations(part)));
        }
        let mode = self.mode(part, ask)?;
        let clocks = self.clocks(mode, ask.bus);
        let nand = part.kind == Kind::Nand;
        let writes_at_once = matches!(part.kind, Kind::Mram | Kind::Fram);
        let enable = clocks.command("write enable", 0);
        let load = || need(part.t_r_ns.as_ref(), "t_r_ns", part, what);
        let prog = || need(part.t_prog_ns.as_ref(), "t_prog_ns", part, what);
        let bers = || need(part.t_bers_ns.as_ref(), "t_bers_ns", part, what);
        let usual = match what {
            What::Program if !nand => u64::from(part.program_unit_bytes()),
            _ => self.usual_bytes(part),
        };
        let bytes = ask.bytes.unwrap_or(usual);
        let out = || clocks.data("data out", mode.data_clocks(bytes), bytes);
        let row_command = |name: &str| clocks.command(name, ROW_BITS);
        let steps = match (what, nand) {
            (What::Read, true) => vec![
                row_command("page read 13h"),
                Step::busy("array to register", "t_R", load()?),
                clocks.status(),
                self.lead(&clocks, mode, part),
                out(),
            ],
            (What::CacheRead, _) => {
                vec![out(), Step::hidden("next page, array to register", "t_R", load()?)]
            }
            (What::Read, false) | (What::ChangeColumn, _) => {
                vec![self.lead(&clocks, mode, part), out()]
            }
            (What::Program, true) => vec![
                enable,
                clocks.command("program load", COLUMN_BITS),
                self.program_data(&clocks, bytes),
                row_command("program execute 10h"),
                Step::busy("program", "t_PROG", prog()?),
                clocks.status(),
            ],
            (What::Program, false) => {
                let unit = u64::from(part.program_unit_bytes()).max(1);
                let times = if writes_at_once { 1 } else { bytes.div_ceil(unit).max(1) };
                let lead = times as f64 * f64::from(2 * COMMAND_BITS + self.lead_bits(part));
                let formula = format!("{times} × (write enable, command, address)");
                let mut steps = vec![
                    Step::command("commands", formula, clocks.ns(lead)),
                    self.program_data(&clocks, bytes),
                ];
                if !writes_at_once {
                    let busy = times as f64 * prog()?;
                    steps.push(Step::busy("program", format!("{times} t_PROG"), busy));
                    steps.push(clocks.status());
                }
                steps
            }
            _ => vec![
                enable,
                row_command("erase"),
                Step::busy("erase", "t_BERS", bers()?),
                clocks.status(),
            ],
        };
        let data_bytes = match what {
            What::Erase => 0,
            _ if nand => bytes.min(u64::from(part.flash_page_bytes())),
            _ => bytes,
        };
        let mode = (what != What::Erase && !what.writes()).then(|| mode.name.clone());
        Ok(Operation { what, mode, steps, data_bytes, left_out: Vec::new() })
    }

    fn shortest_access_ns(&self, part: &Part, ask: &Ask<'_>) -> Result<f64> {
        Ok(1e3 / self.mode_clock_mhz(self.mode(part, ask)?))
    }

    fn byte_ns(&self, part: &Part, bus: Bus) -> Result<f64> {
        let ask = Ask { what: What::Read, bytes: None, mode: None, bus: Some(bus) };
        let mode = self.mode(part, &ask)?;
        let clocks_a_byte = 8.0 / f64::from(mode.data_lines()) / mode.rate();
        Ok(self.clocks(mode, Some(bus)).ns(clocks_a_byte))
    }

    fn column_change_ns(&self, part: &Part, bus: Bus) -> Option<f64> {
        let ask = Ask { what: What::ChangeColumn, bytes: Some(0), mode: None, bus: Some(bus) };
        let change = self.operation(part, &ask).ok().filter(|_| part.kind == Kind::Nand)?;
        Some(change.ns())
    }

    fn load_commands_ns(&self, part: &Part, bus: Bus) -> Option<f64> {
        let ask = Ask { what: What::Read, bytes: Some(0), mode: None, bus: Some(bus) };
        self.operation(part, &ask).ok().map(|read| read.ns() - read.busy_ns())
    }

    fn check(&self, _part: &Part) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        let clocks = self.modes.iter().filter_map(|mode| mode.clock_mhz.as_ref());
        for clock in clocks.chain([&self.clock_mhz]) {
            if !(clock.value >= 0.01 && clock.value <= 1000.0) {
                let what = format!("clock_mhz = {} is no clock in MHz (0.01 to 1000)", clock.value);
                wrong.push(("clock_mhz".into(), what));
            }
        }
        if self.modes.is_empty() {
            wrong.push((
                "modes".into(),
                "modes = []: a part can be read in one way at least".into(),
            ));
        }
        for mode in &self.modes {
            if mode.lines().is_none() {
                let what = format!(
                    "mode '{}' is not of the form 1-4-4 (lines of command, address and data)",
                    crate::trace::input::shown(&mode.name)
                );
                wrong.push(("modes".into(), what));
            }
            if mode.dummy_clocks.value > 1000 {
                let what = format!("dummy_clocks = {} is over 1000", mode.dummy_clocks.value);
                wrong.push(("modes".into(), what));
            }
        }
        if let Some(bits) =
            self.address_bits.as_ref().filter(|bits| !(1..=64).contains(&bits.value))
        {
            let what = format!("address_bits = {} is not between 1 and 64", bits.value);
            wrong.push(("address_bits".into(), what));
        }
        if let Some(lines) =
            self.program_lines.as_ref().filter(|lines| !matches!(lines.value, 1 | 2 | 4 | 8))
        {
            let what = format!("program_lines = {} is not 1, 2, 4 or 8", lines.value);
            wrong.push(("program_lines".into(), what));
        }
        wrong
    }
}
