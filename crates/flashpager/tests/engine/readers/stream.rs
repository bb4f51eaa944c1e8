//! The recorders' stream.

use flashpager::record::pipe::RecorderPipe;

use super::*;

fn block(address: u64, bytes: u32, instructions: u32) -> Vec<u8> {
    let mut payload = address.to_le_bytes().to_vec();
    payload.extend(bytes.to_le_bytes());
    payload.extend(instructions.to_le_bytes());
    record(3, &payload)
}

fn piece(address: u64, bytes: u32, instructions: u32) -> Vec<u8> {
    record(7, &block(address, bytes, instructions)[4..])
}

/// The payload of a gap.
fn gap(reason: u32, instructions: Option<u64>) -> Vec<u8> {
    let count = instructions.map(u64::to_le_bytes);
    [&reason.to_le_bytes()[..], count.as_ref().map_or(&[], |bytes| &bytes[..])].concat()
}

fn stream(pieces: &[Vec<u8>]) -> Vec<u8> {
    b"FPSTRM01".iter().copied().chain(pieces.iter().flatten().copied()).collect()
}

fn import_stream(data: &[u8]) -> Result<(TraceInfo, Vec<Run>)> {
    import_from(Cursor::new(data.to_vec()), Some(ImportFormat::Stream), None)
}

/// The bytes of each record in `recorders/stream/vectors.json`, against which all writers are
/// tested.
#[test]
fn records_are_those_of_the_vectors() {
    let vectors = include_str!("../../../../../recorders/stream/vectors.json");
    let vectors: Vec<serde_json::Value> = serde_json::from_str(vectors).unwrap();
    let number = |vector: &serde_json::Value, name: &str| vector[name].as_u64().unwrap();
    for vector in &vectors {
        let small = |name: &str| number(vector, name) as u32;
        let written = match vector["record"].as_str().unwrap() {
            "magic" => stream(&[]),
            "number" => words(&[small("number")]),
            "META" => record(1, vector["text"].as_str().unwrap().as_bytes()),
            "BLOCK" if vector["does"].is_null() => {
                block(number(vector, "address"), small("size"), small("instructions"))
            }
            "PIECE" => piece(number(vector, "address"), small("size"), small("instructions")),
            "SWITCH" => record(8, &small("number").to_le_bytes()),
            "PROCESS" => record(9, &small("number").to_le_bytes()),
            "GAP" => record(11, &gap(small("reason"), Some(number(vector, "instructions")))),
            "END" => record(4, b""),
            _ => continue,
        };
        let hexadecimal: String = written.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hexadecimal, vector["stream"].as_str().unwrap(), "{vector}");
    }
}

#[test]
fn a_stream_becomes_runs() {
    let data = stream(&[
        record(1, b"recorder=qemu"),
        record(1, b"target=arm"),
        record(1, b"unheard_of=1"),
        block(0x100, 16, 4),
        block(0x110, 6, 2),
        words(&[0, 1, 0]),
        block(0x400, 5, 5),
        words(&[2, 0]),
        record(4, b""),
        b"whatever comes behind the end".to_vec(),
    ]);
    for (info, runs) in [import_stream(&data).unwrap(), import(gzip(&data)).unwrap()] {
        let expected = [run(0x100, 22), run(0x100, 16), run(0x400, 5), run(0x100, 16)];
        assert_eq!(runs, expected);
        assert_eq!((&*info.recorder, &*info.architecture), ("qemu", "arm"));
        assert_eq!((info.ending, info.instructions), (Ending::Complete, Some(4 + 2 + 4 + 5 + 4)));
    }
}

/// A gap ends a run, also if the next block continues it.
#[test]
fn gaps_part_a_stream_into_windows() {
    let data = stream(&[
        block(0x100, 16, 4),
        block(0x110, 6, 2),
        words(&[0]),
        record(11, &gap(1, None)),
        record(11, &gap(2, None)),
        words(&[1, 0]),
        record(11, &gap(5, Some(70))),
        words(&[1]),
        record(4, b""),
    ]);
    let (info, runs) = import_stream(&data).unwrap();
    assert_eq!(runs, [run(0x100, 16), run(0x110, 6), run(0x100, 16), run(0x110, 6)]);
    assert_eq!((info.schema_version, &info.ending), (3, &Ending::AsCaptured));
    assert_eq!(info.windows().collect::<Vec<_>>(), [0..1, 1..3, 3..4]);
    let [first, second] = info.gaps[..] else { panic!("{:?}", info.gaps) };
    assert_eq!((first.reason, first.instructions), (GapReason::BufferFull, None));
    assert_eq!((second.reason, second.instructions), (GapReason::Cut, Some(70)));
    let unknown = stream(&[record(11, &gap(6, None))]);
    assert_says(import_stream(&unknown), &["byte 8", "gap of unknown reason 6"]);
}

