//! Every reader on good files, and on files that are cut off, damaged, foreign
//! or hostile: a value or an error of one line, never a panic.

use std::collections::HashMap;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use flashpager::binary::elf::ElfFile;
use flashpager::media::part::{self, Part};
use flashpager::placement::{Options, Placer};
use flashpager::record::import::{Format, Import};
use flashpager::record::input::Input;
use flashpager::trace::{
    Ending, MAX_RUN_BYTES, MemoryTrace, Run, Trace, TraceFile, TraceInfo, TraceWriter,
};
use flashpager::{Error, Result};
use proptest::prelude::*;
use tempfile::TempDir;

mod methods;

fn run(offset: u32, length: u32) -> Run {
    Run { offset, length }
}

fn runs_of(trace: &dyn Trace) -> Result<Vec<Run>> {
    let (mut source, mut runs, mut chunk) = (trace.runs()?, Vec::new(), Vec::new());
    loop {
        source.read(&mut chunk)?;
        if chunk.is_empty() {
            return Ok(runs);
        }
        runs.extend_from_slice(&chunk);
    }
}

fn read_trace(path: &Path) -> Result<(TraceInfo, Vec<Run>)> {
    let trace = TraceFile::open(path)?;
    let runs = runs_of(&trace)?;
    Ok((trace.info().clone(), runs))
}

fn write_trace(path: &Path, runs: &[Run], info: TraceInfo) -> Result<TraceInfo> {
    let mut writer = TraceWriter::create(path, false)?;
    for &run in runs {
        writer.push(run)?;
    }
    writer.finish(info)
}

/// Import what `source` gives, in the format it shows or in `format`.
fn import_from(
    source: impl Read + Send + 'static,
    format: Option<Format>,
    placer: Option<Placer>,
) -> Result<(TraceInfo, Vec<Run>)> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.trace");
    let mut input = Input::new("in.txt", source)?;
    let format = format.map_or_else(|| Format::detect(&mut input), Ok)?;
    let info = TraceInfo { program: "in.txt".into(), ..TraceInfo::default() };
    let mut import = Import::new(placer, &path, info, false)?;
    let ending = import.read(input, format, 4, &mut |_| true)?;
    import.finish(ending, &|| true)?;
    read_trace(&path)
}

fn import(data: impl AsRef<[u8]>) -> Result<(TraceInfo, Vec<Run>)> {
    import_from(Cursor::new(data.as_ref().to_vec()), None, None)
}

/// The message of an error that must be there, in one printable line.
fn message<T>(outcome: Result<T>) -> String {
    let text = outcome.err().expect("an error").to_string();
    assert!(!text.contains(|c: char| c.is_control()), "not one line: {text:?}");
    assert!(text.len() < 1000, "{} bytes: {text}", text.len());
    text
}

#[track_caller]
fn assert_says<T>(outcome: Result<T>, parts: &[&str]) {
    let text = message(outcome);
    for part in parts {
        assert!(text.contains(part), "'{text}' does not say '{part}'");
    }
}

/// One byte at a time, as a slow pipe gives them.
struct Drops(Cursor<Vec<u8>>);

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

const LACKEY: &str = "==1== Lackey, an example Valgrind tool\nI  00001000,4\nI  00001004,2\n \
                      L 1ffe,8\nI  00002000,3\n S 1ffe,8\n M 1ffe,4\nI  00002003,1\n";

fn lackey_runs() -> Vec<Run> {
    vec![run(0x1000, 6), run(0x2000, 4)]
}

// Text.

#[test]
fn lackey_text_becomes_runs() {
    let (info, runs) = import(LACKEY).unwrap();
    assert_eq!(runs, lackey_runs());
    assert_eq!((info.instructions, info.bytes), (Some(4), 10));
    assert_eq!(info.ending, Ending::Complete);
    // Without a line end, and with a carriage return.
    assert_eq!(import("I  1000,4\r\nI  1004,4").unwrap().1, vec![run(0x1000, 8)]);
}

