//! An import in progress: what importers of all formats share.

use flashpager_base::{Error, Result};
use flashpager_trace::{Ending, Mark};
use rustc_hash::FxHashSet;

use crate::fetch::{Fetch, ReadAccess, place, place_read};
use crate::input::{Input, TextLines};
use crate::recording::{ProgressFn, Recording};
use crate::sink::{DataRead, NO_FILE};

/// Lines of text between two calls of the progress callback.
const PROGRESS_INTERVAL: u32 = 1 << 16;

/// Reads one format. Each importer's module has one as its `IMPORTER`.
pub(crate) struct Importer {
    /// Returns true if a file that starts with these bytes looks like the format.
    pub recognises: fn(&[u8]) -> bool,
    /// Reads an input to its end. Returns how the recorded program ended;
    /// [`Error::Interrupted`] if the session stopped it.
    pub read: fn(Input, &mut ImportSession<'_>) -> Result<Ending>,
}

/// A place in the input, for messages.
#[derive(Clone, Copy)]
enum SourcePlace {
    Line(u64),
    Byte(u64),
}

impl std::fmt::Display for SourcePlace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(out, "line {line}"),
            Self::Byte(byte) => write!(out, "byte {byte}"),
        }
    }
}

/// A line of text that is a run at an address, or at an offset if nothing is placed.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// Address or offset of its first byte.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// The kind of the run.
    pub mark: Mark,
    /// Instructions in it; 0 if the file has no such column.
    pub instructions: u32,
}

/// The recording that an importer fills, with the import's settings.
pub(crate) struct ImportSession<'a> {
    /// The traces under way.
    pub recording: &'a mut Recording,
    /// Bytes of an instruction, for formats that do not record its length.
    pub instruction_bytes: u32,
    /// Called from time to time; the import stops when it returns false.
    pub progress: ProgressFn<'a>,
    /// The process that runs the program, if its load addresses are to be read from there.
    process: Option<u32>,
    /// The input's name, for messages.
    name: String,
    /// Lines until the progress callback is called next.
    countdown: u32,
    /// Memory pages outside the placed code that have been looked up among the mappings.
    foreign_pages: FxHashSet<u64>,
    /// Placed reads of the instruction at hand; kept to reuse its memory.
    reads: Vec<DataRead>,
}

impl<'a> ImportSession<'a> {
    /// Starts to fill `recording` from the input called `name`.
    pub fn new(
        recording: &'a mut Recording,
        process: Option<u32>,
        name: &str,
        instruction_bytes: u32,
        progress: ProgressFn<'a>,
    ) -> Self {
        Self {
            recording,
            instruction_bytes,
            progress,
            process,
            name: name.to_owned(),
            countdown: PROGRESS_INTERVAL,
            foreign_pages: FxHashSet::default(),
            reads: Vec::new(),
        }
    }

    /// Returns true if the program runs at the same time, instead of a saved file being read.
    pub fn is_live(&self) -> bool {
        self.process.is_some()
    }

    /// Adds a run from `line`, without joining it to its neighbours. If code is placed, the row has
    /// an address, and a run outside the placed code counts as outside.
    ///
    /// # Errors
    /// If a run lies beyond 4 GiB and there is no placement, or writing fails.
    /// [`Error::Interrupted`] if the callback ends the import.
    pub fn add_row(&mut self, line: u64, row: Row) -> Result<()> {
        let Row { address, length: bytes, mark, instructions } = row;
        let placer = self.recording.placer.as_ref();
        let run = place(placer, Fetch { address, bytes, instructions })
            .map_err(|message| self.error(SourcePlace::Line(line), message))?;
        let address = placer.map_or(address, |placer| placer.linked(address));
        let sink = self.recording.sink();
        match (run, mark) {
            (Some(run), mark) => sink.run(run, mark, instructions)?,
            // Reads of other memory are not recorded.
            (None, Mark::Read) => {}
            (None, _) => sink.outside(bytes, instructions, NO_FILE, address)?,
        }
        self.check_progress()
    }

    /// Notes that the input ends within the current line, which was read and may be cut off.
    #[inline]
    pub fn doubt_if_cut(&mut self, lines: &TextLines) {
        if lines.is_cut() {
            self.recording.in_doubt(1);
        }
    }

    /// Adds an instruction from `line` with the data reads that it made.
    ///
    /// # Errors
    /// If an address lies beyond 4 GiB and there is no placement, or writing fails.
    /// [`Error::Interrupted`] if the callback ends the import.
    pub fn add_fetch(&mut self, line: u64, fetch: Fetch, reads: &[ReadAccess]) -> Result<()> {
        self.add(SourcePlace::Line(line), fetch, reads)
    }

    /// Adds an instruction from a byte of a binary format.
    ///
    /// # Errors
    /// If [`ImportSession::add_fetch`] fails.
    pub fn add_fetch_at(&mut self, byte: u64, fetch: Fetch) -> Result<()> {
        self.add(SourcePlace::Byte(byte), fetch, &[])
    }

    fn add(&mut self, at: SourcePlace, fetch: Fetch, reads: &[ReadAccess]) -> Result<()> {
        self.update_mappings(fetch.address)?;
        let placer = self.recording.placer.as_ref();
        let run = place(placer, fetch).map_err(|message| self.error(at, message))?;
        self.reads.clear();
        if self.recording.with_reads {
            for read in reads {
                place_read(placer, *read, fetch.bytes, &mut self.reads)
                    .map_err(|message| Error::data(format!("{}, {at}", self.name), message))?;
            }
        }
        let Fetch { bytes, instructions, .. } = fetch;
        let address = placer.map_or(fetch.address, |placer| placer.linked(fetch.address));
        let sink = self.recording.sink();
        match run {
            Some(run) if self.reads.is_empty() => sink.placed(run, instructions)?,
            Some(run) => sink.placed_reading(run, instructions, &self.reads)?,
            None => sink.outside_reading(bytes, instructions, NO_FILE, address, &self.reads)?,
        }
        // Checked at each instruction: a program that waits for input writes no further line at
        // which the end could be noticed later.
        if self.recording.is_over() {
            self.recording.was_ended = true;
            return Err(Error::Interrupted);
        }
        self.check_progress()
    }

    /// Looks for new mappings of the running program if code outside the placed code executes.
    /// Each memory page is looked up once.
    fn update_mappings(&mut self, address: u64) -> Result<()> {
        if let (Some(placer), Some(process)) = (self.recording.placer.as_mut(), self.process)
            && placer.locate(address).is_none()
            && self.foreign_pages.insert(address >> 12)
        {
            placer.load_mappings_of(process)?;
            self.recording.announce_placed()?;
        }
        Ok(())
    }

    fn check_progress(&mut self) -> Result<()> {
        self.countdown -= 1;
        if self.countdown > 0 {
            return Ok(());
        }
        self.countdown = PROGRESS_INTERVAL;
        if self.recording.report_progress(self.progress) { Ok(()) } else { Err(Error::Interrupted) }
    }

    fn error(&self, at: SourcePlace, message: String) -> Error {
        Error::data(format!("{}, {at}", self.name), message)
    }
}
