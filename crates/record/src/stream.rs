//! The recorders' binary stream (recorders/README.md, "Recorder stream").
//!
//! Little-endian words of 32 bits follow the magic. A word below 2³¹ is the number of an executed
//! block. Any other word is the head of a record: bits 24–30 are its kind, bits 0–23 the length of
//! its payload in bytes. The payload is padded with zeros to whole words.

use std::path::Path;

use flashpager_base::{Error, Result, shown};
use flashpager_trace::{Ending, GapReason, MAX_RUN_BYTES, Run};

use crate::fetch::{Fetch, ReadAccess, place, place_read};
use crate::input::{Input, parse_number};
use crate::recording::{ProgressFn, Recording};
use crate::session::{ImportSession, Importer};
use crate::sink::{DataRead, NO_FILE, Sink};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

const MAGIC: &[u8; 8] = b"FPSTRM01";

/// The bit of a word that makes it the head of a record.
pub const RECORD_FLAG: u32 = 1 << 31;

const MAX_PAYLOAD_BYTES: usize = 1 << 16;
const BUFFER_BYTES: usize = 1 << 18;

/// Largest number of described blocks. It bounds the memory, far above what any program has.
const MAX_BLOCKS: usize = 1 << 24;

// Kinds of records.
const META: u32 = 1;
const MAP: u32 = 2;
const BLOCK: u32 = 3;
const END: u32 = 4;
const METHOD: u32 = 5;
pub const THREAD: u32 = 6;
pub const PIECE: u32 = 7;
pub const SWITCH: u32 = 8;
const PROCESS: u32 = 9;
const READ: u32 = 10;
const GAP: u32 = 11;

/// Longest read of one instruction, with headroom.
const MAX_READ_BYTES: u32 = 1 << 12;

// Flags of a block that enters a method, and of one that returns from a method.
const ENTERS: u32 = 1;
const RETURNS: u32 = 2;

/// Blocks to skip of a thread that is not recorded: all.
const LEFT_OUT: u64 = u64::MAX;

fn recognises(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    StreamReader::new(input).read(session.recording, session.progress)
}

/// A block of instructions that the recorder described.
struct StreamBlock {
    location: BlockLocation,
    bytes: u32,
    instructions: u32,
    enters: bool,
    returns: bool,
}

/// Location of the bytes that a block fetches.
enum BlockLocation {
    /// In the flash image.
    Flash(Run),
    /// Outside, in the file with this number. The address is that of the placed program.
    Outside { file: u32, address: u64 },
    /// No bytes: the block stands for a call or a return alone.
    Nowhere,
}

impl StreamBlock {
    /// Executes the block with its data reads, and clears them.
    #[inline]
    fn execute(&self, sink: &mut Sink, reads: &mut Vec<DataRead>) -> Result<()> {
        if !reads.is_empty() {
            let executed = self.execute_reading(sink, reads);
            reads.clear();
            return executed;
        }
        self.execute_plain(sink)
    }

    /// Executes the block, which read no data.
    #[inline]
    fn execute_plain(&self, sink: &mut Sink) -> Result<()> {
        self.count(sink);
        match self.location {
            BlockLocation::Flash(run) => sink.placed(run, self.instructions),
            BlockLocation::Outside { file, address } => {
                sink.outside(self.bytes, self.instructions, file, address)
            }
            BlockLocation::Nowhere => Ok(()),
        }
    }

    #[cold]
    fn execute_reading(&self, sink: &mut Sink, reads: &[DataRead]) -> Result<()> {
        self.count(sink);
        match self.location {
            BlockLocation::Flash(run) => sink.placed_reading(run, self.instructions, reads),
            BlockLocation::Outside { file, address } => {
                sink.outside_reading(self.bytes, self.instructions, file, address, reads)
            }
            BlockLocation::Nowhere => Ok(()),
        }
    }

    /// Returns the block as a piece in flash with its instructions. Its length is 0 if it lies
    /// elsewhere, or enters or leaves a method.
    fn piece(&self) -> (Run, u32) {
        match self.location {
            BlockLocation::Flash(run) if !self.enters && !self.returns => (run, self.instructions),
            _ => (Run { offset: 0, length: 0 }, 0),
        }
    }

    #[inline]
    fn count(&self, sink: &mut Sink) {
        sink.blocks += 1;
        sink.calls += u64::from(self.enters);
        sink.returns += u64::from(self.returns);
    }
}

