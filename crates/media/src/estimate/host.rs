//! The host of a flash medium: everything between its pins and the application.
//!
//! A field that the user may leave out is an `Option`; a method of the same name returns its value
//! or the default. So a host can be written back exactly as it was given.

use flashpager_base::{Error, Result};
use serde::{Deserialize, Serialize};

use super::controller::Peripheral;
use super::hosts::{self, System};
use super::numbers::{as_written, option_as_written, positive};
use crate::bus::Bus;

/// The RAM that data is copied to or from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The bus of the RAM; its cycles are those of a whole access.
    pub bus: Bus,
    /// The share of time in which the RAM is refreshed and cannot be accessed; 0 if absent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "option_as_written")]
    pub refresh_share: Option<f64>,
}

impl Memory {
    /// RAM on `bus` that needs no refresh.
    pub fn on(bus: Bus) -> Self {
        Self { bus, refresh_share: None }
    }

    /// The share of time in which the RAM is refreshed and cannot be accessed.
    pub fn refresh_share(self) -> f64 {
        self.refresh_share.unwrap_or(0.0)
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If the share is not from 0 to below 1.
    pub fn check(self) -> Result<()> {
        let share = self.refresh_share();
        if (0.0..1.0).contains(&share) {
            return Ok(());
        }
        let reason = format!("memory.refresh_share = {share} is no share (0 to below 1)");
        Err(Error::design(reason))
    }
}

/// The processor that runs the driver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// The clock in MHz.
    #[serde(serialize_with = "as_written")]
    pub clock_mhz: f64,
    /// Clocks of an instruction on average; 1 if absent, as in the article.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "option_as_written")]
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

    /// Checks the numbers.
    ///
    /// # Errors
    /// If a number is impossible. The error names the first.
    pub fn check(self) -> Result<()> {
        positive("processor.clock_mhz", self.clock_mhz, 100_000.0)?;
        positive("processor.cycles_per_instruction", self.cycles_per_instruction(), 1000.0)
    }
}

/// The driver's innermost loop, described by one iteration.
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
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "option_as_written")]
    pub memory_accesses: Option<f64>,
    /// Accesses to other devices on the same bus, such as strobe pins; 0 if absent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "option_as_written")]
    pub other_device_accesses: Option<f64>,
}

impl Software {
    /// A loop of `instructions` that moves `bytes` by one access to the port and one to RAM.
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

    /// The loop rewritten for accesses of `access_bytes`.
    pub fn with_access_bytes(self, access_bytes: u32) -> Self {
        Self { bytes: access_bytes.saturating_mul(self.port_accesses()), ..self }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If a number is impossible. The error names the first.
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

/// DMA, which moves the data instead of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dma {
    /// The share of the software overhead that remains; 0.5 if absent, as the article measured.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "option_as_written")]
    pub software_share: Option<f64>,
}

impl Dma {
    /// The share of the software overhead that remains.
    pub fn software_share(self) -> f64 {
        self.software_share.unwrap_or(0.5)
    }

    /// Checks the share.
    ///
    /// # Errors
    /// If it is not from 0 to 1.
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
    /// The name.
    pub name: String,
    /// The share of the driver's rate that the layer leaves, if it is known or estimated.
    #[serde(serialize_with = "option_as_written")]
    pub share: Option<f64>,
    /// The rate measured through the layer, in bytes per second.
    #[serde(serialize_with = "option_as_written")]
    pub bytes_per_s: Option<f64>,
}

/// A host. A component that is absent costs nothing, unless its field's description differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// The bus to the medium; if absent, one as fast and wide as the part allows.
    pub bus: Option<Bus>,
    /// A port that divides its clock. With it, only the lines of `bus` count.
    pub peripheral: Option<Peripheral>,
    /// The RAM.
    pub memory: Option<Memory>,
    /// The processor.
    pub processor: Option<Processor>,
    /// The driver's loop.
    pub software: Option<Software>,
    /// The driver's time for an operation outside of its loop: set-up, waiting by a timer,
    /// checking. If absent it is unknown: the stages do not contain it, and the range takes it from
    /// measured hosts.
    #[serde(serialize_with = "option_as_written")]
    pub operation_ns: Option<f64>,
    /// The DMA that moves the data, if any does.
    pub dma: Option<Dma>,
    /// True if the processor moves the data by a loop about which nothing else is known.
    pub copied: bool,
    /// The system that drives the medium.
    pub system: Option<System>,
    /// The name of a measured host that this one resembles.
    pub like: Option<String>,
    /// The share of the datasheet's array time that the chip takes, if it was measured.
    #[serde(serialize_with = "option_as_written")]
    pub array_share: Option<f64>,
    /// The layers above the driver, the lowest first.
    pub layers: Vec<Layer>,
}

impl Host {
    /// Checks all numbers.
    ///
    /// # Errors
    /// If a number is impossible. The error names the first.
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

/// Bytes of the widest access of an instruction.
const MAX_ACCESS_BYTES: u32 = 16;

/// Checks the driver's time for an operation outside of its loop.
///
/// # Errors
/// If it is not from 0 to 1e12 ns.
pub fn check_operation_ns(ns: f64) -> Result<()> {
    if (0.0..=1e12).contains(&ns) {
        return Ok(());
    }
    Err(Error::design(format!("driver.operation_ns = {ns} is not between 0 and 1e12")))
}

/// Checks the share of the datasheet's array time that a chip takes.
///
/// # Errors
/// If it is not above 0 and at most 100.
pub fn check_array_share(share: Option<f64>) -> Result<()> {
    match share {
        Some(share) => positive("array_share", share, 100.0),
        None => Ok(()),
    }
}

/// Checks layers, given from the lowest.
///
/// # Errors
/// If a layer has no rate or two, or an impossible one.
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
