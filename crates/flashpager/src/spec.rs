//! A design as a person writes it down: on a board, in flags, in Python.
//!
//! The schema of its fields is stated once, in [`design_schema!`]: the fields with their defaults,
//! and the [`AXES`] along which an exploration may vary them.

mod axes;
mod schema;

use serde::{Deserialize, Serialize};

use crate::classes::ClassesFile;
use crate::cost::handler::{Handler, Schedule};
use crate::cost::{FetchPrices, LineFetch, Ram};
use flashpager_base::{Error, Result};
use flashpager_media::bus::Bus;
use flashpager_media::cores::ClockedCore;
use flashpager_media::estimate::Peripheral;
use flashpager_media::part;
use flashpager_replay::pager::{self, PolicySpec};
use flashpager_replay::register::RegisterModel;
use flashpager_replay::{HierarchyDesign, ICacheShape, Store, TlbShape};

pub use axes::{Axis, AxisKind, Value, axis};
use axes::{
    AxisField, known, line_fetches, no_name, parsed, policies_without_parameters, registers,
    schedules, spelled, stores,
};

macro_rules! define_design {
    ($(
        $(#[doc = $doc:literal])+
        $(#[serde($($serde:tt)*)])?
        $field:ident: $type:ty = $default:expr
        $(, axis {
            kind: $kind:ident,
            title: $title:literal,
            metavar: $metavar:literal,
            help: $help:expr,
            all: $all:expr,
            checked: $checked:expr,
        })?;
    )*) => {
        /// A design as a person writes it down.
        ///
        /// [`DesignSpec::resolved`] fills in part, bus, register and NOR if they are `None`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct DesignSpec {
            $($(#[doc = $doc])+ $(#[serde($($serde)*)])? pub $field: $type,)*
            /// The board's port, which makes the clock of the bus. It is neither compared nor kept.
            #[serde(skip)]
            pub port: Option<Peripheral>,
            /// The architecture of the traces that it executes, from which an open processor
            /// follows; `None` before a trace is known.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub architecture: Option<String>,
        }

        /// Part, cache and policy are those of the smart card of CARDIS 2010: 2 KB of RAM in pages
        /// of 64 bytes.
        impl Default for DesignSpec {
            fn default() -> Self {
                Self { $($field: $default,)* port: None, architecture: None }
            }
        }

        /// Each field and its documentation, in the order of the struct.
        pub const FIELDS: &[(&str, &str)] =
            &[$((stringify!($field), concat!($($doc),+).trim_ascii_start()),)*];

        /// The fields that an exploration may vary, in the order in which their product is taken;
        /// but cache sizes, which may depend on all others, vary fastest.
        pub const AXES: &[Axis] = &[$($(Axis {
            name: stringify!($field),
            title: $title,
            kind: AxisKind::$kind,
            metavar: $metavar,
            help: $help,
            all: $all,
            checked: $checked,
            set: |design, kind, value| design.$field.set(stringify!($field), kind, value),
        },)?)*];
    };
}
crate::design_schema!(define_design);

/// Returns true if a way to fetch lines is the usual one, which JSON leaves out.
fn is_whole(line_fetch: &str) -> bool {
    line_fetch == LineFetch::Whole.name()
}

/// Returns true if a store is the usual one, which JSON leaves out.
fn is_plain(store: &str) -> bool {
    store == Store::Plain.name()
}

/// An instruction cache as a person writes it down, with its times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ICacheSpec {
    /// Bytes of all lines.
    pub size_bytes: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Nanoseconds to fetch a word from it.
    pub fetch_ns: f64,
    /// Nanoseconds to refill a line.
    pub refill_ns: f64,
}

/// A TLB as a person writes it down, with its times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbSpec {
    /// Sets.
    pub sets: u32,
    /// Entries of a set.
    pub ways: u32,
    /// Nanoseconds of a lookup in it.
    pub lookup_ns: f64,
    /// Nanoseconds to walk the page table if it does not know the page.
    pub page_walk_ns: f64,
}

/// The part if none is named: the small-page NAND of the smart card of CARDIS 2010.
pub(crate) const USUAL_PART: &str = "K9F1208Q0B";

/// The word for nothing in flags and files.
pub const NONE: &str = "none";

/// The word for no NOR to compare with. Tables have nothing there.
pub const NO_NOR: &str = NONE;

/// JSON and tables have null for [`NONE`].
mod or_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes references")]
    pub fn serialize<S: Serializer>(name: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
        name.as_ref().filter(|name| *name != super::NONE).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
        Ok(Option::deserialize(from)?.or_else(|| Some(super::NONE.into())))
    }
}

