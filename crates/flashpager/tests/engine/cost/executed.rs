//! Designs that are executed fault by fault: with loads ahead, or with critical blocks.

use super::*;

/// Three consecutive flash pages, each 512 ns over the bus. While page 0 is transferred from 1000
/// on, page 1 is loaded until 2000.
#[test]
fn loads_ahead_by_hand() {
    let prefetch = RegisterModel::DoubleBufferPrefetch;
    let in_order = [(0, 1536)];
    // Page 0 is loaded, transferred in 1000..1512 and executed until 2024. Page 1 is loaded by
    // then and transferred in 2024..2536. Page 2 is loaded in 2024..3024, wanted at 3048, and
    // transferred until 3560.
    let (time, latencies, _) = one_frame(&in_order, prefetch, 512, plain(1.0)).execute(None);
    assert_eq!((time, latencies), (4072.0, vec![1512.0, 512.0, 512.0]));
    // A page is executed in 128 ns. Page 1 is wanted at 1640 and loaded at 2000; page 2 is wanted
    // at 2640 and loaded at 3000.
    let (time, latencies, _) = one_frame(&in_order, prefetch, 512, plain(0.25)).execute(None);
    assert_eq!((time, latencies), (3640.0, vec![1512.0, 872.0, 872.0]));
    // Page 2 is wanted at 1640 instead. Its load waits for the load of page 1 and takes 2000..3000.
    // It is the last page, so that nothing is loaded ahead, and page 1 is loaded from 3640 on, when
    // it is wanted.
    let jumps = [(0, 512), (1024, 512), (512, 512), (2047, 1)];
    let (time, latencies, _) = one_frame(&jumps[..3], prefetch, 512, plain(0.25)).execute(None);
    assert_eq!((time, latencies), (5280.0, vec![1512.0, 1872.0, 1512.0]));
    // In an image of four pages, page 3 is loaded ahead until 4000, and page 1 waits for it.
    let (_, latencies, _) = one_frame(&jumps, prefetch, 512, plain(0.25)).execute(None);
    assert_eq!(latencies[..3], [1512.0, 1872.0, 1872.0]);
    // Without loads ahead, the program waits for every page.
    let (time, latencies, _) =
        one_frame(&in_order, RegisterModel::DoubleBuffer, 512, plain(1.0)).execute(None);
    assert_eq!((time, latencies), (3.0 * 2024.0, vec![1512.0; 3]));
}

#[test]
fn critical_blocks_by_hand() {
    // The first 128 bytes arrive at 1128 and are executed at 1256. All have arrived at 1512.
    let double = RegisterModel::DoubleBuffer;
    let (time, latencies, _) = one_frame(&[(0, 512)], double, 512, plain(1.0)).execute(Some(128));
    assert_eq!((time, latencies), (1512.0 + 384.0, vec![1128.0]));
    // Ten bytes of page 0 are executed. At 1138 page 1 is wanted, whose load ends at 2138.
    let (time, latencies, _) =
        one_frame(&[(300, 10), (512, 1)], double, 512, plain(1.0)).execute(Some(128));
    assert_eq!((time, latencies), (1138.0 + 1128.0 + 1.0, vec![1128.0, 1128.0]));
    // Page 1 is in the same flash page: it waits for the bus, which brings the rest of
    // page 0 until 1512.
    let (time, latencies, _) =
        one_frame(&[(300, 10), (512, 1)], double, 1024, plain(1.0)).execute(Some(128));
    assert_eq!((time, latencies), (1641.0, vec![1128.0, 502.0]));
}

/// OneNAND with cache pages of 256 bytes in 1 KB.
fn one_nand(model: RegisterModel, policy: &str, critical: Option<u32>) -> Design {
    let spec = DesignSpec {
        ways: None,
        prefetch_lines: None,
        line_fetch: "whole".into(),
        store: "plain".into(),
        classes: None,
        read_mode: None,
        port: None,
        architecture: None,
        part: Some("KFG1G16Q2M".into()),
        bus: Some("13.16MHz-x16".into()),
        clip_bus: false,
        cache_bytes: 1024,
        cache_page_bytes: 256,
        flash_page_bytes: None,
        register: Some(model.name().into()),
        codeword_bytes: None,
        tag_bytes: None,
        policy: policy.into(),
        ram: Some(Ram { t_read_ns: 10.0, t_write_ns: 10.0 }),
        handler: None,
        processor: None,
        nor: Some(flashpager::spec::NO_NOR.into()),
        count_commands: false,
        schedule: "parallel".into(),
        reference_bit: "hardware".into(),
        critical_block_bytes: critical,
        icache: None,
        tlb: None,
    };
    Design::new(spec).unwrap()
}

