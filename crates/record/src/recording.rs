//! Recordings: the executed code of a program is written to trace files, one for each thread.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result, shown};
use flashpager_binary::elf::ElfFile;
use flashpager_trace::file::PendingTraceFile;
use flashpager_trace::{Ending, GapReason, TraceFile, TraceInfo, nothing_placed};
use serde::Serialize;

use super::placement::arrange::{MethodArrangement, MethodTrace, arrange};
use super::placement::methods::Methods;
use super::placement::{Placer, short};
use super::region::{Region, Selection};
use super::sink::{NO_FILE, Sink};

/// Progress of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordingProgress {
    /// Instructions executed so far, placed or outside.
    pub instructions: u64,
    /// Size of all trace files so far, in bytes.
    pub file_bytes: u64,
}

/// Progress callback, called from time to time. Recording stops when it returns false.
pub type ProgressFn<'a> = &'a mut (dyn FnMut(RecordingProgress) -> bool + 'a);

/// Largest number of threads with a trace each. Every thread takes an open file and memory.
const MAX_THREADS: usize = 512;

/// Largest number of further processes with traces.
const MAX_PROCESSES: usize = 512;

/// Largest number of notes about code that was not recorded. Programs can have very many.
const MAX_LEFT_OUT: usize = 1000;

/// Largest number of threads that are named in a note about threads without a trace.
const MAX_NAMED: usize = 3;

/// A recording in progress.
pub struct Recording {
    /// Finds code in flash. Without it, addresses are flash offsets.
    pub placer: Option<Placer>,
    /// Methods of a program without files, which are placed at the end.
    pub methods: Methods,
    /// The description of the traces. A count in it that is not `None` is counted by the recorder,
    /// and each thread's trace gets its own.
    pub info: TraceInfo,
    /// One sink for each thread. The first writes the requested file.
    sinks: Vec<Sink>,
    /// Index of the sink of the current thread.
    current: usize,
    /// The recorder's thread number of each sink.
    threads: Vec<u32>,
    /// Numbers of images and of methods whose symbols the sinks have.
    known: (usize, usize),
    /// The recorded part of further threads; `None` for all.
    selection: Option<Selection>,
    /// The program was ended before its own end because the recorded part was over.
    pub was_ended: bool,
    /// The data reads of foreign formats are recorded.
    pub with_reads: bool,
    /// Number of processes that the program started and that are not recorded.
    pub children: u64,
    /// How the program ended; `None` if the recorder does not report it.
    pub ended: Option<Ending>,
    /// Further processes; `None` for one that cannot be recorded.
    processes: Vec<Option<Recording>>,
    /// Mapped files; their index is their number.
    files: Vec<PathBuf>,
    /// Mappings in the order in which they were made: start, end and file number.
    mapped: Vec<(u64, u64, u32)>,
}

/// A trace that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedTrace {
    /// Its file.
    pub path: PathBuf,
    /// Its description.
    pub info: TraceInfo,
    /// The methods are laid out as requested. False if the disk was full, the layout was
    /// interrupted or a trace has gaps: they then lie as the recorder reported them.
    pub arranged: bool,
}

