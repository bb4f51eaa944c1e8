//! How fast a medium is on a host, and who eats the time.

use flashpager::board::{self, BoardEstimate, BoardHost};
use flashpager::estimate::{self as engine, CostSource, RemedyKind, StageKind, UnknownParameter};
use flashpager::media::operation::{self, OperationKind, StepKind};
use pyo3::prelude::*;

use crate::driver::CopyLoop;
use crate::host::{Dma, Host, Memory, Peripheral, Processor, Software};
use crate::seam::{FlashpagerError, ToPyView, raise, view, views_by_name};

views_by_name!(RemedyKind, StageKind, StepKind, CostSource, UnknownParameter, OperationKind);

view! {
    /// A layer in the direction of an operation.
    PricedLayer = engine::Layer {
        /// What it is called.
        name: String,
        /// What it leaves of the driver's rate.
        share: Option<f64>,
        /// What was measured through it.
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
        /// What the driver takes for an operation outside of its loop; None if nobody knows.
        operation_ns: Option<f64>,
        /// Whether data is moved by DMA.
        dma: Option<Dma>,
        /// Whether the processor moves it, by a loop of which no more is known.
        copied: bool,
        /// What drives the medium.
        system: Option<&'static str>,
        /// A measured host that this one is like.
        like: Option<String>,
        /// What the chip takes of its datasheet's array time.
        array_share: Option<f64>,
        /// What is above the driver, from below.
        layers: Vec<PricedLayer>,
    }
}

view! {
    /// What was estimated.
    EstimateSpec = engine::EstimateSpec {
        /// A part of the catalog, or a TOML file.
        part: String,
        /// The operation.
        operation: Option<String>,
        /// Bytes over the bus, if they were named.
        bytes: Option<u64>,
        /// The way that data comes over the bus, if it was named.
        mode: Option<String>,
        /// Whether t_WB and t_ADL are counted.
        waits: bool,
        /// Bytes of a cache page, for the energy of a page fault.
        cache_page_bytes: Option<u32>,
        /// What if the part had pages of this size.
        page_bytes: Option<u32>,
        /// What if part and bus had this many data lines.
        width_bits: Option<u32>,
        /// The host.
        host: PricedHost,
        /// A source of measured hosts that was left out of what is assumed.
        without: Option<String>,
    }
}

view! {
    /// A step of an operation.
    OperationStep = operation::OperationStep {
        /// What happens, as `command 30h`.
        name: String,
        /// How its time is composed, in the datasheet's names.
        formula: String,
        /// What it does: `command`, `wait`, `busy`, `transfer` or `hidden`.
        kind: &'static str,
        /// Its time.
        ns: f64,
        /// Bytes that it moves.
        bytes: u64,
        /// The longest that it was seen to take, where it was measured and varies.
        longest_ns: Option<f64>,
    }
}

