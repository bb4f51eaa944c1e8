//! What a program executes, on its way to trace files: one a thread.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result, shown};
use flashpager_trace::file::Unnamed;
use flashpager_trace::{Ending, TraceFile, TraceInfo, nothing_placed};
use serde::Serialize;

use super::placement::Placer;
use super::placement::arrange::{Arrangement, Files, arrange};
use super::placement::methods::Methods;
use super::sink::Sink;

/// How far an import has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Instructions seen, placed and outside.
    pub instructions: u64,
    /// Bytes of trace file so far.
    pub file_bytes: u64,
}

/// Most threads told apart: each has a file open, and what it collects in memory.
const MAX_THREADS: usize = 512;

/// Most things noted that were not recorded; programs can have very many.
const MAX_LEFT_OUT: usize = 1000;

/// A recording under way.
pub struct Recording {
    /// Where code lies; without it, addresses are flash offsets.
    pub placer: Option<Placer>,
    /// Methods of a program without files, which are placed in the end.
    pub methods: Methods,
    /// What the traces will say of themselves.
    pub info: TraceInfo,
    /// One a thread; the first is the file asked for.
    sinks: Vec<Sink>,
    current: usize,
    /// The number that a recorder gives the thread of each sink.
    threads: Vec<u32>,
    /// Images and methods whose symbols the sinks know.
    known: (usize, usize),
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

impl Recording {
    /// Write to the file `output`; `live` holds back space for an orderly end.
    pub fn new(placer: Option<Placer>, output: &Path, info: TraceInfo, live: bool) -> Result<Self> {
        let mut recording = Self {
            placer,
            methods: Methods::default(),
            info,
            sinks: vec![Sink::create(output, live)?],
            current: 0,
            threads: Vec::new(),
            known: (0, 0),
        };
        recording.know_placed();
        Ok(recording)
    }

    /// Tell the sinks what has been placed since, before anything of it is executed.
    pub fn know_placed(&mut self) {
        let (images, methods) = &mut self.known;
        let placed = self.placer.as_ref().map_or(&[][..], Placer::images);
        for image in &placed[*images..] {
            self.sinks[0].know(&image.symbols);
        }
        *images = placed.len();
        self.sinks[0].know(&self.methods.symbols()[*methods..]);
        *methods = self.methods.symbols().len();
    }

    /// The sink of the thread that executes now.
    #[inline]
    pub fn sink(&mut self) -> &mut Sink {
        &mut self.sinks[self.current]
    }

    /// What follows is executed by the thread that a recorder gives this number.
    /// The first takes the file asked for, the others files beside it. Gives false for a
    /// thread too many, of which nothing is kept.
    pub fn switch_to(&mut self, thread: u32, name: &str) -> Result<bool> {
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
    pub fn left_out(&mut self, what: String) {
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
    pub fn look(&self, watch: &mut dyn FnMut(Progress) -> bool) -> bool {
        !self.disk_full() && watch(self.progress())
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
            return Err(nothing_placed(&info.program, &info));
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
