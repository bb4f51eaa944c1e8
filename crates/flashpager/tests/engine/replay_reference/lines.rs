//! Lines of a cache in hardware: the prefetch buffer, the words of a line, and banks.

use super::*;

/// A cache in sets before a part that is read in place.
fn any_lines() -> impl Strategy<Value = Case> {
    let jump = (0..3000u32, 1..40u32);
    let runs = prop::collection::vec((jump, any::<bool>()), 1..150).prop_map(|jumps| {
        let mut next = 0;
        let to_run = |((offset, length), goes_on): ((u32, u32), bool)| {
            // Half of the runs begin close after the run before.
            let offset = if goes_on { next + offset % 24 } else { offset };
            next = offset + length;
            run(offset, length)
        };
        jumps.into_iter().map(to_run).collect::<Vec<Run>>()
    });
    (runs, 2..6u32, 0..3u32, 0..4u32).prop_map(|(runs, line, ways, sets)| Case {
        runs,
        cache_page: 1 << line,
        frames: 1 << (ways + sets),
        spare_bytes: 0,
        ways: Some(1 << ways),
        hierarchy: None,
        critical: None,
    })
}

/// Before lines of that size, buffers of so many lines; 0 is none.
fn buffers(line_bytes: u32, lines: &[u32]) -> Vec<RegisterDesign> {
    let plain = design(RegisterModel::StartColumn, line_bytes, None);
    lines.iter().map(|&prefetch_lines| RegisterDesign { prefetch_lines, ..plain }).collect()
}

/// The words that the engine reports after each fault, with the execution until then.
fn words_of(case: &Case, policy: &str) -> (Counts, Vec<(usize, u32, u64)>) {
    let words_read = RefCell::new(Vec::new());
    let faults = Counter::new(0);
    let sink = &mut |_: usize, _: &Fault| faults.set(faults.get() + 1);
    let words = &mut |word: u32, executed: &Executed| {
        words_read.borrow_mut().push((faults.get() - 1, word, executed.bytes));
    };
    let events = Events { critical_block_bytes: None, sink, begun: None, words: Some(words) };
    let registers = buffers(case.cache_page, &[0]);
    let cache = case.cache(policy);
    let (counts, _) = replay(&case.trace(), &cache, &registers, &|| true, Some(events)).unwrap();
    (counts[0].clone(), words_read.into_inner())
}

#[test]
fn the_buffer_of_the_document() {
    let missed = [0, 1, 3, 4, 2, 9, 3];
    // With one frame every reference misses.
    let case = Case { ways: Some(1), ..pages(&missed, 16, 1) };
    let [replayed] = &agreed(&case, "lru", &buffers(16, &[2]))[..] else { panic!("one register") };
    let Counts { misses, loads, other_buffer, prefetches, prefetches_in_vain, .. } =
        replayed.counts;
    assert_eq!((misses, loads, other_buffer), (7, 4, 3));
    assert_eq!((prefetches, prefetches_in_vain), (10, 5));
    let read: Vec<u32> = replayed.faults.iter().map(|fault| fault.access.prefetches).collect();
    assert_eq!(read, [2, 1, 2, 1, 2, 0, 2]);
}

#[test]
fn buffers_that_cannot_be() {
    let refused = |register: RegisterDesign, message: &str| {
        let wrong = register.check(16).unwrap_err().to_string();
        assert!(wrong.contains(message), "{wrong}");
    };
    let [buffer, large] = buffers(16, &[2, 1025])[..] else { panic!("two") };
    refused(large, "at most 1024");
    refused(RegisterDesign { flash_page_bytes: 512, ..buffer }, "read in place");
    refused(RegisterDesign { model: RegisterModel::Sequential, ..buffer }, "read in place");
    refused(RegisterDesign { codeword_bytes: Some(16), ..buffer }, "read in place");
}

