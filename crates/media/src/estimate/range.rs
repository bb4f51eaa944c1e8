//! What an operation takes on a host of which not all is known: from its best to its worst.

use flashpager_base::{Result, named};
use serde::Serialize;

use super::hosts::{
    self, ERASE_SHARE, Extent, FASTEST_MHZ, Fitted, MeasuredHost, Mover, PROGRAM_SHARE,
    SLOWEST_MHZ, System,
};
use super::{Dma, EstimateSpec, Host, NS_PER_S, Setting, Taker, short};
use crate::bus::Bus;
use crate::operation::{Operation, StepKind, What};
use crate::part::{Kind, Part};

/// Something that nobody said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// The bus's clock.
    Clock,
    /// The bus's data lines.
    Lines,
    /// What an operation takes besides: controller, driver, ECC, waiting.
    Operation,
    /// Who moves the bytes, and at which pace.
    Mover,
    /// The chip's array, of which a datasheet states the most.
    Array,
}

named! {
    Unknown: "unknown unknown",
    "clock" => Clock,
    "lines" => Lines,
    "operation" => Operation,
    "mover" => Mover,
    "array" => Array,
}

/// What was taken for something that nobody said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Assumed {
    /// What.
    pub what: Unknown,
    /// Its unit.
    pub unit: &'static str,
    /// Where the operation is fastest, most likely, and slowest.
    pub span: Extent,
    /// Where that is from.
    pub source: String,
    /// What to say, so that it is known.
    pub say: String,
    /// By how much the range gets narrower if it were known to be what is likely: the ratio of its
    /// ends now over that then.
    pub narrows: f64,
}

/// What an operation takes through the driver.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Range {
    /// If all that is unknown is at its best.
    pub low_ns: f64,
    /// If it is as likely.
    pub likely_ns: f64,
    /// If it is at its worst.
    pub high_ns: f64,
    /// Bytes a second at the worst.
    pub low_bytes_per_s: f64,
    /// Bytes a second, likely.
    pub likely_bytes_per_s: f64,
    /// Bytes a second at the best.
    pub high_bytes_per_s: f64,
    /// What is unknown, that first which would narrow the range most; empty where all is known,
    /// and then the three are one.
    pub assumed: Vec<Assumed>,
}

impl Range {
    /// The ratio of its ends; 1 where all is known.
    pub fn width(&self) -> f64 {
        if self.low_ns > 0.0 { self.high_ns / self.low_ns } else { 1.0 }
    }
}

/// The end of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Best,
    Likely,
    Worst,
}

impl Extent {
    fn at(self, end: End) -> f64 {
        match end {
            End::Best => self.best,
            End::Likely => self.likely,
            End::Worst => self.worst,
        }
    }

    fn scaled(self, by: Self) -> Self {
        Self {
            best: self.best * by.best,
            likely: self.likely * by.likely,
            worst: self.worst * by.worst,
        }
    }

    fn same(value: f64) -> Self {
        Self { best: value, likely: value, worst: value }
    }
}

/// ns of a byte at each end of what moves it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moves {
    /// The bus alone counts.
    Free,
    Dma(f64),
    Processor(f64),
    /// Whichever is slower.
    Slower(f64, f64),
}

/// A setting of which all is said that can be, with what moves its bytes.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    pub setting: Setting,
    moves: Moves,
}

impl Settled {
    /// The likely point of a setting.
    pub fn likely(setting: &Setting, spec: &EstimateSpec) -> Result<Self> {
        Open::of(setting, spec)?.settled(|_| End::Likely)
    }

    /// Time of the operation.
    pub fn ns(&self) -> Result<f64> {
        self.ns_scaled(&[], 1.0)
    }

    /// The same with steps of some kinds at a share of their time.
    pub fn ns_scaled(&self, kinds: &[StepKind], share: f64) -> Result<f64> {
        let setting = &self.setting;
        let operation = self.composed(setting.used_bus())?.scaled(kinds, share);
        let bytes = operation.bytes() as f64;
        let transfer = operation.time_of(StepKind::Transfer);
        let moved = match self.moves {
            Moves::Free => transfer,
            Moves::Dma(ns) => transfer.max(bytes * ns),
            Moves::Processor(ns) => transfer + bytes * ns,
            Moves::Slower(dma, processor) => (bytes * dma).max(transfer + bytes * processor),
        };
        let per_byte = setting.memory_byte_ns() + setting.software_byte_ns();
        let of = |kind| operation.time_of(kind);
        Ok(of(StepKind::Command)
            + of(StepKind::Wait)
            + of(StepKind::Busy)
            + (moved + bytes * per_byte).max(of(StepKind::Hidden))
            + setting.host.operation_ns.unwrap_or(0.0))
    }