impl Recording {
    /// Starts to write the file `output`. `live` reserves disk space so that the recording can be
    /// completed on a full disk.
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
        recording.announce_placed()?;
        Ok(recording)
    }

    /// Returns the recording of a process; 0 is this one. `None` for a process that is not recorded.
    pub fn process(&mut self, number: usize) -> Option<&mut Recording> {
        match number.checked_sub(1) {
            None => Some(self),
            Some(further) => self.processes.get_mut(further)?.as_mut(),
        }
    }

    /// Starts the recording of the next process: a further one, or a process that became another
    /// program. A process that cannot be recorded is noted.
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

    /// Passes images and methods that were placed since the last call to the sinks, before any of
    /// their code is executed.
    ///
    /// # Errors
    /// If several functions share a name that bounds the region.
    pub fn announce_placed(&mut self) -> Result<()> {
        let (images, methods) = &mut self.known;
        if let Some(placer) = &self.placer {
            for (index, image) in placer.images().iter().enumerate().skip(*images) {
                self.sinks[0].add_symbols(&image.symbols);
                let of_sinks = self.sinks.iter_mut().filter_map(Sink::selection_mut);
                for selection in of_sinks.chain(&mut self.selection) {
                    selection.add_image(image, &placer.functions(index))?;
                    if index == 0 {
                        selection.add_unplaced(&placer.unplaced())?;
                    }
                }
            }
            *images = placer.images().len();
        }
        self.sinks[0].add_symbols(&self.methods.symbols()[*methods..]);
        *methods = self.methods.symbols().len();
        Ok(())
    }

    /// Restricts the recording to `region`.
    ///
    /// # Errors
    /// If an end of the region lies in no placed code.
    pub fn select(&mut self, region: Region) -> Result<()> {
        if region.is_all() {
            return Ok(());
        }
        let mut selection = Selection::new(region);
        if let Some(placer) = &self.placer {
            for (index, image) in placer.images().iter().enumerate() {
                selection.add_image(image, &placer.functions(index))?;
                if index == 0 {
                    selection.add_unplaced(&placer.unplaced())?;
                }
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

    /// Returns true if nothing more will be recorded of any thread.
    pub fn is_over(&self) -> bool {
        self.sinks.iter().all(|sink| sink.selection().is_some_and(Selection::is_over))
    }

    /// Adds a mapping of a file into memory.
    pub fn mapped(&mut self, path: &Path, start: u64, end: u64) {
        let known = self.files.iter().position(|file| file == path);
        let number = known.unwrap_or_else(|| {
            self.files.push(path.to_owned());
            self.files.len() - 1
        });
        self.mapped.push((start, end, number as u32));
    }

    /// Number of the file that was mapped last at `address`; [`NO_FILE`] if none was.
    pub fn file_at(&self, address: u64) -> u32 {
        let holds = |(start, end, _): &&(u64, u64, u32)| (*start..*end).contains(&address);
        self.mapped.iter().rev().find(holds).map_or(NO_FILE, |(_, _, file)| *file)
    }

    /// The sink of the current thread.
    #[inline]
    pub fn sink(&mut self) -> &mut Sink {
        &mut self.sinks[self.current]
    }

    /// Switches to the thread with this number of the recorder. The first thread gets the requested
    /// file, the others get files beside it. Returns false for a thread above the largest number,
    /// which is not recorded.
    pub fn switch_to(&mut self, thread: u32, name: &str) -> Result<bool> {
        if let Some(known) = self.threads.iter().position(|known| *known == thread) {
            self.current = known;
            return Ok(true);
        }
        // Virtual threads have no name.
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

    /// Switches back to a thread that was named. Returns false for one that is not recorded.
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

    /// Adds to the number of the current thread's blocks that may have been cut short.
    pub fn in_doubt(&mut self, blocks: u64) {
        self.info.in_doubt = Some(0);
        let sink = self.sink();
        sink.in_doubt = sink.in_doubt.saturating_add(blocks);
    }

    /// Adds a gap to the traces of all threads that have begun: code is missing of any of them.
    ///
    /// # Errors
    /// If a trace has too many gaps, or writing fails.
    pub fn gap(&mut self, reason: GapReason, instructions: Option<u64>) -> Result<()> {
        let current = self.current;
        self.sinks.iter_mut().enumerate().try_for_each(|(index, sink)| {
            // The missing instructions are those of one thread, which nobody names.
            sink.gap(reason, instructions.filter(|_| index == current))
        })
    }

    /// Notes code that was executed and is not recorded, with the reason.
    pub fn left_out(&mut self, message: String) {
        if self.info.left_out.len() < MAX_LEFT_OUT {
            self.info.left_out.push(message);
        }
    }

    /// Chooses the file of another thread: `app.worker.trace` beside `app.trace`. An existing file is
    /// only overwritten if it is the trace of a thread or process.
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
            TraceFile::open_captured(path).is_ok_and(|trace| is_beside(trace.info()))
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

    /// Calls the progress callback. Returns false if recording is to stop, because the callback
    /// returned false or the disk is full.
    pub fn report_progress(&self, progress: ProgressFn<'_>) -> bool {
        !self.disk_full() && progress(self.progress())
    }

    /// Returns true if the disk became full.
    pub fn disk_full(&self) -> bool {
        self.all().flat_map(|process| &process.sinks).any(Sink::disk_full)
    }

    /// Writes the rest and the descriptions, and gives the files their names: first the requested
    /// file, then those of further threads and processes that executed placed code.
    /// `should_continue` is called while methods are laid out; when it returns false, they keep
    /// their places.
    ///
    /// # Errors
    /// If the file cannot be written, or the program is complete and nothing of it was placed.
    /// There is no file then.
    pub fn finish(
        mut self,
        ending: Ending,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<RecordedTrace>> {
        let mut further = Vec::new();
        for mut process in std::mem::take(&mut self.processes).into_iter().flatten() {
            if process.has_runs()? {
                let ending = process.ended.take().unwrap_or(Ending::Interrupted);
                further.append(&mut process.close(ending, should_continue)?.0);
            } else {
                let instructions: u64 = process.sinks.iter().map(Sink::all_instructions).sum();
                let message = &process.info.process;
                let plural = if instructions == 1 { "" } else { "s" };
                self.left_out(format!(
                    "{message}: {instructions} instruction{plural}, none of placed code"
                ));
            }
        }
        let ending = self.ended.take().unwrap_or(ending);
        let (mut traces, arranged) = self.close(ending, should_continue)?;
        traces.append(&mut further);
        let name = |trace: PendingTraceFile| {
            let path = trace.target().to_owned();
            Ok(RecordedTrace { path, info: trace.publish()?, arranged })
        };
        traces.into_iter().map(name).collect()
    }

    /// Returns true if placed code was executed.
    fn has_runs(&mut self) -> Result<bool> {
        let mut has_runs = false;
        for sink in &mut self.sinks {
            has_runs |= sink.complete()?;
        }
        Ok(has_runs)
    }

    /// Completes the traces of this process. Returns them, without their names, and whether the
    /// methods are laid out as requested.
    fn close(
        mut self,
        ending: Ending,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<(Vec<PendingTraceFile>, bool)> {
        self.info.ending = ending;
        self.note_left_out();
        self.check_selection()?;
        let Self { placer, methods, mut info, sinks, files, .. } = self;
        if let Some(placer) = placer {
            info.image_bytes = placer.image_bytes();
            info.images = placer.into_images();
        }
        let arrangement = methods.describe(&mut info);
        let requested = sinks[0].path.clone();
        let sinks = sinks_with_runs(sinks, &mut info)?;
        let mut traces: Vec<PendingTraceFile> = sinks
            .into_iter()
            .map(|sink| sink.close(info.clone(), &files))
            .collect::<Result<_>>()?;
        if let Some(first) = traces.first_mut() {
            first.set_target(&requested);
        }
        // A trace written to a device cannot be read again.
        let can_arrange = traces.iter().all(|trace| trace.contents().is_some());
        let Some(arrangement) = arrangement.filter(|_| can_arrange) else {
            return Ok((traces, true));
        };
        if traces.iter().any(|trace| !trace.info.gaps.is_empty()) {
            return Ok((traces, false));
        }
        match arrange_all(&traces, &arrangement, should_continue) {
            Ok(laid_out) => Ok((laid_out, true)),
            Err(error) if error.is_disk_full() || matches!(error, Error::Interrupted) => {
                Ok((traces, false))
            }
            Err(error) => Err(error),
        }
    }

    /// Notes that the program was ended early, and the processes that are not recorded.
    fn note_left_out(&mut self) {
        let left_out = &mut self.info.left_out;
        if self.was_ended {
            left_out.push(if self.threads.len() > 1 {
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
        if self.children > 0 {
            let processes = if self.children == 1 { "process" } else { "processes" };
            left_out.push(format!(
                "{} {processes} that it started: record each program by itself",
                self.children
            ));
        }
    }

    /// Checks that the region lies in the placed code and that some of it was executed.
    fn check_selection(&self) -> Result<()> {
        let Some(selection) = &self.selection else { return Ok(()) };
        selection.check(self.placer.as_ref().map_or(&[][..], Placer::images))?;
        let parts = || self.sinks.iter().filter_map(Sink::selection);
        if parts().any(Selection::has_begun) {
            return Ok(());
        }
        Selection::why_nothing(parts()).map_or(Ok(()), Err)
    }
}

/// Selects the sinks with runs, which get traces, and notes the threads without any. If the program
/// did not end well, its first thread gets a trace in any case.
///
/// # Errors
/// If nothing of the program was placed.
fn sinks_with_runs(sinks: Vec<Sink>, info: &mut TraceInfo) -> Result<Vec<Sink>> {
    let requested = sinks[0].path.clone();
    let (mut with_runs, mut without) = (Vec::new(), Vec::new());
    let mut outside = 0;
    let mut why_outside = None;
    for mut sink in sinks {
        outside += sink.all_instructions();
        if sink.complete()?
            || (with_runs.is_empty()
                && !matches!(info.ending, Ending::Complete | Ending::AsCaptured))
        {
            with_runs.push(sink);
        } else {
            why_outside = sink.selection().and_then(|part| part.why_outside(outside));
            without.push((sink.path, sink.thread));
        }
    }
    if let (true, Some(why)) = (with_runs.is_empty(), why_outside) {
        return Err(why);
    }
    info.left_out.extend(threads_without(&without, &requested, with_runs.first()));
    if with_runs.is_empty() {
        info.outside_instructions = info.outside_instructions.map(|_| outside);
        return Err(nothing_placed(&info.program, info));
    }
    Ok(with_runs)
}

/// Describes the threads without a trace, and whose trace the requested file is instead.
fn threads_without(
    without: &[(PathBuf, String)],
    requested: &Path,
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
    if path == requested {
        let file = requested.file_name().unwrap_or_default().to_string_lossy();
        text += &format!(" ({file} is the trace of {})", first.thread);
    }
    Some(text)
}

/// Lays the methods out in traces that have no names yet.
fn arrange_all(
    traces: &[PendingTraceFile],
    arrangement: &MethodArrangement,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<PendingTraceFile>> {
    let opened: Vec<TraceFile> = traces
        .iter()
        .filter_map(PendingTraceFile::contents)
        .map(TraceFile::open_captured)
        .collect::<Result<_>>()?;
    let files: Vec<MethodTrace<'_>> = opened
        .iter()
        .zip(traces.iter().map(PendingTraceFile::target))
        .map(|(trace, target)| MethodTrace { trace, known_as: target, output: target })
        .collect();
    arrange(&files, arrangement, should_continue)
}
