//! Traces: their descriptions, and their export as text.

use std::borrow::Cow;
use std::io::BufWriter;
use std::path::PathBuf;

use flashpager::binary::binaries::Binaries;
use flashpager::binary::elf::ElfFile;
use flashpager::binary::program;
use flashpager::trace::export::{ExportFormat, export, export_to_file};
use flashpager::trace::{self, BlockCounts, ProgressTrace, TraceFile, blocks, check};
use flashpager::warm_up;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pythonize::depythonize;

use crate::seam::{
    ToPyView, bad_argument, call_progress, raise, run, to_python, view, views_by_name,
};

view! {
    /// A function, or another named piece of code.
    Symbol = trace::Symbol {
        /// The symbol's name, as the linker knows it.
        name: String,
        /// Offset of the first byte in the flash image.
        offset: u32,
        /// The length in bytes; 0 if the file does not state it.
        bytes: u32,
    }
}

view! {
    /// A section of an image in flash.
    Section = trace::Section {
        /// The section's name, as ``.text``.
        name: String,
        /// The section's address in the file, before any load bias.
        address: u64,
        /// Offset of the first byte in the flash image.
        offset: u32,
        /// The length in bytes.
        bytes: u32,
    }
}

view! {
    /// The placed code of one file.
    Image = trace::Image {
        /// The file that the code comes from.
        path: String,
        /// Its GNU build id in hexadecimal; empty if it has none.
        build_id: String,
        /// Offset of the first byte in the flash image.
        offset: u32,
        /// Bytes up to the end of its last section.
        bytes: u32,
        /// Its sections in flash.
        sections: Vec<Section>,
        /// Its symbols, by offset.
        symbols: Vec<Symbol>,
    }
}

view! {
    /// A file whose code was executed and is not placed.
    OutsideFile = trace::OutsideFile {
        /// The file's path.
        path: String,
        /// Instructions executed from the file.
        instructions: u64,
    }
}

views_by_name!(trace::GapReason);

view! {
    /// A place of a trace at which executed code is missing.
    Gap = trace::Gap {
        /// Number of runs before the gap.
        run: u64,
        /// The reason, as ``buffer-full``.
        reason: &'static str,
        /// Instructions that are missing; None if nobody counted them.
        instructions: Option<u64>,
    }
}

view! {
    /// The first runs of a trace, which fill a cache and are not counted; 0 runs to count all.
    WarmUp = trace::WarmUp {
        /// Number of runs.
        runs: u64,
        /// Bytes fetched by these runs.
        bytes: u64,
    }
    methods {
        #[new]
        fn new(runs: u64, bytes: u64) -> Self {
            Self(trace::WarmUp { runs, bytes })
        }

        fn __reduce__<'py>(
            slf: &Bound<'py, Self>,
        ) -> (Bound<'py, PyType>, (u64, u64)) {
            let trace::WarmUp { runs, bytes } = slf.get().0;
            (slf.py().get_type::<Self>(), (runs, bytes))
        }
    }
}

/// A warm-up, or text that describes one.
#[derive(FromPyObject)]
pub enum WarmUpArgument<'py> {
    WarmUp(PyRef<'py, WarmUp>),
    Text(String),
}

/// The ending of a recording. Its ``name`` is ``complete``, ``failed``, ``interrupted`` or
/// ``disk-full``.
#[pyclass(frozen, eq, hash, skip_from_py_object, module = "flashpager._engine")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ending(pub trace::Ending);

impl ToPyView<trace::Ending> for Ending {
    fn view_of(ending: &trace::Ending) -> Self {
        Self(ending.clone())
    }
}

#[pymethods]
impl Ending {
    /// The program ended by itself with exit status 0, or the file was imported whole.
    #[staticmethod]
    fn complete() -> Self {
        Self(trace::Ending::Complete)
    }

    /// Somebody stopped the recording.
    #[staticmethod]
    fn interrupted() -> Self {
        Self(trace::Ending::Interrupted)
    }

    /// The program failed with this exit status, or by this signal.
    #[staticmethod]
    fn failed(how: String) -> Self {
        Self(trace::Ending::Failed(how))
    }

    /// The kind of the end, as the trace file has it.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// True if the program ended by itself with exit status 0, or the file was imported whole.
    #[getter]
    fn is_complete(&self) -> bool {
        self.0 == trace::Ending::Complete
    }