    /// The operation on a bus, its array at the share that is taken.
    fn composed(&self, bus: Option<Bus>) -> Result<Operation> {
        let share = self.setting.host.array_share.unwrap_or(1.0);
        Ok(self.setting.compose(bus)?.scaled(&[StepKind::Busy, StepKind::Hidden], share))
    }

    /// Who takes how many ns of it.
    pub fn shares(&self) -> Result<Vec<(Taker, f64)>> {
        let (setting, alone) = (&self.setting, self.composed(None)?);
        let on_bus = self.composed(setting.used_bus())?;
        let upto = [
            (Taker::Bus, on_bus.ns()),
            (Taker::Memory, on_bus.ns_with(setting.memory_byte_ns())),
            (Taker::Software, self.ns()?),
        ];
        Ok(super::verdict::shares(&alone, upto))
    }

    /// Whether the processor moves the bytes, by a loop that is known or by one that is not.
    pub fn is_copied(&self) -> bool {
        self.setting.moving_loop().is_some() || matches!(self.moves, Moves::Processor(_))
    }

    /// The same with DMA, as it likely is.
    pub fn with_dma(&self, spec: &EstimateSpec) -> Result<Self> {
        let mut setting = self.setting.clone();
        let like = setting.host.like.take().map(|name| hosts::find(&name)).transpose()?;
        let system = setting.host.system.or(like.map(|like| like.system));
        let host = Host { dma: Some(Dma::default()), copied: false, ..setting.host };
        let setting = Setting { host, ..setting };
        let mover = mover(&setting, system, None, spec.without.as_deref());
        Ok(Self { moves: moves(mover.as_ref(), End::Likely), setting })
    }

    /// The same with something of the setting changed that leaves the mover as it is.
    pub fn with(&self, change: impl FnOnce(&mut Setting)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.setting);
        changed
    }
}

/// What moves the bytes, at an end.
fn moves(mover: Option<&Movers>, end: End) -> Moves {
    match mover {
        Some((Some(dma), None, _)) => Moves::Dma(dma.at(end)),
        Some((None, Some(processor), _)) => Moves::Processor(processor.at(end)),
        Some((Some(dma), Some(processor), _)) => match end {
            End::Best => Moves::Dma(dma.best),
            End::Likely => Moves::Dma(dma.likely),
            End::Worst => Moves::Slower(dma.worst, processor.worst),
        },
        None | Some((None, None, _)) => Moves::Free,
    }
}

/// What a source says of an array time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    /// As it mostly is; the longest is longer.
    Typical,
    /// The most, or what was measured: no longer.
    Most,
}

impl Basis {
    /// Of a time by the word in its source.
    fn of(source: &str) -> Self {
        let says = |word| source.contains(word);
        if says("maximum") || says("measure") { Self::Most } else { Self::Typical }
    }
}

/// What the array may take of the time that a part states.
fn array_share(part: &Part, what: What, without: Option<&str>) -> Extent {
    let (field, typical) = match what {
        What::Program | What::MultiPlaneProgram => (&part.t_prog_ns, PROGRAM_SHARE),
        What::Erase => (&part.t_bers_ns, ERASE_SHARE),
        _ => return hosts::read_share(without),
    };
    match field.as_ref().map_or(Basis::Typical, |field| Basis::of(&field.source)) {
        Basis::Typical => typical,
        Basis::Most => Extent { worst: 1.0, ..typical },
    }
}

/// What is not known in a setting.
struct Open<'a> {
    setting: &'a Setting,
    clock: Option<(Extent, usize)>,
    lines: Option<Extent>,
    operation: Option<(Extent, String)>,
    /// ns of a byte by DMA, and by the processor; of a mover that is known the one alone.
    mover: Option<Movers>,
    array: Option<Extent>,
}

