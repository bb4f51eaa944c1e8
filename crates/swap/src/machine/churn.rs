//! Churn: the cost of overwriting pages in a store that is nearly full.

use flashpager_base::{Error, ProgressFn, Result};
use serde::Serialize;

use super::fault;
use super::report::{Phase, StoreReport, SystemReport};
use crate::counts::MachineCounts;
use crate::spec::{SwapSpec, SwapSystem};
use crate::store::{Store, StoreError};
use crate::workload::SplitMix;

/// The result of [`churn`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChurnReport {
    /// The system.
    #[serde(flatten)]
    pub system: SystemReport,
    /// Slots that were filled first.
    pub filled_slots: u32,
    /// Share of the store's space that they took.
    pub filled_share: f64,
    /// Pages that were overwritten.
    pub pages_written: u64,
    /// Compressed bytes of those pages, divided by the store's space.
    pub turnovers: f64,
    /// Counts and time of overwriting alone.
    pub overwriting: Phase,
    /// Nanoseconds per overwritten page.
    pub page_ns: f64,
    /// Bytes programmed over compressed bytes written, of overwriting alone.
    pub write_amplification: f64,
    /// State of the store at the end, filling included.
    pub store: StoreReport,
}

/// Fills a share of a store's space, then overwrites random slots until it has been turned over.
/// `progress` is called with the compressed bytes written so far and those at the end.
///
/// # Errors
/// If [`bench`](super::bench()) would fail, or the store cannot be filled so far.
pub fn churn(
    spec: SwapSpec,
    should_continue: &dyn Fn() -> bool,
    progress: ProgressFn<'_, (u64, u64)>,
) -> Result<ChurnReport> {
    let mut system = SwapSystem::new(spec)?;
    let contents = system.contents()?;
    let fill_percent = system.spec.fill_percent;
    if !(1..=100).contains(&fill_percent) {
        return Err(Error::design(format!("fill_percent = {fill_percent} is not 1 to 100")));
    }
    if !(system.spec.turnovers > 0.0 && system.spec.turnovers <= 1e6) {
        return Err(Error::design(format!(
            "turnovers = {} is not between 0 and 1000000",
            system.spec.turnovers
        )));
    }
    // Slots for pages that compress to a sixteenth of their size.
    let slots = 16 * system.medium.geometry.bytes() / u64::from(system.spec.page_bytes);
    system.store.slot_count = slots.clamp(1, u64::from(u32::MAX) - 1) as u32;
    let mut store = Store::format(&system.store)?;
    let mut page = vec![0; system.spec.page_bytes as usize];
    let mut write = |store: &mut Store, slot: u32, content: u64| -> Result<()> {
        contents.fill(content, &mut page);
        store.write(slot, &page).map_err(|error| match error {
            StoreError::Full => Error::design(format!(
                "the medium is full at slot {slot}: a store of this layout cannot be filled to \
                 {fill_percent} %; fill less"
            )),
            other => fault(slot, other),
        })
    };
    let limit = store.statistics().mem_limit;
    let wanted = limit as f64 * f64::from(fill_percent) / 100.0;
    let mut filled: u32 = 0;
    while (store.statistics().mem_used_total as f64) < wanted && filled < system.store.slot_count {
        write(&mut store, filled, filled.into())?;
        filled += 1;
        if !should_continue() {
            return Err(Error::Interrupted);
        }
    }
    let (filled_stat, before) = (store.statistics(), store.counters());
    let mut random = SplitMix::new(system.spec.seed);
    let goal = (limit as f64 * system.spec.turnovers) as u64;
    let mut content = u64::from(filled);
    let mut written = 0;
    while written < goal {
        for _ in 0..64 {
            write(&mut store, random.below(filled.into()) as u32, content)?;
            content += 1;
        }
        let size = store.statistics().written_size - filled_stat.written_size;
        if size == written {
            return Err(Error::design(
                "all pages are filled with one word and take no room: nothing is turned over",
            ));
        }
        written = size;
        if !should_continue() {
            return Err(Error::Interrupted);
        }
        progress((written.min(goal), goal));
    }
    let pages_written = content - u64::from(filled);
    let counters = store.counters() - before;
    let counts =
        MachineCounts { pages_out: pages_written, store: counters, ..MachineCounts::default() };
    let overwriting = Phase::new(counts, &system.prices);
    Ok(ChurnReport {
        system: system.report(),
        filled_slots: filled,
        filled_share: filled_stat.mem_used_total as f64 / limit.max(1) as f64,
        pages_written,
        turnovers: written as f64 / limit.max(1) as f64,
        overwriting,
        page_ns: overwriting.time.total_ns / pages_written.max(1) as f64,
        write_amplification: counters.program_bytes as f64 / written.max(1) as f64,
        store: StoreReport::new(&store),
    })
}
