//! SIEVE (Zhang et al., NSDI 2024): FIFO whose hand spares visited pages and leaves them in place.
//!
//! Pages stand in order of arrival. A hit marks its page visited. A page comes in
//! as the newest and not visited. On a fault with no free frame the hand looks at
//! pages from the oldest to the newest and from the newest on to the oldest
//! again: it clears the mark of a visited page and goes on; the first that is not
//! visited is evicted. The hand stays at the next newer page; if the newest one
//! was evicted, it starts from the oldest next time. It starts from the oldest
//! the first time, too. `walk` counts the pages looked at, the victim included.
//!
//! The paper counts every request; here consecutive references to a page are one,
//! so a page is visited when it is left and come back to.

use flashpager_base::Result;

use super::table::{Frame, PageTable};
use super::{
    INDEX_BYTES, Moment, Page, PerSet, PerSize, Policy, PolicyMetadata, PolicyParameter,
    ReferenceOutcome, Shape,
};

/// The absence of a frame.
const NONE: Frame = Frame::MAX;

/// SIEVE with frames linked from old to new.
pub struct Sieve {
    table: PageTable,
    frames: Vec<SieveFrame>,
    capacity: usize,
    oldest: Frame,
    newest: Frame,
    /// The frame before the hand; [`NONE`] if the hand is at the oldest.
    behind: Frame,
}

#[derive(Clone, Copy)]
struct SieveFrame {
    page: Page,
    newer: Frame,
    visited: bool,
}

impl Sieve {
    /// Takes the victim out of the order. Returns its frame, which still holds it, and the walk.
    fn evict(&mut self) -> (Frame, u32) {
        let mut walk = 0;
        loop {
            let at = match self.behind {
                NONE => self.oldest,
                behind => self.frames[behind as usize].newer,
            };
            walk += 1;
            let SieveFrame { page, newer, visited } = self.frames[at as usize];
            if visited {
                self.frames[at as usize].visited = false;
                self.behind = if newer == NONE { NONE } else { at };
                continue;
            }
            match self.behind {
                NONE => self.oldest = newer,
                behind => self.frames[behind as usize].newer = newer,
            }
            if newer == NONE {
                self.newest = self.behind;
                self.behind = NONE;
            }
            self.table.remove(page);
            return (at, walk);
        }
    }
}

impl Policy for Sieve {
    /// A link and a bit per frame; the oldest frame, the newest, and the one before the hand.
    const METADATA: Option<PolicyMetadata> = Some(PolicyMetadata {
        bytes_per_frame: INDEX_BYTES as f64 + 0.125,
        fixed_bytes: 3 * INDEX_BYTES,
    });

    type AllSizes = PerSize<Self>;
    type InSets = PerSet<Self>;

    fn new(shape: Shape, _: &[PolicyParameter]) -> Result<Self> {
        Ok(Self {
            table: PageTable::new(shape),
            frames: Vec::new(),
            capacity: shape.usable_frames() as usize,
            oldest: NONE,
            newest: NONE,
            behind: NONE,
        })
    }

    #[inline]
    fn reference(&mut self, page: Page, _: Moment) -> ReferenceOutcome {
        if let Some(frame) = self.table.frame_of(page) {
            self.frames[frame as usize].visited = true;
            return ReferenceOutcome::Hit;
        }
        let newcomer = SieveFrame { page, newer: NONE, visited: false };
        let (frame, walk, victim) = if self.frames.len() < self.capacity {
            self.frames.push(newcomer);
            (self.frames.len() as Frame - 1, 0, None)
        } else {
            let (frame, walk) = self.evict();
            let victim = std::mem::replace(&mut self.frames[frame as usize], newcomer);
            (frame, walk, Some(victim.page))
        };
        match self.newest {
            NONE => self.oldest = frame,
            newest => self.frames[newest as usize].newer = frame,
        }
        self.newest = frame;
        self.table.insert(page, frame);
        ReferenceOutcome::miss(walk, victim)
    }

    #[inline]
    fn would_hit(&self, page: Page) -> bool {
        self.table.frame_of(page).is_some_and(|frame| self.frames[frame as usize].visited)
    }
}
