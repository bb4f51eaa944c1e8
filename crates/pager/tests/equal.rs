//! The counts of the pager in C equal those of the engine.

use std::path::{Path, PathBuf};

use flashpager_pager::{DesignSizes, PagerCounts, VARIANTS, Variant};
use flashpager_replay::pager::PolicySpec;
use flashpager_replay::register::{RegisterDesign, RegisterModel};
use flashpager_replay::{CacheDesign, Tags, replay};
use flashpager_trace::{MemoryTrace, Run, TraceFile};
use proptest::prelude::*;

/// Number of runs replayed from a shipped trace: far more than fill a cache.
const RUNS: usize = 20_000;
/// Number of runs that a soak replays: enough to reach all parts of a program.
const SOAK_RUNS: usize = 100_000;
/// Default number of random programs.
const CASES: u32 = 64;

fn cases_wanted() -> Option<u32> {
    std::env::var("PROPTEST_CASES").ok()?.parse().ok()
}

fn has_parameter(policy: &str) -> bool {
    matches!(policy, "pa-clock" | "random" | "fifo-sc" | "pa-fifo-sc")
}

fn design_of(variant: &Variant, sizes: &DesignSizes) -> (CacheDesign, RegisterDesign) {
    let policy = if has_parameter(variant.policy) {
        format!("{}({})", variant.policy, sizes.parameter)
    } else {
        variant.policy.to_owned()
    };
    let cache = CacheDesign {
        cache_bytes: u64::from(sizes.frames) * u64::from(sizes.page_bytes),
        cache_page_bytes: sizes.page_bytes,
        policy: policy.parse::<PolicySpec>().unwrap(),
        ways: None,
        hierarchy: None,
    };
    let register = RegisterDesign {
        model: variant.register.parse::<RegisterModel>().unwrap(),
        flash_page_bytes: sizes.flash_page_bytes,
        codeword_bytes: Some(sizes.codeword_bytes).filter(|&bytes| bytes > 1),
        prefetch_lines: 0,
    };
    (cache, register)
}

/// The tags that a variant checks. `None` if it checks none.
fn tags_of(variant: &Variant, sizes: &DesignSizes) -> Option<Tags> {
    /// Bytes of version and number, which the MAC covers beside the unit.
    const HEAD_BYTES: u32 = 8;
    (variant.tag_bytes > 0).then(|| Tags {
        tag_bytes: variant.tag_bytes,
        mac_bytes: HEAD_BYTES + sizes.page_bytes.max(sizes.codeword_bytes),
        changes_column: variant.register == "random-column",
    })
}

/// The counts of the engine, in the pager's types.
fn expected(
    trace: &MemoryTrace,
    cache: &CacheDesign,
    register: RegisterDesign,
    tags: Option<Tags>,
) -> PagerCounts {
    let (mut all, _) = replay(trace, cache, &[register], &|| true, None).unwrap();
    let modulo = |count: u64| count as u32;
    let pager_counts = |counts: flashpager_replay::Counts| PagerCounts {
        references: modulo(counts.references),
        misses: modulo(counts.misses),
        reference_bits_set: modulo(counts.reference_bits_set),
        loads: modulo(counts.loads),
        prefetches: modulo(counts.prefetches),
        other_page: modulo(counts.other_page),
        other_buffer: modulo(counts.other_buffer),
        forward: modulo(counts.forward),
        backward: modulo(counts.backward),
        column_changes: modulo(counts.column_changes),
        bytes_fetched: modulo(counts.bytes_fetched),
        bytes_skipped: modulo(counts.bytes_skipped),
        walk: modulo(counts.walk),
        max_walk: counts.max_walk,
        false_faults: modulo(counts.false_faults),
        downgrades: modulo(counts.downgrades),
        tag_bytes_fetched: modulo(counts.tag_bytes_fetched),
        mac_bytes: modulo(counts.mac_bytes),
    };
    let counts = all.remove(0);
    pager_counts(match tags {
        Some(tags) => counts.with_tags(&tags),
        None => counts,
    })
}

