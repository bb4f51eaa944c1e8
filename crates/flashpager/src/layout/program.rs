//! The program of the traces as a search sees it: its units, and their executions.

use std::path::Path;

use flashpager_base::{Result, shown};
use flashpager_layout::{Order, PieceSequence, Profile, Units};

use super::heat::Heat;
use super::names::NamedUnits;
use super::request::LayoutRequest;
use super::traces::TraceSet;
use super::units::{Coverage, check_named, executed_share, units};
use super::veneers::Veneers;
use crate::linked::LinkedProgram;

/// The units of a program, and their executions in the traces.
pub(super) struct Program {
    /// The units, with those of the request in RAM, and with slack behind executed ones if they get
    /// slots.
    pub(super) units: Units,
    /// The same units without slack.
    pub(super) plain_units: Units,
    /// The same units, none of them in RAM.
    pub(super) recorded_units: Units,
    /// The part of each trace that the search sees, as pieces of units.
    pub(super) sequences: Vec<PieceSequence>,
    /// Counts of units and of transitions between them, over all traces with their weights.
    pub(super) profile: Profile,
    /// Execution counts of bytes.
    pub(super) heat: Heat,
    /// The units, and assumptions on them.
    pub(super) coverage: Coverage,
}

impl Program {
    /// The program of `traces`.
    ///
    /// # Errors
    /// If the program has no units that can move, or a name is of no unit.
    pub(super) fn of(
        request: &LayoutRequest,
        traces: &TraceSet,
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self> {
        let (recorded_units, mut notes) =
            recorded_units(traces, request.map.as_deref(), true, should_continue)?;
        let units = if request.resident.is_empty() {
            recorded_units.clone()
        } else {
            let named = NamedUnits::of(&recorded_units, traces.info(), &request.resident)?;
            notes.extend(named.notes);
            if let Some(veneers) = Veneers::of(traces, &recorded_units, &named.numbers)? {
                notes.push(veneers.note(&[], None));
            }
            let names = named.numbers.iter();
            let names = names.map(|number| recorded_units.all()[*number as usize].name.as_str());
            recorded_units.with_resident(names)?
        };
        let sequences =
            traces.training().map(|(_, trace)| PieceSequence::of(&units, trace, should_continue));
        let sequences = sequences.collect::<Result<Vec<_>>>()?;
        let weights = traces.weights();
        let weighted = || sequences.iter().zip(weights.iter().copied());
        notes.extend(note_of_reads(&sequences));
        let coverage = Coverage {
            movable: units.movable().len(),
            executed_share: executed_share(&units, &sequences),
            notes,
        };
        let (profile, heat) = (Profile::of(&units, weighted()), Heat::of(weighted()));
        let plain_units = units.clone();
        let units = match request.slots_bytes {
            0 => units,
            slack_bytes => units.with_slack(&profile.executed(&plain_units), slack_bytes),
        };
        Ok(Self { units, plain_units, recorded_units, sequences, profile, heat, coverage })
    }
}

impl Program {
    /// True if executed units get slots.
    pub(super) fn has_slots(&self) -> bool {
        self.units != self.plain_units
    }

    /// The order with the units in slots before all others; the same order if there are no slots.
    ///
    /// # Errors
    /// If the order is of other units.
    pub(super) fn hot_first(&self, order: &Order) -> Result<Order> {
        let numbers = order.numbers().iter().copied();
        let (hot, rest): (Vec<u32>, Vec<u32>) =
            numbers.partition(|number| self.units.room(*number).slack_bytes > 0);
        Order::new(&self.units, [hot, rest].concat())
    }
}

/// The units of the recorded image: the input sections of `map`, or functions without one. If they are
/// for an order, data behind the code moves only if the order needs more padding. Notes state the
/// assumptions on them.
///
/// # Errors
/// If the image has no symbols, the map cannot be read or is of another link, or a trace cannot be
/// read.
pub(super) fn recorded_units(
    traces: &TraceSet,
    map: Option<&Path>,
    for_an_order: bool,
    should_continue: &dyn Fn() -> bool,
) -> Result<(Units, Vec<String>)> {
    let reads = traces.has_reads();
    let Some(map) = map else {
        // Before memory is taken for an image of any length.
        check_named(traces.info())?;
        let (units, mut notes) = units(traces.info(), &traces.executed(should_continue)?)?;
        if reads {
            notes.push(
                "data that is read out of a unit moves with it; other data stays where it is, \
                 though a link may move it a little (--map)"
                    .to_owned(),
            );
        }
        return Ok((units, notes));
    };
    let linked = LinkedProgram::of(traces.info(), map)?;
    let mut notes = Vec::new();
    if reads && !linked.units().followers().is_empty() {
        notes.push(
            match for_an_order {
                true => {
                    "data behind the code stays where it is, unless the order needs more padding; \
                     then it moves up with its alignment, as the linker places it"
                }
                false => {
                    "data behind the code moves with it and keeps its alignment, as the linker \
                     places it"
                }
            }
            .to_owned(),
        );
    }
    if let Some(stays) = linked.staying().filter(|_| reads) {
        notes.push(format!(
            "{} and what lies behind it stay where they are: the map does not tell how their place \
             follows from the code",
            shown(&stays.name)
        ));
    }
    let units = if for_an_order { linked.ordered_units() } else { linked.units() };
    Ok((units.clone(), notes))
}

/// States how many reads reach beyond the end of the unit in which they begin; `None` if none does.
pub(super) fn note_of_reads(sequences: &[PieceSequence]) -> Option<String> {
    let beyond = sequences.iter().map(|sequence| sequence.reads_beyond).max().unwrap_or(0);
    (beyond > 0).then(|| {
        let read = if beyond == 1 { "1 read reaches" } else { &format!("{beyond} reads reach") };
        format!(
            "{read} beyond the end of a unit, as those of string functions by whole words do: they \
             move with the unit that they begin in"
        )
    })
}
