//! Functions listed by the tables for unwinding the stack, which stay in stripped programs.

use addr2line::gimli::{
    BaseAddresses, CieOrFde, EhFrame, EndianSlice, RunTimeEndian, UnwindSection,
};
use object::{Object, ObjectSection};

/// Bytes of an entry of `.ARM.exidx`: the start of a function, and how it is unwound.
const INDEX_ENTRY_BYTES: usize = 8;

/// First address of a function, and its length if the table has it.
pub type FunctionStart = (u64, Option<u64>);

/// Returns the functions in the tables of `file`, sorted by address. Damage ends a table without an
/// error, as programs run with it.
///
/// `.ARM.exidx` (Exception Handling ABI for the Arm Architecture, 5) has no lengths, and linkers
/// omit a function that is unwound like the one before it.
pub fn starts(file: &object::File<'_>) -> Vec<FunctionStart> {
    let mut starts = match file.architecture() {
        object::Architecture::Arm => index(file),
        _ => frames(file),
    };
    starts.sort_unstable();
    starts.dedup_by_key(|(address, _)| *address);
    starts
}

/// Returns the functions in `.ARM.exidx`.
fn index(file: &object::File<'_>) -> Vec<FunctionStart> {
    let Some(section) = file.section_by_name(".ARM.exidx") else { return Vec::new() };
    let Ok(data) = section.data() else { return Vec::new() };
    let entries = data.chunks_exact(INDEX_ENTRY_BYTES);
    (section.address()..)
        .step_by(INDEX_ENTRY_BYTES)
        .zip(entries)
        .map(|(at, entry)| {
            let word = [entry[0], entry[1], entry[2], entry[3]];
            let word =
                if file.is_little_endian() { u32::from_le_bytes } else { u32::from_be_bytes }(word);
            // The word is a signed distance of 31 bits from its own place. Bit 0 of an address means Thumb.
            let ahead = (word << 1) as i32 >> 1;
            ((at as u32).wrapping_add_signed(ahead) & !1, None)
        })
        .map(|(address, bytes)| (u64::from(address), bytes))
        .collect()
}

/// Returns the functions in `.eh_frame`.
fn frames(file: &object::File<'_>) -> Vec<FunctionStart> {
    let address = |name: &str| file.section_by_name(name).map(|section| section.address());
    let Some(section) = file.section_by_name(".eh_frame") else { return Vec::new() };
    let Ok(data) = section.uncompressed_data() else { return Vec::new() };
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let mut table = EhFrame::from(EndianSlice::new(&data, endian));
    table.set_address_size(if file.is_64() { 8 } else { 4 });
    let mut bases = BaseAddresses::default().set_eh_frame(section.address());
    if let Some(text) = address(".text") {
        bases = bases.set_text(text);
    }
    if let Some(got) = address(".got") {
        bases = bases.set_got(got);
    }
    let mut entries = table.entries(&bases);
    let mut starts = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        if let Ok(frame) = partial.parse(EhFrame::cie_from_offset)
            && frame.len() > 0
        {
            starts.push((frame.initial_address(), Some(frame.len())));
        }
    }
    starts
}
