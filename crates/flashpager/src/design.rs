//! A whole design: part, bus, cache, register and software, and what it gives.
//!
//! This is where replay and cost meet: designs that differ only in what they
//! cost share one replay.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cost::{
    Handler, Latency, NorComparison, Prices, Ram, ReadDisturb, Time, fetches_below_codeword,
    warnings,
};
use crate::error::{Error, Result};
use crate::media::bus::Bus;
use crate::media::part::{self, Kind, Part};
use crate::media::register::RegisterDesign;
use crate::pager::PolicySpec;
use crate::replay::{CacheDesign, Cell, Counts, replay_cells};
use crate::trace::Trace;

/// A design as a person writes it down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesignSpec {
    /// A part of the catalog, or a TOML file.
    pub part: String,
    /// The bus, as `33MHz-x8`.
    pub bus: String,
    /// Bytes of RAM for frames.
    pub cache_bytes: u64,
    /// Bytes of a cache page.
    pub cache_page_bytes: u32,
    /// Bytes of a flash page; the part's own if absent.
    pub flash_page_bytes: Option<u32>,
    /// How the data register is read.
    pub register: String,
    /// With host ECC: bytes fetched and checked together.
    pub codeword_bytes: Option<u32>,
    /// Who is evicted.
    pub policy: String,
    /// The RAM.
    pub ram: Ram,
    /// The software.
    #[serde(default)]
    pub handler: Handler,
    /// The NOR part to compare with.
    pub nor: Option<String>,
}

/// A design, looked up and checked.
#[derive(Clone, Debug)]
pub struct Design {
    spec: DesignSpec,
    part: Part,
    nor: Option<Part>,
    bus: Bus,
    cache: CacheDesign,
    register: RegisterDesign,
    prices: Prices,
}

/// What a design gives for a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// What happened.
    pub counts: Counts,
    /// What it costs.
    pub time: Time,
    /// What a fault costs.
    pub latency: Latency,
    /// Beside NOR, if a NOR part was named.
    pub nor: Option<NorComparison>,
    /// How hard the flash is read.
    pub read_disturb: ReadDisturb,
    /// Whether less is fetched than an ECC codeword, so that nobody can check it.
    pub ecc_unchecked: bool,
    /// Why the design would disappoint.
    pub warnings: Vec<String>,
}

impl Design {
    /// Look up and check everything that `spec` names.
    ///
    /// # Errors
    /// Unknown parts, policies, registers; sizes and combinations that cannot be.
    pub fn new(spec: DesignSpec) -> Result<Self> {
        let part = part::find(&spec.part)?;
        let bus: Bus = spec.bus.parse()?;
        let nor = spec.nor.as_deref().map(part::find).transpose()?;
        if let Some(other) = nor.as_ref().filter(|nor| nor.kind != Kind::Nor) {
            return Err(Error::design(format!("{} is no NOR part to compare with", other.name)));
        }
        let prices = Prices::new(&part, bus, spec.ram, spec.handler)?;
        let cache = CacheDesign {
            cache_bytes: spec.cache_bytes,
            cache_page_bytes: spec.cache_page_bytes,
            policy: spec.policy.parse::<PolicySpec>()?,
        };
        cache.check()?;
        let register = RegisterDesign {
            model: spec.register.parse()?,
            flash_page_bytes: spec.flash_page_bytes.unwrap_or(part.flash_page_bytes()),
            codeword_bytes: spec.codeword_bytes,
        };
        part.check_register(register.model)?;
        register.check(cache.cache_page_bytes)?;
        if register.model == crate::media::register::RegisterModel::RandomColumn
            && part.t_column_change_ns.is_none()
        {
            return Err(Error::design(format!(
                "{} has no t_column_change_ns: random-column has no price with it",
                part.name
            )));
        }
        Ok(Self { spec, part, nor, bus, cache, register, prices })
    }

    /// The design as written down, with the flash page filled in.
    pub fn spec(&self) -> DesignSpec {
        DesignSpec { flash_page_bytes: Some(self.register.flash_page_bytes), ..self.spec.clone() }
    }

    /// Frames in the cache.
    pub fn frames(&self) -> u64 {
        self.cache.frames()
    }

    /// The cache as designed.
    pub fn cache(&self) -> &CacheDesign {
        &self.cache
    }

    /// The data register as designed.
    pub fn register(&self) -> RegisterDesign {
        self.register
    }

    /// The prices that apply, for printing.
    pub fn prices(&self) -> Prices {
        self.prices
    }

    /// Price `counts`.
    pub fn evaluate(&self, counts: Counts) -> Evaluation {
        let time = Time::of(&counts, &self.prices);
        let mut warnings = warnings(
            &self.part,
            self.cache.cache_page_bytes,
            self.register.codeword_bytes,
            self.register.flash_page_bytes,
        );
        let compare = |nor: &Part| match NorComparison::of(&counts, &time, nor, self.bus) {
            Ok(comparison) => Some(comparison),
            Err(reason) => {
                warnings.push(format!("no comparison with NOR: {reason}"));
                None
            }
        };
        let nor = self.nor.as_ref().and_then(compare);
        Evaluation {
            time,
            latency: Latency::of(&counts, &self.prices),
            nor,
            read_disturb: ReadDisturb::of(
                &counts,
                &time,
                &self.part,
                self.register.flash_page_bytes,
            ),
            ecc_unchecked: fetches_below_codeword(
                &self.part,
                self.cache.cache_page_bytes,
                self.register.codeword_bytes,
            ),
            warnings,
            counts,
        }
    }
}

/// Replay `trace` for all `designs` on all cores, each different cache once,
/// and price the counts. `done` is told (finished, all) replays.
pub fn simulate(
    trace: &dyn Trace,
    designs: &[Design],
    go_on: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Evaluation>> {
    let mut caches: BTreeMap<&CacheDesign, Vec<RegisterDesign>> = BTreeMap::new();
    for design in designs {
        let registers = caches.entry(&design.cache).or_default();
        if !registers.contains(&design.register) {
            registers.push(design.register);
        }
    }
    let cells: Vec<Cell> = caches
        .into_iter()
        .map(|(cache, registers)| Cell { cache: cache.clone(), registers })
        .collect();
    let all = cells.len();
    let counts = replay_cells(trace, &cells, go_on, &|finished| done(finished, all))?;
    let found: BTreeMap<(&CacheDesign, RegisterDesign), &Counts> = cells
        .iter()
        .zip(&counts)
        .flat_map(|(cell, counts)| {
            cell.registers
                .iter()
                .zip(counts)
                .map(|(register, counts)| ((&cell.cache, *register), counts))
        })
        .collect();
    let evaluate =
        |design: &Design| design.evaluate(found[&(&design.cache, design.register)].clone());
    Ok(designs.iter().map(evaluate).collect())
}
