//! The trace file: Parquet with the columns `offset` and `length`, one row a
//! run, dictionary-encoded and Zstandard-compressed, and a JSON description
//! ([`TraceInfo`]) under the key [`METADATA_KEY`]. With schema 2 a length's upper bits
//! tell data reads from what is executed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashpager_base::{Error, Result};
use flate2::Crc;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::Int32Type;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::blocks::{BlockCounter, BlockStatistics, MAX_WRITTEN_RUNS, RULES, SymbolStarts};
use super::columns::footer::{Footer, ParquetKind, PhysicalType};
use super::columns::pages::ColumnReader;
use super::columns::{crc32, parquet_error};
use super::output::{DiskReserve, OutputFile};
use super::{CHUNK_RUNS, Mark, Run, RunSource, Symbol, Trace, TraceInfo, WarmUp};

/// Version of the file's layout without data reads, in [`TraceInfo::schema_version`].
pub const SCHEMA_VERSION: u32 = 1;

/// Version of the layout with data reads.
pub const SCHEMA_VERSION_WITH_READS: u32 = 2;

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

/// Runs in a row group: bounds the memory of writer and reader.
const GROUP_RUNS: usize = 1 << 20;

/// The Parquet metadata key of the checksums: CRC-32 of the description and of
/// the runs (offset and length of each, little-endian), in hexadecimal.
pub const CHECKSUM_KEY: &str = "flashpager.crc32";

/// Runs in a row group of a further thread's trace, of which there may be hundreds.
const THREAD_GROUP_RUNS: usize = 1 << 15;

/// Writes a trace file, one row group in memory at a time.
pub struct TraceWriter {
    writer: SerializedFileWriter<OutputFile>,
    place: String,
    offsets: Vec<i32>,
    lengths: Vec<i32>,
    runs: u64,
    bytes: u64,
    reads: u64,
    read_bytes: u64,
    continued: u64,
    end: u32,
    checksum: RunChecksum,
    /// Nothing where the distinct runs became too many.
    blocks: Option<BlockCounter>,
    symbol_starts: SymbolStarts,
    group_runs: usize,
    is_file: bool,
    space: DiskReserve,
}

/// A trace that is whole and has not got its name yet. Dropped, it leaves no file.
pub struct PendingTraceFile {
    output: OutputFile,
    /// Its description.
    pub info: TraceInfo,
}

impl PendingTraceFile {
    /// Where its contents are by now; a device has none that could be read.
    pub fn contents(&self) -> Option<&Path> {
        self.output.contents()
    }

    /// The name that it gets.
    pub fn target(&self) -> &Path {
        self.output.target()
    }

    /// Let it have another name.
    pub fn retarget(&mut self, target: &Path) {
        self.output.retarget(target);
    }

    /// Give it its name, and its description to the caller.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn name(self) -> Result<TraceInfo> {
        self.output.finish()?;
        Ok(self.info)
    }
}

impl TraceWriter {
    /// Start the file `path`. With `live`, space for an orderly end is held
    /// back so that a full disk does not cost what was recorded.
    ///
    /// # Errors
    /// When the file, or the reserve beside it, cannot be written.
    pub fn create(path: &Path, live: bool) -> Result<Self> {
        let space = DiskReserve::default();
        let writer = Self::create_in(path, space, SymbolStarts::default(), GROUP_RUNS)?;
        if live && writer.is_file {
            writer.space.hold(path)?;
        }
        Ok(writer)
    }