    /// The program's exit status or signal; None if it did not fail.
    #[getter]
    fn failure(&self) -> Option<&str> {
        match &self.0 {
            trace::Ending::Failed(how) => Some(how),
            _ => None,
        }
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Ending({})", self.0)
    }
}

view! {
    /// The description of a trace.
    TraceInfo = trace::TraceInfo {
        /// Version of the file's layout.
        schema_version: u32,
        /// The program's path, or the imported file's.
        program: String,
        /// The program's arguments.
        arguments: Vec<String>,
        /// Instruction set, as QEMU spells it; empty if unknown.
        architecture: String,
        /// The program's GNU build id in hexadecimal; empty if it has none.
        build_id: String,
        /// The recorder of the trace: ``qemu``, ``lackey``, or the imported format.
        recorder: String,
        /// The recorder's own version; empty if unknown.
        recorder_version: String,
        /// The ending of the recording.
        ending: Ending,
        /// The code in flash, by offset.
        images: Vec<Image>,
        /// Bytes of the flash image.
        image_bytes: u64,
        /// Number of runs in the file.
        runs: u64,
        /// True if the recorder reported data reads, though there may be none.
        reads_recorded: bool,
        /// Runs that are data reads, not executed.
        reads: u64,
        /// Bytes of the data reads.
        read_bytes: u64,
        /// Executed runs that continue one that a data read interrupted.
        continued: u64,
        /// Places at which executed code is missing, ascending.
        gaps: Vec<Gap>,
        /// Executed instructions of the placed code; None if the format does not state them.
        instructions: Option<u64>,
        /// Bytes of all runs.
        bytes: u64,
        /// Instructions executed outside the placed images, not in the runs; None if the recorder
        /// does not report them.
        outside_instructions: Option<u64>,
        /// Bytes fetched by `outside_instructions`.
        outside_bytes: u64,
        /// Calls of methods; None if the recorder does not report them.
        calls: Option<u64>,
        /// Returns from methods; None if the recorder does not report them.
        returns: Option<u64>,
        /// The recorded thread; empty if threads are not recorded separately.
        thread: String,
        /// The process that this trace records, if it is not the first one; empty for the first.
        process: String,
        /// Code that ran and could not be recorded, each with the reason.
        left_out: Vec<String>,
        /// The part of the execution that was recorded, in words; empty if it is all.
        region: String,
        /// Instructions executed before this part, or between its parts.
        beside_instructions: u64,
        /// Files whose code was executed and is not placed, most instructions first; empty if the
        /// recorder does not report them.
        outside_files: Vec<OutsideFile>,
        /// Executed blocks that are counted whole, although they may have been cut short; None if
        /// the recorder does not report them.
        in_doubt: Option<u64>,
        /// The first runs, which fill a cache and are not counted.
        warm_up: WarmUp,
    }
    methods {
        /// The windows between the gaps, each as the numbers of its first run and of the one behind it.
        #[getter]
        fn windows(&self) -> Vec<(u64, u64)> {
            self.0.windows().map(|range| (range.start, range.end)).collect()
        }

        /// True if the processor of the program can execute code from RAM.
        #[getter]
        fn executes_from_ram(&self) -> bool {
            self.0.executes_from_ram()
        }

        /// Make a description from the fields that `as_dict` returns; for pickles.
        #[classmethod]
        #[pyo3(signature = (fields: "Mapping[str, object]"))]
        fn from_dict(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyAny>) -> PyResult<Self> {
            depythonize(fields).map(Self).map_err(bad_argument)
        }

        fn __reduce__<'py>(
            &self,
            py: Python<'py>,
        ) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
            let rebuild = py.get_type::<Self>().getattr("from_dict")?;
            Ok((rebuild, (to_python(py, &self.0)?,)))
        }
    }
}

view! {
    /// Use of the pages of one size in which something was executed.
    PageUse = blocks::PageUse {
        /// Bytes of a page.
        page_bytes: u32,
        /// Pages with at least one executed byte.
        pages: u64,
        /// Share of these pages' bytes that was executed.
        used_share: f64,
    }
}

view! {
    /// A piece of code in the flash image.
    CodePiece = blocks::CodePiece {
        /// Offset of the piece's first byte.
        offset: u32,
        /// The length in bytes.
        bytes: u32,
    }
}

view! {
    /// The small set of code that a trace executes most.
    HottestCode = blocks::HottestCode {
        /// The pieces by offset. They do not touch.
        pieces: Vec<CodePiece>,
        /// Bytes executed by runs that lie in one of the pieces, counted at each execution.
        executed_bytes: u64,
    }
}

