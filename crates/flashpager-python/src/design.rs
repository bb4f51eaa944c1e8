//! Designs: built from keyword arguments, and checked once.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use flashpager::pager::VictimSearch;
use flashpager::sizes;
use flashpager::spec::{self, AxisKind, DesignSpec, ICacheSpec, TlbSpec, Value};
use flashpager::{Error, board, cost, design};
use pyo3::exceptions::PyTypeError;
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString, PyType};
use pyo3::{type_hint_identifier, type_hint_union};
use pythonize::depythonize;

use crate::faults::FaultTimes;
use crate::seam::{Json, ToPyView, bad_argument, hash, raise, represented, to_python, view};
use crate::trace::TraceInfo;

view! {
    /// Times of the RAM that holds the frames, on the processor's bus; 0 by default.
    Ram = cost::Ram {
        /// Nanoseconds per byte that the processor reads.
        t_read_ns: f64,
        /// Nanoseconds per byte that is written into a frame.
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
    /// Times of the software, in ns: the jobs of a fault as the SWL paper names them, and lookups.
    Handler = cost::Handler {
        /// Time of the lookup at each reference to the page cache.
        lookup_ns: f64,
        /// Time at each true fault to save registers and find the page in flash.
        pre_process_ns: f64,
        /// Time at each true fault to find a frame, without the search.
        get_freeframe_ns: f64,
        /// Time of each frame that the search examines.
        walk_step_ns: f64,
        /// Time of each page that the search moves from valid to invalid.
        downgrade_ns: f64,
        /// Time to command a load, unless the page is loaded ahead.
        load_command_ns: f64,
        /// Time to command a column change, without the time of the bus.
        column_command_ns: f64,
        /// Time to check a tag, without the times of the bus and of the MAC's blocks.
        tag_check_ns: f64,
        /// Time of each 16 bytes that a MAC covers.
        mac_block_ns: f64,
        /// Time to update page table and TLB.
        update_mmu_ns: f64,
        /// Time to restore registers.
        post_process_ns: f64,
        /// Time of each false fault, without the pages that it moves from valid to invalid.
        false_fault_ns: f64,
        /// Measured time to load a flash page into its buffer; None to use the part's t_R.
        load_stopover_ns: Option<f64>,
    }
    methods {
        #[new]
        #[pyo3(signature = (lookup_ns=0.0, pre_process_ns=0.0, get_freeframe_ns=0.0,
            walk_step_ns=0.0, downgrade_ns=0.0, update_mmu_ns=0.0, post_process_ns=0.0,
            false_fault_ns=0.0, load_stopover_ns=None, load_command_ns=0.0,
            column_command_ns=0.0, tag_check_ns=0.0, mac_block_ns=0.0))]
        #[expect(clippy::too_many_arguments, reason = "the times of a handler, by keyword")]
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

        /// The host's time at every true fault, without the search and without the pages that it
        /// moves from valid to invalid.
        #[getter]
        fn fixed_fault_ns(&self) -> f64 {
            self.0.fixed_fault_ns()
        }

        /// The same times with a measured LoadStopover; None to use the part's t_R.
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
    /// The instruction cache of the processor, with its times.
    ICache = ICacheSpec {
        /// Bytes of all lines of the cache.
        size_bytes: u32,
        /// Bytes of a line.
        line_bytes: u32,
        /// Number of lines in a set.
        ways: u32,
        /// Nanoseconds to fetch a word from the cache.
        fetch_ns: f64,
        /// Nanoseconds to refill a line.
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
    /// The TLB behind the instruction cache, with its times.
    Tlb = TlbSpec {
        /// Number of sets.
        sets: u32,
        /// Number of entries in a set.
        ways: u32,
        /// Nanoseconds of a lookup in the TLB.
        lookup_ns: f64,
        /// Nanoseconds to walk the page table if the TLB does not have the page.
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
    /// The size in bytes.
    pub fn bytes(&self) -> u64 {
        self.0
    }

    fn below_4_gib(&self, name: &str) -> PyResult<u32> {
        sizes::below_4_gib(name, self.0).map_err(raise)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Size {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr = type_hint_union!(
        type_hint_identifier!("builtins", "int"),
        type_hint_identifier!("builtins", "str")
    );

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
    /// A parameter of a design that the user left open.
    Assumption = design::Assumption {
        /// The field of the design.
        field: &'static str,
        /// The value that was taken.
        value: String,
        /// The rule that chose the value, in a few words.
        reason: String,
    }
}

/// A design: a part, a bus, a cache and the settings of their use. If bus, register and NOR are not
/// given, they follow from the part; `assumed` lists them.
///
/// >>> Design(part="W25N01GV", cache_bytes="4K", handler=Handler(pre_process_ns=500)).cache_bytes
/// 4096
#[pyclass(frozen, eq, skip_from_py_object, module = "flashpager._engine")]
#[derive(Clone, Default)]
pub struct Design {
    spec: DesignSpec,
    /// The checked design, or the reason why it is impossible. Set at the first use.
    checked: OnceLock<Result<Arc<design::Design>, String>>,
}

impl PartialEq for Design {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec
    }
}

impl ToPyView<DesignSpec> for Design {
    fn view_of(value: &DesignSpec) -> Self {
        Self { spec: value.clone(), checked: OnceLock::new() }
    }
}

impl Design {
    /// The checked design. It is looked up at the first call.
    pub fn checked(&self) -> flashpager::Result<Arc<design::Design>> {
        let look_up = || design::Design::new(self.spec.clone()).map(Arc::new);
        let checked = self.checked.get_or_init(|| look_up().map_err(|error| error.to_string()));
        checked.clone().map_err(Error::Design)
    }

    /// The design's fields, with the open ones filled in.
    fn resolved_spec(&self) -> PyResult<DesignSpec> {
        let spec = &self.spec;
        let is_given =
            [&spec.part, &spec.bus, &spec.register, &spec.nor].iter().all(|s| s.is_some());
        if is_given && (spec.processor.is_some() || spec.architecture.is_none()) {
            return Ok(spec.clone());
        }
        spec.resolved().map(|(resolved, _)| resolved).map_err(raise)
    }

    /// Sets a field to a value from Python.
    fn set(&mut self, name: &str, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let wrong = |expected: &str| {
            let several = spec::axis(name).is_ok()
                && given.try_iter().is_ok()
                && !given.is_instance_of::<PyString>();
            let hint = if several { "; several make a Space" } else { "" };
            let message = format!("{name} must be {expected}, not {}{hint}", given.repr()?);
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
                Ok(kind) if kind.may_be_none() && given.is_none() => {
                    return spec.set(name, Value::Nothing).map_err(raise);
                }
                Ok(AxisKind::Name | AxisKind::NameOrNone) => {
                    return self.set_text(name, given, wrong);
                }
                Ok(_) => {
                    let size = match given.extract::<Size>() {
                        Ok(size) => size.0,
                        Err(error) if error.is_instance_of::<PyTypeError>(given.py()) => {
                            return wrong("a size or text such as 2K");
                        }
                        Err(error) => return Err(error),
                    };
                    return spec.set(name, Value::Size(size)).map_err(raise);
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
        // An unknown name is refused here, and not when the design is checked.
        let checked = match spec::axis(name) {
            Ok(axis) => axis.checked(value).map_err(raise)?,
            Err(_) => value,
        };
        self.spec.set(name, checked).map_err(raise)
    }
}

/// The Python type of a property of a design, by the field and its type in the engine.
macro_rules! property_type {
    (part, $type:ty) => { String };
    (bus, $type:ty) => { String };
    (register, $type:ty) => { String };
    (ram, $type:ty) => { Ram };
    (handler, $type:ty) => { Handler };
    (icache, $type:ty) => { Option<ICache> };
    (tlb, $type:ty) => { Option<Tlb> };
    ($field:ident, $type:ty) => { $type };
}

/// The value of a property of a design. Fields that the user left open are resolved.
macro_rules! property {
    ($design:ident, part) => {
        Ok($design.spec.part_name().to_owned())
    };
    ($design:ident, bus) => {
        $design.resolved_spec().map(|spec| spec.bus.unwrap_or_default())
    };
    ($design:ident, register) => {
        $design.resolved_spec().map(|spec| spec.register.unwrap_or_default())
    };
    ($design:ident, nor) => {
        Ok($design.resolved_spec()?.nor.filter(|nor| nor != spec::NO_NOR))
    };
    ($design:ident, processor) => {
        Ok($design.resolved_spec()?.processor.filter(|name| name != spec::NONE))
    };
    ($design:ident, ram) => {
        Ok(Ram($design.spec.software_times().map_err(raise)?.1))
    };
    ($design:ident, handler) => {
        Ok(Handler($design.spec.software_times().map_err(raise)?.0))
    };
    ($design:ident, icache) => {
        Ok($design.spec.icache.map(ICache))
    };
    ($design:ident, tlb) => {
        Ok($design.spec.tlb.map(Tlb))
    };
    ($design:ident, $field:ident) => {
        Ok(Clone::clone(&$design.spec.$field))
    };
}

/// Makes the methods of `Design`, with a property for each field of the engine's schema.
macro_rules! design_methods {
    ($(
        $(#[doc = $doc:tt])+
        $(#[serde($($serde:tt)*)])?
        $field:ident: $type:ty = $default:expr
        $(, axis { $($axis:tt)* })?;
    )*) => {
        #[pymethods]
        impl Design {
            #[new]
            #[pyo3(signature = (**fields: "Unpack[DesignFields]"))]
            fn new(fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
                Self::default().replace(fields)
            }

            /// Read a board: a shipped one by its name, any other from its file.
            #[staticmethod]
            fn from_board(board: PathBuf) -> PyResult<Self> {
                Board::read(board).map(|board| board.design())
            }

            /// The same design with other values of some fields.
            #[pyo3(signature = (**fields: "Unpack[DesignFields]"))]
            fn replace(&self, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
                let mut design = Self::view_of(&self.spec);
                for (name, given) in fields.into_iter().flatten() {
                    design.set(name.cast::<PyString>()?.to_str()?, &given)?;
                }
                Ok(design)
            }

            /// The same design with other values of axes. A change of the part drops the measured load time.
            #[pyo3(signature = (values: "dict[str, str | int | None]"))]
            fn vary(&self, values: &Bound<'_, PyDict>) -> PyResult<Self> {
                match values.get_item("part")? {
                    Some(part) => self.on_part(part.extract()?).replace(Some(values)),
                    None => self.replace(Some(values)),
                }
            }

            /// The same design on another part, without the measured load time.
            fn on_part(&self, part: &str) -> Self {
                Self::view_of(&self.spec.on_part(part))
            }

            $(
            $(#[doc = $doc])+
            #[getter]
            fn $field(&self) -> PyResult<property_type!($field, $type)> {
                property!(self, $field)
            }
            )*

            /// The design for a trace. A processor that the user left open is the usual one of the trace's
            /// architecture.
            fn for_trace(&self, info: &TraceInfo) -> Self {
                Self::view_of(&self.spec.for_trace(&info.0))
            }

            /// The number of frames in the cache.
            #[getter]
            fn frames(&self) -> u64 {
                self.spec.frames()
            }

            /// The reason why the design is impossible; None if it is possible.
            fn refusal(&self) -> Option<String> {
                self.checked().err().map(|error| error.to_string())
            }

            /// True if flash or bus work while the program runs. A fault's time then depends on the faults
            /// before it, and the design is replayed fault by fault.
            #[getter]
            fn is_executed(&self) -> PyResult<bool> {
                Ok(self.checked().map_err(raise)?.is_executed())
            }

            /// Parameters that the user left open, with the value taken and its reason.
            #[getter]
            fn assumed(&self) -> PyResult<Vec<Assumption>> {
                let assumed = match self.checked() {
                    Ok(checked) => checked.assumed().to_vec(),
                    Err(_) => self.spec.resolved().map_err(raise)?.1,
                };
                Ok(assumed.into_iter().map(Assumption).collect())
            }

            /// Paths of the unchecked numbers that the prices depend on. Those of the NOR part begin with
            /// `nor.`.
            fn unverified(&self) -> PyResult<Vec<String>> {
                Ok(self.checked().map_err(raise)?.unverified())
            }

            /// The reason why the design can have no warm-up; None if it can.
            fn warm_up_refusal(&self) -> PyResult<Option<String>> {
                let checked = self.checked().map_err(raise)?;
                Ok(checked.check_warm_up().err().map(|error| error.to_string()))
            }

            /// The same design with the parameters of its policy: PA-Clock's budget comes from the
            /// handler's times. An impossible design stays as it is.
            fn resolved(&self) -> Self {
                match self.checked() {
                    Ok(checked) => {
                        let policy = checked.cache().policy.to_string();
                        let spec = DesignSpec { policy, ..self.spec.clone() };
                        Self { spec, checked: Ok(checked).into() }
                    }
                    Err(_) => self.clone(),
                }
            }

            /// The times of faults by every schedule, one for each of `walks`, the numbers of frames that a
            /// search examines. Each fault loads its flash page, and moves `downgrades` pages from valid to
            /// invalid.
            fn fault_times(&self, walks: Vec<u32>, downgrades: u32) -> PyResult<Vec<FaultTimes>> {
                let design = self.checked().map_err(raise)?;
                let times = |walk| FaultTimes(design.handler(VictimSearch { walk, downgrades }));
                Ok(walks.into_iter().map(times).collect())
            }

            /// All fields as plain dictionaries, with those that follow from the part filled in.
            fn as_dict(&self, py: Python<'_>) -> PyResult<Json> {
                Json::of(py, &self.resolved_spec()?)
            }

            fn __hash__(&self) -> u64 {
                hash(&self.spec)
            }

            /// A call that makes an equal design. It names the axes and every other field that was given, but
            /// no field that follows from the part.
            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                let usual = Bound::new(slf.py(), Self::default())?;
                let mut fields = Vec::new();
                let spec = &slf.get().spec;
                for field in board::design_fields() {
                    let is_given = match field {
                        "part" => Some(spec.part.is_some()),
                        "bus" => Some(spec.bus.is_some()),
                        "register" => Some(spec.register.is_some()),
                        "nor" => Some(spec.nor.is_some()),
                        "processor" => Some(spec.processor.is_some()),
                        "ram" => Some(spec.ram.is_some()),
                        "handler" => Some(spec.handler.is_some()),
                        _ => None,
                    };
                    let value = slf.getattr(field)?;
                    let is_axis = spec::axis(field).is_ok() && !value.is_none();
                    let differs = || value.eq(usual.getattr(field)?).map(|same| !same);
                    if is_given.map_or_else(|| Ok(is_axis || differs()?), PyResult::Ok)? {
                        fields.push(field);
                    }
                }
                represented(slf, "Design", fields)
            }

            /// Make a design from the fields that `as_dict` returns; for pickles.
            #[classmethod]
            #[pyo3(signature = (fields: "Mapping[str, object]"))]
            fn from_dict(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyAny>) -> PyResult<Self> {
                depythonize::<DesignSpec>(fields).map(|spec| Self::view_of(&spec)).map_err(bad_argument)
            }

            fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
                let rebuild = py.get_type::<Self>().getattr("from_dict")?;
                Ok((rebuild, (to_python(py, &self.spec)?,)))
            }

            /// True if the part is read in place, without loading a page.
            ///
            /// Raises:
            ///     FlashpagerError: for an unknown part.
            #[getter]
            fn is_in_place(&self) -> PyResult<bool> {
                self.spec.is_in_place().map_err(raise)
            }

            /// True if a cache in hardware stands before a part that is read in place.
            ///
            /// Raises:
            ///     FlashpagerError: for an unknown part.
            #[getter]
            fn is_in_hardware(&self) -> PyResult<bool> {
                self.spec.is_in_hardware().map_err(raise)
            }
        }
    };
}
flashpager::design_schema!(design_methods);

/// Group designs into cells, which are replayed together. Each cell is a list of indices.
#[pyfunction]
pub fn cells(designs: Vec<Py<Design>>) -> PyResult<Vec<Vec<usize>>> {
    Ok(design::cells(&checked(&designs).map_err(raise)?))
}

/// The fields of a design, which are the keyword arguments of `Design`.
#[pyfunction]
pub fn design_fields() -> Vec<&'static str> {
    board::design_fields().collect()
}

/// Looks the designs up and checks them; the error is that of the first impossible one.
pub fn checked(designs: &[Py<Design>]) -> flashpager::Result<Vec<Arc<design::Design>>> {
    designs.iter().map(|design| design.get().checked()).collect()
}

view! {
    /// The firmware that runs on a board, described by the facts that an ELF file states.
    BoardFirmware = board::BoardFirmware {
        /// The instruction set, by its name in a trace, as ``arm``.
        architecture: String,
        /// The versions of the instruction set that the processor executes, as ``ARMv6-M``, the newest
        /// first; empty if it executes all.
        instruction_sets: Vec<String>,
        /// The address of the flash's first byte, and the address behind its last byte; None if code
        /// may be linked for any address.
        flash: Option<(u64, u64)>,
    }
}

/// A board, read from its file.
#[pyclass(frozen, skip_from_py_object, module = "flashpager._engine")]
pub struct Board(board::Board);

#[pymethods]
impl Board {
    /// Read a board: a shipped one by its name, any other from its file.
    #[staticmethod]
    fn read(board: PathBuf) -> PyResult<Self> {
        board::Board::read(&board).map(Self).map_err(raise)
    }

    /// The design on the board. Fields that the board does not state are left open.
    #[getter]
    fn design(&self) -> Design {
        Design::view_of(&self.0.design)
    }

    /// All RAM of the microcontroller, in bytes; None if the board does not state it.
    #[getter]
    fn ram_bytes(&self) -> Option<u64> {
        self.0.ram_bytes
    }

    /// The firmware that runs on the board; None if the board does not state it.
    #[getter]
    fn firmware(&self) -> Option<BoardFirmware> {
        self.0.firmware.as_ref().map(BoardFirmware::view_of)
    }

    /// The requirements of the board, as its file has them.
    #[getter]
    fn needs(&self, py: Python<'_>) -> PyResult<Json> {
        Json::of(py, &self.0.needs)
    }

    /// Facts of the board that nobody published, in words.
    #[getter]
    fn unknown(&self) -> Vec<String> {
        self.0.unknown.clone()
    }

    /// The policies that its cache may have, if its maker did not publish the policy.
    #[getter]
    fn policies(&self) -> Vec<String> {
        self.0.policies.iter().map(ToString::to_string).collect()
    }
}

/// The shipped boards: name, summary and kind, which is `board`, `chip` or `model`.
#[pyfunction]
pub fn boards() -> PyResult<Vec<(&'static str, String, &'static str)>> {
    let about = |board: board::ShippedBoard| {
        Ok((board.name, board.summary().map_err(raise)?, board.kind().map_err(raise)?))
    };
    board::shipped().into_iter().map(about).collect()
}

/// The text of the file of a shipped board.
#[pyfunction]
pub fn board_text(name: &str) -> PyResult<&'static str> {
    board::text(name).map_err(raise)
}

/// A TOML file as plain dictionaries and lists.
#[pyfunction]
pub fn read_toml(py: Python<'_>, path: PathBuf) -> PyResult<Json> {
    Json::of(py, &board::read_table(&path).map_err(raise)?)
}