/// A gap while a thread executes that is left out parts the traces of the others, too.
#[test]
fn a_gap_in_a_thread_that_is_left_out_parts_the_others() {
    let others = (1..=512).flat_map(|number| name(number, b"", 0)).collect();
    let data = stream(&[
        block(0x100, 16, 4),
        block(0x110, 6, 2),
        words(&[0]),
        name(0, b"main", 1),
        others,
        record(11, &gap(1, Some(9))),
        record(8, &0u32.to_le_bytes()),
        words(&[1]),
        record(4, b""),
    ]);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.trace");
    let input = Input::new("in.txt", Cursor::new(data)).unwrap();
    let mut import = Import::new(None, &path, TraceInfo::default(), false).unwrap();
    import.read(input, ImportFormat::Stream, 1, &mut |_| true).unwrap();
    let traces = import.finish(Ending::Complete, &|| true).unwrap();
    let info = &traces[0].info;
    assert_eq!(info.windows().collect::<Vec<_>>(), [0..1, 1..2]);
    // The instructions are those of the thread that is left out.
    assert_eq!(info.gaps[0].instructions, None);
    assert!(info.left_out.iter().any(|left| left.contains("thread-512")), "{:?}", info.left_out);
}

#[test]
fn data_that_is_read_is_no_instruction() {
    let code = |address, bytes| piece(address, bytes, 1);
    let data = [piece(0x200, 8, 0), piece(0x208, 1, 0)];
    let messages =
        stream(&[&[code(0x100, 3)][..], &data, &[code(0x103, 2), record(4, b"")]].concat());
    let (info, runs) = import_stream(&messages).unwrap();
    assert_eq!(runs, [run(0x100, 3), run(0x200, 9), run(0x103, 2)]);
    assert_eq!((info.bytes, info.instructions), (14, Some(2)));
    // Instructions are unknown if the stream does not have them.
    let (info, _) = import_stream(&stream(&data)).unwrap();
    assert_eq!((info.bytes, info.instructions), (9, None));
}

#[test]
fn code_of_no_bytes_lies_outside() {
    let kernel = block(0xffff_0fe0, 0, 0);
    let data = stream(&[block(0x100, 16, 4), kernel, block(0x110, 6, 2), words(&[0, 2, 0, 1, 2])]);
    let (info, runs) = import_stream(&data).unwrap();
    assert_eq!(runs, [run(0x100, 22), run(0x100, 16), run(0x110, 6)]);
    assert_eq!((info.instructions, info.outside_instructions), (Some(12), Some(0)));
}

#[test]
fn a_piece_is_executed_once_and_has_no_number() {
    let data = stream(&[
        block(0x100, 16, 4),
        words(&[0]),
        piece(0x110, 8, 3),
        piece(0x200, 8, 2),
        block(0x300, 4, 1),
        words(&[1]),
    ]);
    let (info, runs) = import_stream(&data).unwrap();
    assert_eq!(runs, [run(0x100, 24), run(0x200, 8), run(0x300, 4)]);
    assert_eq!(info.instructions, Some(4 + 3 + 2 + 1));
}

#[test]
fn blocks_in_doubt_are_counted_if_the_recorder_reports_them() {
    let messages = [block(0x100, 16, 4), words(&[0, 0])].concat();
    let info = |head: &[&[u8]]| {
        let records = head.iter().map(|text| record(1, text)).chain([messages.clone()]);
        import_stream(&stream(&records.collect::<Vec<_>>())).unwrap().0
    };
    assert_eq!(info(&[]).in_doubt, None);
    assert_eq!(info(&[b"in_doubt=0"]).in_doubt, Some(0));
    assert_eq!(info(&[b"in_doubt=0", b"in_doubt=1", b"in_doubt=2"]).in_doubt, Some(3));
    let wrong = import_stream(&stream(&[record(1, b"in_doubt=many")]));
    assert_says(wrong, &["byte 8", "in_doubt 'many' is no number"]);
}

/// The pieces that processors of a killed program had begun, as `(reported_at, address, begun)`.
fn read_killed(written: &[u8], unwritten: &[u8], running: &[[u64; 3]]) -> Vec<Run> {
    let running: Vec<[u64; 4]> =
        running.iter().map(|&[at, address, begun]| [at, address, begun, 0]).collect();
    killed(written, unwritten, &running).1
}

