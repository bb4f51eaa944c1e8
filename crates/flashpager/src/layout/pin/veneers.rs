//! Calls between flash and RAM that are out of a processor's reach. For each function called so the
//! linker adds code, a veneer, that the recorded program does not have.

use std::path::Path;

use flashpager_base::Result;
use flashpager_binary::elf::{ElfFile, read_bytes};
use flashpager_binary::program::ProgramFile;
use flashpager_layout::Units;
use flashpager_trace::{ExecutedRuns, Image, Run, Section, TraceInfo, for_runs};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::traces::TraceSet;
use crate::result::ResultRow;

/// A direct call of a processor.
struct DirectCall {
    /// Bytes that it reaches, forward or backward.
    reach_bytes: u64,
    /// Bytes of the code that the linker adds for a function beyond.
    veneer_bytes: u32,
    /// Instructions that this code executes in each call.
    veneer_instructions: u32,
    /// Returns true if an instruction of 4 bytes is a direct call or jump.
    is_direct: fn([u8; 4]) -> bool,
}

impl DirectCall {
    /// The direct call of a program; `None` where calls reach everything or nothing is known.
    fn of(program: &ProgramFile) -> Option<Self> {
        match program.instruction_set.as_str() {
            // ldr.w pc, [pc] and the address; ARMv6-M has no such instruction, and saves a register.
            "ARMv7-M" | "ARMv7E-M" | "ARMv8-M.main" | "ARMv8.1-M.main" => Some((16, 8, 1)),
            "ARMv6-M" | "ARMv8-M.base" => Some((16, 16, 5)),
            // adrp, add and br.
            _ if program.architecture == "aarch64" => Some((128, 12, 3)),
            _ => None,
        }
        .map(|(reach_mib, veneer_bytes, veneer_instructions)| Self {
            reach_bytes: reach_mib << 20,
            veneer_bytes,
            veneer_instructions,
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

/// States how many calls between flash and RAM need a veneer, and the share of the time that its
/// instructions take if `after`, the rows with `pinned` in RAM, have a processor. `None` if no recorded
/// call needs one, or the recorded program is gone.
///
/// # Errors
/// If a trace cannot be read.
pub(super) fn note_of_veneers(
    traces: &TraceSet,
    units: &Units,
    pinned: &[u32],
    after: &[ResultRow],
) -> Result<Option<String>> {
    let info = traces.info();
    let Some((image, bytes)) = program_of(info) else { return Ok(None) };
    let Ok(program) = ProgramFile::parse(&bytes) else { return Ok(None) };
    let Some(call) = DirectCall::of(&program).filter(|call| is_out_of_reach(&program, image, call))
    else {
        return Ok(None);
    };
    let is_pinned: FxHashSet<usize> = pinned.iter().map(|number| *number as usize).collect();
    // The number of executions by the last byte of a call and the offset that is called.
    let mut sites: FxHashMap<(u32, u32), u64> = FxHashMap::default();
    for (_, trace) in traces.training() {
        let mut before: Option<Run> = None;
        for_runs(&ExecutedRuns(trace), &|| true, |runs| {
            for run in runs {
                let Some(last) = before.replace(*run).map(Run::last) else { continue };
                let (Some(from), Some(to)) = (units.owner(last), units.owner(run.offset)) else {
                    continue;
                };
                if is_pinned.contains(&from) != is_pinned.contains(&to) {
                    *sites.entry((last, run.offset)).or_default() += 1;
                }
            }
            Ok(())
        })?;
    }
    let code: Vec<(&Section, Option<&[u8]>)> = image
        .sections
        .iter()
        .map(|section| (section, ElfFile::section_bytes(&bytes, section)))
        .collect();
    sites.retain(|(last, _), _| instruction_at(&code, *last).is_some_and(call.is_direct));
    if sites.is_empty() {
        return Ok(None);
    }
    let callees: FxHashSet<u32> = sites.keys().map(|(_, to)| *to).collect();
    let instructions = sites.values().sum::<u64>() * u64::from(call.veneer_instructions);
    let count =
        |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    Ok(Some(format!(
        "{} of {} between flash and RAM {} farther than a call of this processor ({} MB): the \
         linker adds a veneer of {} bytes for each callee, in flash or in RAM, which the prediction \
         leaves out ({}{}); compile with -mlong-calls",
        count(sites.len() as u64, "recorded call"),
        count(callees.len() as u64, "function"),
        if sites.len() == 1 { "reaches" } else { "reach" },
        call.reach_bytes >> 20,
        call.veneer_bytes,
        count(instructions, "more instruction"),
        share_of_time(instructions, after)
    )))
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
    fn direct_calls_are_distinguished_from_others() {
        // bl 0, b.w 0, and ldr r3, [pc] before blx r3, of arm-none-eabi-as.
        assert!(is_thumb_call([0xff, 0xf7, 0xfe, 0xff]));
        assert!(is_thumb_call([0xff, 0xf7, 0xfe, 0xbf]));
        assert!(!is_thumb_call([0x00, 0x4b, 0x98, 0x47]));
        assert!(is_a64_call([0, 0, 0, 0x94]) && is_a64_call([0, 0, 0, 0x14]));
        assert!(!is_a64_call([0x60, 0, 0x3f, 0xd6]), "blr x3");
    }
}
