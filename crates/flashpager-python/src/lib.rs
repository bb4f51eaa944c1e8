//! Python bindings of the flashpager engine, and nothing else: every function
//! converts its arguments, calls the engine and converts the result.

mod attribution;
mod driver;
mod estimate;
mod live;
mod parts;
mod swap;

use std::collections::VecDeque;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use flashpager::binary::elf::ElfFile;
use flashpager::cost::RawBandwidth;
use flashpager::cost::handler::Schedule;
use flashpager::design::{self, Design, DesignSpec, Evaluation, HandlerTimes};
use flashpager::media::bus::Bus;
use flashpager::media::part;
use flashpager::pager::{PolicySpec, Search};
use flashpager::placement::arrange::{Arrangement, Keep, arrange_file, unknown};
use flashpager::placement::{Options, Placer};
use flashpager::record::import::{Finished, Format, Import, Progress};
use flashpager::record::input::Input;
use flashpager::record::pipe::RecorderPipe;
use flashpager::replay::register::RegisterModel;
use flashpager::sizes::power_of_two;
use flashpager::trace::blocks::BlockStatistics;
use flashpager::trace::export::{TextFormat, export, export_to_file};
use flashpager::trace::{Ending, MemoryTrace, Trace, TraceFile, TraceInfo};
use flashpager::{Error, Result, pager};
use pyo3::create_exception;
use pyo3::exceptions::{PyBrokenPipeError, PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};

/// Decoded once and kept: 8 bytes each. Longer traces are decoded by every pass.
const MAX_RUNS_IN_MEMORY: u64 = 1 << 25;

create_exception!(_engine, FlashpagerError, PyException, "What was wrong, where, and what to do.");
create_exception!(_engine, DiskFullError, FlashpagerError, "No space is left for a file.");

fn raise(error: Error) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe => {
            PyBrokenPipeError::new_err(())
        }
        full if full.is_disk_full() => DiskFullError::new_err(full.to_string()),
        other => FlashpagerError::new_err(other.to_string()),
    }
}

fn to_python<T: serde::Serialize>(py: Python<'_>, value: &T) -> PyResult<Py<PyAny>> {
    Ok(pythonize(py, value)?.unbind())
}

/// Run `work` without the interpreter lock. Ten times a second signals are
/// handled and `progress` is called with the last report of `work`; when either
/// raises, `work` is told to stop and the exception is passed on.
fn run<T: Send, P: Send + Copy>(
    py: Python<'_>,
    mut progress: impl FnMut(Python<'_>, P) -> PyResult<()>,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync), &(dyn Fn(P) + Sync)) -> Result<T> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let latest = Mutex::new(None::<P>);
    let (finished, mut wait) = mpsc::channel();
    let go_on = || !stop.load(Ordering::Relaxed);
    let report = |p: P| {
        if let Ok(mut latest) = latest.lock() {
            *latest = Some(p);
        }
    };
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // Owned here, so that a panic drops it and ends the wait, too.
            let _finished: mpsc::Sender<()> = finished;
            work(&go_on, &report)
        });
        let mut is_running = || {
            // Through a unique borrow, as a receiver can be sent but not shared.
            let wait: &mut mpsc::Receiver<()> = &mut wait;
            wait.recv_timeout(Duration::from_millis(100)) == Err(mpsc::RecvTimeoutError::Timeout)
        };
        while py.detach(&mut is_running) {
            let report = latest.lock().ok().and_then(|mut latest| latest.take());
            let outcome =
                py.check_signals().and_then(|()| report.map_or(Ok(()), |p| progress(py, p)));
            if let (Err(error), true) = (outcome, raised.is_none()) {
                raised = Some(error);
                stop.store(true, Ordering::Relaxed);
            }
        }
        py.detach(|| worker.join())
    });
    if let Some(error) = raised {
        return Err(error);
    }
    match result {
        Ok(result) => result.map_err(raise),
        Err(_) => Err(FlashpagerError::new_err("internal error; please report it")),
    }
}

