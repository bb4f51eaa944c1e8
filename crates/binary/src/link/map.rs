//! The parts of a link map.

use std::path::{Path, PathBuf};

use flashpager_base::named;

/// The linker that wrote a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linker {
    /// GNU ld, whose map has no alignments.
    GnuLd,
    /// LLVM's lld.
    Lld,
    /// gold of GNU binutils, whose map has no alignments either.
    Gold,
    /// mold, which takes no order.
    Mold,
    /// Arm's armlink, whose map has no alignments and no folders of objects.
    Armlink,
}

named! {
    Linker: "unknown linker",
    "gnu-ld" => GnuLd,
    "lld" => Lld,
    "gold" => Gold,
    "mold" => Mold,
    "armlink" => Armlink,
}

impl Linker {
    /// Returns true if the map has alignments.
    pub(super) fn lists_alignments(self) -> bool {
        match self {
            Self::Lld | Self::Mold => true,
            Self::GnuLd | Self::Gold | Self::Armlink => false,
        }
    }

    /// Returns why no file for a linker script or a build system places sections in a link of this
    /// linker, with the remedy; `None` if such files do. The reason follows `is a map of`.
    pub fn takes_names_only(self) -> Option<&'static str> {
        match self {
            Self::GnuLd | Self::Lld | Self::Gold => None,
            Self::Mold => {
                Some("mold, which takes no order: link with GNU ld or lld, and record that")
            }
            Self::Armlink => Some(
                "armlink, which reads scatter files alone: take --format names, and put its lines, as \
                 card.o(.text.main), into an execution region",
            ),
        }
    }
}

/// The file of code that GNU ld makes; that of lld and mold is in angle brackets.
pub(super) const LINKER_STUBS: &str = "linker stubs";

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
    pub(super) fn listed(
        output: &OutputSection,
        origin: &str,
        name: &str,
        address: u64,
        bytes: u64,
    ) -> Self {
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
    /// and neither can pieces of one function as in `.init`, nor stubs, which the linker makes.
    pub fn is_movable(&self) -> bool {
        if self.file == LINKER_STUBS || self.file.starts_with('<') {
            return false;
        }
        let is_of = |prefix: &str| {
            self.name
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        // armcc calls the section of a function `i.NAME`.
        is_of(".text") || is_of(".gnu.linkonce.t") || self.name.starts_with("i.")
    }

    /// Tells by its name whether it is code, movable or not, as the pieces of `.init` and `.fini` and the
    /// linker's stubs are.
    pub fn is_code(&self) -> bool {
        self.is_movable()
            || self.file == LINKER_STUBS
            || matches!(self.name.as_str(), ".init" | ".fini")
    }

    /// Returns the address just behind it.
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }

    /// Returns the archive and object, as linkers write them.
    pub(super) fn origin(&self) -> String {
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
    /// Alignment in bytes; 0 if the map does not have it.
    pub align: u64,
}

/// A statement of the linker script that moves the location counter up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Padding {
    /// The address up to which it moves.
    pub address: u64,
    /// The alignment of `. = ALIGN(…)`; 1 for `. = MAX(., …)`, as an order has it at its end.
    pub align: u64,
}

/// A link map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkMap {
    /// Path of the file.
    pub(super) path: PathBuf,
    /// The linker that wrote it.
    pub linker: Linker,
    /// The sections of the program.
    pub outputs: Vec<OutputSection>,
    /// The input sections, in the order of the map.
    pub inputs: Vec<InputSection>,
    /// The statements that move the location counter up, in the order of the map.
    pub paddings: Vec<Padding>,
}

impl LinkMap {
    /// Makes a map that was not read from a file.
    pub(super) fn new(
        linker: Linker,
        outputs: Vec<OutputSection>,
        inputs: Vec<InputSection>,
        paddings: Vec<Padding>,
    ) -> Self {
        Self { path: PathBuf::new(), linker, outputs, inputs, paddings }
    }

    /// Returns the path from which the map was read.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Splits `lib.a(member.o)` into its two names. The second is empty for an object.
pub(super) fn split_origin(origin: &str) -> (String, String) {
    let inner = origin.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    match inner {
        Some((file, member)) if !file.is_empty() && !member.is_empty() => {
            (file.to_owned(), member.to_owned())
        }
        _ => (origin.to_owned(), String::new()),
    }
}
