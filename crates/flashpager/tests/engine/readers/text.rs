//! Lackey, din and CSV, plain and compressed.

use super::*;

#[test]
fn lackey_text_becomes_runs() {
    let (info, runs) = import(LACKEY).unwrap();
    assert_eq!(runs, lackey_runs());
    assert_eq!((info.instructions, info.bytes), (Some(4), 10));
    assert_eq!(info.ending, Ending::Complete);
    // Without a line end, and with a carriage return.
    assert_eq!(import("I  1000,4\r\nI  1004,4").unwrap().1, vec![run(0x1000, 8)]);
}

/// A number may lack digits there.
#[test]
fn a_last_line_without_an_end_is_in_doubt() {
    for text in ["I  1000,4", "2 1000", "offset,length\n4096,4"] {
        let whole = import(format!("{text}\n")).unwrap();
        let cut = import(text).unwrap();
        assert_eq!((whole.0.in_doubt, cut.0.in_doubt), (None, Some(1)), "{text}");
        assert_eq!(whole.1, cut.1, "{text}");
    }
}

#[test]
fn lackey_comes_back_to_a_repeated_instruction_once_too_often() {
    let turn = "I  1000,2\n L 10,1\n S 20,1\n";
    let runs = |text: &str| import(format!("I  ffe,2\n{text}")).unwrap().1;
    let (first, again) = (run(0xffe, 4), run(0x1000, 2));
    assert_eq!(runs(&format!("{turn}{turn}I  1000,2\nI  1002,4")), [first, run(0x1000, 6)]);
    // An instruction that repeats nothing is executed, and so is one that jumps to itself.
    assert_eq!(runs("I  1000,2\nI  1002,4"), [run(0xffe, 8)]);
    assert_eq!(runs("I  1000,2\nI  1000,2\nI  1002,4"), [first, run(0x1000, 6)]);
    // A fault is no end.
    assert_eq!(runs(&format!("{turn}I  1000,2\nI  3000,4")), [first, again, run(0x3000, 4)]);
}

#[test]
fn a_bad_lackey_line_is_named() {
    for bad in ["I  1000", "I  ,4", "I  xyz,4", "I  1000,0", "I  1000,65", "I  1000,-1", "hello"] {
        let outcome = import(format!("I  1000,4\n L 10,4\n{bad}\nI  1004,4\n"));
        assert_says(outcome, &["in.txt, line 3", bad]);
    }
    assert_says(import("I  1000,4\nI  fffffffd,4\n"), &["line 2", "4 GiB", "--elf"]);
    assert_says(import("I  1000,4\nI  ffffffffffffffff,4\n"), &["line 2", "4 GiB"]);
    assert_says(import("I  10000000000000000,4\n"), &["line 1"]);
    // Control characters of the file never reach the terminal.
    assert_says(import("I  1\u{1b}[2J,\u{7}\n"), &["line 1"]);
    assert_says(import(b"I  \xff\xfe,4\n"), &["line 1"]);
}

#[test]
fn lackey_addresses_outside_the_placed_range_are_counted() {
    let placer = Placer::for_range(0x2000, 0x2002).unwrap();
    let (info, runs) = import_from(Cursor::new(LACKEY), None, Some(placer)).unwrap();
    assert_eq!(runs, vec![run(0, 2)]);
    assert_eq!((info.outside_instructions, info.outside_bytes), (Some(3), 7));
    let placer = Placer::for_range(0x9000, 0x9002).unwrap();
    let outcome = import_from(Cursor::new(LACKEY), None, Some(placer));
    assert_says(outcome, &["no instruction lies in the placed code"]);
}

#[test]
fn din_fetches_become_runs() {
    let (_, runs) = import("2 1000\n2 0x1004\n0 77\n1 78 4\n2 2000 4\n3 0\n4 0\n\n").unwrap();
    assert_eq!(runs, vec![run(0x1000, 8), run(0x2000, 4)]);
    for bad in ["5 1000", "2", "2 xyz", "22 1000", "2 11112222333344445"] {
        assert_says(import(format!("2 1000\n{bad}\n")), &["in.txt, line 2", bad]);
    }
    assert_says(import("2 fffffffd\n"), &["line 1", "4 GiB"]);
}

/// A run may end with the last byte of 4 GiB, in every format.
#[test]
fn the_last_byte_of_4_gib_can_be_imported() {
    for text in ["I  fffffffc,4\n", "2 fffffffc\n", "offset,length\n4294967292,4\n"] {
        let (info, runs) = import(text).unwrap();
        assert_eq!((info.image_bytes, &*runs), (1 << 32, &[run(0xffff_fffc, 4)][..]), "{text}");
    }
    let placer = Placer::for_range(0, 1 << 32).unwrap();
    let placed = import_from(Cursor::new("I  0,4\nI  fffffffc,4\n"), None, Some(placer));
    assert_eq!(placed.unwrap().1, vec![run(0, 4), run(0xffff_fffc, 4)]);
}

