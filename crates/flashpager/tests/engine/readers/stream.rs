//! The recorders' stream.

use super::*;

fn record(kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (1 << 31 | kind << 24 | payload.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn block(address: u64, bytes: u32, instructions: u32) -> Vec<u8> {
    let mut payload = address.to_le_bytes().to_vec();
    payload.extend(bytes.to_le_bytes());
    payload.extend(instructions.to_le_bytes());
    record(3, &payload)
}

fn stream(pieces: &[Vec<u8>]) -> Vec<u8> {
    b"FPSTRM01".iter().copied().chain(pieces.iter().flatten().copied()).collect()
}

fn import_stream(data: &[u8]) -> Result<(TraceInfo, Vec<Run>)> {
    import_from(Cursor::new(data.to_vec()), Some(Format::Stream), None)
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
    assert_says(bad(record(9, b"x")), &["byte 32", "unknown kind 9"]);
    assert_says(bad(record(2, b"x")), &["byte 32", "too short"]);
    assert_says(bad(record(3, b"x")), &["byte 32", "too short"]);
    assert_says(bad(record(1, b"x")), &["byte 32", "META"]);
    assert_says(bad(block(0, 0, 0)), &["byte 32", "0 instructions in 0 bytes"]);
    assert_says(bad(block(0, 4, 5)), &["byte 32", "5 instructions"]);
    assert_says(bad(block(0, MAX_RUN_BYTES + 1, 1)), &["byte 32", "16777217 bytes"]);
    assert_says(bad(block(u64::MAX, 4, 1)), &["byte 32", "4 GiB"]);
    assert_says(bad(record(1, b"start_code=\x1b\n")), &["byte 32", "no number"]);
    assert_says(import_stream(b"FPSTRM02"), &["byte 0", "not a flashpager recorder stream"]);
    assert_says(import_stream(b"x"), &["byte 0", "not a flashpager recorder stream"]);
}
