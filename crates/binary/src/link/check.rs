//! Checking whether a program was linked in an order.

use flashpager_base::{Error, Result, named};
use object::{Object, ObjectSymbol, SymbolKind};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::map::{InputSection, LinkMap};
use super::order::{OrderLine, recorded_at};
use super::slots::SlotLines;
use crate::program::{ProgramFile, ProgramSection, SectionContent};

/// The way in which a unit violates an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViolationKind {
    /// The order names the unit, and the program lacks it.
    Missing,
    /// The unit lies elsewhere among the others than the order states.
    Elsewhere,
    /// The unit lies between others, and the order does not name it.
    Between,
}

named! {
    ViolationKind: "unknown fault",
    "missing" => Missing,
    "elsewhere" => Elsewhere,
    "between" => Between,
}

/// A unit that violates an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OrderViolation {
    /// Name of the unit in the order or in the map.
    pub name: String,
    /// How it violates the order.
    pub fault: ViolationKind,
    /// Linked address; `None` if it is missing.
    pub address: Option<u64>,
    /// The unit before it in the program; empty if there is none.
    pub behind: String,
    /// The unit before it in the order; empty if there is none.
    pub wanted_behind: String,
}

/// The result of checking a program against an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckedLink {
    /// Number of lines in the order.
    pub lines: usize,
    /// Lines whose units cannot be found because no symbol has their name.
    pub unseen: usize,
    /// Lines for one of several functions with the same name, such as `helper@0x360`. The offset is that
    /// of the recorded program, so it is not known which of them is meant in another program.
    pub unclear: usize,
    /// Lines that only name units of a line before them.
    pub repeated: usize,
    /// Lines that name several functions, which a linker places together in any order.
    pub several: usize,
    /// Violations, first in the sequence of the order, then by address.
    pub disobeyed: Vec<OrderViolation>,
}

/// A unit of the program.
struct PlacedUnit {
    address: u64,
    name: String,
}

/// Checks whether the units of a program lie in an order. `elf` is the contents of its ELF file, `order`
/// the lines of the order. With the `map` of the link, sections without symbols are checked, too, and
/// units between others that the order does not name.
///
/// # Errors
/// If the file is no program, the map is of another program, or the order has no lines or none of
/// its units can be found.
pub fn check(
    elf: &[u8],
    file_name: &str,
    order: &[OrderLine],
    map: Option<&LinkMap>,
) -> Result<CheckedLink> {
    Ok(observed(elf, file_name, order, map)?.judged(order))
}

/// Finds the units of the lines of an order in a program.
fn observed(
    elf: &[u8],
    file_name: &str,
    order: &[OrderLine],
    map: Option<&LinkMap>,
) -> Result<ObservedPlacement> {
    if order.is_empty() {
        return Err(Error::design("the order has no line: there is nothing to check"));
    }
    let file = object::File::parse(elf)
        .ok()
        .filter(|_| elf.starts_with(b"\x7fELF"))
        .ok_or_else(|| Error::data(file_name, "is no ELF file"))?;
    if file.kind() == object::ObjectKind::Relocatable {
        return Err(Error::data(file_name, "is an object that was not linked: name the program"));
    }
    match map {
        Some(map) => by_map(&file, file_name, order, map),
        None => by_symbols(&file, file_name, order),
    }
}

/// A unit that does not lie in its slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlippedUnit {
    /// Name of the unit in the order or in the map.
    pub name: String,
    /// Linked address.
    pub address: u64,
    /// Address of its slot.
    pub slot: u64,
    /// The unit with a slot before it, which has outgrown its own if this one lies behind its slot;
    /// empty if there is none.
    pub behind: String,
}

/// Returns the units that do not lie in their slots, by address. `elf` and `map` are as for [`check`].
///
/// # Errors
/// If [`check`] fails.
pub fn check_slots(
    elf: &[u8],
    file_name: &str,
    slots: &SlotLines,
    map: Option<&LinkMap>,
) -> Result<Vec<SlippedUnit>> {
    let lines: Vec<OrderLine> = slots.slots.iter().map(|(line, _)| line.clone()).collect();
    let observed = observed(elf, file_name, &lines, map)?;
    let mut slipped = Vec::new();
    let mut behind = String::new();
    for ((_, slot), places) in slots.slots.iter().zip(&observed.placed) {
        let Some(unit) = places.first() else { continue };
        if unit.address != *slot {
            slipped.push(SlippedUnit {
                name: unit.name.clone(),
                address: unit.address,
                slot: *slot,
                behind: behind.clone(),
            });
        }
        behind.clone_from(&unit.name);
    }
    Ok(slipped)
}

