//! The counts of a replay.
//!
//! [`counts_schema!`] is the one list of counts. It makes the struct [`Counts`] with its
//! arithmetic and its JSON, and the table [`COUNTS`] that names each count with its unit. The
//! Python class, the columns of result tables, the type stub and the table in `docs/model.md`
//! are made of it, too: a new count is one row here, and the code that counts.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::pager::VictimSearch;
use crate::register::{Access, RegisterCase};

/// Hands the schema of [`Counts`] to the macro `$consumer`.
///
/// A row has the documentation, the field, its type, its unit, the rule for its presence in JSON
/// ([`CountJson`]), and the devices that count it, too ([`CountingDevice`]). Rows under `public`
/// are shown to users. Rows under `internal` serve prices alone and are in no JSON.
#[macro_export]
macro_rules! counts_schema {
    ($consumer:ident) => {
        $consumer! {
            public {
                /// References to the page cache, after collapsing. With a TLB they equal
                /// `tlb_misses`.
                references: u64, "references", Always, [Firmware];
                /// References that find their page usable.
                hits: u64, "references", Always, [];
                /// References whose page has to be fetched: true faults.
                misses: u64, "references", Always, [Firmware, Mmu, Process];
                /// References to a page that is cached, but marked invalid.
                false_faults: u64, "references", Always, [Mmu, Process];
                /// References, hits or false faults, at which a page's reference bit is set again
                /// after the hand cleared it.
                reference_bits_set: u64, "references", Always, [Firmware, Mmu, Process];
                /// Flash pages loaded because they were asked for.
                loads: u64, "flash pages", Always, [Firmware, Chip, Mmu];
                /// Flash pages loaded ahead, or lines read ahead.
                prefetches: u64, "flash pages or lines", Always, [Firmware, Chip, Mmu];
                /// Lines read ahead and dropped without having been asked for.
                prefetches_in_vain: u64, "lines", UnlessZero, [];
                /// Misses in a flash page that is not held.
                other_page: u64, "misses", Always, [Firmware, Mmu];
                /// Misses in the flash page of the buffer that was not used last, or in a prefetch
                /// buffer.
                other_buffer: u64, "misses", Always, [Firmware, Mmu];
                /// Misses in the register's page, at its next column or behind it.
                forward: u64, "misses", Always, [Firmware, Mmu];
                /// Misses in the register's page, before its next column.
                backward: u64, "misses", Always, [Firmware, Mmu];
                /// Column changes; a load has none.
                column_changes: u64, "column changes", Always, [Firmware, Chip, Mmu];
                /// Bytes delivered to the CPU: the lengths of all runs.
                bytes_read: u64, "bytes", Always, [];
                /// Bytes over the bus, skipped ones, headers of homes and tags included.
                bytes_fetched: u64, "bytes", Always, [Firmware, Chip, Mmu];
                /// Bytes over the bus that are thrown away.
                bytes_skipped: u64, "bytes", Always, [Firmware, Chip, Mmu];
                /// Bytes of the headers of homes over the bus; 0 in the plain store.
                header_bytes_fetched: u64, "bytes", UnlessZero, [];
                /// Bytes of tags over the bus; 0 without authentication.
                tag_bytes_fetched: u64, "bytes", UnlessZero, [TaggedFirmware, TaggedChip];
                /// Bytes of which a MAC is taken: at each miss the unit and 8 bytes; 0 without
                /// authentication.
                mac_bytes: u64, "bytes", UnlessZero, [TaggedFirmware];
                /// Bytes written into frames: a cache page at each miss.
                bytes_written: u64, "bytes", Always, [];
                /// Frames looked at in search of victims.
                walk: u64, "frames", Always, [Firmware, Mmu, Process];
                /// The longest of these searches; 0 without one.
                max_walk: u32, "frames", Always, [Firmware, Mmu, Process];
                /// Pages moved from valid to invalid.
                downgrades: u64, "cache pages", Always, [Mmu, Process];
                /// Words fetched through the instruction cache; 0 without one.
                words: u64, "words", Always, [];
                /// Lines refilled into the instruction cache; 0 without one.
                line_refills: u64, "lines", Always, [];
                /// References whose page the TLB does not know; 0 without a TLB.
                tlb_misses: u64, "references", Always, [];
                /// Distances of misses in the flash page of the miss before, ascending, each with
                /// its number of misses.
                distance_histogram: Vec<(i32, u64)>, "cache pages", Always, [];
                /// Offsets in the line of the word that is wanted first, ascending, each with its
                /// number of misses; empty if lines are fetched whole.
                first_words: Vec<(u32, u64)>, "bytes", UnlessZero, [];
            }
            internal {
                /// Downgrades that false faults caused.
                false_fault_downgrades: u64, "cache pages";
                /// Classes of faults, ascending, each with its number of faults: what a latency
                /// distribution is priced from.
                fault_classes: Vec<(FaultClass, u64)>, "faults";
                /// Flash pages, ascending, each with its loads and prefetches; loaded pages only.
                loads_by_flash_page: Vec<(u32, u64)>, "flash pages";
            }
        }
    };
}

