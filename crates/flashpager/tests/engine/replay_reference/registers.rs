//! Registers, buffers, instruction cache and TLB traced by hand.

use super::*;

#[test]
fn instruction_cache_and_tlb_by_hand() {
    // Pages of 16 bytes, two frames under clock; two lines of 8 bytes in one set; a TLB
    // of two entries in one set. Lines and TLB by way, . for an empty way.
    //
    // run      words  line        instruction cache  page                TLB     frames
    // 2..12    0-2    0 refilled  0 .                0 faults            0 .     0*
    //                 1 refilled  0 1                0 known
    // 14..22   3-5    1 there
    //                 2 refilled  2 1                1 faults            0 1     0* 1*
    // 0..4     0      0 refilled  2 0                0 known
    // 33..35   8      4 refilled  4 0                2 faults: looks at 0 1 0, evicts 0,
    //                                                clears 1            2 .     2* 1
    // 16..20   4      2 refilled  4 2                1 sets its bit      2 1     2* 1*
    // 16..36   4-8    2 there
    //                 3 refilled  3 2                1 known
    //                 4 refilled  3 4                2 known
    // 5..6     1      0 refilled  0 4                0 faults: looks at 1 2 1, evicts 1,
    //                                                clears 2            0 .     2  0*
    let icache = ICacheShape { cache_bytes: 16, line_bytes: 8, ways: 2 };
    let tlb = Some(TlbShape { sets: 1, ways: 2 });
    let case = Case {
        ways: None,
        runs: vec![
            run(2, 10),
            run(14, 8),
            run(0, 4),
            run(33, 2),
            run(16, 4),
            run(16, 20),
            run(5, 1),
        ],
        cache_page: 16,
        frames: 2,
        spare_bytes: 0,
        hierarchy: Some(HierarchyDesign { icache, tlb }),
        critical: Some(8),
    };
    let Replayed { counts, faults, rest } =
        agreed(&case, "clock", &[design(RegisterModel::RandomColumn, 1024, None)]).remove(0);
    assert_eq!((counts.bytes_read, counts.words), (49, 15));
    assert_eq!((counts.line_refills, counts.tlb_misses), (9, 5));
    assert_eq!((counts.references, counts.hits, counts.misses), (5, 1, 4));
    assert_eq!((counts.reference_bits_set, counts.walk, counts.max_walk), (1, 6, 3));
    let places: Vec<(u32, u32)> = faults.iter().map(|fault| (fault.page, fault.offset)).collect();
    assert_eq!(places, [(0, 2), (1, 16), (2, 33), (0, 5)]);

    let executed: Vec<Executed> = faults.iter().map(|fault| fault.executed).collect();
    let did = |bytes, words, line_refills, tlb_misses, reference_bits_set| Executed {
        bytes,
        words,
        line_refills,
        tlb_misses,
        references: tlb_misses,
        reference_bits_set,
        ..Executed::default()
    };
    let expected =
        [did(0, 0, 1, 1, 0), did(12, 4, 2, 1, 0), did(10, 3, 2, 1, 0), did(26, 7, 4, 2, 1)];
    assert_eq!(executed, expected);
    assert_eq!(rest, did(1, 1, 0, 0, 0));
    // Line 1 is the other half of page 0 and is refilled after 6 bytes in 2 words. Nothing else of
    // page 1 is needed before page 2 faults, and nothing else of page 2 at all.
    let left: Vec<Option<Executed>> = faults.iter().map(|fault| fault.left).collect();
    assert_eq!(left, [Some(did(6, 2, 1, 0, 0)), None, None, None]);

    // Without a TLB every refill asks: pages 0 0 1 0 2 1 1 2 0.
    let case = Case { hierarchy: Some(HierarchyDesign { icache, tlb: None }), ..case };
    let without = counts_of(&case, "clock", &[design(RegisterModel::RandomColumn, 1024, None)]);
    assert_eq!((without[0].references, without[0].hits, without[0].misses), (7, 3, 4));
    assert_eq!((without[0].line_refills, without[0].tlb_misses), (9, 0));
}

