//! From foreign formats, live or from a file, to a trace file.

use std::path::Path;

use rustc_hash::FxHashSet;

use super::file::TraceWriter;
use super::input::{Input, Lines};
use super::stream::{self, StreamReader};
use super::{Ending, Run, RunBuilder, TraceInfo, csv, din, lackey};
use crate::error::{Error, Result};
use crate::placement::Placer;

/// One piece of executed code, at a run-time address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Address of its first byte.
    pub address: u64,
    /// Bytes fetched.
    pub bytes: u32,
    /// Instructions in it.
    pub instructions: u32,
}

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our recorders' binary stream.
    Stream,
    /// Valgrind lackey text.
    Lackey,
    /// Dinero `din` text.
    Din,
    /// CSV with the header `offset,length`.
    Csv,
}

impl Format {
    /// All formats by name.
    pub const ALL: &[(&str, Self)] = &[
        ("stream", Self::Stream),
        ("lackey", Self::Lackey),
        ("din", Self::Din),
        ("csv", Self::Csv),
    ];

    /// The format's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

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

impl std::str::FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, format)| *format).ok_or_else(
            || {
                let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
                Error::design(format!("unknown format '{text}' (known: {})", names.join(", ")))
            },
        )
    }
}

/// How far an import has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Instructions seen, placed and outside.
    pub instructions: u64,
    /// Bytes of trace file so far.
    pub file_bytes: u64,
}

/// Text lines or stream words between two looks at the watch.
const WATCH_INTERVAL: u32 = 1 << 16;

/// An import or a recording under way.
pub struct Import {
    pub(super) placer: Option<Placer>,
    pub(super) info: TraceInfo,
    pub(super) sink: Sink,
    /// The process that runs the program, while recorders that do not tell
    /// load addresses watch it.
    process: Option<u32>,
}

/// Where executed code goes: placed code to the file, the rest to two counters.
pub(super) struct Sink {
    writer: TraceWriter,
    builder: RunBuilder,
    instructions: u64,
    outside_instructions: u64,
    outside_bytes: u64,
}

impl Sink {
    #[inline]
    pub(super) fn placed(&mut self, piece: Run, instructions: u32) -> Result<()> {
        self.instructions += u64::from(instructions);
        match self.builder.push(piece) {
            Some(run) => self.writer.push(run),
            None => Ok(()),
        }
    }

    #[inline]
    pub(super) fn outside(&mut self, bytes: u32, instructions: u32) -> Result<()> {
        self.outside_instructions += u64::from(instructions);
        self.outside_bytes += u64::from(bytes);
        match self.builder.cut() {
            Some(run) => self.writer.push(run),
            None => Ok(()),
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            instructions: self.instructions + self.outside_instructions,
            file_bytes: self.writer.file_bytes(),
        }
    }

    /// Whether to go on: false when the disk is full or the watch says stop.
    pub(super) fn look(&self, watch: &mut dyn FnMut(Progress) -> bool) -> bool {
        !self.writer.disk_full() && watch(self.progress())
    }
}

/// Where `fetch` lies in flash, `None` outside. A piece that begins inside the
/// placed code and reaches out of it is cut at the border.
pub(super) fn place(
    placer: Option<&Placer>,
    fetch: Fetch,
) -> std::result::Result<Option<Run>, String> {
    match placer {
        Some(placer) => Ok(placer
            .locate(fetch.address)
            .map(|place| Run { offset: place.offset, length: fetch.bytes.min(place.bytes) })),
        None => Run::checked(fetch.address, fetch.bytes.into()).map(Some).map_err(|what| {
            format!("{what}; say which addresses lie in flash with --elf or --range")
        }),
    }
}

impl Import {
    /// Write to the file `output`. Without a `placer`, addresses are flash
    /// offsets. `live` recordings hold back space for an orderly end.
    pub fn new(placer: Option<Placer>, output: &Path, info: TraceInfo, live: bool) -> Result<Self> {
        let sink = Sink {
            writer: TraceWriter::create(output, live)?,
            builder: RunBuilder::default(),
            instructions: 0,
            outside_instructions: 0,
            outside_bytes: 0,
        };
        Ok(Self { placer, info, sink, process: None })
    }

