//! What an operation takes on a host of which not all is known: from its best to its worst.

use flashpager_base::{Result, named};
use serde::Serialize;

use super::hosts::{
    self, ERASE_SHARE, FASTEST_MHZ, FittedQuantity, MeasuredHost, PROGRAM_SHARE, SLOWEST_MHZ,
    System, TransferEngine, ValueRange,
};
use super::{CostSource, Dma, EstimateSetting, EstimateSpec, Host, NS_PER_S, four_decimals};
use crate::bus::Bus;
use crate::operation::{Operation, OperationKind, StepKind};
use crate::part::{MemoryKind, Part};

/// Something that nobody said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownParameter {
    /// The bus's clock.
    Clock,
    /// The bus's data lines.
    Lines,
    /// What an operation takes besides: controller, driver, ECC, waiting.
    Operation,
    /// Who moves the bytes, and at which pace.
    #[serde(rename = "mover")]
    TransferEngine,
    /// The chip's array, of which a datasheet states the most.
    Array,
}

named! {
    UnknownParameter: "unknown unknown",
    "clock" => Clock,
    "lines" => Lines,
    "operation" => Operation,
    "mover" => TransferEngine,
    "array" => Array,
}

/// What was taken for something that nobody said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssumedValue {
    /// What.
    #[serde(rename = "what")]
    pub parameter: UnknownParameter,
    /// Its unit.
    pub unit: &'static str,
    /// Where the operation is fastest, most likely, and slowest.
    pub span: ValueRange,
    /// Where that is from.
    pub source: String,
    /// What to say, so that it is known.
    #[serde(rename = "say")]
    pub options: String,
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
    pub assumed: Vec<AssumedValue>,
}

impl Range {
    /// The ratio of its ends; 1 where all is known.
    pub fn width(&self) -> f64 {
        if self.low_ns > 0.0 { self.high_ns / self.low_ns } else { 1.0 }
    }
}

/// The end of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeEnd {
    Best,
    Likely,
    Worst,
}

