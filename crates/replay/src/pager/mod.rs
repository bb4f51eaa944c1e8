//! The cache of frames and its replacement policies.
//!
//! A policy is a state machine over page references: it takes one reference at a time and returns
//! the outcome. Consecutive references to one page are one reference. A policy knows nothing of
//! flash, of registers or of time, so one replay of it can be priced for any part.
//!
//! The trait [`Policy`] has one required step, [`Policy::reference`], which takes a page and
//! returns the [`ReferenceOutcome`]. Two associated types keep sweeps fast without making simple
//! policies complicated:
//!
//! * [`Policy::AllSizes`] replays caches of several sizes together. [`PerSize`] runs one policy
//!   object per size and suits every policy. LRU and MIN find all sizes in one stack instead, FIFO
//!   and Clock keep one mask of sizes per page.
//! * [`Policy::InSets`] is the policy in a cache of sets, as in hardware. [`PerSet`] runs one
//!   policy object per set and suits every policy. LRU, FIFO and tree-PLRU have layouts of their
//!   own.
//!
//! Policies are generic types rather than trait objects, because a replay calls `reference`
//! millions of times per second. [`PolicySpec`] reads a policy from text and hands its type to a
//! [`PolicyVisitor`].
//!
//! To add a policy: a file here that implements [`Policy`], registered by its `mod` and its line in
//! the [`policies!`] list below; and its slow reference, registered in
//! `crates/flashpager/tests/engine/reference/mod.rs`. Tests then demand its golden counts, its
//! steps in `docs/model-policies.md` and its rows in the tables of `docs/model.md`.

mod arc;
mod cflru;
mod classes;
mod clock;
mod fifo;
mod fifo_sc;
mod gclock;
mod lirs;
mod lists;
mod lru;
mod lru_2;
mod lru_array;
mod min;
mod no_op_hits;
mod pa_clock;
mod pa_fifo_sc;
mod plru;
mod random;
mod ring;
mod s3_fifo;
mod sets;
mod sieve;
mod sizes;
mod stack;
mod stepped;
mod table;
mod two_q;

pub use classes::{MAX_CLASS, PageClasses, ReuseClasses};
pub use sets::PerSet;
pub use sizes::{AllSizes, PageSpan, PerSize, ReferenceBlock};
pub use stepped::Pager;

use std::sync::Arc;

use serde::Serialize;

use flashpager_base::{Error, Result, did_you_mean};

use crate::units::ALLOCATORS;

/// A cache page's number: flash offset divided by the cache page size.
pub type Page = u32;

/// The index of a reference in the sequence of all references; as a next use it can be [`NEVER`].
pub type Moment = u32;

/// The next use of a page that is not referenced again.
pub const NEVER: Moment = Moment::MAX;

/// Bytes of a frame's index or a page's number in a device's memory, enough for 65,536 of them.
pub const INDEX_BYTES: u32 = 2;

/// The RAM that a policy needs in a device beside the frames, to choose victims.
///
/// The tables that every cache needs are not included: the frame of each page, and the page of each
/// frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PolicyMetadata {
    /// Bytes per frame; a bit is 0.125.
    pub bytes_per_frame: f64,
    /// Bytes that do not depend on the number of frames.
    pub fixed_bytes: u32,
}

impl PolicyMetadata {
    /// No RAM at all.
    pub const NONE: Self = Self { bytes_per_frame: 0.0, fixed_bytes: 0 };

    /// Bytes for `frames` frames, rounded up.
    pub fn bytes(self, frames: u64) -> u64 {
        (self.bytes_per_frame * frames as f64).ceil() as u64 + u64::from(self.fixed_bytes)
    }
}

/// The outcome of one reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceOutcome {
    /// The page was in a frame and usable.
    Hit,
    /// The page was in a frame and usable, and its reference bit, which the hand had cleared, is
    /// set again. On a device that emulates the reference bit by the valid bit, this is a false
    /// fault.
    BitSet,
    /// The page was in a frame but marked invalid: a false fault.
    FalseFault {
        /// Pages moved from valid to invalid.
        downgrades: u32,
    },
    /// The page was in no frame and got one.
    Miss {
        /// The search for a victim.
        search: VictimSearch,
        /// The page that held the frame; `None` if the frame was free.
        victim: Option<Page>,
    },
}

/// The search for a victim at a true fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct VictimSearch {
    /// Frames examined to find the victim, which is included; 0 if the policy does not search, or a
    /// frame was free.
    pub walk: u32,
    /// Pages moved from valid to invalid.
    pub downgrades: u32,
}

