//! Flash parts: one TOML file each in `parts/`, every number with its source.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use include_dir::{Dir, include_dir};
use serde::{Deserialize, Serialize};

use super::bus::{Bus, WIDTHS};
use super::register::{RegisterModel, SMALL_PAGE_BYTES, power_of_two};
use crate::error::{Error, Result, did_you_mean};
use crate::trace::input::shown;

/// A part takes 2 KB; whatever lies beyond this is not read.
const MAX_FILE_BYTES: u64 = 1 << 20;

static CATALOG: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../parts");

/// A number with where it was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The number, in the unit its name ends with.
    pub value: T,
    /// The datasheet, paper or table; `unverified` when from memory.
    pub source: String,
}

/// What kind of memory a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Pages through a data register.
    Nand,
    /// Read byte by byte in place.
    Nor,
}

/// Who corrects errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EccPlace {
    /// The host, a codeword at a time.
    Host,
    /// The chip, inside t_R.
    OnDie,
}

/// Error correction of a NAND part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// A flash part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name, as on the package.
    pub name: String,
    /// Who makes it.
    pub maker: String,
    /// NAND or NOR.
    pub kind: Kind,
    /// Bytes of a page without spare.
    pub page_bytes: Option<Sourced<u32>>,
    /// Spare bytes of a page.
    pub spare_bytes: Option<Sourced<u32>>,
    /// Pages of an erase block.
    pub pages_per_block: Option<Sourced<u32>>,
    /// Data lines.
    pub width_bits: Sourced<u32>,
    /// Array to register.
    pub t_r_ns: Option<Sourced<f64>>,
    /// Shortest read cycle.
    pub t_rc_ns: Option<Sourced<f64>>,
    /// Change read column, from the command to the first byte: t_RHW, the command
    /// and address cycles, t_CCS.
    pub t_column_change_ns: Option<Sourced<f64>>,
    /// Reads of a block before it should be refreshed.
    pub reads_before_refresh: Option<Sourced<f64>>,
    /// Error correction.
    pub ecc: Option<Ecc>,
    /// Time per byte on a given bus, where a source states it.
    #[serde(default)]
    pub t_byte_ns: BTreeMap<String, Sourced<f64>>,
}

impl Part {
    /// Parse and check the TOML text of a part; `place` names it in errors.
    pub fn parse(text: &str, place: &str) -> Result<Self> {
        let part: Self = toml::from_str(text).map_err(|e| {
            let before = e.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            Error::data(format!("{place}, line {line}"), shown(e.message()))
        })?;
        part.check().map_err(|what| Error::data(place, what))?;
        Ok(part)
    }

    fn check(&self) -> std::result::Result<(), String> {
        let times = [
            ("t_r_ns", &self.t_r_ns),
            ("t_rc_ns", &self.t_rc_ns),
            ("t_column_change_ns", &self.t_column_change_ns),
        ]
        .into_iter()
        .filter_map(|(name, time)| time.as_ref().map(|time| (name.to_owned(), time)))
        .chain(
            self.t_byte_ns.iter().map(|(bus, time)| (format!("t_byte_ns.{}", shown(bus)), time)),
        );
        for (name, time) in times {
            if !(time.value > 0.0 && time.value <= 1e9) {
                return Err(format!("{name} = {} is no time in nanoseconds", time.value));
            }
        }
        for bus in self.t_byte_ns.keys() {
            bus.parse::<Bus>().map_err(|e| format!("t_byte_ns: {}", shown(e)))?;
        }
        if !WIDTHS.contains(&self.width_bits.value) {
            return Err(format!("width_bits = {} is not one of {WIDTHS:?}", self.width_bits.value));
        }
        if self.kind == Kind::Nand {
            let missing = if self.page_bytes.is_none() {
                Some("page_bytes")
            } else if self.pages_per_block.is_none() {
                Some("pages_per_block")
            } else if self.t_r_ns.is_none() {
                Some("t_r_ns")
            } else {
                None
            };
            if let Some(name) = missing {
                return Err(format!("a NAND part needs {name}"));
            }
            power_of_two("page", self.flash_page_bytes()).map_err(|e| e.to_string())?;
            if self.block_bytes() == 0 {
                return Err("pages_per_block = 0: a block has at least one page".into());
            }
        }
        if let Some(reads) = &self.reads_before_refresh
            && !(reads.value >= 1.0 && reads.value <= 1e18)
        {
            return Err(format!("reads_before_refresh = {} is no number of reads", reads.value));
        }
        if let Some(ecc) = &self.ecc {
            power_of_two("codeword", ecc.codeword_bytes).map_err(|e| e.to_string())?;
            if ecc.codeword_bytes > self.flash_page_bytes() {
                return Err(format!(
                    "ecc.codeword_bytes = {} is larger than the page",
                    ecc.codeword_bytes
                ));
            }
        }
        Ok(())
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

    /// Check that the part can be read as `model`.
    pub fn check_register(&self, model: RegisterModel) -> Result<()> {
        if model == RegisterModel::RandomColumn && !self.has_column_change() {
            return Err(Error::design(format!(
                "{} is a small-page part ({} bytes) and has no column change: random-column is not \
                 possible with it; choose sequential or start-column",
                self.name,
                self.flash_page_bytes()
            )));
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
        let t_rc = self.t_rc_ns.as_ref().ok_or_else(|| {
            let known: Vec<&str> = self.t_byte_ns.keys().map(String::as_str).collect();
            Error::design(format!(
                "{} has no t_rc_ns, so its time on the bus {bus} is unknown (known: {})",
                self.name,
                known.join(", ")
            ))
        })?;
        let width_bytes = f64::from(bus.width_bits.min(self.width_bits.value)) / 8.0;
        Ok(t_rc.value.max(bus.cycle_ns()) / width_bytes)
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

/// The part of this name, or in the TOML file of this path.
pub fn find(name: &str) -> Result<Part> {
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text))
            .map_err(|e| Error::file(path, e))?;
        return Part::parse(&text, name);
    }
    let parts = catalog()?;
    if let Some(part) = parts.iter().find(|part| part.name.eq_ignore_ascii_case(name)) {
        return Ok(part.clone());
    }
    let near = did_you_mean(name, parts.iter().map(|part| part.name.as_str()));
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    Err(Error::design(format!("unknown part '{name}'{near} (known: {})", names.join(", "))))
}
