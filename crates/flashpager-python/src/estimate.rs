//! Estimates: the speed of a medium on a host, and where the time goes.

use flashpager::board::{self, BoardEstimate, BoardHost};
use flashpager::estimate::{self as engine, CostSource, RemedyKind, StageKind, UnknownParameter};
use flashpager::media::operation::{self, OperationKind, StepKind};
use pyo3::prelude::*;

use crate::driver::CopyLoop;
use crate::host::{Dma, Host, Memory, Peripheral, Processor, Software};
use crate::seam::{FlashpagerError, ToPyView, raise, view, views_by_name};

views_by_name!(RemedyKind, StageKind, StepKind, CostSource, UnknownParameter, OperationKind);

view! {
    /// A layer of software above the driver, in the direction of the operation.
    PricedLayer = engine::Layer {
        /// Name of the layer.
        name: String,
        /// Share of the driver's rate that remains above the layer; None if it is unknown.
        share: Option<f64>,
        /// Rate measured through the layer; None if it was not measured.
        bytes_per_s: Option<f64>,
    }
}

view! {
    /// A host as an operation was priced on it: in one direction, the driver's loop counted.
    PricedHost = engine::Host {
        /// The bus to the medium.
        bus: Option<String>,
        /// A port that divides its clock.
        peripheral: Option<Peripheral>,
        /// The RAM.
        memory: Option<Memory>,
        /// The processor.
        processor: Option<Processor>,
        /// The driver's loop.
        software: Option<Software>,
        /// Time of the driver for an operation, outside of its loop; None if unknown.
        operation_ns: Option<f64>,
        /// The DMA that moves the data; None if the processor moves it.
        dma: Option<Dma>,
        /// True if the processor moves the data by a loop whose code is unknown.
        copied: bool,
        /// The system that drives the medium.
        system: Option<&'static str>,
        /// Name of a measured host that resembles this one.
        like: Option<String>,
        /// The chip's array time as a share of its datasheet's.
        array_share: Option<f64>,
        /// The layers above the driver, the lowest first.
        layers: Vec<PricedLayer>,
    }
}

view! {
    /// The inputs of an estimate.
    EstimateSpec = engine::EstimateSpec {
        /// A part of the catalog, or a TOML file.
        part: String,
        /// The operation.
        operation: Option<String>,
        /// Bytes over the bus; None for as many as the operation usually moves.
        bytes: Option<u64>,
        /// The mode in which data comes over the bus; None for the part's usual one.
        mode: Option<String>,
        /// True if the waits t_WB and t_ADL are counted.
        waits: bool,
        /// Bytes of a cache page, for the energy of a page fault.
        cache_page_bytes: Option<u32>,
        /// Bytes of a page, if other than the part's.
        page_bytes: Option<u32>,
        /// Data lines of part and bus, if other than the part's.
        width_bits: Option<u32>,
        /// The host.
        host: PricedHost,
        /// A source of measured hosts that was left out of the assumptions.
        without: Option<String>,
    }
}

view! {
    /// A step of an operation.
    OperationStep = operation::OperationStep {
        /// Name of the step, as `command 30h`.
        name: String,
        /// Composition of its time, in the datasheet's names.
        formula: String,
        /// Kind of the step: `command`, `wait`, `busy`, `transfer` or `hidden`.
        kind: &'static str,
        /// Time of the step.
        ns: f64,
        /// Bytes that it moves.
        bytes: u64,
        /// The longest time measured; None if the time does not vary.
        longest_ns: Option<f64>,
    }
}

view! {
    /// An operation, composed of steps.
    Operation = operation::Operation {
        /// Name of the operation.
        kind: &'static str,
        /// The mode in which data came over the bus; None if the part has one mode only.
        mode: Option<String>,
        /// The steps, in order.
        steps: Vec<OperationStep>,
        /// Bytes of user data among those moved.
        data_bytes: u64,
        /// Waits that the flash-media article leaves out.
        left_out: Vec<OperationStep>,
    }
    methods {
        /// Bytes over the bus.
        #[getter]
        fn bytes(&self) -> u64 {
            self.0.bytes()
        }

        /// Time of all steps.
        #[getter]
        fn ns(&self) -> f64 {
            self.0.ns()
        }

        /// Time in which the bus is in use.
        #[getter]
        fn bus_ns(&self) -> f64 {
            self.0.bus_ns()
        }

        /// Time of command, address and status cycles.
        #[getter]
        fn command_ns(&self) -> f64 {
            self.0.time_of(StepKind::Command)
        }
    }
}