    /// Learn load addresses from the mappings of the running process `pid`.
    pub fn watch_process(&mut self, pid: u32) {
        self.process = Some(pid);
    }

    /// Read `input` to its end, or until `watch` says false.
    ///
    /// Gives how the input ended: a recorder stream without its end mark, and
    /// whatever the watch stopped, was interrupted.
    pub fn read(
        &mut self,
        input: Input,
        format: Format,
        instruction_bytes: u32,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Ending> {
        let name = input.name.clone();
        if self.info.recorder.is_empty() {
            self.info.recorder = format.name().to_owned();
        }
        let mut stopped = false;
        let mut countdown = WATCH_INTERVAL;
        let outcome = match format {
            Format::Stream => return StreamReader::new(input).read(self, watch),
            Format::Csv => {
                let mut lines = Lines::new(input);
                let limit = self.placer.as_ref().map_or(u32::MAX, Placer::image_bytes);
                csv::read(&mut lines, &mut |line, run| {
                    if run.end() > limit {
                        return Err(Error::data(
                            format!("{name}, line {line}"),
                            format!("the run at {:#x} reaches beyond the placed image", run.offset),
                        ));
                    }
                    countdown -= 1;
                    if countdown == 0 {
                        countdown = WATCH_INTERVAL;
                        stopped = !self.sink.look(watch);
                    }
                    self.sink.writer.push(run)?;
                    if stopped { Err(Error::Interrupted) } else { Ok(()) }
                })
            }
            Format::Lackey | Format::Din => {
                let mut lines = Lines::new(input);
                let Self { placer, sink, process, .. } = self;
                let mut foreign_pages = FxHashSet::default();
                let mut take = |line: u64, fetch: Fetch| {
                    if let (Some(placer), Some(process)) = (placer.as_mut(), *process)
                        && placer.locate(fetch.address).is_none()
                        && foreign_pages.insert(fetch.address >> 12)
                    {
                        placer.load_mappings_of(process)?;
                    }
                    let run = place(placer.as_ref(), fetch)
                        .map_err(|what| Error::data(format!("{name}, line {line}"), what))?;
                    match run {
                        Some(run) => sink.placed(run, fetch.instructions)?,
                        None => sink.outside(fetch.bytes, fetch.instructions)?,
                    }
                    countdown -= 1;
                    if countdown == 0 {
                        countdown = WATCH_INTERVAL;
                        stopped = !sink.look(watch);
                    }
                    if stopped { Err(Error::Interrupted) } else { Ok(()) }
                };
                if format == Format::Lackey {
                    lackey::read(&mut lines, &mut take)
                } else {
                    din::read(&mut lines, instruction_bytes, &mut take)
                }
            }
        };
        match outcome {
            Ok(()) => Ok(Ending::Complete),
            Err(Error::Interrupted) => Ok(Ending::Interrupted),
            Err(error) => Err(error),
        }
    }

    /// Whether the disk ran full on the way.
    pub fn disk_full(&self) -> bool {
        self.sink.writer.disk_full()
    }

    /// Write what is left and the description.
    ///
    /// # Errors
    /// When the file cannot be written, or nothing of a complete program was placed.
    pub fn finish(mut self, ending: Ending) -> Result<TraceInfo> {
        if let Some(run) = self.sink.builder.cut() {
            self.sink.writer.push(run)?;
        }
        if self.sink.writer.runs() == 0 && ending == Ending::Complete {
            return Err(super::nothing_placed(&self.info.program, self.sink.outside_instructions));
        }
        let disk_full = self.sink.writer.disk_full();
        let mut info = self.info;
        info.ending = if disk_full { Ending::DiskFull } else { ending };
        // CSV knows bytes only.
        info.instructions = Some(self.sink.instructions).filter(|count| *count > 0);
        info.outside_instructions = self.sink.outside_instructions;
        info.outside_bytes = self.sink.outside_bytes;
        if let Some(placer) = self.placer {
            info.image_bytes = u64::from(placer.image_bytes());
            info.images = placer.into_images();
        }
        self.sink.writer.finish(info)
    }
}
