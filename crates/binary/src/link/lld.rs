//! The map of lld (`-Wl,-Map=FILE`), as `lld/ELF/MapFile.cpp` prints it. A line has numbers and then
//! an output section, an input section or a symbol; the column distinguishes them.

use super::map::{InputSection, LinkMap, Linker, OutputSection};

/// Spaces before an output section.
const OUTPUT: usize = 1;
/// Spaces before an input section.
const INPUT: usize = 9;

pub(super) fn parse(text: &str) -> Option<LinkMap> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next()?.split_whitespace().collect();
    if header != ["VMA", "LMA", "Size", "Align", "Out", "In", "Symbol"] {
        return None;
    }
    let mut outputs: Vec<OutputSection> = Vec::new();
    let mut inputs: Vec<InputSection> = Vec::new();
    for line in lines {
        let Some((address, bytes, align, rest)) = numbers(line) else { continue };
        let name = rest.trim_start_matches(' ');
        match rest.len() - name.len() {
            OUTPUT => {
                outputs.push(OutputSection { name: name.trim_end().to_owned(), address, bytes });
            }
            INPUT => {
                let Some(output) = outputs.last() else { continue };
                let origin = name.trim_end().strip_suffix(')').and_then(|it| it.rsplit_once(":("));
                let Some((origin, name)) = origin else { continue };
                let listed = InputSection::listed(output, origin, name, address, bytes);
                inputs.push(InputSection { align, ..listed });
            }
            _ => {}
        }
    }
    Some(LinkMap::new(Linker::Lld, outputs, inputs))
}

/// Parses address, length and alignment. Returns them with the rest of the line.
fn numbers(line: &str) -> Option<(u64, u64, u64, &str)> {
    let next = |rest: &str| -> Option<(String, usize)> {
        let skipped = rest.len() - rest.trim_start_matches(' ').len();
        let length = rest[skipped..].find(' ')?;
        Some((rest[skipped..skipped + length].to_owned(), skipped + length))
    };
    let mut at = 0;
    let mut words = Vec::new();
    for _ in 0..4 {
        let (word, length) = next(&line[at..])?;
        words.push(word);
        at += length;
    }
    let hexadecimal = |word: &String| u64::from_str_radix(word, 16).ok();
    Some((hexadecimal(&words[0])?, hexadecimal(&words[2])?, words[3].parse().ok()?, &line[at..]))
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
    fn sections_are_told_from_symbols_by_their_column() {
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
    }

    #[test]
    fn any_other_text_is_no_map() {
        assert!(parse("").is_none() && parse("VMA\n").is_none());
    }
}