impl ValueRange {
    fn at(self, end: RangeEnd) -> f64 {
        match end {
            RangeEnd::Best => self.best,
            RangeEnd::Likely => self.likely,
            RangeEnd::Worst => self.worst,
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
enum TransferModel {
    /// The bus alone counts.
    Free,
    Dma(f64),
    Processor(f64),
    /// Whichever is slower.
    Slower(f64, f64),
}

/// A setting of which all is said that can be, with what moves its bytes.
#[derive(Clone, Debug)]
pub(super) struct ResolvedSetting {
    pub setting: EstimateSetting,
    transfer: TransferModel,
}

impl ResolvedSetting {
    /// The likely point of a setting.
    pub fn likely(setting: &EstimateSetting, spec: &EstimateSpec) -> Result<Self> {
        UnknownParameters::of(setting, spec)?.settled(|_| RangeEnd::Likely)
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
        let moved = match self.transfer {
            TransferModel::Free => transfer,
            TransferModel::Dma(ns) => transfer.max(bytes * ns),
            TransferModel::Processor(ns) => transfer + bytes * ns,
            TransferModel::Slower(dma, processor) => {
                (bytes * dma).max(transfer + bytes * processor)
            }
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
    pub fn shares(&self) -> Result<Vec<(CostSource, f64)>> {
        let (setting, alone) = (&self.setting, self.composed(None)?);
        let on_bus = self.composed(setting.used_bus())?;
        let cumulative = [
            (CostSource::Bus, on_bus.ns()),
            (CostSource::Memory, on_bus.ns_with(setting.memory_byte_ns())),
            (CostSource::Software, self.ns()?),
        ];
        Ok(super::verdict::shares(&alone, cumulative))
    }

    /// Whether the processor moves the bytes, by a loop that is known or by one that is not.
    pub fn is_copied(&self) -> bool {
        self.setting.moving_loop().is_some() || matches!(self.transfer, TransferModel::Processor(_))
    }

    /// The same with DMA, as it likely is.
    pub fn with_dma(&self, spec: &EstimateSpec) -> Result<Self> {
        let mut setting = self.setting.clone();
        let like = setting.host.like.take().map(|name| hosts::find(&name)).transpose()?;
        let system = setting.host.system.or(like.map(|like| like.system));
        let host = Host { dma: Some(Dma::default()), copied: false, ..setting.host };
        let setting = EstimateSetting { host, ..setting };
        let engine = engine_times(&setting, system, None, spec.without.as_deref());
        Ok(Self { transfer: transfer_model(engine.as_ref(), RangeEnd::Likely), setting })
    }

    /// The same with something of the setting changed that leaves the mover as it is.
    pub fn with(&self, change: impl FnOnce(&mut EstimateSetting)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.setting);
        changed
    }
}

/// What moves the bytes, at an end.
fn transfer_model(engine: Option<&EngineTimes>, end: RangeEnd) -> TransferModel {
    match engine {
        Some((Some(dma), None, _)) => TransferModel::Dma(dma.at(end)),
        Some((None, Some(processor), _)) => TransferModel::Processor(processor.at(end)),
        Some((Some(dma), Some(processor), _)) => match end {
            RangeEnd::Best => TransferModel::Dma(dma.best),
            RangeEnd::Likely => TransferModel::Dma(dma.likely),
            RangeEnd::Worst => TransferModel::Slower(dma.worst, processor.worst),
        },
        None | Some((None, None, _)) => TransferModel::Free,
    }
}

/// What a source says of an array time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArrayTimeBasis {
    /// As it mostly is; the longest is longer.
    Typical,
    /// The most, or what was measured: no longer.
    Most,
}

impl ArrayTimeBasis {
    /// Of a time by the word in its source.
    fn of(source: &str) -> Self {
        let says = |word| source.contains(word);
        if says("maximum") || says("measure") { Self::Most } else { Self::Typical }
    }
}

/// What the array may take of the time that a part states.
fn array_share(part: &Part, what: OperationKind, without: Option<&str>) -> ValueRange {
    let (field, typical) = match what {
        OperationKind::Program | OperationKind::MultiPlaneProgram => {
            (&part.t_prog_ns, PROGRAM_SHARE)
        }
        OperationKind::Erase => (&part.t_bers_ns, ERASE_SHARE),
        _ => return hosts::read_share(without),
    };
    match field.as_ref().map_or(ArrayTimeBasis::Typical, |field| ArrayTimeBasis::of(&field.source))
    {
        ArrayTimeBasis::Typical => typical,
        ArrayTimeBasis::Most => ValueRange { worst: 1.0, ..typical },
    }
}

/// What is not known in a setting.
struct UnknownParameters<'a> {
    setting: &'a EstimateSetting,
    clock: Option<(ValueRange, usize)>,
    lines: Option<ValueRange>,
    operation: Option<(ValueRange, String)>,
    /// ns of a byte by DMA, and by the processor; of a mover that is known the one alone.
    engine: Option<EngineTimes>,
    array: Option<ValueRange>,
}

/// The range of a setting.
pub(super) fn estimate_range(setting: &EstimateSetting, spec: &EstimateSpec) -> Result<Range> {
    let open = UnknownParameters::of(setting, spec)?;
    let bytes = setting.compose(setting.used_bus())?.bytes() as f64;
    let [low_ns, likely_ns, high_ns] = open.ends(None)?;
    let rate = |ns: f64| if ns > 0.0 { bytes * NS_PER_S / ns } else { 0.0 };
    let mut assumed = open.assumed();
    for one in &mut assumed {
        let [low, _, high] = open.ends(Some(one.parameter))?;
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

impl<'a> UnknownParameters<'a> {
    fn of(setting: &'a EstimateSetting, spec: &EstimateSpec) -> Result<Self> {
        let host = &setting.host;
        let none =
            Self { setting, clock: None, lines: None, operation: None, engine: None, array: None };
        // What was measured through the driver is no longer unknown.
        if host.layers.first().is_some_and(|layer| layer.bytes_per_s.is_some()) {
            return Ok(none);
        }
        let without = spec.without.as_deref();
        let like = host.like.as_deref().map(hosts::find).transpose()?;
        let system = host.system.or(like.map(|like| like.system));
        let whole = setting.compose(setting.used_bus())?;
        let moves_bytes = whole.bytes() > 0;
        let card = setting.part.kind == MemoryKind::Card;
        let is_serial = setting.part.spi.is_some() || setting.part.sd.is_some();
        let is_clocked = {
            let medium = setting.part.medium()?;
            medium.shortest_access_ns(&setting.part, &setting.request(host.bus))? > 0.0
        };
        let has_bus = host.bus.is_some();
        let lines = is_serial && moves_bytes && !has_bus && setting.mode.is_none();
        let one = setting.ways()?.iter().any(|way| way.compose(Some(SLOW_LINE)).is_ok());
        let own = f64::from(setting.part.width_bits.value);
        let array = whole
            .steps
            .iter()
            .any(|step| matches!(step.kind, StepKind::Busy | StepKind::Hidden) && step.ns > 0.0);
        let share = array_share(&setting.part, setting.kind, without);
        Ok(Self {
            clock: (!has_bus && is_clocked).then(|| FittedQuantity::Clock.expected(without)),
            lines: (lines && one && own > 1.0).then_some(ValueRange {
                best: own,
                likely: own,
                worst: 1.0,
            }),
            operation: operation(setting, system, like, without),
            engine: if moves_bytes { engine_times(setting, system, like, without) } else { None },
            array: (array && !card && host.array_share.is_none()).then_some(share),
            ..none
        })
    }

    /// What it takes at the ends; `known` is taken for what is likely at all of them.
    fn ends(&self, known: Option<UnknownParameter>) -> Result<[f64; 3]> {
        let measured = self.setting.host.layers.first().and_then(|layer| layer.bytes_per_s);
        if let Some(rate) = measured {
            let bytes = self.setting.compose(self.setting.used_bus())?.bytes() as f64;
            return Ok([bytes * NS_PER_S / rate; 3]);
        }
        let mut ends = [0.0; 3];
        for (ns, end) in ends.iter_mut().zip([RangeEnd::Best, RangeEnd::Likely, RangeEnd::Worst]) {
            let at = |parameter| if known == Some(parameter) { RangeEnd::Likely } else { end };
            *ns = self.settled(at)?.ns()?;
        }
        Ok(ends)
    }

    /// The setting with what is unknown at the ends that `end` gives.
    fn settled(&self, end: impl Fn(UnknownParameter) -> RangeEnd) -> Result<ResolvedSetting> {
        let mut setting = self.setting.clone();
        if self.clock.is_some() || self.lines.is_some() {
            let own = f64::from(setting.part.width_bits.value);
            let lines = self.lines.map_or(own, |span| span.at(end(UnknownParameter::Lines)));
            let share =
                self.clock.as_ref().map_or(1.0, |(span, _)| span.at(end(UnknownParameter::Clock)));
            setting = clocked(&setting, lines as u32, share)?;
        }
        if let Some(span) = self.array {
            setting.host.array_share = Some(span.at(end(UnknownParameter::Array)));
        }
        if let Some((span, _)) = &self.operation {
            setting.host.operation_ns = Some(span.at(end(UnknownParameter::Operation)));
        }
        Ok(ResolvedSetting {
            transfer: transfer_model(self.engine.as_ref(), end(UnknownParameter::TransferEngine)),
            setting,
        })
    }

    fn assumed(&self) -> Vec<AssumedValue> {
        let mut all = Vec::new();
        let mut add = |parameter, unit, span, source: String, options: &str| {
            all.push(AssumedValue {
                parameter,
                unit,
                span,
                source,
                options: options.into(),
                narrows: 1.0,
            });
        };
        if let Some((span, count)) = &self.clock {
            let own = self.own_mhz();
            let source = format!(
                "shares of the part's own {} MHz that {count} hosts ran",
                four_decimals(own)
            );
            let options = "--bus, or --peripheral with --controller and --asked";
            add(
                UnknownParameter::Clock,
                "MHz",
                span.scaled(ValueRange::same(own)),
                source,
                options,
            );
        }
        if let Some(span) = self.lines {
            let source = "all that the part has, or one".into();
            add(UnknownParameter::Lines, "lines", span, source, "--bus, as 50MHz-x1, or --mode");
        }
        if let Some((span, source)) = &self.operation {
            let host = &self.setting.host;
            let options = match host.system {
                _ if host.like.is_some() => "--operation-time as measured instead of --like",
                Some(System::Linux) if host.processor.is_none() => {
                    "--operation-time as measured, --like a measured host, or --processor"
                }
                Some(_) => "--operation-time as measured, or --like a measured host",
                None => "--operation-time as measured, --like a measured host, or --system",
            };
            add(UnknownParameter::Operation, "ns", *span, source.clone(), options);
        }
        if let Some((dma, processor, source)) = &self.engine {
            let span = match (dma, processor) {
                (Some(dma), Some(processor)) => {
                    ValueRange { worst: processor.worst.max(dma.worst), ..*dma }
                }
                (Some(one), None) | (None, Some(one)) => *one,
                (None, None) => ValueRange::same(0.0),
            };
            let host = &self.setting.host;
            let mut options = Vec::new();
            if dma.is_some() && processor.is_some() {
                options.push("--dma or --no-dma");
            }
            if host.processor.is_none() {
                options.push("--processor");
            }
            options.push("--instructions or --driver");
            add(
                UnknownParameter::TransferEngine,
                "ns a byte",
                span,
                source.clone(),
                &options.join(", "),
            );
        }
        if let Some(span) = self.array {
            let source = match self.setting.kind {
                OperationKind::Program
                | OperationKind::MultiPlaneProgram
                | OperationKind::Erase
                    if span.worst > 1.0 =>
                {
                    "typical and longest times of the flash-media article's chip"
                }
                OperationKind::Program
                | OperationKind::MultiPlaneProgram
                | OperationKind::Erase => "the part states the most, or what was measured",
                _ => "50 of 60 µs measured of a W25N01GV; the datasheet's is the most",
            };
            let options = "--array-share, 1 for the datasheet's own";
            add(UnknownParameter::Array, "of the datasheet's", span, source.into(), options);
        }
        all
    }

    fn own_mhz(&self) -> f64 {
        let part = &self.setting.part;
        let own =
            part.medium().and_then(|it| it.shortest_access_ns(part, &self.setting.request(None)));
        own.map_or(0.0, |ns| 1e3 / ns)
    }
}

const SLOW_LINE: Bus = Bus { clock_mhz: 1.0, cycles: 1, width_bits: 1 };

/// The setting on a bus of so many lines, at a share of the fastest clock, in the way that is
/// fastest with it.
fn clocked(setting: &EstimateSetting, lines: u32, share: f64) -> Result<EstimateSetting> {
    let one = |mut way: EstimateSetting| -> Result<EstimateSetting> {
        let slow = Bus { clock_mhz: 1e-3, cycles: 1, width_bits: lines };
        let shortest =
            way.part.medium()?.shortest_access_ns(&way.part, &way.request(Some(slow)))?;
        way.host.bus = Some(Bus { clock_mhz: share * 1e3 / shortest, ..slow });
        Ok(way)
    };
    let ways = setting.ways()?.into_iter().map(one).collect();
    Ok(EstimateSetting::fastest(ways)?.unwrap_or_else(|| setting.clone()))
}

/// ns of an operation besides part, bus and mover, if nobody said it.
fn operation(
    setting: &EstimateSetting,
    system: Option<System>,
    like: Option<&MeasuredHost>,
    without: Option<&str>,
) -> Option<(ValueRange, String)> {
    if setting.host.operation_ns.is_some() || system == Some(System::InPlace) {
        return None;
    }
    let pages = setting.part.kind == MemoryKind::Nand;
    let fitted = FittedQuantity::Operation { pages };
    let ns = ValueRange::same(1e3);
    if like.is_some_and(|like| like.transfer.is_some()) {
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

type EngineTimes = (Option<ValueRange>, Option<ValueRange>, String);

/// ns of a byte by what moves it, if nobody said it.
fn engine_times(
    setting: &EstimateSetting,
    system: Option<System>,
    like: Option<&MeasuredHost>,
    without: Option<&str>,
) -> Option<EngineTimes> {
    let host = &setting.host;
    if let Some(like) = like
        && let Some(ns) = like.byte_ns
    {
        let source = format!("{}: {}", like.name, like.source);
        return (ns > 0.0).then(|| (Some(ValueRange::same(ns)), None, source));
    }
    // A loop that is known is priced by its instructions; application processors have DMA or a
    // processor that keeps up, and what it costs them is in their operation.
    if host.software.is_some() || matches!(system, Some(System::Linux | System::InPlace)) {
        return None;
    }
    let own_mhz = like.filter(|like| like.transfer.is_some()).and_then(|like| like.processor_mhz);
    let period_ns = match (host.processor, own_mhz) {
        (Some(processor), _) => {
            ValueRange::same(processor.cycles_per_instruction() * 1e3 / processor.clock_mhz)
        }
        (None, Some(mhz)) => ValueRange::same(1e3 / mhz),
        (None, None) => {
            let mhz = hosts::processor_mhz(without);
            ValueRange { best: 1e3 / mhz.best, likely: 1e3 / mhz.likely, worst: 1e3 / mhz.worst }
        }
    };
    let by_processors = match host.processor {
        Some(_) => String::new(),
        None => format!(
            " with processors of {SLOWEST_MHZ} to {FASTEST_MHZ} MHz; slower ones lie outside"
        ),
    };
    if let Some((own, _)) = like.and_then(|like| like.transfer)
        && let Some(like) = like
        && let Some(clocks) = FittedQuantity::ByteClocks(own).on(like)
    {
        let ns = Some(clocks.scaled(period_ns));
        let source = format!("{}: {}", like.name, like.source);
        return Some(match own {
            TransferEngine::Dma => (ns, None, source),
            TransferEngine::Processor => (None, ns, source),
        });
    }
    let by = |engine: TransferEngine| {
        let (clocks, count) = FittedQuantity::ByteClocks(engine).expected(without);
        (clocks.scaled(period_ns), count)
    };
    let ((dma, by_dma), (processor, by_processor)) =
        (by(TransferEngine::Dma), by(TransferEngine::Processor));
    // At its best it keeps up with any bus.
    let dma = ValueRange { best: 0.0, ..dma };
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
