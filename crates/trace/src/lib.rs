//! Traces: sequences of runs, and their file.
//!
//! Everything streams: a source fills one chunk of runs at a time, so memory
//! does not grow with the length of a trace.

pub mod blocks;
pub mod calls;
pub mod check;
pub mod columns;
mod executed;
pub mod export;
pub mod file;
mod image;
pub mod output;
mod progress;
mod relocations;
mod warm_up;
mod windows;

use flashpager_base::{Error, Result};
use serde::{Deserialize, Serialize};

pub use blocks::BlockCounts;
pub use executed::{ExecutedRunMerger, ExecutedRuns, Mark};
pub use file::{TraceFile, TraceWriter};
pub use image::{Image, Section, Symbol};
pub use progress::ProgressTrace;
pub use relocations::{Relocation, RelocationError, Relocations};
pub use warm_up::{FirstRuns, WarmUp};
pub use windows::TraceWindows;

/// Runs handed over at a time.
pub const CHUNK_RUNS: usize = 16 * 1024;

/// Longest run, in bytes. No processor fetches more without a jump; a longer
/// one in a file is damage.
pub const MAX_RUN_BYTES: u32 = 1 << 24;

/// Bytes fetched one after another, in flash-image offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// Offset of the first byte in the flash image.
    pub offset: u32,
    /// Bytes fetched, 1 to [`MAX_RUN_BYTES`].
    pub length: u32,
}

impl Run {
    /// Check what a file says. The error says what is wrong, without a place.
    pub fn checked(offset: u64, length: u64) -> std::result::Result<Self, String> {
        if length == 0 {
            return Err("a run of length 0".into());
        }
        if length > u64::from(MAX_RUN_BYTES) {
            return Err(format!(
                "a run of {length} bytes is longer than {MAX_RUN_BYTES} bytes: no program runs so \
                 far without a jump"
            ));
        }
        if offset.saturating_add(length) > u64::from(u32::MAX) {
            return Err(format!("a run at offset {offset:#x} reaches beyond 4 GiB"));
        }
        Ok(Self { offset: offset as u32, length: length as u32 })
    }

    /// The offset just behind the run.
    #[inline]
    pub fn end(self) -> u32 {
        self.offset + self.length
    }
}

/// A stream of runs.
pub trait RunSource {
    /// Replace `runs` by the next chunk; empty at the end.
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()>;
    /// What each run of the last chunk is; empty where all are [`Mark::Executed`].
    fn marks(&self) -> &[Mark] {
        &[]
    }
}

/// A trace that can be read as often as needed.
pub trait Trace: Sync {
    /// Bytes of the flash image: every run lies below.
    fn image_bytes(&self) -> u32;
    /// Start reading from the first run.
    fn runs(&self) -> Result<Box<dyn RunSource + '_>>;
    /// All runs, if they are in memory already.
    fn in_memory(&self) -> Option<&[Run]> {
        None
    }
    /// Its first runs that fill a cache and are not counted.
    fn warm_up(&self) -> WarmUp {
        WarmUp::default()
    }
    /// Whether data reads are among its runs, which [`RunSource::marks`] tells.
    fn has_reads(&self) -> bool {
        false
    }
}

/// Runs between two questions whether to go on: with many sizes each takes a while.
const PATIENCE_RUNS: usize = 256;

/// Hands out runs, some at a time, and asks before each whether to go on.
///
/// # Errors
/// What reading and `take` give, and [`Error::Interrupted`].
pub fn for_runs(
    trace: &dyn Trace,
    go_on: &dyn Fn() -> bool,
    mut take: impl FnMut(&[Run]) -> Result<()>,
) -> Result<()> {
    let mut take_all = |runs: &[Run]| {
        for some in runs.chunks(PATIENCE_RUNS) {
            if !go_on() {
                return Err(Error::Interrupted);
            }
            take(some)?;
        }
        Ok(())
    };
    if let Some(runs) = trace.in_memory() {
        return take_all(runs);
    }
    let mut source = trace.runs()?;
    let mut chunk = Vec::new();
    loop {
        source.read(&mut chunk)?;
        if chunk.is_empty() {
            return Ok(());
        }
        take_all(&chunk)?;
    }
}

/// As [`for_runs`], run by run, with what each of them is.
///
/// # Errors
/// As of [`for_runs`].
pub fn for_marked_runs(
    trace: &dyn Trace,
    go_on: &dyn Fn() -> bool,
    mut take: impl FnMut(Run, Mark) -> Result<()>,
) -> Result<()> {
    if !trace.has_reads() {
        return for_runs(trace, go_on, |runs| {
            runs.iter().try_for_each(|run| take(*run, Mark::Executed))
        });
    }
    let mut source = trace.runs()?;
    let mut chunk = Vec::new();
    loop {
        if !go_on() {
            return Err(Error::Interrupted);
        }
        source.read(&mut chunk)?;
        if chunk.is_empty() {
            return Ok(());
        }
        for (run, mark) in chunk.iter().zip(source.marks()) {
            take(*run, *mark)?;
        }
    }
}

