//! Sequences of runs with their loops folded, and their replay.
//!
//! A program in a loop executes the same runs round after round. A folded sequence keeps the runs
//! of one round and the number of rounds. Loops that hold loops are folded, too.
//!
//! Under LRU the rounds are alike from the second one on, whatever preceded the loop. A reference hits
//! if, since the last reference to its page, fewer other pages of its set were referenced than the set
//! has frames. From the second round on, that last reference lies in the same round or in the one
//! before, and both rounds are the same runs. So the replay executes two rounds, and counts the
//! references and bytes of the second for each further one. The registers may remember more than a
//! round: the misses of the second round are passed to them again, in order, for each further one.

use flashpager_base::{Error, Result};
use flashpager_trace::{MemoryTrace, Run};
use rustc_hash::FxHashMap;

use super::references::Collapser;
use super::requests::Requests;
use super::{CacheDesign, Counts, image_pages, replay};
use crate::pager::{
    NEVER, Page, Policy, PolicyParameter, PolicyVisitor, ReferenceOutcome, SizesVisitor,
};
use crate::register::RegisterDesign;

/// The most numbers in the body of a loop.
const MAX_BODY: usize = 1024;
/// The most lengths of a body that are tried at each place. They are the distances to the next places
/// with the same number.
const MAX_TRIED: usize = 4;
/// The least number of rounds. Two rounds are executed in any case.
const MIN_ROUNDS: usize = 3;
/// The most passes over a sequence. Each pass finds the loops around those of the pass before.
const MAX_PASSES: usize = 8;
/// Numbers of a folded sequence that are replayed before a caller may end the replay.
const CHECKED: usize = 1 << 14;

/// No later place.
const NEVER_AGAIN: u32 = u32::MAX;

/// A loop of a folded sequence.
#[derive(Clone, Debug)]
struct Loop {
    /// The symbols of one round.
    body: Box<[u32]>,
    /// Number of rounds, at least [`MIN_ROUNDS`].
    rounds: u32,
}

/// A sequence of numbers with its loops folded.
#[derive(Clone, Debug, Default)]
pub struct FoldedSequence {
    /// One more than the largest number. A larger symbol is a loop.
    numbers: u32,
    loops: Vec<Loop>,
    symbols: Vec<u32>,
}

impl FoldedSequence {
    /// Folds `sequence`, in which all numbers are below `numbers`.
    pub fn new(sequence: &[u32], numbers: u32) -> Self {
        let known = FxHashMap::default();
        let mut folding = Folding { numbers, loops: Vec::new(), known, later: Vec::new() };
        let symbols = folding.folded(sequence.to_vec());
        Self { numbers, loops: folding.loops, symbols }
    }

    /// The sequence without any loop, for policies whose rounds are not alike.
    pub fn unfolded(sequence: Vec<u32>, numbers: u32) -> Self {
        Self { numbers, loops: Vec::new(), symbols: sequence }
    }

    /// The symbols: numbers, and loops of other symbols.
    pub fn symbols(&self) -> &[u32] {
        &self.symbols
    }

    /// Returns how many numbers `symbol` unfolds to, and how many of them are executed if only two
    /// rounds of each loop are.
    pub fn lengths(&self, symbol: u32) -> (usize, usize) {
        let Some(Loop { body, rounds }) = self.loop_of(symbol) else { return (1, 1) };
        let sum = |(all, executed): (usize, usize), symbol: &u32| {
            let (more, more_executed) = self.lengths(*symbol);
            (all + more, executed + more_executed)
        };
        let (all, executed) = body.iter().fold((0, 0), sum);
        (all * *rounds as usize, executed * 2)
    }

    /// Executes `symbols`, which are some of [`FoldedSequence::symbols`], with two rounds of each
    /// loop.
    #[inline]
    pub fn execute<R: RoundReplay>(&self, symbols: &[u32], replay: &mut R) {
        for &symbol in symbols {
            match self.loop_of(symbol) {
                None => replay.execute(symbol),
                Some(one) => self.execute_loop(one, replay),
            }
        }
    }

