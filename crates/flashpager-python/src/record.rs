//! Traces as they are recorded or imported, and methods laid out anew.

use std::ffi::OsString;
use std::path::PathBuf;

use flashpager::placement::arrange::{self, KeptMethods, arrange_file, unknown};
use flashpager::placement::{self, PlacementOptions};
use flashpager::record::import::{self, Import, ImportFormat, RecordingProgress};
use flashpager::record::input::Input;
use flashpager::record::pipe::RecorderPipe;
use flashpager::record::region;
use flashpager::trace::{self, TraceFile};
use flashpager::{Error, Result};
use pyo3::prelude::*;

use crate::seam::{FlashpagerError, ToPyView, raise, run, view};
use crate::trace::{Ending, TraceInfo};

/// A layout of the methods that a recorder reports.
#[pyclass(frozen, eq, skip_from_py_object, module = "flashpager._engine")]
#[derive(Clone, PartialEq)]
pub struct Arrangement(arrange::MethodArrangement);

#[pymethods]
impl Arrangement {
    /// Arrange the methods that ``keep`` selects, one of ``kept_methods()``. ``order`` lists
    /// methods, or classes for all their methods, that go to flash before all others; ``*`` stands
    /// for any characters, and a method may be named without its parameters.
    #[new]
    #[pyo3(signature = (*, keep=None, order=Vec::new()))]
    fn new(keep: Option<&str>, order: Vec<String>) -> PyResult<Self> {
        let keep = keep.map_or(Ok(KeptMethods::default()), str::parse).map_err(raise)?;
        Ok(Self(arrange::MethodArrangement { keep, order }))
    }

    /// The methods that are kept.
    #[getter]
    fn keep(&self) -> &'static str {
        self.0.keep.name()
    }

    /// The methods that go to flash first.
    #[getter]
    fn order(&self) -> Vec<String> {
        self.0.order.clone()
    }

    fn __repr__(&self) -> String {
        format!("Arrangement(keep={:?}, order={:?})", self.keep(), self.0.order)
    }
}

/// The choices of methods that an arrangement keeps; the first is the default.
#[pyfunction]
pub fn kept_methods() -> Vec<&'static str> {
    KeptMethods::ALL.iter().map(|(name, _)| *name).collect()
}

/// The code of a program that goes to flash: by default the methods that the recorder reports. If it
/// reports none, addresses are flash offsets.
#[pyclass(frozen, eq, skip_from_py_object, module = "flashpager._engine")]
#[derive(Clone, PartialEq)]
pub struct Placement(placement::Placement);

#[pymethods]
impl Placement {
    #[new]
    fn new() -> Self {
        Self(placement::Placement::default())
    }

    /// Place the methods that the recorder reports, in this arrangement.
    #[staticmethod]
    fn of_methods(arrangement: &Arrangement) -> Self {
        Self(placement::Placement::AsRecorded(arrangement.0.clone()))
    }

    /// Place the addresses from ``start`` up to ``end``, without a file.
    #[staticmethod]
    fn of_range(start: u64, end: u64) -> Self {
        Self(placement::Placement::Range { start, end })
    }

    /// Place sections of files, ``default_sections()`` if none are named.
    ///
    /// Args:
    ///     with_libraries: True to place libraries as the program loads them.
    ///     bias: the distance of the first file from its linked addresses; None if the
    ///         recorder reports it.
    ///     as_linked: True if sections keep their linked distances.
    #[staticmethod]
    #[pyo3(signature = (
        files, *, sections=Vec::new(), with_libraries=false, bias=None, as_linked=false
    ))]
    fn of_files(
        files: Vec<PathBuf>,
        sections: Vec<String>,
        with_libraries: bool,
        bias: Option<u64>,
        as_linked: bool,
    ) -> Self {
        let options = PlacementOptions::of(files, sections, with_libraries);
        let options = if as_linked { options.as_linked() } else { options };
        Self(placement::Placement::Files { options, bias })
    }

    fn __repr__(&self) -> String {
        format!("Placement({:?})", self.0)
    }
}

/// The sections of a file that are placed if none is named.
#[pyfunction]
pub fn default_sections() -> Vec<String> {
    PlacementOptions::default().sections
}

/// Converts a name of a trace to text, which has to be Unicode.
fn unicode(text: OsString) -> PyResult<String> {
    text.into_string()
        .map_err(|text| FlashpagerError::new_err(format!("{text:?} is no UTF-8 text")))
}