/// A trace in memory.
pub struct MemoryTrace {
    runs: Vec<Run>,
    /// Of each run, or none where all are executed.
    marks: Vec<Mark>,
    image_bytes: u32,
    warm_up: WarmUp,
}

impl MemoryTrace {
    /// The image is as long as the runs need.
    pub fn new(runs: Vec<Run>) -> Self {
        let image_bytes = runs.iter().map(|run| run.end()).max().unwrap_or(0);
        Self::with_image(runs, image_bytes)
    }

    /// Of an image of so many bytes, in which all runs lie.
    pub fn with_image(runs: Vec<Run>, image_bytes: u32) -> Self {
        Self { runs, marks: Vec::new(), image_bytes, warm_up: WarmUp::default() }
    }

    /// All runs of `trace`, held in memory.
    pub fn load(trace: &dyn Trace) -> Result<Self> {
        let (mut runs, mut marks) = (Vec::new(), Vec::new());
        let mut chunk = Vec::new();
        let mut source = trace.runs()?;
        loop {
            source.read(&mut chunk)?;
            if chunk.is_empty() {
                let (image_bytes, warm_up) = (trace.image_bytes(), trace.warm_up());
                return Ok(Self { runs, marks, image_bytes, warm_up });
            }
            runs.extend_from_slice(&chunk);
            marks.extend_from_slice(source.marks());
        }
    }
}

impl Trace for MemoryTrace {
    fn image_bytes(&self) -> u32 {
        self.image_bytes
    }

    fn in_memory(&self) -> Option<&[Run]> {
        Some(&self.runs)
    }

    fn warm_up(&self) -> WarmUp {
        self.warm_up
    }

    fn runs(&self) -> Result<Box<dyn RunSource + '_>> {
        Ok(Box::new(MemorySource { rest: &self.runs, marks: &self.marks, now: 0 }))
    }

    fn has_reads(&self) -> bool {
        !self.marks.is_empty()
    }
}

struct MemorySource<'a> {
    rest: &'a [Run],
    /// From the last chunk on.
    marks: &'a [Mark],
    /// Runs of the last chunk.
    now: usize,
}

impl RunSource for MemorySource<'_> {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        let (now, rest) = self.rest.split_at(self.rest.len().min(CHUNK_RUNS));
        runs.clear();
        runs.extend_from_slice(now);
        self.rest = rest;
        self.marks = &self.marks[self.now.min(self.marks.len())..];
        self.now = now.len();
        Ok(())
    }

    fn marks(&self) -> &[Mark] {
        &self.marks[..self.now.min(self.marks.len())]
    }
}

/// Whether a recording ran to its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The program ended by itself with exit status 0, or the file was imported whole.
    Complete,
    /// The program ended with this exit status or by this signal.
    Failed(String),
    /// Somebody stopped the recording.
    Interrupted,
    /// No space was left for the rest.
    DiskFull,
}

impl Ending {
    /// The kind's name, as in the trace file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
            Self::DiskFull => "disk-full",
        }
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(how) => write!(out, "{}: {how}", self.name()),
            _ => out.write_str(self.name()),
        }
    }
}

/// A file whose code was executed and is not placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideFile {
    /// Its path.
    pub path: String,
    /// Instructions executed of it.
    pub instructions: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a trace file says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceInfo {
    /// Version of this layout, [`file::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program's path, or the imported file's.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Instruction set, as QEMU spells it (`x86_64`, `arm`); empty if unknown.
    pub architecture: String,
    /// The program's GNU build id in hexadecimal; empty if it has none.
    pub build_id: String,
    /// What recorded the trace: `qemu`, `lackey`, or the imported format.
    pub recorder: String,
    /// The recorder's own version; empty if unknown.
    pub recorder_version: String,
    /// How the recording ended.
    pub ending: Ending,
    /// The code in flash, by offset.
    pub images: Vec<Image>,
    /// Bytes of the flash image.
    pub image_bytes: u64,
    /// Runs in the file.
    pub runs: u64,
    /// Those of them that are data reads, not executed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reads: u64,
    /// Bytes of the data reads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_bytes: u64,
    /// Executed runs that go on with one that a data read parted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub continued: u64,
    /// Instructions placed and executed; absent where the format does not tell.
    pub instructions: Option<u64>,
    /// Bytes of all runs.
    pub bytes: u64,
    /// Instructions executed outside the placed images, not in the runs; absent where
    /// the recorder does not tell.
    pub outside_instructions: Option<u64>,
    /// Bytes fetched by them.
    pub outside_bytes: u64,
    /// Methods entered, where the recorder tells.
    #[serde(default)]
    pub calls: Option<u64>,
    /// Methods left by a return, where the recorder tells.
    #[serde(default)]
    pub returns: Option<u64>,
    /// The thread whose execution this is, where threads are told apart.
    #[serde(default)]
    pub thread: String,
    /// The further process whose execution this is, where processes are told apart; empty for
    /// the first.
    #[serde(default)]
    pub process: String,
    /// What ran and could not be recorded, each with the reason.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The part of the execution that was recorded, in words; empty where it is all.
    #[serde(default)]
    pub region: String,
    /// Instructions executed before this part, or between its parts.
    #[serde(default)]
    pub beside_instructions: u64,
    /// Files whose code was executed and is not placed, most instructions first; empty where
    /// the recorder does not tell.
    #[serde(default)]
    pub outside_files: Vec<OutsideFile>,
    /// Executed blocks that are counted whole and may have been cut short; absent where the
    /// recorder does not tell.
    #[serde(default)]
    pub in_doubt: Option<u64>,
    /// Its first runs that fill a cache and are not counted: as it is replayed, not of the file.
    #[serde(default, skip_serializing_if = "WarmUp::is_none")]
    pub warm_up: WarmUp,
    /// Its basic blocks, if they were counted while it was written.
    #[serde(default)]
    pub blocks: Option<BlockCounts>,
}