#[test]
fn a_bad_lackey_line_is_named() {
    for bad in ["I  1000", "I  ,4", "I  xyz,4", "I  1000,0", "I  1000,65", "I  1000,-1", "hello"] {
        let outcome = import(format!("I  1000,4\n L 10,4\n{bad}\nI  1004,4\n"));
        assert_says(outcome, &["in.txt, line 3", bad]);
    }
    assert_says(import("I  1000,4\nI  ffffffff,4\n"), &["line 2", "4 GiB", "--elf"]);
    assert_says(import("I  1000,4\nI  ffffffffffffffff,4\n"), &["line 2", "4 GiB"]);
    assert_says(import("I  10000000000000000,4\n"), &["line 1"]);
    // Control characters of the file never reach the terminal.
    assert_says(import("I  1\u{1b}[2J,\u{7}\n"), &["line 1"]);
    assert_says(import(b"I  \xff\xfe,4\n"), &["line 1"]);
}

#[test]
fn lackey_addresses_outside_the_placed_range_are_counted() {
    let placer = Placer::for_range(0x2000, 0x2002).unwrap();
    let (info, runs) = import_from(Cursor::new(LACKEY), None, Some(placer)).unwrap();
    assert_eq!(runs, vec![run(0, 2)]);
    assert_eq!((info.outside_instructions, info.outside_bytes), (Some(3), 7));
    let placer = Placer::for_range(0x9000, 0x9002).unwrap();
    let outcome = import_from(Cursor::new(LACKEY), None, Some(placer));
    assert_says(outcome, &["no instruction lies in the placed code"]);
}

#[test]
fn din_fetches_become_runs() {
    let (_, runs) = import("2 1000\n2 0x1004\n0 77\n1 78 4\n2 2000 4\n3 0\n4 0\n\n").unwrap();
    assert_eq!(runs, vec![run(0x1000, 8), run(0x2000, 4)]);
    for bad in ["5 1000", "2", "2 xyz", "22 1000", "2 11112222333344445"] {
        assert_says(import(format!("2 1000\n{bad}\n")), &["in.txt, line 2", bad]);
    }
    assert_says(import("2 fffffffe\n"), &["line 1", "4 GiB"]);
}

#[test]
fn csv_runs_are_taken_as_they_stand() {
    let (info, runs) = import("Offset, Length\n0,4\n0x10 , 8\r\n\n4,4\n4294967290,5\n").unwrap();
    assert_eq!(runs, vec![run(0, 4), run(16, 8), run(4, 4), run(4_294_967_290, 5)]);
    assert_eq!(info.instructions, None);
}

#[test]
fn a_bad_csv_line_is_named() {
    let bad = |line: &str| import(format!("offset,length\n0,4\n{line}\n"));
    assert_says(bad("0,0"), &["in.txt, line 3", "length 0"]);
    assert_says(bad("0,2147483648"), &["line 3", "2147483648 bytes", "16777216"]);
    assert_says(bad("0,16777217"), &["line 3", "16777217 bytes"]);
    assert_says(bad("4294967296,4"), &["line 3", "4 GiB"]);
    assert_says(bad("4294967292,4"), &["line 3", "4 GiB"]);
    assert_says(bad("18446744073709551615,1"), &["line 3", "4 GiB"]);
    for line in ["1", "1,", ",1", "1,2,3", "-1,4", "1.5,4", "a,b", "18446744073709551616,1"] {
        assert_says(bad(line), &["line 3", "not two numbers", line]);
    }
    assert_says(import("offset;length\n1;2\n"), &["line 1", "'offset,length'"]);
    let placer = Placer::for_range(0, 100).unwrap();
    let outcome = import_from(Cursor::new("offset,length\n1,4\n96,5\n"), None, Some(placer));
    assert_says(outcome, &["in.txt, line 3", "beyond the placed image"]);
}

#[test]
fn a_line_without_end_is_no_text() {
    for head in ["I  ", "offset,length\n", "2 1000\n"] {
        let outcome = import(head.to_owned() + &"0".repeat(1 << 20));
        assert_says(outcome, &["longer than 4096 bytes"]);
    }
}

