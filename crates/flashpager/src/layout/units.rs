//! The units of a recorded image: its symbols, and executed bytes without one.

use std::collections::BTreeMap;
use std::ops::Range;

use flashpager_base::{Error, Result};
use flashpager_binary::elf::is_unnamed;
use flashpager_binary::literals::literal_offsets;
use flashpager_layout::{Unit, Units};
use flashpager_record::placement::METHOD_COMPONENT;
use flashpager_trace::{
    Image, Mark, Run, Section, Symbol, Trace, TraceInfo, for_marked_runs, for_runs,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::alignment::infer;

/// The units of a program, and how they were found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Number of units that can move.
    pub movable: usize,
    /// Bytes executed in them, as a share of all bytes executed.
    pub executed_share: f64,
    /// Notes on assumptions, and on code that remained unknown.
    pub notes: Vec<String>,
}

/// The bytes of an image that were executed.
#[derive(Default)]
pub struct ExecutedBytes {
    /// The distinct runs that executed them.
    runs: FxHashSet<Run>,
}

impl ExecutedBytes {
    /// Adds the bytes that `trace` executes.
    ///
    /// # Errors
    /// A trace that cannot be read.
    pub fn add(&mut self, trace: &dyn Trace, should_continue: &dyn Fn() -> bool) -> Result<()> {
        for_runs(trace, should_continue, |runs| {
            self.runs.extend(runs);
            Ok(())
        })
    }