/// The way in which a unit is not in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PinFault {
    /// The program lacks the unit.
    Missing,
    /// The unit runs where it is stored, in flash.
    InFlash,
    /// The unit runs where it is stored, in a section of its own. That is RAM only if a loader puts it
    /// there, which the file does not tell.
    PerhapsLoaded,
}

named! {
    PinFault: "unknown fault of what is pinned",
    "missing" => Missing,
    "in-flash" => InFlash,
    "perhaps-loaded" => PerhapsLoaded,
}

/// A unit of the list that does not lie in RAM, or of which that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnpinnedUnit {
    /// Name of the unit in the list or in the map.
    pub name: String,
    /// The reason why it is not known to lie in RAM.
    pub fault: PinFault,
    /// Linked address; `None` if it is missing.
    pub address: Option<u64>,
    /// The section of the program that it lies in; empty if there is none.
    pub section: String,
}

/// The result of checking where the pinned units of a program lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckedPins {
    /// Number of units in RAM.
    pub in_ram: usize,
    /// Lines whose units cannot be found because no symbol has their name, or several have it.
    pub unseen: usize,
    /// Units that do not lie in RAM, in the sequence of the list.
    pub unpinned: Vec<UnpinnedUnit>,
    /// Sections with units in RAM that are stored right before the code. Their bytes move the code to
    /// other addresses.
    pub stored_ahead: Vec<String>,
}

/// Longest gap between a section and the code that it moves, in bytes.
const PADDING_BYTES: u64 = 4096;

/// Returns true if `section` is stored right before `code`.
fn is_stored_ahead(section: &ProgramSection, code: &ProgramSection) -> bool {
    let end = section.load_address.saturating_add(section.bytes);
    code.load_address.checked_sub(end).is_some_and(|gap| gap < PADDING_BYTES)
}

/// Checks that the units of the lines of a list lie in RAM: in a section that start-up code copies, or
/// that is written. `elf` and `map` are as for [`check`].
///
/// # Errors
/// If [`check`] fails.
pub fn check_pinned(
    elf: &[u8],
    file_name: &str,
    pinned: &[OrderLine],
    map: Option<&LinkMap>,
) -> Result<CheckedPins> {
    let observed = observed(elf, file_name, pinned, map)?;
    let program = ProgramFile::parse(elf).map_err(|message| Error::data(file_name, message))?;
    let is_copying = program.sections.iter().any(|section| section.address != section.load_address);
    let code = |section: &&ProgramSection| {
        section.content == SectionContent::Code && section.is_in_place()
    };
    let largest = program.sections.iter().filter(code).max_by_key(|section| section.bytes);
    let mut checked = CheckedPins::default();
    for (number, (line, places)) in pinned.iter().zip(&observed.placed).enumerate() {
        if places.is_empty() {
            if observed.unseen.contains(&number) || observed.unclear.contains(&number) {
                checked.unseen += 1;
            } else if !observed.repeated.contains(&number) {
                let (name, section) = (line.to_string(), String::new());
                let fault = PinFault::Missing;
                checked.unpinned.push(UnpinnedUnit { name, fault, address: None, section });
            }
        }
        for PlacedUnit { address, name } in places {
            let section = program.sections.iter().find(|section| {
                address.checked_sub(section.address).is_some_and(|ahead| ahead < section.bytes)
            });
            let fault = match section {
                Some(section) if !section.is_in_place() => {
                    checked.in_ram += 1;
                    let moves_code = largest.is_some_and(|code| is_stored_ahead(section, code));
                    if moves_code && !checked.stored_ahead.contains(&section.name) {
                        checked.stored_ahead.push(section.name.clone());
                    }
                    continue;
                }
                Some(section) if !is_copying && Some(section) != largest => PinFault::PerhapsLoaded,
                _ => PinFault::InFlash,
            };
            checked.unpinned.push(UnpinnedUnit {
                name: name.clone(),
                fault,
                address: Some(*address),
                section: section.map_or_else(String::new, |section| section.name.clone()),
            });
        }
    }
    Ok(checked)
}

