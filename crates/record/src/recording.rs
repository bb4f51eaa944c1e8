//! What a program executes, on its way to trace files: one a thread.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result, shown};
use flashpager_binary::elf::ElfFile;
use flashpager_trace::file::PendingTraceFile;
use flashpager_trace::{Ending, TraceFile, TraceInfo, nothing_placed};
use serde::Serialize;

use super::placement::arrange::{MethodArrangement, MethodTrace, arrange};
use super::placement::methods::Methods;
use super::placement::{Placer, short};
use super::region::{Region, Selection};
use super::sink::{NO_FILE, Sink};

/// How far an import has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordingProgress {
    /// Instructions seen, placed and outside.
    pub instructions: u64,
    /// Bytes of trace file so far.
    pub file_bytes: u64,
}

/// Most threads told apart: each has a file open, and what it collects in memory.
const MAX_THREADS: usize = 512;

/// Most further processes told apart, as with threads.
const MAX_PROCESSES: usize = 512;

/// Most things noted that were not recorded; programs can have very many.
const MAX_LEFT_OUT: usize = 1000;

/// Most threads named where they have no trace.
const MAX_NAMED: usize = 3;

/// A recording under way.
pub struct Recording {
    /// Where code lies; without it, addresses are flash offsets.
    pub placer: Option<Placer>,
    /// Methods of a program without files, which are placed in the end.
    pub methods: Methods,
    /// What the traces will say of themselves. A count that is there is one that the recorder
    /// tells; each thread's own takes its place.
    pub info: TraceInfo,
    /// One a thread; the first is the file asked for.
    sinks: Vec<Sink>,
    current: usize,
    /// The number that a recorder gives the thread of each sink.
    threads: Vec<u32>,
    /// Images and methods whose symbols the sinks know.
    known: (usize, usize),
    /// What of a further thread is recorded, where not all is.
    selection: Option<Selection>,
    /// Whether the program is ended before its own end, as nothing more is to be recorded.
    pub was_ended: bool,
    /// Whether foreign formats' data reads are recorded.
    pub with_reads: bool,
    /// Processes that the program started and that are not recorded.
    pub children: u64,
    /// How the program ended, where the recorder tells.
    pub ended: Option<Ending>,
    /// Further processes; `None` for one that cannot be recorded.
    processes: Vec<Option<Recording>>,
    /// Files that are mapped, and by their numbers where.
    files: Vec<PathBuf>,
    mapped: Vec<(u64, u64, u32)>,
}

