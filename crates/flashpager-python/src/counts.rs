//! What a replay counts, and what that costs.

use flashpager::{cost, replay};

use crate::seam::view;

view! {
    /// What a replay counts, for one cache and one register.
    Counts = replay::Counts {
        /// Collapsed page references.
        references: u64,
        /// References that found their page usable.
        hits: u64,
        /// References whose page had to be fetched: true faults.
        misses: u64,
        /// References to a page that was cached but marked invalid.
        false_faults: u64,
        /// References that set again the bit of a page that the hand had cleared: hits, or
        /// false faults where the bit is emulated.
        reference_bits_set: u64,
        /// Flash pages loaded into the register because they were asked for.
        loads: u64,
        /// Flash pages loaded ahead.
        prefetches: u64,
        /// Misses in a flash page that is not held.
        other_page: u64,
        /// Misses in the flash page of the buffer that was not used last.
        other_buffer: u64,
        /// Misses in the register's page, at its next column or behind.
        forward: u64,
        /// Misses in the register's page, before its next column.
        backward: u64,
        /// Column changes without a load.
        column_changes: u64,
        /// Bytes delivered to the CPU.
        bytes_read: u64,
        /// Bytes over the bus, skipped ones included.
        bytes_fetched: u64,
        /// Bytes over the bus that were thrown away.
        bytes_skipped: u64,
        /// Bytes written into frames.
        bytes_written: u64,
        /// Frames looked at in search of victims.
        walk: u64,
        /// The longest of those searches.
        max_walk: u32,
        /// Pages moved from valid to invalid.
        downgrades: u64,
        /// Words fetched through the instruction cache; 0 without one.
        words: u64,
        /// Lines refilled into the instruction cache.
        line_refills: u64,
        /// Refills whose page the TLB did not know; 0 without one.
        tlb_misses: u64,
        /// (distance in blocks, how often), ascending, for consecutive requests in one flash
        /// page.
        distance_histogram: Vec<(i32, u64)>,
    }
}

view! {
    /// The time of a whole replay, step by step.
    Time = cost::Time {
        /// All steps together, less what is hidden.
        time_ns: f64,
        /// Array to register.
        load_ns: f64,
        /// Register over the bus.
        fetch_ns: f64,
        /// Into frames.
        write_ns: f64,
        /// Frames to the CPU, or through instruction cache and TLB.
        read_ns: f64,
        /// Column changes.
        column_change_ns: f64,
        /// Lookups, and what the host does for true faults.
        handler_ns: f64,
        /// False faults.
        false_faults_ns: f64,
        /// What goes on at once with something else. Below 0 where more is waited for loads
        /// ahead than they save.
        hidden_ns: f64,
        /// Bytes read over time, in 2²⁰ bytes/s.
        bandwidth_mib_s: f64,
    }
}
