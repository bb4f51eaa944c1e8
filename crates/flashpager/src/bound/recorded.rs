//! The recorded calls of a function, followed through its code graph: how often their loops run, and
//! the misses of each from an empty cache.

use std::collections::BTreeMap;

use flashpager_base::Result;
use flashpager_reach::{CodeGraph, Exit, Resumption};
use flashpager_trace::{Run, Trace, for_runs};
use rustc_hash::FxHashMap;

use super::cached::CacheShape;
use super::loops::Loops;

/// A loop by the addresses of its heads: one that is in several copies of a function is one.
pub type LoopKey = Vec<u64>;

/// The most that the recorded calls did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedCalls {
    /// Calls that were followed to their end.
    pub calls: u64,
    /// Calls that were not followed to their end.
    pub unfollowed_calls: u64,
    /// The first place at which a call was left: the offset of the block, and that of the run.
    pub left_at: Option<(u32, u32)>,
    /// Most misses of a call from an empty cache.
    pub most_misses: u64,
    /// Most executions of a loop's heads for each entry.
    pub each_entry: BTreeMap<LoopKey, u64>,
    /// Most executions of a loop's heads in a call.
    pub in_call: BTreeMap<LoopKey, u64>,
}

/// The graph of a call, as the trace has it.
pub struct PlacedGraph<'a> {
    pub graph: &'a CodeGraph,
    pub loops: &'a [Loops],
    /// The bytes of each block of each function in the flash image; `None` for those in RAM.
    pub places: Vec<Vec<Option<Run>>>,
}

impl PlacedGraph<'_> {
    /// The key of a loop.
    pub fn key(&self, function: usize, number: usize) -> LoopKey {
        let blocks = &self.graph.functions[function].blocks;
        let heads = &self.loops[function].all[number].heads;
        let mut key: LoopKey = heads.iter().map(|head| blocks[*head].start).collect();
        key.sort_unstable();
        key
    }

    /// The offset of a function's first byte.
    fn start(&self, function: usize) -> Option<u32> {
        self.places[function][0].map(|place| place.offset)
    }

    /// Follows all calls of the root in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn recorded(
        &self,
        trace: &dyn Trace,
        shape: CacheShape,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<RecordedCalls> {
        let Some(entry) = self.start(0) else { return Ok(RecordedCalls::default()) };
        let mut follower = Follower::new(self, entry, shape);
        for_runs(trace, should_continue, |runs| {
            for run in runs {
                follower.take(*run);
                follower.before = run.end();
            }
            Ok(())
        })?;
        follower.end_of_trace();
        Ok(follower.all)
    }

    /// True if all code of a function lies in RAM: the trace has none of it.
    fn is_in_ram(&self, function: usize) -> bool {
        self.places[function].iter().all(Option::is_none)
    }

    /// True if the code that ends at an offset may jump back to the first block of the root.
    fn leads_to_start(&self, end: u64) -> bool {
        let functions = self.graph.functions.iter().zip(&self.places);
        let roots = functions.filter(|(each, _)| each.address == self.graph.functions[0].address);
        roots.flat_map(|(function, places)| function.blocks.iter().zip(places)).any(
            |(block, place)| {
                let ends_here = place.is_some_and(|place| place.end() == end);
                ends_here && block.exits.contains(&Exit::Block(0))
            },
        )
    }
}

/// A cache with LRU that is empty at the start of each call.
struct EmptiedCache {
    shape: CacheShape,
    /// The lines of each set that was used in this call, the last used one first.
    sets: FxHashMap<u32, Vec<u32>>,
    misses: u64,
}

impl EmptiedCache {
    fn new(shape: CacheShape) -> Self {
        Self { shape, sets: FxHashMap::default(), misses: 0 }
    }

    fn empty(&mut self) {
        self.sets.values_mut().for_each(Vec::clear);
        self.misses = 0;
    }

    fn fetch(&mut self, bytes: Run) {
        for line in bytes.offset / self.shape.line_bytes..=bytes.last() / self.shape.line_bytes {
            let set = self.sets.entry(self.shape.set_of(line)).or_default();
            match set.iter().position(|held| *held == line) {
                Some(place) => set[..=place].rotate_right(1),
                None => {
                    self.misses += 1;
                    set.truncate(self.shape.ways as usize - 1);
                    set.insert(0, line);
                }
            }
        }
    }
}

/// A function that is being executed.
struct OpenFunction {
    function: usize,
    block: usize,
    /// Bytes of the block that were executed.
    done: u32,
    /// The loops that are open, the innermost one last, with the executions of their heads.
    open: Vec<(usize, u64)>,
}

/// Follows calls through the graph.
struct Follower<'a> {
    graph: &'a PlacedGraph<'a>,
    entry: u32,
    /// The open functions of the call; empty outside of calls.
    frames: Vec<OpenFunction>,
    /// The end of the run before the call: the offset to which a call instruction returns.
    back: u64,
    /// The end of the run before.
    before: u64,
    /// True if the block of the last frame was executed to its end.
    is_at_exit: bool,
    /// Counts of the open call.
    now: RecordedCalls,
    all: RecordedCalls,
    cache: EmptiedCache,
}