view! {
    /// An operation, composed of steps.
    Operation = operation::Operation {
        /// Which.
        kind: &'static str,
        /// In which way data came over the bus, where there are several.
        mode: Option<String>,
        /// The steps, in order.
        steps: Vec<OperationStep>,
        /// Bytes of user data among those moved.
        data_bytes: u64,
        /// Waits that the flash-media article does not count.
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
    /// What is left after one more thing in the way.
    Stage = engine::Stage {
        /// What it is: `part`, `bus`, `memory`, `software` or `layer`.
        kind: &'static str,
        /// The layer's own name; of others the name of their kind.
        name: String,
        /// Time of the operation so far.
        ns: f64,
        /// Bytes over it, a second.
        bytes_per_s: f64,
        /// Whether somebody measured it; else it is composed.
        measured: bool,
    }
}

view! {
    /// What an unknown may be.
    ValueRange = engine::ValueRange {
        /// Where the operation is fastest.
        best: f64,
        /// The median of what was measured.
        likely: f64,
        /// Where it is slowest.
        worst: f64,
    }
}

view! {
    /// What was taken for something that nobody said.
    AssumedValue = engine::AssumedValue {
        /// What: `clock`, `lines`, `operation`, `mover` or `array`.
        parameter: &'static str,
        /// Its unit.
        unit: &'static str,
        /// What it may be.
        span: ValueRange,
        /// Where that is from.
        source: String,
        /// What to say, so that it is known.
        options: String,
        /// The ratio of the range's ends now over that if it were known to be as likely.
        narrows: f64,
    }
}

view! {
    /// What an operation takes through the driver, with what is not known of the host.
    Range = engine::Range {
        /// If all that is unknown is at its best.
        low_ns: f64,
        /// If it is as likely.
        likely_ns: f64,
        /// If it is at its worst.
        high_ns: f64,
        /// Bytes a second at the worst.
        low_bytes_per_s: f64,
        /// Bytes a second, likely.
        likely_bytes_per_s: f64,
        /// Bytes a second at the best.
        high_bytes_per_s: f64,
        /// What is unknown, that first which would narrow the range most.
        assumed: Vec<AssumedValue>,
    }
    methods {
        /// The ratio of its ends; 1 where all is known.
        #[getter]
        fn width(&self) -> f64 {
            self.0.width()
        }
    }
}

view! {
    /// What a byte takes in the driver's loop, without the array and the commands.
    ByteTime = engine::ByteTime {
        /// On the part's own cycles.
        part_ns: f64,
        /// On the host's bus.
        bus_ns: f64,
        /// In RAM.
        memory_ns: f64,
        /// Instructions.
        software_ns: f64,
    }
    methods {
        /// All but the part's own, which the bus's contains.
        #[getter]
        fn ns(&self) -> f64 {
            self.0.ns()
        }
    }
}

view! {
    /// What an operation takes of the supply.
    Energy = engine::Energy {
        /// Of the array.
        array_uj: f64,
        /// Of commands and data on the bus.
        io_uj: f64,
        /// Both.
        operation_uj: f64,
        /// Both, for 1024 bytes; None if no byte moves.
        uj_per_kb: Option<f64>,
        /// Of a page fault: a read of a cache page, if one was named.
        fault_uj: Option<f64>,
    }
}

view! {
    /// One thing changed, and how much faster the driver gets.
    Remedy = engine::Remedy {
        /// Which.
        change: &'static str,
        /// Its number: data lines, or MHz.
        to: Option<f64>,
        /// The mode, if that is changed.
        mode: Option<String>,
        /// Time of the operation now over that with the change; 1 if nothing is gained.
        speedup: f64,
    }
}

view! {
    /// An estimate.
    Estimate = BoardEstimate {
        /// Who takes most of the time, and what would change that, in words.
        verdict: String,
        /// The part, as it was asked for.
        part: String,
        /// Its name.
        name: String,
        /// What kind of memory it is, as `nand`.
        kind: &'static str,
        /// Which operation.
        operation_kind: &'static str,
        /// What was asked.
        spec: EstimateSpec,
        /// The operation at the part's own speed.
        operation: Operation,
        /// Its steps on the host's bus.
        on_bus: Operation,
        /// Bytes over the bus.
        bytes: u64,
        /// From the physical limit to the application, as far as it is known.
        stages: Vec<Stage>,
        /// What the operation takes with what is not known of the host.
        range: Range,
        /// Time of the operation through the driver when the medium is as slow as it was ever
        /// seen; None where its times do not vary.
        longest_ns: Option<f64>,
        /// What each byte takes.
        byte: ByteTime,
        /// What it takes of the supply, if the part says.
        energy: Option<Energy>,
        /// What would make it faster, the best first.
        remedies: Vec<Remedy>,
        /// The bus, its clock after dividers; None if it is the part's.
        bus: Option<String>,
        /// Fields of the part that nobody checked.
        unverified: Vec<String>,
        /// What a reader should know.
        notes: Vec<String>,
    }
    methods {
        /// What the driver's code does, if it was counted there.
        #[getter(r#loop)]
        fn counted(&self) -> Option<CopyLoop> {
            Option::view_of(&self.0.counted)
        }

        /// The stages below the layers: those that are composed of cycles and instructions.
        #[getter]
        fn composed(&self) -> Vec<Stage> {
            self.0.composed().iter().map(Stage::view_of).collect()
        }

        /// The last of them: the operation through all that is known of the host.
        #[getter]
        fn through_host(&self) -> PyResult<Stage> {
            let last = self.0.through_host().map(Stage::view_of);
            last.ok_or_else(|| FlashpagerError::new_err("an estimate without stages"))
        }

        /// The time of the operation through the host by who takes it, in ns: `array`, `commands`,
        /// `transfer`, `bus`, `memory`, `software`.
        #[getter]
        fn shares(&self) -> Vec<(&'static str, f64)> {
            Vec::view_of(&self.0.shares())
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
///     host: what lies between the part and the application.
///     operation: as `flashpager estimate --help` lists them; the first that the part can do if
///         None.
///     size: bytes over the bus; a page with its spare, a cache line or a block if None.
///     mode: how data comes over the bus, as `1-1-4` or `burst`.
///     waits: count t_WB and t_ADL, which the article leaves out.
///     cache_page_bytes: for the energy of a page fault.
///     page_bytes: what if the part's pages were so large.
///     width_bits: what if part, bus and driver moved so many bits at once.
///     loop: the driver's loop, where it was already counted by `Host.loop`.
///     without: a source of `measured_hosts` to leave out of what is assumed of the host.
///
/// Raises:
///     FlashpagerError: for what cannot be, with the reason.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what can be asked, by keyword")]
#[pyo3(signature = (part, host=None, *, operation=None, size=None, mode=None, waits=false,
    cache_page_bytes=None, page_bytes=None, width_bits=None, r#loop=None, without=None))]
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
