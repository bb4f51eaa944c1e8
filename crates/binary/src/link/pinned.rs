//! Lists of sections for RAM, in the formats of several build systems.

use std::collections::BTreeMap;
use std::fmt::Write;

use flashpager_base::named;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::map::{InputSection, LinkMap};
use super::order::fragment_in_ram;

/// The format of a list of pinned sections, named after the tool that reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinFormat {
    /// This program: one unit on each line.
    #[default]
    Names,
    /// A linker script of GNU ld or lld, which includes the list in an output section in RAM.
    GnuLd,
    /// `objcopy @FILE`, for the sections that the Pico SDK's linker scripts put into RAM.
    PicoSdk,
    /// The linker fragments of ESP-IDF.
    EspIdf,
    /// A `CMakeLists.txt` of Zephyr.
    Zephyr,
}

named! {
    PinFormat: "unknown format of a list of pinned sections",
    "names" => Names,
    "gnu-ld" => GnuLd,
    "pico-sdk" => PicoSdk,
    "esp-idf" => EspIdf,
    "zephyr" => Zephyr,
}

impl PinFormat {
    /// Returns true if a boot loader copies the listed sections to RAM, before any code of the
    /// program runs.
    pub fn is_loaded(self) -> bool {
        match self {
            // The boot loader of ESP-IDF loads RAM segments.
            Self::EspIdf => true,
            Self::Names | Self::GnuLd | Self::PicoSdk | Self::Zephyr => false,
        }
    }
}

/// A list of pinned sections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PinText {
    /// The contents of its file.
    pub text: String,
    /// Sections of other objects that go to RAM, too, because they have the same name.
    pub ambiguous: Vec<String>,
    /// Sections that the format cannot express and that are not in the list.
    pub left_out: Vec<String>,
}

/// Writes the list of `pinned`, input sections of `map` with the unit names `names`.
pub fn pinned(
    map: &LinkMap,
    pinned: &[&InputSection],
    names: &[&str],
    format: PinFormat,
) -> PinText {
    match format {
        PinFormat::Names => {
            let text = names.iter().map(|name| format!("{name}\n")).collect();
            PinText { text, ..PinText::default() }
        }
        PinFormat::GnuLd => PinText { text: fragment_in_ram(map, pinned), ..PinText::default() },
        PinFormat::PicoSdk => pico_sdk(map, pinned, names),
        PinFormat::EspIdf => esp_idf(pinned, names),
        PinFormat::Zephyr => zephyr(pinned, names),
    }
}

/// Returns the function in a section; `None` for a section of several functions.
fn function(input: &InputSection) -> Option<&str> {
    input.name.strip_prefix(".text.").filter(|name| !name.is_empty())
}

/// Writes options of `objcopy` that rename sections to `.time_critical*`, which
/// `memmap_default.ld` puts into RAM. Linker scripts and sources stay unchanged. No section flags
/// are given: with flags that lack `contents`, objcopy fills the section with zeros.
fn pico_sdk(map: &LinkMap, pinned: &[&InputSection], names: &[&str]) -> PinText {
    let mut written = PinText::default();
    let mut seen = FxHashSet::default();
    for (input, name) in pinned.iter().zip(names) {
        let Some(function) = function(input) else {
            written.left_out.push((*name).to_owned());
            continue;
        };
        if !seen.insert(function) {
            continue;
        }
        let _ =
            writeln!(written.text, "--rename-section .text.{function}=.time_critical.{function}");
        let others = map.inputs.iter().filter(|other| {
            other.name == input.name && !pinned.iter().any(|one| one.address == other.address)
        });
        written.ambiguous.extend(others.map(|other| format!("{}({})", other.file, other.name)));
    }
    written
}

/// Returns `card` for `src/card.c.obj` and `card.o`.
fn stem(object: &str) -> &str {
    let file = object.rsplit('/').next().unwrap_or(object);
    file.split('.').next().unwrap_or(file)
}

