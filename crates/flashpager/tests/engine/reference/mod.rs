//! The model of docs/model.md, slow and obvious: bytes and words are executed one by
//! one, caches are searched from end to end, and what is no longer valid is thrown out
//! at once.
//!
//! To add a policy: one function here and one line in [`POLICIES`].

use std::collections::BTreeMap;

use flashpager::pager::{Page, Search};
use flashpager::replay::register::{Access, RegisterCase, RegisterDesign, RegisterModel};
use flashpager::replay::{
    Counts, Executed, Fault, FaultClass, HierarchyDesign, ICacheShape, TlbShape,
};
use flashpager::trace::Run;

/// What became of one reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The page was there.
    Hit,
    /// The page was there, and its bit is set again.
    BitSet,
    /// The page was there but marked invalid.
    FalseFault { downgrades: u32 },
    /// The page was not there.
    Miss { walk: u32, downgrades: u32 },
}

const MISS: Outcome = Outcome::Miss { walk: 0, downgrades: 0 };

/// One reference taken.
pub struct Step {
    /// What became of it.
    pub outcome: Outcome,
    /// All pages in frames now.
    pub cached: Vec<Page>,
    /// Those that a reference would hit now, and set no bit.
    pub usable: Vec<Page>,
}

impl Step {
    /// Where every page in a frame may be hit.
    fn all_usable(outcome: Outcome, cached: Vec<Page>) -> Self {
        Self { outcome, usable: cached.clone(), cached }
    }
}

/// A cache at work. It is told the page, and all that are needed after it.
pub type Cache = Box<dyn FnMut(Page, &[Page]) -> Step>;

/// Frames and parameters to an empty cache.
pub type Policy = fn(usize, &[u64]) -> Cache;

/// The parameter lists worth testing with that many frames; none where the
/// policy cannot have so many.
pub type Samples = fn(usize) -> Vec<Vec<u64>>;

/// The policies by name.
pub const POLICIES: &[(&str, Policy, Samples)] = &[
    ("lru", lru, no_parameters),
    ("fifo", fifo, no_parameters),
    ("min", min, no_parameters),
    ("clock", clock, no_parameters),
    ("pa-clock", pa_clock, budgets),
    ("fifo-sc", fifo_sc, valid_pages),
    ("pa-fifo-sc", pa_fifo_sc, valid_pages),
    ("sieve", sieve, no_parameters),
    ("s3-fifo", s3_fifo, no_parameters),
    ("arc", arc, no_parameters),
    ("2q", two_q, no_parameters),
    ("lirs", lirs, no_parameters),
    ("lru-2", lru_2, no_parameters),
    ("cflru", cflru, windows),
    ("random", random, seeds),
];

fn no_parameters(_frames: usize) -> Vec<Vec<u64>> {
    vec![vec![]]
}

fn seeds(frames: usize) -> Vec<Vec<u64>> {
    vec![vec![0], vec![u64::from(u32::MAX) - frames as u64]]
}

/// The first frame, whatever it is; nearly all frames; all of them once.
fn budgets(frames: usize) -> Vec<Vec<u64>> {
    different(&[1, frames / 2 + 1, frames])
}

/// Where nothing is written, one window is as another.
fn windows(frames: usize) -> Vec<Vec<u64>> {
    vec![vec![frames as u64 / 2 + 1]]
}

/// At least one page is valid, and at least one invalid.
fn valid_pages(frames: usize) -> Vec<Vec<u64>> {
    if frames < 2 { vec![] } else { different(&[1, frames / 2, frames - 1]) }
}

fn different(numbers: &[usize]) -> Vec<Vec<u64>> {
    let mut lists: Vec<Vec<u64>> = numbers.iter().map(|number| vec![*number as u64]).collect();
    lists.dedup();
    lists
}

/// Every policy worth testing with that many frames, as the engine spells it.
pub fn policies(frames: usize) -> Vec<String> {
    let mut all = Vec::new();
    for (name, _, samples) in POLICIES {
        for parameters in samples(frames) {
            let numbers: Vec<String> = parameters.iter().map(u64::to_string).collect();
            all.push(match parameters.len() {
                0 => name.to_string(),
                _ => format!("{name}({})", numbers.join(",")),
            });
        }
    }
    all
}

