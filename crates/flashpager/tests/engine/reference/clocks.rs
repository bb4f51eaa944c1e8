//! Policies with a hand over a ring of frames: Clock, PA-Clock and SIEVE.

use super::*;

/// A frame of a ring: its page and its reference bit.
type Frame = (Page, bool);

/// Sets the bit of a cached page. Returns the outcome, or `None` if the page is not cached.
fn touch(ring: &mut [Frame], page: Page) -> Option<ModelOutcome> {
    let frame = ring.iter_mut().find(|(cached, _)| *cached == page)?;
    let was_set = std::mem::replace(&mut frame.1, true);
    Some(if was_set { ModelOutcome::Hit } else { ModelOutcome::BitSet })
}

/// The pages whose bit is set.
fn with_bit(ring: &[Frame]) -> Vec<Page> {
    ring.iter().filter(|(_, bit)| *bit).map(|(page, _)| *page).collect()
}

fn pages_of(ring: &[Frame]) -> Vec<Page> {
    ring.iter().map(|(page, _)| *page).collect()
}

pub fn clock(frames: usize, _: &[u64]) -> Cache {
    let mut ring: Vec<Frame> = Vec::new();
    let mut hand = 0;
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if let Some(outcome) = touch(&mut ring, page) {
                break 'outcome outcome;
            }
            let mut walk = 0;
            if ring.len() < frames {
                ring.push((page, true));
            } else {
                loop {
                    walk += 1;
                    let here = hand;
                    hand = (hand + 1) % frames;
                    if !ring[here].1 {
                        ring[here] = (page, true);
                        break;
                    }
                    ring[here].1 = false;
                }
            }
            ModelOutcome::Miss { walk, downgrades: 0 }
        };
        ModelStep { outcome, cached: pages_of(&ring), usable: with_bit(&ring), kept: Vec::new() }
    })
}

/// PA-Clock. The victim is the first examined frame whose bit is clear, or else the last one within
/// the budget.
pub fn pa_clock(frames: usize, parameters: &[u64]) -> Cache {
    let budget = parameters[0];
    let mut ring: Vec<Frame> = Vec::new();
    let mut hand = 0;
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if let Some(outcome) = touch(&mut ring, page) {
                break 'outcome outcome;
            }
            if ring.len() < frames {
                ring.push((page, true));
                break 'outcome MISS;
            }
            for looked_at in 1..=budget {
                let place = (hand + looked_at as usize - 1) % frames;
                if looked_at < budget && ring[place].1 {
                    ring[place].1 = false;
                    continue;
                }
                ring[place] = (page, true);
                hand = (place + 1) % frames;
                break 'outcome ModelOutcome::Miss { walk: looked_at as u32, downgrades: 0 };
            }
            panic!("a budget of {budget}")
        };
        ModelStep { outcome, cached: pages_of(&ring), usable: with_bit(&ring), kept: Vec::new() }
    })
}

/// SIEVE over the pages by age, the oldest first, with the hand as an index.
pub fn sieve(frames: usize, _: &[u64]) -> Cache {
    let mut cached: Vec<Frame> = Vec::new();
    let mut hand = 0;
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if let Some(here) = cached.iter().position(|(known, _)| *known == page) {
                cached[here].1 = true;
                break 'outcome ModelOutcome::Hit;
            }
            let mut walk = 0;
            if cached.len() == frames {
                walk = 1;
                while cached[hand].1 {
                    cached[hand].1 = false;
                    hand = (hand + 1) % frames;
                    walk += 1;
                }
                cached.remove(hand);
                if hand == cached.len() {
                    hand = 0;
                }
            }
            cached.push((page, false));
            ModelOutcome::Miss { walk, downgrades: 0 }
        };
        ModelStep {
            outcome,
            cached: pages_of(&cached),
            usable: with_bit(&cached),
            kept: Vec::new(),
        }
    })
}
