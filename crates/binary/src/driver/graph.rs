//! The control flow graph of a function, and its loops.

use rustc_hash::FxHashMap;

use super::instruction::{Flow, Instruction};

/// Largest number of blocks. A function with more is no driver, and would take long.
const MAX_BLOCKS: usize = 8192;
/// Largest number of loops.
const MAX_LOOPS: usize = 256;

/// A basic block: instructions that are executed one after another.
pub struct BasicBlock {
    /// Indices of the instructions.
    pub instructions: Vec<usize>,
    /// Blocks that can follow it.
    pub next: Vec<usize>,
    /// Blocks that it can follow.
    pub before: Vec<usize>,
}

/// A natural loop, with all back edges to one header.
pub struct Loop {
    /// The block through which the loop is entered.
    pub header: usize,
    /// Tells for each block whether it belongs to the loop.
    pub holds: Vec<bool>,
    /// The blocks of the loop, in execution order.
    pub blocks: Vec<usize>,
    /// The blocks that jump back to the header.
    pub latches: Vec<usize>,
}

/// The control flow graph of a function. A block has a higher number than the blocks that lead to
/// it, except for edges that go back.
pub struct Graph {
    pub blocks: Vec<BasicBlock>,
    pub loops: Vec<Loop>,
    /// The block of each instruction.
    pub block_of: Vec<usize>,
}

impl Graph {
    /// Makes the graph of `instructions`, which are sorted by address. `None` if there are too many
    /// branches or loops.
    pub fn of(instructions: &[Instruction], entry: u64) -> Option<Self> {
        let index: FxHashMap<u64, usize> =
            instructions.iter().enumerate().map(|(at, made)| (made.address, at)).collect();
        let raw = raw_blocks(instructions, &index, entry);
        if raw.len() > MAX_BLOCKS {
            return None;
        }
        let blocks = ordered(raw);
        let mut block_of = vec![0; instructions.len()];
        for (number, block) in blocks.iter().enumerate() {
            for instruction in &block.instructions {
                block_of[*instruction] = number;
            }
        }
        let mut graph = Self { blocks, loops: Vec::new(), block_of };
        graph.loops = graph.find_loops()?;
        Some(graph)
    }

    /// Returns true if the edge goes back.
    pub fn goes_back(from: usize, to: usize) -> bool {
        to <= from
    }

    fn find_loops(&self) -> Option<Vec<Loop>> {
        let dominators = self.dominators();
        let mut loops = Vec::new();
        for header in 0..self.blocks.len() {
            let latches: Vec<usize> = self.blocks[header]
                .before
                .iter()
                .copied()
                .filter(|from| Self::goes_back(*from, header))
                .filter(|from| dominates(&dominators, header, *from))
                .collect();
            if latches.is_empty() {
                continue;
            }
            if loops.len() >= MAX_LOOPS {
                return None;
            }
            let mut holds = vec![false; self.blocks.len()];
            holds[header] = true;
            let mut open = latches.clone();
            while let Some(block) = open.pop() {
                if !std::mem::replace(&mut holds[block], true) {
                    open.extend(&self.blocks[block].before);
                }
            }
            let blocks = (0..holds.len()).filter(|block| holds[*block]).collect();
            loops.push(Loop { header, holds, blocks, latches });
        }
        Some(loops)
    }

    /// Returns the immediate dominator of each block (Cooper, Harvey and Kennedy). It is `None` for the
    /// entry of the function and for code that only a table leads to.
    fn dominators(&self) -> Vec<Option<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Idom {
            Unknown,
            Root,
            Block(usize),
        }
        let mut idom = vec![Idom::Unknown; self.blocks.len()];
        let meet = |idom: &[Idom], mut a: usize, mut b: usize| loop {
            if a == b {
                return Idom::Block(a);
            }
            let later = a.max(b);
            match idom[later] {
                Idom::Block(up) if later == a => a = up,
                Idom::Block(up) => b = up,
                _ => return Idom::Root,
            }
        };
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..self.blocks.len() {
                let before = &self.blocks[block].before;
                let starts = !before.iter().any(|from| *from < block);
                let mut new = if starts { Idom::Root } else { Idom::Unknown };
                if !starts {
                    for from in before {
                        if idom[*from] == Idom::Unknown {
                            continue;
                        }
                        new = match new {
                            Idom::Unknown => Idom::Block(*from),
                            Idom::Block(other) => meet(&idom, other, *from),
                            Idom::Root => Idom::Root,
                        };
                    }
                }
                if idom[block] != new {
                    idom[block] = new;
                    changed = true;
                }
            }
        }
        idom.into_iter()
            .map(|idom| if let Idom::Block(block) = idom { Some(block) } else { None })
            .collect()
    }
}

fn dominates(dominators: &[Option<usize>], above: usize, below: usize) -> bool {
    let mut at = Some(below);
    while let Some(block) = at {
        if block == above {
            return true;
        }
        at = dominators[block].filter(|up| *up < block);
    }
    false
}

