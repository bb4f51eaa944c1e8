//! A linked program: which of its sections lie in RAM, which in flash, and the names in them.

use std::collections::{BTreeMap, BTreeSet};

use flashpager_base::sizes::parse_size;
use flashpager_base::{Error, Result, shown};
use flashpager_binary::program::{ProgramFile, ProgramKind, ProgramSection, SectionContent};
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};

use crate::arithmetic::Bases;

/// A range of addresses that the user names: its first address and the one behind it.
pub type AddressRange = (u64, u64);

/// The memory that an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Ram,
    Flash,
    /// ROM, which the user names. Code in it is not followed.
    Rom,
    /// A peripheral, or RAM without a section.
    Device,
    /// No memory that the file states.
    Unknown,
}

/// A section of the program.
#[derive(Debug)]
pub struct Section {
    pub name: String,
    pub start: u64,
    pub end: u64,
    pub is_ram: bool,
    pub is_code: bool,
    pub is_writable: bool,
    pub data: Vec<u8>,
}

/// A named function or object.
#[derive(Debug, Clone)]
pub struct Symbol {
    pub name: String,
    pub address: u64,
    pub end: u64,
}

/// The contents of a section from a mapping symbol on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Thumb,
    Code,
    Data,
}

/// A linked program.
#[derive(Debug)]
pub struct Program {
    pub architecture: String,
    pub sections: Vec<Section>,
    /// Functions by address, without the bit of Thumb.
    functions: BTreeMap<u64, Symbol>,
    objects: BTreeMap<u64, Symbol>,
    /// The addresses of functions without those of mere labels, with the bit of Thumb.
    pub entries: BTreeSet<u64>,
    /// All names of functions and labels in code, with their addresses; the lowest bit is set for
    /// Thumb.
    pub names: Vec<(String, u64)>,
    pub global_pointer: Option<u64>,
    /// Mapping symbols by their addresses.
    marks: BTreeMap<(u64, u8), Mark>,
    /// True for RISC-V with floating point of 64 bits.
    pub has_double: bool,
    /// True for a processor that has Thumb alone.
    pub is_thumb_only: bool,
    rom: Vec<AddressRange>,
    flash: Vec<AddressRange>,
    ram: Vec<AddressRange>,
    devices: Vec<AddressRange>,
    /// Addresses in flash at which sections of RAM are stored.
    stored: Vec<AddressRange>,
}

/// Ranges that architecture M of ARM gives to RAM and peripherals.
const M_DEVICES: [AddressRange; 3] =
    [(0x2000_0000, 0x4000_0000), (0x4000_0000, 0x6000_0000), (0xe000_0000, 0xe010_0000)];

/// The user's statements about the memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryRequest {
    pub ram: StatedMemory,
    pub flash: StatedMemory,
    pub rom: StatedMemory,
    /// True if functions that the link has in flash are assumed to lie in RAM.
    pub is_pinned: bool,
}

/// Memory of one kind, as the user states it.
#[derive(Clone, Debug, Default)]
pub struct StatedMemory {
    /// Patterns of names of sections.
    pub sections: Vec<String>,
    pub ranges: Vec<AddressRange>,
}

impl StatedMemory {
    /// Parses patterns of sections and ranges such as `0x20000000-0x20040000` or `0x20000000+256K`;
    /// `flag` is the option that states them.
    ///
    /// # Errors
    /// If the text is not a range.
    pub fn parse(flag: &str, stated: &[String]) -> Result<Self> {
        let mut memory = Self::default();
        for text in stated {
            if text.starts_with(|character: char| character.is_ascii_digit()) {
                let range = range(text).ok_or_else(|| {
                    Error::design(format!(
                        "{flag} {}: is no range of addresses, as 0x20000000-0x20040000 or \
                         0x20000000+256K, which ends behind its last byte",
                        shown(text)
                    ))
                })?;
                memory.ranges.push(range);
            } else {
                memory.sections.push(text.clone());
            }
        }
        Ok(memory)
    }
}