/// The range of a setting.
pub(super) fn of(setting: &Setting, spec: &EstimateSpec) -> Result<Range> {
    let open = Open::of(setting, spec)?;
    let bytes = setting.compose(setting.used_bus())?.bytes() as f64;
    let [low_ns, likely_ns, high_ns] = open.ends(None)?;
    let rate = |ns: f64| if ns > 0.0 { bytes * NS_PER_S / ns } else { 0.0 };
    let mut assumed = open.assumed();
    for one in &mut assumed {
        let [low, _, high] = open.ends(Some(one.what))?;
        one.narrows = (high_ns / low_ns) / (high / low);
    }
    assumed.sort_by(|a, b| b.narrows.total_cmp(&a.narrows));
    Ok(Range {
        low_ns,
        likely_ns,
        high_ns,
        low_bytes_per_s: rate(high_ns),
        likely_bytes_per_s: rate(likely_ns),
        high_bytes_per_s: rate(low_ns),
        assumed,
    })
}

impl<'a> Open<'a> {
    fn of(setting: &'a Setting, spec: &EstimateSpec) -> Result<Self> {
        let host = &setting.host;
        let none =
            Self { setting, clock: None, lines: None, operation: None, mover: None, array: None };
        // What was measured through the driver is no longer unknown.
        if host.layers.first().is_some_and(|layer| layer.bytes_per_s.is_some()) {
            return Ok(none);
        }
        let without = spec.without.as_deref();
        let like = host.like.as_deref().map(hosts::find).transpose()?;
        let system = host.system.or(like.map(|like| like.system));
        let whole = setting.compose(setting.used_bus())?;
        let moves = whole.bytes() > 0;
        let card = setting.part.kind == Kind::Card;
        let is_serial = setting.part.spi.is_some() || setting.part.sd.is_some();
        let is_clocked = {
            let medium = setting.part.medium()?;
            medium.shortest_access_ns(&setting.part, &setting.ask(host.bus))? > 0.0
        };
        let has_bus = host.bus.is_some();
        let lines = is_serial && moves && !has_bus && setting.mode.is_none();
        let one = setting.ways()?.iter().any(|way| way.compose(Some(SLOW_LINE)).is_ok());
        let own = f64::from(setting.part.width_bits.value);
        let array = whole
            .steps
            .iter()
            .any(|step| matches!(step.kind, StepKind::Busy | StepKind::Hidden) && step.ns > 0.0);
        let share = array_share(&setting.part, setting.what, without);
        Ok(Self {
            clock: (!has_bus && is_clocked).then(|| Fitted::Clock.expected(without)),
            lines: (lines && one && own > 1.0).then_some(Extent {
                best: own,
                likely: own,
                worst: 1.0,
            }),
            operation: operation(setting, system, like, without),
            mover: if moves { mover(setting, system, like, without) } else { None },
            array: (array && !card && host.array_share.is_none()).then_some(share),
            ..none
        })
    }

    /// What it takes at the ends; `known` is taken for what is likely at all of them.
    fn ends(&self, known: Option<Unknown>) -> Result<[f64; 3]> {
        let measured = self.setting.host.layers.first().and_then(|layer| layer.bytes_per_s);
        if let Some(rate) = measured {
            let bytes = self.setting.compose(self.setting.used_bus())?.bytes() as f64;
            return Ok([bytes * NS_PER_S / rate; 3]);
        }
        let mut ends = [0.0; 3];
        for (ns, end) in ends.iter_mut().zip([End::Best, End::Likely, End::Worst]) {
            let at = |what| if known == Some(what) { End::Likely } else { end };
            *ns = self.settled(at)?.ns()?;
        }
        Ok(ends)
    }

    /// The setting with what is unknown at the ends that `end` gives.
    fn settled(&self, end: impl Fn(Unknown) -> End) -> Result<Settled> {
        let mut setting = self.setting.clone();
        if self.clock.is_some() || self.lines.is_some() {
            let own = f64::from(setting.part.width_bits.value);
            let lines = self.lines.map_or(own, |span| span.at(end(Unknown::Lines)));
            let share = self.clock.as_ref().map_or(1.0, |(span, _)| span.at(end(Unknown::Clock)));
            setting = clocked(&setting, lines as u32, share)?;
        }
        if let Some(span) = self.array {
            setting.host.array_share = Some(span.at(end(Unknown::Array)));
        }
        if let Some((span, _)) = &self.operation {
            setting.host.operation_ns = Some(span.at(end(Unknown::Operation)));
        }
        Ok(Settled { moves: moves(self.mover.as_ref(), end(Unknown::Mover)), setting })
    }

