//! An operation of a part on a host, looked up, checked and composed.

use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result};
use serde::{Deserialize, Serialize};

use super::check_mode;
use super::energy::Energy;
use super::host::{Dma, Host, Processor, Software};
use super::hosts::{self, MeasuredHost, System, TransferEngine};
use super::numbers::positive;
use crate::bus::Bus;
use crate::operation::{Operation, OperationKind, OperationRequest, StepKind};
use crate::part::{self, MemoryKind, Part};

/// Largest transfer of one operation where the part sets no limit.
const MAX_BYTES: u64 = 1 << 30;

/// The operation to estimate, as the user writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EstimateSpec {
    /// A part of the catalog, or a TOML file.
    pub part: String,
    /// The operation; the medium's first if absent.
    pub operation: Option<String>,
    /// Bytes over the bus; the usual number of the medium if absent.
    pub bytes: Option<u64>,
    /// The read mode, such as `1-1-4`; the fastest if absent.
    pub mode: Option<String>,
    /// True if the waits t_WB and t_ADL count, which the article leaves out.
    #[serde(default)]
    pub waits: bool,
    /// Bytes of a cache page, for the energy of a page fault.
    pub cache_page_bytes: Option<u32>,
    /// A what-if: the page size of the part, with spare in proportion.
    pub page_bytes: Option<u32>,
    /// A what-if: the data lines of part and bus.
    pub width_bits: Option<u32>,
    /// The host.
    #[serde(default)]
    pub host: Host,
    /// A source of measured hosts to ignore in assumptions, as if it had not been published. It
    /// serves to test the assumptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// A rate of this operation that was measured on the user's board; it narrows the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredRate>,
}

/// A rate that was measured on the user's board.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredRate {
    /// Bytes over the bus per second.
    pub bytes_per_s: f64,
    /// Bytes of the measured transaction; those of the estimated operation if absent.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// An operation of a part on a host, looked up and checked.
#[derive(Clone, Debug)]
pub(super) struct EstimateSetting {
    pub part: Part,
    pub kind: OperationKind,
    pub bytes: Option<u64>,
    pub mode: Option<String>,
    pub waits: bool,
    pub host: Host,
}

