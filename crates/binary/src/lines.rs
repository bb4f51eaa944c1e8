//! Source lines, from DWARF.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use addr2line::Context;
use addr2line::gimli::{DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use flashpager_base::shown;
use flashpager_trace::Section;
use object::{CompressionFormat, Object, ObjectSection};

use super::names::{bounded, demangled};

/// Largest size of the uncompressed debug information, in bytes.
const MAX_UNPACKED_BYTES: u64 = 2 << 30;

/// A source line.
pub struct SourceLine {
    /// The file, by the path that the compiler was called with.
    pub file: Arc<str>,
    /// Number of the line, counted from 1.
    pub line: u32,
    /// The innermost function around it; it may have been inlined.
    pub function: Option<Arc<str>>,
}

/// The source lines of an image.
#[derive(Default)]
pub struct SourceLines {
    /// The lines, each once.
    pub lines: Vec<SourceLine>,
    /// Flash offsets and the index of their line, not sorted.
    pub spans: Vec<(Range<u64>, usize)>,
}

impl SourceLines {
    /// Reads the lines of `sections` from the DWARF in the ELF file `bytes`.
    ///
    /// # Errors
    /// If the DWARF is damaged or has no lines for the sections, in words.
    pub fn of(bytes: &[u8], sections: &[Section]) -> Result<Self, String> {
        let (dwarf, endian) = dwarf_of(bytes)?;
        let context = Context::from_dwarf(dwarf.borrow(|data| EndianSlice::new(data, endian)))
            .map_err(|e| damaged(&e))?;
        let mut lines = Self::default();
        let mut texts = BTreeMap::<String, Arc<str>>::new();
        let mut text = |text: String| {
            Arc::clone(texts.entry(text).or_insert_with_key(|text| Arc::from(text.as_str())))
        };
        let mut known = BTreeMap::<(Arc<str>, u32), usize>::new();
        for section in sections {
            let start = section.address;
            let end = start.saturating_add(u64::from(section.bytes));
            let rows = context.find_location_range(start, end).map_err(|e| damaged(&e))?;
            for (address, length, location) in rows {
                let (from, until) = (address.max(start), address.saturating_add(length).min(end));
                let (Some(file), Some(line), true) = (location.file, location.line, from < until)
                else {
                    continue;
                };
                // Every row takes at least one byte of an undamaged file.
                if lines.spans.len() > bytes.len().saturating_mul(4) {
                    return Err(damaged(&"its lines repeat without end"));
                }
                let offset = |address: u64| u64::from(section.offset) + (address - start);
                let file = text(bounded(file));
                let index = *known.entry((Arc::clone(&file), line)).or_insert_with(|| {
                    let function = function_at(&context, from).map(&mut text);
                    lines.lines.push(SourceLine { file, line, function });
                    lines.lines.len() - 1
                });
                lines.spans.push((offset(from)..offset(until), index));
            }
        }
        if lines.spans.is_empty() {
            return Err(
                "has no DWARF line table for the recorded code: compile it with -g, or name \
                        an ELF file of the same code that has one (--elf)"
                    .into(),
            );
        }
        Ok(lines)
    }
}

/// A file's sections of debug information, uncompressed.
type Unpacked<'data> = DwarfSections<Cow<'data, [u8]>>;

/// Reads the debug information of an ELF file. Returns it with the byte order.
pub(crate) fn dwarf_of(bytes: &[u8]) -> Result<(Unpacked<'_>, RunTimeEndian), String> {
    let file = object::File::parse(bytes).map_err(|e| damaged(&e))?;
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let mut left = MAX_UNPACKED_BYTES;
    Ok((DwarfSections::load(|id| unpacked(&file, id, &mut left))?, endian))
}

/// Returns the demangled name of the innermost function at `address`.
fn function_at(context: &Context<EndianSlice<'_, RunTimeEndian>>, address: u64) -> Option<String> {
    Some(demangled(&linked_name_at(context, address)?))
}

/// Returns the name of the innermost function at `address` as the linker has it.
pub(crate) fn linked_name_at(
    context: &Context<EndianSlice<'_, RunTimeEndian>>,
    address: u64,
) -> Option<String> {
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    let function = frames.next().ok()??.function?;
    Some(function.raw_name().ok()?.into_owned())
}

/// Returns the uncompressed bytes of a section; no bytes if the file lacks it. `left` is the
/// number of bytes that may still be uncompressed.
fn unpacked<'data>(
    file: &object::File<'data>,
    id: SectionId,
    left: &mut u64,
) -> Result<Cow<'data, [u8]>, String> {
    let Some(section) = file.section_by_name(id.name()) else { return Ok(Cow::Borrowed(&[])) };
    let packed = section.compressed_data().map_err(|e| damaged(&e))?;
    let limit = packed.uncompressed_size;
    let unpack = |reader: &mut dyn Read| {
        let mut bytes = Vec::new();
        reader.take(limit).read_to_end(&mut bytes).map_err(|e| damaged(&e))?;
        Ok(Cow::Owned(bytes))
    };
    if packed.format == CompressionFormat::None {
        return Ok(Cow::Borrowed(packed.data));
    }
    *left = left.checked_sub(limit).ok_or_else(|| damaged(&"it unpacks to over 2 GiB"))?;
    match packed.format {
        CompressionFormat::Zlib => unpack(&mut flate2::read::ZlibDecoder::new(packed.data)),
        CompressionFormat::Zstandard => {
            unpack(&mut zstd::Decoder::new(packed.data).map_err(|e| damaged(&e))?)
        }
        _ => Err(format!("its section {} is packed in an unknown way", id.name())),
    }
}

pub(crate) fn damaged(reason: &dyn std::fmt::Display) -> String {
    format!("its debug information is damaged ({})", shown(reason))
}