/// Cuts the instructions into blocks, the first of which is the entry of the function.
fn raw_blocks(
    instructions: &[Instruction],
    index: &FxHashMap<u64, usize>,
    entry: u64,
) -> Vec<BasicBlock> {
    let leads = leaders(instructions, index, entry);
    let starts: Vec<usize> = (0..leads.len()).filter(|at| leads[*at]).collect();
    let number: FxHashMap<usize, usize> =
        starts.iter().enumerate().map(|(number, start)| (*start, number)).collect();
    let block_at = |address: u64| index.get(&address).and_then(|at| number.get(at)).copied();
    let mut taken = vec![false; instructions.len()];
    let mut blocks = Vec::with_capacity(starts.len());
    for start in &starts {
        let mut inside = vec![*start];
        taken[*start] = true;
        let mut last = *start;
        // The address behind a block that the next block cuts.
        let next = loop {
            let made = &instructions[last];
            if !matches!(made.flow, Flow::Next | Flow::Call(_)) || made.repeated {
                break None;
            }
            match index.get(&made.end()) {
                Some(at) if !leads[*at] && !taken[*at] => {
                    taken[*at] = true;
                    inside.push(*at);
                    last = *at;
                }
                _ => break Some(made.end()),
            }
        };
        let mut next: Vec<usize> =
            successors(&instructions[last], next).into_iter().filter_map(block_at).collect();
        next.dedup();
        blocks.push(BasicBlock { instructions: inside, next, before: Vec::new() });
    }
    if let Some(first) = block_at(entry) {
        swap_to_front(&mut blocks, first);
    }
    blocks
}

/// Tells for each instruction whether a block begins with it.
fn leaders(instructions: &[Instruction], index: &FxHashMap<u64, usize>, entry: u64) -> Vec<bool> {
    let mut leads = vec![false; instructions.len()];
    let mut lead = |address: u64| {
        if let Some(at) = index.get(&address) {
            leads[*at] = true;
        }
    };
    lead(entry);
    for made in instructions {
        match made.flow {
            Flow::Next | Flow::Call(_) => {}
            Flow::Jump(Some(target)) => lead(target),
            Flow::Branch(target) => {
                lead(target);
                lead(made.end());
            }
            Flow::Jump(None) | Flow::Return => {}
        }
        if made.repeated {
            lead(made.address);
            lead(made.end());
        }
    }
    // A block also begins where no instruction before leads.
    let mut is_entered = vec![false; instructions.len()];
    for made in instructions {
        if matches!(made.flow, Flow::Next | Flow::Call(_) | Flow::Branch(_))
            && let Some(at) = index.get(&made.end())
        {
            is_entered[*at] = true;
        }
    }
    for (leads, is_entered) in leads.iter_mut().zip(&is_entered) {
        *leads |= !is_entered;
    }
    leads
}

/// Returns the addresses that can follow the last instruction of a block. `next` is the address
/// behind a block that ends only because the next one begins.
fn successors(last: &Instruction, next: Option<u64>) -> Vec<u64> {
    match (last.flow, next) {
        (_, Some(next)) => vec![next],
        (Flow::Jump(Some(target)), _) => vec![target],
        (Flow::Branch(target), _) => vec![target, last.end()],
        (Flow::Next, _) if last.repeated => vec![last.address, last.end()],
        _ => Vec::new(),
    }
}

/// Exchanges the block `first` with block 0.
fn swap_to_front(blocks: &mut [BasicBlock], first: usize) {
    blocks.swap(0, first);
    for block in blocks {
        for next in &mut block.next {
            *next = match *next {
                0 => first,
                other if other == first => 0,
                other => other,
            };
        }
    }
}

/// Sorts the blocks in reverse postorder, and adds the edges backwards.
fn ordered(mut raw: Vec<BasicBlock>) -> Vec<BasicBlock> {
    let mut postorder = Vec::with_capacity(raw.len());
    let mut seen = vec![false; raw.len()];
    let mut is_target = vec![false; raw.len()];
    for block in &raw {
        for next in &block.next {
            is_target[*next] = true;
        }
    }
    // Blocks that no block leads to come first, then those that only lead to themselves.
    let mut roots: Vec<usize> = vec![0];
    roots.extend((1..raw.len()).filter(|block| !is_target[*block]));
    roots.extend(1..raw.len());
    for root in roots {
        if root >= raw.len() || std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut open = vec![(root, 0)];
        while let Some((block, way)) = open.pop() {
            match raw[block].next.get(way) {
                Some(next) => {
                    open.push((block, way + 1));
                    if !std::mem::replace(&mut seen[*next], true) {
                        open.push((*next, 0));
                    }
                }
                None => postorder.push(block),
            }
        }
    }
    postorder.reverse();
    let mut number = vec![0; raw.len()];
    for (new, old) in postorder.iter().enumerate() {
        number[*old] = new;
    }
    let mut blocks: Vec<BasicBlock> = postorder
        .iter()
        .map(|old| {
            let block = std::mem::replace(
                &mut raw[*old],
                BasicBlock { instructions: Vec::new(), next: Vec::new(), before: Vec::new() },
            );
            let next = block.next.iter().map(|next| number[*next]).collect();
            BasicBlock { instructions: block.instructions, next, before: Vec::new() }
        })
        .collect();
    for from in 0..blocks.len() {
        for next in blocks[from].next.clone() {
            blocks[next].before.push(from);
        }
    }
    blocks
}
