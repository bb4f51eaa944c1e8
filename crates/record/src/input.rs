//! Input from a file, a compressed file or standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;

use flashpager_base::{Error, Result, shown};

/// Longest accepted text line: longer ones are no text.
const MAX_LINE_BYTES: u64 = 4096;

/// Bytes that tell every format, compressed or not.
const HEAD_BYTES: usize = 64;

/// Most memory the xz decoder may take: `xz -9` needs 65 MiB, a hostile file asks for 4 GiB.
const MAX_XZ_BYTES: u64 = 256 << 20;

/// An opened input with its name for messages.
pub struct Input {
    /// The name the user gave, or `standard input`.
    pub name: String,
    /// How it is compressed, if it is.
    packing: Option<Compression>,
    reader: Box<dyn BufRead + Send>,
}

impl Input {
    /// Open `path`; `-` is standard input. Gzip, Zstandard and xz are
    /// recognised by their first bytes and unpacked on the way.
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

    /// Read from `raw`, unpacking it as [`Input::open`] does.
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

    /// The next bytes without taking them, to recognise a format.
    pub fn peek(&mut self) -> Result<&[u8]> {
        self.reader.fill_buf().map_err(|e| read_error(&self.name, self.packing, e))
    }

    /// Up to `buffer.len()` bytes; fewer only at the end.
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

    /// What is there already, at least a byte; nothing at the end.
    pub fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.reader.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|e| read_error(&self.name, self.packing, e)),
            }
        }
    }
}

/// Standard input without the buffer that [`io::Stdin`] keeps for the whole process: what an
/// input leaves unread is not the beginning of the next one.
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

/// Buffer `raw`, with its first [`HEAD_BYTES`] at once even if they come drop by drop.
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
    /// The packing of a file that starts with `start`.
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
            // The decoder holds itself to windows of 128 MiB.
            Self::Zstandard => Box::new(with_head(zstd::Decoder::with_buffer(raw)?)?),
            Self::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_stream_decoder(MAX_XZ_BYTES, flags)?;
                Box::new(with_head(liblzma::bufread::XzDecoder::new_stream(raw, stream))?)
            }
        })
    }
}

/// What the system said stays; what a decoder said is about the file.
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

/// Lines of a text input, counted, of bounded length.
pub struct TextLines {
    input: Input,
    number: u64,
    line: Vec<u8>,
}

impl TextLines {
    /// The lines of `input`.
    pub fn new(input: Input) -> Self {
        Self { input, number: 0, line: Vec::new() }
    }

    /// The next line without its end; `None` when there is none.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let read = (&mut self.input.reader)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut self.line)
            .map_err(|e| read_error(&self.input.name, self.input.packing, e))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        } else if read as u64 == MAX_LINE_BYTES {
            return Err(self.error("the line is longer than 4096 bytes: is this text?"));
        }
        Ok(Some(&self.line))
    }

    /// The number of the current line, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// An error at the current line.
    pub fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::data(format!("{}, line {}", self.input.name, self.number), what.to_string())
    }

    /// An error at the current line that shows it.
    pub fn error_showing(&self, what: impl std::fmt::Display) -> Error {
        let shown: String = String::from_utf8_lossy(&self.line)
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .take(60)
            .collect();
        self.error(format!("{what}: '{shown}'"))
    }
}

/// A hexadecimal number of up to 16 digits, `0x` allowed in front.
pub fn parse_hex(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |value, digit| {
        (*digit as char).to_digit(16).map(|d| value << 4 | u64::from(d))
    })
}

/// A number: decimal, or hexadecimal with `0x`.
pub fn parse_number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.starts_with(b"0x") || text.starts_with(b"0X") {
        parse_hex(text)
    } else {
        parse_decimal(text)
    }
}

/// A decimal number without a sign.
pub fn parse_decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, digit| {
        let digit = (*digit as char).to_digit(10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
