//! LRU as an array of frames: the first is the victim, and reuse classes say at which place a fill
//! or a use puts a frame.

use flashpager_base::{Error, Result};

use super::classes::{ClassTable, MAX_CLASS};
use super::table::PageTable;
use super::{
    Moment, Page, PerSet, PerSize, Policy, PolicyMetadata, PolicyParameter, ReferenceOutcome, Shape,
};

/// The name of the policy.
pub(super) const NAME: &str = "lru-array";
/// The class of pages without trained classes, with which this is LRU.
pub(super) const DEFAULT_CLASS: u8 = MAX_CLASS;
/// The most frames: the number of a frame takes one byte.
const MAX_FRAMES: u32 = 255;
/// The number that stands for no frame.
const NO_FRAME: u8 = u8::MAX;
/// Bytes that are compared together.
const WORD: usize = size_of::<u64>();
/// The number of classes.
const CLASSES: usize = MAX_CLASS as usize + 1;

/// Frames in an array. Empty frames are taken in index order, before any page is evicted.
pub struct LruArray {
    table: PageTable,
    classes: ClassTable,
    /// The page of each frame that was filled.
    pages: Vec<Page>,
    /// The numbers of all frames; the first is the next victim. [`NO_FRAME`] fills up the last
    /// word.
    order: Vec<u8>,
    /// The number of frames.
    frames: usize,
    /// By class, the place at which a frame is put.
    places: [usize; CLASSES],
}

/// The place of a frame of `class`, of `frames` frames.
pub(super) fn place(class: u8, frames: u32) -> usize {
    let last = frames as usize - 1;
    last.min((usize::from(class) * last + 1) / 3)
}

impl LruArray {
    /// Puts the frame at place `from` to the place of `class`.
    #[inline]
    fn put(&mut self, from: usize, class: u8) {
        let to = self.places[usize::from(class)];
        let frame = self.order[from];
        if to >= from {
            self.order.copy_within(from + 1..=to, from);
        } else {
            self.order.copy_within(to..from, to + 1);
        }
        self.order[to] = frame;
    }

    /// The place of `frame` in the array.
    #[inline]
    fn place_of(&self, frame: u8) -> usize {
        const ONES: u64 = u64::MAX / 0xFF;
        let wanted = ONES * u64::from(frame);
        for (index, bytes) in self.order.chunks_exact(WORD).enumerate() {
            let word = u64::from_le_bytes(bytes.try_into().unwrap_or_default()) ^ wanted;
            // The lowest bit that is set belongs to the first byte that is 0.
            let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
            if zeros != 0 {
                return index * WORD + (zeros.trailing_zeros() / u8::BITS) as usize;
            }
        }
        0
    }
}

impl Policy for LruArray {
    /// A byte per frame: its number in the array.
    const METADATA: Option<PolicyMetadata> =
        Some(PolicyMetadata { bytes_per_frame: 1.0, fixed_bytes: 0 });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self> {
        if shape.frames > MAX_FRAMES {
            return Err(Error::design(format!(
                "{NAME} with {} frames: a byte numbers at most {MAX_FRAMES}; take larger cache \
                 pages, a smaller cache, or lru",
                shape.frames
            )));
        }
        let frames = shape.usable_frames();
        let padded = (frames as usize).next_multiple_of(WORD);
        let padding = std::iter::repeat_n(NO_FRAME, padded - frames as usize);
        Ok(Self {
            table: PageTable::new(shape),
            classes: ClassTable::new(shape, parameters, DEFAULT_CLASS)?,
            pages: Vec::with_capacity(frames as usize),
            order: (0..frames as u8).chain(padding).collect(),
            frames: frames as usize,
            places: std::array::from_fn(|class| place(class as u8, frames)),
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        let classes = self.classes.of(page);
        if let Some(frame) = self.table.frame_of(page) {
            let to = self.places[usize::from(classes.used)];
            if self.order[to] != frame as u8 {
                self.put(self.place_of(frame as u8), classes.used);
            }
            return ReferenceOutcome::Hit;
        }
        let filled = self.pages.len();
        let (from, victim) = if filled < self.frames {
            self.pages.push(page);
            (self.place_of(filled as u8), None)
        } else {
            let victim = std::mem::replace(&mut self.pages[usize::from(self.order[0])], page);
            self.table.remove(victim);
            (0, Some(victim))
        };
        self.table.insert(page, self.order[from].into());
        self.put(from, classes.fill);
        ReferenceOutcome::miss(0, victim)
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.table.frame_of(page).is_some()
    }
}
