//! Replays of units against a slow reference, which is written from docs/model.md alone: it keeps a
//! byte map of the RAM, and searches the whole history at every reference.

use std::ops::Range;

use flashpager_replay::register::{RegisterDesign, RegisterModel};
use flashpager_replay::units::{
    ALLOCATORS, AllocatorSpec, UnitCounts, UnitProgram, UnitSequence, replay_units,
};
use flashpager_trace::{MemoryTrace, Run};
use proptest::prelude::*;

/// A program, and what pages it.
#[derive(Clone, Debug)]
struct Setup {
    runs: Vec<Run>,
    ranges: Vec<Range<u64>>,
    resident: Vec<bool>,
    heap_bytes: u32,
    register: RegisterDesign,
}

/// The units of a run's bytes, each with true if the byte is the unit's first: `None` outside.
fn owners(setup: &Setup, run: Run) -> Vec<(Option<usize>, bool)> {
    (u64::from(run.offset)..run.end())
        .map(|byte| {
            let unit = setup.ranges.iter().position(|range| range.contains(&byte));
            (unit, unit.is_some_and(|unit| setup.ranges[unit].start == byte))
        })
        .collect()
}

/// The references: unit, and true for a call. Also the number of returns to resident code.
fn references(setup: &Setup) -> (Vec<(usize, bool)>, u64) {
    let mut visits: Vec<(Option<usize>, bool)> = Vec::new();
    for (unit, is_first) in setup.runs.iter().flat_map(|run| owners(setup, *run)) {
        if visits.last().is_none_or(|(last, _)| *last != unit) {
            visits.push((unit, is_first));
        }
    }
    let paged = |unit: Option<usize>| unit.filter(|unit| !setup.resident[*unit]);
    let (mut references, mut returns) = (Vec::new(), 0);
    for (number, (unit, is_first)) in visits.iter().enumerate() {
        let before = visits[..number].iter().rev().find_map(|(unit, _)| paged(*unit));
        match paged(*unit) {
            Some(unit) if *is_first || before != Some(unit) => references.push((unit, *is_first)),
            Some(_) => {}
            None => {
                let last = number.checked_sub(1).and_then(|last| paged(visits[last].0));
                returns += u64::from(last.is_some() && !is_first);
            }
        }
    }
    (references, returns)
}

/// The RAM as a map of its bytes, and everything that a policy may know.
struct SlowHeap {
    /// The unit in each byte.
    bytes: Vec<Option<usize>>,
    sizes: Vec<usize>,
    /// Units of the references so far, this one included.
    history: Vec<usize>,
    /// Units of the references behind this one.
    future: Vec<usize>,
    bits: Vec<bool>,
    next: usize,
}

impl SlowHeap {
    fn at(&self, unit: usize) -> Option<usize> {
        self.bytes.iter().position(|byte| *byte == Some(unit))
    }

    fn units(&self) -> Vec<usize> {
        let mut units: Vec<usize> = self.bytes.iter().flatten().copied().collect();
        units.dedup();
        units
    }

    fn within(&self, from: usize, to: usize) -> Vec<usize> {
        let mut units: Vec<usize> = self.bytes[from..to].iter().flatten().copied().collect();
        units.dedup();
        units
    }

    fn evict(&mut self, unit: usize) {
        self.bytes.iter_mut().filter(|byte| **byte == Some(unit)).for_each(|byte| *byte = None);
    }

    fn put(&mut self, unit: usize, offset: usize) {
        let size = self.sizes[unit];
        assert!(self.within(offset, offset + size).is_empty());
        self.bytes[offset..offset + size].fill(Some(unit));
    }

    fn gap(&self, size: usize) -> Option<usize> {
        (0..=self.bytes.len().checked_sub(size)?)
            .find(|at| self.bytes[*at..at + size].iter().all(Option::is_none))
    }

    fn last_use(&self, unit: usize) -> usize {
        self.history.iter().rposition(|other| *other == unit).unwrap() + 1
    }

    fn oldest(&self) -> usize {
        self.units().into_iter().min_by_key(|unit| self.last_use(*unit)).unwrap()
    }

    /// Puts a unit where it fits, after moving all others down if it fits nowhere. Returns the bytes
    /// that moved.
    fn put_compacting(&mut self, unit: usize) -> u64 {
        if let Some(at) = self.gap(self.sizes[unit]) {
            self.put(unit, at);
            return 0;
        }
        let before: Vec<(usize, usize)> =
            self.units().into_iter().map(|unit| (unit, self.at(unit).unwrap())).collect();
        self.bytes.fill(None);
        let (mut free, mut moved) = (0, 0);
        for (other, at) in before {
            self.put(other, free);
            moved += if at == free { 0 } else { self.sizes[other] as u64 };
            free += self.sizes[other];
        }
        self.put(unit, free);
        moved
    }

