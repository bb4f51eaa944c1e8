//! Logs of QEMU's `-d in_asm,exec,nochain`.
//!
//! `in_asm` lists each block of instructions when it is translated, `exec` has a line `Trace` for
//! each execution of a block, and `nochain` keeps QEMU from executing a block without returning to
//! where that line is written. A block is identified by the address of its translation: one program
//! counter may have several blocks, and an address is used again after a flush.

use std::rc::Rc;

use flashpager_base::{Error, Result, shown};
use flashpager_binary::driver::{FlowReader, only_length};
use flashpager_trace::Ending;
use rustc_hash::FxHashMap;

use super::MAX_INSTRUCTION_BYTES;
use super::check::CodeCheck;
use super::text::{hex, hex_digit, hex_length};
use super::threads::Threads;
use crate::fetch::Fetch;
use crate::input::{Input, TextLines, parse_decimal, parse_hex};
use crate::session::{ImportSession, Importer};

pub(crate) const IMPORTER: Importer = Importer { recognises, read };

/// Largest number of instructions in a block. QEMU ends blocks at 512.
const MAX_BLOCK_INSTRUCTIONS: usize = 1 << 12;

/// Largest number of listed blocks whose execution is awaited: one for each processor.
const MAX_PENDING: usize = 512;

const LINKING: &[u8] = b"Linking TBs ";
const STOPPED: &[u8] = b"Stopped execution of TB chain before ";
const REWOUND: &[u8] = b"cpu_io_recompile: rewound execution of TB to ";
/// Bytes of a block, where QEMU has no disassembler.
const UNDISASSEMBLED: &[u8] = b"OBJD-T: ";

fn recognises(start: &[u8]) -> bool {
    start.split(|byte| *byte == b'\n').any(|line| {
        line.starts_with(b"IN: ")
            || line.starts_with(LINKING)
            || line.strip_prefix(b"Trace ").is_some_and(|rest| TraceLine::parse(rest).is_some())
    })
}

fn read(input: Input, session: &mut ImportSession<'_>) -> Result<Ending> {
    let mut reader = QemuLogReader::new(session)?;
    let mut lines = TextLines::new(input);
    while let Some(line) = lines.next_line()? {
        let outcome = match line {
            [b'T', ..] if line.starts_with(b"Trace ") => {
                let execution = TraceLine::parse(&line[6..]);
                match execution {
                    Some(execution) => {
                        let number = lines.number();
                        match reader.close_listing() {
                            Ok(()) => reader.execute(execution, number, session)?,
                            Err(message) => Err(message),
                        }
                    }
                    // The log may end anywhere.
                    None if lines.is_cut() => Ok(()),
                    None => Err("is no 'Trace' line".to_owned()),
                }
            }
            _ => reader.take(line),
        };
        outcome.map_err(|message| lines.error_showing(message))?;
    }
    reader.finish(lines.name(), session)
}

/// A line `Trace 0: 0x7f5be8000180 [cs_base/pc/flags/cflags] symbol`. Older versions of QEMU have
/// fewer fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TraceLine {
    cpu: u32,
    /// Address of the translated block in the memory of QEMU.
    pointer: u64,
    /// Address of the block's first instruction.
    address: u64,
    /// State of the processor for which the block was translated; 0 if the line has none.
    flags: u64,
}

