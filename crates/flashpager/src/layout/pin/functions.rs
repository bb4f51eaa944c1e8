//! The functions of an image: their first bytes, and all bytes of a limited one.

use flashpager_base::{Error, Result, did_you_mean, shown};
use flashpager_binary::names::is_called;
use flashpager_trace::TraceInfo;
use rustc_hash::FxHashSet;

/// First bytes of all functions of an image.
pub(super) struct FunctionStarts {
    /// Offsets, ascending.
    offsets: Vec<u32>,
}

impl FunctionStarts {
    /// The functions that a trace names.
    pub(super) fn of(info: &TraceInfo) -> Self {
        let mut offsets: Vec<u32> = info.symbols().map(|symbol| symbol.offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        Self { offsets }
    }

    /// The first byte of the function that a byte belongs to.
    pub(super) fn owner(&self, offset: u32) -> u32 {
        let behind = self.offsets.partition_point(|start| *start <= offset);
        behind.checked_sub(1).map_or(0, |index| self.offsets[index])
    }

    /// Returns true if a byte is the first one of a function.
    pub(super) fn contains(&self, offset: u32) -> bool {
        self.offsets.binary_search(&offset).is_ok()
    }
}

/// A function whose calls are limited.
pub(super) struct LimitedFunction {
    /// First bytes: static functions may share a name.
    pub(super) entries: FxHashSet<u32>,
    /// Its bytes, and those of parts that a compiler split off: (first, one past the last).
    bodies: Vec<(u32, u64)>,
}

impl LimitedFunction {
    /// The function of this name.
    ///
    /// # Errors
    /// If the trace does not have the name.
    pub(super) fn of(info: &TraceInfo, function: &str) -> Result<Self> {
        let named = info.symbols().filter(|symbol| is_called(&symbol.name, function));
        let entries: FxHashSet<u32> = named.map(|symbol| symbol.offset).collect();
        if entries.is_empty() {
            let near = did_you_mean(function, info.symbols().map(|symbol| symbol.name.as_str()));
            return Err(Error::design(format!(
                "the trace has no function {}{near}",
                shown(function)
            )));
        }
        let is_part =
            |name: &str| name.strip_prefix(function).is_some_and(|rest| rest.starts_with('.'));
        let symbols = info.symbols();
        let own = symbols.filter(|one| is_called(&one.name, function) || is_part(&one.name));
        let bodies = own.map(|symbol| (symbol.offset, symbol.end())).collect();
        Ok(Self { entries, bodies })
    }

    /// Returns true if a byte belongs to the function.
    pub(super) fn holds(&self, offset: u32) -> bool {
        self.bodies.iter().any(|(from, to)| *from <= offset && u64::from(offset) < *to)
    }
}
