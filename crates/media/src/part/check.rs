//! Reads and checks part files; each complaint has its line.

use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result, shown};
use serde::Serialize;
use toml::de::{DeTable, DeValue};

use crate::bus::{Bus, WIDTHS};
use crate::datasheet::{MemoryKind, Part};
use crate::operation::{OperationKind, implausible};

/// The least and the most plausible t_R. A number outside is in another unit.
const T_R_NS: (f64, f64) = (500.0, 10e6);
/// The same for t_PROG.
const T_PROG_NS: (f64, f64) = (10.0, 1e9);
/// The same for t_PROG of NAND, which is slow: microseconds written for nanoseconds stand out.
const NAND_T_PROG_NS: (f64, f64) = (5e3, 1e9);
/// The same for t_BERS.
const T_BERS_NS: (f64, f64) = (1e3, 1e12);
/// The same for t_BERS of NAND.
const NAND_T_BERS_NS: (f64, f64) = (5e4, 1e12);
/// The same for the time of a byte over a bus.
const T_BYTE_NS: (f64, f64) = (0.01, 1e6);

/// The most characters of a name.
const MAX_NAME_CHARS: usize = 64;

/// A fault in a part's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Complaint {
    /// The line, from 1.
    pub line: usize,
    /// The fault, in one line.
    #[serde(rename = "what")]
    pub message: String,
}

impl Part {
    /// Parses and checks the TOML text of a part; `place` names the file in errors.
    ///
    /// # Errors
    /// If the file has a fault. The error is the first fault, with its line.
    pub fn parse(text: &str, place: &str) -> Result<Self> {
        let (part, complaints) = Self::read_and_check(text);
        match (part, complaints.first()) {
            (Some(part), None) => Ok(part),
            (_, Some(Complaint { line, message })) => {
                Err(Error::data(format!("{place}, line {line}"), message))
            }
            (None, None) => Err(Error::data(place, "holds no part")),
        }
    }

    /// Parses the TOML text of a part and returns all its faults in the order of their lines. A
    /// part that states neither its interface nor the time of a byte on any bus is at
    /// fault, too.
    pub fn examine(text: &str) -> (Option<Self>, Vec<Complaint>) {
        let (part, mut complaints) = Self::read_and_check(text);
        if let Some(part) = &part
            && complaints.is_empty()
            && part.t_byte_ns.is_empty()
            && let Err(error) = part.medium()
        {
            let line = line_at(text, position(text, "kind"));
            complaints.push(Complaint { line, message: error.to_string() });
        }
        (part, complaints)
    }

    /// The operations that can be composed from the part's numbers, and for each other one of its
    /// medium the reason it cannot. Both are empty for a part without a table.
    pub fn composable(&self) -> (Vec<OperationKind>, Vec<(OperationKind, String)>) {
        let (mut can, mut cannot) = (Vec::new(), Vec::new());
        let Ok(medium) = self.medium() else { return (can, cannot) };
        for kind in medium.operations(self) {
            match self.compose_usual(kind) {
                Ok(()) => can.push(kind),
                Err(error) => cannot.push((kind, error.to_string())),
            }
        }
        (can, cannot)
    }

    fn read_and_check(text: &str) -> (Option<Self>, Vec<Complaint>) {
        let part: Self = match toml::from_str(text) {
            Ok(part) => part,
            Err(e) => {
                let line = line_at(text, e.span().map_or(0, |span| span.start));
                return (None, vec![Complaint { line, message: shown(e.message()) }]);
            }
        };
        let complaint = |(field, message): (String, String)| Complaint {
            line: line_at(text, position(text, &field)),
            message,
        };
        let mut complaints: Vec<Complaint> = part.check().into_iter().map(complaint).collect();
        complaints.sort_by_key(|complaint| complaint.line);
        (Some(part), complaints)
    }

    /// All faults: the path of the field, and a message.
    fn check(&self) -> Vec<(String, String)> {
        let mut wrong: Vec<(String, String)> = Vec::new();
        for (field, text) in [("name", &self.name), ("maker", &self.maker)] {
            let letters = text.chars().count();
            if text.trim().is_empty() || letters > MAX_NAME_CHARS || text.contains(char::is_control)
            {
                let reason = format!(
                    "{field} = '{}' is no name of 1 to {MAX_NAME_CHARS} letters",
                    shown(text)
                );
                wrong.push((field.into(), reason));
            }
        }
        self.check_numbers(&mut wrong);
        self.check_sizes(&mut wrong);
        self.check_supply(&mut wrong);
        self.check_tables(&mut wrong);
        self.check_texts(&mut wrong);
        wrong
    }