/// Parses a range of addresses.
fn range(text: &str) -> Option<AddressRange> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let (start, end) = if let Some((start, bytes)) = text.split_once('+') {
        let start = number(start)?;
        let bytes = number(bytes).or_else(|| parse_size(bytes).ok())?;
        (start, start.checked_add(bytes)?)
    } else {
        let (start, end) = text.split_once('-')?;
        (number(start)?, number(end)?)
    };
    (start < end).then_some((start, end))
}

impl Program {
    /// Reads the program in the ELF file `bytes`; `place` is its name in errors.
    pub fn parse(bytes: &[u8], place: &str, request: &MemoryRequest) -> Result<Self> {
        let wrong = |message: String| Error::data(place, message);
        let header = ProgramFile::parse(bytes).map_err(wrong)?;
        if header.kind == ProgramKind::Object {
            return Err(wrong("is not linked: name the program that it becomes a part of".into()));
        }
        if header.kind == ProgramKind::Hosted {
            return Err(wrong(
                "is a program for an operating system, which places it in memory: reach follows \
                 firmware"
                    .into(),
            ));
        }
        let file = object::File::parse(bytes)
            .map_err(|e| wrong(format!("is a damaged ELF file ({}); make it again", shown(e))))?;
        if !file.is_little_endian() {
            return Err(wrong("is big-endian, which reach does not follow".into()));
        }
        let sections = sections(&file, &header, request, place)?;
        let devices = match header.instruction_set.as_str() {
            name if name.contains("-M") => M_DEVICES.to_vec(),
            _ => Vec::new(),
        };
        let is_arm = header.architecture == "arm";
        let mut program = Self {
            architecture: header.architecture.clone(),
            sections,
            functions: BTreeMap::new(),
            objects: BTreeMap::new(),
            entries: BTreeSet::new(),
            names: Vec::new(),
            global_pointer: None,
            marks: BTreeMap::new(),
            has_double: has_double(&header.instruction_set),
            is_thumb_only: !devices.is_empty(),
            rom: request.rom.ranges.clone(),
            flash: request.flash.ranges.clone(),
            ram: request.ram.ranges.clone(),
            devices,
            stored: header
                .sections
                .iter()
                .filter(|section| {
                    section.address != section.load_address
                        && section.content != SectionContent::Zeroed
                })
                .map(|section| {
                    (section.load_address, section.load_address.saturating_add(section.bytes))
                })
                .collect(),
        };
        program.read_symbols(&file, is_arm);
        let has_ram = request.is_pinned || !request.ram.ranges.is_empty();
        if !has_ram && !program.sections.iter().any(|section| section.is_ram) {
            return Err(wrong(
                "has nothing in RAM: no section is stored elsewhere than it runs, and none is \
                 zeroed; name what lies in RAM (--ram .data, --ram 0x20000000-0x20040000)"
                    .into(),
            ));
        }
        Ok(program)
    }

