//! Orders of input sections, as linkers read them and as people and commands write them.

use std::fmt::Write;

use flashpager_base::{Error, Result, shown};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::map::{InputSection, LinkMap, Linker, split_origin};

/// File and, if that is an archive, object in it.
type ObjectOrigin = (String, String);

/// Names and patterns that distinguish the input files of a link.
struct ObjectNames {
    /// Plain files and members of archives, which linkers compare with the same patterns. Their names
    /// are reversed and sorted.
    plain: Vec<String>,
    /// Archives. Their names are reversed and sorted.
    archives: Vec<String>,
    /// Members of archives.
    members: FxHashSet<String>,
}

impl ObjectNames {
    fn of(map: &LinkMap) -> Self {
        let (mut plain, mut archives) = (FxHashSet::default(), FxHashSet::default());
        let mut members = FxHashSet::default();
        for input in &map.inputs {
            if input.member.is_empty() {
                plain.insert(input.file.clone());
            } else {
                plain.insert(input.member.clone());
                members.insert(input.member.clone());
                archives.insert(input.file.clone());
            }
        }
        let sorted = |names: FxHashSet<String>| {
            let mut names: Vec<String> = names.iter().map(|name| reversed(name)).collect();
            names.sort_unstable();
            names
        };
        Self { plain: sorted(plain), archives: sorted(archives), members }
    }

    /// Returns true if only one of `names` ends with `end`.
    fn is_unique(names: &[String], end: &str) -> bool {
        let end = reversed(end);
        let first = names.partition_point(|name| *name < end);
        !names.get(first + 1).is_some_and(|name| name.starts_with(&end))
    }

    /// Returns the shortest end of the path `name` that no other path has, with the pattern that must
    /// precede it.
    fn shortest<'a>(names: &[String], name: &'a str) -> (&'static str, &'a str) {
        let mut ends = vec![0];
        ends.extend(name.match_indices('/').map(|(at, _)| at + 1));
        for start in ends.iter().rev() {
            let end = &name[*start..];
            if !end.is_empty() && Self::is_unique(names, end) {
                return ("*", end);
            }
            if *start > 0 && !end.is_empty() && Self::is_unique(names, &name[start - 1..]) {
                return ("*/", end);
            }
        }
        ("", name)
    }

    /// Returns the shortest end of the path `name` that no other path has. If there is none, it returns
    /// the whole path, or a pattern of it.
    fn called(names: &[String], name: &str) -> String {
        let is_other = |end: &str| names.binary_search(&reversed(end)).is_ok();
        let slashes: Vec<usize> = name.match_indices('/').map(|(at, _)| at).collect();
        for slash in slashes.iter().rev() {
            let end = &name[slash + 1..];
            if !end.is_empty() && Self::is_unique(names, &name[*slash..]) && !is_other(end) {
                return end.to_owned();
            }
        }
        let longer = reversed(&format!("/{name}"));
        let first = names.partition_point(|other| *other < longer);
        if names.get(first).is_some_and(|other| other.starts_with(&longer)) {
            return exactly(name);
        }
        name.to_owned()
    }

    /// Returns the short name of an object.
    fn name(&self, (file, member): &ObjectOrigin) -> String {
        if member.is_empty() {
            Self::called(&self.plain, file)
        } else {
            format!("{}:{member}", Self::called(&self.archives, file))
        }
    }

    /// Returns a pattern of a linker script that matches only this object.
    fn pattern(&self, (file, member): &ObjectOrigin) -> String {
        let names = if member.is_empty() { &self.plain } else { &self.archives };
        let (before, end) = Self::shortest(names, file);
        let mut pattern = before.to_owned() + &quoted(end);
        if before.is_empty() {
            pattern = exactly(end);
        }
        if member.is_empty() && self.members.contains(file) {
            // With a colon in front, GNU ld does not match objects in archives.
            pattern.insert(0, ':');
        }
        if !member.is_empty() {
            pattern = format!("{pattern}:{}", quoted(member));
        }
        pattern
    }
}

/// Makes a pattern for `name` alone. A name without a wildcard would be a file to load.
fn exactly(name: &str) -> String {
    match name.chars().next().filter(char::is_ascii_alphanumeric) {
        Some(first) => format!("[{first}]{}", quoted(&name[first.len_utf8()..])),
        None => {
            let rest = name.char_indices().nth(1).map_or("", |(at, _)| &name[at..]);
            format!("?{}", quoted(rest))
        }
    }
}

fn reversed(name: &str) -> String {
    name.chars().rev().collect()
}

/// Replaces characters with a meaning in linker scripts by `?`.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.$-+~/".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '?' }).collect()
}

