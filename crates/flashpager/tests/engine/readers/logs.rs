//! Logs with one executed instruction after another, in every format that is read. Only two of the
//! tools that write them, Spike and QEMU, are installed where tests run. Writers in this file imitate
//! the others.

use std::fmt::Write as _;

use super::*;

pub const BASE: u64 = 0x8000_0000;

/// A program for RISC-V: straight code and a jump back to its beginning.
#[derive(Clone, Debug)]
struct Program {
    /// Address and bytes of each instruction.
    instructions: Vec<(u64, Vec<u8>)>,
}

impl Program {
    /// A program with instructions of 2 bytes (true) and of 4.
    fn new(short: &[bool]) -> Self {
        let mut instructions = Vec::new();
        let mut at = 0u32;
        for &short in short {
            let code = if short { vec![0x01, 0x00] } else { vec![0x13, 0, 0, 0] };
            instructions.push((BASE + u64::from(at), code.clone()));
            at += code.len() as u32;
        }
        // jal x0, -at
        let back = at.wrapping_neg();
        let word = (back >> 20 & 1) << 31
            | (back >> 1 & 0x3ff) << 21
            | (back >> 11 & 1) << 20
            | (back >> 12 & 0xff) << 12
            | 0x6f;
        instructions.push((BASE + u64::from(at), word.to_le_bytes().to_vec()));
        Self { instructions }
    }

    fn bytes(&self) -> Vec<u8> {
        self.instructions.iter().flat_map(|(_, code)| code.clone()).collect()
    }

    /// Writes the program as an ELF file.
    fn write(&self, folder: &TempDir) -> PathBuf {
        write_elf(folder, &self.bytes())
    }

    /// Writes a log of `turns` executions of the whole program.
    fn log(&self, turns: usize, line: impl Fn(u64, &[u8]) -> Vec<u8>) -> Vec<u8> {
        let once: Vec<u8> =
            self.instructions.iter().flat_map(|(address, code)| line(*address, code)).collect();
        once.repeat(turns)
    }
}

/// Distance of the section `.fast` behind the start of `.text`.
pub const FAST: u64 = 0x1000;

/// Writes code for RISC-V as an ELF file with a section `.text`, and `.fast` with the same code.
pub fn write_elf(folder: &TempDir, code: &[u8]) -> PathBuf {
    let names = b"\0.text\0.shstrtab\0.fast\0";
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_le_bytes());
    let (sections, base) = (52 + code.len() + names.len(), BASE as u32);
    for value in [2, 243] {
        half(&mut file, value);
    }
    file.extend(words(&[1, base, 0, sections as u32, 0]));
    for value in [52, 32, 0, 40, 4, 2] {
        half(&mut file, value);
    }
    file.extend(code);
    file.extend(names);
    file.extend(words(&[0; 10]));
    file.extend(words(&[1, 1, 6, base, 52, code.len() as u32, 0, 0, 2, 0]));
    let at = (52 + code.len()) as u32;
    file.extend(words(&[7, 3, 0, 0, at, names.len() as u32, 0, 0, 1, 0]));
    file.extend(words(&[17, 1, 6, base + FAST as u32, 52, code.len() as u32, 0, 0, 2, 0]));
    let path = folder.path().join("a.elf");
    std::fs::write(&path, file).unwrap();
    path
}