fn check(variant: &Variant, sizes: &DesignSizes, trace: &MemoryTrace, runs: &[Run], whole: bool) {
    let (cache, register) = design_of(variant, sizes);
    let place = || {
        let Variant { policy, lookup, register, schedule, is_small, tag_bytes, .. } = variant;
        format!(
            "{policy} {lookup} {register} {schedule} small {is_small} tags {tag_bytes} {sizes:?}"
        )
    };
    let mut expected = expected(trace, &cache, register, tags_of(variant, sizes));
    if variant.lookup == "mmu" {
        // An MMU without reference bits faults where a bit is set again.
        expected.false_faults = expected.false_faults.wrapping_add(expected.reference_bits_set);
    }
    let counted =
        variant.run(sizes, runs, whole).unwrap_or_else(|why| panic!("{}: {why}", place()));
    assert_eq!(counted, expected, "{}", place());
}

fn can_be(variant: &Variant, sizes: &DesignSizes) -> bool {
    let (cache, register) = design_of(variant, sizes);
    variant.holds(sizes) && cache.check().is_ok() && register.check(sizes.page_bytes).is_ok()
}

fn traces_in(folder: &Path) -> Vec<PathBuf> {
    let mut traces = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            traces.extend(traces_in(&path));
        } else if path.extension().is_some_and(|extension| extension == "trace") {
            traces.push(path);
        }
    }
    traces.sort();
    traces
}

/// Every shipped trace has the expected counts with all policies, lookups and registers.
#[test]
fn shipped_traces() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces"));
    let paths = traces_in(folder);
    assert!(paths.len() >= 9, "the shipped traces are missing");
    let mut checked = 0;
    for path in paths {
        let trace = MemoryTrace::load(&TraceFile::open(&path).unwrap()).unwrap();
        let runs = flashpager_trace::Trace::in_memory(&trace).unwrap();
        let runs = &runs[..runs.len().min(if is_soak() { SOAK_RUNS } else { RUNS })];
        let image_bytes = flashpager_trace::Trace::image_bytes(&trace);
        let trace = MemoryTrace::with_image(runs.to_vec(), image_bytes);
        for variant in &VARIANTS {
            for (frames, page_bytes, flash_page_bytes, codeword_bytes) in
                [(30, 64, 2048, 1), (7, 256, 1024, 512), (200, 16, 4096, 1)]
            {
                let sizes = DesignSizes {
                    frames,
                    page_bytes,
                    flash_page_bytes,
                    codeword_bytes,
                    image_bytes: image_bytes as u32,
                    parameter: 3,
                };
                if can_be(variant, &sizes) {
                    check(variant, &sizes, &trace, runs, false);
                    checked += 1;
                }
            }
        }
    }
    // The large variants alone take two sizes of nine traces; few designs are too large.
    assert!(checked > 90 * 2 * 9, "{checked} were checked");
}

/// Returns `true` in a soak, which asks for more cases than there are by default.
fn is_soak() -> bool {
    cases_wanted().is_some_and(|cases| cases > CASES)
}

/// All strings of references to four pages. Each string takes one of the small sizes in turn, or in
/// a soak all of them.
#[test]
fn exhaustive() {
    const PAGES: u32 = 4;
    const LENGTH: u32 = 6;
    let image_bytes = PAGES * 4;
    let mut all_sizes = Vec::new();
    for frames in 1..=4 {
        for flash_page_bytes in [8, 16, 1024] {
            for codeword_bytes in [1, 2, 8] {
                for parameter in 1..=3 {
                    all_sizes.push(DesignSizes {
                        frames,
                        page_bytes: 4,
                        flash_page_bytes,
                        codeword_bytes,
                        image_bytes,
                        parameter,
                    });
                }
            }
        }
    }
    for number in 0..PAGES.pow(LENGTH) {
        let page = |place: u32| number / PAGES.pow(place) % PAGES;
        // Strings that differ only in the numbers of pages are all tried, because the counts of a
        // register depend on the order of the pages.
        let runs: Vec<Run> =
            (0..LENGTH).map(|place| Run { offset: page(place) * 4, length: 4 }).collect();
        let trace = MemoryTrace::with_image(runs.clone(), image_bytes.into());
        // The step is coprime to the number of sizes and to that of the pages.
        let index = number as usize * 31 % all_sizes.len();
        let sizes = if is_soak() { &all_sizes[..] } else { &all_sizes[index..=index] };
        for sizes in sizes {
            // For a policy without a parameter, one of the three parameters is enough.
            let takes = |variant: &Variant| {
                sizes.parameter == 1 || !is_soak() || has_parameter(variant.policy)
            };
            for variant in
                VARIANTS.iter().filter(|variant| takes(variant) && can_be(variant, sizes))
            {
                check(variant, sizes, &trace, &runs, true);
            }
        }
    }
}

