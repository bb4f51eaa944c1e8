//! Copy loops, as compilers make them of `drivers/drivers.c`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flashpager::driver::{CopyLoop, Direction, copy_loop};
use proptest::prelude::*;

const PORT: u64 = 0x4000_0000;
const LEVELS: [&str; 3] = ["-O0", "-Os", "-O2"];

/// A compiler with what makes it one for a machine.
struct Target {
    name: &'static str,
    compiler: &'static str,
    options: &'static [&'static str],
    /// The engine's name of the architecture.
    architecture: &'static str,
    /// The bytes that it moves at once, at most.
    word: u32,
    port: u64,
}

const TARGETS: &[Target] = &[
    Target {
        name: "thumb",
        compiler: "arm-none-eabi-gcc",
        options: &["-mthumb", "-mcpu=cortex-m4"],
        architecture: "thumb",
        word: 4,
        port: PORT,
    },
    Target {
        name: "thumb1",
        compiler: "arm-none-eabi-gcc",
        options: &["-mthumb", "-mcpu=cortex-m0"],
        architecture: "thumb",
        word: 4,
        port: PORT,
    },
    Target {
        name: "arm",
        compiler: "arm-none-eabi-gcc",
        options: &["-marm", "-mcpu=arm926ej-s"],
        architecture: "arm",
        word: 4,
        port: PORT,
    },
    Target {
        name: "x86_64",
        compiler: "gcc",
        options: &[],
        architecture: "x86_64",
        word: 4,
        port: PORT,
    },
    Target {
        name: "i386",
        compiler: "gcc",
        options: &["-m32"],
        architecture: "i386",
        word: 4,
        port: PORT,
    },
    Target {
        name: "riscv32",
        compiler: "riscv64-unknown-elf-gcc",
        options: &["-march=rv32imac", "-mabi=ilp32"],
        architecture: "riscv32",
        word: 4,
        port: PORT,
    },
    Target {
        name: "riscv64",
        compiler: "riscv64-unknown-elf-gcc",
        options: &["-march=rv64imac", "-mabi=lp64", "-mcmodel=medany"],
        architecture: "riscv64",
        word: 4,
        port: PORT,
    },
    Target {
        name: "avr",
        compiler: "avr-gcc",
        options: &["-mmcu=atmega328p", "-DDATA_PORT=0x8000"],
        architecture: "avr",
        word: 1,
        port: 0x8000,
    },
];

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/drivers").join(name)
}

/// Appends a line for a missing tool to the record of all test suites, if there is one.
fn left_out(tool: &str) {
    let Some(file) = std::env::var_os("FLASHPAGER_TEST_RECORD") else { return };
    let thread = std::thread::current();
    let line = format!("Rust\t{tool} not installed\t{}\n", thread.name().unwrap_or("driver"));
    let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
    file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
}

/// The object that `compiler` makes from a source; `None` if the compiler is missing and not
/// required.
fn made(compiler: &str, options: &[&str], from: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("driver.o");
    let mut command = Command::new(compiler);
    command.args(options).arg(source(from)).arg("-o").arg(&object);
    match command.output() {
        Ok(done) => {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            Some(std::fs::read(object).unwrap())
        }
        Err(error) => {
            let required = std::env::var_os("FLASHPAGER_REQUIRE_TOOLS").is_some();
            assert!(!required, "{compiler}: {error}, and FLASHPAGER_REQUIRE_TOOLS is set");
            left_out(compiler);
            None
        }
    }
}

fn compiled(target: &Target, level: &str) -> Option<Vec<u8>> {
    let options: Vec<&str> =
        ["-c", "-g0", level].into_iter().chain(target.options.iter().copied()).collect();
    made(target.compiler, &options, "drivers.c")
}

/// Call `check` with all objects that the compilers at hand make.
fn for_all(check: impl Fn(&Target, &str, &[u8])) {
    for target in TARGETS {
        for level in LEVELS {
            if let Some(object) = compiled(target, level) {
                check(target, level, &object);
            }
        }
    }
}

fn loop_of(object: &[u8], function: &str, about: &str) -> CopyLoop {
    copy_loop(object, "driver.o", function, None)
        .unwrap_or_else(|error| panic!("{about} {function}: {error}"))
}

fn refusal(object: &[u8], function: &str, port: Option<u64>) -> String {
    let error = copy_loop(object, "driver.o", function, port).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    assert!(error.starts_with("driver.o: "), "{error}");
    error
}

