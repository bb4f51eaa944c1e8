//! The speed of a medium on a host, stage by stage: the part alone, the bus, RAM, the driver and the
//! layers above it.
//!
//! The method is that of Hu, "Estimating Flash Media Performance For Embedded Systems" (2010):
//! cycles of the part are stretched to those of the host's bus; access to RAM and the driver's
//! instructions are added to each byte.
//!
//! A host is seldom known whole. Parameters that the user left open take the best, the likely and
//! the worst value of measured hosts ([`hosts()`]), so the time is a range. The verdict names the
//! largest cost at the likely point and the changes that would reduce it most.

mod controller;
mod energy;
mod host;
mod hosts;
mod measured;
mod numbers;
mod range;
mod remedies;
mod setting;
mod shares;
mod unknown;
mod verdict;

use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result, named};
use serde::Serialize;

pub use controller::{Controller, Divider, DividerRange, Peripheral};
pub use energy::Energy;
pub use host::{
    Dma, Host, Layer, Memory, Processor, Software, check_array_share, check_layers,
    check_operation_ns,
};
pub use hosts::{MeasuredHost, System, TransferEngine, ValueRange, hosts};
pub use range::Range;
pub use remedies::{Remedy, RemedyKind};
pub use setting::{EstimateSpec, MeasuredRate};
pub use shares::CostSource;
pub use unknown::{AssumedValue, UnknownParameter};

use crate::bus::Bus;
use crate::operation::{Operation, OperationKind, OperationRequest, four_decimals, unknown_mode};
use crate::part::{MemoryKind, Part};
use numbers::NS_PER_S;
use setting::EstimateSetting;

/// The kinds of stages between medium and application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StageKind {
    /// The part alone.
    Part,
    /// The host's bus.
    Bus,
    /// RAM.
    Memory,
    /// The driver.
    Software,
    /// A layer above the driver.
    Layer,
}

named! {
    StageKind: "unknown kind of stage",
    "part" => Part,
    "bus" => Bus,
    "memory" => Memory,
    "software" => Software,
    "layer" => Layer,
}

/// The speed of the operation up to a stage between medium and application.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// The kind of stage.
    pub kind: StageKind,
    /// The name of a layer; for other stages that of the kind.
    pub name: String,
    /// Time of the operation up to this stage.
    pub ns: f64,
    /// Bytes per second up to this stage.
    pub bytes_per_s: f64,
    /// True if the rate was measured; else it is composed.
    pub measured: bool,
}

/// Time of each byte in the driver's loop, without the array and the commands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ByteTime {
    /// Time of the part's own cycles.
    pub part_ns: f64,
    /// Time of the host's bus.
    pub bus_ns: f64,
    /// Time of RAM.
    pub memory_ns: f64,
    /// Time of instructions.
    pub software_ns: f64,
}

impl ByteTime {
    /// The sum. The part's own cycles are contained in those of the bus.
    pub fn ns(self) -> f64 {
        self.bus_ns + self.memory_ns + self.software_ns
    }
}

/// The estimate of one operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The largest cost of the likely time and the changes that would help, in words.
    pub verdict: String,
    /// The part, as the user named it.
    pub part: String,
    /// The name of the part.
    pub name: String,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The kind of operation.
    #[serde(rename = "what")]
    pub operation_kind: OperationKind,
    /// The request, with the operation filled in.
    pub spec: EstimateSpec,
    /// The operation at the part's own speed.
    pub operation: Operation,
    /// The operation on the host's bus.
    pub on_bus: Operation,
    /// Bytes over the bus.
    pub bytes: u64,
    /// The stages from the physical limit to the application, as far as they are known.
    pub stages: Vec<Stage>,
    /// The range of the time over all unknown parameters of the host.
    pub range: Range,
    /// Time of the operation through the driver if the medium is as slow as the slowest measured;
    /// absent if its times do not vary.
    pub longest_ns: Option<f64>,
    /// Time of each byte.
    pub byte: ByteTime,
    /// The likely time of the operation in ns, by cause: what the verdict describes.
    #[serde(skip)]
    pub likely_shares: Vec<(CostSource, f64)>,
    /// The energy, if the part states its currents.
    pub energy: Option<Energy>,
    /// The changes that would make it faster, the best first.
    pub remedies: Vec<Remedy>,
    /// The bus, with its clock after dividers; absent if it is the part's.
    pub bus: Option<Bus>,
    /// Unchecked fields of the part on which the estimate depends.
    pub unverified: Vec<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Estimate {
    /// The stages below the layers, which are composed of cycles and instructions.
    pub fn composed(&self) -> &[Stage] {
        let is_layer = |stage: &Stage| stage.kind == StageKind::Layer;
        let end = self.stages.iter().position(is_layer).unwrap_or(self.stages.len());
        &self.stages[..end]
    }

    /// The last composed stage: the operation through everything known of the host.
    pub fn through_host(&self) -> Option<&Stage> {
        self.composed().last()
    }

    /// The time of the operation through the known part of the host, in ns by cause.
    pub fn shares(&self) -> Vec<(CostSource, f64)> {
        let source = |stage: &Stage| match stage.kind {
            StageKind::Bus => Some(CostSource::Bus),
            StageKind::Memory => Some(CostSource::Memory),
            StageKind::Software => Some(CostSource::Software),
            StageKind::Part | StageKind::Layer => None,
        };
        let cumulative =
            self.composed().iter().filter_map(|stage| Some((source(stage)?, stage.ns)));
        shares::shares(&self.operation, cumulative)
    }
}