    /// Loads a unit. Returns the units evicted and the bytes moved.
    fn load(&mut self, policy: &str, unit: usize) -> (u64, u64) {
        let (size, heap) = (self.sizes[unit], self.bytes.len());
        let before = self.units().len();
        let mut moved = 0;
        match policy {
            "fifo-ring" | "second-chance" => loop {
                if self.next + size > heap {
                    self.next = 0;
                }
                let over = self.within(self.next, self.next + size);
                let spared = over.iter().find(|unit| policy != "fifo-ring" && self.bits[**unit]);
                if let Some(spared) = spared.copied() {
                    self.bits[spared] = false;
                    self.next = self.at(spared).unwrap() + self.sizes[spared];
                    continue;
                }
                over.into_iter().for_each(|unit| self.evict(unit));
                self.put(unit, self.next);
                self.next += size;
                break;
            },
            "lru-compact" | "farthest" => {
                while self.bytes.iter().filter(|byte| byte.is_none()).count() < size {
                    let victim = if policy == "farthest" { self.farthest() } else { self.oldest() };
                    self.evict(victim);
                }
                moved = self.put_compacting(unit);
            }
            "lru-run" => {
                let ends = self.units().into_iter().map(|unit| {
                    let at = self.at(unit).unwrap();
                    at + self.sizes[unit]
                });
                let starts = std::iter::once(0).chain(ends);
                let best = starts
                    .filter(|at| at + size <= heap)
                    .min_by_key(|at| {
                        let over = self.within(*at, at + size);
                        let youngest = over.iter().map(|unit| self.last_use(*unit)).max();
                        let bytes: usize = over.iter().map(|unit| self.sizes[*unit]).sum();
                        (youngest.unwrap_or(0), bytes, *at)
                    })
                    .unwrap();
                let over = self.within(best, best + size);
                over.into_iter().for_each(|unit| self.evict(unit));
                self.put(unit, best);
            }
            other => panic!("{other}"),
        }
        let evictions = before + 1 - self.units().len();
        (evictions as u64, moved)
    }

    fn farthest(&self) -> usize {
        let next = |unit: usize| self.future.iter().position(|other| *other == unit);
        let key = |unit: &usize| (next(*unit).unwrap_or(usize::MAX), usize::MAX - unit);
        self.units().into_iter().max_by_key(key).unwrap()
    }
}

/// The blocks of `buddy`: by offset and bytes, the unit in each.
struct SlowBuddy(Vec<(usize, usize, Option<usize>)>);

impl SlowBuddy {
    fn new(heap: usize) -> Self {
        let (mut at, mut blocks) = (0, Vec::new());
        for size in (0..usize::BITS).rev().map(|bit| heap & 1 << bit).filter(|size| *size > 0) {
            blocks.push((at, size, None));
            at += size;
        }
        Self(blocks)
    }

    /// Places a unit of `size` bytes, if a block is free.
    fn put(&mut self, unit: usize, size: usize) -> bool {
        let wanted = size.next_power_of_two();
        let Self(blocks) = self;
        let free = blocks.iter().filter(|(_, size, unit)| unit.is_none() && *size >= wanted);
        let Some(&(at, mut size, _)) = free.min_by_key(|(at, size, _)| (*size, *at)) else {
            return false;
        };
        blocks.retain(|block| block.0 != at);
        while size > wanted {
            size /= 2;
            blocks.push((at + size, size, None));
        }
        blocks.push((at, size, Some(unit)));
        true
    }

    fn free(&mut self, unit: usize) {
        let Self(blocks) = self;
        blocks.iter_mut().filter(|block| block.2 == Some(unit)).for_each(|block| block.2 = None);
        loop {
            let joined = blocks.iter().find_map(|&(at, size, unit)| {
                let is_low = at & size == 0;
                let other = blocks.iter().find(|other| **other == (at + size, size, None));
                (unit.is_none() && is_low && other.is_some()).then_some((at, size))
            });
            let Some((at, size)) = joined else { return };
            blocks.retain(|block| block.0 != at && block.0 != at + size);
            blocks.push((at, 2 * size, None));
        }
    }
}

