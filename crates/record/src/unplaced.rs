//! Calls of a function that is not placed in flash, such as an interrupt handler in RAM.

use rustc_hash::FxHashSet;

use super::placement::UnplacedCode;

/// Largest number of open calls. With more, the oldest is forgotten.
const MAX_OPEN: usize = 4096;

/// A place in executed code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodePlace {
    /// A flash offset, at most 4 GiB.
    Placed(u64),
    /// A linked address outside the placed code.
    At(u64),
}

/// A call that has not returned.
#[derive(Clone, Debug)]
struct OpenCall {
    /// End of the code that was executed before it.
    back: CodePlace,
    /// Its number, counted from 1.
    number: u64,
}

/// Calls that a piece of code begins and ends, by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallStep {
    /// The call that has returned.
    pub returned: Option<u64>,
    /// The call that begins.
    pub called: Option<u64>,
}

/// Follows the calls of one function that is not placed.
///
/// A call is a jump to its first byte from elsewhere. It ends when a jump leaves the function for
/// code in which no function begins, or goes to where the code before the call ended. An interrupt
/// returns to a place where no code ended; the first of the two rules recognises that.
#[derive(Clone, Debug)]
pub struct UnplacedCalls {
    address: u64,
    bytes: u64,
    /// First bytes of all functions that are not placed.
    begins: FxHashSet<u64>,
    open: Vec<OpenCall>,
    calls: u64,
    /// End of the code that was executed last.
    end: Option<CodePlace>,
}

impl UnplacedCalls {
    /// Follows the function of `bytes` at `address`. If it has no size, it is one byte long.
    pub fn new(address: u64, bytes: u64, code: &UnplacedCode) -> Self {
        Self {
            address,
            bytes: bytes.max(1),
            begins: code.functions.iter().map(|(_, address, _)| *address).collect(),
            open: Vec::new(),
            calls: 0,
            end: None,
        }
    }

    /// Returns true if a function that is not placed begins at `address`.
    #[inline]
    pub fn begins_at(&self, address: u64) -> bool {
        self.begins.contains(&address)
    }

    /// Takes an executed piece of code. `is_function` states whether a function begins there.
    pub fn follow(&mut self, start: CodePlace, end: CodePlace, is_function: bool) -> CallStep {
        let before = self.end.replace(end);
        let mut step = CallStep::default();
        if before == Some(start) {
            return step;
        }
        let was_inside = before.is_some_and(|before| self.ends_inside(before));
        if start == CodePlace::At(self.address) {
            if !was_inside {
                self.calls += 1;
                step.called = Some(self.calls);
                let back = before.unwrap_or(start);
                self.open.push(OpenCall { back, number: self.calls });
                if self.open.len() > MAX_OPEN {
                    self.open.remove(0);
                }
            }
            return step;
        }
        let is_left = was_inside && !is_function && !self.begins_inside(start);
        let is_back = self.open.last().is_some_and(|call| call.back == start);
        if is_left || is_back {
            step.returned = self.open.pop().map(|call| call.number);
        }
        step
    }

    fn begins_inside(&self, place: CodePlace) -> bool {
        matches!(place, CodePlace::At(at) if at.wrapping_sub(self.address) < self.bytes)
    }

    /// Returns true if code that ends at `place` lies in the function.
    fn ends_inside(&self, place: CodePlace) -> bool {
        matches!(place, CodePlace::At(at)
            if (1..=self.bytes).contains(&at.wrapping_sub(self.address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the calls that pieces of code begin and end, as `+1` and `-1`.
    fn calls(pieces: &[(CodePlace, CodePlace, bool)]) -> Vec<i64> {
        let code = UnplacedCode {
            functions: vec![("isr".into(), 0x2000, 32), ("other".into(), 0x2020, 16)],
            sections: vec![(0x2000, 0x2030)],
        };
        let mut calls = UnplacedCalls::new(0x2000, 32, &code);
        let mut steps = Vec::new();
        for (start, end, is_function) in pieces {
            let step = calls.follow(*start, *end, *is_function);
            steps.extend(step.returned.map(|number| -(number as i64)));
            steps.extend(step.called.map(|number| number as i64));
        }
        steps
    }

    fn flash(start: u32, end: u32, is_function: bool) -> (CodePlace, CodePlace, bool) {
        (CodePlace::Placed(start.into()), CodePlace::Placed(end.into()), is_function)
    }

    fn ram(start: u64, end: u64, is_function: bool) -> (CodePlace, CodePlace, bool) {
        (CodePlace::At(start), CodePlace::At(end), is_function)
    }

    #[test]
    fn an_interrupt_handler_returns_to_where_no_code_ended() {
        let handler = [
            ram(0x2000, 0x2010, true),
            // A loop back to its first byte, and a function in flash that it calls.
            ram(0x2000, 0x2010, true),
            flash(0x100, 0x108, true),
            flash(0x140, 0x150, false),
            ram(0x2010, 0x2020, false),
        ];
        let mut pieces = vec![flash(0, 8, true)];
        pieces.extend(handler);
        pieces.push(flash(0x40, 0x48, false));
        pieces.extend(handler);
        pieces.push(flash(0x48, 0x50, false));
        assert_eq!(calls(&pieces), [1, -1, 2, -2]);
    }

    #[test]
    fn a_tail_call_returns_with_its_caller() {
        let pieces = [flash(0, 8, true), ram(0x2000, 0x2020, true), ram(0x2024, 0x2028, false)];
        assert_eq!(calls(&pieces), [1, -1]);
        let tail = [
            flash(0, 8, true),
            ram(0x2000, 0x2010, true),
            flash(0x100, 0x108, true),
            flash(8, 16, false),
        ];
        assert_eq!(calls(&tail), [1, -1]);
    }
}
