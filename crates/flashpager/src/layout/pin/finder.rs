//! Finds the calls of a limited function in the runs of a trace.
//!
//! Calls begin and end as in [`crate::calls`]. An interrupt is no call. If a handler directly
//! follows a call, or returns into the middle of a function, it ends the call before it.

use flashpager_trace::Run;
use flashpager_trace::calls::OpenCalls;
use rustc_hash::{FxHashMap, FxHashSet};

use super::functions::{FunctionStarts, LimitedFunction};
use super::handlers::InterruptHandlers;

/// A recorded call of the function.
pub(super) struct RecordedCall {
    /// Index of its first run.
    pub(super) from: usize,
    /// Index one past its last run.
    pub(super) to: usize,
    /// First byte of the function in which the call ended; `None` if it ended in the limited one.
    pub(super) elsewhere: Option<u32>,
    /// First byte of the function that follows if an interrupt handler ended the call; `None` if it
    /// returned.
    pub(super) cut_at: Option<u32>,
}

/// A call that has not returned.
struct ActiveCall {
    /// Index of its first run.
    from: usize,
    /// Functions that were entered since execution was last in the limited one.
    entered: FxHashSet<u32>,
}

/// Follows the runs of one trace.
pub(super) struct CallFinder<'a> {
    runs: &'a [Run],
    function: &'a LimitedFunction,
    starts: &'a FunctionStarts,
    handlers: &'a InterruptHandlers,
    /// Open calls of all functions. A call of the limited one has the index of its first run; calls
    /// that return together share one entry.
    open: OpenCalls<Vec<usize>>,
    active: Vec<ActiveCall>,
    /// Calls that an interrupt's return has ended: the index of the run that followed, by the index
    /// of the call's first run.
    left: FxHashMap<usize, usize>,
    calls: Vec<RecordedCall>,
}

impl<'a> CallFinder<'a> {
    /// A finder at the first of `runs`.
    pub(super) fn new(
        runs: &'a [Run],
        function: &'a LimitedFunction,
        starts: &'a FunctionStarts,
        handlers: &'a InterruptHandlers,
    ) -> Self {
        Self {
            runs,
            function,
            starts,
            handlers,
            open: OpenCalls::default(),
            active: Vec::new(),
            left: FxHashMap::default(),
            calls: Vec::new(),
        }
    }

    /// Finds all calls of the function. A call that is open at the end of the trace ends there.
    pub(super) fn find(mut self) -> Vec<RecordedCall> {
        for (before, pair) in self.runs.windows(2).enumerate() {
            self.follow(before + 1, pair[0], pair[1]);
        }
        let open = std::mem::take(&mut self.open);
        for from in open.into_open().flat_map(|(_, calls)| calls) {
            self.end(from, self.runs.len(), false);
        }
        self.calls
    }

    /// Returns true if the limited function is an interrupt handler.
    fn is_handler(&self) -> bool {
        self.function.entries.iter().any(|entry| self.handlers.contains(*entry))
    }

    /// Ends the call that began with the run `from`; `to` is the first run after it.
    fn end(&mut self, from: usize, to: usize, has_returned: bool) {
        self.active.retain(|active| active.from != from);
        let is_handler = self.is_handler();
        let left = self.left.remove(&from).filter(|_| !has_returned || is_handler);
        let end = to;
        let mut to = left.unwrap_or(end);
        let holds = |run: &Run| self.function.holds(run.last());
        let last = from + self.runs[from..to].iter().rposition(holds).unwrap_or(0);
        let mut elsewhere = (last + 1 < to).then(|| self.runs[last + 1].offset);
        if elsewhere.is_some_and(|next| is_handler && self.handlers.contains(next)) {
            // Another handler followed directly.
            (to, elsewhere) = (last + 1, None);
        }
        let elsewhere = elsewhere.map(|next| self.starts.owner(next));
        let is_cut = is_handler && to < end;
        let cut_at = is_cut.then(|| self.starts.owner(self.runs[to].offset));
        self.calls.push(RecordedCall { from, to, elsewhere, cut_at });
    }

    /// Follows execution from the run `before` to `run`, which has the index `at`.
    fn follow(&mut self, at: usize, before: Run, run: Run) {
        let mut closed = Vec::new();
        let returned = self.open.take_returned(run.offset, |back, calls| {
            closed.extend(calls.into_iter().map(|from| (from, back == u64::from(run.offset))));
        });
        closed.into_iter().for_each(|(from, has_returned)| self.end(from, at, has_returned));
        if let (true, Some(active)) = (self.function.holds(run.offset), self.active.last_mut()) {
            active.entered.clear();
        }
        if returned {
            return;
        }
        self.note_entered(at, before, run);
        if self.starts.contains(run.offset) {
            self.begin(at, before, run);
        }
    }

    /// Notes the functions that the last active call has entered. If execution goes on inside of a
    /// function that it has not entered, an interrupt has returned, and the call is no longer
    /// active.
    fn note_entered(&mut self, at: usize, before: Run, run: Run) {
        let last = before.last();
        let was_in = self.function.holds(last);
        let is_back = self.function.holds(run.offset);
        let (from, to) = (self.starts.owner(last), self.starts.owner(run.offset));
        let Some(active) = self.active.last_mut() else { return };
        let was_entered = was_in || active.entered.contains(&from);
        if is_back || !was_entered {
            return;
        }
        if self.starts.contains(run.offset) {
            active.entered.insert(run.offset);
        } else if !active.entered.contains(&to) {
            self.left.insert(active.from, at);
            self.active.pop();
        }
    }

    /// Begins a call of the function that begins with `run`, or of another one.
    fn begin(&mut self, at: usize, before: Run, run: Run) {
        let was_in = self.function.holds(before.last());
        let is_limited = self.function.entries.contains(&run.offset);
        let begun = if is_limited { vec![at] } else { Vec::new() };
        if !u32::try_from(before.end()).is_ok_and(|behind| self.starts.contains(behind)) {
            self.open.push(before.end(), begun);
        } else if !is_limited || was_in {
            // A tail call of another function, which returns with its caller, or a loop.
            return;
        } else if let Some(together) = self.open.last_mut() {
            together.push(at);
        } else {
            self.open.push(u64::MAX, begun);
        }
        if is_limited {
            self.active.push(ActiveCall { from: at, entered: FxHashSet::default() });
        }
    }
}
