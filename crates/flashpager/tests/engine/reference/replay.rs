//! A whole replay: the pages, then the actions of the register.

use super::hierarchy::{Sets, bytes_needed, lines_needed};
use super::*;

/// A miss before any register has served it.
struct Missed {
    page: Page,
    offset: u32,
    search: VictimSearch,
    executed: Executed,
    left: Option<Executed>,
}

/// The result of the page cache and the hierarchy in front of it.
struct Paged {
    counts: Counts,
    missed: Vec<Missed>,
    rest: Executed,
}

fn paged(setup: &Setup<'_>) -> Paged {
    let Setup { runs, cache_page, frames, policy, ways, hierarchy, critical, .. } = *setup;
    let mut cache = match ways {
        Some(ways) => in_sets(policy, frames, ways as usize),
        None => cache_of(policy, frames),
    };
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
            let ModelStep { outcome, usable, .. } = cache(need.page, &pages[index + 1..]);
            assert!(usable.len() <= frames);
            if let Some(tlb) = &mut tlb {
                tlb.keep_only(&usable);
                if usable.contains(&need.page) {
                    tlb.take(need.page);
                }
            }
            match outcome {
                ModelOutcome::Hit => counts.hits += 1,
                ModelOutcome::BitSet => {
                    counts.hits += 1;
                    now.reference_bits_set += 1;
                }
                ModelOutcome::FalseFault { downgrades } => {
                    counts.downgrades += u64::from(downgrades);
                    counts.false_fault_downgrades += u64::from(downgrades);
                    now.false_faults += 1;
                    now.downgrades += u64::from(downgrades);
                }
                ModelOutcome::Miss { walk, downgrades } => {
                    counts.downgrades += u64::from(downgrades);
                    is_fault = true;
                    let (page, offset) = (need.page, need.offset);
                    let search = VictimSearch { walk, downgrades };
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
        let words = |run: &Run| (run.offset + (run.length - 1)) / 4 - run.offset / 4 + 1;
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

/// The state of a register after a request.
#[derive(Clone, Copy)]
struct Held {
    flash_page: i64,
    next_column: i64,
    requested_column: i64,
}

/// The register table of docs/model.md, for consecutive block requests into an image of `image`
/// bytes.
fn accesses(blocks: &[Page], cache_page: u32, image: u64, design: &RegisterDesign) -> Vec<Access> {
    use RegisterCase::{Backward, Forward, OtherBuffer, OtherPage};
    if design.prefetch_lines > 0 {
        return read_ahead(blocks, cache_page, image, design.prefetch_lines);
    }
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
            && behind * n < image as i64;
        if prefetches {
            other_buffer = Some(behind);
        }
        all.push(Access {
            case,
            load,
            column_change,
            bytes_skipped: skipped as u32,
            header_bytes: 0,
            bytes_fetched: (skipped + end - start) as u32,
            distance: same.map(|held| ((column - held.requested_column) / b) as i32),
            prefetch: prefetches.then_some(behind as u32),
            prefetches: u32::from(prefetches),
            dropped: 0,
        });
        held = Some(Held { flash_page, next_column: end, requested_column: column });
    }
    all
}

/// The prefetch buffer of docs/model.md, with its lines in a list.
fn read_ahead(missed: &[Page], line_bytes: u32, image: u64, most: u32) -> Vec<Access> {
    let image_lines = image.div_ceil(line_bytes.into()) as u32;
    let mut held: Vec<Page> = Vec::new();
    let serve = |&line: &Page| {
        let is_held = held.contains(&line);
        let before = held.len();
        held.retain(|other| is_held && *other >= line);
        let dropped = (before - held.len()) as u32;
        held.retain(|other| *other != line);
        let mut read = Vec::new();
        for ahead in line + 1..=line + most {
            if ahead < image_lines && !held.contains(&ahead) {
                read.push(ahead);
            }
        }
        held.extend(&read);
        assert!(held.len() <= most as usize);
        Access {
            case: if is_held { RegisterCase::OtherBuffer } else { RegisterCase::OtherPage },
            load: !is_held,
            column_change: false,
            bytes_skipped: 0,
            header_bytes: 0,
            bytes_fetched: line_bytes,
            distance: None,
            prefetch: read.first().copied(),
            prefetches: read.len() as u32,
            dropped,
        }
    };
    missed.iter().map(serve).collect()
}

/// The input of a replay.
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
    /// Frames of a set; all frames if absent.
    pub ways: Option<u32>,
    /// The hierarchy in front.
    pub hierarchy: Option<HierarchyDesign>,
    /// Bytes of the critical block.
    pub critical: Option<u32>,
    /// The registers behind the cache.
    pub registers: &'a [RegisterDesign],
}

/// The result of a replay for one register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The counts.
    pub counts: Counts,
    /// The faults, in order.
    pub faults: Vec<Fault>,
    /// The execution after the last fault.
    pub rest: Executed,
}

/// Replays the input with each of its registers.
pub fn replay(setup: &Setup<'_>) -> Vec<Replayed> {
    let Setup { runs, cache_page, .. } = *setup;
    let Paged { counts: pager, missed, rest } = paged(setup);
    let image = runs.iter().map(|run| run.end()).max().unwrap_or(0);
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

/// The counts of `pager`, completed by those that follow from the faults.
pub fn with_sums(pager: &Counts, faults: &[Fault], cache_page: u32, flash_page: u32) -> Counts {
    let count = |which: &dyn Fn(&Fault) -> bool| faults.iter().filter(|f| which(f)).count() as u64;
    let total = |value: &dyn Fn(&Fault) -> u32| faults.iter().map(|f| u64::from(value(f))).sum();
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
        for ahead in 0..access.prefetches {
            let first = access.prefetch.unwrap();
            *loads_by_flash_page.entry(first + ahead).or_default() += 1;
        }
    }
    let of_case = |case: RegisterCase| count(&|f| f.access.case == case);
    Counts {
        misses: faults.len() as u64,
        loads: count(&|f| f.access.load),
        prefetches: total(&|f| f.access.prefetches),
        prefetches_in_vain: total(&|f| f.access.dropped),
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
