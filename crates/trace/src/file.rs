//! The trace file: Parquet with the columns `offset` and `length`, one row for each run,
//! dictionary-encoded and Zstandard-compressed, and a JSON description ([`TraceInfo`]) under the
//! key [`METADATA_KEY`]. From schema 2 on the upper bits of a length hold the kind of the run. With
//! schema 3 the description has gaps.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashpager_base::{Error, Result};
use flate2::Crc;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::blocks::{
    BlockCounter, BlockCounts, BlockStatistics, MAX_WRITTEN_RUNS, RULES, SymbolStarts,
};
use crate::columns::encode::{ZSTD_LEVEL, stretches, write_column};
use crate::columns::footer::{Footer, ParquetKind, PhysicalType};
use crate::columns::pages::ColumnReader;
use crate::columns::{crc32, parquet_error};
use crate::gaps::{Gap, GapList, GapReason, are_possible};
use crate::group::{GroupRun, RunGroup};
use crate::image::Symbol;
use crate::info::{Ending, TraceInfo};
use crate::output::{DiskReserve, OutputFile};
use crate::run::{MAX_IMAGE_BYTES, MAX_RUN_BYTES, Mark, Run};
use crate::source::{CHUNK_RUNS, RunSource, Trace};
use crate::warm_up::WarmUp;

pub use crate::info::{SCHEMA_VERSION, SCHEMA_VERSION_WITH_GAPS, SCHEMA_VERSION_WITH_READS};

/// The Parquet metadata key of the JSON description.
pub const METADATA_KEY: &str = "flashpager";

const SCHEMA: &str = "message trace {
    required int32 offset (INTEGER(32,false));
    required int32 length (INTEGER(32,false));
}";

const KIND: ParquetKind = ParquetKind {
    name: "trace",
    hint: "'flashpager trace import' reads foreign formats",
    columns: &[("offset", PhysicalType::Int32), ("length", PhysicalType::Int32)],
    max_rows: GROUP_RUNS as u64,
};

/// Runs in a row group. It bounds the memory of writer and reader.
const GROUP_RUNS: usize = 1 << 20;

/// The Parquet metadata key of the checksums: CRC-32 of the description and of the runs (offset
/// and length of each, little-endian), in hexadecimal.
pub const CHECKSUM_KEY: &str = "flashpager.crc32";

/// Runs in a row group of the trace of a further thread. There may be hundreds of them.
const THREAD_GROUP_RUNS: usize = 1 << 15;

/// Writes a trace file. One row group is in memory at a time.
pub struct TraceWriter {
    writer: SerializedFileWriter<OutputFile>,
    /// The path of the file, as the place of errors.
    place: String,
    zstd: zstd::bulk::Compressor<'static>,
    /// The runs of the current row group.
    group: RunGroup,
    /// Runs in the row groups written.
    runs: u64,
    bytes: u64,
    reads: u64,
    read_bytes: u64,
    continued: u64,
    gaps: GapList,
    /// End of the run that ends last.
    end: u64,
    checksum: RunChecksum,
    /// `None` when there are too many distinct runs.
    blocks: Option<BlockCounter>,
    symbol_starts: SymbolStarts,
    group_runs: usize,
    is_file: bool,
    space: DiskReserve,
}

/// A complete trace that does not have its name yet. If it is dropped, no file is left.
pub struct PendingTraceFile {
    output: OutputFile,
    /// Description of the trace.
    pub info: TraceInfo,
}

impl PendingTraceFile {
    /// Returns the path of the unpublished file. `None` for a device, which cannot be read again.
    pub fn contents(&self) -> Option<&Path> {
        self.output.contents()
    }

    /// Returns the path that the file gets when it is published.
    pub fn target(&self) -> &Path {
        self.output.target()
    }

    /// Changes the path that the file gets when it is published.
    pub fn set_target(&mut self, target: &Path) {
        self.output.set_target(target);
    }

    /// Gives the file its name. Returns the description.
    ///
    /// # Errors
    /// If the data cannot be written, or the system refuses the name.
    pub fn publish(self) -> Result<TraceInfo> {
        self.output.finish()?;
        Ok(self.info)
    }
}

impl TraceWriter {
    /// Starts the file `path`. With `live`, disk space is reserved so that the trace can be completed
    /// on a full disk.
    ///
    /// # Errors
    /// If the file, or the reserve beside it, cannot be written.
    pub fn create(path: &Path, live: bool) -> Result<Self> {
        let space = DiskReserve::default();
        let writer = Self::create_in(path, space, SymbolStarts::default(), GROUP_RUNS)?;
        if live && writer.is_file {
            writer.space.hold(path)?;
        }
        Ok(writer)
    }