/// The engine's version.
#[pyfunction]
fn version() -> &'static str {
    flashpager::VERSION
}

/// The policies: (name, number of parameters).
#[pyfunction]
fn policies() -> Vec<(&'static str, usize)> {
    pager::POLICIES.to_vec()
}

/// A policy as the engine spells it: `random(1)` for `random( 01 )`.
#[pyfunction]
fn canonical_policy(policy: &str) -> PyResult<String> {
    policy.parse::<PolicySpec>().map(|policy| policy.to_string()).map_err(raise)
}

/// What a policy keeps in RAM: (bytes for each frame, fixed bytes); `None` where
/// no device can run it.
#[pyfunction]
fn policy_metadata(policy: &str) -> PyResult<Option<(f64, u32)>> {
    let policy: PolicySpec = policy.parse().map_err(raise)?;
    Ok(policy.metadata().map(|metadata| (metadata.bytes_per_frame, metadata.fixed_bytes)))
}

/// The register models' names.
#[pyfunction]
fn registers() -> Vec<&'static str> {
    RegisterModel::ALL.iter().map(|(name, _)| *name).collect()
}

/// What a part gives on a bus without a cache.
#[pyfunction]
fn raw_bandwidth(py: Python<'_>, part: &str, bus: &str) -> PyResult<Py<PyAny>> {
    let priced = part::find(part).and_then(|part| RawBandwidth::of(&part, bus.parse::<Bus>()?));
    to_python(py, &priced.map_err(raise)?)
}

/// A trace file's description.
#[pyfunction]
fn trace_info(py: Python<'_>, trace: PathBuf) -> PyResult<Py<PyAny>> {
    to_python(py, TraceFile::open(&trace).map_err(raise)?.info())
}

/// Executed basic blocks of a trace.
#[pyfunction]
fn block_statistics(py: Python<'_>, trace: PathBuf) -> PyResult<Py<PyAny>> {
    let found = run(
        py,
        |_, ()| Ok(()),
        |go_on, _| {
            let trace = TraceFile::open(&trace)?;
            let symbols = trace.info().images.iter().flat_map(|image| &image.symbols);
            BlockStatistics::of(&trace, symbols, &go_on)
        },
    )?;
    to_python(py, &found)
}

/// Write a trace as text: `csv`, or `din` with an instruction every so many
/// bytes; to standard output without `output`.
#[pyfunction]
fn export_trace(
    py: Python<'_>,
    trace: PathBuf,
    format: &str,
    instruction_bytes: u32,
    output: Option<PathBuf>,
) -> PyResult<()> {
    let format = match format {
        "csv" => TextFormat::Csv,
        "din" => TextFormat::Din { instruction_bytes },
        other => {
            return Err(FlashpagerError::new_err(format!(
                "unknown format '{other}' (known: csv, din)"
            )));
        }
    };
    run(
        py,
        |_, ()| Ok(()),
        |go_on, _| {
            let trace = TraceFile::open(&trace)?;
            match output {
                Some(output) => export_to_file(&trace, format, &output, &go_on),
                None => {
                    let mut out = BufWriter::new(std::io::stdout().lock());
                    export(&trace, format, &mut out, "standard output", &go_on)
                }
            }
        },
    )
}

/// The instruction set and build id of an ELF file.
#[pyfunction]
fn elf_identity(path: PathBuf) -> PyResult<(String, String)> {
    let elf = ElfFile::read(&path).map_err(raise)?;
    Ok((elf.architecture().to_owned(), elf.build_id().to_owned()))
}

