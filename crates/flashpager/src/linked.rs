//! Linked programs: the input sections of a link as units of a trace's image, orders of these units
//! as linkers read them, and the trace of the program linked in such an order.

mod followers;
mod slots;

use std::path::Path;

use flashpager_base::{Error, Result, named, shown};
use flashpager_binary::link::{
    InputSection, LinkMap, OrderLine, OrderText, PinFormat, PinText, fragment, fragment_with_holes,
    names, pinned, recorded_at, symbol_order,
};
use flashpager_layout::{Order, Slots, Unit, UnitPlacement, Units, place};
use flashpager_trace::{Image, RelocationError, Section, TraceFile, TraceInfo, TraceWriter};
use rustc_hash::{FxHashMap, FxHashSet};

use followers::{LinkedUnit, followers};
pub use slots::RefreshedOrder;

/// Maximum number of lines of an order that an error names.
const SHOWN: usize = 3;

/// The format of an order, by its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderFormat {
    /// flashpager: the name of one unit in each line.
    #[default]
    Names,
    /// GNU ld or lld: a fragment that a linker script includes.
    GnuLd,
    /// lld: a file for `--symbol-ordering-file`.
    Lld,
}

named! {
    OrderFormat: "unknown format of an order",
    "names" => Names,
    "gnu-ld" => GnuLd,
    "lld" => Lld,
}

/// The input sections of a program in flash.
#[derive(Clone, Debug)]
pub struct LinkedProgram {
    map: LinkMap,
    units: Units,
    /// The same units, as an order for the linker places them: its last line holds what is behind.
    ordered_units: Units,
    /// The output section whose units can move.
    section: Section,
    /// The input section of each unit; `None` for units of other output sections.
    inputs: Vec<Option<InputSection>>,
    images: Vec<Image>,
}

/// An order read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedOrder {
    /// The order. Units that no line names follow as they lie in the recorded image.
    pub order: Order,
    /// Number of units that lines name.
    pub units: usize,
    /// Lines that name no unit.
    pub unknown: Vec<String>,
    /// Lines whose units were all named by earlier lines. The earlier lines count.
    pub repeated: Vec<String>,
    /// The slots of its units, if it has any.
    pub slots: Option<Slots>,
}

