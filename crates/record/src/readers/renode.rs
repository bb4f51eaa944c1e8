//! Execution traces of Renode (`cpu CreateExecutionTracing`), as text or binary.
//!
//! Text has `0x8000` (format `PC`), `0x8000: 0x4607` (`PCAndOpcode`) or `0x8000: 4607 mov r7, r0`
//! (`Disassembly`) in a line; data accesses between them are skipped. The binary format begins with
//! `ReTrace`, the version, the bytes of a program counter, and whether there are opcodes. From
//! version 2 on, a header of opcodes has a flag of several instruction sets and a name of the
//! processor; with the flag, each block begins with its instruction set and its number of
//! instructions. Each instruction has its program counter (low byte first), the length of its opcode in
//! a byte, and the opcode. From version 2 on, its data accesses follow, up to a zero byte.
//!
//! The format `Opcode` has no addresses and is refused.

use flashpager_base::{Error, Result};
use flashpager_trace::Ending;

use super::instructions::{InstructionLog, LogLine, LoggedCode, LoggedInstruction, read_lines};
use super::text::hex;
use crate::input::{ByteReader, Input};
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

const SIGNATURE: &[u8; 7] = b"ReTrace";

/// The newest version that is read.
const MAX_VERSION: u8 = 5;

/// Longest opcode, in bytes.
const MAX_OPCODE_BYTES: usize = 16;

// Kinds of data behind an instruction.
const END: u8 = 0;
const MEMORY_ACCESS: u8 = 1;
const VECTOR_CONFIGURATION: u8 = 2;
const ATOMIC: u8 = 3;
const VECTOR_CONFIGURATION_BYTES: usize = 16;

fn recognises(start: &[u8]) -> bool {
    // The last line may be cut.
    let lines = start.split(|byte| *byte == b'\n').take(16);
    start.starts_with(SIGNATURE) || {
        let mut texts = lines.filter(|line| !line.is_empty());
        texts.next().is_some_and(|line| matches!(parse(line), LogLine::Instruction(_)))
            && !texts.any(|line| matches!(parse(line), LogLine::Refused(_)))
    }
}

fn read(mut input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    if input.peek()?.starts_with(SIGNATURE) {
        return BinaryReader::new(input)?.read(session);
    }
    read_lines(input, session, "cpu", parse)
}

/// Parses a line of text.
fn parse(line: &[u8]) -> LogLine<'_> {
    const ACCESSES: [&[u8]; 5] = [b"Memory", b"InsnFetch", b"Vector", b"AMO", b"Couldn't"];
    let Some(rest) = line.strip_prefix(b"0x") else {
        let is_known = line.is_empty() || ACCESSES.iter().any(|kind| line.starts_with(kind));
        return if is_known {
            LogLine::Other
        } else {
            LogLine::Refused("is no line of Renode's execution tracing")
        };
    };
    let parsed = (|| {
        let (address, rest) = hex(rest)?;
        if rest.trim_ascii().is_empty() {
            return Some((address, LoggedCode::Unknown));
        }
        let rest = rest.strip_prefix(b":")?.trim_ascii_start();
        let digits = rest.strip_prefix(b"0x").unwrap_or(rest);
        let length = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let is_whole = digits.get(length).is_none_or(u8::is_ascii_whitespace);
        let fits = length > 0 && length.is_multiple_of(2) && length / 2 <= MAX_OPCODE_BYTES;
        (is_whole && fits).then(|| (address, LoggedCode::Digits(&digits[..length])))
    })();
    match parsed {
        Some((address, code)) => {
            LogLine::Instruction(LoggedInstruction { thread: 0, address, code })
        }
        None => LogLine::Refused("is no line of Renode's execution tracing"),
    }
}

/// Reads the binary format.
struct BinaryReader {
    bytes: ByteReader,
    version: u8,
    counter_bytes: usize,
    has_opcodes: bool,
    has_blocks: bool,
}

impl BinaryReader {
    fn new(input: Input) -> Result<Self> {
        let mut bytes = ByteReader::new(input);
        bytes.take(SIGNATURE.len())?;
        let [version, counter_bytes, has_opcodes] = bytes.array()?;
        let mut reader = Self {
            bytes,
            version,
            counter_bytes: usize::from(counter_bytes),
            has_opcodes: has_opcodes != 0,
            has_blocks: false,
        };
        if !(1..=MAX_VERSION).contains(&version) {
            return Err(reader.error(format!(
                "is version {version} of Renode's format (known are 1 to {MAX_VERSION})"
            )));
        }
        if counter_bytes == 0 {
            let message = "has no program counters (format Opcode): trace with PC or PCAndOpcode";
            return Err(reader.error(message));
        }
        if !matches!(counter_bytes, 2 | 4 | 8) || has_opcodes > 1 {
            return Err(reader.error("has a damaged header"));
        }
        if version > 1 && reader.has_opcodes {
            reader.read_processor()?;
        }
        Ok(reader)
    }