    /// Starts the file of a further thread. It shares symbols and reserved space with `self`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create_beside(&self, path: &Path) -> Result<Self> {
        Self::create_in(path, self.space.clone(), self.symbol_starts.clone(), THREAD_GROUP_RUNS)
    }

    /// Starts the file of another program, with symbols of its own. It shares the reserved space with
    /// `self`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create_apart(&self, path: &Path) -> Result<Self> {
        Self::create_in(path, self.space.clone(), SymbolStarts::default(), THREAD_GROUP_RUNS)
    }

    fn create_in(
        path: &Path,
        space: DiskReserve,
        symbol_starts: SymbolStarts,
        group_runs: usize,
    ) -> Result<Self> {
        let output = OutputFile::create(path, space.clone())?;
        let is_file = output.contents().is_some();
        let place = path.display().to_string();
        let properties = WriterProperties::builder()
            .set_created_by(format!("flashpager {}", flashpager_base::VERSION))
            .build();
        let schema = parse_message_type(SCHEMA).map_err(|e| parquet_error(&place, e))?;
        let writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))
            .map_err(|e| parquet_error(&place, e))?;
        Ok(Self {
            writer,
            zstd: zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(|e| Error::io(&place, e))?,
            place,
            group: RunGroup::default(),
            runs: 0,
            bytes: 0,
            reads: 0,
            read_bytes: 0,
            continued: 0,
            gaps: GapList::default(),
            end: 0,
            checksum: RunChecksum::default(),
            blocks: Some(BlockCounter::new(symbol_starts.clone())),
            symbol_starts,
            group_runs,
            is_file,
            space,
        })
    }

    /// Adds symbols, of all threads, before their code is executed: jumps to them are counted as
    /// calls. If a symbol is added too late, blocks are not counted while the trace is written.
    pub fn add_symbols<'a>(&self, symbols: impl IntoIterator<Item = &'a Symbol>) {
        self.symbol_starts.add(symbols);
    }

    /// Adds an executed run.
    ///
    /// # Errors
    /// If the row group cannot be written.
    #[inline]
    pub fn push(&mut self, run: Run) -> Result<()> {
        self.push_marked(run, Mark::Executed)
    }

    /// Adds executed runs.
    ///
    /// # Errors
    /// If the row group cannot be written.
    #[inline]
    pub fn push_all(&mut self, mut runs: &[Run]) -> Result<()> {
        while !runs.is_empty() {
            let (now, rest) = runs.split_at(runs.len().min(self.group_runs - self.group.len()));
            self.group.push_executed(now);
            if self.group.len() == self.group_runs {
                self.write_group()?;
            }
            runs = rest;
        }
        Ok(())
    }

    /// Adds a run with its kind.
    ///
    /// # Errors
    /// If the row group cannot be written.
    #[inline]
    pub fn push_marked(&mut self, run: Run, mark: Mark) -> Result<()> {
        self.group.push(run, mark);
        if self.group.len() == self.group_runs { self.write_group() } else { Ok(()) }
    }

    /// Adds a gap: executed code is missing behind the last run that was pushed.
    ///
    /// # Errors
    /// If there are too many gaps.
    pub fn add_gap(&mut self, reason: GapReason, instructions: Option<u64>) -> Result<()> {
        let gap = Gap { run: self.runs(), reason, instructions };
        self.gaps.add(gap).map_err(|message| Error::data(self.place.clone(), message))
    }

    /// Returns true if the disk became full. Data written before is safe; further data is not.
    pub fn disk_full(&self) -> bool {
        self.space.is_full()
    }

    /// Returns the number of runs so far.
    pub fn runs(&self) -> u64 {
        self.runs + self.group.len() as u64
    }

    /// Returns the size of the file so far, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    fn write_group(&mut self) -> Result<()> {
        self.write_columns().map_err(|e| parquet_error(&self.place, e))?;
        let distinct = self.group.distinct();
        for run in distinct {
            let count = u64::from(run.count);
            let (Run { length, .. }, mark) = run.decoded();
            self.runs += count;
            self.bytes += count * u64::from(length);
            self.end = self.end.max(run.decoded().0.end());
            match mark {
                Mark::Executed => {}
                Mark::Continued => self.continued += count,
                Mark::Read => {
                    self.reads += count;
                    self.read_bytes += count * u64::from(length);
                }
            }
        }
        for numbers in self.group.numbers().chunks(CHUNK_RUNS) {
            let runs = numbers.iter().map(|number| distinct[*number as usize]);
            self.checksum.add(runs.map(|run| (run.offset, run.stored_length)));
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.add_group(&self.group);
            self.blocks.take_if(|blocks| blocks.distinct_runs() > MAX_WRITTEN_RUNS);
        }
        self.group.clear();
        Ok(())
    }

    /// Writes the columns of the current row group.
    fn write_columns(&mut self) -> std::result::Result<(), ParquetError> {
        let schema = self.writer.schema_descr();
        let columns = [schema.column(0), schema.column(1)];
        let (numbers, distinct) = (self.group.numbers(), self.group.distinct());
        let stretches = stretches(numbers);
        let mut group = self.writer.next_row_group()?;
        let parts: [fn(&GroupRun) -> u32; 2] = [|run| run.offset, |run| run.stored_length];
        for (column, part) in columns.into_iter().zip(parts) {
            let values = distinct.iter().map(part);
            write_column(&mut group, column, &mut self.zstd, values, numbers, &stretches)?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the rest and the description, and gives the file its name. The counts of runs, bytes
    /// and blocks are set in `info`, which is returned.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self, info: TraceInfo) -> Result<TraceInfo> {
        self.close(info)?.publish()
    }

    /// Does the same as [`Self::finish`], but gives the file no name yet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn close(mut self, mut info: TraceInfo) -> Result<PendingTraceFile> {
        self.add_symbols(info.symbols());
        if !self.group.is_empty() {
            self.write_group()?;
        }
        let has_marks = self.reads > 0 || self.continued > 0;
        info.runs = self.runs;
        self.describe_gaps(&mut info);
        info.schema_version = match (info.gaps.is_empty(), has_marks) {
            (false, _) => SCHEMA_VERSION_WITH_GAPS,
            (true, true) => SCHEMA_VERSION_WITH_READS,
            (true, false) => SCHEMA_VERSION,
        };
        info.bytes = self.bytes;
        info.reads = self.reads;
        info.reads_recorded |= self.reads > 0;
        info.read_bytes = self.read_bytes;
        info.continued = self.continued;
        info.image_bytes = info.image_bytes.max(self.end);
        info.blocks =
            self.blocks.take().and_then(|blocks| blocks.finish(info.image_bytes, info.symbols()));
        if !info.gaps.is_empty() {
            info.blocks = info.blocks.map(BlockCounts::without_calls);
        }
        let json = serde_json::to_string(&info)
            .map_err(|e| Error::data(self.place.clone(), e.to_string()))?;
        let checksums = format!("{:08x} {:08x}", crc32(json.as_bytes()), self.checksum.crc.sum());
        self.writer.append_key_value_metadata(KeyValue::new(METADATA_KEY.to_owned(), json));
        self.writer.append_key_value_metadata(KeyValue::new(CHECKSUM_KEY.to_owned(), checksums));
        let output = self.writer.into_inner().map_err(|e| parquet_error(&self.place, e))?;
        Ok(PendingTraceFile { output, info })
    }

    /// Sets the gaps in `info`. A gap behind the last run parts nothing and becomes a note.
    fn describe_gaps(&mut self, info: &mut TraceInfo) {
        let (gaps, behind) = std::mem::take(&mut self.gaps).finish(self.runs);
        if let Some(Gap { reason, .. }) = behind.filter(|_| self.runs > 0) {
            info.left_out.push(format!("what followed the last run ({reason})"));
        }
        if info.ending == Ending::Complete && (behind.is_some() || !gaps.is_empty()) {
            info.ending = Ending::AsCaptured;
        }
        info.gaps = gaps;
    }
}