#[test]
fn foreign_files_are_refused() {
    assert_says(import(""), &["in.txt", "is empty"]);
    assert_says(import("PAR1"), &["is Parquet", "needs no import"]);
    for foreign in [&b"\x89PNG\r\n\x1a\n"[..], b"\x7fELF\x02\x01\x01", b"hello\n", &[0; 500]] {
        assert_says(import(foreign), &["no known format", "--format"]);
    }
    let folder = TempDir::new().unwrap();
    assert_says(Input::open(folder.path()), &["is a folder"]);
    assert_says(Input::open(&folder.path().join("none.txt")), &["none.txt", "No such file"]);
}

// Compressed.

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn xz(data: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn packed(data: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let zstd = zstd::encode_all(data, 3).unwrap();
    [("Gzip", gzip(data)), ("Zstandard", zstd), ("Xz", xz(data))]
}

#[test]
fn compressed_text_is_unpacked() {
    for (_, data) in packed(LACKEY.as_bytes()) {
        assert_eq!(import(&data).unwrap().1, lackey_runs());
        // As several members, and drop by drop.
        let (front, back) = LACKEY.split_at(60);
        let twice = [front, back].map(|text| packed(text.as_bytes()));
        for (first, second) in twice[0].iter().zip(&twice[1]) {
            let both = [&first.1[..], &second.1[..]].concat();
            assert_eq!(import(&both).unwrap().1, lackey_runs(), "{}", first.0);
        }
        let drops = Drops(Cursor::new(data));
        assert_eq!(import_from(drops, None, None).unwrap().1, lackey_runs());
    }
    let drops = Drops(Cursor::new(LACKEY.into()));
    assert_eq!(import_from(drops, None, None).unwrap().1, lackey_runs());
}

#[test]
fn compressed_text_cut_off_anywhere_is_an_error() {
    for (name, data) in packed(LACKEY.as_bytes()) {
        for end in 0..data.len() {
            let text = message(import(&data[..end]));
            assert!(end < 12 || text.contains(name), "{end}: {text}");
        }
        for at in (0..data.len() * 8).step_by(5) {
            let mut damaged = data.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            if let Err(error) = import(&damaged) {
                message(Err::<(), _>(error));
            }
        }
    }
}

#[test]
fn an_xz_file_that_asks_for_gigabytes_is_refused() {
    let mut data = xz(LACKEY.as_bytes());
    // The block header follows the stream header of 12 bytes: its size in words
    // less one, flags, filter 0x21 (LZMA2), one byte of properties, CRC-32.
    let header = 12..12 + (usize::from(data[12]) + 1) * 4;
    let at = 12 + data[header.clone()].windows(2).position(|pair| pair == [0x21, 1]).unwrap() + 2;
    data[at] = 40;
    let mut crc = flate2::Crc::new();
    crc.update(&data[header.start..header.end - 4]);
    data[header.end - 4..header.end].copy_from_slice(&crc.sum().to_le_bytes());
    assert_says(import(&data), &["in.txt", "Xz", "memory"]);
}

// The recorders' stream.

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

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
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

// The trace file.

fn some_runs() -> Vec<Run> {
    (0..3000u32).map(|n| run(n * n % 977 * 4, 1 + n % 61)).collect()
}

fn some_info() -> TraceInfo {
    TraceInfo {
        program: "/bin/true".into(),
        arguments: vec!["ä\n".into()],
        ending: Ending::Failed("exit status 1".into()),
        outside_bytes: 5,
        ..TraceInfo::default()
    }
}

#[test]
fn a_trace_gives_back_what_was_written() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    for runs in [vec![], vec![run(u32::MAX - 1, 1)], vec![run(7, MAX_RUN_BYTES)], some_runs()] {
        let written = write_trace(&path, &runs, some_info()).unwrap();
        assert_eq!(read_trace(&path).unwrap(), (written.clone(), runs.clone()));
        assert_eq!(written.runs, runs.len() as u64);
        assert_eq!(written.bytes, runs.iter().map(|run| u64::from(run.length)).sum::<u64>());
        let loaded = MemoryTrace::load(&TraceFile::open(&path).unwrap()).unwrap();
        assert_eq!(runs_of(&loaded).unwrap(), runs);
    }
    // Nothing else is left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_trace_of_more_than_one_row_group() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    let runs: Vec<Run> = (0..(1 << 20) + 5)
        .map(|n: u32| run(n.wrapping_mul(2_654_435_761) >> 1, 1 + n % 97))
        .collect();
    let written = write_trace(&path, &runs, some_info()).unwrap();
    assert_eq!(written.runs, runs.len() as u64);
    assert!(read_trace(&path).unwrap() == (written, runs));

    let mut data = std::fs::read(&path).unwrap();
    let middle = data.len() / 2;
    for byte in &mut data[middle..middle + 64] {
        *byte ^= 0x55;
    }
    std::fs::write(&path, data).unwrap();
    assert_says(read_trace(&path), &["a.trace", "damaged"]);
}

