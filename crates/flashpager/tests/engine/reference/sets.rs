//! Caches in sets, after docs/model.md: each set is a cache by itself, for the pages with its p mod
//! sets.

use super::*;

/// A cache of `frames` frames in sets of `ways`.
pub fn in_sets(policy: &str, frames: usize, ways: usize) -> Cache {
    let sets = frames / ways;
    let set_of = move |page: Page| page as usize % sets;
    let mut caches: Vec<Cache> = match policy.strip_prefix("random(") {
        Some(seed) => random_sets(sets, ways, seed.trim_end_matches(')').parse().unwrap()),
        None => (0..sets).map(|_| cache_of(policy, ways)).collect(),
    };
    let mut last: Vec<(Vec<Page>, Vec<Page>)> = vec![(Vec::new(), Vec::new()); sets];
    Box::new(move |page, future| {
        let set = set_of(page);
        let own_future: Vec<Page> =
            future.iter().copied().filter(|page| set_of(*page) == set).collect();
        let ModelStep { outcome, cached, usable, .. } = caches[set](page, &own_future);
        last[set] = (cached, usable);
        let cached = last.iter().flat_map(|(cached, _)| cached.clone()).collect();
        let usable = last.iter().flat_map(|(_, usable)| usable.clone()).collect();
        ModelStep { outcome, cached, usable, kept: Vec::new() }
    })
}

/// Random in sets, with one generator for all sets.
fn random_sets(sets: usize, ways: usize, seed: u64) -> Vec<Cache> {
    let generator = Rc::new(RefCell::new(generator(seed)));
    let set = |_| -> Cache {
        let generator = Rc::clone(&generator);
        let mut cached: Vec<Page> = Vec::new();
        Box::new(move |page, _| {
            let outcome = if cached.contains(&page) {
                ModelOutcome::Hit
            } else if cached.len() < ways {
                cached.push(page);
                MISS
            } else {
                let x = (generator.borrow_mut())();
                cached[(x * ways as u128 / (1 << 32)) as usize] = page;
                MISS
            };
            ModelStep::all_usable(outcome, cached.clone())
        })
    };
    (0..sets).map(set).collect()
}

/// Tree-PLRU with the bits by their path: a node is given by the halves taken from the root.
pub fn plru(frames: usize, _: &[u64]) -> Cache {
    let mut ways: Vec<Option<Page>> = vec![None; frames];
    // By path of left (false) and right (true), the direction of the bit.
    let mut bits: BTreeMap<Vec<bool>, bool> = BTreeMap::new();
    let levels = frames.ilog2();
    let path_of = move |way: usize| -> Vec<bool> {
        (0..levels).rev().map(|level| way / 2_usize.pow(level) % 2 == 1).collect()
    };
    Box::new(move |page, _| {
        let there = ways.iter().position(|known| *known == Some(page));
        let free = ways.iter().position(Option::is_none);
        let way = there.or(free).unwrap_or_else(|| {
            let mut path = Vec::new();
            while path.len() < levels as usize {
                let right = bits.get(&path).copied().unwrap_or(false);
                path.push(right);
            }
            (0..frames).find(|way| path_of(*way) == path).unwrap()
        });
        ways[way] = Some(page);
        let path = path_of(way);
        for length in 0..path.len() {
            bits.insert(path[..length].to_vec(), !path[length]);
        }
        let outcome = if there.is_some() { ModelOutcome::Hit } else { MISS };
        ModelStep::all_usable(outcome, ways.iter().flatten().copied().collect())
    })
}