    fn read_symbols(&mut self, file: &object::File<'_>, is_arm: bool) {
        let bit = u64::from(is_arm);
        let mut modes: Vec<(u64, bool)> = Vec::new();
        for symbol in file.symbols() {
            let (Ok(name), address) = (symbol.name(), symbol.address()) else { continue };
            if name == "__global_pointer$" {
                self.global_pointer = Some(address);
            }
            if let Some(mark) = name.strip_prefix('$') {
                let kind = match mark.get(..1) {
                    Some("t") => Some(Mark::Thumb),
                    Some("a" | "x") => Some(Mark::Code),
                    Some("d") => Some(Mark::Data),
                    _ => None,
                };
                // Code wins over data at the same address.
                if let Some(kind) = kind {
                    self.marks.insert((address, u8::from(kind != Mark::Data)), kind);
                }
                match mark.split('.').next() {
                    Some("t") => modes.push((address, true)),
                    Some("a") => modes.push((address, false)),
                    _ => {}
                }
                continue;
            }
            if name.is_empty() || name.starts_with(".L") || !symbol.is_definition() {
                continue;
            }
            let plain = if is_arm { address & !bit } else { address };
            let in_code = self.section_at(plain).is_some_and(|section| section.is_code);
            let end = plain.saturating_add(symbol.size());
            let made = Symbol { name: name.to_owned(), address: plain, end };
            match symbol.kind() {
                SymbolKind::Text if in_code => {
                    self.entries.insert(address);
                    self.names.push((name.to_owned(), address));
                    let better = self.functions.get(&plain).is_none_or(|other| {
                        (other.end, other.name.as_str()) < (made.end, "") && other.end < made.end
                    });
                    if better {
                        self.functions.insert(plain, made);
                    }
                }
                SymbolKind::Unknown | SymbolKind::Label if in_code => {
                    self.names.push((name.to_owned(), address));
                    self.functions.entry(plain).or_insert(made);
                }
                SymbolKind::Data | SymbolKind::Unknown | SymbolKind::Label => {
                    self.objects.entry(address).or_insert(Symbol { address, ..made });
                }
                _ => {}
            }
        }
        modes.sort_unstable();
        // A label of an assembler lacks the bit of Thumb, which follows from its mapping symbol.
        for (_, address) in &mut self.names {
            let place = modes.partition_point(|(at, _)| *at <= *address & !bit);
            if is_arm && place.checked_sub(1).is_some_and(|place| modes[place].1) {
                *address |= 1;
            }
        }
    }

    /// Addresses of the handlers in the vector table of a Cortex-M, with their names, and the address
    /// of the table. The reset handler, which runs at the start only, is none of them.
    pub fn vectors(&self) -> Option<(u64, Vec<(String, u64)>)> {
        const SECTIONS: [&str; 5] =
            [".isr_vector", ".vectors", ".vector_table", ".vector", ".intvecs"];
        const OBJECTS: [&str; 8] = [
            "__isr_vector",
            "__Vectors",
            "g_pfnVectors",
            "_vector_table",
            "__vectors",
            "vector_table",
            "vectors",
            "__vector_table",
        ];
        if !self.is_thumb_only {
            return None;
        }
        let section =
            self.sections.iter().find(|section| SECTIONS.contains(&section.name.as_str()));
        let object = || {
            let objects = self.objects.values().chain(self.functions.values());
            objects
                .filter(|symbol| {
                    symbol.end > symbol.address && OBJECTS.contains(&symbol.name.as_str())
                })
                .map(|symbol| (symbol.address, symbol.end))
                .next()
        };
        let (start, end) = section.map(|section| (section.start, section.end)).or_else(object)?;
        let words = (start..end).step_by(4).skip(2);
        let handlers = words.filter_map(|at| {
            let bytes = self.bytes_at(at)?.first_chunk::<4>()?;
            let code = u64::from(u32::from_le_bytes(*bytes));
            let is_code = self.section_at(code & !1).is_some_and(|section| section.is_code);
            if code & 1 == 0 || !is_code {
                return None;
            }
            let name = self.function_from(code & !1).map(|function| function.name.clone());
            Some((name.unwrap_or_else(|| format!("{:#x}", code & !1)), code))
        });
        Some((start, handlers.collect()))
    }

    /// True if a compiler has moved common parts of functions into others, which do not keep to the
    /// ABI.
    pub fn is_outlined(&self) -> bool {
        self.names.iter().any(|(name, _)| name.starts_with("OUTLINED_FUNCTION_"))
    }

    /// True if the program has functions that return more than once or into another function:
    /// `setjmp`, and functions that catch exceptions.
    pub fn has_hidden_returns(&self) -> bool {
        const NAMES: [&str; 10] = [
            "setjmp",
            "_setjmp",
            "__setjmp",
            "sigsetjmp",
            "__sigsetjmp",
            "getcontext",
            "vfork",
            "longjmp",
            "__cxa_begin_catch",
            "__cxa_throw",
        ];
        self.names.iter().any(|(name, _)| NAMES.contains(&name.as_str()))
    }

