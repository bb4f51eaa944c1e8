//! Sections of a trace that lie in other lines or sets of a cache than in the program.

use flashpager_base::shown;
use flashpager_binary::elf::LINKED_BASE;
use flashpager_trace::{Section, TraceInfo};

use super::Design;

impl Design {
    /// Warns if recorded offsets map to other lines or sets of a cache in hardware than the linked
    /// addresses, as a recording packs sections. Only the first image is checked: the addresses of
    /// libraries and methods are unknown.
    pub(super) fn displaced(&self, info: &TraceInfo) -> Vec<String> {
        let Some(ways) = self.spec.ways else { return Vec::new() };
        let is_machine_code = !info.architecture.is_empty() && info.architecture != "jvm";
        let sections = info.images.first().filter(|_| is_machine_code).map(|image| &image.sections);
        let line = u64::from(self.cache.cache_page_bytes);
        let way_bytes = (self.cache.cache_bytes / u64::from(ways.max(1))).max(line);
        let mut sections_in_flash =
            sections.into_iter().flatten().filter(|section| section.bytes > 0);
        let ahead = |section: &Section| section.address.wrapping_sub(u64::from(section.offset));
        let Some(first) = sections_in_flash.next() else { return Vec::new() };
        let how = "record or import it with --as-linked";
        if !ahead(first).is_multiple_of(line) {
            let how = if line > LINKED_BASE {
                format!("--as-linked keeps lines of up to {LINKED_BASE} bytes")
            } else {
                how.to_owned()
            };
            return vec![format!(
                "lines of {line} bytes begin elsewhere in the program: its {} is linked at {:#x}, and \
                 is placed at {:#x} here; {how}",
                shown(&first.name),
                first.address,
                first.offset
            )];
        }
        let other = sections_in_flash
            .find(|section| !ahead(section).wrapping_sub(ahead(first)).is_multiple_of(way_bytes));
        other
            .map(|other| {
                format!(
                    "{} and {} share other sets in the program: they are linked {:#x} bytes apart, and \
                     placed {:#x} apart here; {how}",
                    shown(&first.name),
                    shown(&other.name),
                    other.address.abs_diff(first.address),
                    other.offset.abs_diff(first.offset)
                )
            })
            .into_iter()
            .collect()
    }
}