/// An instruction as a hexadecimal number.
fn number(code: &[u8]) -> String {
    code.iter().rev().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn pairs(code: &[u8]) -> String {
    let pairs: Vec<String> = code.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(" ")
}

/// Writes the line of an instruction: its address and its bytes.
type LineFn = fn(u64, &[u8]) -> Vec<u8>;

/// A log in each format: its name, a head, and a line of an instruction.
fn writers() -> Vec<(&'static str, Vec<u8>, LineFn)> {
    let renode = |version: u8, opcodes: u8| {
        let mut head = b"ReTrace".to_vec();
        head.extend([version, 4, opcodes]);
        if version > 1 && opcodes == 1 {
            head.extend([0, 17]);
            head.extend(b"riscv32 rv32imafc");
        }
        head
    };
    vec![
        ("spike", Vec::new(), |address, code| {
            let number = number(code);
            format!("core   0: 0x{address:016x} (0x{number:0>8}) nop\n").into_bytes()
        }),
        ("spike", Vec::new(), |address, code| {
            let number = number(code);
            format!("core   0: 3 0x{address:016x} (0x{number}) x5 0x00\n").into_bytes()
        }),
        ("spike", b"core   0: >>>>  main\n".to_vec(), |address, code| {
            let number = number(code);
            let listed = format!("core   0: 0x{address:016x} (0x{number:0>8}) nop\n");
            (listed + &format!("core   0: 3 0x{address:016x} (0x{number}) x5 0x00\n")).into_bytes()
        }),
        ("execlog", b"hello from the program\n".to_vec(), |address, code| {
            // The word at an instruction holds bytes of the next one.
            let mut word = code.to_vec();
            word.resize(4, 0xf8);
            format!("0, {address:#x}, 0x{}, \"nop\", load, 0x20\n", number(&word)).into_bytes()
        }),
        ("renode", Vec::new(), |address, _| format!("{address:#X}\n").replace('X', "x").into()),
        ("renode", Vec::new(), |address, code| {
            let text = format!("0x{address:X}: 0x{}\n", number(code).to_uppercase());
            (text + "MemoryRead with address 0x20, value 0x1\n").into_bytes()
        }),
        ("renode", renode(1, 0), |address, _| (address as u32).to_le_bytes().to_vec()),
        ("renode", renode(1, 1), |address, code| {
            let head = (address as u32).to_le_bytes();
            [&head[..], &[code.len() as u8], code].concat()
        }),
        ("renode", renode(2, 1), |address, code| {
            let head = (address as u32).to_le_bytes();
            [&head[..], &[code.len() as u8], code, &[1], &[2; 9], &[0]].concat()
        }),
        ("renode", renode(5, 1), |address, code| {
            let head = (address as u32).to_le_bytes();
            let atomic = [&[3, 0, 2, 0][..], &[7; 16]].concat();
            [&head[..], &[code.len() as u8], code, &[1], &[2; 25], &atomic, &[2], &[9; 16], &[0]]
                .concat()
        }),
        (
            "drmemtrace",
            b"           1           0:      77 <marker: version 6>\n".to_vec(),
            |a, code| {
                let (bytes, pairs) = (code.len(), pairs(code));
                let text = format!(
                    "   9   8:      77 ifetch {bytes:>8} byte(s) @ {a:#018x} {pairs} nop\n"
                );
                (text + "  10   8:      77 read         8 byte(s) @ 0x00007f08 by PC 0x8\n")
                    .into_bytes()
            },
        ),
        ("gem5", Vec::new(), |address, _| {
            let mut text = format!("  31000: system.cpu A0 T0 : {address:#x} @main+4    : nop\n");
            let _ =
                writeln!(text, "  31000: system.cpu A0 T0 : {address:#x}. 0 : nop_uop : IntAlu");
            text.into_bytes()
        }),
        ("gem5", Vec::new(), |address, _| {
            let mut text =
                format!("  31000: system.cpu T0 : {address:#x}. 0 : nop_uop : IntAlu :\n");
            let _ = writeln!(text, "  31500: system.cpu T0 : {address:#x}. 1 : nop_uop : IntAlu :");
            text.into_bytes()
        }),
        ("perf", Vec::new(), |address, code| {
            let pairs = pairs(code);
            let head = "           app  77 [000]   5.000001:     ";
            format!("{head}{address:>16x} main+0x0 (/tmp/app) insn: {pairs} \n").into_bytes()
        }),
    ]
}

fn placed(elf: PathBuf) -> Placer {
    let mut placer = Placer::new(PlacementOptions::text_of(elf)).unwrap();
    placer.load_as_linked();
    placer
}

/// Imports a log of a program of RISC-V. The format is that which the log shows.
fn import_log(elf: PathBuf, log: &[u8]) -> Result<(TraceInfo, Vec<Run>)> {
    import_log_of("riscv32", elf, log)
}

fn import_log_of(architecture: &str, elf: PathBuf, log: &[u8]) -> Result<(TraceInfo, Vec<Run>)> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.trace");
    let mut input = Input::new("in.txt", Cursor::new(log.to_vec()))?;
    let format = ImportFormat::detect(&mut input)?;
    let info = TraceInfo {
        program: "a.elf".into(),
        architecture: architecture.into(),
        ..TraceInfo::default()
    };
    let mut import = Import::new(Some(placed(elf)), &path, info, false)?;
    let ending = import.read(input, format, 4, &mut |_| true)?;
    import.finish(ending, &|| true)?;
    read_trace(&path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A log gives the runs that were executed, in every format.
    #[test]
    fn logs_are_read_in_every_format(
        short in prop::collection::vec(any::<bool>(), 1..60),
        turns in 1..6usize,
    ) {
        let folder = TempDir::new().unwrap();
        let program = Program::new(&short);
        let elf = program.write(&folder);
        let once = run(0, program.bytes().len() as u32);
        for (index, (name, head, line)) in writers().into_iter().enumerate() {
            let log = [head, program.log(turns, line)].concat();
            let (info, runs) = import_log(elf.clone(), &log).unwrap();
            prop_assert_eq!(&info.recorder, name, "{}", index);
            prop_assert_eq!(info.ending, Ending::AsCaptured);
            prop_assert_eq!(runs, vec![once; turns], "{} {}", index, name);
            let instructions = program.instructions.len() * turns;
            prop_assert_eq!(info.instructions, Some(instructions as u64), "{} {}", index, name);
            prop_assert!(info.left_out.is_empty(), "{} {:?}", index, info.left_out);
        }
    }

    /// A log that is damaged anywhere gives a value or one line.
    #[test]
    fn damaged_logs_give_a_value_or_one_line(
        index in 0..14usize,
        at in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..20),
        cut in any::<bool>(),
    ) {
        let folder = TempDir::new().unwrap();
        let program = Program::new(&[true, false, true, true, false]);
        let elf = program.write(&folder);
        let (_, head, line) = writers().swap_remove(index);
        let mut log = [head, program.log(3, line)].concat();
        let at = at.index(log.len());
        let end = if cut { log.len() } else { (at + noise.len()).min(log.len()) };
        log.splice(at..end, noise);
        if let Err(error) = import_log(elf, &log) {
            message(Err::<(), _>(error));
        }
    }
}

