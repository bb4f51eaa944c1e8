//! Input from a file, a compressed file or standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::ops::Range;
use std::path::Path;

use flashpager_base::{Error, Result, shown};
use memchr::memchr;

/// Longest line of text, in bytes. A file with a longer one is no text.
const MAX_LINE_BYTES: usize = 4096;

/// Bytes of text that are read at once.
const LINE_BUFFER_BYTES: usize = 1 << 18;

/// First bytes of a file by which every format and compression is recognised.
const HEAD_BYTES: usize = 64;

/// Largest memory of the xz decoder: `xz -9` needs 65 MiB, a hostile file asks for 4 GiB.
const MAX_XZ_BYTES: u64 = 256 << 20;

/// An open input with its name for messages.
pub struct Input {
    /// The name the user gave, or `standard input`.
    pub name: String,
    /// The compression; `None` if the input is not compressed.
    packing: Option<Compression>,
    reader: Box<dyn BufRead + Send>,
}

impl Input {
    /// Opens `path`; `-` is standard input. Gzip, Zstandard and xz are recognised by their first
    /// bytes and unpacked.
    ///
    /// # Errors
    /// If the file cannot be read, or its compressed data is damaged at its start.
    pub fn open(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            let name = "standard input";
            return Self::new(name, standard_input().map_err(|e| Error::io(name, e))?);
        }
        let file = File::open(path).map_err(|e| Error::file(path, e))?;
        if file.metadata().is_ok_and(|meta| meta.is_dir()) {
            return Err(Error::data(path.display().to_string(), "is a folder, not a file"));
        }
        Self::new(&path.display().to_string(), file)
    }

    /// Reads from `raw`, and unpacks it as [`Input::open`] does. `name` is for messages.
    ///
    /// # Errors
    /// If the data cannot be read, or is compressed and damaged at its start.
    pub fn new(name: &str, raw: impl Read + Send + 'static) -> Result<Self> {
        let mut raw = with_head(raw).map_err(|e| Error::io(name, e))?;
        let start = raw.fill_buf().map_err(|e| Error::io(name, e))?;
        let packing = Compression::of(start);
        let reader = match packing {
            None => Ok(Box::new(raw) as Box<dyn BufRead + Send>),
            Some(packing) => packing.unpack(raw),
        };
        let reader = reader.map_err(|e| read_error(name, packing, e))?;
        Ok(Self { name: name.to_owned(), packing, reader })
    }

    /// Returns the next bytes without consuming them, so that a format can be recognised.
    ///
    /// # Errors
    /// If the data cannot be read or unpacked.
    pub fn peek(&mut self) -> Result<&[u8]> {
        self.reader.fill_buf().map_err(|e| read_error(&self.name, self.packing, e))
    }

    /// Returns the first `bytes` bytes without consuming them, fewer if the input is shorter.
    ///
    /// # Errors
    /// If the data cannot be read or unpacked.
    pub fn head(&mut self, bytes: usize) -> Result<&[u8]> {
        let mut head = vec![0; bytes];
        let length = self.read_full(&mut head)?;
        head.truncate(length);
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(Cursor::new(head).chain(rest));
        self.peek()
    }

    /// Fills `buffer`. Returns the number of bytes, which is smaller only at the end.
    ///
    /// # Errors
    /// If the data cannot be read or unpacked.
    pub fn read_full(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(read_error(&self.name, self.packing, e)),
            }
        }
        Ok(filled)
    }

    /// Reads the bytes that are available, at least one. Returns their number; 0 at the end.
    ///
    /// # Errors
    /// If the data cannot be read or unpacked.
    pub fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.reader.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|e| read_error(&self.name, self.packing, e)),
            }
        }
    }
}

/// Standard input without the buffer that [`io::Stdin`] keeps for the whole process: bytes that
/// one input leaves unread must not become the beginning of the next one.
#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Standard input, through the buffer of the process.
#[cfg(not(unix))]
fn standard_input() -> io::Result<io::Stdin> {
    Ok(io::stdin())
}

/// Buffers `raw` so that its first [`HEAD_BYTES`] are available together, even if they arrive one
/// by one.
fn with_head<R: Read>(mut raw: R) -> io::Result<BufReader<Chain<Cursor<Vec<u8>>, R>>> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    raw.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(BufReader::with_capacity(1 << 18, Cursor::new(head).chain(raw)))
}