/// The same, and what of it is in doubt.
fn killed(written: &[u8], unwritten: &[u8], running: &[[u64; 4]]) -> (TraceInfo, Vec<Run>) {
    let mut tail = (written.len() as u64).to_le_bytes().to_vec();
    tail.extend((unwritten.len() as u64).to_le_bytes());
    tail.extend(unwritten);
    tail.resize(256 << 10, 0);
    tail.extend([0xff; 4]);
    tail.resize(tail.len() + 28, 0);
    for processor in running {
        tail.extend(processor.iter().flat_map(|number| number.to_le_bytes()));
    }
    tail.resize((256 + 32) << 10, 0);
    let folder = TempDir::new().unwrap();
    let (pipe, shared) = (folder.path().join("pipe"), folder.path().join("tail"));
    std::fs::write(&pipe, written).unwrap();
    std::fs::write(&shared, tail).unwrap();
    let live = RecorderPipe::open(&pipe, &shared).unwrap();
    import_from(live, Some(ImportFormat::Stream), None).unwrap()
}

#[test]
fn the_last_block_of_a_killed_program_is_in_doubt() {
    let head = stream(&[record(1, b"in_doubt=0"), block(0x100, 16, 4), words(&[0])]);
    let two = 5 | 2 << 32;
    let in_doubt = |entry| killed(&head, &[], &[entry]).0.in_doubt;
    assert_eq!(in_doubt([u64::MAX, 0x200, two, 1 << 32]), Some(1));
    // First its progress is known; then the stream has the block already.
    assert_eq!(in_doubt([u64::MAX, 0x200, two, 3]), Some(0));
    assert_eq!(in_doubt([0, 0x200, two, 1 << 32]), Some(0));
}

#[test]
fn the_begun_block_of_a_killed_program_is_reported_once() {
    let (head, rest) = (stream(&[block(0x100, 16, 4), words(&[0])]), words(&[0]));
    let all = (head.len() + rest.len()) as u64;
    let two = 5 | 2 << 32;
    let messages = [run(0x100, 16), run(0x100, 16)];
    let with = |address, bytes| [&messages[..], &[run(address, bytes)]].concat();
    // In turn: the block runs on, its place in the stream is known and not filled yet, and the
    // stream has it already.
    assert_eq!(read_killed(&head, &rest, &[[u64::MAX, 0x200, two]]), with(0x200, 5));
    assert_eq!(read_killed(&head, &rest, &[[all, 0x200, two]]), with(0x200, 5));
    assert_eq!(read_killed(&head, &rest, &[[all - 4, 0x200, two]]), messages);
    // Accesses are counted above, and a processor may have begun nothing.
    let several = [[u64::MAX, 0x300, 7 << 48], [u64::MAX, 0x200, two | 9 << 48]];
    assert_eq!(read_killed(&head, &rest, &several), with(0x200, 5));
}

/// A record that names a thread, which has executed so many blocks `before`.
fn name(number: u32, name: &[u8], before: u64) -> Vec<u8> {
    let head = [number.to_le_bytes(), (name.len() as u32).to_le_bytes()].concat();
    record(6, &[&head[..], &before.to_le_bytes(), name].concat())
}

#[test]
fn threads_are_distinguished_if_there_are_several() {
    let switch = |number: u32| record(8, &number.to_le_bytes());
    let data = stream(&[
        block(0x100, 16, 4),
        block(0x200, 6, 2),
        words(&[0, 0]),
        name(0, b"main", 2),
        name(7, b"other", 0),
        words(&[1]),
        switch(0),
        words(&[0]),
        switch(7),
        words(&[1]),
    ]);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.trace");
    let input = Input::new("in.txt", Cursor::new(data)).unwrap();
    let mut import = Import::new(None, &path, TraceInfo::default(), false).unwrap();
    import.read(input, ImportFormat::Stream, 1, &mut |_| true).unwrap();
    let traces = import.finish(Ending::Complete, &|| true).unwrap();
    let by_thread: Vec<_> = traces
        .iter()
        .map(|trace| (trace.info.thread.as_str(), read_trace(&trace.path).unwrap().1))
        .collect();
    let (ours, theirs) = (run(0x100, 16), run(0x200, 6));
    assert_eq!(by_thread, [("main", vec![ours; 3]), ("other", vec![theirs; 2])]);
    let unknown = import_stream(&stream(&[block(0, 4, 1), switch(3)]));
    assert_says(unknown, &["byte 28", "thread 3 was never named"]);
}

