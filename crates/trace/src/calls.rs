//! Calls and returns, as far as runs show them: a jump to the first byte of a function, and a
//! jump to where such a jump had left off.

/// Calls remembered that have not returned; of deeper ones the oldest are forgotten.
const MAX_DEPTH: usize = 1 << 16;

/// Calls that may be left at once without returning, as by an exception.
const MAX_UNWOUND: usize = 64;

/// Bits by which open calls are told apart at first sight.
const OPEN_BITS: u32 = 10;

/// The last bits of an offset, the first of which are mostly the same.
fn bits(offset: u32) -> usize {
    (offset.wrapping_mul(0x9e37_79b1) >> (32 - OPEN_BITS)) as usize
}

/// Calls that have not returned, each with what is kept of it.
#[derive(Clone, Debug)]
pub struct OpenCalls<T> {
    /// Where they go on.
    open: Vec<(u32, T)>,
    /// Of these, how many end in the same bits: most jumps go to none of them.
    by_bits: Box<[u32; 1 << OPEN_BITS]>,
}

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        Self { open: Vec::new(), by_bits: Box::new([0; _]) }
    }
}

impl<T> OpenCalls<T> {
    /// Execution jumped to `to`: if an open call goes on there, it has returned. It is closed with
    /// those that it had made, which are handed out from the last on, itself at the end.
    #[inline]
    pub fn returned(&mut self, to: u32, mut close: impl FnMut(u32, T)) -> bool {
        if self.by_bits[bits(to)] == 0 {
            return false;
        }
        let nearest = self.open.iter().rev().take(MAX_UNWOUND).position(|(back, _)| *back == to);
        let Some(depth) = nearest else { return false };
        for _ in 0..=depth {
            if let Some((back, kept)) = self.open.pop() {
                self.by_bits[bits(back)] -= 1;
                close(back, kept);
            }
        }
        true
    }

    /// A call was made that goes on at `back`; where too many are open, the oldest are given back.
    #[inline]
    pub fn called(&mut self, back: u32, kept: T) -> Vec<(u32, T)> {
        let forgotten = if self.open.len() == MAX_DEPTH {
            self.open.drain(..MAX_DEPTH / 2).collect()
        } else {
            Vec::new()
        };
        for (back, _) in &forgotten {
            self.by_bits[bits(*back)] -= 1;
        }
        self.by_bits[bits(back)] += 1;
        self.open.push((back, kept));
        forgotten
    }

    /// What is kept of the call that was made last of those that are open.
    #[inline]
    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.open.last_mut().map(|(_, kept)| kept)
    }

    /// Those that are still open, from the first on.
    pub fn into_open(self) -> impl DoubleEndedIterator<Item = (u32, T)> {
        self.open.into_iter()
    }
}