    /// The function around an address and the parts of it that a compiler has moved away, each from
    /// its address to that of the next function. `None` if no function is named before the address.
    pub fn parts_of_function(&self, address: u64) -> Option<Vec<AddressRange>> {
        let is_typed = |symbol: &&Symbol| {
            self.entries.contains(&symbol.address) || self.entries.contains(&(symbol.address | 1))
        };
        let typed: Vec<&Symbol> = self.functions.values().filter(is_typed).collect();
        let place = typed.partition_point(|symbol| symbol.address <= address).checked_sub(1)?;
        let section = self.section_at(address)?;
        if typed[place].address < section.start {
            return None;
        }
        let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let own = stem(&typed[place].name);
        let parts = typed.iter().enumerate().filter(|(_, symbol)| stem(&symbol.name) == own);
        let range = |(place, symbol): (usize, &&Symbol)| {
            let end = self.section_at(symbol.address).map_or(symbol.end, |section| section.end);
            let next = typed.get(place + 1).map_or(end, |next| next.address.min(end));
            (symbol.address, next)
        };
        Some(parts.map(range).collect())
    }

    /// Sections with code.
    pub fn code_ranges(&self) -> Vec<AddressRange> {
        let code = self.sections.iter().filter(|section| section.is_code);
        code.map(|section| (section.start, section.end)).collect()
    }

    /// The numbers in data that are addresses in sections with code.
    pub fn code_words(&self) -> BTreeSet<u64> {
        let code = self.code_ranges();
        let is_arm = self.architecture == "arm";
        let bytes = if self.architecture == "riscv64" { 8 } else { 4 };
        let mut words = BTreeSet::new();
        for section in &self.sections {
            for (place, window) in section.data.windows(bytes).enumerate() {
                let at = section.start + place as u64;
                // The words beside the code of a RISC-V are objects.
                let is_data = !section.is_code
                    || if is_arm { self.is_data(at) } else { self.object_at(at).is_some() };
                let word = window.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                let is_inside = |(start, end): &AddressRange| (*start..*end).contains(&word);
                if is_data && code.iter().any(is_inside) {
                    words.insert(word);
                }
            }
        }
        words
    }

    /// Parts of sections that hold instructions, by the mapping symbols, each with the bit of Thumb.
    /// `None` if they cannot be told from data.
    pub fn code_regions(&self) -> Option<Vec<(u64, u64, u64)>> {
        let mut regions = Vec::new();
        for section in
            self.sections.iter().filter(|section| section.is_code && section.end > section.start)
        {
            let marks: Vec<_> = self
                .marks
                .range((section.start, 0)..(section.end, 0))
                .map(|((at, _), mark)| (*at, *mark))
                .collect();
            let is_riscv = self.architecture.starts_with("riscv");
            match marks.first() {
                Some((first, _)) if *first == section.start || is_riscv => {}
                None if is_riscv => regions.push((section.start, section.end, 0)),
                _ => return None,
            }
            let ends = marks.iter().skip(1).map(|(at, _)| *at).chain([section.end]);
            for ((start, mark), end) in marks.iter().zip(ends) {
                match mark {
                    Mark::Thumb => regions.push((*start, end, 1)),
                    Mark::Code => regions.push((*start, end, 0)),
                    Mark::Data => {}
                }
            }
        }
        Some(regions)
    }

    /// True if data may lie at an address of a section with code.
    fn is_data(&self, address: u64) -> bool {
        // Constants that are linked behind code have no mapping symbol on RISC-V.
        if self.architecture != "arm" || self.object_at(address).is_some() {
            return true;
        }
        let mark = self.marks.range(..=(address, 9)).next_back().map(|(_, mark)| *mark);
        mark == Some(Mark::Data)
    }