impl TraceLine {
    fn parse(rest: &[u8]) -> Option<Self> {
        let (mut cpu, mut rest) = (0, rest);
        if !rest.starts_with(b"0x") {
            let colon = rest.iter().take(12).position(|byte| *byte == b':')?;
            cpu = u32::try_from(parse_decimal(&rest[..colon])?).ok()?;
            rest = rest[colon + 1..].trim_ascii_start();
        }
        let (pointer, rest) = hex(rest.strip_prefix(b"0x")?)?;
        let rest = rest.strip_prefix(b" [")?;
        // QEMU 2.6 to 2.10 had `[processor: address]`.
        if let Some(colon) = rest.iter().take(12).position(|byte| *byte == b':') {
            cpu = u32::try_from(parse_decimal(&rest[..colon])?).ok()?;
            let (address, rest) = hex(rest[colon + 1..].trim_ascii_start())?;
            return rest.starts_with(b"]").then_some(Self { cpu, pointer, address, flags: 0 });
        }
        let (first, rest) = hex(rest)?;
        if rest.starts_with(b"]") {
            return Some(Self { cpu, pointer, address: first, flags: 0 });
        }
        let (address, rest) = hex(rest.strip_prefix(b"/")?)?;
        let flags = rest.strip_prefix(b"/")?;
        let flags = flags.strip_prefix(b"0x").unwrap_or(flags);
        let (flags, rest) = hex(flags)?;
        matches!(rest.first(), Some(b'/' | b']')).then_some(Self { cpu, pointer, address, flags })
    }
}

/// A block of instructions, as it was listed.
#[derive(Debug)]
struct LogBlock {
    address: u64,
    bytes: u32,
    /// Distance of each instruction from the first byte.
    starts: Box<[u32]>,
}

/// An instruction in a listing.
struct ListedInstruction {
    address: u64,
    /// Bytes of the instruction. `None` if the listing has none.
    bytes: Option<u32>,
    /// Text of the disassembler.
    text: Vec<u8>,
}

/// The listing of a block under way.
#[derive(Default)]
struct Listing {
    instructions: Vec<ListedInstruction>,
    /// Address of a block that QEMU cannot disassemble, and its bytes so far.
    undisassembled: Option<(u64, Vec<u8>)>,
}

/// The block that a processor executed last. Later lines may show that it was cut short.
struct ExecutedBlock {
    pointer: u64,
    address: u64,
    block: Rc<LogBlock>,
    line: u64,
    /// True if execution returned to an instruction inside the block, where the next block begins.
    is_rewound: bool,
}

struct QemuLogReader {
    architecture: String,
    check: CodeCheck,
    listing: Option<Listing>,
    /// Blocks that were listed and not yet executed.
    pending: Vec<Rc<LogBlock>>,
    /// Blocks by the address of their translation.
    blocks: FxHashMap<u64, Rc<LogBlock>>,
    /// Processors, or threads of a program in user mode.
    threads: Threads,
    /// The block that each of them executed last.
    last: Vec<Option<ExecutedBlock>>,
    has_listings: bool,
}

/// The result of a step whose error is a text without a place.
type Checked<T> = std::result::Result<T, String>;

impl QemuLogReader {
    fn new(session: &ImportSession<'_>) -> Result<Self> {
        Ok(Self {
            architecture: session.recording.info.architecture.clone(),
            check: CodeCheck::new(session.recording.placer.as_ref())?,
            listing: None,
            pending: Vec::new(),
            blocks: FxHashMap::default(),
            threads: Threads::default(),
            last: Vec::new(),
            has_listings: false,
        })
    }

    /// Takes a line other than `Trace`. Lines of other items of `-d` and of the program are
    /// skipped.
    fn take(&mut self, line: &[u8]) -> Checked<()> {
        match line {
            [b'0', b'x', ..] => match &mut self.listing {
                Some(listing) => list(line, listing, &mut self.check),
                None => Ok(()),
            },
            [] => self.close_listing(),
            [b'O', b'B', b'J', ..] => {
                match (&mut self.listing, line.strip_prefix(UNDISASSEMBLED)) {
                    (Some(listing), Some(digits)) => list_undisassembled(digits, listing),
                    _ => Ok(()),
                }
            }
            [b'P', b'r', b'i', b'v', ..] => Ok(()),
            [b'I', b'N', b':', ..] => {
                self.close_listing()?;
                self.listing = Some(Listing::default());
                self.has_listings = true;
                Ok(())
            }
            _ => {
                self.close_listing()?;
                if line.starts_with(LINKING) {
                    return Err(
                        "QEMU linked blocks, so that the log lacks most executions: write \
                                it with '-d in_asm,exec,nochain'"
                            .into(),
                    );
                }
                if let Some(rest) = line.strip_prefix(STOPPED) {
                    self.stop(rest);
                } else if line.starts_with(REWOUND) {
                    self.rewind(&line[REWOUND.len()..]);
                }
                Ok(())
            }
        }
    }