#[test]
fn a_truncated_trace_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    write_trace(&path, &some_runs(), some_info()).unwrap();
    let data = std::fs::read(&path).unwrap();
    let cuts = (0..data.len()).step_by(64).chain(0..16).chain(data.len() - 16..data.len());
    for end in cuts {
        std::fs::write(&path, &data[..end]).unwrap();
        let text = message(read_trace(&path));
        let expected = if end < 4 { "is no flashpager trace" } else { "is truncated or damaged" };
        assert!(text.contains("a.trace: ") && text.contains(expected), "{end}: {text}");
    }
}

#[test]
fn a_flipped_bit_is_found_or_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    let runs = &some_runs()[..100];
    let written = write_trace(&path, runs, some_info()).unwrap();
    let data = std::fs::read(&path).unwrap();
    let mut found = 0;
    for at in (0..data.len() * 8).step_by(3) {
        let mut damaged = data.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        std::fs::write(&path, damaged).unwrap();
        match read_trace(&path) {
            Ok((info, read)) => assert!(info == written && read == runs, "bit {at} went unseen"),
            Err(error) => {
                message(Err::<(), _>(error));
                found += 1;
            }
        }
    }
    assert!(found > data.len(), "{found} of {} bits found", data.len() * 8 / 3);
}

#[test]
fn a_trace_of_another_version_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    let info = TraceInfo { schema_version: 2, ..some_info() };
    write_trace(&path, &some_runs(), info).unwrap();
    assert_says(read_trace(&path), &["a.trace", "schema version 2", "reads version 1"]);
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    assert_says(read_trace(&path), &["a.trace", "No such file"]);
    assert_says(read_trace(folder.path()), &["is a folder"]);
    for (data, what) in [
        (&b""[..], "is no flashpager trace"),
        (b"offset,length\n0,4\n", "trace import"),
        (b"PAR1", "truncated"),
        (b"PAR1PAR1", "truncated"),
        (b"PAR1\0\0\0\0PAR1", "damaged"),
        (b"PAR1\xff\xff\xff\xffPAR1", "footer"),
    ] {
        std::fs::write(&path, data).unwrap();
        assert_says(read_trace(&path), &["a.trace: ", what]);
    }
}

/// Files found by fuzzing or made by hand, each of which once made a reader
/// panic or ask for gigabytes. The folder says which reader.
#[test]
fn broken_files_are_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/broken");
    let mut seen = HashMap::<String, usize>::new();
    for reader in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let name = reader.file_name().into_string().unwrap();
        for path in std::fs::read_dir(reader.path()).unwrap().map(|entry| entry.unwrap().path()) {
            let data = std::fs::read(&path).unwrap();
            message(match name.as_str() {
                "trace_file" => read_trace(&path).map(drop),
                "elf" => place(&data).map(drop),
                "part" => Part::parse(&String::from_utf8(data).unwrap(), "part.toml").map(drop),
                format => import_from(Cursor::new(data), format.parse().ok(), None).map(drop),
            });
            *seen.entry(name.clone()).or_default() += 1;
        }
    }
    assert!(seen["trace_file"] > 0);
}

// ELF.