#[test]
fn the_log_of_another_program_is_refused() {
    let folder = TempDir::new().unwrap();
    let ran = Program::new(&[true, false, true, true, false, false, true].repeat(9));
    // The same instructions, in another order.
    let other = Program::new(&[false, false, true, true, true, false, true].repeat(9));
    let elf = other.write(&folder);
    for (index, (name, head, line)) in writers().into_iter().enumerate() {
        // A log of lengths alone cannot tell nops from nops.
        if name == "drmemtrace" {
            continue;
        }
        let log = [head, ran.log(40, line)].concat();
        let text = message(import_log(elf.clone(), &log));
        assert!(text.contains("this ELF is not what ran"), "{index} {name}: {text}");
    }
}

/// Half an address, or half an instruction, can look like a whole one.
#[test]
fn a_line_within_which_the_log_ends_is_left_out_and_noted() {
    let folder = TempDir::new().unwrap();
    let program = Program::new(&[true, false, true, false]);
    let elf = program.write(&folder);
    for (index, (name, head, line)) in writers().into_iter().enumerate() {
        let whole = [head, program.log(3, line)].concat();
        if whole.starts_with(b"ReTrace") {
            continue;
        }
        let lines = whole.iter().filter(|byte| **byte == b'\n').count();
        let mut log = whole.clone();
        let (address, code) = &program.instructions[0];
        let last = line(*address, code);
        let end = last.iter().position(|byte| *byte == b'\n').unwrap();
        log.extend(&last[..end]);
        let expected = import_log(elf.clone(), &whole).unwrap();
        for cut in [log.len(), log.len() - 1] {
            let (info, runs) = import_log(elf.clone(), &log[..cut]).unwrap();
            assert_eq!(runs, expected.1, "{index} {name}");
            assert_eq!(info.instructions, expected.0.instructions, "{index} {name}");
            let note = format!("line {}, within which the log ends", lines + 1);
            assert_eq!(info.left_out, [note], "{index} {name}");
        }
    }
}

