//! A design as a person writes it down: on a board, in flags, in Python.
//!
//! What can be asked for is stated here once: the fields with their defaults, and the
//! [`AXES`] along which an exploration may vary them.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cost::handler::{Handler, Schedule};
use crate::cost::{FetchPrices, LineFetch, Ram};
use flashpager_base::sizes::{below_4_gib, power_of_two};
use flashpager_base::{Error, Result};
use flashpager_media::bus::Bus;
use flashpager_media::cores::ClockedCore;
use flashpager_media::estimate::Peripheral;
use flashpager_media::part;
use flashpager_replay::pager::{self, PolicySpec};
use flashpager_replay::register::RegisterModel;
use flashpager_replay::{HierarchyDesign, ICacheShape, TlbShape};

/// A design as a person writes it down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DesignSpec {
    /// A part of the catalog, or a TOML file; [`DesignSpec::resolved`] says what it is if absent,
    /// as of bus, register and NOR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The bus, as `33MHz-x8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<String>,
    /// How a part that is read in place is read, as `1-4-4`; the fastest way if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_mode: Option<String>,
    /// Whether a bus may be faster than the part, or wider, which is then read at its own pace, as
    /// in the tables of CARDIS 2010.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub clip_bus: bool,
    /// Bytes of RAM for frames.
    pub cache_bytes: u64,
    /// Bytes of a cache page.
    pub cache_page_bytes: u32,
    /// Bytes of a flash page; the part's own if absent.
    pub flash_page_bytes: Option<u32>,
    /// How the data register is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<String>,
    /// With host ECC: bytes fetched and checked together.
    pub codeword_bytes: Option<u32>,
    /// With authentication: bytes of the tag of a cache page, or of a codeword that is larger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag_bytes: Option<u32>,
    /// Who is evicted.
    pub policy: String,
    /// Ways of a set of a cache in hardware; nothing for frames in software.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ways: Option<u32>,
    /// Lines that a prefetch buffer behind a cache in hardware takes in ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch_lines: Option<u32>,
    /// How a line comes into a cache in hardware ([`LineFetch`]).
    #[serde(skip_serializing_if = "is_whole")]
    pub line_fetch: String,
    /// The RAM; with a processor that copies, its time for it if nothing is said, else the smart
    /// card's.
    pub ram: Option<Ram>,
    /// The software; with a processor, its fault path if nothing is said, else none.
    pub handler: Option<Handler>,
    /// The NOR part to compare with, or `none`.
    #[serde(skip_serializing_if = "Option::is_none", with = "nor")]
    pub nor: Option<String>,
    /// Count command, address and status cycles of a load, which the papers do not.
    pub count_commands: bool,
    /// What of a fault goes on at once: `sequential` and others ([`Schedule`]).
    pub schedule: String,
    /// Who sets reference bits: `hardware`, or `emulated` by the valid bit.
    pub reference_bit: String,
    /// What of a page is transferred first, before the program goes on; the whole page
    /// if absent.
    pub critical_block_bytes: Option<u32>,
    /// The processor, as `cortex-m3@64MHz`; nothing for the times of the memories alone.
    pub processor: Option<String>,
    /// The instruction cache in front of the page cache.
    pub icache: Option<ICacheSpec>,
    /// The TLB between both.
    pub tlb: Option<TlbSpec>,
    /// The board's port, which makes the clock of the bus; it is no part of what is compared or kept.
    #[serde(skip)]
    pub port: Option<Peripheral>,
}

/// Of a way to fetch lines that need not be said.
fn is_whole(line_fetch: &str) -> bool {
    line_fetch == LineFetch::Whole.name()
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
    /// A word out of it.
    pub fetch_ns: f64,
    /// A line into it.
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
    /// Asking it.
    pub lookup_ns: f64,
    /// The page table, where it does not know the page.
    pub page_walk_ns: f64,
}

/// Where no part is named: the small-page NAND of the smart card of CARDIS 2010.
pub(crate) const USUAL_PART: &str = "K9F1208Q0B";

/// How a person says that there is nothing.
pub const NONE: &str = "none";

/// No NOR to compare with; a table has nothing there.
pub const NO_NOR: &str = NONE;

/// In tables and JSON nothing stands for [`NO_NOR`].
mod nor {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes references")]
    pub fn serialize<S: Serializer>(nor: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
        nor.as_ref().filter(|name| *name != super::NO_NOR).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
        Ok(Option::deserialize(from)?.or_else(|| Some(super::NO_NOR.into())))
    }
}