/// A hit is a page among the last `frames` different ones.
fn lru(frames: usize, _: &[u64]) -> Cache {
    let mut history: Vec<Page> = Vec::new();
    Box::new(move |page, _| {
        let mut latest = Vec::new();
        for earlier in history.iter().rev() {
            if latest.len() == frames {
                break;
            }
            if !latest.contains(earlier) {
                latest.push(*earlier);
            }
        }
        history.push(page);
        let outcome = if latest.contains(&page) { Outcome::Hit } else { MISS };
        latest.retain(|known| *known != page);
        latest.insert(0, page);
        latest.truncate(frames);
        Step::all_usable(outcome, latest)
    })
}

/// A hit is a page among the last `frames` that missed.
fn fifo(frames: usize, _: &[u64]) -> Cache {
    let mut missed: Vec<Page> = Vec::new();
    Box::new(move |page, _| {
        let hit = missed.iter().rev().take(frames).any(|cached| *cached == page);
        if !hit {
            missed.push(page);
        }
        let cached = missed.iter().rev().take(frames).copied().collect();
        Step::all_usable(if hit { Outcome::Hit } else { MISS }, cached)
    })
}

/// The victim is the page whose next reference is farthest, found by looking.
fn min(frames: usize, _: &[u64]) -> Cache {
    let mut cached: Vec<Page> = Vec::new();
    Box::new(move |page, future| {
        let outcome = 'outcome: {
            if cached.contains(&page) {
                break 'outcome Outcome::Hit;
            }
            if cached.len() == frames {
                let next_use = |page: Page| {
                    future.iter().position(|later| *later == page).unwrap_or(usize::MAX)
                };
                let victim = *cached.iter().max_by_key(|page| (next_use(**page), **page)).unwrap();
                cached.retain(|page| *page != victim);
            }
            cached.push(page);
            MISS
        };
        Step::all_usable(outcome, cached.clone())
    })
}

/// A frame of a ring: its page and its reference bit.
type Frame = (Page, bool);

/// Where the page is, its bit is set; tells whether it was clear.
fn touch(ring: &mut [Frame], page: Page) -> Option<Outcome> {
    let frame = ring.iter_mut().find(|(cached, _)| *cached == page)?;
    let was_set = std::mem::replace(&mut frame.1, true);
    Some(if was_set { Outcome::Hit } else { Outcome::BitSet })
}

/// The pages whose bit is set.
fn with_bit(ring: &[Frame]) -> Vec<Page> {
    ring.iter().filter(|(_, bit)| *bit).map(|(page, _)| *page).collect()
}

fn pages_of(ring: &[Frame]) -> Vec<Page> {
    ring.iter().map(|(page, _)| *page).collect()
}

fn clock(frames: usize, _: &[u64]) -> Cache {
    let mut ring: Vec<Frame> = Vec::new();
    let mut hand = 0;
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if let Some(outcome) = touch(&mut ring, page) {
                break 'outcome outcome;
            }
            let mut walk = 0;
            if ring.len() < frames {
                ring.push((page, true));
            } else {
                loop {
                    walk += 1;
                    let here = hand;
                    hand = (hand + 1) % frames;
                    if !ring[here].1 {
                        ring[here] = (page, true);
                        break;
                    }
                    ring[here].1 = false;
                }
            }
            Outcome::Miss { walk, downgrades: 0 }
        };
        Step { outcome, cached: pages_of(&ring), usable: with_bit(&ring) }
    })
}

/// The victim is the first frame looked at whose bit is clear, or else the last one that
/// may be looked at.
fn pa_clock(frames: usize, parameters: &[u64]) -> Cache {
    let budget = parameters[0];
    let mut ring: Vec<Frame> = Vec::new();
    let mut hand = 0;
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if let Some(outcome) = touch(&mut ring, page) {
                break 'outcome outcome;
            }
            if ring.len() < frames {
                ring.push((page, true));
                break 'outcome MISS;
            }
            for looked_at in 1..=budget {
                let place = (hand + looked_at as usize - 1) % frames;
                if looked_at < budget && ring[place].1 {
                    ring[place].1 = false;
                    continue;
                }
                ring[place] = (page, true);
                hand = (place + 1) % frames;
                break 'outcome Outcome::Miss { walk: looked_at as u32, downgrades: 0 };
            }
            panic!("a budget of {budget}")
        };
        Step { outcome, cached: pages_of(&ring), usable: with_bit(&ring) }
    })
}