    /// All numbers in data that lie within ranges, at any byte, without the words at `literals`.
    pub fn words(&self, ranges: &[(u64, u64)], literals: &BTreeSet<u64>) -> BTreeSet<u64> {
        let bytes = if self.architecture == "riscv64" { 8 } else { 4 };
        let mut words = BTreeSet::new();
        for section in &self.sections {
            for (place, window) in section.data.windows(bytes).enumerate() {
                let word = window.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                if !ranges.iter().any(|(start, end)| (*start..=*end).contains(&word)) {
                    continue;
                }
                let at = section.start + place as u64;
                if (!section.is_code || self.is_data(at)) && !literals.contains(&at) {
                    words.insert(word);
                }
            }
        }
        words
    }

    /// Sections of RAM, and the functions and objects of a known size.
    pub fn extents(&self) -> (Vec<AddressRange>, Vec<AddressRange>) {
        let range = |section: &Section| (section.start, section.end);
        let sections = self.sections.iter().filter(|section| section.is_ram).map(range).collect();
        let symbols = self.objects.values().chain(self.functions.values());
        let sized = symbols.filter(|symbol| symbol.end > symbol.address);
        (sections, sized.map(|symbol| (symbol.address, symbol.end)).collect())
    }

    /// Assumes that the function that begins at an address lies in RAM.
    pub fn take_for_ram(&mut self, address: u64) {
        let Some(function) = self.functions.get(&address) else { return };
        let next = self.functions.range(address + 1..).next().map(|(start, _)| *start);
        let end = self.section_at(address).map_or(address, |section| section.end);
        let behind = next.map_or(end, |next| next.min(end));
        let end = if function.end > address { function.end } else { behind };
        self.ram.push((address, end));
    }

    /// The section at an address.
    pub fn section_at(&self, address: u64) -> Option<&Section> {
        self.sections.iter().find(|section| (section.start..section.end).contains(&address))
    }

    /// The memory at an address.
    pub fn memory_at(&self, address: u64) -> Memory {
        let inside = |ranges: &[AddressRange]| {
            ranges.iter().any(|(start, end)| (*start..*end).contains(&address))
        };
        if inside(&self.rom) {
            return Memory::Rom;
        }
        if inside(&self.ram) {
            return Memory::Ram;
        }
        if inside(&self.flash) {
            return Memory::Flash;
        }
        match self.section_at(address) {
            Some(section) if section.is_ram => Memory::Ram,
            Some(_) => Memory::Flash,
            None if inside(&self.stored) => Memory::Flash,
            None if inside(&self.devices) => Memory::Device,
            None => Memory::Unknown,
        }
    }

    /// True if a range that the user names begins or ends between two addresses.
    pub fn is_split(&self, low: u64, high: u64) -> bool {
        let stated = self.rom.iter().chain(&self.ram).chain(&self.flash);
        stated.into_iter().any(|(start, end)| {
            let inside = |edge: u64| low < edge && edge <= high;
            inside(*start) || inside(*end)
        })
    }

    /// Ranges that constants may point into.
    pub fn bases(&self, mask: u64) -> Bases {
        let range = |section: &Section| (section.start, section.end);
        let mut bases = Bases { mask, ..Bases::default() };
        bases.memory.extend(self.sections.iter().filter(|section| section.is_ram).map(range));
        bases.memory.extend(&self.ram);
        bases.sections = bases.memory.clone();
        bases.memory.extend(&self.devices);
        bases.flash.extend(self.sections.iter().filter(|section| !section.is_ram).map(range));
        bases.flash.extend(&self.flash);
        bases.flash.extend(&self.rom);
        bases.flash.extend(&self.stored);
        bases
    }

