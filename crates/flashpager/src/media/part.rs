//! Flash parts: one TOML file each in `parts/`, every number with its source.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use include_dir::{Dir, include_dir};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use super::bus::{Bus, WIDTHS};
use super::onenand::OneNand;
use super::operation::{Medium, What, implausible};
use super::parallel::Parallel;
use super::register::{RegisterModel, SMALL_PAGE_BYTES, power_of_two};
use super::sd::Sd;
use super::sdr::Sdr;
use super::spi::Spi;
use crate::error::{Error, Result, did_you_mean};
use crate::trace::input::shown;

/// A part takes 2 KB; whatever lies beyond this is not read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// What a source says that is nobody's: the number is from memory, or a guess.
const UNVERIFIED: &str = "unverified";

/// Times that a part can have, least and most: others are in another unit. NAND is slow, so
/// that microseconds written for nanoseconds stand out, too.
const T_R_NS: (f64, f64) = (500.0, 10e6);
const T_PROG_NS: (f64, f64) = (10.0, 1e9);
const NAND_T_PROG_NS: (f64, f64) = (5e3, 1e9);
const T_BERS_NS: (f64, f64) = (1e3, 1e12);
const NAND_T_BERS_NS: (f64, f64) = (5e4, 1e12);
const T_BYTE_NS: (f64, f64) = (0.01, 1e6);

/// Letters of a name.
const MAX_NAME_CHARS: usize = 64;

static CATALOG: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../parts");

/// A number with where it was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Sourced_{T}")]
pub struct Sourced<T> {
    /// The number, in the unit its name ends with.
    pub value: T,
    /// The datasheet, paper or table; says `unverified` when from memory.
    pub source: String,
}

impl<T> Sourced<T> {
    /// Whether the source says that nobody checked it.
    pub fn is_unverified(&self) -> bool {
        is_unverified(&self.source)
    }
}

fn is_unverified(source: &str) -> bool {
    source.contains(UNVERIFIED)
}

/// What kind of memory a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Pages through a data register.
    Nand,
    /// Flash read byte by byte in place.
    Nor,
    /// Phase-change memory, read in place.
    Pcm,
    /// Magnetic memory, read and written in place.
    Mram,
    /// Ferroelectric memory, read and written in place.
    Fram,
    /// A card with a controller of its own.
    Card,
}

impl Kind {
    /// All kinds, as a part's file names them.
    pub const ALL: &[(&str, Self)] = &[
        ("nand", Self::Nand),
        ("nor", Self::Nor),
        ("pcm", Self::Pcm),
        ("mram", Self::Mram),
        ("fram", Self::Fram),
        ("card", Self::Card),
    ];

    /// As a part's file names it.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }

    /// Whether bytes are overwritten as they are, at the pace of the bus.
    pub fn is_written_in_place(self) -> bool {
        matches!(self, Self::Mram | Self::Fram)
    }

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nand => "NAND",
            Self::Nor => "NOR",
            Self::Pcm => "PCM",
            Self::Mram => "MRAM",
            Self::Fram => "FRAM",
            Self::Card => "card",
        }
    }
}

/// Who corrects errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EccPlace {
    /// The host, a codeword at a time.
    Host,
    /// The chip, inside t_R.
    OnDie,
}

impl EccPlace {
    /// As a part's file names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::OnDie => "on-die",
        }
    }
}

/// Error correction of a NAND part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecc {
    /// Who does it.
    pub place: EccPlace,
    /// Bytes checked together.
    pub codeword_bytes: u32,
    /// Bits corrected in each codeword.
    pub correctable_bits: u32,
    /// Where that was read.
    pub source: String,
}

/// The table `[supply]`: what a part takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Supply {
    /// Supply voltage at which energy is reckoned.
    pub volts: Option<Sourced<f64>>,
    /// Current while the array is read, and, if `io_ma` is absent, while data moves.
    pub read_ma: Option<Sourced<f64>>,
    /// Current while the array is programmed; that of reading if absent.
    pub program_ma: Option<Sourced<f64>>,
    /// Current while the array is erased; that of programming if absent.
    pub erase_ma: Option<Sourced<f64>>,
    /// Current while data moves over the bus.
    pub io_ma: Option<Sourced<f64>>,
    /// Current while nothing happens.
    pub standby_ua: Option<Sourced<f64>>,
}