    fn execute_loop<R: RoundReplay>(&self, Loop { body, rounds }: &Loop, replay: &mut R) {
        self.execute(body, replay);
        let begun = replay.begin_round();
        self.execute(body, replay);
        replay.repeat_round(begun, u64::from(*rounds) - 2);
    }

    /// Passes the numbers of `symbols` to `take` in reverse order, with one round of each loop, until
    /// `take` returns false. A number that occurs several times is passed first at its last
    /// execution. Returns the last result of `take`.
    pub fn backwards(&self, symbols: &[u32], take: &mut impl FnMut(u32) -> bool) -> bool {
        symbols.iter().rev().all(|&symbol| match self.loop_of(symbol) {
            None => take(symbol),
            Some(one) => self.backwards(&one.body, take),
        })
    }

    /// Passes each number of the unfolded sequence to `take`, in order.
    pub fn for_each(&self, take: &mut impl FnMut(u32)) {
        self.for_each_of(&self.symbols, take);
    }

    fn for_each_of(&self, symbols: &[u32], take: &mut impl FnMut(u32)) {
        for &symbol in symbols {
            match self.loop_of(symbol) {
                None => take(symbol),
                Some(Loop { body, rounds }) => {
                    (0..*rounds).for_each(|_| self.for_each_of(body, take));
                }
            }
        }
    }

    /// Returns how often the unfolded sequence holds each number.
    pub fn times(&self) -> Vec<u64> {
        let mut times = vec![0; self.numbers as usize];
        self.add_times(&self.symbols, 1, &mut times);
        times
    }

    fn add_times(&self, symbols: &[u32], factor: u64, times: &mut [u64]) {
        for &symbol in symbols {
            match self.loop_of(symbol) {
                None => times[symbol as usize] += factor,
                Some(Loop { body, rounds }) => {
                    self.add_times(body, factor * u64::from(*rounds), times);
                }
            }
        }
    }

    #[inline]
    fn loop_of(&self, symbol: u32) -> Option<&Loop> {
        symbol.checked_sub(self.numbers).map(|number| &self.loops[number as usize])
    }
}

/// The loops found while a sequence is folded.
struct Folding {
    numbers: u32,
    loops: Vec<Loop>,
    /// Symbols of the loops, by their unfolded bodies and their rounds.
    known: FxHashMap<(Box<[u32]>, u32), u32>,
    /// Working memory of [`Self::next_equal`], by symbol: the next place that holds it. Between two
    /// calls every entry is [`NEVER_AGAIN`].
    later: Vec<u32>,
}

impl Folding {
    fn folded(&mut self, mut symbols: Vec<u32>) -> Vec<u32> {
        for _ in 0..MAX_PASSES {
            if symbols.len() < MIN_ROUNDS {
                break;
            }
            let before = symbols.len();
            symbols = self.pass(&symbols);
            if symbols.len() == before {
                break;
            }
        }
        symbols
    }

    /// Folds the repetitions in `symbols`. At each place the shortest body with enough rounds is taken.
    fn pass(&mut self, symbols: &[u32]) -> Vec<u32> {
        let next = self.next_equal(symbols);
        let mut folded = Vec::with_capacity(symbols.len());
        let mut at = 0;
        while at < symbols.len() {
            match repeated(symbols, &next, at) {
                Some((length, rounds)) => {
                    folded.push(self.symbol(&symbols[at..at + length], rounds as u32));
                    at += length * rounds;
                }
                None => {
                    folded.push(symbols[at]);
                    at += 1;
                }
            }
        }
        folded
    }

    /// Returns for each place the next one that holds an equal symbol, or [`NEVER_AGAIN`]. Its time
    /// depends on the length of `symbols` alone, not on how many symbols there are.
    fn next_equal(&mut self, symbols: &[u32]) -> Vec<u32> {
        self.later.resize(self.numbers as usize + self.loops.len(), NEVER_AGAIN);
        let mut next = vec![NEVER_AGAIN; symbols.len()];
        for (place, symbol) in symbols.iter().enumerate().rev() {
            next[place] = std::mem::replace(&mut self.later[*symbol as usize], place as u32);
        }
        for symbol in symbols {
            self.later[*symbol as usize] = NEVER_AGAIN;
        }
        next
    }

