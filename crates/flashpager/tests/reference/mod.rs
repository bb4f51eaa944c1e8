//! The model of docs/model.md, slow and obvious: every byte is executed one by one
//! and every policy sees the whole history.
//!
//! To add a policy: one function here and one line in [`POLICIES`].

use std::collections::BTreeMap;

use flashpager::media::register::{Access, RegisterCase, RegisterDesign, RegisterModel};
use flashpager::pager::Page;
use flashpager::replay::{Counts, Fault, FaultClass};
use flashpager::trace::Run;

/// What became of one collapsed reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the first policies have no false faults")]
pub enum Outcome {
    /// The page was there.
    Hit,
    /// The page was there but marked invalid.
    FalseFault { downgrades: u64 },
    /// The page was not there.
    Miss { walk: u32, downgrades: u64 },
}

const MISS: Outcome = Outcome::Miss { walk: 0, downgrades: 0 };

/// Collapsed references, frames and parameters to one outcome a reference.
pub type Policy = fn(&[Page], usize, &[u64]) -> Vec<Outcome>;

/// The parameter lists worth testing with that many frames; none where the
/// policy cannot have so many.
pub type Samples = fn(usize) -> Vec<Vec<u64>>;

/// The policies by name.
pub const POLICIES: &[(&str, Policy, Samples)] = &[
    ("lru", lru, no_parameters),
    ("fifo", fifo, no_parameters),
    ("min", min, no_parameters),
    ("clock", clock, no_parameters),
    ("sieve", sieve, no_parameters),
    ("s3-fifo", s3_fifo, no_parameters),
    ("arc", arc, no_parameters),
    ("2q", two_q, no_parameters),
    ("lirs", lirs, no_parameters),
    ("lru-2", lru_2, no_parameters),
    ("random", random, seeds),
];

fn no_parameters(_frames: usize) -> Vec<Vec<u64>> {
    vec![vec![]]
}

