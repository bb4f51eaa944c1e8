//! The fault handler's jobs on a time axis, and sums of prices.

use super::*;

/// The schedules of SWL, figures 3 to 5 and footnote 3.
#[test]
fn timelines_by_hand() {
    let jobs = Jobs {
        pre_process_ns: 3.0,
        get_freeframe_ns: 10.0,
        load_stopover_ns: 30.0,
        trans_host_mem_ns: 20.0,
        trans_rest_ns: 0.0,
        update_mmu_ns: 25.0,
        post_process_ns: 2.0,
    };
    let spans = |schedule| {
        let place = |span: JobSpan| (span.job, span.executor, span.start_ns, span.end_ns);
        let timeline = Timeline::new(schedule, &jobs, BusyUntil::default());
        timeline.spans().into_iter().map(place).collect::<Vec<_>>()
    };
    use Executor::{Flash, Host};
    let hdd = [
        ("PreProcess", Host, 0.0, 3.0),
        ("GetFreeframe", Host, 3.0, 13.0),
        ("LoadPage", Flash, 13.0, 63.0),
        ("UpdateMMU", Host, 63.0, 88.0),
        ("PostProcess", Host, 88.0, 90.0),
    ];
    assert_eq!(spans(Schedule::Hdd), hdd);
    let sequential = [
        ("PreProcess", Host, 0.0, 3.0),
        ("GetFreeframe", Host, 3.0, 13.0),
        ("LoadStopover", Flash, 13.0, 43.0),
        ("TransHostMem", Host, 43.0, 63.0),
        ("UpdateMMU", Host, 63.0, 88.0),
        ("PostProcess", Host, 88.0, 90.0),
    ];
    assert_eq!(spans(Schedule::Sequential), sequential);
    let parallel = [
        ("PreProcess", Host, 0.0, 3.0),
        ("GetFreeframe", Host, 3.0, 13.0),
        ("LoadStopover", Flash, 3.0, 33.0),
        ("TransHostMem", Host, 33.0, 53.0),
        ("UpdateMMU", Host, 53.0, 78.0),
        ("PostProcess", Host, 78.0, 80.0),
    ];
    assert_eq!(spans(Schedule::Parallel), parallel);
    let mut parallel_mmu = spans(Schedule::ParallelMmu);
    parallel_mmu.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.3.total_cmp(&b.3)));
    let expected = [
        ("PreProcess", Host, 0.0, 3.0),
        ("GetFreeframe", Host, 3.0, 13.0),
        ("LoadStopover", Flash, 3.0, 33.0),
        ("UpdateMMU", Host, 13.0, 38.0),
        ("TransHostMem", Host, 38.0, 58.0),
        ("PostProcess", Host, 58.0, 60.0),
    ];
    assert_eq!(parallel_mmu, expected);
}

/// SWL, section 4.1.2: a search of up to 13 frames is hidden.
#[test]
fn the_papers_walk_budget() {
    let handler = Handler { get_freeframe_ns: 7920.0, walk_step_ns: 878.8, ..Handler::default() };
    let swl = Prices { t_load_ns: 19_350.0, handler, schedule: Schedule::Parallel, ..prices() };
    assert_eq!(swl.walk_budget(128), 13);
    assert_eq!(swl.walk_budget(4), 5);
    let handler = Handler { update_mmu_ns: 879.0, ..handler };
    assert_eq!(Prices { handler, ..swl }.walk_budget(128), 13);
    let with_update = Prices { handler, schedule: Schedule::ParallelMmu, ..swl };
    assert_eq!(with_update.walk_budget(128), 12);
    assert_eq!(swl.longest_hidden_walk(0), Some(13.0));
    let moves_down = Prices { handler: Handler { downgrade_ns: 879.0, ..handler }, ..with_update };
    assert_eq!(moves_down.longest_hidden_walk(2), Some(9.0 + 1.0));
    assert_eq!(moves_down.longest_hidden_walk(13), None);
    let one_by_one = Prices { schedule: Schedule::Sequential, ..swl };
    assert_eq!(one_by_one.longest_hidden_walk(0), None);
    assert_eq!(handler.fixed_fault_ns(), 7920.0 + 879.0);
    let whole_steps = Handler { get_freeframe_ns: 0.1, walk_step_ns: 0.1, ..Handler::default() };
    let fits = Prices { t_load_ns: 0.4, handler: whole_steps, ..swl };
    assert_eq!(fits.walk_budget(128), 3);
    // At least one frame is examined; a search that costs nothing is always hidden.
    assert_eq!(Prices { t_load_ns: 0.0, ..swl }.walk_budget(128), 1);
    let free = Prices { handler: Handler::default(), ..swl };
    assert_eq!(free.walk_budget(128), 129);
}

