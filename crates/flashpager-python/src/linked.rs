//! Linked programs: their input sections, orders for linkers, and whether a link obeyed.

use std::path::{Path, PathBuf};

use flashpager::Result;
use flashpager::binary::elf::read_bytes;
use flashpager::binary::link::{self, LinkMap, lines};
use flashpager::layout::pin::LOADED;
use flashpager::linked;
use flashpager::trace::TraceFile;
use pyo3::prelude::*;

use crate::seam::{raise, run, view, views_by_name};
use crate::trace::TraceInfo;

views_by_name!(link::ViolationKind, link::PinFault);

view! {
    /// A unit that does not lie where an order puts it.
    OrderViolation = link::OrderViolation {
        /// Name of the unit in the order or the map.
        name: String,
        /// ``missing``, ``elsewhere``, or ``between``: the order does not name it.
        fault: &'static str,
        /// The unit's linked address; None if the unit is missing.
        address: Option<u64>,
        /// The unit that it follows in the program.
        behind: String,
        /// The unit that it follows in the order.
        wanted_behind: String,
    }
}

view! {
    /// The check that a program was linked in an order.
    CheckedLink = link::CheckedLink {
        /// Number of lines in the order.
        lines: usize,
        /// Number of lines whose address in the program is unknown.
        unseen: usize,
        /// Number of lines that select one of several functions with the same name, as
        /// ``helper@0x360``.
        unclear: usize,
        /// Number of lines that repeat the unit of an earlier line. The earlier line is the one
        /// that is checked.
        repeated: usize,
        /// Number of lines that name several functions.
        several: usize,
        /// The violations of the order.
        disobeyed: Vec<OrderViolation>,
    }
}

/// Check whether the ELF file of a program was linked in the order of a text. The map of the link is
/// optional; it names units that have no symbol.
#[pyfunction]
#[pyo3(signature = (elf, order, map=None))]
pub fn check_link(
    py: Python<'_>,
    elf: PathBuf,
    order: &str,
    map: Option<PathBuf>,
) -> PyResult<CheckedLink> {
    let lines = lines(order);
    let checked =
        of_program(py, &elf, map, |bytes, name, map| link::check(bytes, name, &lines, map))?;
    Ok(CheckedLink(checked))
}

/// Reads a program and the map of its link, and passes its bytes, its name and the map to `check`.
fn of_program<T: Send>(
    py: Python<'_>,
    elf: &Path,
    map: Option<PathBuf>,
    check: impl FnOnce(&[u8], &str, Option<&LinkMap>) -> Result<T> + Send,
) -> PyResult<T> {
    run(
        py,
        |_, ()| Ok(()),
        |_, _| {
            let map = map.as_deref().map(LinkMap::read).transpose()?;
            check(&read_bytes(elf)?, &elf.display().to_string(), map.as_ref())
        },
    )
}

view! {
    /// A unit that does not lie in its slot.
    SlippedUnit = link::SlippedUnit {
        /// Name of the unit in the order or the map.
        name: String,
        /// The unit's linked address.
        address: u64,
        /// The address of its slot.
        slot: u64,
        /// The unit in the slot before, which has outgrown it if ``address`` is above ``slot``;
        /// empty if there is none.
        behind: String,
    }
}

/// The units of a program that do not lie in the slots of an order, as ``layout --slots`` writes it;
/// none if the order has no slots. The map of the link is optional; it names units that have no symbol.
#[pyfunction]
#[pyo3(signature = (elf, order, map=None))]
pub fn check_slots(
    py: Python<'_>,
    elf: PathBuf,
    order: &str,
    map: Option<PathBuf>,
) -> PyResult<Vec<SlippedUnit>> {
    let Some(slots) = link::slot_lines(order) else { return Ok(Vec::new()) };
    let slipped =
        of_program(py, &elf, map, |bytes, name, map| link::check_slots(bytes, name, &slots, map))?;
    Ok(slipped.into_iter().map(SlippedUnit).collect())
}

view! {
    /// A unit that should lie in RAM, and does not or may not.
    UnpinnedUnit = link::UnpinnedUnit {
        /// Name of the unit in the list or the map.
        name: String,
        /// ``missing``, ``in-flash``, or ``perhaps-loaded``: only a loader could put it into RAM.
        fault: &'static str,
        /// The unit's linked address; None if the unit is missing.
        address: Option<u64>,
        /// The section that it lies in; empty if there is none.
        section: String,
    }
}

view! {
    /// The check that the pinned units of a program lie in RAM.
    CheckedPins = link::CheckedPins {
        /// Units in RAM.
        in_ram: usize,
        /// Number of lines whose address in the program is unknown.
        unseen: usize,
        /// Units that do not lie in RAM.
        unpinned: Vec<UnpinnedUnit>,
        /// Sections with units in RAM that are stored right before the code, which they move.
        stored_ahead: Vec<String>,
    }
}

