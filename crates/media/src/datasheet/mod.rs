//! The data of a part's file: one struct for each table, every number with its source.
//!
//! This module holds data and nothing else, so that everything above it can depend on it: the
//! operations ([`crate::operation`]), the media that compose them ([`crate::medium`]), and the
//! catalog and the checks of part files ([`crate::part`], which re-exports all of this).

mod facts;
mod kind;
mod number;
mod onenand;
mod parallel;
mod schema;
mod sd;
mod sdr;
mod spi;
mod supply;

use std::collections::BTreeMap;

use flashpager_base::named;
use flashpager_base::sizes::SMALL_PAGE_BYTES;
use serde::{Deserialize, Serialize};

pub use facts::Fact;
pub use kind::MemoryKind;
pub use number::Sourced;
pub use onenand::OneNand;
pub use parallel::Parallel;
pub use schema::schema;
pub use sd::{CardBusyTime, Sd};
pub use sdr::Sdr;
pub use spi::{ReadMode, Spi};
pub use supply::Supply;

pub(crate) use number::stated;
pub(crate) use spi::COMMAND_BITS;

/// The place where errors are corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EccPlace {
    /// The host corrects, a codeword at a time.
    Host,
    /// The chip corrects, within t_R.
    OnDie,
}

named! {
    EccPlace: "unknown place of ECC",
    "host" => Host,
    "on-die" => OnDie,
}

/// Error correction of a NAND part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ecc {
    /// The place where errors are corrected.
    pub place: EccPlace,
    /// Bytes checked together.
    pub codeword_bytes: u32,
    /// Bits corrected in each codeword.
    pub correctable_bits: u32,
    /// The place these numbers were read.
    pub source: String,
}

/// A flash part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name, as on the package.
    pub name: String,
    /// The maker.
    pub maker: String,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// A hint to read before using the numbers.
    pub note: Option<String>,
    /// Bytes of a page without spare.
    pub page_bytes: Option<Sourced<u32>>,
    /// Spare bytes of a page.
    pub spare_bytes: Option<Sourced<u32>>,
    /// Pages of an erase block.
    pub pages_per_block: Option<Sourced<u32>>,
    /// Bytes erased together, for parts without pages.
    pub erase_bytes: Option<Sourced<u32>>,
    /// Bytes programmed together in t_PROG, for parts without pages.
    pub program_bytes: Option<Sourced<u32>>,
    /// Data lines.
    pub width_bits: Sourced<u32>,
    /// Time to load a page from the array into the register, on-die error correction included.
    pub t_r_ns: Option<Sourced<f64>>,
    /// Time to program a page, or `program_bytes`.
    pub t_prog_ns: Option<Sourced<f64>>,
    /// Time to erase a block.
    pub t_bers_ns: Option<Sourced<f64>>,
    /// Reads of a block after which it should be refreshed.
    pub reads_before_refresh: Option<Sourced<f64>>,
    /// Programs and erases that a block endures.
    pub endurance_cycles: Option<Sourced<f64>>,
    /// Programs of a page between two erases (NOP).
    pub programs_per_page: Option<Sourced<u32>>,
    /// Error correction.
    pub ecc: Option<Ecc>,
    /// Voltage and currents.
    pub supply: Option<Supply>,
    /// AC parameters of a raw NAND.
    pub sdr: Option<Sdr>,
    /// Buffers of a OneNAND.
    pub onenand: Option<OneNand>,
    /// Clock and modes of a serial part.
    pub spi: Option<Spi>,
    /// Access times of memory on an address bus.
    pub parallel: Option<Parallel>,
    /// Clock and busy times of a card.
    pub sd: Option<Sd>,
    /// Time per byte on a given bus, where a source states it.
    #[serde(default)]
    pub t_byte_ns: BTreeMap<String, Sourced<f64>>,
}

impl Part {
    /// Bytes of a page with its spare; 0 for parts without pages.
    pub fn whole_page_bytes(&self) -> u64 {
        let spare = self.spare_bytes.as_ref().map_or(0, |bytes| bytes.value);
        u64::from(self.flash_page_bytes()) + u64::from(spare)
    }

    /// Bytes programmed in one t_PROG.
    pub fn program_unit_bytes(&self) -> u32 {
        let own = self.program_bytes.as_ref().map(|bytes| bytes.value);
        own.unwrap_or_else(|| self.flash_page_bytes().max(1))
    }

    /// Bytes of a page; 0 for parts without pages.
    pub fn flash_page_bytes(&self) -> u32 {
        self.page_bytes.as_ref().map_or(0, |bytes| bytes.value)
    }

    /// Bytes of an erase block; 0 if the part's file does not state them.
    pub fn block_bytes(&self) -> u64 {
        match (&self.pages_per_block, &self.erase_bytes) {
            (Some(pages), _) => u64::from(self.flash_page_bytes()) * u64::from(pages.value),
            (None, Some(bytes)) => u64::from(bytes.value),
            (None, None) => 0,
        }
    }

    /// Returns whether the column can be changed without a load.
    pub fn has_column_change(&self) -> bool {
        self.flash_page_bytes() > SMALL_PAGE_BYTES
    }

    /// Page buffers: one can be loaded while the host reads another.
    pub fn page_buffers(&self) -> u32 {
        let buffers = self.onenand.as_ref().and_then(|onenand| onenand.buffers.as_ref());
        buffers.map_or(1, |buffers| buffers.value)
    }

    /// Returns whether the part has few lines, which carry commands and addresses, too.
    pub fn is_serial(&self) -> bool {
        self.spi.is_some() || self.sd.is_some()
    }
}
