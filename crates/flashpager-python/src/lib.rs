//! Python bindings of the flashpager engine, a file a subject, and nothing else: every function
//! converts its arguments, calls the engine and converts the result.

mod attribution;
mod bound;
mod ceiling;
mod design;
mod driver;
mod estimate;
mod faults;
mod functions;
mod homes;
mod host;
mod layout;
mod linked;
mod live;
mod luck;
mod parts;
mod pin;
mod processor;
mod reach;
mod record;
mod replay;
mod seam;
mod space;
mod swap;
mod trace;
mod windows;

use pyo3::prelude::*;

/// The engine's version.
#[pyfunction]
fn version() -> &'static str {
    flashpager::VERSION
}

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::attribution::{Attribution, Owner, attribute, attributions};
    #[pymodule_export]
    use super::bound::{CallBound, LoopBound, OverfullSet, call_bound};
    #[pymodule_export]
    use super::ceiling::{Ceiling, Ceilings, ceilings};
    #[pymodule_export]
    use super::design::{
        Assumption, Board, BoardFirmware, Design, Handler, ICache, Ram, Tlb, board_text, boards,
        cells, design_fields, parse_size, read_toml,
    };
    #[pymodule_export]
    use super::driver::{CopyLoop, ListedInstruction};
    #[pymodule_export]
    use super::estimate::{
        AssumedValue, ByteTime, Energy, Estimate, EstimateSpec, Operation, OperationStep,
        PricedHost, PricedLayer, Range, Remedy, Stage, ValueRange, all_operations, estimate,
    };
    #[pymodule_export]
    use super::faults::{FaultTimes, JobSpan, Jobs, ScheduledFault, overlaps, schedules};
    #[pymodule_export]
    use super::functions::{
        FunctionPrices, FunctionRam, FunctionRow, FunctionUse, UnitCounts, function_instructions,
        function_policies, simulate_functions,
    };
    #[pymodule_export]
    use super::homes::{StoredPart, TrainedHomes, train_homes};
    #[pymodule_export]
    use super::host::{
        DividerRange, Dma, Driver, Host, Layer, MeasuredHost, Measurement, Memory, Peripheral,
        Processor, Software, controllers, dividers, measured_hosts, systems,
    };
    #[pymodule_export]
    use super::layout::{
        CommitTimes, Layout, LayoutCoverage, LayoutOutcome, PageHeat, PageLayout, PlacedUnit,
        SlotLayout, lay_out,
    };
    #[pymodule_export]
    use super::linked::{
        CheckedLink, CheckedPins, LinkOrder, Linked, OrderText, OrderViolation, PinText,
        SampleProfile, SlippedUnit, UnpinnedUnit, check_link, check_pinned, check_slots,
        is_for_ram, method_profile, order_formats, pin_copied_before, pin_formats, sample_profile,
    };
    #[pymodule_export]
    use super::live::{
        CompressorRatios, LiveCounts, LivePoint, LiveRead, LiveReadCounts, LiveStore, PagesInfo,
        PagesProcess, PagesRatio, SwapLive, capture_pages, pages_info, pages_ratios, swap_live,
    };
    #[pymodule_export]
    use super::luck::{
        BuildComparison, DesignLuck, FunctionChange, Luck, Quantile, RatioInterval, compare_builds,
        draw_kinds, link_luck,
    };
    #[pymodule_export]
    use super::parts::{
        Complaint, Ecc, Fact, Part, PartCheck, RawBandwidth, SourcedFloat, SourcedInt, catalog,
        examine_part, find_part, part_kinds, part_schema, raw_bandwidth,
    };
    #[pymodule_export]
    use super::pin::{ColdCall, HeldUnit, JointLayout, PinStep, Pinning, pin_in_ram};
    #[pymodule_export]
    use super::processor::{
        CallTimes, Core, FaultPathJob, Spread, Stall, call_times, cores, find_core, worst_stall,
    };
    #[pymodule_export]
    use super::reach::{Reach, ReachCall, ReachFinding, ReachStep, reached};
    #[pymodule_export]
    use super::record::{
        Arrangement, Origin, Placement, RecordedTrace, Recording, Region, arrange_methods,
        default_sections, import_formats, kept_methods, unknown_methods,
    };
    #[pymodule_export]
    use super::replay::{
        Count, Counts, Fetch, FetchPrices, FlashEnergy, HomesSummary, Latency, NorComparison,
        Power, Prices, ReadDisturb, Row, RunTime, SampleErrors, SamplePlan, Time, counts, explore,
        memory_bytes, simulate,
    };
    #[pymodule_export]
    use super::seam::{DiskFullError, FlashpagerError};
    #[pymodule_export]
    use super::space::{Axis, axes, policies, policy_metadata};
    #[pymodule_export]
    use super::swap::{
        MachineCounts, MediumFaults, MediumGeometry, MediumPrices, MediumTime, StoreCounters,
        StoreReport, StoreStatistics, SwapBench, SwapChurn, SwapPhase, SwapPoint, SwapPrices,
        SwapSpec, SwapSystem, SwapTime, Wear, swap_bench, swap_churn, swap_compressors,
        swap_layouts, swap_media, swap_readings, swap_system,
    };
    #[pymodule_export]
    use super::trace::{
        BlockStatistics, CodePiece, Ending, Gap, HottestCode, Image, OutsideFile, PageUse,
        ProgramFile, ProgramSection, Section, Symbol, TraceInfo, WarmUp, block_statistics,
        check_trace, elf_identity, export_formats, export_trace, flash_image, linked_ranges,
        recorded_blocks, stored_word, trace_info,
    };
    #[pymodule_export]
    use super::version;
    #[pymodule_export]
    use super::windows::{CountBounds, ValueBounds, WindowedResult, simulate_windows};
}