/// The object that the compiler of the named target makes, if it is installed.
fn object(target: &str, level: &str) -> Option<Vec<u8>> {
    let target = TARGETS.iter().find(|known| known.name == target).unwrap();
    compiled(target, level)
}

#[test]
fn one_port_access_for_each_byte() {
    for_all(|target, level, object| {
        let about = format!("{} {level}", target.name);
        for (function, direction, bytes, strobes) in [
            ("read_bytes", Direction::Read, 1, 0),
            ("read_through_pointer", Direction::Read, 1, 0),
            ("read_half_words", Direction::Read, 2, 0),
            ("read_words", Direction::Read, 4, 0),
            ("write_bytes", Direction::Write, 1, 0),
            ("read_half_words_by_index", Direction::Read, 2, 0),
            ("read_words_by_index", Direction::Read, 4, 0),
            ("write_words_by_index", Direction::Write, 4, 0),
            ("read_unrolled", Direction::Read, 4, 0),
            ("read_pages", Direction::Read, 1, 0),
            ("read_strobed", Direction::Read, 1, 2),
            ("write_strobed", Direction::Write, 1, 2),
            ("read_when_ready", Direction::Read, 1, 1),
            ("read_structure", Direction::Read, 1, 0),
        ] {
            let driver_loop = loop_of(object, function, &about);
            let about = format!("{about} {function}: {driver_loop:#?}");
            let width = if function == "read_unrolled" { 1 } else { bytes.min(target.word) };
            assert_eq!(driver_loop.architecture, target.architecture, "{about}");
            assert_eq!(driver_loop.direction, direction, "{about}");
            assert_eq!(driver_loop.bytes, bytes, "{about}");
            assert_eq!(driver_loop.port_accesses, bytes / width, "{about}");
            assert_eq!(driver_loop.other_device_accesses, strobes, "{about}");
            assert!(driver_loop.memory_accesses >= driver_loop.port_accesses, "{about}");
            assert!(driver_loop.instructions >= 3, "{about}");
            assert!(driver_loop.shortest_instructions <= driver_loop.instructions, "{about}");
            assert_eq!(driver_loop.listing.len(), driver_loop.instructions as usize, "{about}");
            let inside = driver_loop.first_address..=driver_loop.last_address;
            assert!(
                driver_loop.listing.iter().all(|line| inside.contains(&line.address)),
                "{about}"
            );
            if level != "-O0" && function != "read_structure" {
                assert_eq!(driver_loop.memory_accesses, driver_loop.port_accesses, "{about}");
                assert_eq!(driver_loop.literal_accesses, 0, "{about}");
            }
            if !matches!(function, "read_through_pointer" | "read_structure") {
                assert_eq!(driver_loop.port, Some(target.port), "{about}");
                let named = copy_loop(object, "driver.o", function, Some(target.port)).unwrap();
                assert_eq!(named, driver_loop, "{about}");
            }
            assert!(driver_loop.calls.is_empty(), "{about}");
        }
    });
}

/// If less is kept than the accesses to the port move, an iteration moves only that, in equal shares
/// of the accesses that are powers of two.
#[test]
fn bytes_that_are_not_kept_do_not_count() {
    for_all(|target, level, object| {
        for (function, bytes) in [
            ("read_words_keep_bytes", 1),
            ("read_words_keep_half_words", 2),
            // No access moves three bytes.
            ("read_words_keep_three_bytes", 2),
            // A loop inside counts once, yet stores more than once.
            ("read_words_by_bytes", 4),
            ("write_words_of_bytes", 1),
        ] {
            let about = format!("{} {level}", target.name);
            let driver_loop = loop_of(object, function, &about);
            let about = format!("{about} {function}: {driver_loop:#?}");
            if target.word == 4 {
                assert_eq!(driver_loop.port_accesses, 1, "{about}");
                assert_eq!(driver_loop.bytes, bytes, "{about}");
            } else {
                // Each access moves one byte, and cannot move less.
                assert_eq!(driver_loop.bytes, driver_loop.port_accesses, "{about}");
            }
        }
    });
}

