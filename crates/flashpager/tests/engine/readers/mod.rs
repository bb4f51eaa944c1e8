//! Every reader on good files, and on files that are cut off, damaged, foreign
//! or hostile: a value or an error of one line, never a panic.

use std::collections::HashMap;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use flashpager::binary::elf::ElfFile;
use flashpager::media::part::{self, Part};
use flashpager::placement::{PlacementOptions, Placer};
use flashpager::record::import::{Import, ImportFormat};
use flashpager::record::input::Input;
use flashpager::record::region::Region;
use flashpager::trace::{
    Ending, GapReason, MAX_RUN_BYTES, MemoryTrace, Run, Trace, TraceFile, TraceInfo, TraceWriter,
};
use flashpager::{Error, Result};
use proptest::prelude::*;
use tempfile::TempDir;

mod etrace;
mod link;
mod logs;
mod methods;
mod parts;
mod programs;
mod qemu_log;
mod random;
mod stream;
mod text;
mod trace_file;

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
    let trace = TraceFile::open_captured(path)?;
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
    format: Option<ImportFormat>,
    placer: Option<Placer>,
) -> Result<(TraceInfo, Vec<Run>)> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.trace");
    let mut input = Input::new("in.txt", source)?;
    let format = format.map_or_else(|| ImportFormat::detect(&mut input), Ok)?;
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

/// A record of the recorder stream.
fn record(kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (1 << 31 | kind << 24 | payload.len() as u32).to_le_bytes().to_vec();
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
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

fn place(data: &[u8]) -> Result<flashpager::trace::Image> {
    let elf = ElfFile::parse(data).map_err(|message| Error::data("a.elf", message))?;
    elf.place(Path::new("a.elf"), &[".text".into()], 0)
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}
