//! Thrift's compact protocol, as far as a trace file needs it. Every value takes at least one byte
//! of the input, so that no number in the input costs excessive time or memory.

/// Type of a field that is true.
pub const TRUE: u8 = 1;
/// Type of a field that is false.
pub const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
/// Type of a 32-bit number.
pub const I32: u8 = 5;
/// Type of a 64-bit number.
pub const I64: u8 = 6;
/// Type of a string of bytes.
pub const BINARY: u8 = 8;
/// Type of a list of elements.
pub const LIST: u8 = 9;
/// Type of a structure: numbered fields up to an end mark.
pub const STRUCT: u8 = 12;

/// Largest nesting of structures and lists. Parquet needs 5.
const MAX_DEPTH: u32 = 16;

/// The rest of an input. A method returns `None` if the input is damaged.
pub struct Thrift<'a> {
    rest: &'a [u8],
}

/// Takes one field or element: the input, the number of the field or element, and its type.
type Take<'t, 'a> = &'t mut dyn FnMut(&mut Thrift<'a>, u8, u8) -> Option<()>;

impl<'a> Thrift<'a> {
    /// Starts to read `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number of bytes left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Passes each field of a structure to `take`.
    pub fn fields(&mut self, take: Take<'_, 'a>) -> Option<()> {
        let mut id = 0u8;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            // With a step of 0 the number would follow. Parquet's numbers are all small.
            id = id.checked_add(head >> 4).filter(|_| head >> 4 != 0)?;
            take(self, id, head & 15)?;
        }
    }

    /// Passes each element of a list to `take`. Returns the number of elements. From element 255 on
    /// the number passed is 255.
    pub fn elements(&mut self, take: Take<'_, 'a>) -> Option<usize> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            short => usize::from(short),
        };
        for at in 0..count {
            take(self, at.min(255) as u8, head & 15)?;
        }
        Some(count)
    }

    /// Reads a number with a sign.
    pub fn number(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a string of bytes.
    pub fn binary(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Skips a field of type `kind`.
    pub fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_to(kind, MAX_DEPTH)
    }

    /// Skips a field of type `kind`, which must not hold others.
    pub fn skip_simple(&mut self, kind: u8) -> Option<()> {
        self.skip_to(kind, 0)
    }

    fn skip_to(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            TRUE | FALSE => {}
            BYTE => drop(self.byte()?),
            I16 | I32 | I64 => drop(self.varint()?),
            BINARY => drop(self.binary()?),
            LIST if depth > 0 => drop(self.elements(&mut |input, _, kind| match kind {
                // In a list a truth value has a byte of its own.
                TRUE | FALSE => input.byte().map(drop),
                kind => input.skip_to(kind, depth - 1),
            })?),
            STRUCT if depth > 0 => {
                self.fields(&mut |input, _, kind| input.skip_to(kind, depth - 1))?;
            }
            _ => return None,
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Reads a number without a sign, stored with seven bits in each byte.
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_sizes() {
        for (bytes, number) in [
            (&[0][..], 0),
            (&[1], -1),
            (&[0xfe, 0x01], 127),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], i64::MIN),
        ] {
            assert_eq!(Thrift::new(bytes).number(), Some(number));
        }
        assert_eq!(Thrift::new(&[0xff; 11]).number(), None);
        assert_eq!(Thrift::new(&[0x80]).number(), None);
    }

    #[test]
    fn a_list_of_two_thousand_million_truths_ends_with_the_input() {
        let bytes = [0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 1, 1, 1];
        assert_eq!(Thrift::new(&bytes).skip(LIST), None);
        assert_eq!(Thrift::new(&[0x31, 1, 2, 1]).skip(LIST), Some(()));
    }

    #[test]
    fn nesting_has_an_end() {
        assert_eq!(Thrift::new(&[0x1c; 1000]).skip(STRUCT), None);
        assert_eq!(Thrift::new(&[0x19; 1000]).skip(LIST), None);
        assert_eq!(Thrift::new(&[0x1c, 0, 0]).skip(STRUCT), Some(()));
        assert_eq!(Thrift::new(&[0x1c, 0, 0]).skip_simple(STRUCT), None);
    }
}