/// The counts of a replay, from the text of the model.
fn slow_replay(setup: &Setup, policy: &str) -> UnitCounts {
    let (references, resident_returns) = references(setup);
    let sizes: Vec<usize> = setup
        .ranges
        .iter()
        .map(|range| (range.end - range.start).div_ceil(4) as usize * 4)
        .collect();
    let mut heap = SlowHeap {
        bytes: vec![None; setup.heap_bytes as usize],
        sizes: sizes.clone(),
        history: Vec::new(),
        future: Vec::new(),
        bits: vec![false; sizes.len()],
        next: 0,
    };
    let mut buddy = SlowBuddy::new(setup.heap_bytes as usize);
    let mut chip = SlowChip::default();
    let mut counts = UnitCounts {
        bytes_read: setup.runs.iter().map(|run| u64::from(run.length)).sum(),
        resident_returns,
        ..UnitCounts::default()
    };
    for (number, (unit, is_call)) in references.iter().enumerate() {
        heap.history.push(*unit);
        heap.future = references[number + 1..].iter().map(|(unit, _)| *unit).collect();
        counts.references += 1;
        *(if *is_call { &mut counts.calls } else { &mut counts.returns }) += 1;
        let is_held = match policy {
            "buddy" => buddy.0.iter().any(|block| block.2 == Some(*unit)),
            _ => heap.at(*unit).is_some(),
        };
        heap.bits[*unit] = true;
        if is_held {
            counts.hits += 1;
            continue;
        }
        counts.misses += 1;
        *(if *is_call { &mut counts.call_misses } else { &mut counts.return_misses }) += 1;
        if policy == "buddy" {
            while !buddy.put(*unit, sizes[*unit]) {
                let held = buddy.0.iter().filter_map(|block| block.2);
                let oldest = held.min_by_key(|unit| heap.last_use(*unit)).unwrap();
                buddy.free(oldest);
                counts.evictions += 1;
            }
        } else {
            let (evictions, moved) = heap.load(policy, *unit);
            counts.evictions += evictions;
            counts.bytes_moved += moved;
        }
        let paged_before = (0..*unit).filter(|before| !setup.resident[*before]);
        let offset: usize = paged_before.map(|before| sizes[before]).sum();
        chip.read(&setup.register, offset, sizes[*unit], &mut counts);
    }
    counts
}

/// The data register of a chip.
#[derive(Default)]
struct SlowChip {
    page: Option<usize>,
    other: Option<usize>,
    column: usize,
}

impl SlowChip {
    fn read(&mut self, design: &RegisterDesign, at: usize, size: usize, counts: &mut UnitCounts) {
        let page_bytes = design.flash_page_bytes as usize;
        let word = design.codeword_bytes.unwrap_or(1) as usize;
        counts.bytes_written += size as u64;
        for page in at / page_bytes..=(at + size - 1) / page_bytes {
            let from = at.max(page * page_bytes) - page * page_bytes;
            let to = (at + size).min((page + 1) * page_bytes) - page * page_bytes;
            let (from, to) = (from / word * word, to.div_ceil(word) * word);
            let (same, back) = (self.page == Some(page), from < self.column);
            let mut skipped = 0;
            let load = match design.model {
                RegisterModel::Sequential => {
                    skipped = if same && !back { from - self.column } else { from };
                    !same || back
                }
                RegisterModel::StartColumn => {
                    skipped = if same && !back { from - self.column } else { 0 };
                    !same || back
                }
                RegisterModel::RandomColumn => {
                    counts.column_changes += u64::from(same && from != self.column);
                    !same
                }
                _ => !same && self.other != Some(page),
            };
            counts.loads += u64::from(load);
            counts.bytes_skipped += skipped as u64;
            counts.bytes_fetched += (skipped + to - from) as u64;
            if !same {
                self.other = self.page;
            }
            (self.page, self.column) = (Some(page), to);
        }
    }
}

fn replayed(setup: &Setup, policy: &str) -> UnitCounts {
    let trace = MemoryTrace::new(setup.runs.clone());
    let sequence = UnitSequence::of(&trace, &setup.ranges, &|| true).unwrap();
    let bytes: Vec<u64> = setup.ranges.iter().map(|range| range.end - range.start).collect();
    let program = UnitProgram { sequence: &sequence, bytes: &bytes, resident: &setup.resident };
    let allocator: AllocatorSpec = policy.parse().unwrap();
    let counts =
        replay_units(program, allocator, setup.heap_bytes, setup.register, &|| true).unwrap();
    let by_unit: u64 = counts.by_unit.iter().map(|unit| unit.misses).sum();
    assert_eq!(by_unit, counts.misses);
    let loads: u64 = counts.loads_by_flash_page.iter().map(|(_, loads)| loads).sum();
    assert_eq!(loads, counts.loads);
    let classes: u64 = counts.load_classes.iter().map(|(_, count)| count).sum();
    assert_eq!(classes, counts.misses);
    counts
}

/// The counts that the reference has, too.
fn compared(counts: UnitCounts) -> UnitCounts {
    UnitCounts {
        by_unit: Vec::new(),
        loads_by_flash_page: Vec::new(),
        load_classes: Vec::new(),
        ..counts
    }
}

