//! The places of a program where a processor begins: the entry of its ELF file and its vector table.

use std::path::Path;

use flashpager_base::{Error, shown};
use flashpager_trace::Image;
use object::{Object, ObjectSection, ObjectSymbol};

use crate::binaries::Binary;

/// Sections that hold nothing but a vector table, as vendors' linker scripts name them.
const TABLE_SECTIONS: [&str; 8] = [
    ".isr_vector",
    ".isr_vectors",
    ".vectors",
    ".vector_table",
    ".intvec",
    ".intvecs",
    ".interrupts",
    ".exc_vectors",
];
/// Symbols of a vector table, as vendors' start-up files name them.
const TABLE_SYMBOLS: [&str; 11] = [
    "g_pfnVectors",
    "__isr_vector",
    "__Vectors",
    "__vectors",
    "_vectors",
    "vectors",
    "__vector_table",
    "_vector_table",
    "vector_table",
    "__VECTOR_TABLE",
    "exception_table",
];

/// The reason for which a place is needed before any code of the program has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootKind {
    /// The entry of the ELF file.
    Entry,
    /// The reset handler of the vector table of a Cortex-M, which is its word 1.
    ResetHandler,
    /// The vector table itself.
    VectorTable,
}

/// A place that the processor needs before any code of the program has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootPoint {
    /// Offset in the flash image.
    pub offset: u32,
    /// The reason.
    pub kind: BootKind,
}

/// Returns the places in flash where the program of `image` begins. Reads the recorded file.
///
/// # Errors
/// If the file is gone or is not the recorded one. The message follows the name of the file.
pub fn boot_points(image: &Image) -> Result<Vec<BootPoint>, String> {
    let binary = Binary::read(Path::new(&image.path)).map_err(|error| error.to_string())?;
    if let Some(how) = binary.differs_from(image) {
        return Err(format!("{} is not the file that was recorded ({how})", shown(&image.path)));
    }
    if let Some(moved) = binary.elf.moved(image) {
        let moved = shown(moved);
        return Err(format!("{}, where {moved} lies elsewhere than recorded", shown(&image.path)));
    }
    let in_flash = |(address, kind): (u64, BootKind)| {
        let offset = image.sections.iter().find_map(|section| section.offset_of(address))?;
        Some(BootPoint { offset, kind })
    };
    Ok(addresses(&binary.bytes).into_iter().filter_map(in_flash).collect())
}

/// Refuses images with code that the program copies to RAM. Files that cannot be read, or are others
/// than the recorded, are not checked.
///
/// # Errors
/// If a section does not run where it is stored.
pub fn refuse_copies(images: &[Image]) -> flashpager_base::Result<()> {
    for image in images {
        let Ok(binary) = Binary::read(Path::new(&image.path)) else { continue };
        if binary.differs_from(image).is_some() {
            continue;
        }
        if let Some(copy) = binary.elf.copy_in_ram(&image.sections) {
            let message =
                format!("{copy}, but the trace has it in flash; record it anew without --section");
            return Err(Error::data(shown(&image.path), message));
        }
    }
    Ok(())
}

/// Returns the linked addresses where the program in the ELF file `contents` begins.
fn addresses(contents: &[u8]) -> Vec<(u64, BootKind)> {
    let Ok(file) = object::File::parse(contents) else { return Vec::new() };
    let is_arm = file.architecture() == object::Architecture::Arm;
    let code = |address: u64| if is_arm { address & !1 } else { address };
    let mut addresses = vec![(code(file.entry()), BootKind::Entry)];
    if !is_arm {
        return addresses;
    }
    for table in tables(&file) {
        if let Some(reset) = reset_handler(&file, table) {
            addresses
                .extend([(table, BootKind::VectorTable), (code(reset), BootKind::ResetHandler)]);
        }
    }
    addresses
}

/// Returns the addresses where a vector table may lie: by name, and the start of the code.
fn tables(file: &object::File<'_>) -> Vec<u64> {
    let is_code = |section: &object::Section<'_, '_>| section.kind() == object::SectionKind::Text;
    let named = file.sections().filter(|section| {
        section.name().is_ok_and(|name| TABLE_SECTIONS.contains(&name)) && section.size() > 0
    });
    let first = file.sections().filter(is_code).filter(|section| section.size() > 0);
    let symbols = file
        .symbols()
        .filter(|symbol| symbol.name().is_ok_and(|name| TABLE_SYMBOLS.contains(&name)));
    let mut addresses: Vec<u64> = named.map(|section| section.address()).collect();
    addresses.extend(symbols.map(|symbol| symbol.address()));
    addresses.extend(first.map(|section| section.address()).min());
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Returns the reset handler of the vector table at `table`. `None` if what lies there is no table:
/// its word 0 is a stack pointer, its word 1 the address of Thumb code.
fn reset_handler(file: &object::File<'_>, table: u64) -> Option<u64> {
    let section = file
        .sections()
        .find(|section| table >= section.address() && table - section.address() < section.size())?;
    let bytes = section.data().ok()?.get((table - section.address()) as usize..)?;
    let word = |at: usize| {
        let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        let value = if file.is_little_endian() {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        };
        Some(u64::from(value))
    };
    let (stack, reset) = (word(0)?, word(4)?);
    let is_code = file.sections().any(|section| {
        section.kind() == object::SectionKind::Text
            && reset >= section.address()
            && reset - section.address() < section.size()
    });
    (stack != 0 && stack % 4 == 0 && reset % 2 == 1 && is_code).then_some(reset)
}
