//! The program of the traces as a search sees it: its units, and what executes of them.

use std::path::Path;

use flashpager_base::{Error, Result};
use flashpager_layout::{PieceSequence, Profile, Units};

use super::heat::Heat;
use super::names::NamedUnits;
use super::request::LayoutRequest;
use super::traces::TraceSet;
use super::units::{Coverage, check_named, executed_share, units};
use crate::linked::LinkedProgram;

/// The units of a program, and what the traces execute of them.
pub(super) struct Program {
    /// The units, with those of the request in RAM.
    pub(super) units: Units,
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
    /// A program without units that can move, names of no unit, and units in RAM beside a map.
    pub(super) fn of(
        request: &LayoutRequest,
        traces: &TraceSet,
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self> {
        let (recorded_units, mut notes) =
            recorded_units(traces, request.map.as_deref(), should_continue)?;
        if traces.has_reads() {
            notes.push(
                "data that is read out of a unit moves with it; other data stays where it is, \
                 though a link may move it a little"
                    .to_owned(),
            );
        }
        let units = if request.resident.is_empty() {
            recorded_units.clone()
        } else if request.map.is_some() {
            return Err(Error::design(
                "an order does not put code into RAM: put it into another section \
                 in the linker script, link and record that, and leave --resident or --map out",
            ));
        } else {
            let named = NamedUnits::of(&recorded_units, traces.info(), &request.resident)?;
            notes.extend(named.notes);
            let names = named.numbers.iter();
            let names = names.map(|number| recorded_units.all()[*number as usize].name.as_str());
            recorded_units.with_resident(names)?
        };
        let sequences =
            traces.training().map(|(_, trace)| PieceSequence::of(&units, trace, should_continue));
        let sequences = sequences.collect::<Result<Vec<_>>>()?;
        let weights = traces.weights();
        let weighted = || sequences.iter().zip(weights.iter().copied());
        let coverage = Coverage {
            movable: units.movable().len(),
            executed_share: executed_share(&units, &sequences),
            notes,
        };
        let (profile, heat) = (Profile::of(&units, weighted()), Heat::of(weighted()));
        Ok(Self { units, recorded_units, sequences, profile, heat, coverage })
    }
}

/// The units of the recorded image: the input sections of `map`, or functions without one. Notes
/// state the assumptions on them.
///
/// # Errors
/// An image without symbols, a map that cannot be read or that is of another link, and traces that
/// cannot be read.
pub(super) fn recorded_units(
    traces: &TraceSet,
    map: Option<&Path>,
    should_continue: &dyn Fn() -> bool,
) -> Result<(Units, Vec<String>)> {
    if let Some(map) = map {
        return Ok((LinkedProgram::of(traces.info(), map)?.units().clone(), Vec::new()));
    }
    // Before memory is taken for an image of any length.
    check_named(traces.info())?;
    units(traces.info(), &traces.executed(should_continue)?)
}
