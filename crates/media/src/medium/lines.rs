//! The buses that a part can be wired to.

use flashpager_base::{Error, Result};

use crate::bus::Bus;
use crate::datasheet::Part;
use crate::operation::{OperationKind, OperationRequest, four_decimals};

/// Clocks are rounded down to a multiple of 1/100 MHz, so that a person can write them.
const STEPS_A_MHZ: f64 = 100.0;
/// The largest relative difference of two access times that counts as rounding.
const ROUNDING: f64 = 1e-9;

impl Part {
    /// The fastest bus that reads the part: all its lines, at the clock of its fastest mode.
    ///
    /// # Errors
    /// If the part has no table, or is on an address bus, which has no fastest clock.
    pub fn fastest_bus(&self) -> Result<Bus> {
        let request = OperationRequest {
            kind: OperationKind::Read,
            bytes: None,
            mode: None,
            bus: None,
            waits: false,
        };
        let shortest = self.medium()?.shortest_access_ns(self, &request)?;
        if shortest <= 0.0 {
            return Err(Error::design(format!(
                "{} is on an address bus, which has no fastest clock: give a bus",
                self.name
            )));
        }
        Ok(self.bus_of(shortest))
    }

    /// A bus that is never slower than the part. For memory on an address bus, an access takes as
    /// long as a word of the part; for any other part it is the fastest bus.
    ///
    /// # Errors
    /// If the part has no table.
    pub fn own_bus(&self) -> Result<Bus> {
        match &self.parallel {
            Some(parallel) => Ok(self.bus_of(parallel.shortest_word_ns())),
            None => self.fastest_bus(),
        }
    }

    /// The bus of all lines of the part with an access time of `access_ns`.
    fn bus_of(&self, access_ns: f64) -> Bus {
        let clock_mhz = (1e3 / access_ns * (1.0 + ROUNDING) * STEPS_A_MHZ).floor() / STEPS_A_MHZ;
        Bus { clock_mhz, cycles: 1, width_bits: self.width_bits.value }
    }

    /// Checks that the part can be wired to the lines of `bus`.
    ///
    /// A serial part needs at most as many lines as it has, a NAND on a parallel bus exactly as
    /// many, and memory on an address bus at least 8.
    ///
    /// # Errors
    /// If the bus has other numbers of lines.
    pub fn check_lines(&self, bus: Bus) -> Result<()> {
        let (own, lines) = (self.width_bits.value, bus.width_bits);
        let (kind, fits) = if self.is_serial() {
            ("serial", lines <= own)
        } else if self.parallel.is_some() {
            ("parallel", lines >= 8)
        } else if self.table().is_some() {
            ("parallel", lines == own)
        } else {
            return Ok(());
        };
        if fits {
            return Ok(());
        }
        let needs = if self.parallel.is_some() { "8 or more".into() } else { own.to_string() };
        let same_clock = Bus { width_bits: own, ..bus };
        let take = match self.check_clock(same_clock, &OperationRequest::read(None, same_clock)) {
            Ok(()) => Ok(same_clock),
            Err(_) => self.fastest_bus(),
        };
        let take = take.map_or_else(|_| String::new(), |bus| format!("; take {bus}"));
        Err(Error::design(format!(
            "the bus {bus} has {lines} data lines, and {} is a {kind} part of {needs}{take}",
            self.name
        )))
    }

    /// Checks that an access of `bus` is no shorter than the part allows for `request`.
    ///
    /// # Errors
    /// If the bus is too fast.
    pub fn check_clock(&self, bus: Bus, request: &OperationRequest<'_>) -> Result<()> {
        let shortest = self.medium()?.shortest_access_ns(self, request)?;
        if bus.access_ns() >= shortest * (1.0 - ROUNDING) {
            return Ok(());
        }
        let cycles = (shortest * bus.clock_mhz / 1e3 * (1.0 - ROUNDING)).ceil();
        Err(Error::design(format!(
            "the bus {bus} is faster than {} allows: an access takes {} ns, and the part needs {}; \
             take {}MHz/{cycles}-x{} or a clock of at most {} MHz",
            self.name,
            four_decimals(bus.access_ns()),
            four_decimals(shortest),
            bus.clock_mhz,
            bus.width_bits,
            four_decimals(f64::from(bus.cycles) * 1e3 / shortest)
        )))
    }

    /// Checks that the part can be read over `bus`.
    ///
    /// # Errors
    /// If [`Part::check_lines`] or [`Part::check_clock`] refuses it.
    pub fn check_bus(&self, bus: Bus) -> Result<()> {
        self.check_lines(bus)?;
        self.check_clock(bus, &OperationRequest::read(None, bus))
    }
}
