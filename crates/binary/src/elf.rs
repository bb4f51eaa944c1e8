//! ELF files: sections, segments, symbols and build id.

use std::collections::HashMap;
use std::path::Path;

use flashpager_base::{Error, Result, shown};
use flashpager_trace::{Image, MAX_IMAGE_BYTES, Section, Symbol};
use object::elf::{self, Machine, PF_X, STT_NOTYPE};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{
    Object, ObjectSection, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolFlags, SymbolKind,
};

use crate::unwind;

/// Largest file that may be a program, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Largest build id, in bytes. Linkers write 20 bytes at most.
const MAX_BUILD_ID_BYTES: usize = 64;

/// The name of lld in the comment that it puts into a program, which may name a distribution before it.
const LLD_COMMENT: &[u8] = b" LLD ";

/// Prefix of the names of functions that a stripped program does not name. The address follows in
/// hexadecimal.
const UNNAMED: &str = "sub_";

/// Returns true if `name` was made for a function of a stripped program.
pub fn is_unnamed(name: &str) -> bool {
    name.strip_prefix(UNNAMED).is_some_and(|address| {
        !address.is_empty()
            && address.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The parts of an ELF file that placement needs.
pub struct ElfFile {
    architecture: String,
    build_id: String,
    sections: Vec<ElfSection>,
    segments: Vec<ElfSegment>,
    symbols: Vec<ElfSymbol>,
}

/// Alignment of code that is placed as linked, in bytes. It is the erase size of serial NOR, and
/// more than a line of a hardware cache.
pub const LINKED_BASE: u64 = 4096;
/// Largest span of code that is placed as linked, in bytes.
const LINKED_SPAN: u64 = 64 << 20;

struct ElfSection {
    name: String,
    address: u64,
    bytes: u64,
    align: u64,
    /// True if the file holds the section's bytes; false for `.bss`.
    in_file: bool,
    /// True if the section holds code.
    is_code: bool,
    /// The address from which start-up code copies the section. `None` if it runs where it is
    /// stored.
    copied_from: Option<u64>,
    /// True if the file ends before the section does.
    cut_off: bool,
}

struct ElfSegment {
    address: u64,
    offset: u64,
    bytes: u64,
    executable: bool,
}

struct ElfSymbol {
    name: String,
    address: u64,
    bytes: u64,
}

impl ElfSection {
    /// States that the section is a copy in RAM; `None` if it runs where it is stored.
    fn copy(&self) -> Option<String> {
        let stored = self.copied_from?;
        Some(format!(
            "its section {} runs at {:#x} and is stored at {stored:#x}: a copy in RAM",
            shown(&self.name),
            self.address
        ))
    }
}

impl ElfFile {
    /// Reads the file `path`.
    ///
    /// # Errors
    /// If the file cannot be read or is no complete ELF file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = read_bytes(path)?;
        Self::parse(&bytes).map_err(|message| Error::data(path.display().to_string(), message))
    }

    /// Parses the contents of a file.
    ///
    /// # Errors
    /// If the contents are no ELF file or are damaged, in words.
    pub fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err("is no ELF file".into());
        }
        let file =
            object::File::parse(bytes).map_err(|e| format!("is a damaged ELF file ({e})"))?;
        // Names may share bytes of the file, but all together must not be longer than it.
        let mut names = bytes.len();
        let mut sections = Vec::new();
        let copies = copied_segments(&file);
        for section in file.sections() {
            let Ok(name) = section.name() else { continue };
            let in_file = section.file_range();
            sections.push(ElfSection {
                name: counted(name, &mut names)?,
                address: section.address(),
                bytes: section.size(),
                align: section.align().clamp(1, 4096).next_power_of_two(),
                in_file: in_file.is_some(),
                copied_from: copied_from(&copies, section.address()),
                is_code: section.kind() == object::SectionKind::Text && section.size() > 0,
                cut_off: in_file.is_some_and(|(offset, length)| {
                    offset.saturating_add(length) > bytes.len() as u64
                }),
            });
        }
        let segments = file
            .segments()
            .map(|segment| ElfSegment {
                address: segment.address(),
                offset: segment.file_range().0,
                bytes: segment.file_range().1,
                executable: matches!(segment.flags(),
                    SegmentFlags::Elf { p_flags, .. } if p_flags.0 & PF_X.0 != 0),
            })
            .collect();
        let thumb = file.architecture() == object::Architecture::Arm;
        let mut symbols = functions(file.symbols(), thumb, &mut names)?;
        symbols.extend(labels(&file, thumb, &symbols, &mut names)?);
        if symbols.is_empty() {
            symbols = functions(file.dynamic_symbols(), thumb, &mut names)?;
            symbols.extend(unnamed(&file, &symbols));
        }
        let build_id = file.build_id().ok().flatten().unwrap_or_default();
        let build_id = &build_id[..build_id.len().min(MAX_BUILD_ID_BYTES)];
        Ok(Self {
            architecture: qemu_name(&file).to_owned(),
            build_id: build_id.iter().map(|byte| format!("{byte:02x}")).collect(),
            sections,
            segments,
            symbols,
        })
    }

    /// Returns the instruction set as QEMU spells it; empty if QEMU has none.
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// Returns the GNU build id in hexadecimal; empty if there is none.
    pub fn build_id(&self) -> &str {
        &self.build_id
    }

    /// Returns the number of functions with a name.
    pub fn functions(&self) -> usize {
        self.symbols.iter().filter(|symbol| !is_unnamed(&symbol.name)).count()
    }

    /// Returns the linked address of the first executable segment.
    pub fn first_executable(&self) -> Option<u64> {
        self.segments.iter().filter(|segment| segment.executable).map(|s| s.address).min()
    }

    /// Returns true if the file has at least one of the sections `names`, with bytes in it.
    pub fn has_sections(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.section(name).is_some())
    }

    /// Returns the sections with these names, each once, in the order of the names.
    fn sections_named(&self, names: &[String]) -> Vec<&ElfSection> {
        let mut sections: Vec<&ElfSection> = Vec::new();
        for section in names.iter().filter_map(|name| self.section(name)) {
            if !sections.iter().any(|other| std::ptr::eq(*other, section)) {
                sections.push(section);
            }
        }
        sections
    }

    fn section(&self, name: &str) -> Option<&ElfSection> {
        self.sections
            .iter()
            .find(|section| section.name == name && section.bytes > 0 && section.in_file)
    }

    /// Returns the distance of the file above its linked addresses if its bytes from `file_offset` on
    /// are mapped at `start`..`end`. `None` if the mapping holds no executable segment.
    pub fn bias(&self, file_offset: u64, start: u64, end: u64) -> Option<u64> {
        let mapped_end = file_offset.saturating_add(end.saturating_sub(start));
        self.segments
            .iter()
            .find(|segment| {
                segment.executable
                    && segment.offset < mapped_end
                    && segment.offset.saturating_add(segment.bytes) > file_offset
            })
            .map(|segment| {
                start
                    .wrapping_sub(file_offset)
                    .wrapping_add(segment.offset)
                    .wrapping_sub(segment.address)
            })
    }

    /// Places the sections `names` in flash from `offset` on, each with its own alignment. A section
    /// that the file lacks is skipped if it has another.
    ///
    /// # Errors
    /// If the file has none of the sections, or the image is over 4 GiB.
    pub fn place(&self, path: &Path, names: &[String], offset: u64) -> Result<Image> {
        let mut end = offset;
        let mut placed = Vec::new();
        for section in self.sections_named(names) {
            let at = end.next_multiple_of(section.align);
            end = at.saturating_add(section.bytes);
            placed.push((section, at));
        }
        self.image(path, names, &placed)
    }

    /// Places the sections `names` in flash at the distances at which they are linked. Offset 0 is
    /// the multiple of [`LINKED_BASE`] at or below the first section. A hardware cache, which chooses
    /// lines and sets by address, then has them in the same sets, rotated together.
    ///
    /// # Errors
    /// If the file has none of the sections, sections overlap, or they span more than
    /// [`LINKED_SPAN`].
    pub fn place_as_linked(&self, path: &Path, names: &[String]) -> Result<Image> {
        let mut sections = self.sections_named(names);
        sections.sort_by_key(|section| section.address);
        let wrong = |message: String| Error::data(path.display().to_string(), message);
        for two in sections.windows(2) {
            if two[0].address.saturating_add(two[0].bytes) > two[1].address {
                return Err(wrong(format!(
                    "its sections {} and {} lie over each other at {:#x}: link it first, or name \
                     one of them",
                    shown(&two[0].name),
                    shown(&two[1].name),
                    two[1].address
                )));
            }
        }
        let base = sections.first().map_or(0, |first| first.address & !(LINKED_BASE - 1));
        if let Some(last) = sections.last()
            && last.address.saturating_add(last.bytes).saturating_sub(base) > LINKED_SPAN
        {
            return Err(wrong(format!(
                "its sections {} at {:#x} and {} at {:#x} lie too far apart to be \
                 placed as linked, over {} MB: leave one of them out",
                shown(&sections[0].name),
                sections[0].address,
                shown(&last.name),
                last.address,
                LINKED_SPAN >> 20
            )));
        }
        let placed: Vec<_> =
            sections.into_iter().map(|section| (section, section.address - base)).collect();
        self.image(path, names, &placed)
    }

    /// Makes the image of sections with their flash offsets, which ascend.
    fn image(&self, path: &Path, names: &[String], placed: &[(&ElfSection, u64)]) -> Result<Image> {
        let file_name = path.display().to_string();
        let mut sections = Vec::new();
        let mut end = 0;
        for (section, at) in placed {
            end = at.saturating_add(section.bytes);
            if let Some(copy) = section.copy() {
                let message =
                    format!("{copy}, which is not fetched from flash; leave it out of --section");
                return Err(Error::data(file_name, message));
            }
            if section.cut_off {
                let message = format!(
                    "its section {} reaches beyond the end of the file: make or copy it again",
                    shown(&section.name)
                );
                return Err(Error::data(file_name, message));
            }
            if end > MAX_IMAGE_BYTES {
                return Err(Error::data(file_name, "the flash image grows over 4 GiB"));
            }
            sections.push(Section {
                name: section.name.clone(),
                address: section.address,
                offset: *at as u32,
                bytes: section.bytes as u32,
            });
        }
        let Some(first) = sections.first().map(|section| section.offset) else {
            let known: Vec<String> = self
                .sections
                .iter()
                .filter(|section| section.bytes > 0 && !section.name.is_empty())
                .map(|section| shown(&section.name))
                .take(12)
                .collect();
            let known = if known.is_empty() { "no sections".into() } else { known.join(", ") };
            return Err(Error::data(
                file_name,
                format!(
                    "has no section {}; it has {known} (choose with --section)",
                    names.join(", ")
                ),
            ));
        };
        let Ok(bytes) = u32::try_from(end - u64::from(first)) else {
            return Err(Error::data(file_name, "fills 4 GiB alone: leave a section out"));
        };
        let symbols = self.symbols_in(&sections);
        Ok(Image {
            path: file_name,
            build_id: self.build_id.clone(),
            offset: first,
            bytes,
            sections,
            symbols,
        })
    }

    /// Returns true if the file has `sections` at their addresses and with their sizes. It need not
    /// hold their bytes: files of debug information have none.
    pub fn agrees_with(&self, sections: &[Section]) -> bool {
        sections.iter().all(|wanted| {
            self.sections.iter().any(|section| {
                section.name == wanted.name
                    && section.address == wanted.address
                    && section.bytes == u64::from(wanted.bytes)
            })
        })
    }

    /// States that one of `sections` is a copy in RAM; `None` if all run where they are stored.
    pub fn copy_in_ram(&self, sections: &[Section]) -> Option<String> {
        let is_one = |own: &&ElfSection| {
            sections
                .iter()
                .any(|section| section.name == own.name && section.address == own.address)
        };
        self.sections.iter().filter(is_one).find_map(ElfSection::copy)
    }

    /// Returns the alignment in bytes of a recorded section, up to 4096; `None` if the file does not
    /// have it.
    pub fn alignment_of(&self, wanted: &Section) -> Option<u64> {
        let is_wanted = |section: &&ElfSection| {
            section.name == wanted.name
                && section.address == wanted.address
                && section.bytes == u64::from(wanted.bytes)
        };
        self.sections.iter().find(is_wanted).map(|section| section.align)
    }

    /// Returns the first function of `image` that the file has at another place. It distinguishes
    /// versions of files without a build id.
    pub fn moved<'image>(&self, image: &'image Image) -> Option<&'image str> {
        let mut here: HashMap<String, Vec<u32>> = HashMap::new();
        for symbol in self.names_in(&image.sections) {
            here.entry(symbol.name).or_default().push(symbol.offset);
        }
        image
            .symbols
            .iter()
            .find(|recorded| {
                here.get(&recorded.name).is_some_and(|offsets| !offsets.contains(&recorded.offset))
            })
            .map(|recorded| recorded.name.as_str())
    }

    /// Returns the bytes of a section in the contents of a file. `None` if they are missing or their
    /// number differs.
    pub fn section_bytes<'data>(contents: &'data [u8], wanted: &Section) -> Option<&'data [u8]> {
        let file = object::File::parse(contents).ok()?;
        let section = file.sections().find(|section| {
            section.name() == Ok(wanted.name.as_str()) && section.address() == wanted.address
        })?;
        section.data().ok().filter(|data| data.len() == wanted.bytes as usize)
    }

    /// Returns true if the comments in the contents of a file name lld as its linker.
    pub fn is_linked_by_lld(contents: &[u8]) -> bool {
        let Ok(file) = object::File::parse(contents) else { return false };
        let comment = file.section_by_name(".comment").and_then(|section| section.data().ok());
        comment.is_some_and(|text| text.windows(LLD_COMMENT.len()).any(|it| it == LLD_COMMENT))
    }

    /// Returns the executable sections in the contents of a file, with their addresses.
    pub fn executable_code(contents: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let Ok(file) = object::File::parse(contents) else { return Vec::new() };
        file.sections()
            .filter(|section| section.kind() == object::SectionKind::Text)
            .filter_map(|section| Some((section.address(), section.data().ok()?.to_vec())))
            .filter(|(_, code)| !code.is_empty())
            .collect()
    }

    /// Returns the addresses from which on the code of an ARM file is Thumb code, or is not, by its
    /// mapping symbols. Without these all code is of the kind at the entry. Empty for other files.
    pub fn thumb_code(contents: &[u8]) -> Vec<(u64, bool)> {
        let Ok(file) = object::File::parse(contents) else { return Vec::new() };
        if file.architecture() != object::Architecture::Arm {
            return Vec::new();
        }
        let mut marks: Vec<(u64, bool)> = file
            .symbols()
            .filter_map(|symbol| {
                let name = symbol.name_bytes().ok()?;
                let is_mark = |mark: &[u8]| {
                    name.strip_prefix(mark)
                        .is_some_and(|rest| matches!(rest.first(), None | Some(b'.')))
                };
                let thumb = is_mark(b"$t");
                (thumb || is_mark(b"$a")).then(|| (symbol.address(), thumb))
            })
            .collect();
        marks.sort_unstable();
        if marks.is_empty() {
            marks.push((0, file.entry() & 1 == 1));
        }
        marks
    }

    /// Returns the functions in `sections`, sorted by flash offset. If an address has several names,
    /// only the one with most bytes is returned.
    pub fn symbols_in(&self, sections: &[Section]) -> Vec<Symbol> {
        let mut symbols = self.names_in(sections);
        symbols.dedup_by_key(|symbol| symbol.offset);
        symbols
    }

    /// Returns the functions outside `sections` under all of their names: name, address and bytes.
    pub fn names_outside(&self, sections: &[Section]) -> Vec<(String, u64, u64)> {
        let is_outside = |symbol: &&ElfSymbol| {
            !sections.iter().any(|section| section.offset_of(symbol.address).is_some())
        };
        let mut functions: Vec<_> = self
            .symbols
            .iter()
            .filter(is_outside)
            .map(|symbol| (symbol.name.clone(), symbol.address, symbol.bytes))
            .collect();
        functions.sort_by_key(|(_, address, bytes)| (*address, std::cmp::Reverse(*bytes)));
        functions
    }

    /// Returns the code outside `sections`: the start and end of each other section with code.
    pub fn code_outside(&self, sections: &[Section]) -> Vec<(u64, u64)> {
        let is_outside =
            |section: &&ElfSection| !sections.iter().any(|placed| placed.name == section.name);
        let others = self.sections.iter().filter(|section| section.is_code);
        others
            .filter(is_outside)
            .map(|section| (section.address, section.address.saturating_add(section.bytes)))
            .collect()
    }

    /// Returns the functions in `sections` under all of their names, sorted by flash offset.
    pub fn names_in(&self, sections: &[Section]) -> Vec<Symbol> {
        let mut symbols: Vec<Symbol> = self
            .symbols
            .iter()
            .filter_map(|symbol| {
                let at =
                    |section: &Section| Some((section.offset_of(symbol.address)?, section.end()));
                let (offset, end) = sections.iter().find_map(at)?;
                Some(Symbol {
                    name: symbol.name.clone(),
                    offset,
                    bytes: symbol.bytes.min(end - u64::from(offset)) as u32,
                })
            })
            .collect();
        symbols.sort_by(|a, b| {
            (a.offset, std::cmp::Reverse(a.bytes), &a.name).cmp(&(
                b.offset,
                std::cmp::Reverse(b.bytes),
                &b.name,
            ))
        });
        symbols
    }
}