/// Blocks and position of a process that does not execute at the moment.
#[derive(Default)]
struct SuspendedProcess {
    blocks: Vec<StreamBlock>,
    pieces: Vec<(Run, u32)>,
    /// Block numbers to skip when the process continues.
    skip: u64,
}

/// Outcome of a step in which the error is text without a place.
type Checked<T> = std::result::Result<T, String>;

/// Reads a stream into a recording.
pub struct StreamReader {
    input: Input,
    /// Blocks of the current process.
    blocks: Vec<StreamBlock>,
    /// The same blocks as pieces in flash, with their instructions. Length 0 stands for a block that
    /// lies elsewhere, or that enters or leaves a method.
    pieces: Vec<(Run, u32)>,
    /// State of all processes by number. That of the current one is empty.
    suspended: Vec<SuspendedProcess>,
    /// Number of the current process.
    process: usize,
    /// Blocks described, in all processes.
    described: usize,
    /// Bytes of the stream before the buffer.
    position: u64,
    /// Block numbers to skip because the current thread has executed them already; [`LEFT_OUT`] for
    /// a thread that is not recorded.
    skip: u64,
    /// A block that was just executed and has no number.
    piece: Option<StreamBlock>,
    /// Data reads of the next block.
    reads: Vec<DataRead>,
    /// Reason for which the recorder does not record, if it reported one.
    refusal: Option<String>,
    /// True once the end mark has been read.
    ended: bool,
    /// True if too many blocks were described. The rest of the stream is not read.
    cut: bool,
}

impl StreamReader {
    /// A reader at the start of `input`.
    pub fn new(input: Input) -> Self {
        Self {
            input,
            blocks: Vec::new(),
            pieces: Vec::new(),
            suspended: vec![SuspendedProcess::default()],
            process: 0,
            described: 0,
            position: 0,
            skip: 0,
            piece: None,
            reads: Vec::new(),
            refusal: None,
            ended: false,
            cut: false,
        }
    }

    fn error(&self, at: usize, message: impl std::fmt::Display) -> Error {
        Error::data(
            format!("{}, byte {}", self.input.name, self.position + at as u64),
            message.to_string(),
        )
    }

    /// Reads to the end. A stream without an end mark was interrupted where it ends.
    ///
    /// # Errors
    /// If the stream is damaged, the recorder refused the program, or writing fails.
    pub fn read(mut self, recording: &mut Recording, progress: ProgressFn<'_>) -> Result<Ending> {
        let mut magic = [0; MAGIC.len()];
        let got = self.input.read_full(&mut magic)?;
        if !MAGIC.starts_with(&magic[..got]) {
            return Err(self.error(0, "is not a flashpager recorder stream"));
        }
        if got < MAGIC.len() {
            // The program was stopped before its first instruction.
            return Ok(Ending::Interrupted);
        }
        self.position = MAGIC.len() as u64;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut kept = 0;
        loop {
            let got = self.input.read_some(&mut buffer[kept..])?;
            let filled = kept + got;
            let used = self.take(&buffer[..filled], recording)?;
            buffer.copy_within(used..filled, 0);
            kept = filled - used;
            self.position += used as u64;
            if self.ended {
                return Ok(Ending::Complete);
            }
            if recording.is_over() {
                recording.was_ended = true;
                return Ok(Ending::Complete);
            }
            if got == 0 || self.cut || !recording.report_progress(progress) {
                return Ok(Ending::Interrupted);
            }
        }
    }

    /// Takes all whole words and records of `bytes`. Returns their length in bytes.
    fn take(&mut self, bytes: &[u8], recording: &mut Recording) -> Result<usize> {
        let mut at = 0;
        // None while the current process is not recorded.
        let mut current = recording.process(self.process);
        while let Some(word) = bytes.get(at..at + 4) {
            let word = number_in(word);
            if word < RECORD_FLAG {
                let Some(recording) = &mut current else {
                    at += 4;
                    continue;
                };
                at += match self.execute_whole(&bytes[at..], at, recording)? {
                    0 => self.execute(word, at, recording).map(|()| 4)?,
                    taken => taken,
                };
                continue;
            }
            let length = (word & 0x00ff_ffff) as usize;
            if length > MAX_PAYLOAD_BYTES {
                return Err(self.error(at, format!("a record of {length} bytes is too long")));
            }
            let end = at + 4 + length.next_multiple_of(4);
            if end > bytes.len() {
                break;
            }
            let payload = Payload(&bytes[at + 4..at + 4 + length]);
            match ((word & !RECORD_FLAG) >> 24, &mut current) {
                (PROCESS, _) => {
                    self.switch_process(payload, recording)
                        .map_err(|message| self.error(at, message))?;
                    current = recording.process(self.process);
                }
                (END, _) => self.ended = true,
                (_, None) => {}
                (kind, Some(recording)) => {
                    self.record(kind, payload, recording)
                        .map_err(|message| self.error(at, message))?;
                    if let Some(piece) = self.piece.take() {
                        piece.execute(recording.sink(), &mut self.reads)?;
                    }
                }
            }
            if let Some(message) = self.refusal.take() {
                return Err(Error::design(message));
            }
            at = end;
            if self.ended || self.cut {
                break;
            }
        }
        Ok(at)
    }

