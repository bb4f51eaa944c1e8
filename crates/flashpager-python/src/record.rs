//! Traces as they are recorded or imported, and methods laid out anew.

use std::path::PathBuf;

use flashpager::placement::arrange::{Arrangement, Keep, arrange_file, unknown};
use flashpager::placement::{Options, Placer};
use flashpager::record::import::{Finished, Format, Import, Progress};
use flashpager::record::input::Input;
use flashpager::record::pipe::RecorderPipe;
use flashpager::trace::{Ending, TraceFile, TraceInfo};
use flashpager::{Error, Result};
use pyo3::prelude::*;
use pythonize::depythonize;

use crate::seam::{FlashpagerError, bad_argument, raise, run, to_python};

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
pub fn arrange_methods(
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
pub fn unknown_methods(
    py: Python<'_>,
    trace: PathBuf,
    order: Vec<String>,
) -> PyResult<Vec<String>> {
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
pub struct Recording {
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
