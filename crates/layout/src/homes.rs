//! Homes: the pages that stand behind each cache page in its flash page, chosen by what missed next.
//!
//! At first each page is followed by its neighbours in the image. A round fills the slots of the home
//! of x from the training misses: a pointer starts behind each occurrence of x. The page at which most
//! pointers stand becomes the next slot, these pointers move on, and the others wait. Slots for which
//! no pointer is left keep their page. In the first round all misses on x are its occurrences; in the
//! next rounds they are those that loaded x from the homes of the round before.

use std::fmt;

use flashpager_base::{Error, Result};
use flashpager_replay::pager::Page;
use flashpager_replay::register::RegisterModel;
use flashpager_replay::{Counts, Homes, HomesRegisterDesign, HomesShape, Miss};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// The number of rounds.
pub const ROUNDS: u32 = 8;

/// The misses of one trace, from which homes are filled.
#[derive(Clone, Copy, Debug)]
pub struct TrainingMisses<'a> {
    /// The misses in their order.
    pub misses: &'a [Miss],
    /// The counts of the same replay from the plain store.
    pub counts: &'a Counts,
    /// The counts of the design that is kept if homes do not pay: the plain store, without trained
    /// reuse classes.
    pub plain: &'a Counts,
    /// The weight of a miss and of the time beside other traces.
    pub weight: u32,
}

/// The contents that were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The plain store.
    Plain,
    /// Homes in which each page is followed by its neighbours in the image.
    Neighbours,
    /// The homes of a round, from 1 on.
    Round(u32),
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::Neighbours => f.write_str("neighbours"),
            Self::Round(round) => write!(f, "round {round}"),
        }
    }
}

/// The result of a training.
#[derive(Clone, Debug)]
pub struct FilledHomes {
    /// The homes of least time; `None` if the plain store takes no more.
    pub homes: Option<Homes>,
    /// The kept contents.
    pub kept: Contents,
    /// The time of the training misses with the kept contents.
    pub time: f64,
    /// Their time with the plain store.
    pub plain_time: f64,
}