/// A part's power, as its datasheet's currents give it: mostly maxima.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// While the array is at work.
    pub array_mw: f64,
    /// While commands and data go over the bus.
    pub io_mw: f64,
}

impl Supply {
    /// The power of an operation; `None` without voltage or current.
    pub fn power(&self, what: What) -> Option<Power> {
        fn value(number: &Option<Sourced<f64>>) -> Option<f64> {
            number.as_ref().map(|number| number.value)
        }
        let read = value(&self.read_ma);
        let program = value(&self.program_ma).or(read);
        let array = match what {
            What::Program | What::MultiPlaneProgram => program,
            What::Erase => value(&self.erase_ma).or(program),
            _ => read,
        };
        let volts = value(&self.volts)?;
        let io = value(&self.io_ma).or(read)?;
        Some(Power { array_mw: volts * array?, io_mw: volts * io })
    }
}

/// A flash part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name, as on the package.
    pub name: String,
    /// Who makes it.
    pub maker: String,
    /// What kind of memory it is.
    pub kind: Kind,
    /// What a reader should know before using its numbers.
    pub note: Option<String>,
    /// Bytes of a page without spare.
    pub page_bytes: Option<Sourced<u32>>,
    /// Spare bytes of a page.
    pub spare_bytes: Option<Sourced<u32>>,
    /// Pages of an erase block.
    pub pages_per_block: Option<Sourced<u32>>,
    /// Bytes erased together, of parts without pages.
    pub erase_bytes: Option<Sourced<u32>>,
    /// Bytes programmed together in t_PROG, of parts without pages.
    pub program_bytes: Option<Sourced<u32>>,
    /// Data lines.
    pub width_bits: Sourced<u32>,
    /// Array to register; with on-die ECC, correction included.
    pub t_r_ns: Option<Sourced<f64>>,
    /// Program of a page, or of `program_bytes`.
    pub t_prog_ns: Option<Sourced<f64>>,
    /// Erase of a block.
    pub t_bers_ns: Option<Sourced<f64>>,
    /// Reads of a block before it should be refreshed.
    pub reads_before_refresh: Option<Sourced<f64>>,
    /// Programs and erases that a block endures.
    pub endurance_cycles: Option<Sourced<f64>>,
    /// Programs of a page between two erases (NOP).
    pub programs_per_page: Option<Sourced<u32>>,
    /// Error correction.
    pub ecc: Option<Ecc>,
    /// What it takes.
    pub supply: Option<Supply>,
    /// Raw NAND: its AC parameters.
    pub sdr: Option<Sdr>,
    /// OneNAND: its buffers.
    pub onenand: Option<OneNand>,
    /// A serial part: its clock and modes.
    pub spi: Option<Spi>,
    /// Memory on an address bus.
    pub parallel: Option<Parallel>,
    /// A card.
    pub sd: Option<Sd>,
    /// Time per byte on a given bus, where a source states it.
    #[serde(default)]
    pub t_byte_ns: BTreeMap<String, Sourced<f64>>,
}

/// Something wrong in a part's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Complaint {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// A number of a part: where it stands in the file, its value and its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// Its path, as `sdr.t_wc_ns`.
    pub field: String,
    /// As written.
    pub value: serde_json::Value,
    /// Where it was read.
    pub source: String,
    /// Whether the source says that nobody checked it.
    pub unverified: bool,
}

impl Part {
    /// Parse and check the TOML text of a part; `place` names it in errors.
    pub fn parse(text: &str, place: &str) -> Result<Self> {
        let (part, complaints) = Self::examine(text);
        match (part, complaints.first()) {
            (Some(part), None) => Ok(part),
            (_, Some(Complaint { line, what })) => {
                Err(Error::data(format!("{place}, line {line}"), what))
            }
            (None, None) => Err(Error::data(place, "holds no part")),
        }
    }

