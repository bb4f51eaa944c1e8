//! Who takes the time of an operation, and what would change that: as numbers, and in words.

use flashpager_base::named;
use serde::Serialize;

use super::{Change, Estimate, Remedy, Stage, StageKind};
use crate::bus::Bus;
use crate::operation::StepKind;
use crate::part::Kind;

/// A remedy below this helps nobody.
const NOTABLE: f64 = 1.05;
/// Remedies that are named.
const NAMED: usize = 2;

/// Who takes time of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Taker {
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
    Taker: "unknown taker of time",
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

    /// The time of the operation through the host by who takes it, in ns.
    pub fn shares(&self) -> Vec<(Taker, f64)> {
        let of = |kind| self.operation.time_of(kind);
        let (transfer, hidden) = (of(StepKind::Transfer), of(StepKind::Hidden));
        // Of array and transfer at the same time the longer one is waited for.
        let hides = transfer >= hidden;
        let array = of(StepKind::Busy) + if hides { 0.0 } else { hidden };
        let mut shares = vec![
            (Taker::Array, array),
            (Taker::Commands, of(StepKind::Command) + of(StepKind::Wait)),
            (Taker::Transfer, if hides { transfer } else { 0.0 }),
        ];
        let mut below = None;
        for stage in self.composed() {
            let taker = match stage.kind {
                StageKind::Bus => Some(Taker::Bus),
                StageKind::Memory => Some(Taker::Memory),
                StageKind::Software => Some(Taker::Software),
                StageKind::Part | StageKind::Layer => None,
            };
            if let (Some(taker), Some(below)) = (taker, below) {
                shares.push((taker, stage.ns - below));
            }
            below = Some(stage.ns);
        }
        shares
    }
}

/// Who takes most of the time of an operation, and what would change that.
pub(super) fn of(found: &Estimate) -> String {
    let Some(through) = found.through_host() else { return String::new() };
    let mut words = vec![says_who(found, through)];
    let dma = found.remedies.iter().find(|remedy| remedy.change == Change::Dma);
    let is_useless = found.bytes > 0 && dma.is_some_and(|dma| dma.speedup < NOTABLE);
    if is_useless {
        words.push("DMA would not help".into());
    }
    words.extend(says_what_helps(&found.remedies, is_useless));
    if let Some(top) = found.stages.last().filter(|stage| stage.kind == StageKind::Layer) {
        let left = top.bytes_per_s / through.bytes_per_s;
        words.push(if left > 1.0 {
            format!("what was measured above is {left:.1}x what this driver could do")
        } else {
            format!("the layers above leave {:.0} % of what the driver could do", 100.0 * left)
        });
    }
    words.join("; ")
}

fn says_who(found: &Estimate, through: &Stage) -> String {
    let mut shares = found.shares();
    let byte = found.byte;
    let is_slower = byte.bus_ns >= NOTABLE * byte.part_ns;
    let transfer = shares.iter().position(|(taker, _)| *taker == Taker::Transfer);
    let bus = shares.iter().position(|(taker, ns)| *taker == Taker::Bus && *ns != 0.0);
    if let (Some(bus), Some(transfer), true) = (bus, transfer, is_slower) {
        // A slower bus is all that data waits for.
        shares[bus].1 += shares[transfer].1;
        shares.remove(transfer);
    }
    let mut most = (Taker::Array, f64::NEG_INFINITY);
    for share in shares {
        if share.1 > most.1 {
            most = share;
        }
    }
    let (taker, ns) = most;
    let who = name(taker, found);
    let mut says = format!("{who} takes {:.0} % of the time", 100.0 * ns / through.ns);
    if taker == Taker::Bus {
        let ratio = byte.bus_ns / byte.part_ns;
        says += &format!(", {ratio:.1}x what the part needs for a byte");
    }
    says
}

fn name(taker: Taker, found: &Estimate) -> String {
    match (taker, found.bus, found.spec.host.memory) {
        (Taker::Array, ..) if found.kind == Kind::Card => "the card itself".into(),
        (Taker::Array, ..) => "the array".into(),
        (Taker::Commands, ..) => "commanding the part".into(),
        (Taker::Transfer, ..) => "the part's own bus".into(),
        (Taker::Bus, Some(Bus { clock_mhz, cycles: 1, .. }), _) => {
            format!("the bus of {} MHz", six_digits(clock_mhz))
        }
        (Taker::Bus, Some(bus), _) => format!("the {}-cycle bus", bus.cycles),
        (Taker::Bus, None, _) => "the bus".into(),
        (Taker::Memory, _, Some(memory)) => format!("RAM on {}", memory.bus),
        (Taker::Memory, _, None) => "RAM".into(),
        (Taker::Software, ..) => "the driver".into(),
    }
}

fn says_what_helps(remedies: &[Remedy], is_without_dma: bool) -> Option<String> {
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

impl Change {
    /// How much trouble the change is, compared with others: the easiest is 0.
    fn trouble(self) -> usize {
        const EASIEST_FIRST: &[Change] = &[
            Change::Dma,
            Change::Mode,
            Change::Lines,
            Change::Bus,
            Change::CacheRead,
            Change::Processor,
            Change::Memory,
            Change::Wider,
            Change::PartBus,
            Change::Array,
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
            Change::Dma => "DMA".into(),
            Change::Mode => format!("mode {mode}"),
            Change::Lines => format!("all {to} data lines of the part"),
            Change::Bus => "a bus as fast as the part".into(),
            Change::CacheRead => "cache read, in a long sequential read,".into(),
            Change::Processor => format!("a processor of {to} MHz"),
            Change::Memory => "RAM that costs nothing".into(),
            Change::Wider => format!("a {to}-bit part"),
            Change::PartBus => "a part whose bus is twice as fast".into(),
            Change::Array => "an array twice as fast".into(),
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