    /// Executes the blocks whose numbers stand at the start of `bytes`, if none of them is skipped
    /// or read data and everything is recorded. Returns the length of the numbers in bytes; 0 if a
    /// condition is not met.
    #[inline]
    fn execute_whole(&self, bytes: &[u8], at: usize, recording: &mut Recording) -> Result<usize> {
        let sink = recording.sink();
        if self.skip > 0 || !self.reads.is_empty() || sink.selection().is_some() {
            return Ok(0);
        }
        let mut taken = 0;
        while let Some(four) = bytes.get(taken..taken + 4) {
            let number = number_in(four);
            if number >= RECORD_FLAG {
                break;
            }
            let Some(block) = self.blocks.get(number as usize) else {
                let message = format!("block {number} was never described");
                return Err(self.error(at + taken, message));
            };
            if self.pieces.get(number as usize).is_none_or(|(piece, _)| piece.length == 0) {
                block.execute_plain(sink)?;
                taken += 4;
                continue;
            }
            let from = taken;
            sink.placed_all(std::iter::from_fn(|| {
                let number = number_in(bytes.get(taken..taken + 4)?);
                let piece = self.pieces.get(number as usize)?;
                taken += if piece.0.length > 0 { 4 } else { return None };
                Some(*piece)
            }))?;
            sink.blocks += (taken - from) as u64 / 4;
        }
        Ok(taken)
    }

    /// Executes the block with this number.
    #[inline]
    fn execute(&mut self, number: u32, at: usize, recording: &mut Recording) -> Result<()> {
        let Some(block) = self.blocks.get(number as usize) else {
            return Err(self.error(at, format!("block {number} was never described")));
        };
        if self.skip > 0 {
            self.skip -= 1;
            self.reads.clear();
            return Ok(());
        }
        block.execute(recording.sink(), &mut self.reads)
    }

    /// Switches to another process. The payload describes it if it is new.
    fn switch_process(&mut self, payload: Payload<'_>, recording: &mut Recording) -> Checked<()> {
        let (number, description) = (payload.word(0)? as usize, payload.rest(4)?);
        if !description.is_empty() {
            if number != self.suspended.len() {
                let next = self.suspended.len();
                return Err(format!("process {number} is named where {next} is the next one"));
            }
            let mut texts = description.split(|byte| *byte == 0).map(String::from_utf8_lossy);
            let (name, program) = (texts.next().unwrap_or_default(), texts.next());
            let program = program.ok_or("a process without a program")?;
            // The first argument is the program's own name.
            let mut arguments: Vec<String> = texts.skip(1).map(|text| shown(&text)).collect();
            if description.ends_with(&[0]) {
                arguments.pop();
            }
            recording.begin_process(&shown(name), Path::new(program.as_ref()), arguments);
            self.suspended.push(SuspendedProcess::default());
        } else if number >= self.suspended.len() {
            return Err(format!("process {number} was never named"));
        }
        self.suspended[self.process] = SuspendedProcess {
            blocks: std::mem::take(&mut self.blocks),
            pieces: std::mem::take(&mut self.pieces),
            skip: self.skip,
        };
        let next = std::mem::take(&mut self.suspended[number]);
        (self.blocks, self.pieces, self.skip) = (next.blocks, next.pieces, next.skip);
        self.process = number;
        Ok(())
    }

    /// Takes a record that is not the end mark and changes no process.
    fn record(
        &mut self,
        kind: u32,
        payload: Payload<'_>,
        recording: &mut Recording,
    ) -> Checked<()> {
        match kind {
            META => self.meta(payload, recording),
            MAP => map(payload, recording),
            BLOCK => self.describe_block(payload, recording),
            PIECE => self.execute_piece(payload, recording),
            READ => self.add_read(payload, recording),
            METHOD => add_method(payload, recording),
            THREAD => self.name_thread(payload, recording),
            GAP => self.add_gap(payload, recording),
            SWITCH => {
                let is_kept = recording.switch_back(payload.word(0)?)?;
                self.skip = if is_kept { 0 } else { LEFT_OUT };
                Ok(())
            }
            _ => Err(format!("a record of unknown kind {kind}: a newer recorder?")),
        }
    }