    /// Bytes of the file at an address.
    pub fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let section = self.section_at(address)?;
        section.data.get((address - section.start) as usize..)
    }

    /// The number at an address whose memory the program never writes; `None` if it may be written.
    pub fn constant(&self, address: u64, bytes: u8, is_literal: bool) -> Option<u64> {
        let section = self.section_at(address)?;
        let is_in_function = || {
            self.function_at(address).is_some_and(|function| address < function.end)
                && self.object_at(address).is_none()
        };
        let is_pool = || is_literal && section.is_code && self.object_at(address).is_none();
        let is_constant =
            !section.is_writable || (section.is_code && is_in_function()) || is_pool();
        if !is_constant {
            return None;
        }
        let data = self.bytes_at(address)?.get(..usize::from(bytes))?;
        Some(data.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The number in memory when the program starts, if startup code puts it there.
    pub fn initial(&self, address: u64, bytes: u8) -> Option<u64> {
        let section = self.section_at(address)?;
        let end = address.checked_add(u64::from(bytes))?;
        if !section.is_ram || end > section.end || is_left_alone(&section.name) {
            return None;
        }
        if section.data.is_empty() {
            return is_zeroed(&section.name).then_some(0);
        }
        let data = self.bytes_at(address)?.get(..usize::from(bytes))?;
        Some(data.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The function at an address, or the last one before it in the same section.
    pub fn function_at(&self, address: u64) -> Option<&Symbol> {
        let (start, function) = self.functions.range(..=address).next_back()?;
        let section = self.section_at(address)?;
        (*start >= section.start).then_some(function)
    }

    /// The function that begins at an address.
    pub fn function_from(&self, address: u64) -> Option<&Symbol> {
        self.functions.get(&address)
    }

    /// The object around an address.
    pub fn object_at(&self, address: u64) -> Option<&Symbol> {
        let (_, object) = self.objects.range(..=address).next_back()?;
        (address < object.end).then_some(object)
    }

    /// The address of the instruction that a jump to `code` executes: `code` without the bit of Thumb.
    pub fn plain(&self, code: u64) -> u64 {
        if self.architecture == "arm" { code & !1 } else { code }
    }
}

/// True for a section that keeps its contents over a reset, by its name.
fn is_left_alone(name: &str) -> bool {
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    let letters = letters.to_lowercase();
    ["noinit", "uninit", "noload", "persist"].iter().any(|word| letters.contains(word))
}

/// True for a section without contents that startup code zeroes, by its name.
fn is_zeroed(name: &str) -> bool {
    matches!(name, "bss" | ".bss" | "sbss" | ".sbss" | "COMMON" | ".common")
}

/// True if an instruction set of RISC-V, as `RV32IMAFDC` or `rv32i2p1_d2p2`, has the extension D.
fn has_double(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(['_', ' ']);
    let letters = words.next().unwrap_or_default().trim_start_matches("rv");
    let is_versioned = |word: &str| {
        word.strip_prefix('d')
            .is_some_and(|rest| rest.starts_with(|character: char| character.is_ascii_digit()))
    };
    letters.contains(['d', 'g']) || words.any(is_versioned)
}

/// Reads the sections that have memory.
fn sections(
    file: &object::File<'_>,
    header: &ProgramFile,
    request: &MemoryRequest,
    place: &str,
) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    let stated_sections: Vec<(&str, bool, &String)> =
        [("--ram", true, &request.ram), ("--flash", false, &request.flash)]
            .into_iter()
            .flat_map(|(flag, is_ram, memory)| {
                memory.sections.iter().map(move |pattern| (flag, is_ram, pattern))
            })
            .collect();
    if let Some(pattern) = request.rom.sections.first() {
        let message = format!("--rom {}: is no range of addresses, as 0x0-0x4000", shown(pattern));
        return Err(Error::design(message));
    }
    let mut used = vec![false; stated_sections.len()];
    for section in file.sections() {
        let Ok(name) = section.name() else { continue };
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        let stated: Option<&ProgramSection> = header.sections.iter().find(|header_section| {
            header_section.name == name
                && header_section.address == section.address()
                && header_section.bytes == section.size()
        });
        let Some(stated) = stated else { continue };
        let mut is_ram =
            stated.content == SectionContent::Zeroed || stated.address != stated.load_address;
        for ((_, states_ram, pattern), used) in stated_sections.iter().zip(&mut used) {
            if matches(pattern, name) {
                (is_ram, *used) = (*states_ram, true);
            }
        }
        let data = if stated.content == SectionContent::Zeroed {
            Vec::new()
        } else {
            section.data().map(<[u8]>::to_vec).unwrap_or_default()
        };
        sections.push(Section {
            name: name.to_owned(),
            start: section.address(),
            end: section.address().saturating_add(section.size()),
            is_ram,
            is_code: sh_flags.0 & object::elf::SHF_EXECINSTR.0 != 0,
            is_writable: sh_flags.0 & object::elf::SHF_WRITE.0 != 0,
            data,
        });
    }
    if let Some(unused) = used.iter().position(|used| !used) {
        let known: Vec<String> =
            sections.iter().map(|section| shown(&section.name)).take(12).collect();
        let (flag, _, pattern) = &stated_sections[unused];
        let pattern = shown(pattern);
        let message = format!("has no section '{pattern}' ({flag}); it has {}", known.join(", "));
        return Err(Error::data(place, message));
    }
    sections.sort_by_key(|section| section.start);
    for pair in sections.windows(2) {
        let has_contents = pair.iter().any(|section| !section.data.is_empty());
        if pair[1].start < pair[0].end && has_contents {
            let message = format!(
                "has overlapping sections {} and {}: what lies at {:#x} depends on the time",
                shown(&pair[0].name),
                shown(&pair[1].name),
                pair[1].start
            );
            return Err(Error::data(place, message));
        }
    }
    Ok(sections)
}

/// Returns true if `name` matches a pattern with `*` and `?`.
pub fn matches(pattern: &str, name: &str) -> bool {
    fn rest(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.first(), name.first()) {
            (None, None) => true,
            (Some(b'*'), _) => {
                rest(&pattern[1..], name) || (!name.is_empty() && rest(pattern, &name[1..]))
            }
            (Some(b'?'), Some(_)) => rest(&pattern[1..], &name[1..]),
            (Some(one), Some(other)) if one == other => rest(&pattern[1..], &name[1..]),
            _ => false,
        }
    }
    pattern.len() <= 256 && rest(pattern.as_bytes(), name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_an_end_or_a_length() {
        assert_eq!(range("0x20000000-0x20001000"), Some((0x2000_0000, 0x2000_1000)));
        assert_eq!(range("0x20000000+4K"), Some((0x2000_0000, 0x2000_1000)));
        for wrong in ["0x10-0x10", "0x20", "16-8", "0xffffffffffffffff+16", "1+", "-"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn patterns_have_stars_and_question_marks() {
        assert!(matches(".ram*", ".ram.text") && matches("*_isr", "uart_isr"));
        assert!(matches("a?c*", "abcd") && !matches("a?c", "abcd") && !matches("", "a"));
    }

    #[test]
    fn only_sections_that_startup_code_zeroes_hold_zeros() {
        for name in ["bss", ".bss", ".sbss", "COMMON"] {
            assert!(is_zeroed(name) && !is_left_alone(name), "{name}");
        }
        for name in [".bss_noinit", ".noinit_bss", ".ccmbss", ".bss.noinit", ".bss_no_init"] {
            assert!(!is_zeroed(name), "{name}");
        }
        assert!(is_left_alone(".data_no_init") && is_left_alone(".NoInit"));
        assert!(!is_left_alone(".data"));
    }

    #[test]
    fn doubles_are_an_extension() {
        assert!(has_double("rv32imafdc") && has_double("rv64i2p1_m2p0_d2p2"));
        assert!(!has_double("rv32imac") && !has_double("rv32imac_zknd_zcmp"));
    }
}
