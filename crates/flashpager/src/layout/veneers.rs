//! Calls between flash and RAM that are out of a processor's reach. For each function called so the
//! linker adds code, a veneer, that the recorded program does not have.

use std::collections::BTreeSet;
use std::path::Path;

use flashpager_base::Result;
use flashpager_binary::elf::{ElfFile, read_bytes};
use flashpager_binary::program::ProgramFile;
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

/// The veneers that a linker adds to the recorded program with some units in RAM.
pub(super) struct Veneers {
    call: DirectCall,
    /// Recorded executions of calls that need a veneer.
    executions: FxHashMap<Call, u64>,
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
        let Some((image, bytes)) = program_of(traces.info()) else { return Ok(None) };
        let Ok(program) = ProgramFile::parse(&bytes) else { return Ok(None) };
        let Some(call) =
            DirectCall::of(&program).filter(|call| is_out_of_reach(&program, image, call))
        else {
            return Ok(None);
        };
        let is_pinned: FxHashSet<usize> = pinned.iter().map(|number| *number as usize).collect();
        let mut executions = recorded_calls(traces, units, &is_pinned)?;
        let code: Vec<(&Section, Option<&[u8]>)> = image
            .sections
            .iter()
            .map(|section| (section, ElfFile::section_bytes(&bytes, section)))
            .collect();
        let is_direct = |last: u32| instruction_at(&code, last).is_some_and(call.is_direct);
        executions.retain(|(last, _), _| is_direct(*last));
        if executions.is_empty() {
            return Ok(None);
        }
        let in_ram = |to: &u32| units.owner(*to).is_some_and(|to| is_pinned.contains(&to));
        let executed: BTreeSet<u32> =
            executions.keys().map(|(_, to)| *to).filter(|to| in_ram(to)).collect();
        let numbers: FxHashMap<u32, u32> = executed.iter().copied().zip(0..).collect();
        let passes = |call: &Call| Some((*call, *numbers.get(&call.1)?));
        let in_flash = executions.keys().filter_map(passes).collect();
        let begins = |to: &u32| image.symbols.iter().any(|symbol| symbol.offset == *to);
        let stays = |last: &u32| !units.owner(*last).is_some_and(|from| is_pinned.contains(&from));
        let called = code.iter().flat_map(|(section, bytes)| thumb_calls(section, *bytes));
        let called = called.filter(|(last, to)| in_ram(to) && begins(to) && stays(last));
        let all: BTreeSet<u32> = called.map(|(_, to)| to).chain(executed).collect();
        let (count_in_flash, has_reads) = (all.len() as u32, traces.has_reads());
        Ok(Some(Self { call, executions, in_flash, count_in_flash, has_reads }))
    }

    /// Instructions that all recorded calls execute in veneers.
    fn instructions(&self) -> u64 {
        self.executions.values().sum::<u64>() * u64::from(self.call.veneer_instructions)
    }

    /// Folds the traces with the recorded calls through veneers in flash. `None` if none lies there, or
    /// their code is not known.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn folded<'t>(&self, traces: &'t TraceSet) -> Result<Option<Vec<FoldedTrace<'t>>>> {
        if self.in_flash.is_empty() || self.call.veneer_pieces.is_none() {
            return Ok(None);
        }
        let fold = |(info, trace): (&TraceInfo, &MemoryTrace)| {
            FoldedTrace::with_added(info, trace, &self.in_flash, self.instructions())
        };
        traces.training().map(fold).collect::<Result<_>>().map(Some)
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
        let callees: FxHashSet<u32> = self.executions.keys().map(|(_, to)| *to).collect();
        let instructions = self.instructions();
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
            "{} of {} between flash and RAM {} farther than a call of this processor ({} MB): the \
             linker adds a veneer of {} bytes for each callee, in flash or in RAM, {cost}; compile \
             with -mlong-calls",
            count(self.executions.len() as u64, "recorded call"),
            count(callees.len() as u64, "function"),
            if self.executions.len() == 1 { "reaches" } else { "reach" },
            self.call.reach_bytes >> 20,
            self.call.veneer_bytes,
        )
    }
}

/// A number with its noun.
pub(super) fn count(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// The recorded calls between pinned units and others, with the number of their executions.
fn recorded_calls(
    traces: &TraceSet,
    units: &Units,
    is_pinned: &FxHashSet<usize>,
) -> Result<FxHashMap<Call, u64>> {
    let mut executions: FxHashMap<Call, u64> = FxHashMap::default();
    for (_, trace) in traces.training() {
        let mut before: Option<Run> = None;
        for_runs(&ExecutedRuns(trace), &|| true, |runs| {
            for run in runs {
                let Some(last) = before.replace(*run).map(Run::last) else { continue };
                let (Some(from), Some(to)) = (units.owner(last), units.owner(run.offset)) else {
                    continue;
                };
                if is_pinned.contains(&from) != is_pinned.contains(&to) {
                    *executions.entry((last, run.offset)).or_default() += 1;
                }
            }
            Ok(())
        })?;
    }
    Ok(executions)
}

/// The direct calls and jumps of Thumb code in a section, recorded or not, in offsets of the image.
fn thumb_calls(section: &Section, bytes: Option<&[u8]>) -> Vec<Call> {
    let pairs = bytes.unwrap_or_default().windows(4).step_by(2).zip((0u32..).step_by(2));
    let call = |(code, at): (&[u8], u32)| {
        let code: [u8; 4] = code.try_into().ok()?;
        is_thumb_call(code).then_some(())?;
        let from = i64::from(section.offset) + i64::from(at);
        let to = u32::try_from(from + 4 + i64::from(thumb_distance(code))).ok()?;
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

/// Returns true if calls from the code of `image` do not reach the RAM of the program.
fn is_out_of_reach(program: &ProgramFile, image: &Image, call: &DirectCall) -> bool {
    let mut ram = program.sections.iter().filter(|section| !section.is_in_place());
    let Some(code) = image.sections.first() else { return false };
    ram.any(|section| section.address.abs_diff(code.address) > call.reach_bytes)
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
    use super::*;

    #[test]
    fn distances_are_those_of_the_assembler() {
        // bl .+4, bl .-4 and b.w .+0x1004 of arm-none-eabi-as.
        assert_eq!(thumb_distance([0x00, 0xf0, 0x00, 0xf8]), 0);
        assert_eq!(thumb_distance([0xff, 0xf7, 0xfc, 0xff]), -8);
        assert_eq!(thumb_distance([0x01, 0xf0, 0x00, 0xb8]), 0x1000);
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
