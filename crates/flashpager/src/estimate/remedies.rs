//! What would make an operation faster: the same estimate with one thing changed.

use serde::Serialize;

use super::{Dma, Host, Setting};
use crate::media::bus::Bus;
use crate::media::operation::{StepKind, What};

/// One thing changed, and how much faster the driver gets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remedy {
    /// Which: `bus`, `wider`, `lines`, `dma`, `memory`, `processor`, `array`,
    /// `cache-read`, `part-bus`.
    pub name: &'static str,
    /// What is changed, for a reader.
    pub change: String,
    /// Time of the operation now over that with the change; 1 if nothing is gained.
    pub speedup: f64,
}

/// All that apply, the best first.
pub(super) fn all(setting: &Setting, driver_ns: f64) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    let mut consider = |name: &'static str, change: String, changed: Setting| {
        if let Ok(ns) = changed.driver_ns()
            && ns > 0.0
        {
            remedies.push(Remedy { name, change, speedup: driver_ns / ns });
        }
    };
    let with_host = |change: &dyn Fn(&mut Host)| {
        let mut changed = setting.clone();
        change(&mut changed.host);
        changed
    };
    if let Some(bus) = setting.host.bus {
        let fast = own_bus(setting, bus);
        consider(
            "bus",
            "a bus as fast as the part".to_owned(),
            with_host(&|host| host.bus = fast.or(host.bus)),
        );
    }
    let width = setting.part.width_bits.value;
    let on_bus = setting.host.bus.map_or(width, |bus| bus.width_bits).min(width);
    if (8..16).contains(&on_bus) && setting.part.sdr.is_some() {
        let mut changed = setting.clone();
        if super::set_width(&mut changed.part, &mut changed.host, 16).is_ok() {
            consider("wider", "a 16-bit part".to_owned(), changed);
        }
    }
    if let Some(bus) = setting.host.bus.filter(|bus| bus.width_bits < width.min(8)) {
        let change = format!("all {width} data lines of the part");
        let wide = Bus { width_bits: width, ..bus };
        let mut changed = with_host(&|host| host.bus = Some(wide));
        changed.mode = None;
        consider("lines", change, changed);
    }
    if setting.host.dma.is_none() {
        let dma = Dma::default();
        consider("dma", "DMA".to_owned(), with_host(&|host| host.dma = Some(dma)));
    }
    if setting.host.memory.is_some() {
        let change = "RAM that costs nothing".to_owned();
        consider("memory", change, with_host(&|host| host.memory = None));
    }
    if let Some(processor) = setting.host.processor.filter(|_| setting.host.software.is_some()) {
        let change = format!("a processor of {} MHz", 2.0 * processor.clock_mhz);
        consider(
            "processor",
            change,
            with_host(&|host| {
                if let Some(processor) = host.processor.as_mut() {
                    processor.clock_mhz *= 2.0;
                }
            }),
        );
    }
    if setting.what == What::Read
        && let Ok(medium) = setting.part.medium()
        && medium.operations(&setting.part).contains(&What::CacheRead)
    {
        let changed = Setting { what: What::CacheRead, ..setting.clone() };
        consider("cache-read", "cache read, in a long sequential read".to_owned(), changed);
    }
    let mut quick = setting.clone();
    for time in [&mut quick.part.t_r_ns, &mut quick.part.t_prog_ns, &mut quick.part.t_bers_ns] {
        if let Some(time) = time.as_mut() {
            time.value /= 2.0;
        }
    }
    consider("array", "an array twice as fast".to_owned(), quick);
    if let Some(ns) = with_bus_twice_as_fast(setting) {
        let change = "a part whose bus is twice as fast".to_owned();
        remedies.push(Remedy { name: "part-bus", change, speedup: driver_ns / ns });
    }
    remedies.sort_by(|a, b| b.speedup.total_cmp(&a.speedup));
    remedies
}

/// Time of the operation if the part's cycles were half as long, where the host does not
/// stretch them.
fn with_bus_twice_as_fast(setting: &Setting) -> Option<f64> {
    let bus = setting.used_bus();
    let stretched = bus.is_some_and(|bus| {
        own_bus(setting, bus).is_none_or(|own| bus.access_ns() > own.access_ns() * (1.0 + 1e-9))
    });
    if stretched {
        return None;
    }
    let mut operation = setting.compose(bus).ok()?;
    for step in &mut operation.steps {
        if matches!(step.kind, StepKind::Command | StepKind::Transfer) {
            step.ns /= 2.0;
        }
    }
    Some(setting.through_driver(&operation))
}

/// The bus at the fastest access that the part allows.
fn own_bus(setting: &Setting, bus: Bus) -> Option<Bus> {
    let medium = setting.part.medium().ok()?;
    let shortest = medium.shortest_access_ns(&setting.part, &setting.ask(Some(bus))).ok()?;
    (shortest > 0.0).then(|| Bus { clock_mhz: 1e3 / shortest, cycles: 1, ..bus })
}
