//! The trace file.

use super::*;

fn some_runs() -> Vec<Run> {
    (0..3000u32).map(|n| run(n * n % 977 * 4, 1 + n % 61)).collect()
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
    // No other file is left behind.
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
    let mut refused = 0;
    for at in (0..data.len() * 8).step_by(3) {
        let mut damaged = data.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        std::fs::write(&path, damaged).unwrap();
        match read_trace(&path) {
            Ok((info, read)) => assert!(info == written && read == runs, "bit {at} went unseen"),
            Err(error) => {
                message(Err::<(), _>(error));
                refused += 1;
            }
        }
    }
    assert!(refused > data.len(), "{refused} of {} bits found", data.len() * 8 / 3);
}

#[test]
fn a_trace_of_another_version_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    write_trace(&path, &some_runs(), some_info()).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let version = b"\"schema_version\":1";
    let at = bytes.windows(version.len()).position(|window| window == version).unwrap();
    bytes[at + version.len() - 1] = b'4';
    std::fs::write(&path, bytes).unwrap();
    assert_says(read_trace(&path), &["a.trace", "schema version 4", "reads version 1, 2 or 3"]);
}

#[test]
fn a_file_that_is_no_trace_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    assert_says(read_trace(&path), &["a.trace", "No such file"]);
    assert_says(read_trace(folder.path()), &["is a folder"]);
    for (data, expected) in [
        (&b""[..], "is no flashpager trace"),
        (b"offset,length\n0,4\n", "trace import"),
        (b"PAR1", "truncated"),
        (b"PAR1PAR1", "truncated"),
        (b"PAR1\0\0\0\0PAR1", "damaged"),
        (b"PAR1\xff\xff\xff\xffPAR1", "footer"),
    ] {
        std::fs::write(&path, data).unwrap();
        assert_says(read_trace(&path), &["a.trace: ", expected]);
    }
}

/// Files found by fuzzing or made by hand, each of which once made a reader
/// panic or ask for gigabytes. The folder is named after the reader.
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