impl LinkedProgram {
    /// Cuts the image of a trace into units by the map of the link that made it. Input sections of
    /// code can move (`.text` and names that begin with it), in the one output section that has most
    /// of them. All others are fixed; those behind the code follow it as far as the map tells how.
    ///
    /// # Errors
    /// If the map or an object cannot be read or is of another link, or no linker script can
    /// distinguish the input sections.
    pub fn of(info: &TraceInfo, map: &Path) -> Result<Self> {
        let map = LinkMap::read(map)?;
        let place = map.path().display().to_string();
        let section = placed_section(info, &map)?;
        let inputs = map.inputs_of(&section.name)?;
        let called = names(&map, &inputs)?;
        if let Some(name) = stranger(info, &section, &inputs) {
            return Err(another_link(
                &map,
                &format!("{} lies elsewhere in the trace", shown(name)),
            ));
        }
        let mut units: Vec<LinkedUnit> = Vec::new();
        if let Some(first) = inputs.first().filter(|first| first.address > section.address) {
            let bytes = (first.address - section.address).min(section.bytes.into()) as u32;
            // Bytes that the script writes.
            let name = format!("start of {}", section.name);
            let offset = section.offset;
            units.push((Unit { name, offset, bytes, align: 1, fixed: true }, None));
        }
        for (mut input, name) in inputs.into_iter().zip(called) {
            let ahead = input.address.checked_sub(section.address);
            if let Some(ahead) = ahead.filter(|_| !input.is_movable()) {
                // A map may list more bytes of merged data than were linked.
                input.bytes = input.bytes.min(u64::from(section.bytes).saturating_sub(ahead));
                if input.bytes == 0 {
                    continue;
                }
            }
            let inside = ahead.filter(|ahead| ahead + input.bytes <= u64::from(section.bytes));
            let Some(ahead) = inside else {
                let message = format!("has {} outside of {}", shown(&name), section.name);
                return Err(Error::data(place, message));
            };
            let fixed = !input.is_movable();
            let offset = section.offset + ahead as u32;
            let align = input.align.min(1 << 31) as u32;
            if !fixed && !offset.is_multiple_of(align) {
                let message = format!(
                    "aligns {} to {align} bytes, and the trace places it at {offset:#x}: record \
                     it without --offset",
                    shown(&name)
                );
                return Err(Error::data(place, message));
            }
            let align = if fixed { 1 } else { align };
            units.push((
                Unit { name, offset, bytes: input.bytes as u32, align, fixed },
                Some(input),
            ));
        }
        for other in info.images.iter().flat_map(|image| &image.sections) {
            if other != &section && other.bytes > 0 {
                units.push((
                    Unit {
                        name: format!("{} at {:#x}", other.name, other.offset),
                        offset: other.offset,
                        bytes: other.bytes,
                        align: 1,
                        fixed: true,
                    },
                    None,
                ));
            }
        }
        units.sort_by_key(|(unit, _)| unit.offset);
        let mut seen = FxHashSet::default();
        for (unit, _) in &mut units {
            // Fixed units may share a name, as pieces of .init do.
            if !seen.insert(unit.name.clone()) {
                unit.name = format!("{} at {:#x}", unit.name, unit.offset);
            }
        }
        let followers = followers(&map, &info.images, &section, &mut units);
        let (units, inputs): (Vec<Unit>, Vec<Option<InputSection>>) = units.into_iter().unzip();
        let units = Units::new(units, info.image_bytes).map_err(|error| match error {
            Error::Design(message) => Error::data(&place, message),
            other => other,
        })?;
        let last_code = last_code(&units, &inputs);
        let units = units.with_followers(followers).with_last_code(last_code);
        let ordered_units = units.clone().holding_followers();
        let images = info.images.clone();
        Ok(Self { map, units, ordered_units, section, inputs, images })
    }

    /// The units of the image. Data behind the code follows it.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// The units of the image, for orders in the form of [`LinkedProgram::text`]. Data behind the code
    /// moves only if an order needs more padding than the recorded one.
    pub fn ordered_units(&self) -> &Units {
        &self.ordered_units
    }

    /// The first unit behind the movable ones that keeps its place although the program may be linked
    /// anew, since nothing in the map tells how the place follows from the code; `None` if there is none.
    pub fn staying(&self) -> Option<&Unit> {
        let all = self.units.all();
        let last = *self.units.movable().last()?;
        let stays = self.units.fixed().iter().find(|number| **number > last);
        stays.map(|number| &all[*number as usize])
    }

    /// The map of the link.
    pub fn map(&self) -> &LinkMap {
        &self.map
    }

    /// Returns true if the linker relaxed code. Then its length depends on its place, and predictions
    /// for another order are approximate.
    pub fn is_relaxed(&self) -> bool {
        let code = self.inputs.iter().flatten().filter(|input| input.is_movable());
        code.into_iter().any(|input| input.bytes_before.is_some())
    }

    /// The movable input sections in `order`.
    fn ordered(&self, order: &Order) -> Vec<&InputSection> {
        let numbers = order.numbers().iter();
        numbers.filter_map(|number| self.inputs[*number as usize].as_ref()).collect()
    }

