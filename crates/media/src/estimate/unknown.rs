//! The unknown parameters of a host, each with its best, likely and worst value, and the time of an
//! operation with them.

use flashpager_base::{Error, Result, named};
use serde::Serialize;

use super::host::{Dma, Host};
use super::hosts::{
    self, ERASE_SHARE, FASTEST_MHZ, FittedQuantity, MeasuredHost, PROGRAM_SHARE, SLOWEST_MHZ,
    System, TransferEngine, ValueRange,
};
use super::numbers::NS_PER_S;
use super::setting::{EstimateSetting, EstimateSpec};
use super::shares::{CostSource, shares};
use crate::bus::Bus;
use crate::operation::{Operation, OperationKind, StepKind, four_decimals};
use crate::part::{MemoryKind, Part};

/// A parameter that the user left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownParameter {
    /// The bus's clock.
    Clock,
    /// The bus's data lines.
    Lines,
    /// The time of an operation beside part, bus and transfer: controller, driver, ECC, waiting.
    Operation,
    /// The engine that moves the bytes, and its pace.
    #[serde(rename = "mover")]
    TransferEngine,
    /// The array time, of which a datasheet states the maximum.
    Array,
    /// The time that a controller adds to each transfer on the bus, as a factor.
    Controller,
}

named! {
    UnknownParameter: "unknown parameter",
    "clock" => Clock,
    "lines" => Lines,
    "operation" => Operation,
    "mover" => TransferEngine,
    "array" => Array,
    "controller" => Controller,
}

/// The value assumed for an open parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssumedValue {
    /// The parameter.
    #[serde(rename = "what")]
    pub parameter: UnknownParameter,
    /// The unit of the range.
    pub unit: &'static str,
    /// The assumed range.
    pub span: ValueRange,
    /// The source of the range.
    pub source: String,
    /// The command-line options that state the parameter.
    #[serde(rename = "say")]
    pub options: String,
    /// The factor by which the time range would narrow if the parameter were known to have its
    /// likely value: the ratio of the ends now over the ratio then.
    pub narrows: f64,
}

/// A point of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RangeEnd {
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

/// Nanoseconds per byte of each transfer engine, at one point of the range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TransferModel {
    /// No engine: the bus alone counts.
    Free,
    /// DMA, at the same time as the bus.
    Dma(f64),
    /// The processor, after the bus.
    Processor(f64),
    /// DMA or the processor, whichever is slower.
    Slower(f64, f64),
}

/// A setting at one point of the range, with nothing left open.
#[derive(Clone, Debug)]
pub(super) struct ResolvedSetting {
    pub setting: EstimateSetting,
    transfer: TransferModel,
    /// The time of commands and transfers over that of the bus alone.
    controller: f64,
}

/// The steps that a controller lengthens.
const ON_THE_BUS: [StepKind; 2] = [StepKind::Command, StepKind::Transfer];

impl ResolvedSetting {
    /// Time of the operation.
    pub fn ns(&self) -> Result<f64> {
        self.ns_scaled(&[], 1.0)
    }

    /// Time of the operation with the steps of `kinds` at `share` of their time.
    pub fn ns_scaled(&self, kinds: &[StepKind], share: f64) -> Result<f64> {
        let setting = &self.setting;
        let operation = self
            .composed(setting.used_bus())?
            .scaled(&ON_THE_BUS, self.controller)
            .scaled(kinds, share);
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
        let step_ns = |kind| operation.time_of(kind);
        Ok(step_ns(StepKind::Command)
            + step_ns(StepKind::Wait)
            + step_ns(StepKind::Busy)
            + (moved + bytes * per_byte).max(step_ns(StepKind::Hidden))
            + setting.host.operation_ns.unwrap_or(0.0))
    }

    /// The operation on a bus, with the assumed share of the array time.
    fn composed(&self, bus: Option<Bus>) -> Result<Operation> {
        let share = self.setting.host.array_share.unwrap_or(1.0);
        Ok(self.setting.compose(bus)?.scaled(&[StepKind::Busy, StepKind::Hidden], share))
    }

    /// The time of the operation in ns, by cause.
    pub fn shares(&self) -> Result<Vec<(CostSource, f64)>> {
        let (setting, alone) = (&self.setting, self.composed(None)?);
        let on_bus = self.composed(setting.used_bus())?;
        let controlled = on_bus.clone().scaled(&ON_THE_BUS, self.controller);
        let cumulative = [
            (CostSource::Bus, on_bus.ns()),
            (CostSource::Controller, controlled.ns()),
            (CostSource::Memory, controlled.ns_with(setting.memory_byte_ns())),
            (CostSource::Software, self.ns()?),
        ];
        Ok(shares(&alone, cumulative))
    }

