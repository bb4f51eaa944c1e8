//! The recorders' binary stream (docs/formats.md, "Recorder stream").
//!
//! After the magic, 32-bit little-endian words. A word below 2³¹ is the number
//! of an executed block. Any other word heads a record: bits 24–30 its kind,
//! bits 0–23 its payload in bytes, padded with zeros to whole words.

use std::path::Path;

use flashpager_base::{Error, Result, shown};
use flashpager_trace::{Ending, MAX_RUN_BYTES, Run};

use super::fetch::{Fetch, ReadAccess, place, place_read};
use super::input::{Input, parse_number};
use super::recording::{Recording, RecordingProgress};
use super::sink::{DataRead, NO_FILE, Sink};

const MAGIC: &[u8; 8] = b"FPSTRM01";
pub const RECORD_FLAG: u32 = 1 << 31;
const MAX_PAYLOAD_BYTES: usize = 1 << 16;
const BUFFER_BYTES: usize = 1 << 18;

/// Most blocks described: bounds the memory, far above what any program has.
const MAX_BLOCKS: usize = 1 << 24;

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

/// Longest read of one instruction, with headroom.
const MAX_READ_BYTES: u32 = 1 << 12;

/// What a block does, besides its instructions.
const ENTERS: u32 = 1;
const RETURNS: u32 = 2;

