//! The map of lld (`-Wl,-Map=FILE` or `--print-map`), as `lld/ELF/MapFile.cpp` prints it, and that of
//! mold, as its `mapfile.cc` prints it. A line has numbers and then an output section, an input
//! section or a symbol; the column distinguishes them. Mold has no load addresses.

use super::map::{InputSection, LinkMap, Linker, OutputSection, Padding};

/// Spaces before an output section.
const OUTPUT: usize = 1;
/// Spaces before an input section.
const INPUT: usize = 9;

pub(super) fn parse(text: &str) -> Option<LinkMap> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next()?.split_whitespace().collect();
    let linker = match header[..] {
        ["VMA", "LMA", "Size", "Align", "Out", "In", "Symbol"] => Linker::Lld,
        ["VMA", "Size", "Align", "Out", "In", "Symbol"] => Linker::Mold,
        _ => return None,
    };
    let mut outputs: Vec<OutputSection> = Vec::new();
    let mut inputs: Vec<InputSection> = Vec::new();
    let mut paddings: Vec<Padding> = Vec::new();
    for line in lines {
        let Some((address, bytes, align, rest)) = numbers(line, linker) else { continue };
        let name = rest.trim_start_matches(' ');
        match rest.len() - name.len() {
            OUTPUT => {
                let name = name.trim_end().to_owned();
                outputs.push(OutputSection { name, address, bytes, align });
            }
            INPUT => {
                let Some(output) = outputs.last() else { continue };
                if let Some(align) = alignment(name) {
                    let address = address.saturating_add(bytes);
                    paddings.push(Padding { address, align });
                    continue;
                }
                let origin = name.trim_end().strip_suffix(')').and_then(|it| it.rsplit_once(":("));
                let Some((origin, name)) = origin else { continue };
                let listed = InputSection::listed(output, origin, name, address, bytes);
                inputs.push(InputSection { align, ..listed });
            }
            _ => {}
        }
    }
    Some(LinkMap::new(linker, outputs, inputs, paddings))
}

/// Parses `. = ALIGN ( 4 )`, with any spaces.
fn alignment(statement: &str) -> Option<u64> {
    let statement: String = statement.split_whitespace().collect();
    let align = statement.strip_prefix(".=ALIGN(")?.strip_suffix(')')?;
    let align = match align.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok()?,
        None => align.parse().ok()?,
    };
    Some(align).filter(|align: &u64| align.is_power_of_two())
}

/// Parses address, length and alignment. Returns them with the rest of the line.
fn numbers(line: &str, linker: Linker) -> Option<(u64, u64, u64, &str)> {
    let mut rest = line;
    let mut word = || {
        let trimmed = rest.trim_start_matches(' ');
        let (word, behind) = trimmed.split_at(trimmed.find(' ')?);
        rest = behind;
        Some(word)
    };
    let hexadecimal = |word: &str| u64::from_str_radix(word, 16).ok();
    let (address, bytes) = if linker == Linker::Mold {
        (hexadecimal(word()?.strip_prefix("0x").unwrap_or("0"))?, word()?.parse().ok()?)
    } else {
        let (address, _load_address) = (hexadecimal(word()?)?, word()?);
        (address, hexadecimal(word()?)?)
    };
    let align = word()?.parse().ok()?;
    Some((address, bytes, align, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "     VMA      LMA     Size Align Out     In      Symbol
       0        0     2588     4 .text
       0        0       40     4         startup.o:(.vectors)
       0        0        0     1                 $d
      40       40       48     4         lib/x.a(startup.o):(.text.reset)
      41       41       48     1                 reset
    2588     2588      5dc     4 .rodata
    2588     2588        4     1         . = ALIGN ( 4 )
    2588     2588        4     1         <internal>:(.rodata)
";

    #[test]
    fn a_column_distinguishes_sections_from_symbols() {
        let map = parse(MAP).unwrap();
        assert_eq!(map.outputs.len(), 2);
        let inputs: Vec<_> = map
            .inputs
            .iter()
            .map(|one| (one.name.as_str(), one.file.as_str(), one.member.as_str(), one.align))
            .collect();
        assert_eq!(
            inputs,
            [
                (".vectors", "startup.o", "", 4),
                (".text.reset", "lib/x.a", "startup.o", 4),
                (".rodata", "<internal>", "", 1),
            ]
        );
        assert_eq!((map.inputs[1].address, map.inputs[1].bytes), (0x40, 0x48));
        assert_eq!(map.paddings, [Padding { address: 0x258c, align: 4 }]);
        assert_eq!(map.outputs[1].align, 4);
    }

    /// A map of mold 1.10.
    const MOLD_MAP: &str = "               VMA       Size Align Out     In      Symbol
                 0         64     8 EHDR
            0x16c0        388    16 .text
            0x17b0         55    16         a.o:(.text.f)
            0x17b0          0     0                 f
            0x1830         20    16         libb.a(b.o):(.text.g)
";

    #[test]
    fn the_map_of_mold() {
        let map = parse(MOLD_MAP).unwrap();
        assert_eq!((map.linker, map.outputs[1].bytes), (Linker::Mold, 388));
        let inputs: Vec<_> = map
            .inputs
            .iter()
            .map(|one| (one.name.as_str(), one.member.as_str(), one.address, one.bytes, one.align))
            .collect();
        assert_eq!(inputs, [(".text.f", "", 0x17b0, 55, 16), (".text.g", "b.o", 0x1830, 20, 16)]);
    }

    #[test]
    fn any_other_text_is_no_map() {
        assert!(parse("").is_none() && parse("VMA\n").is_none());
    }
}
