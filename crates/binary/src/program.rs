//! A program file as a whole: the processor and the system that it is for, and where its sections
//! lie.

use std::path::Path;

use flashpager_base::{Error, Result};
use object::elf::{
    EM_ARM, EM_AVR, EM_RISCV, ET_REL, FileHeader32, FileHeader64, PT_DYNAMIC, PT_GNU_RELRO,
    PT_INTERP, PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_ARM_ATTRIBUTES, SHT_FINI_ARRAY,
    SHT_INIT_ARRAY, SHT_NOBITS, SHT_PREINIT_ARRAY, SHT_RISCV_ATTRIBUTES,
};
use object::read::elf::{AttributesSection, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, FileKind};
use serde::Serialize;

use crate::elf::{ElfFile, read_bytes};

/// The system that a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramKind {
    /// A program for the bare processor, with its own start-up code.
    Firmware,
    /// A program that runs under an operating system.
    Hosted,
    /// An object file: not linked.
    Object,
}

impl ProgramKind {
    /// The name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Firmware => "firmware",
            Self::Hosted => "hosted",
            Self::Object => "object",
        }
    }
}

/// The content of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SectionContent {
    /// Instructions.
    Code,
    /// Bytes that nothing writes.
    Constants,
    /// Variables with initial values.
    Data,
    /// Memory without bytes in the file.
    Zeroed,
}

impl SectionContent {
    /// The name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Constants => "constants",
            Self::Data => "data",
            Self::Zeroed => "zeroed",
        }
    }
}

/// A section that has memory when the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ProgramSection {
    /// The name, such as `.text`.
    pub name: String,
    /// The address at which the program uses it.
    pub address: u64,
    /// The address at which the linker stored it. It differs where start-up code copies the section.
    pub load_address: u64,
    /// The length in bytes.
    pub bytes: u64,
    /// The content.
    pub content: SectionContent,
}

impl ProgramSection {
    /// Returns true if the program executes or reads the section where it is stored, and never
    /// writes it. Firmware has such sections in flash.
    pub fn is_in_place(&self) -> bool {
        let is_constant = matches!(self.content, SectionContent::Code | SectionContent::Constants);
        is_constant && self.address == self.load_address
    }
}

/// A program file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramFile {
    /// The instruction set as QEMU spells it; empty if QEMU has none.
    pub architecture: String,
    /// The version of the instruction set, such as `ARMv7-M`, `rv32imac` or `avr5`; empty if the file
    /// does not state it.
    pub instruction_set: String,
    /// The microcontroller as GCC names it, such as `atmega328p`; empty if the file does not state
    /// it. Only programs for AVRs do.
    pub microcontroller: String,
    /// The system that the program is for.
    pub kind: ProgramKind,
    /// Address of the program's first instruction.
    pub entry: u64,
    /// Sections, by address.
    pub sections: Vec<ProgramSection>,
    /// Number of functions that have a name.
    pub functions: u64,
    /// True if the file states the source line of each instruction.
    pub has_lines: bool,
}

impl ProgramFile {
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
        let elf = ElfFile::parse(bytes)?;
        let header = match FileKind::parse(bytes) {
            Ok(FileKind::Elf32) => Header::of::<FileHeader32<Endianness>>(bytes),
            Ok(FileKind::Elf64) => Header::of::<FileHeader64<Endianness>>(bytes),
            _ => return Err("is no ELF file".into()),
        };
        let header = header.map_err(|e| format!("is a damaged ELF file ({e})"))?;
        let kind = match () {
            () if header.is_object => ProgramKind::Object,
            () if header.is_hosted || matches!(elf.architecture(), "x86_64" | "i386") => {
                ProgramKind::Hosted
            }
            () => ProgramKind::Firmware,
        };
        let mut sections = header.sections;
        if kind == ProgramKind::Firmware {
            find_constants(&mut sections, &header.tables);
        }
        sections.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
        Ok(Self {
            architecture: elf.architecture().to_owned(),
            instruction_set: header.instruction_set,
            microcontroller: header.microcontroller,
            kind,
            entry: header.entry,
            sections,
            functions: elf.functions() as u64,
            has_lines: header.has_lines,
        })
    }
}

