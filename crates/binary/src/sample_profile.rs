//! Sample profiles: the number of times that source lines were executed, in the text form that
//! LLVM's compilers read (`-fprofile-sample-use`). The comment at the head of
//! `llvm/ProfileData/SampleProfReader.h` describes it.
//!
//! ```text
//! main:184019:0
//!  4: 534
//!  4.2: 534
//! ```
//!
//! Lines are counted from the line of the function. The number behind the point is the
//! discriminator, which distinguishes blocks of one line.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use addr2line::Context;
use addr2line::gimli::{
    self, AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, RunTimeEndian, Unit,
    UnitOffset,
};
use flashpager_trace::Section;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::lines::{damaged, dwarf_of, linked_name_at};
use super::names::bounded;

type DwarfReader<'data> = EndianSlice<'data, RunTimeEndian>;
/// Line, counted from that of the function, and discriminator.
type LineOffset = (u64, u64);

/// A sample profile of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SampleProfile {
    /// The text of the profile.
    pub text: String,
    /// Number of functions in it.
    pub functions: usize,
    /// Number of functions that are left out because they have no sample or no lines.
    pub left_out: usize,
}

/// Counts of lines.
#[derive(Default)]
struct LineSamples {
    /// Executions of each line, by function.
    functions: BTreeMap<String, BTreeMap<LineOffset, u64>>,
}

/// Profiles the code in `sections` by the DWARF in the ELF file `bytes`. `times` returns the number
/// of times that the most executed of some flash offsets was executed. Inlined functions are
/// profiled as functions of their own. Functions with the same name, such as statics of several
/// files, are profiled together.
///
/// # Errors
/// If the DWARF is damaged or has no lines for the sections, in words.
pub fn profile(
    bytes: &[u8],
    sections: &[Section],
    times: &dyn Fn(Range<u64>) -> u64,
) -> Result<SampleProfile, String> {
    let (sections_of_dwarf, endian) = dwarf_of(bytes)?;
    let dwarf = sections_of_dwarf.borrow(|data| EndianSlice::new(data, endian));
    let context =
        Context::from_dwarf(sections_of_dwarf.borrow(|data| EndianSlice::new(data, endian)))
            .map_err(|e| damaged(&e))?;
    let mut samples = LineSamples::default();
    let mut heads: FxHashMap<String, u64> = FxHashMap::default();
    let mut begins: FxHashMap<String, u64> = FxHashMap::default();
    let mut rows = 0;
    let mut units = dwarf.units();
    while let Some(header) = units.next().map_err(|e| damaged(&e))? {
        let unit = dwarf.unit(header).map_err(|e| damaged(&e))?;
        let is_llvm = declared(&dwarf, &unit, &mut begins, &mut heads, sections, times)?;
        rows +=
            add_lines(&unit, sections, times, is_llvm, |address, line, discriminator, count| {
                let Some(name) = linked_name_at(&context, address) else { return };
                let function = samples.functions.entry(bounded(&name)).or_default();
                let most = function.entry((line, discriminator)).or_default();
                *most = (*most).max(count);
            })?;
        if rows > bytes.len().saturating_mul(4) {
            return Err(damaged(&"its lines repeat without end"));
        }
    }
    if rows == 0 {
        return Err("has no DWARF line table for the recorded code: compile it with -g, or name \
                    an ELF file of the same code that has one (--elf)"
            .into());
    }
    Ok(samples.text(&begins, &heads))
}

impl LineSamples {
    fn text(
        self,
        begins: &FxHashMap<String, u64>,
        heads: &FxHashMap<String, u64>,
    ) -> SampleProfile {
        let mut profile = SampleProfile::default();
        for (name, lines) in self.functions {
            let begin = begins.get(&name).copied();
            let lines: Vec<(LineOffset, u64)> = lines
                .into_iter()
                .filter_map(|((line, discriminator), count)| {
                    Some(((line.checked_sub(begin?)?, discriminator), count))
                })
                .collect();
            let all: u64 = lines.iter().map(|(_, count)| count).sum();
            // In the text form a name ends at a colon.
            if all == 0 || name.contains([':', '\n', ' ']) {
                profile.left_out += 1;
                continue;
            }
            profile.functions += 1;
            let head = heads.get(&name).copied().unwrap_or(0);
            let _ = writeln!(profile.text, "{name}:{all}:{head}");
            for ((line, discriminator), count) in lines {
                let _ = match discriminator {
                    0 => writeln!(profile.text, " {line}: {count}"),
                    _ => writeln!(profile.text, " {line}.{discriminator}: {count}"),
                };
            }
        }
        profile
    }
}

/// Returns the flash offset of an address, and the end of its section in flash.
fn offset_of(sections: &[Section], address: u64) -> Option<(u64, u64)> {
    sections
        .iter()
        .find_map(|section| Some((u64::from(section.offset_of(address)?), section.end())))
}

