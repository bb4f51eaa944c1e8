//! Data behind the code of a link, which the linker places where the code ends.
//!
//! A linker goes through its script with a location counter. Behind the code it places what comes
//! next at the next multiple of its alignment, so that constants and later sections move when the
//! code becomes longer or shorter. Here that rule has to give the recorded places, or the data is
//! taken to stay: the script may give it an address.

use flashpager_binary::binaries::recorded_file;
use flashpager_binary::link::{InputSection, LinkMap};
use flashpager_layout::Unit;
use flashpager_trace::{Image, Section};

/// A unit, and its input section if it belongs to the section whose units can move.
pub(super) type LinkedUnit = (Unit, Option<InputSection>);

/// The location counter of a linker, in offsets of the image.
struct LocationCounter<'a> {
    map: &'a LinkMap,
    images: &'a [Image],
    /// The section that it is in.
    section: &'a Section,
    /// The offset behind the last unit.
    at: u64,
}

/// Sets the alignments of the units that follow the movable ones. Returns their numbers, up to the
/// first unit whose place does not follow. `units` are sorted by offset; those of `section` have an
/// input section.
pub(super) fn followers(
    map: &LinkMap,
    images: &[Image],
    section: &Section,
    units: &mut [LinkedUnit],
) -> Vec<u32> {
    let Some(last) = units.iter().rposition(|(unit, _)| !unit.fixed) else { return Vec::new() };
    let mut counter = LocationCounter { map, images, section, at: units[last].0.end() };
    let mut followers = Vec::new();
    for (number, (unit, input)) in units.iter_mut().enumerate().skip(last + 1) {
        let align = match input {
            Some(input) => counter.align_in_section(unit, input),
            None => counter.enter(unit),
        };
        let Some(align) = align else { break };
        unit.align = align;
        counter.at = unit.end();
        followers.push(number as u32);
    }
    followers
}

impl LocationCounter<'_> {
    /// The alignment by which an input section of the current section lies at its place; `None` if none
    /// does.
    fn align_in_section(&self, unit: &Unit, input: &InputSection) -> Option<u32> {
        self.leads_to(self.section, self.at, input.align, unit)
    }

    /// The alignment by which the section that is the whole of `unit` lies at its place, behind the
    /// current one. It becomes the current section.
    fn enter(&mut self, unit: &Unit) -> Option<u32> {
        let mut sections = self.images.iter().flat_map(|image| &image.sections);
        let next = sections.find(|section| section.offset == unit.offset)?;
        let align = self.section_align(next)?;
        // Within the section padding stays as long as the section keeps its own alignment.
        let inside = self.padding(next.address + 1, next.address + u64::from(next.bytes));
        if inside.is_some_and(|inside| inside > align) || self.skips_another(next) {
            return None;
        }
        let tail = self.padding(self.address(self.at), self.address(self.section.end()));
        let tail = tail.unwrap_or(1);
        let is_explained = self.at.next_multiple_of(tail) == self.section.end()
            || self.padding_is_at(self.section.end());
        if !is_explained || !distance(self.section).is_multiple_of(tail) {
            return None;
        }
        let align = self.leads_to(next, self.section.end(), align.max(tail), unit)?;
        self.section = next;
        Some(align)
    }

    /// The least alignment, of `align` and the statements before `unit` in `section`, by which the unit
    /// lies behind `end`; `None` if it does not.
    fn leads_to(&self, section: &Section, end: u64, align: u64, unit: &Unit) -> Option<u32> {
        if align == 0 {
            return None;
        }
        let is_linked = distance(section) == distance(self.section);
        let before = is_linked.then(|| {
            self.padding(self.address(end), self.address(unit.offset.into())).unwrap_or(1)
        });
        let align = Some(align.max(before.unwrap_or(1))).filter(|align| align.is_power_of_two())?;
        let leads = end.next_multiple_of(align) == u64::from(unit.offset);
        let is_held =
            u64::from(unit.offset).is_multiple_of(align) && self.padding_is_at(unit.offset.into());
        let is_congruent = distance(section).is_multiple_of(align);
        ((leads || is_held) && is_congruent).then(|| u32::try_from(align).ok()).flatten()
    }

    /// The linked address of an offset in the current section, or behind it.
    fn address(&self, offset: u64) -> u64 {
        (offset.wrapping_sub(self.section.offset.into())).wrapping_add(self.section.address)
    }

    /// The largest alignment of the statements that move the location counter to an address from `first`
    /// to `last`.
    fn padding(&self, first: u64, last: u64) -> Option<u64> {
        let between = |address: u64| (first..=last).contains(&address);
        let paddings = self.map.paddings.iter().filter(|padding| between(padding.address));
        paddings.map(|padding| padding.align).max()
    }

    /// Returns true if a MAX at the end of an earlier order moved the location counter to an
    /// offset.
    fn padding_is_at(&self, offset: u64) -> bool {
        let address = self.address(offset);
        self.map.paddings.iter().any(|padding| padding.address == address && padding.align == 1)
    }

    /// The alignment of a section, from the map or from the recorded file.
    fn section_align(&self, section: &Section) -> Option<u64> {
        let listed = self
            .map
            .outputs
            .iter()
            .find(|output| output.name == section.name && output.address == section.address);
        match listed.map_or(0, |output| output.align) {
            0 => {
                let image = self.images.iter().find(|image| image.sections.contains(section))?;
                recorded_file(image)?.alignment_of(section)
            }
            align => Some(align),
        }
    }

    /// Returns true if a section that the trace does not place lies before `next`, if both are
    /// placed as linked.
    fn skips_another(&self, next: &Section) -> bool {
        let end = self.section.address + u64::from(self.section.bytes);
        let is_between =
            |address: u64, bytes: u64| bytes > 0 && (end..next.address).contains(&address);
        distance(next) == distance(self.section)
            && self.map.outputs.iter().any(|output| is_between(output.address, output.bytes))
    }
}

/// The linked address of offset 0, if all were placed as this section is.
fn distance(section: &Section) -> u64 {
    section.address.wrapping_sub(section.offset.into())
}
