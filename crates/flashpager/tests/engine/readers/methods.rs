//! Programs without files: methods and threads in the recorder stream, what a killed
//! recorder leaves, and methods laid out anew.

use flashpager::placement::arrange::{KeptMethods, MethodArrangement, arrange_file, unknown};
use flashpager::record::import::RecordedTrace;
use flashpager::record::pipe::RecorderPipe;

use super::*;

const BLOCK: u32 = 3;
const METHOD: u32 = 5;
const THREAD: u32 = 6;
const TAIL_BYTES: usize = 256 << 10;
const SLOT_BYTES: usize = 32 << 10;

fn method(address: u64, bytes: u32, name: &str) -> Vec<u8> {
    record(METHOD, &[&address.to_le_bytes()[..], &bytes.to_le_bytes(), name.as_bytes()].concat())
}

fn block(address: u64, bytes: u32, instructions: u32, does: u32) -> Vec<u8> {
    let words = [bytes, instructions, does].map(u32::to_le_bytes).concat();
    record(BLOCK, &[&address.to_le_bytes()[..], &words].concat())
}

fn thread(number: u32, name: &str, before: u64) -> Vec<u8> {
    let head = [number, name.len() as u32].map(u32::to_le_bytes).concat();
    record(THREAD, &[&head[..], &before.to_le_bytes(), name.as_bytes()].concat())
}

/// Two classes, told in the order of loading: `b.B.run()` (12 bytes in two blocks, the second
/// returns), `a.A.f(int)` (6 bytes), `a.A.unused()`.
fn head() -> Vec<u8> {
    [
        b"FPSTRM01".to_vec(),
        record(1, b"recorder=java"),
        method(0, 12, "b.B.run()"),
        block(0, 8, 4, 1),
        block(8, 4, 2, 2),
        method(13, 6, "a.A.f(int)"),
        block(13, 6, 3, 3),
        method(20, 9, "a.A.unused()"),
        // A loop back to the first byte enters only once.
        block(0, 0, 0, 1),
    ]
    .concat()
}

fn import_as(
    source: impl Read + Send + 'static,
    arrangement: MethodArrangement,
) -> Result<Vec<(String, TraceInfo, Vec<Run>)>> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("app.trace");
    let info = TraceInfo { program: "app.jar".into(), ..TraceInfo::default() };
    let mut import = Import::new(None, &path, info, false)?;
    import.arrange_as(arrangement);
    let ending =
        import.read(Input::new("stream", source)?, ImportFormat::Stream, 1, &mut |_| true)?;
    let ending = if ending == Ending::Interrupted { Ending::Complete } else { ending };
    let finished = import.finish(ending, &|| true)?;
    assert!(finished.iter().all(|done| done.arranged));
    let name = |done: &RecordedTrace| done.path.file_name().unwrap().to_string_lossy().into_owned();
    finished
        .iter()
        .map(|done| {
            let (info, runs) = read_trace(&done.path)?;
            assert_eq!(info, done.info);
            Ok((name(done), info, runs))
        })
        .collect()
}

fn names(info: &TraceInfo) -> Vec<(&str, u32, u32)> {
    let symbols = info.images.iter().flat_map(|image| &image.symbols);
    symbols.map(|symbol| (symbol.name.as_str(), symbol.offset, symbol.bytes)).collect()
}

#[test]
fn methods_lie_by_class_name() {
    let stream = [head(), words(&[0, 2, 1])].concat();
    let [(_, info, runs)] =
        &import_as(Cursor::new(stream), MethodArrangement::default()).unwrap()[..]
    else {
        panic!("one trace")
    };
    assert_eq!(names(info), [("a.A.f(int)", 0, 6), ("b.B.run()", 6, 12)]);
    assert_eq!(*runs, [run(6, 8), run(0, 6), run(14, 4)]);
    assert_eq!((info.image_bytes, info.instructions), (18, Some(9)));
    assert_eq!((info.calls, info.returns), (Some(2), Some(2)));
    assert_eq!(info.images[0].sections[0].name, "bytecode");
}

