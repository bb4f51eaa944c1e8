//! The sink of one thread: placed code goes to a trace file, other code to counters.

use std::path::{Path, PathBuf};

use flashpager_base::Result;
use flashpager_trace::file::PendingTraceFile;
use flashpager_trace::{
    Ending, GapReason, Mark, OutsideFile, Run, RunBuilder, Symbol, TraceInfo, TraceWriter,
};

use super::region::Selection;

/// File number of code in no known file.
pub const NO_FILE: u32 = u32::MAX;

/// Runs that are passed to the writer together.
const RUNS_AT_ONCE: usize = 512;

/// A data read in flash by a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRead {
    /// Bytes from the start of the piece to the end of the instruction that read.
    pub behind: u32,
    /// The bytes that were read.
    pub run: Run,
}

/// The executed code of one thread, which is written to a trace file.
pub struct Sink {
    /// The trace file.
    pub path: PathBuf,
    /// Name of the thread; empty if the recorder does not distinguish threads.
    pub thread: String,
    /// Block numbers read from a recorder's stream.
    pub blocks: u64,
    /// Methods entered.
    pub calls: u64,
    /// Methods returned from.
    pub returns: u64,
    /// Blocks that may have been cut short.
    pub in_doubt: u64,
    writer: TraceWriter,
    builder: RunBuilder,
    /// The run in the builder continues one that was cut by a data read.
    continues: bool,
    /// The end of a run that was cut by a data read, until other code is executed.
    parted: Option<u64>,
    instructions: u64,
    outside_instructions: u64,
    outside_bytes: u64,
    /// Instructions outside by file number.
    outside_of: Vec<u64>,
    /// The recorded part of the execution; `None` for all of it.
    selection: Option<Selection>,
    beside_instructions: u64,
}

impl Sink {
    /// Starts to write to `path`; `live` is that of [`TraceWriter::create`].
    pub fn create(path: &Path, live: bool) -> Result<Self> {
        Ok(Self::to(path, TraceWriter::create(path, live)?))
    }

    /// Starts the sink of another thread of the same program.
    pub fn create_beside(&self, path: &Path) -> Result<Self> {
        Ok(Self::to(path, self.writer.create_beside(path)?))
    }

    /// Starts the sink of another program.
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

