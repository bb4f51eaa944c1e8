//! Where executed code goes: placed code to a trace file, the rest to counters.

use std::path::{Path, PathBuf};

use flashpager_base::Result;
use flashpager_trace::file::PendingTraceFile;
use flashpager_trace::{
    Ending, Mark, OutsideFile, Run, RunBuilder, Symbol, TraceInfo, TraceWriter,
};

use super::region::Selection;

/// In place of the number of a file: none is known.
pub const NO_FILE: u32 = u32::MAX;

/// Placed data that a piece of code read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRead {
    /// Bytes of the code up to the end of the instruction that read.
    pub behind: u32,
    /// What was read.
    pub run: Run,
}

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
    /// Whether the run in the builder goes on with one that a data read parted.
    continues: bool,
    /// The end of a run that a data read parted, until something else is executed.
    parted: Option<u32>,
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
            continues: false,
            parted: None,
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
        self.cut()
    }

    /// What follows is behind a jump.
    #[inline]
    fn cut(&mut self) -> Result<()> {
        self.parted = None;
        match self.builder.cut() {
            Some(run) => self.write(run),
            None => Ok(()),
        }
    }

    #[inline]
    fn write(&mut self, run: Run) -> Result<()> {
        let continues = std::mem::take(&mut self.continues);
        let mark = if continues { Mark::Continued } else { Mark::Executed };
        self.writer.push_marked(run, mark)
    }

    #[inline]
    fn fetch(&mut self, piece: Run) -> Result<()> {
        if let Some(end) = self.parted.take() {
            // The builder is empty.
            self.continues = end == piece.offset;
        }
        match self.builder.push(piece) {
            Some(run) => self.write(run),
            None => Ok(()),
        }
    }

    /// Data was read, by what was executed last.
    fn read(&mut self, read: Run) -> Result<()> {
        if let Some(run) = self.builder.cut() {
            self.parted = Some(run.end());
            self.write(run)?;
        }
        self.writer.push_marked(read, Mark::Read)
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
        self.fetch(piece)
    }

    /// A piece of placed code was executed, which read data meanwhile.
    pub fn placed_reading(
        &mut self,
        piece: Run,
        instructions: u32,
        reads: &[DataRead],
    ) -> Result<()> {
        if let Some(selection) = &mut self.selection
            && !selection.takes_placed(piece, instructions)
        {
            return self.beside(instructions);
        }
        self.instructions += u64::from(instructions);
        let mut done = 0;
        for read in reads {
            let behind = read.behind.clamp(done, piece.length);
            if behind > done {
                self.fetch(Run { offset: piece.offset + done, length: behind - done })?;
                done = behind;
            }
            self.read(read.run)?;
        }
        if done < piece.length {
            self.fetch(Run { offset: piece.offset + done, length: piece.length - done })?;
        }
        Ok(())
    }

    /// A run as it stands, joined with nothing, of unknown instructions.
    pub fn run(&mut self, run: Run, mark: Mark) -> Result<()> {
        self.writer.push_marked(run, mark)
    }

    /// Code that is not placed was executed, of the file with this number.
    #[inline]
    pub fn outside(&mut self, bytes: u32, instructions: u32, file: u32) -> Result<()> {
        self.takes_outside(bytes, instructions, file).map(drop)
    }

    /// The same, which read placed data meanwhile.
    pub fn outside_reading(
        &mut self,
        bytes: u32,
        instructions: u32,
        file: u32,
        reads: &[DataRead],
    ) -> Result<()> {
        if self.takes_outside(bytes, instructions, file)? {
            reads.iter().try_for_each(|read| self.read(read.run))?;
        }
        Ok(())
    }

    /// Gives whether that is recorded.
    #[inline]
    fn takes_outside(&mut self, bytes: u32, instructions: u32, file: u32) -> Result<bool> {
        if let Some(selection) = &mut self.selection
            && !selection.takes_outside(instructions)
        {
            return self.beside(instructions).map(|()| false);
        }
        if let Some(all) = self.outside_of.get_mut(file as usize) {
            *all += u64::from(instructions);
        } else if file != NO_FILE {
            self.outside_of.resize(file as usize + 1, 0);
            self.outside_of[file as usize] = u64::from(instructions);
        }
        self.outside_instructions += u64::from(instructions);
        self.outside_bytes += u64::from(bytes);
        self.cut().map(|()| true)
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
        self.cut()?;
        Ok(self.writer.runs() > 0)
    }

    /// Write the rest and `info` with this sink's counts.
    ///
    /// `files` have the numbers of what was executed outside.
    pub fn close(mut self, mut info: TraceInfo, files: &[PathBuf]) -> Result<PendingTraceFile> {
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