    /// Start the file of a further thread, which ends with `self` if the disk is full.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create_beside(&self, path: &Path) -> Result<Self> {
        Self::create_in(path, self.space.clone(), self.symbol_starts.clone(), THREAD_GROUP_RUNS)
    }

    /// Start the file of another program, with symbols of its own; it ends with `self`, too.
    ///
    /// # Errors
    /// When the file cannot be written.
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
        let level = ZstdLevel::try_new(6).map_err(|e| parquet_error(&place, e))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_dictionary_enabled(true)
            .set_dictionary_page_size_limit(16 << 20)
            .set_data_page_size_limit(64 << 20)
            .set_data_page_row_count_limit(GROUP_RUNS)
            .set_write_batch_size(GROUP_RUNS)
            .set_created_by(format!("flashpager {}", flashpager_base::VERSION))
            .build();
        let schema = parse_message_type(SCHEMA).map_err(|e| parquet_error(&place, e))?;
        let writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))
            .map_err(|e| parquet_error(&place, e))?;
        Ok(Self {
            writer,
            place,
            offsets: Vec::new(),
            lengths: Vec::new(),
            runs: 0,
            bytes: 0,
            reads: 0,
            read_bytes: 0,
            continued: 0,
            end: 0,
            checksum: RunChecksum::default(),
            blocks: Some(BlockCounter::new(symbol_starts.clone())),
            symbol_starts,
            group_runs,
            is_file,
            space,
        })
    }

    /// Learn of symbols before what they name is executed: jumps to them are calls, of all
    /// threads. Those that come too late are counted when somebody asks.
    pub fn know<'a>(&self, symbols: impl IntoIterator<Item = &'a Symbol>) {
        self.symbol_starts.add(symbols);
    }

    /// Add an executed run.
    #[inline]
    pub fn push(&mut self, run: Run) -> Result<()> {
        self.push_marked(run, Mark::Executed)
    }

    /// Add a run, and what it is.
    #[inline]
    pub fn push_marked(&mut self, run: Run, mark: Mark) -> Result<()> {
        match mark {
            Mark::Executed => {}
            Mark::Continued => self.continued += 1,
            Mark::Read => {
                self.reads += 1;
                self.read_bytes += u64::from(run.length);
            }
        }
        self.offsets.push(run.offset as i32);
        self.lengths.push(mark.on(run.length) as i32);
        self.bytes += u64::from(run.length);
        self.end = self.end.max(run.end());
        if self.offsets.len() == self.group_runs { self.write_group() } else { Ok(()) }
    }

    /// Whether the disk ran full: what has been written is safe, more is not.
    pub fn disk_full(&self) -> bool {
        self.space.is_full()
    }

    /// Runs so far.
    pub fn runs(&self) -> u64 {
        self.runs + self.offsets.len() as u64
    }

    /// Bytes of the file so far.
    pub fn file_bytes(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    fn write_group(&mut self) -> Result<()> {
        self.runs += self.offsets.len() as u64;
        let place = self.place.clone();
        let mut write = || -> std::result::Result<(), ParquetError> {
            let mut group = self.writer.next_row_group()?;
            for values in [&self.offsets, &self.lengths] {
                if let Some(mut column) = group.next_column()? {
                    column.typed::<Int32Type>().write_batch(values, None, None)?;
                    column.close()?;
                }
            }
            group.close()?;
            Ok(())
        };
        write().map_err(|e| parquet_error(&place, e))?;
        for (offsets, lengths) in
            self.offsets.chunks(CHUNK_RUNS).zip(self.lengths.chunks(CHUNK_RUNS))
        {
            let runs = offsets.iter().zip(lengths);
            let runs = runs.map(|(offset, length)| (*offset as u32, *length as u32));
            self.checksum.add(runs.clone());
            if let Some(blocks) = &mut self.blocks {
                runs.for_each(|(offset, marked)| {
                    let (mark, length) = Mark::off(marked);
                    blocks.add_marked(Run { offset, length }, mark);
                });
                self.blocks.take_if(|blocks| blocks.distinct_runs() > MAX_WRITTEN_RUNS);
            }
        }
        self.offsets.clear();
        self.lengths.clear();
        Ok(())
    }

    /// Write the rest and `info`, whose counts of runs, bytes and blocks are filled in
    /// here, and give the file its name.
    pub fn finish(self, info: TraceInfo) -> Result<TraceInfo> {
        self.close(info)?.name()
    }

    /// As [`Self::finish`], but for the name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn close(mut self, mut info: TraceInfo) -> Result<PendingTraceFile> {
        self.know(info.symbols());
        if !self.offsets.is_empty() {
            self.write_group()?;
        }
        let has_marks = self.reads > 0 || self.continued > 0;
        info.schema_version = if has_marks { SCHEMA_VERSION_WITH_READS } else { SCHEMA_VERSION };
        info.runs = self.runs;
        info.bytes = self.bytes;
        info.reads = self.reads;
        info.read_bytes = self.read_bytes;
        info.continued = self.continued;
        info.image_bytes = info.image_bytes.max(u64::from(self.end));
        info.blocks =
            self.blocks.take().and_then(|blocks| blocks.finish(info.image_bytes, info.symbols()));
        let json = serde_json::to_string(&info)
            .map_err(|e| Error::data(self.place.clone(), e.to_string()))?;
        let checksums = format!("{:08x} {:08x}", crc32(json.as_bytes()), self.checksum.crc.sum());
        self.writer.append_key_value_metadata(KeyValue::new(METADATA_KEY.to_owned(), json));
        self.writer.append_key_value_metadata(KeyValue::new(CHECKSUM_KEY.to_owned(), checksums));
        let output = self.writer.into_inner().map_err(|e| parquet_error(&self.place, e))?;
        Ok(PendingTraceFile { output, info })
    }
}

/// A trace file, opened: its description is read and checked, its runs are not yet.
pub struct TraceFile {
    path: PathBuf,
    info: TraceInfo,
}