/// Reference bits that hardware sets.
const HARDWARE: &str = "hardware";
/// Reference bits that the valid bit emulates.
const EMULATED: &str = "emulated";

/// Returns true if a value of `reference_bit` stands for an emulated bit.
fn emulates_bit(reference_bit: &str) -> Result<bool> {
    match reference_bit {
        HARDWARE => Ok(false),
        EMULATED => Ok(true),
        other => Err(Error::design(format!(
            "unknown reference bit '{other}' (known: {HARDWARE}, {EMULATED})"
        ))),
    }
}

impl DesignSpec {
    /// Instruction cache and TLB, and their times; `None` without an instruction cache.
    pub(crate) fn hierarchy(&self) -> Result<Option<(HierarchyDesign, FetchPrices)>> {
        let Some(icache) = self.icache else {
            return match self.tlb {
                None => Ok(None),
                Some(_) => Err(Error::design(
                    "a TLB without an instruction cache: give the board an [icache], too",
                )),
            };
        };
        let ICacheSpec { size_bytes, line_bytes, ways, fetch_ns, refill_ns } = icache;
        let design = HierarchyDesign {
            icache: ICacheShape { cache_bytes: size_bytes, line_bytes, ways },
            tlb: self.tlb.map(|tlb| TlbShape { sets: tlb.sets, ways: tlb.ways }),
        };
        let prices = FetchPrices {
            fetch_ns,
            refill_ns,
            tlb_lookup_ns: self.tlb.map_or(0.0, |tlb| tlb.lookup_ns),
            page_walk_ns: self.tlb.map_or(0.0, |tlb| tlb.page_walk_ns),
        };
        Ok(Some((design, prices)))
    }

    /// The processor, looked up; `None` if it is open or there is none.
    ///
    /// # Errors
    /// An unknown processor.
    pub(crate) fn clocked_core(&self) -> Result<Option<ClockedCore>> {
        let named = self.processor.as_deref().filter(|name| *name != NONE);
        named.map(str::parse).transpose()
    }

    /// Returns true if the reference bit is emulated.
    pub(crate) fn emulates_bit(&self) -> Result<bool> {
        emulates_bit(&self.reference_bit)
    }

    /// Sets a field by its name.
    ///
    /// # Errors
    /// An unknown field, a value of another kind, a page that is not below 4 GiB.
    pub fn set(&mut self, name: &str, value: Value) -> Result<()> {
        match (name, value) {
            ("nor", Value::Nothing) => self.nor = Some(NO_NOR.into()),
            ("nor", value) => self.nor = Some(value.text()?),
            ("processor", Value::Nothing) => self.processor = Some(NONE.into()),
            ("count_commands", Value::Flag(flag)) => self.count_commands = flag,
            ("clip_bus", Value::Flag(flag)) => self.clip_bus = flag,
            (name, value) => axis(name)?.set(self, value)?,
        }
        Ok(())
    }

    /// The part, or the usual one if it is open.
    pub fn part_name(&self) -> &str {
        self.part.as_deref().unwrap_or(USUAL_PART)
    }

    /// The number of frames in the cache, before anything is checked.
    pub fn frames(&self) -> u64 {
        self.cache_bytes / u64::from(self.cache_page_bytes.max(1))
    }

    /// The same design on another part, whose loads were not measured.
    pub fn on_part(&self, part: &str) -> Self {
        let mut other = Self { part: Some(part.into()), ..self.clone() };
        if part != self.part_name()
            && let Some(handler) = &mut other.handler
        {
            handler.load_stopover_ns = None;
        }
        other
    }
}