fn register() -> impl Strategy<Value = RegisterDesign> {
    let models = prop_oneof![
        Just(RegisterModel::Sequential),
        Just(RegisterModel::StartColumn),
        Just(RegisterModel::RandomColumn),
        Just(RegisterModel::DoubleBuffer),
    ];
    let codewords = prop_oneof![Just(None), Just(Some(16)), Just(Some(64))];
    (models, codewords, 6_u32..9).prop_map(|(model, codeword_bytes, shift)| RegisterDesign {
        model,
        flash_page_bytes: 1 << shift,
        codeword_bytes,
        prefetch_lines: 0,
    })
}

/// Programs of up to 12 units of 1 to 64 bytes with gaps, most of which are paged.
fn setups() -> impl Strategy<Value = Setup> {
    let units = prop::collection::vec((1_u64..64, 0_u64..6, prop::bool::weighted(0.2)), 1..12);
    let jumps = prop::collection::vec((0_u64..1 << 32, 1_u32..24, any::<bool>()), 1..120);
    (units, jumps, 16_u32..100, register()).prop_map(|(units, jumps, words, register)| {
        let (mut at, mut ranges, mut resident) = (0, Vec::new(), Vec::new());
        for (bytes, gap, is_resident) in units {
            at += gap;
            ranges.push(at..at + bytes);
            resident.push(is_resident);
            at += bytes;
        }
        let run = |(place, length, to_start): (u64, u32, bool)| {
            let unit: &Range<u64> = &ranges[place as usize % ranges.len()];
            let offset = if to_start { unit.start } else { place % at };
            Run { offset: offset as u32, length }
        };
        let runs = jumps.into_iter().map(run).collect();
        Setup { runs, ranges, resident, heap_bytes: 4 * words, register }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn replays_equal_the_reference(setup in setups()) {
        for (policy, _) in ALLOCATORS {
            let (found, expected) = (compared(replayed(&setup, policy)), slow_replay(&setup, policy));
            prop_assert_eq!(found, expected, "{}", policy);
        }
    }
}

/// A program of units of these bytes, one behind the other, that calls them in this order.
fn calls(bytes: &[u64], heap_bytes: u32, order: &[usize]) -> Setup {
    let ends = bytes.iter().scan(0, |end, bytes| {
        *end += bytes;
        Some(*end)
    });
    let ranges: Vec<Range<u64>> = ends.zip(bytes).map(|(end, bytes)| end - bytes..end).collect();
    let run = |unit: &usize| Run { offset: ranges[*unit].start as u32, length: 1 };
    Setup {
        runs: order.iter().map(run).collect(),
        resident: vec![false; ranges.len()],
        ranges,
        heap_bytes,
        register: RegisterDesign {
            model: RegisterModel::StartColumn,
            flash_page_bytes: 512,
            codeword_bytes: None,
            prefetch_lines: 0,
        },
    }
}

/// The example of docs/model.md.
#[test]
fn the_example_of_the_model_is_right() {
    let setup = calls(&[12, 8, 16, 4], 32, &[0, 1, 3, 1, 2, 1, 3, 0, 2, 0]);
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model.md"))
        .unwrap();
    let table = text.split("| policy | misses | evictions | bytes moved |").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    let row = |(policy, _): &(&str, &str)| {
        let counts = replayed(&setup, policy);
        let UnitCounts { misses, evictions, bytes_moved, .. } = counts;
        format!("| `{policy}` | {misses} | {evictions} | {bytes_moved} |")
    };
    assert_eq!(rows, ALLOCATORS.iter().map(row).collect::<Vec<_>>());
}

#[test]
fn a_unit_that_does_not_fit_is_refused() {
    let setup = calls(&[40, 8], 32, &[0, 1]);
    let trace = MemoryTrace::new(setup.runs.clone());
    let sequence = UnitSequence::of(&trace, &setup.ranges, &|| true).unwrap();
    let program = UnitProgram { sequence: &sequence, bytes: &[40, 8], resident: &[false, false] };
    let replay = |program, heap| {
        let allocator = "lru-run".parse().unwrap();
        replay_units(program, allocator, heap, setup.register, &|| true)
    };
    let error = replay(program, 32).unwrap_err().to_string();
    assert_eq!(error, "unit 0 of 40 bytes does not fit into 32 bytes of RAM");
    // A unit that lies in RAM anyway, or is never executed, may be larger.
    assert_eq!(replay(UnitProgram { resident: &[true, false], ..program }, 32).unwrap().misses, 1);
}

#[test]
fn an_unknown_policy_is_refused_with_the_nearest() {
    let error = "lru-ran".parse::<AllocatorSpec>().unwrap_err().to_string();
    assert!(error.starts_with("unknown policy 'lru-ran' for functions"), "{error}");
    assert!(error.contains("did you mean lru-run"), "{error}");
}
