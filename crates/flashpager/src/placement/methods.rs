//! Methods of a program without files, as a Java recorder tells them.

use super::arrange::Arrangement;
use super::{Image, Section, Symbol};
use crate::trace::TraceInfo;
use crate::trace::input::shown;

/// The section of raw bytecode arrays, which can lie in any order.
pub const BYTECODE: &str = "bytecode";

/// The section of a CAP file's method component, whose order is that of the file.
pub const METHOD_COMPONENT: &str = "Method.cap";

/// More methods, or longer names in all, are no program.
const MAX_METHODS: usize = 1 << 20;
const MAX_NAME_BYTES: usize = 64 << 20;

/// Methods at the addresses that a recorder chose.
#[derive(Default)]
pub struct Methods {
    symbols: Vec<Symbol>,
    name_bytes: usize,
    /// Whether the addresses are to stay.
    pub given: bool,
    /// How they are laid out otherwise.
    pub arrangement: Arrangement,
}

impl Methods {
    /// Add a method of `bytes` bytes.
    ///
    /// # Errors
    /// What is wrong, when it lies beyond 4 GiB or there are far too many.
    pub fn add(&mut self, address: u64, bytes: u32, name: &str) -> Result<(), String> {
        let name = shown(name);
        self.name_bytes += name.len();
        if self.symbols.len() == MAX_METHODS || self.name_bytes > MAX_NAME_BYTES {
            return Err(format!("over {MAX_METHODS} methods"));
        }
        if bytes == 0 || address.saturating_add(bytes.into()) > u64::from(u32::MAX) {
            return Err(format!("method {name} has {bytes} bytes at {address:#x}"));
        }
        self.symbols.push(Symbol { name, offset: address as u32, bytes });
        Ok(())
    }

    /// Put the methods into `info` as one image; gives how that is still to be arranged.
    pub fn describe(mut self, info: &mut TraceInfo) -> Option<Arrangement> {
        if self.symbols.is_empty() {
            return None;
        }
        self.symbols.sort_by_key(|symbol| symbol.offset);
        let end = self.symbols.iter().map(|symbol| symbol.offset + symbol.bytes).max();
        let name = if self.given { METHOD_COMPONENT } else { BYTECODE };
        info.images = vec![image(&info.program, name, end.unwrap_or(0), self.symbols)];
        info.image_bytes = u64::from(end.unwrap_or(0));
        (!self.given).then_some(self.arrangement)
    }
}

/// An image of one section from offset 0 on.
pub(super) fn image(path: &str, section: &str, bytes: u32, symbols: Vec<Symbol>) -> Image {
    let section = Section { name: section.to_owned(), address: 0, offset: 0, bytes };
    Image {
        path: path.to_owned(),
        build_id: String::new(),
        offset: 0,
        bytes,
        sections: vec![section],
        symbols,
    }
}