/// Counted by hand in what `objdump -d` shows.
#[test]
fn counts_that_a_person_made() {
    for (target, level, function, instructions, memory, literals) in [
        // mov.w, ldrb, uxtb, ldr, strb, ldr, adds, str and below, where the loop is
        // entered, ldr, ldr, cmp, bcc.
        ("thumb", "-O0", "read_bytes", 12, 6, 0),
        ("thumb", "-O2", "read_bytes", 4, 1, 0),
        // cmp, bxcs, ldrb, strb, b
        ("arm", "-Os", "read_bytes", 5, 1, 0),
        ("arm", "-O0", "read_strobed", 18, 6, 0),
        ("thumb", "-O0", "read_strobed", 18, 6, 2),
        // lbu, addi, sb, bne
        ("riscv32", "-O2", "read_bytes", 4, 1, 0),
        // movzx, add, mov, cmp, jne
        ("x86_64", "-O2", "read_bytes", 5, 1, 0),
        // lds, st Z+, cp, cpc, brne
        ("avr", "-O2", "read_bytes", 5, 1, 0),
    ] {
        let Some(object) = object(target, level) else { continue };
        let driver_loop = loop_of(&object, function, target);
        let counted =
            (driver_loop.instructions, driver_loop.memory_accesses, driver_loop.literal_accesses);
        assert_eq!(counted, (instructions, memory, literals), "{target} {level}: {driver_loop:#?}");
    }
}

#[test]
fn the_loop_of_the_article_takes_seven_instructions() {
    // The article's compiler made the constant anew for each byte, advanced the
    // pointer by itself and left the loop in its middle. GCC does the same when it
    // optimises for debugging (-Og moves no constant out of a loop), does not turn loops
    // round (-fno-reorder-blocks) and uses no addressing that advances a pointer
    // (-fno-auto-inc-dec): mov, ldrb, strb, add, cmp, bxcs, b.
    let options = ["-c", "-Og", "-fno-reorder-blocks", "-fno-auto-inc-dec"];
    let arm = ["-marm", "-mcpu=arm926ej-s"];
    let options: Vec<&str> = options.into_iter().chain(arm).collect();
    let of_c = made("arm-none-eabi-gcc", &options, "drivers.c");
    let of_assembler = made("arm-none-eabi-as", &[], "article.s");
    for object in [of_c, of_assembler].into_iter().flatten() {
        let driver_loop = loop_of(&object, "read_bytes", "article");
        assert_eq!(driver_loop.instructions, 7, "{driver_loop:#?}");
        assert_eq!(driver_loop.shortest_instructions, 7, "{driver_loop:#?}");
        assert_eq!(driver_loop.bytes, 1);
        assert_eq!(driver_loop.port_accesses, 1);
        assert_eq!(driver_loop.memory_accesses, 1);
        assert_eq!(driver_loop.literal_accesses, 0);
        assert_eq!(driver_loop.other_device_accesses, 0);
        assert_eq!(driver_loop.port, Some(PORT));
        let accesses: Vec<_> = driver_loop.listing.iter().map(|line| line.access).collect();
        assert_eq!(accesses[1..3], [Some("port"), Some("memory")], "{driver_loop:#?}");
    }
}

#[test]
fn the_port_spaces_are_devices() {
    if let Some(object) = made("gcc", &["-c"], "ports.s") {
        let driver_loop = loop_of(&object, "read_in", "in");
        assert_eq!(
            (driver_loop.instructions, driver_loop.bytes, driver_loop.port_accesses),
            (5, 1, 1)
        );
        let driver_loop = loop_of(&object, "read_repeated", "rep insb");
        assert_eq!(
            (driver_loop.instructions, driver_loop.bytes, driver_loop.memory_accesses),
            (1, 1, 1)
        );
        let driver_loop = loop_of(&object, "write_out", "out");
        assert_eq!(
            (driver_loop.instructions, driver_loop.direction, driver_loop.port),
            (3, Direction::Write, Some(0x80))
        );
    }
    let options = ["-c", "-O2", "-mmcu=atmega328p", "-DDATA_PORT=0x26"];
    if let Some(object) = made("avr-gcc", &options, "drivers.c") {
        // in, st X+, cp, cpc, brlo
        let driver_loop = loop_of(&object, "read_bytes", "PINC");
        assert_eq!((driver_loop.instructions, driver_loop.port), (5, Some(6)), "{driver_loop:#?}");
    }
}

