//! Designs: as they are asked for, checked once, and what can be varied in them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use flashpager::pager::VictimSearch;
use flashpager::sizes;
use flashpager::spec::{self, AxisKind, DesignSpec, ICacheSpec, TlbSpec, Value};
use flashpager::{Error, board, cost, design};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString, PyType};
use pythonize::depythonize;

use crate::faults::FaultTimes;
use crate::seam::{ToPyView, bad_argument, hash, raise, represented, to_python, view};

view! {
    /// The RAM that holds the frames, on the processor's bus; times of a byte. By default that
    /// of the CARDIS smart card.
    Ram = cost::Ram {
        /// To the processor.
        t_read_ns: f64,
        /// Into a frame.
        t_write_ns: f64,
    }
    methods {
        #[new]
        #[pyo3(signature = (t_read_ns=None, t_write_ns=None))]
        fn new(t_read_ns: Option<f64>, t_write_ns: Option<f64>) -> Self {
            let default = cost::Ram::default();
            Self(cost::Ram {
                t_read_ns: t_read_ns.unwrap_or(default.t_read_ns),
                t_write_ns: t_write_ns.unwrap_or(default.t_write_ns),
            })
        }
    }
}

view! {
    /// What software adds, in ns: the jobs of a fault as the SWL paper names them, and lookups.
    Handler = cost::Handler {
        /// Of each reference to the page cache.
        lookup_ns: f64,
        /// Of each true fault: saving registers, finding the page in flash.
        pre_process_ns: f64,
        /// Finding a frame, but for the search.
        get_freeframe_ns: f64,
        /// Of each frame looked at.
        walk_step_ns: f64,
        /// Of each page moved from valid to invalid.
        downgrade_ns: f64,
        /// Of each load that is asked for: commanding it.
        load_command_ns: f64,
        /// Of each column change, beside the bus.
        column_command_ns: f64,
        /// Of each tag that is checked, beside the bus and the blocks of its MAC.
        tag_check_ns: f64,
        /// Of each 16 bytes of which a MAC is taken.
        mac_block_ns: f64,
        /// Page table and TLB.
        update_mmu_ns: f64,
        /// Restoring registers.
        post_process_ns: f64,
        /// Of each false fault, but for pages it moves down.
        false_fault_ns: f64,
        /// The flash page into its buffer, as measured; None for the part's t_R.
        load_stopover_ns: Option<f64>,
    }
    methods {
        #[new]
        #[pyo3(signature = (lookup_ns=0.0, pre_process_ns=0.0, get_freeframe_ns=0.0,
            walk_step_ns=0.0, downgrade_ns=0.0, update_mmu_ns=0.0, post_process_ns=0.0,
            false_fault_ns=0.0, load_stopover_ns=None, load_command_ns=0.0,
            column_command_ns=0.0, tag_check_ns=0.0, mac_block_ns=0.0))]
        #[expect(clippy::too_many_arguments, reason = "as many times as a handler has")]
        fn new(
            lookup_ns: f64,
            pre_process_ns: f64,
            get_freeframe_ns: f64,
            walk_step_ns: f64,
            downgrade_ns: f64,
            update_mmu_ns: f64,
            post_process_ns: f64,
            false_fault_ns: f64,
            load_stopover_ns: Option<f64>,
            load_command_ns: f64,
            column_command_ns: f64,
            tag_check_ns: f64,
            mac_block_ns: f64,
        ) -> Self {
            Self(cost::Handler {
                lookup_ns,
                pre_process_ns,
                get_freeframe_ns,
                walk_step_ns,
                downgrade_ns,
                update_mmu_ns,
                post_process_ns,
                false_fault_ns,
                load_stopover_ns,
                load_command_ns,
                column_command_ns,
                tag_check_ns,
                mac_block_ns,
            })
        }

        /// What the host does for every true fault, whatever it searches and moves down.
        #[getter]
        fn fixed_fault_ns(&self) -> f64 {
            self.0.fixed_fault_ns()
        }

        /// The same with a LoadStopover as measured; None for the part's t_R.
        fn with_load_stopover(&self, load_stopover_ns: Option<f64>) -> Self {
            Self(cost::Handler { load_stopover_ns, ..self.0 })
        }

        /// All times by name, 0 where nothing was measured.
        fn times(&self) -> Vec<(&'static str, f64)> {
            self.0.times().to_vec()
        }
    }
}