    fn assumed(&self) -> Vec<Assumed> {
        let mut all = Vec::new();
        let mut add = |what, unit, span, source: String, say: &str| {
            all.push(Assumed { what, unit, span, source, say: say.into(), narrows: 1.0 });
        };
        if let Some((span, count)) = &self.clock {
            let own = self.own_mhz();
            let source =
                format!("shares of the part's own {} MHz that {count} hosts ran", short(own));
            let say = "--bus, or --peripheral with --controller and --asked";
            add(Unknown::Clock, "MHz", span.scaled(Extent::same(own)), source, say);
        }
        if let Some(span) = self.lines {
            let source = "all that the part has, or one".into();
            add(Unknown::Lines, "lines", span, source, "--bus, as 50MHz-x1, or --mode");
        }
        if let Some((span, source)) = &self.operation {
            let host = &self.setting.host;
            let say = match host.system {
                _ if host.like.is_some() => "--operation-time as measured instead of --like",
                Some(System::Linux) if host.processor.is_none() => {
                    "--operation-time as measured, --like a measured host, or --processor"
                }
                Some(_) => "--operation-time as measured, or --like a measured host",
                None => "--operation-time as measured, --like a measured host, or --system",
            };
            add(Unknown::Operation, "ns", *span, source.clone(), say);
        }
        if let Some((dma, processor, source)) = &self.mover {
            let span = match (dma, processor) {
                (Some(dma), Some(processor)) => {
                    Extent { worst: processor.worst.max(dma.worst), ..*dma }
                }
                (Some(one), None) | (None, Some(one)) => *one,
                (None, None) => Extent::same(0.0),
            };
            let host = &self.setting.host;
            let mut say = Vec::new();
            if dma.is_some() && processor.is_some() {
                say.push("--dma or --no-dma");
            }
            if host.processor.is_none() {
                say.push("--processor");
            }
            say.push("--instructions or --driver");
            add(Unknown::Mover, "ns a byte", span, source.clone(), &say.join(", "));
        }
        if let Some(span) = self.array {
            let source = match self.setting.what {
                What::Program | What::MultiPlaneProgram | What::Erase if span.worst > 1.0 => {
                    "typical and longest times of the flash-media article's chip"
                }
                What::Program | What::MultiPlaneProgram | What::Erase => {
                    "the part states the most, or what was measured"
                }
                _ => "50 of 60 µs measured of a W25N01GV; the datasheet's is the most",
            };
            let say = "--array-share, 1 for the datasheet's own";
            add(Unknown::Array, "of the datasheet's", span, source.into(), say);
        }
        all
    }

    fn own_mhz(&self) -> f64 {
        let part = &self.setting.part;
        let own = part.medium().and_then(|it| it.shortest_access_ns(part, &self.setting.ask(None)));
        own.map_or(0.0, |ns| 1e3 / ns)
    }
}

const SLOW_LINE: Bus = Bus { clock_mhz: 1.0, cycles: 1, width_bits: 1 };

/// The setting on a bus of so many lines, at a share of the fastest clock, in the way that is
/// fastest with it.
fn clocked(setting: &Setting, lines: u32, share: f64) -> Result<Setting> {
    let one = |mut way: Setting| -> Result<Setting> {
        let slow = Bus { clock_mhz: 1e-3, cycles: 1, width_bits: lines };
        let shortest = way.part.medium()?.shortest_access_ns(&way.part, &way.ask(Some(slow)))?;
        way.host.bus = Some(Bus { clock_mhz: share * 1e3 / shortest, ..slow });
        Ok(way)
    };
    let ways = setting.ways()?.into_iter().map(one).collect();
    Ok(Setting::fastest(ways)?.unwrap_or_else(|| setting.clone()))
}

