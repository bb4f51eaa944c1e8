//! Data among the code of a program, such as the literal pools of ARM functions.

use std::path::Path;

use flashpager_trace::Image;
use object::{Object, ObjectSymbol};

use crate::binaries::Binary;

/// Returns the offsets in flash where the code of `image` is interrupted by data, ascending. `None` if
/// the recorded file is gone, is another one, or does not mark data.
pub fn literal_offsets(image: &Image) -> Option<Vec<u32>> {
    let binary = Binary::read(Path::new(&image.path)).ok()?;
    if binary.differs_from(image).is_some() || binary.elf.moved(image).is_some() {
        return None;
    }
    let file = object::File::parse(binary.bytes.as_slice()).ok()?;
    // The ABIs of ARM and AArch64 mark data as $d or $d.NAME, and code as $a, $t or $x.
    let is_mark = |name: &str, kind: &str| {
        name.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let marks = || {
        file.symbols().filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
    };
    if !marks().any(|(name, _)| ["$a", "$t", "$x"].iter().any(|kind| is_mark(&name, kind))) {
        return None;
    }
    let in_flash =
        |address: u64| image.sections.iter().find_map(|section| section.offset_of(address));
    let data = marks().filter(|(name, _)| is_mark(name, "$d"));
    let mut offsets: Vec<u32> = data.filter_map(|(_, address)| in_flash(address)).collect();
    offsets.sort_unstable();
    Some(offsets)
}
