//! Link maps and orders.

use std::collections::BTreeSet;

use flashpager::binary::link::{self, InputSection, LinkMap, OrderLine};

use super::*;

const GNU: &str = "\
Linker script and memory map

LOAD startup.o

.text           0x00000000     0x2588
 *(.vectors)
 .vectors       0x00000000       0x40 startup.o
 *(.text .text.*)
 .text.reset    0x00000040       0x48 startup.o
                0x00000040                reset
 *fill*         0x00000088        0x2 00
 .text.console_text
                0x0000008a        0x8 lib.a(semihosting.o)
                                 0x1a (size before relaxing)

.rodata         0x00002588      0x5dc
OUTPUT(card.elf elf32-littlearm)
";

const LLD: &str = "     VMA      LMA     Size Align Out     In      Symbol
       0        0     2588     4 .text
       0        0       40     4         startup.o:(.vectors)
      40       40       48     4         lib/x.a(startup.o):(.text.reset)
      41       41       48     1                 reset
    2588     2588      5dc     4 .rodata
";

const ARMLINK: &str = "\
Component: Arm Compiler for Embedded 6.21 Tool: armlink [5ec1fa00]

Memory Map of the image

    Execution Region ER_FLASH (Exec base: 0x00000000, Load base: 0x00000000, Size: 0x00000060, Max: 0x00040000)

    Exec Addr    Load Addr    Size         Type   Attr      Idx    E Section Name        Object

    0x00000000   0x00000000   0x00000040   Data   RO            1  * RESET               startup.o
    0x00000040   0x00000040   0x0000000a   Code   RO           12    .text.main          card.o
    0x0000004a   0x0000004a   0x00000002   PAD
    0x0000004c   0x0000004c   0x0000000c   Code   RO          102    .text               c_w.l(memcpy.o)

    Execution Region RW_RAM (Exec base: 0x20000000, Load base: 0x00000060, Size: 0x00000008, Max: 0x00010000)

    Exec Addr    Load Addr    Size         Type   Attr      Idx    E Section Name        Object

    0x20000000   COMPRESSED   0x00000008   Data   RW           15    .data.count         card.o
";

/// Returns true if `text` matches `pattern` with `*`, `?` and `[c]`; slow and simple.
fn is_matched(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['*', rest @ ..] => (0..=text.len()).any(|taken| is_matched(rest, &text[taken..])),
        ['?', rest @ ..] => !text.is_empty() && is_matched(rest, &text[1..]),
        ['[', one, ']', rest @ ..] => text.first() == Some(one) && is_matched(rest, &text[1..]),
        [one, rest @ ..] => text.first() == Some(one) && is_matched(rest, &text[1..]),
    }
}

/// Indices of the `inputs` that a linker selects by the line `ARCHIVE:OBJECT(SECTION)` or
/// `OBJECT(SECTION)`. An object in an archive also matches by its own name.
fn taken(line: &str, inputs: &[InputSection]) -> Vec<usize> {
    let chars = |text: &str| text.chars().collect::<Vec<_>>();
    let (origin, section) = line.strip_suffix(')').unwrap().split_once('(').unwrap();
    let is = |pattern: &str, text: &str| is_matched(&chars(pattern), &chars(text));
    let takes = |input: &InputSection| {
        is(section, &input.name)
            && match origin.split_once(':') {
                Some(("", file)) => input.member.is_empty() && is(file, &input.file),
                Some((file, member)) => {
                    !input.member.is_empty() && is(file, &input.file) && is(member, &input.member)
                }
                None if input.member.is_empty() => is(origin, &input.file),
                None => is(origin, &input.member),
            }
    };
    (0..inputs.len()).filter(|number| takes(&inputs[*number])).collect()
}

