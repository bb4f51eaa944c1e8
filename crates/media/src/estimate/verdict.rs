//! Who takes the time of an operation, and what would change that: as numbers, and in words.

use flashpager_base::{Result, named};
use serde::Serialize;

use super::range::ResolvedSetting;
use super::{Estimate, NS_PER_S, Remedy, RemedyKind, Stage, StageKind};
use crate::bus::Bus;
use crate::operation::{Operation, StepKind};
use crate::part::MemoryKind;

/// A remedy below this helps nobody.
const NOTABLE: f64 = 1.05;
/// Remedies that are named.
const NAMED: usize = 2;

/// Who takes time of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CostSource {
    /// The array, or a card's controller.
    Array,
    /// Command, address and status cycles, and waits.
    Commands,
    /// Data at the part's own pace.
    Transfer,
    /// A bus that is slower than the part.
    Bus,
    /// RAM.
    Memory,
    /// The driver.
    Software,
}

named! {
    CostSource: "unknown cost source",
    "array" => Array,
    "commands" => Commands,
    "transfer" => Transfer,
    "bus" => Bus,
    "memory" => Memory,
    "software" => Software,
}

impl Estimate {
    /// The stages below the layers: those that are composed of cycles and instructions.
    pub fn composed(&self) -> &[Stage] {
        let is_layer = |stage: &Stage| stage.kind == StageKind::Layer;
        let end = self.stages.iter().position(is_layer).unwrap_or(self.stages.len());
        &self.stages[..end]
    }

    /// The last of them: the operation through all that is known of the host.
    pub fn through_host(&self) -> Option<&Stage> {
        self.composed().last()
    }

    /// The time of the operation through the host, as far as it is known, by who takes it, in ns.
    pub fn shares(&self) -> Vec<(CostSource, f64)> {
        let source = |stage: &Stage| match stage.kind {
            StageKind::Bus => Some(CostSource::Bus),
            StageKind::Memory => Some(CostSource::Memory),
            StageKind::Software => Some(CostSource::Software),
            StageKind::Part | StageKind::Layer => None,
        };
        let cumulative =
            self.composed().iter().filter_map(|stage| Some((source(stage)?, stage.ns)));
        shares(&self.operation, cumulative)
    }
}

/// The time of an operation by who takes it: of the part alone, and then of each that comes
/// behind, `cumulative` which the time is given.
pub(super) fn shares(
    alone: &Operation,
    cumulative: impl IntoIterator<Item = (CostSource, f64)>,
) -> Vec<(CostSource, f64)> {
    let of = |kind| alone.time_of(kind);
    let (transfer, hidden) = (of(StepKind::Transfer), of(StepKind::Hidden));
    // Of array and transfer at the same time the longer one is waited for.
    let hides = transfer >= hidden;
    let array = of(StepKind::Busy) + if hides { 0.0 } else { hidden };
    let mut shares = vec![
        (CostSource::Array, array),
        (CostSource::Commands, of(StepKind::Command) + of(StepKind::Wait)),
        (CostSource::Transfer, if hides { transfer } else { 0.0 }),
    ];
    let mut below = alone.ns();
    for (source, ns) in cumulative {
        shares.push((source, ns - below));
        below = ns;
    }
    shares
}

/// Who takes most of the time of an operation at its likely point, and what would change that.
pub(super) fn verdict(found: &Estimate, likely: &ResolvedSetting) -> Result<String> {
    let mut words = vec![name_largest_cost(found, likely)?];
    let dma = found.remedies.iter().find(|remedy| remedy.change == RemedyKind::Dma);
    let is_useless = found.bytes > 0 && dma.is_some_and(|dma| dma.speedup < NOTABLE);
    if is_useless {
        words.push("DMA would not help".into());
    }
    words.extend(suggest_remedies(&found.remedies, is_useless));
    let through = found.bytes as f64 * NS_PER_S / likely.ns()?;
    if let Some(top) = found.stages.last().filter(|stage| stage.kind == StageKind::Layer) {
        let shared = likely.setting.host.layers.last().and_then(|layer| layer.share);
        let measured =
            likely.setting.host.layers.first().is_some_and(|it| it.bytes_per_s.is_some());
        let left = match shared {
            Some(share) if !measured => share,
            _ => top.bytes_per_s / through,
        };
        words.push(if left > 1.0 {
            format!("what was measured above is {left:.1}x what this driver could do")
        } else {
            format!("the layers above leave {:.0} % of what the driver could do", 100.0 * left)
        });
    }
    Ok(words.join("; "))
}