/// Check names and page sizes one by one, before they are combined.
#[pyfunction]
fn check_values(
    parts: Vec<String>,
    buses: Vec<String>,
    registers: Vec<String>,
    policies: Vec<String>,
    page_bytes: Vec<(String, u32)>,
) -> PyResult<()> {
    let check = || -> Result<()> {
        parts.iter().try_for_each(|name| part::find(name).map(drop))?;
        buses.iter().try_for_each(|text| text.parse::<Bus>().map(drop))?;
        registers.iter().try_for_each(|name| name.parse::<RegisterModel>().map(drop))?;
        policies.iter().try_for_each(|text| text.parse::<PolicySpec>().map(drop))?;
        page_bytes.iter().try_for_each(|(what, bytes)| power_of_two(what, *bytes))
    };
    check().map_err(raise)
}

/// Why each design cannot be; `None` for those that can.
#[pyfunction]
fn check_designs(designs: &Bound<'_, PyAny>) -> PyResult<Vec<Option<String>>> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    Ok(specs.into_iter().map(|spec| Design::new(spec).err().map(|e| e.to_string())).collect())
}

/// The policy of each design with its parameters: PA-Clock's budget comes from the
/// handler's times. What cannot be keeps its policy.
#[pyfunction]
fn settled_policies(designs: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    let settled = |spec: DesignSpec| {
        let written = spec.policy.clone();
        Design::new(spec).map_or(written, |design| design.spec().policy)
    };
    Ok(specs.into_iter().map(settled).collect())
}

/// What a fault of a design takes that loads its flash page, looks at each of `walks`
/// frames and moves `downgrades` pages down, by every schedule.
#[pyfunction]
fn handler(
    py: Python<'_>,
    design: &Bound<'_, PyAny>,
    walks: Vec<u32>,
    downgrades: u32,
) -> PyResult<Py<PyAny>> {
    let spec: DesignSpec = depythonize(design).map_err(bad_argument)?;
    let design = Design::new(spec).map_err(raise)?;
    let times: Vec<HandlerTimes> =
        walks.into_iter().map(|walk| design.handler(Search { walk, downgrades })).collect();
    to_python(py, &times)
}

/// The schedules by name.
#[pyfunction]
fn schedules() -> Vec<&'static str> {
    Schedule::ALL.iter().map(|(name, _)| *name).collect()
}

fn bad_argument(error: pythonize::PythonizeError) -> PyErr {
    FlashpagerError::new_err(error.to_string())
}

fn refuse_empty(trace: &TraceFile) -> Result<()> {
    if trace.info().runs > 0 {
        return Ok(());
    }
    let place = trace.path().display().to_string();
    Err(Error::data(place, "holds no runs: nothing placed was executed"))
}

#[derive(serde::Serialize)]
struct Row {
    design: DesignSpec,
    frames: u64,
    metadata_bytes: Option<u64>,
    ram_bytes: u64,
    prices: flashpager::cost::Prices,
    unverified: Vec<String>,
    is_executed: bool,
    #[serde(flatten)]
    evaluation: Evaluation,
}

impl Row {
    fn new(design: &Design, evaluation: Evaluation) -> Self {
        Self {
            design: design.spec(),
            frames: design.frames(),
            metadata_bytes: design.metadata_bytes(),
            ram_bytes: design.ram_bytes(),
            prices: design.prices(),
            unverified: design.unverified().to_vec(),
            is_executed: design.is_executed(),
            evaluation,
        }
    }
}

fn looked_up(specs: Vec<DesignSpec>) -> Result<Vec<Design>> {
    specs.into_iter().map(Design::new).collect()
}

/// Replay a trace for all designs, in parallel, and price them.
///
/// `progress(finished, all)` is called with the number of passes.
#[pyfunction]
fn simulate(
    py: Python<'_>,
    trace: PathBuf,
    designs: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    let rows = run(
        py,
        |py, (finished, all): (usize, usize)| match &progress {
            Some(progress) => progress.call1(py, (finished, all)).map(drop),
            None => Ok(()),
        },
        |go_on, report| {
            let trace = open_trace(&trace, specs.len())?;
            let designs = looked_up(specs)?;
            let evaluations = design::simulate(&*trace, &designs, go_on, &|finished, all| {
                report((finished, all));
            })?;
            let rows = designs.iter().zip(evaluations);
            Ok(rows.map(|(design, evaluation)| Row::new(design, evaluation)).collect::<Vec<_>>())
        },
    )?;
    to_python(py, &rows)
}