    /// Checks times, lines and numbers of times.
    fn check_numbers(&self, wrong: &mut Vec<(String, String)>) {
        let (t_prog, t_bers) = match self.kind {
            MemoryKind::Nand => (NAND_T_PROG_NS, NAND_T_BERS_NS),
            _ => (T_PROG_NS, T_BERS_NS),
        };
        for (name, time, plausible) in [
            ("t_r_ns", &self.t_r_ns, T_R_NS),
            ("t_prog_ns", &self.t_prog_ns, t_prog),
            ("t_bers_ns", &self.t_bers_ns, t_bers),
        ] {
            if let Some(time) = time
                && let Some(reason) = implausible(time.value, plausible)
            {
                wrong.push((name.into(), format!("{name} = {} {reason}", time.value)));
            }
        }
        for (bus, time) in &self.t_byte_ns {
            let field = format!("t_byte_ns.{}", shown(bus));
            if let Err(e) = bus.parse::<Bus>() {
                wrong.push((field.clone(), format!("t_byte_ns: {}", shown(e))));
            }
            if let Some(reason) = implausible(time.value, T_BYTE_NS) {
                wrong.push((field.clone(), format!("{field} = {} {reason}", time.value)));
            }
        }
        if !WIDTHS.contains(&self.width_bits.value) {
            let reason = format!("width_bits = {} is not one of {WIDTHS:?}", self.width_bits.value);
            wrong.push(("width_bits".into(), reason));
        }
        for (name, number) in [
            ("reads_before_refresh", &self.reads_before_refresh),
            ("endurance_cycles", &self.endurance_cycles),
        ] {
            if let Some(number) = number
                && !(number.value >= 1.0 && number.value <= 1e18)
            {
                let reason = format!("{name} = {} is no number of times", number.value);
                wrong.push((name.into(), reason));
            }
        }
    }

    /// Checks that there is one table for the kind of memory, and its numbers.
    fn check_tables(&self, wrong: &mut Vec<(String, String)>) {
        let tables = self.media();
        if tables.len() > 1 {
            let names: Vec<String> = tables.iter().map(|(name, _)| format!("[{name}]")).collect();
            let reason = format!("a part is spoken to in one way, not by {}", names.join(" and "));
            wrong.push((tables[1].0.into(), reason));
        }
        for (table, medium) in tables {
            let kinds = medium.kinds();
            if !kinds.contains(&self.kind) {
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                let reason =
                    format!("[{table}] is for {}, not for {}", kinds.join(", "), self.kind.name());
                wrong.push((table.into(), reason));
            }
            for (field, reason) in medium.check(self) {
                let field =
                    if field.is_empty() { table.into() } else { format!("{table}.{field}") };
                wrong.push((field, reason));
            }
        }
    }

    /// Checks the texts: a source must not be empty, and no text may hold control characters,
    /// because texts are printed as they are.
    fn check_texts(&self, wrong: &mut Vec<(String, String)>) {
        for fact in self.facts() {
            let reason = if fact.source.trim().is_empty() {
                "has an empty source: say where it was read, or 'unverified'"
            } else if fact.source.contains(char::is_control) {
                "has a source with control characters"
            } else {
                continue;
            };
            wrong.push((fact.field.clone(), format!("{} {reason}", shown(&fact.field))));
        }
        if self.note.as_ref().is_some_and(|note| note.contains(char::is_control)) {
            wrong.push(("note".into(), "note has control characters; keep it to one line".into()));
        }
    }

    fn check_sizes(&self, wrong: &mut Vec<(String, String)>) {
        if self.kind == MemoryKind::Nand {
            let needed = [
                ("page_bytes", self.page_bytes.is_some()),
                ("pages_per_block", self.pages_per_block.is_some()),
                ("t_r_ns", self.t_r_ns.is_some()),
            ];
            for (name, _) in needed.iter().filter(|(_, stated)| !stated) {
                wrong.push(("kind".into(), format!("a NAND part needs {name}")));
            }
        }
        if let Some(page) = &self.page_bytes
            && let Err(e) = power_of_two("page", page.value)
        {
            wrong.push(("page_bytes".into(), e.to_string()));
        }
        if self.pages_per_block.as_ref().is_some_and(|pages| pages.value == 0) {
            let reason = "pages_per_block = 0: a block has at least one page".into();
            wrong.push(("pages_per_block".into(), reason));
        }
        for (name, number) in
            [("program_bytes", &self.program_bytes), ("erase_bytes", &self.erase_bytes)]
        {
            if number.as_ref().is_some_and(|number| number.value == 0) {
                wrong.push((name.into(), format!("{name} = 0: one byte is the least")));
            }
        }
        if let Some(ecc) = &self.ecc {
            let reason = match power_of_two("codeword", ecc.codeword_bytes) {
                Err(e) => Some(e.to_string()),
                Ok(()) if ecc.codeword_bytes > self.flash_page_bytes() => Some(format!(
                    "ecc.codeword_bytes = {} is larger than the page",
                    ecc.codeword_bytes
                )),
                Ok(()) => None,
            };
            wrong.extend(reason.map(|reason| ("ecc".into(), reason)));
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
                let reason =
                    format!("supply.{name} = {} is not between 0 and {most}", number.value);
                wrong.push((format!("supply.{name}"), reason));
            }
        }
    }
}

/// The line of byte `at`, from 1.
fn line_at(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The byte of `text` at which the field of this path begins; its nearest table if the field is
/// absent. Tables of an array are named, or numbered from 0.
fn position(text: &str, field: &str) -> usize {
    let Ok(document) = DeTable::parse(text) else { return 0 };
    let mut table = document.get_ref();
    let mut at = 0;
    let mut path = field;
    loop {
        // Keys may contain dots, such as the bus in `t_byte_ns."33.3MHz-x8"`.
        let below = |key: &str| {
            let rest = path.strip_prefix(key)?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
        };
        let entry = table.iter().find_map(|(name, value)| {
            Some((name.span().start, value.get_ref(), below(name.get_ref())?))
        });
        let Some((start, mut value, rest)) = entry else { return at };
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
