//! The host of a flash medium: what lies between its pins and the application.

use flashpager_base::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::bus::Bus;

/// A clock that a port makes from its own by a divider.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peripheral {
    /// The clock that is divided.
    pub clock_mhz: f64,
    /// By what it can be divided.
    #[serde(default)]
    pub divider: Divider,
}

/// What a divider can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Divider {
    /// 1, 2, 3, …
    #[default]
    Integer,
    /// 2, 4, 6, …
    Even,
    /// 1, 2, 4, 8, …
    PowerOfTwo,
}

impl Peripheral {
    /// The fastest clock it can make that is no faster than `most_mhz`.
    ///
    /// # Errors
    /// Clocks that are none.
    pub fn clock_up_to(self, most_mhz: f64) -> Result<f64> {
        positive("peripheral.clock_mhz", self.clock_mhz, 10_000.0)?;
        // 24 MHz from 72: no rounding error may make it 18.
        let least = (self.clock_mhz / most_mhz * (1.0 - 1e-9)).ceil().max(1.0);
        let divider = match self.divider {
            Divider::Integer => least,
            Divider::Even => (least / 2.0).ceil() * 2.0,
            Divider::PowerOfTwo => least.log2().ceil().exp2(),
        };
        Ok(self.clock_mhz / divider)
    }
}

/// The RAM that data ends in, or comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Its bus; the cycles are those of a whole access.
    pub bus: Bus,
    /// Share of the time in which it is refreshed and serves nobody.
    #[serde(default)]
    pub refresh_share: f64,
}

/// The processor that runs the driver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Its clock.
    pub clock_mhz: f64,
    /// Clocks of an instruction, on average; 1 if absent, as in the article.
    #[serde(default = "one")]
    pub cycles_per_instruction: f64,
}

fn one() -> f64 {
    1.0
}

/// The driver's innermost loop, by what an iteration does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Software {
    /// Instructions executed.
    pub instructions: f64,
    /// Bytes moved through the data port.
    pub bytes: u32,
    /// Accesses to the data port that move them.
    #[serde(default = "one_access")]
    pub port_accesses: u32,
    /// Accesses to RAM.
    #[serde(default = "one")]
    pub memory_accesses: f64,
    /// Accesses to other devices on the same bus, such as pins that strobe.
    #[serde(default)]
    pub other_device_accesses: f64,
}

fn one_access() -> u32 {
    1
}

impl Software {
    /// Bytes of one access to the data port.
    pub fn access_bytes(&self) -> u32 {
        self.bytes / self.port_accesses.max(1)
    }

    /// The same loop, written for accesses of `access_bytes`.
    pub fn with_access_bytes(self, access_bytes: u32) -> Self {
        Self { bytes: access_bytes.saturating_mul(self.port_accesses), ..self }
    }
}

/// Data moved by DMA instead of by the loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dma {
    /// Share of the software overhead that remains. A half, as the article measured.
    #[serde(default = "half")]
    pub software_share: f64,
}

fn half() -> f64 {
    0.5
}

impl Default for Dma {
    fn default() -> Self {
        Self { software_share: half() }
    }
}

/// A layer of software above the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// What it is called.
    pub name: String,
    /// What it leaves of the driver's rate, where that is known or estimated.
    pub share: Option<f64>,
    /// What was measured through it, in bytes a second.
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
    /// timer, checking.
    pub operation_ns: f64,
    /// Whether data is moved by DMA.
    pub dma: Option<Dma>,
    /// What is above the driver, from below.
    pub layers: Vec<Layer>,
}

impl Host {
    /// Check all numbers.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn check(&self) -> Result<()> {
        if let Some(memory) = self.memory
            && !(0.0..1.0).contains(&memory.refresh_share)
        {
            return Err(Error::design(format!(
                "memory.refresh_share = {} is no share (0 to below 1)",
                memory.refresh_share
            )));
        }
        if let Some(processor) = self.processor {
            positive("processor.clock_mhz", processor.clock_mhz, 100_000.0)?;
            let cycles = processor.cycles_per_instruction;
            positive("processor.cycles_per_instruction", cycles, 1000.0)?;
        }
        if let Some(software) = &self.software {
            check_software(software)?;
        }
        if !(0.0..=1e12).contains(&self.operation_ns) {
            return Err(Error::design(format!(
                "driver.operation_ns = {} is not between 0 and 1e12",
                self.operation_ns
            )));
        }
        if let Some(dma) = self.dma
            && !(0.0..=1.0).contains(&dma.software_share)
        {
            return Err(Error::design(format!(
                "dma.software_share = {} is no share (0 to 1)",
                dma.software_share
            )));
        }
        check_layers(&self.layers)
    }
}

/// The widest access that an instruction makes.
const MAX_ACCESS_BYTES: u32 = 16;

fn check_software(software: &Software) -> Result<()> {
    for (name, number) in [
        ("instructions", software.instructions),
        ("memory_accesses", software.memory_accesses),
        ("other_device_accesses", software.other_device_accesses),
    ] {
        if !(0.0..=1e12).contains(&number) {
            return Err(Error::design(format!(
                "driver.{name} = {number} is not between 0 and 1e12"
            )));
        }
    }
    if software.bytes == 0
        || software.port_accesses == 0
        || !software.bytes.is_multiple_of(software.port_accesses)
        || !software.access_bytes().is_power_of_two()
        || software.access_bytes() > MAX_ACCESS_BYTES
    {
        return Err(Error::design(format!(
            "driver: {} bytes in {} accesses to the data port cannot be: an access moves 1, 2, 4, 8 \
             or 16 bytes",
            software.bytes, software.port_accesses
        )));
    }
    Ok(())
}

fn check_layers(layers: &[Layer]) -> Result<()> {
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

fn positive(name: &str, number: f64, most: f64) -> Result<()> {
    if number > 0.0 && number <= most {
        return Ok(());
    }
    Err(Error::design(format!("{name} = {number} is not above 0 and at most {most}")))
}