impl ReferenceOutcome {
    /// A miss whose victim was found after a walk of `walk` frames.
    #[inline]
    fn miss(walk: u32, victim: Option<Page>) -> Self {
        Self::Miss { search: VictimSearch { walk, downgrades: 0 }, victim }
    }
}

/// A replacement policy over a fully associative cache that is empty at first.
pub trait Policy: Sized + Send + Sync + 'static {
    /// True if [`Policy::reference`] needs the next use. Only MIN does, which no device can run.
    const NEEDS_NEXT_USE: bool = false;

    /// True if the policy must see every reference, hits included. Other policies need at most one
    /// bit per page, which the hardware sets.
    const SEES_HITS: bool = true;

    /// True if a sequence of references that is made again and again has the same outcomes each
    /// time from the second on, whatever came before it.
    const REPEATS_ROUNDS: bool = false;

    /// True if frames beyond the number of pages change the policy's behaviour.
    const COUNTS_SPARE_FRAMES: bool = false;

    /// The RAM that a device needs for it; `None` if no device can run it.
    const METADATA: Option<PolicyMetadata>;

    /// The policy in caches of several sizes together; [`PerSize`] unless there is a faster way.
    type AllSizes: AllSizes;

    /// The policy in a cache of sets ([`Shape::ways`]); [`PerSet`] unless there is a faster way.
    type InSets: Policy;

    /// Creates an empty cache. The number of `parameters` is that in [`POLICIES`].
    ///
    /// # Errors
    /// If a parameter does not suit the shape.
    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self>;

    /// Takes one collapsed reference. `next_use` is the moment of the page's next reference, or
    /// [`NEVER`] if there is none or the policy does not need it.
    fn reference(&mut self, page: Page, next_use: Moment) -> ReferenceOutcome;

    /// Notes a write to `page`, after its reference: the page is dirty and must be written back
    /// when it is evicted. A page in no frame is ignored.
    fn written(&mut self, _page: Page) {}

    /// Notes that `page` was written back and is clean. A page in no frame is ignored.
    fn cleaned(&mut self, _page: Page) {}

    /// Returns whether a reference to `page` would be a [`ReferenceOutcome::Hit`] now, so that a
    /// TLB may know the page.
    fn would_hit(&self, page: Page) -> bool;
}

/// A parameter of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PolicyParameter {
    /// A number.
    Number(u64),
    /// A percentage of the frames.
    Percent(u64),
    /// The trained reuse classes of all pages, which the policy's name does not show.
    Classes(Arc<ReuseClasses>),
}

impl PolicyParameter {
    /// The number of a parameter that cannot be a percentage.
    fn number(&self, name: &str) -> Result<u64> {
        match self {
            Self::Number(number) => Ok(*number),
            _ => Err(Error::design(format!("{name} is a number, not {self}"))),
        }
    }
}

impl std::fmt::Display for PolicyParameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Classes(_) => f.write_str("classes"),
        }
    }
}

/// The shape of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Frames in the cache, at least 1.
    pub frames: u32,
    /// Pages in the image: every referenced page is below it.
    pub pages: u32,
    /// Frames of a set of a cache in hardware, in which page p is in set p mod sets. The number of
    /// sets is a power of two. `None` if a page can be in every frame.
    pub ways: Option<u32>,
}

impl Shape {
    /// Frames that can be in use: at most as many as there are pages.
    fn usable_frames(self) -> u32 {
        self.frames.min(self.pages).max(1)
    }

    /// Frames of a set; all frames if there are no sets.
    fn ways(self) -> u32 {
        self.ways.unwrap_or(self.frames).max(1)
    }

    /// The number of sets.
    fn sets(self) -> u32 {
        (self.frames / self.ways()).max(1)
    }
}

/// A policy with its parameters, written `lru` or `pa-clock(13)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicySpec {
    name: &'static str,
    parameters: Vec<PolicyParameter>,
}

