//! Annealing on the order of units, with a replay as the cost function.
//!
//! A candidate differs from the incumbent by one change. It is compared with the incumbent window
//! by window and rejected as soon as it is too expensive by more than a standard error. The windows
//! are a sample, which is drawn again for each epoch. At the end of an epoch all windows are
//! replayed for the exact cost of the incumbent.

use flashpager_base::random::SplitMix64;
use flashpager_base::{Error, Result};
use flashpager_trace::MAX_IMAGE_BYTES;
use rayon::prelude::*;

use crate::order::Order;
use crate::place::lay_out;
use crate::profile::Profile;
use crate::stream::{LayoutTask, PiecePages, WindowedStream};
use crate::units::Units;

/// Number of chains that anneal in parallel.
const CHAINS: usize = 2;
/// Share of the windows in a sample.
const SAMPLE: f64 = 0.1;
/// Smallest number of pieces in a sample.
const MIN_SAMPLE_PIECES: usize = 16 * 1024;
/// Smallest number of windows before a candidate is rejected.
const MIN_WINDOWS: usize = 3;
/// Number of candidates in an epoch.
const EPOCH: u64 = 1024;
/// Number of candidates between two looks at the budget.
const PATIENCE: u64 = 16;
/// Largest number of units that move together.
const MAX_SEGMENT: usize = 8;

/// The effort that a search may take.
pub trait Budget: Sync {
    /// Returns the share of the budget that is used after so many evaluations of a chain. From 1 on,
    /// the search stops.
    fn used(&self, evaluations: u64) -> f64;
}

/// A number of evaluations of each chain. The result is the same each time.
pub struct Evaluations(pub u64);

impl Budget for Evaluations {
    fn used(&self, evaluations: u64) -> f64 {
        evaluations as f64 / self.0.max(1) as f64
    }
}

/// The temperatures of annealing.
#[derive(Clone, Copy, Debug)]
pub struct Cooling {
    /// Temperature at the start, as a share of the cost.
    pub hot: f64,
    /// Temperature at the end, as a share of the cost.
    pub cold: f64,
}

impl Default for Cooling {
    fn default() -> Self {
        Self { hot: 4e-3, cold: 5e-5 }
    }
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The best order.
    pub order: Order,
    /// Its cost in all windows.
    pub cost: f64,
    /// Number of candidates of all chains.
    pub evaluations: u64,
    /// Number of accepted candidates.
    pub accepted: u64,
}

/// Searches for the order of the units of a program with the lowest cost.
pub struct Annealer<'a> {
    /// The units, with followers only if something of them is read.
    units: Units,
    streams: Vec<WindowedStream<'a>>,
    /// All windows, as (stream, window).
    windows: Vec<(usize, usize)>,
    /// Units of which something is executed. They are ordered; the others follow.
    executed: Vec<u32>,
    /// Followers of which something is read. They lie behind all others.
    read_followers: Vec<u32>,
    /// For each unit, the units that may be placed beside it, and ascending sums of their weights.
    partners: Vec<(Vec<u32>, Vec<f64>)>,
    image_bytes: u64,
    sample: usize,
}

/// The score of an order in all windows.
struct Score {
    cost: f64,
    /// Misses by unit.
    misses: Vec<f64>,
}