view! {
    /// The rate that remains after one more stage on the way from the medium to the application.
    Stage = engine::Stage {
        /// Kind of the stage: `part`, `bus`, `memory`, `software` or `layer`.
        kind: &'static str,
        /// Name of the layer; for other stages, the name of their kind.
        name: String,
        /// Time of the operation so far.
        ns: f64,
        /// Bytes a second at this stage.
        bytes_per_s: f64,
        /// True if the time was measured; else it is composed.
        measured: bool,
    }
}

view! {
    /// The range of an unknown value.
    ValueRange = engine::ValueRange {
        /// The value with which the operation is fastest.
        best: f64,
        /// The median of measured values.
        likely: f64,
        /// The value with which the operation is slowest.
        worst: f64,
    }
}

view! {
    /// A value assumed for a parameter of the host that the user left open.
    AssumedValue = engine::AssumedValue {
        /// The parameter: `clock`, `lines`, `operation`, `mover` or `array`.
        parameter: &'static str,
        /// Unit of the value.
        unit: &'static str,
        /// Range of the value.
        span: ValueRange,
        /// Source of the range.
        source: String,
        /// The options that state the value.
        options: String,
        /// How much the range of the estimate narrows if the value is known: the ratio of its ends
        /// now, over the same with the likely value.
        narrows: f64,
    }
}

view! {
    /// Time of an operation through the driver, from best to worst values of the unknowns.
    Range = engine::Range {
        /// Time with the best values.
        low_ns: f64,
        /// Time with the likely values.
        likely_ns: f64,
        /// Time with the worst values.
        high_ns: f64,
        /// Bytes a second with the worst values.
        low_bytes_per_s: f64,
        /// Bytes a second with the likely values.
        likely_bytes_per_s: f64,
        /// Bytes a second with the best values.
        high_bytes_per_s: f64,
        /// The unknowns, the one first that would narrow the range most.
        assumed: Vec<AssumedValue>,
    }
    methods {
        /// The longest time over the shortest; 1 if every value is known.
        #[getter]
        fn width(&self) -> f64 {
            self.0.width()
        }
    }
}

view! {
    /// Time of a byte in the driver's loop, without the array and the commands.
    ByteTime = engine::ByteTime {
        /// Time at the part's own cycles.
        part_ns: f64,
        /// Time on the host's bus.
        bus_ns: f64,
        /// Time of the accesses to RAM.
        memory_ns: f64,
        /// Time of the loop's instructions.
        software_ns: f64,
    }
    methods {
        /// The time of a byte: the sum of bus, memory and software. The bus's time contains the
        /// part's.
        #[getter]
        fn ns(&self) -> f64 {
            self.0.ns()
        }
    }
}

view! {
    /// Energy of an operation.
    Energy = engine::Energy {
        /// Energy of the array.
        array_uj: f64,
        /// Energy of commands and data on the bus.
        io_uj: f64,
        /// Sum of both.
        operation_uj: f64,
        /// Sum of both for 1024 bytes; None if no byte moves.
        uj_per_kb: Option<f64>,
        /// Energy of a page fault, a read of a cache page; None if no cache page was given.
        fault_uj: Option<f64>,
    }
}

view! {
    /// A change of the host, and how much faster the driver gets.
    Remedy = engine::Remedy {
        /// Name of the change.
        change: &'static str,
        /// Number of data lines, or MHz; None for other changes.
        to: Option<f64>,
        /// The new mode; None if the change keeps the mode.
        mode: Option<String>,
        /// Time of the operation now over that with the change; 1 if nothing is gained.
        speedup: f64,
    }
}

