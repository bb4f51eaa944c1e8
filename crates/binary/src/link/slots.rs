//! Slots: lines for a linker script that place input sections at fixed addresses, with free bytes
//! behind them.

use std::fmt::Write;

use super::map::{InputSection, LinkMap, Linker};
use super::order::{OrderLine, comment, lines, patterns, without_comments};

/// Words before the number in the first line of a fragment with slots: the address that the numbers in
/// the fragment are counted from.
const FROM: &str = "slots from ";

/// An input section of an order, and the address of its slot if it has one.
pub type SlottedSection<'a> = (&'a InputSection, Option<u64>);

/// Writes lines for a linker script of GNU ld or lld that place the input sections of `map` in this
/// order, those with a slot at its address. New sections come behind them, and what follows in the
/// output section begins at the address `end`. `section_address` is that of the output section.
///
/// The link fails when a section reaches into the next slot. With GNU ld, a program that defines
/// `flashpager_slots_may_slip` is linked nevertheless, with the next section further on.
pub fn slot_fragment(
    map: &LinkMap,
    ordered: &[SlottedSection<'_>],
    end: Option<u64>,
    section_address: u64,
) -> String {
    // In an output section, GNU ld counts from its start. For lld all numbers are addresses.
    let base = if map.linker == Linker::Lld { 0 } else { section_address };
    let slots = ordered.iter().filter(|(_, slot)| slot.is_some()).count();
    let statements = statements(map, ordered);
    let output = ordered.first().map_or(".text", |(input, _)| input.output.as_str());
    let mut text = format!(
        "/* flashpager {FROM}{base:#x}: {slots} of {} input sections have one. To be included in the\n   \
         linker script, in {}, before what takes the first of them{}. */\n",
        ordered.len(),
        comment(output),
        statements.first().map_or(String::new(), |first| format!(", as {}", comment(first))),
    );
    let mut before = None;
    let inputs: Vec<&InputSection> = ordered.iter().map(|(input, _)| *input).collect();
    for ((input, slot), line) in ordered.iter().zip(patterns(map, &inputs).lines()) {
        if let Some(slot) = slot {
            let at = slot.saturating_sub(base);
            if let Some(name) = before {
                let _ = writeln!(
                    text,
                    "ASSERT({}. <= {at:#x}, \"flashpager: {name} has outgrown its slot; 'flashpager \
                     layout --refresh' makes it another\");",
                    may_slip(map.linker)
                );
            }
            let _ = writeln!(text, ". = MAX(., {at:#x});");
            before = Some(printable(&input.name));
        }
        let _ = writeln!(text, "{line}");
    }
    for statement in &statements {
        let _ = writeln!(text, "{statement};");
    }
    if let Some(end) = end {
        let _ = writeln!(text, ". = MAX(., {:#x});", end.saturating_sub(base));
    }
    text
}

/// Returns the condition under which a section may outgrow its slot. lld does not know symbols of the
/// command line while it lays out a section.
fn may_slip(linker: Linker) -> &'static str {
    if linker == Linker::Lld { "" } else { "DEFINED(flashpager_slots_may_slip) || " }
}

/// Returns the statements of the script that took the sections, as new functions of a later commit are
/// taken; none if the map does not have them.
fn statements(map: &LinkMap, ordered: &[SlottedSection<'_>]) -> Vec<String> {
    let output = ordered.first().map_or("", |(input, _)| input.output.as_str());
    let mut statements: Vec<String> = Vec::new();
    for input in map.inputs.iter().filter(|input| input.is_movable() && input.output == output) {
        let is_pattern = input.statement.contains('*') && input.statement.ends_with(')');
        // A statement that names one file stands for one section of the last order.
        let takes_all = input.statement.starts_with("*(");
        if is_pattern && takes_all && !statements.contains(&input.statement) {
            statements.push(input.statement.clone());
        }
    }
    statements
}

/// Returns the name without characters that end a string of a linker script.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c == '"' || c == '\\' || c.is_control() { '?' } else { c }).collect()
}

/// The slots of a fragment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotLines {
    /// The lines of the sections that have a slot, each with its address.
    pub slots: Vec<(OrderLine, u64)>,
    /// The address before which nothing behind the sections begins.
    pub end: Option<u64>,
}

/// Returns the slots of a fragment as [`slot_fragment`] writes it; `None` for other orders.
pub fn slot_lines(text: &str) -> Option<SlotLines> {
    let head = text.lines().next()?;
    let (_, base) = head.split_once(FROM)?;
    let base = number(base.split(':').next()?)?;
    let mut slots = SlotLines::default();
    let mut next = None;
    for line in without_comments(text).lines() {
        if let Some(at) =
            line.trim().strip_prefix(". = MAX(., ").and_then(|rest| rest.strip_suffix(");"))
        {
            next = Some(base.checked_add(number(at)?)?);
        } else if let Some(order_line) = lines(line).pop() {
            slots.slots.extend(next.take().map(|at| (order_line, at)));
        }
    }
    slots.end = next;
    Some(slots)
}

/// Parses a hexadecimal number with its prefix.
fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, address: u64) -> InputSection {
        InputSection {
            file: "a.o".to_owned(),
            member: String::new(),
            name: name.to_owned(),
            output: ".text".to_owned(),
            address,
            bytes: 4,
            align: 2,
            statement: "*(.text .text.*)".to_owned(),
            bytes_before: None,
        }
    }

    #[test]
    fn slots_are_written_and_read() {
        let inputs =
            vec![input(".text.f", 0x100), input(".text.g", 0x104), input(".text.h", 0x108)];
        let ordered = [(&inputs[1], Some(0x110)), (&inputs[0], Some(0x130)), (&inputs[2], None)];
        for (linker, base) in [(Linker::GnuLd, 0x100), (Linker::Lld, 0)] {
            let map = LinkMap::new(linker, Vec::new(), inputs.clone(), Vec::new());
            let text = slot_fragment(&map, &ordered, Some(0x180), 0x100);
            let end = format!("*(.text .text.*);\n. = MAX(., {:#x});\n", 0x180 - base);
            assert!(text.ends_with(&end), "{text}");
            assert!(text.contains("flashpager: .text.g has outgrown"), "{text}");
            let slots = slot_lines(&text).unwrap();
            let read: Vec<(String, u64)> =
                slots.slots.iter().map(|(line, at)| (line.to_string(), *at)).collect();
            assert_eq!(
                read,
                [("*a.o(.text.g)".to_owned(), 0x110), ("*a.o(.text.f)".to_owned(), 0x130)]
            );
            assert_eq!(slots.end, Some(0x180));
            assert_eq!(lines(&text).len(), 3, "{text}");
        }
        assert_eq!(slot_lines("/* 3 input sections in order. */\n*a.o(.text.f)\n"), None);
    }
}
