//! Page references as libCacheSim's `oracleGeneral` traces.

use std::io::Write;

use flashpager_base::{Error, Result};
use rustc_hash::FxHashMap;

use crate::source::{Trace, for_runs};

/// Largest number of references: each takes eight bytes of memory, because its entry states when the
/// page is referenced next.
const MAX_REFERENCES: usize = 1 << 30;

/// Smallest number of references for which memory is taken.
const FIRST_REFERENCES: usize = 1 << 10;

/// Stands for no next reference.
const NEVER: u32 = u32::MAX;

/// The pages that a trace references, in order. References to one page in a row are one.
struct PageReferences {
    pages: Vec<u32>,
    /// Number of the next reference to the same page.
    next: Vec<u32>,
}

impl PageReferences {
    fn of(trace: &dyn Trace, page_bytes: u32, should_continue: &dyn Fn() -> bool) -> Result<Self> {
        let mut references = Self { pages: Vec::new(), next: Vec::new() };
        let mut last: FxHashMap<u32, u32> = FxHashMap::default();
        for_runs(trace, should_continue, |runs| {
            runs.iter().try_for_each(|run| {
                let mut pages = run.offset / page_bytes..=run.last() / page_bytes;
                pages.try_for_each(|page| references.push(page, &mut last))
            })
        })?;
        Ok(references)
    }

    fn push(&mut self, page: u32, last: &mut FxHashMap<u32, u32>) -> Result<()> {
        if self.pages.last() == Some(&page) {
            return Ok(());
        }
        let number = self.pages.len();
        let room = self.pages.capacity().min(self.next.capacity()).min(MAX_REFERENCES);
        if number >= room || last.len() == last.capacity() {
            self.grow(2 * number, last)?;
        }
        if let Some(before) = last.insert(page, number as u32) {
            self.next[before as usize] = number as u32;
        }
        self.pages.push(page);
        self.next.push(NEVER);
        Ok(())
    }

    /// Makes room for `wanted` references, or as many as there may be, and for another page.
    #[cold]
    fn grow(&mut self, wanted: usize, last: &mut FxHashMap<u32, u32>) -> Result<()> {
        let count = self.pages.len();
        if count >= MAX_REFERENCES {
            return Err(Error::design(format!(
                "the trace has over {MAX_REFERENCES} page references: export a part of it, or with \
                 larger pages"
            )));
        }
        let more = wanted.clamp(FIRST_REFERENCES, MAX_REFERENCES) - count;
        let lists = [&mut self.next, &mut self.pages];
        let fits = lists.into_iter().all(|list| list.try_reserve_exact(more).is_ok());
        if fits && last.try_reserve(1).is_ok() {
            return Ok(());
        }
        Err(Error::design(format!(
            "{count} page references and more do not fit into memory, at 8 bytes each: export a part \
             of the trace, or with larger pages"
        )))
    }
}

/// Writes the page references of `trace` to `out`, which errors call `place`. An entry has 24 bytes,
/// little-endian: its number (32 bits), the page (64), the bytes of a page (32), and the number of
/// the next entry of the page (64; -1 if there is none).
///
/// # Errors
/// If the page size is no power of two, there are too many references, or reading or writing fails.
/// [`Error::Interrupted`] if the callback ends the work.
pub fn export_page_references(
    trace: &dyn Trace,
    page_bytes: u32,
    out: &mut dyn Write,
    place: &str,
    should_continue: &dyn Fn() -> bool,
) -> Result<()> {
    if !page_bytes.is_power_of_two() {
        return Err(Error::design(format!("a page of {page_bytes} bytes is no power of two")));
    }
    let references = PageReferences::of(trace, page_bytes, should_continue)?;
    for (number, (page, next)) in references.pages.iter().zip(&references.next).enumerate() {
        let next = if *next == NEVER { -1 } else { i64::from(*next) };
        let mut entry = [0; 24];
        entry[..4].copy_from_slice(&(number as u32).to_le_bytes());
        entry[4..12].copy_from_slice(&u64::from(*page).to_le_bytes());
        entry[12..16].copy_from_slice(&page_bytes.to_le_bytes());
        entry[16..].copy_from_slice(&next.to_le_bytes());
        out.write_all(&entry).map_err(|error| Error::io(place, error))?;
        if number % (1 << 20) == 0 && !should_continue() {
            return Err(Error::Interrupted);
        }
    }
    out.flush().map_err(|error| Error::io(place, error))
}
