//! Policies with reuse classes, whose classes are a function of the page: (fill, use).

use super::*;

/// The reuse classes of a page: of a fill and of a use.
pub type ClassesOf = Box<dyn Fn(Page) -> (usize, usize)>;

pub fn lru_array(frames: usize, _: &[u64]) -> Cache {
    lru_array_with(frames, Box::new(|_| (3, 3)))
}

pub fn gclock(frames: usize, _: &[u64]) -> Cache {
    gclock_with(frames, Box::new(|_| (1, 1)))
}

/// An array of frames as a list of what they hold; an empty frame holds nothing. A frame that is
/// filled or used leaves the list and is inserted at its place.
pub fn lru_array_with(frames: usize, classes: ClassesOf) -> Cache {
    let place = move |class: usize| std::cmp::min(frames - 1, (class * (frames - 1) + 1) / 3);
    let mut array: Vec<Option<Page>> = vec![None; frames];
    Box::new(move |page, _| {
        let (fill, used) = classes(page);
        let (outcome, class) = if let Some(at) = array.iter().position(|it| *it == Some(page)) {
            array.remove(at);
            (ModelOutcome::Hit, used)
        } else {
            let first_empty = array.iter().position(|it| it.is_none());
            array.remove(first_empty.unwrap_or(0));
            (MISS, fill)
        };
        array.insert(place(class), Some(page));
        ModelStep::all_usable(outcome, array.iter().flatten().copied().collect())
    })
}

/// A queue of pages with counts. The first stands under the hand; a page that the hand passes goes
/// to the end, and so does a page that comes in.
pub fn gclock_with(frames: usize, classes: ClassesOf) -> Cache {
    let mut queue: Vec<(Page, usize)> = Vec::new();
    Box::new(move |page, _| {
        let (fill, used) = classes(page);
        let outcome = if let Some(held) = queue.iter_mut().find(|(held, _)| *held == page) {
            held.1 = std::cmp::max(held.1, used);
            ModelOutcome::Hit
        } else {
            let mut walk = 0;
            while queue.len() == frames {
                walk += 1;
                let (under_hand, count) = queue.remove(0);
                if count > 0 {
                    queue.push((under_hand, count - 1));
                }
            }
            queue.push((page, fill));
            ModelOutcome::Miss { walk, downgrades: 0 }
        };
        let cached = queue.iter().map(|(page, _)| *page).collect();
        let enough = |(page, count): &&(Page, usize)| *count >= classes(*page).1;
        let usable = queue.iter().filter(enough).map(|(page, _)| *page).collect();
        ModelStep { outcome, cached, usable, kept: Vec::new() }
    })
}