    /// Ends the listing of a block.
    fn close_listing(&mut self) -> Checked<()> {
        let Some(listing) = self.listing.take() else { return Ok(()) };
        if let Some(block) = listing.block(&self.architecture)? {
            if self.pending.len() == MAX_PENDING {
                self.pending.remove(0);
            }
            self.pending.push(Rc::new(block));
        }
        Ok(())
    }

    /// Takes back the last execution of a block: it was stopped before its first instruction.
    fn stop(&mut self, rest: &[u8]) {
        let pointer = rest.strip_prefix(b"0x").and_then(hex).map(|(pointer, _)| pointer);
        let stopped = |last: &mut Option<ExecutedBlock>| {
            last.take_if(|last| Some(last.pointer) == pointer).is_some()
        };
        let current = self.threads.current();
        if self.last.get_mut(current).is_none_or(|last| !stopped(last)) {
            let _ = self.last.iter_mut().any(stopped);
        }
    }

    /// Notes that a block was left at an instruction that accesses a device and is executed anew.
    fn rewind(&mut self, rest: &[u8]) {
        let address = hex(rest.strip_prefix(b"0x").unwrap_or(rest));
        let Some((address, _)) = address else { return };
        let holds = |last: &ExecutedBlock| {
            let ahead = address.wrapping_sub(last.address);
            ahead < u64::from(last.block.bytes.max(1))
        };
        let order = std::iter::once(self.threads.current()).chain(0..self.last.len());
        for index in order {
            if let Some(last) = self.last.get_mut(index).and_then(Option::as_mut)
                && holds(last)
            {
                last.is_rewound = true;
                return;
            }
        }
    }

    /// Takes the execution of a block. The inner error is text without a place.
    fn execute(
        &mut self,
        execution: TraceLine,
        line: u64,
        session: &mut ImportSession<'_>,
    ) -> Result<Checked<()>> {
        let index = self.threads.switch_to(execution.cpu, "cpu", session)?;
        if self.last.len() <= index {
            self.last.resize_with(index + 1, || None);
        }
        if let Some(last) = self.last[index].take() {
            self.conclude(&last, Some(execution), session)?;
        }
        if !self.pending.is_empty() {
            self.bind(execution);
        }
        let Some(block) = self.blocks.get(&execution.pointer) else {
            return Ok(Err(if self.has_listings {
                "the code of this block was never listed: the log has to begin with the program"
            } else {
                "the code of this block is not listed: write the log with '-d in_asm,exec,nochain'"
            }
            .to_owned()));
        };
        self.last[index] = Some(ExecutedBlock {
            pointer: execution.pointer,
            address: execution.address,
            block: Rc::clone(block),
            line,
            is_rewound: false,
        });
        Ok(Ok(()))
    }

    /// Gives a listed block the address of its translation. With a single processor, a listing is
    /// followed by the first execution of its block. With several, the others may execute other
    /// blocks in between.
    fn bind(&mut self, execution: TraceLine) {
        let listed = self.pending.iter().rposition(|block| block.address == execution.address);
        let Some(listed) = listed else { return };
        let known = self.blocks.get(&execution.pointer);
        if self.last.len() > 1 && known.is_some_and(|known| known.address == execution.address) {
            return;
        }
        let block = self.pending.remove(listed);
        self.pending.retain(|other| other.address != execution.address);
        self.blocks.insert(execution.pointer, block);
    }