    /// Adds the bytes that `trace` executes, without those that it reads as data.
    ///
    /// # Errors
    /// A trace that cannot be read.
    pub fn add_code(
        &mut self,
        trace: &dyn Trace,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<()> {
        for_marked_runs(trace, should_continue, |run, mark| {
            if mark != Mark::Read {
                self.runs.insert(run);
            }
            Ok(())
        })
    }

    /// Returns the ranges of executed bytes, ascending, without two that adjoin.
    pub(super) fn ranges(&self) -> Vec<Range<u64>> {
        let mut runs: Vec<Run> = self.runs.iter().copied().collect();
        runs.sort_unstable();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for run in runs {
            let start = u64::from(run.offset);
            match ranges.last_mut() {
                Some(last) if start <= last.end => last.end = last.end.max(run.end()),
                _ => ranges.push(start..run.end()),
            }
        }
        ranges
    }
}

/// Returns the number of bytes of `unit` up to the last one that lies in `ranges`, which ascend.
pub(super) fn length_executed(ranges: &[Range<u64>], unit: &Unit) -> u32 {
    let behind = ranges.partition_point(|range| range.start < unit.end());
    let end = ranges[..behind].last().map_or(0, |range| range.end.min(unit.end()));
    end.saturating_sub(unit.offset.into()) as u32
}

/// Returns the parts of `ranges`, which ascend, that lie in `gap`.
fn parts_in(ranges: &[Range<u64>], gap: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let first = ranges.partition_point(|range| range.end <= gap.start);
    ranges[first..]
        .iter()
        .map(move |range| range.start.max(gap.start)..range.end.min(gap.end))
        .take_while(|part| !part.is_empty())
}

/// Checks that there is something to move.
///
/// # Errors
/// Images without symbols.
pub(super) fn check_named(info: &TraceInfo) -> Result<()> {
    if info.symbols().any(|symbol| symbol.bytes > 0) {
        return Ok(());
    }
    Err(Error::design(
        "the trace names no functions or methods, so there is nothing to move: record a program \
         with symbols",
    ))
}

/// The units of the image that `info` describes: its symbols, and fixed ones for executed bytes that
/// belong to none. The notes list assumptions.
///
/// # Errors
/// Methods of CAP files alone, which cannot move, and the errors of [`Units::new`].
pub fn units(info: &TraceInfo, executed: &ExecutedBytes) -> Result<(Units, Vec<String>)> {
    let mut notes = Vec::new();
    let mut units = Vec::new();
    let mut names: FxHashMap<String, u32> = FxHashMap::default();
    let image_bytes = info.image_bytes;
    let is_bytecode = info.architecture == "jvm";
    for image in &info.images {
        // Methods of a CAP file lie as its converter put them.
        let mut converted = image.sections.iter().filter(|_| is_bytecode);
        let converted = converted.find(|section| section.name == METHOD_COMPONENT);
        let end = converted.map_or(image.offset.into(), Section::end);
        for symbol in symbols(image) {
            let name = unique(&mut names, &symbol);
            let Symbol { offset, bytes, .. } = symbol;
            units.push(Unit { name, offset, bytes, align: 1, fixed: u64::from(offset) < end });
        }
    }
    let stay = units.iter().filter(|unit| unit.fixed).count();
    if stay > 0 && stay == units.len() {
        return Err(Error::design(
            "all methods of the trace lie in CAP files, as their converter put them: there is \
             nothing to move",
        ));
    }
    if stay > 0 {
        let methods = if stay == 1 { "method stays" } else { "methods stay" };
        notes.push(format!("{stay} {methods}: CAP files are as their converter wrote them"));
    }
    units.sort_by_key(|unit| unit.offset);
    let nameless = units.iter().filter(|unit| is_unnamed(&unit.name)).count();
    if nameless > 0 {
        notes.push(format!(
            "{nameless} of {} functions have no symbol: their names are made from their offsets, and \
             no order for a linker can name them",
            units.len()
        ));
    }
    if !is_bytecode {
        let data = literals(&info.images);
        let from =
            if data.is_some() { " and from the data that the program's file marks" } else { "" };
        let mut note = format!("alignments are taken from the offsets of functions{from}");
        let uncertain = infer(&mut units, data.as_deref());
        if uncertain > 0 {
            note += &format!(
                "; {uncertain} of {} may be wrong, and then a link differs: its map has them (--map)",
                units.len()
            );
        }
        notes.push(note);
    }
    let executed = executed.ranges();
    let mut stays = Vec::new();
    let mut free = 0;
    let ends = units.iter().map(|unit| (u64::from(unit.offset), unit.end()));
    for (offset, end) in ends.chain([(image_bytes, image_bytes)]) {
        stays.extend(parts_in(&executed, free.min(offset)..offset));
        free = end;
    }
    for Range { start, end } in stays {
        let (offset, bytes) = (start as u32, (end - start) as u32);
        let name = unique(&mut names, &Symbol { name: format!("@{offset:#x}"), offset, bytes: 0 });
        units.push(Unit { name, offset, bytes, align: 1, fixed: true });
    }
    Ok((Units::new(units, image_bytes)?, notes))
}

/// Offsets of data among the code of all images; `None` if they are not known of one.
fn literals(images: &[Image]) -> Option<Vec<u32>> {
    let offsets = images.iter().map(literal_offsets).collect::<Option<Vec<_>>>()?;
    Some(offsets.concat())
}

/// The symbols of an image that have a length, by offset. Of symbols that overlap, the one that begins
/// first is taken, and of those the longest; it owns the bytes of the others, too.
fn symbols(image: &Image) -> Vec<Symbol> {
    let mut largest: BTreeMap<u32, &Symbol> = BTreeMap::new();
    for symbol in image.symbols.iter().filter(|symbol| symbol.bytes > 0) {
        let known = largest.entry(symbol.offset).or_insert(symbol);
        if symbol.bytes > known.bytes {
            *known = symbol;
        }
    }
    let mut symbols: Vec<Symbol> = Vec::new();
    for symbol in largest.into_values() {
        match symbols.last_mut() {
            Some(last) if u64::from(symbol.offset) < last.end() => {
                let bytes = symbol.end() - u64::from(last.offset);
                last.bytes = last.bytes.max(bytes.min(u32::MAX.into()) as u32);
            }
            _ => symbols.push(symbol.clone()),
        }
    }
    symbols
}

/// The symbol's name, with its offset if another symbol has the same name.
fn unique(names: &mut FxHashMap<String, u32>, symbol: &Symbol) -> String {
    let mut name = symbol.name.clone();
    if names.contains_key(&name) {
        name = format!("{name}@{:#x}", symbol.offset);
    }
    names.insert(name.clone(), symbol.offset);
    name
}

/// Share of the executed bytes of `sequences` that lie in movable units.
pub fn executed_share<'a>(
    units: &Units,
    sequences: impl IntoIterator<Item = &'a flashpager_layout::PieceSequence>,
) -> f64 {
    let (mut movable, mut all) = (0, 0);
    for sequence in sequences {
        all += sequence.bytes;
        for piece in sequence.iter() {
            if !units.all()[piece.unit as usize].fixed {
                movable += u64::from(piece.bytes);
            }
        }
    }
    if all == 0 { 0.0 } else { movable as f64 / all as f64 }
}