/// Returns the shortest unique names of input sections of `map`, such as `card.o(.text.main)` and
/// `libc.a:memcpy.o(.text)`.
///
/// # Errors
/// If an object has two sections of one name, which no linker can distinguish.
pub fn names(map: &LinkMap, inputs: &[InputSection]) -> Result<Vec<String>> {
    let origins = ObjectNames::of(map);
    let mut known: FxHashMap<ObjectOrigin, String> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    let mut names = Vec::new();
    for input in inputs {
        let origin = (input.file.clone(), input.member.clone());
        let file = known.entry(origin).or_insert_with_key(|origin| origins.name(origin));
        let name = format!("{file}({})", input.name);
        if !seen.insert(format!("{file}({})", quoted(&input.name))) && input.is_movable() {
            return Err(Error::data(
                map.path().display().to_string(),
                format!(
                    "has two sections {}, which no linker script can tell apart: compile with \
                     -ffunction-sections, or give them names of their own",
                    shown(&name)
                ),
            ));
        }
        names.push(name);
    }
    Ok(names)
}

/// Writes lines for a linker script of GNU ld or lld that place the input sections `ordered` of
/// `map` in this order. They are to be included in the output section before the statement that
/// placed the first of them. With `end`, the code behind them begins at this offset in the section.
pub fn fragment(map: &LinkMap, ordered: &[&InputSection], end: Option<u64>) -> String {
    let first = ordered.iter().min_by_key(|input| input.address);
    let output = first.map_or(".text", |input| input.output.as_str());
    let before = first.map_or("", |input| input.statement.as_str());
    let before = if before.is_empty() { "as *(.text .text.*)" } else { before };
    let mut text = format!(
        "/* {} input sections in order. To be included in the linker script, in {},\n   before what \
         takes the first of them, {}. */\n",
        ordered.len(),
        comment(output),
        comment(before),
    );
    text += &patterns(map, ordered);
    if let Some(end) = end {
        // The order may need more padding than the recorded one had. In lld such an offset is an
        // address, so that only an assignment of its own is refused where it differs.
        let _ = match map.linker {
            Linker::Lld => writeln!(text, ". = {end:#x};"),
            _ => writeln!(text, ". = MAX(., {end:#x});"),
        };
    }
    text
}

/// Writes lines for a linker script of GNU ld or lld that place the input sections of `map` in this
/// order, and leave the place of each that is a hole empty. So the others lie as they would with it.
pub fn fragment_with_holes(map: &LinkMap, ordered: &[(&InputSection, bool)]) -> String {
    let holes = ordered.iter().filter(|(_, is_hole)| *is_hole).count();
    let output = ordered.first().map_or(".text", |(input, _)| input.output.as_str());
    let inputs: Vec<&InputSection> = ordered.iter().map(|(input, _)| *input).collect();
    let mut text = format!(
        "/* {} input sections as they lay, and {holes} holes of others. To be included in the linker\n   \
         script, in {}, before what takes them. */\n",
        ordered.len() - holes,
        comment(output),
    );
    for ((input, is_hole), line) in ordered.iter().zip(patterns(map, &inputs).lines()) {
        if *is_hole {
            let _ = writeln!(text, ". = ALIGN({});", input.align.max(1));
            let _ = writeln!(text, ". = . + {:#x};", input.bytes);
        } else {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// Words at the beginning of a fragment for RAM, which an order for flash does not have.
const FOR_RAM: &str = "input sections for RAM.";

/// Returns true if the text of a file is a fragment that puts sections into RAM.
pub fn is_for_ram(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains(FOR_RAM))
}

/// Writes lines for a linker script that put the input sections `pinned` of `map` into an output
/// section in RAM.
pub(super) fn fragment_in_ram(map: &LinkMap, pinned: &[&InputSection]) -> String {
    format!(
        "/* {} {FOR_RAM} To be included in the linker script, at the head of an output\n   \
         section that start-up code copies to RAM, such as .data, and that stands before\n   \
         *(.text .text.*). Store it behind the code, with AT > and a region of its own: stored\n   \
         before it, the code lies at other addresses than predicted. */\n{}",
        pinned.len(),
        patterns(map, pinned)
    )
}

/// Writes a line for each of `sections` that matches only this section.
pub(super) fn patterns(map: &LinkMap, sections: &[&InputSection]) -> String {
    let origins = ObjectNames::of(map);
    let mut known: FxHashMap<ObjectOrigin, String> = FxHashMap::default();
    let mut text = String::new();
    for input in sections {
        let origin = (input.file.clone(), input.member.clone());
        let file = known.entry(origin).or_insert_with_key(|origin| origins.pattern(origin));
        let _ = writeln!(text, "{file}({})", quoted(&input.name));
    }
    text
}

/// Makes text safe for a comment of a linker script.
pub(super) fn comment(text: &str) -> String {
    shown(text).replace("*/", "* /").replace("/*", "/ *")
}

/// An order for a linker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderText {
    /// The contents of its file.
    pub text: String,
    /// Symbols of several functions, which the linker places together.
    pub ambiguous: Vec<String>,
    /// Number of units without a symbol. The linker places them behind all others.
    pub nameless: usize,
}

/// Writes the symbols of `ordered` for `--symbol-ordering-file` of lld. `symbols` has the symbols at
/// each address, `of_name` the number of functions with each name.
pub fn symbol_order(
    ordered: &[&InputSection],
    symbols: &FxHashMap<u64, Vec<&str>>,
    of_name: &FxHashMap<&str, usize>,
) -> OrderText {
    let mut order = OrderText::default();
    let times = |name: &str| of_name.get(name).copied().unwrap_or(0);
    for input in ordered {
        let names = symbols.get(&input.address).map_or(&[][..], Vec::as_slice);
        let Some(name) = names.iter().min_by_key(|name| times(name)) else {
            order.nameless += 1;
            continue;
        };
        if times(name) > 1 {
            if order.ambiguous.iter().any(|known| known == name) {
                continue;
            }
            order.ambiguous.push((*name).to_owned());
        }
        let _ = writeln!(order.text, "{name}");
    }
    order
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderLine {
    /// A section of an object, by patterns.
    Section {
        /// Pattern of the file, or the end of its path.
        file: String,
        /// Pattern of the object in an archive; empty if the file is no archive.
        member: String,
        /// Pattern of the section's name.
        name: String,
    },
    /// A symbol.
    Symbol(String),
}

impl OrderLine {
    /// Returns true if the line selects `input`.
    pub fn selects(&self, input: &InputSection) -> bool {
        let Self::Section { file, member, name } = self else { return false };
        matches(name, &input.name)
            && matches(member, &input.member)
            && (matches(file, &input.file)
                || input.file.strip_suffix(file.as_str()).is_some_and(|rest| rest.ends_with('/')))
    }
}

impl std::fmt::Display for OrderLine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Section { file, member, name } if member.is_empty() => {
                write!(out, "{file}({name})")
            }
            Self::Section { file, member, name } => write!(out, "{file}:{member}({name})"),
            Self::Symbol(name) => out.write_str(name),
        }
    }
}