impl<'a> Follower<'a> {
    fn new(graph: &'a PlacedGraph<'a>, entry: u32, shape: CacheShape) -> Self {
        Self {
            graph,
            entry,
            frames: Vec::new(),
            back: 0,
            before: 0,
            is_at_exit: false,
            now: RecordedCalls::default(),
            all: RecordedCalls::default(),
            cache: EmptiedCache::new(shape),
        }
    }

    fn take(&mut self, run: Run) {
        let mut at = run.offset;
        let end = run.end();
        while u64::from(at) < end {
            if self.is_at_exit && !self.go_on(at) {
                self.leave(at);
            }
            if self.frames.is_empty() {
                let is_call = at == self.entry && at == run.offset;
                if !is_call || self.graph.leads_to_start(self.before) {
                    return;
                }
                self.begin();
            }
            let Some(frame) = self.frames.last_mut() else { return };
            let place = self.graph.places[frame.function][frame.block];
            let Some(place) = place.filter(|place| place.offset + frame.done == at) else {
                self.leave(at);
                if at == run.offset && at == self.entry {
                    continue;
                }
                return;
            };
            let rest = place.length - frame.done;
            let length = u64::from(rest).min(end - u64::from(at)) as u32;
            frame.done += length;
            self.is_at_exit = frame.done == place.length;
            self.cache.fetch(Run { offset: at, length });
            at += length;
        }
    }

    fn begin(&mut self) {
        self.cache.empty();
        self.now = RecordedCalls::default();
        self.is_at_exit = false;
        self.back = self.before;
        self.enter(0);
    }

    /// Gives up the call. Its loops ran at least as often as they did until here.
    fn leave(&mut self, at: u32) {
        self.is_at_exit = false;
        if let Some(frame) = self.frames.last() {
            let place = self.graph.places[frame.function][frame.block];
            let here = place.map_or(0, |place| place.offset);
            self.all.unfollowed_calls += 1;
            self.all.left_at.get_or_insert((here, at));
        }
        self.pop_to(0);
        self.note_loops();
    }

    /// Gives up the call that is open at the end of the trace.
    fn end_of_trace(&mut self) {
        if !self.frames.is_empty() {
            self.all.unfollowed_calls += 1;
            self.pop_to(0);
            self.note_loops();
        }
    }

    /// Enters a function.
    fn enter(&mut self, function: usize) {
        self.frames.push(OpenFunction { function, block: 0, done: 0, open: Vec::new() });
        self.enter_block(0);
    }

    /// Enters a block of the last function.
    fn enter_block(&mut self, block: usize) {
        self.is_at_exit = false;
        let Some(frame) = self.frames.last_mut() else { return };
        frame.block = block;
        frame.done = 0;
        let (function, graph) = (frame.function, self.graph);
        let loops = &graph.loops[function];
        let is_inside = |number: &usize| loops.all[*number].contains[block];
        let kept = frame.open.iter().take_while(|(number, _)| is_inside(number)).count();
        let closed = frame.open.split_off(kept);
        let around: Vec<usize> =
            std::iter::successors(loops.innermost[block], |number| loops.all[*number].parent)
                .collect();
        for number in around.into_iter().rev().skip(kept) {
            frame.open.push((number, 0));
        }
        for (number, count) in &mut frame.open {
            if loops.all[*number].heads.contains(&block) {
                *count += 1;
                *self.now.in_call.entry(graph.key(function, *number)).or_default() += 1;
            }
        }
        self.close(function, closed);
    }

    /// Notes the executions of loops that were left.
    fn close(&mut self, function: usize, closed: Vec<(usize, u64)>) {
        for (number, count) in closed {
            let most = self.now.each_entry.entry(self.graph.key(function, number)).or_default();
            *most = (*most).max(count);
        }
    }