    /// Returns whether the processor moves the bytes, by a known loop or an unknown one.
    pub fn is_copied(&self) -> bool {
        self.setting.moving_loop().is_some() || matches!(self.transfer, TransferModel::Processor(_))
    }

    /// The setting with DMA instead, at its likely pace.
    pub fn with_dma(&self, spec: &EstimateSpec) -> Result<Self> {
        let mut setting = self.setting.clone();
        let like = setting.host.like.take().map(|name| hosts::find(&name)).transpose()?;
        let system = setting.host.system.or(like.map(|like| like.system));
        let host = Host { dma: Some(Dma::default()), copied: false, ..setting.host };
        let setting = EstimateSetting { host, ..setting };
        let engine = engine_times(&setting, system, None, spec.without.as_deref());
        Ok(Self {
            transfer: transfer_model(engine.as_ref(), RangeEnd::Likely),
            setting,
            controller: self.controller,
        })
    }

    /// The setting with a change that leaves the transfer engine as it is.
    pub fn with(&self, change: impl FnOnce(&mut EstimateSetting)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.setting);
        changed
    }
}

/// The transfer model of an engine at a point of the range.
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

/// The meaning of an array time in a datasheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArrayTimeBasis {
    /// A typical time; the longest is longer.
    Typical,
    /// A maximum or a measured time, which is never exceeded.
    Most,
}

impl ArrayTimeBasis {
    /// The basis of a time, by a word in its source.
    fn of(source: &str) -> Self {
        let has_word = |word| source.contains(word);
        if has_word("maximum") || has_word("measure") { Self::Most } else { Self::Typical }
    }
}