    /// Everything that is wrong with the TOML text of a part, in the order of its
    /// lines, and the part if it could be read.
    pub fn examine(text: &str) -> (Option<Self>, Vec<Complaint>) {
        let line_at = |at: usize| {
            let before = &text.as_bytes()[..at.min(text.len())];
            before.iter().filter(|byte| **byte == b'\n').count() + 1
        };
        let part: Self = match toml::from_str(text) {
            Ok(part) => part,
            Err(e) => {
                let line = line_at(e.span().map_or(0, |span| span.start));
                return (None, vec![Complaint { line, what: shown(e.message()) }]);
            }
        };
        let complaint = |(field, what): (String, String)| Complaint {
            line: line_at(position(text, &field)),
            what,
        };
        let mut complaints: Vec<Complaint> = part.check().into_iter().map(complaint).collect();
        complaints.sort_by_key(|complaint| complaint.line);
        (Some(part), complaints)
    }

    /// What is wrong: path of the field, and complaint.
    fn check(&self) -> Vec<(String, String)> {
        let mut wrong: Vec<(String, String)> = Vec::new();
        for (field, text) in [("name", &self.name), ("maker", &self.maker)] {
            let letters = text.chars().count();
            if text.trim().is_empty() || letters > MAX_NAME_CHARS || text.contains(char::is_control)
            {
                let what = format!(
                    "{field} = '{}' is no name of 1 to {MAX_NAME_CHARS} letters",
                    shown(text)
                );
                wrong.push((field.into(), what));
            }
        }
        let (t_prog, t_bers) = match self.kind {
            Kind::Nand => (NAND_T_PROG_NS, NAND_T_BERS_NS),
            _ => (T_PROG_NS, T_BERS_NS),
        };
        for (name, time, plausible) in [
            ("t_r_ns", &self.t_r_ns, T_R_NS),
            ("t_prog_ns", &self.t_prog_ns, t_prog),
            ("t_bers_ns", &self.t_bers_ns, t_bers),
        ] {
            if let Some(time) = time
                && let Some(what) = implausible(time.value, plausible)
            {
                wrong.push((name.into(), format!("{name} = {} {what}", time.value)));
            }
        }
        for (bus, time) in &self.t_byte_ns {
            let field = format!("t_byte_ns.{}", shown(bus));
            if let Err(e) = bus.parse::<Bus>() {
                wrong.push((field.clone(), format!("t_byte_ns: {}", shown(e))));
            }
            if let Some(what) = implausible(time.value, T_BYTE_NS) {
                wrong.push((field.clone(), format!("{field} = {} {what}", time.value)));
            }
        }
        if !WIDTHS.contains(&self.width_bits.value) {
            let what = format!("width_bits = {} is not one of {WIDTHS:?}", self.width_bits.value);
            wrong.push(("width_bits".into(), what));
        }
        for (name, number) in [
            ("reads_before_refresh", &self.reads_before_refresh),
            ("endurance_cycles", &self.endurance_cycles),
        ] {
            if let Some(number) = number
                && !(number.value >= 1.0 && number.value <= 1e18)
            {
                let what = format!("{name} = {} is no number of times", number.value);
                wrong.push((name.into(), what));
            }
        }
        self.check_sizes(&mut wrong);
        self.check_supply(&mut wrong);
        let tables = self.media();
        if tables.len() > 1 {
            let names: Vec<String> = tables.iter().map(|(name, _)| format!("[{name}]")).collect();
            let what = format!("a part is spoken to in one way, not by {}", names.join(" and "));
            wrong.push((tables[1].0.into(), what));
        }
        for (table, medium) in tables {
            let kinds = medium.kinds();
            if !kinds.contains(&self.kind) {
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                let what =
                    format!("[{table}] is for {}, not for {}", kinds.join(", "), self.kind.name());
                wrong.push((table.into(), what));
            }
            for (field, what) in medium.check(self) {
                let field =
                    if field.is_empty() { table.into() } else { format!("{table}.{field}") };
                wrong.push((field, what));
            }
        }
        self.check_texts(&mut wrong);
        wrong
    }