/// Check that the units of a text, as ``pin`` writes it, lie in RAM in the ELF file of a program. The
/// map of the link is optional; it names units that have no symbol.
#[pyfunction]
#[pyo3(signature = (elf, pinned, map=None))]
pub fn check_pinned(
    py: Python<'_>,
    elf: PathBuf,
    pinned: &str,
    map: Option<PathBuf>,
) -> PyResult<CheckedPins> {
    let lines = lines(pinned);
    let checked =
        of_program(py, &elf, map, |bytes, name, map| link::check_pinned(bytes, name, &lines, map))?;
    Ok(CheckedPins(checked))
}

/// Return True for a list of pinned units, as ``pin`` writes it for a linker script, and False for
/// an order.
#[pyfunction]
pub fn is_for_ram(text: &str) -> bool {
    link::is_for_ram(text)
}

view! {
    /// An order for a linker.
    OrderText = link::OrderText {
        /// The contents of the file.
        text: String,
        /// Symbols that several functions have, where the linker lays all of them together.
        ambiguous: Vec<String>,
        /// Units without a symbol, for linkers that order symbols: these follow all others.
        nameless: usize,
    }
}

view! {
    /// A profile of a program by line, in the format that LLVM's compilers read.
    SampleProfile = flashpager::binary::sample_profile::SampleProfile {
        /// The contents of the file.
        text: String,
        /// Number of functions in the profile.
        functions: usize,
        /// Number of functions that are left out, as they have no sample or no lines.
        left_out: usize,
    }
}

/// Profile the program of a trace by the lines of its file, or of ``elf``.
#[pyfunction]
#[pyo3(signature = (trace, elf=None))]
pub fn sample_profile(
    py: Python<'_>,
    trace: PathBuf,
    elf: Option<PathBuf>,
) -> PyResult<SampleProfile> {
    let made = run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| {
            flashpager::sample_profile::sample_profile(&trace, elf, &should_continue)
        },
    )?;
    Ok(SampleProfile(made))
}

/// A profile of a Java program by parts of methods. Each line has a method's name, its bytes of code,
/// the start and end of a part, and its number of executions.
#[pyfunction]
pub fn method_profile(py: Python<'_>, trace: PathBuf) -> PyResult<String> {
    run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| flashpager::sample_profile::method_profile(&trace, &should_continue),
    )
}

/// The formats of an order; the first is the default.
#[pyfunction]
pub fn order_formats() -> Vec<&'static str> {
    linked::OrderFormat::ALL.iter().map(|(name, _)| *name).collect()
}

view! {
    /// A list of units to place in RAM.
    PinText = link::PinText {
        /// The contents of the file.
        text: String,
        /// Sections of other objects that have the same name, and go to RAM, too.
        ambiguous: Vec<String>,
        /// Units that the format cannot express, and so are not in the text.
        left_out: Vec<String>,
    }
}

/// The formats of a list of pinned units; the first is the default.
#[pyfunction]
pub fn pin_formats() -> Vec<&'static str> {
    link::PinFormat::ALL.iter().map(|(name, _)| *name).collect()
}

/// The value of ``copied_before`` that a format of pinned units needs; None if the start-up code of
/// the program copies the units to RAM.
#[pyfunction]
pub fn pin_copied_before(format: &str) -> PyResult<Option<&'static str>> {
    let format: link::PinFormat = format.parse().map_err(raise)?;
    Ok(format.is_loaded().then_some(LOADED))
}

/// The input sections of a program in flash, by the map of its link.
#[pyclass(frozen, skip_from_py_object, module = "flashpager._engine")]
pub struct Linked {
    linked: linked::LinkedProgram,
    trace: PathBuf,
}

/// An order of input sections.
#[pyclass(frozen, skip_from_py_object, module = "flashpager._engine")]
pub struct LinkOrder(linked::NamedOrder);

#[pymethods]
impl LinkOrder {
    /// Units that the order names; the others follow in the recorded order.
    #[getter]
    fn units(&self) -> usize {
        self.0.units
    }

    /// The number of units that have a slot.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots.as_ref().map_or(0, |slots| slots.offsets.len())
    }

    /// Lines that name no unit.
    #[getter]
    fn unknown(&self) -> Vec<String> {
        self.0.unknown.clone()
    }

    /// Lines that name only what a line before them does, which counts.
    #[getter]
    fn repeated(&self) -> Vec<String> {
        self.0.repeated.clone()
    }

    fn __repr__(&self) -> String {
        format!("LinkOrder(units={}, unknown={:?})", self.0.units, self.0.unknown)
    }
}

#[pymethods]
impl Linked {
    /// Take a trace and the map of the link of what was recorded.
    #[new]
    fn new(py: Python<'_>, trace: PathBuf, map: PathBuf) -> PyResult<Self> {
        let linked = run(
            py,
            |_, ()| Ok(()),
            |_, _| linked::LinkedProgram::of(TraceFile::open(&trace)?.info(), &map),
        )?;
        Ok(Self { linked, trace })
    }