/// Splits `helper@0x360` into the symbol and its offset in the recorded image. A layout by symbols
/// gives such names to functions with the same symbol.
pub fn recorded_at(name: &str) -> Option<(&str, u32)> {
    let (symbol, offset) = name.rsplit_once("@0x")?;
    let is_hexadecimal = offset.bytes().all(|digit| digit.is_ascii_hexdigit());
    let offset = u32::from_str_radix(offset, 16).ok().filter(|_| is_hexadecimal)?;
    (!symbol.is_empty()).then_some((symbol, offset))
}

/// Parses the lines of an order: names of units, lines for a linker script, or symbols. Comments
/// begin with `#`, or stand between `/*` and `*/`.
pub fn lines(text: &str) -> Vec<OrderLine> {
    without_comments(text)
        .lines()
        .map(|line| line.split_once('#').map_or(line, |(line, _)| line).trim())
        .filter(|line| !line.is_empty() && !line.ends_with(';'))
        .map(line_of)
        .collect()
}

/// Returns the text without what stands between `/*` and `*/`.
pub(super) fn without_comments(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some((before, behind)) = comment_begins(rest) {
        bare.push_str(before);
        rest = behind.split_once("*/").map_or("", |(_, rest)| rest);
    }
    bare.push_str(rest);
    bare
}

/// Splits the text at the `/*` that begins a comment. In `lib/*(…)` it begins none.
fn comment_begins(text: &str) -> Option<(&str, &str)> {
    text.match_indices("/*").find_map(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + 2..]);
        let is_pattern = before.ends_with(|c: char| !c.is_whitespace());
        (!is_pattern).then_some((before, behind))
    })
}

fn line_of(line: &str) -> OrderLine {
    let (origin, name) = split_origin(line);
    // Sections of armcc are called `i.NAME`.
    if !name.starts_with('.') && !name.starts_with("i.") {
        return OrderLine::Symbol(line.to_owned());
    }
    match origin.rsplit_once(':') {
        Some(("", file)) => {
            OrderLine::Section { file: file.to_owned(), member: String::new(), name }
        }
        Some((file, member)) => {
            OrderLine::Section { file: file.to_owned(), member: member.to_owned(), name }
        }
        None => OrderLine::Section { file: origin, member: String::new(), name },
    }
}

