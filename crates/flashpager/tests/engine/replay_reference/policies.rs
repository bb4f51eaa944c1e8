//! Policies traced by hand.

use super::*;

fn walks(case: &Case) -> Vec<(u32, u32)> {
    walks_of("clock", case)
}

fn walks_of(policy: &str, case: &Case) -> Vec<(u32, u32)> {
    let replayed = agreed(case, policy, &[design(RegisterModel::Sequential, 512, None)]);
    replayed[0].faults.iter().map(|fault| (fault.page, fault.search.walk)).collect()
}

#[test]
fn clock_by_hand() {
    // 0 1 2 take frames 0 1 2, hand 0          [0* 1* 2*]
    // 3 looks at frames 0 1 2 0, evicts 0      [3* 1  2 ] hand 1
    // 1 hits                                   [3* 1* 2 ]
    // 4 looks at 1 2, evicts 2                 [3* 1  4*] hand 0
    // 0 looks at 0 1, evicts 1                 [3  0* 4*] hand 2
    // 3 hits                                   [3* 0* 4*]
    // 1 looks at 2 0 1 2, evicts 4             [3  0  1*] hand 0
    let case = pages(&[0, 1, 2, 3, 1, 4, 0, 3, 1], 16, 3);
    assert_eq!(walks(&case), [(0, 0), (1, 0), (2, 0), (3, 4), (4, 2), (0, 2), (1, 4)]);
    let counts = counts(&case, "clock");
    assert_eq!((counts.references, counts.hits, counts.misses), (9, 2, 7));
    assert_eq!((counts.walk, counts.max_walk), (12, 4));
}

#[test]
fn clock_with_one_frame_looks_at_it_twice() {
    assert_eq!(walks(&pages(&[0, 0, 1, 0], 16, 1)), [(0, 0), (1, 2), (0, 2)]);
}

#[test]
fn clock_with_free_frames_does_not_walk() {
    assert_eq!(walks(&pages(&[2, 0, 2, 1, 0], 16, 4)), [(2, 0), (0, 0), (1, 0)]);
}

#[test]
fn reference_bits_set_by_hand() {
    // As above: 1 hits after the hand cleared its bit for 3, 3 after it did for 4 and 0.
    let case = pages(&[0, 1, 2, 3, 1, 4, 0, 3, 1], 16, 3);
    let hardware = counts(&case, "clock");
    assert_eq!((hardware.hits, hardware.false_faults, hardware.reference_bits_set), (2, 0, 2));
    // A page comes in with its bit set: its next use sets nothing again.
    assert_eq!(counts(&pages(&[0, 1, 0, 1, 0], 16, 2), "clock").reference_bits_set, 0);
    let emulated = hardware.clone().with_emulated_bit();
    let expected = Counts { hits: 0, false_faults: 2, ..hardware };
    assert_eq!(emulated, expected);
    assert_eq!(emulated.false_fault_downgrades, 0);
}

#[test]
fn pa_clock_by_hand() {
    // 0 1 2 take frames 0 1 2, hand 0                      [0* 1* 2*]
    // 3 looks at 0 1, may look no further: evicts 1        [0  3* 2*] hand 2
    // 1 looks at 2 0, evicts 0                             [1* 3* 2 ] hand 1
    // 4 looks at 1 2, evicts 2                             [1* 3  4*] hand 0
    // 0 looks at 0 1, evicts 3                             [1  0* 4*] hand 2
    // 1 hits, its bit is set again                         [1* 0* 4*]
    // 3 looks at 2 0, may look no further: evicts 1        [3* 0* 4 ] hand 1
    let case = pages(&[0, 1, 2, 3, 1, 4, 0, 1, 3], 16, 3);
    let expected = [(0, 0), (1, 0), (2, 0), (3, 2), (1, 2), (4, 2), (0, 2), (3, 2)];
    assert_eq!(walks_of("pa-clock(2)", &case), expected);
    assert_eq!(counts(&case, "pa-clock(2)").reference_bits_set, 1);
    let order = [0, 1, 2, 3, 0, 3, 4];
    // A budget of one frame is FIFO.
    assert_eq!(missed("pa-clock(1)", &order, 3), missed("fifo", &order, 3));
}