/// As [`simulate`], but for spaces: `found` is called with [(index, row)] of the
/// designs of each finished pass, the number of finished passes, and of all.
/// Rows come without distance histogram and fault latencies.
#[pyfunction]
fn explore(
    py: Python<'_>,
    trace: PathBuf,
    designs: &Bound<'_, PyAny>,
    found: Py<PyAny>,
) -> PyResult<()> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    type Found = (Vec<(usize, Row)>, (usize, usize));
    let waiting: Mutex<VecDeque<Found>> = Mutex::new(VecDeque::new());
    let hand_over = |py: Python<'_>| -> PyResult<()> {
        loop {
            // One by one: when the call raises, the rest waits for the last hand-over.
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((rows, (finished, all))) = next else { return Ok(()) };
            found.call1(py, (pythonize(py, &rows)?, finished, all))?;
        }
    };
    let outcome = run(
        py,
        |py, ()| hand_over(py),
        |go_on, report| {
            let trace = open_trace(&trace, specs.len())?;
            let designs = looked_up(specs)?;
            design::evaluate_all(&*trace, &designs, go_on, &|evaluations, progress| {
                let slim = |(index, mut evaluation): (usize, Evaluation)| {
                    evaluation.counts.distance_histogram = Vec::new();
                    evaluation.fault_latencies = Vec::new();
                    if let Some(fetch) = &mut evaluation.fetch {
                        fetch.fetch_latencies = Vec::new();
                    }
                    (index, Row::new(&designs[index], evaluation))
                };
                let rows = evaluations.into_iter().map(slim).collect();
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.push_back((rows, progress));
                report(());
            })
        },
    );
    // What was finished last, also when the rest was interrupted.
    hand_over(py)?;
    outcome
}

/// Most memory that [`explore`] takes in the engine, in bytes.
#[pyfunction]
fn memory_bytes(trace: PathBuf, designs: &Bound<'_, PyAny>) -> PyResult<u64> {
    let specs: Vec<DesignSpec> = depythonize(designs).map_err(bad_argument)?;
    let bound = || -> Result<u64> {
        let file = TraceFile::open(&trace)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let runs = file.info().runs;
        // A vector may have twice the room it needs.
        let kept = if runs <= MAX_RUNS_IN_MEMORY { 2 * 8 * runs } else { 0 };
        Ok(kept + design::memory_bytes(file.info(), &looked_up(specs)?, threads))
    };
    bound().map_err(raise)
}

/// A trace with something to replay, held in memory if it is used more than once
/// and that is not too much.
fn open_trace(path: &Path, designs: usize) -> Result<Box<dyn Trace>> {
    let file = TraceFile::open(path)?;
    refuse_empty(&file)?;
    if designs > 1 && file.info().runs <= MAX_RUNS_IN_MEMORY {
        return Ok(Box::new(MemoryTrace::load(&file)?));
    }
    Ok(Box::new(file))
}

/// What to place: files with their sections, or a range of addresses.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Placement {
    #[serde(default)]
    files: Vec<PathBuf>,
    #[serde(default)]
    sections: Vec<String>,
    #[serde(default)]
    with_libraries: bool,
    /// Load address of the first file above its linked one; `None` if the
    /// recorder tells.
    bias: Option<u64>,
    range: Option<(u64, u64)>,
    /// Of methods without files.
    #[serde(default)]
    arrangement: ArrangementSpec,
}

/// As [`Arrangement`].
#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrangementSpec {
    #[serde(default)]
    keep_all: bool,
    #[serde(default)]
    order: Vec<String>,
}

impl From<ArrangementSpec> for Arrangement {
    fn from(spec: ArrangementSpec) -> Self {
        let keep = if spec.keep_all { Keep::All } else { Keep::Used };
        Self { keep, order: spec.order }
    }
}