fn any_inputs() -> impl Strategy<Value = Vec<InputSection>> {
    let path = prop::collection::vec(prop::sample::select(vec!["a", "ab", "b", "ba"]), 1..4);
    let member = prop::sample::select(vec!["", "a.o", "ba.o"]);
    let name = prop::sample::select(vec![".text", ".text.f", ".text.f g", ".text.f*"]);
    prop::collection::vec((path, member, name), 1..12).prop_map(|all| {
        let mut seen = BTreeSet::new();
        let mut inputs = Vec::new();
        for (path, member, name) in all {
            let file = path.join("/") + if member.is_empty() { ".o" } else { ".a" };
            // Sections that a linker cannot distinguish are refused by names().
            let quoted = name.replace([' ', '*'], "?");
            if seen.insert((file.clone(), member, quoted)) {
                inputs.push(InputSection {
                    file,
                    member: member.to_owned(),
                    name: name.to_owned(),
                    output: ".text".into(),
                    address: 4 * inputs.len() as u64,
                    bytes: 4,
                    bytes_before: None,
                    align: 4,
                    statement: String::new(),
                });
            }
        }
        inputs
    })
}

/// `text` with some of its bytes changed, left out or doubled.
fn damaged(text: &'static str) -> impl Strategy<Value = String> {
    prop::collection::vec((0..text.len(), any::<u8>(), 0..3usize), 0..12).prop_map(|changes| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte, times) in changes {
            let at = at.min(bytes.len());
            let end = (at + 1).min(bytes.len());
            bytes.splice(at..end, std::iter::repeat_n(byte, times));
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn check_parsed(text: &str) {
    if let Some(map) = LinkMap::parse(text) {
        for input in &map.inputs {
            assert!(map.outputs.iter().any(|output| output.name == input.output));
            let _ = (input.end(), input.is_movable());
        }
        for output in &map.outputs {
            if let Err(error) = map.inputs_of(&output.name) {
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
            }
        }
        let _ = link::names(&map, &map.inputs);
    }
}

#[test]
fn all_maps_are_read() {
    for (text, inputs) in [(GNU, 3), (LLD, 2), (ARMLINK, 4)] {
        let map = LinkMap::parse(text).unwrap();
        assert_eq!((map.inputs.len(), map.outputs.len()), (inputs, 2));
    }
}

proptest! {
    #[test]
    fn damaged_maps_never_panic(
        gnu in damaged(GNU), lld in damaged(LLD), armlink in damaged(ARMLINK), any in ".*"
    ) {
        for text in [&gnu, &lld, &armlink, &any] {
            check_parsed(text);
            for line in link::lines(text) {
                let _ = line.to_string();
            }
        }
    }

    #[test]
    fn any_bytes_are_checked(bytes in prop::collection::vec(any::<u8>(), 0..200), order in ".*") {
        let mut elf = b"\x7fELF".to_vec();
        elf.extend(bytes);
        if let Err(error) = link::check(&elf, "fuzz", &link::lines(&order), None) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    /// Each line of a fragment selects its own section and no other, and so do its names.
    #[test]
    fn lines_distinguish_all_sections(inputs in any_inputs()) {
        let text = LLD.lines().next().unwrap();
        let mut map = LinkMap::parse(text).unwrap();
        map.inputs.clone_from(&inputs);
        let all: Vec<&InputSection> = inputs.iter().collect();
        let fragment = link::fragment(&map, &all, None);
        let lines: Vec<&str> =
            fragment.lines().skip_while(|line| !line.ends_with("*/")).skip(1).collect();
        prop_assert_eq!(lines.len(), inputs.len());
        let names = link::names(&map, &inputs).unwrap();
        for (number, line) in lines.iter().enumerate() {
            let origin = line.split('(').next().unwrap();
            prop_assert!(origin.contains(['*', '?', '[']), "{} is a file to load", line);
            prop_assert_eq!(taken(line, &inputs), [number], "{}", line);
            let named: Vec<OrderLine> = link::lines(&names[number]);
            let meant: Vec<usize> = (0..inputs.len())
                .filter(|other| named.iter().any(|line| line.selects(&inputs[*other])))
                .collect();
            prop_assert!(meant.contains(&number), "{}", names[number]);
        }
    }
}
