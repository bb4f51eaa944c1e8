//! Designs whose lines arrive while the program runs: a prefetch buffer, and words used as they
//! come.

use std::cell::RefCell;
use std::collections::BTreeMap;

use flashpager::cost::{ExecutionTime, LineExecution, LineFetch};
use flashpager::replay::WordSink;

use super::*;

/// The way a line is fetched, and the number of lines read ahead.
type How = (LineFetch, u32);

/// A cache of one line of 8 bytes.
fn one_line(runs: &[(u32, u32)]) -> Case {
    let case = one_frame(runs, RegisterModel::StartColumn, 8, plain(1.0));
    let cache = CacheDesign { cache_bytes: 8, cache_page_bytes: 8, ways: Some(1), ..case.cache };
    let prices = Prices { t_load_ns: 384.0, t_byte_ns: 64.0, ..case.prices };
    Case { cache, prices, ..case }
}

/// The engine's time, the bytes executed before each fault, and the counts.
fn execute(case: &Case, (fetch, prefetch_lines): How) -> (ExecutionTime, Vec<Fault>, Counts) {
    let line_bytes = case.cache.cache_page_bytes;
    let execution = RefCell::new(LineExecution::new(case.prices, line_bytes, fetch));
    let mut faults = Vec::new();
    let sink = &mut |_: usize, fault: &Fault| {
        faults.push(*fault);
        execution.borrow_mut().fault(fault);
    };
    let mut word = |word: u32, executed: &Executed| execution.borrow_mut().word(word, executed);
    let words = (fetch != LineFetch::Whole).then_some(&mut word as WordSink<'_>);
    let events = Events { critical_block_bytes: None, sink, begun: None, words };
    let registers = [RegisterDesign { prefetch_lines, ..case.register }];
    let (mut counts, rest) =
        replay(&case.trace(), &case.cache, &registers, &|| true, Some(events)).unwrap();
    (execution.into_inner().finish(&rest), faults, counts.remove(0))
}

fn time(case: &Case, how: How) -> f64 {
    execute(case, how).0.time_ns
}

#[test]
fn the_example_of_the_document() {
    let case = one_line(&[(0, 24)]);
    assert_eq!(time(&case, (LineFetch::Whole, 0)), 2712.0);
    assert_eq!(time(&case, (LineFetch::Whole, 1)), 1928.0);
}

/// A load takes until 384, words of 256 ns follow.
#[test]
fn words_by_hand() {
    use LineFetch::{CriticalWordFirst, EarlyRestart, Whole};
    // The first word arrives at 640 and is executed until 644; the second arrives at 896.
    for (fetch, ns) in [(Whole, 904.0), (EarlyRestart, 900.0), (CriticalWordFirst, 900.0)] {
        assert_eq!(time(&one_line(&[(0, 8)]), (fetch, 0)), ns, "{fetch:?}");
    }
    // Only the second word is needed.
    for (fetch, ns) in [(Whole, 900.0), (EarlyRestart, 900.0), (CriticalWordFirst, 644.0)] {
        assert_eq!(time(&one_line(&[(4, 4)]), (fetch, 0)), ns, "{fetch:?}");
    }
    // Then the first is needed: it came with the second, together, or after it.
    for (fetch, ns) in [(Whole, 904.0), (EarlyRestart, 904.0), (CriticalWordFirst, 900.0)] {
        assert_eq!(time(&one_line(&[(4, 4), (0, 4)]), (fetch, 0)), ns, "{fetch:?}");
    }
    // The next line waits for the rest of the first, until 896.
    let next = one_line(&[(4, 4), (8, 4)]);
    assert_eq!(time(&next, (CriticalWordFirst, 0)), 896.0 + 640.0 + 4.0);
}

/// The time by a clock that advances byte by byte, written from docs/model.md alone.
fn by_the_clock(case: &Case, (fetch, _): How, faults: &[Fault]) -> (f64, Vec<f64>, Vec<f64>) {
    let Prices { t_byte_ns, t_load_ns, ram, handler, .. } = case.prices;
    let line_bytes = case.cache.cache_page_bytes;
    let whole_ns = f64::from(line_bytes) * t_byte_ns;
    let words = line_bytes.div_ceil(4);
    let (mut latencies, mut waits) = (Vec::new(), Vec::new());
    // The moment at which each prefetched line is there.
    let mut there: BTreeMap<u32, f64> = BTreeMap::new();
    let (mut clock, mut done, mut data) = (0.0_f64, 0.0_f64, 0.0_f64);
    let (mut line, mut first) = (u32::MAX, 0);
    let mut needed = Vec::new();
    let mut faults = faults.iter().peekable();
    let mut until_fault = faults.peek().map(|fault| fault.executed.bytes);
    let arrival = |word: u32, first: u32, data: f64, done: f64| {
        let place = match fetch {
            LineFetch::Whole => return done,
            LineFetch::EarlyRestart => word,
            LineFetch::CriticalWordFirst if word >= first => word - first,
            LineFetch::CriticalWordFirst => words - first + word,
        };
        data + f64::from((4 * (place + 1)).min(line_bytes)) * t_byte_ns
    };
    for (offset, length) in &case.runs {
        for byte in *offset..offset + length {
            if until_fault == Some(0) {
                let fault = faults.next().unwrap();
                assert_eq!(byte, fault.offset);
                let began = clock;
                clock += handler.pre_process_ns + handler.get_freeframe_ns;
                line = byte / line_bytes;
                first = byte % line_bytes / 4;
                match there.get(&line) {
                    Some(&at) if !fault.access.load => {
                        done = at;
                        data = at - whole_ns;
                    }
                    _ => {
                        clock += handler.load_command_ns;
                        there.clear();
                        data = f64::max(clock, done) + t_load_ns;
                        done = data + whole_ns;
                    }
                }
                there.retain(|other, _| *other > line);
                let mut last = there.values().copied().fold(done.max(clock), f64::max);
                for ahead in 0..fault.access.prefetches {
                    last += whole_ns;
                    there.insert(fault.access.prefetch.unwrap() + ahead, last);
                }
                clock = clock.max(arrival(first, first, data, done));
                clock += f64::from(line_bytes) * ram.t_write_ns;
                clock += handler.update_mmu_ns + handler.post_process_ns;
                latencies.push(clock - began);
                needed = vec![first];
                until_fault = faults.peek().map(|next| next.executed.bytes);
            }
            let word = byte % line_bytes / 4;
            if byte / line_bytes == line && !needed.contains(&word) {
                needed.push(word);
                let at = arrival(word, first, data, done);
                if at > clock {
                    waits.push(at - clock);
                    clock = at;
                }
            }
            clock += ram.t_read_ns;
            until_fault = until_fault.map(|bytes| bytes - 1);
        }
    }
    (clock, latencies, waits)
}

fn any_lines() -> impl Strategy<Value = Case> {
    let jump = (0..1500u32, 1..40u32, any::<bool>());
    let runs = prop::collection::vec(jump, 1..80).prop_map(|jumps| {
        let mut next = 0;
        let to_run = |(offset, length, goes_on): (u32, u32, bool)| {
            let offset = if goes_on { next + offset % 24 } else { offset };
            next = offset + length;
            (offset, length)
        };
        jumps.into_iter().map(to_run).collect::<Vec<_>>()
    });
    let nanoseconds = || prop::sample::select(vec![0.0, 1.0, 13.0, 90.0]);
    let prices = (nanoseconds(), 1..60u32, 0..400u32, nanoseconds(), nanoseconds());
    (runs, 2..6u32, 0..3u32, 0..3u32, prices).prop_map(|(runs, line, ways, sets, prices)| {
        let (t_read_ns, byte, load, before, after) = prices;
        let line_bytes = 1 << line;
        let case = one_frame(&runs, RegisterModel::StartColumn, line_bytes, plain(t_read_ns));
        let cache = CacheDesign {
            cache_bytes: u64::from(line_bytes) << (ways + sets),
            cache_page_bytes: line_bytes,
            ways: Some(1 << ways),
            ..case.cache
        };
        let handler = Handler {
            pre_process_ns: before,
            load_command_ns: after / 2.0,
            post_process_ns: after,
            ..Handler::default()
        };
        let (t_byte_ns, t_load_ns) = (f64::from(byte), f64::from(load));
        Case { cache, prices: Prices { t_byte_ns, t_load_ns, handler, ..case.prices }, ..case }
    })
}

/// All ways to fetch a line, with a prefetch buffer if it is possible.
fn all_ways() -> impl Iterator<Item = How> {
    let with_lines = |(_, fetch)| [0, 1, 2, 5].map(|lines| (fetch, lines));
    let can_be = |how: &How| how.0 != LineFetch::CriticalWordFirst || how.1 == 0;
    LineFetch::ALL.into_iter().flat_map(with_lines).filter(can_be)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Time, latencies and waits equal those of a clock that advances byte by byte.
    #[test]
    fn lines_take_the_time_of_a_simulated_clock(case in any_lines()) {
        for how in all_ways() {
            let (ours, faults, _) = execute(&case, how);
            let (clock, latencies, waits) = by_the_clock(&case, how, &faults);
            prop_assert!(about(ours.time_ns, clock), "{how:?}: {}, clock {clock}", ours.time_ns);
            for (ours, clock) in [(ours.fault_latencies, latencies), (ours.waits, waits)] {
                let sum: f64 = ours.iter().map(|(ns, times)| ns * *times as f64).sum();
                prop_assert!((sum - clock.iter().sum::<f64>()).abs() < 0.1, "{how:?}");
                let longest = clock.iter().copied().fold(0.0, f64::max);
                prop_assert!((ours.last().map_or(0.0, |(ns, _)| *ns) - longest).abs() < 0.01);
            }
        }
    }

    /// The time is the sum of the prices for whole lines without a buffer; else it lies between
    /// bounds that follow from the counts.
    #[test]
    fn lines_take_what_counts_bound(case in any_lines()) {
        let line_bytes = f64::from(case.cache.cache_page_bytes);
        let Prices { t_byte_ns, t_load_ns, ram, .. } = case.prices;
        for how in all_ways() {
            let (ours, _, counts) = execute(&case, how);
            let sum = Time::of(&counts, &case.prices).time_ns;
            let data_ns = line_bytes * t_byte_ns;
            let most = sum + counts.prefetches_in_vain as f64 * data_ns;
            let least_data = if how.0 == LineFetch::Whole { data_ns } else { 4.0 * t_byte_ns };
            let least = counts.bytes_read as f64 * ram.t_read_ns
                + counts.loads as f64 * (t_load_ns + least_data);
            let time = ours.time_ns;
            prop_assert!(time <= most * (1.0 + 1e-9), "{how:?}: {time}, at most {most}");
            prop_assert!(time >= least * (1.0 - 1e-9), "{how:?}: {time}, at least {least}");
            if how == (LineFetch::Whole, 0) {
                prop_assert!(about(time, sum), "{time}, sum {sum}");
            }
            // A word that is used as it comes is never later than its line.
            let (whole, ..) = execute(&case, (LineFetch::Whole, how.1));
            prop_assert!(time <= whole.time_ns * (1.0 + 1e-9), "{how:?}");
        }
    }
}