/// A 64-bit little-endian ELF file with these sections (name, type, bytes).
fn elf_of(sections: &[(&str, u32, &[u8])]) -> Vec<u8> {
    const STRTAB: u32 = 3;
    let mut names = vec![0];
    let mut starts = Vec::new();
    for (name, _, _) in sections {
        starts.push(names.len() as u32);
        names.extend(name.bytes().chain([0]));
    }
    let bodies = sections.iter().map(|(_, kind, bytes)| (*kind, *bytes)).chain([(STRTAB, &*names)]);
    let (mut body, mut headers) = (Vec::new(), vec![0; 64]);
    for ((kind, bytes), start) in bodies.zip(starts.into_iter().chain([0])) {
        let offset = 64 + body.len() as u64;
        headers.extend(words(&[start, kind]));
        for value in [6, 0x1000 + offset, offset, bytes.len() as u64, 0, 16, 0] {
            headers.extend(value.to_le_bytes());
        }
        body.extend_from_slice(bytes);
    }
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // An executable for x86-64, of version 1.
    file.extend(words(&[2 | 62 << 16, 1]));
    for value in [0, 0, 64 + body.len() as u64] {
        file.extend(value.to_le_bytes());
    }
    let count = sections.len() as u16 + 2;
    for value in [0, 0, 64, 56, 0, 64, count, count - 1] {
        file.extend(value.to_le_bytes());
    }
    file.extend(body);
    file.extend(headers);
    file
}

fn place(data: &[u8]) -> Result<flashpager::trace::Image> {
    let elf = ElfFile::parse(data).map_err(|what| Error::data("a.elf", what))?;
    elf.place(Path::new("a.elf"), &[".text".into()], 0)
}

#[test]
fn the_text_of_an_elf_file_is_placed() {
    let data = elf_of(&[(".init", 1, b"1234"), (".text", 1, b"12345678")]);
    let image = place(&data).unwrap();
    assert_eq!((image.offset, image.bytes, image.sections.len()), (0, 8, 1));
    assert_eq!(image.sections[0].address, 0x1000 + 64 + 4);
}

#[test]
fn an_elf_file_without_text_is_refused() {
    let data = elf_of(&[(".data\n\u{1b}[2J", 1, b"1234"), (".text", 8, b"")]);
    assert_says(place(&data), &["a.elf: has no section .text", ".data", "--section"]);
    let empty = elf_of(&[]);
    assert_says(place(&empty), &["has no section .text"]);
}

#[test]
fn a_section_beyond_the_end_of_the_file_is_refused() {
    let mut data = elf_of(&[(".text", 1, b"12345678")]);
    let headers = u64::from_le_bytes(data[40..48].try_into().unwrap()) as usize;
    let size = headers + 64 + 32;
    assert_eq!(data[size], 8);
    for bytes in [1u64 << 20, 1 << 33, u64::MAX] {
        data[size..size + 8].copy_from_slice(&bytes.to_le_bytes());
        assert_says(place(&data), &["a.elf", ".text", "beyond the end of the file"]);
    }
}

#[test]
fn what_is_no_whole_elf_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.elf");
    let read = |path: &Path| Placer::new(Options::text_of(path.to_owned()));
    assert_says(read(&path), &["a.elf", "No such file"]);
    assert_says(read(folder.path()), &["is no ELF program"]);
    let data = elf_of(&[(".init", 1, b"1234"), (".text", 1, b"12345678")]);
    for end in 0..data.len() {
        std::fs::write(&path, &data[..end]).unwrap();
        assert_says(read(&path), &["a.elf: "]);
    }
    for at in 0..data.len() * 8 {
        let mut damaged = data.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        if let Err(error) = place(&damaged) {
            message(Err::<(), _>(error));
        }
    }
    std::fs::write(&path, "#!/bin/sh\n").unwrap();
    assert_says(read(&path), &["a.elf: is no ELF file"]);
}

// Parts.

const PART: &str = r#"
name = "X"
maker = "Y"
kind = "nand"
page_bytes = { value = 2048, source = "s" }
pages_per_block = { value = 64, source = "s" }
width_bits = { value = 8, source = "s" }
t_r_ns = { value = 25000, source = "s" }
ecc = { place = "host", codeword_bytes = 512, correctable_bits = 4, source = "s" }
"#;