/// The share of the stated array time that the array can take.
fn array_share(part: &Part, kind: OperationKind, without: Option<&str>) -> ValueRange {
    let (field, typical) = match kind {
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

/// The parameters that a setting leaves open; `None` for each that is known.
#[derive(Clone)]
pub(super) struct UnknownParameters<'a> {
    pub setting: &'a EstimateSetting,
    clock: Option<(ValueRange, usize)>,
    lines: Option<ValueRange>,
    operation: Option<(ValueRange, String)>,
    /// Nanoseconds per byte of each engine that can be the one.
    engine: Option<EngineTimes>,
    array: Option<ValueRange>,
    /// The time of commands and transfers over that of the bus alone.
    controller: Option<(ValueRange, String)>,
    /// True if a measured rate narrowed the ranges.
    pub is_measured: bool,
}

impl<'a> UnknownParameters<'a> {
    pub fn of(setting: &'a EstimateSetting, spec: &EstimateSpec) -> Result<Self> {
        let host = &setting.host;
        let none = Self {
            setting,
            clock: None,
            lines: None,
            operation: None,
            engine: None,
            array: None,
            controller: None,
            is_measured: false,
        };
        // A rate measured through the driver leaves nothing open.
        if host.layers.first().is_some_and(|layer| layer.bytes_per_s.is_some()) {
            return match spec.measured {
                Some(_) => Err(Error::design(
                    "the lowest layer has a measured rate already: leave one of the two out",
                )),
                None => Ok(none),
            };
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
        let one = setting.in_each_mode()?.iter().any(|way| way.compose(Some(SLOW_LINE)).is_ok());
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
            controller: controller(setting, system, like, without),
            ..none
        })
    }

    /// The range of a parameter that has values between its ends; `None` if it is known, or an
    /// engine of an unknown kind.
    pub fn span(&self, parameter: UnknownParameter) -> Option<ValueRange> {
        match parameter {
            UnknownParameter::Clock => self.clock.map(|(span, _)| span),
            UnknownParameter::Lines => None,
            UnknownParameter::Operation => self.operation.as_ref().map(|(span, _)| *span),
            UnknownParameter::TransferEngine => match self.engine.as_ref()? {
                (Some(span), None, _) | (None, Some(span), _) => Some(*span),
                _ => None,
            },
            UnknownParameter::Array => self.array,
            UnknownParameter::Controller => self.controller.as_ref().map(|(span, _)| *span),
        }
    }

    /// Replaces the range of a parameter that has one.
    pub fn set_span(&mut self, parameter: UnknownParameter, to: ValueRange) {
        let place = match parameter {
            UnknownParameter::Clock => self.clock.as_mut().map(|(span, _)| span),
            UnknownParameter::Lines => None,
            UnknownParameter::Operation => self.operation.as_mut().map(|(span, _)| span),
            UnknownParameter::TransferEngine => match self.engine.as_mut() {
                Some((Some(span), None, _) | (None, Some(span), _)) => Some(span),
                _ => None,
            },
            UnknownParameter::Array => self.array.as_mut(),
            UnknownParameter::Controller => self.controller.as_mut().map(|(span, _)| span),
        };
        if let Some(span) = place {
            *span = to;
        }
    }

    /// The same unknowns of another setting on the same host.
    pub fn of_setting<'b>(&self, setting: &'b EstimateSetting) -> UnknownParameters<'b> {
        let Self { clock, lines, operation, engine, array, controller, is_measured, .. } =
            self.clone();
        UnknownParameters {
            setting,
            clock,
            lines,
            operation,
            engine,
            array,
            controller,
            is_measured,
        }
    }

    /// The unknowns with each kind of engine and each number of lines that can be, the likely ones
    /// first.
    pub fn hypotheses(&self) -> Vec<Self> {
        let engines: Vec<Option<EngineTimes>> = match &self.engine {
            Some((Some(dma), Some(processor), source)) => vec![
                Some((Some(*dma), None, source.clone())),
                Some((None, Some(*processor), source.clone())),
            ],
            other => vec![other.clone()],
        };
        let lines: Vec<Option<ValueRange>> = match self.lines {
            Some(span) => {
                vec![Some(ValueRange::same(span.likely)), Some(ValueRange::same(span.worst))]
            }
            None => vec![None],
        };
        let mut all = Vec::new();
        for engine in &engines {
            for lines in &lines {
                all.push(Self { engine: engine.clone(), lines: *lines, ..self.clone() });
            }
        }
        all
    }

    /// The unknowns of two hypotheses, with the likely values of this one.
    pub fn joined(&self, other: &Self) -> Self {
        let join = |one: ValueRange, two: ValueRange| {
            let (least, most) = (one.best.min(two.best), one.worst.max(two.worst));
            let (slow, fast) = (one.worst.min(two.worst), one.best.max(two.best));
            // A faster clock is better, a longer time is worse.
            let falls = one.best > one.worst || two.best > two.worst;
            let (best, worst) = if falls { (fast, slow) } else { (least, most) };
            ValueRange { best, likely: one.likely, worst }
        };
        let either = |one: Option<ValueRange>, two: Option<ValueRange>| match (one, two) {
            (Some(one), Some(two)) => Some(join(one, two)),
            (one, two) => one.or(two),
        };
        let mut joined = self.clone();
        for parameter in [
            UnknownParameter::Clock,
            UnknownParameter::Operation,
            UnknownParameter::Array,
            UnknownParameter::Controller,
        ] {
            if let (Some(one), Some(two)) = (self.span(parameter), other.span(parameter)) {
                joined.set_span(parameter, join(one, two));
            }
        }
        joined.lines = self.lines.map(|own| ValueRange {
            best: other.lines.map_or(own.best, |other| own.best.max(other.best)),
            likely: own.likely,
            worst: other.lines.map_or(own.worst, |other| own.worst.min(other.worst)),
        });
        if let (Some((dma, processor, source)), Some((other_dma, other_processor, _))) =
            (&self.engine, &other.engine)
        {
            joined.engine = Some((
                either(*dma, *other_dma),
                either(*processor, *other_processor),
                source.clone(),
            ));
        }
        joined
    }

    /// The parameters with one of them at a value.
    pub fn pinned(&self, parameter: UnknownParameter, value: f64) -> Self {
        let mut pinned = self.clone();
        pinned.set_span(parameter, ValueRange::same(value));
        pinned
    }

    /// The time with every parameter at a point of its range.
    pub fn ns_at(&self, end: RangeEnd) -> Result<f64> {
        self.resolved(|_| end)?.ns()
    }

    /// The times at best, likely and worst. The parameter `known` has its likely value at all of
    /// them.
    pub fn ends(&self, known: Option<UnknownParameter>) -> Result<[f64; 3]> {
        let measured = self.setting.host.layers.first().and_then(|layer| layer.bytes_per_s);
        if let Some(rate) = measured {
            let bytes = self.setting.compose(self.setting.used_bus())?.bytes() as f64;
            return Ok([bytes * NS_PER_S / rate; 3]);
        }
        let mut ends = [0.0; 3];
        for (ns, end) in ends.iter_mut().zip([RangeEnd::Best, RangeEnd::Likely, RangeEnd::Worst]) {
            let at = |parameter| if known == Some(parameter) { RangeEnd::Likely } else { end };
            *ns = self.resolved(at)?.ns()?;
        }
        Ok(ends)
    }

    /// The setting with each open parameter at the point that `end` returns.
    pub fn resolved(&self, end: impl Fn(UnknownParameter) -> RangeEnd) -> Result<ResolvedSetting> {
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
            controller: self
                .controller
                .as_ref()
                .map_or(1.0, |(span, _)| span.at(end(UnknownParameter::Controller))),
        })
    }

    pub fn assumed(&self) -> Vec<AssumedValue> {
        let mut all = Vec::new();
        let mut add = |parameter, unit, span, source: String, options: &str| {
            let measured = if self.is_measured { "; narrowed by the measured rate" } else { "" };
            let source = source + measured;
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
            let options = self.operation_options();
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
            let options = self.engine_options(dma.is_some() && processor.is_some());
            add(UnknownParameter::TransferEngine, "ns a byte", span, source.clone(), &options);
        }
        if let Some(span) = self.array {
            let source = self.array_source(span);
            let options = "--array-share, 1 for the datasheet's own";
            add(UnknownParameter::Array, "of the datasheet's", span, source.into(), options);
        }
        if let Some((span, source)) = &self.controller {
            let options = self.controller_options();
            add(UnknownParameter::Controller, "times the bus", *span, source.clone(), options);
        }
        all
    }

    /// The options that state the time of an operation.
    fn operation_options(&self) -> &'static str {
        let host = &self.setting.host;
        match host.system {
            _ if host.like.is_some() => "--operation-time as measured instead of --like",
            Some(System::Linux) if host.processor.is_none() => {
                "--operation-time as measured, --like a measured host, or --processor"
            }
            Some(_) => "--operation-time as measured, or --like a measured host",
            None => "--operation-time as measured, --like a measured host, or --system",
        }
    }

    /// The options that state the time of the controller.
    fn controller_options(&self) -> &'static str {
        let host = &self.setting.host;
        match host.system {
            _ if host.like.is_some() => "nothing: one further measurement of that host lies inside",
            Some(System::InPlace) => "--like a measured host",
            Some(_) => "--operation-time as measured, or --like a measured host",
            None => "--system",
        }
    }

    /// The options that state the transfer engine; `is_either` if it can be DMA or the processor.
    fn engine_options(&self, is_either: bool) -> String {
        let host = &self.setting.host;
        let mut options = Vec::new();
        if is_either {
            options.push("--dma or --no-dma");
        }
        if host.processor.is_none() {
            options.push("--processor");
        }
        options.push("--instructions or --driver");
        options.join(", ")
    }

    /// The source of the range of the array time.
    fn array_source(&self, span: ValueRange) -> &'static str {
        match self.setting.kind {
            OperationKind::Program | OperationKind::MultiPlaneProgram | OperationKind::Erase
                if span.worst > 1.0 =>
            {
                "typical and longest times of the flash-media article's chip"
            }
            OperationKind::Program | OperationKind::MultiPlaneProgram | OperationKind::Erase => {
                "the part states the most, or what was measured"
            }
            _ => "50 of 60 µs measured of a W25N01GV; the datasheet's is the most",
        }
    }

    fn own_mhz(&self) -> f64 {
        let part = &self.setting.part;
        let own =
            part.medium().and_then(|it| it.shortest_access_ns(part, &self.setting.request(None)));
        own.map_or(0.0, |ns| 1e3 / ns)
    }
}

