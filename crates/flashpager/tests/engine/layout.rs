//! Layout: the prediction for an order is the result of the arranged trace.

use std::path::{Path, PathBuf};

use flashpager::design::{self, Design};
use flashpager::layout::{Baseline, Layout, LayoutRequest, SearchLimit, layout};
use flashpager::placement::arrange::{KeptMethods, MethodArrangement, arrange_file};
use flashpager::spec::DesignSpec;
use flashpager::trace::{Image, Run, Symbol, TraceFile, TraceInfo, TraceWriter};

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces")
}

fn design(policy: &str, cache_bytes: u64) -> Design {
    Design::new(DesignSpec {
        part: Some("K9F1208Q0B".into()),
        register: Some("start-column".into()),
        policy: policy.into(),
        cache_bytes,
        processor: Some("none".into()),
        ..DesignSpec::default()
    })
    .expect("a design that can be")
}

/// A limit of so many evaluations.
fn counted(all: u64) -> SearchLimit<'static> {
    SearchLimit::Evaluations { all, stopped: &|| false }
}

fn laid_out(request: &LayoutRequest, evaluations: u64) -> Layout {
    layout(request, &counted(evaluations), &|| true, &|_| ()).expect("it can be laid out")
}

/// Predictions have the counts and times of the arranged trace, for each page and both policies, and
/// the search is never worse than the recorded order.
#[test]
fn predictions_are_what_the_arranged_trace_gives() {
    let path = traces().join("java/sensors.trace");
    let folder = tempfile::tempdir().expect("a folder");
    for policy in ["lru", "clock"] {
        let request = LayoutRequest {
            traces: vec![(path.clone(), 1.0)],
            map: None,
            held_out: Vec::new(),
            held_out_share: 0.0,
            designs: vec![(design(policy, 2048), 1.0)],
            pages: vec![32, 64],
            resident: Vec::new(),
            slots_bytes: 0,
            seed: 1,
        };
        let layout = laid_out(&request, 2000);
        for page in &layout.pages {
            let output = folder.path().join("arranged.trace");
            let arrangement =
                MethodArrangement { keep: KeptMethods::Used, order: page.order.clone() };
            arrange_file(&path, &output, &arrangement, &|| true).expect("a Java trace");
            let arranged = TraceFile::open(&output).expect("just written");
            let spec = DesignSpec {
                cache_page_bytes: page.cache_page_bytes,
                ..design(policy, 2048).written().clone()
            };
            let designs = [Design::new(spec).expect("a design that can be")];
            let replayed = design::simulate(
                &arranged,
                &designs,
                &|| true,
                design::WatchedWork::unwatched(),
                &|_| (),
            );
            let replayed = replayed.expect("it replays");
            let predicted = &page.found.rows[0].evaluation;
            let mut counts = replayed[0].counts.clone();
            assert!(!counts.distance_histogram.is_empty());
            counts.loads_by_flash_page = Vec::new();
            assert_eq!(predicted.counts, counts, "{policy}, page {}", page.cache_page_bytes);
            assert_eq!(predicted.time, replayed[0].time);
            assert!(page.found.time_ratio < page.baseline.time_ratio);
            assert!(page.baseline.time_ratio <= page.before.time_ratio);
        }
    }
}

/// With two products, the order is worse for neither.
#[test]
fn an_order_for_two_designs_helps_both() {
    let request = LayoutRequest {
        traces: vec![(traces().join("card-firmware.trace"), 1.0)],
        map: None,
        held_out: Vec::new(),
        held_out_share: 0.3,
        designs: vec![(design("lru", 1024), 1.0), (design("lru", 2048), 1.0)],
        pages: vec![32],
        resident: Vec::new(),
        slots_bytes: 0,
        seed: 1,
    };
    let layout = laid_out(&request, 4000);
    let page = &layout.pages[0];
    assert_eq!((page.found.rows.len(), page.found.held_out.len()), (2, 2));
    for (before, after) in page.before.rows.iter().zip(&page.found.rows) {
        assert!(after.evaluation.time.time_ns < before.evaluation.time.time_ns);
    }
    assert!(page.found.held_out_ratio < page.before.held_out_ratio);
    assert_eq!(layout.coverage.executed_share, 1.0);
    assert_eq!(page.portfolio.len(), Baseline::ALL.len());
}

/// Code up to the last byte of 4 GiB is laid out, replayed and priced like the same code lower.
#[test]
fn code_up_to_4_gib_is_laid_out_as_lower_code_is() {
    const BYTES: u32 = 4096;
    let folder = tempfile::tempdir().expect("a folder");
    let request = |start: u32| {
        let function = |number: u32| Symbol {
            name: format!("f{number}"),
            offset: start + number * 256,
            bytes: 256,
        };
        let symbols: Vec<Symbol> = (0..BYTES / 256).map(function).collect();
        let path = folder.path().join(format!("{start}.trace"));
        let mut writer = TraceWriter::create(&path, false).expect("a new file");
        writer.add_symbols(&symbols);
        // Four functions at a distance run in turn, the last of them at the end of the image.
        for number in (0..400).map(|round| 3 + round % 4 * 4) {
            let run = Run { offset: start + number * 256, length: 256 };
            writer.push(run).expect("space on the disk");
        }
        let image = Image {
            path: "made".into(),
            build_id: String::new(),
            offset: start,
            bytes: BYTES,
            sections: Vec::new(),
            symbols,
        };
        let info = TraceInfo {
            program: "made".into(),
            architecture: "arm".into(),
            images: vec![image],
            ..TraceInfo::default()
        };
        writer.close(info).expect("space on the disk").publish().expect("a name");
        LayoutRequest {
            traces: vec![(path, 1.0)],
            map: None,
            held_out: Vec::new(),
            held_out_share: 0.0,
            designs: vec![(design("lru", 1024), 1.0)],
            pages: vec![512],
            resident: Vec::new(),
            slots_bytes: 0,
            seed: 1,
        }
    };
    let (top, low) = (request(u32::MAX - (BYTES - 1)), request(1 << 20));
    let info = TraceFile::open(&top.traces[0].0).expect("just written").info().clone();
    assert_eq!(info.image_bytes, 1 << 32);
    let (top, low) = (laid_out(&top, 200), laid_out(&low, 200));
    assert_eq!(top.pages[0].order, low.pages[0].order);
    assert!(top.pages[0].found.time_ratio < 0.8);
    let counts = |layout: &Layout| {
        let mut counts = layout.pages[0].found.rows[0].evaluation.counts.clone();
        counts.loads_by_flash_page = Vec::new();
        counts
    };
    assert_eq!(counts(&top), counts(&low));
}

/// Wrong requests are refused with one line that says what is wrong.
#[test]
fn an_impossible_layout_is_refused() {
    let request = |file: &str, held_out: &[&str], share| LayoutRequest {
        traces: vec![(traces().join(file), 1.0)],
        map: None,
        held_out: held_out.iter().map(|file| traces().join(file)).collect(),
        held_out_share: share,
        designs: vec![(design("lru", 2048), 1.0)],
        pages: Vec::new(),
        resident: Vec::new(),
        slots_bytes: 0,
        seed: 1,
    };
    let refused = |request: &LayoutRequest| {
        let limit = counted(10);
        layout(request, &limit, &|| true, &|_| ()).expect_err("refused").to_string()
    };
    let message = refused(&request("java/purse.trace", &["java/oath.trace"], 0.0));
    assert!(message.contains("recorded in another image"), "{message}");
    let message = refused(&request("java/purse.trace", &[], 1.0));
    assert!(message.contains("at least 0 and below 1"), "{message}");
}
