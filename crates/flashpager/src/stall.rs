//! Stalls: the longest time that misses stop a program within a stretch of execution as short as an
//! interrupt handler.
//!
//! The worst single miss shows how late an interrupt handler can begin. The handler itself executes a
//! few hundred bytes, and several of their lines may be missing, too: the worst stretch of the trace
//! shows how much longer that can take.

use std::collections::VecDeque;

use flashpager_base::{Error, ProgressFn, Result};
use flashpager_replay::{Events, Fault, FaultClass, replay};
use flashpager_trace::{Trace, TraceInfo};
use serde::Serialize;

use crate::design::{Design, NO_SUMS};
use crate::simulation::CellProgress;

/// Bytes executed in a short interrupt handler: a hundred instructions of two or four bytes.
pub const INTERRUPT_BYTES: u64 = 256;

/// The stretch of a trace in which misses take most time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stall {
    /// The length of the stretch, in bytes executed (and read, in a trace with reads).
    pub window_bytes: u64,
    /// Misses in it.
    pub misses: u64,
    /// Time that they take, in nanoseconds.
    pub stall_ns: f64,
    /// Offset in the image of the first of them; 0 without a miss.
    pub offset: u32,
    /// Bytes executed before that miss, the warm-up's included.
    pub executed_bytes: u64,
}

/// A miss of the current window.
struct WindowMiss {
    /// Bytes executed before it.
    at: u64,
    /// Time of the miss in nanoseconds.
    ns: f64,
    /// Image offset of the reference that missed.
    offset: u32,
}

/// Replays `trace`, which `info` describes, through `design`, and finds the `window_bytes` of
/// consecutive execution in which misses take most time; of several the first. A window that begins
/// with a miss at byte a contains the misses at bytes below a + `window_bytes`. Misses of the warm-up
/// belong to no window.
///
/// # Errors
/// If the window has 0 bytes, the design is executed fault by fault, or the replay fails.
pub fn worst_stall(
    trace: &dyn Trace,
    info: &TraceInfo,
    design: &Design,
    window_bytes: u64,
    should_continue: &dyn Fn() -> bool,
    progress: ProgressFn<'_, CellProgress>,
) -> Result<Stall> {
    if window_bytes == 0 {
        return Err(Error::design("a stretch of 0 bytes has no misses; give it at least 1"));
    }
    if design.is_executed() {
        return Err(Error::design(format!(
            "with {NO_SUMS}, a fault's time depends on what runs around it; ask for the worst \
             stretch of the design without them"
        )));
    }
    design.check_plain_store("ask for the worst stretch")?;
    let design = &*design.executing(info)?;
    let prices = design.prices();
    let written = u64::from(design.cache().cache_page_bytes);
    let read = |runs: u64| progress(((runs as f64 / info.runs.max(1) as f64).min(1.0), 1));
    let trace = &flashpager_trace::ProgressTrace::new(trace, &read);
    let warm_up = trace.warm_up().bytes;
    let mut worst = Stall { window_bytes, ..Stall::default() };
    let mut window: VecDeque<WindowMiss> = VecDeque::new();
    let mut at = 0;
    let mut sink = |_: usize, fault: &Fault| {
        at += fault.executed.bytes;
        if at < warm_up {
            return;
        }
        let class = FaultClass::of(&fault.access, fault.search);
        let ns = prices.fault_ns(&class, written);
        window.push_back(WindowMiss { at, ns, offset: fault.offset });
        while window.front().is_some_and(|miss| miss.at + window_bytes <= at) {
            window.pop_front();
        }
        // A new sum for each miss: so rounding does not accumulate.
        let stall_ns = window.iter().map(|miss| miss.ns).sum();
        if stall_ns > worst.stall_ns {
            let first = window.front();
            worst = Stall {
                misses: window.len() as u64,
                stall_ns,
                offset: first.map_or(0, |miss| miss.offset),
                executed_bytes: first.map_or(0, |miss| miss.at),
                ..worst
            };
        }
    };
    let events = Events { critical_block_bytes: None, sink: &mut sink, begun: None, words: None };
    replay(trace, design.cache(), &[design.register()], should_continue, Some(events))?;
    Ok(worst)
}
