//! The cache of frames and its replacement policies.
//!
//! A policy sees one collapsed page reference at a time (consecutive
//! references to one page are one reference) and says what became of it. It
//! knows nothing of flash, of registers or of time.
//!
//! To add a policy: one file here that implements [`Policy`], one line in the
//! [`policies!`] list below, and what `CONTRIBUTING.md` lists beside ("Add something").
//!
//! A policy says as [`Policy::AllSizes`] how caches of several sizes are run
//! together; where it knows no better way, side by side. And as [`Policy::InSets`] how it acts in a
//! cache of sets; where it knows no better way, in [`PerSet`] by itself.

mod arc;
mod cflru;
mod clock;
mod fifo;
mod fifo_sc;
mod lirs;
mod lists;
mod lru;
mod lru_2;
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

pub use sets::PerSet;
pub use sizes::{AllSizes, PageSpan, PerSize, ReferenceBlock};
pub use stepped::Pager;

use serde::Serialize;

use flashpager_base::{Error, Result, did_you_mean};

/// A cache page's number: flash offset divided by the cache page size.
pub type Page = u32;

/// The place of a reference in the sequence of all references;
/// [`NEVER`] as a next use.
pub type Moment = u32;

/// The next use of a page that is not referenced again.
pub const NEVER: Moment = Moment::MAX;

/// Bytes of a frame's index or a page's number in a device's memory: enough for
/// 65 536 of them.
pub const INDEX_BYTES: u32 = 2;

/// What a policy keeps in a device's RAM beside the frames, to choose victims.
///
/// Not in it is what every cache needs: the way from a page to its frame, and
/// each frame's page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PolicyMetadata {
    /// For each frame; a bit is 0.125.
    pub bytes_per_frame: f64,
    /// However many frames there are.
    pub fixed_bytes: u32,
}

impl PolicyMetadata {
    /// Nothing at all.
    pub const NONE: Self = Self { bytes_per_frame: 0.0, fixed_bytes: 0 };

    /// Bytes for that many frames, rounded up.
    pub fn bytes(self, frames: u64) -> u64 {
        (self.bytes_per_frame * frames as f64).ceil() as u64 + u64::from(self.fixed_bytes)
    }
}

/// What became of one reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceOutcome {
    /// The page was in a frame and usable at once.
    Hit,
    /// As a hit, and the page's reference bit, which the hand had cleared, is set
    /// again. Where the bit is emulated by the valid bit, this is a false fault.
    BitSet,
    /// The page was in a frame but marked invalid: a false fault.
    FalseFault {
        /// Pages moved from valid to invalid for it.
        downgrades: u32,
    },
    /// The page was not in a frame: it has been given one.
    Miss {
        /// What it took.
        search: VictimSearch,
        /// Whose frame it was; `None` if a frame was free.
        victim: Option<Page>,
    },
}

/// What a true fault took beside the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct VictimSearch {
    /// Frames looked at to find the victim, itself included; 0 where a policy does
    /// not search or a frame was free.
    pub walk: u32,
    /// Pages moved from valid to invalid.
    pub downgrades: u32,
}

impl ReferenceOutcome {
    /// A miss whose victim was found after `walk` frames.
    #[inline]
    fn miss(walk: u32, victim: Option<Page>) -> Self {
        Self::Miss { search: VictimSearch { walk, downgrades: 0 }, victim }
    }
}

/// A replacement policy over a fully associative cache that is empty at first.
pub trait Policy: Sized + Send + Sync + 'static {
    /// Whether [`Policy::reference`] needs to know the next use (only MIN,
    /// which no device can have).
    const NEEDS_NEXT_USE: bool = false;

    /// Whether it must see every reference, hits too. Those that need not live with
    /// one bit a page that the hardware sets, or without any.
    const SEES_HITS: bool = true;

    /// Whether frames that no page is left for change what it does.
    const COUNTS_SPARE_FRAMES: bool = false;

    /// What a device must keep for it; `None` where no device can run it.
    const METADATA: Option<PolicyMetadata>;

    /// The policy in caches of several sizes at once; [`PerSize`] where
    /// there is no better way.
    type AllSizes: AllSizes;

    /// The policy in a cache of sets ([`Shape::ways`]); [`PerSet`] where there is no better way.
    type InSets: Policy;

    /// An empty cache. `parameters` are as many as [`POLICIES`] says.
    ///
    /// # Errors
    /// Parameters that do not fit the shape.
    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self>;

    /// Take one collapsed reference. `next_use` is the time of the page's
    /// next reference, [`NEVER`] if there is none or if the policy does not
    /// ask for it.
    fn reference(&mut self, page: Page, next_use: Moment) -> ReferenceOutcome;

    /// `page`, which is in a frame, was written to: it is dirty, and whoever evicts it
    /// must write it back. Comes after the reference; a page in no frame is ignored.
    fn written(&mut self, _page: Page) {}

    /// `page`, which is in a frame, was written back: it is as clean as one that just
    /// came in. A page in no frame is ignored.
    fn cleaned(&mut self, _page: Page) {}

    /// Whether a TLB may know `page`: whether a reference to it would be a
    /// [`ReferenceOutcome::Hit`] now that sets no bit.
    fn would_hit(&self, page: Page) -> bool;
}