impl EstimateSetting {
    /// Looks up the part, applies the what-ifs, and checks everything.
    pub fn new(spec: &EstimateSpec) -> Result<Self> {
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
        if let Some(measured) = spec.measured {
            positive("the measured rate in bytes a second", measured.bytes_per_s, 1e15)?;
        }
        let measured_bytes = spec.measured.and_then(|measured| measured.bytes);
        for bytes in spec.bytes.into_iter().chain(measured_bytes) {
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

    /// The request for the operation over `bus`.
    pub fn request(&self, bus: Option<Bus>) -> OperationRequest<'_> {
        let mode = self.mode.as_deref();
        OperationRequest { kind: self.kind, bytes: self.bytes, mode, bus, waits: self.waits }
    }

    /// Checks that a mode is named only for a read, and that the part has it.
    fn check_mode(&self) -> Result<()> {
        self.mode.as_deref().map_or(Ok(()), |mode| check_mode(&self.part, self.kind, mode))
    }

    /// The setting in each mode that can start a read, if no mode is named; else itself.
    pub fn in_each_mode(&self) -> Result<Vec<Self>> {
        let reads = !self.kind.writes() && self.kind != OperationKind::Erase;
        let modes = self.part.medium()?.starting_modes();
        if self.mode.is_some() || !reads || modes.is_empty() {
            return Ok(vec![self.clone()]);
        }
        Ok(modes.into_iter().map(|mode| Self { mode: Some(mode), ..self.clone() }).collect())
    }

    /// The fastest of some settings that differ in mode; the first error if none is possible.
    pub fn fastest(settings: Vec<Result<Self>>) -> Result<Option<Self>> {
        let mut best: Option<(f64, Self)> = None;
        let mut refused = None;
        for setting in settings {
            match setting.and_then(|it| Ok((it.compose(it.host.bus)?.ns(), it))) {
                Ok((ns, setting)) if best.as_ref().is_none_or(|(least, _)| ns < *least) => {
                    best = Some((ns, setting));
                }
                Ok(_) => {}
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match (best, refused) {
            (None, Some(error)) => Err(error),
            (best, _) => Ok(best.map(|(_, setting)| setting)),
        }
    }

    /// The setting on the bus that a divided clock gives, in the mode that is fastest on it.
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
        let settings = self.in_each_mode()?.into_iter().map(divided).collect();
        Ok(Self::fastest(settings)?.unwrap_or(self))
    }

    /// The setting itself if its bus fits, else in the fastest mode for which the bus is not too
    /// fast.
    fn with_bus_that_fits(self) -> Result<Self> {
        let Err(refused) = self.check_bus() else { return Ok(self) };
        let fits = |way: &Self| way.check_bus().is_ok();
        let settings = self.in_each_mode()?.into_iter().filter(fits).map(Ok).collect();
        Self::fastest(settings)?.ok_or(refused)
    }

    /// Checks that the part works on the bus.
    pub fn check_bus(&self) -> Result<()> {
        let Some(bus) = self.host.bus else { return Ok(()) };
        self.part.check_lines(bus)?;
        self.part.check_clock(bus, &self.request(Some(bus)))
    }

    /// Unchecked fields on which the operation's time or energy depends.
    pub fn unverified(&self) -> Vec<String> {
        self.part.unverified_in(|part| {
            let nudged = Self { part: part.clone(), ..self.clone() };
            let compose = |bus| nudged.compose(bus).ok();
            let on_bus = compose(self.used_bus());
            let energy = on_bus.as_ref().map(|on_bus| Energy::of(part, on_bus, None));
            (compose(None), on_bus, energy)
        })
    }

    /// The driver's loop, if it moves the data and not DMA.
    pub fn moving_loop(&self) -> Option<Software> {
        self.host.software.filter(|_| self.host.dma.is_none())
    }

    /// The bus as it is used: no wider than the accesses of the loop that moves the data.
    pub fn used_bus(&self) -> Option<Bus> {
        let bus = self.host.bus?;
        let bits = self.moving_loop().map_or(u32::MAX, |software| 8 * software.access_bytes());
        let narrow = bits < bus.width_bits && bus.width_bits >= 8;
        Some(if narrow { Bus { width_bits: bits, ..bus } } else { bus })
    }

    /// Composes the operation over `bus`.
    pub fn compose(&self, bus: Option<Bus>) -> Result<Operation> {
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

    /// Time of RAM for each byte.
    pub fn memory_byte_ns(&self) -> f64 {
        let Some(memory) = self.host.memory else { return 0.0 };
        let by_loop = self.host.software.map_or(f64::INFINITY, |software| {
            software.memory_accesses() / f64::from(software.bytes)
        });
        let accesses_a_byte = match self.moving_loop() {
            Some(_) => by_loop,
            // DMA packs bytes into accesses as a good loop does.
            None => by_loop.min(1.0 / self.access_bytes()),
        };
        // A wide access to a narrow RAM is several accesses.
        let parts = (self.access_bytes() / memory.bus.access_bytes()).ceil().max(1.0);
        accesses_a_byte * parts * memory.bus.access_ns() / (1.0 - memory.refresh_share())
    }

    /// Time of the driver's loop for each byte.
    pub fn software_byte_ns(&self) -> f64 {
        let Some(software) = self.host.software else { return 0.0 };
        let instruction_ns = self.host.processor.map_or(0.0, Processor::instruction_ns);
        let device_ns =
            self.used_bus().filter(|bus| bus.width_bits >= 8).map_or(0.0, Bus::access_ns);
        let iteration =
            software.instructions * instruction_ns + software.other_device_accesses() * device_ns;
        self.dma_share() * iteration / f64::from(software.bytes)
    }

    /// The share of the loop's time that remains with DMA.
    fn dma_share(&self) -> f64 {
        self.host.dma.map_or(1.0, Dma::software_share)
    }

    /// Time of the operation through the driver.
    pub fn driver_ns(&self) -> Result<f64> {
        Ok(self.through_driver(&self.compose(self.used_bus())?))
    }

    /// Time of an operation composed over the bus, with RAM and driver.
    fn through_driver(&self, on_bus: &Operation) -> f64 {
        let per_byte = self.memory_byte_ns() + self.software_byte_ns();
        on_bus.ns_with(per_byte) + self.host.operation_ns.unwrap_or(0.0)
    }

    /// Time of one more byte over a bus, in the mode of the operation `like`.
    pub fn byte_ns(&self, bus: Option<Bus>, like: &Operation) -> Result<f64> {
        let mode = like.mode.as_deref();
        let mode = mode.filter(|_| !like.kind.writes() && like.kind != OperationKind::Erase);
        let moved = |bytes: u64| -> Result<(f64, u64)> {
            let request = OperationRequest { bytes: Some(bytes), mode, ..self.request(bus) };
            let operation = self.part.medium()?.operation(&self.part, &request)?;
            let moves = operation.steps.iter().filter(|step| step.kind == StepKind::Transfer);
            Ok((moves.map(|step| step.ns).sum(), operation.bytes()))
        };
        // Numbers of bytes that are multiples of any width, block or read page.
        let (less_ns, less) = moved(1 << 20)?;
        let (more_ns, more) = moved(1 << 21)?;
        Ok((more_ns - less_ns) / (more - less).max(1) as f64)
    }
}

/// Checks that the measured host and the system of a host suit the part.
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

/// Checks that a measured host has the same kind of medium.
fn check_same_medium(part: &Part, like: &MeasuredHost) -> Result<()> {
    let is_card = part.kind == MemoryKind::Card;
    if is_card != like.card {
        let medium = |card: bool| if card { "a card" } else { "no card" };
        return Err(Error::design(format!(
            "{} is {}, and {} was measured with {}: like which other host?",
            part.name,
            medium(is_card),
            like.name,
            medium(like.card)
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

/// Checks that nothing stated of the driver contradicts the measured host it is like.
fn check_same_engine(host: &Host, like: &MeasuredHost) -> Result<()> {
    let contradicts = |message: &str| {
        Err(Error::design(format!("{message}: leave that out, or say a host that it is like")))
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

/// Gives the part pages of `bytes`, and spare in proportion.
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

/// Makes part, bus and driver move `bits` at once.
pub(super) fn set_width(part: &mut Part, host: &mut Host, bits: u32) -> Result<()> {
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
