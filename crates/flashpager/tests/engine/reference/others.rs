//! CFLRU and Random.

use super::*;

pub fn cflru(frames: usize, parameters: &[u64]) -> Cache {
    let mut cache = CleanFirst::new(frames, parameters[0] as usize);
    Box::new(move |page, _| cache.reference(page))
}

/// CFLRU with the whole history of its pages.
pub struct CleanFirst {
    frames: usize,
    window: usize,
    cached: Vec<Page>,
    /// The actions on pages, the latest last.
    history: Vec<(Done, Page)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    CameIn,
    Used,
    Written,
    Cleaned,
}

impl CleanFirst {
    /// Creates an empty cache.
    pub fn new(frames: usize, window: usize) -> Self {
        Self { frames, window, cached: Vec::new(), history: Vec::new() }
    }

    /// Takes a reference.
    pub fn reference(&mut self, page: Page) -> ModelStep {
        let outcome = if self.cached.contains(&page) {
            self.history.push((Done::Used, page));
            ModelOutcome::Hit
        } else {
            let mut walk = 0;
            if self.cached.len() == self.frames {
                let mut oldest_first = self.cached.clone();
                oldest_first.sort_by_key(|page| self.last(*page, &[Done::CameIn, Done::Used]));
                oldest_first.truncate(self.window);
                let clean = oldest_first.iter().position(|page| !self.is_dirty(*page));
                walk = clean.map_or(oldest_first.len(), |place| place + 1) as u32;
                let victim = oldest_first[clean.unwrap_or(0)];
                self.cached.retain(|page| *page != victim);
            }
            self.cached.push(page);
            self.history.push((Done::CameIn, page));
            ModelOutcome::Miss { walk, downgrades: 0 }
        };
        ModelStep::all_usable(outcome, self.cached.clone())
    }

    /// Notes a write to the page.
    pub fn written(&mut self, page: Page) {
        self.history.push((Done::Written, page));
    }

    /// Notes that the page was written back.
    pub fn cleaned(&mut self, page: Page) {
        self.history.push((Done::Cleaned, page));
    }

    /// Returns whether a cached page is dirty: whether its last arrival, write or cleaning was a
    /// write.
    fn is_dirty(&self, page: Page) -> bool {
        let last = self.last(page, &[Done::CameIn, Done::Written, Done::Cleaned]);
        last.is_some_and(|moment| self.history[moment].0 == Done::Written)
    }

    /// The moment of the last of some actions on the page.
    fn last(&self, page: Page, wanted: &[Done]) -> Option<usize> {
        self.history.iter().rposition(|(done, of)| *of == page && wanted.contains(done))
    }
}

/// Marsaglia's generator in arithmetic, without shifts.
pub fn generator(seed: u64) -> impl FnMut() -> u128 {
    const WORD: u128 = 1 << 32;
    let mut x = match seed {
        0 => 2_463_534_242,
        seed => u128::from(seed),
    };
    move || {
        x ^= x * 8_192 % WORD;
        x ^= x / 131_072;
        x ^= x * 32 % WORD;
        x
    }
}

pub fn random(frames: usize, parameters: &[u64]) -> Cache {
    let mut cached: Vec<Page> = Vec::new();
    let mut next = generator(parameters[0]);
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if cached.contains(&page) {
                break 'outcome ModelOutcome::Hit;
            }
            if cached.len() < frames {
                cached.push(page);
            } else {
                cached[(next() * frames as u128 / (1 << 32)) as usize] = page;
            }
            MISS
        };
        ModelStep::all_usable(outcome, cached.clone())
    })
}
