//! Logs of QEMU, written by hand. `tests/process/test_import_qemu_log.py` compares real ones with
//! recordings.

use super::*;

/// Two blocks: three instructions at 0x8000, and two at 0x8006 that lead back to the first.
const LISTED: &str = "----------------\nIN: main\n0x00008000:  2001       movs     r0, #1\n\
    0x00008002:  f000 f800  bl       #0x8006\n\nTrace 0: 0x7f00 [0/00008000/0/0] main\n\
    ----------------\nIN: f\n0x00008006:  bf00       nop      \n0x00008008:  4770       bx       lr\n\n";

fn trace(pointer: u32, address: u32) -> String {
    format!("Trace 0: {pointer:#x} [00000000/{address:08x}/00000000/00000200] f\n")
}

fn log(rest: &str) -> Result<(TraceInfo, Vec<Run>)> {
    import(format!("{LISTED}{rest}"))
}

#[test]
fn executed_blocks_become_runs() {
    let rest = [trace(0x7f40, 0x8006), trace(0x7f00, 0x8000), trace(0x7f40, 0x8006)].concat();
    let (info, runs) = log(&rest).unwrap();
    assert_eq!(runs, [run(0x8000, 10), run(0x8000, 10)]);
    assert_eq!((info.instructions, info.in_doubt), (Some(8), Some(1)));
    assert_eq!((info.ending, info.recorder.as_str()), (Ending::AsCaptured, "qemu-log"));
    // Messages before the log do not hide it, and it may end within a line.
    let text = format!("{}{LISTED}{rest}Trace 0: 0x7f", "a message of the program\n".repeat(100));
    assert_eq!(import(text).unwrap().1, runs);
}

#[test]
fn a_stopped_block_is_not_executed() {
    let stopped = "Stopped execution of TB chain before 0x7f40 [00008006] f\n";
    let rest = [&trace(0x7f40, 0x8006), stopped, &trace(0x7f40, 0x8006)].concat();
    assert_eq!(log(&rest).unwrap().0.instructions, Some(4));
    // The last block is in doubt, unless it is the one that was stopped.
    assert_eq!(log(&[&trace(0x7f40, 0x8006), stopped].concat()).unwrap().0.in_doubt, None);
}

#[test]
fn a_rewound_block_is_executed_up_to_the_access() {
    let rewound = "cpu_io_recompile: rewound execution of TB to 00008006\n";
    let again = "IN: f\n0x00008008:  4770       bx       lr\n\n";
    let rest = [&trace(0x7f40, 0x8006), rewound, again, &trace(0x7f80, 0x8008)].concat();
    let (info, runs) = log(&rest).unwrap();
    assert_eq!((info.instructions, runs), (Some(4), vec![run(0x8000, 10)]));
}

#[test]
fn a_translation_is_what_was_listed_last() {
    // After a flush the same address holds another block.
    let again = "IN: f\n0x00009000:  bf00       nop      \n\n";
    let rest = [&trace(0x7f40, 0x8006), again, &trace(0x7f40, 0x9000)].concat();
    assert_eq!(log(&rest).unwrap().1, [run(0x8000, 10), run(0x9000, 2)]);
    // One program counter has two blocks, for two states of the processor.
    let shorter = "IN: f\n0x00008006:  bf00       nop      \n\n";
    let rest = [&trace(0x7f40, 0x8006), shorter, &trace(0x7fc0, 0x8006), &trace(0x7f40, 0x8006)];
    assert_eq!(log(&rest.concat()).unwrap().0.instructions, Some(2 + 2 + 1 + 2));
    // One block is executed at two addresses.
    let rest = [trace(0x7f40, 0x8006), trace(0x7f40, 0x18006)].concat();
    assert_eq!(log(&rest).unwrap().1, [run(0x8000, 10), run(0x18006, 4)]);
}

#[test]
fn host_code_and_other_items_are_skipped() {
    let other = "OUT: [size=64]\n0x00009000:  48 89 e2  movq %rsp, %rdx\n\nR00=00000000\n\
                 Taking exception 2 [SVC] on CPU 0\n0x00009000:  bf00  nop\n";
    let rest = [&trace(0x7f40, 0x8006), other, &trace(0x7f00, 0x8000)].concat();
    assert_eq!(log(&rest).unwrap().1, [run(0x8000, 10), run(0x8000, 6)]);
}