/// RAM, cache and policy are those of the smart card of CARDIS 2010: 2 KB of RAM in pages of 64
/// bytes. The paper states no times of the RAM; it is taken to share the bus with the NOR it is
/// compared with.
impl Default for DesignSpec {
    fn default() -> Self {
        Self {
            part: None,
            bus: None,
            read_mode: None,
            clip_bus: false,
            cache_bytes: 2048,
            cache_page_bytes: 64,
            flash_page_bytes: None,
            register: None,
            codeword_bytes: None,
            tag_bytes: None,
            policy: "lru".into(),
            ways: None,
            prefetch_lines: None,
            line_fetch: LineFetch::default().name().into(),
            ram: None,
            handler: None,
            nor: None,
            count_commands: false,
            schedule: Schedule::Sequential.name().into(),
            reference_bit: HARDWARE.into(),
            critical_block_bytes: None,
            processor: None,
            icache: None,
            tlb: None,
            port: None,
        }
    }
}

/// Who sets reference bits.
const HARDWARE: &str = "hardware";
const EMULATED: &str = "emulated";

/// A value of a field, before its field looks at it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not there: a flash page is the part's own, a codeword or a critical block is none.
    Nothing,
    /// A name.
    Text(String),
    /// Bytes.
    Size(u64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    fn text(self) -> Result<String> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(Error::design(format!("{other:?} is not text"))),
        }
    }

    fn size(self) -> Result<u64> {
        match self {
            Self::Size(bytes) => Ok(bytes),
            other => Err(Error::design(format!("{other:?} is not a size"))),
        }
    }

    fn text_or_none(self) -> Result<Option<String>> {
        if self == Self::Nothing { Ok(None) } else { self.text().map(Some) }
    }

    fn size_or_none(self, name: &str) -> Result<Option<u32>> {
        if self == Self::Nothing {
            return Ok(None);
        }
        below_4_gib(name, self.size()?).map(Some)
    }
}

/// What a field that can be varied holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// A name.
    Text,
    /// A name, or none.
    TextOrNone,
    /// Bytes.
    Size,
    /// Bytes, or none.
    SizeOrNone,
}

/// Sizes that need be no power of two: the RAM for frames, and what is counted.
const NUMBERS: [&str; 4] = ["cache_bytes", "ways", "prefetch_lines", "tag_bytes"];

/// A field that an exploration may vary. Its flag is its title with dashes.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// The field of [`DesignSpec`], which is also the column of a table.
    pub name: &'static str,
    /// As a person calls it.
    pub title: &'static str,
    /// What it holds.
    pub kind: AxisKind,
    /// What stands for a value in a usage line.
    pub metavar: &'static str,
    help: fn() -> String,
    all: Option<fn() -> Vec<&'static str>>,
    /// Looks a name up and gives it spelled in one way.
    checked: fn(&str) -> Result<String>,
    set: fn(&mut DesignSpec, Value) -> Result<()>,
}

impl Axis {
    /// One line of help.
    pub fn help(&self) -> String {
        (self.help)()
    }

    /// Whether it may hold nothing.
    pub fn may_be_none(&self) -> bool {
        matches!(self.kind, AxisKind::SizeOrNone | AxisKind::TextOrNone)
    }

    /// The values that `all` stands for, where it stands for any.
    pub fn all(&self) -> Option<Vec<&'static str>> {
        self.all.map(|all| all())
    }

    /// Check a value by itself, before it is combined with others. Gives it spelled in one
    /// way, so that equal ones are known to be.
    ///
    /// # Errors
    /// Values that no design can have, such as an unknown part.
    pub fn checked(&self, value: Value) -> Result<Value> {
        match value {
            Value::Text(text) if text == NONE && self.may_be_none() => Ok(Value::Nothing),
            Value::Text(text) => (self.checked)(&text).map(Value::Text),
            Value::Size(bytes) if !NUMBERS.contains(&self.name) => {
                power_of_two(self.title, below_4_gib(self.name, bytes)?)?;
                Ok(value)
            }
            _ => Ok(value),
        }
    }
}

/// A name of one of `T`, spelled as it spells itself.
fn parsed<T: FromStr<Err = Error> + ToString>(text: &str) -> Result<String> {
    text.parse::<T>().map(|found| found.to_string())
}

/// A name that is spelled as it is given.
fn known<T: FromStr<Err = Error>>(text: &str) -> Result<String> {
    text.parse::<T>().map(|_| text.to_owned())
}

/// Of an axis that has no names.
fn no_name(text: &str) -> Result<String> {
    Err(Error::design(format!("'{text}' is no size")))
}

fn emulates_bit(reference_bit: &str) -> Result<bool> {
    match reference_bit {
        HARDWARE => Ok(false),
        EMULATED => Ok(true),
        other => Err(Error::design(format!(
            "unknown reference bit '{other}' (known: {HARDWARE}, {EMULATED})"
        ))),
    }
}