/// The description of a program before it is recorded.
#[pyclass(frozen, eq, skip_from_py_object, module = "flashpager._engine")]
#[derive(Clone, PartialEq)]
pub struct Origin(trace::TraceInfo);

#[pymethods]
impl Origin {
    /// Describe a program by its path, or by the path of an imported file. The recorder of an import is
    /// its format.
    #[new]
    #[pyo3(signature = (
        program, *, arguments=Vec::new(), architecture=String::new(), build_id=String::new(),
        recorder=String::new(), recorder_version=String::new(),
    ))]
    fn new(
        program: OsString,
        arguments: Vec<OsString>,
        architecture: String,
        build_id: String,
        recorder: String,
        recorder_version: String,
    ) -> PyResult<Self> {
        Ok(Self(trace::TraceInfo {
            program: unicode(program)?,
            arguments: arguments.into_iter().map(unicode).collect::<PyResult<_>>()?,
            architecture,
            build_id,
            recorder,
            recorder_version,
            ..trace::TraceInfo::default()
        }))
    }

    /// The path of the program, or of the imported file.
    #[getter]
    fn program(&self) -> &str {
        &self.0.program
    }

    fn __repr__(&self) -> String {
        format!("Origin({:?})", self.0.program)
    }
}

/// Write a trace with its methods laid out anew. Returns its description.
#[pyfunction]
pub fn arrange_methods(
    py: Python<'_>,
    trace: PathBuf,
    output: PathBuf,
    arrangement: &Arrangement,
) -> PyResult<TraceInfo> {
    let arrangement = &arrangement.0;
    let info = run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| arrange_file(&trace, &output, arrangement, &should_continue),
    )?;
    Ok(TraceInfo(info))
}

/// Lines of an order of methods that name nothing placed in `trace`.
#[pyfunction]
pub fn unknown_methods(
    py: Python<'_>,
    trace: PathBuf,
    order: Vec<String>,
) -> PyResult<Vec<String>> {
    run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| {
            let trace = TraceFile::open(&trace)?;
            let unknown = unknown(&order, &trace.info().images, &should_continue)?;
            Ok(unknown.into_iter().map(str::to_owned).collect())
        },
    )
}

/// The formats that can be imported.
#[pyfunction]
pub fn import_formats() -> Vec<&'static str> {
    ImportFormat::ALL.iter().map(|(name, _)| *name).collect()
}

view! {
    /// A trace that was written.
    RecordedTrace = import::RecordedTrace {
        /// The trace file.
        path: PathBuf,
        /// The description of the trace.
        info: TraceInfo,
        /// True if its methods lie in the requested arrangement. If the disk was full or the run
        /// was stopped, they lie as the recorder reported them.
        arranged: bool,
    }
}

/// The part of an execution that is recorded; all of it by default.
#[pyclass(frozen, eq, skip_from_py_object, module = "flashpager._engine")]
#[derive(Clone, PartialEq)]
pub struct Region(region::Region);

#[pymethods]
impl Region {
    /// Select a part of the execution.
    ///
    /// Args:
    ///     begin: the function, or address with `0x`, at which recording starts, each time.
    ///     end: the function, or address with `0x`, at which recording stops, each time.
    ///     call: the only call to record: a function, and the number of the call from 1.
    ///     skip_instructions: the number of instructions to leave out at the start of the part.
    ///     max_instructions: the most instructions to record.
    #[new]
    #[pyo3(signature = (
        *, begin=None, end=None, call=None, skip_instructions=0, max_instructions=None,
    ))]
    fn new(
        begin: Option<String>,
        end: Option<String>,
        call: Option<(String, u64)>,
        skip_instructions: u64,
        max_instructions: Option<u64>,
    ) -> Self {
        let (from, to) = (begin, end);
        Self(region::Region { from, to, call, skip_instructions, max_instructions })
    }

    /// True if it is the whole execution.
    #[getter]
    fn is_all(&self) -> bool {
        self.0.is_all()
    }

    fn __repr__(&self) -> String {
        format!("Region({})", self.0)
    }
}

/// An import or recording under way: `read_*` once, then `finish`.
#[pyclass(module = "flashpager._engine")]
pub struct Recording {
    import: Option<Import>,
}

