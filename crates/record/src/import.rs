//! From foreign formats, live or from a file, to a trace file.

use std::path::Path;

use flashpager_base::{Error, Result, named};
use flashpager_trace::{Ending, TraceInfo};
use rustc_hash::FxHashSet;

use super::fetch::{Fetch, ReadAccess, place, place_read};
use super::input::{Input, TextLines};
use super::placement::arrange::MethodArrangement;
use super::placement::{Placement, Placer};
use super::recording::Recording;
use super::region::Region;
use super::sink::NO_FILE;
use super::stream::{self, StreamReader};
use super::{csv, din, lackey};

pub use super::recording::{RecordedTrace, RecordingProgress};

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// Our recorders' binary stream.
    Stream,
    /// Valgrind lackey text.
    Lackey,
    /// Dinero `din` text.
    Din,
    /// CSV with the header `offset,length`.
    Csv,
}

impl ImportFormat {
    /// Find out what `input` holds.
    pub fn detect(input: &mut Input) -> Result<Self> {
        let name = input.name.clone();
        let start = input.peek()?;
        type Recogniser = fn(&[u8]) -> bool;
        let known: [(Recogniser, Self); 4] = [
            (stream::recognises, Self::Stream),
            (csv::recognises, Self::Csv),
            (lackey::recognises, Self::Lackey),
            (din::recognises, Self::Din),
        ];
        if let Some((_, format)) = known.iter().find(|(recognises, _)| recognises(start)) {
            return Ok(*format);
        }
        Err(Error::data(
            name,
            if start.is_empty() {
                "is empty"
            } else if start.starts_with(b"PAR1") {
                "is Parquet: if it is a flashpager trace it needs no import"
            } else {
                "is in no known format (lackey, din, csv with the header 'offset,length', or a \
                 recorder stream); --format says which"
            },
        ))
    }
}

named! {
    ImportFormat: "unknown format",
    "stream" => Stream,
    "lackey" => Lackey,
    "din" => Din,
    "csv" => Csv,
}

/// Text lines or stream words between two looks at the watch.
const WATCH_INTERVAL: u32 = 1 << 16;

/// An import or a recording under way.
pub struct Import {
    recording: Recording,
    /// The process that runs the program, while recorders that do not tell
    /// load addresses watch it.
    process: Option<u32>,
}

impl Import {
    /// Write to the file `output`. Without a `placer`, addresses are flash
    /// offsets. `live` recordings hold back space for an orderly end.
    pub fn new(placer: Option<Placer>, output: &Path, info: TraceInfo, live: bool) -> Result<Self> {
        Ok(Self { recording: Recording::new(placer, output, info, live)?, process: None })
    }

    /// As [`Import::new`], with the code placed that `placement` says.
    pub fn placing(
        placement: &Placement,
        output: &Path,
        info: TraceInfo,
        live: bool,
    ) -> Result<Self> {
        let mut import = Self::new(placement.placer()?, output, info, live)?;
        import.arrange_as(placement.arrangement());
        Ok(import)
    }

    /// How the methods of a program without files are laid out in the end.
    pub fn arrange_as(&mut self, arrangement: MethodArrangement) {
        self.recording.methods.arrangement = arrangement;
    }

    /// Record this part of what is executed.
    ///
    /// # Errors
    /// When it begins or ends nowhere in what is placed.
    pub fn select(&mut self, region: Region) -> Result<()> {
        self.recording.select(region)
    }

    /// Record the data reads, too, that a foreign format tells of; the recorder stream's are
    /// recorded in any case.
    pub fn take_reads(&mut self) {
        self.recording.with_reads = true;
    }

    /// Whether the part that is recorded has ended: what follows is of no use.
    pub fn is_over(&self) -> bool {
        self.recording.is_over()
    }

    /// Learn load addresses from the mappings of the running process `pid`: those of now, and
    /// later ones when code executes that lies in none of them.
    pub fn watch_process(&mut self, pid: u32) -> Result<()> {
        self.process = Some(pid);
        match &mut self.recording.placer {
            Some(placer) => placer.load_mappings_of(pid),
            None => Ok(()),
        }
    }

