//! A design as a person writes it down: on a board, in flags, in Python.
//!
//! What can be asked for is stated here once: the fields with their defaults, and the
//! [`AXES`] along which an exploration may vary them.

use serde::{Deserialize, Serialize};

use crate::cost::handler::{Handler, Schedule};
use crate::cost::{FetchPrices, Ram};
use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result};
use flashpager_media::bus::Bus;
use flashpager_media::part;
use flashpager_replay::pager::{self, PolicySpec};
use flashpager_replay::register::RegisterModel;
use flashpager_replay::{HierarchyDesign, ICacheShape, TlbShape};

/// A design as a person writes it down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
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
    pub handler: Handler,
    /// The NOR part to compare with.
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
    /// The instruction cache in front of the page cache.
    pub icache: Option<ICacheSpec>,
    /// The TLB between both.
    pub tlb: Option<TlbSpec>,
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

/// What is not given is the smart card's of CARDIS 2010: 2 KB of RAM, a small-page NAND on an
/// 8-bit bus of 33 MHz. The paper states no times of the RAM; it is taken to share the bus with
/// the NOR it is compared with.
impl Default for DesignSpec {
    fn default() -> Self {
        Self {
            part: "K9F1208Q0B".into(),
            bus: "33MHz-x8".into(),
            cache_bytes: 2048,
            cache_page_bytes: 64,
            flash_page_bytes: None,
            register: RegisterModel::Sequential.name().into(),
            codeword_bytes: None,
            policy: "lru".into(),
            ram: Ram::default(),
            handler: Handler::default(),
            nor: Some("NOR-CARDIS".into()),
            count_commands: false,
            schedule: Schedule::Sequential.name().into(),
            reference_bit: HARDWARE.into(),
            critical_block_bytes: None,
            icache: None,
            tlb: None,
        }
    }
}

/// Who sets reference bits.
const HARDWARE: &str = "hardware";
const EMULATED: &str = "emulated";

/// Flash offsets have 32 bits, and so have pages and codewords.
const PAST_PAGES: u64 = 1 << 32;

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

/// What a field that can be varied holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// A name.
    Text,
    /// Bytes.
    Size,
    /// Bytes, or none.
    SizeOrNone,
}

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
}

impl Axis {
    /// One line of help.
    pub fn help(&self) -> String {
        (self.help)()
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
        match (self.name, &value) {
            ("part", Value::Text(name)) => part::find(name).map(drop)?,
            ("bus", Value::Text(text)) => text.parse::<Bus>().map(drop)?,
            ("register", Value::Text(name)) => name.parse::<RegisterModel>().map(drop)?,
            ("policy", Value::Text(text)) => {
                return Ok(Value::Text(text.parse::<PolicySpec>()?.to_string()));
            }
            ("cache_bytes", _) => {}
            (_, Value::Size(bytes)) => power_of_two(self.title, below_4_gib(self.name, *bytes)?)?,
            _ => {}
        }
        Ok(value)
    }
}

fn below_4_gib(name: &str, bytes: u64) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| {
        Error::design(format!("{name} = {bytes} is not below {} GiB", PAST_PAGES >> 30))
    })
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

fn schedules() -> Vec<&'static str> {
    Schedule::ALL.iter().map(|(name, _)| *name).collect()
}