#[test]
fn executed_designs_end_when_they_are_stopped() {
    let run = |at: u32| Run { offset: at * 100 % 20_000, length: 60 };
    let trace = MemoryTrace::new((0..1000).map(run).collect());
    let (double, ahead) = (RegisterModel::DoubleBuffer, RegisterModel::DoubleBufferPrefetch);
    // The number of calls of `should_continue`; each must end the replay if it returns false.
    let questions = |designs: &[Design]| {
        let polls = AtomicUsize::new(0);
        let after = |answers: usize| {
            polls.store(0, Ordering::Relaxed);
            let should_continue = || polls.fetch_add(1, Ordering::Relaxed) < answers;
            simulate(
                &trace,
                designs,
                &should_continue,
                flashpager::design::WatchedWork::unwatched(),
                &|_| (),
            )
            .map(|rows| rows.len())
        };
        assert_eq!(after(usize::MAX).unwrap(), designs.len());
        let all = polls.load(Ordering::Relaxed);
        for answers in 0..all {
            assert!(matches!(after(answers), Err(Error::Interrupted)), "{answers} of {all}");
        }
        all
    };
    let once = questions(&[one_nand(double, "lru", None)]);
    assert!(once > 1);
    let executed = [one_nand(double, "lru", Some(64)), one_nand(ahead, "min", None)];
    assert_eq!(questions(&executed[..1]), once);
    // MIN looks for next uses first.
    assert_eq!(questions(&executed[1..]), 2 * once);
    // One pass for all counts that are sums, and one for each executed design.
    let [critical, min] = executed;
    let all = [one_nand(double, "lru", None), critical, min, one_nand(ahead, "lru", None)];
    assert_eq!(questions(&all), 5 * once);
}

#[test]
fn bounds_of_memory_know_executed_designs() {
    let image_bytes = 1 << 20;
    let info =
        TraceInfo { image_bytes, runs: 1_000_000, bytes: 30_000_000, ..TraceInfo::default() };
    let double = RegisterModel::DoubleBuffer;
    let [whole, critical] = [None, Some(64)].map(|critical| one_nand(double, "lru", critical));
    let bytes = |designs: &[&Design], threads| {
        let designs: Vec<Design> = designs.iter().map(|design| (*design).clone()).collect();
        memory_bytes(&info, &designs, threads)
    };
    let alone = bytes(&[&whole], 8);
    assert!(alone >= image_bytes / 256 * 4);
    assert!(bytes(&[&critical], 8) >= alone);
    assert!(bytes(&[&critical], 1) >= alone);
    assert_eq!(bytes(&[&whole, &critical], 1), alone);
    assert_eq!(bytes(&[&whole, &critical], 8), 2 * alone);
    assert_eq!(bytes(&[&whole, &critical, &critical], 2), 2 * alone);
}

/// A case in which flash or bus can work while the program runs, with its critical block.
fn any_executed_case() -> impl Strategy<Value = (Case, Option<u32>)> {
    let model = prop::sample::select(vec![
        RegisterModel::DoubleBuffer,
        RegisterModel::DoubleBufferPrefetch,
        RegisterModel::DoubleBufferPrefetch,
    ]);
    let schedules = [Schedule::Sequential, Schedule::Parallel, Schedule::ParallelMmu];
    let schedule = prop::sample::select(schedules.to_vec());
    let critical = prop::option::of((4..=7u32).prop_map(|shift| 1 << shift));
    // With a slow host there is nothing to wait for.
    let slow = prop::sample::select(vec![1.0, 0.1, 0.001]);
    (any_case(), model, schedule, 7..=10u32, critical, slow).prop_map(
        |(case, model, schedule, flash_page, critical, slow)| {
            let register = RegisterDesign {
                model,
                flash_page_bytes: 1 << flash_page,
                codeword_bytes: None,
                prefetch_lines: 0,
            };
            let Prices { handler, ram, fetch, .. } = case.prices;
            let prices = Prices {
                schedule,
                ram: Ram { t_read_ns: ram.t_read_ns * slow, ..ram },
                handler: Handler {
                    lookup_ns: handler.lookup_ns * slow,
                    pre_process_ns: handler.pre_process_ns * slow,
                    get_freeframe_ns: handler.get_freeframe_ns * slow,
                    walk_step_ns: handler.walk_step_ns * slow,
                    downgrade_ns: handler.downgrade_ns * slow,
                    update_mmu_ns: handler.update_mmu_ns * slow,
                    post_process_ns: handler.post_process_ns * slow,
                    load_command_ns: handler.load_command_ns * slow,
                    false_fault_ns: handler.false_fault_ns * slow,
                    ..handler
                },
                fetch: fetch.map(|fetch| FetchPrices {
                    fetch_ns: fetch.fetch_ns * slow,
                    refill_ns: fetch.refill_ns * slow,
                    tlb_lookup_ns: fetch.tlb_lookup_ns * slow,
                    page_walk_ns: fetch.page_walk_ns * slow,
                }),
                ..case.prices
            };
            (Case { register, prices, ..case }, critical)
        },
    )
}

