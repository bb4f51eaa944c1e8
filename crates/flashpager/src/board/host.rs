//! The host of a board: everything between a medium's pins and the application, and estimates of the
//! medium's speed on it.

use std::ops::Deref;
use std::path::PathBuf;

use flashpager_base::{Error, Result};
use flashpager_binary::driver::{CopyLoop, Direction, copy_loop_of};
use flashpager_media::bus::Bus;
use flashpager_media::estimate::{
    Dma, Estimate, EstimateSpec, Host, Layer, MeasuredRate, Memory, Peripheral, Processor,
    Software, System, check_layers, check_mode, estimate, used_mode,
};
use flashpager_media::operation::OperationKind;
use flashpager_media::part::{self, Part};
use serde::Serialize;

pub(super) const BYTES_PER_KB: f64 = 1000.0;

/// The code of a driver: an object file, and the function whose loop moves the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DriverCode {
    /// The object file.
    pub object: PathBuf,
    /// The function.
    pub function: String,
    /// Address of the data port; `None` if the code alone shows it.
    pub port: Option<u64>,
}

/// A layer of software above the driver, reading and writing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LayerRates {
    /// Name of the layer, for messages.
    pub name: String,
    /// Measured read rate through this layer, in 1000 bytes per second.
    pub read_kb_s: Option<f64>,
    /// Measured write rate through this layer, in 1000 bytes per second.
    pub write_kb_s: Option<f64>,
    /// Share of the driver's read rate that this layer leaves.
    pub read_share: Option<f64>,
    /// Share of the driver's write rate that this layer leaves.
    pub write_share: Option<f64>,
}

/// A rate that was measured on the board with its own part. It narrows the range of an estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoardMeasurement {
    /// The measured operation.
    pub operation: OperationKind,
    /// The mode of the bus in which it was measured; `None` for the part's usual one.
    pub mode: Option<String>,
    /// The rate, and the bytes of the measured transaction.
    pub rate: MeasuredRate,
}

impl BoardMeasurement {
    /// Checks the rate, and that bytes move.
    ///
    /// # Errors
    /// A rate that is not above 0, 0 bytes, and an operation that moves none.
    pub fn check(&self) -> Result<()> {
        let kb_s = self.rate.bytes_per_s / BYTES_PER_KB;
        if !kb_s.is_finite() || kb_s <= 0.0 {
            return Err(Error::design(format!("kb_s = {kb_s} is not above 0")));
        }
        if self.operation == OperationKind::Erase {
            return Err(Error::design(format!(
                "{} moves no bytes, so no rate was measured: leave it out",
                self.operation.name()
            )));
        }
        if self.rate.bytes == Some(0) {
            return Err(Error::design(
                "bytes = 0 moves nothing: write the bytes of the measured transaction, or leave it out",
            ));
        }
        Ok(())
    }

    /// Returns true if it was measured in the mode of `spec`. The usual mode depends on the bytes that
    /// are read.
    fn is_in_mode_of(&self, spec: &EstimateSpec) -> Result<bool> {
        let usual = |bytes: Option<u64>| {
            let free = EstimateSpec { mode: None, measured: None, bytes, ..spec.clone() };
            used_mode(&free)
        };
        let measured_bytes = self.rate.bytes.or(spec.bytes);
        Ok(match (&self.mode, &spec.mode) {
            (None, None) => true,
            (Some(measured), Some(named)) => measured == named,
            (None, named) => usual(measured_bytes)? == *named,
            (measured, None) => {
                usual(spec.bytes)? == *measured && usual(measured_bytes)? == *measured
            }
        })
    }
}

/// The error of a rate that a board's file gives for an operation.
fn of_measured(operation: OperationKind, error: &Error) -> Error {
    Error::design(format!("[[measured]] {}: {error}", operation.name()))
}

