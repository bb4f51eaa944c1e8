//! Methods of a program without files, as a Java recorder reports them.

use std::cmp::Reverse;

use flashpager_base::shown;
use flashpager_trace::{MAX_IMAGE_BYTES, Symbol, TraceInfo};

use super::arrange::MethodArrangement;
use super::bytecode::image;

/// Largest number of methods; no program has more.
const MAX_METHODS: usize = 1 << 20;
/// Largest length of all names together, in bytes.
const MAX_NAME_BYTES: usize = 64 << 20;

/// Methods at the addresses that the recorder chose.
#[derive(Default)]
pub struct Methods {
    symbols: Vec<Symbol>,
    name_bytes: usize,
    /// Bytes at the start of the image whose methods keep their addresses.
    pub given_bytes: u32,
    /// Name of the section of these bytes; empty for a CAP file's.
    pub given_name: String,
    /// Layout of the other methods.
    pub arrangement: MethodArrangement,
}

impl Methods {
    /// Adds a method of `bytes` bytes.
    ///
    /// # Errors
    /// If a method lies beyond 4 GiB, or there are too many methods.
    pub fn add(&mut self, address: u64, bytes: u32, name: &str) -> Result<(), String> {
        let name = shown(name);
        self.name_bytes += name.len();
        if self.symbols.len() == MAX_METHODS || self.name_bytes > MAX_NAME_BYTES {
            return Err(format!("over {MAX_METHODS} methods"));
        }
        if bytes == 0 || address.saturating_add(bytes.into()) > MAX_IMAGE_BYTES {
            return Err(format!("method {name} has {bytes} bytes at {address:#x}"));
        }
        self.symbols.push(Symbol { name, offset: address as u32, bytes });
        Ok(())
    }

    /// The methods so far.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Puts the methods into `info` as one image. Returns the layout that is still to be applied;
    /// `None` if no method can move.
    pub fn describe(mut self, info: &mut TraceInfo) -> Option<MethodArrangement> {
        if self.symbols.is_empty() {
            return None;
        }
        // A symbol inside a larger one follows it, as in the symbol table of a file.
        self.symbols.sort_by_key(|symbol| (symbol.offset, Reverse(symbol.bytes)));
        let is_given = |symbol: &Symbol| symbol.offset < self.given_bytes;
        let can_move = !self.symbols.iter().all(is_given);
        let end = self.symbols.iter().map(Symbol::end).max();
        let end = end.unwrap_or(0).max(self.given_bytes.into());
        info.images = vec![image(&info.program, self.given_bytes, end, self.symbols)];
        if !self.given_name.is_empty() && self.given_bytes > 0 {
            info.images[0].sections[0].name = self.given_name;
        }
        info.image_bytes = end;
        can_move.then_some(self.arrangement)
    }
}