    /// Input sections that move, by name, as they lie.
    #[getter]
    fn movable(&self) -> Vec<String> {
        let units = self.linked.units();
        let numbers = units.movable().iter();
        numbers.map(|number| units.all()[*number as usize].name.clone()).collect()
    }

    /// Input sections that stay, by name, as they lie.
    #[getter]
    fn fixed(&self) -> Vec<String> {
        let units = self.linked.units().all().iter().filter(|unit| unit.fixed);
        units.map(|unit| unit.name.clone()).collect()
    }

    /// True if the linker made code shorter, so that lengths depend on the order.
    #[getter]
    fn is_relaxed(&self) -> bool {
        self.linked.is_relaxed()
    }

    /// The order of the lines of a file: names of units, a fragment of a linker script, or
    /// symbols.
    fn order(&self, text: &str) -> PyResult<LinkOrder> {
        self.linked.order_of_text(text).map(LinkOrder).map_err(raise)
    }

    /// The names of the movable units of which the trace executes something.
    fn executed(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        run(
            py,
            |_, ()| Ok(()),
            |should_continue, _| {
                self.linked.executed(&TraceFile::open(&self.trace)?, &should_continue)
            },
        )
    }

    /// The order of the units named, in which each unit of ``hot`` has a slot with ``slack_bytes``
    /// free behind it.
    fn in_slots(
        &self,
        names: Vec<String>,
        hot: Vec<String>,
        slack_bytes: u32,
    ) -> PyResult<LinkOrder> {
        self.linked.in_slots(&names, &hot, slack_bytes).map(LinkOrder).map_err(raise)
    }

    /// The order with the slots that still fit, the number of these, and the names of the units that
    /// got others. Units of ``hot`` without a slot get one.
    fn refreshed(
        &self,
        order: &LinkOrder,
        hot: Vec<String>,
        slack_bytes: u32,
    ) -> PyResult<(LinkOrder, usize, Vec<String>)> {
        let fresh = self.linked.refreshed(&order.0, &hot, slack_bytes).map_err(raise)?;
        Ok((LinkOrder(fresh.order), fresh.kept, fresh.moved))
    }

    /// ``order`` in a format of ``order_formats()``.
    fn text(&self, order: &LinkOrder, format: &str) -> PyResult<OrderText> {
        let format = format.parse().map_err(raise)?;
        self.linked.text(&order.0, format).map(OrderText).map_err(raise)
    }

    /// The units of these names, which are to lie in RAM, in a format of ``pin_formats()``.
    fn pin_text(&self, names: Vec<String>, format: &str) -> PyResult<PinText> {
        let format = format.parse().map_err(raise)?;
        self.linked.pin_text(&names, format).map(PinText).map_err(raise)
    }

    /// The order of the units that stay in flash if those named ``pinned`` leave it, in a format of
    /// ``order_formats()``. Units that ``order`` does not name follow in the recorded order.
    fn text_beside(
        &self,
        pinned: Vec<String>,
        order: Vec<String>,
        format: &str,
    ) -> PyResult<OrderText> {
        let format = format.parse().map_err(raise)?;
        self.linked.text_beside(&pinned, &order, format).map(OrderText).map_err(raise)
    }

    /// Lines for a linker script that place the units ``names`` in this order if those named ``pinned``
    /// leave the flash image. Each unit of ``hot`` has a slot with ``slack_bytes`` free behind it.
    fn slot_text_beside(
        &self,
        pinned: Vec<String>,
        names: Vec<String>,
        hot: Vec<String>,
        slack_bytes: u32,
    ) -> PyResult<OrderText> {
        let text = self.linked.slot_text_beside(&pinned, &names, &hot, slack_bytes);
        text.map(OrderText).map_err(raise)
    }

    /// Lines for a linker script that keep the recorded order, with the places of the units ``pinned``
    /// empty.
    fn text_with_holes(&self, pinned: Vec<String>) -> PyResult<OrderText> {
        self.linked.text_with_holes(&pinned).map(OrderText).map_err(raise)
    }

    /// Write the trace of the same execution with the program laid out in ``order``. Returns its
    /// description.
    fn arrange(&self, py: Python<'_>, output: PathBuf, order: &LinkOrder) -> PyResult<TraceInfo> {
        let info = run(
            py,
            |_, ()| Ok(()),
            |should_continue, _| {
                let trace = TraceFile::open(&self.trace)?;
                self.linked.arrange_file(&trace, &output, &order.0, &should_continue)
            },
        )?;
        Ok(TraceInfo(info))
    }

    fn __repr__(&self) -> String {
        format!("Linked({:?}, {:?})", self.trace, self.linked.map().path())
    }
}
