//! E-Trace of RISC-V: packets in which the encoder of `riscv-etrace` writes a known execution.

use riscv_etrace::config;
use riscv_etrace::generator::hart2enc::CType;
use riscv_etrace::generator::step::{Kind, Step};
use riscv_etrace::generator::{self, Event, Generator};
use riscv_etrace::instruction::{self, Instruction, base};
use riscv_etrace::packet::payload::{InstructionTrace, Payload};
use riscv_etrace::packet::sync::{QualStatus, Support, Synchronization};
use riscv_etrace::packet::{self, encap, smi};
use riscv_etrace::types::Context;

use super::logs::{BASE, write_elf};
use super::*;

/// A loop that calls a function: `li t0,5; call f; addi t0,t0,-1; bnez t0; j .; f: nop; ret`.
const CODE: &[u32] =
    &[0x0050_0293, 0x0100_00ef, 0xfff2_8293, 0xfe02_9ce3, 0x0000_006f, 0x8082_0001];
const FUNCTION: u64 = 20;

/// One executed instruction.
#[derive(Clone, Debug)]
struct Executed {
    address: u64,
    kind: Kind,
}

impl Step for Executed {
    fn address(&self) -> u64 {
        self.address
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn ctype(&self) -> CType {
        CType::Unreported
    }

    fn context(&self) -> Context {
        Context::default()
    }
}

/// Offsets of the instructions that `turns` turns of the loop execute, up to the jump to itself. (A packet cannot tell how often that was executed.)
fn executed(turns: usize) -> Vec<u64> {
    let turn = [4, FUNCTION, FUNCTION + 2, 8, 12];
    [vec![0], turn.repeat(turns), vec![16]].concat()
}

fn steps(turns: usize) -> Vec<Executed> {
    let code = words(CODE);
    let offsets = executed(turns);
    let next = offsets.iter().skip(1).copied().chain([16]);
    let step = |(offset, next): (&u64, u64)| {
        let (made, _): (Instruction<Option<instruction::Kind>>, _) =
            Instruction::extract(&code[*offset as usize..], &base::Set::Rv32I).unwrap();
        let taken = next != offset + u64::from(made.size);
        Executed { address: BASE + offset, kind: Kind::from_instruction(made, taken, None) }
    };
    offsets.iter().zip(next).map(step).collect()
}

/// Encodes an execution. Every `resync` instructions a packet says where execution is.
fn encoded(turns: usize, resync: usize, encapsulated: bool) -> Vec<u8> {
    let params = config::Parameters::default();
    let mut made: Generator<Executed> = generator::builder().with_params(&params).build().unwrap();
    let mut payloads: Vec<InstructionTrace> = Vec::new();
    payloads.push(made.begin_qualification(Default::default(), Default::default()).unwrap().into());
    for (number, step) in steps(turns).into_iter().enumerate() {
        let event = (number % resync == resync - 1).then_some(Event::ReSync);
        payloads.extend(made.process_step(step, event).map(|payload| payload.unwrap()));
    }
    payloads.extend(made.end_qualification(true).map(|payload| payload.unwrap()));
    let mut data = Vec::new();
    for payload in payloads {
        data.extend(packet_of(payload, encapsulated));
    }
    data
}

/// The packet of a payload.
fn packet_of(payload: InstructionTrace, encapsulated: bool) -> Vec<u8> {
    let params = config::Parameters::default();
    let mut buffer = [0; 64];
    let mut encoder = packet::builder().with_params(&params).encoder(&mut buffer);
    if encapsulated {
        let payload = Payload::InstructionTrace(payload);
        encoder.encode(&encap::Packet::from(encap::Normal::new(0, 0, payload))).unwrap();
    } else {
        let kind = smi::TraceType::Instruction.into();
        encoder.encode(&smi::Packet::new(kind, 0, payload)).unwrap();
    }
    let left = encoder.uncommitted();
    buffer[..64 - left].to_vec()
}

fn import_packets(
    code: &[u8],
    data: Vec<u8>,
    format: ImportFormat,
) -> Result<(TraceInfo, Vec<Run>)> {
    let folder = TempDir::new().unwrap();
    let mut placer = Placer::new(PlacementOptions::text_of(write_elf(&folder, code))).unwrap();
    placer.load_as_linked();
    let path = folder.path().join("out.trace");
    let info = TraceInfo {
        program: "a.elf".into(),
        architecture: "riscv32".into(),
        ..TraceInfo::default()
    };
    let mut import = Import::new(Some(placer), &path, info, false)?;
    let ending =
        import.read(Input::new("in.trace", Cursor::new(data))?, format, 4, &mut |_| true)?;
    import.finish(ending, &|| true)?;
    read_trace(&path)
}

#[test]
fn packets_become_the_executed_runs() {
    for (turns, resync) in [(1, 1000), (5, 1000), (70, 1000), (70, 7)] {
        let turn = [run(20, 4), run(8, 8)];
        let mut runs = vec![run(0, 8)];
        for number in 0..turns {
            runs.push(turn[0]);
            runs.push(if number + 1 < turns { turn[1] } else { run(8, 12) });
            if number + 1 < turns {
                runs.push(run(4, 4));
            }
        }
        for (encapsulated, format) in
            [(false, ImportFormat::Etrace), (true, ImportFormat::EtraceEncapsulated)]
        {
            let data = encoded(turns, resync, encapsulated);
            let (info, found) = import_packets(&words(CODE), data, format).unwrap();
            assert_eq!(info.instructions, Some(executed(turns).len() as u64));
            assert_eq!(found, runs, "{turns} turns, {format:?}");
            assert_eq!(info.ending, Ending::AsCaptured);
        }
    }
}

/// Packets were lost: what follows is a window of its own.
#[test]
fn lost_packets_part_the_execution() {
    let lost = |data: Vec<u8>| {
        let support = Support { qual_status: QualStatus::TraceLost, ..Support::default() };
        [data, packet_of(Synchronization::Support(support).into(), false)].concat()
    };
    let twice = [lost(encoded(5, 1000, false)), encoded(5, 1000, false)].concat();
    let once = import_packets(&words(CODE), encoded(5, 1000, false), ImportFormat::Etrace);
    let (_, once) = once.unwrap();
    let (info, found) = import_packets(&words(CODE), twice, ImportFormat::Etrace).unwrap();
    assert_eq!(found, [&once[..], &once].concat());
    let [gap] = info.gaps[..] else { panic!("{:?}", info.gaps) };
    assert_eq!((gap.run, gap.reason), (once.len() as u64, GapReason::LostPackets));
}

#[test]
fn another_program_and_missing_programs_are_refused() {
    let data = encoded(70, 1000, false);
    let zeros = import_packets(&[0; 24], data.clone(), ImportFormat::Etrace);
    assert_says(zeros, &["this ELF is not what ran"]);
    assert_says(import_from(Cursor::new(data), Some(ImportFormat::Etrace), None), &["--elf"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_packets_give_a_value_or_one_line(
        noise in prop::collection::vec(any::<u8>(), 0..60),
        at in any::<prop::sample::Index>(),
        format in prop::sample::select(vec![
            ImportFormat::Etrace, ImportFormat::EtraceEncapsulated, ImportFormat::EtraceEsp32,
        ]),
    ) {
        let mut data = encoded(9, 7, format == ImportFormat::EtraceEncapsulated);
        let at = at.index(data.len());
        let end = (at + noise.len()).min(data.len());
        data.splice(at..end, noise);
        if let Err(error) = import_packets(&words(CODE), data, format) {
            message(Err::<(), _>(error));
        }
    }
}