view! {
    /// Executed basic blocks of a trace: executed bytes, cut wherever a run begins or ends
    /// (CARDIS 2010, section 6.2).
    BlockStatistics = blocks::BlockStatistics {
        /// Distinct blocks executed.
        used_blocks: u64,
        /// Bytes of code executed at least once.
        used_bytes: u64,
        /// Mean size of the distinct blocks.
        mean_used_block_bytes: f64,
        /// Mean size weighted by how often each block was executed.
        mean_executed_block_bytes: f64,
        /// Mean length of a run: code between two taken jumps.
        mean_run_bytes: f64,
        /// The mean used block aligned up to a power of two: by the paper the best cache page.
        predicted_page_bytes: u32,
        /// Jumps to the first byte of a symbol; None where less than half of the code has one.
        seen_calls: Option<u64>,
        /// Jumps to the address behind a call.
        seen_returns: Option<u64>,
        /// Use of pages, by the size of a page.
        pages: Vec<PageUse>,
        /// The most executed code; None in traces of older recorders.
        hottest: Option<HottestCode>,
    }
}

/// The description of a trace file, with another warm-up if one is given. Its text is ``80K``,
/// ``10%``, a function's name, or ``none``. A trace with gaps is refused unless ``captured`` is True.
#[pyfunction]
#[pyo3(signature = (trace, warm_up=None, *, captured=false))]
pub fn trace_info(
    trace: PathBuf,
    warm_up: Option<WarmUpArgument<'_>>,
    captured: bool,
) -> PyResult<TraceInfo> {
    let opened = || {
        let file =
            if captured { TraceFile::open_captured(&trace)? } else { TraceFile::open(&trace)? };
        let warm_up = match warm_up {
            None => return Ok(file),
            Some(WarmUpArgument::WarmUp(given)) => given.0,
            Some(WarmUpArgument::Text(text)) => warm_up::find(&file, &text)?,
        };
        file.with_warm_up(warm_up)
    };
    opened().map(|file| TraceInfo::view_of(file.info())).map_err(raise)
}

/// The statistics of executed basic blocks that a trace file holds; None if it holds none.
#[pyfunction]
pub fn recorded_blocks(trace: PathBuf) -> PyResult<Option<BlockStatistics>> {
    TraceFile::open_captured(&trace).map(|file| file.blocks().map(BlockStatistics)).map_err(raise)
}

/// The statistics of a trace's executed basic blocks: those that its file holds, or else counted by
/// reading it once. `progress(read, all)` is called with numbers of runs.
#[pyfunction]
#[pyo3(signature = (trace, progress: "Callable[[int, int], None] | None"=None))]
pub fn block_statistics(
    py: Python<'_>,
    trace: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<BlockStatistics> {
    if let Some(recorded) = recorded_blocks(trace.clone())? {
        return Ok(recorded);
    }
    let counted = run(py, call_progress(&progress), |should_continue, progress| {
        let file = TraceFile::open_captured(&trace)?;
        let runs = file.info().runs;
        let progress = |read| progress((read, runs));
        let trace = ProgressTrace::new(&file, &progress);
        let mut counts = BlockCounts::of(&trace, file.info().symbols(), &should_continue)?;
        if !file.info().gaps.is_empty() {
            counts = counts.without_calls();
        }
        let info = file.info();
        Ok(blocks::BlockStatistics::new(&counts, info.executed_runs(), info.executed_bytes()))
    })?;
    Ok(BlockStatistics(counted))
}

/// Read a whole trace with its checksums, and check the description of its blocks. With ``output``,
/// write the trace anew, with the fields that the description lacks. Returns the description. `progress(read, all)` is
/// called with numbers of runs.
#[pyfunction]
#[pyo3(signature = (trace, output=None, progress: "Callable[[int, int], None] | None"=None))]
pub fn check_trace(
    py: Python<'_>,
    trace: PathBuf,
    output: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<TraceInfo> {
    let checked = run(py, call_progress(&progress), |should_continue, progress| {
        let file = TraceFile::open_captured(&trace)?;
        let runs = file.info().runs;
        check::check(&file, output.as_deref(), &should_continue, &|read| progress((read, runs)))
    })?;
    Ok(TraceInfo(checked))
}

/// Write a trace in one of ``export_formats()``: ``din`` with an instruction every ``instruction_bytes``,
/// ``oracle-general`` with pages of ``page_bytes``. Without ``output``, write to standard output.
#[pyfunction]
#[pyo3(signature = (trace, format, instruction_bytes, output, page_bytes=4096))]
pub fn export_trace(
    py: Python<'_>,
    trace: PathBuf,
    format: &str,
    instruction_bytes: u32,
    output: Option<PathBuf>,
    page_bytes: u32,
) -> PyResult<()> {
    let format = ExportFormat::named(format, instruction_bytes, page_bytes).map_err(raise)?;
    run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| {
            let trace = TraceFile::open_captured(&trace)?;
            match output {
                Some(output) => export_to_file(&trace, format, &output, &should_continue),
                None => {
                    let mut out = BufWriter::new(std::io::stdout().lock());
                    export(&trace, format, &mut out, "standard output", &should_continue)
                }
            }
        },
    )
}

/// The formats that a trace can be written as.
#[pyfunction]
pub fn export_formats() -> Vec<&'static str> {
    ExportFormat::NAMES.to_vec()
}