#[test]
fn a_bad_part_is_refused() {
    assert_eq!(Part::parse(PART, "x.toml").unwrap().block_bytes(), 131_072);
    let with = |from: &str, to: &str| {
        assert!(PART.contains(from));
        Part::parse(&PART.replace(from, to), "x.toml")
    };
    assert_says(with("\"nand\"", "\"tape\""), &["x.toml, line 4", "tape"]);
    assert_says(with("value = 2048", "value = 2000"), &["x.toml", "2000 bytes", "power of two"]);
    assert_says(with("value = 2048", "value = -1"), &["x.toml, line 5"]);
    assert_says(with("value = 64", "value = 0"), &["pages_per_block = 0"]);
    assert_says(with("value = 8,", "value = 7,"), &["width_bits = 7"]);
    for time in ["nan", "inf", "-inf", "0", "-1", "1e300", "0.000025"] {
        assert_says(with("25000", time), &["x.toml, line 8: t_r_ns = "]);
    }
    for codeword in ["0", "500", "4096"] {
        assert_says(
            with("codeword_bytes = 512", &format!("codeword_bytes = {codeword}")),
            &[codeword],
        );
    }
    let more = |line: &str| Part::parse(&format!("{PART}{line}"), "x.toml");
    assert_says(more("reads_before_refresh = { value = nan, source = '' }"), &["NaN"]);
    assert_says(more("t_byte_ns = { \"\\u001b\\n\" = { value = 1, source = '' } }"), &["MHz"]);
    assert_says(more("\"\\n\\u001b\" = 1"), &["x.toml, line 10", "unknown field"]);
    assert_says(more("x"), &["x.toml, line 10"]);
    assert_says(more(&format!("\"{}\" = 1", "k".repeat(100_000))), &["unknown field"]);
    assert_says(more(&format!("a = {}", "[".repeat(100_000))), &["x.toml, line 10"]);
    assert_says(Part::parse("", "x.toml"), &["x.toml, line 1", "missing field"]);
    assert_says(part::find("/nowhere/x.toml"), &["/nowhere/x.toml", "No such file"]);
}

// Random.

fn any_runs() -> impl Strategy<Value = Vec<Run>> {
    let run = (any::<u32>(), 1..=MAX_RUN_BYTES, 0..28u32).prop_map(|(offset, length, shift)| {
        let length = (length >> shift.min(23)).max(1);
        run((offset >> shift).min(u32::MAX - length), length)
    });
    prop::collection::vec(run, 0..400)
}

fn path_in(folder: &TempDir) -> PathBuf {
    folder.path().join("a.trace")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn runs_written_are_runs_read(runs in any_runs()) {
        let folder = TempDir::new().unwrap();
        let written = write_trace(&path_in(&folder), &runs, some_info()).unwrap();
        prop_assert_eq!(read_trace(&path_in(&folder)).unwrap(), (written, runs));
    }

    #[test]
    fn csv_becomes_the_same_runs(runs in any_runs(), hex in any::<bool>()) {
        prop_assume!(!runs.is_empty());
        let mut text = String::from("offset,length\n");
        for run in &runs {
            let line = if hex {
                format!("{:#x},{:#x}\n", run.offset, run.length)
            } else {
                format!("{},{}\n", run.offset, run.length)
            };
            text.push_str(&line);
        }
        prop_assert_eq!(import(&text).unwrap().1, runs);
    }

    #[test]
    fn any_bytes_give_a_value_or_one_line(
        head in prop::sample::select(vec!["", "I  ", "offset,length\n", "2 ", "FPSTRM01", "PAR1"]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let data = [head.as_bytes(), &rest].concat();
        if let Err(error) = import(&data) {
            message(Err::<(), _>(error));
        }
        let folder = TempDir::new().unwrap();
        std::fs::write(path_in(&folder), &data).unwrap();
        message(read_trace(&path_in(&folder)));
        message(place(&data));
    }
}