fn fifo_sc(frames: usize, parameters: &[u64]) -> Cache {
    two_lists(frames, parameters[0] as usize, true)
}

fn pa_fifo_sc(frames: usize, parameters: &[u64]) -> Cache {
    two_lists(frames, parameters[0] as usize, false)
}

/// FIFO with second chance: the lists have their heads first. A false fault moves pages
/// down `at_once`, or leaves that to the next true fault.
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
            Outcome::Hit
        } else if invalid.contains(&page) {
            invalid.retain(|known| *known != page);
            valid.push(page);
            let downgrades = if at_once { move_down(&mut valid, &mut invalid) } else { 0 };
            Outcome::FalseFault { downgrades }
        } else {
            let mut downgrades = move_down(&mut valid, &mut invalid);
            if valid.len() + invalid.len() == frames {
                invalid.remove(0);
            }
            valid.push(page);
            downgrades += move_down(&mut valid, &mut invalid);
            Outcome::Miss { walk: 0, downgrades }
        };
        if !seen.contains(&page) {
            seen.push(page);
        }
        // No frame is lost, and no page is in two.
        assert_eq!(valid.len() + invalid.len(), frames.min(seen.len()));
        assert!(valid.iter().all(|page| !invalid.contains(page)));
        Step { outcome, cached: [&valid[..], &invalid[..]].concat(), usable: valid.clone() }
    })
}

/// Pages by age, oldest first, and the hand as a place among them.
fn sieve(frames: usize, _: &[u64]) -> Cache {
    let mut cached: Vec<Frame> = Vec::new();
    let mut hand = 0;
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if let Some(here) = cached.iter().position(|(known, _)| *known == page) {
                cached[here].1 = true;
                break 'outcome Outcome::Hit;
            }
            let mut walk = 0;
            if cached.len() == frames {
                walk = 1;
                while cached[hand].1 {
                    cached[hand].1 = false;
                    hand = (hand + 1) % frames;
                    walk += 1;
                }
                cached.remove(hand);
                if hand == cached.len() {
                    hand = 0;
                }
            }
            cached.push((page, false));
            Outcome::Miss { walk, downgrades: 0 }
        };
        Step { outcome, cached: pages_of(&cached), usable: with_bit(&cached) }
    })
}

/// Queues of (page, counter), oldest first.
fn s3_fifo(frames: usize, _: &[u64]) -> Cache {
    let mut small: Vec<(Page, u32)> = Vec::new();
    let mut main: Vec<(Page, u32)> = Vec::new();
    let mut ghosts: Vec<Page> = Vec::new();
    let share = std::cmp::max(1, frames / 10);
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if let Some((_, counter)) =
                small.iter_mut().chain(&mut main).find(|(cached, _)| *cached == page)
            {
                *counter = std::cmp::min(3, *counter + 1);
                break 'outcome Outcome::Hit;
            }
            let was_ghost = ghosts.contains(&page);
            ghosts.retain(|ghost| *ghost != page);
            let mut walk = 0;
            while small.len() + main.len() == frames {
                walk += 1;
                if small.len() < share {
                    let (oldest, counter) = main.remove(0);
                    if counter > 0 {
                        main.push((oldest, counter - 1));
                    }
                    continue;
                }
                let (oldest, counter) = small.remove(0);
                if counter > 1 {
                    main.push((oldest, 0));
                } else {
                    ghosts.push(oldest);
                    if ghosts.len() > frames - share {
                        ghosts.remove(0);
                    }
                }
            }
            if was_ghost {
                main.push((page, 0));
            } else {
                small.push((page, 0));
            }
            Outcome::Miss { walk, downgrades: 0 }
        };
        let cached = small.iter().chain(&main).map(|(page, _)| *page).collect();
        Step::all_usable(outcome, cached)
    })
}