/// The rule for the presence of a count in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountJson {
    /// The count is always present.
    Always,
    /// The count is present unless it is 0 or empty. Only some designs have it.
    UnlessZero,
}

/// A device with counts of its own, with which a simulation can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountingDevice {
    /// Firmware with the pager in C.
    Firmware,
    /// The same firmware with tags, for its additional counts.
    TaggedFirmware,
    /// The flash chip of such firmware.
    Chip,
    /// The chip of firmware with tags, for its additional counts.
    TaggedChip,
    /// The fault handler of the pager behind an MMU, which does not see hits.
    Mmu,
    /// The pager in a Linux process, which sees neither hits nor a chip.
    Process,
}

impl CountingDevice {
    /// The name of each device.
    pub const ALL: &[(&'static str, Self)] = &[
        ("firmware", Self::Firmware),
        ("tagged-firmware", Self::TaggedFirmware),
        ("chip", Self::Chip),
        ("tagged-chip", Self::TaggedChip),
        ("mmu", Self::Mmu),
        ("process", Self::Process),
    ];

    /// The device's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, device)| *device == self).map_or("", |(name, _)| name)
    }
}

/// A row of the schema of [`Counts`].
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The field, which is also the key in JSON and the column of a table.
    pub name: &'static str,
    /// The unit of the count.
    pub unit: &'static str,
    /// The field's documentation: when the count grows.
    pub description: &'static str,
    /// True if the count is one number, and so a column of a table; false for a distribution.
    pub is_number: bool,
    /// True if JSON omits the count while it is 0 or empty.
    pub is_optional: bool,
    /// The devices that count it, too.
    pub devices: &'static [CountingDevice],
}

/// A value that replays count: a number, or a distribution of numbers.
trait CountValue {
    /// True if the value is one number.
    const IS_NUMBER: bool;

    /// Returns true if nothing was counted.
    fn is_zero(&self) -> bool;

    /// The part of the value that came after `before`.
    fn minus(&self, before: &Self) -> Self;
}

impl CountValue for u64 {
    const IS_NUMBER: bool = true;

    fn is_zero(&self) -> bool {
        *self == 0
    }

    fn minus(&self, before: &Self) -> Self {
        self - before
    }
}

/// A largest value. It has no difference; [`Counts::minus`] determines it anew.
impl CountValue for u32 {
    const IS_NUMBER: bool = true;

    fn is_zero(&self) -> bool {
        *self == 0
    }

    fn minus(&self, _before: &Self) -> Self {
        *self
    }
}

/// A distribution: values, ascending, each with its number of times.
impl<K: Copy + Ord> CountValue for Vec<(K, u64)> {
    const IS_NUMBER: bool = false;

    fn is_zero(&self) -> bool {
        self.is_empty()
    }

    /// The values that came more often than in `before`, and how much more often.
    fn minus(&self, before: &Self) -> Self {
        let times_before = |key: &K| {
            before.binary_search_by_key(key, |(other, _)| *other).map_or(0, |at| before[at].1)
        };
        let rest = self.iter().map(|(key, times)| (*key, times - times_before(key)));
        rest.filter(|(_, times)| *times > 0).collect()
    }
}

macro_rules! define_counts {
    (
        public {
            $($(#[doc = $doc:literal])+
            $field:ident: $type:ty, $unit:literal, $json:ident, [$($device:ident),*];)*
        }
        internal {
            $($(#[doc = $internal_doc:literal])+
            $internal:ident: $internal_type:ty, $internal_unit:literal;)*
        }
    ) => {
        /// The counts of a replay, for one cache and one register.
        ///
        /// `references = hits + misses + false_faults`, and
        /// `misses = other_page + other_buffer + forward + backward`.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($(#[doc = $internal_doc])+ pub $internal: $internal_type,)*
        }

        /// The counts that users see, in the order of JSON and of tables.
        pub const COUNTS: &[Count] = &[
            $(Count {
                name: stringify!($field),
                unit: $unit,
                description: concat!($($doc),+).trim_ascii_start(),
                is_number: <$type as CountValue>::IS_NUMBER,
                is_optional: matches!(CountJson::$json, CountJson::UnlessZero),
                devices: &[$(CountingDevice::$device),*],
            },)*
        ];

        impl Counts {
            /// The difference of each count by itself.
            fn differences(&self, before: &Self) -> Self {
                Self {
                    $($field: CountValue::minus(&self.$field, &before.$field),)*
                    $($internal: CountValue::minus(&self.$internal, &before.$internal),)*
                }
            }
        }

        impl Serialize for Counts {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let mut fields = to.serialize_struct("Counts", COUNTS.len())?;
                $(if CountJson::$json == CountJson::Always || !self.$field.is_zero() {
                    fields.serialize_field(stringify!($field), &self.$field)?;
                })*
                fields.end()
            }
        }
    };
}
counts_schema!(define_counts);