/// Page and pages moved down of each true fault, and the counts.
fn downgrades(policy: &str, order: &[u32], frames: usize) -> (Vec<(u32, u32)>, Counts) {
    let case = pages(order, 16, frames);
    let Replayed { counts, faults, .. } =
        agreed(&case, policy, &[design(RegisterModel::Sequential, 512, None)]).remove(0);
    let moved = faults.iter().map(|fault| (fault.page, fault.search.downgrades)).collect();
    (moved, counts)
}

const SECOND_CHANCES: [u32; 15] = [0, 1, 2, 3, 0, 1, 2, 4, 3, 1, 2, 4, 0, 3, 5];

#[test]
fn fifo_sc_by_hand() {
    // Four frames, two of them valid. valid | invalid, heads first.
    // 0 1                              0 1 |
    // 2 comes in, 0 moves down         1 2 | 0
    // 3 comes in, 1 moves down         2 3 | 0 1
    // 0 false fault, 2 moves down      3 0 | 1 2
    // 1 false fault, 3 moves down      0 1 | 2 3
    // 2 false fault, 0 moves down      1 2 | 3 0
    // 4 evicts 3, 1 moves down         2 4 | 0 1
    // 3 evicts 0, 2 moves down         4 3 | 1 2
    // 1 false fault, 4 moves down      3 1 | 2 4
    // 2 false fault, 3 moves down      1 2 | 4 3
    // 4 false fault, 1 moves down      2 4 | 3 1
    // 0 evicts 3, 2 moves down         4 0 | 1 2
    // 3 evicts 1, 4 moves down         0 3 | 2 4
    // 5 evicts 2, 0 moves down         3 5 | 4 0
    let (faults, counts) = downgrades("fifo-sc(2)", &SECOND_CHANCES, 4);
    let expected = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (3, 1), (0, 1), (3, 1), (5, 1)];
    assert_eq!(faults, expected);
    assert_eq!((counts.hits, counts.false_faults, counts.misses), (0, 6, 9));
    assert_eq!((counts.downgrades, counts.false_fault_downgrades), (13, 6));
    assert_eq!(downgrades("fifo-sc", &SECOND_CHANCES, 4).1, counts);
    assert_eq!(downgrades("fifo-sc(74%)", &SECOND_CHANCES, 4).1, counts);
}

#[test]
fn pa_fifo_sc_by_hand() {
    // Four frames, two of them valid. valid | invalid, heads first.
    // 0 1                              0 1     |
    // 2 comes in, 0 moves down         1 2     | 0
    // 3 comes in, 1 moves down         2 3     | 0 1
    // 0 false fault                    2 3 0   | 1
    // 1 false fault                    2 3 0 1 |
    // 2 hits
    // 4: 2 3 move down                 0 1     | 2 3
    //    evicts 2, 0 moves down        1 4     | 3 0
    // 3 false fault                    1 4 3   | 0
    // 1 hits
    // 2: 1 moves down                  4 3     | 0 1
    //    evicts 0, 4 moves down        3 2     | 1 4
    // 4 false fault                    3 2 4   | 1
    // 0: 3 moves down                  2 4     | 1 3
    //    evicts 1, 2 moves down        4 0     | 3 2
    // 3 false fault                    4 0 3   | 2
    // 5: 4 moves down                  0 3     | 2 4
    //    evicts 2, 0 moves down        3 5     | 4 0
    let (faults, counts) = downgrades("pa-fifo-sc(2)", &SECOND_CHANCES, 4);
    let expected = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 3), (2, 2), (0, 2), (5, 2)];
    assert_eq!(faults, expected);
    assert_eq!((counts.hits, counts.false_faults, counts.misses), (2, 5, 8));
    assert_eq!((counts.downgrades, counts.false_fault_downgrades), (11, 0));
    assert_eq!(downgrades("pa-fifo-sc", &SECOND_CHANCES, 4).1, counts);
}

