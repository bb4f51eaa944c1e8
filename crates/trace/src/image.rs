//! The code in flash as data: images, their sections and symbols.

use serde::{Deserialize, Serialize};

/// A function, or whatever else owns code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its name as the linker knows it.
    pub name: String,
    /// Its first byte in the flash image.
    pub offset: u32,
    /// Its length; 0 if the file does not tell.
    pub bytes: u32,
}

/// A section of an image in flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Its name, as `.text`.
    pub name: String,
    /// Its address in the file, before any load bias.
    pub address: u64,
    /// Its first byte in the flash image.
    pub offset: u32,
    /// Its length.
    pub bytes: u32,
}

/// The placed code of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The file it comes from.
    pub path: String,
    /// Its GNU build id in hexadecimal; empty if it has none.
    pub build_id: String,
    /// Its first byte in the flash image.
    pub offset: u32,
    /// Bytes up to the end of its last section.
    pub bytes: u32,
    /// Its sections in flash.
    pub sections: Vec<Section>,
    /// Its symbols, by offset.
    pub symbols: Vec<Symbol>,
}