    /// A number that nobody answers for is worth nothing, and texts are printed as they are.
    fn check_texts(&self, wrong: &mut Vec<(String, String)>) {
        for fact in self.facts() {
            let what = if fact.source.trim().is_empty() {
                "has an empty source: say where it was read, or 'unverified'"
            } else if fact.source.contains(char::is_control) {
                "has a source with control characters"
            } else {
                continue;
            };
            wrong.push((fact.field.clone(), format!("{} {what}", shown(&fact.field))));
        }
        if self.note.as_ref().is_some_and(|note| note.contains(char::is_control)) {
            wrong.push(("note".into(), "note has control characters; keep it to one line".into()));
        }
    }

    fn check_sizes(&self, wrong: &mut Vec<(String, String)>) {
        if self.kind == Kind::Nand {
            let needed = [
                ("page_bytes", self.page_bytes.is_some()),
                ("pages_per_block", self.pages_per_block.is_some()),
                ("t_r_ns", self.t_r_ns.is_some()),
            ];
            for (name, _) in needed.iter().filter(|(_, given)| !given) {
                wrong.push(("kind".into(), format!("a NAND part needs {name}")));
            }
        }
        if let Some(page) = &self.page_bytes
            && let Err(e) = power_of_two("page", page.value)
        {
            wrong.push(("page_bytes".into(), e.to_string()));
        }
        if self.pages_per_block.as_ref().is_some_and(|pages| pages.value == 0) {
            let what = "pages_per_block = 0: a block has at least one page".into();
            wrong.push(("pages_per_block".into(), what));
        }
        for (name, number) in
            [("program_bytes", &self.program_bytes), ("erase_bytes", &self.erase_bytes)]
        {
            if number.as_ref().is_some_and(|number| number.value == 0) {
                wrong.push((name.into(), format!("{name} = 0: one byte is the least")));
            }
        }
        if let Some(ecc) = &self.ecc {
            let what = match power_of_two("codeword", ecc.codeword_bytes) {
                Err(e) => Some(e.to_string()),
                Ok(()) if ecc.codeword_bytes > self.flash_page_bytes() => Some(format!(
                    "ecc.codeword_bytes = {} is larger than the page",
                    ecc.codeword_bytes
                )),
                Ok(()) => None,
            };
            wrong.extend(what.map(|what| ("ecc".into(), what)));
        }
    }

    fn check_supply(&self, wrong: &mut Vec<(String, String)>) {
        let Some(supply) = &self.supply else { return };
        for (name, number, most) in [
            ("volts", &supply.volts, 100.0),
            ("read_ma", &supply.read_ma, 10_000.0),
            ("program_ma", &supply.program_ma, 10_000.0),
            ("erase_ma", &supply.erase_ma, 10_000.0),
            ("io_ma", &supply.io_ma, 10_000.0),
            ("standby_ua", &supply.standby_ua, 1e6),
        ] {
            if let Some(number) = number
                && !(number.value >= 0.0 && number.value <= most)
            {
                let what = format!("supply.{name} = {} is not between 0 and {most}", number.value);
                wrong.push((format!("supply.{name}"), what));
            }
        }
    }

    /// The tables that a part's file may have to say how it is spoken to.
    fn tables(&self) -> [(&'static str, Option<&dyn Medium>); 5] {
        fn table<M: Medium>(medium: &Option<M>) -> Option<&dyn Medium> {
            medium.as_ref().map(|medium| medium as &dyn Medium)
        }
        [
            ("sdr", table(&self.sdr)),
            ("onenand", table(&self.onenand)),
            ("spi", table(&self.spi)),
            ("parallel", table(&self.parallel)),
            ("sd", table(&self.sd)),
        ]
    }

    /// Those of the tables that it has: one, if it is in order.
    fn media(&self) -> Vec<(&'static str, &dyn Medium)> {
        self.tables().into_iter().filter_map(|(name, table)| Some((name, table?))).collect()
    }

    /// How the part is spoken to.
    ///
    /// # Errors
    /// A part that has none of the tables.
    pub fn medium(&self) -> Result<&dyn Medium> {
        self.media().first().map(|(_, medium)| *medium).ok_or_else(|| {
            let tables = self.tables().map(|(name, _)| format!("[{name}]"));
            Error::design(format!(
                "{} does not say how it is spoken to: its file needs one of the tables {}",
                self.name,
                tables.join(", ")
            ))
        })
    }

    /// The table that says how the part is spoken to, if it has one.
    pub fn table(&self) -> Option<&'static str> {
        self.media().first().map(|(name, _)| *name)
    }

