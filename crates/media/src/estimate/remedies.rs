//! What would make an operation faster: the same estimate with one thing changed.

use flashpager_base::named;
use serde::Serialize;

use super::{Dma, Host, Processor, Setting, set_width};
use crate::bus::Bus;
use crate::operation::{StepKind, What};

/// One thing changed, and how much faster the driver gets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remedy {
    /// Which.
    pub change: Change,
    /// Its number: data lines, or MHz.
    pub to: Option<f64>,
    /// The mode, if that is changed.
    pub mode: Option<String>,
    /// Time of the operation now over that with the change; 1 if nothing is gained.
    pub speedup: f64,
}

/// What could be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// A bus as fast as the part.
    Bus,
    /// A part, a bus and a loop of twice the width.
    Wider,
    /// All data lines that the part has.
    Lines,
    /// The fastest mode instead of the one asked for.
    Mode,
    /// DMA, that halves the software.
    Dma,
    /// RAM that costs nothing.
    Memory,
    /// A processor twice as fast.
    Processor,
    /// The next page loaded behind the transfer of this one.
    CacheRead,
    /// A part whose cycles are half as long.
    PartBus,
    /// An array twice as fast.
    Array,
}

named! {
    Change: "unknown remedy",
    "bus" => Bus,
    "wider" => Wider,
    "lines" => Lines,
    "mode" => Mode,
    "dma" => Dma,
    "memory" => Memory,
    "processor" => Processor,
    "cache-read" => CacheRead,
    "part-bus" => PartBus,
    "array" => Array,
}

/// All that apply, the best first.
pub(super) fn all(setting: &Setting, driver_ns: f64) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    let mut add = |change: Change, to: Option<f64>, ns: Option<f64>| {
        if let Some(ns) = ns.filter(|ns| *ns > 0.0) {
            remedies.push(Remedy { change, to, mode: None, speedup: driver_ns / ns });
        }
    };
    let with_host = |change: &dyn Fn(&mut Host)| {
        let mut changed = setting.clone();
        change(&mut changed.host);
        changed.driver_ns().ok()
    };
    let Host { bus, processor, software, .. } = setting.host;
    if let Some(bus) = bus {
        let own = own_bus(setting, bus);
        add(Change::Bus, None, with_host(&|host| host.bus = own.or(host.bus)));
    }
    let width = setting.part.width_bits.value;
    let on_bus = bus.map_or(width, |bus| bus.width_bits).min(width);
    if width == 8 && on_bus == 8 && setting.part.sdr.is_some() {
        let mut changed = setting.clone();
        let wider = set_width(&mut changed.part, &mut changed.host, 16);
        add(Change::Wider, Some(16.0), wider.and_then(|()| changed.driver_ns()).ok());
    }
    if let Some(bus) = bus.filter(|bus| bus.width_bits < width) {
        let mut changed = Setting { mode: None, ..setting.clone() };
        changed.host.bus = Some(Bus { width_bits: width, ..bus });
        if let Some(software) = changed.host.software.as_mut().filter(|_| width >= 8) {
            *software = software.with_access_bytes(width / 8);
        }
        add(Change::Lines, Some(f64::from(width)), changed.driver_ns().ok());
    }
    if setting.host.dma.is_none() {
        add(Change::Dma, None, with_host(&|host| host.dma = Some(Dma::default())));
    }
    if setting.host.memory.is_some() {
        add(Change::Memory, None, with_host(&|host| host.memory = None));
    }
    if let Some(processor) = processor.filter(|_| software.is_some()) {
        let twice = Processor { clock_mhz: 2.0 * processor.clock_mhz, ..processor };
        let ns = with_host(&|host| host.processor = Some(twice));
        add(Change::Processor, Some(twice.clock_mhz), ns);
    }
    if setting.what == What::Read {
        let changed = Setting { what: What::CacheRead, ..setting.clone() };
        add(Change::CacheRead, None, changed.driver_ns().ok());
    }
    let halved = |kinds: &[StepKind]| {
        let operation = setting.compose(setting.used_bus()).ok()?;
        Some(setting.through_driver(&operation.scaled(kinds, 0.5)))
    };
    add(Change::Array, None, halved(&[StepKind::Busy, StepKind::Hidden]));
    if !is_stretched(setting) {
        add(Change::PartBus, None, halved(&[StepKind::Command, StepKind::Transfer]));
    }
    if setting.mode.is_some() && setting.what == What::Read {
        let asked = Setting { mode: None, ..setting.clone() };
        if let Ok(Some(best)) = asked.ways().and_then(|ways| {
            Setting::fastest(ways.into_iter().map(|way| way.check_bus().map(|()| way)).collect())
        }) && let Ok(ns) = best.driver_ns()
        {
            let speedup = driver_ns / ns;
            remedies.push(Remedy { change: Change::Mode, to: None, mode: best.mode, speedup });
        }
    }
    remedies.sort_by(|a, b| b.speedup.total_cmp(&a.speedup));
    remedies
}

/// Faster than any part.
const FASTEST_MHZ: f64 = 10_000.0;

/// Whether the host's accesses are longer than the part's.
fn is_stretched(setting: &Setting) -> bool {
    setting.used_bus().is_some_and(|bus| {
        own_bus(setting, bus).is_none_or(|own| bus.access_ns() > own.access_ns() * (1.0 + 1e-9))
    })
}

/// The bus at the fastest access that the part allows.
fn own_bus(setting: &Setting, bus: Bus) -> Option<Bus> {
    let medium = setting.part.medium().ok()?;
    let shortest = medium.shortest_access_ns(&setting.part, &setting.ask(Some(bus))).ok()?;
    // A part that makes the host wait is never too slow for a bus.
    let clock_mhz = if shortest > 0.0 { 1e3 / shortest } else { FASTEST_MHZ };
    Some(Bus { clock_mhz, cycles: 1, ..bus })
}
