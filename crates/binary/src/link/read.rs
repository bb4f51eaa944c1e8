//! Reading of link maps.

use std::path::Path;

use flashpager_base::{Error, Result, shown};

use super::map::{InputSection, LinkMap, Linker};
use super::{gnu, lld, objects};

/// Largest file that may be a link map, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

impl LinkMap {
    /// Reads the map at `path`.
    ///
    /// # Errors
    /// A file that cannot be read, or is no link map.
    pub fn read(path: &Path) -> Result<Self> {
        let refused = |what: &str| Err(Error::data(path.display().to_string(), what));
        let meta = std::fs::metadata(path).map_err(|error| Error::file(path, error))?;
        if !meta.is_file() || meta.len() > MAX_FILE_BYTES {
            return refused("is no link map (not a file, or over 1 GiB)");
        }
        let bytes = std::fs::read(path).map_err(|error| Error::file(path, error))?;
        let Some(mut map) = Self::parse(&String::from_utf8_lossy(&bytes)) else {
            return refused(
                "is no map of GNU ld or lld: link with -Wl,-Map=FILE (and LC_ALL=C, if the linker \
                 speaks another language than English)",
            );
        };
        map.path = path.to_owned();
        Ok(map)
    }

    /// Parses the text of a map; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        lld::parse(text).or_else(|| gnu::parse(text))
    }

    /// Returns the input sections of the output section `name` that have bytes, sorted by address.
    /// Their alignments come from the map, or from the objects that it names. The objects are looked
    /// for at the linker's paths, relative to the current folder or to that of the map.
    ///
    /// # Errors
    /// Objects that are gone or were compiled again, and sections that overlap.
    pub fn inputs_of(&self, name: &str) -> Result<Vec<InputSection>> {
        let refused = |what: String| Error::data(self.path.display().to_string(), what);
        let mut inputs: Vec<InputSection> = self
            .inputs
            .iter()
            .filter(|input| input.output == name && input.bytes > 0)
            .cloned()
            .collect();
        inputs.sort_by_key(|input| input.address);
        if self.linker == Linker::GnuLd {
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
        for input in &inputs {
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