/// Reads the contents of a file that may be a program.
///
/// # Errors
/// If the file cannot be read, or is too large for a program.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let meta = std::fs::metadata(path).map_err(|e| Error::file(path, e))?;
    if !meta.is_file() || meta.len() > MAX_FILE_BYTES {
        let message = "is no ELF program (not a file, or over 1 GiB)";
        return Err(Error::data(path.display().to_string(), message));
    }
    std::fs::read(path).map_err(|e| Error::file(path, e))
}

/// Copies `name` and subtracts its length from `left`, the number of bytes that names may have.
fn counted(name: &str, left: &mut usize) -> std::result::Result<String, String> {
    *left = left
        .checked_sub(name.len())
        .ok_or("is a damaged ELF file (its names are longer than the file)")?;
    Ok(name.to_owned())
}

fn functions<'data>(
    symbols: impl Iterator<Item = impl ObjectSymbol<'data>>,
    thumb: bool,
    names: &mut usize,
) -> std::result::Result<Vec<ElfSymbol>, String> {
    let mut functions = Vec::new();
    for symbol in symbols.filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let name = counted(symbol.name().unwrap_or_default(), names)?;
        if !name.is_empty() {
            functions.push(ElfSymbol {
                name,
                // Bit 0 of the address of an ARM function means Thumb.
                address: if thumb { symbol.address() & !1 } else { symbol.address() },
                bytes: symbol.size(),
            });
        }
    }
    Ok(functions)
}

