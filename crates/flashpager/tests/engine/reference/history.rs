//! Policies that remember more than the last reference of a page: LIRS and LRU-2.

use super::*;

/// LIRS. The stack has its oldest page first; a ghost is a page in it that is neither LIR nor
/// resident.
pub fn lirs(frames: usize, _: &[u64]) -> Cache {
    let (mut stack, mut lir, mut resident): (Vec<Page>, Vec<Page>, Vec<Page>) =
        (Vec::new(), Vec::new(), Vec::new());
    let most_lir = frames - if frames < 200 { 1 } else { frames / 100 };
    Box::new(move |page, _| {
        let outcome = {
            let in_stack = stack.contains(&page);
            let hit = lir.contains(&page) || resident.contains(&page);
            stack.retain(|known| *known != page);
            if !hit && lir.len() + resident.len() == frames {
                resident.remove(0);
                let is_ghost = |known: &Page| !lir.contains(known) && !resident.contains(known);
                let ghosts: Vec<Page> = stack.iter().copied().filter(is_ghost).collect();
                if ghosts.len() > 2 * frames {
                    stack.retain(|known| *known != ghosts[0]);
                }
            }
            stack.push(page);
            if !lir.contains(&page) {
                resident.retain(|known| *known != page);
                if in_stack {
                    lir.push(page);
                    let demoted = *stack.iter().find(|known| lir.contains(known)).unwrap();
                    stack.retain(|known| *known != demoted);
                    lir.retain(|known| *known != demoted);
                    resident.push(demoted);
                } else if !hit && lir.len() < most_lir {
                    lir.push(page);
                } else {
                    resident.push(page);
                }
            }
            while stack.first().is_some_and(|bottom| !lir.contains(bottom)) {
                stack.remove(0);
            }
            if hit { ModelOutcome::Hit } else { MISS }
        };
        let kind = |page: &Page| match (lir.contains(page), resident.contains(page)) {
            (true, _) => format!("{page}(LIR)"),
            (false, true) => format!("{page}(HIR)"),
            (false, false) => page.to_string(),
        };
        let kept = [written(stack.iter().map(kind)), written(&resident)];
        ModelStep::all_usable(outcome, [&lir[..], &resident[..]].concat()).keeping(kept)
    })
}

/// LRU-2. It keeps the times of the counted references of each cached page, and the time of the last
/// reference of each evicted page.
pub fn lru_2(frames: usize, _: &[u64]) -> Cache {
    let mut cached: Vec<(Page, Vec<usize>)> = Vec::new();
    let mut evicted: Vec<(Page, usize)> = Vec::new();
    let mut now = 0;
    Box::new(move |page, _| {
        now += 1;
        let outcome = 'outcome: {
            if let Some((_, times)) = cached.iter_mut().find(|(known, _)| *known == page) {
                times.push(now);
                break 'outcome ModelOutcome::Hit;
            }
            let mut times: Vec<usize> =
                evicted.iter().filter(|(ghost, _)| *ghost == page).map(|(_, last)| *last).collect();
            evicted.retain(|(ghost, _)| *ghost != page);
            times.push(now);
            let mut walk = 0;
            if cached.len() == frames {
                let longest_ago = |place: &usize| {
                    let mut newest_first = cached[*place].1.iter().rev();
                    let last = newest_first.next();
                    (newest_first.next(), last)
                };
                let place = (0..frames).min_by_key(longest_ago).unwrap();
                let (victim, victims_times) = cached.remove(place);
                evicted.push((victim, victims_times[victims_times.len() - 1]));
                walk = frames as u32;
            }
            if evicted.len() > frames {
                evicted.remove(0);
            }
            cached.push((page, times));
            ModelOutcome::Miss { walk, downgrades: 0 }
        };
        let numbers = |(page, times): &(Page, Vec<usize>)| {
            let last_but_one = if times.len() < 2 { 0 } else { times[times.len() - 2] };
            (last_but_one, times[times.len() - 1], *page)
        };
        let mut numbered: Vec<_> = cached.iter().map(numbers).collect();
        numbered.sort_unstable();
        let kept = [
            written(
                numbered.iter().map(|(before, last, page)| format!("{page}({before}, {last})")),
            ),
            written(evicted.iter().map(|(page, last)| format!("{page}({last})"))),
        ];
        let pages = cached.iter().map(|(page, _)| *page).collect();
        ModelStep::all_usable(outcome, pages).keeping(kept)
    })
}