#[test]
fn lines_with_too_many_words() {
    let case = Case { ways: Some(1), ..pages(&[0, 1], 512, 1) };
    let mut sink = |_: usize, _: &Fault| {};
    let mut word = |_: u32, _: &Executed| {};
    let words = Some(&mut word as flashpager::replay::WordSink<'_>);
    let events = Events { critical_block_bytes: None, sink: &mut sink, begun: None, words };
    let registers = buffers(512, &[0]);
    let wrong = replay(&case.trace(), &case.cache("lru"), &registers, &|| true, Some(events));
    assert!(wrong.unwrap_err().to_string().contains("at most 256 bytes"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// The counts of a buffer equal those of docs/model.md, fault by fault and in a sweep.
    #[test]
    fn a_buffer_counts_as_documented(case in any_lines()) {
        let registers = buffers(case.cache_page, &[0, 1, 2, 3, 7, 1024]);
        for policy in ["lru", "fifo", "random(5)", "min"] {
            let replayed = agreed(&case, policy, &registers);
            let cell = Cell {
                cache_page_bytes: case.cache_page,
                policy: policy.parse().unwrap(),
                ways: case.ways,
                hierarchy: None,
                cache_bytes: vec![u64::from(case.cache_page) * case.frames as u64],
                registers: registers.clone(),
            };
            let swept = sweep(&case.trace(), &cell, &|| true).unwrap();
            let image = case.runs.iter().map(|run| run.end()).max().unwrap();
            let lines = image.div_ceil(case.cache_page.into()) as u32;
            for ((Replayed { counts, faults, .. }, register), swept) in
                replayed.iter().zip(&registers).zip(&swept[0])
            {
                prop_assert_eq!(counts, swept);
                prop_assert_eq!(counts.misses, counts.loads + counts.other_buffer);
                prop_assert_eq!(counts.misses, replayed[0].counts.misses);
                prop_assert_eq!(counts.bytes_fetched, replayed[0].counts.bytes_fetched);
                let behind = |both: &&[Fault]| {
                    let [before, fault] = **both else { return false };
                    fault.page > before.page
                        && fault.page - before.page <= register.prefetch_lines
                };
                let close = faults.windows(2).filter(behind).count();
                prop_assert_eq!(counts.other_buffer, close as u64);
                let held = faults.last().map_or(0, |last| {
                    (lines - 1 - last.page).min(register.prefetch_lines)
                });
                let read = counts.other_buffer + counts.prefetches_in_vain + u64::from(held);
                prop_assert_eq!(counts.prefetches, read);
            }
            for pair in replayed.windows(2) {
                prop_assert!(pair[0].counts.other_buffer <= pair[1].counts.other_buffer);
            }
        }
    }

    /// The words of a line are reported in the order of a walk byte by byte.
    #[test]
    fn words_are_needed_byte_by_byte(case in any_lines()) {
        let (counts, told) = words_of(&case, "lru");
        let registers = buffers(case.cache_page, &[0]);
        let plain = agreed(&case, "lru", &registers).remove(0);
        let first_words = counts.first_words.clone();
        prop_assert_eq!(Counts { first_words: Vec::new(), ..counts }, plain.counts);
        let bytes: Vec<u32> = case.runs.iter().flat_map(|run| run.offset..=run.last()).collect();
        let mut wanted_first = BTreeMap::new();
        let mut expected = Vec::new();
        let mut at = 0;
        let ends = plain.faults.iter().skip(1).map(|fault| fault.executed.bytes);
        let ends = ends.chain([plain.rest.bytes]);
        for (number, (fault, until_next)) in plain.faults.iter().zip(ends).enumerate() {
            if number == 0 {
                at = fault.executed.bytes as usize;
            }
            let wanted = fault.offset % case.cache_page / 4;
            *wanted_first.entry(wanted * 4).or_insert(0) += 1;
            let mut needed = BTreeSet::from([wanted]);
            for since in 0..until_next {
                let byte = bytes[at + since as usize];
                let word = byte % case.cache_page / 4;
                if byte / case.cache_page == fault.page && needed.insert(word) {
                    expected.push((number, word, since));
                }
            }
            at += until_next as usize;
        }
        prop_assert_eq!(told, expected);
        prop_assert_eq!(first_words, wanted_first.into_iter().collect::<Vec<_>>());
    }

    /// Banks chosen by the lowest bits of a line's number act as one cache.
    #[test]
    fn banks_by_the_lowest_bits_are_one_cache(case in any_lines(), bank_bits in 0..4u32) {
        let ways = case.ways.unwrap();
        let sets = case.frames as u32 / ways;
        let banks = 1 << bank_bits.min(sets.trailing_zeros());
        for policy in ["lru", "fifo", "plru"] {
            let whole = agreed(&case, policy, &buffers(case.cache_page, &[0])).remove(0);
            let mut misses = 0;
            for bank in 0..banks {
                let bytes = case.runs.iter().flat_map(|run| run.offset..=run.last());
                let lines = bytes.map(|byte| byte / case.cache_page);
                let own = lines.filter(|line| line % banks == bank).map(|line| line / banks);
                let own: Vec<Run> = own.map(|line| run(line * case.cache_page, 1)).collect();
                if own.is_empty() {
                    continue;
                }
                let frames = case.frames / banks as usize;
                let alone = Case { runs: own, frames, ..case.clone() };
                misses += counts_of(&alone, policy, &buffers(case.cache_page, &[0]))[0].misses;
            }
            prop_assert_eq!(misses, whole.counts.misses);
        }
    }
}