impl Placement {
    fn placer(self) -> Result<Option<Placer>> {
        if let Some((start, end)) = self.range {
            return Placer::for_range(start, end).map(Some);
        }
        if self.files.is_empty() && !self.with_libraries {
            return Ok(None);
        }
        let sections =
            if self.sections.is_empty() { vec![".text".to_owned()] } else { self.sections };
        let mut placer = Placer::new(Options {
            sections,
            files: self.files,
            with_libraries: self.with_libraries,
        })?;
        if let Some(bias) = self.bias {
            placer.load_program_at(bias);
            placer.load_as_linked();
        }
        Ok(Some(placer))
    }
}

/// Write a trace with its methods laid out anew. Gives its description.
#[pyfunction]
fn arrange_methods(
    py: Python<'_>,
    trace: PathBuf,
    output: PathBuf,
    arrangement: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let spec: ArrangementSpec = depythonize(arrangement).map_err(bad_argument)?;
    let arrangement = Arrangement::from(spec);
    let info =
        run(py, |_, ()| Ok(()), |go_on, _| arrange_file(&trace, &output, &arrangement, &go_on))?;
    to_python(py, &info)
}

/// Lines of an order of methods that name nothing placed in `trace`.
#[pyfunction]
fn unknown_methods(py: Python<'_>, trace: PathBuf, order: Vec<String>) -> PyResult<Vec<String>> {
    run(
        py,
        |_, ()| Ok(()),
        |go_on, _| {
            let trace = TraceFile::open(&trace)?;
            let unknown = unknown(&order, &trace.info().images, &go_on)?;
            Ok(unknown.into_iter().map(str::to_owned).collect())
        },
    )
}

/// A trace's file and its description.
type Described = (PathBuf, Py<PyAny>);

/// An import or recording under way: `read_*` once, then `finish`.
#[pyclass]
struct Recording {
    import: Option<Import>,
}