view! {
    /// The processor's instruction cache, with times of a word out of it and of a line into it.
    ICache = ICacheSpec {
        /// Bytes of all lines.
        size_bytes: u32,
        /// Bytes of a line.
        line_bytes: u32,
        /// Lines of a set.
        ways: u32,
        /// A word out of it.
        fetch_ns: f64,
        /// A line into it.
        refill_ns: f64,
    }
    methods {
        #[new]
        fn new(
            size_bytes: Size,
            line_bytes: Size,
            ways: u32,
            fetch_ns: f64,
            refill_ns: f64,
        ) -> PyResult<Self> {
            let (size_bytes, line_bytes) = (size_bytes.below_4_gib("size_bytes")?, line_bytes.below_4_gib("line_bytes")?);
            Ok(Self(ICacheSpec { size_bytes, line_bytes, ways, fetch_ns, refill_ns }))
        }
    }
}

view! {
    /// The TLB behind it, with the times of asking it and of the page table it does without.
    Tlb = TlbSpec {
        /// Sets.
        sets: u32,
        /// Entries of a set.
        ways: u32,
        /// Asking it.
        lookup_ns: f64,
        /// The page table, where it does not know the page.
        page_walk_ns: f64,
    }
    methods {
        #[new]
        fn new(sets: u32, ways: u32, lookup_ns: f64, page_walk_ns: f64) -> Self {
            Self(TlbSpec { sets, ways, lookup_ns, page_walk_ns })
        }
    }
}

/// A size in bytes, given as a number or as text such as `2K`.
pub struct Size(u64);

impl Size {
    /// The number.
    pub fn bytes(&self) -> u64 {
        self.0
    }

    fn below_4_gib(&self, name: &str) -> PyResult<u32> {
        sizes::below_4_gib(name, self.0).map_err(raise)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Size {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let is_number = given.is_instance_of::<PyInt>() && !given.is_instance_of::<PyBool>();
        if !is_number && !given.is_instance_of::<PyString>() {
            let message = format!("must be a size or text such as 2K, not {}", given.repr()?);
            return Err(PyTypeError::new_err(message));
        }
        sizes::parse_size(&given.str()?.to_string_lossy()).map(Self).map_err(raise)
    }
}

/// The bytes of a size: a number, or text with an optional K, M or G (powers of 1024).
#[pyfunction]
pub fn parse_size(size: Size) -> u64 {
    size.0
}

view! {
    /// A value of a design that nobody said.
    Assumption = design::Assumption {
        /// The field.
        field: &'static str,
        /// What was taken.
        value: String,
        /// Why, in a few words.
        reason: String,
    }
}

/// A part, a bus, a cache and how they are used. Bus, register and NOR that are not given follow
/// from the part; `assumed` tells them.
///
/// >>> Design(part="W25N01GV", cache_bytes="4K", handler=Handler(pre_process_ns=500)).cache_bytes
/// 4096
#[pyclass(frozen, skip_from_py_object, module = "flashpager._engine")]
#[derive(Clone, Default)]
pub struct Design {
    spec: DesignSpec,
    /// Looked up when it is first needed, and kept.
    checked: OnceLock<Result<Arc<design::Design>, String>>,
}

impl ToPyView<DesignSpec> for Design {
    fn view_of(value: &DesignSpec) -> Self {
        Self { spec: value.clone(), checked: OnceLock::new() }
    }
}

impl Design {
    /// The design looked up and checked, once.
    pub fn checked(&self) -> flashpager::Result<Arc<design::Design>> {
        let look_up = || design::Design::new(self.spec.clone()).map(Arc::new);
        let checked = self.checked.get_or_init(|| look_up().map_err(|error| error.to_string()));
        checked.clone().map_err(Error::Design)
    }