#[test]
fn parameters_must_fit_the_frames() {
    for (policy, frames, possible) in [
        ("fifo-sc(0)", 4, false),
        ("fifo-sc(1)", 4, true),
        ("fifo-sc(3)", 4, true),
        ("fifo-sc(4)", 4, false),
        ("fifo-sc(1)", 1, false),
        ("fifo-sc", 1, false),
        ("fifo-sc", 2, true),
        ("fifo-sc(1%)", 3, true),
        ("fifo-sc(99%)", 3, true),
        ("fifo-sc(100%)", 3, false),
        ("pa-fifo-sc(2)", 2, false),
        ("pa-fifo-sc(1)", 2, true),
        ("pa-clock(0)", 4, false),
        ("pa-clock(1)", 1, true),
        ("pa-clock(50%)", 4, false),
    ] {
        let result = cache(16, frames, 0, policy).check();
        assert_eq!(result.is_ok(), possible, "{policy}, {frames} frames");
    }
    for wrong in ["fifo-sc(1,2)", "fifo-sc(x)", "clock(1)", "pa-clock(1,1)"] {
        assert!(wrong.parse::<PolicySpec>().is_err(), "{wrong}");
    }
}

#[test]
fn sieve_by_hand() {
    // Oldest first, ' visited, the hand before the page it is at.
    // 0 1 2, then 0 hits                       >0' 1  2
    // 3 looks at 0 1, evicts 1                  0 >2  3
    // 2 hits                                    0 >2' 3
    // 4 looks at 2 3, evicts 3, the newest     >0  2  4
    // 1 looks at 0, evicts 0                   >2  4  1
    let case = pages(&[0, 1, 2, 0, 3, 2, 4, 1, 2, 4], 16, 3);
    let expected = [(0, 0), (1, 0), (2, 0), (3, 2), (4, 2), (1, 1)];
    assert_eq!(walks_of("sieve", &case), expected);
}

#[test]
fn s3_fifo_by_hand() {
    // Three frames: a share of 1 for small, 2 ghosts. small | main | ghosts.
    // 0 1 2, then 0 0 hit                      0.2 1 2 |     |
    // 3 looks at 0 1: 0 to main, evicts 1      2 3     | 0   | 1
    // 1 was a ghost; 2 is evicted              3       | 0 1 | 2
    // 4 looks at 3, evicts it                  4       | 0 1 | 2 3
    // 2 was a ghost; 4 is evicted              .       | 0 1 2 | 3 4
    // 5 looks at main, evicts 0                5       | 1 2 | 3 4
    let case = pages(&[0, 1, 0, 2, 0, 3, 1, 4, 2, 5, 1, 2], 16, 3);
    let expected = [(0, 0), (1, 0), (2, 0), (3, 2), (1, 1), (4, 1), (2, 1), (5, 1)];
    assert_eq!(walks_of("s3-fifo", &case), expected);
}

fn missed(policy: &str, order: &[u32], frames: usize) -> Vec<u32> {
    walks_of(policy, &pages(order, 16, frames)).into_iter().map(|(page, _)| page).collect()
}

#[test]
fn arc_by_hand() {
    // Two frames. T1 | T2 | B1 | B2, p.
    // 0 1 0          1 | 0 |   |  , 0
    // 2: replace     2 | 0 | 1 |  , 0
    // 1 in B1: p = 1, T1 is not over it: T2    2 | 1 |   | 0, 1
    // 0 in B2: p = 0, T1 is over it            . | 1 0 | 2 | , 0
    // 1 and 0 hit
    assert_eq!(missed("arc", &[0, 1, 0, 2, 1, 0, 1, 0], 2), [0, 1, 2, 1, 0]);
}

