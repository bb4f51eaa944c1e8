//! Calls between flash and RAM that are out of a processor's reach. For each function called so the
//! linker adds code, a veneer, that the recorded program does not have.

use std::collections::BTreeSet;
use std::path::Path;

use flashpager_base::{Result, shown};
use flashpager_binary::elf::{ElfFile, read_bytes};
use flashpager_binary::program::{ProgramFile, ProgramSection, SectionContent};
use flashpager_layout::Units;
use flashpager_trace::{ExecutedRuns, Image, MemoryTrace, Run, Section, TraceInfo, for_runs};
use rustc_hash::{FxHashMap, FxHashSet};

use super::replays::{Call, FoldedTrace};
use super::traces::TraceSet;
use crate::result::ResultRow;

/// Bytes of a veneer that are executed or read one after another.
struct VeneerPiece {
    /// Offset in the veneer.
    offset: u32,
    bytes: u32,
    is_read: bool,
}

const fn executed(offset: u32, bytes: u32) -> VeneerPiece {
    VeneerPiece { offset, bytes, is_read: false }
}

const fn read(offset: u32) -> VeneerPiece {
    VeneerPiece { offset, bytes: 4, is_read: true }
}

/// ldr.w pc, [pc] and the address.
const V7M_PIECES: &[VeneerPiece] = &[executed(0, 4), read(4)];
/// push {r0}, ldr r0, [pc, #8], mov ip, r0, pop {r0}, bx ip, nop and the address.
const V6M_PIECES: &[VeneerPiece] = &[executed(0, 4), read(12), executed(4, 6)];

/// A direct call of a processor.
#[derive(Clone, Copy)]
struct DirectCall {
    /// Bytes that it reaches, forward or backward.
    reach_bytes: u64,
    /// Bytes of the code that the linker adds for a function beyond.
    veneer_bytes: u32,
    /// Instructions that this code executes in each call.
    veneer_instructions: u32,
    /// The pieces of this code; `None` if its misses are not counted.
    veneer_pieces: Option<&'static [VeneerPiece]>,
    /// Returns true if an instruction of 4 bytes is a direct call or jump.
    is_direct: fn([u8; 4]) -> bool,
}

impl DirectCall {
    /// The direct call of a program; `None` where calls reach everything or nothing is known.
    fn of(program: &ProgramFile) -> Option<Self> {
        match program.instruction_set.as_str() {
            "ARMv7-M" | "ARMv7E-M" | "ARMv8-M.main" | "ARMv8.1-M.main" => {
                Some((16, 8, 1, Some(V7M_PIECES)))
            }
            // ARMv6-M has no such instruction, and saves a register.
            "ARMv6-M" | "ARMv8-M.base" => Some((16, 16, 5, Some(V6M_PIECES))),
            // adrp, add and br.
            _ if program.architecture == "aarch64" => Some((128, 12, 3, None)),
            _ => None,
        }
        .map(|(reach_mib, veneer_bytes, veneer_instructions, veneer_pieces)| Self {
            reach_bytes: reach_mib << 20,
            veneer_bytes,
            veneer_instructions,
            veneer_pieces,
            is_direct: if program.architecture == "aarch64" { is_a64_call } else { is_thumb_call },
        })
    }

    /// The same call in a program that lld links. Its veneers, which lie between the functions, are not
    /// replayed.
    fn of_lld(self) -> Self {
        let (veneer_bytes, veneer_instructions) = match self.veneer_bytes {
            // movw, movt and bx.
            8 => (10, 3),
            // push {r0, r1}, ldr, str, pop {r0, pc} and the address.
            16 => (12, 4),
            bytes => (bytes, self.veneer_instructions),
        };
        Self { veneer_bytes, veneer_instructions, veneer_pieces: None, ..self }
    }
}

/// BL and B.W of Thumb-2 (ARMv7-M Architecture Reference Manual, A5.3.4).
fn is_thumb_call(code: [u8; 4]) -> bool {
    let [first, second] =
        [u16::from_le_bytes([code[0], code[1]]), u16::from_le_bytes([code[2], code[3]])];
    first & 0xf800 == 0xf000 && matches!(second & 0xd000, 0xd000 | 0x9000)
}