    /// The design as written down, with what was not said.
    fn resolved_spec(&self) -> PyResult<DesignSpec> {
        let spec = &self.spec;
        let is_said =
            [&spec.part, &spec.bus, &spec.register, &spec.nor].iter().all(|s| s.is_some());
        if is_said {
            return Ok(spec.clone());
        }
        spec.resolved().map(|(resolved, _)| resolved).map_err(raise)
    }

    /// Set a field as Python gives it.
    fn set(&mut self, name: &str, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let wrong = |what: &str| {
            let several = spec::axis(name).is_ok()
                && given.try_iter().is_ok()
                && !given.is_instance_of::<PyString>();
            let hint = if several { "; several make a Space" } else { "" };
            let message = format!("{name} must be {what}, not {}{hint}", given.repr()?);
            Err(PyTypeError::new_err(message))
        };
        let spec = &mut self.spec;
        match name {
            "ram" => match given.cast::<Ram>() {
                Ok(ram) => spec.ram = Some(ram.get().0),
                Err(_) if given.is_none() => spec.ram = None,
                Err(_) => return wrong("a Ram"),
            },
            "handler" => match given.cast::<Handler>() {
                Ok(handler) => spec.handler = Some(handler.get().0),
                Err(_) if given.is_none() => spec.handler = None,
                Err(_) => return wrong("a Handler"),
            },
            "icache" => match given.cast::<ICache>() {
                Ok(icache) => spec.icache = Some(icache.get().0),
                Err(_) if given.is_none() => spec.icache = None,
                Err(_) => return wrong("an ICache"),
            },
            "tlb" => match given.cast::<Tlb>() {
                Ok(tlb) => spec.tlb = Some(tlb.get().0),
                Err(_) if given.is_none() => spec.tlb = None,
                Err(_) => return wrong("a Tlb"),
            },
            "count_commands" | "clip_bus" => match given.cast::<PyBool>() {
                Ok(flag) => return spec.set(name, Value::Flag(flag.is_true())).map_err(raise),
                Err(_) => return wrong("True or False"),
            },
            "nor" if given.is_none() => {
                return spec.set(name, Value::Nothing).map_err(raise);
            }
            "nor" => return self.set_text("nor", given, wrong),
            _ => match spec::axis(name).map(|axis| axis.kind) {
                Ok(AxisKind::TextOrNone) if given.is_none() => {
                    return spec.set(name, Value::Nothing).map_err(raise);
                }
                Ok(AxisKind::Text | AxisKind::TextOrNone) => {
                    return self.set_text(name, given, wrong);
                }
                Ok(kind) => {
                    let value = match (kind, given.is_none()) {
                        (AxisKind::SizeOrNone, true) => Value::Nothing,
                        _ => match given.extract::<Size>() {
                            Ok(size) => Value::Size(size.0),
                            Err(error) if error.is_instance_of::<PyTypeError>(given.py()) => {
                                return wrong("a size or text such as 2K");
                            }
                            Err(error) => return Err(error),
                        },
                    };
                    return spec.set(name, value).map_err(raise);
                }
                Err(_) => {
                    let known: Vec<&str> = board::design_fields().collect();
                    let known = known.join(", ");
                    let message = format!("a design has no field {name} (known: {known})");
                    return Err(PyTypeError::new_err(message));
                }
            },
        }
        Ok(())
    }

    fn set_text(
        &mut self,
        name: &str,
        given: &Bound<'_, PyAny>,
        wrong: impl Fn(&str) -> PyResult<()>,
    ) -> PyResult<()> {
        let Ok(text) = given.cast::<PyString>() else { return wrong("text") };
        let value = Value::Text(text.to_string());
        // A name that nobody knows is refused where it stands.
        let checked = match spec::axis(name) {
            Ok(axis) => axis.checked(value).map_err(raise)?,
            Err(_) => value,
        };
        self.spec.set(name, checked).map_err(raise)
    }
}

#[pymethods]
impl Design {
    #[new]
    #[pyo3(signature = (**fields))]
    fn new(fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::default().replace(fields)
    }

