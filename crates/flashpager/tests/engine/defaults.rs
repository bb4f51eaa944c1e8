//! Defaults: a setting that an answer says was assumed changes nothing if it is typed.

use flashpager::design::{Design, Evaluation};
use flashpager::media::part;
use flashpager::spec::{DesignSpec, Value};
use flashpager::trace::{MemoryTrace, Run, TraceInfo};

/// Runs that fault, and that come back to what they executed before.
fn trace(architecture: &str) -> (MemoryTrace, TraceInfo) {
    let run = |number: u32| Run { offset: number.wrapping_mul(2_654_435_761) % 30_000, length: 48 };
    let runs: Vec<Run> = (0..400).map(|number| run(number % 130)).collect();
    let info = TraceInfo {
        runs: runs.len() as u64,
        bytes: runs.iter().map(|run| u64::from(run.length)).sum(),
        image_bytes: 32_768,
        instructions: Some(9_600),
        architecture: architecture.into(),
        ..TraceInfo::default()
    };
    (MemoryTrace::with_image(runs, 32_768), info)
}

/// The result of a design on an ARM's trace.
fn evaluated(design: &Design) -> Evaluation {
    evaluated_on(design, "arm")
}

/// The result of a design on a trace of an architecture.
fn evaluated_on(design: &Design, architecture: &str) -> Evaluation {
    let (trace, info) = trace(architecture);
    let designs = [design.executing(&info).unwrap()];
    flashpager::design::simulate(
        &trace,
        &designs,
        &|| true,
        flashpager::design::WatchedWork::unwatched(),
        &|_| (),
    )
    .unwrap()
    .remove(0)
}

/// `spec` with the value that `design` assumed for `field`. The answer describes times in words:
/// those of the design's prices are typed.
fn typed(spec: &DesignSpec, design: &Design, field: &str, value: &str) -> DesignSpec {
    let mut spec = spec.clone();
    match field {
        "ram" => spec.ram = Some(design.prices().ram),
        "handler" => spec.handler = Some(design.prices().handler),
        // The processor was typed; its cycles for an instruction were assumed.
        "processor" if spec.processor.is_some() => {}
        "clip_bus" => spec.clip_bus = true,
        _ => spec.set(field, Value::Text(value.to_owned())).unwrap(),
    }
    spec
}

/// A design as much as needed for each rule of defaults: with and without part, bus, processor and
/// tags.
fn specs() -> Vec<DesignSpec> {
    let mut specs = vec![DesignSpec::default()];
    for part in part::catalog().unwrap() {
        let plain = DesignSpec { part: Some(part.name.clone()), ..DesignSpec::default() };
        let processor = Some("cortex-m3@64MHz".to_owned());
        let large = DesignSpec { cache_bytes: 8192, cache_page_bytes: 512, ..plain.clone() };
        specs.push(DesignSpec { processor, ..plain.clone() });
        specs.push(DesignSpec { tag_bytes: Some(8), ..large });
        specs.push(DesignSpec { ways: Some(2), ..plain.clone() });
        specs.push(DesignSpec { processor: Some("none".into()), ..plain.clone() });
        specs.push(DesignSpec { policy: "pa-clock".into(), ..plain.clone() });
        for bus in ["8MHz-x8", "33MHz-x8", "40MHz-x4", "54MHz-x16"] {
            specs.push(DesignSpec { bus: Some(bus.into()), clip_bus: true, ..plain.clone() });
        }
        specs.push(plain);
    }
    specs
}

#[test]
fn a_default_that_is_typed_changes_nothing() {
    let mut fields = std::collections::BTreeSet::new();
    for spec in specs() {
        let Ok(design) = Design::new(spec.clone()) else { continue };
        let design = design.executing(&trace("arm").1).unwrap().into_owned();
        let expected = evaluated(&design);
        let mut all = spec.clone();
        for assumption in design.assumed() {
            let (field, value) = (assumption.field, &assumption.value);
            fields.insert(field);
            let alone = Design::new(typed(&spec, &design, field, value)).unwrap();
            assert_eq!(evaluated(&alone), expected, "{field} = {value} with {spec:?}");
            all = typed(&all, &design, field, value);
        }
        let all = Design::new(all).unwrap();
        assert_eq!(evaluated(&all), expected, "all that {spec:?} assumes");
        let written = Design::new(design.written().clone()).unwrap();
        assert_eq!(evaluated(&written), expected, "{spec:?} as it was resolved");
    }
    let all = ["bus", "clip_bus", "handler", "nor", "part", "processor", "ram", "register"];
    assert_eq!(fields, all.into());
}

#[test]
fn an_architecture_has_a_processor_unless_one_is_named() {
    let design = |processor: Option<&str>| {
        let processor = processor.map(str::to_owned);
        Design::new(DesignSpec { processor, ..DesignSpec::default() }).unwrap()
    };
    for architecture in ["arm", "avr", "riscv32", "x86_64", "i386", "aarch64", "jvm", "mips", ""] {
        let (_, info) = trace(architecture);
        let assumed = design(None).executing(&info).unwrap().into_owned();
        let of_processor = assumed.assumed().iter().filter(|one| one.field == "processor");
        let [taken] = of_processor.collect::<Vec<_>>()[..] else { panic!("{architecture}") };
        let typed = design(Some(&taken.value));
        let expected = evaluated_on(&typed, architecture);
        assert_eq!(evaluated_on(&design(None), architecture), expected, "{architecture}");
        // The handler, the copy and the lookup are priced.
        let prices = assumed.prices();
        assert!(prices.handler.lookup_ns > 0.0 && prices.handler.pre_process_ns > 0.0);
        assert!(prices.ram.t_write_ns > 0.0 && expected.run.is_some());
        assert!(evaluated_on(&design(Some("none")), architecture).run.is_none());
    }
    let uncounted = TraceInfo { instructions: None, ..trace("arm").1 };
    assert!(design(None).executing(&uncounted).unwrap().processor().is_none());
}

#[test]
fn nor_is_read_on_the_bus_of_a_board_and_else_on_its_own() {
    let nor_bus = |part: &str, bus: Option<&str>| {
        let bus = bus.map(str::to_owned);
        let spec = DesignSpec { part: Some(part.into()), bus, ..DesignSpec::default() };
        evaluated(&Design::new(spec).unwrap()).nor.unwrap().nor_bus
    };
    assert_eq!(nor_bus("W25N01GV", None), "133MHz-x4");
    assert_eq!(nor_bus("W25N01GV", Some("40MHz-x4")), "40MHz-x4");
    assert_eq!(nor_bus("TC58BVG0S3H", None), nor_bus("TC58BVG0S3H", Some("40MHz-x8")));
    assert_eq!(nor_bus("TC58BVG0S3H", Some("20MHz-x8")), "20MHz-x8");
}