/// BL and B of A64.
fn is_a64_call(code: [u8; 4]) -> bool {
    u32::from_le_bytes(code) & 0x7c00_0000 == 0x1400_0000
}

/// The direct calls between units of the recorded program, some of which need a veneer if their caller or
/// callee lies in RAM.
pub(super) struct VeneerCalls {
    call: DirectCall,
    /// Recorded executions of direct calls, by trace.
    executions: Vec<FxHashMap<Call, u64>>,
    /// Direct calls of functions by Thumb code, recorded or not.
    in_code: Vec<Call>,
    far_section: Option<String>,
    has_reads: bool,
}

impl VeneerCalls {
    /// The calls of the program of `traces`. `None` if calls reach RAM, or the recorded program is gone.
    ///
    /// # Errors
    /// If a trace cannot be read.
    pub(super) fn of(traces: &TraceSet, units: &Units) -> Result<Option<Self>> {
        let Some((image, bytes)) = program_of(traces.info()) else { return Ok(None) };
        let Ok(program) = ProgramFile::parse(&bytes) else { return Ok(None) };
        let Some(mut call) = DirectCall::of(&program) else { return Ok(None) };
        if ElfFile::is_linked_by_lld(&bytes) {
            call = call.of_lld();
        }
        let Some(ram) = FarRam::of(&program, image, &call) else { return Ok(None) };
        let mut executions = recorded_calls(traces, units)?;
        let code: Vec<(&Section, Option<&[u8]>)> = image
            .sections
            .iter()
            .map(|section| (section, ElfFile::section_bytes(&bytes, section)))
            .collect();
        let is_direct = |last: u32| instruction_at(&code, last).is_some_and(call.is_direct);
        executions.iter_mut().for_each(|own| own.retain(|(last, _), _| is_direct(*last)));
        let beginnings: FxHashSet<u32> = image.symbols.iter().map(|symbol| symbol.offset).collect();
        let called = code.iter().flat_map(|(section, bytes)| thumb_calls(image, section, *bytes));
        let in_code = called.filter(|(_, to)| beginnings.contains(to)).collect();
        let (far_section, has_reads) = (ram.uncertain, traces.has_reads());
        Ok(Some(Self { call, executions, in_code, far_section, has_reads }))
    }

    /// The veneers of the program with `pinned` in RAM. `None` if no recorded call needs one.
    pub(super) fn with_pinned(&self, units: &Units, pinned: &[u32]) -> Option<Veneers> {
        let is_pinned: FxHashSet<usize> = pinned.iter().map(|number| *number as usize).collect();
        let in_ram = |at: &u32| units.owner(*at).is_some_and(|unit| is_pinned.contains(&unit));
        let mut executions = self.executions.clone();
        executions
            .iter_mut()
            .for_each(|own| own.retain(|(last, to), _| in_ram(last) != in_ram(to)));
        let recorded = different_calls(&executions);
        if recorded.is_empty() {
            return None;
        }
        let executed: BTreeSet<u32> =
            recorded.iter().map(|(_, to)| *to).filter(|to| in_ram(to)).collect();
        let numbers: FxHashMap<u32, u32> = executed.iter().copied().zip(0..).collect();
        let passes = |call: &Call| Some((*call, *numbers.get(&call.1)?));
        let in_flash = recorded.iter().filter_map(passes).collect();
        let called = self.in_code.iter().filter(|(last, to)| in_ram(to) && !in_ram(last));
        let all: BTreeSet<u32> = called.map(|(_, to)| *to).chain(executed).collect();
        Some(Veneers {
            call: self.call,
            executions,
            far_section: self.far_section.clone(),
            in_flash,
            count_in_flash: all.len() as u32,
            has_reads: self.has_reads,
        })
    }

    /// The recorded direct calls between units, ascending.
    pub(super) fn recorded(&self) -> Vec<Call> {
        let calls: BTreeSet<Call> = different_calls(&self.executions).into_iter().collect();
        calls.into_iter().collect()
    }