fn report_progress(
    progress: &Option<Py<PyAny>>,
) -> impl FnMut(Python<'_>, Progress) -> PyResult<()> + '_ {
    move |py, now| match progress {
        Some(progress) => progress.call1(py, (now.instructions, now.file_bytes)).map(drop),
        None => Ok(()),
    }
}

fn ending_name(ending: &Ending) -> String {
    match ending {
        Ending::Complete => "complete".into(),
        Ending::Failed(how) => how.clone(),
        Ending::Interrupted => "interrupted".into(),
        Ending::DiskFull => "disk-full".into(),
    }
}

impl Recording {
    fn read(
        &mut self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        format: Option<Format>,
        instruction_bytes: u32,
        open: impl FnOnce() -> Result<Input> + Send,
    ) -> PyResult<(String, String)> {
        let import = self.import.as_mut().ok_or_else(finished)?;
        let (ending, format) = run(py, report_progress(&progress), |go_on, report| {
            let mut input = open()?;
            let format = match format {
                Some(format) => format,
                None => Format::detect(&mut input)?,
            };
            let ending = import.read(input, format, instruction_bytes, &mut |now| {
                report(now);
                go_on()
            })?;
            Ok((ending, format))
        })?;
        Ok((ending_name(&ending), format.name().to_owned()))
    }
}

fn finished() -> PyErr {
    FlashpagerError::new_err("this recording is finished")
}

#[pymethods]
impl Recording {
    /// Begin the file `output`; `info` holds program, arguments, architecture,
    /// build_id, recorder and recorder_version as far as known.
    #[new]
    fn new(
        output: PathBuf,
        placement: &Bound<'_, PyAny>,
        info: &Bound<'_, PyAny>,
        live: bool,
    ) -> PyResult<Self> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Known {
            program: String,
            #[serde(default)]
            arguments: Vec<String>,
            #[serde(default)]
            architecture: String,
            #[serde(default)]
            build_id: String,
            #[serde(default)]
            recorder: String,
            #[serde(default)]
            recorder_version: String,
        }
        let mut placement: Placement = depythonize(placement).map_err(bad_argument)?;
        let arrangement = std::mem::take(&mut placement.arrangement);
        let known: Known = depythonize(info).map_err(bad_argument)?;
        let info = TraceInfo {
            program: known.program,
            arguments: known.arguments,
            architecture: known.architecture,
            build_id: known.build_id,
            recorder: known.recorder,
            recorder_version: known.recorder_version,
            ..TraceInfo::default()
        };
        let mut import = placement
            .placer()
            .and_then(|placer| Import::new(placer, &output, info, live))
            .map_err(raise)?;
        import.arrange_as(arrangement.into());
        Ok(Self { import: Some(import) })
    }

    /// Read a file or, for `-`, standard input. Gives (ending, format).
    fn read_file(
        &mut self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        instruction_bytes: u32,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, String)> {
        let format = format.map(str::parse).transpose().map_err(raise)?;
        self.read(py, progress, format, instruction_bytes, || Input::open(&path))
    }

    /// Read a running recorder of our own by the paths of its pipe and its tail.
    fn read_stream(
        &mut self,
        py: Python<'_>,
        pipe: PathBuf,
        tail: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let read = self.read(py, progress, Some(Format::Stream), 1, || {
            Input::new("recorder stream", RecorderPipe::open(&pipe, &tail)?)
        });
        read.map(|(ending, _)| ending)
    }

    /// Read the lackey text that process `pid` writes into `pipe`.
    fn read_lackey(
        &mut self,
        py: Python<'_>,
        pipe: PathBuf,
        pid: u32,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        self.import.as_mut().ok_or_else(finished)?.watch_process(pid);
        let read = self.read(py, progress, Some(Format::Lackey), 1, || {
            let file = std::fs::File::open(&pipe).map_err(|e| Error::file(&pipe, e))?;
            Input::new("lackey text", file)
        });
        read.map(|(ending, _)| ending)
    }

    /// Whether the disk ran full.
    fn disk_full(&self) -> bool {
        self.import.as_ref().is_some_and(Import::disk_full)
    }

    /// Write the rest. `ending` is `complete`, `interrupted`, or how the
    /// program failed. Gives (path, description) of the trace and, behind it, of
    /// those of further threads, and whether their methods lie as they should.
    fn finish(&mut self, py: Python<'_>, ending: &str) -> PyResult<(Vec<Described>, bool)> {
        let import = self.import.take().ok_or_else(finished)?;
        let ending = match ending {
            "complete" => Ending::Complete,
            "interrupted" => Ending::Interrupted,
            how => Ending::Failed(how.to_owned()),
        };
        let traces = run(py, |_, ()| Ok(()), |go_on, _| import.finish(ending, &go_on))?;
        let arranged = traces.iter().all(|trace| trace.arranged);
        let described = |trace: Finished| Ok((trace.path, to_python(py, &trace.info)?));
        Ok((traces.into_iter().map(described).collect::<PyResult<_>>()?, arranged))
    }

    /// Leave no file behind.
    fn abandon(&mut self) {
        self.import = None;
    }
}

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::attribution::{attribute, attributions};
    #[pymodule_export]
    use super::driver::copy_loop;
    #[pymodule_export]
    use super::estimate::{all_operations, check_host, estimate, operations};
    #[pymodule_export]
    use super::live::{capture_pages, pages_info, pages_ratios, swap_live};
    #[pymodule_export]
    use super::parts::{catalog, examine_part, find_part, part_facts, part_schema};
    #[pymodule_export]
    use super::swap::{swap_bench, swap_churn, swap_defaults, swap_kinds, swap_system};
    #[pymodule_export]
    use super::{
        DiskFullError, FlashpagerError, Recording, arrange_methods, block_statistics,
        canonical_policy, check_designs, check_values, elf_identity, explore, export_trace,
        handler, memory_bytes, policies, policy_metadata, raw_bandwidth, registers, schedules,
        settled_policies, simulate, trace_info, unknown_methods, version,
    };
}
