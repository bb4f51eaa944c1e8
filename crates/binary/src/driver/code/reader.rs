//! Reads a function of an object file: its place, its relocations and its constants.

use std::collections::BTreeMap;

use flashpager_base::{Error, Result, did_you_mean, shown};
use object::elf::{SHF_ALLOC, SHF_EXECINSTR};
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionFlags, SectionIndex, SymbolIndex, SymbolKind,
};
use rustc_hash::FxHashMap;

use super::super::aarch64::Aarch64;
use super::super::arm::Arm;
use super::super::avr::Avr;
use super::super::instruction::Decoder;
use super::super::riscv::RiscV;
use super::super::x86::X86;

/// Largest function, in bytes. No function of a flash driver is larger.
const MAX_FUNCTION_BYTES: u64 = 64 << 10;
/// First address of RAM in an AVR file.
const AVR_RAM: u64 = 0x80_0000;
/// Relocation types of RISC-V for a whole call.
const RISCV_CALLS: [u32; 2] = [18, 19];
/// Relocation types that do not set an address.
const RISCV_HINTS: [u32; 2] = [43, 51];
const ARM_HINTS: [u32; 2] = [0, 40];

/// A relocation, by which the linker sets an address in the code.
pub struct LinkerRelocation {
    pub symbol: u32,
    /// `None` if the addend is in the code.
    pub addend: Option<i64>,
    pub is_riscv_call: bool,
}

/// A symbol that relocations name.
pub struct RelocationSymbol {
    pub name: String,
    pub section: Option<SectionIndex>,
    pub address: u64,
}

/// Reads a function of an object file.
pub struct FunctionReader<'a> {
    pub file: object::File<'a>,
    pub file_name: &'a str,
    pub name: &'a str,
}

/// The place of a function.
pub struct FunctionSpan {
    pub section: SectionIndex,
    pub start: u64,
    pub end: u64,
    pub thumb: bool,
}