#[test]
fn long_and_unknown_instructions_of_x86_count_once() {
    let text = "IN: \n0x00001000:  48 b9 be bf ff ff ff ff  movabsq  $0xffffbfbe, %rcx\n\
                0x00001008:  ff 0f\n0x0000100a:  62                       .byte    0x62\n\
                0x0000100b:  f1                       .byte    0xf1\n\
                0x0000100c:  c3                       retq     \n\n\
                Trace 0: 0x7f00 [0/0000000000001000/0/0] \n";
    let (info, runs) = import(text).unwrap();
    assert_eq!((info.instructions, runs), (Some(3), vec![run(0x1000, 13)]));
}

#[test]
fn unusable_logs_are_refused() {
    let linked = "Linking TBs 0x7f00 [00008000] index 0 -> 0x7f40 [00008006]\n";
    assert_says(log(linked), &["line 12", "nochain"]);
    assert_says(import(trace(0x7f00, 0x8000)), &["line 1", "in_asm"]);
    assert_says(log(&trace(0x7fc0, 0x8010)), &["line 12", "never listed"]);
    assert_says(import("IN: f\n0x00008006:  bf00       nop      \n\n"), &["exec"]);
    assert_says(log("Trace 0: 0x7f40 [0\n"), &["line 12", "Trace"]);
    let gap = "IN: f\n0x00008006:  bf00       nop      \n0x0000800a:  4770       bx       lr\n\n";
    assert_says(log(gap), &["line 15", "0x800a"]);
    // Without bytes and without the program's processor the last length is unknown.
    let bare = "IN: f\n0x00008000:  nop\n0x00008004:  jr\tra\n\n";
    assert_says(log(bare), &["line 15", "--elf"]);
    let objects = "IN: f\n0x00008000:  \nOBJD-T: 00000d00\n\n";
    assert_says(log(objects), &["disassembler"]);
}

#[test]
fn processors_are_threads() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("out.trace");
    let text = format!(
        "{LISTED}{}Trace 1: 0x7f40 [0/00008006/0/0] f\nTrace 0: 0x7f40 [0/00008006/0/0] f\n\
         Trace 1: 0x7f40 [0/00008006/0/0] f\n",
        trace(0x7f40, 0x8006)
    );
    let input = Input::new("in.txt", Cursor::new(text)).unwrap();
    let info = TraceInfo { program: "in.txt".into(), ..TraceInfo::default() };
    let mut import = Import::new(None, &path, info, false).unwrap();
    let ending = import.read(input, ImportFormat::QemuLog, 4, &mut |_| true).unwrap();
    let traces = import.finish(ending, &|| true).unwrap();
    let counts: Vec<_> =
        traces.iter().map(|trace| (trace.info.thread.as_str(), trace.info.instructions)).collect();
    assert_eq!(counts, [("cpu-0", Some(6)), ("cpu-1", Some(4))]);
    assert!(traces.iter().all(|trace| trace.info.in_doubt == Some(1)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Pieces of a log of QEMU in any order.
    #[test]
    fn any_log_of_qemu_gives_a_value_or_one_line(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "IN: f\n", "0x1000:  bf00  nop\n", "0x1002:  48 b9 be  mov\n", "0x1002:  ff\n",
            "0xffffffffffffffff:  4770  bx lr\n", "0x1004:  nop\n", "0x1000:  \n",
            "OBJD-T: 0d00\n", "\n", "Trace 0: 0x7f00 [0/1000/0/0] f\n",
            "Trace 1: 0x7f00 [0/1002/1/0] f\n", "Trace 0: 0x7f40 [0/ffffffffffffffff/0/0] \n",
            "Stopped execution of TB chain before 0x7f00 [1000] f\n",
            "cpu_io_recompile: rewound execution of TB to 1002\n", "Trace 7", "IN:", "\u{fffd}",
        ]), 0..40),
    ) {
        let data = format!("IN: f\n{}", pieces.concat());
        if let Err(error) = import(data) {
            message(Err::<(), _>(error));
        }
    }
}