/// One slow line, which tests whether a part can be read on a single line.
const SLOW_LINE: Bus = Bus { clock_mhz: 1.0, cycles: 1, width_bits: 1 };

/// The setting on a bus of `lines`, at `share` of the fastest clock, in the mode that is fastest on
/// it.
fn clocked(setting: &EstimateSetting, lines: u32, share: f64) -> Result<EstimateSetting> {
    let one = |mut way: EstimateSetting| -> Result<EstimateSetting> {
        let slow = Bus { clock_mhz: 1e-3, cycles: 1, width_bits: lines };
        let shortest =
            way.part.medium()?.shortest_access_ns(&way.part, &way.request(Some(slow)))?;
        way.host.bus = Some(Bus { clock_mhz: share * 1e3 / shortest, ..slow });
        Ok(way)
    };
    let ways = setting.in_each_mode()?.into_iter().map(one).collect();
    Ok(EstimateSetting::fastest(ways)?.unwrap_or_else(|| setting.clone()))
}

/// The time of an operation in ns beside part, bus and transfer, with its source; `None` if it is
/// known.
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
        // The time per byte measured there contains the whole operation.
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
        let clock = processor_mhz.map_or_else(String::new, |mhz| format!(" at {mhz} MHz"));
        let source =
            format!("{count} measured page drivers of Linux{clock}, 95 % of a further one");
        return Some((span.scaled(ns), source));
    }
    let (mut span, count) = fitted.expected(without);
    if !pages && system != Some(System::Linux) {
        // A controller that fetches by itself has no driver, and a driver that hands bytes to PIO
        // and DMA takes no time that can be told from the bus's.
        span.best = 0.0;
    }
    let drivers = if pages { "page drivers" } else { "drivers of memory read in place" };
    Some((span.scaled(ns), format!("{count} measured {drivers}, 95 % of a further one")))
}