#[derive(Clone, Copy, Debug)]
enum Compression {
    Gzip,
    Zstandard,
    Xz,
}

impl Compression {
    /// The compression of a file that starts with `start`.
    fn of(start: &[u8]) -> Option<Self> {
        [
            (&[0x1f, 0x8b][..], Self::Gzip),
            (&[0x28, 0xb5, 0x2f, 0xfd], Self::Zstandard),
            (&[0xfd, b'7', b'z', b'X', b'Z', 0], Self::Xz),
        ]
        .into_iter()
        .find_map(|(magic, packing)| start.starts_with(magic).then_some(packing))
    }

    fn unpack(self, raw: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(with_head(flate2::bufread::MultiGzDecoder::new(raw))?),
            // The decoder refuses windows over 128 MiB by itself.
            Self::Zstandard => Box::new(with_head(zstd::Decoder::with_buffer(raw)?)?),
            Self::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_stream_decoder(MAX_XZ_BYTES, flags)?;
                Box::new(with_head(liblzma::bufread::XzDecoder::new_stream(raw, stream))?)
            }
        })
    }
}

/// Makes the error of a failed read. Errors of the system are kept; those of a decoder mean that
/// the file is damaged.
fn read_error(name: &str, packing: Option<Compression>, error: io::Error) -> Error {
    match packing {
        Some(packing) if error.raw_os_error().is_none() => Error::data(
            name,
            format!(
                "its {packing:?} data is cut off or damaged ({}): make or copy it again",
                shown(error)
            ),
        ),
        _ => Error::io(name, error),
    }
}

/// Numbered lines of a text input, of bounded length.
pub struct TextLines {
    input: Input,
    number: u64,
    /// Bytes read from the input, of which `filled` are valid.
    buffer: Vec<u8>,
    filled: usize,
    /// The current line without its end, in the buffer.
    line: Range<usize>,
    /// Start of the next line in the buffer.
    next: usize,
    /// The input has been read to its end.
    is_read: bool,
    /// The current line has no line end.
    is_cut: bool,
}

impl TextLines {
    /// The lines of `input` from its first on.
    pub fn new(input: Input) -> Self {
        Self {
            input,
            number: 0,
            buffer: vec![0; LINE_BUFFER_BYTES],
            filled: 0,
            line: 0..0,
            next: 0,
            is_read: false,
            is_cut: false,
        }
    }

    /// Returns the next line without its line end; `None` at the end of the input.
    ///
    /// # Errors
    /// If a line is too long for text, or the data cannot be read or unpacked.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        let mut length = loop {
            let rest = &self.buffer[self.next..self.filled];
            let end = memchr(b'\n', &rest[..rest.len().min(MAX_LINE_BYTES)]);
            if end.is_some() || rest.len() >= MAX_LINE_BYTES || self.is_read {
                self.is_cut = end.is_none();
                break end.unwrap_or(rest.len().min(MAX_LINE_BYTES));
            }
            self.refill()?;
        };
        let start = self.next;
        if length == 0 && self.is_cut {
            self.is_cut = false;
            return Ok(None);
        }
        self.number += 1;
        self.line = start..start + length;
        self.next = start + length + usize::from(!self.is_cut);
        if self.is_cut && length == MAX_LINE_BYTES {
            return Err(self.error("the line is longer than 4096 bytes: is this text?"));
        }
        if !self.is_cut && self.buffer[self.line.clone()].last() == Some(&b'\r') {
            length -= 1;
            self.line = start..start + length;
        }
        Ok(Some(&self.buffer[self.line.clone()]))
    }

    /// Returns the next line that has a line end, as [`TextLines::next_line`] does; `None` at the end
    /// of the input, which may lie within a line.
    ///
    /// # Errors
    /// If [`TextLines::next_line`] fails.
    pub fn next_whole_line(&mut self) -> Result<Option<&[u8]>> {
        if self.next_line()?.is_none() || self.is_cut {
            return Ok(None);
        }
        Ok(Some(&self.buffer[self.line.clone()]))
    }

    /// The current line, if the input ends within it.
    pub fn cut_line(&self) -> Option<&[u8]> {
        self.is_cut.then(|| &self.buffer[self.line.clone()])
    }

    /// Reads more bytes behind those of the next line.
    fn refill(&mut self) -> Result<()> {
        if self.filled == self.buffer.len() {
            self.buffer.copy_within(self.next.., 0);
            self.filled -= self.next;
            self.next = 0;
        }
        let read = self.input.read_some(&mut self.buffer[self.filled..])?;
        self.filled += read;
        self.is_read = read == 0;
        Ok(())
    }

    /// Returns true if the input ends within the current line.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The input's name, for messages.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// Number of the current line, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Makes an error that names the current line.
    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::data(format!("{}, line {}", self.input.name, self.number), message.to_string())
    }

    /// Makes an error that names the current line and shows its text.
    pub fn error_showing(&self, message: impl std::fmt::Display) -> Error {
        let shown: String = String::from_utf8_lossy(&self.buffer[self.line.clone()])
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .take(60)
            .collect();
        self.error(format!("{message}: '{shown}'"))
    }
}