/// A slow, obvious execution on one clock, written from docs/handler.md and docs/model.md alone:
/// its time, the latencies of its faults, and the waits for the rest of a page.
fn walk_through_time(case: &Case, critical: Option<u32>) -> (f64, Vec<f64>, Vec<f64>) {
    let Case { cache, register, prices, .. } = case;
    let Handler {
        lookup_ns,
        pre_process_ns,
        get_freeframe_ns,
        walk_step_ns,
        downgrade_ns,
        update_mmu_ns,
        post_process_ns,
        load_command_ns,
        false_fault_ns,
        ..
    } = prices.handler;
    let host_ns = |executed: &Executed| {
        let Executed { bytes, words, line_refills, tlb_misses, .. } = *executed;
        let code_ns = match prices.fetch {
            None => bytes as f64 * prices.ram.t_read_ns,
            Some(fetch) => {
                words as f64 * fetch.fetch_ns
                    + line_refills as f64 * (fetch.tlb_lookup_ns + fetch.refill_ns)
                    + tlb_misses as f64 * fetch.page_walk_ns
            }
        };
        let bits = if prices.emulates_bit { executed.reference_bits_set } else { 0 };
        code_ns
            + executed.references as f64 * lookup_ns
            + (executed.false_faults + bits) as f64 * false_fault_ns
            + executed.downgrades as f64 * downgrade_ns
    };
    let (faults, rest) = case.faults(critical);
    let (mut latencies, mut waits) = (Vec::new(), Vec::new());
    // The host's clock, and the moments until which flash and bus are busy.
    let (mut now, mut flash_free, mut bus_free) = (0.0_f64, 0.0_f64, 0.0_f64);
    let mut ahead = None;
    let mut left = None;
    let mut run = |now: &mut f64, executed: Executed, left: Option<Executed>, bus_free: f64| {
        let before = left.unwrap_or(executed);
        *now += host_ns(&before);
        if left.is_some() && bus_free > *now {
            waits.push(bus_free - *now);
            *now = bus_free;
        }
        *now += host_ns(&(executed - before));
    };
    for Fault { offset, access, search, executed, left: next_left, .. } in faults {
        run(&mut now, executed, left, bus_free);
        left = next_left;

        let began = now;
        now += pre_process_ns;
        if access.load {
            now += load_command_ns;
        }
        let sought = now;
        now += get_freeframe_ns
            + f64::from(search.walk) * walk_step_ns
            + f64::from(search.downgrades) * downgrade_ns;
        let may_load = if prices.schedule == Schedule::Sequential { now } else { sought };
        if prices.schedule == Schedule::ParallelMmu {
            now += update_mmu_ns;
        }
        let flash_page = offset / register.flash_page_bytes;
        let in_buffer = if access.load {
            flash_free = flash_free.max(may_load) + prices.t_load_ns;
            flash_free
        } else {
            match ahead {
                Some((page, loaded)) if page == flash_page => loaded,
                _ => sought,
            }
        };

        // The page is in its buffer, there is a frame for it, and the bus is free.
        now = now.max(in_buffer).max(bus_free);
        if let Some(page) = access.prefetch {
            flash_free = flash_free.max(now) + prices.t_load_ns;
            ahead = Some((page, flash_free));
        }
        let bytes_ns = |bytes: u32| f64::from(bytes) * (prices.t_byte_ns + prices.ram.t_write_ns);
        bus_free = now + bytes_ns(cache.cache_page_bytes);
        now += bytes_ns(critical.unwrap_or(cache.cache_page_bytes));
        if prices.schedule != Schedule::ParallelMmu {
            now += update_mmu_ns;
        }
        now += post_process_ns;
        latencies.push(now - began);
    }
    run(&mut now, rest, left, bus_free);
    (now, latencies, waits)
}

