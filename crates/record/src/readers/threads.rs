//! The threads of a log: processors, or threads of a program.

use flashpager_base::Result;

use crate::session::ImportSession;

/// Switches between the traces of threads. A single thread has no name.
#[derive(Default)]
pub(crate) struct Threads {
    numbers: Vec<u32>,
    current: usize,
    /// The current thread has no trace: it is one above the largest number.
    is_left_out: bool,
}

impl Threads {
    /// Switches to the trace of a thread. Returns its index. `kind` is the noun of its name.
    ///
    /// # Errors
    /// If the trace file cannot be created.
    #[inline]
    pub fn switch_to(
        &mut self,
        number: u32,
        kind: &str,
        session: &mut ImportSession<'_>,
    ) -> Result<usize> {
        if self.numbers.get(self.current) == Some(&number) {
            return Ok(self.current);
        }
        self.switch(number, kind, session)
    }

    #[cold]
    fn switch(
        &mut self,
        number: u32,
        kind: &str,
        session: &mut ImportSession<'_>,
    ) -> Result<usize> {
        let known = self.numbers.iter().position(|known| *known == number);
        self.current = known.unwrap_or_else(|| {
            self.numbers.push(number);
            self.numbers.len() - 1
        });
        if self.numbers.len() > 1 {
            if self.numbers.len() == 2 && known.is_none() {
                let first = self.numbers[0];
                session.recording.switch_to(first, &format!("{kind}-{first}"))?;
            }
            let is_kept = session.recording.switch_to(number, &format!("{kind}-{number}"))?;
            self.is_left_out = !is_kept;
        }
        Ok(self.current)
    }

    /// Returns true if the current thread has no trace.
    pub fn is_left_out(&self) -> bool {
        self.is_left_out
    }

    /// The number of the thread with this index.
    pub fn number(&self, index: usize) -> Option<u32> {
        self.numbers.get(index).copied()
    }

    /// Index of the current thread.
    pub fn current(&self) -> usize {
        self.current
    }
}