fn seeds(frames: usize) -> Vec<Vec<u64>> {
    vec![vec![0], vec![u64::from(u32::MAX) - frames as u64]]
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
fn lru(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for (now, page) in references.iter().enumerate() {
        let mut latest = Vec::new();
        for earlier in references[..now].iter().rev() {
            if latest.len() == frames {
                break;
            }
            if !latest.contains(earlier) {
                latest.push(*earlier);
            }
        }
        outcomes.push(if latest.contains(page) { Outcome::Hit } else { MISS });
    }
    outcomes
}

/// A hit is a page among the last `frames` that missed.
fn fifo(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut missed: Vec<Page> = Vec::new();
    for page in references {
        if missed.iter().rev().take(frames).any(|cached| cached == page) {
            outcomes.push(Outcome::Hit);
        } else {
            missed.push(*page);
            outcomes.push(MISS);
        }
    }
    outcomes
}

/// The victim is the page whose next reference is farthest, found by looking.
fn min(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut cached: Vec<Page> = Vec::new();
    for (now, page) in references.iter().enumerate() {
        if cached.contains(page) {
            outcomes.push(Outcome::Hit);
            continue;
        }
        if cached.len() == frames {
            let next_use = |page: Page| {
                let future = &references[now + 1..];
                future.iter().position(|later| *later == page).unwrap_or(usize::MAX)
            };
            let victim = *cached.iter().max_by_key(|page| (next_use(**page), **page)).unwrap();
            cached.retain(|page| *page != victim);
        }
        cached.push(*page);
        outcomes.push(MISS);
    }
    outcomes
}

fn clock(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut ring: Vec<(Page, bool)> = Vec::new();
    let mut hand = 0;
    for page in references {
        if let Some(frame) = ring.iter().position(|(cached, _)| cached == page) {
            ring[frame].1 = true;
            outcomes.push(Outcome::Hit);
            continue;
        }
        let mut walk = 0;
        if ring.len() < frames {
            ring.push((*page, true));
        } else {
            loop {
                walk += 1;
                let here = hand;
                hand = (hand + 1) % frames;
                if !ring[here].1 {
                    ring[here] = (*page, true);
                    break;
                }
                ring[here].1 = false;
            }
        }
        outcomes.push(Outcome::Miss { walk, downgrades: 0 });
    }
    outcomes
}

/// Pages by age, oldest first, and the hand as a place among them.
fn sieve(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut cached: Vec<(Page, bool)> = Vec::new();
    let mut hand = 0;
    for page in references {
        if let Some(here) = cached.iter().position(|(known, _)| known == page) {
            cached[here].1 = true;
            outcomes.push(Outcome::Hit);
            continue;
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
        cached.push((*page, false));
        outcomes.push(Outcome::Miss { walk, downgrades: 0 });
    }
    outcomes
}

/// Queues of (page, counter), oldest first.
fn s3_fifo(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut small: Vec<(Page, u32)> = Vec::new();
    let mut main: Vec<(Page, u32)> = Vec::new();
    let mut ghosts: Vec<Page> = Vec::new();
    let share = std::cmp::max(1, frames / 10);
    for &page in references {
        if let Some((_, counter)) =
            small.iter_mut().chain(&mut main).find(|(cached, _)| *cached == page)
        {
            *counter = std::cmp::min(3, *counter + 1);
            outcomes.push(Outcome::Hit);
            continue;
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
        outcomes.push(Outcome::Miss { walk, downgrades: 0 });
    }
    outcomes
}

/// The paper's figure 4 over lists that have the least recently used page first.
fn arc(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
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
    let mut outcomes = Vec::new();
    let c = frames as i64;
    let mut all = Lists::default();
    for &x in references {
        let [t1, t2, b1, b2] =
            [&all.t1, &all.t2, &all.b1, &all.b2].map(|list: &Vec<Page>| list.len() as i64);
        let hit = all.t1.contains(&x) || all.t2.contains(&x);
        outcomes.push(if hit { Outcome::Hit } else { MISS });
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
    }
    outcomes
}

/// Every list has its oldest page first.
fn two_q(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let (mut a1_in, mut a1_out, mut am) = (Vec::new(), Vec::new(), Vec::new());
    let k_in = if frames < 8 { 1 } else { frames / 4 };
    for &page in references {
        if am.contains(&page) {
            am.retain(|known| *known != page);
            am.push(page);
            outcomes.push(Outcome::Hit);
            continue;
        }
        if a1_in.contains(&page) {
            outcomes.push(Outcome::Hit);
            continue;
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
        outcomes.push(MISS);
    }
    outcomes
}

/// The stack has its oldest page first; a ghost is a page in it that is neither LIR
/// nor resident.
fn lirs(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let (mut stack, mut lir, mut resident): (Vec<Page>, Vec<Page>, Vec<Page>) =
        (Vec::new(), Vec::new(), Vec::new());
    let most_lir = frames - if frames < 200 { 1 } else { frames / 100 };
    for &page in references {
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
        outcomes.push(if hit { Outcome::Hit } else { MISS });
    }
    outcomes
}

/// Every cached page with the times of the references that count for it, and the
/// pages evicted with the time of their last.
fn lru_2(references: &[Page], frames: usize, _: &[u64]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut cached: Vec<(Page, Vec<usize>)> = Vec::new();
    let mut evicted: Vec<(Page, usize)> = Vec::new();
    for (now, page) in references.iter().enumerate() {
        if let Some((_, times)) = cached.iter_mut().find(|(known, _)| known == page) {
            times.push(now);
            outcomes.push(Outcome::Hit);
            continue;
        }
        let mut times: Vec<usize> =
            evicted.iter().filter(|(ghost, _)| ghost == page).map(|(_, last)| *last).collect();
        evicted.retain(|(ghost, _)| ghost != page);
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
        cached.push((*page, times));
        outcomes.push(Outcome::Miss { walk, downgrades: 0 });
    }
    outcomes
}

/// Marsaglia's generator in arithmetic, without shifts.
fn random(references: &[Page], frames: usize, parameters: &[u64]) -> Vec<Outcome> {
    const WORD: u128 = 1 << 32;
    let mut outcomes = Vec::new();
    let mut cached: Vec<Page> = Vec::new();
    let mut x = match parameters[0] {
        0 => 2_463_534_242,
        seed => u128::from(seed),
    };
    for page in references {
        if cached.contains(page) {
            outcomes.push(Outcome::Hit);
            continue;
        }
        if cached.len() < frames {
            cached.push(*page);
        } else {
            x ^= x * 8_192 % WORD;
            x ^= x / 131_072;
            x ^= x * 32 % WORD;
            cached[(x * frames as u128 / WORD) as usize] = *page;
        }
        outcomes.push(MISS);
    }
    outcomes
}

/// Run a policy given by name, as in `pa-clock(13)`.
fn outcomes(policy: &str, references: &[Page], frames: usize) -> Vec<Outcome> {
    let (name, parameters) = match policy.split_once('(') {
        None => (policy, vec![]),
        Some((name, rest)) => {
            let numbers = rest.trim_end_matches(')').split(',');
            (name, numbers.map(|number| number.trim().parse().unwrap()).collect())
        }
    };
    let (_, run, _) = POLICIES.iter().find(|(known, _, _)| *known == name).unwrap();
    run(references, frames, &parameters)
}

/// The collapsed references of a trace, each with its first byte and the bytes
/// executed before it.
fn collapse(runs: &[Run], cache_page: u32) -> (Vec<Page>, Vec<(u32, u64)>) {
    let (mut pages, mut starts) = (Vec::new(), Vec::new());
    let mut executed = 0;
    for run in runs {
        for byte in run.offset..run.offset + run.length {
            let page = byte / cache_page;
            if pages.last() != Some(&page) {
                pages.push(page);
                starts.push((byte, executed));
            }
            executed += 1;
        }
    }
    (pages, starts)
}

/// The register after a request.
struct Held {
    flash_page: i64,
    next_column: i64,
    requested_column: i64,
}

/// The register table of docs/model.md, for block requests one after another.
fn accesses(blocks: &[Page], cache_page: u32, design: &RegisterDesign) -> Vec<Access> {
    use RegisterCase::{Backward, Forward, OtherPage};
    use RegisterModel::{RandomColumn, Sequential, StartColumn};

    let (b, n) = (i64::from(cache_page), i64::from(design.flash_page_bytes));
    let mut held: Option<Held> = None;
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
        let next_column = same.as_ref().map_or(0, |held| held.next_column);
        let case = match &same {
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
        };
        all.push(Access {
            case,
            load,
            column_change,
            bytes_skipped: skipped as u32,
            bytes_fetched: (skipped + end - start) as u32,
            distance: same.map(|held| ((column - held.requested_column) / b) as i32),
        });
        held = Some(Held { flash_page, next_column: end, requested_column: column });
    }
    all
}

/// What a replay gives for one register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Its counts.
    pub counts: Counts,
    /// Its faults, in order.
    pub faults: Vec<Fault>,
}

/// Replay `runs` through `frames` frames of `cache_page` bytes, with each of
/// `registers` behind them. The image ends where the farthest run ends.
pub fn replay(
    runs: &[Run],
    cache_page: u32,
    frames: usize,
    policy: &str,
    registers: &[RegisterDesign],
) -> Vec<Replayed> {
    let (pages, starts) = collapse(runs, cache_page);
    let outcomes = outcomes(policy, &pages, frames);
    assert_eq!(outcomes.len(), pages.len());

    let mut pager = Counts { references: pages.len() as u64, ..Counts::default() };
    pager.bytes_read = runs.iter().map(|run| u64::from(run.length)).sum();
    // (page, its byte, walk, bytes executed since the fault before)
    let mut misses: Vec<(Page, u32, u32, u64)> = Vec::new();
    let mut executed_at_last = 0;
    for ((page, (byte, executed)), outcome) in pages.iter().zip(starts).zip(outcomes) {
        match outcome {
            Outcome::Hit => pager.hits += 1,
            Outcome::FalseFault { downgrades } => {
                pager.false_faults += 1;
                pager.downgrades += downgrades;
            }
            Outcome::Miss { walk, downgrades } => {
                pager.misses += 1;
                pager.downgrades += downgrades;
                pager.bytes_written += u64::from(cache_page);
                pager.walk += u64::from(walk);
                pager.max_walk = pager.max_walk.max(walk);
                misses.push((*page, byte, walk, executed - executed_at_last));
                executed_at_last = executed;
            }
        }
    }

    let blocks: Vec<Page> = misses.iter().map(|(page, _, _, _)| *page).collect();
    registers
        .iter()
        .map(|design| {
            let accesses = accesses(&blocks, cache_page, design);
            let faults: Vec<Fault> = misses
                .iter()
                .zip(accesses)
                .map(|(&(page, offset, walk, bytes_executed), access)| Fault {
                    page,
                    offset,
                    access,
                    walk,
                    bytes_executed,
                })
                .collect();
            let mut counts = sum(&faults, cache_page, design.flash_page_bytes);
            counts.references = pager.references;
            counts.hits = pager.hits;
            counts.misses = pager.misses;
            counts.false_faults = pager.false_faults;
            counts.bytes_read = pager.bytes_read;
            counts.bytes_written = pager.bytes_written;
            counts.walk = pager.walk;
            counts.max_walk = pager.max_walk;
            counts.downgrades = pager.downgrades;
            Replayed { counts, faults }
        })
        .collect()
}

/// All that the faults alone tell of the counts.
pub fn sum(faults: &[Fault], cache_page: u32, flash_page: u32) -> Counts {
    let count = |which: &dyn Fn(&Fault) -> bool| faults.iter().filter(|f| which(f)).count() as u64;
    let total = |what: &dyn Fn(&Fault) -> u32| faults.iter().map(|f| u64::from(what(f))).sum();
    let mut distances: BTreeMap<i32, u64> = BTreeMap::new();
    let mut classes: BTreeMap<FaultClass, u64> = BTreeMap::new();
    let mut loads_by_flash_page: BTreeMap<u32, u64> = BTreeMap::new();
    for Fault { page, access, walk, .. } in faults {
        if let Some(distance) = access.distance {
            *distances.entry(distance).or_default() += 1;
        }
        let class = FaultClass {
            load: access.load,
            column_change: access.column_change,
            bytes_fetched: access.bytes_fetched,
            walk: *walk,
        };
        *classes.entry(class).or_default() += 1;
        if access.load {
            let flash_page_number =
                u64::from(*page) * u64::from(cache_page) / u64::from(flash_page);
            *loads_by_flash_page.entry(flash_page_number as u32).or_default() += 1;
        }
    }
    Counts {
        misses: faults.len() as u64,
        loads: count(&|f| f.access.load),
        other_page: count(&|f| f.access.case == RegisterCase::OtherPage),
        forward: count(&|f| f.access.case == RegisterCase::Forward),
        backward: count(&|f| f.access.case == RegisterCase::Backward),
        column_changes: count(&|f| f.access.column_change),
        bytes_fetched: total(&|f| f.access.bytes_fetched),
        bytes_skipped: total(&|f| f.access.bytes_skipped),
        bytes_written: faults.len() as u64 * u64::from(cache_page),
        walk: total(&|f| f.walk),
        max_walk: faults.iter().map(|f| f.walk).max().unwrap_or(0),
        distance_histogram: distances.into_iter().collect(),
        fault_classes: classes.into_iter().collect(),
        loads_by_flash_page: loads_by_flash_page.into_iter().collect(),
        ..Counts::default()
    }
}
