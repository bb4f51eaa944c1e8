//! From foreign formats, live or from a file, to a trace file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::file::Unnamed;
use super::input::{Input, Lines, shown};
use super::sink::Sink;
use super::stream::{self, StreamReader};
use super::{Ending, Run, TraceFile, TraceInfo, csv, din, lackey};
use crate::error::{Error, Result};
use crate::placement::arrange::{Arrangement, Files, arrange};
use crate::placement::methods::Methods;
use crate::placement::{Placement, Placer};

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

/// Most threads told apart: each has a file open, and what it collects in memory.
const MAX_THREADS: usize = 512;

/// Most things noted that were not recorded; programs can have very many.
const MAX_LEFT_OUT: usize = 1000;

/// An import or a recording under way.
pub struct Import {
    pub(super) placer: Option<Placer>,
    /// Methods of a program without files, which are placed in the end.
    pub(super) methods: Methods,
    pub(super) info: TraceInfo,
    /// One a thread; the first is the file asked for.
    sinks: Vec<Sink>,
    current: usize,
    /// The number that a recorder gives the thread of each sink.
    threads: Vec<u32>,
    /// The process that runs the program, while recorders that do not tell
    /// load addresses watch it.
    process: Option<u32>,
}

/// A trace that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finished {
    /// Its file.
    pub path: PathBuf,
    /// Its description.
    pub info: TraceInfo,
    /// Whether its methods lie as they should. Where the disk had no room for that, or
    /// somebody stopped it, they lie as the recorder told them.
    pub arranged: bool,
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
        Ok(Self {
            placer,
            methods: Methods::default(),
            info,
            sinks: vec![Sink::create(output, live)?],
            current: 0,
            threads: Vec::new(),
            process: None,
        })
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
    pub fn arrange_as(&mut self, arrangement: Arrangement) {
        self.methods.arrangement = arrangement;
    }

    /// Learn load addresses from the mappings of the running process `pid`.
    pub fn watch_process(&mut self, pid: u32) {
        self.process = Some(pid);
    }

    /// The sink of the thread that executes now.
    #[inline]
    pub(super) fn sink(&mut self) -> &mut Sink {
        &mut self.sinks[self.current]
    }

    /// What follows is executed by the thread that a recorder gives this number.
    /// The first takes the file asked for, the others files beside it. Gives false for a
    /// thread too many, of which nothing is kept.
    pub(super) fn switch_to(&mut self, thread: u32, name: &str) -> Result<bool> {
        if let Some(known) = self.threads.iter().position(|known| *known == thread) {
            self.current = known;
            return Ok(true);
        }
        // Virtual threads have none.
        let name = if name.is_empty() { format!("thread-{thread}") } else { shown(name) };
        if self.threads.len() == MAX_THREADS {
            let over = format!("thread {name}: more than {MAX_THREADS} threads");
            if !self.info.left_out.contains(&over) {
                self.left_out(over);
            }
            return Ok(false);
        }
        if !self.threads.is_empty() {
            let path = self.beside(&name);
            let sink = self.sinks[0].create_beside(&path)?;
            self.sinks.push(sink);
        }
        self.current = self.threads.len();
        self.threads.push(thread);
        self.sink().thread = name;
        Ok(true)
    }

    /// Something is executed and not recorded.
    pub(super) fn left_out(&mut self, what: String) {
        if self.info.left_out.len() < MAX_LEFT_OUT {
            self.info.left_out.push(what);
        }
    }

    /// The file of another thread: `app.trace` becomes `app.worker.trace`. A file that is
    /// there and no trace of a thread is never taken.
    fn beside(&self, thread: &str) -> PathBuf {
        let first = &self.sinks[0].path;
        if std::fs::metadata(first).is_ok_and(|meta| !meta.is_file()) {
            return first.clone();
        }
        let part = |name: Option<&OsStr>| {
            name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let (stem, suffix) = (part(first.file_stem()), part(first.extension()));
        let usual = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        let name: String =
            thread.chars().take(40).map(|c| if usual(c) { c } else { '-' }).collect();
        let dot = if suffix.is_empty() { "" } else { "." };
        let named = |name: &str| first.with_file_name(format!("{stem}.{name}{dot}{suffix}"));
        let of_a_thread =
            |path: &Path| TraceFile::open(path).is_ok_and(|trace| !trace.info().thread.is_empty());
        let free = |path: &PathBuf| {
            self.sinks.iter().all(|sink| sink.path != *path)
                && (!path.exists() || of_a_thread(path))
        };
        let plain = named(&name);
        if !name.is_empty() && free(&plain) {
            return plain;
        }
        let mut numbered = (2..).map(|number| named(&format!("{name}-{number}")));
        numbered.find(free).unwrap_or(plain)
    }

    fn progress(&self) -> Progress {
        Progress {
            instructions: self.sinks.iter().map(Sink::all_instructions).sum(),
            file_bytes: self.sinks.iter().map(Sink::file_bytes).sum(),
        }
    }

    /// Whether to go on: false when the disk is full or the watch says stop.
    pub(super) fn look(&self, watch: &mut dyn FnMut(Progress) -> bool) -> bool {
        !self.disk_full() && watch(self.progress())
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
                        stopped = !self.look(watch);
                    }
                    self.sink().run(run)?;
                    if stopped { Err(Error::Interrupted) } else { Ok(()) }
                })
            }
            Format::Lackey | Format::Din => {
                let mut lines = Lines::new(input);
                let mut foreign_pages = FxHashSet::default();
                let mut take = |line: u64, fetch: Fetch| {
                    if let (Some(placer), Some(process)) = (self.placer.as_mut(), self.process)
                        && placer.locate(fetch.address).is_none()
                        && foreign_pages.insert(fetch.address >> 12)
                    {
                        placer.load_mappings_of(process)?;
                    }
                    let run = place(self.placer.as_ref(), fetch)
                        .map_err(|what| Error::data(format!("{name}, line {line}"), what))?;
                    match run {
                        Some(run) => self.sink().placed(run, fetch.instructions)?,
                        None => self.sink().outside(fetch.bytes, fetch.instructions)?,
                    }
                    countdown -= 1;
                    if countdown == 0 {
                        countdown = WATCH_INTERVAL;
                        stopped = !self.look(watch);
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
        self.sinks.iter().any(Sink::disk_full)
    }

    /// Write what is left and the descriptions, and give the files their names: the one
    /// asked for, then those of further threads that executed placed code. `go_on` is asked
    /// while methods are laid out.
    ///
    /// # Errors
    /// When a file cannot be written, or nothing of a complete program was placed; there is
    /// no file then.
    pub fn finish(self, ending: Ending, go_on: &dyn Fn() -> bool) -> Result<Vec<Finished>> {
        let Self { placer, methods, mut info, mut sinks, .. } = self;
        info.ending = ending;
        if let Some(placer) = placer {
            info.image_bytes = u64::from(placer.image_bytes());
            info.images = placer.into_images();
        }
        let arrangement = methods.describe(&mut info);
        let asked_for = sinks[0].path.clone();
        let mut with_runs = Vec::new();
        let mut outside = 0;
        for mut sink in sinks.drain(..) {
            outside += sink.all_instructions();
            if sink.complete()? || (with_runs.is_empty() && info.ending != Ending::Complete) {
                with_runs.push(sink);
            }
        }
        if with_runs.is_empty() {
            info.outside_instructions = info.outside_instructions.map(|_| outside);
            return Err(super::nothing_placed(&info.program, &info));
        }
        let mut traces: Vec<Unnamed> =
            with_runs.into_iter().map(|sink| sink.close(info.clone())).collect::<Result<_>>()?;
        if let Some(first) = traces.first_mut() {
            first.retarget(&asked_for);
        }
        let mut arranged = true;
        // A device cannot be read again.
        if let Some(arrangement) = arrangement
            && traces.iter().all(|trace| trace.contents().is_some())
        {
            match arrange_all(&traces, &arrangement, go_on) {
                Ok(laid_out) => traces = laid_out,
                Err(error) if error.is_disk_full() || matches!(error, Error::Interrupted) => {
                    arranged = false;
                }
                Err(error) => return Err(error),
            }
        }
        let name = |trace: Unnamed| {
            let path = trace.target().to_owned();
            Ok(Finished { path, info: trace.name()?, arranged })
        };
        traces.into_iter().map(name).collect()
    }
}

/// Lay the image out anew in traces that have no names yet.
fn arrange_all(
    traces: &[Unnamed],
    arrangement: &Arrangement,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<Unnamed>> {
    let opened: Vec<TraceFile> =
        traces.iter().filter_map(Unnamed::contents).map(TraceFile::open).collect::<Result<_>>()?;
    let files: Vec<Files<'_>> = opened
        .iter()
        .zip(traces.iter().map(Unnamed::target))
        .map(|(trace, target)| Files { trace, known_as: target, output: target })
        .collect();
    arrange(&files, arrangement, go_on)
}