/// The paper's figure 4 over lists that have the least recently used page first.
fn arc(frames: usize, _: &[u64]) -> Cache {
    #[derive(Default)]
    struct Lists {
        t1: Vec<Page>,
        t2: Vec<Page>,
        b1: Vec<Page>,
        b2: Vec<Page>,
        p: i64,
    }
    impl Lists {
        fn replace(&mut self, page: Page) {
            let t1 = self.t1.len() as i64;
            if t1 >= 1 && (t1 > self.p || (self.b2.contains(&page) && t1 == self.p)) {
                self.b1.push(self.t1.remove(0));
            } else {
                self.b2.push(self.t2.remove(0));
            }
        }
    }
    let c = frames as i64;
    let mut all = Lists::default();
    Box::new(move |x, _| {
        let outcome = {
            let [t1, t2, b1, b2] =
                [&all.t1, &all.t2, &all.b1, &all.b2].map(|list: &Vec<Page>| list.len() as i64);
            let hit = all.t1.contains(&x) || all.t2.contains(&x);
            if hit {
                all.t1.retain(|page| *page != x);
                all.t2.retain(|page| *page != x);
                all.t2.push(x);
            } else if all.b1.contains(&x) {
                all.p = c.min(all.p + if b1 >= b2 { 1 } else { b2 / b1 });
                all.replace(x);
                all.b1.retain(|page| *page != x);
                all.t2.push(x);
            } else if all.b2.contains(&x) {
                all.p = 0.max(all.p - if b2 >= b1 { 1 } else { b1 / b2 });
                all.replace(x);
                all.b2.retain(|page| *page != x);
                all.t2.push(x);
            } else {
                if t1 + b1 == c && t1 < c {
                    all.b1.remove(0);
                    all.replace(x);
                } else if t1 + b1 == c {
                    assert!(all.b1.is_empty());
                    all.t1.remove(0);
                } else if t1 + t2 + b1 + b2 >= c {
                    if t1 + t2 + b1 + b2 == 2 * c {
                        all.b2.remove(0);
                    }
                    all.replace(x);
                }
                all.t1.push(x);
            }
            assert!(all.t1.len() + all.t2.len() <= frames);
            assert!(all.b1.len() + all.b2.len() <= frames);
            if hit { Outcome::Hit } else { MISS }
        };
        Step::all_usable(outcome, [&all.t1[..], &all.t2[..]].concat())
    })
}

/// Every list has its oldest page first.
fn two_q(frames: usize, _: &[u64]) -> Cache {
    let (mut a1_in, mut a1_out, mut am) = (Vec::new(), Vec::new(), Vec::new());
    let k_in = if frames < 8 { 1 } else { frames / 4 };
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if am.contains(&page) {
                am.retain(|known| *known != page);
                am.push(page);
                break 'outcome Outcome::Hit;
            }
            if a1_in.contains(&page) {
                break 'outcome Outcome::Hit;
            }
            let missed_before = a1_out.contains(&page);
            a1_out.retain(|known| *known != page);
            if a1_in.len() + am.len() == frames {
                if am.is_empty() || a1_in.len() > k_in {
                    a1_out.push(a1_in.remove(0));
                } else {
                    am.remove(0);
                }
            }
            while 2 * a1_out.len() > frames {
                a1_out.remove(0);
            }
            if missed_before {
                am.push(page)
            } else {
                a1_in.push(page)
            }
            MISS
        };
        Step::all_usable(outcome, [&a1_in[..], &am[..]].concat())
    })
}

/// The stack has its oldest page first; a ghost is a page in it that is neither LIR
/// nor resident.
fn lirs(frames: usize, _: &[u64]) -> Cache {
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
            if hit { Outcome::Hit } else { MISS }
        };
        Step::all_usable(outcome, [&lir[..], &resident[..]].concat())
    })
}

/// Every cached page with the times of the references that count for it, and the
/// pages evicted with the time of their last.
fn lru_2(frames: usize, _: &[u64]) -> Cache {
    let mut cached: Vec<(Page, Vec<usize>)> = Vec::new();
    let mut evicted: Vec<(Page, usize)> = Vec::new();
    let mut now = 0;
    Box::new(move |page, _| {
        now += 1;
        let outcome = 'outcome: {
            if let Some((_, times)) = cached.iter_mut().find(|(known, _)| *known == page) {
                times.push(now);
                break 'outcome Outcome::Hit;
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
            Outcome::Miss { walk, downgrades: 0 }
        };
        Step::all_usable(outcome, cached.iter().map(|(page, _)| *page).collect())
    })
}

fn cflru(frames: usize, parameters: &[u64]) -> Cache {
    let mut cache = CleanFirst::new(frames, parameters[0] as usize);
    Box::new(move |page, _| cache.reference(page))
}

