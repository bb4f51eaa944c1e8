//! Operands as capstone writes them for ARM, AArch64 and RISC-V.
//!
//! The text is read rather than capstone's structures: it is the same for all
//! of them, and the structures leave out what is needed (which operands RISC-V
//! writes, whether ARM adds an index before or after the access).

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand<'a> {
    /// `#4`, `0x40`
    Immediate(i64),
    /// `[r1, r2, lsl #2]` by its parts, and whether `!` follows.
    Memory(Vec<&'a str>, bool),
    /// `{r4, r5, pc}`
    List(Vec<&'a str>),
    /// `4(sp)`
    Displaced(i64, &'a str),
    /// A register, a shift, a condition, or what else there is.
    Word(&'a str),
}

impl<'a> Operand<'a> {
    /// The operands in `text`.
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

    /// The text of a word.
    pub fn word(&self) -> Option<&'a str> {
        if let Self::Word(text) = self { Some(*text) } else { None }
    }

    /// The number of an immediate.
    pub fn immediate(&self) -> Option<i64> {
        if let Self::Immediate(value) = self { Some(*value) } else { None }
    }
}

/// A number such as `#-0x10`, in 64 bits.
pub fn number(text: &str) -> Option<i64> {
    let text = text.strip_prefix('#').unwrap_or(text);
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

/// Cut at the commas that stand in no bracket.
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

/// The factor of a shift such as `lsl #2`.
pub fn shift_factor(part: Option<&&str>) -> i64 {
    part.and_then(|shift| shift.rsplit_once(' '))
        .and_then(|(_, amount)| number(amount))
        .filter(|amount| (0..32).contains(amount))
        .map_or(1, |amount| 1 << amount)
}
