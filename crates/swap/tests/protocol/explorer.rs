//! Explores every run of the store, breadth first over power cuts.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::medium::{MetaPair, ModelBlock, ModelMedium, NONE, Oracle, PAIRS, PageContent, Powers};
use crate::store::{EarlyEnd, ModelStore, Protocol};

/// Bounds of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Cuts, and mounts of a store that was left without a cut.
    pub cuts: usize,
    pub failures: u8,
    /// A flaky page may change between two reads of one mount.
    pub restless: bool,
    /// A flaky page may read as blank.
    pub blank: bool,
    /// Syncs between two cuts.
    pub syncs: u8,
    pub states: usize,
}

/// The state of medium and store between two steps.
#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    blocks: Vec<ModelBlock>,
    /// The running store. `None` while the power is off.
    store: Option<ModelStore>,
    /// The version that a mount must restore, and another one that it may restore.
    served: u8,
    pending: u8,
    failures: u8,
    syncs: u8,
}

#[derive(Clone)]
enum ExploredStep {
    Start,
    Leave,
    /// A sync or a mount: the script of its choices, and whether it could be cut.
    Run(Vec<u8>, bool),
}

/// Result of an exploration.
pub struct Exploration {
    pub states: usize,
    pub runs: usize,
    /// States first reached after each number of cuts.
    pub layers: Vec<usize>,
    pub complete: bool,
    pub counterexample: Option<String>,
    /// Cuts in the counterexample.
    pub depth: usize,
}

impl World {
    fn pairs(&mut self) -> impl Iterator<Item = &mut MetaPair> {
        let pages = self.blocks.iter_mut().flat_map(|block| block.pages.iter_mut());
        let pages = pages.filter_map(|page| match page {
            PageContent::Complete(pair) | PageContent::Flaky(pair) => Some(pair),
            _ => None,
        });
        pages.chain(self.store.as_mut().map(|store| &mut store.last))
    }

    /// Replaces generations and versions by the least equivalent numbers. For generations only order
    /// and distance matter, for versions only equality.
    fn canonical(&mut self) {
        let mut least = u8::MAX;
        let mut versions = vec![self.served];
        for pair in self.pairs() {
            least = least.min(pair.generation);
            least = pair.link.map_or(least, |link| least.min(link.generation));
            versions.extend([pair.version, pair.before]);
        }
        versions.push(self.pending);
        for block in &mut self.blocks {
            if let PageContent::Data(version) = block.pages[0] {
                versions.push(version);
            }
        }
        versions.retain(|&version| version != NONE);
        versions.sort_unstable();
        versions.dedup();
        let rank = |version: &mut u8| {
            if let Ok(at) = versions.binary_search(version) {
                *version = at as u8;
            }
        };
        rank(&mut self.served);
        rank(&mut self.pending);
        if let Some(store) = &mut self.store {
            store.top = store.top.saturating_sub(least - 1);
        }
        for pair in self.pairs() {
            pair.generation -= least - 1;
            if let Some(link) = &mut pair.link {
                link.generation -= least - 1;
            }
            rank(&mut pair.version);
            rank(&mut pair.before);
        }
        for block in &mut self.blocks {
            if let PageContent::Data(version) = &mut block.pages[0] {
                rank(version);
            }
        }
    }

    fn fresh(&self) -> u8 {
        let mut copy = self.clone();
        let mut top =
            if self.pending == NONE { self.served } else { self.served.max(self.pending) };
        for pair in copy.pairs() {
            top = top.max(pair.version);
        }
        for block in &self.blocks {
            if let PageContent::Data(version) = block.pages[0] {
                top = top.max(version);
            }
        }
        top + 1
    }
}

pub struct Explorer {
    pub protocol: Protocol,
    pub bounds: Bounds,
}

enum StepResult {
    Next(World),
    /// The store has no space for good.
    Full,
    Broken(String),
}

impl Explorer {
    fn start(&self) -> World {
        let blank = ModelBlock { bad: false, pages: [PageContent::Blank; 2 * PAIRS] };
        let mut blocks = vec![blank; self.protocol.blocks];
        let mut oracle = Oracle::default();
        let powers = Powers { cut: false, fail: false, restless: false, blank: false };
        let mut medium = ModelMedium::new(&mut blocks, &mut oracle, powers, None);
        let store = self.protocol.format(&mut medium).expect("nothing fails here");
        World { blocks, store: Some(store), served: 0, pending: NONE, failures: 0, syncs: 0 }
    }