#[test]
fn the_rest_of_a_page_by_hand() {
    // Pages have 16 bytes, of which a critical block of 4 comes first. Offset 6 faults: 4..8 come
    // first, and 8 is needed after two bytes. Offset 20 faults: 24 is needed after three bytes, one
    // byte of page 0, and the references to both pages. Offsets 40, 1 and 20 evict pages 0, 1 and
    // 2, which need nothing else before the next fault.
    let runs = vec![
        run(6, 4),
        run(20, 3),
        run(7, 1),
        run(24, 1),
        run(40, 1),
        run(1, 3),
        run(20, 1),
        run(4, 1),
    ];
    let case = Case {
        ways: None,
        runs,
        cache_page: 16,
        frames: 2,
        spare_bytes: 0,
        hierarchy: None,
        critical: Some(4),
    };
    let replayed = agreed(&case, "fifo", &[design(RegisterModel::RandomColumn, 1024, None)]);
    let faults = &replayed[0].faults;
    let places: Vec<u32> = faults.iter().map(|fault| fault.offset).collect();
    assert_eq!(places, [6, 20, 40, 1, 20]);
    let left: Vec<Option<(u64, u64)>> =
        faults.iter().map(|fault| fault.left.map(|left| (left.bytes, left.references))).collect();
    assert_eq!(left, [Some((2, 0)), Some((4, 2)), None, None, None]);
    let whole = Case { critical: None, ..case };
    let replayed = agreed(&whole, "fifo", &[design(RegisterModel::RandomColumn, 1024, None)]);
    assert!(replayed[0].faults.iter().all(|fault| fault.left.is_none()));

    // One line of 8 bytes, a TLB of one entry: 16 faults, and its other half is needed
    // after two runs, two refills and two questions that the TLB had no answer to.
    let case = Case {
        runs: vec![run(0, 4), run(16, 4), run(8, 4), run(24, 4)],
        hierarchy: Some(HierarchyDesign {
            icache: ICacheShape { cache_bytes: 8, line_bytes: 8, ways: 1 },
            tlb: Some(TlbShape { sets: 1, ways: 1 }),
        }),
        critical: Some(8),
        ..whole
    };
    let replayed = agreed(&case, "fifo", &[design(RegisterModel::RandomColumn, 1024, None)]);
    let left: Vec<Option<Executed>> = replayed[0].faults.iter().map(|fault| fault.left).collect();
    let expected = Executed {
        bytes: 8,
        words: 2,
        line_refills: 2,
        tlb_misses: 2,
        references: 2,
        ..Executed::default()
    };
    assert_eq!(left, [None, Some(expected)]);
}

#[test]
fn two_buffers_by_hand() {
    // Four blocks of 256 a flash page of 1024, one frame, an image of 3 flash pages. Flash
    // page used last and the other one held, without and with loads ahead.
    // 0  other_page    0 .    other_page, then 1 ahead      0 1
    // 2  forward       0 .    forward, 1 is there           0 1
    // 5  other_page    1 0    other_buffer, then 2 ahead    1 2
    // 1  other_buffer  0 1    other_page, 1 is there        0 1
    // 0  backward      0 1    backward                      0 1
    // 9  other_page    2 0    other_page, 3 is no page      2 0
    // 4  other_page    1 2    other_page, 2 is there        1 2
    // 8  other_buffer  2 1    other_buffer                  2 1
    let case = pages(&[0, 2, 5, 1, 0, 9, 4, 8], 256, 1);
    let models = [RegisterModel::DoubleBuffer, RegisterModel::DoubleBufferPrefetch];
    let replayed = agreed(&case, "lru", &models.map(|model| design(model, 1024, None)));
    let [double, ahead] = &replayed[..] else { panic!() };
    let cases = |c: &Counts| (c.other_page, c.other_buffer, c.forward, c.backward);
    assert_eq!(cases(&double.counts), (4, 2, 1, 1));
    assert_eq!(cases(&ahead.counts), (4, 2, 1, 1));
    assert_eq!((double.counts.loads, double.counts.prefetches), (4, 0));
    let prefetches: Vec<Option<u32>> =
        ahead.faults.iter().map(|fault| fault.access.prefetch).collect();
    assert_eq!(prefetches, [Some(1), None, Some(2), None, None, None, None, None]);
    assert_eq!(ahead.counts.loads_by_flash_page, [(0, 2), (1, 2), (2, 2)]);
    assert_eq!(double.counts.bytes_fetched, 8 * 256);
}

#[test]
fn bytes_executed_between_faults_by_hand() {
    // 10..40 enters page 1 after 6 bytes and page 2 after 22; 40 is in page 2;
    // page 0 comes back after 31.
    let case = Case {
        ways: None,
        runs: vec![run(10, 30), run(40, 1), run(0, 4)],
        cache_page: 16,
        frames: 1,
        spare_bytes: 0,
        hierarchy: None,
        critical: None,
    };
    let replayed = agreed(&case, "lru", &[design(RegisterModel::Sequential, 64, None)]);
    let executed: Vec<u64> = replayed[0].faults.iter().map(|fault| fault.executed.bytes).collect();
    assert_eq!(executed, [0, 6, 16, 9]);
    assert_eq!(replayed[0].counts.bytes_read, 35);
}