    /// Its bus as people write it: `x8`, `SPI x4`.
    pub fn bus(&self) -> String {
        let name = self.media().first().map_or("", |(_, medium)| medium.bus_name());
        format!("{name} x{}", self.width_bits.value).trim_start().to_owned()
    }

    /// How fast words come, as its table's fields tell it; `None` if it has no table.
    pub fn pace(&self) -> Option<Vec<(&'static str, f64)>> {
        self.media().first().map(|(_, medium)| medium.pace())
    }

    /// What an operation takes of the supply; `None` if the part gives no voltage or current.
    pub fn power(&self, what: What) -> Option<Power> {
        self.supply.as_ref().and_then(|supply| supply.power(what))
    }

    /// Every number of the part, in the order of the file's fields.
    pub fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        if let Ok(value) = serde_json::to_value(self) {
            collect_facts(String::new(), &value, &mut facts);
        }
        facts
    }

    /// The number at the path `field`, as `sdr.t_wc_ns`.
    ///
    /// # Errors
    /// What the part does not have, or what is no number.
    pub fn number(&self, field: &str) -> Result<f64> {
        let fact = self.facts().into_iter().find(|fact| fact.field == field);
        fact.and_then(|fact| fact.value.as_f64())
            .ok_or_else(|| Error::design(format!("{} has no number {field}", self.name)))
    }

    /// What it can do or cannot, by path: as `spi.continuous_read`.
    pub fn abilities(&self) -> Vec<(String, bool)> {
        let mut abilities = Vec::new();
        if let Ok(value) = serde_json::to_value(self) {
            collect_abilities("", &value, &mut abilities);
        }
        // Those of a table before those of what lies in it.
        abilities.sort_by_key(|(path, _)| path.matches('.').count());
        abilities
    }

    /// Fields whose source says that nobody checked them.
    pub fn unverified(&self) -> Vec<String> {
        let facts = self.facts().into_iter().filter(|fact| fact.unverified);
        facts.map(|fact| fact.field).collect()
    }

    /// Bytes of a page with its spare; 0 for parts without pages.
    pub fn whole_page_bytes(&self) -> u64 {
        let spare = self.spare_bytes.as_ref().map_or(0, |bytes| bytes.value);
        u64::from(self.flash_page_bytes()) + u64::from(spare)
    }

    /// Bytes that t_PROG is for.
    pub fn program_unit_bytes(&self) -> u32 {
        let own = self.program_bytes.as_ref().map(|bytes| bytes.value);
        own.unwrap_or_else(|| self.flash_page_bytes().max(1))
    }

    /// Bytes of a page; 0 for parts without pages.
    pub fn flash_page_bytes(&self) -> u32 {
        self.page_bytes.as_ref().map_or(0, |bytes| bytes.value)
    }

    /// Bytes of an erase block; 0 for parts without pages.
    pub fn block_bytes(&self) -> u64 {
        let pages = self.pages_per_block.as_ref().map_or(0, |pages| pages.value);
        u64::from(self.flash_page_bytes()) * u64::from(pages)
    }

    /// Whether the column can be changed without a load.
    pub fn has_column_change(&self) -> bool {
        self.flash_page_bytes() > SMALL_PAGE_BYTES
    }

    /// Buffers that hold a page each while the host reads another.
    fn page_buffers(&self) -> u32 {
        let buffers = self.onenand.as_ref().and_then(|onenand| onenand.buffers.as_ref());
        buffers.map_or(1, |buffers| buffers.value)
    }

    /// Check that the part can be read as `model`.
    ///
    /// # Errors
    /// A column change or a second buffer that it does not have.
    pub fn check_register(&self, model: RegisterModel) -> Result<()> {
        if model == RegisterModel::RandomColumn && !self.has_column_change() {
            return Err(Error::design(format!(
                "{} is a small-page part ({} bytes) and has no column change: random-column is not \
                 possible with it; choose sequential or start-column",
                self.name,
                self.flash_page_bytes()
            )));
        }
        if model.has_two_buffers() && self.page_buffers() < 2 {
            return Err(Error::design(
                "a double buffer: the part holds one page at a time, OneNAND two; choose \
                 sequential, start-column or random-column",
            ));
        }
        Ok(())
    }

    /// Time to bring one byte over `bus`: as a source states it for this part
    /// on this bus, else the slower of bus and part for each word.
    pub fn byte_time(&self, bus: Bus) -> Result<f64> {
        let stated = self
            .t_byte_ns
            .iter()
            .find(|(name, _)| name.parse::<Bus>().is_ok_and(|stated| stated == bus));
        if let Some((_, time)) = stated {
            return Ok(time.value);
        }
        match self.media().first() {
            Some((_, medium)) => medium.byte_ns(self, bus),
            None => {
                let known: Vec<&str> = self.t_byte_ns.keys().map(String::as_str).collect();
                Err(Error::design(format!(
                    "{} does not say how it is spoken to, so its time on the bus {bus} is unknown \
                     (known: {})",
                    self.name,
                    known.join(", ")
                )))
            }
        }
    }

    /// Time from a change of the column to its first byte; `None` if it cannot be told.
    pub fn column_change_ns(&self, bus: Bus) -> Option<f64> {
        self.media().first().and_then(|(_, medium)| medium.column_change_ns(self, bus))
    }

    /// Time of the command, address and status cycles of a load; `None` if it cannot be told.
    pub fn load_commands_ns(&self, bus: Bus) -> Option<f64> {
        self.media().first().and_then(|(_, medium)| medium.load_commands_ns(self, bus))
    }
}