fn policies_without_parameters() -> Vec<&'static str> {
    let plain = pager::POLICIES.iter().filter(|(_, parameters)| *parameters == 0);
    plain.map(|(name, _)| *name).collect()
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
    },
    Axis {
        name: "bus",
        title: "bus",
        kind: AxisKind::Text,
        metavar: "BUS",
        help: || "Clock and data lines, as 33MHz-x8.".into(),
        all: None,
    },
    Axis {
        name: "cache_bytes",
        title: "cache",
        kind: AxisKind::Size,
        metavar: "SIZE",
        help: || "RAM for frames, as 2K.".into(),
        all: None,
    },
    Axis {
        name: "cache_page_bytes",
        title: "cache page",
        kind: AxisKind::Size,
        metavar: "SIZE",
        help: || "Cache page, a power of two.".into(),
        all: None,
    },
    Axis {
        name: "flash_page_bytes",
        title: "flash page",
        kind: AxisKind::SizeOrNone,
        metavar: "SIZE",
        help: || "Flash page; the part's own by default.".into(),
        all: None,
    },
    Axis {
        name: "register",
        title: "register",
        kind: AxisKind::Text,
        metavar: "MODEL",
        help: || registers().join(" | "),
        all: Some(registers),
    },
    Axis {
        name: "codeword_bytes",
        title: "codeword",
        kind: AxisKind::SizeOrNone,
        metavar: "SIZE",
        help: || "With host ECC: bytes fetched and checked whole.".into(),
        all: None,
    },
    Axis {
        name: "policy",
        title: "policy",
        kind: AxisKind::Text,
        metavar: "POLICY",
        help: || pager::POLICIES.iter().map(spelled).collect::<Vec<_>>().join(" | "),
        all: Some(policies_without_parameters),
    },
    Axis {
        name: "schedule",
        title: "schedule",
        kind: AxisKind::Text,
        metavar: "NAME",
        help: || format!("What of a fault goes on at once: {}.", schedules().join(" | ")),
        all: Some(schedules),
    },
    Axis {
        name: "reference_bit",
        title: "reference bit",
        kind: AxisKind::Text,
        metavar: "HOW",
        help: || format!("{HARDWARE} | {EMULATED} (by the valid bit: false faults)."),
        all: None,
    },
    Axis {
        name: "critical_block_bytes",
        title: "critical block",
        kind: AxisKind::SizeOrNone,
        metavar: "SIZE",
        help: || "Transfer this much first and the rest of the page while the program runs.".into(),
        all: None,
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
        match self.reference_bit.as_str() {
            HARDWARE => Ok(false),
            EMULATED => Ok(true),
            other => Err(Error::design(format!(
                "unknown reference bit '{other}' (known: {HARDWARE}, {EMULATED})"
            ))),
        }
    }

    /// Set a field by its name.
    ///
    /// # Errors
    /// An unknown field, a value of another kind, a page that is not below 4 GiB.
    pub fn set(&mut self, name: &str, value: Value) -> Result<()> {
        use Value::{Flag, Nothing, Size, Text};
        match (name, value) {
            ("part", Text(text)) => self.part = text,
            ("bus", Text(text)) => self.bus = text,
            ("register", Text(text)) => self.register = text,
            ("policy", Text(text)) => self.policy = text,
            ("schedule", Text(text)) => self.schedule = text,
            ("reference_bit", Text(text)) => self.reference_bit = text,
            ("nor", Text(text)) => self.nor = Some(text),
            ("nor", Nothing) => self.nor = None,
            ("count_commands", Flag(flag)) => self.count_commands = flag,
            ("cache_bytes", Size(bytes)) => self.cache_bytes = bytes,
            ("cache_page_bytes", Size(bytes)) => self.cache_page_bytes = below_4_gib(name, bytes)?,
            ("flash_page_bytes", Size(bytes)) => {
                self.flash_page_bytes = Some(below_4_gib(name, bytes)?);
            }
            ("flash_page_bytes", Nothing) => self.flash_page_bytes = None,
            ("codeword_bytes", Size(bytes)) => {
                self.codeword_bytes = Some(below_4_gib(name, bytes)?);
            }
            ("codeword_bytes", Nothing) => self.codeword_bytes = None,
            ("critical_block_bytes", Size(bytes)) => {
                self.critical_block_bytes = Some(below_4_gib(name, bytes)?);
            }
            ("critical_block_bytes", Nothing) => self.critical_block_bytes = None,
            (name, value) => {
                return Err(Error::design(format!("{name} cannot be {value:?}")));
            }
        }
        Ok(())
    }

    /// The same on another part, of which nobody measured a load.
    pub fn on_part(&self, part: &str) -> Self {
        let mut other = Self { part: part.into(), ..self.clone() };
        if other.part != self.part {
            other.handler.load_stopover_ns = None;
        }
        other
    }
}
