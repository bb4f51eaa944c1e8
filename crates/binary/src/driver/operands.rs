//! Operands, parsed from the text that capstone writes for ARM, AArch64 and RISC-V.
//!
//! The text has the same form for all of them, and capstone's structures lack information: the
//! operands that RISC-V writes, and whether ARM adds an index before or after the access.

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand<'a> {
    /// `#4`, `0x40`
    Immediate(i64),
    /// `[r1, r2, lsl #2]` by its parts. The flag states whether `!` follows.
    Memory(Vec<&'a str>, bool),
    /// `{r4, r5, pc}`
    List(Vec<&'a str>),
    /// `4(sp)`
    Displaced(i64, &'a str),
    /// A register, a shift, a condition, or another word.
    Word(&'a str),
}

impl<'a> Operand<'a> {
    /// Parses all operands in `text`.
    pub fn all(text: &'a str) -> Vec<Self> {
        split(text).into_iter().map(Self::new).collect()
    }

    fn new(text: &'a str) -> Self {
        if let Some(inside) = text.strip_prefix('[') {
            let writes_back = inside.ends_with('!');
            let inside = inside.trim_end_matches(['!', '^']).trim_end_matches(']');
            return Self::Memory(split(inside), writes_back);
        }
        if let Some(inside) = text.strip_prefix('{') {
            return Self::List(split(inside.trim_end_matches('^').trim_end_matches('}')));
        }
        if let Some(value) = number(text) {
            return Self::Immediate(value);
        }
        if let Some((before, base)) = text.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            let value = if before.is_empty() { Some(0) } else { number(before) };
            if let Some(value) = value {
                return Self::Displaced(value, base);
            }
        }
        Self::Word(text)
    }

    /// Returns the text of a word.
    pub fn word(&self) -> Option<&'a str> {
        if let Self::Word(text) = self { Some(*text) } else { None }
    }

    /// Returns the number of an immediate.
    pub fn immediate(&self) -> Option<i64> {
        if let Self::Immediate(value) = self { Some(*value) } else { None }
    }
}

/// Parses a number such as `#-0x10`, in 64 bits.
pub fn number(text: &str) -> Option<i64> {
    let text = text.strip_prefix('#').unwrap_or(text);
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

/// Splits a text at the commas outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_i32);
    for (at, character) in text.char_indices() {
        match character {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the factor of a shift such as `lsl #2`; 1 for other parts.
pub fn shift_factor(part: Option<&&str>) -> i64 {
    part.and_then(|shift| shift.rsplit_once(' '))
        .and_then(|(_, amount)| number(amount))
        .filter(|amount| (0..32).contains(amount))
        .map_or(1, |amount| 1 << amount)
}