/// Sections of firmware that are marked as writable, and lie at least this far from its RAM, are
/// constants: tables of constructors beside `.rodata` in flash, and `.rodata` itself if the
/// linker script puts such a table into it.
const RAM_DISTANCE_BYTES: u64 = 64 << 10;

/// Finds the constants among the sections of firmware that are marked as writable. `tables` are the
/// indices of those that only list functions to be called.
fn find_constants(sections: &mut [ProgramSection], tables: &[usize]) {
    let is_ram = |one: &&ProgramSection| {
        one.content == SectionContent::Zeroed || one.address != one.load_address
    };
    let ram: Vec<(u64, u64)> = sections
        .iter()
        .filter(is_ram)
        .map(|one| (one.address, one.address.saturating_add(one.bytes)))
        .collect();
    for (number, section) in sections.iter_mut().enumerate() {
        let is_stored = section.address == section.load_address;
        if section.content != SectionContent::Data || !is_stored {
            continue;
        }
        let end = section.address.saturating_add(section.bytes);
        let is_far = |(first, last): &(u64, u64)| {
            first.saturating_sub(end).max(section.address.saturating_sub(*last))
                >= RAM_DISTANCE_BYTES
        };
        if tables.contains(&number) || (!ram.is_empty() && ram.iter().all(is_far)) {
            section.content = SectionContent::Constants;
        }
    }
}

/// Returns the word of 32 bits that the ELF file `path` stores at an address of flash; `None` if it
/// stores none there.
///
/// # Errors
/// If the file cannot be read or is no complete ELF file.
pub fn stored_word(path: &Path, address: u64) -> Result<Option<u32>> {
    let bytes = read_bytes(path)?;
    let word = match FileKind::parse(bytes.as_slice()) {
        Ok(FileKind::Elf32) => word_at::<FileHeader32<Endianness>>(&bytes, address),
        Ok(FileKind::Elf64) => word_at::<FileHeader64<Endianness>>(&bytes, address),
        _ => return Err(Error::data(path.display().to_string(), "is no ELF file")),
    };
    word.map_err(|e| {
        Error::data(path.display().to_string(), format!("is a damaged ELF file ({e})"))
    })
}

fn word_at<Elf: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    address: u64,
) -> object::Result<Option<u32>> {
    let file = Elf::parse(bytes)?;
    let endian = file.endian()?;
    for segment in file.program_headers(endian, bytes)? {
        let begin: u64 = segment.p_paddr(endian).into();
        let Some(inside) = address.checked_sub(begin).and_then(|at| usize::try_from(at).ok())
        else {
            continue;
        };
        if segment.p_type(endian) != PT_LOAD {
            continue;
        }
        let stored = segment.data(endian, bytes).unwrap_or_default();
        if let Some(word) = stored.get(inside..).and_then(|rest| rest.first_chunk()) {
            let is_big = endian == Endianness::Big;
            let word = if is_big { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) };
            return Ok(Some(word));
        }
    }
    Ok(None)
}

/// Names of sections with the source lines of instructions.
const LINES: [&[u8]; 2] = [b".debug_line", b".zdebug_line"];

/// The note of avr-gcc about the device that a program was linked for.
const AVR_DEVICE: &[u8] = b".note.gnu.avr.deviceinfo";

/// Notes of Go programs, which need no loader and have no other mark of a system.
const HOSTED_NOTES: [&[u8]; 2] = [b".note.ABI-tag", b".note.go.buildid"];

/// The parts of a file that only its headers state.
struct Header {
    is_object: bool,
    is_hosted: bool,
    entry: u64,
    instruction_set: String,
    microcontroller: String,
    has_lines: bool,
    sections: Vec<ProgramSection>,
    /// Indices of the sections that list functions to be called.
    tables: Vec<usize>,
}

