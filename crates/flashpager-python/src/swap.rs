//! Compressed swap.

use std::path::PathBuf;

use flashpager::swap::medium::{self, KINDS};
use flashpager::swap::price;
use flashpager::swap::store::{self, Compressor, StoreLayout};
use flashpager::swap::workload::AccessPattern;
use flashpager::swap::{self, machine};
use pyo3::prelude::*;

use crate::seam::{call_progress, raise, run, view};

/// Makes a class over a structure that is built from keyword arguments. Arguments that are left out
/// have the engine's defaults. Each field has the type of its argument and the type of its property.
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

                /// The same settings with other values of some fields. None leaves a field unchanged.
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
        /// Erasures after which a block may fail; 0 if it never does.
        endurance_cycles: u32 => u32,
        /// Programs in a million that fail and make their block bad.
        program_fail_ppm: u32 => u32,
        /// Erasures in a million that fail and make their block bad.
        erase_fail_ppm: u32 => u32,
        /// Reads in a million that need correction.
        corrected_ppm: u32 => u32,
    }
}

/// An argument that is a `MediumFaults`.
#[derive(FromPyObject)]
#[pyo3(transparent)]
struct FaultsArgument<'py>(PyRef<'py, MediumFaults>);

impl From<FaultsArgument<'_>> for store::MediumFaults {
    fn from(given: FaultsArgument<'_>) -> Self {
        given.0.0
    }
}

keyword_view! {
    /// A swap system, and the program that runs on it. The default is MTDCOMPR's board, with swap on PCM.
    SwapSpec = swap::SwapSpec {
        /// Bytes of RAM.
        ram_bytes: u64 => u64,
        /// Bytes of RAM that neither the program's pages nor the store may take.
        reserved_bytes: u64 => u64,
        /// Bytes of a page of memory.
        page_bytes: u32 => u32,
        /// The medium, as `pcm:16M`: a kind, a part or its TOML file, and a size.
        medium: String => String,
        /// The layout of pages on the medium; None for the medium's usual one.
        layout: String => Option<String>,
        /// The compressor.
        compressor: String => String,
        /// True if each compressed page is decompressed and compared with its original.
        verify: bool => bool,
        /// The replacement policy.
        policy: String => String,
        /// Percent of the medium in use up to which a page that comes back keeps its copy there.
        keep_copies_percent: u32 => u32,
        /// Contents of pages: `synthetic(25%)`, or a file of captured pages.
        pages: String => String,
        /// Seed of all random choices.
        seed: u64 => u64,
        /// Blocks that the log layout leaves free; 0 for as few as possible.
        reserve_blocks: u32 => u32,
        /// The file that holds the medium; None to hold it in memory.
        file: PathBuf => Option<PathBuf>,
        /// Faults of the medium.
        faults: FaultsArgument<'_> => MediumFaults,
        /// The reading of the program after each chunk: `random`, `fixed` or `last`.
        reading: String => String,
        /// Bytes of a chunk, which the program allocates at a time.
        chunk_bytes: u64 => u64,
        /// Number of times that `fixed` and `last` read their chunk.
        reads: u32 => u32,
        /// Number of pages that `random` reads after each chunk.
        random_pages: u32 => u32,
        /// The most bytes that the program allocates; None for RAM and five times the medium.
        most_bytes: u64 => Option<u64>,
        /// Percent of the store's room that `swap_churn` fills first.
        fill_percent: u32 => u32,
        /// Number of times that `swap_churn` then overwrites the store's room.
        turnovers: f64 => f64,
        /// The medium's bus, as `33MHz-x8`; None for one as fast and wide as the part's.
        bus: String => Option<String>,
        /// Time to read or write a byte of RAM, also of RAM that is the medium.
        ram_ns_per_byte: f64 => f64,
        /// Time of a page fault, without store and medium.
        fault_ns: f64 => f64,
        /// The processor's clock.
        clock_mhz: f64 => f64,
        /// Mean cycles of the processor for an instruction.
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
        /// Bytes of an erase block. For media that rewrite in place, the unit by which wear is
        /// counted.
        block_bytes: u32,
        /// Number of blocks.
        block_count: u32,
    }
}