impl TraceFile {
    /// Open a trace and read its description.
    ///
    /// # Errors
    /// When the file cannot be read, is truncated, or is no trace.
    pub fn open(path: &Path) -> Result<Self> {
        let place = path.display().to_string();
        let (_, footer) = open_footer(path)?;
        let versions = SCHEMA_VERSION..=SCHEMA_VERSION_WITH_READS;
        let mut info: TraceInfo = footer.description(path, &KIND, METADATA_KEY, versions)?;
        let json = footer.value(METADATA_KEY).unwrap_or_default();
        if checksums(&footer).is_some_and(|(sum, _)| sum != crc32(json.as_bytes())) {
            return Err(Error::data(&place, "its description is damaged: make or copy it again"));
        }
        // Who replays it says what is not counted.
        info.warm_up = WarmUp::default();
        // Counted by rules of another version: counted again when somebody asks.
        info.blocks.take_if(|blocks| blocks.rules != RULES);
        let impossible = info.blocks.as_ref().is_some_and(|blocks| !blocks.are_possible(&info));
        let marked = info.reads.saturating_add(info.continued);
        let misfit = marked > info.runs
            || info.read_bytes > info.bytes
            || info.read_bytes < info.reads
            || (marked > 0 && info.schema_version < SCHEMA_VERSION_WITH_READS);
        if footer.rows != info.runs
            || misfit
            || info.image_bytes > u64::from(u32::MAX)
            || impossible
        {
            return Err(Error::data(&place, "its description does not fit its contents"));
        }
        Ok(Self { path: path.to_owned(), info })
    }

    /// The same trace with a warm-up, which must leave something to count.
    ///
    /// # Errors
    /// One that does not.
    pub fn with_warm_up(mut self, warm_up: WarmUp) -> Result<Self> {
        if !warm_up.is_none() && warm_up.runs >= self.info.runs {
            let what = format!("has {} runs: nothing is left to count", self.info.runs);
            return Err(Error::data(self.path.display().to_string(), what));
        }
        self.info.warm_up = warm_up;
        Ok(self)
    }

    /// The description.
    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file once more, at a position of its own, and its footer.
    pub(crate) fn reopen(&self) -> Result<(File, Footer)> {
        open_footer(&self.path)
    }

    /// Its basic blocks, if it holds their counts.
    pub fn blocks(&self) -> Option<BlockStatistics> {
        let blocks = self.info.blocks.as_ref()?;
        let (runs, bytes) = (self.info.executed_runs(), self.info.executed_bytes());
        Some(BlockStatistics::new(blocks, runs, bytes))
    }
}

impl Trace for TraceFile {
    fn image_bytes(&self) -> u32 {
        self.info.image_bytes as u32
    }

    fn warm_up(&self) -> WarmUp {
        self.info.warm_up
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
    image_bytes: u32,
    /// Groups opened so far.
    group: usize,
    readers: Option<[ColumnReader; 2]>,
    left: usize,
    offsets: Vec<u32>,
    lengths: Vec<u32>,
    /// Of a trace with data reads.
    marks: Option<Vec<Mark>>,
    checksum: RunChecksum,
}

impl FileSource {
    /// Open the next row group; false if there is none.
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
            .map_err(|what| damaged(&self.place, what))
    }

    fn marks(&self) -> &[Mark] {
        self.marks.as_deref().unwrap_or_default()
    }
}

/// Replace `marks` by those of `lengths`, and take them off there.
pub(crate) fn take_marks(lengths: &mut [u32], marks: &mut Vec<Mark>) {
    marks.clear();
    marks.extend(lengths.iter_mut().map(|length| {
        let (mark, plain) = Mark::off(*length);
        *length = plain;
        mark
    }));
}

pub(crate) fn damaged(place: &str, what: impl std::fmt::Display) -> Error {
    Error::data(place, format!("is damaged ({what}): make or copy it again"))
}

/// What reading row group number `group`, counted from 1, gave.
pub(crate) fn unreadable(place: &str, group: usize, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            damaged(place, format_args!("in row group {group}"))
        }
        _ => Error::io(place, error),
    }
}

/// Append the runs of these columns. The error says which cannot be.
pub(crate) fn append_checked(
    offsets: &[u32],
    lengths: &[u32],
    image_bytes: u32,
    runs: &mut Vec<Run>,
) -> std::result::Result<(), String> {
    let limit = u64::from(image_bytes);
    let before = runs.len();
    let mut sane = true;
    runs.extend(offsets.iter().zip(lengths).map(|(&offset, &length)| {
        let run = Run { offset, length };
        sane &= run.length.wrapping_sub(1) < super::MAX_RUN_BYTES
            && u64::from(run.offset) + u64::from(run.length) <= limit;
        run
    }));
    if sane {
        return Ok(());
    }
    let wrong = runs[before..].iter().find_map(|run| {
        match Run::checked(run.offset.into(), run.length.into()) {
            Err(what) => Some(what),
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

/// The checksums of the description and of the runs. Without them, or with
/// damaged ones, the trace is read unchecked.
fn checksums(footer: &Footer) -> Option<(u32, u32)> {
    let (description, runs) = footer.value(CHECKSUM_KEY)?.split_once(' ')?;
    let parse = |text| u32::from_str_radix(text, 16).ok();
    Some((parse(description)?, parse(runs)?))
}

/// CRC-32 of runs, however they are grouped.
#[derive(Default)]
struct RunChecksum {
    crc: Crc,
    bytes: Vec<u8>,
}

impl RunChecksum {
    /// Add runs, as offset and length.
    fn add(&mut self, runs: impl Iterator<Item = (u32, u32)>) {
        self.bytes.clear();
        for (offset, length) in runs {
            self.bytes
                .extend_from_slice(&(u64::from(offset) | u64::from(length) << 32).to_le_bytes());
        }
        self.crc.update(&self.bytes);
    }
}