    /// Records the block that the current processor executed last. `next` is the block that it
    /// executes now, which shows whether the last one was cut short.
    fn conclude(
        &mut self,
        last: &ExecutedBlock,
        next: Option<TraceLine>,
        session: &mut ImportSession<'_>,
    ) -> Result<()> {
        let block = &last.block;
        let (mut bytes, mut instructions) = (block.bytes, block.starts.len());
        let mut in_doubt = next.is_none();
        // An AVR executes an instruction that accesses registers by their addresses anew, in a
        // block of its own with this flag.
        let is_repeated = |next: TraceLine| self.architecture == "avr" && next.flags & 1 == 1;
        if let Some(next) = next.filter(|next| last.is_rewound || is_repeated(*next)) {
            let ahead = next.address.wrapping_sub(last.address);
            match block.starts.iter().position(|start| u64::from(*start) == ahead) {
                Some(before) => (bytes, instructions) = (block.starts[before], before),
                None => in_doubt |= last.is_rewound,
            }
        }
        if self.threads.is_left_out() {
            return Ok(());
        }
        if in_doubt {
            session.recording.in_doubt(1);
        }
        if instructions == 0 {
            return Ok(());
        }
        let fetch = Fetch { address: last.address, bytes, instructions: instructions as u32 };
        session.add_fetch(last.line, fetch, &[])
    }

    /// Records the last block of each processor. Each is in doubt: the log may end within it.
    fn finish(mut self, name: &str, session: &mut ImportSession<'_>) -> Result<Ending> {
        if self.last.is_empty() {
            let message = "has no executed blocks: write the log with '-d in_asm,exec,nochain'";
            return Err(Error::data(name, message));
        }
        for index in 0..self.last.len() {
            if let (Some(last), Some(number)) =
                (self.last[index].take(), self.threads.number(index))
            {
                self.threads.switch_to(number, "cpu", session)?;
                self.conclude(&last, None, session)?;
            }
        }
        if let Some(note) = self.check.finish(name)? {
            session.recording.left_out(note);
        }
        Ok(Ending::AsCaptured)
    }
}

/// Takes a line `0x00010340:  f04f 0b00  mov.w    fp, #0` of a listing.
fn list(line: &[u8], listing: &mut Listing, check: &mut CodeCheck) -> Checked<()> {
    let Some((address, rest)) = hex(&line[2..]) else { return Ok(()) };
    let Some(rest) = rest.strip_prefix(b":") else { return Ok(()) };
    let rest = rest.trim_ascii();
    let (digits, text) = split_bytes(rest);
    let bytes = hex_length(digits);
    if rest.is_empty() {
        listing.undisassembled = Some((address, Vec::new()));
        return Ok(());
    }
    if bytes > 0 {
        check.compare(address, digits)?;
    }
    if let Some(last) = listing.instructions.last_mut()
        && let Some(before) = last.bytes
        && address == last.address.wrapping_add(before.into())
    {
        // A long instruction continues on the next line. Bytes that QEMU's disassembler does not
        // know are listed one by one.
        let is_unknown = |text: &[u8]| text.starts_with(b".byte");
        if text.is_empty() || bytes == 1 && is_unknown(text) && is_unknown(&last.text) {
            last.bytes = Some(before + bytes);
            return Ok(());
        }
    }
    if listing.instructions.len() == MAX_BLOCK_INSTRUCTIONS {
        return Err(format!("a block of more than {MAX_BLOCK_INSTRUCTIONS} instructions"));
    }
    listing.instructions.push(ListedInstruction {
        address,
        bytes: (bytes > 0).then_some(bytes),
        text: text.to_vec(),
    });
    Ok(())
}

/// Takes the bytes of a block that QEMU cannot disassemble.
fn list_undisassembled(digits: &[u8], listing: &mut Listing) -> Checked<()> {
    let Some((_, code)) = &mut listing.undisassembled else { return Ok(()) };
    for pair in digits.trim_ascii().chunks(2) {
        let byte = parse_hex(pair).filter(|_| pair.len() == 2);
        code.push(byte.ok_or("its bytes are not hexadecimal")? as u8);
    }
    if code.len() > MAX_BLOCK_INSTRUCTIONS {
        return Err(format!("a block of more than {MAX_BLOCK_INSTRUCTIONS} bytes"));
    }
    Ok(())
}

