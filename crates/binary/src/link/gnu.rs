//! The map of GNU ld (`-Wl,-Map=FILE`), as `ld/ldlang.c` of binutils prints it, and that of gold, as
//! `gold/mapfile.cc` prints it. Gold has the same columns, another header and no statements.

use super::map::{InputSection, LinkMap, Linker, OutputSection, Padding};

const HEADER: &str = "Linker script and memory map";
const GOLD_HEADER: &str = "Memory map";

/// A listed section. If its name is too long for its column, its numbers are in the next line.
enum ListedSection<'a> {
    Nothing,
    Output(&'a str),
    Input(&'a str),
}

pub(super) fn parse(text: &str) -> Option<LinkMap> {
    let mut lines = text.lines();
    let linker = lines.find_map(|line| match line.trim_end() {
        HEADER => Some(Linker::GnuLd),
        GOLD_HEADER => Some(Linker::Gold),
        _ => None,
    })?;
    let mut outputs: Vec<OutputSection> = Vec::new();
    let mut inputs: Vec<InputSection> = Vec::new();
    let mut paddings: Vec<Padding> = Vec::new();
    let mut statement = String::new();
    let mut pending = ListedSection::Nothing;
    for line in lines {
        if line.starts_with("Cross Reference Table") {
            break;
        }
        if linker == Linker::Gold && line.trim_start().starts_with("**") {
            // Headers and gaps.
            pending = ListedSection::Nothing;
            continue;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let (name, numbers) =
            match (indent, std::mem::replace(&mut pending, ListedSection::Nothing)) {
                (2.., ListedSection::Output(name)) => (ListedSection::Output(name), line),
                (2.., ListedSection::Input(name)) => (ListedSection::Input(name), line),
                (2.., ListedSection::Nothing) => {
                    let before = line.trim().strip_suffix("(size before relaxing)");
                    if let (Some(bytes), Some(last)) =
                        (before.and_then(hexadecimal), inputs.last_mut())
                    {
                        last.bytes_before = Some(bytes);
                    }
                    paddings.extend(padding(line));
                    continue;
                }
                (indent, _) => {
                    let line = line.trim();
                    let (name, numbers) =
                        line.split_once(char::is_whitespace).unwrap_or((line, ""));
                    if name.is_empty() || name == "*fill*" {
                        continue;
                    }
                    let name = if indent == 0 {
                        ListedSection::Output(name)
                    } else {
                        ListedSection::Input(name)
                    };
                    if line == "/DISCARD/" {
                        // The input sections that follow are in no section of the program.
                        let name = line.to_owned();
                        outputs.push(OutputSection { name, address: 0, bytes: 0, align: 0 });
                        continue;
                    }
                    if numbers.is_empty() && !line.ends_with(')') {
                        pending = name;
                        continue;
                    }
                    if indent == 1 && placed(numbers).is_none() {
                        line.clone_into(&mut statement);
                        continue;
                    }
                    (name, numbers)
                }
            };
        let Some((address, bytes, rest)) = placed(numbers) else { continue };
        match name {
            ListedSection::Output(name) => {
                let name = name.to_owned();
                outputs.push(OutputSection { name, address, bytes, align: 0 });
                statement.clear();
            }
            ListedSection::Input(name) => {
                let Some(output) = outputs.last() else { continue };
                let listed = InputSection::listed(output, rest, name, address, bytes);
                inputs.push(InputSection { statement: statement.clone(), ..listed });
            }
            ListedSection::Nothing => {}
        }
    }
    Some(LinkMap::new(linker, outputs, inputs, paddings))
}

/// Parses `0x00000588 . = ALIGN (0x4)`, or the same with MAX.
fn padding(line: &str) -> Option<Padding> {
    let (address, statement) = line.trim().split_once(char::is_whitespace)?;
    let address = hexadecimal(address)?;
    let statement = statement.trim_start().strip_prefix(". = ")?;
    if statement.starts_with("MAX (., ") {
        return Some(Padding { address, align: 1 });
    }
    let align = statement.strip_prefix("ALIGN (")?.strip_suffix(')')?;
    let align = hexadecimal(align.strip_prefix("., ").unwrap_or(align))?;
    align.is_power_of_two().then_some(Padding { address, align })
}

/// Parses an address and a length. Returns them with the rest of the line.
fn placed(text: &str) -> Option<(u64, u64, &str)> {
    let text = text.trim();
    let (address, rest) = text.split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    let (bytes, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Some((hexadecimal(address)?, hexadecimal(bytes)?, rest.trim()))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
Discarded input sections

 .text.journal_commit
                0x00000000       0x10 files.o

Memory Configuration

FLASH            0x00000000         0x00040000         xr

Linker script and memory map

LOAD startup.o

.text           0x00000000     0x2588
 *(.vectors)
 .vectors       0x00000000       0x40 startup.o
 *(.text .text.*)
 .text.reset    0x00000040       0x48 startup.o
                0x00000040                reset
                0x00000088                . = ALIGN (0x4)
 *fill*         0x00000088        0x2 00
 .text.console_text
                0x0000008a        0x8 a folder/lib with space.a(semi hosting.o)
                                 0x1a (size before relaxing)
                0x0000008a                console_text

.a_long_name_of_a_section
                0x00002588      0x5dc
 .rodata        0x00002588        0x4 main.o
OUTPUT(card.elf elf32-littlearm)
";

    #[test]
    fn names_of_any_length_and_statements() {
        let map = parse(MAP).unwrap();
        let outputs: Vec<_> =
            map.outputs.iter().map(|one| (one.name.as_str(), one.address, one.bytes)).collect();
        assert_eq!(outputs, [(".text", 0, 0x2588), (".a_long_name_of_a_section", 0x2588, 0x5dc)]);
        let inputs: Vec<_> = map
            .inputs
            .iter()
            .map(|one| (one.name.as_str(), one.address, one.bytes, one.statement.as_str()))
            .collect();
        let all = "*(.text .text.*)";
        assert_eq!(
            inputs,
            [
                (".vectors", 0, 0x40, "*(.vectors)"),
                (".text.reset", 0x40, 0x48, all),
                (".text.console_text", 0x8a, 8, all),
                (".rodata", 0x2588, 4, ""),
            ]
        );
        let archived = &map.inputs[2];
        assert_eq!(
            (archived.file.as_str(), archived.member.as_str()),
            ("a folder/lib with space.a", "semi hosting.o")
        );
        assert_eq!(archived.bytes_before, Some(0x1a));
        assert_eq!(map.inputs[3].output, ".a_long_name_of_a_section");
        assert!(!map.inputs[0].is_movable() && map.inputs[1].is_movable());
        assert_eq!(map.paddings, [Padding { address: 0x88, align: 4 }]);
    }

    #[test]
    fn statements_that_pad() {
        let padding_of =
            |text: &str| padding(&format!("                0x00000588                {text}"));
        assert_eq!(padding_of(". = ALIGN (., 0x10)"), Some(Padding { address: 0x588, align: 16 }));
        assert_eq!(padding_of(". = MAX (., 0x588)"), Some(Padding { address: 0x588, align: 1 }));
        assert_eq!(padding_of(". = (. + 0x10)"), None);
        assert_eq!(padding_of("data_start = ."), None);
    }

    /// A map of `ld.gold -Map` from binutils 2.40.
    const GOLD_MAP: &str = "\
Discarded input sections

 .text.unused   0x0000000000000000        0x3 libb.a(b.o)

Memory map

** file header
                0x0000000000000000       0x40

.text           0x0000000000000660      0x194
 .text.startup.main
                0x0000000000000660       0x37 a.o
                0x0000000000000660                main
 ** fill        0x0000000000000697        0x9
 .text.g        0x00000000000007e0       0x14 libb.a(b.o)
";

    #[test]
    fn the_map_of_gold() {
        let map = parse(GOLD_MAP).unwrap();
        assert_eq!(map.linker, Linker::Gold);
        let outputs: Vec<&str> = map.outputs.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(outputs, [".text"]);
        let inputs: Vec<_> = map
            .inputs
            .iter()
            .map(|one| (one.name.as_str(), one.member.as_str(), one.address, one.bytes))
            .collect();
        assert_eq!(
            inputs,
            [(".text.startup.main", "", 0x660, 0x37), (".text.g", "b.o", 0x7e0, 0x14)]
        );
    }

    #[test]
    fn discarded_sections_belong_to_nothing() {
        let text = format!(
            "{HEADER}\n\n.text 0x0 0x8\n .text 0x0 0x8 a.o\n\n/DISCARD/\n *(.ARM.exidx*)\n .ARM.exidx 0x0 0x8 a.o\n"
        );
        let map = parse(&text).unwrap();
        assert_eq!(map.inputs[1].output, "/DISCARD/");
    }

    #[test]
    fn any_other_text_is_no_map() {
        assert!(parse("").is_none() && parse("\u{7f}ELF").is_none());
        assert!(parse(HEADER).is_some_and(|map| map.inputs.is_empty()));
    }
}