    /// Goes on at an offset behind the end of a block; false if no way leads there.
    fn go_on(&mut self, at: u32) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let graph = self.graph;
        let (function, block) = (frame.function, frame.block);
        let start = |block: usize| graph.places[function][block].map(|place| place.offset);
        let exits = &graph.graph.functions[function].blocks[block].exits;
        for exit in exits {
            match exit {
                Exit::Block(to) if start(*to) == Some(at) => {
                    self.enter_block(*to);
                    return true;
                }
                Exit::Call(callee, _) if graph.start(*callee) == Some(at) => {
                    self.enter(*callee);
                    return true;
                }
                // The trace goes on behind the call of code in RAM.
                Exit::Call(callee, Resumption::Block(to))
                    if graph.is_in_ram(*callee) && start(*to) == Some(at) =>
                {
                    self.enter_block(*to);
                    return true;
                }
                _ => {}
            }
        }
        exits.contains(&Exit::Return) && self.go_back(at, exits.len() == 1)
    }

    /// Returns to the caller, which goes on at an offset; false if it does not. The call of the root
    /// ends if the code there is that behind its call, or if execution goes nowhere else for certain.
    fn go_back(&mut self, at: u32, is_certain: bool) -> bool {
        let graph = self.graph;
        let depth = self.frames.len();
        for caller in (0..depth.saturating_sub(1)).rev() {
            let callee = self.frames[caller + 1].function;
            let frame = &self.frames[caller];
            let (function, block) = (frame.function, frame.block);
            let exits = &graph.graph.functions[function].blocks[block].exits;
            let mut jumps = false;
            for exit in exits {
                match exit {
                    Exit::Call(called, Resumption::Block(to)) if *called == callee => {
                        let place = graph.places[function][*to];
                        if place.is_some_and(|place| place.offset == at) {
                            self.pop_to(caller + 1);
                            self.enter_block(*to);
                            return true;
                        }
                    }
                    Exit::Call(called, Resumption::Return) if *called == callee => jumps = true,
                    _ => {}
                }
            }
            if !jumps {
                return false;
            }
        }
        if u64::from(at) != self.back && !is_certain {
            return false;
        }
        self.pop_to(0);
        self.finish();
        true
    }

    /// Ends the functions from a depth on.
    fn pop_to(&mut self, depth: usize) {
        while self.frames.len() > depth {
            if let Some(frame) = self.frames.pop() {
                self.close(frame.function, frame.open);
            }
        }
    }

    /// Ends the call.
    fn finish(&mut self) {
        self.is_at_exit = false;
        self.all.calls += 1;
        self.all.most_misses = self.all.most_misses.max(self.cache.misses);
        self.note_loops();
    }

    /// Takes the executions of loops in the call into those of all calls.
    fn note_loops(&mut self) {
        for (key, count) in std::mem::take(&mut self.now.each_entry) {
            let most = self.all.each_entry.entry(key).or_default();
            *most = (*most).max(count);
        }
        for (key, count) in std::mem::take(&mut self.now.in_call) {
            let most = self.all.in_call.entry(key).or_default();
            *most = (*most).max(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use flashpager_reach::{Block, Function};

    use super::*;

    /// A function at offset 0 whose first block is a loop that it may leave by a return, or by the
    /// second block.
    fn graph() -> CodeGraph {
        let block = |start: u64, exits: &[Exit]| Block {
            start,
            end: start + 4,
            is_in_ram: false,
            exits: exits.to_vec(),
        };
        let blocks = vec![block(0, &[Exit::Block(0), Exit::Block(1), Exit::Return]), block(4, &[])];
        CodeGraph { functions: vec![Function { name: "f".into(), address: 0, blocks }] }
    }

    fn followed(runs: &[(u32, u32)]) -> RecordedCalls {
        let graph = graph();
        let loops: Vec<Loops> = graph.functions.iter().map(Loops::of).collect();
        let run = |offset, length| Run { offset, length };
        let places = vec![vec![Some(run(0, 4)), Some(run(4, 4))]];
        let placed = PlacedGraph { graph: &graph, loops: &loops, places };
        let shape = CacheShape { line_bytes: 8, sets: 4, ways: 1 };
        let mut follower = Follower::new(&placed, 0, shape);
        for (offset, length) in runs {
            let next = run(*offset, *length);
            follower.take(next);
            follower.before = next.end();
        }
        follower.end_of_trace();
        follower.all
    }

    #[test]
    fn a_call_ends_at_the_code_behind_it() {
        let all = followed(&[(100, 4), (0, 4), (0, 4), (104, 4)]);
        assert_eq!((all.calls, all.unfollowed_calls), (1, 0));
        assert_eq!(all.each_entry[&vec![0]], 2);
    }

    #[test]
    fn an_interrupt_does_not_end_a_call_and_its_counts_are_kept() {
        let all = followed(&[(100, 4), (0, 4), (0, 4), (0, 4), (200, 4), (104, 4)]);
        assert_eq!(all.left_at, Some((0, 200)));
        assert_eq!(all.each_entry[&vec![0]], 3);
        assert_eq!(all.in_call[&vec![0]], 3);
        assert_eq!(all.unfollowed_calls, 1);
    }

    #[test]
    fn a_jump_back_to_the_start_is_no_call() {
        let all = followed(&[(100, 4), (0, 2), (200, 4), (2, 2), (0, 4), (104, 4)]);
        assert_eq!((all.calls, all.unfollowed_calls), (0, 1));
    }

    #[test]
    fn the_end_of_the_trace_keeps_the_counts() {
        let all = followed(&[(100, 4), (0, 4), (0, 4)]);
        assert_eq!((all.calls, all.unfollowed_calls), (0, 1));
        assert_eq!(all.each_entry[&vec![0]], 2);
    }
}