/// Bytes of a binary input, one piece after another.
pub struct ByteReader {
    input: Input,
    buffer: Vec<u8>,
    /// The bytes that were read and not yet taken.
    rest: Range<usize>,
    /// Offset in the input of the first byte of `rest`.
    position: u64,
}

impl ByteReader {
    /// The bytes of `input` from its first on.
    pub fn new(input: Input) -> Self {
        Self { input, buffer: vec![0; LINE_BUFFER_BYTES], rest: 0..0, position: 0 }
    }

    /// Returns the next `length` bytes without taking them; `None` if the input has fewer.
    ///
    /// # Errors
    /// If the data cannot be read or unpacked.
    pub fn peek(&mut self, length: usize) -> Result<Option<&[u8]>> {
        while self.rest.len() < length {
            if self.rest.end == self.buffer.len() {
                self.buffer.copy_within(self.rest.clone(), 0);
                self.rest = 0..self.rest.len();
            }
            let read = self.input.read_some(&mut self.buffer[self.rest.end..])?;
            if read == 0 {
                return Ok(None);
            }
            self.rest.end += read;
        }
        Ok(Some(&self.buffer[self.rest.start..self.rest.start + length]))
    }

    /// Takes the next `length` bytes; `None` if the input has fewer.
    ///
    /// # Errors
    /// If the data cannot be read or unpacked.
    #[inline]
    pub fn next(&mut self, length: usize) -> Result<Option<&[u8]>> {
        if self.rest.len() < length && self.peek(length)?.is_none() {
            return Ok(None);
        }
        let start = self.rest.start;
        self.rest.start += length;
        self.position += length as u64;
        Ok(Some(&self.buffer[start..start + length]))
    }

    /// Takes the next `length` bytes.
    ///
    /// # Errors
    /// If the input ends before, or the data cannot be read or unpacked.
    pub fn take(&mut self, length: usize) -> Result<&[u8]> {
        if self.peek(length)?.is_none() {
            return Err(self.error("ends within its header"));
        }
        let start = self.rest.start;
        self.rest.start += length;
        self.position += length as u64;
        Ok(&self.buffer[start..start + length])
    }

    /// Takes the next bytes as an array.
    ///
    /// # Errors
    /// If [`ByteReader::take`] fails.
    pub fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH]> {
        let mut array = [0; LENGTH];
        array.copy_from_slice(self.take(LENGTH)?);
        Ok(array)
    }

    /// Offset of the next byte in the unpacked input.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The input's name, for messages.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// Makes an error at the next byte.
    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        self.error_at(self.position, message)
    }

    /// Makes an error at a byte.
    pub fn error_at(&self, position: u64, message: impl std::fmt::Display) -> Error {
        Error::data(format!("{}, byte {position}", self.input.name), message.to_string())
    }
}

/// Parses a hexadecimal number of up to 16 digits, with or without `0x`.
pub fn parse_hex(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |value, digit| {
        (*digit as char).to_digit(16).map(|d| value << 4 | u64::from(d))
    })
}

/// Parses a decimal number, or a hexadecimal one with `0x`. Spaces around it are ignored.
pub fn parse_number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.starts_with(b"0x") || text.starts_with(b"0X") {
        parse_hex(text)
    } else {
        parse_decimal(text)
    }
}

/// Parses a decimal number without a sign.
pub fn parse_decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, digit| {
        let digit = (*digit as char).to_digit(10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