/// All sizes up to six frames, each with a long random program.
#[test]
fn all_small_sizes() {
    let mut state = 1_u32;
    let mut random = |below: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % below
    };
    for frames in 1..=6 {
        for page_bytes in [1, 4, 16] {
            for flash_page_bytes in [page_bytes, 4 * page_bytes, 32, 1024] {
                for codeword_bytes in [1, 2, 8, 32] {
                    let image_bytes = 9 * page_bytes - random(page_bytes);
                    let runs: Vec<Run> = (0..400)
                        .map(|_| {
                            let offset = random(image_bytes);
                            let most = (image_bytes - offset).min(2 * page_bytes);
                            Run { offset, length: 1 + random(most) }
                        })
                        .collect();
                    let trace = MemoryTrace::with_image(runs.clone(), image_bytes.into());
                    let sizes = DesignSizes {
                        frames,
                        page_bytes,
                        flash_page_bytes,
                        codeword_bytes,
                        image_bytes,
                        parameter: 1 + random(7),
                    };
                    for variant in VARIANTS.iter().filter(|variant| can_be(variant, &sizes)) {
                        check(variant, &sizes, &trace, &runs, true);
                    }
                }
            }
        }
    }
}

#[derive(Debug)]
struct Case {
    sizes: DesignSizes,
    runs: Vec<Run>,
}

fn cases() -> impl Strategy<Value = Case> {
    let shifts = (0_u32..9, 0_u32..7, proptest::option::of(0_u32..12));
    (shifts, 1_u32..260, 1_u32..600, any::<u32>(), 0.0..1.0_f64).prop_flat_map(
        |((page, more, codeword), frames, pages, parameter, last)| {
            let page_bytes = 1 << page;
            let flash_page_bytes = page_bytes << more;
            let image_bytes =
                (pages - 1) * page_bytes + 1 + (last * f64::from(page_bytes - 1)) as u32;
            let sizes = DesignSizes {
                frames,
                page_bytes,
                flash_page_bytes,
                codeword_bytes: codeword.map_or(1, |shift| (1 << shift).min(flash_page_bytes)),
                image_bytes,
                parameter: parameter.max(1),
            };
            let run = (0..image_bytes, 0..4 * page_bytes).prop_map(move |(offset, more)| Run {
                offset,
                length: 1 + more.min(image_bytes - offset - 1),
            });
            proptest::collection::vec(run, 1..800).prop_map(move |runs| Case { sizes, runs })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases_wanted().unwrap_or(CASES)))]

    #[test]
    fn random_programs(case in cases(), loops in any::<bool>()) {
        let Case { sizes, mut runs } = case;
        if loops {
            // Programs repeat themselves; random strings do not.
            runs.truncate(60);
            runs = runs.iter().copied().cycle().take(600).collect();
        }
        let trace = MemoryTrace::with_image(runs.clone(), sizes.image_bytes.into());
        for variant in VARIANTS.iter().filter(|variant| can_be(variant, &sizes)) {
            check(variant, &sizes, &trace, &runs, false);
        }
    }
}

/// Bytes that are read are the image's, and none behind the image can be read.
#[test]
fn reading() {
    let image_bytes = 1000;
    for variant in VARIANTS.iter().filter(|variant| variant.lookup != "mmu") {
        let sizes = DesignSizes {
            frames: 3,
            page_bytes: 16,
            flash_page_bytes: 1024,
            codeword_bytes: 1,
            image_bytes,
            parameter: 2,
        };
        let mut bytes = [0; 100];
        variant.read(&sizes, 13, &mut bytes).unwrap();
        let wanted: Vec<u8> =
            (13..113_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert_eq!(bytes[..], wanted[..]);
        assert!(variant.read(&sizes, 950, &mut bytes).is_err(), "the image ends in its last page");
        assert!(variant.read(&sizes, u32::MAX - 3, &mut bytes).is_err());
    }
}