impl Header {
    fn of<Elf: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> object::Result<Self> {
        let file = Elf::parse(bytes)?;
        let endian = file.endian()?;
        let segments = file.program_headers(endian, bytes)?;
        let table = file.sections(endian, bytes)?;
        let mut is_hosted = segments
            .iter()
            .any(|segment| [PT_INTERP, PT_DYNAMIC, PT_GNU_RELRO].contains(&segment.p_type(endian)));
        let mut instruction_set = String::new();
        if file.e_machine(endian) == EM_AVR {
            instruction_set = avr(file.e_flags(endian).0);
        }
        let mut microcontroller = String::new();
        let (mut has_lines, mut sections, mut tables) = (false, Vec::new(), Vec::new());
        for section in table.iter() {
            let name = table.section_name(endian, section).unwrap_or_default();
            has_lines |= LINES.contains(&name);
            is_hosted |= HOSTED_NOTES.contains(&name);
            if name == AVR_DEVICE {
                let note = section.data(endian, bytes)?;
                microcontroller = avr_device(note).unwrap_or_default();
            }
            let machine = file.e_machine(endian);
            let kind = section.sh_type(endian);
            if (machine == EM_ARM && kind == SHT_ARM_ATTRIBUTES)
                || (machine == EM_RISCV && kind == SHT_RISCV_ATTRIBUTES)
            {
                let data = section.data(endian, bytes)?;
                let attributes = Attributes::of::<Elf>(endian, data).unwrap_or_default();
                instruction_set =
                    if machine == EM_ARM { attributes.arm() } else { attributes.riscv() };
            }
            let flags = section.sh_flags(endian);
            let size: u64 = section.sh_size(endian).into();
            if flags.0 & SHF_ALLOC.0 == 0 || size == 0 {
                continue;
            }
            let address: u64 = section.sh_addr(endian).into();
            let content = match () {
                () if kind == SHT_NOBITS => SectionContent::Zeroed,
                () if flags.0 & SHF_EXECINSTR.0 != 0 => SectionContent::Code,
                () if flags.0 & SHF_WRITE.0 != 0 => SectionContent::Data,
                () => SectionContent::Constants,
            };
            if [SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY].contains(&kind) {
                tables.push(sections.len());
            }
            sections.push(ProgramSection {
                name: String::from_utf8_lossy(name).into_owned(),
                address,
                load_address: load_address(segments, endian, address).unwrap_or(address),
                bytes: size,
                content,
            });
        }
        Ok(Self {
            is_object: file.e_type(endian) == ET_REL,
            is_hosted,
            entry: file.e_entry(endian).into(),
            instruction_set,
            microcontroller,
            has_lines,
            sections,
            tables,
        })
    }
}

/// The address at which the segment with `address` stores it.
fn load_address<P: ProgramHeader>(segments: &[P], endian: P::Endian, address: u64) -> Option<u64> {
    segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD).find_map(|segment| {
        let begin: u64 = segment.p_vaddr(endian).into();
        let inside = address.checked_sub(begin)?;
        let bytes: u64 = segment.p_memsz(endian).into();
        let stored: u64 = segment.p_paddr(endian).into();
        (inside < bytes).then(|| stored.wrapping_add(inside))
    })
}

/// The name of an AVR's instruction set, as GCC writes it.
fn avr(flags: u32) -> String {
    match flags & 0x7f {
        0 => String::new(),
        100 => "avrtiny".into(),
        xmega @ 101..=107 => format!("avrxmega{}", xmega - 100),
        number => format!("avr{number}"),
    }
}

/// Reads the name of the device in the note that avr-gcc writes: a header of 16 bytes, the beginnings
/// and sizes of three memories, the size of a table of offsets with its first entry, and the texts
/// that the offsets are into, all in words of 32 bits.
fn avr_device(note: &[u8]) -> Option<String> {
    const HEADER_BYTES: usize = 16;
    const MEMORIES_BYTES: usize = 24;
    let table = note.get(HEADER_BYTES + MEMORIES_BYTES..)?;
    let word = |at: usize| Some(u32::from_le_bytes(*table.get(at..)?.first_chunk()?) as usize);
    let name = table.get(word(0)?..)?.get(word(4)?..)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(&name[..end]).ok()?;
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_plain && !name.is_empty()).then(|| name.to_owned())
}

/// Attributes of the processor that a linker states for a whole file.
#[derive(Default)]
struct Attributes {
    /// By tag. The last value of a tag counts.
    numbers: Vec<(u64, u64)>,
    /// The text of RISC-V's tag 5.
    text: String,
}