/// The units of a program by lines of an order.
struct ObservedPlacement {
    /// Units of each line; empty if they are missing or unseen.
    placed: Vec<Vec<PlacedUnit>>,
    /// Lines whose units cannot be found.
    unseen: FxHashSet<usize>,
    /// Lines for one of several functions with the same name.
    unclear: FxHashSet<usize>,
    /// Lines whose units are all named by earlier lines.
    repeated: FxHashSet<usize>,
    /// Units of the same output sections that the order does not name.
    others: Vec<PlacedUnit>,
}

impl ObservedPlacement {
    fn judged(mut self, order: &[OrderLine]) -> CheckedLink {
        self.others.sort_by_key(|unit| unit.address);
        for places in &mut self.placed {
            places.sort_by_key(|unit| unit.address);
        }
        // Every unit with the number of its line, in the sequence of the order.
        let numbered = self.placed.iter().enumerate();
        let sequence: Vec<(usize, &PlacedUnit)> = numbered
            .flat_map(|(number, places)| places.iter().map(move |unit| (number, unit)))
            .collect();
        let obeys = longest_ascent(sequence.iter().map(|(_, unit)| unit.address));
        let mut by_address: Vec<(u64, &str)> = sequence
            .iter()
            .map(|(_, unit)| *unit)
            .chain(&self.others)
            .map(|unit| (unit.address, unit.name.as_str()))
            .collect();
        by_address.sort_unstable();
        let before = |address: u64| {
            let number = by_address.partition_point(|(other, _)| *other < address);
            number.checked_sub(1).map_or(String::new(), |number| by_address[number].1.to_owned())
        };
        let is_several = |(line, places): &(&OrderLine, &Vec<PlacedUnit>)| {
            matches!(line, OrderLine::Symbol(_)) && places.len() > 1
        };
        let several = order.iter().zip(&self.placed).filter(is_several).count();
        let mut disobeyed = Vec::new();
        for (number, line) in order.iter().enumerate() {
            let is_known = [&self.unseen, &self.unclear, &self.repeated]
                .iter()
                .any(|lines| lines.contains(&number));
            if self.placed[number].is_empty() && !is_known {
                let (name, fault) = (line.to_string(), ViolationKind::Missing);
                let (behind, wanted_behind) = (String::new(), String::new());
                disobeyed.push(OrderViolation {
                    name,
                    fault,
                    address: None,
                    behind,
                    wanted_behind,
                });
            }
        }
        for (at, (_, unit)) in sequence.iter().enumerate().filter(|(at, _)| !obeys.contains(at)) {
            let wanted = at.checked_sub(1).map_or("", |at| sequence[at].1.name.as_str());
            disobeyed.push(OrderViolation {
                name: unit.name.clone(),
                fault: ViolationKind::Elsewhere,
                address: Some(unit.address),
                behind: before(unit.address),
                wanted_behind: wanted.to_owned(),
            });
        }
        let obeying = || sequence.iter().enumerate().filter(|(at, _)| obeys.contains(at));
        let first = obeying().map(|(_, (_, unit))| unit.address).min();
        let last = obeying().map(|(_, (_, unit))| unit.address).max();
        for unit in &self.others {
            if Some(unit.address) > first && Some(unit.address) < last {
                disobeyed.push(OrderViolation {
                    name: unit.name.clone(),
                    fault: ViolationKind::Between,
                    address: Some(unit.address),
                    behind: before(unit.address),
                    wanted_behind: String::new(),
                });
            }
        }
        CheckedLink {
            lines: order.len(),
            unseen: self.unseen.len(),
            unclear: self.unclear.len(),
            repeated: self.repeated.len(),
            several,
            disobeyed,
        }
    }
}

/// Returns the positions of a longest strictly ascending subsequence of `values`.
fn longest_ascent(values: impl Iterator<Item = u64>) -> FxHashSet<usize> {
    let values: Vec<u64> = values.collect();
    // For each length, the end of the subsequence with the lowest end; for each value, the one before
    // it in its subsequence.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; values.len()];
    for (at, value) in values.iter().enumerate() {
        let length = ends.partition_point(|end| values[*end] < *value);
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut ascent = FxHashSet::default();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        ascent.insert(at);
        next = before[at];
    }
    ascent
}

