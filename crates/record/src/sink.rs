//! Where executed code goes: placed code to a trace file, the rest to counters.

use std::path::{Path, PathBuf};

use flashpager_base::Result;
use flashpager_trace::file::Unnamed;
use flashpager_trace::{Ending, OutsideFile, Run, RunBuilder, Symbol, TraceInfo, TraceWriter};

use super::region::Selection;

/// In place of the number of a file: none is known.
pub const NO_FILE: u32 = u32::MAX;

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
    /// Blocks that may have been cut short.
    pub in_doubt: u64,
    writer: TraceWriter,
    builder: RunBuilder,
    instructions: u64,
    outside_instructions: u64,
    outside_bytes: u64,
    /// Of these instructions, those of each file.
    outside_of: Vec<u64>,
    /// What of it all is recorded.
    selection: Option<Selection>,
    beside_instructions: u64,
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

    /// Write what another program executes to `path`.
    pub fn create_apart(&self, path: &Path) -> Result<Self> {
        Ok(Self::to(path, self.writer.create_apart(path)?))
    }

    fn to(path: &Path, writer: TraceWriter) -> Self {
        Self {
            path: path.to_owned(),
            thread: String::new(),
            blocks: 0,
            calls: 0,
            returns: 0,
            in_doubt: 0,
            writer,
            builder: RunBuilder::default(),
            instructions: 0,
            outside_instructions: 0,
            outside_bytes: 0,
            outside_of: Vec::new(),
            selection: None,
            beside_instructions: 0,
        }
    }

    /// Symbols of what may be executed from now on, in all threads.
    pub fn know<'a>(&self, symbols: impl IntoIterator<Item = &'a Symbol>) {
        self.writer.know(symbols);
    }

    /// Record no more than this of what is executed from now on.
    pub fn select(&mut self, selection: Option<Selection>) {
        self.selection = selection;
    }

    /// What is recorded, where not all is.
    pub fn selection(&self) -> Option<&Selection> {
        self.selection.as_ref()
    }

    /// The same, which may learn of more that is placed.
    pub fn selection_mut(&mut self) -> Option<&mut Selection> {
        self.selection.as_mut()
    }

    /// Something was executed that is not to be recorded.
    #[cold]
    fn beside(&mut self, instructions: u32) -> Result<()> {
        // How far the program comes when no more is wanted says nothing.
        if self.selection.as_ref().is_some_and(|selection| !selection.is_over()) {
            self.beside_instructions += u64::from(instructions);
        }
        match self.builder.cut() {
            Some(run) => self.writer.push(run),
            None => Ok(()),
        }
    }

    /// A piece of placed code was executed.
    #[inline]
    pub fn placed(&mut self, piece: Run, instructions: u32) -> Result<()> {
        if let Some(selection) = &mut self.selection
            && !selection.takes_placed(piece, instructions)
        {
            return self.beside(instructions);
        }
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

    /// Code that is not placed was executed, of the file with this number.
    #[inline]
    pub fn outside(&mut self, bytes: u32, instructions: u32, file: u32) -> Result<()> {
        if let Some(selection) = &mut self.selection
            && !selection.takes_outside(instructions)
        {
            return self.beside(instructions);
        }
        if let Some(all) = self.outside_of.get_mut(file as usize) {
            *all += u64::from(instructions);
        } else if file != NO_FILE {
            self.outside_of.resize(file as usize + 1, 0);
            self.outside_of[file as usize] = u64::from(instructions);
        }
        self.outside_instructions += u64::from(instructions);
        self.outside_bytes += u64::from(bytes);
        match self.builder.cut() {
            Some(run) => self.writer.push(run),
            None => Ok(()),
        }
    }

    /// Instructions recorded so far, placed and outside.
    pub fn all_instructions(&self) -> u64 {
        self.instructions + self.outside_instructions
    }

    /// Instructions so far.
    pub fn seen_instructions(&self) -> u64 {
        self.all_instructions() + self.beside_instructions
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
    ///
    /// `files` have the numbers of what was executed outside.
    pub fn close(mut self, mut info: TraceInfo, files: &[PathBuf]) -> Result<Unnamed> {
        if self.writer.disk_full() {
            info.ending = Ending::DiskFull;
        }
        // CSV knows bytes only.
        info.instructions = Some(self.instructions).filter(|count| *count > 0);
        info.outside_instructions = info.outside_instructions.map(|_| self.outside_instructions);
        info.outside_bytes = self.outside_bytes;
        info.calls = info.calls.map(|_| self.calls);
        info.returns = info.returns.map(|_| self.returns);
        info.beside_instructions = self.beside_instructions;
        info.region = self.selection.as_ref().map(Selection::text).unwrap_or_default();
        // By its way from here where it lies below, as the program itself: traces travel.
        let here = std::env::current_dir().ok();
        let short = |path: &'_ PathBuf| {
            let below = here.as_ref().and_then(|here| path.strip_prefix(here).ok());
            below.unwrap_or(path).display().to_string()
        };
        let outside =
            files.iter().zip(std::mem::take(&mut self.outside_of)).filter(|(_, count)| *count > 0);
        info.outside_files = outside
            .map(|(path, instructions)| OutsideFile { path: short(path), instructions })
            .collect();
        info.outside_files.sort_by_key(|file| std::cmp::Reverse(file.instructions));
        info.in_doubt = info.in_doubt.map(|_| self.in_doubt);
        info.thread = self.thread;
        self.writer.close(info)
    }
}