    /// Folds the traces with code added to each of `numbered`, by its number there. The code may be empty.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn folded(
        &self,
        traces: &TraceSet,
        numbered: &[Call],
    ) -> Result<Vec<FoldedTrace<'static>>> {
        let numbers: FxHashMap<Call, u32> = numbered.iter().copied().zip(0..).collect();
        let fold = |(info, trace)| FoldedTrace::with_added(info, trace, &numbers, 0);
        traces.training().map(fold).collect()
    }
}

/// The veneers that a linker adds to the recorded program with some units in RAM.
pub(super) struct Veneers {
    call: DirectCall,
    /// Recorded executions of calls that need a veneer, by trace.
    executions: Vec<FxHashMap<Call, u64>>,
    /// The section of RAM that is out of reach, if another one that may receive the code is not.
    far_section: Option<String>,
    /// The number of the veneer in flash through which a recorded call passes.
    in_flash: FxHashMap<Call, u32>,
    /// Veneers in flash, with those that no recorded call passes through.
    count_in_flash: u32,
    has_reads: bool,
}

impl Veneers {
    /// The veneers of the program of `traces` with `pinned` in RAM. `None` if no recorded call needs
    /// one, or the recorded program is gone.
    ///
    /// # Errors
    /// If a trace cannot be read.
    pub(super) fn of(traces: &TraceSet, units: &Units, pinned: &[u32]) -> Result<Option<Self>> {
        Ok(VeneerCalls::of(traces, units)?.and_then(|calls| calls.with_pinned(units, pinned)))
    }

    /// Returns true if a recorded call passes through a veneer in flash whose code is known.
    pub(super) fn is_counted(&self) -> bool {
        !self.in_flash.is_empty() && self.call.veneer_pieces.is_some()
    }

    /// The units from which recorded calls pass through veneers in flash, those that call most first.
    pub(super) fn callers(&self, units: &Units) -> Vec<u32> {
        let mut calls: FxHashMap<u32, u64> = FxHashMap::default();
        for (call, count) in self.executions.iter().flatten() {
            let from = units.owner(call.0).filter(|_| self.in_flash.contains_key(call));
            from.into_iter().for_each(|from| *calls.entry(from as u32).or_default() += count);
        }
        let mut callers: Vec<(u32, u64)> = calls.into_iter().collect();
        callers.sort_by_key(|(number, count)| (std::cmp::Reverse(*count), *number));
        callers.into_iter().map(|(number, _)| number).collect()
    }

    /// The runs of the veneer through which each of `calls` passes, empty for a call without one, if the
    /// veneers lie as for [`Veneers::runs_at`].
    pub(super) fn runs_of(&self, calls: &[Call], first: u32, slots: &[u32]) -> Vec<Vec<Run>> {
        let runs = self.runs_at(first, slots);
        let of_call = |call: &Call| {
            let veneer = self.in_flash.get(call);
            veneer.map_or(Vec::new(), |number| runs[*number as usize].clone())
        };
        calls.iter().map(of_call).collect()
    }

    /// Instructions that the recorded calls of a trace execute in veneers.
    fn instructions(&self, executions: &FxHashMap<Call, u64>) -> u64 {
        executions.values().sum::<u64>() * u64::from(self.call.veneer_instructions)
    }