/// What lies directly in `value`, by path: the items of a list are named, or numbered from 0.
fn below<'a>(path: &str, value: &'a serde_json::Value) -> Vec<(String, &'a serde_json::Value)> {
    use serde_json::Value;
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (join(key), value)).collect(),
        Value::Array(items) => {
            let named = |(index, item): (usize, &'a Value)| {
                let name = item.get("name").and_then(Value::as_str);
                (join(&name.map_or_else(|| index.to_string(), str::to_owned)), item)
            };
            items.iter().enumerate().map(named).collect()
        }
        _ => Vec::new(),
    }
}

/// Find every truth value below `value`.
fn collect_abilities(path: &str, value: &serde_json::Value, found: &mut Vec<(String, bool)>) {
    for (path, value) in below(path, value) {
        match value.as_bool() {
            Some(can) => found.push((path, can)),
            None => collect_abilities(&path, value, found),
        }
    }
}

/// Find every table with a `source` below `value`.
fn collect_facts(path: String, value: &serde_json::Value, facts: &mut Vec<Fact>) {
    use serde_json::Value;
    if let Value::Object(fields) = value
        && let Some(Value::String(source)) = fields.get("source")
    {
        let value = match fields.get("value") {
            Some(value) => value.clone(),
            None => {
                let mut rest = fields.clone();
                rest.retain(|key, value| key != "source" && !value.is_null());
                Value::Object(rest)
            }
        };
        let unverified = is_unverified(source);
        facts.push(Fact { field: path, value, source: source.clone(), unverified });
        return;
    }
    for (path, value) in below(&path, value) {
        collect_facts(path, value, facts);
    }
}