    /// Read a board: a shipped one by its name, any other from its file.
    #[staticmethod]
    fn from_board(board: PathBuf) -> PyResult<Self> {
        Board::read(board).map(|board| board.design())
    }

    /// The same design with other values of some fields.
    #[pyo3(signature = (**fields))]
    fn replace(&self, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut design = Self::view_of(&self.spec);
        for (name, given) in fields.into_iter().flatten() {
            design.set(name.cast::<PyString>()?.to_str()?, &given)?;
        }
        Ok(design)
    }

    /// The same with other values of axes; of another part nobody measured a load.
    fn vary(&self, values: &Bound<'_, PyDict>) -> PyResult<Self> {
        match values.get_item("part")? {
            Some(part) => self.on_part(part.extract()?).replace(Some(values)),
            None => self.replace(Some(values)),
        }
    }

    /// The same on another part, of which nobody measured a load.
    fn on_part(&self, part: &str) -> Self {
        Self::view_of(&self.spec.on_part(part))
    }

    /// A part of the catalog, or a TOML file.
    #[getter]
    fn part(&self) -> &str {
        self.spec.part_name()
    }

    /// Clock and data lines, as `33MHz-x8`.
    #[getter]
    fn bus(&self) -> PyResult<String> {
        self.resolved_spec().map(|spec| spec.bus.unwrap_or_default())
    }

    /// Whether a bus may be faster or wider than the part, which is then read at its own pace.
    #[getter]
    fn clip_bus(&self) -> bool {
        self.spec.clip_bus
    }

    /// RAM for frames.
    #[getter]
    fn cache_bytes(&self) -> u64 {
        self.spec.cache_bytes
    }

    /// A cache page, a power of two.
    #[getter]
    fn cache_page_bytes(&self) -> u32 {
        self.spec.cache_page_bytes
    }

    /// A flash page; the part's own if None.
    #[getter]
    fn flash_page_bytes(&self) -> Option<u32> {
        self.spec.flash_page_bytes
    }

    /// How the data register is read.
    #[getter]
    fn register(&self) -> PyResult<String> {
        self.resolved_spec().map(|spec| spec.register.unwrap_or_default())
    }

    /// With host ECC, what is fetched and checked whole.
    #[getter]
    fn codeword_bytes(&self) -> Option<u32> {
        self.spec.codeword_bytes
    }

    /// With authentication, bytes of the tag of what is fetched.
    #[getter]
    fn tag_bytes(&self) -> Option<u32> {
        self.spec.tag_bytes
    }

    /// Who is evicted.
    #[getter]
    fn policy(&self) -> &str {
        &self.spec.policy
    }

    /// Ways of a set of a cache in hardware; None for frames in software.
    #[getter]
    fn ways(&self) -> Option<u32> {
        self.spec.ways
    }

    /// Lines that a prefetch buffer takes in ahead; None without one.
    #[getter]
    fn prefetch_lines(&self) -> Option<u32> {
        self.spec.prefetch_lines
    }

    /// When the program goes on at a miss: `whole`, `early-restart` or `critical-word-first`.
    #[getter]
    fn line_fetch(&self) -> &str {
        &self.spec.line_fetch
    }

    /// How a part that is read in place is read, as `1-4-4`; None for the fastest way.
    #[getter]
    fn read_mode(&self) -> Option<&str> {
        self.spec.read_mode.as_deref()
    }

    /// The NOR part to compare with.
    #[getter]
    fn nor(&self) -> PyResult<Option<String>> {
        Ok(self.resolved_spec()?.nor.filter(|nor| nor != spec::NO_NOR))
    }

