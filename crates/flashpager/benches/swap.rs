//! What the swap store takes for a page on this machine, and how a log on NAND compares
//! with blocks that are read, erased and written back, in virtual time.
//!
//! ```text
//! cargo bench -p flashpager --bench swap
//! ```
//!
//! The instructions of a compressor (`src/swap/price.rs`) are those that callgrind counts in
//! its calls, over the 4096 · 2000 bytes of the pages:
//!
//! ```text
//! cargo bench -p flashpager --bench swap --no-run
//! for way in compress decompress; do
//!     FLASHPAGER_COUNT=deflate valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!         --toggle-collect="*tap_$way*" target/release/deps/swap-...
//! done
//! ```
//!
//! Pages are `synthetic(25%)`; `FLASHPAGER_PAGES` names a file of captured ones.

use std::hint::black_box;

use criterion::{Criterion, criterion_group};
use flashpager::swap::store::{Compressor, Layout, Store};
use flashpager::swap::{SwapSpec, SwapSystem, bench, churn};

/// Pages counted by callgrind, and slots of the stores measured.
const PAGES: u32 = 2000;

fn spec(medium: &str, layout: Layout, compressor: Compressor) -> SwapSpec {
    let mut spec = SwapSpec {
        medium: medium.into(),
        layout: Some(layout.name().into()),
        compressor: compressor.name().into(),
        most_bytes: Some(u64::from(PAGES + 192) * 4096),
        ..SwapSpec::default()
    };
    if let Ok(pages) = std::env::var("FLASHPAGER_PAGES") {
        spec.pages = pages;
    }
    spec
}

/// A store, and some pages for it.
fn setting(spec: SwapSpec) -> (Store, Vec<Vec<u8>>) {
    let system = SwapSystem::new(spec).expect("the system is in order");
    let contents = system.contents().expect("the pages open");
    let page = |content| {
        let mut page = vec![0; 4096];
        contents.fill(content, &mut page);
        page
    };
    (Store::format(&system.store).expect("the store formats"), (0..256).map(page).collect())
}

fn pages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("page");
    let cases = [
        ("ram:32M", Layout::Fragments, Compressor::None),
        ("nand:32M", Layout::Log, Compressor::None),
        ("ram:32M", Layout::Fragments, Compressor::Lz4),
        ("ram:32M", Layout::Fragments, Compressor::Deflate),
        ("ram:32M", Layout::Fragments, Compressor::Heatshrink),
    ];
    for (medium, layout, compressor) in cases {
        let name = format!("{} {}", layout.name(), compressor.name());
        let (mut store, pages) = setting(spec(medium, layout, compressor));
        for slot in 0..PAGES {
            store.write(slot, &pages[slot as usize % pages.len()]).expect("there is room");
        }
        let mut turn = 0u32;
        let mut slot = || {
            turn += 1;
            // Coprime to the slots: all of them, in no order.
            turn.wrapping_mul(1013) % PAGES
        };
        let mut out = vec![0; 4096];
        group.bench_function(format!("write over, {name}"), |b| {
            b.iter(|| {
                let slot = slot();
                store.write(slot, &pages[(slot as usize * 7) % pages.len()])
            });
        });
        group.bench_function(format!("read, {name}"), |b| {
            b.iter(|| store.read(slot(), black_box(&mut out)));
        });
        group.bench_function(format!("free and write, {name}"), |b| {
            b.iter(|| {
                let slot = slot();
                store
                    .free(slot)
                    .and_then(|()| store.write(slot, &pages[slot as usize % pages.len()]))
            });
        });
    }
    group.finish();
}

/// Printed, as it is no time of this machine.
fn log_against_rewriting() {
    println!("NAND, log against read-erase-write, in virtual time:");
    for (what, keep_copies_percent) in [("copies kept", 100), ("copies given up, as Linux", 50)] {
        let share = |layout| {
            let spec = SwapSpec {
                ram_bytes: 8 << 20,
                most_bytes: Some(20 << 20),
                random_pages: 1024,
                keep_copies_percent,
                ..spec("nand:4M", layout, Compressor::Deflate)
            };
            let report = bench(spec, &|| true, &|_, _| {}).expect("the bench runs");
            report.points.last().map_or(0.0, |point| point.share_of_ram)
        };
        let (log, rewrite) = (share(Layout::Log), share(Layout::Rewrite));
        println!(
            "  random reads at 20M of 8M + 4M, {what}: {:.2} % and {:.3} % of RAM: {:.0} times",
            log * 100.0,
            rewrite * 100.0,
            log / rewrite
        );
    }
    let run = |layout, turnovers| {
        let spec = SwapSpec { turnovers, ..spec("nand:16M", layout, Compressor::Deflate) };
        churn(spec, &|| true, &|_, _| {}).expect("the churn runs")
    };
    let (log, rewrite) = (run(Layout::Log, 10.0), run(Layout::Rewrite, 1.0));
    println!(
        "  a page overwritten at 80 % full: {:.2} ms and {:.2} ms: {:.0} times",
        log.page_ns * 1e-6,
        rewrite.page_ns * 1e-6,
        rewrite.page_ns / log.page_ns
    );
    println!(
        "  log after {:.1} turnovers: write amplification {:.2}, erasures max/mean {:.2}",
        log.turnovers,
        log.write_amplification,
        log.store.wear_max_over_mean.unwrap_or_default()
    );
}

/// What callgrind counts.
fn count(compressor: &str) {
    let compressor = compressor.parse().expect("a compressor");
    let (mut store, pages) = setting(spec("ram:32M", Layout::Fragments, compressor));
    let mut out = vec![0; 4096];
    for slot in 0..PAGES {
        store.write(slot, &pages[slot as usize % pages.len()]).expect("there is room");
        store.read(slot, &mut out).expect("it is there");
    }
}

criterion_group!(benches, pages);

fn main() {
    if let Ok(compressor) = std::env::var("FLASHPAGER_COUNT") {
        count(&compressor);
        return;
    }
    log_against_rewriting();
    benches();
    Criterion::default().configure_from_args().final_summary();
}
