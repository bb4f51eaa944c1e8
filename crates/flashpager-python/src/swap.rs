//! Compressed swap.

use std::path::PathBuf;

use flashpager::swap::medium::{self, KINDS};
use flashpager::swap::price;
use flashpager::swap::store::{self, Compressor, StoreLayout};
use flashpager::swap::workload::AccessPattern;
use flashpager::swap::{self, machine};
use pyo3::prelude::*;

use crate::seam::{call_progress, raise, run, view};

/// Makes a class over a structure that is built from keyword arguments; those left out take the
/// engine's defaults. Each field has the type of its argument and the type of its property.
macro_rules! keyword_view {
    (
        $(#[$about:meta])*
        $name:ident = $engine:ty {
            $($(#[$field_about:meta])* $field:ident: $given:ty => $kind:ty,)*
        }
    ) => {
        view! {
            $(#[$about])*
            $name = $engine {
                $($(#[$field_about])* $field: $kind,)*
            }
            methods {
                #[new]
                #[pyo3(signature = (*, $($field=None),*))]
                #[allow(clippy::too_many_arguments)]
                fn new($($field: Option<$given>),*) -> Self {
                    Self(<$engine>::default()).replace($($field),*)
                }

                /// The same with other values of some fields; None leaves a field as it is.
                #[pyo3(signature = (*, $($field=None),*))]
                #[allow(clippy::too_many_arguments)]
                fn replace(&self, $($field: Option<$given>),*) -> Self {
                    let mut changed = self.0.clone();
                    $(if let Some(value) = $field {
                        changed.$field = value.into();
                    })*
                    Self(changed)
                }
            }
        }
    };
}

keyword_view! {
    /// Faults of an emulated medium; none by default.
    MediumFaults = store::MediumFaults {
        /// Blocks that are bad from the start.
        factory_bad_blocks: u32 => u32,
        /// Erasures after which a block may fail; 0: never.
        endurance_cycles: u32 => u32,
        /// Programs in a million that fail and make their block bad.
        program_fail_ppm: u32 => u32,
        /// Erasures in a million that fail and make their block bad.
        erase_fail_ppm: u32 => u32,
        /// Reads in a million that need correction.
        corrected_ppm: u32 => u32,
    }
}

/// Faults as an argument.
#[derive(FromPyObject)]
#[pyo3(transparent)]
struct FaultsArgument<'py>(PyRef<'py, MediumFaults>);

impl From<FaultsArgument<'_>> for store::MediumFaults {
    fn from(given: FaultsArgument<'_>) -> Self {
        given.0.0
    }
}

keyword_view! {
    /// A swap system, and what runs on it. By default MTDCOMPR's board, with swap on PCM.
    SwapSpec = swap::SwapSpec {
        /// Bytes of RAM.
        ram_bytes: u64 => u64,
        /// Bytes of it that are neither for the program's pages nor the store's.
        reserved_bytes: u64 => u64,
        /// Bytes of a page of memory.
        page_bytes: u32 => u32,
        /// The medium, as `pcm:16M`: a kind, a part or its TOML file, and a size.
        medium: String => String,
        /// The layout of pages on it; None for the usual one of the medium.
        layout: String => Option<String>,
        /// The compressor.
        compressor: String => String,
        /// Whether each page that was compressed is decompressed and compared.
        verify: bool => bool,
        /// The replacement policy.
        policy: String => String,
        /// Percent of the medium's room up to which a page that came back keeps its copy there.
        keep_copies_percent: u32 => u32,
        /// Contents of pages: `synthetic(25%)`, or a file of captured pages.
        pages: String => String,
        /// Seed of all random choices.
        seed: u64 => u64,
        /// Blocks that a log leaves free; 0 for as few as possible.
        reserve_blocks: u32 => u32,
        /// The file that holds the medium; memory if absent.
        file: PathBuf => Option<PathBuf>,
        /// Faults of the medium.
        faults: FaultsArgument<'_> => MediumFaults,
        /// The reading of the program after each chunk: `random`, `fixed` or `last`.
        reading: String => String,
        /// Bytes that it allocates at a time.
        chunk_bytes: u64 => u64,
        /// Number of times that `fixed` and `last` read their chunk.
        reads: u32 => u32,
        /// Number of pages that `random` reads after each chunk.
        random_pages: u32 => u32,
        /// Bytes that it allocates at most; RAM and five times the medium if absent.
        most_bytes: u64 => Option<u64>,
        /// Churn: percent of the store's room that is filled before.
        fill_percent: u32 => u32,
        /// Churn: how often the store's room is then overwritten.
        turnovers: f64 => f64,
        /// The medium's bus, as `33MHz-x8`; one as fast and wide as the part's if absent.
        bus: String => Option<String>,
        /// A byte of RAM that the program reads or writes; of RAM as a medium, too.
        ram_ns_per_byte: f64 => f64,
        /// A page fault, without store and medium.
        fault_ns: f64 => f64,
        /// Clock of the processor.
        clock_mhz: f64 => f64,
        /// Cycles of the processor for an instruction.
        cycles_per_instruction: f64 => f64,
        /// Instructions for each byte of a page to be compressed; None for the number counted.
        compress_instructions_per_byte: f64 => Option<f64>,
        /// Instructions for each byte of a page to be decompressed; None for the number counted.
        decompress_instructions_per_byte: f64 => Option<f64>,
    }
}

view! {
    /// The shape of a medium.
    MediumGeometry = store::Geometry {
        /// Bytes of a flash page; 1 where bytes are rewritten in place.
        program_bytes: u32,
        /// Bytes of an erase block; of media that rewrite in place, what wear is counted by.
        block_bytes: u32,
        /// Blocks.
        block_count: u32,
    }
}

view! {
    /// Times of the operations of a medium.
    MediumPrices = medium::MediumPrices {
        /// A read, without its bytes.
        read_ns: f64,
        /// A flash page into the data register: commands, address and t_R.
        load_ns: f64,
        /// A change of the column within it.
        column_ns: f64,
        /// A byte that is read.
        read_byte_ns: f64,
        /// A program, without its bytes; of NAND a whole flash page with all its bytes.
        program_ns: f64,
        /// A byte that is programmed in place.
        program_byte_ns: f64,
        /// Bytes that are programmed together in place; 0 where each goes alone.
        program_unit_bytes: u32,
        /// Time of such a unit, with its bytes.
        program_unit_ns: f64,
        /// An erasure.
        erase_ns: f64,
    }
}

view! {
    /// Time at the medium.
    MediumTime = medium::MediumTime {
        /// Reads.
        read_ns: f64,
        /// Programs.
        program_ns: f64,
        /// Erasures.
        erase_ns: f64,
    }
}

view! {
    /// Prices of a swap system.
    SwapPrices = price::SwapPrices {
        /// A byte of RAM that the program reads or writes.
        ram_ns_per_byte: f64,
        /// A page fault, without store and medium.
        fault_ns: f64,
        /// Compressing a page.
        compress_page_ns: f64,
        /// Decompressing one.
        decompress_page_ns: f64,
        /// The medium's operations.
        medium: MediumPrices,
    }
}

view! {
    /// The time of a swap system, by cause.
    SwapTime = price::SwapTime {
        /// The program reads and writes RAM.
        ram_ns: f64,
        /// Page faults.
        fault_ns: f64,
        /// Pages on their way out.
        compress_ns: f64,
        /// Pages on their way back.
        decompress_ns: f64,
        /// The medium.
        medium: MediumTime,
        /// All of it.
        total_ns: f64,
    }
}

view! {
    /// Operations of the medium, and of the compressor.
    StoreCounters = store::StoreCounters {
        /// Reads of the medium.
        reads: u64,
        /// Reads that load another flash page into the data register.
        loads: u64,
        /// Reads that change the column within it.
        columns: u64,
        /// Bytes read.
        read_bytes: u64,
        /// Programs: of flash pages, or of bytes in place.
        programs: u64,
        /// Bytes programmed.
        program_bytes: u64,
        /// Erasures.
        erases: u64,
        /// Pages given to the compressor.
        compressed_pages: u64,
        /// Pages that it gave back.
        decompressed_pages: u64,
    }
}

view! {
    /// Statistics of a store, named after zram's `mm_stat`.
    StoreStatistics = store::Statistics {
        /// Bytes of the pages held, as they were written.
        orig_data_size: u64,
        /// Bytes of the pages held, after compression.
        compr_data_size: u64,
        /// Bytes of the medium that they take, headers and all.
        mem_used_total: u64,
        /// Bytes of the medium that they may take.
        mem_limit: u64,
        /// The most they ever took.
        mem_used_max: u64,
        /// Slots that hold a page.
        pages: u32,
        /// Pages filled with one word, which take no data.
        same_pages: u32,
        /// Incompressible pages, stored as they are.
        huge_pages: u32,
        /// Slots whose page is lost.
        lost_pages: u32,
        /// Bad blocks of the medium.
        bad_blocks: u32,
        /// Erasures since format or mount.
        erases: u32,
        /// Bytes handed to the layout: compressed pages.
        written_size: u64,
        /// Bytes that collection moved.
        moved_size: u64,
        /// Bytes that the layout programmed.
        programmed_size: u64,
        /// Compressed over original bytes of pages not filled with one word; None without any.
        compression_ratio: Option<f64>,
        /// Used over original bytes of the same pages; None without any.
        used_ratio: Option<f64>,
    }
}

view! {
    /// The spread of a medium's erasures over its good blocks. For media that rewrite in place, the
    /// number of times that each block's bytes were rewritten.
    Wear = store::Wear {
        /// Blocks that are not bad.
        good_blocks: u32,
        /// Erasures of the least worn block.
        min: u32,
        /// Mean erasures of a block.
        mean: f64,
        /// Erasures of the most worn block.
        max: u32,
    }
}

view! {
    /// The store at the end of a run.
    StoreReport = machine::StoreReport {
        /// Statistics.
        statistics: StoreStatistics,
        /// Operations of medium and compressor.
        counters: StoreCounters,
        /// Wear of the medium.
        wear: Wear,
        /// Most over mean of that; absent where nothing is worn.
        wear_max_over_mean: Option<f64>,
        /// Bytes programmed over compressed bytes written; absent where nothing was.
        write_amplification: Option<f64>,
    }
}

view! {
    /// The counts of a machine.
    MachineCounts = machine::MachineCounts {
        /// Bytes that the program read.
        bytes_read: u64,
        /// Bytes that it wrote.
        bytes_written: u64,
        /// Pages that were in no frame: touched for the first time, or swapped out.
        faults: u64,
        /// Pages that the policy had marked invalid.
        false_faults: u64,
        /// Faults on pages never touched before.
        first_touches: u64,
        /// Pages that came from the store.
        pages_in: u64,
        /// Victims that went to the store.
        pages_out: u64,
        /// Victims that were clean, with a copy in their slot.
        pages_dropped: u64,
        /// Copies given up: their page was written to, or the medium was too full to keep them.
        copies_freed: u64,
        /// Operations of medium and compressor.
        store: StoreCounters,
    }
}

view! {
    /// Counts of a phase, and their time.
    SwapPhase = machine::Phase {
        /// The counts.
        counts: MachineCounts,
        /// The time.
        time: SwapTime,
    }
}

view! {
    /// A point of the chart.
    SwapPoint = machine::BenchPoint {
        /// Bytes that the program had allocated.
        allocated_bytes: u64,
        /// Speed of its reading, in 2²⁰ bytes a second.
        mib_s: f64,
        /// Speed as a share of RAM's.
        share_of_ram: f64,
        /// Allocating and filling the chunk.
        fill: SwapPhase,
        /// The reading that was measured.
        read: SwapPhase,
    }
}

view! {
    /// The description of a swap system in all results.
    SwapSystem = machine::SystemReport {
        /// The spec, with all open values filled in.
        spec: SwapSpec,
        /// The medium's part; absent for RAM.
        part: Option<String>,
        /// Unchecked fields of the part.
        unverified: Vec<String>,
        /// Assumptions, each with the reason.
        assumed: Vec<String>,
        /// Bytes of the medium.
        medium_bytes: u64,
        /// Its shape.
        geometry: MediumGeometry,
        /// Bytes of RAM.
        ram_bytes: u64,
        /// Bytes of RAM not for the program's pages: reserved ones, the store's, and a medium in
        /// RAM.
        taken_bytes: u64,
        /// Frames for the program's pages; 0 where none fits, and churn needs none.
        frames: u32,
        /// RAM's own speed, in 2²⁰ bytes a second.
        ram_mib_s: f64,
        /// Bytes of RAM that the store takes beside its medium.
        store_memory_bytes: u64,
        /// Its slots.
        slot_count: u32,
        /// Blocks that a log leaves free; 0 for other layouts.
        reserve_blocks: u32,
        /// Prices of a swap system.
        prices: SwapPrices,
    }
}

view! {
    /// The result of `swap_bench`.
    SwapBench = machine::BenchReport {
        /// The system.
        system: SwapSystem,
        /// The chart.
        points: Vec<SwapPoint>,
        /// The mean of the points' speeds as shares of RAM's; absent without points.
        mean_share_of_ram: Option<f64>,
        /// Bytes allocated when the medium was full; absent if it never was.
        out_of_memory_at_bytes: Option<u64>,
        /// Counts and time from the first byte to the last.
        total: SwapPhase,
        /// The store at the end.
        store: StoreReport,
    }
}

view! {
    /// The result of `swap_churn`.
    SwapChurn = machine::ChurnReport {
        /// The system.
        system: SwapSystem,
        /// Slots that were filled before.
        filled_slots: u32,
        /// Share of the store's room that they took.
        filled_share: f64,
        /// Pages written over others.
        pages_written: u64,
        /// Number of times that their compressed bytes would fill the store.
        turnovers: f64,
        /// Counts and time of overwriting alone.
        overwriting: SwapPhase,
        /// Time of a page written over another.
        page_ns: f64,
        /// Bytes programmed over compressed bytes written, of overwriting alone.
        write_amplification: f64,
        /// The store in the end, filling included.
        store: StoreReport,
    }
}

/// Run MTDCOMPR's benchmark program on a simulated machine.
/// `progress(allocated_bytes, most_bytes)` is called now and then.
#[pyfunction]
#[pyo3(signature = (spec, progress: "Callable[[int, int], None] | None"=None))]
pub fn swap_bench(
    py: Python<'_>,
    spec: &SwapSpec,
    progress: Option<Py<PyAny>>,
) -> PyResult<SwapBench> {
    let report = run(py, call_progress(&progress), |should_continue, progress| {
        swap::bench(spec.0.clone(), should_continue, progress)
    })?;
    Ok(SwapBench(report))
}

/// Fill a share of a store and overwrite random slots until it was turned over.
/// `progress(written_bytes, bytes_to_write)` is called now and then.
#[pyfunction]
#[pyo3(signature = (spec, progress: "Callable[[int, int], None] | None"=None))]
pub fn swap_churn(
    py: Python<'_>,
    spec: &SwapSpec,
    progress: Option<Py<PyAny>>,
) -> PyResult<SwapChurn> {
    let report = run(py, call_progress(&progress), |should_continue, progress| {
        swap::churn(spec.0.clone(), should_continue, progress)
    })?;
    Ok(SwapChurn(report))
}

/// A system looked up and checked, without running anything.
#[pyfunction]
pub fn swap_system(spec: &SwapSpec) -> PyResult<SwapSystem> {
    let system = swap::SwapSystem::new(spec.0.clone()).map_err(raise)?;
    system.frames().map_err(raise)?;
    Ok(SwapSystem(system.report()))
}

/// Kinds of media, and the part of the catalog that stands for each (None for RAM).
#[pyfunction]
pub fn swap_media() -> Vec<(&'static str, Option<&'static str>)> {
    KINDS.to_vec()
}

fn names<T>(all: &[(&'static str, T)]) -> Vec<&'static str> {
    all.iter().map(|(name, _)| *name).collect()
}

/// Ways in which pages lie on a medium.
#[pyfunction]
pub fn swap_layouts() -> Vec<&'static str> {
    names(&StoreLayout::ALL)
}

/// The compressor.
#[pyfunction]
pub fn swap_compressors() -> Vec<&'static str> {
    names(&Compressor::ALL)
}

/// The readings of the benchmark program after each chunk.
#[pyfunction]
pub fn swap_readings() -> Vec<&'static str> {
    names(&AccessPattern::ALL)
}
