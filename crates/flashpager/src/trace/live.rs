//! A recorder's stream while its program runs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Error, Result};

/// Bytes before the data in the recorder's shared tail: base and used.
const TAIL_HEAD_BYTES: u64 = 16;

/// The recorder's pipe, and behind its end what the recorder had not yet
/// written when it was killed.
pub struct LiveStream {
    pipe: File,
    tail: File,
    received: u64,
    rest: Option<io::Cursor<Vec<u8>>>,
}

impl LiveStream {
    /// Both are opened by path, as `/dev/fd/7`.
    pub fn open(pipe: &Path, tail: &Path) -> Result<Self> {
        let open = |path: &Path| File::open(path).map_err(|e| Error::file(path, e));
        Ok(Self { pipe: open(pipe)?, tail: open(tail)?, received: 0, rest: None })
    }

    fn unwritten(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; TAIL_HEAD_BYTES as usize];
        self.tail.seek(SeekFrom::Start(0))?;
        self.tail.read_exact(&mut head)?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let (base, used) = (number(0), number(8));
        let mut bytes = Vec::new();
        if let Some(skip) = self.received.checked_sub(base).filter(|skip| *skip < used) {
            self.tail.seek(SeekFrom::Start(TAIL_HEAD_BYTES + skip))?;
            (&mut self.tail).take(used - skip).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }
}

impl Read for LiveStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(rest) = &mut self.rest {
            return rest.read(buffer);
        }
        let got = self.pipe.read(buffer)?;
        self.received += got as u64;
        if got > 0 || buffer.is_empty() {
            return Ok(got);
        }
        let mut rest = io::Cursor::new(self.unwritten()?);
        let got = rest.read(buffer)?;
        self.rest = Some(rest);
        Ok(got)
    }
}