impl TraceInfo {
    /// The share of its bytes that is counted.
    pub fn counted_share(&self) -> f64 {
        let counted = self.bytes.saturating_sub(self.warm_up.bytes);
        if self.warm_up.is_none() { 1.0 } else { counted as f64 / self.bytes.max(1) as f64 }
    }

    /// Runs as they were executed, none of them parted by a data read.
    pub fn executed_runs(&self) -> u64 {
        self.runs.saturating_sub(self.reads).saturating_sub(self.continued)
    }

    /// Bytes of what was executed.
    pub fn executed_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.read_bytes)
    }

    /// Refuse a trace with data reads where they would be taken for code. `place` is its file,
    /// `who` what does so.
    ///
    /// # Errors
    /// One that has any.
    pub fn refuse_reads(&self, place: &str, who: &str) -> Result<()> {
        if self.reads == 0 {
            return Ok(());
        }
        let what = format!(
            "holds {} data reads, which {who} would take for code; record it without --with-reads",
            self.reads
        );
        Err(Error::data(place, what))
    }

    /// All symbols of all images.
    pub fn symbols(&self) -> impl Iterator<Item = &Symbol> + Clone {
        self.images.iter().flat_map(|image| &image.symbols)
    }
}

impl Default for TraceInfo {
    fn default() -> Self {
        Self {
            schema_version: file::SCHEMA_VERSION,
            program: String::new(),
            arguments: Vec::new(),
            architecture: String::new(),
            build_id: String::new(),
            recorder: String::new(),
            recorder_version: String::new(),
            ending: Ending::Complete,
            images: Vec::new(),
            image_bytes: 0,
            runs: 0,
            reads: 0,
            read_bytes: 0,
            continued: 0,
            instructions: None,
            bytes: 0,
            outside_instructions: Some(0),
            outside_bytes: 0,
            calls: None,
            returns: None,
            thread: String::new(),
            process: String::new(),
            left_out: Vec::new(),
            region: String::new(),
            beside_instructions: 0,
            outside_files: Vec::new(),
            in_doubt: None,
            warm_up: WarmUp::default(),
            blocks: None,
        }
    }
}

/// Joins pieces fetched one after another into runs.
#[derive(Default)]
pub struct RunBuilder {
    current: Option<Run>,
}

impl RunBuilder {
    /// Add a piece; gives back the run before it when a jump lies between.
    #[inline]
    pub fn push(&mut self, piece: Run) -> Option<Run> {
        match &mut self.current {
            Some(run)
                if run.end() == piece.offset && run.length + piece.length <= MAX_RUN_BYTES =>
            {
                run.length += piece.length;
                None
            }
            current => current.replace(piece),
        }
    }

    /// End the current run, because something else was executed or all is done.
    #[inline]
    pub fn cut(&mut self) -> Option<Run> {
        self.current.take()
    }
}

/// The error for a trace in which nothing can be replayed. `place` is its file or program.
pub fn nothing_placed(place: &str, info: &TraceInfo) -> Error {
    let what = match info.outside_instructions {
        None if !info.left_out.is_empty() => {
            let more = info.left_out.len() - 1;
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            format!("executed nothing that could be recorded: {}{more}", info.left_out[0])
        }
        None => "executed nothing that is recorded; choose classes with --include, as 'com.acme.*'"
            .to_owned(),
        Some(0) => "holds no run".to_owned(),
        Some(outside) => format!(
            "no instruction lies in the placed code ({outside} lie outside); choose other code \
             with --section, --with-libraries or --image"
        ),
    };
    Error::data(place, what)
}
