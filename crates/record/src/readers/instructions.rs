//! The common part of readers of logs that list one executed instruction after another.

use flashpager_base::{Error, Result};
use flashpager_binary::driver::{FlowReader, InstructionFlow};
use flashpager_trace::{Ending, GapReason};
use rustc_hash::{FxHashMap, FxHashSet};

use super::MAX_INSTRUCTION_BYTES;
use super::check::CodeCheck;
use super::text::hex_length;
use super::threads::Threads;
use crate::fetch::Fetch;
use crate::input::{Input, TextLines};
use crate::session::ImportSession;

/// Largest number of places at which execution may arrive without a jump: handlers of interrupts,
/// and gaps of the log. More of them mean that another program ran.
const MAX_ARRIVALS: usize = 10;

/// The bytes of an instruction, as far as a log shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoggedCode<'a> {
    /// All bytes, in hexadecimal: a number in the byte order of the processor, or bytes in order.
    Digits(&'a [u8]),
    /// The little-endian 32-bit word at the instruction, which may be shorter or longer.
    Word(u32),
    /// The number of bytes alone.
    Length(u32),
    /// No bytes: the placed file has them.
    Unknown,
}

/// An instruction that a log lists as executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoggedInstruction<'a> {
    /// Number of the processor or thread.
    pub thread: u32,
    /// Address of the first byte.
    pub address: u64,
    /// Its bytes.
    pub code: LoggedCode<'a>,
}