    /// Takes a `key=value` of the trace's description. Unknown keys are skipped.
    fn meta(&mut self, payload: Payload<'_>, recording: &mut Recording) -> Checked<()> {
        let text = String::from_utf8_lossy(payload.0);
        let (key, value) = text.split_once('=').ok_or("a META record without '='")?;
        let count = || -> Checked<u64> {
            value.parse().map_err(|_| format!("{key} '{}' is no number", shown(value)))
        };
        match key {
            "recorder" => recording.info.recorder = shown(value),
            // The recorder of a virtual machine does not count what it does not record.
            "outside" if value == "unknown" => recording.info.outside_instructions = None,
            "recorder_version" => recording.info.recorder_version = shown(value),
            "program" => recording.info.program = shown(value),
            "refused" => self.refusal = Some(shown(value)),
            "target" => recording.info.architecture = shown(value),
            "given" => {
                let (bytes, name) = value.split_once(' ').unwrap_or((value, ""));
                recording.methods.given_bytes =
                    bytes.parse().map_err(|_| format!("given '{}' is no number", shown(bytes)))?;
                recording.methods.given_name = shown(name);
            }
            "in_doubt" => recording.in_doubt(count()?),
            "children" => recording.children = recording.children.saturating_add(count()?),
            "ending" if value.is_empty() => recording.ended = Some(Ending::Complete),
            "ending" => recording.ended = Some(Ending::Failed(shown(value))),
            "left_out" => recording.left_out(shown(value)),
            "start_code" => {
                let start = parse_number(value.as_bytes())
                    .ok_or_else(|| format!("start_code '{}' is no number", shown(value)))?;
                let program = recording.info.program.clone();
                if let Some(placer) = &mut recording.placer {
                    placer.load_program_from(Path::new(&program), start);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn describe_block(&mut self, payload: Payload<'_>, recording: &mut Recording) -> Checked<()> {
        let (address, sizes) = (payload.number(0)?, payload.number(8)?);
        let block = block(recording, address, sizes, payload.optional_word(16), false)?;
        if self.described == MAX_BLOCKS {
            self.cut = true;
            return Ok(());
        }
        self.described += 1;
        self.pieces.push(block.piece());
        self.blocks.push(block);
        Ok(())
    }

    fn execute_piece(&mut self, payload: Payload<'_>, recording: &mut Recording) -> Checked<()> {
        let (address, sizes) = (payload.number(0)?, payload.number(8)?);
        self.piece = Some(block(recording, address, sizes, None, true)?);
        if payload.optional_word(16).is_some_and(|in_doubt| in_doubt != 0) {
            recording.in_doubt(1);
        }
        Ok(())
    }

    fn add_read(&mut self, payload: Payload<'_>, recording: &Recording) -> Checked<()> {
        let (address, bytes) = (payload.number(0)?, payload.word(8)?);
        let behind = payload.word(12)?;
        if !(1..=MAX_READ_BYTES).contains(&bytes) {
            return Err(format!("a read of {bytes} bytes"));
        }
        let placer = recording.placer.as_ref();
        place_read(placer, ReadAccess { address, bytes }, behind, &mut self.reads)
    }

    /// Takes a gap: code is missing here of all threads of the current process.
    fn add_gap(&mut self, payload: Payload<'_>, recording: &mut Recording) -> Checked<()> {
        let number = payload.word(0)?;
        let reason = GapReason::numbered(number)
            .ok_or_else(|| format!("a gap of unknown reason {number}: a newer recorder?"))?;
        let counted = if payload.0.len() > 4 { Some(payload.number(4)?) } else { None };
        // Reads of a block that is missing, too.
        self.reads.clear();
        let is_left_out = self.skip == LEFT_OUT;
        if self.skip > 0 && !is_left_out {
            // The words that are read once more have their gaps already.
            return Ok(());
        }
        // The instructions of a thread that is left out are those of no trace.
        recording.gap(reason, counted.filter(|_| !is_left_out)).map_err(shown)
    }

    /// Switches to a thread that the payload names. The numbers of blocks that the thread executed
    /// before this record may stand in the stream once more: they are skipped.
    fn name_thread(&mut self, payload: Payload<'_>, recording: &mut Recording) -> Checked<()> {
        let (thread, name_bytes) = (payload.word(0)?, payload.word(4)? as usize);
        let before = payload.number(8)?;
        let name = payload.rest(16)?.get(..name_bytes).ok_or_else(too_short)?;
        let name = String::from_utf8_lossy(name);
        if !recording.switch_to(thread, &name).map_err(shown)? {
            self.skip = LEFT_OUT;
            return Ok(());
        }
        let executed = recording.sink().blocks;
        self.skip = executed.checked_sub(before).ok_or_else(|| {
            format!("{} blocks of thread {} are missing", before - executed, shown(&name))
        })?;
        Ok(())
    }
}

/// The word in four bytes.
#[inline]
fn number_in(four: &[u8]) -> u32 {
    four.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// The payload of a record, without its padding.
#[derive(Clone, Copy)]
struct Payload<'a>(&'a [u8]);

fn too_short() -> String {
    "a record is too short".to_owned()
}

impl<'a> Payload<'a> {
    /// The 64-bit number at byte `at`.
    fn number(self, at: usize) -> Checked<u64> {
        let bytes = self.0.get(at..).and_then(<[u8]>::first_chunk).ok_or_else(too_short)?;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// The 32-bit word at byte `at`.
    fn word(self, at: usize) -> Checked<u32> {
        self.optional_word(at).ok_or_else(too_short)
    }

    /// The word at byte `at`, if the payload reaches that far.
    fn optional_word(self, at: usize) -> Option<u32> {
        self.0.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// All bytes from `at` on.
    fn rest(self, at: usize) -> Checked<&'a [u8]> {
        self.0.get(at..).ok_or_else(too_short)
    }
}

/// Takes a file that was mapped into memory.
fn map(payload: Payload<'_>, recording: &mut Recording) -> Checked<()> {
    let (start, end, offset) = (payload.number(0)?, payload.number(8)?, payload.number(16)?);
    let path = String::from_utf8_lossy(payload.rest(24)?);
    let path = Path::new(path.as_ref());
    if let Some(placer) = &mut recording.placer {
        placer.file_mapped(path, offset, start, end).map_err(shown)?;
    }
    recording.mapped(path, start, end);
    recording.announce_placed().map_err(shown)
}

fn add_method(payload: Payload<'_>, recording: &mut Recording) -> Checked<()> {
    let (address, bytes) = (payload.number(0)?, payload.word(8)?);
    let name = payload.rest(12)?;
    if recording.placer.is_some() {
        return Err("methods, in a program that is placed by its files".into());
    }
    recording.methods.add(address, bytes, &String::from_utf8_lossy(name))?;
    recording.announce_placed().map_err(shown)
}

/// Makes the block at `address`. The lower half of `sizes` is its length in bytes, the upper half
/// the number of its instructions. `flags` are [`ENTERS`] and [`RETURNS`], if the recorder reports
/// them. With `may_be_data`, a block without instructions may hold data bytes that are read.
fn block(
    recording: &mut Recording,
    address: u64,
    sizes: u64,
    flags: Option<u32>,
    may_be_data: bool,
) -> Checked<StreamBlock> {
    let (bytes, instructions) = (sizes as u32, (sizes >> 32) as u32);
    let is_empty = bytes == 0 && instructions == 0;
    let is_data = may_be_data && instructions == 0;
    let is_code = (1..=bytes).contains(&instructions);
    if !(is_empty || bytes <= MAX_RUN_BYTES && (is_data || is_code)) {
        let plural = if instructions == 1 { "" } else { "s" };
        return Err(format!("a block of {instructions} instruction{plural} in {bytes} bytes"));
    }
    if flags.is_some() {
        recording.info.calls = Some(0);
        recording.info.returns = Some(0);
    }
    let linked = recording.placer.as_ref().map_or(address, |placer| placer.linked(address));
    let location = if is_empty {
        if flags.is_some() {
            BlockLocation::Nowhere
        } else {
            BlockLocation::Outside { file: NO_FILE, address: linked }
        }
    } else {
        match place(recording.placer.as_ref(), Fetch { address, bytes, instructions })? {
            Some(run) => BlockLocation::Flash(run),
            None => {
                let file = recording.file_at(address);
                BlockLocation::Outside { file, address: linked }
            }
        }
    };
    let flags = flags.unwrap_or(0);
    let (enters, returns) = (flags & ENTERS != 0, flags & RETURNS != 0);
    Ok(StreamBlock { location, bytes, instructions, enters, returns })
}