    /// The symbol of a loop. Its body may hold loops.
    fn symbol(&mut self, body: &[u32], rounds: u32) -> u32 {
        let key = (body.into(), rounds);
        if let Some(symbol) = self.known.get(&key) {
            return *symbol;
        }
        let body = self.folded(body.to_vec()).into();
        let symbol = self.numbers + self.loops.len() as u32;
        self.loops.push(Loop { body, rounds });
        self.known.insert(key, symbol);
        symbol
    }
}

/// The shortest body that begins at `at` and has enough rounds: its length and their number.
fn repeated(symbols: &[u32], next: &[u32], at: usize) -> Option<(usize, usize)> {
    let mut second = next[at] as usize;
    for _ in 0..MAX_TRIED {
        let length = second - at;
        if second >= symbols.len() || length > MAX_BODY {
            return None;
        }
        let body = &symbols[at..second];
        let rounds = symbols[at..].chunks_exact(length).take_while(|round| *round == body).count();
        if rounds >= MIN_ROUNDS {
            return Some((length, rounds));
        }
        second = next[second] as usize;
    }
    None
}

/// A replay of a [`FoldedSequence`] whose rounds of each loop are alike from the second one on.
pub trait RoundReplay {
    /// The counts at the beginning of a second round.
    type Begun;

    /// Executes the runs of a number.
    fn execute(&mut self, number: u32);

    /// Begins the second round of a loop.
    fn begin_round(&mut self) -> Self::Begun;

    /// Counts a round `times` more: the one that began at `begun` and ends now.
    fn repeat_round(&mut self, begun: Self::Begun, times: u64);
}

/// The runs that each number of a [`FoldedSequence`] stands for.
#[derive(Clone, Debug, Default)]
pub struct RunTable {
    runs: Vec<Run>,
    /// The end of the runs of each number.
    ends: Vec<u32>,
}

impl RunTable {
    /// Appends the runs of the next number; there may be none.
    pub fn push(&mut self, runs: impl IntoIterator<Item = Run>) {
        self.runs.extend(runs);
        self.ends.push(self.runs.len() as u32);
    }

    /// The runs of all numbers.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The runs of `number`.
    #[inline]
    pub fn runs_of(&self, number: u32) -> &[Run] {
        let place = number as usize;
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.runs[start as usize..self.ends[place] as usize]
    }
}

/// Replays `folded` through `cache`, with each of `registers` behind it. Each number stands for its
/// runs in `table`, which lie in an image of `image_bytes`. The counts are those that [`replay`]
/// has for the unfolded runs. A policy whose rounds are not alike is replayed unfolded.
///
/// # Errors
/// Those of [`replay`].
pub fn replay_folded(
    folded: &FoldedSequence,
    (table, image_bytes): (&RunTable, u64),
    cache: &CacheDesign,
    registers: &[RegisterDesign],
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<Counts>> {
    cache.check()?;
    if !cache.repeats_rounds() {
        let mut runs = Vec::new();
        folded.for_each(&mut |number| runs.extend_from_slice(table.runs_of(number)));
        let trace = MemoryTrace::with_image(runs, image_bytes);
        return Ok(replay(&trace, cache, registers, should_continue, None)?.0);
    }
    for register in registers {
        register.check(cache.cache_page_bytes)?;
    }
    let pages = image_pages(image_bytes, cache.cache_page_bytes)?;
    let requests = Requests::new(cache.cache_page_bytes, pages, 1, false, registers)?;
    let replay = FoldedReplay { folded, table, cache, registers, requests, should_continue };
    cache.policy.visit(cache.shape(pages), replay)?
}

impl CacheDesign {
    /// Returns true if all rounds of a loop are alike from the second one on, as
    /// [`Policy::REPEATS_ROUNDS`] promises for LRU. An instruction cache in front would remember more.
    pub fn repeats_rounds(&self) -> bool {
        self.hierarchy.is_none()
            && matches!(self.policy.visit_sizes(self.ways.is_some(), RepeatsRounds), Ok(true))
    }
}

/// Asks a policy whether its rounds are alike, without building it.
struct RepeatsRounds;

impl SizesVisitor for RepeatsRounds {
    type Output = bool;

    fn visit<P: Policy>(self, _: &[PolicyParameter]) -> Result<bool> {
        Ok(P::REPEATS_ROUNDS)
    }
}

struct FoldedReplay<'a> {
    folded: &'a FoldedSequence,
    table: &'a RunTable,
    cache: &'a CacheDesign,
    registers: &'a [RegisterDesign],
    requests: Requests,
    should_continue: &'a dyn Fn() -> bool,
}