/// Everything between a medium's pins and the application, as a board file describes it. An absent field
/// costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BoardHost {
    /// The bus to the medium; `None` for one as fast and wide as the part.
    pub bus: Option<Bus>,
    /// A port that divides its clock; then `bus` gives the number of lines only.
    pub peripheral: Option<Peripheral>,
    /// The RAM.
    pub memory: Option<Memory>,
    /// The processor.
    pub processor: Option<Processor>,
    /// The driver's loop.
    pub software: Option<Software>,
    /// The driver's code, in which the loop is counted instead.
    pub driver: Option<DriverCode>,
    /// Time of the driver for an operation outside of its loop; `None` if it is not known.
    pub operation_ns: Option<f64>,
    /// The DMA controller, if one moves the data.
    pub dma: Option<Dma>,
    /// True if the processor moves the data by a loop of which nothing more is known.
    pub copied: bool,
    /// The system that drives the medium.
    pub system: Option<System>,
    /// Name of a measured host that this one resembles.
    pub like: Option<String>,
    /// Measured array time of the chip as a share of its datasheet's; `None` if it was not measured.
    pub array_share: Option<f64>,
    /// The layers above the driver, the lowest first.
    pub layers: Vec<LayerRates>,
    /// The rates measured on the board with its own part, at most one for an operation and mode.
    pub measured: Vec<BoardMeasurement>,
}

impl BoardHost {
    /// Checks all numbers.
    ///
    /// # Errors
    /// If a number is impossible. The error names the first.
    pub fn check(&self) -> Result<()> {
        self.peripheral.map_or(Ok(()), Peripheral::check)?;
        let priced = self.priced(Direction::Read, None)?;
        priced.check()?;
        self.check_layers()
    }

    /// Checks the rates and shares of all layers.
    pub(super) fn check_layers(&self) -> Result<()> {
        check_layers(&self.layers(Direction::Read))?;
        check_layers(&self.layers(Direction::Write))
    }

    /// The layers with a known rate in this direction.
    fn layers(&self, direction: Direction) -> Vec<Layer> {
        let layer = |layer: &LayerRates| {
            let (rate, share) = match direction {
                Direction::Read => (layer.read_kb_s, layer.read_share),
                Direction::Write => (layer.write_kb_s, layer.write_share),
            };
            let bytes_per_s = rate.map(|rate| rate * BYTES_PER_KB);
            let is_known = bytes_per_s.is_some() || share.is_some();
            is_known.then(|| Layer { name: layer.name.clone(), share, bytes_per_s })
        };
        self.layers.iter().filter_map(layer).collect()
    }

    /// The loop of the driver's code; `None` without code.
    ///
    /// # Errors
    /// If the file is not an object file or lacks the function, or the function has no loop.
    pub fn copy_loop(&self) -> Result<Option<CopyLoop>> {
        let counted =
            |driver: &DriverCode| copy_loop_of(&driver.object, &driver.function, driver.port);
        self.driver.as_ref().map(counted).transpose()
    }

    /// The host as an estimate needs it for an operation in this direction. `counted` is the loop of the
    /// driver's code, if there is code.
    ///
    /// # Errors
    /// If the loop moves data in the other direction.
    pub fn priced(&self, direction: Direction, counted: Option<&CopyLoop>) -> Result<Host> {
        let software = match counted {
            None => self.software,
            Some(counted) => Some(software(counted, direction)?),
        };
        Ok(Host {
            bus: self.bus,
            peripheral: self.peripheral,
            memory: self.memory,
            processor: self.processor,
            software,
            operation_ns: self.operation_ns,
            dma: self.dma,
            copied: self.copied,
            system: self.system,
            like: self.like.clone(),
            array_share: self.array_share,
            layers: self.layers(direction),
        })
    }

    /// Copies the host with another bus clock, and without rates of operations, which were measured
    /// with its own clock.
    ///
    /// # Errors
    /// If the clock is not a frequency.
    pub fn with_clock(&self, part: &Part, clock_mhz: f64) -> Result<Self> {
        let (cycles, width_bits) =
            self.bus.map_or((1, part.width_bits.value), |bus| (bus.cycles, bus.width_bits));
        let bus = Bus { clock_mhz, cycles, width_bits };
        // Parsed from text, so that an impossible bus is refused as in a board file.
        let bus = Some(bus.to_string().parse()?);
        Ok(Self { bus, peripheral: None, measured: Vec::new(), ..self.clone() })
    }