/// Finds the units of the lines in the map of a link.
fn by_map(
    file: &object::File<'_>,
    file_name: &str,
    order: &[OrderLine],
    map: &LinkMap,
) -> Result<ObservedPlacement> {
    let symbols = symbols_of(file);
    let called = OrderSymbols::of(order, &symbols);
    let lookup = MapLookup::new(order, &symbols, &called);
    let sections = sections_of(file);
    let is_there = |name: &str| {
        let mut outputs = map.outputs.iter().filter(|output| output.name == name);
        outputs.any(|section| {
            sections.contains(&(section.name.clone(), section.address, section.bytes))
        })
    };
    let mut placed: Vec<Vec<PlacedUnit>> = order.iter().map(|_| Vec::new()).collect();
    let mut unnamed: Vec<&InputSection> = Vec::new();
    let mut outputs: FxHashSet<&str> = FxHashSet::default();
    for input in map.inputs.iter().filter(|input| input.bytes > 0) {
        if let Some(number) = lookup.line_of(input) {
            if outputs.insert(&input.output) && !is_there(&input.output) {
                let reason = format!("is not the program of {}", map.path().display());
                return Err(Error::data(file_name, format!("{reason}: {} differs", input.output)));
            }
            let name = order[number].to_string();
            placed[number].push(PlacedUnit { address: input.address, name });
        } else if !lookup.is_unclear(input) {
            unnamed.push(input);
        }
    }
    let is_beside = |input: &&InputSection| outputs.contains(input.output.as_str());
    let others = unnamed.into_iter().filter(is_beside).map(|input| PlacedUnit {
        address: input.address,
        name: format!("{}({})", input.origin(), input.name),
    });
    let others = others.collect();
    let repeated = repeated(order, map, &called, &lookup.starting, &placed);
    let unseen = FxHashSet::default();
    Ok(ObservedPlacement { placed, unseen, unclear: called.unclear, repeated, others })
}

/// Returns name, address and length of the sections of a program.
fn sections_of(file: &object::File<'_>) -> FxHashSet<(String, u64, u64)> {
    use object::ObjectSection;
    file.sections()
        .filter_map(|section| {
            Some((section.name().ok()?.to_owned(), section.address(), section.size()))
        })
        .collect()
}

/// Finds the line of an order that selects an input section.
struct MapLookup<'a> {
    order: &'a [OrderLine],
    /// Lines for a section with this name. Names are looked up, patterns are tried one by one.
    by_name: FxHashMap<&'a str, Vec<usize>>,
    /// Lines with a pattern for the section.
    patterns: Vec<usize>,
    /// Line of each symbol.
    by_symbol: FxHashMap<&'a str, usize>,
    /// Symbols at each address; empty if the order names no symbols.
    starting: FxHashMap<u64, Vec<&'a str>>,
    unclear_names: &'a FxHashSet<&'a str>,
}

impl<'a> MapLookup<'a> {
    fn new(
        order: &'a [OrderLine],
        symbols: &'a [ProgramFunction],
        called: &'a OrderSymbols<'a>,
    ) -> Self {
        let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        let mut patterns = Vec::new();
        for (number, line) in order.iter().enumerate() {
            match line {
                OrderLine::Section { name, .. } if name.contains(['*', '?', '[']) => {
                    patterns.push(number);
                }
                OrderLine::Section { name, .. } => by_name.entry(name).or_default().push(number),
                OrderLine::Symbol(_) => {}
            }
        }
        // The first of equal lines counts.
        let mut by_symbol: FxHashMap<&str, usize> = FxHashMap::default();
        for (number, name) in called.symbols.iter().enumerate() {
            if let Some(name) = name.filter(|_| !called.unclear.contains(&number)) {
                by_symbol.entry(name).or_insert(number);
            }
        }
        let mut starting: FxHashMap<u64, Vec<&str>> = FxHashMap::default();
        if !by_symbol.is_empty() || !called.unclear.is_empty() {
            for symbol in symbols {
                starting.entry(symbol.address).or_default().push(&symbol.name);
            }
        }
        let unclear_names = &called.unclear_names;
        Self { order, by_name, patterns, by_symbol, starting, unclear_names }
    }

    /// Returns the line that selects `input`. The first one counts, as in a linker script; symbols
    /// come after sections.
    fn line_of(&self, input: &InputSection) -> Option<usize> {
        let exact = self.by_name.get(input.name.as_str()).map_or(&[][..], Vec::as_slice);
        let by_section = exact
            .iter()
            .chain(&self.patterns)
            .copied()
            .filter(|number| self.order[*number].selects(input))
            .min();
        by_section.or_else(|| {
            self.names_at(input).iter().find_map(|name| self.by_symbol.get(name).copied())
        })
    }

