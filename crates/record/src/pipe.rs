//! The stream of a recorder while its program runs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use flashpager_base::{Error, Result};

use super::stream::{PIECE, RECORD_FLAG, SWITCH, THREAD};

/// Bytes before the data in the shared tail: the numbers `base` and `used`.
const TAIL_HEAD_BYTES: u64 = 16;

/// Bytes of the tail that collect the stream. The slots of threads follow.
const TAIL_BYTES: u64 = 256 << 10;
const SLOT_BYTES: usize = 32 << 10;
/// Bytes before the block numbers of a slot: thread number, length of the name, blocks executed
/// before, and the name in the rest.
const SLOT_HEAD_BYTES: usize = 64;
const SLOT_NAME_AT: usize = 16;
/// Thread number of a slot that does not belong to a thread. It holds the pieces of code that
/// processors are executing, [`RUNNING_BYTES`] for each processor.
const SLOT_RUNNING: u32 = u32::MAX;
const RUNNING_AT: usize = 32;
const RUNNING_BYTES: usize = 32;
/// Bits of a processor's counter that hold bytes and instructions. The upper bits count stores.
const BEGUN: u64 = (1 << 48) - 1;
/// Bit beside a processor's thread number: execution may not have come as far as the counter.
const IN_DOUBT: u64 = 1 << 32;
/// Largest number of slots. A larger tail is not ours.
const MAX_SLOTS: usize = 1 << 10;
/// Time without data in the pipe after which the tail is read: a program that waits fills no pipe.
#[cfg(unix)]
const SILENCE: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The recorder's pipe. At its end follows the data that the recorder had not yet written when it
/// was killed, which is read from the shared tail.
pub struct RecorderPipe {
    pipe: File,
    tail: File,
    /// Bytes read from the pipe.
    received: u64,
    /// Bytes of the stream passed on. More than `received` if the tail delivered them before the pipe.
    passed_on: u64,
    rest: Option<io::Cursor<Vec<u8>>>,
}

impl RecorderPipe {
    /// Opens the pipe and the tail by their paths, such as `/dev/fd/7`.
    ///
    /// # Errors
    /// If the path cannot be opened.
    pub fn open(pipe: &Path, tail: &Path) -> Result<Self> {
        let open = |path: &Path| File::open(path).map_err(|e| Error::file(path, e));
        Ok(Self { pipe: open(pipe)?, tail: open(tail)?, received: 0, passed_on: 0, rest: None })
    }

    /// Reads the number of bytes of the stream before the tail, and in it.
    fn tail_head(&mut self) -> io::Result<(u64, u64)> {
        let mut head = [0; TAIL_HEAD_BYTES as usize];
        self.tail.seek(SeekFrom::Start(0))?;
        self.tail.read_exact(&mut head)?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        Ok((number(0), number(8).min(TAIL_BYTES - TAIL_HEAD_BYTES)))
    }

    /// Reads the bytes of the tail that were not passed on yet.
    fn tail_bytes(&mut self, (base, used): (u64, u64)) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if let Some(skip) = self.passed_on.checked_sub(base).filter(|skip| *skip < used) {
            self.tail.seek(SeekFrom::Start(TAIL_HEAD_BYTES + skip))?;
            (&mut self.tail).take(used - skip).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }

    /// Reads the bytes that the recorder has collected while the program goes on.
    fn collected(&mut self) -> io::Result<Vec<u8>> {
        let head = self.tail_head()?;
        let bytes = self.tail_bytes(head)?;
        // The bytes are valid unless the tail has meanwhile restarted further on in the stream.
        let (base, used) = self.tail_head()?;
        Ok(if base == head.0 && used >= head.1 { bytes } else { Vec::new() })
    }