impl PolicySpec {
    /// The policies that a device without reference bits can run.
    pub fn with_emulated_bits() -> Vec<&'static str> {
        let emulated = |name: &'static str| {
            let spec = Self { name, parameters: Vec::new() };
            spec.can_emulate_its_bit() && spec.metadata().is_some()
        };
        POLICIES.iter().map(|(name, _)| *name).filter(|name| emulated(name)).collect()
    }

    /// The name without parameters.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Sets this budget for PA-Clock without a budget. Other policies stay as they are.
    pub fn with_budget(self, budget: u32) -> Self {
        if self.parameters.is_empty() && self.name == pa_clock::NAME {
            return Self { parameters: vec![PolicyParameter::Number(budget.into())], ..self };
        }
        self
    }

    /// The policy with trained reuse classes.
    ///
    /// # Errors
    /// A policy without classes.
    pub fn with_classes(self, classes: Arc<ReuseClasses>) -> Result<Self> {
        if self.default_class().is_none() {
            return Err(Error::design(format!(
                "reuse classes with {self}: take {} or {}, which have them",
                lru_array::NAME,
                gclock::NAME
            )));
        }
        Ok(Self { parameters: vec![PolicyParameter::Classes(classes)], ..self })
    }

    /// The class of fills and uses of all pages without trained classes; `None` for a policy that
    /// has no classes.
    pub fn default_class(&self) -> Option<u8> {
        match self.name {
            lru_array::NAME => Some(lru_array::DEFAULT_CLASS),
            gclock::NAME => Some(gclock::DEFAULT_CLASS),
            _ => None,
        }
    }

    /// The trained reuse classes; `None` without.
    pub fn classes(&self) -> Option<&ReuseClasses> {
        match self.parameters.first() {
            Some(PolicyParameter::Classes(classes)) => Some(classes),
            _ => None,
        }
    }
}

/// Bytes per frame for the class of a use, which is needed while the page is in its frame: two bits.
const CLASS_BYTES_PER_FRAME: f64 = 0.25;

/// An action on a policy whose type is known only after its name is read.
pub trait PolicyVisitor {
    /// The result of the action.
    type Output;
    /// Acts on the policy, which is empty.
    fn visit<P: Policy>(self, policy: P) -> Self::Output;
}

/// An action on the type of a policy.
pub trait SizesVisitor {
    /// The result of the action.
    type Output;
    /// Acts on the type, with the parameters to build it.
    ///
    /// # Errors
    /// The errors of the action.
    fn visit<P: Policy>(self, parameters: &[PolicyParameter]) -> Result<Self::Output>;
}

macro_rules! policies {
    ($($name:literal => $type:ty, parameters $parameters:literal $(or $default:literal)?;)*) => {
        /// The policies by name, with the number of parameters each takes.
        pub const POLICIES: &[(&str, usize)] = &[$(($name, $parameters)),*];

        impl PolicySpec {
            /// The parameters that are used if none are written.
            fn default_parameters(name: &str) -> Option<&'static str> {
                match name {
                    $($($name => Some($default),)?)*
                    _ => None,
                }
            }

            /// Builds the policy for a cache and hands it to `visitor`.
            ///
            /// # Errors
            /// If a parameter does not suit the shape.
            pub fn visit<V: PolicyVisitor>(&self, shape: Shape, visitor: V) -> Result<V::Output> {
                let parameters = &self.parameters;
                match (self.name, shape.ways) {
                    $(($name, None) => Ok(visitor.visit(<$type>::new(shape, parameters)?)),
                    ($name, Some(_)) => {
                        Ok(visitor.visit(<$type as Policy>::InSets::new(shape, parameters)?))
                    })*
                    (other, _) => Err(unknown(other)),
                }
            }

            /// Hands the type of the policy, with or without sets, and its parameters to `visitor`.
            ///
            /// # Errors
            /// The errors of the visitor.
            pub fn visit_sizes<V: SizesVisitor>(
                &self,
                has_sets: bool,
                visitor: V,
            ) -> Result<V::Output> {
                match (self.name, has_sets) {
                    $(($name, false) => visitor.visit::<$type>(&self.parameters),
                    ($name, true) => {
                        visitor.visit::<<$type as Policy>::InSets>(&self.parameters)
                    })*
                    (other, _) => Err(unknown(other)),
                }
            }

            /// Checks the parameters for a cache of `frames` frames, or a set of them.
            ///
            /// # Errors
            /// If a parameter does not suit it.
            pub fn check(&self, frames: u32) -> Result<()> {
                let pages = self.classes().map_or(1, ReuseClasses::pages);
                let shape = Shape { frames, pages, ways: None };
                match self.name {
                    $($name => <$type>::new(shape, &self.parameters).map(drop),)*
                    other => Err(unknown(other)),
                }
            }

            /// Bytes of `sizes` sizes replayed together, for each page of the image.
            pub fn bytes_per_page(&self, sizes: usize) -> usize {
                match self.name {
                    $($name => <<$type as Policy>::AllSizes as AllSizes>::bytes_per_page(sizes),)*
                    _ => 0,
                }
            }

            /// Returns whether the policy needs the next use of every page.
            pub fn needs_next_use(&self) -> bool {
                match self.name {
                    $($name => <$type as Policy>::NEEDS_NEXT_USE,)*
                    _ => false,
                }
            }

            /// Returns whether a device without reference bits can run the policy, emulating the
            /// bit it needs by the valid bit. Also true if no device can run it at all.
            pub fn can_emulate_its_bit(&self) -> bool {
                match self.name {
                    $($name => !<$type as Policy>::SEES_HITS || <$type as Policy>::METADATA.is_none(),)*
                    _ => false,
                }
            }

            /// The frames that affect the replay of an image of `pages`, of `frames` in the cache.
            pub fn frames_that_count(&self, frames: u32, pages: u32) -> u32 {
                match self.name {
                    $($name if <$type as Policy>::COUNTS_SPARE_FRAMES => frames,)*
                    _ => frames.min(pages.max(1)),
                }
            }

            /// The RAM that a device needs for the policy; `None` if no device can run it.
            pub fn metadata(&self) -> Option<PolicyMetadata> {
                let metadata = match self.name {
                    $($name => <$type as Policy>::METADATA,)*
                    _ => None,
                };
                let classes = self.classes().map_or(0.0, |_| CLASS_BYTES_PER_FRAME);
                metadata.map(|metadata| PolicyMetadata {
                    bytes_per_frame: metadata.bytes_per_frame + classes,
                    ..metadata
                })
            }
        }
    };
}

