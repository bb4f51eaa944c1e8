//! The answer to a request for a layout.

use serde::Serialize;

use super::heat::PageHeat;
use super::units::Coverage;
use crate::result::ResultRow;

/// Progress of a search for a layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayoutProgress {
    /// The cache page that is searched; 0 where each design keeps its own.
    pub cache_page_bytes: u32,
    /// Time of the best order so far over the time before.
    pub time_ratio: f64,
    /// Share of the search's evaluations that is done; 0 if time limits the search.
    pub evaluated_share: f64,
}

/// An order of the units for a cache page, and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayoutOutcome {
    /// The origin of the order: `before` for the recorded one, the name of a published order, or
    /// `found`.
    pub what: String,
    /// The cache page of the first design.
    pub cache_page_bytes: u32,
    /// The mean, over all designs, of the time divided by the time before. The time before is that
    /// of the recorded order with the design's own cache page.
    pub time_ratio: f64,
    /// The same ratio for the executions that were held out; `None` if none were.
    pub held_out_ratio: Option<f64>,
    /// Results by design, then by trace.
    pub rows: Vec<ResultRow>,
    /// Results for the executions that were held out, by design, then by execution.
    pub held_out: Vec<ResultRow>,
}

/// The layout for one cache page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageLayout {
    /// The cache page of the first design.
    pub cache_page_bytes: u32,
    /// The recorded order, with the same units in RAM.
    pub before: LayoutOutcome,
    /// The recorded order with nothing in RAM; `None` if no unit lies there.
    pub before_resident: Option<LayoutOutcome>,
    /// The best of the published orders, the recorded one among them.
    pub baseline: LayoutOutcome,
    /// The best order of all.
    pub found: LayoutOutcome,
    /// Orders that the search evaluated for this cache page; 0 if it ended before.
    pub evaluations: u64,
    /// Names of the movable units, in the order found.
    pub order: Vec<String>,
    /// Bytes of the image in this order, gaps between units included.
    pub image_bytes: u64,
    /// Bytes between units.
    pub gap_bytes: u32,
    /// All units, with their offsets in both images.
    pub units: Vec<PlacedUnit>,
    /// Each published order with its time over the time before, as the search measures it.
    pub portfolio: Vec<(&'static str, f64)>,
    /// Executed pages of the recorded image, without units in RAM.
    pub heat_before: Vec<PageHeat>,
    /// Executed pages of the new image, without units in RAM.
    pub heat_after: Vec<PageHeat>,
}

/// A unit and its offsets in both images.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacedUnit {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u32,
    /// Its offset in the recorded image.
    pub before: u32,
    /// Its offset in the new image.
    pub after: u32,
    /// True if it cannot move.
    pub fixed: bool,
    /// Executed bytes of the unit, counted at each execution and weighted by trace.
    pub executed_bytes: f64,
}

/// Times of links after commits, each over the time before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CommitTimes {
    /// Number of commits.
    pub commits: u32,
    /// Number of links drawn.
    pub draws: usize,
    /// The time below which a tenth of them lies.
    pub p10: f64,
    /// The median.
    pub p50: f64,
    /// The time below which nine of ten lie.
    pub p90: f64,
    /// The longest.
    pub worst: f64,
}

/// An order in slots, and what commits make of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlotLayout {
    /// Free bytes behind each unit in a slot.
    pub slack_bytes: u32,
    /// The units in slots, by their offsets in the new image.
    pub names: Vec<String>,
    /// Free bytes before the data behind the code.
    pub reserve_bytes: u32,
    /// The recorded program after one commit, in the order of its link.
    pub recorded: CommitTimes,
    /// The program in slots after one commit and more.
    pub after: Vec<CommitTimes>,
}

/// Layouts for all cache pages of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// One layout for each cache page, in the order of the request.
    pub pages: Vec<PageLayout>,
    /// Index of the best of them.
    pub best: usize,
    /// The units, and assumptions on them.
    pub coverage: Coverage,
    /// Bytes of the units that lie in RAM, beside the cache.
    pub resident_bytes: u64,
    /// Orders evaluated for all cache pages together.
    pub evaluations: u64,
    /// Pieces that the search replays instead of all executed ones, for each cache page.
    pub replayed_pieces: Vec<u64>,
    /// Pieces executed.
    pub executed_pieces: u64,
    /// The best order after commits; `None` without slots.
    pub slots: Option<SlotLayout>,
}
