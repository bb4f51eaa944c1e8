//! The map of Arm's armlink (`--map`, and `--list=FILE` for a file), whose part "Memory Map of the
//! image" has a table of input sections for each execution region. An execution region is a section
//! of the program with the same name. The table has neither alignments nor folders of objects.

use super::map::{InputSection, LinkMap, Linker, OutputSection};

const TITLE: &str = "Memory Map of the image";
/// Columns of each table, the last of which is the object.
const SECTION_COLUMN: &str = "Section Name";
/// A column that newer tables have behind the first one.
const LOAD_COLUMN: &str = "Load Addr";

/// Parses the text of a map; `None` for any other text.
///
/// # Errors
/// If a line of the table is not understood. The message begins with a verb.
pub(super) fn parse(text: &str) -> Option<Result<LinkMap, String>> {
    let mut lines = text.lines().enumerate();
    lines.find(|(_, line)| line.trim() == TITLE)?;
    let mut outputs: Vec<OutputSection> = Vec::new();
    let mut inputs: Vec<InputSection> = Vec::new();
    let mut has_load_column = false;
    for (number, line) in lines {
        let line = line.trim();
        if line.starts_with("====") || line.starts_with("Image component sizes") {
            break;
        }
        if line.contains(SECTION_COLUMN) {
            has_load_column = line.contains(LOAD_COLUMN);
            continue;
        }
        let refused = |what: &str| Some(Err(format!("has {what} in line {}", number + 1)));
        if let Some(region) = line.strip_prefix("Execution Region ") {
            match execution_region(region) {
                Some(output) => outputs.push(output),
                None => return refused("an execution region without name, address or size"),
            }
        } else if line.starts_with("0x") {
            let Some(output) = outputs.last() else {
                return refused("an input section in no execution region");
            };
            match row(line, has_load_column) {
                Some(TableRow::Padding) => {}
                Some(TableRow::Section { address, bytes, name, object }) => {
                    let input = InputSection::listed(output, object, name, address, bytes);
                    let end = output.address.saturating_add(output.bytes);
                    if bytes > 0 && (address < output.address || input.end() > end) {
                        return refused("an input section outside of its execution region");
                    }
                    inputs.push(input);
                }
                None => return refused("an input section without name, address, size or object"),
            }
        }
    }
    Some(Ok(LinkMap::new(Linker::Armlink, outputs, inputs, Vec::new())))
}

/// Parses `ER_IROM1 (Exec base: 0x08000000, Load base: 0x08000000, Size: 0x00000a50, …)`. Older
/// linkers write `Base` for `Exec base`.
fn execution_region(text: &str) -> Option<OutputSection> {
    let (name, properties) = text.split_once(" (")?;
    let property = |key: &str| {
        let values = properties.split([',', ')']).filter_map(|one| one.trim().split_once(": "));
        values.into_iter().find(|(name, _)| *name == key).and_then(|(_, value)| hexadecimal(value))
    };
    let address = property("Exec base").or_else(|| property("Base"))?;
    let (name, bytes) = (name.trim().to_owned(), property("Size")?);
    (!name.is_empty()).then_some(OutputSection { name, address, bytes, align: 0 })
}

/// A row of a table.
enum TableRow<'a> {
    /// Bytes between two sections.
    Padding,
    Section {
        address: u64,
        bytes: u64,
        name: &'a str,
        object: &'a str,
    },
}

/// Parses a row: address, load address if the table has it, size, type, attribute, index, an asterisk
/// at entry points, name, and object. The load address may be a word.
fn row(line: &str, has_load_column: bool) -> Option<TableRow<'_>> {
    let mut rest = line;
    let mut word = || {
        let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = behind.trim_start();
        word
    };
    let address = hexadecimal(word())?;
    if has_load_column {
        word();
    }
    let bytes = hexadecimal(word())?;
    if word() == "PAD" {
        return rest.is_empty().then_some(TableRow::Padding);
    }
    let (_attribute, index) = (word(), word());
    index.parse::<u64>().ok()?;
    let named = rest.strip_prefix("* ").unwrap_or(rest).trim_start();
    // Two spaces at least follow a name, which may be longer than its column.
    let (name, object) = named.split_once("  ").or_else(|| named.rsplit_once(' '))?;
    let object = object.trim();
    (!object.is_empty()).then_some(TableRow::Section { address, bytes, name, object })
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
Component: Arm Compiler for Embedded 6.21 Tool: armlink [5ec1fa00]

==============================================================================

