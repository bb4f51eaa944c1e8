//! Calls and returns that can be seen in runs. A call is a jump to the first byte of a function; a
//! return is a jump to the code behind a call.

/// Largest number of open calls. With more, the older half is forgotten.
const MAX_DEPTH: usize = 1 << 16;

/// Largest number of calls that one return may close, such as the return behind an exception.
const MAX_UNWOUND: usize = 64;

/// Bits of the hash by which most jumps are recognised as no return.
const HASH_BITS: u32 = 10;

/// Hashes an offset. Its lower bits differ most.
fn hash(offset: u64) -> usize {
    ((offset as u32).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

/// Calls that have not returned, each with a value of the caller.
#[derive(Clone, Debug)]
pub struct OpenCalls<T> {
    /// Return offset and value of each call, from the first to the last.
    open: Vec<(u64, T)>,
    /// Number of open calls by the hash of their return offset.
    by_hash: Box<[u32; 1 << HASH_BITS]>,
}

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        Self { open: Vec::new(), by_hash: Box::new([0; _]) }
    }
}

impl<T> OpenCalls<T> {
    /// Takes a jump to `to`. If an open call returns there, that call and those that it had made are
    /// closed and passed to `close`, from the last to the first. Returns whether a call returned.
    #[inline]
    pub fn take_returned(&mut self, to: u32, mut close: impl FnMut(u64, T)) -> bool {
        let to = u64::from(to);
        if self.by_hash[hash(to)] == 0 {
            return false;
        }
        let nearest = self.open.iter().rev().take(MAX_UNWOUND).position(|(back, _)| *back == to);
        let Some(depth) = nearest else { return false };
        for _ in 0..=depth {
            if let Some((back, kept)) = self.open.pop() {
                self.by_hash[hash(back)] -= 1;
                close(back, kept);
            }
        }
        true
    }

    /// Adds a call that returns to `back`. Returns the oldest calls if too many are open.
    #[inline]
    pub fn push(&mut self, back: u64, kept: T) -> Vec<(u64, T)> {
        let forgotten = if self.open.len() == MAX_DEPTH {
            self.open.drain(..MAX_DEPTH / 2).collect()
        } else {
            Vec::new()
        };
        for (back, _) in &forgotten {
            self.by_hash[hash(*back)] -= 1;
        }
        self.by_hash[hash(back)] += 1;
        self.open.push((back, kept));
        forgotten
    }

    /// Returns the value of the last call that is open.
    #[inline]
    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.open.last_mut().map(|(_, kept)| kept)
    }

    /// Returns the calls that are still open, from the first to the last.
    pub fn into_open(self) -> impl DoubleEndedIterator<Item = (u64, T)> {
        self.open.into_iter()
    }
}
