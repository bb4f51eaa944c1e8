//! RISC-V E-Trace: packets of a trace encoder, decoded along the program that ran.
//!
//! The packets say which branches were taken and where jumps through registers led; the rest comes
//! from the program. The encoder's parameters are those that the specification's reference encoder
//! has by default, with addresses as wide as the program's. Three kinds of packets are known: those
//! of Siemens' messaging infrastructure, those of the RISC-V encapsulation, and those that the
//! trace unit of an ESP32-C6 or ESP32-H2 writes (never compared with a real capture).

use std::collections::hash_map::Entry;
use std::num::NonZeroU8;
use std::rc::Rc;

use flashpager_base::{Error, Result};
use flashpager_trace::{Ending, GapReason};
use riscv_etrace::binary::Binary;
use riscv_etrace::config::Parameters;
use riscv_etrace::instruction::{self, Instruction, base};
use riscv_etrace::packet::decoder::Decoder;
use riscv_etrace::packet::payload::{InstructionTrace, Payload};
use riscv_etrace::packet::sync::{QualStatus, Support, Synchronization};
use riscv_etrace::packet::unit::Reference;
use riscv_etrace::tracer::item::Kind;
use riscv_etrace::tracer::{self, Tracer};
use riscv_etrace::{config, packet};
use rustc_hash::FxHashMap;

use super::threads::Threads;
use crate::fetch::Fetch;
use crate::input::Input;
use crate::session::{ImportSession, Importer};

/// Largest capture, in bytes: some tens of thousands of millions of instructions.
const MAX_BYTES: usize = 1 << 30;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Branches of one packet, with headroom. Between two of them, and behind the last, the program
/// runs at most once through all of its code.
const MAX_BRANCHES: usize = 64;

/// Longest packet, in bytes.
const MAX_PACKET_BYTES: usize = 40;

/// Packets of Siemens' messaging infrastructure.
pub(crate) mod smi {
    use super::{Framing, Importer, read};

    pub(crate) const IMPORTER: Importer = Importer {
        recognises: |_| false,
        read: |input, session| read(input, session, Framing::Smi),
    };
}

/// Packets of the RISC-V encapsulation.
pub(crate) mod encapsulated {
    use super::{Framing, Importer, read};

    pub(crate) const IMPORTER: Importer = Importer {
        recognises: |_| false,
        read: |input, session| read(input, session, Framing::Encapsulated),
    };
}

/// Packets of the trace unit of an ESP32-C6 or ESP32-H2.
pub(crate) mod esp32 {
    use super::{Framing, Importer, read};

    pub(crate) const IMPORTER: Importer = Importer {
        recognises: |_| false,
        read: |input, session| read(input, session, Framing::Esp32),
    };
}

/// The packets in which payloads lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Smi,
    Encapsulated,
    Esp32,
}

/// The code of the program that ran.
#[derive(Clone)]
struct ProgramCode {
    /// Executable sections by ascending address.
    sections: Rc<Vec<(u64, Vec<u8>)>>,
    set: base::Set,
}

/// An address at which the program has no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoInstruction(u64);

impl std::fmt::Display for NoInstruction {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the program has no instruction at {:#x}", self.0)
    }
}

impl std::error::Error for NoInstruction {}

impl Binary<Option<instruction::Kind>> for ProgramCode {
    type Error = NoInstruction;

    fn get_insn(
        &mut self,
        address: u64,
    ) -> std::result::Result<Instruction<Option<instruction::Kind>>, NoInstruction> {
        let after = self.sections.partition_point(|(start, _)| *start <= address);
        let code = self.sections[..after]
            .last()
            .and_then(|(start, code)| code.get(usize::try_from(address - start).ok()?..));
        code.and_then(|code| Instruction::extract(code, &self.set))
            .map(|(instruction, _)| instruction)
            .ok_or(NoInstruction(address))
    }
}

/// Decodes one packet. Returns the number of the hart and the payload; `None` for a packet without
/// one.
fn next_payload(
    decoder: &mut Decoder<'_, Reference>,
    framing: Framing,
) -> std::result::Result<Option<(u64, Payload)>, packet::Error> {
    Ok(match framing {
        Framing::Smi => {
            let packet = decoder.decode_smi_packet()?;
            Some((packet.hart(), packet.decode_payload()?))
        }
        Framing::Encapsulated => match decoder.decode_encap_packet()?.into_normal() {
            Some(packet) => Some((u64::from(packet.src_id()), packet.decode_payload()?)),
            None => None,
        },
        Framing::Esp32 => match decoder.decode_esp32_packet()?.into_normal() {
            Some(packet) => Some((0, packet.decode_payload()?)),
            None => None,
        },
    })
}

