//! Link maps: the input sections of a program in their order, and files that make a linker place
//! them in another order.

mod check;
mod gnu;
mod lld;
mod objects;
mod order;
mod pinned;

use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result, named, shown};

pub use check::{CheckedLink, OrderViolation, ViolationKind, check};
pub use order::{OrderLine, OrderText, fragment, lines, names, recorded_at, symbol_order};
pub use pinned::{PinFormat, PinText, pinned};

/// Largest file that may be a link map, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The linker that wrote a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linker {
    /// GNU ld, whose map has no alignments.
    GnuLd,
    /// LLVM's lld.
    Lld,
}

named! {
    Linker: "unknown linker",
    "gnu-ld" => GnuLd,
    "lld" => Lld,
}

/// A section of an object file, as it was linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSection {
    /// Path of the object or archive, as it was given to the linker.
    pub file: String,
    /// Name of the object in the archive; empty if `file` is an object.
    pub member: String,
    /// Name of the section, such as `.text.main`.
    pub name: String,
    /// Name of the program's section that it was put into.
    pub output: String,
    /// Linked address.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Length in the object, if the linker made it shorter.
    pub bytes_before: Option<u64>,
    /// Alignment in bytes; 0 until it is known.
    pub align: u64,
    /// The statement of the linker script that placed it, such as `*(.text .text.*)`; empty if the
    /// map does not have it.
    pub statement: String,
}

impl InputSection {
    /// Makes a section that a map lists in `output`. `origin` is an object, or an object in an
    /// archive. Properties that not every map has are left open.
    fn listed(output: &OutputSection, origin: &str, name: &str, address: u64, bytes: u64) -> Self {
        let (file, member) = split_origin(origin);
        Self {
            file,
            member,
            name: name.to_owned(),
            output: output.name.clone(),
            address,
            bytes,
            bytes_before: None,
            align: 0,
            statement: String::new(),
        }
    }

    /// Tells by its name whether it is code that can lie anywhere in its output section. Vectors cannot,
    /// and neither can pieces of one function as in `.init`.
    pub fn is_movable(&self) -> bool {
        let is_of = |prefix: &str| {
            self.name
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        is_of(".text") || is_of(".gnu.linkonce.t")
    }

    /// Returns the address just behind it.
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }

    /// Returns the archive and object, as linkers write them.
    fn origin(&self) -> String {
        if self.member.is_empty() {
            self.file.clone()
        } else {
            format!("{}({})", self.file, self.member)
        }
    }
}

/// A section of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSection {
    /// Name of the section.
    pub name: String,
    /// Linked address.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// A link map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkMap {
    path: PathBuf,
    /// The linker that wrote it.
    pub linker: Linker,
    /// The sections of the program.
    pub outputs: Vec<OutputSection>,
    /// The input sections, in the order of the map.
    pub inputs: Vec<InputSection>,
}

impl LinkMap {
    fn new(linker: Linker, outputs: Vec<OutputSection>, inputs: Vec<InputSection>) -> Self {
        Self { path: PathBuf::new(), linker, outputs, inputs }
    }

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

    /// Returns the path from which the map was read.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Splits `lib.a(member.o)` into its two names. The second is empty for an object.
fn split_origin(origin: &str) -> (String, String) {
    let inner = origin.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    match inner {
        Some((file, member)) if !file.is_empty() && !member.is_empty() => {
            (file.to_owned(), member.to_owned())
        }
        _ => (origin.to_owned(), String::new()),
    }
}