/// The tag of a sub-subsection about the whole file.
const OF_FILE: u8 = 1;
/// Tags of the ARM ABI that hold a text although they are below 32 or even (Addenda, 2.5).
const ARM_TEXTS: [u64; 2] = [4, 5];
/// The ARM tag that holds a number and a text.
const ARM_COMPATIBILITY: u64 = 32;
/// The ARM tags of architecture and profile.
const ARM_ARCHITECTURE: u64 = 6;
const ARM_PROFILE: u64 = 7;

impl Attributes {
    fn of<Elf: FileHeader>(endian: Elf::Endian, data: &[u8]) -> object::Result<Self> {
        let mut attributes = Self::default();
        let section = AttributesSection::<Elf>::new(endian, data)?;
        for subsection in section.subsections()? {
            let subsection = subsection?;
            let is_riscv = subsection.vendor() == b"riscv";
            if !is_riscv && subsection.vendor() != b"aeabi" {
                continue;
            }
            for part in subsection.subsubsections() {
                let part = part?;
                if part.tag().0 != OF_FILE {
                    continue;
                }
                let mut reader = part.attributes();
                while let Some(tag) = reader.read_tag()? {
                    let is_text = if is_riscv {
                        tag % 2 == 1
                    } else {
                        ARM_TEXTS.contains(&tag) || (tag > ARM_COMPATIBILITY && tag % 2 == 1)
                    };
                    if is_text {
                        let text = String::from_utf8_lossy(reader.read_string()?);
                        if is_riscv && tag == 5 {
                            attributes.text = text.into_owned();
                        }
                        continue;
                    }
                    attributes.numbers.push((tag, reader.read_integer()?));
                    if !is_riscv && tag == ARM_COMPATIBILITY {
                        reader.read_string()?;
                    }
                }
            }
        }
        Ok(attributes)
    }

    fn number(&self, tag: u64) -> Option<u64> {
        self.numbers.iter().rev().find(|(of, _)| *of == tag).map(|(_, value)| *value)
    }

    /// The version of an ARM instruction set; empty if the file does not state it.
    fn arm(&self) -> String {
        let profile = self.number(ARM_PROFILE).and_then(|letter| u8::try_from(letter).ok());
        let name = match (self.number(ARM_ARCHITECTURE), profile) {
            (Some(1), _) => "ARMv4",
            (Some(2), _) => "ARMv4T",
            (Some(3), _) => "ARMv5T",
            (Some(4), _) => "ARMv5TE",
            (Some(5), _) => "ARMv5TEJ",
            (Some(6), _) => "ARMv6",
            (Some(7), _) => "ARMv6KZ",
            (Some(8), _) => "ARMv6T2",
            (Some(9), _) => "ARMv6K",
            (Some(10), Some(b'M')) => "ARMv7-M",
            (Some(10), Some(b'R')) => "ARMv7-R",
            (Some(10), _) => "ARMv7-A",
            (Some(11 | 12), _) => "ARMv6-M",
            (Some(13), _) => "ARMv7E-M",
            (Some(14), _) => "ARMv8-A",
            (Some(15), _) => "ARMv8-R",
            (Some(16), _) => "ARMv8-M.base",
            (Some(17), _) => "ARMv8-M.main",
            (Some(21), _) => "ARMv8.1-M.main",
            (Some(22), _) => "ARMv9-A",
            _ => "",
        };
        name.to_owned()
    }