/// An open trace file. Its description has been read and checked, its runs have not.
pub struct TraceFile {
    path: PathBuf,
    info: TraceInfo,
}

impl TraceFile {
    /// Opens a trace without gaps and reads its description. All that answer for the whole
    /// execution open traces so; [`Self::open_captured`] is for those that work by window.
    ///
    /// # Errors
    /// If the file cannot be read, is truncated or damaged, is no trace, or has gaps.
    pub fn open(path: &Path) -> Result<Self> {
        let file = Self::open_captured(path)?;
        file.info.refuse_gaps(&path.display().to_string())?;
        Ok(file)
    }

    /// Opens a trace, which may have gaps, and reads its description.
    ///
    /// # Errors
    /// If the file cannot be read, is truncated or damaged, or is no trace.
    pub fn open_captured(path: &Path) -> Result<Self> {
        let place = path.display().to_string();
        let (_, footer) = open_footer(path)?;
        let versions = SCHEMA_VERSION..=SCHEMA_VERSION_WITH_GAPS;
        let mut info: TraceInfo = footer.description(path, &KIND, METADATA_KEY, versions)?;
        let json = footer.value(METADATA_KEY).unwrap_or_default();
        if checksums(&footer).is_some_and(|(sum, _)| sum != crc32(json.as_bytes())) {
            return Err(Error::data(&place, "its description is damaged: make or copy it again"));
        }
        // The warm-up is chosen for each replay.
        info.warm_up = WarmUp::default();
        // Counts by other rules are not used.
        info.blocks.take_if(|blocks| blocks.rules != RULES);
        info.reads_recorded |= info.reads > 0;
        let impossible = info.blocks.as_ref().is_some_and(|blocks| !info.can_have(blocks));
        let marked = info.reads.saturating_add(info.continued);
        let misfit = marked > info.runs
            || info.read_bytes > info.bytes
            || info.read_bytes < info.reads
            || (marked > 0 && info.schema_version < SCHEMA_VERSION_WITH_READS)
            || info.gaps.is_empty() == (info.schema_version == SCHEMA_VERSION_WITH_GAPS)
            || !are_possible(&info.gaps, info.runs);
        if footer.rows != info.runs || misfit || info.image_bytes > MAX_IMAGE_BYTES || impossible {
            return Err(Error::data(&place, "its description does not fit its contents"));
        }
        Ok(Self { path: path.to_owned(), info })
    }