#[test]
fn an_order_comes_first_and_unused_methods_may_stay() {
    let stream = [head(), words(&[0, 2, 1])].concat();
    let order = |lines: &[&str], keep| MethodArrangement {
        keep,
        order: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    let laid_out = |arrangement| {
        let traces = import_as(Cursor::new(stream.clone()), arrangement).unwrap();
        names(&traces[0].1).into_iter().map(|(name, ..)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(laid_out(order(&["b.B"], KeptMethods::Used)), ["b.B.run()", "a.A.f(int)"]);
    let all = order(&["nothing", "*.unused", "b.B.run"], KeptMethods::All);
    assert_eq!(laid_out(all), ["a.A.unused()", "b.B.run()", "a.A.f(int)"]);
}

#[test]
fn the_given_image_stays_in_place() {
    let laid_out = |given: &[u8], more: Vec<u8>| {
        let stream = [head(), record(1, given), more, words(&[0, 2, 1])].concat();
        let mut traces = import_as(Cursor::new(stream), MethodArrangement::default()).unwrap();
        let (_, info, runs) = traces.remove(0);
        let sections = info.images[0].sections.iter();
        let sections: Vec<_> = sections.map(|s| (s.name.clone(), s.offset, s.bytes)).collect();
        (sections, runs, names(&info).len())
    };
    let cap = |bytes| ("Method.cap".to_owned(), 0, bytes);
    let (sections, runs, symbols) = laid_out(b"given=40", method(0, 40, "b.(Method.cap)"));
    assert_eq!(sections, [cap(40)]);
    assert_eq!(runs, [run(0, 8), run(13, 6), run(8, 4)]);
    assert_eq!(symbols, 4);
    // Behind 12 bytes of a CAP file, the one used method of bytecode.
    let (sections, runs, symbols) = laid_out(b"given=12", Vec::new());
    assert_eq!(sections, [cap(12), ("bytecode".to_owned(), 12, 6)]);
    assert_eq!(runs, [run(0, 8), run(12, 6), run(8, 4)]);
    assert_eq!(symbols, 2);
}

#[test]
fn the_given_image_has_a_name() {
    let stream = [
        b"FPSTRM01".to_vec(),
        record(1, b"program=story.z5"),
        record(1, b"given=4096 story"),
        method(64, 6, "Main"),
        record(7, &[&64_u64.to_le_bytes()[..], &6_u64.to_le_bytes()].concat()),
        record(4, b""),
    ]
    .concat();
    let mut traces = import_as(Cursor::new(stream), MethodArrangement::default()).unwrap();
    let (_, info, runs) = traces.remove(0);
    assert_eq!((&*info.program, info.image_bytes, runs), ("story.z5", 4096, vec![run(64, 6)]));
    let [section] = &info.images[0].sections[..] else { panic!("{:?}", info.images) };
    assert_eq!((&*section.name, section.offset, section.bytes), ("story", 0, 4096));
    assert_eq!(names(&info), [("Main", 64, 6)]);
}

#[test]
fn threads_keep_apart() {
    let stream = [
        head(),
        thread(0, "main", 0),
        words(&[0]),
        thread(7, "pool/1 ü", 0),
        words(&[2, 2]),
        thread(0, "main", 1),
        words(&[1]),
        thread(9, "pool/1 ü", 0),
        words(&[3]),
        thread(8, "pool/1 ü", 0),
        words(&[1]),
    ]
    .concat();
    let traces = import_as(Cursor::new(stream), MethodArrangement::default()).unwrap();
    let seen: Vec<_> =
        traces.iter().map(|(name, info, runs)| (name.as_str(), &*info.thread, &runs[..])).collect();
    assert_eq!(
        seen,
        [
            ("app.trace", "main", &[run(6, 12)][..]),
            ("app.pool-1-ü.trace", "pool/1 ü", &[run(0, 6), run(0, 6)]),
            // The one that only entered something has no trace.
            ("app.pool-1-ü-3.trace", "pool/1 ü", &[run(14, 4)]),
        ]
    );
    // One image for all: what any thread uses is placed.
    assert!(traces.iter().all(|(_, info, _)| info.images == traces[0].1.images));
}

/// A tail as a killed recorder leaves it: `stream` behind `base` bytes in the pipe.
fn tail(base: u64, rest: &[u8], slots: &[(u32, &str, u64, &[u32])]) -> Vec<u8> {
    let mut bytes = [base.to_le_bytes(), (rest.len() as u64).to_le_bytes()].concat();
    bytes.extend(rest);
    bytes.resize(TAIL_BYTES, 0);
    for (number, name, before, executed) in slots {
        let start = bytes.len();
        bytes.extend([number + 1, name.len() as u32].map(u32::to_le_bytes).concat());
        bytes.extend(before.to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.resize(start + 64, 0);
        bytes.extend(executed.iter().flat_map(|block| (block + 1).to_le_bytes()));
        bytes.resize(start + SLOT_BYTES, 0);
    }
    // Slots that nobody used.
    bytes.resize(bytes.len() + 3 * SLOT_BYTES, 0);
    bytes
}

#[test]
fn a_killed_recorder_loses_nothing_and_repeats_nothing() {
    let piped = [head(), thread(0, "main", 0), words(&[0, 2])].concat();
    let slots: [(u32, &str, u64, &[u32]); 2] = [
        // Its first two were copied into the stream before the kill, and not yet zeroed.
        (0, "main", 0, &[0, 2, 1, 0]),
        (1, "worker", 0, &[2]),
    ];
    // Cut anywhere between pipe and tail, in the middle of records too.
    for cut in [0, 5, 8, 40, piped.len() - 4, piped.len()] {
        let folder = TempDir::new().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let pipe = file("pipe", &piped[..cut]);
        let tail = file("tail", &tail(cut as u64, &piped[cut..], &slots));
        let live = RecorderPipe::open(&pipe, &tail).unwrap();
        let traces = import_as(live, MethodArrangement::default()).unwrap();
        let runs: Vec<_> = traces.iter().map(|(_, _, runs)| runs.as_slice()).collect();
        let main = [run(6, 8), run(0, 6), run(14, 4), run(6, 8)];
        assert_eq!(runs, [&main[..], &[run(0, 6)]], "cut at {cut}");
    }
}

#[test]
fn impossible_methods_and_threads_are_refused() {
    let message = |bytes: Vec<u8>| {
        let stream = [b"FPSTRM01".to_vec(), bytes].concat();
        super::message(import_as(Cursor::new(stream), MethodArrangement::default()))
    };
    for (bytes, words) in [
        (method(1 << 32, 4, "a.A.f()"), "a.A.f() has 4 bytes at 0x100000000"),
        (method(0, 0, "a.A.f()"), "has 0 bytes"),
        (record(METHOD, b"short"), "too short"),
        (record(THREAD, &[0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), "too short"),
        (
            [head()[8..].to_vec(), thread(0, "m", 0), words(&[0]), thread(0, "m", 3)].concat(),
            "2 blocks of thread m are missing",
        ),
        (
            [method(0, 8, "a.A.f()"), method(4, 8, "a.A.g()"), block(0, 4, 1, 0), words(&[0])]
                .concat(),
            "over each other",
        ),
        (
            [method(0, 8, "a.A.f()"), block(8, 4, 1, 0), words(&[0])].concat(),
            "0x8 belongs to no method",
        ),
    ] {
        let error = message(bytes);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn only_bytecode_can_be_arranged() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.trace");
    write_trace(&path, &[run(0, 4)], TraceInfo::default()).unwrap();
    let arranged = arrange_file(&path, &path, &MethodArrangement::default(), &|| true);
    assert_says(arranged, &["no single image"]);
    assert_eq!(read_trace(&path).unwrap().1, [run(0, 4)]);
}

#[test]
fn lines_of_an_order_without_a_method_are_reported() {
    let stream = [head(), words(&[0, 2, 1])].concat();
    let traces = import_as(Cursor::new(stream), MethodArrangement::default()).unwrap();
    let order = ["a.A", "a.A.g", "b.*", "*.c", "a.A.f(int)"].map(str::to_owned);
    let unknown_lines = unknown(&order, &traces[0].1.images, &|| true).unwrap();
    assert_eq!(unknown_lines, ["a.A.g", "*.c"]);
}

#[test]
fn threads_of_strangers_take_no_files() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("app.w.trace"), "precious").unwrap();
    let stream = [head(), thread(0, "main", 0), words(&[0]), thread(1, "w", 0), words(&[2])];
    let record = || {
        let input = Input::new("stream", Cursor::new(stream.concat())).unwrap();
        let mut import =
            Import::new(None, &file("app.trace"), TraceInfo::default(), false).unwrap();
        import.read(input, ImportFormat::Stream, 1, &mut |_| true).unwrap();
        let finished = import.finish(Ending::Complete, &|| true).unwrap();
        finished.iter().map(|done| done.path.clone()).collect::<Vec<_>>()
    };
    // A second time, the first time's own files are written again.
    for _ in 0..2 {
        assert_eq!(record(), [file("app.trace"), file("app.w-2.trace")]);
    }
    assert_eq!(std::fs::read_to_string(file("app.w.trace")).unwrap(), "precious");
}

#[test]
fn a_first_thread_without_code_leaves_its_name_to_the_next() {
    let stream =
        [head(), thread(0, "main", 0), words(&[3]), thread(1, "w\u{1b}[31m\n", 0), words(&[2])];
    let traces = import_as(Cursor::new(stream.concat()), MethodArrangement::default()).unwrap();
    let [(name, info, runs)] = &traces[..] else { panic!("one trace") };
    assert_eq!((name.as_str(), &runs[..]), ("app.trace", &[run(0, 6)][..]));
    assert!(info.thread.starts_with('w') && !info.thread.contains(|c: char| c.is_control()));
}

#[test]
fn a_failed_import_leaves_the_file_unchanged() {
    let stream = [head(), block(12, 1, 1, 0), words(&[0, 4])].concat();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("app.trace");
    std::fs::write(&path, "before").unwrap();
    let mut import = Import::new(None, &path, TraceInfo::default(), false).unwrap();
    let input = Input::new("stream", Cursor::new(stream)).unwrap();
    import.read(input, ImportFormat::Stream, 1, &mut |_| true).unwrap();
    assert_says(import.finish(Ending::Complete, &|| true), &["app.trace: the code at 0xc"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn threads_too_many_are_named() {
    let mut stream = head();
    for number in 0..600 {
        stream.extend([thread(number, &format!("t{number}"), 0), words(&[2])].concat());
    }
    let traces = import_as(Cursor::new(stream), MethodArrangement::default()).unwrap();
    assert_eq!(traces.len(), 512);
    let (_, info, _) = &traces[0];
    assert_eq!(info.left_out.len(), 600 - 512);
    assert_eq!(info.left_out[0], "thread t512: more than 512 threads");
}

/// Methods (bytes, class), pieces of them that are executed (method, from, length), classes of
/// an order, and whether all methods are kept.
type Program = (Vec<(u32, u8)>, Vec<(usize, u32, u32)>, Vec<u8>, bool);

fn programs() -> impl Strategy<Value = Program> {
    let methods = prop::collection::vec((1..40u32, 0..5u8), 1..12);
    methods.prop_flat_map(|methods| {
        let pieces = prop::collection::vec((0..methods.len(), 0..40u32, 1..40u32), 1..60);
        (Just(methods), pieces, prop::collection::vec(0..7u8, 0..4), any::<bool>())
    })
}

proptest! {
    /// Every byte executed is executed again, at its method's new place, in the same order,
    /// and runs are as long as they can be.
    #[test]
    fn an_arrangement_moves_every_byte((methods, pieces, order, all) in programs()) {
        let name = |number: usize, class: u8| format!("c{class}.K.m{number}()");
        let mut stream = b"FPSTRM01".to_vec();
        let (mut address, mut starts) = (0u64, Vec::new());
        for (number, (bytes, class)) in methods.iter().enumerate() {
            stream.extend(method(address, *bytes, &name(number, *class)));
            starts.push(address);
            address += u64::from(*bytes) + 1;
        }
        let mut executed = Vec::new();
        for (number, from, length) in &pieces {
            let from = from % methods[*number].0;
            let length = (*length).min(methods[*number].0 - from);
            stream.extend(block(starts[*number] + u64::from(from), length, 1, 0));
            executed.extend((from..from + length).map(|byte| (*number, byte)));
        }
        stream.extend(words(&(0..pieces.len() as u32).collect::<Vec<_>>()));
        let order: Vec<String> = order.iter().map(|class| format!("c{class}.K")).collect();
        let keep = if all { KeptMethods::All } else { KeptMethods::Used };
        let arrangement = MethodArrangement { keep, order: order.clone() };
        let traces = import_as(Cursor::new(stream), arrangement).unwrap();
        let (_, info, runs) = &traces[0];

        let mut placed: Vec<usize> = (0..methods.len())
            .filter(|number| all || executed.iter().any(|(used, _)| used == number))
            .collect();
        placed.sort_by_key(|&number| {
            let class = format!("c{}.K", methods[number].1);
            (order.iter().position(|line| *line == class).unwrap_or(usize::MAX), class, number)
        });
        let mut base = vec![0; methods.len()];
        let mut end = 0;
        for &number in &placed {
            base[number] = end;
            end += methods[number].0;
        }
        let wanted: Vec<u32> = executed.iter().map(|(number, byte)| base[*number] + byte).collect();
        let offsets: Vec<u32> = runs.iter().flat_map(|run| run.offset..=run.last()).collect();
        prop_assert_eq!(offsets, wanted);
        prop_assert!(runs.windows(2).all(|pair| pair[0].end() != u64::from(pair[1].offset)));
        prop_assert_eq!(info.image_bytes, u64::from(end));
        let laid_out: Vec<String> =
            placed.iter().map(|&number| name(number, methods[number].1)).collect();
        let symbols: Vec<&str> = names(info).into_iter().map(|(name, ..)| name).collect();
        prop_assert_eq!(symbols, laid_out);
    }
}
