//! Remedies: the same estimate with one thing changed.

use flashpager_base::{Result, named};
use serde::Serialize;

use super::host::{Host, Processor};
use super::setting::{EstimateSetting, EstimateSpec, set_width};
use super::unknown::ResolvedSetting;
use crate::bus::Bus;
use crate::operation::{OperationKind, StepKind};

/// One change, and the speedup it gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remedy {
    /// The kind of change.
    pub change: RemedyKind,
    /// The new number of data lines, or the new clock in MHz.
    pub to: Option<f64>,
    /// The new mode, if the mode changes.
    pub mode: Option<String>,
    /// The likely time of the operation now over that with the change; 1 if nothing is gained.
    pub speedup: f64,
}

/// The kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemedyKind {
    /// A bus as fast as the part.
    Bus,
    /// A part, a bus and a loop of twice the width.
    Wider,
    /// All data lines that the part has.
    Lines,
    /// The fastest mode instead of the named one.
    Mode,
    /// DMA, which halves the software.
    Dma,
    /// RAM that costs nothing.
    Memory,
    /// A processor twice as fast.
    Processor,
    /// The next page loaded during the transfer of this one.
    CacheRead,
    /// A part whose cycles are half as long.
    PartBus,
    /// An array twice as fast.
    Array,
}

named! {
    RemedyKind: "unknown remedy",
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

/// All remedies that apply at the likely point, the best first.
pub(super) fn all(likely: &ResolvedSetting, spec: &EstimateSpec) -> Result<Vec<Remedy>> {
    let now_ns = likely.ns()?;
    let setting = &likely.setting;
    let mut remedies = Vec::new();
    let mut add = |change: RemedyKind, to: Option<f64>, ns: Option<f64>| {
        if let Some(ns) = ns.filter(|ns| *ns > 0.0) {
            remedies.push(Remedy { change, to, mode: None, speedup: now_ns / ns });
        }
    };
    let with = |change: &dyn Fn(&mut EstimateSetting)| likely.with(change).ns().ok();
    let Host { bus, processor, software, .. } = setting.host;
    if let Some(bus) = bus {
        let own = own_bus(setting, bus);
        add(RemedyKind::Bus, None, with(&|changed| changed.host.bus = own.or(changed.host.bus)));
    }
    let width = setting.part.width_bits.value;
    let on_bus = bus.map_or(width, |bus| bus.width_bits).min(width);
    if width == 8 && on_bus == 8 && setting.part.sdr.is_some() {
        let mut changed = likely.clone();
        let wider = set_width(&mut changed.setting.part, &mut changed.setting.host, 16);
        add(RemedyKind::Wider, Some(16.0), wider.and_then(|()| changed.ns()).ok());
    }
    if let Some(bus) = bus.filter(|bus| bus.width_bits < width) {
        let all_lines = |changed: &mut EstimateSetting| {
            changed.mode = None;
            changed.host.bus = Some(Bus { width_bits: width, ..bus });
            if let Some(software) = changed.host.software.as_mut().filter(|_| width >= 8) {
                *software = software.with_access_bytes(width / 8);
            }
        };
        add(RemedyKind::Lines, Some(f64::from(width)), with(&all_lines));
    }
    if likely.is_copied() {
        add(RemedyKind::Dma, None, likely.with_dma(spec).and_then(|changed| changed.ns()).ok());
    }
    if setting.host.memory.is_some() {
        add(RemedyKind::Memory, None, with(&|changed| changed.host.memory = None));
    }
    if let Some(processor) = processor.filter(|_| software.is_some()) {
        let twice = Processor { clock_mhz: 2.0 * processor.clock_mhz, ..processor };
        let ns = with(&|changed| changed.host.processor = Some(twice));
        add(RemedyKind::Processor, Some(twice.clock_mhz), ns);
    }
    if setting.kind == OperationKind::Read {
        add(RemedyKind::CacheRead, None, with(&|changed| changed.kind = OperationKind::CacheRead));
    }
    let halved = |kinds: &[StepKind]| likely.ns_scaled(kinds, 0.5).ok();
    add(RemedyKind::Array, None, halved(&[StepKind::Busy, StepKind::Hidden]));
    if !is_stretched(setting) {
        add(RemedyKind::PartBus, None, halved(&[StepKind::Command, StepKind::Transfer]));
    }
    if setting.mode.is_some() && setting.kind == OperationKind::Read {
        let any_mode = EstimateSetting { mode: None, ..setting.clone() };
        if let Ok(Some(best)) = any_mode.in_each_mode().and_then(|ways| {
            EstimateSetting::fastest(
                ways.into_iter().map(|way| way.check_bus().map(|()| way)).collect(),
            )
        }) {
            let mode = best.mode.clone();
            let ns = likely.with(|changed| *changed = best).ns()?;
            remedies.push(Remedy {
                change: RemedyKind::Mode,
                to: None,
                mode,
                speedup: now_ns / ns,
            });
        }
    }
    remedies.sort_by(|a, b| b.speedup.total_cmp(&a.speedup));
    Ok(remedies)
}

/// A clock that is faster than any part, in MHz.
const FASTEST_MHZ: f64 = 10_000.0;

/// Returns whether the host's accesses are longer than the part's.
fn is_stretched(setting: &EstimateSetting) -> bool {
    setting.used_bus().is_some_and(|bus| {
        own_bus(setting, bus).is_none_or(|own| bus.access_ns() > own.access_ns() * (1.0 + 1e-9))
    })
}

/// The bus at the fastest access that the part allows.
fn own_bus(setting: &EstimateSetting, bus: Bus) -> Option<Bus> {
    let medium = setting.part.medium().ok()?;
    let shortest = medium.shortest_access_ns(&setting.part, &setting.request(Some(bus))).ok()?;
    // A part that makes the host wait suits any clock.
    let clock_mhz = if shortest > 0.0 { 1e3 / shortest } else { FASTEST_MHZ };
    Some(Bus { clock_mhz, cycles: 1, ..bus })
}