/// The bytes of a trace's flash image, read from the recorded ELF file.
#[pyfunction]
pub fn flash_image(info: &TraceInfo, elf: PathBuf) -> PyResult<Cow<'static, [u8]>> {
    let images = &info.0.images;
    let binaries = Binaries::of(images, &[elf]).map_err(raise)?;
    binaries.in_flash(images).map(Cow::Owned).map_err(raise)
}

views_by_name!(program::ProgramKind, program::SectionContent);

view! {
    /// A section that has memory when the program runs.
    ProgramSection = program::ProgramSection {
        /// The section's name, as ``.text``.
        name: String,
        /// The address at which the program uses it.
        address: u64,
        /// The address at which the linker stored it.
        load_address: u64,
        /// The length in bytes.
        bytes: u64,
        /// The section's content: ``code``, ``constants``, ``data`` or ``zeroed``.
        content: &'static str,
    }
    methods {
        /// True if the program executes or reads it where it is stored, and never writes it.
        #[getter]
        fn is_in_place(&self) -> bool {
            self.0.is_in_place()
        }
    }
}

view! {
    /// A program file as a whole.
    ProgramFile = program::ProgramFile {
        /// The instruction set as QEMU spells it; empty if QEMU has none.
        architecture: String,
        /// The version of the instruction set, as ``ARMv7-M``; empty if the file does not state it.
        instruction_set: String,
        /// The microcontroller as GCC names it, as ``atmega328p``; empty if the file does not state it.
        microcontroller: String,
        /// The kind of program: ``firmware``, ``hosted``, or ``object`` if it is not linked.
        kind: &'static str,
        /// The address of the program's first instruction.
        entry: u64,
        /// The program's sections, by address.
        sections: Vec<ProgramSection>,
        /// The number of its functions with a name.
        functions: u64,
        /// True if it states the source line of each instruction.
        has_lines: bool,
    }
    methods {
        /// Read an ELF file.
        #[staticmethod]
        fn read(path: PathBuf) -> PyResult<Self> {
            program::ProgramFile::read(&path).map(Self).map_err(raise)
        }
    }
}

/// Addresses from the first up to the second.
type Range = (u64, u64);

/// The linked addresses of an ELF file's sections, as pairs of start and end, and the first address
/// of its executable segments; None if it has none.
#[pyfunction]
pub fn linked_ranges(path: PathBuf, sections: Vec<String>) -> PyResult<(Vec<Range>, Option<u64>)> {
    let elf = ElfFile::read(&path).map_err(raise)?;
    let image = elf.place(&path, &sections, 0).map_err(raise)?;
    let range = |section: &flashpager::trace::Section| {
        (section.address, section.address + u64::from(section.bytes))
    };
    Ok((image.sections.iter().map(range).collect(), elf.first_executable()))
}

/// The word of 32 bits that an ELF file stores at an address of flash; None if it stores none there.
#[pyfunction]
pub fn stored_word(path: PathBuf, address: u64) -> PyResult<Option<u32>> {
    program::stored_word(&path, address).map_err(raise)
}

/// The instruction set and build id of an ELF file.
#[pyfunction]
pub fn elf_identity(path: PathBuf) -> PyResult<(String, String)> {
    let elf = ElfFile::read(&path).map_err(raise)?;
    Ok((elf.architecture().to_owned(), elf.build_id().to_owned()))
}