/// Returns true if a name of a symbol is an identifier, as ldgen of ESP-IDF requires. Parts and copies
/// of functions have others, as `f.constprop.0`.
fn is_identifier(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns true if ldgen takes the name of an object.
fn is_object(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Writes a mapping for each archive, with an entry `object:symbol (noflash)` for each function.
fn esp_idf(pinned: &[&InputSection], names: &[&str]) -> PinText {
    let mut written = PinText::default();
    let mut by_archive: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (input, name) in pinned.iter().zip(names) {
        let archive = input.file.rsplit('/').next().unwrap_or(&input.file);
        match function(input) {
            Some(function) if is_identifier(function) && is_object(stem(&input.member)) => {
                let entry = format!("    {}:{function} (noflash)\n", stem(&input.member));
                by_archive.entry(archive).or_default().push(entry);
            }
            _ => written.left_out.push((*name).to_owned()),
        }
    }
    for (archive, entries) in by_archive {
        let name: String = stem(archive)
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let _ = write!(
            written.text,
            "[mapping:flashpager_{name}]\narchive: {archive}\nentries:\n{}\n",
            entries.concat()
        );
    }
    written
}

/// Returns the source file of an object, which CMake calls `CMakeFiles/app.dir/src/main.c.obj`.
fn source(input: &InputSection) -> Option<&str> {
    let object = if input.member.is_empty() { &input.file } else { &input.member };
    let object = object.rsplit_once(".dir/").map_or(object.as_str(), |(_, behind)| behind);
    let source = object.strip_suffix(".obj").or_else(|| object.strip_suffix(".o"))?;
    let file = source.rsplit('/').next().unwrap_or(source);
    file.contains('.').then_some(source)
}

/// Writes a call of `zephyr_code_relocate` for each source file, with a filter for its functions.
fn zephyr(pinned: &[&InputSection], names: &[&str]) -> PinText {
    let mut written = PinText::default();
    let mut by_source: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (input, name) in pinned.iter().zip(names) {
        match (source(input), function(input)) {
            (Some(source), Some(function)) => {
                by_source.entry(source).or_default().push(format!(".*\\\\.text\\\\.{function}$"));
            }
            _ => written.left_out.push((*name).to_owned()),
        }
    }
    for (source, filters) in by_source {
        let _ = writeln!(
            written.text,
            "zephyr_code_relocate(FILES {source} FILTER \"{}\" LOCATION RAM)",
            filters.join("|")
        );
    }
    written
}

#[cfg(test)]
mod tests {
    use super::super::map::Linker;
    use super::*;

    fn input(file: &str, member: &str, name: &str, address: u64) -> InputSection {
        InputSection {
            file: file.into(),
            member: member.into(),
            name: name.into(),
            output: ".text".into(),
            address,
            bytes: 4,
            bytes_before: None,
            align: 4,
            statement: String::new(),
        }
    }

    fn written(format: PinFormat) -> PinText {
        let inputs = vec![
            input("esp-idf/main/libmain.a", "card.c.obj", ".text.transact", 0),
            input("esp-idf/main/libmain.a", "card.c.obj", ".text.helper", 4),
            input("app/CMakeFiles/app.dir/src/radio.c.obj", "", ".text.helper", 8),
            input("x/libc.a", "memcpy.o", ".text", 12),
        ];
        let map = LinkMap::new(Linker::GnuLd, Vec::new(), inputs, Vec::new());
        let one = |at: usize| &map.inputs[at];
        pinned(&map, &[one(0), one(2), one(3)], &["transact", "helper", "memcpy"], format)
    }

    #[test]
    fn the_pico_sdk_renames_sections() {
        let PinText { text, ambiguous, left_out } = written(PinFormat::PicoSdk);
        assert_eq!(
            text,
            "--rename-section .text.transact=.time_critical.transact\n\
             --rename-section .text.helper=.time_critical.helper\n"
        );
        assert_eq!(ambiguous, ["esp-idf/main/libmain.a(.text.helper)"]);
        assert_eq!(left_out, ["memcpy"]);
    }

    #[test]
    fn esp_idf_maps_symbols_of_archives() {
        let PinText { text, left_out, .. } = written(PinFormat::EspIdf);
        assert_eq!(
            text,
            "[mapping:flashpager_libmain]\narchive: libmain.a\nentries:\n    \
             card:transact (noflash)\n\n"
        );
        assert_eq!(left_out, ["helper", "memcpy"]);
    }

    #[test]
    fn esp_idf_leaves_out_what_ldgen_refuses() {
        let inputs = vec![
            input("libmain.a", "card.c.obj", ".text.transact.constprop.0", 0),
            input("libmain.a", "3des.c.obj", ".text.encrypt", 4),
            input("libmain.a", "card-io.c.obj", ".text.send", 8),
        ];
        let map = LinkMap::new(Linker::GnuLd, Vec::new(), inputs, Vec::new());
        let all: Vec<&InputSection> = map.inputs.iter().collect();
        let names = ["transact.constprop.0", "encrypt", "send"];
        let PinText { text, left_out, .. } = pinned(&map, &all, &names, PinFormat::EspIdf);
        assert_eq!(left_out, ["transact.constprop.0", "encrypt"]);
        assert!(text.ends_with("entries:\n    card-io:send (noflash)\n\n"), "{text}");
    }

    #[test]
    fn zephyr_relocates_functions_of_files() {
        let PinText { text, left_out, .. } = written(PinFormat::Zephyr);
        assert_eq!(
            text,
            "zephyr_code_relocate(FILES card.c FILTER \".*\\\\.text\\\\.transact$\" LOCATION RAM)\n\
             zephyr_code_relocate(FILES src/radio.c FILTER \".*\\\\.text\\\\.helper$\" LOCATION RAM)\n"
        );
        assert_eq!(left_out, ["memcpy"]);
    }

    #[test]
    fn linker_scripts_name_each_section() {
        let text = written(PinFormat::GnuLd).text;
        assert!(text.contains("*libmain.a:card.c.obj(.text.transact)\n"), "{text}");
        assert!(text.contains("radio.c.obj(.text.helper)\n"), "{text}");
        assert!(!text.contains(". ="), "{text}");
    }
}