    /// Times of the RAM: as given, or what the processor takes to copy into it.
    #[getter]
    fn ram(&self) -> PyResult<Ram> {
        Ok(Ram(self.spec.software_times().map_err(raise)?.1))
    }

    /// Times of the software: as given, or the processor's fault path.
    #[getter]
    fn handler(&self) -> PyResult<Handler> {
        Ok(Handler(self.spec.software_times().map_err(raise)?.0))
    }

    /// Who executes, as `cortex-m3@64MHz`; None for the times of the memories alone.
    #[getter]
    fn processor(&self) -> Option<&str> {
        self.spec.processor.as_deref()
    }

    /// Whether a load costs its command, address and status cycles, too; the papers leave them
    /// out.
    #[getter]
    fn count_commands(&self) -> bool {
        self.spec.count_commands
    }

    /// What of a fault goes on at once: `sequential`, `parallel` and others.
    #[getter]
    fn schedule(&self) -> &str {
        &self.spec.schedule
    }

    /// `hardware`, or `emulated` by the valid bit, which costs false faults.
    #[getter]
    fn reference_bit(&self) -> &str {
        &self.spec.reference_bit
    }

    /// What of a page is transferred before the program goes on; None for all of it.
    #[getter]
    fn critical_block_bytes(&self) -> Option<u32> {
        self.spec.critical_block_bytes
    }

    /// The instruction cache in front of the page cache, if there is one.
    #[getter]
    fn icache(&self) -> Option<ICache> {
        self.spec.icache.map(ICache)
    }

    /// The TLB between both, if there is one.
    #[getter]
    fn tlb(&self) -> Option<Tlb> {
        self.spec.tlb.map(Tlb)
    }

    /// Frames in the cache.
    #[getter]
    fn frames(&self) -> u64 {
        self.spec.frames()
    }

    /// Why the design cannot be; None if it can.
    fn refusal(&self) -> Option<String> {
        self.checked().err().map(|error| error.to_string())
    }

    /// Whether flash or bus go on while the program runs, so that no fault's time is its own.
    #[getter]
    fn is_executed(&self) -> PyResult<bool> {
        Ok(self.checked().map_err(raise)?.is_executed())
    }

    /// What nobody said, and why it is so.
    #[getter]
    fn assumed(&self) -> PyResult<Vec<Assumption>> {
        let assumed = match self.checked() {
            Ok(checked) => checked.assumed().to_vec(),
            Err(_) => self.spec.resolved().map_err(raise)?.1,
        };
        Ok(assumed.into_iter().map(Assumption).collect())
    }

    /// Numbers that nobody checked and that the prices depend on: by their path in the part, or,
    /// behind `nor.`, in the NOR part.
    fn unverified(&self) -> PyResult<Vec<String>> {
        Ok(self.checked().map_err(raise)?.unverified())
    }

    /// Why what follows a warm-up cannot be told of it; None where it can.
    fn warm_up_refusal(&self) -> PyResult<Option<String>> {
        let checked = self.checked().map_err(raise)?;
        Ok(checked.check_warm_up().err().map(|error| error.to_string()))
    }

    /// The same with the parameters of its policy: PA-Clock's budget comes from the handler's
    /// times. A design that cannot be stays as it is.
    fn settled(&self) -> Self {
        match self.checked() {
            Ok(checked) => {
                let policy = checked.cache().policy.to_string();
                let spec = DesignSpec { policy, ..self.spec.clone() };
                Self { spec, checked: Ok(checked).into() }
            }
            Err(_) => self.clone(),
        }
    }

    /// What a fault takes that loads its flash page, looks at each of `walks` frames and moves
    /// `downgrades` pages down, by every schedule.
    fn fault_times(&self, walks: Vec<u32>, downgrades: u32) -> PyResult<Vec<FaultTimes>> {
        let design = self.checked().map_err(raise)?;
        let times = |walk| FaultTimes(design.handler(VictimSearch { walk, downgrades }));
        Ok(walks.into_iter().map(times).collect())
    }