    /// Returns true if `input` may be one of several functions with the same name.
    fn is_unclear(&self, input: &InputSection) -> bool {
        self.names_at(input).iter().any(|name| self.unclear_names.contains(name))
    }

    /// Returns the symbols at the start of a movable section.
    fn names_at(&self, input: &InputSection) -> &[&'a str] {
        let names = self.starting.get(&input.address).filter(|_| input.is_movable());
        names.map_or(&[][..], Vec::as_slice)
    }
}

/// Returns the lines that have no units because earlier lines already select all of theirs.
fn repeated(
    order: &[OrderLine],
    map: &LinkMap,
    called: &OrderSymbols<'_>,
    starting: &FxHashMap<u64, Vec<&str>>,
    placed: &[Vec<PlacedUnit>],
) -> FxHashSet<usize> {
    let mut by_name: FxHashMap<&str, Vec<&InputSection>> = FxHashMap::default();
    let inputs = || map.inputs.iter().filter(|input| input.bytes > 0);
    for input in inputs() {
        by_name.entry(&input.name).or_default().push(input);
    }
    let began: FxHashSet<&str> = inputs()
        .filter(|input| input.is_movable())
        .filter_map(|input| starting.get(&input.address))
        .flatten()
        .copied()
        .collect();
    let names_something = |number: &usize| match &order[*number] {
        line @ OrderLine::Section { name, .. } if name.contains(['*', '?', '[']) => {
            inputs().any(|input| line.selects(input))
        }
        line @ OrderLine::Section { name, .. } => {
            let inputs = by_name.get(name.as_str());
            inputs.is_some_and(|inputs| inputs.iter().any(|input| line.selects(input)))
        }
        OrderLine::Symbol(_) => called.symbols[*number].is_some_and(|name| began.contains(name)),
    };
    let is_without = |number: &usize| placed[*number].is_empty();
    (0..order.len())
        .filter(|number| is_without(number) && !called.unclear.contains(number))
        .filter(names_something)
        .collect()
}

/// The symbols that the lines of an order name.
struct OrderSymbols<'a> {
    /// Symbol of each line; `None` for sections.
    symbols: Vec<Option<&'a str>>,
    /// Lines for one of several functions with the same name.
    unclear: FxHashSet<usize>,
    /// Names of these functions.
    unclear_names: FxHashSet<&'a str>,
}

impl<'a> OrderSymbols<'a> {
    fn of(order: &'a [OrderLine], functions: &[ProgramFunction]) -> Self {
        let mut addresses: FxHashMap<&str, FxHashSet<u64>> = FxHashMap::default();
        for function in functions {
            addresses.entry(&function.name).or_default().insert(function.address);
        }
        // The symbol of a name with a recorded offset, unless the program has exactly that name.
        let placed = |name: &'a str| {
            recorded_at(name).map(|(symbol, _)| symbol).filter(|_| !addresses.contains_key(name))
        };
        let mut symbols = Vec::new();
        let mut lines: FxHashMap<&str, FxHashSet<&str>> = FxHashMap::default();
        let mut with_place: FxHashSet<&str> = FxHashSet::default();
        for line in order {
            let OrderLine::Symbol(line) = line else {
                symbols.push(None);
                continue;
            };
            let symbol = placed(line);
            with_place.extend(symbol);
            let symbol = symbol.unwrap_or(line);
            lines.entry(symbol).or_default().insert(line);
            symbols.push(Some(symbol));
        }
        let is_unclear = |symbol: &&str| {
            let functions = addresses.get(symbol).map_or(0, FxHashSet::len);
            with_place.contains(symbol) && functions > 0 && functions.max(lines[symbol].len()) > 1
        };
        let unclear_names: FxHashSet<&str> = lines.keys().copied().filter(is_unclear).collect();
        let numbered = symbols.iter().enumerate();
        let unclear = numbered
            .filter(|(_, symbol)| symbol.is_some_and(|symbol| unclear_names.contains(symbol)))
            .map(|(number, _)| number)
            .collect();
        Self { symbols, unclear, unclear_names }
    }
}

/// A function of a program.
struct ProgramFunction {
    name: String,
    address: u64,
    /// Source file, for local functions.
    source: Option<String>,
}

