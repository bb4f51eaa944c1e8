//! How fast a medium is, and who eats the time: an operation of a part, and what bus,
//! RAM, driver and the layers above leave of it.
//!
//! The method is that of Hu, "Estimating Flash Media Performance For Embedded
//! Systems" (2010): cycles of the part are stretched to those of the host's bus;
//! access to RAM and the driver's instructions are added to each byte.

mod controller;
mod energy;
mod host;
mod hosts;
mod range;
mod remedies;
mod verdict;

use serde::{Deserialize, Serialize};

pub use controller::{Controller, Divider, DividerRange, Peripheral};
pub use energy::Energy;
pub use host::{
    Dma, Host, Layer, Memory, Processor, Software, check_array_share, check_layers,
    check_operation_ns,
};
pub use hosts::{MeasuredHost, System, TransferEngine, ValueRange, hosts};
pub use range::{AssumedValue, Range, UnknownParameter};
pub use remedies::{Remedy, RemedyKind};
pub use verdict::CostSource;

use crate::bus::Bus;
use crate::operation::{
    Operation, OperationKind, OperationRequest, StepKind, four_decimals, unknown_mode,
};
use crate::part::{self, MemoryKind, Part};
use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result, named};

const NS_PER_S: f64 = 1e9;
/// Largest transfer of one operation where the part sets no limit.
const MAX_BYTES: u64 = 1 << 30;

/// What is to be estimated, as a person writes it down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EstimateSpec {
    /// A part of the catalog, or a TOML file.
    pub part: String,
    /// The operation; the medium's first if absent.
    pub operation: Option<String>,
    /// Bytes over the bus; the medium's usual number if absent.
    pub bytes: Option<u64>,
    /// The way that data comes over the bus, as `1-1-4`.
    pub mode: Option<String>,
    /// Count the waits that the article leaves out, t_WB and t_ADL.
    #[serde(default)]
    pub waits: bool,
    /// Bytes of a cache page, for the energy of a page fault.
    pub cache_page_bytes: Option<u32>,
    /// What if the part had pages of this size, and spare in proportion.
    pub page_bytes: Option<u32>,
    /// What if part and bus had this many data lines.
    pub width_bits: Option<u32>,
    /// The host.
    #[serde(default)]
    pub host: Host,
    /// A source of measured hosts to leave out of what is assumed, as if it had not been
    /// published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
}

/// What stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StageKind {
    /// The part by itself.
    Part,
    /// The host's bus.
    Bus,
    /// RAM.
    Memory,
    /// The driver.
    Software,
    /// A layer above it.
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

/// What is left after one more thing in the way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// What it is.
    pub kind: StageKind,
    /// The layer's own name; of others the name of their kind.
    pub name: String,
    /// Time of the operation so far.
    pub ns: f64,
    /// Bytes over it, a second.
    pub bytes_per_s: f64,
    /// Whether somebody measured it; else it is composed.
    pub measured: bool,
}

/// What a byte takes in the driver's loop, without the array and the commands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ByteTime {
    /// On the part's own cycles.
    pub part_ns: f64,
    /// On the host's bus.
    pub bus_ns: f64,
    /// In RAM.
    pub memory_ns: f64,
    /// Instructions.
    pub software_ns: f64,
}

impl ByteTime {
    /// All but the part's own, which the bus's contains.
    pub fn ns(self) -> f64 {
        self.bus_ns + self.memory_ns + self.software_ns
    }
}

/// An estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Who takes most of the likely time, and what would change that, in words.
    pub verdict: String,
    /// The part, as it was asked for.
    pub part: String,
    /// Its name.
    pub name: String,
    /// What kind of memory it is.
    pub kind: MemoryKind,
    /// Which operation.
    #[serde(rename = "what")]
    pub operation_kind: OperationKind,
    /// What was asked, with the operation that was taken.
    pub spec: EstimateSpec,
    /// The operation at the part's own speed.
    pub operation: Operation,
    /// Its steps on the host's bus.
    pub on_bus: Operation,
    /// Bytes over the bus.
    pub bytes: u64,
    /// From the physical limit to the application, as far as it is known.
    pub stages: Vec<Stage>,
    /// What the operation takes with what is not known of the host.
    pub range: Range,
    /// Time of the operation through the driver when the medium is as slow as it was ever
    /// seen; absent where its times do not vary.
    pub longest_ns: Option<f64>,
    /// What each byte takes.
    pub byte: ByteTime,
    /// What it takes of the supply, if the part says.
    pub energy: Option<Energy>,
    /// What would make it faster, the best first.
    pub remedies: Vec<Remedy>,
    /// The clock of the bus, after dividers; absent if it is the part's.
    pub bus: Option<Bus>,
    /// Fields of the part that nobody checked.
    pub unverified: Vec<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// A part and a host, looked up and checked.