/// Passes the rows of a unit's line table to `take`: address, line, discriminator and number of
/// executions. Returns the number of rows.
fn add_lines(
    unit: &Unit<DwarfReader<'_>>,
    sections: &[Section],
    times: &dyn Fn(Range<u64>) -> u64,
    is_llvm: bool,
    mut take: impl FnMut(u64, u64, u64, u64),
) -> Result<usize, String> {
    let Some(program) = unit.line_program.clone() else { return Ok(0) };
    let mut rows = program.rows();
    let mut count = 0;
    let mut before: Option<(u64, u64, u64)> = None;
    while let Some((_, row)) = rows.next_row().map_err(|e| damaged(&e))? {
        if let Some((address, line, discriminator)) = before
            && let Some((offset, end)) = offset_of(sections, address)
        {
            let bytes = row.address().saturating_sub(address).min(end - offset);
            if bytes > 0 {
                count += 1;
                take(address, line, discriminator, times(offset..offset + bytes));
            }
        }
        let line = row.line().filter(|_| !row.end_sequence()).map(|line| line.get());
        let discriminator = if is_llvm { base_discriminator(row.discriminator()) } else { 0 };
        before = line.map(|line| (row.address(), line, discriminator));
    }
    Ok(count)
}

/// Returns the part of a discriminator that distinguishes blocks. The rest states how often LLVM
/// copied them (`llvm/IR/DebugInfoMetadata.h`, `decodeDiscriminator`).
fn base_discriminator(encoded: u64) -> u64 {
    if encoded & 1 == 1 {
        return 0;
    }
    let rest = encoded >> 1;
    if rest & 0x20 == 0 { rest & 0x1f } else { (rest >> 1) & 0xfe0 | rest & 0x1f }
}

/// Reads the functions of a unit: adds the lines on which they are declared to `begins`, and the
/// number of times that they were entered to `heads`. Returns whether LLVM compiled the unit.
fn declared(
    dwarf: &Dwarf<DwarfReader<'_>>,
    unit: &Unit<DwarfReader<'_>>,
    begins: &mut FxHashMap<String, u64>,
    heads: &mut FxHashMap<String, u64>,
    sections: &[Section],
    times: &dyn Fn(Range<u64>) -> u64,
) -> Result<bool, String> {
    let mut is_llvm = false;
    let mut named: FxHashMap<UnitOffset, String> = FxHashMap::default();
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs().map_err(|e| damaged(&e))? {
        if entry.tag() == gimli::DW_TAG_compile_unit {
            let producer = entry.attr_value(gimli::DW_AT_producer);
            let producer = producer.and_then(|value| dwarf.attr_string(unit, value).ok());
            is_llvm = producer.is_some_and(|text| text.to_string_lossy().contains("clang"));
        }
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        let refers = |attribute| match entry.attr_value(attribute) {
            Some(AttributeValue::UnitRef(at)) => named.get(&at).cloned(),
            _ => None,
        };
        let name = name_of(dwarf, unit, entry)
            .or_else(|| refers(gimli::DW_AT_specification))
            .or_else(|| refers(gimli::DW_AT_abstract_origin));
        let Some(name) = name else { continue };
        named.insert(entry.offset(), name.clone());
        let is_declaration = entry.attr_value(gimli::DW_AT_declaration).is_some();
        let line = entry.attr_value(gimli::DW_AT_decl_line).and_then(|value| value.udata_value());
        if let (Some(line), false) = (line, is_declaration) {
            begins.entry(name.clone()).or_insert(line);
        }
        let begin = match entry.attr_value(gimli::DW_AT_low_pc) {
            Some(value) => dwarf.attr_address(unit, value).map_err(|e| damaged(&e))?,
            None => None,
        };
        if let Some((offset, _)) = begin.and_then(|address| offset_of(sections, address)) {
            *heads.entry(name).or_default() += times(offset..offset + 1);
        }
    }
    Ok(is_llvm)
}

/// Returns the name of a function as the linker has it.
fn name_of(
    dwarf: &Dwarf<DwarfReader<'_>>,
    unit: &Unit<DwarfReader<'_>>,
    entry: &DebuggingInformationEntry<DwarfReader<'_>>,
) -> Option<String> {
    let text = |attribute| {
        let value = entry.attr_value(attribute)?;
        Some(bounded(&dwarf.attr_string(unit, value).ok()?.to_string_lossy()))
    };
    text(gimli::DW_AT_linkage_name).or_else(|| text(gimli::DW_AT_name))
}

#[cfg(test)]
mod tests {
    use super::base_discriminator;

    #[test]
    fn discriminators_are_decoded_as_llvm_encodes_them() {
        // Base 0 has no bits; bases below 32 take seven, the last of them 0.
        for (encoded, base) in [(0, 0), (1, 0), (2, 1), (6, 3), (0x3e, 31), (0x40 | 0x80, 0x20)] {
            assert_eq!(base_discriminator(encoded), base, "{encoded:#x}");
        }
    }
}