fn read(mut input: Input, session: &mut ImportSession<'_>, framing: Framing) -> Result<Ending> {
    let name = input.name.clone();
    let params = parameters(session.recording.info.architecture == "riscv64");
    let mut reader = PacketReader::new(&name, params, session)?;
    let data = read_all(&mut input)?;
    let mut decoder = packet::builder().with_params(&params).decoder(&data);
    while decoder.bytes_left() > 0 {
        let at = data.len() - decoder.bytes_left();
        match next_payload(&mut decoder, framing) {
            Ok(Some((hart, payload))) => reader.follow(hart, &payload, at, session)?,
            Ok(None) => {}
            // The capture may end anywhere.
            Err(packet::Error::InsufficientData(_)) if at + MAX_PACKET_BYTES > data.len() => break,
            Err(message) => {
                return Err(reader.error(at, format!("is no packet of E-Trace ({message})")));
            }
        }
    }
    if reader.tracers.is_empty() {
        return Err(Error::data(name, "has no packets of E-Trace"));
    }
    Ok(Ending::AsCaptured)
}

/// Follows the program along the payloads of packets.
struct PacketReader {
    name: String,
    params: Parameters,
    code: ProgramCode,
    /// Largest number of instructions that one packet can tell.
    most: usize,
    /// The execution of each hart.
    tracers: FxHashMap<u64, Tracer<ProgramCode>>,
    /// Reasons for which the encoder fell silent, by hart. A gap follows if it reports again.
    silent: FxHashMap<u64, GapReason>,
    threads: Threads,
}

impl PacketReader {
    fn new(name: &str, params: Parameters, session: &ImportSession<'_>) -> Result<Self> {
        let recording = &session.recording;
        let placer = recording.placer.as_ref().filter(|placer| placer.has_files());
        let placer = placer.ok_or_else(|| {
            Error::data(name, "E-Trace has branches alone: name the program (--elf)")
        })?;
        let architecture = recording.info.architecture.as_str();
        let set = match architecture {
            "riscv32" => base::Set::Rv32I,
            "riscv64" => base::Set::Rv64I,
            _ => return Err(Error::data(name, "E-Trace is of RISC-V, and the program is not")),
        };
        let sections = Rc::new(placer.executable_code()?);
        let bytes: usize = sections.iter().map(|(_, code)| code.len()).sum();
        Ok(Self {
            name: name.to_owned(),
            params,
            code: ProgramCode { sections, set },
            most: (bytes / 2 + 1).saturating_mul(MAX_BRANCHES),
            tracers: FxHashMap::default(),
            silent: FxHashMap::default(),
            threads: Threads::default(),
        })
    }

    fn error(&self, at: usize, message: String) -> Error {
        Error::data(format!("{}, byte {at}", self.name), message)
    }

    /// Records the instructions that a hart executed up to where a payload leads.
    fn follow(
        &mut self,
        hart: u64,
        payload: &Payload,
        at: usize,
        session: &mut ImportSession<'_>,
    ) -> Result<()> {
        let failed = |message: tracer::error::Error<NoInstruction>| {
            let message = format!("{message}: the capture is damaged, or this ELF is not what ran");
            Error::data(format!("{}, byte {at}", self.name), message)
        };
        let tracer = match self.tracers.entry(hart) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let tracer =
                    tracer::builder().with_binary(self.code.clone()).with_params(&self.params);
                free.insert(tracer.build().map_err(failed)?)
            }
        };
        self.threads.switch_to(hart as u32, "hart", session)?;
        if let Some(reason) = reason_of_silence(payload) {
            self.silent.insert(hart, reason);
        } else if let Some(reason) = self.silent.remove(&hart)
            && !self.threads.is_left_out()
        {
            session.recording.sink().gap(reason, None)?;
        }
        tracer.process_payload(payload).map_err(failed)?;
        for (count, item) in tracer.by_ref().enumerate() {
            let item = item.map_err(failed)?;
            if count > self.most {
                let message = "leads through an endless loop: the capture is damaged, or this ELF is \
                            not what ran";
                return Err(Error::data(format!("{}, byte {at}", self.name), message));
            }
            if let Kind::Regular(instruction) = item.kind()
                && !self.threads.is_left_out()
            {
                let bytes = u64::from(instruction.size) as u32;
                let fetch = Fetch { address: item.pc(), bytes, instructions: 1 };
                session.add_fetch_at(at as u64, fetch)?;
            }
        }
        Ok(())
    }
}

/// Returns the reason for which the encoder reports nothing behind this payload. `None` if it goes on.
fn reason_of_silence(payload: &Payload) -> Option<GapReason> {
    let Payload::InstructionTrace(InstructionTrace::Synchronization(Synchronization::Support(
        Support { qual_status, .. },
    ))) = payload
    else {
        return None;
    };
    match qual_status {
        QualStatus::NoChange => None,
        QualStatus::TraceLost => Some(GapReason::LostPackets),
        QualStatus::EndedRep | QualStatus::EndedNtr => Some(GapReason::Cut),
    }
}

/// Parameters of an encoder for addresses of 32 or 64 bits.
fn parameters(wide: bool) -> Parameters {
    let mut params = config::PARAMETERS;
    params.iaddress_width_p = NonZeroU8::MIN.saturating_add(if wide { 63 } else { 31 });
    params
}

fn read_all(input: &mut Input) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let filled = data.len();
        data.resize(filled + CHUNK_BYTES, 0);
        let read = input.read_full(&mut data[filled..])?;
        data.truncate(filled + read);
        if read < CHUNK_BYTES {
            return Ok(data);
        }
        if data.len() > MAX_BYTES {
            return Err(Error::data(&input.name, "is larger than 1 GiB: import it in parts"));
        }
    }
}