    /// Runs one step of `state` under a script. The returned oracle has the choices for the next
    /// script.
    fn run_step(
        &self,
        state: &World,
        script: Vec<u8>,
        cut: bool,
        mut log: Option<&mut Vec<String>>,
    ) -> (Oracle, StepResult) {
        let mut next = state.clone();
        let mut oracle = Oracle::follow(script);
        let powers = Powers {
            cut,
            fail: state.failures < self.bounds.failures,
            restless: self.bounds.restless,
            blank: self.bounds.blank,
        };
        if let Some(log) = &mut log {
            log.push(match &state.store {
                Some(_) => format!("  sync of v{}", state.fresh()),
                None if state.pending == NONE => format!("  mount, v{} expected", state.served),
                None => format!("  mount, v{} or v{} expected", state.served, state.pending),
            });
        }
        let version = state.fresh();
        let mut store = next.store.take();
        let mut medium = ModelMedium::new(&mut next.blocks, &mut oracle, powers, log);
        let result = match &mut store {
            Some(store) => self.protocol.sync(&mut medium, store, version).map(|()| store.clone()),
            None => self.protocol.mount(&mut medium),
        };
        next.failures += medium.failures;
        let syncing = store.is_some();
        let end = match result {
            Ok(now) => {
                medium.log_line(|| format!("    returns v{}", now.last.version));
                let served = now.last.version;
                let allowed = if syncing {
                    served == version
                } else {
                    served == state.served || (served == state.pending && served != NONE)
                };
                let data = next.blocks[now.last.data as usize].pages[0];
                if !allowed {
                    StepResult::Broken(format!("v{served} is served"))
                } else if data != PageContent::Data(served) {
                    StepResult::Broken(format!(
                        "data of v{served} is gone from block {}",
                        now.last.data
                    ))
                } else {
                    next.served = served;
                    next.pending = NONE;
                    next.syncs = if syncing { state.syncs + 1 } else { 0 };
                    next.store = Some(now);
                    StepResult::Next(next)
                }
            }
            Err(EarlyEnd::PowerCut) => {
                if syncing {
                    next.pending = version;
                }
                next.syncs = 0;
                StepResult::Next(next)
            }
            Err(EarlyEnd::Full) if next.failures > 0 || syncing => StepResult::Full,
            Err(EarlyEnd::Full) => {
                StepResult::Broken("mount is stuck: no block to go on in".into())
            }
            Err(EarlyEnd::Broken(reason)) => StepResult::Broken(reason),
        };
        (oracle, end)
    }

    pub fn explore(&self) -> Exploration {
        let mut exploration = Exploration {
            states: 0,
            runs: 0,
            layers: Vec::new(),
            complete: true,
            counterexample: None,
            depth: 0,
        };
        let mut seen: HashSet<u128> = HashSet::new();
        let mut history: Vec<(u32, ExploredStep)> = vec![(0, ExploredStep::Start)];
        let mut layer = VecDeque::from([(0_u32, self.start())]);
        for cuts in 0..=self.bounds.cuts {
            let mut after = VecDeque::new();
            let before = exploration.states;
            while let Some((at, state)) = layer.pop_front() {
                if exploration.states > self.bounds.states {
                    exploration.complete = false;
                    return exploration;
                }
                exploration.states += 1;
                let mut add = |next: World, step: ExploredStep, queue: &mut VecDeque<_>| {
                    let mut next = next;
                    next.canonical();
                    if seen.insert(fingerprint(&next)) {
                        history.push((at, step));
                        queue.push_back((history.len() as u32 - 1, next));
                    }
                };
                if state.store.is_some() {
                    if cuts < self.bounds.cuts {
                        let off = World { store: None, syncs: 0, ..state.clone() };
                        add(off, ExploredStep::Leave, &mut after);
                    }
                    if state.syncs == self.bounds.syncs {
                        continue;
                    }
                }
                let mut script = Some(Vec::new());
                while let Some(now) = script {
                    exploration.runs += 1;
                    let (oracle, end) = self.run_step(&state, now, cuts < self.bounds.cuts, None);
                    let step = || ExploredStep::Run(oracle.script.clone(), cuts < self.bounds.cuts);
                    match end {
                        StepResult::Next(next) if next.store.is_none() => {
                            add(next, step(), &mut after)
                        }
                        StepResult::Next(next) => add(next, step(), &mut layer),
                        StepResult::Full => {}
                        StepResult::Broken(reason) => {
                            let last = (at, step());
                            exploration.counterexample = Some(self.trace(&history, last, &reason));
                            exploration.depth = cuts;
                            exploration.layers.push(exploration.states - before);
                            return exploration;
                        }
                    }
                    script = oracle.next();
                }
            }
            exploration.layers.push(exploration.states - before);
            layer = after;
        }
        exploration
    }

    /// Returns the steps to a broken state, in words.
    fn trace(
        &self,
        history: &[(u32, ExploredStep)],
        last: (u32, ExploredStep),
        reason: &str,
    ) -> String {
        let mut steps = vec![last.1];
        let mut at = last.0;
        while at != 0 {
            let (before, step) = &history[at as usize];
            steps.push(step.clone());
            at = *before;
        }
        let mut state = self.start();
        let mut log = vec![
            format!("{:?}, {:?}", self.protocol, self.bounds),
            "  format: v0 in block 0".into(),
        ];
        for step in steps.into_iter().rev() {
            let (script, cut) = match step {
                ExploredStep::Start => continue,
                ExploredStep::Leave => {
                    log.push("  the power goes while the store does nothing".into());
                    state.store = None;
                    state.syncs = 0;
                    state.canonical();
                    continue;
                }
                ExploredStep::Run(script, cut) => (script, cut),
            };
            if let (_, StepResult::Next(next)) = self.run_step(&state, script, cut, Some(&mut log))
            {
                state = next;
                state.canonical();
            }
        }
        log.push(format!("  BROKEN: {reason}"));
        log.join("\n")
    }
}

fn fingerprint(state: &World) -> u128 {
    let mut one = DefaultHasher::new();
    state.hash(&mut one);
    let mut two = DefaultHasher::new();
    (0x5bd1_e995_u32, state).hash(&mut two);
    u128::from(one.finish()) << 64 | u128::from(two.finish())
}