/// CFLRU with all that was ever done to its pages.
pub struct CleanFirst {
    frames: usize,
    window: usize,
    cached: Vec<Page>,
    /// What was done to which page, the latest last.
    history: Vec<(Done, Page)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    CameIn,
    Used,
    Written,
    Cleaned,
}

impl CleanFirst {
    /// An empty cache.
    pub fn new(frames: usize, window: usize) -> Self {
        Self { frames, window, cached: Vec::new(), history: Vec::new() }
    }

    /// A reference.
    pub fn reference(&mut self, page: Page) -> Step {
        let outcome = if self.cached.contains(&page) {
            self.history.push((Done::Used, page));
            Outcome::Hit
        } else {
            let mut walk = 0;
            if self.cached.len() == self.frames {
                let mut oldest_first = self.cached.clone();
                oldest_first.sort_by_key(|page| self.last(*page, &[Done::CameIn, Done::Used]));
                oldest_first.truncate(self.window);
                let clean = oldest_first.iter().position(|page| !self.is_dirty(*page));
                walk = clean.map_or(oldest_first.len(), |place| place + 1) as u32;
                let victim = oldest_first[clean.unwrap_or(0)];
                self.cached.retain(|page| *page != victim);
            }
            self.cached.push(page);
            self.history.push((Done::CameIn, page));
            Outcome::Miss { walk, downgrades: 0 }
        };
        Step::all_usable(outcome, self.cached.clone())
    }

    /// The page was written to.
    pub fn written(&mut self, page: Page) {
        self.history.push((Done::Written, page));
    }

    /// The page was written back.
    pub fn cleaned(&mut self, page: Page) {
        self.history.push((Done::Cleaned, page));
    }

    /// Of a page in a frame: the last of coming in, writing and cleaning tells.
    fn is_dirty(&self, page: Page) -> bool {
        let last = self.last(page, &[Done::CameIn, Done::Written, Done::Cleaned]);
        last.is_some_and(|moment| self.history[moment].0 == Done::Written)
    }

    /// When one of these was last done to the page.
    fn last(&self, page: Page, wanted: &[Done]) -> Option<usize> {
        self.history.iter().rposition(|(done, of)| *of == page && wanted.contains(done))
    }
}

/// Marsaglia's generator in arithmetic, without shifts.
fn random(frames: usize, parameters: &[u64]) -> Cache {
    const WORD: u128 = 1 << 32;
    let mut cached: Vec<Page> = Vec::new();
    let mut x = match parameters[0] {
        0 => 2_463_534_242,
        seed => u128::from(seed),
    };
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if cached.contains(&page) {
                break 'outcome Outcome::Hit;
            }
            if cached.len() < frames {
                cached.push(page);
            } else {
                x ^= x * 8_192 % WORD;
                x ^= x / 131_072;
                x ^= x * 32 % WORD;
                cached[(x * frames as u128 / WORD) as usize] = page;
            }
            MISS
        };
        Step::all_usable(outcome, cached.clone())
    })
}

/// The cache of a policy given by name, as in `pa-clock(13)` or `fifo-sc(50%)`.
pub fn cache_of(policy: &str, frames: usize) -> Cache {
    let (name, written) = policy.trim_end_matches(')').split_once('(').unwrap_or((policy, ""));
    let number = |written: &str| match written.trim().strip_suffix('%') {
        None => written.trim().parse().unwrap(),
        Some(percent) => std::cmp::max(1, frames as u64 * percent.parse::<u64>().unwrap() / 100),
    };
    let parameters: Vec<u64> =
        written.split(',').filter(|written| !written.is_empty()).map(number).collect();
    let (_, new, _) = POLICIES.iter().find(|(known, _, _)| *known == name).unwrap();
    new(frames, &parameters)
}

/// Something of a page is needed out of its frame.
struct Need {
    page: Page,
    /// The first byte of it to be executed.
    offset: u32,
    /// Bytes executed and words fetched before it.
    bytes: u64,
    words: u64,
}

/// Tags in ways in sets; sets are filled round robin.
struct Sets {
    ways: Vec<Vec<Option<u32>>>,
    next_way: Vec<usize>,
}

impl Sets {
    fn new(sets: u32, ways: u32) -> Self {
        let ways = vec![vec![None; ways as usize]; sets as usize];
        Self { next_way: vec![0; ways.len()], ways }
    }

    fn knows(&self, tag: u32) -> bool {
        self.ways[tag as usize % self.ways.len()].contains(&Some(tag))
    }