/// Estimates one operation.
///
/// # Errors
/// If the part or the operation is unknown, the part lacks a number, or the host is impossible.
pub fn estimate(spec: &EstimateSpec) -> Result<Estimate> {
    let setting = EstimateSetting::new(spec)?;
    let operation = setting.compose(None)?;
    let on_bus = setting.compose(setting.used_bus())?;
    let bytes = operation.bytes();
    let byte = ByteTime {
        part_ns: if bytes == 0 { 0.0 } else { setting.byte_ns(None, &operation)? },
        bus_ns: if bytes == 0 { 0.0 } else { setting.byte_ns(setting.used_bus(), &on_bus)? },
        memory_ns: setting.memory_byte_ns(),
        software_ns: setting.software_byte_ns(),
    };
    let driver_ns = setting.driver_ns()?;
    let stages = stages(&setting, &operation, &on_bus, driver_ns);
    let likely = range::likely(&setting, spec)?;
    let mut estimate = Estimate {
        verdict: String::new(),
        part: spec.part.clone(),
        name: setting.part.name.clone(),
        kind: setting.part.kind,
        operation_kind: setting.kind,
        spec: EstimateSpec { operation: Some(setting.kind.name().into()), ..spec.clone() },
        energy: Energy::of(&setting.part, &on_bus, fault(&setting, spec)?.as_ref()),
        longest_ns: on_bus.longest_ns().map(|longest| driver_ns + longest - on_bus.ns()),
        remedies: remedies::all(&likely, spec)?,
        notes: notes(&setting, spec),
        bus: setting.host.bus,
        unverified: setting.unverified(),
        operation,
        range: range::estimate_range(&setting, spec)?,
        on_bus,
        bytes,
        stages,
        byte,
        likely_shares: likely.shares()?,
    };
    estimate.verdict = verdict::verdict(&estimate, &likely)?;
    Ok(estimate)
}

/// The read mode of an operation on its host: the one that `spec` names, or else the usual one. `None`
/// if the part has no modes.
///
/// # Errors
/// The errors of [`estimate`].
pub fn used_mode(spec: &EstimateSpec) -> Result<Option<String>> {
    let setting = EstimateSetting::new(spec)?;
    Ok(setting.compose(setting.used_bus())?.mode)
}

/// Checks that `part` has the read mode `mode`, and that `kind` has a choice of modes.
///
/// # Errors
/// A mode that the part does not have, and an operation without modes.
pub fn check_mode(part: &Part, kind: OperationKind, mode: &str) -> Result<()> {
    let modes = part.medium()?.modes();
    let name = &part.name;
    if modes.is_empty() {
        return Err(Error::design(format!("{name} has no modes, and so none called '{mode}'")));
    }
    if kind.writes() || kind == OperationKind::Erase {
        return Err(Error::design(format!(
            "mode {mode} is one of reading; {} has no choice",
            kind.name()
        )));
    }
    if modes.iter().any(|known| known == mode) { Ok(()) } else { Err(unknown_mode(mode, &modes)) }
}