#[test]
fn a_linked_program_gives_the_same() {
    let options = [
        "-O2",
        "-marm",
        "-mcpu=arm926ej-s",
        "-nostdlib",
        "-Wl,--unresolved-symbols=ignore-all",
        "-Wl,-e,read_bytes",
    ];
    let Some(program) = made("arm-none-eabi-gcc", &options, "drivers.c") else { return };
    let Some(object) = object("arm", "-O2") else { return };
    for function in ["read_bytes", "read_strobed", "write_bytes"] {
        let (linked, found) =
            (loop_of(&program, function, "linked"), loop_of(&object, function, "object"));
        assert_eq!(linked.instructions, found.instructions);
        assert_eq!(linked.other_device_accesses, found.other_device_accesses);
        assert_eq!(linked.port, Some(PORT));
    }
}

#[test]
fn a_loop_that_does_not_copy_is_refused() {
    for_all(|_, _, object| {
        assert!(refusal(object, "wait_ready", None).contains("only polls"));
        assert!(refusal(object, "sum", None).contains("no loop that touches a port"));
        assert!(refusal(object, "copy_memory", None).contains("no loop that touches a port"));
        assert!(refusal(object, "select_chip", None).contains("has no loop;"));
        let error = refusal(object, "read_by_calls", None);
        assert!(error.contains("perhaps read_byte"), "{error}");
        let error = refusal(object, "read_byts", None);
        assert!(error.contains("did you mean read_bytes"), "{error}");
        let error = refusal(object, "read_bytes", Some(0x1234));
        assert!(error.contains("0x1234"), "{error}");
    });
    assert!(refusal(b"text", "f", None).contains("is no ELF file"));
    assert!(refusal(b"\x7fELF", "f", None).contains("damaged"));
    assert!(refusal(&elf(8, true, &[0; 16]), "f", None).contains("not disassembled"));
    assert!(refusal(&elf(183, true, &[]), "f", None).contains("has no code"));
    let error = refusal(&elf(183, true, &[0xff; 8]), "f", None);
    assert!(error.contains("at 0x0 in f are bytes that are no instruction"), "{error}");
    assert!(refusal(&elf(183, true, &[0; 70_000]), "f", None).contains("64 KiB"));
}

#[test]
fn aarch64() {
    let code: Vec<u8> = [
        0xd2a8_0002_u32, // mov x2, #0x40000000
        0xeb01_001f,     // cmp x0, x1
        0x5400_00a2,     // b.hs 0x1c
        0x3940_0043,     // ldrb w3, [x2]
        0x3800_1403,     // strb w3, [x0], #1
        0xeb01_001f,     // cmp x0, x1
        0x54ff_ffa3,     // b.lo 0xc
        0xd65f_03c0,     // ret
    ]
    .iter()
    .flat_map(|word| word.to_le_bytes())
    .collect();
    let driver_loop = loop_of(&elf(183, true, &code), "f", "aarch64");
    assert_eq!(driver_loop.architecture, "aarch64");
    assert_eq!(
        (driver_loop.instructions, driver_loop.bytes, driver_loop.port),
        (4, 1, Some(PORT)),
        "{driver_loop:#?}"
    );
    assert_eq!((driver_loop.port_accesses, driver_loop.memory_accesses), (1, 1));
    assert_eq!((driver_loop.first_address, driver_loop.last_address), (0xc, 0x18));
}

