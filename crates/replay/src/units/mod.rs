//! Replay of units that are no pages: whole functions, of any size, in a RAM of bytes.
//!
//! A processor without an MMU cannot page code by address. Its functions can be paged: a call or a
//! return enters a unit, and the unit is loaded as a whole if it is not in RAM. Where it lies there,
//! and what it overwrites, is the decision of an [`Allocator`], one file each.

mod buddy;
mod counts;
mod farthest;
mod fifo_ring;
mod heap;
mod lru_compact;
mod lru_run;
mod recency;
mod register;
mod second_chance;
mod sequence;

use flashpager_base::{Error, Result, did_you_mean};
use rustc_hash::FxHashMap;

use crate::register::RegisterDesign;
pub use counts::{UnitCounts, UnitLoadClass, UnitUse};
use register::UnitRegister;
pub use sequence::UnitSequence;

/// Alignment of units in flash and in RAM, in bytes. Their sizes are rounded up to it.
pub const UNIT_ALIGN: u32 = 4;

/// The most bytes of RAM for units.
pub const MAX_HEAP_BYTES: u32 = 1 << 28;

/// The next use of a unit that is not referenced again.
const NEVER: u64 = u64::MAX;

/// Bytes of a unit in flash and in RAM: rounded up to [`UNIT_ALIGN`].
pub fn aligned_bytes(bytes: u64) -> u64 {
    bytes.next_multiple_of(UNIT_ALIGN.into())
}

/// The outcome of a reference to a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitOutcome {
    /// The unit was in RAM.
    Hit,
    /// The unit was loaded.
    Load(UnitLoad),
}

/// The work in RAM for a unit that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitLoad {
    /// Units evicted.
    pub evictions: u32,
    /// Bytes of units that moved.
    pub bytes_moved: u64,
}

/// A rule by which units get their places in RAM, which is empty at first.
pub trait Allocator: Sized {
    /// True if it needs the next use of a unit. No device can run it then.
    const NEEDS_NEXT_USE: bool = false;

    /// Bytes of the largest unit that a heap can hold.
    fn largest_bytes(heap_bytes: u32) -> u32 {
        heap_bytes
    }

    /// An empty heap. `sizes` has the bytes of each unit. Both are multiples of [`UNIT_ALIGN`].
    fn new(heap_bytes: u32, sizes: &[u32]) -> Self;

    /// Takes a reference to a unit, which fits into the heap. `next_use` is the number of the next
    /// reference to it, larger than all others if there is none, or if the allocator does not need it.
    fn reference(&mut self, unit: u32, next_use: u64) -> UnitOutcome;
}

/// Units to replay.
#[derive(Clone, Copy, Debug)]
pub struct UnitProgram<'a> {
    /// The visits of a trace.
    pub sequence: &'a UnitSequence,
    /// Bytes of each unit, in the order of the image.
    pub bytes: &'a [u64],
    /// Units that lie in RAM from the start, beside the heap, and are neither paged nor in flash.
    pub resident: &'a [bool],
}

/// The replay of a program through `register` and a heap.
struct UnitReplay<'a> {
    program: UnitProgram<'a>,
    heap_bytes: u32,
    register: RegisterDesign,
    should_continue: &'a dyn Fn() -> bool,
}

/// References between two calls of `should_continue`.
const REFERENCES_BETWEEN_CHECKS: usize = 1 << 12;

impl UnitReplay<'_> {
    fn run<A: Allocator>(&self) -> Result<UnitCounts> {
        let UnitProgram { sequence, bytes, resident } = self.program;
        let (references, resident_returns) = sequence.references(resident);
        let next_uses =
            if A::NEEDS_NEXT_USE { next_uses(&references, bytes.len()) } else { vec![] };
        let (sizes, offsets) = self.placed(A::largest_bytes(self.heap_bytes), &references)?;
        let mut heap = A::new(self.heap_bytes, &sizes);
        let mut register = UnitRegister::new(self.register);
        let mut counts =
            UnitCounts { bytes_read: sequence.bytes(), resident_returns, ..UnitCounts::default() };
        counts.by_unit = vec![UnitUse::default(); bytes.len()];
        let mut classes: FxHashMap<UnitLoadClass, u64> = FxHashMap::default();
        for (number, reference) in references.iter().enumerate() {
            if number % REFERENCES_BETWEEN_CHECKS == 0 && !(self.should_continue)() {
                return Err(Error::Interrupted);
            }
            let next_use = next_uses.get(number).copied().unwrap_or(NEVER);
            let outcome = heap.reference(reference.unit, next_use);
            counts.add(reference.is_call, &outcome);
            let unit = reference.unit as usize;
            counts.by_unit[unit].references += 1;
            if let UnitOutcome::Load(load) = outcome {
                counts.by_unit[unit].misses += 1;
                let mut class = register.read(offsets[unit], sizes[unit], &mut counts);
                class.bytes_moved = load.bytes_moved;
                *classes.entry(class).or_default() += 1;
            }
        }
        counts.load_classes = classes.into_iter().collect();
        counts.load_classes.sort_unstable();
        let loads = register.loads_by_page.into_iter().zip(0..);
        counts.loads_by_flash_page =
            loads.filter(|(loads, _)| *loads > 0).map(|(loads, page)| (page, loads)).collect();
        Ok(counts)
    }

    /// Bytes of each unit in RAM, and its offset in flash. Units that are never referenced have no
    /// bytes in RAM.
    fn placed(
        &self,
        largest_bytes: u32,
        references: &[sequence::UnitReference],
    ) -> Result<(Vec<u32>, Vec<u64>)> {
        let UnitProgram { bytes, resident, .. } = self.program;
        let mut sizes = vec![0; bytes.len()];
        for reference in references {
            let unit = reference.unit as usize;
            let aligned = aligned_bytes(bytes[unit]);
            if aligned > largest_bytes.into() {
                return Err(Error::design(format!(
                    "unit {unit} of {aligned} bytes does not fit into {largest_bytes} bytes of RAM"
                )));
            }
            sizes[unit] = aligned as u32;
        }
        let mut free = 0;
        let offsets = bytes.iter().zip(resident).map(|(bytes, resident)| {
            let offset = free;
            free += if *resident { 0 } else { aligned_bytes(*bytes) };
            offset
        });
        Ok((sizes, offsets.collect()))
    }
}