/// The meaning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogLine<'a> {
    /// An executed instruction.
    Instruction(LoggedInstruction<'a>),
    /// No instruction.
    Other,
    /// Instructions are missing here, for this reason.
    Gap(GapReason),
    /// A line that cannot be read, or a log that cannot be used, with the reason.
    Refused(&'static str),
}

/// Reads a text of lines. `kind` is the noun of a thread.
///
/// # Errors
/// If a line cannot be read, the log is of another program, or writing fails.
pub(crate) fn read_lines(
    input: Input,
    session: &mut ImportSession<'_>,
    kind: &'static str,
    mut parse: impl FnMut(&[u8]) -> LogLine<'_>,
) -> Result<Ending> {
    let mut log = InstructionLog::new(session, kind)?;
    let mut lines = TextLines::new(input);
    while let Some(line) = lines.next_whole_line()? {
        let outcome = match parse(line) {
            LogLine::Instruction(instruction) => {
                log.switch_to(instruction.thread, session)?;
                log.take(instruction)
            }
            LogLine::Other => continue,
            LogLine::Gap(reason) => {
                log.gap(reason, session)?;
                continue;
            }
            LogLine::Refused(message) => Err(message.to_owned()),
        };
        match outcome {
            Ok(Some(fetch)) => session.add_fetch(lines.number(), fetch, &[])?,
            Ok(None) => {}
            Err(message) => return Err(lines.error_showing(message)),
        }
    }
    // The log may end anywhere: digits may be missing even where the rest can be read.
    if let Some(line) = lines.cut_line() {
        match parse(line) {
            LogLine::Other => {}
            LogLine::Gap(reason) => log.gap(reason, session)?,
            LogLine::Instruction(_) | LogLine::Refused(_) => {
                let number = lines.number();
                session.recording.left_out(format!("line {number}, within which the log ends"));
            }
        }
    }
    log.finish(lines.name(), session)
}

/// The instruction that a thread executed last.
#[derive(Clone, Copy)]
struct LastInstruction {
    address: u64,
    flow: InstructionFlow,
}

/// Turns logged instructions into fetches, and checks that they can follow one another.
pub(crate) struct InstructionLog {
    kind: &'static str,
    threads: Threads,
    check: CodeCheck,
    flows: FlowReader,
    /// Flow of placed instructions by address, as the file has them; `None` where it is not known.
    known: FxHashMap<u64, Option<InstructionFlow>>,
    /// The last instruction of each thread; `None` if its flow is not known.
    last: Vec<Option<LastInstruction>>,
    /// Addresses at which execution arrived without a jump, and how often it did.
    arrivals: FxHashSet<u64>,
    arrived: u64,
    /// The log shows bytes of instructions, which were compared.
    has_code: bool,
    instructions: u64,
    /// Instructions outside the placed code whose length is not known.
    without_length: u64,
}

impl InstructionLog {
    /// Begins with the program that `session` places.
    ///
    /// # Errors
    /// If the program cannot be read.
    pub fn new(session: &ImportSession<'_>, kind: &'static str) -> Result<Self> {
        Ok(Self {
            kind,
            threads: Threads::default(),
            check: CodeCheck::new(session.recording.placer.as_ref())?,
            flows: FlowReader::new(&session.recording.info.architecture),
            known: FxHashMap::default(),
            last: Vec::new(),
            arrivals: FxHashSet::default(),
            arrived: 0,
            has_code: false,
            instructions: 0,
            without_length: 0,
        })
    }

    /// Switches to the trace of a thread, whose instructions follow.
    ///
    /// # Errors
    /// If the trace file cannot be created.
    #[inline]
    pub fn switch_to(&mut self, thread: u32, session: &mut ImportSession<'_>) -> Result<()> {
        self.threads.switch_to(thread, self.kind, session).map(drop)
    }

    /// Takes an instruction of the current thread. Returns its fetch; `None` if the thread has no
    /// trace.
    ///
    /// # Errors
    /// If the length of the instruction is unknown, or the placed code is not the code that ran, in
    /// words.
    pub fn take(
        &mut self,
        instruction: LoggedInstruction<'_>,
    ) -> std::result::Result<Option<Fetch>, String> {
        let LoggedInstruction { address, code, .. } = instruction;
        let index = self.threads.current();
        self.instructions += 1;
        let flow = match self.known.get(&address) {
            Some(flow) => *flow,
            None => self.look_up(address, code)?,
        };
        let bytes = match (code, flow) {
            (LoggedCode::Digits(digits), _) => hex_length(digits),
            (LoggedCode::Length(0), _) => return Err("an instruction of 0 bytes".into()),
            (LoggedCode::Length(bytes), _) => bytes,
            (_, Some(flow)) => flow.bytes,
            (_, None) if self.check.is_empty() => {
                return Err("the log has no lengths of instructions: name the program that ran \
                            (--elf)"
                    .into());
            }
            // Code outside of what is placed: its bytes are not known.
            (_, None) => {
                self.without_length += 1;
                0
            }
        };
        if bytes as usize > MAX_INSTRUCTION_BYTES {
            return Err(format!("an instruction of {bytes} bytes"));
        }
        if self.last.len() <= index {
            self.last.resize(index + 1, None);
        }
        if let Some(last) = self.last[index]
            && !last.flow.leads_to(last.address, address)
        {
            self.arrive(address)?;
        }
        self.last[index] = flow.map(|flow| LastInstruction { address, flow });
        let fetch = Fetch { address, bytes, instructions: 1 };
        Ok(if self.threads.is_left_out() { None } else { Some(fetch) })
    }

    /// Notes that instructions are missing here: any may follow.
    fn gap(&mut self, reason: GapReason, session: &mut ImportSession<'_>) -> Result<()> {
        self.last.fill(None);
        session.recording.gap(reason, None)
    }

    /// Looks an instruction up in the placed files the first time that it is executed.
    #[cold]
    fn look_up(
        &mut self,
        address: u64,
        code: LoggedCode<'_>,
    ) -> std::result::Result<Option<InstructionFlow>, String> {
        let Some((bytes, thumb)) = self.check.code_at(address) else { return Ok(None) };
        let flow = self.flows.read(bytes, address, thumb);
        match (code, flow) {
            (LoggedCode::Digits(digits), _) => {
                self.has_code = true;
                self.check.compare(address, digits)?;
            }
            (LoggedCode::Word(word), Some(flow)) => {
                self.has_code = true;
                let bytes = word.to_le_bytes();
                let length = bytes.len().min(flow.bytes as usize);
                self.check.compare_bytes(address, &bytes[..length])?;
            }
            (LoggedCode::Unknown | LoggedCode::Word(_), None) => {
                return Err(format!(
                    "the length of the instruction at {address:#x} is not known: instructions of \
                     this processor are not decoded here"
                ));
            }
            _ => {}
        }
        self.known.insert(address, flow);
        Ok(flow)
    }

    /// Notes that execution arrived at `address` without a jump.
    #[cold]
    fn arrive(&mut self, address: u64) -> std::result::Result<(), String> {
        self.arrived += 1;
        self.arrivals.insert(address);
        if self.has_code || self.arrivals.len() <= MAX_ARRIVALS {
            return Ok(());
        }
        Err(format!(
            "execution arrived at {} places to which nothing before them leads: this ELF is not \
             what ran",
            self.arrivals.len()
        ))
    }

    /// Concludes at the end of a log.
    ///
    /// # Errors
    /// If the log has no instructions or is of another program.
    pub fn finish(self, name: &str, session: &mut ImportSession<'_>) -> Result<Ending> {
        if self.instructions == 0 {
            return Err(Error::data(name, "has no executed instructions"));
        }
        if let Some(note) = self.check.finish(name)? {
            session.recording.left_out(note);
        }
        if self.without_length > 0 {
            let (count, plural) =
                (self.without_length, if self.without_length == 1 { "" } else { "s" });
            session.recording.left_out(format!(
                "how long {count} instruction{plural} outside the placed code were: the log has no \
                 lengths, so that they count 0 bytes"
            ));
        }
        if self.arrived > 0 {
            let (times, places) = (self.arrived, self.arrivals.len());
            session.recording.left_out(format!(
                "how execution came, {times} times, to {places} places without a jump: interrupts, \
                 or gaps of the log"
            ));
        }
        Ok(Ending::AsCaptured)
    }
}
