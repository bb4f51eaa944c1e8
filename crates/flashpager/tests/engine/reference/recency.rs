//! Policies by the order of use or arrival: LRU, FIFO and MIN.

use super::*;

/// LRU: a hit is a page among the last `frames` distinct ones.
pub fn lru(frames: usize, _: &[u64]) -> Cache {
    let mut history: Vec<Page> = Vec::new();
    Box::new(move |page, _| {
        let mut latest = Vec::new();
        for earlier in history.iter().rev() {
            if latest.len() == frames {
                break;
            }
            if !latest.contains(earlier) {
                latest.push(*earlier);
            }
        }
        history.push(page);
        let outcome = if latest.contains(&page) { ModelOutcome::Hit } else { MISS };
        latest.retain(|known| *known != page);
        latest.insert(0, page);
        latest.truncate(frames);
        ModelStep::all_usable(outcome, latest)
    })
}

/// FIFO: a hit is a page among the last `frames` that missed.
pub fn fifo(frames: usize, _: &[u64]) -> Cache {
    let mut missed: Vec<Page> = Vec::new();
    Box::new(move |page, _| {
        let hit = missed.iter().rev().take(frames).any(|cached| *cached == page);
        if !hit {
            missed.push(page);
        }
        let cached = missed.iter().rev().take(frames).copied().collect();
        ModelStep::all_usable(if hit { ModelOutcome::Hit } else { MISS }, cached)
    })
}

/// MIN: the victim is the page whose next reference is farthest, found by a search.
pub fn min(frames: usize, _: &[u64]) -> Cache {
    let mut cached: Vec<Page> = Vec::new();
    Box::new(move |page, future| {
        let outcome = 'outcome: {
            if cached.contains(&page) {
                break 'outcome ModelOutcome::Hit;
            }
            if cached.len() == frames {
                let next_use = |page: Page| {
                    future.iter().position(|later| *later == page).unwrap_or(usize::MAX)
                };
                let victim = *cached.iter().max_by_key(|page| (next_use(**page), **page)).unwrap();
                cached.retain(|page| *page != victim);
            }
            cached.push(page);
            MISS
        };
        ModelStep::all_usable(outcome, cached.clone())
    })
}