#[test]
fn two_q_by_hand() {
    // Four frames, Kin 1, Kout 2. A1in | Am | A1out.
    // 0 1 2 3        0 1 2 3 |   |
    // 4              1 2 3 4 |   | 0
    // 0              2 3 4 | 0   | 1
    // 5              3 4 5 | 0   | 1 2
    // 6              4 5 6 | 0   | 2 3
    // 1 (forgotten)  5 6 1 | 0   | 3 4
    // 0 hits
    assert_eq!(missed("2q", &[0, 1, 2, 3, 4, 0, 5, 6, 1, 0], 4), [0, 1, 2, 3, 4, 0, 5, 6, 1]);
}

#[test]
fn lirs_by_hand() {
    // Three frames, two of them for LIR pages. Stack, oldest first | resident.
    // 0 1 are LIR    0 1     |
    // 2              0 1 2   | 2
    // 3 evicts 2     0 1 2 3 | 3       2 is a ghost
    // 2 evicts 3 and is promoted: 0 is resident    1 2' 3 -> 1 3 2 | 0
    // 0 hits, not in the stack                     1 3 2 0 | 0
    // 0 and 1 hit: no more than one in between
    // 3 evicts 0 and is promoted: 2 is resident, 0 stays a ghost
    // 2 hits, 0 evicts 2
    assert_eq!(missed("lirs", &[0, 1, 2, 3, 2, 0, 1, 3, 2, 0], 3), [0, 1, 2, 3, 2, 3, 0]);
}

#[test]
fn lru_2_by_hand() {
    // Two frames. Each page with its last reference but one and its last.
    // 0 1 0          0:1,3  1:-,2
    // 2 evicts 1     0:1,3  2:-,4         1 was last used at 2
    // 1 evicts 2     0:1,3  1:2,5         2 was last used at 4
    // 2 evicts 0     1:2,5  2:4,6
    let case = pages(&[0, 1, 0, 2, 1, 2, 1], 16, 2);
    assert_eq!(walks_of("lru-2", &case), [(0, 0), (1, 0), (2, 2), (1, 2), (2, 2)]);
}

#[test]
fn random_by_hand() {
    // xorshift32 from 1: 270369, 67634689, 2647435461, 307599695, and four frames:
    // 0, 0, 2, 0.
    let order = [0, 1, 2, 3, 4, 5, 6, 7, 1, 3];
    assert_eq!(missed("random(1)", &order, 4), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(missed("random(1)", &[0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 2], 4).len(), 11);
}

#[test]
fn random_takes_seeds_of_32_bits() {
    let trace = MemoryTrace::new(vec![run(0, 1)]);
    let register = [design(RegisterModel::Sequential, 512, None)];
    for (seed, possible) in [(0, true), (u64::from(u32::MAX), true), (1 << 32, false)] {
        let cache = cache(16, 1, 0, &format!("random({seed})"));
        let result = replay(&trace, &cache, &register, &|| true, None);
        assert_eq!(result.is_ok(), possible, "{seed}");
    }
}

/// Belady's anomaly: FIFO misses more with 4 frames than with 3.
#[test]
fn lru_fifo_and_min_by_hand() {
    let order = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
    let register = [design(RegisterModel::Sequential, 512, None)];
    for (policy, with_3, with_4) in [("fifo", 9, 10), ("lru", 10, 8), ("min", 7, 6)] {
        for (frames, misses) in [(3, with_3), (4, with_4)] {
            let replayed = agreed(&pages(&order, 16, frames), policy, &register);
            assert_eq!(replayed[0].counts.misses, misses, "{policy}, {frames} frames");
            assert_eq!(replayed[0].counts.walk, 0);
        }
    }
}