    /// Folds the traces with the recorded calls through veneers in flash. `None` if none lies there, or
    /// their code is not known.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn folded<'t>(&self, traces: &'t TraceSet) -> Result<Option<Vec<FoldedTrace<'t>>>> {
        if !self.is_counted() {
            return Ok(None);
        }
        let fold = |((info, trace), own): ((&TraceInfo, &MemoryTrace), &FxHashMap<Call, u64>)| {
            FoldedTrace::with_added(info, trace, &self.in_flash, self.instructions(own))
        };
        traces.training().zip(&self.executions).map(fold).collect::<Result<_>>().map(Some)
    }

    /// The number of veneers in flash.
    pub(super) fn count_in_flash(&self) -> u32 {
        self.count_in_flash
    }

    /// Bytes of the veneers in flash.
    pub(super) fn bytes_in_flash(&self) -> u32 {
        self.count_in_flash * self.call.veneer_bytes
    }

    /// The runs of each veneer in flash, if they lie from offset `first` on, each at the slot with its
    /// number in `slots`.
    pub(super) fn runs_at(&self, first: u32, slots: &[u32]) -> Vec<Vec<Run>> {
        let veneer = |slot: &u32| {
            let pieces = self.call.veneer_pieces.unwrap_or_default();
            let pieces = pieces.iter().filter(|piece| self.has_reads || !piece.is_read);
            let at = first + slot * self.call.veneer_bytes;
            pieces.map(|piece| Run { offset: at + piece.offset, length: piece.bytes }).collect()
        };
        slots.iter().map(veneer).collect()
    }

    /// States how many calls between flash and RAM need a veneer, and the share of the time that their
    /// instructions take if `rows`, the results, have a processor. `cost` puts these instructions into
    /// the words for what the veneers cost; `None` if the results leave them out.
    pub(super) fn note(&self, rows: &[ResultRow], cost: Option<&dyn Fn(&str) -> String>) -> String {
        let recorded = different_calls(&self.executions);
        let callees: FxHashSet<u32> = recorded.iter().map(|(_, to)| *to).collect();
        let instructions = self.executions.iter().map(|own| self.instructions(own)).sum();
        let counted = format!(
            "{}{}",
            count(instructions, "more instruction"),
            share_of_time(instructions, rows)
        );
        let cost = match cost {
            None => format!("which the prediction leaves out ({counted})"),
            Some(cost) => cost(&counted),
        };
        format!(
            "{} of {} between flash and RAM {} farther than a call of this processor ({} MB){}: the \
             linker adds a veneer of {} bytes for each callee, in flash or in RAM, {cost}; compile \
             with -mlong-calls",
            count(recorded.len() as u64, "recorded call"),
            count(callees.len() as u64, "function"),
            if recorded.len() == 1 { "reaches" } else { "reach" },
            self.call.reach_bytes >> 20,
            self.far_section
                .as_ref()
                .map_or(String::new(), |name| { format!(" if the code goes to {}", shown(name)) }),
            self.call.veneer_bytes,
        )
    }
}