    /// The rate measured of the operation `kind` of `spec` in its mode; `None` if none was. An absent
    /// mode is the usual one of the part on the host of `spec`.
    ///
    /// # Errors
    /// A measurement in a mode that the part does not have, two in one mode, and the errors of
    /// [`estimate`].
    fn measured_rate(
        &self,
        kind: OperationKind,
        spec: &EstimateSpec,
    ) -> Result<Option<MeasuredRate>> {
        if self.measured.is_empty() {
            return Ok(None);
        }
        let part = part::find(&spec.part)?;
        for BoardMeasurement { operation, mode, .. } in &self.measured {
            let checked =
                mode.as_deref().map_or(Ok(()), |mode| check_mode(&part, *operation, mode));
            checked.map_err(|error| of_measured(*operation, &error))?;
        }
        let mut found = None;
        for one in self.measured.iter().filter(|one| one.operation == kind) {
            if one.is_in_mode_of(spec)? && found.replace(one.rate).is_some() {
                let two = Error::design("two rates in the usual mode: keep one of the two");
                return Err(of_measured(kind, &two));
            }
        }
        Ok(found)
    }

    /// Copies the host without measured rates of operations, and without those measured through its
    /// layers: both hold for one part on one bus.
    pub fn without_measurements(&self) -> Self {
        let mut host = Self { measured: Vec::new(), ..self.clone() };
        for layer in &mut host.layers {
            (layer.read_kb_s, layer.write_kb_s) = (None, None);
        }
        host
    }
}

/// Converts a disassembled loop for an estimate. Constants next to the code are read from the
/// instruction memory, which has no price.
fn software(counted: &CopyLoop, direction: Direction) -> Result<Software> {
    if counted.direction != direction {
        let (actual, required) = match direction {
            Direction::Write => ("reads from", "writes to"),
            Direction::Read => ("writes to", "reads from"),
        };
        return Err(Error::design(format!(
            "the loop of {} {actual} the data port; the operation needs a function that {required} it",
            counted.function
        )));
    }
    Ok(Software {
        instructions: f64::from(counted.instructions),
        bytes: counted.bytes,
        port_accesses: Some(counted.port_accesses),
        memory_accesses: Some(f64::from(counted.memory_accesses)),
        other_device_accesses: Some(f64::from(counted.other_device_accesses)),
    })
}

/// An estimate of one operation on a board's host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoardEstimate {
    /// The estimate.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The loop of the driver's code; `None` without code.
    #[serde(rename = "loop")]
    pub counted: Option<CopyLoop>,
}

impl Deref for BoardEstimate {
    type Target = Estimate;

    fn deref(&self) -> &Estimate {
        &self.estimate
    }
}

/// Estimates one operation on `host`, which replaces the host of `spec`. `counted` is the loop of its
/// driver, if it was counted before. A rate that `spec` does not give is the one measured on the host.
///
/// # Errors
/// The errors of [`estimate`], a driver without a loop, a loop that moves data in the other direction,
/// and a rate measured on the host that cannot be, with its operation.
pub fn estimate_on(
    host: &BoardHost,
    spec: EstimateSpec,
    counted: Option<CopyLoop>,
) -> Result<BoardEstimate> {
    let kind = match &spec.operation {
        Some(name) => name.parse()?,
        None => {
            let part = part::find(&spec.part)?;
            part.medium()?.operations(&part).first().copied().unwrap_or(OperationKind::Read)
        }
    };
    let counted = match counted {
        Some(counted) => Some(counted),
        None => host.copy_loop()?,
    };
    let direction = if kind.writes() { Direction::Write } else { Direction::Read };
    let priced = host.priced(direction, counted.as_ref())?;
    let operation = Some(kind.name().to_owned());
    let spec = EstimateSpec { host: priced, operation, ..spec };
    if spec.measured.is_some() {
        return Ok(BoardEstimate { estimate: estimate(&spec)?, counted });
    }
    let measured = host.measured_rate(kind, &spec)?;
    let with_rate = estimate(&EstimateSpec { measured, ..spec.clone() });
    let estimate = match with_rate {
        Err(error) if measured.is_some() => {
            // An error without the rate is not one of the rate.
            estimate(&spec)?;
            return Err(of_measured(kind, &error));
        }
        estimate => estimate?,
    };
    Ok(BoardEstimate { estimate, counted })
}