/// ns of an operation besides part, bus and mover, if nobody said it.
fn operation(
    setting: &Setting,
    system: Option<System>,
    like: Option<&MeasuredHost>,
    without: Option<&str>,
) -> Option<(Extent, String)> {
    if setting.host.operation_ns.is_some() || system == Some(System::InPlace) {
        return None;
    }
    let pages = setting.part.kind == Kind::Nand;
    let fitted = Fitted::Operation { pages };
    let ns = Extent::same(1e3);
    if like.is_some_and(|like| like.mover.is_some()) {
        // What a byte took there has all of it.
        return None;
    }
    if let Some(own) = like.and_then(|like| Some((fitted.on(like)?, like))) {
        let (span, like) = own;
        return Some((span.scaled(ns), format!("{}: {}", like.name, like.source)));
    }
    let processor_mhz = setting.host.processor.map(|processor| processor.clock_mhz);
    if pages
        && system == Some(System::Linux)
        && let Some((span, count)) = hosts::expected_of_linux(processor_mhz, without)
    {
        let by = processor_mhz.map_or_else(String::new, |mhz| format!(" at {mhz} MHz"));
        let source = format!("{count} measured page drivers of Linux{by}, 95 % of a further one");
        return Some((span.scaled(ns), source));
    }
    let (mut span, count) = fitted.expected(without);
    if !pages && system.is_none() {
        // Where a controller fetches by itself there is no driver.
        span.best = 0.0;
    }
    let what = if pages { "page drivers" } else { "drivers of memory read in place" };
    Some((span.scaled(ns), format!("{count} measured {what}, 95 % of a further one")))
}

type Movers = (Option<Extent>, Option<Extent>, String);

/// ns of a byte by what moves it, if nobody said it.
fn mover(
    setting: &Setting,
    system: Option<System>,
    like: Option<&MeasuredHost>,
    without: Option<&str>,
) -> Option<Movers> {
    let host = &setting.host;
    if let Some(like) = like
        && let Some(ns) = like.byte_ns
    {
        let source = format!("{}: {}", like.name, like.source);
        return (ns > 0.0).then(|| (Some(Extent::same(ns)), None, source));
    }
    // A loop that is known is priced by its instructions; application processors have DMA or a
    // processor that keeps up, and what it costs them is in their operation.
    if host.software.is_some() || matches!(system, Some(System::Linux | System::InPlace)) {
        return None;
    }
    let own_mhz = like.filter(|like| like.mover.is_some()).and_then(|like| like.processor_mhz);
    let period_ns = match (host.processor, own_mhz) {
        (Some(processor), _) => {
            Extent::same(processor.cycles_per_instruction() * 1e3 / processor.clock_mhz)
        }
        (None, Some(mhz)) => Extent::same(1e3 / mhz),
        (None, None) => {
            let mhz = hosts::processor_mhz(without);
            Extent { best: 1e3 / mhz.best, likely: 1e3 / mhz.likely, worst: 1e3 / mhz.worst }
        }
    };
    let by_processors = match host.processor {
        Some(_) => String::new(),
        None => format!(
            " with processors of {SLOWEST_MHZ} to {FASTEST_MHZ} MHz; slower ones lie outside"
        ),
    };
    if let Some((own, _)) = like.and_then(|like| like.mover)
        && let Some(like) = like
        && let Some(clocks) = Fitted::Move(own).on(like)
    {
        let ns = Some(clocks.scaled(period_ns));
        let source = format!("{}: {}", like.name, like.source);
        return Some(match own {
            Mover::Dma => (ns, None, source),
            Mover::Processor => (None, ns, source),
        });
    }
    let by = |mover: Mover| {
        let (clocks, count) = Fitted::Move(mover).expected(without);
        (clocks.scaled(period_ns), count)
    };
    let ((dma, by_dma), (processor, by_processor)) = (by(Mover::Dma), by(Mover::Processor));
    // At its best it keeps up with any bus.
    let dma = Extent { best: 0.0, ..dma };
    let of = |count: usize, who: &str| {
        format!("{count} measured hosts, {who}, 95 % of a further one{by_processors}")
    };
    Some(if host.dma.is_some() {
        (Some(dma), None, of(by_dma, "DMA"))
    } else if host.copied {
        (None, Some(processor), of(by_processor, "the processor copying"))
    } else {
        let source = of(by_dma + by_processor, "by DMA or the processor");
        (Some(dma), Some(processor), source)
    })
}