#[test]
fn processes_have_threads_and_blocks_of_their_own() {
    let program = std::env::current_exe().unwrap();
    let text = |name: &str, program: &str, arguments: &str| {
        [name, program, arguments].join("\0").into_bytes()
    };
    let process = |number: u32, text: &[u8]| record(9, &[&number.to_le_bytes()[..], text].concat());
    let ours = text("process-2-it", program.to_str().unwrap(), "it\0first\0\0");
    let gone = text("process-3-gone", "/nowhere/gone", "");
    let data = stream(&[
        block(0x100, 16, 4),
        words(&[0]),
        process(1, &ours),
        block(0x200, 6, 2),
        words(&[0, 0]),
        process(2, &gone),
        block(0x300, 4, 1),
        words(&[0]),
        process(0, b""),
        words(&[0]),
        process(1, b""),
        words(&[0]),
        record(1, b"ending=exit status 3"),
        record(4, b""),
    ]);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.trace");
    let input = Input::new("in.txt", Cursor::new(data)).unwrap();
    let mut import = Import::new(None, &path, TraceInfo::default(), false).unwrap();
    assert_eq!(
        import.read(input, ImportFormat::Stream, 1, &mut |_| true).unwrap(),
        Ending::Complete
    );
    let [first, second] = &import.finish(Ending::Complete, &|| true).unwrap()[..] else {
        panic!("not two traces");
    };
    assert_eq!(read_trace(&first.path).unwrap().1, [run(0x100, 16); 2]);
    assert_eq!(first.info.left_out.len(), 1);
    assert!(first.info.left_out[0].starts_with("process-3-gone: /nowhere/gone: No such file"));
    assert_eq!(read_trace(&second.path).unwrap().1, [run(0x200, 6); 3]);
    assert_eq!(second.path, folder.path().join("t.process-2-it.trace"));
    assert_eq!(second.info.process, "process-2-it");
    assert_eq!(second.info.arguments, ["first", ""]);
    assert_eq!(second.info.ending, Ending::Failed("exit status 3".into()));
    let bad = |piece| import_stream(&stream(&[block(0, 4, 1), piece]));
    assert_says(bad(process(1, b"")), &["byte 28", "process 1 was never named"]);
    let early = bad(process(2, &ours));
    assert_says(early, &["byte 28", "process 2 is named where 1 is the next one"]);
    assert_says(bad(process(1, b"it")), &["byte 28", "a process without a program"]);
    assert_says(bad(record(9, b"it")), &["byte 28", "a record is too short"]);
}

#[test]
fn a_stream_cut_off_anywhere_was_interrupted_there() {
    let executed = [0, 1, 0, 1, 1, 0];
    let head = stream(&[record(1, b"recorder=qemu"), block(0x100, 16, 4), block(0x200, 6, 2)]);
    let data = [head.clone(), words(&executed), record(4, b"")].concat();
    for end in 0..data.len() {
        let (info, runs) = import_stream(&data[..end]).unwrap();
        assert_eq!(info.ending, Ending::Interrupted);
        let whole = (end.saturating_sub(head.len()) / 4).min(executed.len());
        let expected =
            executed[..whole].iter().map(|n| [run(0x100, 16), run(0x200, 6)][*n as usize]);
        assert_eq!(runs, expected.collect::<Vec<_>>(), "cut at {end}");
    }
    assert_eq!(import_stream(&data).unwrap().0.ending, Ending::Complete);
}

#[test]
fn a_damaged_stream_is_named_by_the_byte() {
    let bad = |piece: Vec<u8>| import_stream(&stream(&[block(0, 4, 1), words(&[0]), piece]));
    assert_says(bad(words(&[1])), &["in.txt, byte 32", "block 1 was never described"]);
    assert_says(bad(words(&[0x7fff_ffff])), &["byte 32", "never described"]);
    assert_says(bad(words(&[0x83ff_ffff])), &["byte 32", "too long"]);
    assert_says(bad(record(12, b"x")), &["byte 32", "unknown kind 12"]);
    assert_says(bad(record(2, b"x")), &["byte 32", "too short"]);
    assert_says(bad(record(3, b"x")), &["byte 32", "too short"]);
    assert_says(bad(record(1, b"x")), &["byte 32", "META"]);
    assert_says(bad(block(0, 4, 0)), &["byte 32", "0 instructions in 4 bytes"]);
    assert_says(bad(block(0, 0, 1)), &["byte 32", "1 instruction in 0 bytes"]);
    assert_says(bad(piece(0, 4, 5)), &["byte 32", "5 instructions"]);
    assert_says(bad(record(7, b"x")), &["byte 32", "too short"]);
    assert_says(bad(block(0, 4, 5)), &["byte 32", "5 instructions"]);
    assert_says(bad(block(0, MAX_RUN_BYTES + 1, 1)), &["byte 32", "16777217 bytes"]);
    assert_says(bad(block(u64::MAX, 4, 1)), &["byte 32", "4 GiB"]);
    assert_says(bad(record(1, b"start_code=\x1b\n")), &["byte 32", "no number"]);
    assert_says(import_stream(b"FPSTRM02"), &["byte 0", "not a flashpager recorder stream"]);
    assert_says(import_stream(b"x"), &["byte 0", "not a flashpager recorder stream"]);
}