#[test]
fn false_faults_have_prices() {
    // Three false faults; two of the five downgrades belong to true faults.
    let search = VictimSearch { walk: 0, downgrades: 2 };
    let class = FaultClass { search, ..class(true, false, 8, 0) };
    let counts = Counts {
        references: 10,
        hits: 6,
        misses: 1,
        false_faults: 3,
        downgrades: 5,
        false_fault_downgrades: 3,
        loads: 1,
        bytes_fetched: 8,
        bytes_written: 8,
        fault_classes: vec![(class, 1)],
        ..Counts::default()
    };
    let handler = Handler { false_fault_ns: 100.0, downgrade_ns: 7.0, ..prices().handler };
    let prices = Prices { handler, ..prices() };
    let time = Time::of(&counts, &prices);
    assert_eq!(time.false_faults_ns, 3.0 * 100.0 + 3.0 * 7.0);
    assert_eq!((time.lookups_ns, time.handler_ns), (10.0 * 0.5, 50.0 + 2.0 * 7.0));
    assert_eq!(prices.fault_ns(&class, 8), 1000.0 + 80.0 + 24.0 + 50.0 + 2.0 * 7.0);
    // With an emulated bit, a hit that sets the bit is a false fault.
    let emulated = Counts { reference_bits_set: 4, ..counts }.with_emulated_bit();
    assert_eq!(Time::of(&emulated, &prices).false_faults_ns, 7.0 * 100.0 + 3.0 * 7.0);
    let executed = Executed {
        references: 2,
        reference_bits_set: 4,
        false_faults: 3,
        downgrades: 3,
        ..Executed::default()
    };
    assert_eq!(prices.host_ns(&executed), 2.0 * 0.5 + 3.0 * 100.0 + 3.0 * 7.0);
    let emulates = Prices { emulates_bit: true, ..prices };
    assert_eq!(emulates.host_ns(&executed), 2.0 * 0.5 + 7.0 * 100.0 + 3.0 * 7.0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4 * ProptestConfig::default().cases,
        failure_persistence: None,
        ..Default::default()
    })]

    /// The latencies follow SWL, equations 1 to 3, footnote 3 and figure 3.
    #[test]
    fn handlers_take_what_the_papers_equations_say(jobs in any_jobs()) {
        let Jobs {
            pre_process_ns: pre,
            get_freeframe_ns: get,
            load_stopover_ns: load,
            trans_host_mem_ns: transfer,
            update_mmu_ns: update,
            post_process_ns: post,
            ..
        } = jobs;
        let sum = pre + get + load + transfer + update + post;
        prop_assert!(about(jobs.sum_ns(), sum));
        let sequential = end_ns(Schedule::Sequential, &jobs);
        prop_assert!(about(sequential, sum));
        prop_assert!(about(end_ns(Schedule::Hdd, &jobs), sum));
        let parallel = end_ns(Schedule::Parallel, &jobs);
        prop_assert!(about(parallel, pre + transfer + load.max(get) + update + post));
        prop_assert!(about(sequential - parallel, load.min(get)));
        let with_mmu = end_ns(Schedule::ParallelMmu, &jobs);
        prop_assert!(about(with_mmu, pre + load.max(get + update) + transfer + post));
        prop_assert!(with_mmu <= parallel * (1.0 + 1e-9));
    }

    /// No executor does two jobs at a time, a page is transferred after it is loaded and has a
    /// frame, and no job is lost.
    #[test]
    fn jobs_wait_for_what_they_need(
        jobs in any_jobs(),
        rest in job_ns(),
        load_busy in job_ns(),
        transfer_busy in job_ns(),
    ) {
        let busy = BusyUntil { load_ns: load_busy, transfer_ns: transfer_busy };
        for (_, schedule) in Schedule::ALL {
            let with_rest = Jobs { trans_rest_ns: rest, ..jobs };
            let timeline = Timeline::new(schedule, &with_rest, busy);
            prop_assert_eq!(timeline.end_ns, Timeline::new(schedule, &jobs, busy).end_ns);
            prop_assert!(timeline.end_ns >= end_ns(schedule, &jobs) * (1.0 - 1e-9));
            let start = timeline.transfer_start_ns;
            prop_assert!(start >= transfer_busy);
            let transferred = timeline.transfer_end_ns - start;
            prop_assert!(about(transferred, jobs.trans_host_mem_ns + rest));

            let spans = timeline.spans();
            if schedule != Schedule::Hdd {
                let all: f64 = spans.iter().map(|span| span.end_ns - span.start_ns).sum();
                prop_assert!(about(all, with_rest.sum_ns()));
            }
            for executor in [Executor::Host, Executor::Flash, Executor::Dma] {
                let mut own: Vec<&JobSpan> =
                    spans.iter().filter(|span| span.executor == executor).collect();
                own.sort_by(|a, b| a.start_ns.total_cmp(&b.start_ns));
                prop_assert!(own.is_sorted_by(|a, b| a.end_ns <= b.start_ns));
            }
            let find = |job: &str| spans.iter().find(|span| span.job == job);
            if let Some(load) = find("LoadStopover") {
                prop_assert!(load.start_ns >= load_busy && load.end_ns <= start);
            }
            if let Some(get) = find("GetFreeframe") {
                prop_assert!(get.end_ns <= start);
            }
        }
    }

    /// A walk of the budget is hidden, a longer one is not.
    #[test]
    fn the_budget_is_the_longest_walk_that_is_hidden(
        load in 1.0..100_000.0,
        base in 0.0..50_000.0,
        step in 10.0..5000.0,
        update in 0.0..20_000.0,
        frames in 1..200u32,
    ) {
        for schedule in [Schedule::Parallel, Schedule::ParallelMmu] {
            let handler = Handler {
                get_freeframe_ns: base,
                walk_step_ns: step,
                update_mmu_ns: update,
                ..Handler::default()
            };
            let prices = Prices { t_load_ns: load, handler, schedule, ..prices() };
            let budget = prices.walk_budget(frames);
            let time = |walk| prices.fault_ns(&class(true, false, 8, walk), 8);
            // The part of a search that no load hides.
            let seen = |walk: u32| {
                let without = Prices { handler: Handler { walk_step_ns: 0.0, ..handler }, ..prices };
                let shown = time(walk) - without.fault_ns(&class(true, false, 8, walk), 8);
                // A step that just fits shows rounding.
                shown > 1e-8 * (load + step)
            };
            prop_assert!((1..=frames + 1).contains(&budget));
            if budget > 1 {
                prop_assert!(!seen(budget), "{schedule:?}");
            }
            if budget <= frames {
                prop_assert!(seen(budget + 1), "{schedule:?}");
            }
        }
    }

    #[test]
    fn times_add_up(case in any_case()) {
        let Case { prices, .. } = &case;
        let counts = case.counts();
        let time = Time::of(&counts, prices);
        let steps = time.load_ns
            + time.fetch_ns
            + time.write_ns
            + time.read_ns
            + time.column_change_ns
            + time.lookups_ns
            + time.handler_ns
            + time.false_faults_ns;
        prop_assert!(about(steps - time.hidden_ns, time.time_ns));
        prop_assert!(time.hidden_ns >= -1e-9 * steps);
        prop_assert!(prices.schedule.overlaps() || time.hidden_ns == 0.0);

        // Fault by fault: the time of each fault, and the time outside of faults.
        let faults = fault_latencies(&counts, prices);
        let sum = |of: &[(f64, u64)]| of.iter().map(|(ns, times)| ns * *times as f64).sum::<f64>();
        let lookups = counts.references as f64 * prices.handler.lookup_ns;
        let others = time.read_ns + lookups + time.false_faults_ns;
        prop_assert!(about(sum(&faults) + others, time.time_ns));

        let Some(fetch) = Fetch::of(&counts, &time, &faults, &[], prices) else {
            prop_assert!(case.cache.hierarchy.is_none());
            return Ok(());
        };
        let words: u64 = fetch.fetch_latencies.iter().map(|(_, words)| words).sum();
        prop_assert_eq!(words, counts.words);
        prop_assert!(about(sum(&fetch.fetch_latencies), time.time_ns));
        prop_assert!(about(fetch.mean_fetch_ns * words as f64, time.time_ns));
        prop_assert!(fetch.fetch_latencies.is_sorted_by(|a, b| a.0 <= b.0));
        prop_assert!(fetch.worst_fetch_ns >= faults.last().map_or(0.0, |(ns, _)| *ns));
        prop_assert!(about(fetch.page_miss_ratio * words as f64, counts.misses as f64));
    }
}
