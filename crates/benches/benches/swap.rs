//! The time of the swap store for a page on this machine, including its emulated medium. The operations
//! on flash are measured by `benches/swap.py`.
//!
//! ```text
//! cargo bench --bench swap
//! ```
//!
//! The instructions of a compressor (`crates/swap/src/price.rs`) were counted by callgrind in its calls,
//! for the 4096 · 2000 bytes of the pages:
//!
//! ```text
//! cargo bench --bench swap --no-run
//! for way in compress decompress; do
//!     FLASHPAGER_COUNT=deflate valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!         --toggle-collect="*tap_$way*" target/release/deps/swap-...
//! done
//! ```
//!
//! The pages are `synthetic(25%)`; `FLASHPAGER_PAGES` names a file of captured ones.

use std::hint::black_box;

use criterion::{Criterion, criterion_group};
use flashpager::swap::store::{Compressor, Store, StoreLayout};
use flashpager::swap::{SwapSpec, SwapSystem};

/// Pages that callgrind counts, and slots of the measured stores.
const PAGES: u32 = 2000;

fn spec(medium: &str, layout: StoreLayout, compressor: Compressor) -> SwapSpec {
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

/// A store with pages for it.
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
        ("ram:32M", StoreLayout::Fragments, Compressor::None),
        ("nand:32M", StoreLayout::Log, Compressor::None),
        ("ram:32M", StoreLayout::Fragments, Compressor::Lz4),
        ("ram:32M", StoreLayout::Fragments, Compressor::Zstd),
        ("ram:32M", StoreLayout::Fragments, Compressor::Deflate),
        ("ram:32M", StoreLayout::Fragments, Compressor::Heatshrink),
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
            // A step coprime to the number of slots: all of them come, out of order.
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

/// The work that callgrind counts.
fn count(compressor: &str) {
    let compressor = compressor.parse().expect("a compressor");
    let (mut store, pages) = setting(spec("ram:32M", StoreLayout::Fragments, compressor));
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
    benches();
    Criterion::default().configure_from_args().final_summary();
}