/// The stages of an operation from the part to the application. `operation` is at the part's own
/// speed, and `driver_ns` its time through the driver.
fn stages(
    setting: &EstimateSetting,
    operation: &Operation,
    on_bus: &Operation,
    driver_ns: f64,
) -> Vec<Stage> {
    let bytes = operation.bytes();
    let rate = |ns: f64| if ns > 0.0 { bytes as f64 * NS_PER_S / ns } else { 0.0 };
    let composed = |kind: StageKind, ns: f64| Stage {
        kind,
        name: kind.name().to_owned(),
        ns,
        bytes_per_s: rate(ns),
        measured: false,
    };
    let mut stages = vec![composed(StageKind::Part, operation.ns())];
    if setting.host.bus.is_some() {
        stages.push(composed(StageKind::Bus, on_bus.ns()));
    }
    if setting.host.memory.is_some() {
        stages.push(composed(StageKind::Memory, on_bus.ns_with(setting.memory_byte_ns())));
    }
    if setting.host.software.is_some() || setting.host.operation_ns.is_some_and(|ns| ns > 0.0) {
        stages.push(composed(StageKind::Software, driver_ns));
    }
    if bytes > 0 {
        // A share refers to the driver's rate, which is the measured one if there is one.
        let measured = setting.host.layers.first().and_then(|layer| layer.bytes_per_s);
        let driver_rate = measured.unwrap_or(rate(driver_ns));
        stages.extend(setting.host.layers.iter().map(|layer| {
            let own = layer.share.map(|share| driver_rate * share);
            let bytes_per_s = layer.bytes_per_s.or(own).unwrap_or_default();
            Stage {
                kind: StageKind::Layer,
                name: layer.name.clone(),
                ns: bytes as f64 * NS_PER_S / bytes_per_s,
                bytes_per_s,
                measured: layer.bytes_per_s.is_some(),
            }
        }));
    }
    stages
}

/// The read of a page fault, if a cache page was named.
fn fault(setting: &EstimateSetting, spec: &EstimateSpec) -> Result<Option<Operation>> {
    let Some(bytes) = spec.cache_page_bytes else { return Ok(None) };
    power_of_two("cache page", bytes)?;
    let page = setting.part.flash_page_bytes();
    if page > 0 && bytes > page {
        return Err(Error::design(format!(
            "a cache page of {bytes} bytes is larger than the flash page of {page}"
        )));
    }
    let request = OperationRequest {
        kind: OperationKind::Read,
        bytes: Some(bytes.into()),
        ..setting.request(setting.used_bus())
    };
    Ok(Some(setting.part.medium()?.operation(&setting.part, &request)?))
}

/// A note on a divider that cannot make the clock that the part allows, or the driver wants.
fn divided(setting: &EstimateSetting) -> Option<String> {
    let (peripheral, bus) = (setting.host.peripheral?, setting.host.bus?);
    let medium = setting.part.medium().ok()?;
    let shortest = medium.shortest_access_ns(&setting.part, &setting.request(Some(bus))).ok()?;
    let wanted_mhz = peripheral.wanted_mhz(1e3 / shortest);
    let divider = peripheral.controller.map_or_else(String::new, |controller| {
        let source = controller.divider_range().source;
        format!(" ({controller}: {source})")
    });
    let slower = bus.access_ns() * wanted_mhz / 1e3;
    if let Some(more) = peripheral.asked_mhz.filter(|mhz| *mhz > wanted_mhz * (1.0 + 1e-9)) {
        return Some(format!(
            "{} MHz asked, {} MHz run: {} allows {} MHz here",
            four_decimals(more),
            four_decimals(bus.clock_mhz),
            setting.part.name,
            four_decimals(wanted_mhz)
        ));
    }
    let origin = if peripheral.asked_mhz.is_some() { "asked" } else { "allowed by the part" };
    (slower > 1.0 + 1e-9).then(|| {
        format!(
            "{} MHz {origin}, {} MHz run: the peripheral's clock of {} MHz, divided, gives {} by {} divisors{divider}, {:.0} % less",
            four_decimals(wanted_mhz),
            four_decimals(bus.clock_mhz),
            four_decimals(peripheral.clock_mhz),
            four_decimals(bus.clock_mhz),
            peripheral.divider(),
            100.0 * (1.0 - 1.0 / slower)
        )
    })
}

/// Notes for the reader of an estimate.
fn notes(setting: &EstimateSetting, spec: &EstimateSpec) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(setting.part.note.clone());
    notes.extend(divided(setting));
    if let (Some(bus), Some(used)) = (setting.host.bus, setting.used_bus())
        && bus.width_bits != used.width_bits
    {
        notes.push(format!(
            "the driver moves {} bits at a time over a bus of {}",
            used.width_bits, bus.width_bits
        ));
    }
    if spec.page_bytes.is_some() || spec.width_bits.is_some() {
        notes.push(format!("{} is not made so: this is a what-if", setting.part.name));
    }
    notes
}
