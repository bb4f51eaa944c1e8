//! Two FIFO lists, one of them marked invalid.

use super::*;

pub fn fifo_sc(frames: usize, parameters: &[u64]) -> Cache {
    two_lists(frames, parameters[0] as usize, true)
}

pub fn pa_fifo_sc(frames: usize, parameters: &[u64]) -> Cache {
    two_lists(frames, parameters[0] as usize, false)
}

/// FIFO with second chance, with the heads of the lists first. A false fault moves pages down
/// `at_once`, or leaves that to the next true fault.
fn two_lists(frames: usize, most_valid: usize, at_once: bool) -> Cache {
    assert!(1 <= most_valid && most_valid < frames);
    let mut valid: Vec<Page> = Vec::new();
    let mut invalid: Vec<Page> = Vec::new();
    let mut seen: Vec<Page> = Vec::new();
    let move_down = move |valid: &mut Vec<Page>, invalid: &mut Vec<Page>| {
        let mut downgrades = 0;
        while valid.len() > most_valid {
            invalid.push(valid.remove(0));
            downgrades += 1;
        }
        downgrades
    };
    Box::new(move |page, _| {
        let outcome = if valid.contains(&page) {
            ModelOutcome::Hit
        } else if invalid.contains(&page) {
            invalid.retain(|known| *known != page);
            valid.push(page);
            let downgrades = if at_once { move_down(&mut valid, &mut invalid) } else { 0 };
            ModelOutcome::FalseFault { downgrades }
        } else {
            let mut downgrades = move_down(&mut valid, &mut invalid);
            if valid.len() + invalid.len() == frames {
                invalid.remove(0);
            }
            valid.push(page);
            downgrades += move_down(&mut valid, &mut invalid);
            ModelOutcome::Miss { walk: 0, downgrades }
        };
        if !seen.contains(&page) {
            seen.push(page);
        }
        // No frame is lost, and no page is in two.
        assert_eq!(valid.len() + invalid.len(), frames.min(seen.len()));
        assert!(valid.iter().all(|page| !invalid.contains(page)));
        ModelStep {
            outcome,
            cached: [&valid[..], &invalid[..]].concat(),
            usable: valid.clone(),
            kept: Vec::new(),
        }
    })
}