/// An object file for a machine, with `code` as its function `f`.
fn elf(machine: u16, wide: bool, code: &[u8]) -> Vec<u8> {
    fn number(file: &mut Vec<u8>, wide: bool, value: usize) {
        if wide {
            file.extend((value as u64).to_le_bytes());
        } else {
            file.extend((value as u32).to_le_bytes());
        }
    }
    const NAMES: &[u8] = b"\0f\0.text\0.symtab\0.strtab\0";
    let (header, entry) = if wide { (64, 24) } else { (52, 16) };
    let text = header;
    let symbols = (text + code.len()).next_multiple_of(8);
    let names = symbols + 2 * entry;
    let sections = (names + NAMES.len()).next_multiple_of(8);

    let mut file = vec![0x7f, b'E', b'L', b'F', if wide { 2 } else { 1 }, 1, 1];
    file.resize(16, 0);
    file.extend(1_u16.to_le_bytes());
    file.extend(machine.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    number(&mut file, wide, 0);
    number(&mut file, wide, 0);
    number(&mut file, wide, sections);
    file.extend(0_u32.to_le_bytes());
    let section_bytes: u16 = if wide { 64 } else { 40 };
    for half in [header as u16, 0, 0, section_bytes, 4, 3] {
        file.extend(half.to_le_bytes());
    }
    file.extend(code);
    file.resize(symbols + entry, 0);
    file.extend(1_u32.to_le_bytes());
    if wide {
        file.extend([0x12, 0, 1, 0]);
        number(&mut file, wide, 0);
        number(&mut file, wide, code.len());
    } else {
        number(&mut file, wide, 0);
        number(&mut file, wide, code.len());
        file.extend([0x12, 0, 1, 0]);
    }
    file.extend(NAMES);
    file.resize(sections, 0);
    let mut section = |name: u32, kind: u32, flags, at, bytes, link: u32, each| {
        file.extend(name.to_le_bytes());
        file.extend(kind.to_le_bytes());
        for value in [flags, 0, at, bytes] {
            number(&mut file, wide, value);
        }
        file.extend(link.to_le_bytes());
        file.extend(u32::from(kind == 2).to_le_bytes());
        number(&mut file, wide, 1);
        number(&mut file, wide, each);
    };
    section(0, 0, 0, 0, 0, 0, 0);
    section(3, 1, 6, text, code.len(), 0, 0);
    section(9, 2, 0, symbols, 2 * entry, 3, entry);
    section(17, 3, 0, names, NAMES.len(), 0, 0);
    file
}

/// ARM, AArch64, RISC-V, x86, x86-64 and AVR, with whether they are of 64 bits.
const MACHINES: [(u16, bool); 7] =
    [(40, false), (183, true), (243, false), (243, true), (3, false), (62, true), (83, false)];

proptest! {
    #[test]
    fn any_code_gives_a_loop_or_a_line(
        machine in prop::sample::select(MACHINES.as_slice()),
        code in prop::collection::vec(any::<u8>(), 0..600),
        port in prop::option::of(any::<u64>()),
    ) {
        if let Err(error) = copy_loop(&elf(machine.0, machine.1, &code), "x.o", "f", port) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    /// Backward branches are common in it, which makes loops of all shapes.
    #[test]
    fn any_jumps_give_a_loop_or_a_line(
        jumps in prop::collection::vec((any::<bool>(), 0_u8..8, -20_i8..20), 1..60),
    ) {
        // x86: jcc and jmp of two bytes each, between loads and stores of two.
        let mut code = Vec::new();
        for (jumps, kind, distance) in jumps {
            code.extend(match (jumps, kind) {
                (true, 0) => [0xeb, (distance * 2) as u8],
                (true, _) => [0x70 + kind, (distance * 2) as u8],
                (false, 0..4) => [0x8a, kind],
                (false, _) => [0x88, kind],
            });
        }
        if let Err(error) = copy_loop(&elf(62, true, &code), "x.o", "f", None) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}

#[test]
fn a_damaged_file_gives_a_loop_or_a_line() {
    for target in TARGETS {
        let Some(object) = compiled(target, "-O0") else { continue };
        let mut runner = proptest::test_runner::TestRunner::default();
        let place = any::<prop::sample::Index>;
        let changes = prop::collection::vec((place(), any::<u8>()), 0..20);
        runner
            .run(&(changes, place()), |(changes, end)| {
                let mut bytes = object.clone();
                for (at, value) in changes {
                    let at = at.index(bytes.len());
                    bytes[at] = value;
                }
                for bytes in [&bytes[..], &object[..end.index(object.len())]] {
                    for function in ["read_bytes", "read_pages"] {
                        if let Err(error) = copy_loop(bytes, "x.o", function, None) {
                            prop_assert_eq!(error.to_string().lines().count(), 1);
                        }
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}

/// The largest function, with as many ways through it as may be.
#[test]
fn the_work_is_bounded() {
    for code in
        [[0x75_u8, 0xfe].repeat(2000), [0x75, 0x00].repeat(32_000), [0x75, 0x80].repeat(32_000)]
    {
        let _ = copy_loop(&elf(62, true, &code), "x.o", "f", None);
    }
    let stores: Vec<u8> = (0..16_000_u32).flat_map(|i| [0x89, 0x44, 0x24, i as u8]).collect();
    let _ = copy_loop(&elf(62, true, &stores), "x.o", "f", None);
}