    fn take(&mut self, tag: u32) {
        let set = tag as usize % self.ways.len();
        let way = self.next_way[set];
        self.ways[set][way] = Some(tag);
        self.next_way[set] = (way + 1) % self.ways[set].len();
    }

    /// Leave the ways of all others empty.
    fn keep_only(&mut self, tags: &[u32]) {
        for way in self.ways.iter_mut().flatten() {
            *way = way.filter(|tag| tags.contains(tag));
        }
    }
}

/// Without an instruction cache every byte is needed out of a frame. The first one of
/// `granule` bytes stands for those executed right behind it.
fn bytes_needed(runs: &[Run], cache_page: u32, granule: u32) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    let (mut bytes, mut previous) = (0, None);
    for run in runs {
        for byte in run.offset..run.offset + run.length {
            if previous != Some(byte / granule) {
                needs.push(Need { page: byte / cache_page, offset: byte, bytes, words: 0 });
            }
            previous = Some(byte / granule);
            bytes += 1;
        }
    }
    needs
}

/// The lines that are refilled.
fn lines_needed(runs: &[Run], cache_page: u32, icache: &ICacheShape) -> Vec<Need> {
    let ICacheShape { cache_bytes, line_bytes, ways } = *icache;
    let mut cached = Sets::new(cache_bytes / line_bytes / ways, ways);
    let mut needs: Vec<Need> = Vec::new();
    let (mut bytes, mut words) = (0, 0);
    for run in runs {
        let (first, last) = (run.offset / 4, (run.offset + run.length - 1) / 4);
        for word in first..=last {
            let line = word * 4 / line_bytes;
            if !cached.knows(line) {
                cached.take(line);
                let offset = std::cmp::max(run.offset, word * 4);
                let bytes = bytes + u64::from(offset - run.offset);
                needs.push(Need { page: offset / cache_page, offset, bytes, words });
            }
            words += 1;
        }
        bytes += u64::from(run.length);
    }
    needs
}

/// A miss, before any register has served it.
struct Missed {
    page: Page,
    offset: u32,
    search: Search,
    executed: Executed,
    left: Option<Executed>,
}

/// What comes out of the page cache and what stands in front of it.
struct Paged {
    counts: Counts,
    missed: Vec<Missed>,
    rest: Executed,
}

fn paged(setup: &Setup<'_>) -> Paged {
    let Setup { runs, cache_page, frames, policy, hierarchy, critical, .. } = *setup;
    let mut cache = cache_of(policy, frames);
    let mut tlb = hierarchy
        .and_then(|hierarchy| hierarchy.tlb)
        .map(|TlbShape { sets, ways }| Sets::new(sets, ways));
    let needs = match &hierarchy {
        None => bytes_needed(runs, cache_page, critical.unwrap_or(cache_page)),
        Some(hierarchy) => lines_needed(runs, cache_page, &hierarchy.icache),
    };
    let pages: Vec<Page> = needs.iter().map(|need| need.page).collect();

    let mut counts = Counts::default();
    let mut missed: Vec<Missed> = Vec::new();
    let (mut now, mut at_fault) = (Executed::default(), Executed::default());
    for (index, need) in needs.iter().enumerate() {
        now.bytes = need.bytes;
        now.words = need.words;
        now.line_refills += u64::from(hierarchy.is_some());
        let is_new = index == 0 || pages[index - 1] != need.page;
        let is_reference = is_new && tlb.as_ref().is_none_or(|tlb| !tlb.knows(need.page));
        let mut is_fault = false;
        if is_reference {
            now.references += 1;
            now.tlb_misses += u64::from(tlb.is_some());
            let Step { outcome, usable, .. } = cache(need.page, &pages[index + 1..]);
            assert!(usable.len() <= frames);
            if let Some(tlb) = &mut tlb {
                tlb.keep_only(&usable);
                if usable.contains(&need.page) {
                    tlb.take(need.page);
                }
            }
            match outcome {
                Outcome::Hit => counts.hits += 1,
                Outcome::BitSet => {
                    counts.hits += 1;
                    now.reference_bits_set += 1;
                }
                Outcome::FalseFault { downgrades } => {
                    counts.downgrades += u64::from(downgrades);
                    counts.false_fault_downgrades += u64::from(downgrades);
                    now.false_faults += 1;
                    now.downgrades += u64::from(downgrades);
                }
                Outcome::Miss { walk, downgrades } => {
                    counts.downgrades += u64::from(downgrades);
                    is_fault = true;
                    let (page, offset) = (need.page, need.offset);
                    let search = Search { walk, downgrades };
                    let executed = now - at_fault;
                    missed.push(Missed { page, offset, search, executed, left: None });
                    at_fault = now;
                }
            }
        }
        let last = missed.last_mut().filter(|last| last.page == need.page && !is_fault);
        if let (Some(last), Some(critical)) = (last, critical)
            && last.left.is_none()
            && last.offset / critical != need.offset / critical
        {
            last.left = Some(now - at_fault);
        }
    }
    now.bytes = runs.iter().map(|run| u64::from(run.length)).sum();
    if hierarchy.is_some() {
        let words = |run: &Run| (run.offset + run.length - 1) / 4 - run.offset / 4 + 1;
        now.words = runs.iter().map(|run| u64::from(words(run))).sum();
    }
    counts.references = now.references;
    counts.false_faults = now.false_faults;
    counts.reference_bits_set = now.reference_bits_set;
    counts.bytes_read = now.bytes;
    counts.words = now.words;
    counts.line_refills = now.line_refills;
    counts.tlb_misses = now.tlb_misses;
    Paged { counts, missed, rest: now - at_fault }
}

