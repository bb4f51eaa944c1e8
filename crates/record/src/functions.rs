//! The placed functions, by which calls are distinguished from other jumps.

use std::path::Path;
use std::sync::Arc;

use flashpager_binary::driver::loops_to_start;
use flashpager_trace::{Image, Section, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};

/// First bytes, ends and loops of all placed functions.
#[derive(Clone, Debug, Default)]
pub struct PlacedFunctions {
    images: Vec<Arc<Image>>,
    /// Index of the image and of the symbol in it, by first byte.
    begins: FxHashMap<u32, (usize, usize)>,
    ends: FxHashSet<u64>,
    /// Ends of a function's jumps to its own first byte that are no calls, by first byte. A function
    /// is disassembled when it first jumps there.
    loops: FxHashMap<u32, Vec<u64>>,
}

impl PlacedFunctions {
    /// Adds the functions of an image.
    pub fn add_image(&mut self, image: &Image) {
        for (number, symbol) in image.symbols.iter().enumerate() {
            self.begins.insert(symbol.offset, (self.images.len(), number));
            if symbol.bytes > 0 {
                self.ends.insert(symbol.end());
            }
        }
        self.images.push(Arc::new(image.clone()));
    }

    /// Returns true if a function begins at `offset`.
    #[inline]
    pub fn begin_at(&self, offset: u32) -> bool {
        self.begins.contains_key(&offset)
    }

    /// Returns true if a function ends at `offset`.
    pub fn end_at(&self, offset: u64) -> bool {
        self.ends.contains(&offset)
    }

    /// Returns true if the jump that ends at `end` to the function at `begin` is a loop of that
    /// function, and no call. In code that cannot be disassembled such a jump is a call.
    pub fn loops(&mut self, end: u64, begin: u32) -> bool {
        let Some((image, number)) = self.begins.get(&begin) else { return false };
        let image = &self.images[*image];
        let function = &image.symbols[*number];
        if end <= u64::from(begin) || end > function.end() {
            return false;
        }
        let ends = self.loops.entry(begin).or_insert_with(|| loops_of(image, function));
        ends.contains(&end)
    }
}

fn loops_of(image: &Image, function: &Symbol) -> Vec<u64> {
    let holds = |section: &&Section| {
        let ahead = function.offset.checked_sub(section.offset);
        ahead.is_some_and(|ahead| ahead < section.bytes)
    };
    let Some(section) = image.sections.iter().find(holds) else { return Vec::new() };
    let address = section.address + u64::from(function.offset - section.offset);
    let ends = loops_to_start(Path::new(&image.path), &function.name, address).unwrap_or_default();
    let offset = |end: u64| u64::from(function.offset) + end.saturating_sub(address);
    ends.into_iter().map(offset).collect()
}