    /// The order that the lines of a file describe: names of units, a fragment of a linker script, or
    /// symbols. A symbol may carry its offset, as `helper@0x360`, if the trace has several of its
    /// name. A pattern stands for all units that it matches, in their recorded order.
    ///
    /// # Errors
    /// If no line names a unit.
    pub fn order(&self, lines: &[OrderLine]) -> Result<NamedOrder> {
        let movable = self.units.movable();
        let input = |number: u32| self.inputs[number as usize].as_ref();
        let mut by_name: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
        for &number in movable {
            if let Some(input) = input(number) {
                by_name.entry(&input.name).or_default().push(number);
            }
        }
        let mut by_symbol: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
        let mut by_place: FxHashMap<(&str, u32), u32> = FxHashMap::default();
        for symbol in self.images.iter().flat_map(|image| &image.symbols) {
            let owner = self.units.owner(symbol.offset);
            let owner = owner.filter(|number| !self.units.all()[*number].fixed);
            if let Some(number) = owner {
                by_symbol.entry(&symbol.name).or_default().push(number as u32);
                by_place.entry((&symbol.name, symbol.offset)).or_insert(number as u32);
            }
        }
        // A unit that a line names with its offset does not belong to the bare name.
        let placed = |line: &OrderLine| match line {
            OrderLine::Symbol(name) if !by_symbol.contains_key(name.as_str()) => {
                by_place.get(&recorded_at(name)?).copied()
            }
            _ => None,
        };
        let with_place: FxHashSet<u32> = lines.iter().filter_map(placed).collect();
        let mut numbers = Vec::new();
        let mut taken = FxHashSet::default();
        let mut unknown = Vec::new();
        let mut repeated = Vec::new();
        for line in lines {
            let means = |number: &&u32| input(**number).is_some_and(|input| line.selects(input));
            let selected: Vec<u32> = match line {
                OrderLine::Section { name, .. } if name.contains(['*', '?', '[']) => {
                    movable.iter().filter(means).copied().collect()
                }
                OrderLine::Section { name, .. } => {
                    let selected = by_name.get(name.as_str()).map_or(&[][..], Vec::as_slice);
                    selected.iter().filter(means).copied().collect()
                }
                OrderLine::Symbol(name) => {
                    let named = by_symbol.get(name.as_str()).map_or(&[][..], Vec::as_slice);
                    let bare = named.iter().copied().filter(|number| !with_place.contains(number));
                    placed(line).into_iter().chain(bare).collect()
                }
            };
            let before = numbers.len();
            let is_unknown = selected.is_empty();
            numbers.extend(selected.into_iter().filter(|number| taken.insert(*number)));
            if is_unknown {
                unknown.push(line.to_string());
            } else if numbers.len() == before {
                repeated.push(line.to_string());
            }
        }
        if numbers.is_empty() {
            let names: Vec<String> = unknown.iter().take(SHOWN).map(shown).collect();
            return Err(Error::design(format!(
                "no line of the order names an input section of {} ({})",
                self.map.path().display(),
                names.join(", ")
            )));
        }
        let named = numbers.len();
        let rest = movable.iter().copied().filter(|number| !taken.contains(number));
        numbers.extend(rest);
        let order = Order::new(&self.units, numbers)?;
        Ok(NamedOrder { order, units: named, unknown, repeated, slots: None })
    }

    /// Lays the image out in `order`, as a linker does with [`LinkedProgram::text`].
    ///
    /// # Errors
    /// If the linker would have to put a movable unit behind a fixed one.
    pub fn place(&self, order: &Order) -> Result<UnitPlacement> {
        self.checked(&self.ordered_units, order)
    }

    /// Places `units`, which are those of an order with some perhaps resident.
    fn checked(&self, units: &Units, order: &Order) -> Result<UnitPlacement> {
        let placement = place(units, order)?;
        self.check(units, &placement, order)?;
        Ok(placement)
    }

    /// The units behind the first movable one that no order moves.
    fn behind(&self) -> impl Iterator<Item = u32> {
        let first = self.units.movable().first().copied().unwrap_or(0);
        let all = self.units.all();
        (first..all.len() as u32).filter(|number| all[*number as usize].fixed)
    }

    /// Checks that no movable unit or follower lies behind a fixed one: a linker places all of them
    /// before it.
    fn check(&self, units: &Units, placement: &UnitPlacement, order: &Order) -> Result<()> {
        let all = units.all();
        let Some(behind) = self.behind().find(|number| !units.followers().contains(number)) else {
            return Ok(());
        };
        let behind = &all[behind as usize];
        let over = |number: &&u32| placement.offsets[**number as usize] >= behind.offset;
        let Some(over) = order.numbers().iter().chain(units.followers()).find(over) else {
            return Ok(());
        };
        Err(Error::data(
            self.map.path().display().to_string(),
            format!(
                "has {}, whose place the linker script fixes, before {}: put what moves behind what \
                 stays in the script, and link and record again",
                shown(&behind.name),
                shown(&all[*over as usize].name)
            ),
        ))
    }

