//! The next use of each page, which the policy MIN needs.

use flashpager_base::{Error, Result};
use flashpager_trace::{Trace, for_runs};

use super::hierarchy::{ICacheShape, ReferenceSource};
use crate::pager::{Moment, NEVER};

/// Finds for each collapsed reference behind `icache` the moment of the next one to the same page.
/// Takes 4 bytes per reference.
pub(super) fn next_uses(
    trace: &dyn Trace,
    shift: u32,
    icache: Option<ICacheShape>,
    pages: u32,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<Moment>> {
    let mut moments: Vec<Moment> = Vec::new();
    let mut front = ReferenceSource::new(shift, icache);
    let mut filled = 0;
    for_runs(trace, should_continue, |runs| {
        let more = runs.iter().map(|run| (run.length as usize >> shift) + 2).sum::<usize>();
        let room = filled + more;
        if room > moments.len() {
            if room >= NEVER as usize {
                return Err(Error::design(format!(
                    "min: {filled} page references and more, of which {NEVER} can be distinguished; \
                     take larger cache pages"
                )));
            }
            if moments.try_reserve(room - moments.len()).is_err() {
                return Err(Error::design(format!(
                    "min: {filled} page references and more do not fit into memory, at 4 bytes \
                     each; take larger cache pages"
                )));
            }
            moments.resize(moments.capacity().min(2 * room), 0);
        }
        filled = front.append(runs, &mut moments, filled);
        Ok(())
    })?;
    moments.truncate(filled);
    // From the end backwards, each page is replaced by its next use.
    let mut next_use_of = vec![0; pages as usize];
    for (moment, entry) in moments.iter_mut().enumerate().rev() {
        // Stored + 1, so that an untouched zero means NEVER.
        let next_use = std::mem::replace(&mut next_use_of[*entry as usize], moment as Moment + 1);
        *entry = next_use.wrapping_sub(1);
    }
    Ok(moments)
}