#[test]
fn csv_runs_are_taken_as_they_stand() {
    let (info, runs) = import("Offset, Length\n0,4\n0x10 , 8\r\n\n4,4\n4294967290,5\n").unwrap();
    assert_eq!(runs, vec![run(0, 4), run(16, 8), run(4, 4), run(4_294_967_290, 5)]);
    assert_eq!(info.instructions, None);
}

#[test]
fn csv_has_gaps() {
    let rows = "offset,length,gap,instructions\n0,4,,1\n4,4,cut,2\n8,4, lost-packets ,1\n";
    let (info, runs) = import(rows).unwrap();
    assert_eq!(runs, [run(0, 4), run(4, 4), run(8, 4)]);
    let gaps: Vec<(u64, GapReason)> = info.gaps.iter().map(|gap| (gap.run, gap.reason)).collect();
    assert_eq!(gaps, [(1, GapReason::Cut), (2, GapReason::LostPackets)]);
    assert_eq!((info.schema_version, info.ending), (3, Ending::AsCaptured));
    assert_says(import("offset,length,gap\n0,4,hole\n"), &["line 2", "unknown reason", "cut"]);
    let continued = "offset,length,kind,gap\n0,4,executed,\n4,4,continued,cut\n";
    assert_says(import(continued), &["line 3", "continues nothing"]);
    assert_says(import("offset,length,gap,gap\n0,4,,\n"), &["'gap' may follow"]);
}

#[test]
fn a_bad_csv_line_is_named() {
    let bad = |line: &str| import(format!("offset,length\n0,4\n{line}\n"));
    assert_says(bad("0,0"), &["in.txt, line 3", "length 0"]);
    assert_says(bad("0,2147483648"), &["line 3", "2147483648 bytes", "16777216"]);
    assert_says(bad("0,16777217"), &["line 3", "16777217 bytes"]);
    assert_says(bad("4294967296,4"), &["line 3", "4 GiB"]);
    assert_says(bad("4294967292,5"), &["line 3", "4 GiB"]);
    assert_says(bad("18446744073709551615,1"), &["line 3", "4 GiB"]);
    for line in ["1", "1,", ",1", "1,2,3", "-1,4", "1.5,4", "a,b", "18446744073709551616,1"] {
        assert_says(bad(line), &["line 3", "not two numbers", line]);
    }
    assert_says(import("offset;length\n1;2\n"), &["line 1", "'offset,length'"]);
    let placer = Placer::for_range(0, 100).unwrap();
    let (_, runs) =
        import_from(Cursor::new("offset,length\n1,4\n96,5\n"), None, Some(placer)).unwrap();
    assert_eq!(runs, vec![run(1, 4), run(96, 4)]);
    let placer = Placer::for_range(0, 100).unwrap();
    let outcome = import_from(Cursor::new("offset,length\n100,4\n"), None, Some(placer));
    assert_says(outcome, &["in.txt, line 2", "no row lies in the placed code"]);
}

/// The region begins in code that is not placed, by its linked address.
#[test]
fn csv_addresses_outside_lack_the_bias() {
    let folder = TempDir::new().unwrap();
    let elf = logs::write_elf(&folder, &[0x01, 0x00].repeat(8));
    let mut placer = Placer::new(PlacementOptions::text_of(elf)).unwrap();
    placer.load_program_at(0x10_0000);
    let path = folder.path().join("out.trace");
    let mut import = Import::new(Some(placer), &path, TraceInfo::default(), false).unwrap();
    let fast = logs::BASE + logs::FAST;
    let from = Some(format!("{fast:#x}"));
    import.select(Region { from, ..Region::default() }).unwrap();
    let (text, fast) = (logs::BASE + 0x10_0000, fast + 0x10_0000);
    let rows = format!("offset,length,instructions\n{fast},8,4\n{text},4,2\n");
    let input = Input::new("in.csv", Cursor::new(rows)).unwrap();
    let ending = import.read(input, ImportFormat::Csv, 4, &mut |_| true).unwrap();
    let traces = import.finish(ending, &|| true).unwrap();
    let info = &traces[0].info;
    assert_eq!((info.outside_bytes, info.beside_instructions), (8, 0));
}

#[test]
fn a_continued_run_continues_the_executed_run_before_it() {
    let rows = |rows: &str| import(format!("offset,length,kind\n{rows}"));
    let good = "0,8,executed\n40,4,read\n44,4,read\n8,4,continued\n0,8,executed\n8,8,continued\n";
    assert_eq!(rows(good).unwrap().0.continued, 2);
    for (bad, line) in [
        ("0,8,executed\n100,4,continued\n", "line 3"),
        ("0,8,continued\n", "line 2"),
        ("0,8,read\n8,4,continued\n", "line 3"),
        ("0,8,executed\n8,4,read\n12,4,continued\n", "line 4"),
    ] {
        assert_says(rows(bad), &["in.txt", line, "continues nothing", "'executed'"]);
    }
}