impl PolicyVisitor for FoldedReplay<'_> {
    type Output = Result<Vec<Counts>>;

    fn visit<P: Policy>(self, policy: P) -> Self::Output {
        let Self { folded, table, cache, registers, requests, should_continue } = self;
        let collapser = Collapser::new(cache.cache_page_bytes.trailing_zeros());
        let mut counts = FoldedCounts {
            table,
            policy,
            collapser,
            requests,
            references: 0,
            bytes: 0,
            misses: Vec::new(),
            open_loops: 0,
        };
        for symbols in folded.symbols.chunks(CHECKED) {
            if !should_continue() {
                return Err(Error::Interrupted);
            }
            folded.execute(symbols, &mut counts);
            counts.requests.check_memory()?;
        }
        let FoldedCounts { requests, references, bytes, .. } = counts;
        Ok(requests.finish(&[references], bytes, registers).swap_remove(0))
    }
}

/// The counts of a folded sequence, as far as it was executed.
struct FoldedCounts<'a, P> {
    table: &'a RunTable,
    policy: P,
    collapser: Collapser,
    requests: Requests,
    references: u64,
    bytes: u64,
    /// The misses of the second rounds that are being executed, in order.
    misses: Vec<(Page, ReferenceOutcome)>,
    /// Number of loops whose second round is being executed.
    open_loops: u32,
}