/// Returns the labels of code without a type, which assemblers write by default. They count as
/// functions unless they lie in one, or have a dot or dollar in their name, as local labels have.
fn labels(
    file: &object::File<'_>,
    thumb: bool,
    functions: &[ElfSymbol],
    names: &mut usize,
) -> std::result::Result<Vec<ElfSymbol>, String> {
    let mut begun: Vec<(u64, u64)> =
        functions.iter().map(|function| (function.address, function.bytes)).collect();
    begun.sort_unstable();
    let is_in_function = |address: u64| {
        let before = &begun[..begun.partition_point(|(begin, _)| *begin <= address)];
        // A function without a size reaches to the next one.
        before.last().is_some_and(|(begin, bytes)| *bytes == 0 || address - begin < *bytes)
    };
    let is_code = |symbol: &object::Symbol<'_, '_>| {
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        section.is_some_and(|section| {
            section.kind() == object::SectionKind::Text
                && symbol
                    .address()
                    .checked_sub(section.address())
                    .is_some_and(|ahead| ahead < section.size())
        })
    };
    let mut labels = Vec::new();
    for symbol in file.symbols() {
        let is_typeless = matches!(symbol.flags(),
            SymbolFlags::Elf { st_info, .. } if st_info.st_type() == STT_NOTYPE);
        let name = symbol.name().unwrap_or_default();
        if !is_typeless || name.is_empty() || name.contains(['.', '$']) || !is_code(&symbol) {
            continue;
        }
        let address = if thumb { symbol.address() & !1 } else { symbol.address() };
        if !is_in_function(address) {
            labels.push(ElfSymbol { name: counted(name, names)?, address, bytes: 0 });
        }
    }
    Ok(labels)
}