impl<'a> Annealer<'a> {
    /// Prepares a search for the units of an image. The cost of an order is the sum over `tasks`.
    ///
    /// # Errors
    /// A search without tasks, and one in which no movable unit is executed.
    pub fn new(units: &'a Units, profile: &Profile, tasks: &'a [LayoutTask<'a>]) -> Result<Self> {
        let count = units.all().len();
        let streams: Vec<WindowedStream<'a>> =
            tasks.par_iter().map(|task| WindowedStream::new(task, count)).collect();
        let of_stream = |(number, stream): (usize, &WindowedStream<'_>)| {
            (0..stream.windows()).map(move |window| (number, window)).collect::<Vec<_>>()
        };
        let windows: Vec<(usize, usize)> = streams.iter().enumerate().flat_map(of_stream).collect();
        let executed = profile.executed(units);
        if windows.is_empty() || executed.is_empty() {
            return Err(Error::design("nothing that can be moved is executed"));
        }
        let mut partners = vec![(Vec::new(), Vec::new()); count];
        let mut near: Vec<_> = profile.transitions.iter().collect();
        near.sort_unstable_by_key(|(pair, _)| **pair);
        for (&(a, b), &weight) in near {
            for (unit, other) in [(a, b), (b, a)] {
                let (others, sums): &mut (Vec<u32>, Vec<f64>) = &mut partners[unit as usize];
                if !units.all()[other as usize].fixed {
                    others.push(other);
                    sums.push(sums.last().copied().unwrap_or(0.0) + weight);
                }
            }
        }
        // In any order, units with their alignments take no more.
        let all = units.all().iter();
        let most: u64 = all.map(|unit| u64::from(unit.bytes) + u64::from(unit.align)).sum();
        let image_bytes = units.image_bytes().saturating_mul(2).saturating_add(most);
        let image_bytes = image_bytes.min(MAX_IMAGE_BYTES);
        let effort: usize =
            windows.iter().map(|(stream, window)| streams[*stream].effort(*window)).sum();
        let mean = (effort / windows.len()).max(1);
        let sample = ((windows.len() as f64 * SAMPLE) as usize)
            .max(MIN_SAMPLE_PIECES / mean)
            .clamp(1, windows.len());
        let read = |number: &u32| profile.bytes[*number as usize] > 0.0;
        let read_followers: Vec<u32> = units.followers().iter().copied().filter(read).collect();
        let units =
            if read_followers.is_empty() { units.ignoring_followers() } else { units.clone() };
        Ok(Self {
            units,
            streams,
            windows,
            executed,
            read_followers,
            partners,
            image_bytes,
            sample,
        })
    }

    /// Returns the number of pieces in all windows.
    pub fn pieces(&self) -> usize {
        self.windows.iter().map(|(stream, window)| self.streams[*stream].effort(*window)).sum()
    }

    /// Returns the cost of `order` in all windows.
    ///
    /// # Errors
    /// Errors of the replay.
    pub fn cost(&self, order: &Order) -> Result<f64> {
        let mut offsets: Vec<u32> = self.units.all().iter().map(|unit| unit.offset).collect();
        lay_out(&self.units, order.numbers().iter(), &mut offsets);
        let tables = self.streams.iter().map(|stream| stream.table(&offsets)).collect::<Vec<_>>();
        Ok(self.score(&offsets, &tables)?.cost)
    }

    fn score(&self, offsets: &[u32], tables: &[PiecePages]) -> Result<Score> {
        let mut score = Score { cost: 0.0, misses: vec![0.0; self.units.all().len()] };
        for (stream, table) in self.streams.iter().zip(tables) {
            let misses = Some(score.misses.as_mut_slice());
            let all = 0..stream.windows();
            let cost = &mut score.cost;
            stream.replay((offsets, table), all, self.image_bytes, misses, |window| {
                *cost += window;
                true
            })?;
        }
        Ok(score)
    }

    /// Anneals from `start` on. `progress` is called from time to time with the lowest cost so far.
    ///
    /// # Errors
    /// Errors of the replay.
    pub fn anneal(
        &self,
        start: &Order,
        cooling: Cooling,
        seed: u64,
        budget: &dyn Budget,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<SearchResult> {
        let chain = |number: usize| AnnealingChain::new(self, start, seed, number);
        let mut chains = (0..CHAINS).map(chain).collect::<Result<Vec<_>>>()?;
        // Towards the end, both chains continue from the better order.
        for joined in [0.6, 0.85, 1.0] {
            while chains.iter().any(|chain| budget.used(chain.evaluations) < joined) {
                chains.par_iter_mut().try_for_each(|chain| chain.epoch(cooling, budget, joined))?;
                progress(chains.iter().map(|chain| chain.best_cost).fold(f64::INFINITY, f64::min));
            }
            let better =
                (0..CHAINS).min_by(|a, b| chains[*a].best_cost.total_cmp(&chains[*b].best_cost));
            if let (Some(better), true) = (better, joined < 1.0) {
                let order = chains[better].best.clone();
                for chain in &mut chains {
                    chain.take(&order)?;
                }
            }
        }
        let (evaluations, accepted) =
            chains.iter().fold((0, 0), |(evaluations, accepted), chain| {
                (evaluations + chain.evaluations, accepted + chain.accepted)
            });
        let best_chain = chains.into_iter().min_by(|a, b| a.best_cost.total_cmp(&b.best_cost));
        let Some(best_chain) = best_chain else { return Err(Error::Interrupted) };
        let mut order = best_chain.best;
        let named: rustc_hash::FxHashSet<u32> = order.iter().copied().collect();
        order.extend(start.numbers().iter().filter(|unit| !named.contains(unit)));
        Ok(SearchResult {
            order: Order::new(&self.units, order)?,
            cost: best_chain.best_cost,
            evaluations,
            accepted,
        })
    }
}

/// A chain of annealing.
struct AnnealingChain<'s, 'a> {
    search: &'s Annealer<'a>,
    random: SplitMix64,
    /// The incumbent order.
    order: Vec<u32>,
    /// Units that are not executed, in their order behind it; empty if no follower is read.
    idle: Vec<u32>,
    /// Offsets of the units in it.
    offsets: Vec<u32>,
    /// Pages of the pieces in it, by stream.
    tables: Vec<PiecePages>,
    cost: f64,
    /// The candidate order, with its offsets and pages.
    next_order: Vec<u32>,
    next_offsets: Vec<u32>,
    next_tables: Vec<PiecePages>,
    /// Units whose offset differs between the two.
    moved: Vec<u32>,
    /// Position of each unit in the incumbent.
    places: Vec<u32>,
    /// Ascending sums of the weights by which units of `search.executed` are drawn.
    weights: Vec<f64>,
    /// The sample: windows by stream.
    sample: Vec<(usize, Vec<usize>)>,
    /// Costs of the incumbent in the windows of the sample.
    costs: Vec<Vec<f64>>,
    /// Costs of the candidate in them.
    next_costs: Vec<Vec<f64>>,
    /// The best order so far.
    best: Vec<u32>,
    best_cost: f64,
    evaluations: u64,
    accepted: u64,
}

impl<'s, 'a> AnnealingChain<'s, 'a> {
    fn new(search: &'s Annealer<'a>, start: &Order, seed: u64, number: usize) -> Result<Self> {
        let mut random = SplitMix64::new(seed);
        (0..=number).for_each(|_| random = SplitMix64::new(random.next_u64()));
        let mut is_executed = vec![false; search.units.all().len()];
        search.executed.iter().for_each(|unit| is_executed[*unit as usize] = true);
        let (order, mut idle): (Vec<u32>, Vec<u32>) =
            start.numbers().iter().partition(|unit| is_executed[**unit as usize]);
        if search.read_followers.is_empty() {
            idle.clear();
        }
        let mut chain = Self {
            search,
            random,
            order: order.clone(),
            idle,
            offsets: search.units.all().iter().map(|unit| unit.offset).collect(),
            tables: Vec::new(),
            cost: 0.0,
            next_order: order.clone(),
            next_offsets: Vec::new(),
            next_tables: Vec::new(),
            moved: Vec::new(),
            places: vec![0; search.units.all().len()],
            weights: Vec::new(),
            sample: Vec::new(),
            costs: Vec::new(),
            next_costs: Vec::new(),
            best: order.clone(),
            best_cost: f64::INFINITY,
            evaluations: 0,
            accepted: 0,
        };
        chain.take(&order)?;
        Ok(chain)
    }

    /// Continues from `order`.
    fn take(&mut self, order: &[u32]) -> Result<()> {
        let Annealer { units, streams, .. } = self.search;
        self.order.clear();
        self.order.extend_from_slice(order);
        lay_out(units, self.order.iter().chain(&self.idle), &mut self.offsets);
        self.tables = streams.iter().map(|stream| stream.table(&self.offsets)).collect();
        self.next_tables.clone_from(&self.tables);
        self.next_offsets.clone_from(&self.offsets);
        self.score_all()
    }

    /// Replays all windows for the cost of the incumbent and the weights of the units.
    fn score_all(&mut self) -> Result<()> {
        let score = self.search.score(&self.offsets, &self.tables)?;
        self.cost = score.cost;
        if self.cost < self.best_cost {
            self.best_cost = self.cost;
            self.best.clone_from(&self.order);
        }
        let mut sum = 0.0;
        self.weights.clear();
        for unit in &self.search.executed {
            // Units that never miss may still be in the way of others.
            sum += (score.misses[*unit as usize] + 1.0).sqrt();
            self.weights.push(sum);
        }
        for (place, unit) in self.order.iter().enumerate() {
            self.places[*unit as usize] = place as u32;
        }
        Ok(())
    }

    /// Draws another sample, and replays it for the costs of the incumbent.
    fn draw(&mut self) -> Result<()> {
        let Annealer { windows, sample, streams, image_bytes, .. } = self.search;
        let mut drawn: Vec<usize> = (0..windows.len()).collect();
        for place in 0..*sample {
            let other = place + self.random.below(drawn.len() - place);
            drawn.swap(place, other);
        }
        let mut of_stream = vec![Vec::new(); streams.len()];
        for place in &drawn[..*sample] {
            let (stream, window) = windows[*place];
            of_stream[stream].push(window);
        }
        self.sample =
            of_stream.into_iter().enumerate().filter(|(_, windows)| !windows.is_empty()).collect();
        self.costs.clear();
        for (stream, windows) in &self.sample {
            let mut costs = Vec::with_capacity(windows.len());
            let lie = (self.offsets.as_slice(), &self.tables[*stream]);
            let windows = windows.iter().copied();
            streams[*stream].replay(lie, windows, *image_bytes, None, |cost| {
                costs.push(cost);
                true
            })?;
            self.costs.push(costs);
        }
        self.next_costs.clone_from(&self.costs);
        Ok(())
    }

    /// Tries candidates on one sample, up to the share `end` of the budget.
    fn epoch(&mut self, cooling: Cooling, budget: &dyn Budget, end: f64) -> Result<()> {
        let mut used = budget.used(self.evaluations);
        if used >= end {
            return Ok(());
        }
        self.draw()?;
        let sampled: f64 = self.costs.iter().flatten().sum();
        for evaluation in 0..EPOCH {
            if evaluation % PATIENCE == 0 {
                used = budget.used(self.evaluations);
                if used >= end {
                    break;
                }
            }
            let share = cooling.hot * (cooling.cold / cooling.hot).powf(used);
            let threshold = -share * sampled * (1.0 - self.random.unit_interval()).ln();
            self.propose();
            self.evaluations += 1;
            if self.race(threshold)? {
                self.accept();
                self.accepted += 1;
            } else {
                self.reject();
            }
        }
        self.score_all()
    }

    /// Returns true if the candidate costs at most `threshold` more than the incumbent.
    fn race(&mut self, threshold: f64) -> Result<bool> {
        let Annealer { streams, image_bytes, sample, .. } = self.search;
        let all = *sample as f64;
        let (mut seen, mut sum, mut squares) = (0.0, 0.0, 0.0);
        let mut is_lost = false;
        for (place, (stream, windows)) in self.sample.iter().enumerate() {
            let (before, after) = (&self.costs[place], &mut self.next_costs[place]);
            let lie = (self.next_offsets.as_slice(), &self.next_tables[*stream]);
            let mut at = 0;
            streams[*stream].replay(lie, windows.iter().copied(), *image_bytes, None, |cost| {
                after[at] = cost;
                let more = cost - before[at];
                at += 1;
                seen += 1.0;
                sum += more;
                squares += more * more;
                if seen >= MIN_WINDOWS as f64 && seen < all {
                    let mean: f64 = sum / seen;
                    let variance = ((squares - sum * mean) / (seen - 1.0)).max(0.0);
                    let error = (variance / seen * (1.0 - seen / all)).sqrt();
                    is_lost = all * (mean - error) > threshold;
                }
                !is_lost
            })?;
            if is_lost {
                return Ok(false);
            }
        }
        Ok(sum <= threshold)
    }

    /// Makes a candidate.
    fn propose(&mut self) {
        let count = self.order.len();
        self.next_order.clone_from(&self.order);
        if count > 1 {
            let unit = self.search.executed[self.random.weighted_index(&self.weights)];
            let place = self.places[unit as usize] as usize;
            self.change(place, count);
        }
        let Annealer { units, read_followers, .. } = self.search;
        lay_out(units, self.next_order.iter().chain(&self.idle), &mut self.next_offsets);
        self.moved.clear();
        for &unit in self.next_order.iter().chain(read_followers) {
            let offset = self.next_offsets[unit as usize];
            if offset != self.offsets[unit as usize] {
                self.moved.push(unit);
                for (stream, table) in self.search.streams.iter().zip(&mut self.next_tables) {
                    stream.put(table, unit as usize, offset);
                }
            }
        }
    }

    /// Changes the candidate by one move of the unit at `place`.
    fn change(&mut self, place: usize, count: usize) {
        let random = &mut self.random;
        let order = &mut self.next_order;
        let unit = order[place];
        match random.unit_interval() {
            share if share < 0.25 => {
                // Exchange with another unit that misses.
                let other = self.search.executed[random.weighted_index(&self.weights)];
                order.swap(place, self.places[other as usize] as usize);
            }
            share if share < 0.45 => {
                let to = random.below(count);
                order.remove(place);
                order.insert(to, unit);
            }
            share if share < 0.65 => {
                let length = 1 + random.below(MAX_SEGMENT.min(count - 1));
                let start = place.saturating_sub(random.below(length)).min(count - length);
                let mut segment: Vec<u32> = order.drain(start..start + length).collect();
                if random.unit_interval() < 0.5 {
                    segment.reverse();
                }
                let to = random.below(order.len() + 1);
                order.splice(to..to, segment);
            }
            share if share < 0.9 => {
                let (partners, sums) = &self.search.partners[unit as usize];
                if partners.is_empty() {
                    order.swap(place, random.below(count));
                    return;
                }
                let partner = partners[random.weighted_index(sums)];
                order.remove(place);
                let beside = order.iter().position(|other| *other == partner).unwrap_or(0);
                order.insert(beside + random.below(2), unit);
            }
            _ => {
                let length = 2 + random.below(MAX_SEGMENT);
                let end = (place + length).min(count);
                order[place..end].reverse();
            }
        }
    }

    fn accept(&mut self) {
        std::mem::swap(&mut self.order, &mut self.next_order);
        std::mem::swap(&mut self.costs, &mut self.next_costs);
        for &unit in &self.moved {
            self.offsets[unit as usize] = self.next_offsets[unit as usize];
            for (number, stream) in self.search.streams.iter().enumerate() {
                stream.copy(&self.next_tables[number], &mut self.tables[number], unit as usize);
            }
        }
        for (place, unit) in self.order.iter().enumerate() {
            self.places[*unit as usize] = place as u32;
        }
    }

    fn reject(&mut self) {
        for &unit in &self.moved {
            self.next_offsets[unit as usize] = self.offsets[unit as usize];
            for (number, stream) in self.search.streams.iter().enumerate() {
                stream.copy(&self.tables[number], &mut self.next_tables[number], unit as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flashpager_replay::register::{RegisterDesign, RegisterModel};
    use flashpager_replay::{CacheDesign, Counts, replay};
    use flashpager_trace::{MemoryTrace, Run};

    use super::*;
    use crate::{Baseline, PieceSequence, Unit, place};

    const REGISTER: RegisterDesign = RegisterDesign {
        model: RegisterModel::StartColumn,
        flash_page_bytes: 512,
        codeword_bytes: None,
        prefetch_lines: 0,
    };

    /// Makes sixty functions that call each other in phases.
    fn program() -> (Units, MemoryTrace) {
        let mut random = SplitMix64::new(7);
        let mut offset = 0;
        let mut units = Vec::new();
        for number in 0..60 {
            let bytes = 8 + random.below(120) as u32;
            units.push(Unit { name: format!("f{number}"), offset, bytes, align: 1, fixed: false });
            offset += bytes;
        }
        let mut runs = Vec::new();
        for _ in 0..120 {
            let phase: Vec<usize> = (0..9).map(|_| random.below(60)).collect();
            for _ in 0..80 {
                let unit = &units[phase[random.below(phase.len())]];
                let start = random.below(unit.bytes as usize) as u32;
                let length = 1 + random.below((unit.bytes - start) as usize) as u32;
                runs.push(Run { offset: unit.offset + start, length });
            }
        }
        let units = Units::new(units, offset.into()).expect("units that can be");
        (units, MemoryTrace::with_image(runs, offset.into()))
    }

    fn cache(policy: &str) -> CacheDesign {
        CacheDesign {
            cache_bytes: 1024,
            cache_page_bytes: 32,
            policy: policy.parse().expect("a policy"),
            ways: None,
            hierarchy: None,
        }
    }

    fn exact(units: &Units, order: &Order, trace: &MemoryTrace, cache: &CacheDesign) -> Counts {
        let moved = place(units, order).expect("a small image");
        let moved = moved.remap(units, trace, &|| true).expect("runs in units");
        let (mut counts, _) =
            replay(&moved, cache, &[REGISTER], &|| true, None).expect("a design that can be");
        counts.remove(0)
    }

    /// The misses that a search counts for each of `orders`, in a cache of so many `ways`.
    fn misses_in_ways<const ORDERS: usize>(
        units: &Units,
        trace: &MemoryTrace,
        ways: u32,
        orders: [Vec<u32>; ORDERS],
    ) -> [f64; ORDERS] {
        let sequence = PieceSequence::of(units, trace, &|| true).expect("runs in units");
        let profile = Profile::of(units, [(&sequence, 1.0)]);
        let task = LayoutTask {
            sequence: &sequence,
            cache: CacheDesign { ways: Some(ways), ..cache("lru") },
            register: REGISTER,
            weight: 1.0,
            cost: &|counts| counts.misses as f64,
            needs_classes: false,
        };
        let tasks = [task];
        let search = Annealer::new(units, &profile, &tasks).expect("something to search");
        orders.map(|numbers| {
            let order = Order::new(units, numbers).expect("an order");
            search.cost(&order).expect("a cost")
        })
    }

    /// Windows, prefixes and reduced sequences have the same misses as a replay of the whole trace, in
    /// any frame and in sets.
    #[test]
    fn all_windows_of_lru_miss_what_a_replay_misses() {
        let (units, trace) = program();
        let sequence = PieceSequence::of(&units, &trace, &|| true).expect("runs in units");
        let profile = Profile::of(&units, [(&sequence, 1.0)]);
        let cost = |counts: &Counts| counts.misses as f64;
        for ways in [None, Some(1), Some(2), Some(4)] {
            let cache = CacheDesign { ways, ..cache("lru") };
            let task = LayoutTask {
                sequence: &sequence,
                cache: cache.clone(),
                register: REGISTER,
                weight: 1.0,
                cost: &cost,
                needs_classes: false,
            };
            let tasks = [task];
            let search = Annealer::new(&units, &profile, &tasks).expect("something to search");
            for (name, baseline) in Baseline::ALL {
                let order =
                    baseline.order(&units, &profile, &[&sequence], 1024).expect("a known order");
                let misses = exact(&units, &order, &trace, &cache).misses as f64;
                let cost = search.cost(&order).expect("a cost");
                // Before a window some sets of a cache may lack what the whole trace left there.
                let more = if ways.is_some() { misses / 1000.0 } else { 0.0 };
                assert!((cost - misses).abs() <= more, "{name}, {ways:?}: {cost} of {misses}");
            }
        }
    }

    /// Two functions that evict each other in a loop cost a miss for each execution, although the
    /// cache has room for both.
    #[test]
    fn conflicts_in_a_set_are_seen() {
        let unit = |number: u32, name: &str, bytes| {
            let (name, offset) = (name.to_owned(), number);
            Unit { name, offset, bytes, align: 1, fixed: false }
        };
        let units = vec![unit(0, "a", 32), unit(32, "between", 992), unit(1024, "b", 32)];
        let units = Units::new(units, 1056).expect("units that can be");
        let a_then_b = [0u32, 1024].map(|offset| Run { offset, length: 32 });
        let trace = MemoryTrace::with_image(a_then_b.repeat(500), 1056);
        let orders = [vec![0, 1, 2], vec![0, 2, 1]];
        assert_eq!(misses_in_ways(&units, &trace, 1, orders), [1000.0, 2.0]);
    }

    /// Code that was executed before a long loop is still in the cache behind it.
    #[test]
    fn a_long_loop_leaves_the_cache_as_it_was() {
        let function = |number: u32| {
            let (name, offset) = (format!("f{number}"), 32 * number);
            Unit { name, offset, bytes: 32, align: 1, fixed: false }
        };
        let units = Units::new((0..16).map(function).collect(), 512).expect("units that can be");
        let run = |number: u32| Run { offset: 32 * number, length: 32 };
        let mut runs = Vec::new();
        for round in 0..40 {
            runs.extend((0..15).map(run));
            // Its number of rounds varies, so that the outer loop is not folded.
            runs.extend([run(15), run(15)].repeat(70_000 + round));
        }
        let trace = MemoryTrace::with_image(runs, 512);
        assert_eq!(misses_in_ways(&units, &trace, 2, [(0..16).collect()]), [16.0]);
    }

    /// For every policy, the found order costs less in a replay of the whole trace, and a second search
    /// finds the same order.
    #[test]
    fn a_search_gains_and_repeats() {
        let (units, trace) = program();
        let sequence = PieceSequence::of(&units, &trace, &|| true).expect("runs in units");
        let profile = Profile::of(&units, [(&sequence, 1.0)]);
        let cost = |counts: &Counts| (counts.misses * 3 + counts.loads * 10) as f64;
        for policy in ["lru", "clock", "fifo", "min", "sieve", "fifo-sc(50%)"] {
            let task = LayoutTask {
                sequence: &sequence,
                cache: cache(policy),
                register: REGISTER,
                weight: 1.0,
                cost: &cost,
                needs_classes: false,
            };
            let tasks = [task];
            let search = Annealer::new(&units, &profile, &tasks).expect("something to search");
            let original = Order::original(&units);
            let find = || {
                let cooling = Cooling::default();
                search.anneal(&original, cooling, 1, &Evaluations(1000), &|_| ()).expect("it runs")
            };
            let (first, again) = (find(), find());
            assert_eq!(first.order, again.order, "{policy}");
            let before = cost(&exact(&units, &original, &trace, &cache(policy)));
            let after = cost(&exact(&units, &first.order, &trace, &cache(policy)));
            assert!(after < before, "{policy}: {after} of {before}");
        }
    }
}