/// Compares a histogram of times with single times, to a picosecond.
fn same_times(counted: &[(f64, u64)], one_by_one: &[f64]) -> bool {
    let mut counted: Vec<f64> =
        counted.iter().flat_map(|(ns, times)| vec![*ns; *times as usize]).collect();
    let mut one_by_one = one_by_one.to_vec();
    for times in [&mut counted, &mut one_by_one] {
        times.retain(|ns| *ns > 0.001);
        times.sort_by(f64::total_cmp);
    }
    let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 0.001 + 1e-9 * a;
    counted.len() == one_by_one.len() && counted.iter().zip(&one_by_one).all(same)
}

#[test]
fn designs_that_share_a_pass_are_one_cell() {
    use RegisterModel::{DoubleBuffer, DoubleBufferPrefetch};
    let design = |model, policy| one_nand(model, policy, None);
    let designs = [
        design(DoubleBuffer, "lru"),
        design(DoubleBuffer, "fifo"),
        design(DoubleBufferPrefetch, "lru"),
    ];
    assert_eq!(cells(&designs), [vec![0, 2], vec![1]]);
    assert_eq!(cells::<Design>(&[]), Vec::<Vec<usize>>::new());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4 * ProptestConfig::default().cases,
        failure_persistence: None,
        ..Default::default()
    })]

    /// If nothing overlaps with the program, its time is the sum of its prices.
    #[test]
    fn an_execution_without_overlap_takes_the_sum(case in any_case()) {
        let counts = case.counts();
        let time = Time::of(&counts, &case.prices).time_ns;
        let sum = |of: &[(f64, u64)]| of.iter().map(|(ns, times)| ns * *times as f64).sum::<f64>();
        let summed = fault_latencies(&counts, &case.prices);
        for critical in [None, Some(case.cache.cache_page_bytes)] {
            let (executed, _, latencies) = case.execute(critical);
            prop_assert!(about(executed, time), "{critical:?}: {executed}, sum {time}");
            // Latencies of an execution are whole picoseconds.
            let summed_ns = sum(&summed);
            let rounding_ns = 0.001 * counts.misses as f64 + 1e-9 * summed_ns;
            prop_assert!((sum(&latencies) - summed_ns).abs() <= rounding_ns);
            let worst = |of: &[(f64, u64)]| of.last().map_or(0.0, |(ns, _)| *ns);
            prop_assert!((worst(&latencies) - worst(&summed)).abs() <= 0.001);
            prop_assert_eq!(latencies.iter().map(|(_, times)| times).sum::<u64>(), counts.misses);
        }
    }

    /// Where flash and bus go on while the program runs, a clock says the same.
    #[test]
    fn an_execution_takes_the_time_of_a_simulated_clock((case, critical) in any_executed_case()) {
        let (time, latencies, waits) = walk_through_time(&case, critical);
        let page_bytes = case.cache.cache_page_bytes;
        let mut execution = Execution::new(case.prices, page_bytes, critical);
        let (faults, rest) = case.faults(critical);
        faults.iter().for_each(|fault| execution.fault(fault));
        let executed = execution.finish(&rest);
        prop_assert!(about(executed.time_ns, time), "{}, by the clock {time}", executed.time_ns);
        let ours = executed.fault_latencies;
        prop_assert!(same_times(&ours, &latencies), "{ours:?}, by the clock {latencies:?}");
        let ours = executed.waits;
        prop_assert!(same_times(&ours, &waits), "{ours:?}, by the clock {waits:?}");
    }

    /// With two buffers, a critical block costs nothing and may save what it leaves for
    /// later; loads ahead cost at most a load each.
    #[test]
    fn jobs_side_by_side_save_time(case in any_case(), shift in 4..7u32) {
        let double = |model| Case {
            register: RegisterDesign { model, ..case.register },
            ..case.clone()
        };
        let (whole, ..) = double(RegisterModel::DoubleBuffer).execute(None);
        let (critical, ..) = double(RegisterModel::DoubleBuffer).execute(Some(1 << shift));
        prop_assert!(critical <= whole * (1.0 + 1e-9), "{critical}, whole pages {whole}");
        let ahead = double(RegisterModel::DoubleBufferPrefetch);
        let counts = ahead.counts();
        let (time, ..) = ahead.execute(None);
        let most = Time::of(&counts, &ahead.prices).time_ns
            + counts.prefetches as f64 * ahead.prices.t_load_ns;
        prop_assert!(time <= most * (1.0 + 1e-9), "{time}, at most {most}");
    }
}