view! {
    /// Times of the operations of a medium.
    MediumPrices = medium::MediumPrices {
        /// Time of a read, without its bytes.
        read_ns: f64,
        /// Time to load a flash page into the data register: commands, address and t_R.
        load_ns: f64,
        /// Time to change the column in the data register.
        column_ns: f64,
        /// Time of each byte that is read.
        read_byte_ns: f64,
        /// Time of a program, without its bytes. For NAND, that of a whole flash page with its
        /// bytes.
        program_ns: f64,
        /// Time of each byte that is programmed in place.
        program_byte_ns: f64,
        /// Bytes that are programmed together in place; 0 if each is programmed alone.
        program_unit_bytes: u32,
        /// Time to program `program_unit_bytes`, with their transfer.
        program_unit_ns: f64,
        /// Time of an erasure.
        erase_ns: f64,
    }
}

view! {
    /// Time at the medium.
    MediumTime = medium::MediumTime {
        /// Time of reads.
        read_ns: f64,
        /// Time of programs.
        program_ns: f64,
        /// Time of erasures.
        erase_ns: f64,
    }
}

view! {
    /// Prices of a swap system.
    SwapPrices = price::SwapPrices {
        /// Time to read or write a byte of RAM.
        ram_ns_per_byte: f64,
        /// Time of a page fault, without store and medium.
        fault_ns: f64,
        /// Time to compress a page.
        compress_page_ns: f64,
        /// Time to decompress a page.
        decompress_page_ns: f64,
        /// Times of the medium's operations.
        medium: MediumPrices,
    }
}

view! {
    /// The time of a swap system, by cause.
    SwapTime = price::SwapTime {
        /// Time in which the program reads and writes RAM.
        ram_ns: f64,
        /// Time of page faults, without store and medium.
        fault_ns: f64,
        /// Time to compress pages that are swapped out.
        compress_ns: f64,
        /// Time to decompress pages that are swapped in.
        decompress_ns: f64,
        /// Time at the medium.
        medium: MediumTime,
        /// Sum of all these times.
        total_ns: f64,
    }
}

view! {
    /// Numbers of operations of the medium and the compressor.
    StoreCounters = store::StoreCounters {
        /// Number of reads of the medium.
        reads: u64,
        /// Reads that load another flash page into the data register.
        loads: u64,
        /// Reads that change the column in the data register.
        columns: u64,
        /// Bytes read.
        read_bytes: u64,
        /// Number of programs, each of a flash page or of bytes in place.
        programs: u64,
        /// Bytes programmed.
        program_bytes: u64,
        /// Number of erasures.
        erases: u64,
        /// Pages compressed.
        compressed_pages: u64,
        /// Pages decompressed.
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
        /// Bytes of the medium that the pages take, with headers.
        mem_used_total: u64,
        /// Bytes of the medium that the pages may take.
        mem_limit: u64,
        /// The most bytes of the medium that the pages took so far.
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
        /// Erasures since the store was formatted or mounted.
        erases: u32,
        /// Bytes of compressed pages that were written.
        written_size: u64,
        /// Bytes that garbage collection moved.
        moved_size: u64,
        /// Bytes that the layout programmed.
        programmed_size: u64,
        /// Compressed over original bytes of pages not filled with one word; None if there are
        /// none.
        compression_ratio: Option<f64>,
        /// Bytes taken of the medium over original bytes of the same pages; None if there are none.
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
        /// Statistics of the store.
        statistics: StoreStatistics,
        /// Operations of medium and compressor.
        counters: StoreCounters,
        /// Wear of the medium.
        wear: Wear,
        /// `max` over `mean` of the wear; None if nothing is worn.
        wear_max_over_mean: Option<f64>,
        /// Bytes programmed over compressed bytes written; None if nothing was written.
        write_amplification: Option<f64>,
    }
}

view! {
    /// The counts of a machine.
    MachineCounts = machine::MachineCounts {
        /// Bytes that the program read.
        bytes_read: u64,
        /// Bytes that the program wrote.
        bytes_written: u64,
        /// Faults at pages that were in no frame: never touched before, or swapped out.
        faults: u64,
        /// Faults at pages that were in a frame, and that the policy had marked invalid.
        false_faults: u64,
        /// Faults at pages never touched before.
        first_touches: u64,
        /// Pages that came from the store.
        pages_in: u64,
        /// Victims that were written to the store.
        pages_out: u64,
        /// Victims that were not written, as their slot had a copy.
        pages_dropped: u64,
        /// Copies that were freed, as their page was written to or the medium was too full.
        copies_freed: u64,
        /// Operations of medium and compressor.
        store: StoreCounters,
    }
}