policies! {
    "lru" => lru::Lru, parameters 0;
    "fifo" => fifo::Fifo, parameters 0;
    "min" => min::Min, parameters 0;
    "clock" => clock::Clock, parameters 0;
    "pa-clock" => pa_clock::PaClock, parameters 1 or "";
    "fifo-sc" => fifo_sc::FifoSc, parameters 1 or "50%";
    "pa-fifo-sc" => pa_fifo_sc::PaFifoSc, parameters 1 or "50%";
    "sieve" => sieve::Sieve, parameters 0;
    "s3-fifo" => s3_fifo::S3Fifo, parameters 0;
    "arc" => arc::Arc, parameters 0;
    "2q" => two_q::TwoQ, parameters 0;
    "lirs" => lirs::Lirs, parameters 0;
    "lru-2" => lru_2::Lru2, parameters 0;
    "cflru" => cflru::Cflru, parameters 1;
    "random" => random::Random, parameters 1;
    "plru" => plru::Plru, parameters 0;
    "lru-array" => lru_array::LruArray, parameters 0;
    "gclock" => gclock::GClock, parameters 0;
}

fn unknown(name: &str) -> Error {
    if ALLOCATORS.iter().any(|(allocator, _)| *allocator == name) {
        return Error::design(format!(
            "policy '{name}' places whole functions, not pages: 'flashpager simulate --unit \
             function' takes it"
        ));
    }
    let names: Vec<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
    let near = did_you_mean(name, names.iter().copied());
    Error::design(format!("unknown policy '{name}'{near} (known: {})", names.join(", ")))
}

impl std::str::FromStr for PolicySpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let (name, arguments) = match text.split_once('(') {
            None => (text, ""),
            Some((name, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| {
                    Error::design(format!("policy '{text}': the parenthesis is not closed"))
                })?;
                (name.trim_end(), inner.trim())
            }
        };
        let (name, wanted) = POLICIES
            .iter()
            .copied()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| unknown(name))?;
        let default = Self::default_parameters(name);
        let arguments = match default {
            Some(default) if arguments.is_empty() => default,
            _ => arguments,
        };
        let parameter = |written: &str| {
            let (number, parameter): (_, fn(u64) -> PolicyParameter) =
                match written.strip_suffix('%') {
                    Some(percent) => (percent, PolicyParameter::Percent),
                    None => (written, PolicyParameter::Number),
                };
            let number = number.trim().parse().map_err(|_| {
                Error::design(format!(
                    "policy '{text}': '{written}' is not a whole number below 2^64"
                ))
            });
            number.map(parameter)
        };
        let parameters = match arguments {
            "" => Vec::new(),
            some => some.split(',').map(|one| parameter(one.trim())).collect::<Result<_>>()?,
        };
        if parameters.len() != wanted && default != Some(arguments) {
            return Err(Error::design(format!(
                "policy '{text}': {name} takes {wanted} parameter{}, not {}",
                if wanted == 1 { "" } else { "s" },
                parameters.len()
            )));
        }
        Ok(Self { name, parameters })
    }
}

impl std::fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)?;
        if !self.parameters.is_empty() && self.classes().is_none() {
            let numbers: Vec<String> =
                self.parameters.iter().map(PolicyParameter::to_string).collect();
            write!(f, "({})", numbers.join(","))?;
        }
        Ok(())
    }
}
