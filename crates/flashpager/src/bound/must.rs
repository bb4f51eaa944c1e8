//! The must analysis of a set: references that hit whenever they are executed.
//!
//! A line has an age before a node, at most as many as other lines of its set that were referenced
//! since it was, on each path to the node. Lines whose age is below the number of ways are in the
//! cache.

use super::unfold::Unfolded;

/// Lines that are in the cache for certain, each with its largest age.
type Ages = Vec<(u32, u32)>;

/// Takes a reference to a line; returns true if it hits for certain.
fn refer(ages: &mut Ages, line: u32, ways: u32) -> bool {
    let place = ages.iter().position(|(held, _)| *held == line);
    let before = place.map_or(ways, |place| ages[place].1);
    for (_, age) in ages.iter_mut() {
        if *age < before {
            *age += 1;
        }
    }
    match place {
        Some(place) => ages[place].1 = 0,
        None => ages.push((line, 0)),
    }
    ages.retain(|(_, age)| *age < ways);
    place.is_some()
}

/// Lines that are held in both, with the larger of their ages.
fn joined(one: &Ages, other: &Ages) -> Ages {
    let held = one.iter().filter_map(|(line, age)| {
        let (_, same) = other.iter().find(|(also, _)| also == line)?;
        Some((*line, *age.max(same)))
    });
    held.collect()
}

/// The references of a set that hit whenever they are executed: for each node, true for each of its
/// references. `lines` are the references of each node to lines of the set.
///
/// The cache is unknown at the start.
pub fn hits(
    graph: &Unfolded,
    ways: u32,
    lines: &[Vec<u32>],
    next: &[Vec<usize>],
) -> Vec<Vec<bool>> {
    let mut before: Vec<Option<Ages>> = vec![None; graph.nodes.len()];
    before[0] = Some(Ages::new());
    let mut waiting = vec![0];
    let mut is_waiting = vec![false; graph.nodes.len()];
    while let Some(node) = waiting.pop() {
        is_waiting[node] = false;
        let Some(mut ages) = before[node].clone() else { continue };
        for line in &lines[node] {
            refer(&mut ages, *line, ways);
        }
        for behind in next[node].iter().copied() {
            let new = match &before[behind] {
                None => ages.clone(),
                Some(old) => joined(old, &ages),
            };
            if before[behind].as_ref() != Some(&new) {
                before[behind] = Some(new);
                if !std::mem::replace(&mut is_waiting[behind], true) {
                    waiting.push(behind);
                }
            }
        }
    }
    let classified = lines.iter().zip(before).map(|(lines, ages)| {
        let Some(mut ages) = ages else { return vec![false; lines.len()] };
        lines.iter().map(|line| refer(&mut ages, *line, ways)).collect()
    });
    classified.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ages_by_others() {
        let mut ages = Ages::new();
        let taken: Vec<bool> =
            [1, 2, 1, 3, 2, 1].map(|line| refer(&mut ages, line, 2)).into_iter().collect();
        assert_eq!(taken, [false, false, true, false, false, false]);
    }

    #[test]
    fn what_one_path_lacks_is_not_known() {
        let (one, other) = (vec![(1, 0), (2, 1)], vec![(2, 0), (3, 1)]);
        assert_eq!(joined(&one, &other), [(2, 1)]);
    }
}