/// A trace that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedTrace {
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
        Self::to(Sink::create(output, live)?, placer, info)
    }

    fn to(sink: Sink, placer: Option<Placer>, info: TraceInfo) -> Result<Self> {
        let mut recording = Self {
            placer,
            methods: Methods::default(),
            info,
            sinks: vec![sink],
            current: 0,
            threads: Vec::new(),
            known: (0, 0),
            selection: None,
            was_ended: false,
            with_reads: false,
            children: 0,
            ended: None,
            processes: Vec::new(),
            files: Vec::new(),
            mapped: Vec::new(),
        };
        recording.know_placed()?;
        Ok(recording)
    }

    /// The recording of a process; 0 is this one. Gives nothing where nothing is kept.
    pub fn process(&mut self, number: usize) -> Option<&mut Recording> {
        match number.checked_sub(1) {
            None => Some(self),
            Some(further) => self.processes.get_mut(further)?.as_mut(),
        }
    }

    /// A further process begins, or one becomes another program: the next number. One that
    /// cannot be recorded is noted.
    pub fn begin_process(&mut self, name: &str, program: &Path, arguments: Vec<String>) {
        let process = if self.processes.len() < MAX_PROCESSES {
            self.another(name, program, arguments)
        } else {
            Err(Error::design(format!("more than {MAX_PROCESSES} processes")))
        };
        if let Err(why) = &process {
            self.left_out(format!("{name}: {why}"));
        }
        self.processes.push(process.ok());
    }

    fn another(&self, name: &str, program: &Path, arguments: Vec<String>) -> Result<Self> {
        let own = Path::new(&self.info.program);
        let placer = self.placer.as_ref().map(|placer| placer.of_another(own, program));
        let info = TraceInfo {
            program: short(program).display().to_string(),
            arguments,
            build_id: ElfFile::read(program)?.build_id().to_owned(),
            process: name.to_owned(),
            left_out: Vec::new(),
            ..self.info.clone()
        };
        let sink = self.sinks[0].create_apart(&self.beside(name))?;
        Self::to(sink, placer.transpose()?, info)
    }

    /// Tell the sinks what has been placed since, before anything of it is executed.
    ///
    /// # Errors
    /// When something of the region has several meanings there.
    pub fn know_placed(&mut self) -> Result<()> {
        let (images, methods) = &mut self.known;
        if let Some(placer) = &self.placer {
            for (index, image) in placer.images().iter().enumerate().skip(*images) {
                self.sinks[0].know(&image.symbols);
                let of_sinks = self.sinks.iter_mut().filter_map(Sink::selection_mut);
                for selection in of_sinks.chain(&mut self.selection) {
                    selection.know(image, &placer.functions(index))?;
                }
            }
            *images = placer.images().len();
        }
        self.sinks[0].know(&self.methods.symbols()[*methods..]);
        *methods = self.methods.symbols().len();
        Ok(())
    }

    /// Record this part alone.
    ///
    /// # Errors
    /// When it begins or ends nowhere in what is placed.
    pub fn select(&mut self, region: Region) -> Result<()> {
        if region.is_all() {
            return Ok(());
        }
        let mut selection = Selection::new(region);
        if let Some(placer) = &self.placer {
            for (index, image) in placer.images().iter().enumerate() {
                selection.know(image, &placer.functions(index))?;
            }
        }
        if !self.placer.as_ref().is_some_and(Placer::places_libraries) {
            selection.check(self.placer.as_ref().map_or(&[][..], Placer::images))?;
        }
        for sink in &mut self.sinks {
            sink.select(Some(selection.clone()));
        }
        self.selection = Some(selection);
        Ok(())
    }

    /// Whether no thread is going to be recorded any further.
    pub fn is_over(&self) -> bool {
        self.sinks.iter().all(|sink| sink.selection().is_some_and(Selection::is_over))
    }

    /// A file lies there in memory.
    pub fn mapped(&mut self, path: &Path, start: u64, end: u64) {
        let known = self.files.iter().position(|file| file == path);
        let number = known.unwrap_or_else(|| {
            self.files.push(path.to_owned());
            self.files.len() - 1
        });
        self.mapped.push((start, end, number as u32));
    }

    /// The number of the file that was mapped last at an address.
    pub fn file_at(&self, address: u64) -> u32 {
        let holds = |(start, end, _): &&(u64, u64, u32)| (*start..*end).contains(&address);
        self.mapped.iter().rev().find(holds).map_or(NO_FILE, |(_, _, file)| *file)
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
            let mut sink = self.sinks[0].create_beside(&path)?;
            sink.select(self.selection.clone());
            self.sinks.push(sink);
        }
        self.current = self.threads.len();
        self.threads.push(thread);
        self.sink().thread = name;
        Ok(true)
    }

    /// A thread that was named executes again. Gives false if nothing of it is kept.
    pub fn switch_back(&mut self, thread: u32) -> std::result::Result<bool, String> {
        if let Some(known) = self.threads.iter().position(|known| *known == thread) {
            self.current = known;
            return Ok(true);
        }
        if self.threads.len() == MAX_THREADS {
            return Ok(false);
        }
        Err(format!("thread {thread} was never named"))
    }

    /// So many more blocks, of the thread that executes now, may have been cut short.
    pub fn in_doubt(&mut self, blocks: u64) {
        self.info.in_doubt = Some(0);
        let sink = self.sink();
        sink.in_doubt = sink.in_doubt.saturating_add(blocks);
    }

    /// Something is executed and not recorded.
    pub fn left_out(&mut self, what: String) {
        if self.info.left_out.len() < MAX_LEFT_OUT {
            self.info.left_out.push(what);
        }
    }

    /// The file of another thread: `app.trace` becomes `app.worker.trace`. A file that is
    /// there and no trace of a thread or process is never taken.
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
        let is_ours = |path: &Path| {
            let is_beside = |info: &TraceInfo| !info.thread.is_empty() || !info.process.is_empty();
            TraceFile::open(path).is_ok_and(|trace| is_beside(trace.info()))
        };
        let free = |path: &PathBuf| {
            self.all().flat_map(|process| &process.sinks).all(|sink| sink.path != *path)
                && (!path.exists() || is_ours(path))
        };
        let plain = named(&name);
        if !name.is_empty() && free(&plain) {
            return plain;
        }
        let mut numbered = (2..).map(|number| named(&format!("{name}-{number}")));
        numbered.find(free).unwrap_or(plain)
    }

    /// This recording and those of further processes.
    fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.processes.iter().flatten())
    }

    fn progress(&self) -> RecordingProgress {
        let sinks = || self.all().flat_map(|process| &process.sinks);
        RecordingProgress {
            instructions: sinks().map(Sink::seen_instructions).sum(),
            file_bytes: sinks().map(Sink::file_bytes).sum(),
        }
    }

    /// Whether to go on: false when the disk is full or the watch says stop.
    pub fn look(&self, watch: &mut dyn FnMut(RecordingProgress) -> bool) -> bool {
        !self.disk_full() && watch(self.progress())
    }

    /// Whether the disk ran full on the way.
    pub fn disk_full(&self) -> bool {
        self.all().flat_map(|process| &process.sinks).any(Sink::disk_full)
    }

    /// Write what is left and the descriptions, and give the files their names: the one
    /// asked for, then those of further threads and processes that executed placed code.
    /// `go_on` is asked while methods are laid out.
    ///
    /// # Errors
    /// When a file cannot be written, or nothing of a complete program was placed; there is
    /// no file then.
    pub fn finish(
        mut self,
        ending: Ending,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<RecordedTrace>> {
        let mut further = Vec::new();
        for mut process in std::mem::take(&mut self.processes).into_iter().flatten() {
            if process.has_runs()? {
                let ending = process.ended.take().unwrap_or(Ending::Interrupted);
                further.append(&mut process.close(ending, go_on)?.0);
            } else {
                let instructions: u64 = process.sinks.iter().map(Sink::all_instructions).sum();
                let what = &process.info.process;
                let plural = if instructions == 1 { "" } else { "s" };
                self.left_out(format!(
                    "{what}: {instructions} instruction{plural}, none of placed code"
                ));
            }
        }
        let ending = self.ended.take().unwrap_or(ending);
        let (mut traces, arranged) = self.close(ending, go_on)?;
        traces.append(&mut further);
        let name = |trace: PendingTraceFile| {
            let path = trace.target().to_owned();
            Ok(RecordedTrace { path, info: trace.name()?, arranged })
        };
        traces.into_iter().map(name).collect()
    }

    /// Whether placed code was executed.
    fn has_runs(&mut self) -> Result<bool> {
        let mut has_runs = false;
        for sink in &mut self.sinks {
            has_runs |= sink.complete()?;
        }
        Ok(has_runs)
    }

    /// Write the traces of this process, and whether its methods lie as they should.
    fn close(
        self,
        ending: Ending,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Vec<PendingTraceFile>, bool)> {
        let Self { placer, methods, mut info, mut sinks, selection, children, files, .. } = self;
        info.ending = ending;
        if self.was_ended {
            info.left_out.push(if self.threads.len() > 1 {
                format!(
                    "what followed: the program was ended when {} threads had begun and done that \
                     part (later ones have no trace)",
                    self.threads.len()
                )
            } else {
                "what followed: the program was ended there (threads that begin later have no \
                 trace)"
                    .to_owned()
            });
        }
        if children > 0 {
            let processes = if children == 1 { "process" } else { "processes" };
            info.left_out.push(format!(
                "{children} {processes} that it started: record each program by itself"
            ));
        }
        if let Some(selection) = &selection {
            let placed = placer.as_ref().map_or(&[][..], Placer::images);
            selection.check(placed)?;
            let parts = || sinks.iter().filter_map(Sink::selection);
            if !parts().any(Selection::has_begun)
                && let Some(why) = Selection::why_nothing(parts())
            {
                return Err(why);
            }
        }
        if let Some(placer) = placer {
            info.image_bytes = u64::from(placer.image_bytes());
            info.images = placer.into_images();
        }
        let arrangement = methods.describe(&mut info);
        let asked_for = sinks[0].path.clone();
        let mut with_runs = Vec::new();
        let mut without = Vec::new();
        let mut outside = 0;
        let mut why_outside = None;
        for mut sink in sinks.drain(..) {
            outside += sink.all_instructions();
            if sink.complete()? || (with_runs.is_empty() && info.ending != Ending::Complete) {
                with_runs.push(sink);
            } else {
                why_outside = sink.selection().and_then(|part| part.why_outside(outside));
                without.push((sink.path, sink.thread));
            }
        }
        if let (true, Some(why)) = (with_runs.is_empty(), why_outside) {
            return Err(why);
        }
        info.left_out.extend(threads_without(&without, &asked_for, with_runs.first()));
        if with_runs.is_empty() {
            info.outside_instructions = info.outside_instructions.map(|_| outside);
            return Err(nothing_placed(&info.program, &info));
        }
        let mut traces: Vec<PendingTraceFile> = with_runs
            .into_iter()
            .map(|sink| sink.close(info.clone(), &files))
            .collect::<Result<_>>()?;
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
        Ok((traces, arranged))
    }
}

