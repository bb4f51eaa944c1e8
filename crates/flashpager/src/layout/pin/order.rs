//! Orders of all movable units, of which some are pinned.

use flashpager_base::Result;
use flashpager_layout::{Order, Units};
use rustc_hash::{FxHashMap, FxHashSet};

/// The order of the units that stay in flash, by an order of all movable units.
///
/// # Errors
/// If the order does not list all movable units.
pub(super) fn in_flash(units: &Units, all: &[u32]) -> Result<Order> {
    let stays = |number: &u32| !units.is_resident(*number as usize);
    Order::new(units, all.iter().copied().filter(stays).collect())
}

/// `order` with the missing units of `all` inserted, each behind its predecessor in `all`. This is
/// where a unit goes if it is no longer pinned.
pub(super) fn spliced(all: &[u32], order: &[u32]) -> Vec<u32> {
    let stays: FxHashSet<u32> = order.iter().copied().collect();
    let mut followers: FxHashMap<Option<u32>, Vec<u32>> = FxHashMap::default();
    let mut last = None;
    for number in all {
        if stays.contains(number) {
            last = Some(*number);
        } else {
            followers.entry(last).or_default().push(*number);
        }
    }
    let mut spliced = followers.remove(&None).unwrap_or_default();
    for number in order {
        spliced.push(*number);
        spliced.extend(followers.remove(&Some(*number)).unwrap_or_default());
    }
    spliced
}
