//! The code in flash: images, their sections and symbols.

use serde::{Deserialize, Serialize};

/// A function, or another symbol that owns code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Name, as the linker has it.
    pub name: String,
    /// Offset of its first byte in the flash image.
    pub offset: u32,
    /// Length in bytes; 0 if the file does not state it.
    pub bytes: u32,
}

impl Symbol {
    /// Returns the offset just behind it.
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.bytes)
    }
}

/// A section of an image in flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Name, such as `.text`.
    pub name: String,
    /// Linked address, without a load bias.
    pub address: u64,
    /// Offset of its first byte in the flash image.
    pub offset: u32,
    /// Length in bytes.
    pub bytes: u32,
}

impl Section {
    /// Returns the offset of the byte at a linked address; `None` outside of the section.
    pub fn offset_of(&self, address: u64) -> Option<u32> {
        let ahead = address.checked_sub(self.address)?;
        if ahead < self.bytes.into() { self.offset.checked_add(ahead as u32) } else { None }
    }

    /// Returns the offset just behind it.
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.bytes)
    }
}

/// The placed code of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Path of the file.
    pub path: String,
    /// GNU build id of the file in hexadecimal; empty if it has none.
    pub build_id: String,
    /// Offset of its first byte in the flash image.
    pub offset: u32,
    /// Bytes to the end of its last section.
    pub bytes: u32,
    /// Sections in flash.
    pub sections: Vec<Section>,
    /// Symbols, sorted by offset.
    pub symbols: Vec<Symbol>,
}

impl Image {
    /// Returns the offset just behind its last section.
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.bytes)
    }
}