/// Where in `text` the field of this path begins, the tables of an array being named or
/// numbered from 0; its nearest table if it is not there.
fn position(text: &str, field: &str) -> usize {
    let Ok(document) = DeTable::parse(text) else { return 0 };
    let mut table = document.get_ref();
    let mut at = 0;
    let mut path = field;
    loop {
        // Keys may have dots in them, as the bus in `t_byte_ns."33.3MHz-x8"`.
        let below = |key: &str| {
            let rest = path.strip_prefix(key)?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
        };
        let found = table.iter().find_map(|(name, value)| {
            Some((name.span().start, value.get_ref(), below(name.get_ref())?))
        });
        let Some((start, mut value, rest)) = found else { return at };
        (at, path) = (start, rest);
        if let DeValue::Array(items) = value {
            let (which, rest) = path.split_once('.').unwrap_or((path, ""));
            let named = |item: &&toml::Spanned<DeValue<'_>>| {
                item.get_ref().get("name").and_then(|name| name.get_ref().as_str()) == Some(which)
            };
            let item = match which.parse::<usize>() {
                Ok(index) => items.get(index),
                Err(_) => items.iter().find(named),
            };
            let Some(item) = item else { return at };
            (at, value, path) = (item.span().start, item.get_ref(), rest);
        }
        match value {
            DeValue::Table(inner) if !path.is_empty() => table = inner,
            _ => return at,
        }
    }
}

/// The JSON Schema of a part's file, for editors and other programs.
pub fn schema() -> serde_json::Value {
    let settings = SchemaSettings::draft07().with_transform(RecursiveTransform(without_null));
    let mut schema = settings.into_generator().into_root_schema_for::<Part>();
    // What it is comes first, for people who look into the file.
    let mut fields = serde_json::Map::new();
    fields.extend(schema.remove("$schema").map(|dialect| ("$schema".to_owned(), dialect)));
    fields.insert("title".into(), "A part of flashpager".into());
    if let serde_json::Value::Object(rest) = schema.into() {
        fields.extend(rest.into_iter().filter(|(key, _)| key != "title"));
    }
    fields.into()
}

/// TOML has no null: a field that may be absent is not a field that may be null.
fn without_null(schema: &mut Schema) {
    use serde_json::Value;
    let null = |item: &Value| item == "null" || item.get("type").is_some_and(|of| of == "null");
    for list in ["anyOf", "type"] {
        let Some(Value::Array(items)) = schema.get_mut(list) else { continue };
        items.retain(|item| !null(item));
        if let [only] = items.as_slice() {
            let only = only.clone();
            schema.remove(list);
            match only {
                // Beside a reference, draft 7 sees nothing else.
                Value::Object(fields) if fields.contains_key("$ref") => {
                    schema.insert("allOf".into(), vec![Value::Object(fields)].into());
                }
                Value::Object(fields) => {
                    for (key, value) in fields {
                        schema.insert(key, value);
                    }
                }
                name => {
                    schema.insert(list.into(), name);
                }
            }
        }
    }
}

/// All parts of the catalog, by name.
pub fn catalog() -> Result<&'static [Part]> {
    static PARTS: OnceLock<Vec<Part>> = OnceLock::new();
    match PARTS.get() {
        Some(parts) => Ok(parts),
        None => {
            let parts = parse_catalog()?;
            Ok(PARTS.get_or_init(|| parts))
        }
    }
}

fn parse_catalog() -> Result<Vec<Part>> {
    let mut parts = CATALOG
        .files()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
        .map(|file| {
            let place = format!("parts/{}", file.path().display());
            Part::parse(file.contents_utf8().unwrap_or_default(), &place)
        })
        .collect::<Result<Vec<Part>>>()?;
    parts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(parts)
}

/// The text of a part's file.
///
/// # Errors
/// Files that cannot be read, are too large for a part's, or hold no text.
pub fn read(path: &Path) -> Result<String> {
    let place = || path.display().to_string();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|e| Error::file(path, e))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let what = format!("is larger than {MAX_FILE_BYTES} bytes: no file of a part");
        return Err(Error::data(place(), what));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let what = "is no UTF-8 text; save it as UTF-8";
        Error::data(format!("{}, line {line}", place()), what)
    })
}

/// The part of this name, or in the TOML file of this path.
pub fn find(name: &str) -> Result<Part> {
    if name.ends_with(".toml") {
        return Part::parse(&read(Path::new(name))?, name);
    }
    let parts = catalog()?;
    if let Some(part) = parts.iter().find(|part| part.name.eq_ignore_ascii_case(name)) {
        return Ok(part.clone());
    }
    let near = did_you_mean(name, parts.iter().map(|part| part.name.as_str()));
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    Err(Error::design(format!("unknown part '{name}'{near} (known: {})", names.join(", "))))
}