fn call_import_progress(
    progress: &Option<Py<PyAny>>,
) -> impl FnMut(Python<'_>, RecordingProgress) -> PyResult<()> + '_ {
    move |py, now| match progress {
        Some(progress) => progress.call1(py, (now.instructions, now.file_bytes)).map(drop),
        None => Ok(()),
    }
}

impl Recording {
    fn read(
        &mut self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        format: Option<ImportFormat>,
        instruction_bytes: u32,
        open: impl FnOnce() -> Result<Input> + Send,
    ) -> PyResult<(Ending, &'static str)> {
        let import = self.import.as_mut().ok_or_else(finished)?;
        let (ending, format) =
            run(py, call_import_progress(&progress), |should_continue, progress| {
                let mut input = open()?;
                let format = match format {
                    Some(format) => format,
                    None => ImportFormat::detect(&mut input)?,
                };
                let ending = import.read(input, format, instruction_bytes, &mut |now| {
                    progress(now);
                    should_continue()
                })?;
                Ok((ending, format))
            })?;
        Ok((Ending(ending), format.name()))
    }
}

fn finished() -> PyErr {
    FlashpagerError::new_err("this recording is finished")
}

#[pymethods]
impl Recording {
    /// Begin the file `output`. A ``live`` recording reserves space on the disk, so that it can end in
    /// order when the disk is full.
    #[new]
    #[pyo3(signature = (output, placement, origin, *, live))]
    fn new(output: PathBuf, placement: &Placement, origin: &Origin, live: bool) -> PyResult<Self> {
        let import = Import::placing(&placement.0, &output, origin.0.clone(), live);
        import.map(|import| Self { import: Some(import) }).map_err(raise)
    }

    /// Record this part of what is executed, before anything is read.
    fn select(&mut self, region: &Region) -> PyResult<()> {
        self.import.as_mut().ok_or_else(finished)?.select(region.0.clone()).map_err(raise)
    }

    /// Record data reads, too, before anything is read.
    fn take_reads(&mut self) -> PyResult<()> {
        self.import.as_mut().ok_or_else(finished).map(Import::take_reads)
    }

    /// True if the part to record has ended, so that the rest of the input is not needed.
    fn is_over(&self) -> bool {
        self.import.as_ref().is_some_and(Import::is_over)
    }

    /// Read a file or, for `-`, standard input, in one of ``import_formats()``; None detects it.
    /// Returns the ending and the format.
    #[pyo3(signature = (path, format, instruction_bytes, progress: "Callable[[int, int], None] | None"))]
    fn read_file(
        &mut self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        instruction_bytes: u32,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Ending, &'static str)> {
        let format = format.map(str::parse).transpose().map_err(raise)?;
        self.read(py, progress, format, instruction_bytes, || Input::open(&path))
    }

    /// Read a running recorder of our own by the paths of its pipe and its tail.
    #[pyo3(signature = (pipe, tail, progress: "Callable[[int, int], None] | None"))]
    fn read_stream(
        &mut self,
        py: Python<'_>,
        pipe: PathBuf,
        tail: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Ending> {
        let read = self.read(py, progress, Some(ImportFormat::Stream), 1, || {
            Input::new("recorder stream", RecorderPipe::open(&pipe, &tail)?)
        });
        read.map(|(ending, _)| ending)
    }

    /// Read text of one of ``import_formats()`` that a foreign tool writes into `pipe`, and load
    /// addresses from the mappings of its process `pid`.
    #[pyo3(signature = (pipe, format, pid, progress: "Callable[[int, int], None] | None"))]
    fn read_pipe(
        &mut self,
        py: Python<'_>,
        pipe: PathBuf,
        format: &str,
        pid: u32,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Ending> {
        let format: ImportFormat = format.parse().map_err(raise)?;
        self.import.as_mut().ok_or_else(finished)?.watch_process(pid).map_err(raise)?;
        let read = self.read(py, progress, Some(format), 1, || {
            let file = std::fs::File::open(&pipe).map_err(|e| Error::file(&pipe, e))?;
            Input::new(&format!("{} text", format.name()), file)
        });
        read.map(|(ending, _)| ending)
    }

    /// True if the disk ran full.
    fn disk_full(&self) -> bool {
        self.import.as_ref().is_some_and(Import::disk_full)
    }

    /// Write the rest of a recording with this ending. Returns the trace, followed by those of further
    /// threads.
    fn finish(&mut self, py: Python<'_>, ending: &Ending) -> PyResult<Vec<RecordedTrace>> {
        let import = self.import.take().ok_or_else(finished)?;
        let ending = ending.0.clone();
        let traces =
            run(py, |_, ()| Ok(()), |should_continue, _| import.finish(ending, &should_continue))?;
        Ok(ToPyView::view_of(&traces))
    }

    /// Give the recording up, and leave no file behind.
    fn abandon(&mut self) {
        self.import = None;
    }
}