    /// Sets the warm-up.
    ///
    /// # Errors
    /// If the warm-up leaves no run to count.
    pub fn with_warm_up(mut self, warm_up: WarmUp) -> Result<Self> {
        if !warm_up.is_none() && warm_up.runs >= self.info.runs {
            let reason = format!("has {} runs: nothing is left to count", self.info.runs);
            return Err(Error::data(self.path.display().to_string(), reason));
        }
        self.info.warm_up = warm_up;
        Ok(self)
    }

    /// Returns the description.
    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file once more, for a position of its own, and reads the footer.
    pub(crate) fn reopen(&self) -> Result<(File, Footer)> {
        open_footer(&self.path)
    }

    /// Returns the statistics of its basic blocks, if the file holds their counts.
    pub fn blocks(&self) -> Option<BlockStatistics> {
        let blocks = self.info.blocks.as_ref()?;
        let (runs, bytes) = (self.info.executed_runs(), self.info.executed_bytes());
        Some(BlockStatistics::new(blocks, runs, bytes))
    }
}

impl Trace for TraceFile {
    fn image_bytes(&self) -> u64 {
        self.info.image_bytes
    }

    fn warm_up(&self) -> WarmUp {
        self.info.warm_up
    }

    fn gaps(&self) -> &[Gap] {
        &self.info.gaps
    }

    fn has_reads(&self) -> bool {
        self.info.schema_version >= SCHEMA_VERSION_WITH_READS
    }

    fn runs(&self) -> Result<Box<dyn RunSource + '_>> {
        let (file, footer) = open_footer(&self.path)?;
        Ok(Box::new(FileSource {
            place: self.path.display().to_string(),
            file: Arc::new(file),
            footer,
            image_bytes: self.image_bytes(),
            group: 0,
            readers: None,
            left: 0,
            offsets: Vec::with_capacity(CHUNK_RUNS),
            lengths: Vec::with_capacity(CHUNK_RUNS),
            marks: self.has_reads().then(Vec::new),
            checksum: RunChecksum::default(),
        }))
    }
}

struct FileSource {
    place: String,
    file: Arc<File>,
    footer: Footer,
    image_bytes: u64,
    /// Number of row groups opened so far.
    group: usize,
    readers: Option<[ColumnReader; 2]>,
    left: usize,
    offsets: Vec<u32>,
    lengths: Vec<u32>,
    /// Kinds of the runs of the last chunk; `None` if the trace has no data reads.
    marks: Option<Vec<Mark>>,
    checksum: RunChecksum,
}

impl FileSource {
    /// Opens the next row group. Returns false if there is none.
    fn open_group(&mut self) -> io::Result<bool> {
        let Some(group) = self.footer.groups.get(self.group) else { return Ok(false) };
        self.group += 1;
        let [offsets, lengths] = &group.columns[..] else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        self.readers = Some([
            ColumnReader::new(Arc::clone(&self.file), offsets)?,
            ColumnReader::new(Arc::clone(&self.file), lengths)?,
        ]);
        self.left = group.rows as usize;
        Ok(true)
    }