/// An instruction that differs counts once, however often it runs.
#[test]
fn differences_are_counted_by_place_for_every_processor() {
    let folder = TempDir::new().unwrap();
    let program = Program::new(&[false; 30]);
    let elf = program.write(&folder);
    let patched = |address: u64, code: &[u8]| {
        let code = if address == BASE + 8 { &[0x73, 0, 0x10, 0] } else { code };
        format!("core   0: 0x{address:016x} (0x{}) nop\n", number(code)).into_bytes()
    };
    let log = program.log(40, patched);
    for architecture in ["riscv32", "mipsel", "s390x", ""] {
        let (info, _) = import_log_of(architecture, elf.clone(), &log).unwrap();
        let [note] = &info.left_out[..] else { panic!("{architecture}: {:?}", info.left_out) };
        assert!(note.contains("why 1 instruction differed"), "{architecture}: {note}");
    }
}

#[test]
fn instructions_outside_without_a_length_are_noted() {
    let folder = TempDir::new().unwrap();
    let program = Program::new(&[true, false]);
    let elf = program.write(&folder);
    let mut log = program.log(2, |address, _| format!("{address:#x}\n").into());
    log.extend(b"0x2000\n0x2004\n");
    let (info, _) = import_log(elf, &log).unwrap();
    assert_eq!((info.outside_instructions, info.outside_bytes), (Some(2), 0));
    let noted = |part: &str| info.left_out.iter().any(|note| note.contains(part));
    assert!(noted("2 instructions outside") && noted("0 bytes"), "{:?}", info.left_out);
}

/// A log of two pieces, whose reader removes the folder of the traces before the second.
struct VanishingFolder {
    pieces: Vec<Cursor<String>>,
    folder: Option<TempDir>,
}

impl Read for VanishingFolder {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.pieces.len() == 1 {
            self.folder.take().map(TempDir::close).transpose()?;
        }
        let Some(piece) = self.pieces.first_mut() else { return Ok(0) };
        let read = piece.read(buffer)?;
        if read > 0 {
            return Ok(read);
        }
        self.pieces.remove(0);
        self.read(buffer)
    }
}

#[test]
fn a_trace_that_cannot_be_created_is_an_error_of_the_system() {
    let line = |cpu: u32| format!("0 clk cpu{cpu} IT (1) 00001000 bf00 T thread_s : NOP\n");
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.trace");
    // The beginning is read to recognise compressed files.
    let pieces = vec![Cursor::new(line(0).repeat(9)), Cursor::new(line(1))];
    let input = Input::new("in.txt", VanishingFolder { pieces, folder: Some(folder) }).unwrap();
    let mut import = Import::new(None, &path, TraceInfo::default(), false).unwrap();
    let error = import.read(input, ImportFormat::Tarmac, 4, &mut |_| true).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
}

#[test]
fn tarmac_of_several_tools_is_read() {
    let range = || Placer::for_range(0x8000, 0x9000).unwrap();
    let read = |text: &str| import_from(Cursor::new(text.to_owned()), None, Some(range()));
    let text = "0 clk IT (0) 00008000 bf00 T svc_s : NOP\n\
                0 clk R r0 0000ab34\n\
                1 clk IS (1) 00008002:000000008002_NS f7ffef76 T hyp_n : BLX {pc}-0x110\n\
                   41000 ns  ES  (00008006:bf00) T svc:            NOP\n\
                   17000 ns  ES  EXC [0x00] Reset\n\
                    LD 00000020  ........ ........ ........ 00000080     0000000020    NM ISH INC\n\
                6000000 cs IT (0000000000008008) 54fffea1 O  ---_- :        b.ne\t0x4d6e8c\n\
                354ns IT 0000800c 490d        LDR      r1,[pc,#52]  ; [0x388]\n\
                   3041 cyc IT (0000800e:00000006) 0000800e     48f6 T16 LDR      r0,[pc,#984]\n\
                307754 tic ES  (0000000000008100:--------) O el0t_ns:\n";
    let (info, runs) = read(text).unwrap();
    assert_eq!((info.recorder.as_str(), info.instructions), ("tarmac", Some(6)));
    assert_eq!(runs, [run(0, 16)]);
    assert_says(read("0 clk IT (0) 00008000 bf00 T x : NOP\n1 clk IT (1) zzz\n"), &["line 2"]);
}