impl FunctionReader<'_> {
    pub fn wrong(&self, reason: impl Into<String>) -> Error {
        Error::data(self.file_name, reason)
    }

    pub fn cut_off(&self) -> Error {
        self.wrong("is a damaged ELF file (its code is not all there); make or copy it again")
    }

    pub fn decoder(&self, thumb: bool) -> Result<(&'static str, Box<dyn Decoder>)> {
        use Architecture as A;
        let failed = |_| Error::design("the disassembler does not start (out of memory?)");
        let little = self.file.is_little_endian();
        Ok(match self.file.architecture() {
            A::Arm if little => {
                let name = if thumb { "thumb" } else { "arm" };
                (name, Box::new(Arm::new(thumb).map_err(failed)?))
            }
            A::Aarch64 if little => ("aarch64", Box::new(Aarch64::new().map_err(failed)?)),
            A::Riscv32 => ("riscv32", Box::new(RiscV::new(false).map_err(failed)?)),
            A::Riscv64 => ("riscv64", Box::new(RiscV::new(true).map_err(failed)?)),
            A::I386 => ("i386", Box::new(X86::new(false).map_err(failed)?)),
            A::X86_64 => ("x86_64", Box::new(X86::new(true).map_err(failed)?)),
            A::Avr => ("avr", Box::new(Avr)),
            _ => {
                return Err(self.wrong(
                    "is for a machine that is not disassembled here (known, all little-endian: \
                     ARM, Thumb, AArch64, RISC-V, x86, x86-64, AVR)",
                ));
            }
        })
    }

    fn is_code(&self, section: SectionIndex) -> bool {
        self.file.section_by_index(section).is_ok_and(|section| {
            matches!(section.flags(),
                SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & SHF_EXECINSTR.0 != 0)
        })
    }

    /// Finds the function.
    pub fn span(&self) -> Result<FunctionSpan> {
        let is_arm = self.file.architecture() == Architecture::Arm;
        let is_named = |symbol: &object::Symbol<'_, '_>| {
            let in_code = symbol.section_index().is_some_and(|section| self.is_code(section));
            in_code && symbol.name() == Ok(self.name)
        };
        // A label of an assembler may have no kind. A symbol with the kind of a function is preferred.
        let named = self.file.symbols().filter(is_named);
        let Some(symbol) = named.min_by_key(|symbol| symbol.kind() != SymbolKind::Text) else {
            return Err(self.unknown());
        };
        let Some(section) = symbol.section_index() else { return Err(self.unknown()) };
        let address = symbol.address();
        let start = if is_arm { address & !1 } else { address };
        let section_end = self
            .file
            .section_by_index(section)
            .map(|section| section.address().saturating_add(section.size()))
            .unwrap_or(start);
        let end = if symbol.size() > 0 {
            start.saturating_add(symbol.size()).min(section_end)
        } else {
            let functions = self.file.symbols().filter(|other| {
                other.kind() == SymbolKind::Text && other.section_index() == Some(section)
            });
            let next = functions.map(|other| other.address() & !u64::from(is_arm));
            next.filter(|next| *next > start).min().unwrap_or(section_end)
        };
        if end <= start {
            return Err(self.wrong(format!(
                "its function {} has no code; name one that has",
                shown(self.name)
            )));
        }
        if end - start > MAX_FUNCTION_BYTES {
            return Err(self.wrong(format!(
                "its function {} is over 64 KiB, which no flash driver is; name the function that \
                 holds the loop",
                shown(self.name)
            )));
        }
        let mode = self.marks(section).filter(|(at, _)| *at <= start).max_by_key(|(at, _)| *at);
        let thumb = is_arm && mode.map_or(address & 1 != 0, |(_, mark)| mark == 't');
        Ok(FunctionSpan { section, start, end, thumb })
    }

    fn unknown(&self) -> Error {
        const SHOWN: usize = 8;
        let mut names: Vec<&str> = self
            .file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .filter_map(|symbol| symbol.name().ok())
            .filter(|name| !name.is_empty())
            .take(1000)
            .collect();
        names.sort_unstable();
        names.dedup();
        let near = shown(did_you_mean(self.name, names.iter().copied()));
        let more = if names.len() > SHOWN { ", ..." } else { "" };
        let there: Vec<String> = names.iter().take(SHOWN).map(shown).collect();
        let there = if there.is_empty() {
            "it names none; use a file that is not stripped".into()
        } else {
            format!("it has {}{more}", there.join(", "))
        };
        let near = near.trim_start_matches(';').trim_start();
        let near = if near.is_empty() { String::new() } else { format!("; {near}") };
        self.wrong(format!("has no function '{}' ({there}){near}", shown(self.name)))
    }

    /// Returns the marks `$a`, `$t`, `$d` and `$x` in a section, with their addresses.
    fn marks(&self, section: SectionIndex) -> impl Iterator<Item = (u64, char)> + '_ {
        self.file.symbols().filter_map(move |symbol| {
            if symbol.section_index() != Some(section) {
                return None;
            }
            let name = symbol.name().ok()?.strip_prefix('$')?;
            let mark = name.chars().next()?;
            let is_mark = matches!(mark, 'a' | 't' | 'd' | 'x');
            is_mark.then_some((symbol.address(), mark))
        })
    }

    /// Returns the address ranges of the function that hold constants instead of instructions.
    pub fn constant_ranges(&self, span: &FunctionSpan) -> Vec<(u64, u64)> {
        let mut marks: Vec<(u64, char)> = self.marks(span.section).collect();
        marks.sort_unstable();
        let ends = marks.iter().skip(1).map(|(at, _)| *at).chain([u64::MAX]);
        marks
            .iter()
            .zip(ends)
            .filter(|((at, mark), end)| *mark == 'd' && *at < span.end && *end > span.start)
            .map(|((at, _), end)| (*at, end))
            .collect()
    }

    pub fn relocations(
        &self,
        section: &object::Section<'_, '_>,
    ) -> (BTreeMap<u64, LinkerRelocation>, Vec<RelocationSymbol>) {
        let mut numbers: FxHashMap<SymbolIndex, u32> = FxHashMap::default();
        let mut targets = Vec::new();
        let mut relocations = BTreeMap::new();
        let architecture = self.file.architecture();
        let riscv = matches!(architecture, Architecture::Riscv32 | Architecture::Riscv64);
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let RelocationFlags::Elf { r_type, .. } = relocation.flags() else { continue };
            let r_type = r_type.0;
            let is_hint = (riscv && RISCV_HINTS.contains(&r_type))
                || (architecture == Architecture::Arm && ARM_HINTS.contains(&r_type));
            if is_hint {
                continue;
            }
            let Ok(symbol) = self.file.symbol_by_index(index) else { continue };
            let number = *numbers.entry(index).or_insert_with(|| {
                targets.push(RelocationSymbol {
                    name: symbol.name().unwrap_or_default().to_owned(),
                    section: symbol.section_index(),
                    address: symbol.address(),
                });
                (targets.len() - 1) as u32
            });
            let addend = (!relocation.has_implicit_addend()).then_some(relocation.addend());
            relocations.entry(section.address().wrapping_add(offset)).or_insert(LinkerRelocation {
                symbol: number,
                addend,
                is_riscv_call: riscv && RISCV_CALLS.contains(&r_type),
            });
        }
        (relocations, targets)
    }

    /// Returns the address ranges of the memory of a linked program.
    pub fn memory(&self) -> Vec<(u64, u64)> {
        if self.file.kind() == object::ObjectKind::Relocatable {
            return Vec::new();
        }
        let avr = self.file.architecture() == Architecture::Avr;
        self.file
            .sections()
            .filter(is_memory)
            .filter(|section| !avr || section.address() >= AVR_RAM)
            .map(|section| {
                let address = section.address();
                let start = if avr { address - AVR_RAM } else { address };
                (start, start.saturating_add(section.size()))
            })
            .collect()
    }

    /// Returns the name of the function at `address`.
    pub fn function_at(&self, address: u64, section: SectionIndex) -> Option<String> {
        let is_arm = self.file.architecture() == Architecture::Arm;
        let relocatable = self.file.kind() == object::ObjectKind::Relocatable;
        self.file
            .symbols()
            .find(|symbol| {
                symbol.kind() == SymbolKind::Text
                    && symbol.address() & !u64::from(is_arm) == address & !u64::from(is_arm)
                    && (!relocatable || symbol.section_index() == Some(section))
            })
            .and_then(|symbol| symbol.name().ok().map(shown))
    }
}

/// Returns true if a section is memory of the program.
pub fn is_memory(section: &object::Section<'_, '_>) -> bool {
    matches!(section.flags(),
        SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & SHF_ALLOC.0 != 0)
}