/// Splits the text of a listed instruction into its bytes and the rest. Groups of bytes have one
/// space between them; two spaces or the end follow. Hexagon writes one number with `0x`. A
/// mnemonic can look like bytes (`abcd`, `bc1f`), but what follows it does not.
fn split_bytes(rest: &[u8]) -> (&[u8], &[u8]) {
    if let Some(digits) = rest.strip_prefix(b"0x") {
        let length = digits.iter().position(|byte| hex_digit(*byte).is_none());
        let length = length.unwrap_or(digits.len());
        return (&digits[..length], digits[length..].trim_ascii());
    }
    let mut end = 0;
    loop {
        let group = rest[end..].iter().take_while(|byte| hex_digit(**byte).is_some()).count();
        if group == 0 || group % 2 == 1 {
            return (&[], rest);
        }
        end += group;
        match &rest[end..] {
            [] => return (&rest[..end], &[]),
            [b' ', b' ', ..] => return (&rest[..end], rest[end..].trim_ascii()),
            [b' ', ..] => end += 1,
            _ => return (&[], rest),
        }
    }
}

impl Listing {
    /// Makes the block of the listed instructions; `None` without any.
    fn block(self, architecture: &str) -> Checked<Option<LogBlock>> {
        if let Some((address, code)) = self.undisassembled {
            let starts = undisassembled_starts(&code, architecture)?;
            return Ok(Some(LogBlock { address, bytes: code.len() as u32, starts }));
        }
        let (Some(first), Some(last)) = (self.instructions.first(), self.instructions.last())
        else {
            return Ok(None);
        };
        let address = first.address;
        let mut starts = Vec::with_capacity(self.instructions.len());
        for pair in self.instructions.windows(2) {
            let distance = pair[1].address.wrapping_sub(pair[0].address);
            let fits = pair[0].bytes.is_none_or(|bytes| u64::from(bytes) == distance);
            if !(1..=MAX_INSTRUCTION_BYTES as u64).contains(&distance) || !fits {
                return Err(format!(
                    "the instruction at {:#x} does not follow the one at {:#x}",
                    pair[1].address, pair[0].address
                ));
            }
            starts.push((pair[0].address - address) as u32);
        }
        let ahead = (last.address - address) as u32;
        starts.push(ahead);
        let gaps = starts.windows(2).map(|pair| pair[1] - pair[0]);
        let bytes = last
            .bytes
            .or_else(|| instruction_bytes(&last.text, architecture, gaps.min()))
            .ok_or_else(|| unknown_length(last, architecture))?;
        let starts = starts.into_boxed_slice();
        if bytes as usize > MAX_INSTRUCTION_BYTES {
            return Err(format!("an instruction of {bytes} bytes at {:#x}", last.address));
        }
        Ok(Some(LogBlock { address, bytes: ahead + bytes, starts }))
    }
}

fn unknown_length(last: &ListedInstruction, architecture: &str) -> String {
    let text = shown(String::from_utf8_lossy(&last.text));
    if architecture.is_empty() {
        format!("the log has no bytes of instructions such as '{text}': name the program (--elf)")
    } else {
        format!("the length of the {architecture} instruction '{text}' is not known")
    }
}

/// Length of an instruction that QEMU lists without its bytes, by its text. `least` is the shortest
/// instruction before it in its block.
fn instruction_bytes(text: &[u8], architecture: &str, least: Option<u32>) -> Option<u32> {
    let mnemonic = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    match architecture {
        // Instructions of MIPS16 and microMIPS may be shorter.
        _ if architecture.starts_with("mips") => {
            (least.is_none_or(|least| least == 4)).then_some(4)
        }
        "avr" if [&b"CALL"[..], b"JMP", b"LDS", b"STS"].contains(&mnemonic) => Some(4),
        "avr" => Some(2),
        "xtensa" | "xtensaeb" if mnemonic.ends_with(b".n") => Some(2),
        "xtensa" | "xtensaeb" => Some(3),
        "m68k" => m68k_bytes(mnemonic, text),
        _ => only_length(architecture),
    }
}