    fn unwritten(&mut self) -> io::Result<Vec<u8>> {
        let (base, used) = self.tail_head()?;
        let mut bytes = self.tail_bytes((base, used))?;
        self.tail.seek(SeekFrom::Start(TAIL_BYTES))?;
        let mut slot = vec![0; SLOT_BYTES];
        for _ in 0..MAX_SLOTS {
            match self.tail.read_exact(&mut slot) {
                Ok(()) if slot.starts_with(&SLOT_RUNNING.to_le_bytes()) => {
                    take_running(&slot, base.saturating_add(used), &mut bytes);
                }
                Ok(()) => take_slot(&slot, &mut bytes),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        Ok(bytes)
    }
}

/// Appends the blocks that a thread has collected, in the form of the stream.
fn take_slot(slot: &[u8], stream: &mut Vec<u8>) {
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| slot[at + i]));
    if word(0) == 0 || word(SLOT_HEAD_BYTES) == 0 {
        return;
    }
    let name_bytes = (word(4) as usize).min(SLOT_HEAD_BYTES - SLOT_NAME_AT);
    let name = &slot[SLOT_NAME_AT..SLOT_NAME_AT + name_bytes];
    let payload = SLOT_NAME_AT + name_bytes;
    stream.extend((RECORD_FLAG | THREAD << 24 | payload as u32).to_le_bytes());
    stream.extend((word(0) - 1).to_le_bytes());
    stream.extend((name_bytes as u32).to_le_bytes());
    stream.extend(&slot[8..SLOT_NAME_AT]);
    stream.extend(name);
    // Records are padded to whole words.
    stream.extend(std::iter::repeat_n(0, name_bytes.next_multiple_of(4) - name_bytes));
    let numbers = slot[SLOT_HEAD_BYTES..]
        .chunks_exact(4)
        .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    for number in numbers.take_while(|number| *number != 0) {
        stream.extend((number - 1).to_le_bytes());
    }
}

/// Appends the pieces that processors have begun to execute, unless the stream, which ends at
/// `end`, holds them already.
fn take_running(slot: &[u8], end: u64, stream: &mut Vec<u8>) {
    let has_threads = slot[4..8] != [0; 4];
    for running in slot[RUNNING_AT..].chunks_exact(RUNNING_BYTES) {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| running[at + i]));
        let (reported_at, address, begun) = (number(0), number(8), number(16) & BEGUN);
        let (bytes, instructions) = (begun as u32, (begun >> 32) as u32);
        let (thread, in_doubt) = (number(24) as u32, number(24) & IN_DOUBT != 0);
        if end <= reported_at && instructions > 0 {
            if has_threads {
                stream.extend((RECORD_FLAG | SWITCH << 24 | 4).to_le_bytes());
                stream.extend(thread.to_le_bytes());
            }
            stream.extend((RECORD_FLAG | PIECE << 24 | 20).to_le_bytes());
            stream.extend(address.to_le_bytes());
            stream.extend(bytes.to_le_bytes());
            stream.extend(instructions.to_le_bytes());
            stream.extend(u32::from(in_doubt).to_le_bytes());
        }
    }
}

/// Waits at most [`SILENCE`] until the pipe has data or ends. Returns whether it does.
#[cfg(unix)]
fn has_more(pipe: &File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, poll};
    Ok(poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&SILENCE))? > 0)
}

/// Always true here: reading waits for the data.
#[cfg(not(unix))]
fn has_more(_pipe: &File) -> io::Result<bool> {
    Ok(true)
}

impl Read for RecorderPipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(rest) = &mut self.rest {
                return rest.read(buffer);
            }
            if !has_more(&self.pipe)? {
                let collected = self.collected()?;
                let got = io::Cursor::new(collected).read(buffer)?;
                self.passed_on += got as u64;
                if got > 0 {
                    return Ok(got);
                }
                continue;
            }
            let got = self.pipe.read(buffer)?;
            if got == 0 {
                self.rest = Some(io::Cursor::new(self.unwritten()?));
                continue;
            }
            let known = (self.passed_on - self.received).min(got as u64) as usize;
            self.received += got as u64;
            self.passed_on = self.passed_on.max(self.received);
            if known < got {
                buffer.copy_within(known..got, 0);
                return Ok(got - known);
            }
        }
    }
}