impl<P: Policy> RoundReplay for FoldedCounts<'_, P> {
    /// References, bytes and logged misses before the round.
    type Begun = (u64, u64, usize);

    #[inline]
    fn execute(&mut self, number: u32) {
        let Self { table, policy, collapser, requests, references, misses, open_loops, .. } = self;
        for &run in table.runs_of(number) {
            collapser.references(run, |page| {
                *references += 1;
                match policy.reference(page, NEVER) {
                    ReferenceOutcome::Hit => {}
                    outcome => {
                        requests.add(0..1, page, outcome);
                        if *open_loops > 0 {
                            misses.push((page, outcome));
                        }
                    }
                }
            });
            self.bytes += u64::from(run.length);
        }
    }

    fn begin_round(&mut self) -> Self::Begun {
        self.open_loops += 1;
        (self.references, self.bytes, self.misses.len())
    }

    fn repeat_round(&mut self, (references, bytes, start): Self::Begun, times: u64) {
        self.open_loops -= 1;
        self.references += (self.references - references) * times;
        self.bytes += (self.bytes - bytes) * times;
        let end = self.misses.len();
        if end > start {
            for _ in 0..times {
                for place in start..end {
                    let (page, outcome) = self.misses[place];
                    self.requests.add(0..1, page, outcome);
                }
                if self.open_loops > 0 {
                    self.misses.extend_from_within(start..end);
                }
            }
        }
        if self.open_loops == 0 {
            self.misses.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::register::RegisterModel;

    /// Sequences with loops in loops, of bodies that differ a little.
    fn sequence() -> impl Strategy<Value = Vec<u32>> {
        let body = prop::collection::vec(0u32..6, 1..5);
        let inner = (body, 1usize..7).prop_map(|(body, rounds)| body.repeat(rounds));
        let outer = (prop::collection::vec(inner, 1..4), 1usize..6)
            .prop_map(|(parts, rounds)| parts.concat().repeat(rounds));
        prop::collection::vec(outer, 1..5).prop_map(|parts| parts.concat())
    }

    /// Runs for six numbers; a number may have none, or several.
    fn table() -> impl Strategy<Value = RunTable> {
        let run = (0u32..200, 1u32..40).prop_map(|(offset, length)| Run { offset, length });
        prop::collection::vec(prop::collection::vec(run, 0..3), 6).prop_map(|all| {
            let mut table = RunTable::default();
            all.into_iter().for_each(|runs| table.push(runs));
            table
        })
    }

    fn designs() -> impl Strategy<Value = (CacheDesign, Vec<RegisterDesign>)> {
        let policy = prop::sample::select(vec!["lru", "fifo", "clock", "random(3)"]);
        (policy, 0u32..3, prop::sample::select(vec![None, Some(1u32), Some(2), Some(4)])).prop_map(
            |(policy, shift, ways)| {
                let page = 8u32 << shift;
                let frames = if ways.is_some() { 8 } else { 5 };
                let cache = CacheDesign {
                    cache_bytes: u64::from(page * frames),
                    cache_page_bytes: page,
                    policy: policy.parse().unwrap(),
                    ways,
                    hierarchy: None,
                };
                let register = |model| RegisterDesign {
                    model,
                    flash_page_bytes: 64,
                    codeword_bytes: None,
                    prefetch_lines: 0,
                };
                let in_place = RegisterDesign {
                    flash_page_bytes: page,
                    prefetch_lines: 2,
                    ..register(RegisterModel::StartColumn)
                };
                let registers = vec![
                    register(RegisterModel::Sequential),
                    register(RegisterModel::StartColumn),
                    register(RegisterModel::DoubleBuffer),
                    register(RegisterModel::DoubleBufferPrefetch),
                    in_place,
                ];
                (cache, registers)
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// A folded sequence unfolds to what it was made of.
        #[test]
        fn a_folded_sequence_is_the_same(sequence in sequence()) {
            let folded = FoldedSequence::new(&sequence, 6);
            let mut unfolded = Vec::new();
            folded.for_each(&mut |number| unfolded.push(number));
            prop_assert_eq!(&unfolded, &sequence);
            let lengths = folded.symbols().iter().map(|symbol| folded.lengths(*symbol).0);
            prop_assert_eq!(lengths.sum::<usize>(), sequence.len());
            let mut last = Vec::new();
            folded.backwards(folded.symbols(), &mut |number| {
                if !last.contains(&number) {
                    last.push(number);
                }
                true
            });
            let mut by_last: Vec<u32> = (0..6).filter(|number| sequence.contains(number)).collect();
            by_last.sort_by_key(|number| sequence.iter().rev().position(|other| other == number));
            prop_assert_eq!(last, by_last);
            let times = |number| sequence.iter().filter(|other| **other == number).count() as u64;
            prop_assert_eq!(folded.times(), (0..6).map(times).collect::<Vec<_>>());
        }

        /// A folded replay has all counts of a replay, with every policy and register.
        #[test]
        fn a_folded_replay_counts_the_same(
            sequence in sequence(),
            table in table(),
            (cache, registers) in designs(),
        ) {
            let folded = FoldedSequence::new(&sequence, 6);
            let image_bytes = 240;
            let placed = (&table, image_bytes);
            let counts = replay_folded(&folded, placed, &cache, &registers, &|| true).unwrap();
            let runs = sequence.iter().flat_map(|number| table.runs_of(*number)).copied();
            let trace = MemoryTrace::with_image(runs.collect(), image_bytes);
            let unfolded = replay(&trace, &cache, &registers, &|| true, None).unwrap().0;
            prop_assert_eq!(counts, unfolded);
        }
    }

    /// A loop in a loop takes a symbol each.
    #[test]
    fn loops_in_loops_are_folded() {
        let inner = [vec![1], [2, 3].repeat(9)].concat();
        let folded = FoldedSequence::new(&[vec![0], inner.repeat(100), vec![4]].concat(), 6);
        assert_eq!((folded.symbols.len(), folded.loops.len()), (3, 2));
        assert_eq!(folded.loops.iter().map(|one| one.body.len()).sum::<usize>(), 4);
    }
}
