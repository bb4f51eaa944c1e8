//! Where executed code goes: placed code to a trace file, the rest to counters.

use std::path::{Path, PathBuf};

use flashpager_base::Result;
use flashpager_trace::file::Unnamed;
use flashpager_trace::{Ending, Run, RunBuilder, Symbol, TraceInfo, TraceWriter};

/// What one thread executes, on its way to a file.
pub struct Sink {
    pub path: PathBuf,
    /// The thread's name; empty where threads are not told apart.
    pub thread: String,
    /// Block numbers taken from a recorder's stream.
    pub blocks: u64,
    /// Methods entered and returned from.
    pub calls: u64,
    pub returns: u64,
    writer: TraceWriter,
    builder: RunBuilder,
    instructions: u64,
    outside_instructions: u64,
    outside_bytes: u64,
}

impl Sink {
    /// Write to `path`; `live` as in [`TraceWriter::create`].
    pub fn create(path: &Path, live: bool) -> Result<Self> {
        Ok(Self::to(path, TraceWriter::create(path, live)?))
    }

    /// Write what another thread executes to `path`.
    pub fn create_beside(&self, path: &Path) -> Result<Self> {
        Ok(Self::to(path, self.writer.create_beside(path)?))
    }

    fn to(path: &Path, writer: TraceWriter) -> Self {
        Self {
            path: path.to_owned(),
            thread: String::new(),
            blocks: 0,
            calls: 0,
            returns: 0,
            writer,
            builder: RunBuilder::default(),
            instructions: 0,
            outside_instructions: 0,
            outside_bytes: 0,
        }
    }

    /// Symbols of what may be executed from now on, in all threads.
    pub fn know<'a>(&self, symbols: impl IntoIterator<Item = &'a Symbol>) {
        self.writer.know(symbols);
    }

    /// A piece of placed code was executed.
    #[inline]
    pub fn placed(&mut self, piece: Run, instructions: u32) -> Result<()> {
        self.instructions += u64::from(instructions);
        match self.builder.push(piece) {
            Some(run) => self.writer.push(run),
            None => Ok(()),
        }
    }

    /// A run as it stands, joined with nothing, of unknown instructions.
    pub fn run(&mut self, run: Run) -> Result<()> {
        self.writer.push(run)
    }

    /// Code that is not placed was executed.
    #[inline]
    pub fn outside(&mut self, bytes: u32, instructions: u32) -> Result<()> {
        self.outside_instructions += u64::from(instructions);
        self.outside_bytes += u64::from(bytes);
        match self.builder.cut() {
            Some(run) => self.writer.push(run),
            None => Ok(()),
        }
    }

    /// Instructions so far, placed and outside.
    pub fn all_instructions(&self) -> u64 {
        self.instructions + self.outside_instructions
    }

    pub fn file_bytes(&self) -> u64 {
        self.writer.file_bytes()
    }

    pub fn disk_full(&self) -> bool {
        self.writer.disk_full()
    }

    /// Hand the last run over; gives whether there was any.
    pub fn complete(&mut self) -> Result<bool> {
        if let Some(run) = self.builder.cut() {
            self.writer.push(run)?;
        }
        Ok(self.writer.runs() > 0)
    }

    /// Write the rest and `info` with this sink's counts.
    pub fn close(self, mut info: TraceInfo) -> Result<Unnamed> {
        if self.writer.disk_full() {
            info.ending = Ending::DiskFull;
        }
        // CSV knows bytes only.
        info.instructions = Some(self.instructions).filter(|count| *count > 0);
        info.outside_instructions = info.outside_instructions.map(|_| self.outside_instructions);
        info.outside_bytes = self.outside_bytes;
        info.calls = info.calls.map(|_| self.calls);
        info.returns = info.returns.map(|_| self.returns);
        info.thread = self.thread;
        self.writer.close(info)
    }
}