fn symbols_of(file: &object::File<'_>) -> Vec<ProgramFunction> {
    let thumb = file.architecture() == object::Architecture::Arm;
    let mut source = None;
    let mut functions = Vec::new();
    for symbol in file.symbols() {
        let Ok(name) = symbol.name() else { continue };
        match symbol.kind() {
            SymbolKind::File => source = Some(name.to_owned()),
            SymbolKind::Text if !name.is_empty() => functions.push(ProgramFunction {
                name: name.to_owned(),
                // Bit 0 of the address of an ARM function means Thumb.
                address: if thumb { symbol.address() & !1 } else { symbol.address() },
                source: source.clone().filter(|_| symbol.is_local()),
            }),
            _ => {}
        }
    }
    functions
}

fn by_symbols(
    file: &object::File<'_>,
    file_name: &str,
    order: &[OrderLine],
) -> Result<ObservedPlacement> {
    let functions = symbols_of(file);
    if functions.is_empty() {
        return Err(Error::data(file_name, "has no symbols: name the map of its link with --map"));
    }
    let mut by_name: FxHashMap<&str, Vec<&ProgramFunction>> = FxHashMap::default();
    for function in &functions {
        by_name.entry(&function.name).or_default().push(function);
    }
    let called = OrderSymbols::of(order, &functions);
    let mut unseen = FxHashSet::default();
    let mut repeated = FxHashSet::default();
    let mut taken = FxHashSet::default();
    let mut placed = Vec::new();
    for (number, line) in order.iter().enumerate() {
        let functions: Vec<&ProgramFunction> = match line {
            OrderLine::Symbol(_) if called.unclear.contains(&number) => Vec::new(),
            OrderLine::Symbol(name) => {
                let symbol = called.symbols[number].unwrap_or(name);
                by_name.get(symbol).cloned().unwrap_or_default()
            }
            OrderLine::Section { file, member, name } => {
                let object = if member.is_empty() { file } else { member };
                let Some(name) = name.strip_prefix(".text.") else {
                    unseen.insert(number);
                    placed.push(Vec::new());
                    continue;
                };
                let short = name.split_once('.').map(|(_, rest)| rest);
                // A cold part that GCC split off, or a function that is cold as a whole.
                let cold = name.strip_prefix("unlikely.").map(|rest| format!("{rest}.cold"));
                [Some(name), cold.as_deref(), short]
                    .into_iter()
                    .flatten()
                    .find_map(|name| by_name.get(name))
                    .map(|functions| of_object(functions, object))
                    .unwrap_or_default()
            }
        };
        let mut addresses: Vec<u64> = functions.iter().map(|function| function.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        if addresses.len() > 1 && matches!(line, OrderLine::Section { .. }) {
            // It is not known which of two functions with the same name is selected.
            unseen.insert(number);
            addresses.clear();
        }
        let is_named = !addresses.is_empty();
        addresses.retain(|address| taken.insert(*address));
        if is_named && addresses.is_empty() {
            repeated.insert(number);
        }
        let name = line.to_string();
        placed.push(
            addresses
                .into_iter()
                .map(|address| PlacedUnit { address, name: name.clone() })
                .collect(),
        );
    }
    if unseen.len() + called.unclear.len() == order.len() {
        let reason = "no line of the order is a function's: name the map of the link with --map";
        return Err(Error::data(file_name, reason));
    }
    Ok(ObservedPlacement { placed, unseen, unclear: called.unclear, repeated, others: Vec::new() })
}

/// Returns the functions that can come from `object`: if there are several, those whose source file
/// has its name.
fn of_object<'a>(functions: &[&'a ProgramFunction], object: &str) -> Vec<&'a ProgramFunction> {
    if functions.len() < 2 {
        return functions.to_vec();
    }
    let stem = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.split('.').next().unwrap_or(name).trim_start_matches('*').replace(['[', ']'], "")
    };
    let wanted = stem(object);
    let is_of = |function: &&&ProgramFunction| {
        function.source.as_deref().is_some_and(|it| stem(it) == wanted)
    };
    functions.iter().filter(is_of).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_group_is_reported_to_lie_elsewhere() {
        let kept = |values: &[u64]| {
            let mut kept: Vec<usize> = longest_ascent(values.iter().copied()).into_iter().collect();
            kept.sort_unstable();
            kept
        };
        assert_eq!(kept(&[1, 9, 2, 3, 4]), [0, 2, 3, 4]);
        assert_eq!(kept(&[5, 1, 2, 3]), [1, 2, 3]);
        assert_eq!(kept(&[]), [0usize; 0]);
        assert_eq!(kept(&[3, 2, 1]).len(), 1);
    }
}
