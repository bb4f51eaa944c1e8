//! What a linker did: the input sections of its map, in the order in which they lie, and files
//! that make it lay them in another order.

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

/// Larger files are no link maps.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Whose map it is.
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

/// A section of an object file as it was linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSection {
    /// The object or archive, as the linker was given it.
    pub file: String,
    /// The object within the archive; empty if there is none.
    pub member: String,
    /// Its name, as `.text.main`.
    pub name: String,
    /// The section of the program that it went to.
    pub output: String,
    /// Where it lies, linked.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// Its length in the object, where the linker made it shorter.
    pub bytes_before: Option<u64>,
    /// What its address is a multiple of; 0 until it is known.
    pub align: u64,
    /// The statement of the linker script that took it, as `*(.text .text.*)`; empty if the map
    /// does not tell.
    pub statement: String,
}

impl InputSection {
    /// A section that a map lists in `output`, of `origin`, which may be an archive's object. What
    /// not every map tells is not known yet.
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

    /// Whether it is code that can lie anywhere in its output section, by its name: not vectors,
    /// not pieces of one function as in `.init`.
    pub fn is_movable(&self) -> bool {
        let is_of = |prefix: &str| {
            self.name
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        is_of(".text") || is_of(".gnu.linkonce.t")
    }

    /// The address just behind it.
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }

    /// The archive and object, as linkers write them.
    fn origin(&self) -> String {
        if self.member.is_empty() {
            self.file.clone()
        } else {
            format!("{}({})", self.file, self.member)
        }
    }
}

/// A section of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSection {
    /// Its name.
    pub name: String,
    /// Where it lies, linked.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
}

/// A link map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkMap {
    path: PathBuf,
    /// Who wrote it.
    pub linker: Linker,
    /// The sections of the program.
    pub outputs: Vec<OutputSection>,
    /// What went into them, in the order of the map.
    pub inputs: Vec<InputSection>,
}

impl LinkMap {
    fn new(linker: Linker, outputs: Vec<OutputSection>, inputs: Vec<InputSection>) -> Self {
        Self { path: PathBuf::new(), linker, outputs, inputs }
    }

    /// Read the map at `path`.
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

    /// Parse the text of a map; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        lld::parse(text).or_else(|| gnu::parse(text))
    }

    /// The input sections of the output section `name` that have bytes, in the order in which
    /// they lie, each with its alignment: from the map, or else from the objects that it names.
    /// These are sought where the linker found them, in this folder or the map's.
    ///
    /// # Errors
    /// Objects that are gone, or that were compiled again since; sections that lie over each
    /// other.
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

    /// Where it was read.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// `lib.a(member.o)` as its two names; of an object the second is empty.
fn split_origin(origin: &str) -> (String, String) {
    let inner = origin.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    match inner {
        Some((file, member)) if !file.is_empty() && !member.is_empty() => {
            (file.to_owned(), member.to_owned())
        }
        _ => (origin.to_owned(), String::new()),
    }
}