    fn fragment(&self, order: &Order, placement: &UnitPlacement) -> String {
        // Units behind keep their addresses, unless the new order needs more padding.
        let all = self.units.all();
        let behind = self.behind().next().map(|number| all[number as usize].offset);
        let end = behind.map(|behind| self.section.end().min(behind.into()));
        let placed = |number: &u32| {
            u64::from(placement.offsets[*number as usize]) + u64::from(all[*number as usize].bytes)
        };
        let reached = order.numbers().iter().map(placed).max().unwrap_or(0);
        let end = end.filter(|end| reached <= *end);
        let end = end.map(|end| end - u64::from(self.section.offset));
        fragment(&self.map, &self.ordered(order), end)
    }

    /// `order` in `format`.
    ///
    /// # Errors
    /// If the linker accepts no order, the format has no slots, or [`LinkedProgram::place`] fails.
    pub fn text(&self, order: &NamedOrder, format: OrderFormat) -> Result<OrderText> {
        if format != OrderFormat::Names {
            self.check_takes_files()?;
        }
        let placement = self.place_named(order)?;
        let Some(slots) = &order.slots else {
            return Ok(self.written(&order.order, &placement, format));
        };
        if format != OrderFormat::GnuLd {
            return Err(Error::design(
                "slots are addresses, which only a linker script can hold: --format gnu-ld",
            ));
        }
        Ok(OrderText { text: self.slot_text(&order.order, slots), ..OrderText::default() })
    }

    /// Checks that its linker takes files for a linker script or a build system.
    fn check_takes_files(&self) -> Result<()> {
        self.map.linker.takes_names_only().map_or(Ok(()), |reason| {
            let place = self.map.path().display().to_string();
            Err(Error::data(place, format!("is a map of {reason}")))
        })
    }

    fn written(&self, order: &Order, placement: &UnitPlacement, format: OrderFormat) -> OrderText {
        match format {
            OrderFormat::Names => {
                let names = order.names(&self.units).map(|name| format!("{name}\n")).collect();
                OrderText { text: names, ..OrderText::default() }
            }
            OrderFormat::GnuLd => {
                OrderText { text: self.fragment(order, placement), ..OrderText::default() }
            }
            OrderFormat::Lld => self.symbol_order(order),
        }
    }

    /// The order of the units that stay in flash beside those named `pinned`, in `format`. Units that
    /// `order` does not name follow in their recorded order.
    ///
    /// # Errors
    /// If a name is of no movable unit or is in both lists, the linker takes only the format of names,
    /// or [`LinkedProgram::place`] fails.
    pub fn text_beside(
        &self,
        pinned: &[String],
        order: &[String],
        format: OrderFormat,
    ) -> Result<OrderText> {
        if format != OrderFormat::Names {
            self.check_takes_files()?;
        }
        let named = Order::of_names(&self.units, pinned.iter().map(String::as_str))?;
        let units = self.ordered_units.with_resident_numbers(&named.numbers()[..pinned.len()]);
        let order = Order::of_names(&units, order.iter().map(String::as_str))?;
        let placement = self.checked(&units, &order)?;
        Ok(self.written(&order, &placement, format))
    }

    /// Lines for a linker script that keep the recorded order, with the places of the units `pinned`
    /// empty.
    ///
    /// # Errors
    /// If a name is of no movable unit, or the linker takes no linker script.
    pub fn text_with_holes(&self, pinned: &[String]) -> Result<OrderText> {
        self.check_takes_files()?;
        let named = Order::of_names(&self.units, pinned.iter().map(String::as_str))?;
        let holes: FxHashSet<u32> = named.numbers()[..pinned.len()].iter().copied().collect();
        let order = Order::original(&self.units);
        let sections: Vec<(&InputSection, bool)> = order
            .numbers()
            .iter()
            .filter_map(|number| {
                let input = self.inputs[*number as usize].as_ref()?;
                Some((input, holes.contains(number)))
            })
            .collect();
        Ok(OrderText { text: fragment_with_holes(&self.map, &sections), ..OrderText::default() })
    }