    /// Adds symbols of code that may be executed from now on, in all threads.
    pub fn add_symbols<'a>(&self, symbols: impl IntoIterator<Item = &'a Symbol>) {
        self.writer.add_symbols(symbols);
    }

    /// Restricts the recording to `selection` from now on; `None` records everything.
    pub fn select(&mut self, selection: Option<Selection>) {
        self.selection = selection;
    }

    /// The recorded part of the execution; `None` for all of it.
    pub fn selection(&self) -> Option<&Selection> {
        self.selection.as_ref()
    }

    /// The recorded part, to which placed images can be added.
    pub fn selection_mut(&mut self) -> Option<&mut Selection> {
        self.selection.as_mut()
    }

    /// Counts instructions that are not recorded.
    #[cold]
    fn beside(&mut self, instructions: u32) -> Result<()> {
        // Instructions after the end of the recorded part depend on when the program is stopped.
        if self.selection.as_ref().is_some_and(|selection| !selection.is_over()) {
            self.beside_instructions += u64::from(instructions);
        }
        self.cut()
    }

    /// Ends the current run at a jump.
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
            self.continues = end == u64::from(piece.offset);
        }
        match self.builder.push(piece) {
            Some(run) => self.write(run),
            None => Ok(()),
        }
    }

    /// Adds a data read by the code that was executed last.
    fn read(&mut self, read: Run) -> Result<()> {
        if let Some(run) = self.builder.cut() {
            self.parted = Some(run.end());
            self.write(run)?;
        }
        self.writer.push_marked(read, Mark::Read)
    }

    /// Adds an executed piece of placed code.
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

    /// Adds executed pieces of placed code. They read no data, and everything is recorded.
    ///
    /// # Errors
    /// If the row group cannot be written.
    #[inline]
    pub fn placed_all(&mut self, mut pieces: impl Iterator<Item = (Run, u32)>) -> Result<()> {
        let mut instructions = 0;
        while self.parted.is_some() || self.continues {
            let Some((piece, of_piece)) = pieces.next() else { break };
            instructions += u64::from(of_piece);
            self.fetch(piece)?;
        }
        let mut pieces = pieces.map(|(piece, of_piece)| {
            instructions += u64::from(of_piece);
            piece
        });
        let mut runs = [Run { offset: 0, length: 0 }; RUNS_AT_ONCE];
        loop {
            let complete = self.builder.push_all(&mut pieces, &mut runs);
            self.writer.push_all(&runs[..complete])?;
            if complete < runs.len() {
                break;
            }
        }
        self.instructions += instructions;
        Ok(())
    }

    /// Adds an executed piece of placed code with its data reads.
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

    /// Adds a run as it stands, of so many instructions. It is not joined with others.
    pub fn run(&mut self, run: Run, mark: Mark, instructions: u32) -> Result<()> {
        self.instructions += u64::from(instructions);
        self.writer.push_marked(run, mark)
    }

    /// Adds a gap: code that was executed behind the last one is missing.
    pub fn gap(&mut self, reason: GapReason, instructions: Option<u64>) -> Result<()> {
        self.cut()?;
        self.continues = false;
        self.writer.add_gap(reason, instructions)
    }

    /// Number of runs written so far.
    pub fn runs(&self) -> u64 {
        self.writer.runs()
    }

    /// Counts an executed piece of code outside the placed code, in the file with this number.
    /// `address` is where it lies, by the addresses of the placed program.
    #[inline]
    pub fn outside(
        &mut self,
        bytes: u32,
        instructions: u32,
        file: u32,
        address: u64,
    ) -> Result<()> {
        self.takes_outside(bytes, instructions, file, address).map(drop)
    }

    /// Counts an executed piece of code outside the placed code, and adds its reads of placed data.
    pub fn outside_reading(
        &mut self,
        bytes: u32,
        instructions: u32,
        file: u32,
        address: u64,
        reads: &[DataRead],
    ) -> Result<()> {
        if self.takes_outside(bytes, instructions, file, address)? {
            reads.iter().try_for_each(|read| self.read(read.run))?;
        }
        Ok(())
    }

    /// Counts code outside the placed code. Returns whether it lies in the recorded part.
    #[inline]
    fn takes_outside(
        &mut self,
        bytes: u32,
        instructions: u32,
        file: u32,
        address: u64,
    ) -> Result<bool> {
        if let Some(selection) = &mut self.selection
            && !selection.takes_outside(address, bytes, instructions)
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

    /// Instructions executed so far, recorded or not.
    pub fn seen_instructions(&self) -> u64 {
        self.all_instructions() + self.beside_instructions
    }

    /// Size of the trace file so far, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.writer.file_bytes()
    }

    /// Returns true if the disk became full.
    pub fn disk_full(&self) -> bool {
        self.writer.disk_full()
    }

    /// Writes the last run. Returns whether there was any run.
    pub fn complete(&mut self) -> Result<bool> {
        self.cut()?;
        Ok(self.writer.runs() > 0)
    }

    /// Writes the rest and `info` with the counts of this sink. `files` are the files outside the
    /// placed code by their numbers.
    pub fn close(mut self, mut info: TraceInfo, files: &[PathBuf]) -> Result<PendingTraceFile> {
        if self.writer.disk_full() {
            info.ending = Ending::DiskFull;
        }
        // CSV has no instructions.
        info.instructions = Some(self.instructions).filter(|count| *count > 0);
        info.outside_instructions = info.outside_instructions.map(|_| self.outside_instructions);
        info.outside_bytes = self.outside_bytes;
        info.calls = info.calls.map(|_| self.calls);
        info.returns = info.returns.map(|_| self.returns);
        info.beside_instructions = self.beside_instructions;
        info.region = self.selection.as_ref().map(Selection::text).unwrap_or_default();
        // Relative to the current folder if the file lies below it: traces are copied elsewhere.
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
