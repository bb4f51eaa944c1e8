//! The host of a flash medium: what lies between its pins and the application.
//!
//! What a person may leave out is an `Option`, and a method of the same name gives what it is
//! then; so a host is written down again as it was given.

use flashpager_base::{Error, Result};
use serde::{Deserialize, Serialize, Serializer};

use super::controller::Peripheral;
use super::hosts::{self, System};
use crate::bus::Bus;

/// A number as a person writes it: whole ones without a point.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn as_written<S: Serializer>(
    number: &f64,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        to.serialize_i64(*number as i64)
    } else {
        to.serialize_f64(*number)
    }
}

/// The same of a number that may be left out.
#[expect(clippy::ref_option, reason = "serde passes references")]
pub(super) fn given_as_written<S: Serializer>(
    number: &Option<f64>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    match number {
        Some(number) => as_written(number, to),
        None => to.serialize_none(),
    }
}

/// The RAM that data ends in, or comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Its bus; the cycles are those of a whole access.
    pub bus: Bus,
    /// Share of the time in which it is refreshed and serves nobody; none if absent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "given_as_written")]
    pub refresh_share: Option<f64>,
}

impl Memory {
    /// RAM on `bus` that needs no refresh.
    pub fn on(bus: Bus) -> Self {
        Self { bus, refresh_share: None }
    }

    /// Share of the time in which it is refreshed and serves nobody.
    pub fn refresh_share(self) -> f64 {
        self.refresh_share.unwrap_or(0.0)
    }

    /// Check its numbers.
    ///
    /// # Errors
    /// A share that is none.
    pub fn check(self) -> Result<()> {
        let share = self.refresh_share();
        if (0.0..1.0).contains(&share) {
            return Ok(());
        }
        let what = format!("memory.refresh_share = {share} is no share (0 to below 1)");
        Err(Error::design(what))
    }
}

/// The processor that runs the driver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Its clock.
    #[serde(serialize_with = "as_written")]
    pub clock_mhz: f64,
    /// Clocks of an instruction, on average; 1 if absent, as in the article.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "given_as_written")]
    pub cycles_per_instruction: Option<f64>,
}

impl Processor {
    /// Clocks of an instruction, on average.
    pub fn cycles_per_instruction(self) -> f64 {
        self.cycles_per_instruction.unwrap_or(1.0)
    }

    /// Time of an instruction, on average.
    pub fn instruction_ns(self) -> f64 {
        self.cycles_per_instruction() * 1e3 / self.clock_mhz
    }

    /// Check its numbers.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn check(self) -> Result<()> {
        positive("processor.clock_mhz", self.clock_mhz, 100_000.0)?;
        positive("processor.cycles_per_instruction", self.cycles_per_instruction(), 1000.0)
    }
}

/// The driver's innermost loop, by what an iteration does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Software {
    /// Instructions executed.
    #[serde(serialize_with = "as_written")]
    pub instructions: f64,
    /// Bytes moved through the data port.
    pub bytes: u32,
    /// Accesses to the data port that move them; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_accesses: Option<u32>,
    /// Accesses to RAM; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "given_as_written")]
    pub memory_accesses: Option<f64>,
    /// Accesses to other devices on the same bus, such as pins that strobe; none if absent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "given_as_written")]
    pub other_device_accesses: Option<f64>,
}

impl Software {
    /// A loop of so many instructions that moves `bytes` by one access to the port and one to RAM.
    pub fn new(instructions: f64, bytes: u32) -> Self {
        Self {
            instructions,
            bytes,
            port_accesses: None,
            memory_accesses: None,
            other_device_accesses: None,
        }
    }

    /// Accesses to the data port.
    pub fn port_accesses(&self) -> u32 {
        self.port_accesses.unwrap_or(1)
    }

    /// Accesses to RAM.
    pub fn memory_accesses(&self) -> f64 {
        self.memory_accesses.unwrap_or(1.0)
    }

    /// Accesses to other devices on the same bus.
    pub fn other_device_accesses(&self) -> f64 {
        self.other_device_accesses.unwrap_or(0.0)
    }

    /// Bytes of one access to the data port.
    pub fn access_bytes(&self) -> u32 {
        self.bytes / self.port_accesses().max(1)
    }

    /// The same loop, written for accesses of `access_bytes`.
    pub fn with_access_bytes(self, access_bytes: u32) -> Self {
        Self { bytes: access_bytes.saturating_mul(self.port_accesses()), ..self }
    }

    /// Check its numbers.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn check(&self) -> Result<()> {
        for (name, number) in [
            ("instructions", self.instructions),
            ("memory_accesses", self.memory_accesses()),
            ("other_device_accesses", self.other_device_accesses()),
        ] {
            if !(0.0..=1e12).contains(&number) {
                return Err(Error::design(format!(
                    "driver.{name} = {number} is not between 0 and 1e12"
                )));
            }
        }
        let accesses = self.port_accesses();
        if self.bytes == 0
            || accesses == 0
            || !self.bytes.is_multiple_of(accesses)
            || !self.access_bytes().is_power_of_two()
            || self.access_bytes() > MAX_ACCESS_BYTES
        {
            return Err(Error::design(format!(
                "driver: {} bytes in {accesses} accesses to the data port cannot be: an access \
                 moves 1, 2, 4, 8 or 16 bytes",
                self.bytes
            )));
        }
        Ok(())
    }
}

