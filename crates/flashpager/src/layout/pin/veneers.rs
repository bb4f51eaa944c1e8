//! Calls between flash and RAM that are out of a processor's reach. For each function called so the
//! linker adds code, a veneer, that the recorded program does not have.

use std::path::Path;

use flashpager_base::Result;
use flashpager_binary::elf::{ElfFile, read_bytes};
use flashpager_binary::program::ProgramFile;
use flashpager_layout::Units;
use flashpager_trace::{ExecutedRuns, Image, Run, Section, TraceInfo, for_runs};
use rustc_hash::FxHashSet;

use super::super::traces::TraceSet;

/// A direct call of a processor.
struct DirectCall {
    /// Bytes that it reaches, forward or backward.
    reach_bytes: u64,
    /// Bytes of the code that the linker adds for a function beyond.
    veneer_bytes: u32,
    /// Returns true if an instruction of 4 bytes is a direct call or jump.
    is_direct: fn([u8; 4]) -> bool,
}

impl DirectCall {
    /// The direct call of a program; `None` where calls reach everything or nothing is known.
    fn of(program: &ProgramFile) -> Option<Self> {
        match program.instruction_set.as_str() {
            // ldr.w pc, [pc] and the address; ARMv6-M has no such instruction, and saves a register.
            "ARMv7-M" | "ARMv7E-M" | "ARMv8-M.main" | "ARMv8.1-M.main" => {
                Some(Self { reach_bytes: 16 << 20, veneer_bytes: 8, is_direct: is_thumb_call })
            }
            "ARMv6-M" | "ARMv8-M.base" => {
                Some(Self { reach_bytes: 16 << 20, veneer_bytes: 16, is_direct: is_thumb_call })
            }
            _ if program.architecture == "aarch64" => {
                Some(Self { reach_bytes: 128 << 20, veneer_bytes: 12, is_direct: is_a64_call })
            }
            _ => None,
        }
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

/// States how many calls between flash and RAM need a veneer; `None` if no recorded one does, or the
/// recorded program is gone.
///
/// # Errors
/// Traces that cannot be read.
pub(super) fn note_of_veneers(
    traces: &TraceSet,
    units: &Units,
    pinned: &[u32],
) -> Result<Option<String>> {
    let info = traces.info();
    let Some((image, bytes)) = program_of(info) else { return Ok(None) };
    let Ok(program) = ProgramFile::parse(&bytes) else { return Ok(None) };
    let Some(call) = DirectCall::of(&program).filter(|call| is_out_of_reach(&program, image, call))
    else {
        return Ok(None);
    };
    let is_pinned: FxHashSet<usize> = pinned.iter().map(|number| *number as usize).collect();
    let mut sites: FxHashSet<(u32, usize)> = FxHashSet::default();
    for (_, trace) in traces.training() {
        let mut before: Option<Run> = None;
        for_runs(&ExecutedRuns(trace), &|| true, |runs| {
            for run in runs {
                let Some(last) = before.replace(*run).map(Run::last) else { continue };
                let (Some(from), Some(to)) = (units.owner(last), units.owner(run.offset)) else {
                    continue;
                };
                let is_entry = units.all()[to].offset == run.offset;
                if is_entry && is_pinned.contains(&from) != is_pinned.contains(&to) {
                    sites.insert((last, to));
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
    sites.retain(|(last, _)| instruction_at(&code, *last).is_some_and(call.is_direct));
    let callees: FxHashSet<usize> = sites.iter().map(|(_, to)| *to).collect();
    if sites.is_empty() {
        return Ok(None);
    }
    let count =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    Ok(Some(format!(
        "{} of {} between flash and RAM reach farther than a call of this processor ({} MB): the \
         linker adds a veneer of {} bytes for each callee, in flash or in RAM, which the prediction \
         leaves out; compile with -mlong-calls",
        count(sites.len(), "recorded call"),
        count(callees.len(), "function"),
        call.reach_bytes >> 20,
        call.veneer_bytes
    )))
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
    fn direct_calls_are_told_from_others() {
        // bl 0, b.w 0, and ldr r3, [pc] before blx r3, of arm-none-eabi-as.
        assert!(is_thumb_call([0xff, 0xf7, 0xfe, 0xff]));
        assert!(is_thumb_call([0xff, 0xf7, 0xfe, 0xbf]));
        assert!(!is_thumb_call([0x00, 0x4b, 0x98, 0x47]));
        assert!(is_a64_call([0, 0, 0, 0x94]) && is_a64_call([0, 0, 0, 0x14]));
        assert!(!is_a64_call([0x60, 0, 0x3f, 0xd6]), "blr x3");
    }
}