    /// Read `input` to its end, or until `watch` says false.
    ///
    /// Gives how the input ended: a recorder stream without its end mark, and
    /// whatever the watch stopped, was interrupted.
    pub fn read(
        &mut self,
        input: Input,
        format: ImportFormat,
        instruction_bytes: u32,
        watch: &mut dyn FnMut(RecordingProgress) -> bool,
    ) -> Result<Ending> {
        let name = input.name.clone();
        let Self { recording, process } = self;
        if recording.info.recorder.is_empty() {
            recording.info.recorder = format.name().to_owned();
        }
        let mut stopped = false;
        let mut countdown = WATCH_INTERVAL;
        let outcome = match format {
            ImportFormat::Stream => return StreamReader::new(input).read(recording, watch),
            ImportFormat::Csv => {
                let mut lines = TextLines::new(input);
                let limit = recording.placer.as_ref().map_or(u32::MAX, Placer::image_bytes);
                csv::read(&mut lines, &mut |line, run, mark| {
                    if run.end() > limit {
                        return Err(Error::data(
                            format!("{name}, line {line}"),
                            format!("the run at {:#x} reaches beyond the placed image", run.offset),
                        ));
                    }
                    countdown -= 1;
                    if countdown == 0 {
                        countdown = WATCH_INTERVAL;
                        stopped = !recording.look(watch);
                    }
                    recording.sink().run(run, mark)?;
                    if stopped { Err(Error::Interrupted) } else { Ok(()) }
                })
            }
            ImportFormat::Lackey | ImportFormat::Din => {
                let mut lines = TextLines::new(input);
                let mut foreign_pages = FxHashSet::default();
                let with_reads = recording.with_reads;
                let mut reads = Vec::new();
                let mut take = |line: u64, fetch: Fetch, read: &[ReadAccess]| {
                    if let (Some(placer), Some(process)) = (recording.placer.as_mut(), *process)
                        && placer.locate(fetch.address).is_none()
                        && foreign_pages.insert(fetch.address >> 12)
                    {
                        placer.load_mappings_of(process)?;
                        recording.know_placed()?;
                    }
                    let run = place(recording.placer.as_ref(), fetch)
                        .map_err(|what| Error::data(format!("{name}, line {line}"), what))?;
                    reads.clear();
                    for read in read.iter().filter(|_| with_reads) {
                        place_read(recording.placer.as_ref(), *read, fetch.bytes, &mut reads)
                            .map_err(|what| Error::data(format!("{name}, line {line}"), what))?;
                    }
                    let Fetch { bytes, instructions, .. } = fetch;
                    let sink = recording.sink();
                    match run {
                        Some(run) if reads.is_empty() => sink.placed(run, instructions)?,
                        Some(run) => sink.placed_reading(run, instructions, &reads)?,
                        None => sink.outside_reading(bytes, instructions, NO_FILE, &reads)?,
                    }
                    countdown -= 1;
                    if countdown == 0 {
                        countdown = WATCH_INTERVAL;
                        stopped = !recording.look(watch);
                    }
                    // A program that waits tells no more that this could wait for.
                    if recording.is_over() {
                        recording.was_ended = true;
                        stopped = true;
                    }
                    if stopped { Err(Error::Interrupted) } else { Ok(()) }
                };
                if format == ImportFormat::Lackey {
                    // A text that was saved may be without what lackey says beside.
                    let is_live = process.is_some();
                    match lackey::read(&mut lines, &mut take) {
                        Ok(false) if is_live => return Ok(Ending::Interrupted),
                        outcome => outcome.map(drop),
                    }
                } else {
                    din::read(&mut lines, instruction_bytes, &mut |line, fetch| {
                        take(line, fetch, &[])
                    })
                }
            }
        };
        match outcome {
            Ok(()) => Ok(Ending::Complete),
            Err(Error::Interrupted) if recording.is_over() => Ok(Ending::Complete),
            Err(Error::Interrupted) => Ok(Ending::Interrupted),
            Err(error) => Err(error),
        }
    }

    /// Whether the disk ran full on the way.
    pub fn disk_full(&self) -> bool {
        self.recording.disk_full()
    }

    /// Write what is left and the descriptions, and give the files their names: the one
    /// asked for, then those of further threads that executed placed code. `go_on` is asked
    /// while methods are laid out.
    ///
    /// # Errors
    /// When a file cannot be written, or nothing of a complete program was placed; there is
    /// no file then.
    pub fn finish(self, ending: Ending, go_on: &dyn Fn() -> bool) -> Result<Vec<RecordedTrace>> {
        self.recording.finish(ending, go_on)
    }
}
