//! The counts of a replay of units.

use serde::Serialize;

use crate::Counts;

/// The counts of a replay of units.
///
/// `references = calls + returns = hits + misses`, and `misses = call_misses + return_misses`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnitCounts {
    /// References to units that are paged.
    pub references: u64,
    /// References that find their unit in RAM.
    pub hits: u64,
    /// References whose unit has to be loaded.
    pub misses: u64,
    /// References that begin at the unit's first byte.
    pub calls: u64,
    /// Calls that miss.
    pub call_misses: u64,
    /// References that begin elsewhere in the unit.
    pub returns: u64,
    /// Returns that miss.
    pub return_misses: u64,
    /// Returns from a paged unit to a resident one, which are no references.
    pub resident_returns: u64,
    /// Units evicted.
    pub evictions: u64,
    /// Bytes of units moved in RAM.
    pub bytes_moved: u64,
    /// Flash pages loaded.
    pub loads: u64,
    /// Column changes; a load has none.
    pub column_changes: u64,
    /// Bytes delivered to the CPU: the lengths of all executed runs. Data reads are not in it.
    pub bytes_read: u64,
    /// Bytes over the bus, skipped ones included.
    pub bytes_fetched: u64,
    /// Bytes over the bus that are thrown away.
    pub bytes_skipped: u64,
    /// Bytes of units written into RAM.
    pub bytes_written: u64,
    /// References to each unit and its misses; 0 for resident units.
    #[serde(skip)]
    pub by_unit: Vec<UnitUse>,
    /// Loads of each flash page that was loaded, ascending.
    #[serde(skip)]
    pub loads_by_flash_page: Vec<(u32, u64)>,
    /// Misses by what they cost, ascending.
    #[serde(skip)]
    pub load_classes: Vec<(UnitLoadClass, u64)>,
}

/// The references to a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitUse {
    /// References to it.
    pub references: u64,
    /// References that miss.
    pub misses: u64,
}

/// The work of loading a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitLoadClass {
    /// Flash pages loaded.
    pub loads: u32,
    /// Column changes.
    pub column_changes: u32,
    /// Bytes over the bus.
    pub bytes_fetched: u32,
    /// Bytes of the unit.
    pub bytes_written: u32,
    /// Bytes of other units moved in RAM.
    pub bytes_moved: u64,
}

impl UnitCounts {
    /// The work of the flash, as counts of a page cache, whose other counts are 0.
    pub fn of_flash(&self) -> Counts {
        Counts {
            misses: self.misses,
            loads: self.loads,
            column_changes: self.column_changes,
            bytes_read: self.bytes_read,
            bytes_fetched: self.bytes_fetched,
            bytes_skipped: self.bytes_skipped,
            bytes_written: self.bytes_written,
            loads_by_flash_page: self.loads_by_flash_page.clone(),
            ..Counts::default()
        }
    }
}