impl Counts {
    /// The counts without the classes of faults, which only prices need.
    pub fn summary(&self) -> Self {
        Self { fault_classes: Vec::new(), ..self.clone() }
    }

    /// The share of requests in the register's page that ask for the next block; 0 without any.
    pub fn next_block_share(&self) -> f64 {
        let requests = |distance: Option<i32>| -> u64 {
            let histogram = self.distance_histogram.iter();
            let counted = histogram.filter(|(at, _)| distance.is_none_or(|wanted| wanted == *at));
            counted.map(|(_, count)| count).sum()
        };
        let all = requests(None);
        if all == 0 { 0.0 } else { requests(Some(1)) as f64 / all as f64 }
    }

    /// The counts of a device that emulates the reference bit by the valid bit: each bit that is
    /// set again is a false fault.
    pub fn with_emulated_bit(mut self) -> Self {
        self.hits -= self.reference_bits_set;
        self.false_faults += self.reference_bits_set;
        self
    }

    /// The counts of a device that checks the tag of each page it fetches. The tag stands in the
    /// spare area, so a register of one page changes its column to it, and back before it fetches
    /// from the same page again. The classes of faults stay those without tags.
    pub fn with_tags(mut self, tags: &Tags) -> Self {
        self.tag_bytes_fetched = self.misses * u64::from(tags.tag_bytes);
        self.mac_bytes = self.misses * u64::from(tags.mac_bytes);
        self.bytes_fetched += self.tag_bytes_fetched;
        if tags.changes_column {
            self.column_changes = self.misses + self.forward + self.backward;
        }
        self
    }

    /// The counts after `before`, which are those of the same replay over the trace's first runs
    /// alone. Exact for policies that do not look ahead: over these runs both did the same.
    /// `max_walk` is the largest walk of the faults that remain.
    pub fn minus(&self, before: &Self) -> Self {
        let mut counts = self.differences(before);
        let walks = counts.fault_classes.iter().map(|(class, _)| class.search.walk);
        counts.max_walk = walks.max().unwrap_or(0);
        counts
    }

    /// Counts what the register did for one fault.
    pub fn add_access(&mut self, access: &Access) {
        match access.case {
            RegisterCase::OtherPage => self.other_page += 1,
            RegisterCase::OtherBuffer => self.other_buffer += 1,
            RegisterCase::Forward => self.forward += 1,
            RegisterCase::Backward => self.backward += 1,
        }
        self.loads += u64::from(access.load);
        self.prefetches += u64::from(access.prefetches);
        self.prefetches_in_vain += u64::from(access.dropped);
        self.column_changes += u64::from(access.column_change);
        self.bytes_fetched += u64::from(access.bytes_fetched);
        self.bytes_skipped += u64::from(access.bytes_skipped);
        self.header_bytes_fetched += u64::from(access.header_bytes);
    }
}

/// Tags that authenticate what is fetched at a miss, one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// Bytes of a tag.
    pub tag_bytes: u32,
    /// Bytes that the MAC of a tag covers: version, number and the fetched bytes.
    pub mac_bytes: u32,
    /// True if fetching a tag needs a column change.
    pub changes_column: bool,
}

/// Makes a struct of sums with addition and subtraction field by field.
macro_rules! define_sums {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_about])* pub $field: u64,)*
        }

        impl std::ops::Add for $name {
            type Output = Self;

            fn add(self, more: Self) -> Self {
                Self { $($field: self.$field + more.$field,)* }
            }
        }

        impl std::ops::Sub for $name {
            type Output = Self;

            fn sub(self, before: Self) -> Self {
                Self { $($field: self.$field - before.$field,)* }
            }
        }
    };
}

define_sums! {
    /// The host's work between two faults, in the units that cost time. The last three counts
    /// are 0 without an instruction cache.
    Executed {
        /// Bytes executed.
        bytes,
        /// References to the page cache, that of a fault included.
        references,
        /// References that set a page's reference bit again.
        reference_bits_set,
        /// References to pages marked invalid.
        false_faults,
        /// Pages moved down at these references.
        downgrades,
        /// Words fetched.
        words,
        /// Lines refilled, that of a fault included.
        line_refills,
        /// Refills whose page the TLB does not know, that of a fault included.
        tlb_misses,
    }
}

/// Faults that cost the same, whatever the prices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultClass {
    /// True if the page is loaded from the array.
    pub load: bool,
    /// True if the column is changed.
    pub column_change: bool,
    /// Bytes over the bus.
    pub bytes_fetched: u32,
    /// The search for a victim.
    pub search: VictimSearch,
}

impl FaultClass {
    /// The class of a fault.
    pub fn of(access: &Access, search: VictimSearch) -> Self {
        let Access { load, column_change, bytes_fetched, .. } = *access;
        Self { load, column_change, bytes_fetched, search }
    }
}