    /// Reads the instruction sets and the name of the processor, such as `armv7a cortex-a9`. The
    /// first files of version 2 lack them.
    fn read_processor(&mut self) -> Result<()> {
        let Some(head) = self.bytes.peek(2)? else { return Ok(()) };
        let (flag, length) = (head[0], usize::from(head[1]));
        let is_name = |name: &[u8]| {
            name.contains(&b' ') && name.iter().all(|byte| matches!(byte, b' '..=b'~'))
        };
        if flag <= 1
            && length > 0
            && self.bytes.peek(2 + length)?.is_some_and(|head| is_name(&head[2..]))
        {
            self.bytes.take(2 + length)?;
            self.has_blocks = flag == 1;
        }
        Ok(())
    }

    fn error(&self, message: impl std::fmt::Display) -> Error {
        self.bytes.error(message)
    }

    fn read(mut self, session: &mut ImportSession<'_>) -> Result<Ending> {
        let mut log = InstructionLog::new(session, "cpu")?;
        let mut left_in_block = 0u64;
        // The simulation may have been stopped anywhere.
        while let Some(()) = self.begin(&mut left_in_block)? {
            let at = self.bytes.position();
            let Some(counter) = self.bytes.next(self.counter_bytes)? else { break };
            let address = little_endian(counter);
            let mut digits = [0; MAX_OPCODE_BYTES * 2];
            let mut code = LoggedCode::Unknown;
            if self.has_opcodes {
                let Some(length) = self.bytes.next(1)?.map(|length| usize::from(length[0])) else {
                    break;
                };
                if !(1..=MAX_OPCODE_BYTES).contains(&length) {
                    return Err(self.error(format!("an opcode of {length} bytes")));
                }
                let Some(opcode) = self.bytes.next(length)? else { break };
                for (pair, byte) in digits.chunks_exact_mut(2).zip(opcode) {
                    pair.copy_from_slice(&HEX[usize::from(*byte)]);
                }
                code = LoggedCode::Digits(&digits[..length * 2]);
            }
            if self.version > 1 && !self.skip_accesses()? {
                break;
            }
            log.switch_to(0, session)?;
            let instruction = LoggedInstruction { thread: 0, address, code };
            if let Some(fetch) =
                log.take(instruction).map_err(|message| self.bytes.error_at(at, message))?
            {
                session.add_fetch_at(at, fetch)?;
            }
        }
        log.finish(self.bytes.name(), session)
    }

    /// Reads the head of a block where one begins. Returns `None` at the end.
    fn begin(&mut self, left_in_block: &mut u64) -> Result<Option<()>> {
        if !self.has_blocks {
            return Ok(Some(()));
        }
        while *left_in_block == 0 {
            let Some(head) = self.bytes.next(9)? else { return Ok(None) };
            *left_in_block = little_endian(&head[1..]);
        }
        *left_in_block -= 1;
        Ok(Some(()))
    }

    /// Skips the data accesses of an instruction. Returns false if the file ends within them.
    fn skip_accesses(&mut self) -> Result<bool> {
        loop {
            let Some(kind) = self.bytes.next(1)?.map(|kind| kind[0]) else { return Ok(false) };
            let length = match kind {
                END => return Ok(true),
                // The kind and the address, then the value, then the physical address.
                MEMORY_ACCESS => match self.version {
                    2 => 9,
                    3 => 17,
                    _ => 25,
                },
                VECTOR_CONFIGURATION => VECTOR_CONFIGURATION_BYTES,
                ATOMIC => {
                    let Some(head) = self.bytes.next(3)? else { return Ok(false) };
                    match head[1] {
                        2 => 16,
                        3 => 32,
                        _ => return Err(self.error("has an atomic access of unknown width")),
                    }
                }
                _ => return Err(self.error(format!("has data of unknown kind {kind}"))),
            };
            if self.bytes.next(length)?.is_none() {
                return Ok(false);
            }
        }
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Two hexadecimal digits of each byte.
const HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut all = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    all
};