    /// The instruction set of RISC-V without the versions of its extensions, as `rv32imac`.
    fn riscv(&self) -> String {
        let (base, extensions) = self.text.split_once('_').unwrap_or((&self.text, ""));
        let name = |text: &str| {
            let digits = |c: char| c.is_ascii_digit();
            // A version is a number, the letter p and a number at the end.
            let without_minor = text.trim_end_matches(digits);
            let short = without_minor.strip_suffix('p').unwrap_or(without_minor);
            short.trim_end_matches(digits).to_owned()
        };
        let mut set = name(base);
        let letters: Vec<String> = extensions.split('_').map(name).collect();
        let single = letters.iter().filter(|letter| letter.len() == 1);
        set.extend(single.map(String::as_str));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(architecture: u64, profile: u64) -> String {
        let numbers = vec![(ARM_ARCHITECTURE, architecture), (ARM_PROFILE, profile)];
        Attributes { numbers, text: String::new() }.arm()
    }

    #[test]
    fn instruction_sets_have_the_names_of_their_makers() {
        assert_eq!(arm(10, b'M'.into()), "ARMv7-M");
        assert_eq!(arm(10, b'A'.into()), "ARMv7-A");
        assert_eq!(arm(13, b'M'.into()), "ARMv7E-M");
        assert_eq!(arm(99, 0), "");
        assert_eq!(avr(0x85), "avr5");
        assert_eq!(avr(103), "avrxmega3");
        let riscv = |text: &str| Attributes { numbers: Vec::new(), text: text.into() }.riscv();
        assert_eq!(riscv("rv32i2p1_m2p0_a2p1_c2p0_zicsr2p0"), "rv32imac");
        assert_eq!(riscv("rv64i2p0"), "rv64i");
    }

    #[test]
    fn an_avr_program_names_its_microcontroller() {
        let mut note = Vec::new();
        for word in [4u32, 46, 1] {
            note.extend(word.to_le_bytes());
        }
        note.extend(b"AVR\0");
        for word in [0u32, 0x2_0000, 0x100, 0x4000, 0, 0x1000, 8, 1] {
            note.extend(word.to_le_bytes());
        }
        note.extend(b"\0atmega1284p\0");
        assert_eq!(avr_device(&note).as_deref(), Some("atmega1284p"));
        for cut in 0..note.len() {
            assert_eq!(avr_device(&note[..cut]), None, "{cut} bytes");
        }
        let at = note.len() - 3;
        note[at] = b' ';
        assert_eq!(avr_device(&note), None);
    }

    #[test]
    fn tables_and_constants_in_flash_are_no_data() {
        let section = |name: &str, address, load_address, content| ProgramSection {
            name: name.into(),
            address,
            load_address,
            bytes: 0x100,
            content,
        };
        let mut sections = [
            section(".text", 0, 0, SectionContent::Code),
            // This section holds the table of constructors, too.
            section(".rodata", 0x100, 0x100, SectionContent::Data),
            section(".data", 0x2000_0000, 0x200, SectionContent::Data),
            section(".bss", 0x2000_0100, 0x2000_0100, SectionContent::Zeroed),
            section(".noinit", 0x2000_0200, 0x2000_0200, SectionContent::Data),
            section(".init_array", 0x2000_0300, 0x2000_0300, SectionContent::Data),
        ];
        find_constants(&mut sections, &[5]);
        let in_place: Vec<&str> = sections
            .iter()
            .filter(|section| section.is_in_place())
            .map(|section| section.name.as_str())
            .collect();
        assert_eq!(in_place, [".text", ".rodata", ".init_array"]);
        // Without start-up code that copies, a loader puts all of it into RAM.
        let mut loaded = [
            section(".text", 0, 0, SectionContent::Code),
            section(".data", 0x100, 0x100, SectionContent::Data),
        ];
        find_constants(&mut loaded, &[]);
        assert!(!loaded[1].is_in_place());
    }

    #[test]
    fn a_file_that_is_no_program_is_refused() {
        assert_eq!(ProgramFile::parse(b"int main;").unwrap_err(), "is no ELF file");
        let damaged = ProgramFile::parse(b"\x7fELF\x01\x01\x01").unwrap_err();
        assert!(damaged.starts_with("is a damaged ELF file"), "{damaged}");
    }

    #[test]
    fn a_program_of_this_machine_is_hosted() {
        let own = std::env::current_exe().unwrap();
        let program = ProgramFile::read(&own).unwrap();
        assert_eq!(program.kind, ProgramKind::Hosted);
        assert!(program.functions > 0);
        let text = program.sections.iter().find(|section| section.name == ".text").unwrap();
        assert!(text.content == SectionContent::Code && text.is_in_place());
        let bss = program.sections.iter().find(|section| section.name == ".bss").unwrap();
        assert!(bss.content == SectionContent::Zeroed && !bss.is_in_place());
    }
}
