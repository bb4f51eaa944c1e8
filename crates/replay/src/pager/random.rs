//! Random: evict any page. What a policy gains must be measured against it.
//!
//! `random(seed)`, seed < 2³². Frames are numbered from 0, free ones are taken in that
//! order, and a page takes its victim's frame. The generator is xorshift32 (Marsaglia,
//! JSS 2003): on a fault with no free frame, and only then, x ^= x << 13, x ^= x >> 17,
//! x ^= x << 5 in 32 bits, and the victim is in frame ⌊x · frames / 2³²⌋. x is the seed
//! at first; for seed 0, from which xorshift cannot move, it is 2463534242, Marsaglia's.
//! `walk` is 0: nothing is searched.

use flashpager_base::{Error, Result};

use super::table::{Frame, PageTable};
use super::{Metadata, Moment, Outcome, Page, Parameter, Policy, Shape, SideBySide};

const INSTEAD_OF_0: u32 = 2_463_534_242;

/// Frames and a generator.
pub struct Random {
    table: PageTable,
    frames: Vec<Page>,
    capacity: usize,
    state: u32,
}

impl Random {
    fn victim(&mut self) -> Frame {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        ((u64::from(self.state) * self.capacity as u64) >> 32) as Frame
    }
}

impl Policy for Random {
    const SEES_HITS: bool = false;

    /// The generator's state.
    const METADATA: Option<Metadata> = Some(Metadata { bytes_per_frame: 0.0, fixed_bytes: 4 });

    type AllSizes = SideBySide<Self>;

    fn new(shape: Shape, parameters: &[Parameter]) -> Result<Self> {
        let seed = parameters[0].number("the seed of random")?;
        let state = match u32::try_from(seed) {
            Ok(0) => INSTEAD_OF_0,
            Ok(seed) => seed,
            Err(_) => {
                return Err(Error::design(format!(
                    "policy 'random({seed})': take a seed below 2^32"
                )));
            }
        };
        Ok(Self {
            table: PageTable::new(shape),
            frames: Vec::new(),
            capacity: shape.usable_frames() as usize,
            state,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> Outcome {
        if self.table.frame_of(page).is_some() {
            return Outcome::Hit;
        }
        let (frame, victim) = if self.frames.len() < self.capacity {
            self.frames.push(page);
            (self.frames.len() as Frame - 1, None)
        } else {
            let frame = self.victim();
            let victim = std::mem::replace(&mut self.frames[frame as usize], page);
            self.table.remove(victim);
            (frame, Some(victim))
        };
        self.table.insert(page, frame);
        Outcome::miss(0, victim)
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.table.frame_of(page).is_some()
    }
}
