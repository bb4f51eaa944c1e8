//! Reading of link maps.

use std::path::Path;

use flashpager_base::{Error, Result, shown};

use super::map::{InputSection, LinkMap};
use super::{armlink, gnu, lld, objects};

/// Largest file that may be a link map, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Parses the text of a map; `None` for any other text. An error is a message that begins with a
/// verb.
type Reader = fn(&str) -> Option<std::result::Result<LinkMap, String>>;

/// The readers of all formats.
const READERS: [Reader; 3] =
    [|text| lld::parse(text).map(Ok), |text| gnu::parse(text).map(Ok), armlink::parse];

impl LinkMap {
    /// Reads the map at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, or is no link map.
    pub fn read(path: &Path) -> Result<Self> {
        let refused = |reason: &str| Err(Error::data(path.display().to_string(), reason));
        let meta = std::fs::metadata(path).map_err(|error| Error::file(path, error))?;
        if !meta.is_file() || meta.len() > MAX_FILE_BYTES {
            return refused("is no link map (not a file, or over 1 GiB)");
        }
        let bytes = std::fs::read(path).map_err(|error| Error::file(path, error))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut map = match Self::parsed(&text) {
            Some(Ok(map)) => map,
            Some(Err(reason)) => return refused(&reason),
            None => return refused(&unread(&text)),
        };
        map.path = path.to_owned();
        Ok(map)
    }

    /// Parses the text of a map; `None` for any other text, and for a map with a line that is not
    /// understood.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parsed(text)?.ok()
    }

    fn parsed(text: &str) -> Option<std::result::Result<Self, String>> {
        READERS.iter().find_map(|reader| reader(text))
    }

    /// Returns the input sections of the output section `name` that have bytes, sorted by address.
    /// The alignments of code come from the map, or from the objects that it names. The objects are
    /// looked for at the linker's paths, relative to the current folder or to that of the map. Data
    /// that the linker merged, such as strings that are ends of others, is one section.
    ///
    /// # Errors
    /// If objects are gone or were compiled again, or code overlaps.
    pub fn inputs_of(&self, name: &str) -> Result<Vec<InputSection>> {
        let refused = |reason: String| Error::data(self.path.display().to_string(), reason);
        let mut inputs: Vec<InputSection> = self
            .inputs
            .iter()
            .filter(|input| input.output == name && input.bytes > 0)
            .cloned()
            .collect();
        inputs.sort_by_key(|input| input.address);
        inputs.dedup_by(|next, last| {
            let merges = next.address < last.end() && !next.is_movable() && !last.is_movable();
            if merges {
                last.bytes = last.bytes.max(next.end() - last.address);
            }
            merges
        });
        if !self.linker.lists_alignments() {
            objects::align(&mut inputs, self.path.parent().unwrap_or(Path::new("")))
                .map_err(refused)?;
        }
        for pair in inputs.windows(2) {
            if pair[1].address < pair[0].end() {
                return Err(refused(format!(
                    "has {} of {} over {} of {}",
                    shown(&pair[1].name),
                    shown(pair[1].origin()),
                    shown(&pair[0].name),
                    shown(pair[0].origin())
                )));
            }
        }
        for input in inputs.iter().filter(|input| input.is_movable()) {
            if !input.align.is_power_of_two() || !input.address.is_multiple_of(input.align) {
                return Err(refused(format!(
                    "has {} of {} at {:#x}, which is no multiple of its alignment {}",
                    shown(&input.name),
                    shown(input.origin()),
                    input.address,
                    input.align
                )));
            }
        }
        Ok(inputs)
    }
}

/// Describes a file that no reader takes, with the remedy.
fn unread(text: &str) -> String {
    match foreign(text) {
        Some("armlink") => "is a list of armlink without a memory map: link with --map".to_owned(),
        Some(linker) => format!(
            "is a map of {linker}, which is not read: take one of GNU ld, lld, gold, mold or armlink, \
             or leave --map out"
        ),
        None => "is no map of GNU ld or lld: link with -Wl,-Map=FILE (and LC_ALL=C, if the linker \
                 speaks another language than English)"
            .to_owned(),
    }
}

/// Returns the linker that wrote a map of another format.
fn foreign(text: &str) -> Option<&'static str> {
    let head: String = text.lines().take(40).collect::<Vec<_>>().join("\n");
    let linkers = [
        ("IAR ELF Linker", "IAR's linker"),
        ("armlink", "armlink"),
        ("ARM Linker", "armlink"),
        ("TMS320", "TI's linker"),
        ("TI ARM Linker", "TI's linker"),
        ("# Object files:", "Apple's ld"),
        ("Preferred load address", "Microsoft's linker"),
    ];
    linkers.iter().find(|(words, _)| head.contains(words)).map(|(_, linker)| *linker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_other_linkers_are_known_by_their_heads() {
        let iar = "###########\n#\n# IAR ELF Linker V9.40.1.364/W64 for ARM\n";
        let arm = "Component: Arm Compiler for Embedded 6.21 Tool: armlink [5ec1fa00]\n";
        assert_eq!(foreign(iar), Some("IAR's linker"));
        assert_eq!(foreign(arm), Some("armlink"));
        assert_eq!(foreign("nothing"), None);
    }
}
