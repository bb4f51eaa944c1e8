//! Flash parts: one TOML file each in `parts/`, every number with its source.

mod bus;
mod catalog;
mod check;
mod facts;
mod schema;
mod supply;

use std::collections::BTreeMap;

use flashpager_base::sizes::SMALL_PAGE_BYTES;
use flashpager_base::{Error, Result, named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bus::Bus;
use super::onenand::OneNand;
use super::operation::{Medium, OperationKind, OperationRequest};
use super::parallel::Parallel;
use super::sd::Sd;
use super::sdr::Sdr;
use super::spi::Spi;

pub use catalog::{catalog, find, read};
pub use check::Complaint;
pub use facts::Fact;
pub use schema::schema;
pub use supply::{Power, Supply};

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
        facts::is_unverified(&self.source)
    }
}

/// What kind of memory a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
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
    /// RAM on the bus of a serial flash, read and written in place.
    Psram,
    /// A card with a controller of its own.
    Card,
}

impl MemoryKind {
    /// All kinds, as a part's file names them.
    pub const ALL: &[(&str, Self)] = &[
        ("nand", Self::Nand),
        ("nor", Self::Nor),
        ("pcm", Self::Pcm),
        ("mram", Self::Mram),
        ("fram", Self::Fram),
        ("psram", Self::Psram),
        ("card", Self::Card),
    ];

    /// As a part's file names it.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }

    /// Whether bytes are read where they lie, without a page being loaded.
    pub fn is_read_in_place(self) -> bool {
        matches!(self, Self::Nor | Self::Pcm | Self::Mram | Self::Fram | Self::Psram)
    }

    /// Whether bytes are overwritten as they are, at the pace of the bus.
    pub fn is_written_in_place(self) -> bool {
        matches!(self, Self::Mram | Self::Fram | Self::Psram)
    }

    /// Whether it keeps what it holds without power.
    pub fn is_nonvolatile(self) -> bool {
        self != Self::Psram
    }

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nand => "NAND",
            Self::Nor => "NOR",
            Self::Pcm => "PCM",
            Self::Mram => "MRAM",
            Self::Fram => "FRAM",
            Self::Psram => "PSRAM",
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

named! {
    EccPlace: "unknown place of ECC",
    "host" => Host,
    "on-die" => OnDie,
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

/// A flash part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name, as on the package.
    pub name: String,
    /// Who makes it.
    pub maker: String,
    /// What kind of memory it is.
    pub kind: MemoryKind,
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

impl Part {
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
    pub fn power(&self, what: OperationKind) -> Option<Power> {
        self.supply.as_ref().and_then(|supply| supply.power(what))
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

    /// Bytes of an erase block; 0 if the part's file does not say.
    pub fn block_bytes(&self) -> u64 {
        match (&self.pages_per_block, &self.erase_bytes) {
            (Some(pages), _) => u64::from(self.flash_page_bytes()) * u64::from(pages.value),
            (None, Some(bytes)) => u64::from(bytes.value),
            (None, None) => 0,
        }
    }

    /// Whether the column can be changed without a load.
    pub fn has_column_change(&self) -> bool {
        self.flash_page_bytes() > SMALL_PAGE_BYTES
    }

    /// Buffers that hold a page each while the host reads another.
    pub fn page_buffers(&self) -> u32 {
        let buffers = self.onenand.as_ref().and_then(|onenand| onenand.buffers.as_ref());
        buffers.map_or(1, |buffers| buffers.value)
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

    /// A read of `bytes` in place over `bus`, in one transaction: what comes before its data, and a
    /// byte of the data. `mode` is one of the part's ways to read, the fastest if absent. A part of
    /// which only the time of a byte is stated has nothing before it.
    ///
    /// # Errors
    /// A mode that it does not have or the bus has no lines for.
    pub fn in_place_ns(&self, bus: Bus, mode: Option<&str>, bytes: u32) -> Result<(f64, f64)> {
        let Ok(medium) = self.medium() else { return Ok((0.0, self.byte_time(bus)?)) };
        let read = |bytes: u64| {
            let request = OperationRequest { mode, ..OperationRequest::read(Some(bytes), bus) };
            medium.operation(self, &request).map(|operation| operation.ns())
        };
        let bytes = u64::from(bytes.max(1));
        let whole_ns = read(bytes)?;
        let byte_ns = (read(2 * bytes)? - whole_ns) / bytes as f64;
        Ok(((whole_ns - byte_ns * bytes as f64).max(0.0), byte_ns))
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