#[derive(Clone, Debug)]
struct EstimateSetting {
    part: Part,
    kind: OperationKind,
    bytes: Option<u64>,
    mode: Option<String>,
    waits: bool,
    host: Host,
}

impl EstimateSetting {
    fn new(spec: &EstimateSpec) -> Result<Self> {
        let mut part = part::find(&spec.part)?;
        spec.host.check()?;
        spec.without.as_deref().map_or(Ok(()), hosts::check_source)?;
        let mut host = spec.host.clone();
        if let Some(bytes) = spec.page_bytes {
            set_page(&mut part, bytes)?;
        }
        if let Some(bits) = spec.width_bits {
            set_width(&mut part, &mut host, bits)?;
        }
        let medium = part.medium()?;
        let kind = match &spec.operation {
            Some(name) => name.parse()?,
            None => medium.operations(&part).first().copied().unwrap_or(OperationKind::Read),
        };
        if let Some(bytes) = spec.bytes {
            let most = match part.whole_page_bytes() {
                0 => MAX_BYTES,
                page => page,
            };
            if !(1..=most).contains(&bytes) {
                return Err(Error::design(format!(
                    "{bytes} bytes are not between 1 and {most}, all that one operation of {} moves",
                    part.name
                )));
            }
        }
        let has_instructions = host.software.is_some_and(|software| software.instructions > 0.0);
        if has_instructions && host.processor.is_none() {
            return Err(Error::design(
                "the driver's instructions have no price without a processor: give its clock",
            ));
        }
        check_likeness(&part, &host)?;
        let setting = Self {
            part,
            kind,
            bytes: spec.bytes,
            mode: spec.mode.clone(),
            waits: spec.waits,
            host,
        };
        setting.check_mode()?;
        setting.with_divided_clock()?.with_bus_that_fits()
    }