/// The time of commands and transfers over that of the bus alone, with its source; `None` if the
/// time of an operation contains it.
fn controller(
    setting: &EstimateSetting,
    system: Option<System>,
    like: Option<&MeasuredHost>,
    without: Option<&str>,
) -> Option<(ValueRange, String)> {
    let part = &setting.part;
    if part.kind == MemoryKind::Nand || like.is_some_and(MeasuredHost::has_driver_time) {
        return None;
    }
    if let Some(like) = like
        && let Some(span) = FittedQuantity::Controller(like.system).on(like)
    {
        let source = format!("{}: {}, 80 % of a further measurement", like.name, like.source);
        return Some((span, source));
    }
    let is_serial = part.spi.is_some() || part.sd.is_some();
    let is_measured = setting.host.operation_ns.is_some();
    let by_linux = is_serial && !is_measured;
    let in_place = part.kind != MemoryKind::Card;
    let fitted = |system: System, kind: &str| {
        let (span, count) = FittedQuantity::Controller(system).expected(without);
        (span, format!("{count} measured controllers {kind}, 80 % of a further one"))
    };
    match system {
        Some(System::InPlace) => Some(fitted(System::InPlace, "that fetch in place")),
        Some(System::Linux) if by_linux => Some(fitted(System::Linux, "under Linux")),
        Some(_) => None,
        None => {
            let systems: Vec<System> = [(System::InPlace, in_place), (System::Linux, by_linux)]
                .into_iter()
                .filter_map(|(system, can)| can.then_some(system))
                .collect();
            let worst = hosts::slowest_controller(&systems, without);
            // The likely driver and engine contain a likely controller.
            let span = ValueRange { best: 1.0, likely: 1.0, worst };
            let source = "the slowest of controllers in place and under Linux".into();
            (!systems.is_empty()).then_some((span, source))
        }
    }
}

/// Nanoseconds per byte by DMA and by the processor, and their source. Only one is present if the
/// engine is known.
type EngineTimes = (Option<ValueRange>, Option<ValueRange>, String);

/// The time per byte in ns of the engines that can move it, with their source; `None` if no engine
/// counts.
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
    // A known loop is priced by its instructions. Application processors have DMA or keep up with
    // the bus; their cost is part of the operation.
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
    let measured = |engine: TransferEngine| {
        let (clocks, count) = FittedQuantity::ByteClocks(engine).expected(without);
        (clocks.scaled(period_ns), count)
    };
    let ((dma, by_dma), (processor, by_processor)) =
        (measured(TransferEngine::Dma), measured(TransferEngine::Processor));
    // At its best, DMA keeps up with any bus.
    let dma = ValueRange { best: 0.0, ..dma };
    let description = |count: usize, engine: &str| {
        format!("{count} measured hosts, {engine}, 95 % of a further one{by_processors}")
    };
    Some(if host.dma.is_some() {
        (Some(dma), None, description(by_dma, "DMA"))
    } else if host.copied {
        (None, Some(processor), description(by_processor, "the processor copying"))
    } else {
        let source = description(by_dma + by_processor, "by DMA or the processor");
        (Some(dma), Some(processor), source)
    })
}