/// The register after a request.
#[derive(Clone, Copy)]
struct Held {
    flash_page: i64,
    next_column: i64,
    requested_column: i64,
}

/// The register table of docs/model.md, for block requests one after another into an
/// image of `image` bytes.
fn accesses(blocks: &[Page], cache_page: u32, image: u32, design: &RegisterDesign) -> Vec<Access> {
    use RegisterCase::{Backward, Forward, OtherBuffer, OtherPage};
    use RegisterModel::{
        DoubleBuffer, DoubleBufferPrefetch, RandomColumn, Sequential, StartColumn,
    };

    let (b, n) = (i64::from(cache_page), i64::from(design.flash_page_bytes));
    let two_buffers = [DoubleBuffer, DoubleBufferPrefetch].contains(&design.model);
    let mut held: Option<Held> = None;
    let mut other_buffer: Option<i64> = None;
    let mut all = Vec::new();
    for block in blocks {
        let flash_page = i64::from(*block) * b / n;
        let column = i64::from(*block) * b % n;
        let (mut start, mut end) = (column, column + b);
        if let Some(w) = design.codeword_bytes.map(i64::from) {
            while start % w != 0 {
                start -= 1;
            }
            while end % w != 0 {
                end += 1;
            }
        }
        let same = held.filter(|held| held.flash_page == flash_page);
        let next_column = same.map_or(0, |held| held.next_column);
        let case = match &same {
            None if two_buffers && other_buffer == Some(flash_page) => OtherBuffer,
            None => OtherPage,
            Some(held) if start >= held.next_column => Forward,
            Some(_) => Backward,
        };
        let (load, skipped, column_change) = match (design.model, case) {
            (Sequential, OtherPage | Backward) => (true, start, false),
            (Sequential, Forward) => (false, start - next_column, false),
            (StartColumn, OtherPage | Backward) => (true, 0, false),
            (StartColumn, Forward) => (false, start - next_column, false),
            (RandomColumn, OtherPage) => (true, 0, false),
            (RandomColumn, Forward) => (false, 0, start != next_column),
            (RandomColumn, Backward) => (false, 0, true),
            (DoubleBuffer | DoubleBufferPrefetch, OtherPage) => (true, 0, false),
            (DoubleBuffer | DoubleBufferPrefetch, _) => (false, 0, false),
            (_, OtherBuffer) => panic!("{design:?} has one buffer"),
        };
        if same.is_none() {
            other_buffer = held.map(|held| held.flash_page);
        }
        let behind = flash_page + 1;
        let prefetches = design.model == DoubleBufferPrefetch
            && other_buffer != Some(behind)
            && behind * n < i64::from(image);
        if prefetches {
            other_buffer = Some(behind);
        }
        all.push(Access {
            case,
            load,
            column_change,
            bytes_skipped: skipped as u32,
            bytes_fetched: (skipped + end - start) as u32,
            distance: same.map(|held| ((column - held.requested_column) / b) as i32),
            prefetch: prefetches.then_some(behind as u32),
        });
        held = Some(Held { flash_page, next_column: end, requested_column: column });
    }
    all
}