    fn request(&self, bus: Option<Bus>) -> OperationRequest<'_> {
        let mode = self.mode.as_deref();
        OperationRequest { kind: self.kind, bytes: self.bytes, mode, bus, waits: self.waits }
    }

    /// A mode is one of reading, of a part that has several.
    fn check_mode(&self) -> Result<()> {
        let Some(mode) = &self.mode else { return Ok(()) };
        let modes = self.part.medium()?.modes();
        let name = &self.part.name;
        if modes.is_empty() {
            return Err(Error::design(format!("{name} has no modes, and so none called '{mode}'")));
        }
        if self.kind.writes() || self.kind == OperationKind::Erase {
            return Err(Error::design(format!(
                "mode {mode} is one of reading; {} has no choice",
                self.kind.name()
            )));
        }
        if modes.contains(mode) { Ok(()) } else { Err(unknown_mode(mode, &modes)) }
    }

    /// Ways to compose the operation if none is asked for.
    fn ways(&self) -> Result<Vec<Self>> {
        let reads = !self.kind.writes() && self.kind != OperationKind::Erase;
        let modes = self.part.medium()?.starting_modes();
        if self.mode.is_some() || !reads || modes.is_empty() {
            return Ok(vec![self.clone()]);
        }
        Ok(modes.into_iter().map(|mode| Self { mode: Some(mode), ..self.clone() }).collect())
    }

    /// The fastest of `ways`; the error of the first if none can be.
    fn fastest(ways: Vec<Result<Self>>) -> Result<Option<Self>> {
        let mut best: Option<(f64, Self)> = None;
        let mut refused = None;
        for way in ways {
            match way.and_then(|way| Ok((way.compose(way.host.bus)?.ns(), way))) {
                Ok((ns, way)) if best.as_ref().is_none_or(|(least, _)| ns < *least) => {
                    best = Some((ns, way));
                }
                Ok(_) => {}
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match (best, refused) {
            (None, Some(error)) => Err(error),
            (best, _) => Ok(best.map(|(_, way)| way)),
        }
    }

    /// With the bus that a divided clock gives, in the way that is fastest with it.
    fn with_divided_clock(self) -> Result<Self> {
        let Some(peripheral) = self.host.peripheral else { return Ok(self) };
        let lines = self.host.bus.map_or(self.part.width_bits.value, |bus| bus.width_bits);
        let divided = |mut way: Self| -> Result<Self> {
            let shortest = way.part.medium()?.shortest_access_ns(&way.part, &way.request(None))?;
            if let Some(controller) = peripheral.controller
                && way.part.spi.is_none()
                && way.part.sd.is_none()
            {
                return Err(Error::design(format!(
                    "{controller} clocks serial memory, and {} is parallel: give a bus, or a \
                     divider",
                    way.part.name
                )));
            }
            if shortest <= 0.0 {
                return Err(Error::design(format!(
                    "{} is on an address bus, which no peripheral clocks: give a bus",
                    way.part.name
                )));
            }
            let clock_mhz = peripheral.clock_up_to(1e3 / shortest)?;
            way.host.bus = Some(Bus { clock_mhz, cycles: 1, width_bits: lines });
            Ok(way)
        };
        let ways = self.ways()?.into_iter().map(divided).collect();
        Ok(Self::fastest(ways)?.unwrap_or(self))
    }

    /// In a way for which the bus is not too fast, if it is for the one that is usual.
    fn with_bus_that_fits(self) -> Result<Self> {
        let Err(refused) = self.check_bus() else { return Ok(self) };
        let fits = |way: &Self| way.check_bus().is_ok();
        let ways = self.ways()?.into_iter().filter(fits).map(Ok).collect();
        Self::fastest(ways)?.ok_or(refused)
    }

    /// A bus that the part cannot take would not work.
    fn check_bus(&self) -> Result<()> {
        let Some(bus) = self.host.bus else { return Ok(()) };
        self.part.check_lines(bus)?;
        self.part.check_clock(bus, &self.request(Some(bus)))
    }

    /// Fields that nobody checked and on which the operation's time or energy depends.
    fn unverified(&self) -> Vec<String> {
        self.part.unverified_in(|part| {
            let nudged = Self { part: part.clone(), ..self.clone() };
            let compose = |bus| nudged.compose(bus).ok();
            let on_bus = compose(self.used_bus());
            let energy = on_bus.as_ref().map(|on_bus| Energy::of(part, on_bus, None));
            (compose(None), on_bus, energy)
        })
    }

    /// The driver's loop, if it is what moves the data.
    fn moving_loop(&self) -> Option<Software> {
        self.host.software.filter(|_| self.host.dma.is_none())
    }

    /// The bus as it is used: no wider than the accesses of the loop that moves the data.
    fn used_bus(&self) -> Option<Bus> {
        let bus = self.host.bus?;
        let bits = self.moving_loop().map_or(u32::MAX, |software| 8 * software.access_bytes());
        let narrow = bits < bus.width_bits && bus.width_bits >= 8;
        Some(if narrow { Bus { width_bits: bits, ..bus } } else { bus })
    }

    fn compose(&self, bus: Option<Bus>) -> Result<Operation> {
        self.part.medium()?.operation(&self.part, &self.request(bus))
    }

    /// Bytes of one access to the data port.
    fn access_bytes(&self) -> f64 {
        match (self.moving_loop(), self.used_bus()) {
            (Some(software), _) => f64::from(software.access_bytes()),
            (None, Some(bus)) => bus.access_bytes().max(1.0),
            (None, None) => (f64::from(self.part.width_bits.value) / 8.0).max(1.0),
        }
    }

    fn memory_byte_ns(&self) -> f64 {
        let Some(memory) = self.host.memory else { return 0.0 };
        let by_loop = self.host.software.map_or(f64::INFINITY, |software| {
            software.memory_accesses() / f64::from(software.bytes)
        });
        let accesses_a_byte = match self.moving_loop() {
            Some(_) => by_loop,
            // DMA needs no more than a loop that packs.
            None => by_loop.min(1.0 / self.access_bytes()),
        };
        // A wide access to a narrow RAM takes several.
        let parts = (self.access_bytes() / memory.bus.access_bytes()).ceil().max(1.0);
        accesses_a_byte * parts * memory.bus.access_ns() / (1.0 - memory.refresh_share())
    }

    fn software_byte_ns(&self) -> f64 {
        let Some(software) = self.host.software else { return 0.0 };
        let instruction_ns = self.host.processor.map_or(0.0, Processor::instruction_ns);
        let device_ns =
            self.used_bus().filter(|bus| bus.width_bits >= 8).map_or(0.0, Bus::access_ns);
        let iteration =
            software.instructions * instruction_ns + software.other_device_accesses() * device_ns;
        self.dma_share() * iteration / f64::from(software.bytes)
    }

    fn dma_share(&self) -> f64 {
        self.host.dma.map_or(1.0, Dma::software_share)
    }

    /// Time of the operation through the driver.
    fn driver_ns(&self) -> Result<f64> {
        Ok(self.through_driver(&self.compose(self.used_bus())?))
    }

    fn through_driver(&self, on_bus: &Operation) -> f64 {
        let per_byte = self.memory_byte_ns() + self.software_byte_ns();
        on_bus.ns_with(per_byte) + self.host.operation_ns.unwrap_or(0.0)
    }

    /// Time of one more byte over a bus, in the mode in which `as_in` was composed.
    fn byte_ns(&self, bus: Option<Bus>, as_in: &Operation) -> Result<f64> {
        let mode = as_in.mode.as_deref();
        let mode = mode.filter(|_| !as_in.kind.writes() && as_in.kind != OperationKind::Erase);
        let moved = |bytes: u64| -> Result<(f64, u64)> {
            let request = OperationRequest { bytes: Some(bytes), mode, ..self.request(bus) };
            let operation = self.part.medium()?.operation(&self.part, &request)?;
            let moves = operation.steps.iter().filter(|step| step.kind == StepKind::Transfer);
            Ok((moves.map(|step| step.ns).sum(), operation.bytes()))
        };
        // Numbers of bytes that no width, block or read page rounds.
        let (less_ns, less) = moved(1 << 20)?;
        let (more_ns, more) = moved(1 << 21)?;
        Ok((more_ns - less_ns) / (more - less).max(1) as f64)
    }
}

/// A host that fetches in place has no pages to load, and a driver of pages has.
fn check_likeness(part: &Part, host: &Host) -> Result<()> {
    let pages = part.kind == MemoryKind::Nand;
    let how = if pages { "loads pages" } else { "is read in place or a card" };
    let like = host.like.as_deref().map(hosts::find).transpose()?;
    if let (Some(like), Some(system)) = (like, host.system)
        && like.system != system
    {
        return Err(Error::design(format!(
            "{} is {}, not {system}: give one of the two",
            like.name, like.system
        )));
    }
    if let Some(like) = like {
        check_same_medium(part, like)?;
        check_same_engine(host, like)?;
    }
    if let Some(like) = like
        && like.pages != pages
    {
        let other = if like.pages { "pages" } else { "memory read in place" };
        return Err(Error::design(format!(
            "{} was measured on {other}, and {} {how}: like which other host?",
            like.name, part.name
        )));
    }
    let system = host.system.or(like.map(|like| like.system));
    if host.copied
        && let Some(system @ (System::Linux | System::InPlace)) = system
    {
        let why = match system {
            System::Linux => "what a processor copies under linux is in its driver's time",
            _ => "nothing is copied where a controller fetches in place",
        };
        return Err(Error::design(format!("{why}: leave out that the processor moves the data")));
    }
    if host.system == Some(System::InPlace) && (pages || part.kind == MemoryKind::Card) {
        return Err(Error::design(format!(
            "{} cannot be fetched from in place: a driver is linux or firmware",
            part.name
        )));
    }
    Ok(())
}

/// A measured host tells of its own kind of medium.
fn check_same_medium(part: &Part, like: &MeasuredHost) -> Result<()> {
    if part.kind == MemoryKind::Card {
        return Err(Error::design(format!(
            "{} is a card, and no measured host has one: leave out that it is like {}",
            part.name, like.name
        )));
    }
    let serial = part.spi.is_some();
    if like.pages == (part.kind == MemoryKind::Nand) && like.serial != serial {
        let bus = |serial: bool| if serial { "serial" } else { "parallel" };
        return Err(Error::design(format!(
            "{} was measured on {} memory, and {} is {}: like which other host?",
            like.name,
            bus(like.serial),
            part.name,
            bus(serial)
        )));
    }
    Ok(())
}

/// What is said of the driver cannot be another than that of the host it is like.
fn check_same_engine(host: &Host, like: &MeasuredHost) -> Result<()> {
    let contradicts = |what: &str| {
        Err(Error::design(format!("{what}: leave that out, or say a host that it is like")))
    };
    if host.operation_ns.is_some() {
        return contradicts(&format!(
            "{} gives the time of an operation, and so does the driver's operation_ns",
            like.name
        ));
    }
    let by_dma = matches!(like.transfer, Some((TransferEngine::Dma, _)));
    if host.copied && (by_dma || like.byte_ns.is_some()) {
        return contradicts(&format!("the processor does not copy in {}", like.name));
    }
    if host.dma.is_some() && matches!(like.transfer, Some((TransferEngine::Processor, _))) {
        return contradicts(&format!("{} has no DMA", like.name));
    }
    Ok(())
}

/// What if the part had other pages.
fn set_page(part: &mut Part, bytes: u32) -> Result<()> {
    power_of_two("page", bytes)?;
    let Some(page) = part.page_bytes.as_mut() else {
        return Err(Error::design(format!("{} has no pages to change", part.name)));
    };
    if bytes > flashpager_base::sizes::MAX_FLASH_PAGE_BYTES {
        return Err(Error::design(format!("a page of {bytes} bytes is larger than 1 MiB")));
    }
    if let Some(spare) = part.spare_bytes.as_mut() {
        let scaled = u64::from(spare.value) * u64::from(bytes) / u64::from(page.value.max(1));
        spare.value = u32::try_from(scaled).unwrap_or(u32::MAX);
    }
    page.value = bytes;
    Ok(())
}

/// What if part, bus and driver moved this many bits at once.
fn set_width(part: &mut Part, host: &mut Host, bits: u32) -> Result<()> {
    if !crate::bus::WIDTHS.contains(&bits) {
        return Err(Error::design(format!(
            "{bits} data lines are not one of {:?}",
            crate::bus::WIDTHS
        )));
    }
    part.width_bits.value = bits;
    if let Some(bus) = host.bus.as_mut() {
        bus.width_bits = bits;
    }
    if let Some(software) = host.software.as_mut().filter(|_| bits >= 8) {
        *software = software.with_access_bytes(bits / 8);
    }
    Ok(())
}

/// Estimate one operation.
///
/// # Errors
/// Unknown parts and operations, numbers that the part lacks, hosts that cannot be.
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
        stages.push(composed(StageKind::Memory, on_bus.ns_with(byte.memory_ns)));
    }
    let driver_ns = setting.driver_ns()?;
    if setting.host.software.is_some() || setting.host.operation_ns.is_some_and(|ns| ns > 0.0) {
        stages.push(composed(StageKind::Software, driver_ns));
    }
    if bytes > 0 {
        // A share is one of the driver's rate: as measured, where it was.
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
    let likely = range::ResolvedSetting::likely(&setting, spec)?;
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
    };
    estimate.verdict = verdict::verdict(&estimate, &likely)?;
    Ok(estimate)
}