Memory Map of the image

  Image Entry point : 0x00000041

  Load Region LR_FLASH (Base: 0x00000000, Size: 0x00000070, Max: 0x00040000, ABSOLUTE)

    Execution Region ER_FLASH (Exec base: 0x00000000, Load base: 0x00000000, Size: 0x00000068, Max: 0x00040000, ABSOLUTE)

    Exec Addr    Load Addr    Size         Type   Attr      Idx    E Section Name        Object

    0x00000000   0x00000000   0x00000040   Data   RO            1  * RESET               startup.o
    0x00000040   0x00000040   0x0000000a   Code   RO           12    .text.main          card.o
    0x0000004a   0x0000004a   0x00000002   PAD
    0x0000004c   0x0000004c   0x00000010   Code   RO           14    .text.a_name_beyond_its_column  card.o
    0x0000005c   0x0000005c   0x0000000c   Code   RO          102    .text               c_w.l(memcpy.o)

    Execution Region RW_RAM (Exec base: 0x20000000, Load base: 0x00000068, Size: 0x00000018, Max: 0x00010000, ABSOLUTE)

    **** No section assigned to this execution region ****

    Exec Addr    Load Addr    Size         Type   Attr      Idx    E Section Name        Object

    0x20000000   COMPRESSED   0x00000008   Data   RW           15    .data.count         card.o
    0x20000008        -       0x00000010   Zero   RW           16    .bss.slots          card.o


==============================================================================

Image component sizes

    0x1 is no row
";

    fn listed(text: &str) -> Vec<(String, String, String, u64, u64)> {
        let map = parse(text).unwrap().unwrap();
        assert_eq!(map.linker, Linker::Armlink);
        let all = map.inputs.iter();
        all.map(|one| {
            (one.name.clone(), one.file.clone(), one.member.clone(), one.address, one.bytes)
        })
        .collect()
    }

    fn section(
        name: &str,
        file: &str,
        member: &str,
        address: u64,
        bytes: u64,
    ) -> (String, String, String, u64, u64) {
        (name.into(), file.into(), member.into(), address, bytes)
    }

    #[test]
    fn sections_have_their_region_object_and_archive() {
        let map = parse(MAP).unwrap().unwrap();
        let regions: Vec<_> =
            map.outputs.iter().map(|one| (one.name.as_str(), one.address, one.bytes)).collect();
        assert_eq!(regions, [("ER_FLASH", 0, 0x68), ("RW_RAM", 0x2000_0000, 0x18)]);
        assert_eq!(
            listed(MAP),
            [
                section("RESET", "startup.o", "", 0, 0x40),
                section(".text.main", "card.o", "", 0x40, 0xa),
                section(".text.a_name_beyond_its_column", "card.o", "", 0x4c, 0x10),
                section(".text", "c_w.l", "memcpy.o", 0x5c, 0xc),
                section(".data.count", "card.o", "", 0x2000_0000, 8),
                section(".bss.slots", "card.o", "", 0x2000_0008, 0x10),
            ]
        );
        assert_eq!(map.inputs[4].output, "RW_RAM");
    }

    #[test]
    fn older_tables_have_one_address() {
        let text = "\
  Memory Map of the image
    Execution Region ER_RO (Base: 0x08000000, Size: 0x00000018, Max: 0xffffffff, ABSOLUTE)
    Base Addr    Size         Type   Attr      Idx    E Section Name        Object
    0x08000000   0x00000008   Code   RO            7  * !!!main             c_w.l(__main.o)
    0x08000008   0x00000010   Code   RO           21    i.main              card.o
";
        assert_eq!(
            listed(text),
            [
                section("!!!main", "c_w.l", "__main.o", 0x0800_0000, 8),
                section("i.main", "card.o", "", 0x0800_0008, 16),
            ]
        );
        let map = parse(text).unwrap().unwrap();
        assert!(!map.inputs[0].is_movable() && map.inputs[1].is_movable());
    }

    #[test]
    fn lines_that_are_not_understood_are_refused() {
        for (from, to, what) in [
            ("   card.o", "", "without name, address, size or object in line 16"),
            ("0x0000000a", "0x0000000g", "without name"),
            ("0x0000000a", "0x0000100a", "outside of its execution region"),
            ("Size: 0x00000068", "Size: unknown", "an execution region without name"),
        ] {
            let damaged = MAP.replacen(from, to, 1);
            let error = parse(&damaged).unwrap().unwrap_err();
            assert!(error.contains(what), "{error}");
        }
        let regions = "    Execution Region";
        let without = MAP.replace(regions, "    Region");
        assert!(parse(&without).unwrap().unwrap_err().contains("in no execution region"));
    }

    #[test]
    fn any_other_text_is_no_map() {
        assert!(parse("").is_none() && parse("Memory map\n").is_none());
    }
}
