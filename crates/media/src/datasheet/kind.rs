//! Kinds of memory.

use serde::{Deserialize, Serialize};

/// The kind of memory that a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// NAND flash: pages are read through a data register.
    Nand,
    /// NOR flash, read byte by byte in place.
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
    /// All kinds, by the words that part files use.
    pub const ALL: &[(&str, Self)] = &[
        ("nand", Self::Nand),
        ("nor", Self::Nor),
        ("pcm", Self::Pcm),
        ("mram", Self::Mram),
        ("fram", Self::Fram),
        ("psram", Self::Psram),
        ("card", Self::Card),
    ];

    /// The word that part files use for the kind.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }

    /// Returns whether bytes are read where they lie, without a page being loaded.
    pub fn is_read_in_place(self) -> bool {
        matches!(self, Self::Nor | Self::Pcm | Self::Mram | Self::Fram | Self::Psram)
    }

    /// Returns whether bytes are overwritten in place, at the pace of the bus.
    pub fn is_written_in_place(self) -> bool {
        matches!(self, Self::Mram | Self::Fram | Self::Psram)
    }

    /// Returns whether the memory keeps its contents without power.
    pub fn is_nonvolatile(self) -> bool {
        self != Self::Psram
    }

    /// The name in running text, such as `NAND`.
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
