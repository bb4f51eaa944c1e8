//! Parameters that a design leaves open, and the rule that fills them in.

use flashpager_base::Result;
use flashpager_media::bus::Bus;
use flashpager_media::cores::{self, ClockedCore, UsualProcessor};
use flashpager_media::part::{self, Part};
use flashpager_replay::register::RegisterModel;
use flashpager_trace::TraceInfo;
use serde::Serialize;

use crate::spec::{DesignSpec, NO_NOR, USUAL_PART};

/// The NOR part to compare serial parts with.
const SERIAL_NOR: &str = "W25Q128JV";
/// The NOR part to compare parts on a parallel bus with.
const PARALLEL_NOR: &str = "RC28F512M29EW";

/// A parameter that the user left open, with the value that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// The field of [`DesignSpec`].
    pub field: &'static str,
    /// The value that was taken.
    pub value: String,
    /// The rule that chose the value, in a few words.
    pub reason: String,
}

impl DesignSpec {
    /// Returns true if the part is read where its bytes lie, without a page being loaded.
    ///
    /// # Errors
    /// An unknown part.
    pub fn is_in_place(&self) -> Result<bool> {
        part::find(self.part_name()).map(|part| part.kind.is_read_in_place())
    }

    /// Returns true if a cache in hardware stands before a part that is read in place.
    ///
    /// # Errors
    /// An unknown part.
    pub fn is_in_hardware(&self) -> Result<bool> {
        Ok(self.ways.is_some() && self.is_in_place()?)
    }

    /// The design with its open parameters filled in, and the list of these.
    ///
    /// # Errors
    /// An unknown part, and one whose file does not state the fastest bus.
    pub fn resolved(&self) -> Result<(Self, Vec<Assumption>)> {
        self.resolved_on(&part::find(self.part_name())?)
    }

    /// The same, with the part already looked up.
    pub(super) fn resolved_on(&self, part: &Part) -> Result<(Self, Vec<Assumption>)> {
        let mut assumed = Vec::new();
        let mut take = |field: &'static str, value: &str, reason: String| {
            assumed.push(Assumption { field, value: value.to_owned(), reason });
            value.to_owned()
        };
        let mut resolved = self.clone();
        if resolved.part.is_none() {
            let reason = "the default".to_owned();
            resolved.part = Some(take("part", USUAL_PART, reason));
        }
        let bus = match &resolved.bus {
            Some(bus) => bus.parse()?,
            None => {
                let bus = part.fastest_bus()?;
                let reason = "the fastest it takes".to_owned();
                resolved.bus = Some(take("bus", &bus.to_string(), reason));
                bus
            }
        };
        if resolved.register.is_none() && part.kind.is_read_in_place() {
            // The register holds nothing: each miss is a transaction.
            resolved.register = Some(RegisterModel::StartColumn.name().to_owned());
        }
        if resolved.register.is_none() {
            let (model, reason) = usual_register(part, bus);
            resolved.register = Some(take("register", model.name(), reason));
        }
        if resolved.nor.is_none() && part.kind.is_read_in_place() {
            // The part is itself a NOR, or like one.
            resolved.nor = Some(NO_NOR.to_owned());
        }
        if resolved.nor.is_none() {
            let serial = part.is_serial();
            let (nor, kind) =
                if serial { (SERIAL_NOR, "serial") } else { (PARALLEL_NOR, "parallel") };
            resolved.nor = Some(take("nor", nor, format!("{kind}, too")));
        }
        if let (None, Some(architecture)) = (&resolved.processor, &resolved.architecture) {
            let UsualProcessor { processor, reason } = cores::usual(architecture)?;
            let cycles = cycles_assumed(&processor);
            let reasons =
                [Some(reason), cycles.map(|(value, source)| format!("{value}, {source}"))];
            let reason = reasons.into_iter().flatten().collect::<Vec<_>>().join("; ");
            resolved.processor = Some(take("processor", &processor.to_string(), reason));
        }
        Ok((resolved, assumed))
    }

    /// The design for a trace: a processor that nobody named is the usual one of its architecture. A
    /// trace that does not count instructions gives no run time, and no processor is assumed.
    pub fn for_trace(&self, info: &TraceInfo) -> Self {
        let is_open = self.processor.is_none() && self.architecture.is_none();
        let architecture = if is_open && info.instructions.is_some() {
            Some(info.architecture.clone())
        } else {
            self.architecture.clone()
        };
        Self { architecture, ..self.clone() }
    }
}

/// Cycles of an instruction on a processor, and where they come from, if nobody has checked them.
pub(super) fn cycles_assumed(processor: &ClockedCore) -> Option<(String, String)> {
    let value = format!("{} cycles an instruction", processor.cycles_per_instruction());
    let source = format!("unverified: flashpager cores {}", processor.core.name);
    processor.is_unverified().then_some((value, source))
}

/// The usual register model of a part: random-column if it can change the column and its file has
/// the time of that.
fn usual_register(part: &Part, bus: Bus) -> (RegisterModel, String) {
    let (model, reason) = if !part.has_column_change() {
        (RegisterModel::StartColumn, "the part changes no columns")
    } else if part.column_change_ns(bus).is_none() {
        (RegisterModel::StartColumn, "a change of the column has no price")
    } else {
        (RegisterModel::RandomColumn, "the part changes columns")
    };
    (model, reason.to_owned())
}