/// A policy with its parameters, in brackets those that may be left out.
fn spelled((name, parameters): &(&str, usize)) -> String {
    if *parameters == 0 {
        return (*name).into();
    }
    let written = format!("({})", vec!["N"; *parameters].join(","));
    if name.parse::<PolicySpec>().is_ok() {
        format!("{name}[{written}]")
    } else {
        format!("{name}{written}")
    }
}

fn registers() -> Vec<&'static str> {
    RegisterModel::ALL.iter().map(|(name, _)| *name).collect()
}

fn line_fetches() -> Vec<&'static str> {
    LineFetch::ALL.iter().map(|(name, _)| *name).collect()
}

fn schedules() -> Vec<&'static str> {
    Schedule::ALL.iter().map(|(name, _)| *name).collect()
}

/// Of those that take any number of frames: some are for hardware, which has powers of two.
fn policies_without_parameters() -> Vec<&'static str> {
    let takes_any = |name: &str| name.parse().is_ok_and(|spec: PolicySpec| spec.check(3).is_ok());
    let plain = pager::POLICIES.iter().filter(|(_, parameters)| *parameters == 0);
    plain.map(|(name, _)| *name).filter(|name| takes_any(name)).collect()
}

/// The fields that an exploration may vary, in the order in which their product is taken; but
/// cache sizes, which may depend on all others, vary fastest.
pub const AXES: &[Axis] = &[
    Axis {
        name: "part",
        title: "part",
        kind: AxisKind::Text,
        metavar: "NAME",
        help: || "Flash part, or a part's TOML file.".into(),
        all: None,
        checked: |name| part::find(name).map(|_| name.to_owned()),
        set: |design, value| value.text().map(|text| design.part = Some(text)),
    },
    Axis {
        name: "bus",
        title: "bus",
        kind: AxisKind::Text,
        metavar: "BUS",
        help: || "Clock and data lines, as 33MHz-x8.".into(),
        all: None,
        checked: known::<Bus>,
        set: |design, value| value.text().map(|text| design.bus = Some(text)),
    },
    Axis {
        name: "read_mode",
        title: "read mode",
        kind: AxisKind::TextOrNone,
        metavar: "MODE",
        help: || {
            "Lines of command, address and data of a read in place, as 1-4-4; 0-4-4 continues the \
             read before."
                .into()
        },
        all: None,
        checked: |mode| Ok(mode.to_owned()),
        set: |design, value| value.text_or_none().map(|text| design.read_mode = text),
    },
    Axis {
        name: "cache_bytes",
        title: "cache",
        kind: AxisKind::Size,
        metavar: "SIZE",
        help: || "RAM for frames, as 2K.".into(),
        all: None,
        checked: no_name,
        set: |design, value| value.size().map(|bytes| design.cache_bytes = bytes),
    },
    Axis {
        name: "cache_page_bytes",
        title: "cache page",
        kind: AxisKind::Size,
        metavar: "SIZE",
        help: || "Cache page, a power of two.".into(),
        all: None,
        checked: no_name,
        set: |design, value| {
            design.cache_page_bytes = below_4_gib("cache_page_bytes", value.size()?)?;
            Ok(())
        },
    },
    Axis {
        name: "flash_page_bytes",
        title: "flash page",
        kind: AxisKind::SizeOrNone,
        metavar: "SIZE",
        help: || "Flash page; the part's own by default.".into(),
        all: None,
        checked: no_name,
        set: |design, value| {
            design.flash_page_bytes = value.size_or_none("flash_page_bytes")?;
            Ok(())
        },
    },
    Axis {
        name: "register",
        title: "register",
        kind: AxisKind::Text,
        metavar: "MODEL",
        help: || registers().join(" | "),
        all: Some(registers),
        checked: known::<RegisterModel>,
        set: |design, value| value.text().map(|text| design.register = Some(text)),
    },
    Axis {
        name: "codeword_bytes",
        title: "codeword",
        kind: AxisKind::SizeOrNone,
        metavar: "SIZE",
        help: || "With host ECC: bytes fetched and checked whole.".into(),
        all: None,
        checked: no_name,
        set: |design, value| {
            design.codeword_bytes = value.size_or_none("codeword_bytes")?;
            Ok(())
        },
    },
    Axis {
        name: "tag_bytes",
        title: "tag",
        kind: AxisKind::SizeOrNone,
        metavar: "BYTES",
        help: || "With authentication: bytes of the tag of what is fetched, up to 16.".into(),
        all: None,
        checked: no_name,
        set: |design, value| {
            design.tag_bytes = value.size_or_none("tag_bytes")?;
            Ok(())
        },
    },
    Axis {
        name: "policy",
        title: "policy",
        kind: AxisKind::Text,
        metavar: "POLICY",
        help: || pager::POLICIES.iter().map(spelled).collect::<Vec<_>>().join(" | "),
        all: Some(policies_without_parameters),
        checked: parsed::<PolicySpec>,
        set: |design, value| value.text().map(|text| design.policy = text),
    },
    Axis {
        name: "ways",
        title: "ways",
        kind: AxisKind::SizeOrNone,
        metavar: "N",
        help: || "Cache in hardware, in sets of so many lines; a line is a cache page.".into(),
        all: None,
        checked: no_name,
        set: |design, value| {
            design.ways = value.size_or_none("ways")?;
            Ok(())
        },
    },
    Axis {
        name: "prefetch_lines",
        title: "prefetch lines",
        kind: AxisKind::SizeOrNone,
        metavar: "N",
        help: || "Buffer behind a cache in hardware, for so many lines read ahead.".into(),
        all: None,
        checked: no_name,
        set: |design, value| {
            let lines = value.size_or_none("prefetch_lines")?;
            design.prefetch_lines = lines.filter(|lines| *lines > 0);
            Ok(())
        },
    },
    Axis {
        name: "line_fetch",
        title: "line fetch",
        kind: AxisKind::Text,
        metavar: "HOW",
        help: || {
            format!("When a cache in hardware goes on at a miss: {}.", line_fetches().join(" | "))
        },
        all: Some(line_fetches),
        checked: known::<LineFetch>,
        set: |design, value| value.text().map(|text| design.line_fetch = text),
    },
    Axis {
        name: "schedule",
        title: "schedule",
        kind: AxisKind::Text,
        metavar: "NAME",
        help: || format!("What of a fault goes on at once: {}.", schedules().join(" | ")),
        all: Some(schedules),
        checked: known::<Schedule>,
        set: |design, value| value.text().map(|text| design.schedule = text),
    },
    Axis {
        name: "reference_bit",
        title: "reference bit",
        kind: AxisKind::Text,
        metavar: "HOW",
        help: || format!("{HARDWARE} | {EMULATED} (by the valid bit: false faults)."),
        all: None,
        checked: |text| emulates_bit(text).map(|_| text.to_owned()),
        set: |design, value| value.text().map(|text| design.reference_bit = text),
    },
    Axis {
        name: "critical_block_bytes",
        title: "critical block",
        kind: AxisKind::SizeOrNone,
        metavar: "SIZE",
        help: || "Transfer this much first and the rest of the page while the program runs.".into(),
        all: None,
        checked: no_name,
        set: |design, value| {
            design.critical_block_bytes = value.size_or_none("critical_block_bytes")?;
            Ok(())
        },
    },
    Axis {
        name: "processor",
        title: "processor",
        kind: AxisKind::TextOrNone,
        metavar: "CORE@CLOCK",
        help: || {
            "Who executes, as cortex-m3@64MHz: run time, and what a fault's software takes; none: \
             the memories alone."
                .into()
        },
        all: None,
        checked: parsed::<ClockedCore>,
        set: |design, value| value.text_or_none().map(|text| design.processor = text),
    },
];