/// Lackey's messages about `.byte 0xf2; nop`, which processors execute.
const UNKNOWN: &str = "\
vex amd64->IR: unhandled instruction bytes: 0xF2 0x90 0xB8 0x0
vex amd64->IR:   PFX.66=0 PFX.F2=1 PFX.F3=0

Lackey: lk_main.c:529 (addEvent_Ir): Assertion 'isize' failed.

host stacktrace:
==1==    at 0x580057FA: ??? (in /usr/libexec/valgrind/lackey-amd64-linux)

sched status:
  running_tid=1

Thread 1: status = VgTs_Runnable (lwpid 1)
==1==    at 0x10914A: main (in /home/u)
client stack range: [0x1FFEFFE000 0x1FFF000FFF] client SP: 0x1FFF000648
";

#[test]
fn lackey_text_ends_at_an_instruction_that_valgrind_does_not_know() {
    let (info, runs) = import(format!("{LACKEY}{UNKNOWN}")).unwrap();
    assert_eq!(runs, lackey_runs());
    let Ending::Failed(how) = &info.ending else { panic!("{:?}", info.ending) };
    for part in ["Valgrind does not know", "0xF2 0x90 0xB8 0x0", "0x10914A: main"] {
        assert!(how.contains(part), "{how}");
    }
    assert!(info.left_out[0].contains("--recorder step"), "{:?}", info.left_out);
    // A program that handles the signal goes on.
    let (info, runs) =
        import(format!("{LACKEY}{UNKNOWN}I  00003000,4\n==1== Exit code:       0\n")).unwrap();
    assert_eq!(runs, [lackey_runs(), vec![run(0x3000, 4)]].concat());
    assert_eq!(info.ending, Ending::Complete);
    assert!(info.left_out[0].contains("SIGILL"), "{:?}", info.left_out);
}

#[test]
fn a_line_without_end_is_no_text() {
    for head in ["I  ", "offset,length\n", "2 1000\n"] {
        let outcome = import(head.to_owned() + &"0".repeat(1 << 20));
        assert_says(outcome, &["longer than 4096 bytes"]);
    }
}

#[test]
fn foreign_files_are_refused() {
    assert_says(import(""), &["in.txt", "is empty"]);
    assert_says(import("PAR1"), &["is Parquet", "needs no import"]);
    for foreign in [&b"\x89PNG\r\n\x1a\n"[..], b"\x7fELF\x02\x01\x01", b"hello\n", &[0; 500]] {
        assert_says(import(foreign), &["no known format", "--format"]);
    }
    let folder = TempDir::new().unwrap();
    assert_says(Input::open(folder.path()), &["is a folder"]);
    assert_says(Input::open(&folder.path().join("none.txt")), &["none.txt", "No such file"]);
}

fn xz(data: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn packed(data: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let zstd = zstd::encode_all(data, 3).unwrap();
    [("Gzip", gzip(data)), ("Zstandard", zstd), ("Xz", xz(data))]
}

#[test]
fn compressed_text_is_unpacked() {
    for (_, data) in packed(LACKEY.as_bytes()) {
        assert_eq!(import(&data).unwrap().1, lackey_runs());
        // Several members, and one byte at a time.
        let (front, back) = LACKEY.split_at(60);
        let twice = [front, back].map(|text| packed(text.as_bytes()));
        for (first, second) in twice[0].iter().zip(&twice[1]) {
            let both = [&first.1[..], &second.1[..]].concat();
            assert_eq!(import(&both).unwrap().1, lackey_runs(), "{}", first.0);
        }
        let drops = Drops(Cursor::new(data));
        assert_eq!(import_from(drops, None, None).unwrap().1, lackey_runs());
    }
    let drops = Drops(Cursor::new(LACKEY.into()));
    assert_eq!(import_from(drops, None, None).unwrap().1, lackey_runs());
}

#[test]
fn compressed_text_cut_off_anywhere_is_an_error() {
    for (name, data) in packed(LACKEY.as_bytes()) {
        for end in 0..data.len() {
            let text = message(import(&data[..end]));
            assert!(end < 12 || text.contains(name), "{end}: {text}");
        }
        for at in (0..data.len() * 8).step_by(5) {
            let mut damaged = data.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            if let Err(error) = import(&damaged) {
                message(Err::<(), _>(error));
            }
        }
    }
}

#[test]
fn an_xz_file_that_asks_for_gigabytes_is_refused() {
    let mut data = xz(LACKEY.as_bytes());
    // The block header follows the stream header of 12 bytes: its size in words
    // less one, flags, filter 0x21 (LZMA2), one byte of properties, CRC-32.
    let header = 12..12 + (usize::from(data[12]) + 1) * 4;
    let at = 12 + data[header.clone()].windows(2).position(|pair| pair == [0x21, 1]).unwrap() + 2;
    data[at] = 40;
    let mut crc = flate2::Crc::new();
    crc.update(&data[header.start..header.end - 4]);
    data[header.end - 4..header.end].copy_from_slice(&crc.sum().to_le_bytes());
    assert_says(import(&data), &["in.txt", "Xz", "memory"]);
}