    fn read_columns(&mut self) -> io::Result<()> {
        self.offsets.clear();
        self.lengths.clear();
        if self.left == 0 && !self.open_group()? {
            return Ok(());
        }
        let Some([offsets, lengths]) = &mut self.readers else { return Ok(()) };
        let wanted = self.left.min(CHUNK_RUNS);
        offsets.read(wanted, &mut self.offsets)?;
        lengths.read(wanted, &mut self.lengths)?;
        self.left -= wanted;
        if self.left == 0 && !(offsets.is_at_end() && lengths.is_at_end()) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }
}

impl RunSource for FileSource {
    fn read(&mut self, runs: &mut Vec<Run>) -> Result<()> {
        runs.clear();
        self.read_columns().map_err(|e| unreadable(&self.place, self.group, e))?;
        self.checksum.add(self.offsets.iter().copied().zip(self.lengths.iter().copied()));
        if self.offsets.is_empty()
            && checksums(&self.footer).is_some_and(|(_, sum)| sum != self.checksum.crc.sum())
        {
            return Err(damaged(&self.place, "its runs do not match their checksum"));
        }
        if let Some(marks) = &mut self.marks {
            take_marks(&mut self.lengths, marks);
        }
        append_checked(&self.offsets, &self.lengths, self.image_bytes, runs)
            .map_err(|reason| damaged(&self.place, reason))
    }

    fn marks(&self) -> &[Mark] {
        self.marks.as_deref().unwrap_or_default()
    }
}

/// Replaces `marks` by the kinds in the upper bits of `lengths`, and clears these bits.
pub(crate) fn take_marks(lengths: &mut [u32], marks: &mut Vec<Mark>) {
    marks.clear();
    marks.extend(lengths.iter_mut().map(|length| {
        let (mark, plain) = Mark::decode(*length);
        *length = plain;
        mark
    }));
}

pub(crate) fn damaged(place: &str, reason: impl std::fmt::Display) -> Error {
    Error::data(place, format!("is damaged ({reason}): make or copy it again"))
}

/// Makes the error for row group number `group`, counted from 1, that could not be read.
pub(crate) fn unreadable(place: &str, group: usize, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            damaged(place, format_args!("in row group {group}"))
        }
        _ => Error::io(place, error),
    }
}

/// Appends the runs of these columns to `runs`.
///
/// # Errors
/// If a run is impossible. The error describes the first, in words.
pub(crate) fn append_checked(
    offsets: &[u32],
    lengths: &[u32],
    image_bytes: u64,
    runs: &mut Vec<Run>,
) -> std::result::Result<(), String> {
    let before = runs.len();
    let mut sane = true;
    runs.extend(offsets.iter().zip(lengths).map(|(&offset, &length)| {
        let run = Run { offset, length };
        sane &= run.length.wrapping_sub(1) < MAX_RUN_BYTES && run.end() <= image_bytes;
        run
    }));
    if sane {
        return Ok(());
    }
    let wrong = runs[before..].iter().find_map(|run| {
        match Run::checked(run.offset.into(), run.length.into()) {
            Err(reason) => Some(reason),
            Ok(run) if run.end() > image_bytes => {
                Some(format!("a run at offset {:#x} reaches beyond the image", run.offset))
            }
            Ok(_) => None,
        }
    });
    runs.truncate(before);
    Err(wrong.unwrap_or_default())
}

fn open_footer(path: &Path) -> Result<(File, Footer)> {
    let mut file = File::open(path).map_err(|e| Error::file(path, e))?;
    let footer = Footer::read(path, &mut file, &KIND)?;
    Ok((file, footer))
}

/// Returns the checksums of the description and of the runs. Without them, or with damaged ones,
/// the trace is read unchecked.
fn checksums(footer: &Footer) -> Option<(u32, u32)> {
    let (description, runs) = footer.value(CHECKSUM_KEY)?.split_once(' ')?;
    let parse = |text| u32::from_str_radix(text, 16).ok();
    Some((parse(description)?, parse(runs)?))
}

/// CRC-32 of runs. It does not depend on how they are grouped.
#[derive(Default)]
struct RunChecksum {
    crc: Crc,
    words: Vec<[u8; 8]>,
}

impl RunChecksum {
    /// Adds runs, given as offset and length.
    fn add(&mut self, runs: impl Iterator<Item = (u32, u32)>) {
        self.words.clear();
        self.words.extend(
            runs.map(|(offset, length)| {
                (u64::from(offset) | u64::from(length) << 32).to_le_bytes()
            }),
        );
        self.crc.update(self.words.as_flattened());
    }
}