/// What is replayed.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The trace; the image ends where the farthest run ends.
    pub runs: &'a [Run],
    /// Bytes of a cache page.
    pub cache_page: u32,
    /// Frames in the cache.
    pub frames: usize,
    /// The policy, as the engine spells it.
    pub policy: &'a str,
    /// What stands in front.
    pub hierarchy: Option<HierarchyDesign>,
    /// What of a page is fetched first.
    pub critical: Option<u32>,
    /// What is behind it.
    pub registers: &'a [RegisterDesign],
}

/// What a replay gives for one register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Its counts.
    pub counts: Counts,
    /// Its faults, in order.
    pub faults: Vec<Fault>,
    /// What was done after the last one.
    pub rest: Executed,
}

/// Replay it, with each of its registers.
pub fn replay(setup: &Setup<'_>) -> Vec<Replayed> {
    let Setup { runs, cache_page, .. } = *setup;
    let Paged { counts: pager, missed, rest } = paged(setup);
    let image = runs.iter().map(|run| run.offset + run.length).max().unwrap_or(0);
    let blocks: Vec<Page> = missed.iter().map(|missed| missed.page).collect();
    let with_register = |design: &RegisterDesign| {
        let fault = |(missed, access): (&Missed, Access)| {
            let Missed { page, offset, search, executed, left } = *missed;
            Fault { page, offset, access, search, executed, left }
        };
        let accesses = accesses(&blocks, cache_page, image, design);
        let faults: Vec<Fault> = missed.iter().zip(accesses).map(fault).collect();
        let counts = with_sums(&pager, &faults, cache_page, design.flash_page_bytes);
        Replayed { counts, faults, rest }
    };
    setup.registers.iter().map(with_register).collect()
}

/// The counts of `pager` with all that the faults alone tell of them.
pub fn with_sums(pager: &Counts, faults: &[Fault], cache_page: u32, flash_page: u32) -> Counts {
    let count = |which: &dyn Fn(&Fault) -> bool| faults.iter().filter(|f| which(f)).count() as u64;
    let total = |what: &dyn Fn(&Fault) -> u32| faults.iter().map(|f| u64::from(what(f))).sum();
    let mut distances: BTreeMap<i32, u64> = BTreeMap::new();
    let mut classes: BTreeMap<FaultClass, u64> = BTreeMap::new();
    let mut loads_by_flash_page: BTreeMap<u32, u64> = BTreeMap::new();
    for Fault { page, access, search, .. } in faults {
        if let Some(distance) = access.distance {
            *distances.entry(distance).or_default() += 1;
        }
        let class = FaultClass {
            load: access.load,
            column_change: access.column_change,
            bytes_fetched: access.bytes_fetched,
            search: *search,
        };
        *classes.entry(class).or_default() += 1;
        if access.load {
            let flash_page_number =
                u64::from(*page) * u64::from(cache_page) / u64::from(flash_page);
            *loads_by_flash_page.entry(flash_page_number as u32).or_default() += 1;
        }
        if let Some(ahead) = access.prefetch {
            *loads_by_flash_page.entry(ahead).or_default() += 1;
        }
    }
    let of_case = |case: RegisterCase| count(&|f| f.access.case == case);
    Counts {
        misses: faults.len() as u64,
        loads: count(&|f| f.access.load),
        prefetches: count(&|f| f.access.prefetch.is_some()),
        other_page: of_case(RegisterCase::OtherPage),
        other_buffer: of_case(RegisterCase::OtherBuffer),
        forward: of_case(RegisterCase::Forward),
        backward: of_case(RegisterCase::Backward),
        column_changes: count(&|f| f.access.column_change),
        bytes_fetched: total(&|f| f.access.bytes_fetched),
        bytes_skipped: total(&|f| f.access.bytes_skipped),
        bytes_written: faults.len() as u64 * u64::from(cache_page),
        walk: total(&|f| f.search.walk),
        max_walk: faults.iter().map(|f| f.search.walk).max().unwrap_or(0),
        distance_histogram: distances.into_iter().collect(),
        fault_classes: classes.into_iter().collect(),
        loads_by_flash_page: loads_by_flash_page.into_iter().collect(),
        ..pager.clone()
    }
}