/// A number with its noun.
pub(super) fn count(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// The calls that any trace executes.
fn different_calls(executions: &[FxHashMap<Call, u64>]) -> FxHashSet<Call> {
    executions.iter().flat_map(FxHashMap::keys).copied().collect()
}

/// The recorded transitions from one unit to another, with the number of their executions, by trace.
fn recorded_calls(traces: &TraceSet, units: &Units) -> Result<Vec<FxHashMap<Call, u64>>> {
    let of_trace = |(_, trace): (&TraceInfo, &MemoryTrace)| {
        let mut executions: FxHashMap<Call, u64> = FxHashMap::default();
        let mut before: Option<Run> = None;
        for_runs(&ExecutedRuns(trace), &|| true, |runs| {
            for run in runs {
                let Some(last) = before.replace(*run).map(Run::last) else { continue };
                let (Some(from), Some(to)) = (units.owner(last), units.owner(run.offset)) else {
                    continue;
                };
                if from != to {
                    *executions.entry((last, run.offset)).or_default() += 1;
                }
            }
            Ok(())
        })?;
        Ok(executions)
    };
    traces.training().map(of_trace).collect()
}

/// The direct calls and jumps of Thumb code in a section to any section of `image`, recorded or not, in
/// offsets of the image.
fn thumb_calls(image: &Image, section: &Section, bytes: Option<&[u8]>) -> Vec<Call> {
    let pairs = bytes.unwrap_or_default().windows(4).step_by(2).zip((0u32..).step_by(2));
    let call = |(code, at): (&[u8], u32)| {
        let code: [u8; 4] = code.try_into().ok()?;
        is_thumb_call(code).then_some(())?;
        let behind = section.address.checked_add(u64::from(at) + 4)?;
        let target = behind.checked_add_signed(thumb_distance(code).into())?;
        let to = image.sections.iter().find_map(|section| section.offset_of(target))?;
        Some((section.offset + at + 3, to))
    };
    pairs.filter_map(call).collect()
}

/// The bytes from behind a BL or B.W of Thumb-2 to its target (ARMv7-M Architecture Reference Manual,
/// A7.7.18).
fn thumb_distance(code: [u8; 4]) -> i32 {
    let [first, second] =
        [u16::from_le_bytes([code[0], code[1]]), u16::from_le_bytes([code[2], code[3]])];
    let bit = |half: u16, number: u16| u32::from(half >> number & 1);
    let sign = bit(first, 10);
    let (i1, i2) = (1 ^ bit(second, 13) ^ sign, 1 ^ bit(second, 11) ^ sign);
    let (high, low) = (u32::from(first & 0x3ff), u32::from(second & 0x7ff));
    let distance = sign << 24 | i1 << 23 | i2 << 22 | high << 12 | low << 1;
    // The sign is in bit 24.
    (distance << 7) as i32 >> 7
}

/// The share of the time of `rows` that these instructions take, in words; empty without a processor.
fn share_of_time(instructions: u64, rows: &[ResultRow]) -> String {
    let runs = || rows.iter().filter_map(|row| row.evaluation.run.as_ref());
    let time_ns: f64 = runs().map(|run| run.paged_ns).sum();
    runs().next().filter(|_| time_ns > 0.0).map_or(String::new(), |run| {
        let share = instructions as f64 * run.work.instruction_ns / time_ns;
        format!(", {:.2} % of the time", 100.0 * share)
    })
}

/// The image with most symbols, and the contents of its file; `None` if that is gone or another one.
fn program_of(info: &TraceInfo) -> Option<(&Image, Vec<u8>)> {
    let image = info.images.iter().max_by_key(|image| image.symbols.len())?;
    let bytes = read_bytes(Path::new(&image.path)).ok()?;
    let elf = ElfFile::parse(&bytes).ok()?;
    elf.agrees_with(&image.sections).then_some((image, bytes))
}

/// RAM that calls from the code in flash do not reach.
#[derive(Debug, PartialEq, Eq)]
struct FarRam {
    /// The section out of reach, if another one that may receive the code is in reach.
    uncertain: Option<String>,
}

impl FarRam {
    /// The RAM that receives the pinned code of `program`: the sections with code that start-up code
    /// copies, else those with data. `None` if calls from the code of `image` reach it.
    fn of(program: &ProgramFile, image: &Image, call: &DirectCall) -> Option<Self> {
        let code = image.sections.first()?;
        let with = |content: SectionContent| -> Vec<&ProgramSection> {
            let is_copied = |section: &&ProgramSection| {
                section.content == content && section.load_address != section.address
            };
            program.sections.iter().filter(is_copied).collect()
        };
        let receivers = [with(SectionContent::Code), with(SectionContent::Data)];
        let receivers = receivers.into_iter().find(|sections| !sections.is_empty());
        let receivers = receivers.unwrap_or_else(|| {
            program.sections.iter().filter(|section| !section.is_in_place()).collect()
        });
        let is_far =
            |section: &&&ProgramSection| section.address.abs_diff(code.address) > call.reach_bytes;
        let far = receivers.iter().find(is_far)?;
        let is_certain = receivers.iter().all(|section| is_far(&section));
        Some(Self { uncertain: (!is_certain).then(|| far.name.clone()) })
    }
}

/// The 4 bytes that end with the one at `last`.
fn instruction_at(code: &[(&Section, Option<&[u8]>)], last: u32) -> Option<[u8; 4]> {
    let is_in = |section: &Section| {
        last >= section.offset && u64::from(last - section.offset) < u64::from(section.bytes)
    };
    let (section, bytes) = code.iter().find(|(section, _)| is_in(section))?;
    let end = (last - section.offset) as usize + 1;
    bytes.as_ref()?.get(end.checked_sub(4)?..end)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use flashpager_binary::program::ProgramKind;

    use super::*;

    #[test]
    fn distances_are_those_of_the_assembler() {
        // bl .+4, bl .-4 and b.w .+0x1004 of arm-none-eabi-as.
        assert_eq!(thumb_distance([0x00, 0xf0, 0x00, 0xf8]), 0);
        assert_eq!(thumb_distance([0xff, 0xf7, 0xfc, 0xff]), -8);
        assert_eq!(thumb_distance([0x01, 0xf0, 0x00, 0xb8]), 0x1000);
    }

    /// A program with sections of RAM, each with its address and content.
    fn program(ram: &[(&str, u64, SectionContent)]) -> ProgramFile {
        let section = |(name, address, content): &(&str, u64, SectionContent)| ProgramSection {
            name: (*name).to_owned(),
            address: *address,
            load_address: if *content == SectionContent::Zeroed { *address } else { 0x8000 },
            bytes: 64,
            content: *content,
        };
        ProgramFile {
            architecture: "arm".to_owned(),
            instruction_set: "ARMv7-M".to_owned(),
            microcontroller: String::new(),
            kind: ProgramKind::Firmware,
            entry: 0,
            sections: ram.iter().map(section).collect(),
            functions: 0,
            has_lines: false,
        }
    }

    fn section(address: u64, offset: u32, bytes: u32) -> Section {
        Section { name: ".text".to_owned(), address, offset, bytes }
    }

    fn image(sections: Vec<Section>) -> Image {
        let (path, build_id) = (String::new(), String::new());
        Image { path, build_id, offset: 0, bytes: 64, sections, symbols: Vec::new() }
    }

    /// Only the section that receives the code counts.
    #[test]
    fn the_section_that_receives_the_code_is_out_of_reach() {
        use SectionContent::{Code, Data, Zeroed};
        let image = image(vec![section(0, 0, 64)]);
        let far = |ram: &[(&str, u64, SectionContent)]| {
            let program = program(ram);
            let call = DirectCall::of(&program).expect("its calls are known");
            FarRam::of(&program, &image, &call)
        };
        let (near, beyond) = (0x10_0000, 0x2000_0000);
        let certain = Some(FarRam { uncertain: None });
        assert_eq!(far(&[(".data", beyond, Data)]), certain);
        assert_eq!(far(&[(".data", near, Data), (".bss", beyond, Zeroed)]), None);
        assert_eq!(far(&[(".code", near, Code), (".data", beyond, Data)]), None);
        assert_eq!(far(&[(".code", beyond, Code), (".data", near, Data)]), certain);
        assert_eq!(
            far(&[(".data", near, Data), (".far", beyond, Data)]),
            Some(FarRam { uncertain: Some(".far".to_owned()) })
        );
    }

    /// A call from one section into another has the distance of their addresses, not of their offsets.
    #[test]
    fn calls_between_sections_go_by_addresses() {
        let image = image(vec![section(0x100, 0, 8), section(0x1104, 8, 16)]);
        // b.w .+0x1004 at 0x104.
        let code = [0x00, 0xbf, 0x00, 0xbf, 0x01, 0xf0, 0x00, 0xb8];
        assert_eq!(thumb_calls(&image, &image.sections[0], Some(&code)), [(7, 12)]);
    }

    #[test]
    fn direct_calls_are_distinguished_from_others() {
        // bl 0, b.w 0, and ldr r3, [pc] before blx r3, of arm-none-eabi-as.
        assert!(is_thumb_call([0xff, 0xf7, 0xfe, 0xff]));
        assert!(is_thumb_call([0xff, 0xf7, 0xfe, 0xbf]));
        assert!(!is_thumb_call([0x00, 0x4b, 0x98, 0x47]));
        assert!(is_a64_call([0, 0, 0, 0x94]) && is_a64_call([0, 0, 0, 0x14]));
        assert!(!is_a64_call([0x60, 0, 0x3f, 0xd6]), "blr x3");
    }
}