/// Data moved by DMA instead of by the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dma {
    /// Share of the software overhead that remains; a half if absent, as the article measured.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "given_as_written")]
    pub software_share: Option<f64>,
}

impl Dma {
    /// Share of the software overhead that remains.
    pub fn software_share(self) -> f64 {
        self.software_share.unwrap_or(0.5)
    }

    /// Check its number.
    ///
    /// # Errors
    /// A share that is none.
    pub fn check(self) -> Result<()> {
        let share = self.software_share();
        if (0.0..=1.0).contains(&share) {
            return Ok(());
        }
        Err(Error::design(format!("dma.software_share = {share} is no share (0 to 1)")))
    }
}

/// A layer of software above the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// What it is called.
    pub name: String,
    /// What it leaves of the driver's rate, where that is known or estimated.
    #[serde(serialize_with = "given_as_written")]
    pub share: Option<f64>,
    /// What was measured through it, in bytes a second.
    #[serde(serialize_with = "given_as_written")]
    pub bytes_per_s: Option<f64>,
}

/// All of it; what is absent costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// The bus to the medium; as fast and wide as the part's if absent.
    pub bus: Option<Bus>,
    /// A port that divides its clock; then `bus` gives its lines alone.
    pub peripheral: Option<Peripheral>,
    /// The RAM.
    pub memory: Option<Memory>,
    /// The processor.
    pub processor: Option<Processor>,
    /// The driver's loop.
    pub software: Option<Software>,
    /// What the driver takes for an operation outside of its loop: set-up, waiting by a
    /// timer, checking. Nobody knows if absent: the stages are reckoned without it, and the range
    /// takes it from hosts that were measured.
    #[serde(serialize_with = "given_as_written")]
    pub operation_ns: Option<f64>,
    /// Whether data is moved by DMA.
    pub dma: Option<Dma>,
    /// Whether the processor moves it, by a loop of which no more is known.
    pub copied: bool,
    /// What drives the medium.
    pub system: Option<System>,
    /// A measured host, by name, that this one is like.
    pub like: Option<String>,
    /// What the chip takes of its datasheet's array time, if that was measured.
    #[serde(serialize_with = "given_as_written")]
    pub array_share: Option<f64>,
    /// What is above the driver, from below.
    pub layers: Vec<Layer>,
}

impl Host {
    /// Check all numbers.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn check(&self) -> Result<()> {
        self.memory.map_or(Ok(()), Memory::check)?;
        self.processor.map_or(Ok(()), Processor::check)?;
        self.software.map_or(Ok(()), |software| software.check())?;
        self.operation_ns.map_or(Ok(()), check_operation_ns)?;
        self.dma.map_or(Ok(()), Dma::check)?;
        check_array_share(self.array_share)?;
        if let Some(name) = &self.like {
            hosts::find(name)?;
        }
        if self.copied && self.dma.is_some() {
            return Err(Error::design("the processor or DMA moves the data, not both"));
        }
        check_layers(&self.layers)
    }
}

/// The widest access that an instruction makes.
const MAX_ACCESS_BYTES: u32 = 16;

/// Check what a driver takes for an operation outside of its loop.
///
/// # Errors
/// No such time.
pub fn check_operation_ns(ns: f64) -> Result<()> {
    if (0.0..=1e12).contains(&ns) {
        return Ok(());
    }
    Err(Error::design(format!("driver.operation_ns = {ns} is not between 0 and 1e12")))
}

/// Check what a chip takes of its datasheet's array time.
///
/// # Errors
/// No such share.
pub fn check_array_share(share: Option<f64>) -> Result<()> {
    match share {
        Some(share) => positive("array_share", share, 100.0),
        None => Ok(()),
    }
}

/// Check layers, the lowest first.
///
/// # Errors
/// A layer without a rate or with two, and rates that cannot be.
pub fn check_layers(layers: &[Layer]) -> Result<()> {
    let mut below = 1.0;
    for layer in layers {
        match (layer.share, layer.bytes_per_s) {
            (Some(share), None) if share > 0.0 && share <= below => below = share,
            (Some(share), None) => {
                return Err(Error::design(format!(
                    "layer '{}': a share of {share} of the driver's rate is not above 0 and at most \
                     {below}, what is below it",
                    layer.name
                )));
            }
            (None, Some(rate)) => {
                positive(&format!("layer '{}'", layer.name), rate, 1e15)?;
            }
            _ => {
                return Err(Error::design(format!(
                    "layer '{}' needs a share of the driver's rate or a measured rate, not both",
                    layer.name
                )));
            }
        }
    }
    Ok(())
}

pub(super) fn positive(name: &str, number: f64, most: f64) -> Result<()> {
    if number > 0.0 && number <= most {
        return Ok(());
    }
    Err(Error::design(format!("{name} = {number} is not above 0 and at most {most}")))
}