/// Whether a file that starts with `start` is such a stream.
pub fn recognises(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

struct StreamBlock {
    place: BlockLocation,
    bytes: u32,
    instructions: u32,
    enters: bool,
    returns: bool,
}

/// What executing a block fetches.
enum BlockLocation {
    Flash(Run),
    /// Of the file with this number.
    Outside(u32),
    /// Nothing: it tells of a call or a return alone.
    Nowhere,
}

impl StreamBlock {
    /// Execute it, and forget what it read.
    #[inline]
    fn execute(&self, sink: &mut Sink, reads: &mut Vec<DataRead>) -> Result<()> {
        if !reads.is_empty() {
            let executed = self.execute_reading(sink, reads);
            reads.clear();
            return executed;
        }
        sink.blocks += 1;
        sink.calls += u64::from(self.enters);
        sink.returns += u64::from(self.returns);
        match self.place {
            BlockLocation::Flash(run) => sink.placed(run, self.instructions),
            BlockLocation::Outside(file) => sink.outside(self.bytes, self.instructions, file),
            BlockLocation::Nowhere => Ok(()),
        }
    }

    #[cold]
    fn execute_reading(&self, sink: &mut Sink, reads: &[DataRead]) -> Result<()> {
        sink.blocks += 1;
        sink.calls += u64::from(self.enters);
        sink.returns += u64::from(self.returns);
        match self.place {
            BlockLocation::Flash(run) => sink.placed_reading(run, self.instructions, reads),
            BlockLocation::Outside(file) => {
                sink.outside_reading(self.bytes, self.instructions, file, reads)
            }
            BlockLocation::Nowhere => Ok(()),
        }
    }
}

pub struct StreamReader {
    input: Input,
    /// Those of the process at hand.
    blocks: Vec<StreamBlock>,
    /// Of the others, with what is passed over of each.
    others: Vec<(Vec<StreamBlock>, u64)>,
    process: usize,
    /// Blocks described of all processes.
    described: usize,
    /// Bytes of the stream before the buffer.
    position: u64,
    /// Block numbers to pass over: the thread at hand has had them already.
    known: u64,
    /// What was just executed without a number.
    piece: Option<StreamBlock>,
    /// What the next block reads.
    reads: Vec<DataRead>,
    /// Why the recorder does not record.
    refused: Option<String>,
    ended: bool,
    /// More blocks were described than are kept: the rest is not read.
    cut: bool,
}

impl StreamReader {
    pub fn new(input: Input) -> Self {
        Self {
            input,
            blocks: Vec::new(),
            others: vec![(Vec::new(), 0)],
            process: 0,
            described: 0,
            position: 0,
            known: 0,
            piece: None,
            reads: Vec::new(),
            refused: None,
            ended: false,
            cut: false,
        }
    }

    fn error(&self, at: usize, what: impl std::fmt::Display) -> Error {
        Error::data(
            format!("{}, byte {}", self.input.name, self.position + at as u64),
            what.to_string(),
        )
    }

    /// Read to the end. A stream cut off anywhere was interrupted there.
    pub fn read(
        mut self,
        recording: &mut Recording,
        watch: &mut dyn FnMut(RecordingProgress) -> bool,
    ) -> Result<Ending> {
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
            if got == 0 || self.cut || !recording.look(watch) {
                return Ok(Ending::Interrupted);
            }
        }
    }

    /// Take all whole words and records of `bytes`; gives how many bytes that were.
    fn take(&mut self, bytes: &[u8], recording: &mut Recording) -> Result<usize> {
        let mut at = 0;
        let mut of = recording.process(self.process);
        while let Some(word) = bytes.get(at..at + 4) {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if word < RECORD_FLAG {
                let Some(recording) = &mut of else {
                    at += 4;
                    continue;
                };
                let Some(block) = self.blocks.get(word as usize) else {
                    return Err(self.error(at, format!("block {word} was never described")));
                };
                at += 4;
                if self.known > 0 {
                    self.known -= 1;
                    self.reads.clear();
                    continue;
                }
                block.execute(recording.sink(), &mut self.reads)?;
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
            let payload = &bytes[at + 4..at + 4 + length];
            match ((word & !RECORD_FLAG) >> 24, &mut of) {
                (PROCESS, _) => {
                    self.turn_to(payload, recording).map_err(|what| self.error(at, what))?;
                    of = recording.process(self.process);
                }
                (END, _) => self.ended = true,
                (_, None) => {}
                (kind, Some(recording)) => {
                    self.record(kind, payload, recording).map_err(|what| self.error(at, what))?;
                    if let Some(piece) = self.piece.take() {
                        piece.execute(recording.sink(), &mut self.reads)?;
                    }
                }
            }
            if let Some(what) = self.refused.take() {
                return Err(Error::design(what));
            }
            at = end;
            if self.ended || self.cut {
                break;
            }
        }
        Ok(at)
    }

    /// What follows is of another process, which is described if it is new.
    fn turn_to(
        &mut self,
        payload: &[u8],
        recording: &mut Recording,
    ) -> std::result::Result<(), String> {
        let (number, description) = payload.split_first_chunk().ok_or("a record is too short")?;
        let number = u32::from_le_bytes(*number) as usize;
        if !description.is_empty() {
            if number != self.others.len() {
                let next = self.others.len();
                return Err(format!("process {number} is named where {next} is the next one"));
            }
            let mut texts = description.split(|byte| *byte == 0).map(String::from_utf8_lossy);
            let (name, program) = (texts.next().unwrap_or_default(), texts.next());
            let program = program.ok_or("a process without a program")?;
            // Behind them stands its name for itself.
            let mut arguments: Vec<String> = texts.skip(1).map(|text| shown(&text)).collect();
            if description.ends_with(&[0]) {
                arguments.pop();
            }
            recording.begin_process(&shown(name), Path::new(program.as_ref()), arguments);
            self.others.push((Vec::new(), 0));
        } else if number >= self.others.len() {
            return Err(format!("process {number} was never named"));
        }
        let had = (std::mem::take(&mut self.blocks), self.known);
        self.others[self.process] = had;
        (self.blocks, self.known) = std::mem::take(&mut self.others[number]);
        self.process = number;
        Ok(())
    }

    fn record(
        &mut self,
        kind: u32,
        payload: &[u8],
        recording: &mut Recording,
    ) -> std::result::Result<(), String> {
        let too_short = || "a record is too short".to_owned();
        let number = |at: usize| {
            payload
                .get(at..at + 8)
                .and_then(|bytes| bytes.try_into().ok())
                .map(u64::from_le_bytes)
                .ok_or_else(too_short)
        };
        let word = |at: usize| {
            let bytes = payload.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_le_bytes(bytes))
        };
        match kind {
            META => {
                let text = String::from_utf8_lossy(payload);
                let (key, value) = text.split_once('=').ok_or("a META record without '='")?;
                match key {
                    "recorder" => recording.info.recorder = shown(value),
                    // What is not recorded of a virtual machine is not told either.
                    "outside" if value == "unknown" => recording.info.outside_instructions = None,
                    "recorder_version" => recording.info.recorder_version = shown(value),
                    "program" => recording.info.program = shown(value),
                    "refused" => self.refused = Some(shown(value)),
                    "target" => recording.info.architecture = shown(value),
                    "given" => {
                        let (bytes, name) = value.split_once(' ').unwrap_or((value, ""));
                        recording.methods.given_bytes = bytes
                            .parse()
                            .map_err(|_| format!("given '{}' is no number", shown(bytes)))?;
                        recording.methods.given_name = shown(name);
                    }
                    "in_doubt" => {
                        let more: u64 = value
                            .parse()
                            .map_err(|_| format!("in_doubt '{}' is no number", shown(value)))?;
                        recording.in_doubt(more);
                    }
                    "children" => {
                        let more: u64 = value
                            .parse()
                            .map_err(|_| format!("children '{}' is no number", shown(value)))?;
                        recording.children = recording.children.saturating_add(more);
                    }
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
            }
            MAP => {
                let (start, end, offset) = (number(0)?, number(8)?, number(16)?);
                let path = String::from_utf8_lossy(payload.get(24..).ok_or_else(too_short)?);
                if let Some(placer) = &mut recording.placer {
                    placer
                        .file_mapped(Path::new(path.as_ref()), offset, start, end)
                        .map_err(shown)?;
                }
                recording.mapped(Path::new(path.as_ref()), start, end);
                recording.know_placed().map_err(shown)?;
            }
            BLOCK => {
                let (address, sizes) = (number(0)?, number(8)?);
                let block = block(recording, address, sizes, word(16), false)?;
                if self.described == MAX_BLOCKS {
                    self.cut = true;
                    return Ok(());
                }
                self.described += 1;
                self.blocks.push(block);
            }
            PIECE => {
                let (address, sizes) = (number(0)?, number(8)?);
                self.piece = Some(block(recording, address, sizes, None, true)?);
                if word(16).is_some_and(|in_doubt| in_doubt != 0) {
                    recording.in_doubt(1);
                }
            }
            READ => {
                let (address, bytes) = (number(0)?, word(8).ok_or_else(too_short)?);
                let behind = word(12).ok_or_else(too_short)?;
                if !(1..=MAX_READ_BYTES).contains(&bytes) {
                    return Err(format!("a read of {bytes} bytes"));
                }
                let placer = recording.placer.as_ref();
                place_read(placer, ReadAccess { address, bytes }, behind, &mut self.reads)?;
            }
            METHOD => {
                let (address, bytes) = (number(0)?, word(8).ok_or_else(too_short)?);
                let name = payload.get(12..).ok_or_else(too_short)?;
                if recording.placer.is_some() {
                    return Err("methods, in a program that is placed by its files".into());
                }
                recording.methods.add(address, bytes, &String::from_utf8_lossy(name))?;
                recording.know_placed().map_err(shown)?;
            }
            THREAD => {
                let thread = word(0).ok_or_else(too_short)?;
                let name_bytes = word(4).ok_or_else(too_short)? as usize;
                let before = number(8)?;
                let name = payload.get(16..).and_then(|name| name.get(..name_bytes));
                let name = String::from_utf8_lossy(name.ok_or_else(too_short)?);
                if !recording.switch_to(thread, &name).map_err(shown)? {
                    self.known = u64::MAX;
                    return Ok(());
                }
                let had = recording.sink().blocks;
                self.known = had.checked_sub(before).ok_or_else(|| {
                    format!("{} blocks of thread {} are missing", before - had, shown(&name))
                })?;
            }
            SWITCH => {
                let thread = word(0).ok_or_else(too_short)?;
                self.known = if recording.switch_back(thread)? { 0 } else { u64::MAX };
            }
            _ => return Err(format!("a record of unknown kind {kind}: a newer recorder?")),
        }
        Ok(())
    }
}

/// A block as it is described, with its `sizes` in bytes and, above them, in instructions;
/// `does` where the recorder knows it. With `may_be_data`, bytes that no instruction fetches may be
/// ones that are read.
fn block(
    recording: &mut Recording,
    address: u64,
    sizes: u64,
    does: Option<u32>,
    may_be_data: bool,
) -> std::result::Result<StreamBlock, String> {
    let (bytes, instructions) = (sizes as u32, (sizes >> 32) as u32);
    let empty = bytes == 0 && instructions == 0;
    let is_data = may_be_data && instructions == 0;
    let right = is_data || (1..=bytes).contains(&instructions);
    if !(empty || bytes <= MAX_RUN_BYTES && right) {
        let plural = if instructions == 1 { "" } else { "s" };
        return Err(format!("a block of {instructions} instruction{plural} in {bytes} bytes"));
    }
    if does.is_some() {
        recording.info.calls = Some(0);
        recording.info.returns = Some(0);
    }
    let place = if empty {
        if does.is_some() { BlockLocation::Nowhere } else { BlockLocation::Outside(NO_FILE) }
    } else {
        match place(recording.placer.as_ref(), Fetch { address, bytes, instructions })? {
            Some(run) => BlockLocation::Flash(run),
            None => BlockLocation::Outside(recording.file_at(address)),
        }
    };
    let does = does.unwrap_or(0);
    let (enters, returns) = (does & ENTERS != 0, does & RETURNS != 0);
    Ok(StreamBlock { place, bytes, instructions, enters, returns })
}