view! {
    /// The estimated speed of an operation on a host.
    Estimate = BoardEstimate {
        /// Where most of the time goes, and which change would help, in words.
        verdict: String,
        /// The part, as the caller named it.
        part: String,
        /// Name of the part, as on the package.
        name: String,
        /// Kind of memory, as `nand`.
        kind: &'static str,
        /// The operation.
        operation_kind: &'static str,
        /// The inputs.
        spec: EstimateSpec,
        /// The operation at the part's own speed.
        operation: Operation,
        /// The operation on the host's bus.
        on_bus: Operation,
        /// Bytes over the bus.
        bytes: u64,
        /// The stages from the physical limit to the application, as far as they are known.
        stages: Vec<Stage>,
        /// The range of the operation's time, with the unknowns of the host.
        range: Range,
        /// Time of the operation through the driver with the slowest times measured of the medium;
        /// None if its times do not vary.
        longest_ns: Option<f64>,
        /// Time of each byte.
        byte: ByteTime,
        /// Energy of the operation; None if the part's file has no currents.
        energy: Option<Energy>,
        /// Changes that would make it faster, the best first.
        remedies: Vec<Remedy>,
        /// The bus with its clock after the divider; None if the part's own bus is used.
        bus: Option<String>,
        /// Unchecked fields of the part.
        unverified: Vec<String>,
        /// Notes for the reader.
        notes: Vec<String>,
    }
    methods {
        /// The loop of the driver's code; None if it was not counted.
        #[getter(r#loop)]
        fn counted(&self) -> Option<CopyLoop> {
            Option::view_of(&self.0.counted)
        }

        /// The stages below the layers: those that are composed of cycles and instructions.
        #[getter]
        fn composed(&self) -> Vec<Stage> {
            self.0.composed().iter().map(Stage::view_of).collect()
        }

        /// The last composed stage: the operation through all that is known of the host.
        #[getter]
        fn through_host(&self) -> PyResult<Stage> {
            let last = self.0.through_host().map(Stage::view_of);
            last.ok_or_else(|| FlashpagerError::new_err("an estimate without stages"))
        }

        /// The time of the operation through the host, in ns, split into `array`, `commands`,
        /// `transfer`, `bus`, `memory` and `software`.
        #[getter]
        fn shares(&self) -> Vec<(&'static str, f64)> {
            Vec::view_of(&self.0.shares())
        }

        /// Shares of the likely time by cause, with the assumptions on the host; `controller` is the
        /// time that the controller adds to the bus. The verdict describes these shares.
        #[getter]
        fn likely_shares(&self) -> Vec<(&'static str, f64)> {
            Vec::view_of(&self.0.likely_shares)
        }
    }
}

/// Estimate one operation of a part on a host.
///
/// >>> estimate("MT29F8G08", operation="read").stages[0].ns
/// 77982.0
///
/// Args:
///     part: a part of the catalog, or a TOML file.
///     host: the host between the part and the application.
///     operation: an operation that `flashpager estimate --help` lists; the part's first if None.
///     size: bytes over the bus; a page with its spare, a cache line or a block if None.
///     mode: the read mode, such as `1-1-4` or `burst`.
///     waits: True to count t_WB and t_ADL, which the article leaves out.
///     cache_page_bytes: bytes of a cache page, for the energy of a page fault.
///     page_bytes: bytes of a page that the part is assumed to have.
///     width_bits: bits that part, bus and driver are assumed to move at once.
///     loop: the driver's loop, where it was already counted by `Host.loop`.
///     without: a source of `measured_hosts` that is left out of the assumptions on the host.
///     measured: a rate of this operation on the caller's board, in bytes a second, and the bytes
///         of the measured transaction; those of this one if None.
///
/// Raises:
///     FlashpagerError: for what cannot be, with the reason.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the fields of a request, by keyword")]
#[pyo3(signature = (part, host=None, *, operation=None, size=None, mode=None, waits=false,
    cache_page_bytes=None, page_bytes=None, width_bits=None, r#loop=None, without=None,
    measured=None))]
pub fn estimate(
    part: String,
    host: Option<PyRef<'_, Host>>,
    operation: Option<String>,
    size: Option<u64>,
    mode: Option<String>,
    waits: bool,
    cache_page_bytes: Option<u64>,
    page_bytes: Option<u32>,
    width_bits: Option<u32>,
    r#loop: Option<PyRef<'_, CopyLoop>>,
    without: Option<String>,
    measured: Option<(f64, Option<u64>)>,
) -> PyResult<Estimate> {
    let narrow = |bytes: u64| {
        u32::try_from(bytes).map_err(|_| {
            FlashpagerError::new_err(format!("a cache page of {bytes} bytes is larger than 4 GiB"))
        })
    };
    let spec = engine::EstimateSpec {
        part,
        operation,
        bytes: size,
        mode,
        waits,
        cache_page_bytes: cache_page_bytes.map(narrow).transpose()?,
        page_bytes,
        width_bits,
        host: engine::Host::default(),
        without,
        measured: measured.map(|(bytes_per_s, bytes)| engine::MeasuredRate { bytes_per_s, bytes }),
    };
    let host = host.map_or_else(BoardHost::default, |host| host.0.clone());
    let counted = r#loop.map(|counted| counted.0.clone());
    board::estimate_on(&host, spec, counted).map(Estimate).map_err(raise)
}

/// All operations by name.
#[pyfunction]
pub fn all_operations() -> Vec<&'static str> {
    OperationKind::ALL.iter().map(|(name, _)| *name).collect()
}