/// Says which threads have no trace, and whose the one is that was asked for instead.
fn threads_without(
    without: &[(PathBuf, String)],
    asked_for: &Path,
    first: Option<&Sink>,
) -> Option<String> {
    let (first, (path, _)) = (first?, without.first()?);
    let mut names = without[..without.len().min(MAX_NAMED)]
        .iter()
        .map(|(_, name)| name.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    if without.len() > MAX_NAMED {
        names += &format!(" and {} more", without.len() - MAX_NAMED);
    }
    let mut text = format!("{names}: executed no placed code that is to be recorded");
    if path == asked_for {
        let file = asked_for.file_name().unwrap_or_default().to_string_lossy();
        text += &format!(" ({file} is the trace of {})", first.thread);
    }
    Some(text)
}

/// Lay the image out anew in traces that have no names yet.
fn arrange_all(
    traces: &[PendingTraceFile],
    arrangement: &MethodArrangement,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<PendingTraceFile>> {
    let opened: Vec<TraceFile> = traces
        .iter()
        .filter_map(PendingTraceFile::contents)
        .map(TraceFile::open)
        .collect::<Result<_>>()?;
    let files: Vec<MethodTrace<'_>> = opened
        .iter()
        .zip(traces.iter().map(PendingTraceFile::target))
        .map(|(trace, target)| MethodTrace { trace, known_as: target, output: target })
        .collect();
    arrange(&files, arrangement, go_on)
}