/// Returns true if `text` matches `pattern`, in which `*` stands for any characters, `?` for one,
/// and `[c]` for `c`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Position of the last star in the pattern, and the end of the text that it matches.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') if pattern.get(p + 2) == Some(&']') => {
                (pattern[p + 1] == text[t]).then_some(3)
            }
            Some(c) if *c == text[t] => Some(1),
            _ => None,
        };
        match (step, star) {
            (Some(step), _) => {
                p += step;
                t += 1;
            }
            (None, Some((at, reached))) => {
                star = Some((at, reached + 1));
                p = at + 1;
                t = reached + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
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
            statement: "*(.text .text.*)".into(),
        }
    }

    fn map() -> LinkMap {
        let inputs = vec![
            input("build/card.o", "", ".text.f", 0),
            input("build/smartcard.o", "", ".text.f", 4),
            input("radio.o", "", ".text.f", 8),
            input("tests/radio.o", "", ".text.f", 12),
            input("x/libc.a", "memcpy.o", ".text", 16),
            input("y/libc.a", "memcpy.o", ".text", 20),
            input("y/libc.a", "dio.o", ".text.a b", 24),
        ];
        LinkMap::new(Linker::GnuLd, Vec::new(), inputs, Vec::new())
    }

    #[test]
    fn each_line_matches_its_section_alone() {
        let map = map();
        let all: Vec<&InputSection> = map.inputs.iter().collect();
        let text = fragment(&map, &all, Some(0x40));
        let lines = lines(&text);
        assert_eq!(lines.len(), all.len(), "{text}");
        for (number, line) in lines.iter().enumerate() {
            // GNU ld compares the whole path with the pattern, never an end of it.
            let OrderLine::Section { file, member, name } = line else { panic!("{line}") };
            let means = |input: &&&InputSection| {
                let plain = if input.member.is_empty() { &input.file } else { &input.member };
                matches(name, &input.name)
                    && if member.is_empty() {
                        matches(file, plain)
                    } else {
                        matches(file, &input.file) && matches(member, &input.member)
                    }
            };
            let meant: Vec<_> = all.iter().filter(means).collect();
            assert_eq!(meant, [&all[number]], "{line}");
            assert!(
                format!("{file}{member}").contains(['*', '?', '[']),
                "{line} names a file to load"
            );
        }
        assert!(text.contains("*/card.o(.text.f)\n") && text.contains("[r]adio.o(.text.f)\n"));
        assert!(text.contains("*y/libc.a:dio.o(.text.a?b)\n. = MAX(., 0x40);\n"), "{text}");
    }

    #[test]
    fn names_are_short_and_lead_back() {
        let map = map();
        let names = names(&map, &map.inputs).unwrap();
        assert_eq!(names[0], "card.o(.text.f)");
        assert_eq!(names[4], "x/libc.a:memcpy.o(.text)");
        for (name, input) in names.iter().zip(&map.inputs) {
            let line = lines(name).pop().unwrap();
            let meant: Vec<_> = map.inputs.iter().filter(|input| line.selects(input)).collect();
            assert_eq!(meant, [input], "{line}");
        }
        assert_eq!(
            (names[2].as_str(), names[3].as_str()),
            ("[r]adio.o(.text.f)", "tests/radio.o(.text.f)")
        );
        let twice = vec![map.inputs[0].clone(), map.inputs[0].clone()];
        let error = super::names(&map, &twice).unwrap_err().to_string();
        assert!(error.contains("two sections card.o(.text.f)"), "{error}");
    }

    #[test]
    fn comments_and_assignments_are_no_lines() {
        let text = "/* two\nlines */ a.o(.text.f) # it\n# nothing\n\n. = MAX(., 0x10);\nmain\nlib/*(.text)";
        let lines: Vec<String> = lines(text).iter().map(OrderLine::to_string).collect();
        assert_eq!(lines, ["a.o(.text.f)", "main", "lib/*(.text)"]);
    }

    #[test]
    fn sections_of_all_compilers_are_distinguished_from_symbols() {
        let read = lines("card.o(.text.f)\ncard.o(i.f)\noperator(int)\nmain");
        let is_section = |line: &OrderLine| matches!(line, OrderLine::Section { .. });
        assert_eq!(read.iter().map(is_section).collect::<Vec<_>>(), [true, true, false, false]);
    }

    #[test]
    fn patterns_match_as_those_of_a_shell() {
        for (pattern, text) in [
            ("*card.o", "a/card.o"),
            ("[c]ard.o", "card.o"),
            ("a*b*c", "aXbYbZc"),
            ("*", ""),
            ("?", "é"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("[c]ard.o", "xard.o"), ("a*b", "abc"), ("?", ""), ("[c", "c"), ("a", "ab")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