view! {
    /// The counts and the time of a phase.
    SwapPhase = machine::Phase {
        /// The counts of the phase.
        counts: MachineCounts,
        /// The time of the phase.
        time: SwapTime,
    }
}

view! {
    /// A point of the chart.
    SwapPoint = machine::BenchPoint {
        /// Bytes that the program had allocated.
        allocated_bytes: u64,
        /// Speed of the program's reading, in 2²⁰ bytes a second.
        mib_s: f64,
        /// Speed as a share of RAM's.
        share_of_ram: f64,
        /// The phase in which the chunk is allocated and filled.
        fill: SwapPhase,
        /// The phase of the measured reading.
        read: SwapPhase,
    }
}

view! {
    /// The description of a swap system in all results.
    SwapSystem = machine::SystemReport {
        /// The spec, with all open values filled in.
        spec: SwapSpec,
        /// The medium's part; None for RAM.
        part: Option<String>,
        /// Unchecked fields of the part.
        unverified: Vec<String>,
        /// Assumptions, each with the reason.
        assumed: Vec<String>,
        /// Bytes of the medium.
        medium_bytes: u64,
        /// The medium's shape.
        geometry: MediumGeometry,
        /// Bytes of RAM.
        ram_bytes: u64,
        /// Bytes of RAM that the program's pages cannot take: reserved ones, the store's, and a
        /// medium in RAM.
        taken_bytes: u64,
        /// Frames for the program's pages; 0 where none fits, and churn needs none.
        frames: u32,
        /// RAM's own speed, in 2²⁰ bytes a second.
        ram_mib_s: f64,
        /// Bytes of RAM that the store takes beside its medium.
        store_memory_bytes: u64,
        /// The store's number of slots.
        slot_count: u32,
        /// Blocks that the log layout leaves free; 0 for other layouts.
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
        /// The points of the chart.
        points: Vec<SwapPoint>,
        /// The mean of the points' speeds as shares of RAM's; None without points.
        mean_share_of_ram: Option<f64>,
        /// Bytes allocated when the medium was full; None if it never was.
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
        /// Slots that were filled first.
        filled_slots: u32,
        /// Share of the store's room that the filled slots took.
        filled_share: f64,
        /// Pages written over others.
        pages_written: u64,
        /// Number of times that the compressed bytes of `pages_written` would fill the store.
        turnovers: f64,
        /// Counts and time of overwriting alone.
        overwriting: SwapPhase,
        /// Time of a page written over another.
        page_ns: f64,
        /// Bytes programmed over compressed bytes written, in the overwriting alone.
        write_amplification: f64,
        /// The store at the end, with the filling.
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

/// Fill a share of a store, then overwrite random slots, `turnovers` times the store's room in all.
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

/// Look a swap system up and check it, without running anything.
#[pyfunction]
pub fn swap_system(spec: &SwapSpec) -> PyResult<SwapSystem> {
    let system = swap::SwapSystem::new(spec.0.clone()).map_err(raise)?;
    system.frames().map_err(raise)?;
    Ok(SwapSystem(system.report()))
}

/// The kinds of media, each with the part of the catalog that is used for it (None for RAM).
#[pyfunction]
pub fn swap_media() -> Vec<(&'static str, Option<&'static str>)> {
    KINDS.to_vec()
}

fn names<T>(all: &[(&'static str, T)]) -> Vec<&'static str> {
    all.iter().map(|(name, _)| *name).collect()
}

/// All layouts of pages on a medium, by name.
#[pyfunction]
pub fn swap_layouts() -> Vec<&'static str> {
    names(&StoreLayout::ALL)
}

/// All compressors by name.
#[pyfunction]
pub fn swap_compressors() -> Vec<&'static str> {
    names(&Compressor::ALL)
}

/// The patterns in which the benchmark program can read after each chunk.
#[pyfunction]
pub fn swap_readings() -> Vec<&'static str> {
    names(&AccessPattern::ALL)
}