/// A policy's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PolicyParameter {
    /// As it is.
    Number(u64),
    /// Of the frames, in percent.
    Percent(u64),
}

impl PolicyParameter {
    /// The number, where a share makes no sense.
    fn number(self, what: &str) -> Result<u64> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Percent(_) => Err(Error::design(format!("{what} is a number, not {self}"))),
        }
    }
}

impl std::fmt::Display for PolicyParameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// What a policy is built for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Frames in the cache, at least 1.
    pub frames: u32,
    /// Pages in the image: every referenced page is below it.
    pub pages: u32,
    /// Frames of a set, in a cache in hardware: page p is in set p mod sets. They divide the frames
    /// into a power of two of sets. Nothing where a page may be in every frame.
    pub ways: Option<u32>,
}

impl Shape {
    /// Frames that can ever be in use: no more than there are pages.
    fn usable_frames(self) -> u32 {
        self.frames.min(self.pages).max(1)
    }

    /// Frames of a set, of all where there is one.
    fn ways(self) -> u32 {
        self.ways.unwrap_or(self.frames).max(1)
    }

    /// How many sets there are.
    fn sets(self) -> u32 {
        (self.frames / self.ways()).max(1)
    }
}

/// A policy by name, with its parameters: `lru`, `pa-clock(13)`.
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

    /// PA-Clock without a budget gets this one; everything else stays as it is.
    pub fn with_budget(self, budget: u32) -> Self {
        if self.parameters.is_empty() && self.name == pa_clock::NAME {
            return Self { parameters: vec![PolicyParameter::Number(budget.into())], ..self };
        }
        self
    }
}

/// What to do with a policy whose type is only known once its name is read.
pub trait PolicyVisitor {
    /// What the visit gives.
    type Output;
    /// Called with the policy, empty and ready.
    fn visit<P: Policy>(self, policy: P) -> Self::Output;
}

/// What to do with a policy at several sizes.
pub trait SizesVisitor {
    /// What the visit gives.
    type Output;
    /// Called with the parameters that the policy is built with.
    fn visit<P: Policy>(self, parameters: &[PolicyParameter]) -> Result<Self::Output>;
}

macro_rules! policies {
    ($($name:literal => $type:ty, parameters $parameters:literal $(or $default:literal)?;)*) => {
        /// The policies by name, with the number of parameters each takes.
        pub const POLICIES: &[(&str, usize)] = &[$(($name, $parameters)),*];

        impl PolicySpec {
            /// What stands for the parameters where none is written.
            fn default_parameters(name: &str) -> Option<&'static str> {
                match name {
                    $($($name => Some($default),)?)*
                    _ => None,
                }
            }

            /// Build the policy for a cache and hand it to `visitor`.
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

            /// Tell `visitor` the type of the policy, with or without sets, and its parameters.
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

            /// Check that it can be, with that many frames, of a set where there are sets.
            pub fn check(&self, frames: u32) -> Result<()> {
                let shape = Shape { frames, pages: 1, ways: None };
                match self.name {
                    $($name => <$type>::new(shape, &self.parameters).map(drop),)*
                    other => Err(unknown(other)),
                }
            }

            /// Bytes that so many sizes at once take for each page of the image.
            pub fn bytes_per_page(&self, sizes: usize) -> usize {
                match self.name {
                    $($name => <<$type as Policy>::AllSizes as AllSizes>::bytes_per_page(sizes),)*
                    _ => 0,
                }
            }

            /// Whether the policy must be told the next use of every page.
            pub fn needs_next_use(&self) -> bool {
                match self.name {
                    $($name => <$type as Policy>::NEEDS_NEXT_USE,)*
                    _ => false,
                }
            }

            /// Whether a device without reference bits can run it, emulating the one it
            /// needs by the valid bit; or whether no device can run it anyway.
            pub fn can_emulate_its_bit(&self) -> bool {
                match self.name {
                    $($name => !<$type as Policy>::SEES_HITS || <$type as Policy>::METADATA.is_none(),)*
                    _ => false,
                }
            }

            /// Frames that tell caches of it apart, of `frames` for an image of `pages`.
            pub fn frames_that_count(&self, frames: u32, pages: u32) -> u32 {
                match self.name {
                    $($name if <$type as Policy>::COUNTS_SPARE_FRAMES => frames,)*
                    _ => frames.min(pages.max(1)),
                }
            }

            /// What a device must keep for the policy; `None` where none can run it.
            pub fn metadata(&self) -> Option<PolicyMetadata> {
                match self.name {
                    $($name => <$type as Policy>::METADATA,)*
                    _ => None,
                }
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
}

fn unknown(name: &str) -> Error {
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
        if !self.parameters.is_empty() {
            let numbers: Vec<String> =
                self.parameters.iter().map(PolicyParameter::to_string).collect();
            write!(f, "({})", numbers.join(","))?;
        }
        Ok(())
    }
}