/// Returns the functions of a stripped program that its unwind tables list and that lie in none of
/// `named`. They get names as disassemblers make them. A function without a length reaches to the
/// next one.
fn unnamed(file: &object::File<'_>, named: &[ElfSymbol]) -> Vec<ElfSymbol> {
    let mut held: Vec<(u64, u64)> =
        named.iter().map(|symbol| (symbol.address, symbol.bytes)).collect();
    held.sort_unstable();
    let is_named = |address: u64| {
        let before = &held[..held.partition_point(|(begin, _)| *begin <= address)];
        before.last().is_some_and(|(begin, bytes)| address - begin < (*bytes).max(1))
    };
    let starts = unwind::starts(file);
    let mut begins: Vec<u64> = starts.iter().map(|(address, _)| *address).collect();
    begins.extend(held.iter().map(|(address, _)| *address));
    begins.sort_unstable();
    let next = |address: u64| begins.get(begins.partition_point(|begin| *begin <= address));
    starts
        .into_iter()
        .filter(|(address, _)| !is_named(*address))
        .map(|(address, bytes)| ElfSymbol {
            name: format!("{UNNAMED}{address:x}"),
            address,
            // The last function reaches to the end of its section.
            bytes: bytes.unwrap_or_else(|| next(address).map_or(u64::MAX, |end| end - address)),
        })
        .collect()
}