fn name_largest_cost(found: &Estimate, likely: &ResolvedSetting) -> Result<String> {
    let (setting, through_ns) = (&likely.setting, likely.ns()?);
    let mut shares = likely.shares()?;
    let (part_ns, bus_ns) = if found.bytes == 0 {
        (0.0, 0.0)
    } else {
        let alone = setting.compose(None)?;
        let on_bus = setting.compose(setting.used_bus())?;
        (setting.byte_ns(None, &alone)?, setting.byte_ns(setting.used_bus(), &on_bus)?)
    };
    let is_slower = bus_ns >= NOTABLE * part_ns;
    let transfer = shares.iter().position(|(source, _)| *source == CostSource::Transfer);
    let bus = shares.iter().position(|(source, ns)| *source == CostSource::Bus && *ns != 0.0);
    if let (Some(bus), Some(transfer), true) = (bus, transfer, is_slower) {
        // A slower bus is all that data waits for.
        shares[bus].1 += shares[transfer].1;
        shares.remove(transfer);
    }
    let mut most = (CostSource::Array, f64::NEG_INFINITY);
    for share in shares {
        if share.1 > most.1 {
            most = share;
        }
    }
    let (source, ns) = most;
    let who = cost_source_name(source, found, setting.host.bus);
    let mut says = format!("{who} takes {:.0} % of the time", 100.0 * ns / through_ns);
    if source == CostSource::Bus {
        let ratio = bus_ns / part_ns;
        says += &format!(", {ratio:.1}x what the part needs for a byte");
    }
    Ok(says)
}

fn cost_source_name(source: CostSource, found: &Estimate, bus: Option<Bus>) -> String {
    match (source, bus, found.spec.host.memory) {
        (CostSource::Array, ..) if found.kind == MemoryKind::Card => "the card itself".into(),
        (CostSource::Array, ..) => "the array".into(),
        (CostSource::Commands, ..) => "commanding the part".into(),
        (CostSource::Transfer, ..) => "the part's own bus".into(),
        (CostSource::Bus, Some(Bus { clock_mhz, cycles: 1, .. }), _) => {
            format!("the bus of {} MHz", six_digits(clock_mhz))
        }
        (CostSource::Bus, Some(bus), _) => format!("the {}-cycle bus", bus.cycles),
        (CostSource::Bus, None, _) => "the bus".into(),
        (CostSource::Memory, _, Some(memory)) => format!("RAM on {}", memory.bus),
        (CostSource::Memory, _, None) => "RAM".into(),
        (CostSource::Software, ..) => "the driver".into(),
    }
}

fn suggest_remedies(remedies: &[Remedy], is_without_dma: bool) -> Option<String> {
    let shown = |remedy: &Remedy| format!("{:.1}", remedy.speedup);
    let tenths = |remedy: &Remedy| shown(remedy).parse().unwrap_or(remedy.speedup);
    let mut helps: Vec<&Remedy> =
        remedies.iter().filter(|remedy| remedy.speedup >= NOTABLE).collect();
    // Of what helps alike, the easier.
    helps.sort_by(|a, b| {
        let (a_gain, b_gain): (f64, f64) = (tenths(a), tenths(b));
        b_gain.total_cmp(&a_gain).then(a.change.trouble().cmp(&b.change.trouble()))
    });
    let mut gains =
        helps.iter().take(NAMED).map(|remedy| (remedy.words(), format!("({}x)", shown(remedy))));
    let (first, much) = gains.next()?;
    let would = if is_without_dma { "would" } else { "would help" };
    let mut says = format!("{first} {would} {much}");
    for (other, much) in gains {
        says += &format!(" or {other} {much}");
    }
    Some(says)
}

impl RemedyKind {
    /// How much trouble the change is, compared with others: the easiest is 0.
    fn trouble(self) -> usize {
        const EASIEST_FIRST: &[RemedyKind] = &[
            RemedyKind::Dma,
            RemedyKind::Mode,
            RemedyKind::Lines,
            RemedyKind::Bus,
            RemedyKind::CacheRead,
            RemedyKind::Processor,
            RemedyKind::Memory,
            RemedyKind::Wider,
            RemedyKind::PartBus,
            RemedyKind::Array,
        ];
        let at = EASIEST_FIRST.iter().position(|change| *change == self);
        at.unwrap_or(EASIEST_FIRST.len())
    }
}

impl Remedy {
    /// The remedy as a part of a sentence.
    pub fn words(&self) -> String {
        let to = self.to.map_or_else(String::new, six_digits);
        let mode = self.mode.as_deref().unwrap_or_default();
        match self.change {
            RemedyKind::Dma => "DMA".into(),
            RemedyKind::Mode => format!("mode {mode}"),
            RemedyKind::Lines => format!("all {to} data lines of the part"),
            RemedyKind::Bus => "a bus as fast as the part".into(),
            RemedyKind::CacheRead => "cache read, in a long sequential read,".into(),
            RemedyKind::Processor => format!("a processor of {to} MHz"),
            RemedyKind::Memory => "RAM that costs nothing".into(),
            RemedyKind::Wider => format!("a {to}-bit part"),
            RemedyKind::PartBus => "a part whose bus is twice as fast".into(),
            RemedyKind::Array => "an array twice as fast".into(),
        }
    }
}

/// A number above 0 with six significant digits at most.
fn six_digits(number: f64) -> String {
    let before_point = number.log10().floor() as i32 + 1;
    let decimals = usize::try_from(6 - before_point).unwrap_or(0);
    let text = format!("{number:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}