impl UnitCounts {
    /// Adds a reference.
    #[inline]
    fn add(&mut self, is_call: bool, outcome: &UnitOutcome) {
        self.references += 1;
        self.calls += u64::from(is_call);
        self.returns += u64::from(!is_call);
        match outcome {
            UnitOutcome::Hit => self.hits += 1,
            UnitOutcome::Load(load) => {
                self.misses += 1;
                self.call_misses += u64::from(is_call);
                self.return_misses += u64::from(!is_call);
                self.evictions += u64::from(load.evictions);
                self.bytes_moved += load.bytes_moved;
            }
        }
    }
}

/// For each reference, the number of the next one to the same unit.
fn next_uses(references: &[sequence::UnitReference], units: usize) -> Vec<u64> {
    let mut next_uses = vec![NEVER; references.len()];
    let mut next_of = vec![NEVER; units];
    for (number, reference) in references.iter().enumerate().rev() {
        next_uses[number] = std::mem::replace(&mut next_of[reference.unit as usize], number as u64);
    }
    next_uses
}

/// An allocator by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AllocatorSpec {
    name: &'static str,
}

macro_rules! allocators {
    ($($name:literal => $type:ty, $about:literal;)*) => {
        /// The allocators by name, each in a few words.
        pub const ALLOCATORS: &[(&str, &str)] = &[$(($name, $about)),*];

        impl AllocatorSpec {
            /// Bytes of the largest unit that a heap of `heap_bytes` can hold.
            pub fn largest_bytes(self, heap_bytes: u32) -> u32 {
                match self.name {
                    $($name => <$type>::largest_bytes(heap_bytes),)*
                    _ => 0,
                }
            }

            /// Returns true if no device can run it, because it looks ahead.
            pub fn looks_ahead(self) -> bool {
                match self.name {
                    $($name => <$type as Allocator>::NEEDS_NEXT_USE,)*
                    _ => false,
                }
            }

            fn replay(self, replay: &UnitReplay<'_>) -> Result<UnitCounts> {
                match self.name {
                    $($name => replay.run::<$type>(),)*
                    other => Err(unknown(other)),
                }
            }
        }
    };
}

allocators! {
    "fifo-ring" => fifo_ring::FifoRing, "circular FIFO";
    "second-chance" => second_chance::SecondChance, "circular FIFO that passes over units used since";
    "lru-compact" => lru_compact::LruCompact, "LRU with compaction";
    "lru-run" => lru_run::LruRun, "LRU over neighbours, nothing moved";
    "buddy" => buddy::Buddy, "LRU in blocks of powers of two";
    "farthest" => farthest::Farthest, "farthest next use with compaction; looks ahead";
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = ALLOCATORS.iter().map(|(name, _)| *name).collect();
    let near = did_you_mean(name, names.iter().copied());
    Error::design(format!(
        "unknown policy '{name}' for functions{near} (known: {})",
        names.join(", ")
    ))
}

impl std::str::FromStr for AllocatorSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let known = ALLOCATORS.iter().find(|(name, _)| *name == text);
        known.map(|(name, _)| Self { name }).ok_or_else(|| unknown(text))
    }
}

impl std::fmt::Display for AllocatorSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name)
    }
}

/// Replays a program's visits through a heap of `heap_bytes` and a data register. Paged units lie in
/// flash in the order of the image, one behind the other.
///
/// # Errors
/// A heap that is too large or no multiple of [`UNIT_ALIGN`], a program whose lists differ in length,
/// a referenced unit that does not fit, and [`Error::Interrupted`].
pub fn replay_units(
    program: UnitProgram<'_>,
    allocator: AllocatorSpec,
    heap_bytes: u32,
    register: RegisterDesign,
    should_continue: &dyn Fn() -> bool,
) -> Result<UnitCounts> {
    if heap_bytes > MAX_HEAP_BYTES || !heap_bytes.is_multiple_of(UNIT_ALIGN) {
        return Err(Error::design(format!(
            "{heap_bytes} bytes of RAM for units: take a multiple of {UNIT_ALIGN}, at most \
             {MAX_HEAP_BYTES}"
        )));
    }
    let units = program.sequence.units();
    if program.bytes.len() != units || program.resident.len() != units {
        return Err(Error::design(format!("{units} units need as many sizes")));
    }
    allocator.replay(&UnitReplay { program, heap_bytes, register, should_continue })
}
