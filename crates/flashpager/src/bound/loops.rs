//! The loops of a function, each inside of another one or of none.
//!
//! A loop is a set of blocks each of which leads to each other one. Its heads are the blocks at which
//! it is entered; without them, its rest holds the loops inside of it. So a loop with several entries
//! is one, too.

use flashpager_reach::{Exit, Function, Resumption};

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The blocks at which it is entered.
    pub heads: Vec<usize>,
    /// True for each block of the function that is in it.
    pub contains: Vec<bool>,
    /// The loop around it.
    pub parent: Option<usize>,
}

/// The loops of a function. Each one stands behind the loop around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loops {
    pub all: Vec<Loop>,
    /// The innermost loop of each block.
    pub innermost: Vec<Option<usize>>,
}

impl Loops {
    /// Finds the loops of a function. The execution of a callee is a part of the step behind its call.
    pub fn of(function: &Function) -> Self {
        let next: Vec<Vec<usize>> =
            function.blocks.iter().map(|block| behind(&block.exits)).collect();
        let count = next.len();
        let mut found = Self { all: Vec::new(), innermost: vec![None; count] };
        let mut waiting: Vec<(Vec<bool>, Option<usize>)> = vec![(vec![true; count], None)];
        while let Some((inside, parent)) = waiting.pop() {
            for component in components(&next, &inside) {
                let is_loop = component.len() > 1 || next[component[0]].contains(&component[0]);
                if !is_loop {
                    continue;
                }
                let mut contains = vec![false; count];
                for block in &component {
                    contains[*block] = true;
                }
                let mut heads: Vec<usize> = (0..count)
                    .filter(|block| !contains[*block])
                    .flat_map(|block| next[block].iter().copied())
                    .chain([0])
                    .filter(|block| contains[*block])
                    .collect();
                heads.sort_unstable();
                heads.dedup();
                let number = found.all.len();
                for block in component {
                    found.innermost[block] = Some(number);
                }
                let mut rest = contains.clone();
                for head in &heads {
                    rest[*head] = false;
                }
                found.all.push(Loop { heads, contains, parent });
                waiting.push((rest, Some(number)));
            }
        }
        found
    }
}

/// The blocks of a function that are executed next in it.
fn behind(exits: &[Exit]) -> Vec<usize> {
    let next = exits.iter().filter_map(|exit| match exit {
        Exit::Block(block) | Exit::Call(_, Resumption::Block(block)) => Some(*block),
        _ => None,
    });
    next.collect()
}

/// The strongly connected components of the blocks that are inside.
fn components(next: &[Vec<usize>], inside: &[bool]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); next.len()];
    for (block, others) in next.iter().enumerate().filter(|(block, _)| inside[*block]) {
        for other in others.iter().filter(|other| inside[**other]) {
            before[*other].push(block);
        }
    }
    let mut order = Vec::new();
    let mut seen: Vec<bool> = inside.iter().map(|inside| !inside).collect();
    for start in 0..next.len() {
        finish(next, start, &mut seen, &mut order);
    }
    let mut seen: Vec<bool> = inside.iter().map(|inside| !inside).collect();
    let mut found = Vec::new();
    for start in order.into_iter().rev() {
        let mut component = Vec::new();
        finish(&before, start, &mut seen, &mut component);
        if !component.is_empty() {
            found.push(component);
        }
    }
    found
}

/// Adds the blocks that `start` leads to and that were not seen, in the order in which a search in
/// depth leaves them.
fn finish(next: &[Vec<usize>], start: usize, seen: &mut [bool], order: &mut Vec<usize>) {
    if seen[start] {
        return;
    }
    seen[start] = true;
    let mut open = vec![(start, 0)];
    while let Some((block, at)) = open.last_mut() {
        match next[*block].get(*at) {
            None => {
                order.push(*block);
                open.pop();
            }
            Some(other) => {
                *at += 1;
                if !seen[*other] {
                    seen[*other] = true;
                    open.push((*other, 0));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flashpager_reach::Block;

    use super::*;

    fn function(next: &[&[usize]]) -> Function {
        let block = |next: &&[usize]| Block {
            start: 0,
            end: 2,
            is_in_ram: false,
            exits: next.iter().map(|block| Exit::Block(*block)).collect(),
        };
        let blocks = next.iter().map(block).collect();
        Function { name: "f".into(), address: 0, blocks }
    }

    #[test]
    fn loops_are_nested() {
        // 0 -> 1 -> 2 -> 2 or 3 -> 1 or 4
        let loops = Loops::of(&function(&[&[1], &[2], &[2, 3], &[1, 4], &[]]));
        assert_eq!(loops.all.len(), 2);
        assert_eq!(loops.all[0].heads, [1]);
        assert_eq!(loops.all[1].heads, [2]);
        assert_eq!(loops.all[1].parent, Some(0));
        assert_eq!(loops.innermost, [None, Some(0), Some(1), Some(0), None]);
    }

    #[test]
    fn a_loop_may_have_two_entries() {
        let loops = Loops::of(&function(&[&[1, 2], &[2], &[1, 3], &[]]));
        assert_eq!(loops.all.len(), 1);
        assert_eq!(loops.all[0].heads, [1, 2]);
    }

    #[test]
    fn the_first_block_may_be_a_head() {
        let loops = Loops::of(&function(&[&[1], &[0, 2], &[]]));
        assert_eq!(loops.all[0].heads, [0]);
        assert!(Loops::of(&function(&[&[1], &[2], &[]])).all.is_empty());
    }
}