/// Fills homes of `shape` from the misses of one trace or more. `time` gives the time of counts, in
/// any unit; the contents of the least sum are kept, and of equal ones the first of plain store,
/// neighbours and rounds. A pointer, and the time of a trace, count by its weight. A trace begins
/// with an empty register.
///
/// # Errors
/// [`Error::Interrupted`] once `should_continue` returns false.
pub fn fill_homes(
    shape: HomesShape,
    register: HomesRegisterDesign,
    traces: &[TrainingMisses<'_>],
    time: &(dyn Fn(&Counts) -> f64 + Sync),
    should_continue: &(dyn Fn() -> bool + Sync),
) -> Result<FilledHomes> {
    let weighted =
        |trace: &TrainingMisses<'_>, counts: &Counts| f64::from(trace.weight) * time(counts);
    let plain_time = traces.iter().map(|trace| weighted(trace, trace.plain)).sum();
    let mut best = FilledHomes { homes: None, kept: Contents::Plain, time: plain_time, plain_time };
    let mut homes = Homes::of_neighbours(shape);
    let mut occurrences = occurrences(shape.pages, traces, |_, _| true);
    for round in 0..=ROUNDS {
        if round > 0 {
            homes = next_homes(&homes, register.model(), traces, &occurrences, should_continue)?;
        }
        let mut loaded: Vec<Vec<bool>> = Vec::with_capacity(traces.len());
        let mut sum = 0.0;
        for trace in traces {
            let mut loads = Vec::with_capacity(trace.misses.len());
            let served = homes.serve(register, trace.misses, |_, access| loads.push(access.load));
            sum += weighted(trace, &served.instead_of(trace.counts));
            loaded.push(loads);
        }
        if sum < best.time {
            let kept = if round == 0 { Contents::Neighbours } else { Contents::Round(round) };
            best = FilledHomes { homes: Some(homes.clone()), kept, time: sum, ..best };
        }
        if round > 0 {
            occurrences = self::occurrences(shape.pages, traces, |trace, at| loaded[trace][at]);
        }
    }
    Ok(best)
}

/// A miss, by the index of its trace and its own in it.
type Place = (u32, u32);

/// The chosen occurrences of each page.
fn occurrences(
    pages: u32,
    traces: &[TrainingMisses<'_>],
    chosen: impl Fn(usize, usize) -> bool,
) -> Vec<Vec<Place>> {
    let mut of_page = vec![Vec::new(); pages as usize];
    for (number, trace) in traces.iter().enumerate() {
        for (at, miss) in trace.misses.iter().enumerate().filter(|(at, _)| chosen(number, *at)) {
            of_page[miss.page as usize].push((number as u32, at as u32));
        }
    }
    of_page
}

/// The homes of the round behind that of `before`.
fn next_homes(
    before: &Homes,
    model: RegisterModel,
    traces: &[TrainingMisses<'_>],
    occurrences: &[Vec<Place>],
    should_continue: &(dyn Fn() -> bool + Sync),
) -> Result<Homes> {
    let fill = |(page, places): (usize, &Vec<Place>)| {
        if !should_continue() {
            return Err(Error::Interrupted);
        }
        let page = page as Page;
        let most = before.shape().slots() as usize;
        let mut slots = Pointers::new(traces, model).slots(page, places, most);
        slots.extend(before.slots(page).get(slots.len()..).unwrap_or_default());
        Ok(slots)
    };
    let slots = occurrences.par_iter().enumerate().map(fill).collect::<Result<Vec<_>>>()?;
    Homes::new(before.shape(), slots)
}

/// The pointers behind the occurrences of a page. Those at one miss move together.
struct Pointers<'a> {
    traces: &'a [TrainingMisses<'a>],
    model: RegisterModel,
    /// By the page at which they stand: the place and the weight of the pointers there.
    standing: FxHashMap<Page, FxHashMap<Place, u64>>,
    /// By page, the weight of the pointers that stand at it.
    weights: FxHashMap<Page, u64>,
}

impl<'a> Pointers<'a> {
    fn new(traces: &'a [TrainingMisses<'a>], model: RegisterModel) -> Self {
        Self { traces, model, standing: FxHashMap::default(), weights: FxHashMap::default() }
    }

    /// The page at `place`; `None` past the end of its trace.
    fn page(&self, (trace, at): Place) -> Option<Page> {
        self.traces[trace as usize].misses.get(at as usize).map(|miss| miss.page)
    }

    /// Puts pointers at `place`, or drops them if it is past the end of its trace.
    fn put(&mut self, place: Place, weight: u64) {
        let Some(page) = self.page(place) else { return };
        *self.standing.entry(page).or_default().entry(place).or_default() += weight;
        *self.weights.entry(page).or_default() += weight;
    }

    /// The slots of the home of `page`, as far as pointers are left.
    fn slots(mut self, page: Page, occurrences: &[Place], most: usize) -> Vec<Page> {
        for (trace, at) in occurrences {
            let weight = self.traces[*trace as usize].weight;
            self.put((*trace, at + 1), weight.into());
        }
        let mut slots = vec![page];
        while slots.len() < most {
            let order = |(page, weight): (&Page, &u64)| (*weight, std::cmp::Reverse(*page));
            let Some((_, next)) = self.weights.iter().map(order).max() else { break };
            slots.push(next.0);
            self.move_on(next.0, &slots);
        }
        slots
    }

    /// Moves the pointers at `page`, which has got a slot, on by one; with random-column, on to a
    /// page without a slot.
    fn move_on(&mut self, page: Page, slots: &[Page]) {
        self.weights.remove(&page);
        let standing = self.standing.remove(&page).unwrap_or_default();
        let mut groups: Vec<(Place, u64)> = standing.into_iter().collect();
        groups.sort_unstable();
        // From the last on: a group that comes to the begin of a later one ends where that ended.
        let mut ends: FxHashMap<Place, Place> = FxHashMap::default();
        for &(place, weight) in groups.iter().rev() {
            let mut end = (place.0, place.1 + 1);
            if self.model == RegisterModel::RandomColumn {
                while self.page(end).is_some_and(|page| slots.contains(&page)) {
                    match ends.get(&end) {
                        Some(known) => end = *known,
                        None => end.1 += 1,
                    }
                }
                ends.insert(place, end);
            }
            self.put(end, weight);
        }
    }
}