#[test]
fn processors_of_a_log_are_threads() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.trace");
    let text = "0 clk cpu0 IT (1) 00001000 bf00 T thread_s : NOP\n\
                0 clk cpu1 IT (1) 00001000 bf00 T thread_s : NOP\n\
                0 clk cpu1 IT (1) 00001002 bf00 T thread_s : NOP\n";
    let input = Input::new("in.txt", Cursor::new(text)).unwrap();
    let info = TraceInfo { program: "in.txt".into(), ..TraceInfo::default() };
    let mut import = Import::new(None, &path, info, false).unwrap();
    let ending = import.read(input, ImportFormat::Tarmac, 4, &mut |_| true).unwrap();
    let traces = import.finish(ending, &|| true).unwrap();
    let counts: Vec<_> =
        traces.iter().map(|trace| (trace.info.thread.as_str(), trace.info.instructions)).collect();
    assert_eq!(counts, [("cpu-0", Some(1)), ("cpu-1", Some(2))]);
}

#[test]
fn logs_without_addresses_or_lengths_are_refused() {
    let opcodes = [&b"ReTrace\x02\x00\x01\x00\x04rv a"[..], &[2, 1, 0, 0]].concat();
    assert_says(import(opcodes), &["Opcode", "PCAndOpcode"]);
    assert_says(import(b"ReTrace\x09\x04\x00"), &["version 9"]);
    assert_says(import("1: system.cpu T0 : @main    : nop\n"), &["-ExecSymbol", "line 1"]);
    assert_says(import("1: system.cpu T0 : 0x1000    : nop\n"), &["--elf"]);
    assert_says(import("0, 0xa12, 0xf8012400, \"movs r4, #0\"\n"), &["--elf"]);
    let stack = "app 1 401136 0x401136/0x401126/P/-/-/0 0x401100/0x401120/P/-/-/0\n";
    assert_says(import(stack), &["branch", "--insn-trace"]);
    let refused = import("core   0: 0x0000000000001000 (0x00000297) auipc\ncore   0: 0x10 nop\n");
    assert_says(refused, &["line 2", "Spike"]);
}

/// The decoder of Intel PT says where it lost data: what follows is a window of its own.
#[test]
fn errors_of_a_decoder_are_gaps() {
    let folder = TempDir::new().unwrap();
    let program = Program::new(&[false; 6]);
    let elf = program.write(&folder);
    let (_, _, line) = writers().into_iter().find(|(name, ..)| *name == "perf").unwrap();
    let once = program.log(1, line);
    let error = b" instruction trace error type 1 time 5.1 cpu 0 pid 77 tid 77 ip 0 code 8: Lost \
                  trace data\n";
    let log = [&once[..], error, &once, error].concat();
    let (info, runs) = import_log(elf, &log).unwrap();
    let bytes = program.bytes().len() as u32;
    assert_eq!(runs, [run(0, bytes), run(0, bytes)]);
    assert_eq!((info.schema_version, &info.ending), (3, &Ending::AsCaptured));
    let gaps: Vec<(u64, GapReason)> = info.gaps.iter().map(|gap| (gap.run, gap.reason)).collect();
    assert_eq!(gaps, [(1, GapReason::LostPackets)]);
    assert_eq!(info.left_out, ["what followed the last run (lost-packets)"]);
}
