//! The references of a graph to lines of a cache in sets, and which of them may miss.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::must::hits;
use super::paths::{Misses, Persistent};
use super::unfold::Unfolded;

/// A cache in sets with LRU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    pub line_bytes: u32,
    pub sets: u32,
    pub ways: u32,
}

impl CacheShape {
    /// The set of a line.
    pub fn set_of(self, line: u32) -> u32 {
        line % self.sets
    }
}

/// A set to which more lines belong than it has ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullSet {
    pub set: u32,
    pub lines: Vec<u32>,
}

/// References of a graph.
pub struct References<'a> {
    pub graph: &'a Unfolded,
    pub shape: CacheShape,
    /// Lines that each node refers to, in their order.
    pub lines: Vec<Vec<u32>>,
}

impl References<'_> {
    /// The sets to which the whole call refers with more lines than they have ways.
    pub fn full_sets(&self) -> Vec<FullSet> {
        let mut sets: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for line in self.all_lines() {
            sets.entry(self.shape.set_of(line)).or_default().push(line);
        }
        let full = sets.into_iter().filter(|(_, lines)| lines.len() > self.shape.ways as usize);
        let mut full: Vec<FullSet> = full.map(|(set, lines)| FullSet { set, lines }).collect();
        full.sort_by_key(|each| each.set);
        full
    }

    /// All lines, ascending.
    pub fn all_lines(&self) -> Vec<u32> {
        let mut lines: Vec<u32> = self.lines.iter().flatten().copied().collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Finds the references that may miss.
    pub fn misses(&self) -> Misses {
        let certain = self.certain_hits();
        let persistent = self.persistent_scopes();
        let mut groups: FxHashMap<(usize, u32), Vec<usize>> = FxHashMap::default();
        let mut misses = Misses { each_time: vec![0; self.lines.len()], ..Misses::default() };
        for (node, lines) in self.lines.iter().enumerate() {
            for line in lines.iter().filter(|line| !certain.contains(&(node, **line))) {
                match self.outermost(node, *line, &persistent) {
                    Some(scope) => groups.entry((scope, *line)).or_default().push(node),
                    None => misses.each_time[node] += 1,
                }
            }
        }
        for ((scope, _), nodes) in groups {
            *misses.persistent.entry(Persistent { scope, nodes }).or_default() += 1;
        }
        misses
    }

    /// References, as nodes and lines, that hit whenever they are executed. Only full sets are
    /// analysed: a line of another one misses once.
    fn certain_hits(&self) -> FxHashSet<(usize, u32)> {
        let mut next = vec![Vec::new(); self.lines.len()];
        for (from, to) in &self.graph.steps {
            next[*from].push(*to);
        }
        let of_set = |full: &FullSet| {
            let mut own = vec![Vec::new(); self.lines.len()];
            for (node, lines) in self.lines.iter().enumerate() {
                let inside = lines.iter().filter(|line| self.shape.set_of(**line) == full.set);
                own[node].extend(inside);
            }
            let certain = hits(self.graph, self.shape.ways, &own, &next);
            let pairs = own.iter().zip(certain).enumerate().flat_map(|(node, (lines, certain))| {
                let hit = lines.iter().zip(certain).filter(|(_, is_certain)| *is_certain);
                hit.map(move |(line, _)| (node, *line)).collect::<Vec<_>>()
            });
            pairs.collect::<Vec<_>>()
        };
        self.full_sets().par_iter().flat_map_iter(of_set).collect::<Vec<_>>().into_iter().collect()
    }

    /// For each scope, the sets that it refers to with at most as many lines as they have ways.
    fn persistent_scopes(&self) -> Vec<FxHashSet<u32>> {
        let count = self.graph.scopes.len();
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (node, lines) in self.graph.nodes.iter().zip(&self.lines) {
            for scope in self.graph.around(node.scope) {
                inside[scope].extend(lines);
                if self.graph.scopes[scope].number.is_none() {
                    break;
                }
            }
        }
        // Callees come first, so that their lines are complete when their callers take them.
        for scope in self.callees_first() {
            let mut lines = std::mem::take(&mut inside[scope]);
            for callee in &self.graph.scopes[scope].callees {
                lines.extend(&inside[*callee]);
            }
            lines.sort_unstable();
            lines.dedup();
            inside[scope] = lines;
        }
        let fitting = inside.into_iter().map(|lines| {
            let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
            for line in lines {
                *counts.entry(self.shape.set_of(line)).or_default() += 1;
            }
            let few = counts.into_iter().filter(|(_, count)| *count <= self.shape.ways);
            few.map(|(set, _)| set).collect()
        });
        fitting.collect()
    }

    /// All scopes, each behind the scopes of functions that are called in it.
    fn callees_first(&self) -> Vec<usize> {
        let scopes = &self.graph.scopes;
        let mut is_done = vec![false; scopes.len()];
        let mut order = Vec::new();
        for start in 0..scopes.len() {
            let mut open = vec![start];
            while let Some(scope) = open.last().copied() {
                if is_done[scope] {
                    open.pop();
                    continue;
                }
                let before = open.len();
                open.extend(scopes[scope].callees.iter().filter(|callee| !is_done[**callee]));
                if open.len() == before {
                    is_done[scope] = true;
                    order.push(scope);
                    open.pop();
                }
            }
        }
        order
    }

    /// The outermost scope in which a line that a node refers to stays once it was loaded.
    fn outermost(&self, node: usize, line: u32, persistent: &[FxHashSet<u32>]) -> Option<usize> {
        let set = self.shape.set_of(line);
        let around = self.graph.around(self.graph.nodes[node].scope);
        around.take_while(|scope| persistent[*scope].contains(&set)).last()
    }
}