/// The axis of a field.
///
/// # Errors
/// A field that is no axis.
pub fn axis(name: &str) -> Result<&'static Axis> {
    AXES.iter()
        .find(|axis| axis.name == name)
        .ok_or_else(|| Error::design(format!("{name} is nothing that can be varied")))
}

impl DesignSpec {
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

    pub(crate) fn emulates_bit(&self) -> Result<bool> {
        emulates_bit(&self.reference_bit)
    }

    /// Set a field by its name.
    ///
    /// # Errors
    /// An unknown field, a value of another kind, a page that is not below 4 GiB.
    pub fn set(&mut self, name: &str, value: Value) -> Result<()> {
        match (name, value) {
            ("nor", Value::Nothing) => self.nor = Some(NO_NOR.into()),
            ("nor", value) => self.nor = Some(value.text()?),
            ("count_commands", Value::Flag(flag)) => self.count_commands = flag,
            ("clip_bus", Value::Flag(flag)) => self.clip_bus = flag,
            (name, value) => (axis(name)?.set)(self, value)?,
        }
        Ok(())
    }

    /// The part, said or not.
    pub fn part_name(&self) -> &str {
        self.part.as_deref().unwrap_or(USUAL_PART)
    }

    /// Frames in the cache, before anything is checked.
    pub fn frames(&self) -> u64 {
        self.cache_bytes / u64::from(self.cache_page_bytes.max(1))
    }

    /// The same on another part, of which nobody measured a load.
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