/// Returns the instruction set and byte order as in the names of QEMU's commands.
fn qemu_name(file: &object::File<'_>) -> &'static str {
    use object::Architecture as A;
    match (file.architecture(), file.is_little_endian()) {
        (A::X86_64 | A::X86_64_X32, _) => "x86_64",
        (A::I386, _) => "i386",
        (A::Arm, true) => "arm",
        (A::Arm, false) => "armeb",
        (A::Aarch64, true) => "aarch64",
        (A::Aarch64, false) => "aarch64_be",
        (A::Riscv32, _) => "riscv32",
        (A::Riscv64, _) => "riscv64",
        (A::Mips, true) => "mipsel",
        (A::Mips, false) => "mips",
        (A::Mips64, true) => "mips64el",
        (A::Mips64, false) => "mips64",
        (A::PowerPc, _) => "ppc",
        (A::PowerPc64, true) => "ppc64le",
        (A::PowerPc64, false) => "ppc64",
        (A::S390x, _) => "s390x",
        (A::Sparc, _) => "sparc",
        (A::Sparc64, _) => "sparc64",
        (A::LoongArch64, _) => "loongarch64",
        (A::M68k, _) => "m68k",
        (A::Hexagon, _) => "hexagon",
        (A::Avr, _) => "avr",
        (A::Alpha, _) => "alpha",
        (A::Hppa, _) => "hppa",
        (A::SuperH, true) => "sh4",
        (A::SuperH, false) => "sh4eb",
        (A::Sparc32Plus, _) => "sparc32plus",
        (A::Mips64_N32, true) => "mipsn32el",
        (A::Mips64_N32, false) => "mipsn32",
        (A::Xtensa, true) => "xtensa",
        (A::Xtensa, false) => "xtensaeb",
        (_, is_little_endian) => qemu_name_by_machine(machine(file), is_little_endian),
    }
}

/// A loaded segment.
#[derive(Clone, Copy)]
struct LoadedSegment {
    /// The address at which the program uses it.
    start: u64,
    /// Bytes in the file.
    bytes: u64,
    /// The address at which it is stored.
    stored: u64,
    is_executable: bool,
}

impl LoadedSegment {
    fn distance(&self) -> u64 {
        self.start.wrapping_sub(self.stored)
    }

    fn holds(&self, address: u64) -> bool {
        [self.start, self.stored]
            .iter()
            .any(|start| address.checked_sub(*start).is_some_and(|ahead| ahead < self.bytes))
    }
}

/// Returns the segments that are stored at another address than they run at, to which the program
/// copies them. If all are, as where flash is mapped to another address, or in a kernel that runs at
/// virtual addresses, these are the segments at another distance than the one with the entry.
fn copied_segments(file: &object::File<'_>) -> Vec<LoadedSegment> {
    fn of<Elf: FileHeader<Endian = object::Endianness>>(
        elf: &object::read::elf::ElfFile<'_, Elf>,
    ) -> Vec<LoadedSegment> {
        let endian = elf.endian();
        let all = elf.elf_program_headers().iter();
        all.filter(|header| header.p_type(endian) == elf::PT_LOAD)
            .map(|header| LoadedSegment {
                start: header.p_vaddr(endian).into(),
                bytes: header.p_filesz(endian).into(),
                stored: header.p_paddr(endian).into(),
                is_executable: header.p_flags(endian).0 & PF_X.0 != 0,
            })
            .filter(|segment| segment.bytes > 0)
            .collect()
    }
    let mut segments = match file {
        object::File::Elf32(elf) => of(elf),
        object::File::Elf64(elf) => of(elf),
        _ => return Vec::new(),
    };
    // Some linkers store nothing: all are at 0.
    if segments.iter().all(|segment| segment.stored == segments[0].stored) {
        return Vec::new();
    }
    let in_place = segments.iter().find(|segment| segment.distance() == 0);
    let with_entry =
        || segments.iter().find(|segment| segment.is_executable && segment.holds(file.entry()));
    let largest = || {
        segments.iter().filter(|segment| segment.is_executable).max_by_key(|segment| segment.bytes)
    };
    let Some(first) = in_place.or_else(with_entry).or_else(largest) else { return Vec::new() };
    let distance = first.distance();
    segments.retain(|segment| segment.distance() != distance);
    segments
}

/// Returns where the section at `address` is stored, if a program copies it to there.
fn copied_from(copies: &[LoadedSegment], address: u64) -> Option<u64> {
    copies.iter().find_map(|copy| {
        let ahead = address.checked_sub(copy.start).filter(|ahead| *ahead < copy.bytes)?;
        Some(copy.stored.wrapping_add(ahead))
    })
}

/// The `e_machine` of an ELF file; 0 for another file.
fn machine(file: &object::File<'_>) -> Machine {
    match file {
        object::File::Elf32(elf) => elf.elf_header().e_machine(elf.endian()),
        object::File::Elf64(elf) => elf.elf_header().e_machine(elf.endian()),
        _ => Machine::default(),
    }
}

/// The instruction sets that QEMU has and `object` does not know, as QEMU spells them.
fn qemu_name_by_machine(machine: Machine, is_little_endian: bool) -> &'static str {
    match machine {
        elf::EM_MICROBLAZE if is_little_endian => "microblazeel",
        elf::EM_MICROBLAZE => "microblaze",
        elf::EM_ALTERA_NIOS2 => "nios2",
        elf::EM_OPENRISC => "or1k",
        elf::EM_TRICORE => "tricore",
        elf::EM_RX => "rx",
        elf::EM_CRIS => "cris",
        _ => "",
    }
}