/// Loads, column changes, bytes fetched and bytes skipped of each fault.
fn costs(replayed: &Replayed) -> Vec<(bool, bool, u32, u32)> {
    let accesses = replayed.faults.iter().map(|fault| fault.access);
    accesses.map(|a| (a.load, a.column_change, a.bytes_fetched, a.bytes_skipped)).collect()
}

#[test]
fn register_cases_by_hand() {
    // Four blocks a flash page, one frame. Columns: 256 other_page, 512 forward
    // at c, 0 backward, 512 forward behind c = 256, then page 1 and page 0 again.
    let case = pages(&[1, 2, 0, 2, 5, 3], 256, 1);
    let replayed = agreed(&case, "lru", &ONE_REGISTER.map(|model| design(model, 1024, None)));
    for Replayed { counts, .. } in &replayed {
        assert_eq!((counts.other_page, counts.forward, counts.backward), (3, 2, 1));
        assert_eq!(counts.distance_histogram, [(-2, 1), (1, 1), (2, 1)]);
        assert_eq!(counts.bytes_written, 6 * 256);
    }
    let [sequential, start_column, random_column] = &replayed[..] else { panic!() };
    assert_eq!(
        costs(sequential),
        [
            (true, false, 512, 256),
            (false, false, 256, 0),
            (true, false, 256, 0),
            (false, false, 512, 256),
            (true, false, 512, 256),
            (true, false, 1024, 768),
        ]
    );
    assert_eq!(sequential.counts.loads_by_flash_page, [(0, 3), (1, 1)]);
    assert_eq!(
        costs(start_column),
        [
            (true, false, 256, 0),
            (false, false, 256, 0),
            (true, false, 256, 0),
            (false, false, 512, 256),
            (true, false, 256, 0),
            (true, false, 256, 0),
        ]
    );
    assert_eq!(
        costs(random_column),
        [
            (true, false, 256, 0),
            (false, false, 256, 0),
            (false, true, 256, 0),
            (false, true, 256, 0),
            (true, false, 256, 0),
            (true, false, 256, 0),
        ]
    );
    assert_eq!(random_column.counts.loads_by_flash_page, [(0, 2), (1, 1)]);
}

#[test]
fn codewords_by_hand() {
    // Blocks 0 1 and 2 3 share a codeword of 512. 0 fetches [0, 512), 2 goes
    // on with [512, 1024), 3 wants that again, 1 wants [0, 512).
    let case = pages(&[0, 2, 3, 1], 256, 1);
    let replayed = agreed(&case, "lru", &ONE_REGISTER.map(|model| design(model, 1024, Some(512))));
    for Replayed { counts, .. } in &replayed {
        assert_eq!((counts.other_page, counts.forward, counts.backward), (1, 1, 2));
        assert_eq!(counts.distance_histogram, [(-2, 1), (1, 1), (2, 1)]);
        assert_eq!(counts.bytes_written, 4 * 256);
    }
    let [sequential, start_column, random_column] = &replayed[..] else { panic!() };
    assert_eq!(
        costs(sequential),
        [
            (true, false, 512, 0),
            (false, false, 512, 0),
            (true, false, 1024, 512),
            (true, false, 512, 0)
        ]
    );
    assert_eq!(
        costs(start_column),
        [
            (true, false, 512, 0),
            (false, false, 512, 0),
            (true, false, 512, 0),
            (true, false, 512, 0)
        ]
    );
    assert_eq!(
        costs(random_column),
        [
            (true, false, 512, 0),
            (false, false, 512, 0),
            (false, true, 512, 0),
            (false, true, 512, 0)
        ]
    );
}

#[test]
fn small_page_chips_cannot_change_the_column() {
    let case = pages(&[0, 1], 256, 1);
    for (flash_page, possible) in [(256, false), (512, false), (1024, true)] {
        let register = design(RegisterModel::RandomColumn, flash_page, None);
        let cache = cache(256, 1, 0, "lru");
        let trace = MemoryTrace::new(case.runs.clone());
        let result = replay(&trace, &cache, &[register], &|| true, None);
        assert_eq!(result.is_ok(), possible, "{flash_page}");
    }
}