/// Length of an instruction of the 68000 that ends a block.
fn m68k_bytes(mnemonic: &[u8], text: &[u8]) -> Option<u32> {
    const CONDITIONS: [&[u8]; 16] = [
        b"ra", b"sr", b"hi", b"ls", b"cc", b"cs", b"ne", b"eq", b"vc", b"vs", b"pl", b"mi", b"ge",
        b"lt", b"gt", b"le",
    ];
    if let [b'b', condition @ .., size @ (b's' | b'w' | b'l')] = mnemonic
        && CONDITIONS.contains(&condition)
    {
        return Some(match size {
            b's' => 2,
            b'w' => 4,
            _ => 6,
        });
    }
    let operand = text[mnemonic.len()..].trim_ascii();
    match mnemonic {
        b"rts" | b"rte" | b"rtr" | b"trap" | b"illegal" | b"nop" => Some(2),
        b"rtd" | b"stop" => Some(4),
        _ if mnemonic.starts_with(b"db") => Some(4),
        b"jsr" | b"jmp" if operand.ends_with(b"@") => Some(2),
        b"jsr" | b"jmp" if operand.starts_with(b"%pc@(") || operand.starts_with(b"%a") => {
            (!operand.contains(&b',')).then_some(4)
        }
        b"jsr" | b"jmp" if operand.starts_with(b"0x") => Some(6),
        _ => None,
    }
}

/// Distances of the instructions in a block that QEMU cannot disassemble.
fn undisassembled_starts(code: &[u8], architecture: &str) -> Checked<Box<[u32]>> {
    if architecture != "tricore" {
        return Err("this QEMU has no disassembler for the program's processor, so that the log \
                    has no instructions: use a QEMU with one (built with capstone), or 'record'"
            .into());
    }
    let flows = FlowReader::new(architecture);
    let (mut starts, mut at) = (Vec::new(), 0);
    while let Some(flow) = code.get(at..).and_then(|rest| flows.read(rest, at as u64, false)) {
        starts.push(at as u32);
        at += flow.bytes as usize;
    }
    if at != code.len() { Err("its last instruction is cut".into()) } else { Ok(starts.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_lines_of_all_versions_are_read() {
        let read = |text: &str| TraceLine::parse(text.as_bytes());
        let line = |cpu, pointer, address, flags| Some(TraceLine { cpu, pointer, address, flags });
        assert_eq!(read("0x7f00 [00008000] main"), line(0, 0x7f00, 0x8000, 0));
        assert_eq!(read("0x7f00 [1: 00008000] main"), line(1, 0x7f00, 0x8000, 0));
        assert_eq!(read("1: 0x7f00 [00000001/00008000/0xb3] main"), line(1, 0x7f00, 0x8000, 0xb3));
        assert_eq!(
            read("12: 0x7f00 [00000000/00008000/00000001/00000200] "),
            line(12, 0x7f00, 0x8000, 1)
        );
        for cut in ["", "0", "0: 0x", "0: 0x7f00 [", "0: 0x7f00 [0000/8000", "0: 0x7f00 [0/80/b3"] {
            assert_eq!(read(cut), None, "{cut}");
        }
    }

    #[test]
    fn bytes_are_distinguished_from_mnemonics() {
        let split = |text: &'static str| {
            let (digits, text) = split_bytes(text.as_bytes());
            (std::str::from_utf8(digits).unwrap(), std::str::from_utf8(text).unwrap())
        };
        assert_eq!(split("f04f 0b00  mov.w    fp, #0"), ("f04f 0b00", "mov.w    fp, #0"));
        assert_eq!(split("48 89 e2                 movq"), ("48 89 e2", "movq"));
        assert_eq!(split("ff 0f"), ("ff 0f", ""));
        assert_eq!(split("0x7f00c000\t{\tnop }"), ("7f00c000", "{\tnop }"));
        for text in ["abcd %d0,%d1", "bc1f\t0x10", "dec", "b  0x10014", "add", "ADC       r1"] {
            assert_eq!(split(text), ("", text));
        }
    }
}