    /// The list of units that are to lie in RAM, in `format`.
    ///
    /// # Errors
    /// If a name is of no movable unit, or the linker takes only the format of names.
    pub fn pin_text(&self, names: &[String], format: PinFormat) -> Result<PinText> {
        if format != PinFormat::Names {
            self.check_takes_files()?;
        }
        let order = Order::of_names(&self.units, names.iter().map(String::as_str))?;
        let inputs = self.ordered(&order);
        let named: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(pinned(&self.map, &inputs[..names.len().min(inputs.len())], &named, format))
    }

    /// `order` for `--symbol-ordering-file`, with the symbols of the trace.
    fn symbol_order(&self, order: &Order) -> OrderText {
        let mut at: FxHashMap<u64, Vec<&str>> = FxHashMap::default();
        let mut times: FxHashMap<&str, usize> = FxHashMap::default();
        for symbol in self.images.iter().flat_map(|image| &image.symbols) {
            *times.entry(&symbol.name).or_default() += 1;
            if let Some(ahead) = symbol.offset.checked_sub(self.section.offset) {
                let address = self.section.address + u64::from(ahead);
                at.entry(address).or_default().push(&symbol.name);
            }
        }
        symbol_order(&self.ordered(order), &at, &times)
    }

    /// Writes to `output` the trace that the same execution has in `order`, and returns its
    /// description. `should_continue` is as in [`flashpager_trace::for_runs`].
    ///
    /// # Errors
    /// If a file cannot be read or written, the trace has data reads, or [`LinkedProgram::place`]
    /// fails.
    pub fn arrange_file(
        &self,
        trace: &TraceFile,
        output: &Path,
        order: &NamedOrder,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<TraceInfo> {
        trace.info().refuse_reads(&trace.path().display().to_string(), "another order")?;
        let placement = self.place_named(order)?;
        let mut info = trace.info().clone();
        info.images = self.laid_out(&placement);
        info.image_bytes = placement.image_bytes;
        let mut writer = TraceWriter::create(output, false)?;
        for image in &info.images {
            writer.add_symbols(&image.symbols);
        }
        let refused = |not_placed| {
            let (RelocationError::Uncovered(at) | RelocationError::Dropped(at)) = not_placed;
            let message = format!("the code at {at:#x} belongs to no section");
            Error::data(trace.path().display().to_string(), message)
        };
        placement.relocations(&self.units).rewrite(
            trace,
            &mut writer,
            &refused,
            should_continue,
        )?;
        writer.close(info)?.publish()
    }

    /// The images with their symbols and sections as `placement` places them.
    fn laid_out(&self, placement: &UnitPlacement) -> Vec<Image> {
        let all = self.units.all();
        let ends = self.inputs.iter().enumerate().filter(|(_, input)| input.is_some());
        let end = ends
            .map(|(number, _)| u64::from(placement.offsets[number]) + u64::from(all[number].bytes));
        let end = end.max();
        let mut images = self.images.clone();
        for image in &mut images {
            for symbol in &mut image.symbols {
                if let Some(number) = self.units.owner(symbol.offset) {
                    let ahead = symbol.offset - all[number].offset;
                    symbol.offset = placement.offsets[number] + ahead;
                }
            }
            image.symbols.sort_by_key(|symbol| symbol.offset);
            for section in &mut image.sections {
                let unit = all.iter().position(|unit| {
                    unit.offset == section.offset && unit.bytes == section.bytes && unit.fixed
                });
                if let Some(number) = unit.filter(|_| *section != self.section) {
                    let to = placement.offsets[number];
                    section.address += u64::from(to) - u64::from(section.offset);
                    section.offset = to;
                }
                if *section == self.section {
                    let start = u64::from(section.offset);
                    section.bytes = end.unwrap_or(start).saturating_sub(start) as u32;
                    // No file contains this section: lines of the recorded one would be wrong.
                    section.name += " (laid out anew)";
                    image.build_id.clear();
                }
            }
            let start = u64::from(image.offset);
            let end = image.sections.iter().map(Section::end).max();
            image.bytes = end.unwrap_or(start).saturating_sub(start).min(u32::MAX.into()) as u32;
        }
        images
    }
}

/// The number of the last unit of code behind the movable ones, in the section of which these are the
/// `inputs` by unit; `None` if only data follows.
fn last_code(units: &Units, inputs: &[Option<InputSection>]) -> Option<u32> {
    let first = *units.movable().last()? as usize + 1;
    let is_code = |input: &Option<InputSection>| input.as_ref().is_some_and(InputSection::is_code);
    inputs[first..].iter().rposition(is_code).map(|behind| (first + behind) as u32)
}

/// The section of a trace that holds most code of the map.
fn placed_section(info: &TraceInfo, map: &LinkMap) -> Result<Section> {
    let mut code: FxHashMap<&str, u64> = FxHashMap::default();
    for input in map.inputs.iter().filter(|input| input.is_movable()) {
        *code.entry(&input.output).or_default() += input.bytes;
    }
    let sections = || info.images.iter().flat_map(|image| &image.sections);
    let is_of = |section: &&Section| {
        map.outputs.iter().any(|output| {
            output.name == section.name
                && output.address == section.address
                && output.bytes == u64::from(section.bytes)
        })
    };
    let known =
        |section: &&Section| code.get(section.name.as_str()).is_some_and(|bytes| *bytes > 0);
    let largest = sections()
        .filter(known)
        .filter(is_of)
        .max_by_key(|section| code.get(section.name.as_str()).copied());
    largest.cloned().ok_or_else(|| match sections().find(known) {
        Some(section) => another_link(
            map,
            &format!(
                "{} of the trace has {} bytes at {:#x}",
                shown(&section.name),
                section.bytes,
                section.address
            ),
        ),
        None => Error::data(
            map.path().display().to_string(),
            "has no code in a section that the trace places: record what was linked with it",
        ),
    })
}

fn another_link(map: &LinkMap, how: &str) -> Error {
    let message = format!(
        "is of another link than what was recorded ({how}): record what was linked with it"
    );
    Error::data(map.path().display().to_string(), message)
}

/// The name of an input section `.text.NAME` that does not contain the symbol NAME, although the trace
/// has such a symbol: then the map is of another link. Sections that an assembler's source names
/// differently from its functions do not count: they begin with a function that no section is named
/// after.
fn stranger<'a>(
    info: &'a TraceInfo,
    section: &Section,
    inputs: &'a [InputSection],
) -> Option<&'a str> {
    let mut known: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
    let mut at: FxHashMap<u64, Vec<&str>> = FxHashMap::default();
    for symbol in info.images.iter().flat_map(|image| &image.symbols) {
        known.entry(&symbol.name).or_default().push(symbol.offset);
        if let Some(ahead) = symbol.offset.checked_sub(section.offset) {
            at.entry(section.address + u64::from(ahead)).or_default().push(&symbol.name);
        }
    }
    let named: FxHashSet<&str> =
        inputs.iter().filter_map(|input| input.name.strip_prefix(".text.")).collect();
    let is_named_by_hand = |input: &InputSection| {
        at.get(&input.address).is_some_and(|names| names.iter().all(|name| !named.contains(name)))
    };
    let mut held: FxHashMap<&str, bool> = FxHashMap::default();
    for input in inputs {
        let Some(name) = input.name.strip_prefix(".text.") else { continue };
        let Some(offsets) = known.get(name) else { continue };
        let address = |offset: &u32| {
            offset.checked_sub(section.offset).map(|ahead| section.address + u64::from(ahead))
        };
        let is_in = |address: u64| address >= input.address && address < input.end();
        *held.entry(name).or_default() |=
            offsets.iter().filter_map(address).any(is_in) || is_named_by_hand(input);
    }
    held.into_iter().filter(|(_, held)| !held).map(|(name, _)| name).min()
}
