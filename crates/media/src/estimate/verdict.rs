//! The verdict of an estimate: the largest cost, and the changes that help, in words.

use flashpager_base::Result;

use super::numbers::NS_PER_S;
use super::remedies::{Remedy, RemedyKind};
use super::shares::CostSource;
use super::unknown::ResolvedSetting;
use super::{Estimate, StageKind};
use crate::bus::Bus;
use crate::part::MemoryKind;

/// The least speedup worth mentioning.
const NOTABLE: f64 = 1.05;
/// The most remedies that are named.
const NAMED: usize = 2;

/// Writes the verdict: the largest cost at the likely point, and the changes that would help.
pub(super) fn verdict(estimate: &Estimate, likely: &ResolvedSetting) -> Result<String> {
    let mut words = vec![name_largest_cost(estimate, likely)?];
    let dma = estimate.remedies.iter().find(|remedy| remedy.change == RemedyKind::Dma);
    let is_useless = estimate.bytes > 0 && dma.is_some_and(|dma| dma.speedup < NOTABLE);
    if is_useless {
        words.push("DMA would not help".into());
    }
    words.extend(suggest_remedies(&estimate.remedies, is_useless));
    let through = estimate.bytes as f64 * NS_PER_S / likely.ns()?;
    if let Some(top) = estimate.stages.last().filter(|stage| stage.kind == StageKind::Layer) {
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

/// The first clause: the largest cost and its share.
fn name_largest_cost(estimate: &Estimate, likely: &ResolvedSetting) -> Result<String> {
    let (setting, through_ns) = (&likely.setting, likely.ns()?);
    let mut shares = likely.shares()?;
    let (part_ns, bus_ns) = if estimate.bytes == 0 {
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
        // On a slower bus, data waits for nothing else.
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
    let cause = cost_source_name(source, estimate, setting.host.bus);
    let mut sentence = format!("{cause} takes {:.0} % of the time", 100.0 * ns / through_ns);
    if source == CostSource::Bus {
        let ratio = bus_ns / part_ns;
        sentence += &format!(", {ratio:.1}x what the part needs for a byte");
    }
    Ok(sentence)
}

/// A cost in words, with the numbers of the host.
fn cost_source_name(source: CostSource, estimate: &Estimate, bus: Option<Bus>) -> String {
    match (source, bus, estimate.spec.host.memory) {
        (CostSource::Array, ..) if estimate.kind == MemoryKind::Card => "the card itself".into(),
        (CostSource::Array, ..) => "the array".into(),
        (CostSource::Commands, ..) => "commanding the part".into(),
        (CostSource::Transfer, ..) => "the part's own bus".into(),
        (CostSource::Bus, Some(Bus { clock_mhz, cycles: 1, .. }), _) => {
            format!("the bus of {} MHz", six_digits(clock_mhz))
        }
        (CostSource::Bus, Some(bus), _) => format!("the {}-cycle bus", bus.cycles),
        (CostSource::Bus, None, _) => "the bus".into(),
        (CostSource::Controller, ..) => "the controller".into(),
        (CostSource::Memory, _, Some(memory)) => format!("RAM on {}", memory.bus),
        (CostSource::Memory, _, None) => "RAM".into(),
        (CostSource::Software, ..) => "the driver".into(),
    }
}

/// The clause that names the best remedies; `None` if none is worth mentioning.
fn suggest_remedies(remedies: &[Remedy], is_without_dma: bool) -> Option<String> {
    let shown = |remedy: &Remedy| format!("{:.1}", remedy.speedup);
    let tenths = |remedy: &Remedy| shown(remedy).parse().unwrap_or(remedy.speedup);
    let mut helps: Vec<&Remedy> =
        remedies.iter().filter(|remedy| remedy.speedup >= NOTABLE).collect();
    // Among equal gains, the easier change comes first.
    helps.sort_by(|a, b| {
        let (a_gain, b_gain): (f64, f64) = (tenths(a), tenths(b));
        b_gain.total_cmp(&a_gain).then(a.change.trouble().cmp(&b.change.trouble()))
    });
    let mut gains =
        helps.iter().take(NAMED).map(|remedy| (remedy.words(), format!("({}x)", shown(remedy))));
    let (first, much) = gains.next()?;
    let would = if is_without_dma { "would" } else { "would help" };
    let mut sentence = format!("{first} {would} {much}");
    for (other, much) in gains {
        sentence += &format!(" or {other} {much}");
    }
    Some(sentence)
}

impl RemedyKind {
    /// The rank of the change by effort: 0 for the easiest.
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
    /// The remedy as a phrase.
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

/// Formats a number above 0 with at most six significant digits.
fn six_digits(number: f64) -> String {
    let before_point = number.log10().floor() as i32 + 1;
    let decimals = usize::try_from(6 - before_point).unwrap_or(0);
    let text = format!("{number:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}