/// The read that a page fault makes, if a cache page was named.
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

/// What a divider makes of the clock that is asked of it.
fn divided(setting: &EstimateSetting) -> Option<String> {
    let (peripheral, bus) = (setting.host.peripheral?, setting.host.bus?);
    let medium = setting.part.medium().ok()?;
    let shortest = medium.shortest_access_ns(&setting.part, &setting.request(Some(bus))).ok()?;
    let asked = peripheral.wanted_mhz(1e3 / shortest);
    let by = peripheral.controller.map_or_else(String::new, |controller| {
        let source = controller.divider_range().source;
        format!(" ({controller}: {source})")
    });
    let slower = bus.access_ns() * asked / 1e3;
    if let Some(more) = peripheral.asked_mhz.filter(|mhz| *mhz > asked * (1.0 + 1e-9)) {
        return Some(format!(
            "{} MHz asked, {} MHz run: {} allows {} MHz here",
            four_decimals(more),
            four_decimals(bus.clock_mhz),
            setting.part.name,
            four_decimals(asked)
        ));
    }
    let who = if peripheral.asked_mhz.is_some() { "asked" } else { "allowed by the part" };
    (slower > 1.0 + 1e-9).then(|| {
        format!(
            "{} MHz {who}, {} MHz run: the peripheral's clock of {} MHz, divided, gives {} by {} divisors{by}, {:.0} % less",
            four_decimals(asked),
            four_decimals(bus.clock_mhz),
            four_decimals(peripheral.clock_mhz),
            four_decimals(bus.clock_mhz),
            peripheral.divider(),
            100.0 * (1.0 - 1.0 / slower)
        )
    })
}

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