    /// All fields as plain dictionaries, with what was not said.
    fn as_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        to_python(py, &self.resolved_spec()?)
    }

    fn __hash__(&self) -> u64 {
        hash(&self.spec)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().spec == self.spec)
    }

    /// As it can be typed: what was said of it, and the rest of what can be varied but what follows
    /// from the part.
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let usual = Bound::new(slf.py(), Self::default())?;
        let mut fields = Vec::new();
        let spec = &slf.get().spec;
        for field in board::design_fields() {
            let is_said = match field {
                "part" => Some(spec.part.is_some()),
                "bus" => Some(spec.bus.is_some()),
                "register" => Some(spec.register.is_some()),
                "nor" => Some(spec.nor.is_some()),
                "ram" => Some(spec.ram.is_some()),
                "handler" => Some(spec.handler.is_some()),
                _ => None,
            };
            let value = slf.getattr(field)?;
            let is_axis = spec::axis(field).is_ok() && !value.is_none();
            let differs = || value.eq(usual.getattr(field)?).map(|same| !same);
            if is_said.map_or_else(|| Ok(is_axis || differs()?), PyResult::Ok)? {
                fields.push(field);
            }
        }
        represented(slf, "Design", fields)
    }

    /// A design of the fields that `as_dict` gives; for pickles.
    #[classmethod]
    fn from_dict(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyAny>) -> PyResult<Self> {
        depythonize::<DesignSpec>(fields).map(|spec| Self::view_of(&spec)).map_err(bad_argument)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        let rebuild = py.get_type::<Self>().getattr("from_dict")?;
        Ok((rebuild, (to_python(py, &self.spec)?,)))
    }
}

/// Which of the designs are replayed together as a cell, by their places.
#[pyfunction]
pub fn cells(designs: Vec<Py<Design>>) -> PyResult<Vec<Vec<usize>>> {
    Ok(design::cells(&checked(&designs).map_err(raise)?))
}

/// The designs looked up; the first that cannot be is the error.
pub fn checked(designs: &[Py<Design>]) -> flashpager::Result<Vec<Arc<design::Design>>> {
    designs.iter().map(|design| design.get().checked()).collect()
}

/// A board, read.
#[pyclass(frozen, skip_from_py_object, module = "flashpager._engine")]
pub struct Board(board::Board);

#[pymethods]
impl Board {
    /// Read a board: a shipped one by its name, any other from its file.
    #[staticmethod]
    fn read(board: PathBuf) -> PyResult<Self> {
        board::Board::read(&board).map(Self).map_err(raise)
    }

    /// What it says of a design; the rest is not said.
    #[getter]
    fn design(&self) -> Design {
        Design::view_of(&self.0.design)
    }

    /// RAM of its microcontroller, all of it, in bytes.
    #[getter]
    fn ram_bytes(&self) -> Option<u64> {
        self.0.ram_bytes
    }

    /// What a design on it must do, as it is written.
    #[getter]
    fn needs(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        to_python(py, &self.0.needs)
    }

    /// What nobody published of it, in words.
    #[getter]
    fn unknown(&self) -> Vec<String> {
        self.0.unknown.clone()
    }

    /// The policies that its cache may have, where its maker does not say.
    #[getter]
    fn policies(&self) -> Vec<String> {
        self.0.policies.iter().map(ToString::to_string).collect()
    }
}

/// The shipped boards: name, and what each says of itself in a sentence.
#[pyfunction]
pub fn boards() -> PyResult<Vec<(&'static str, String)>> {
    let about = |board: board::ShippedBoard| Ok((board.name, board.summary().map_err(raise)?));
    board::shipped().into_iter().map(about).collect()
}

/// The file of a shipped board, as it is written.
#[pyfunction]
pub fn board_text(name: &str) -> PyResult<&'static str> {
    board::text(name).map_err(raise)
}

/// A TOML file as plain dictionaries and lists.
#[pyfunction]
pub fn read_toml(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    to_python(py, &board::read_table(&path).map_err(raise)?)
}
