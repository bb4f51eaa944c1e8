//! Pages of memory: their file, and the capture of real ones.

use std::path::Path;

use flashpager::Result;
use flashpager::swap::pages::{self, CapturedProcess, PageOrigin, Pages, PagesInfo, PagesWriter};
use tempfile::TempDir;

type Row = (u32, String, u64, Vec<u8>);

fn info() -> PagesInfo {
    PagesInfo {
        schema_version: 0,
        page_bytes: 0,
        pages: 0,
        limit: None,
        with_zero_pages: true,
        stopped: false,
        processes: vec![
            CapturedProcess { program: "made".to_owned(), ..CapturedProcess::default() };
            2
        ],
    }
}

fn write(path: &Path, page_bytes: u32, rows: &[Row]) -> Result<PagesInfo> {
    let mut writer = PagesWriter::create(path, page_bytes)?;
    for (process, mapping, address, bytes) in rows {
        writer.push(PageOrigin { process: *process, mapping, address: *address }, bytes)?;
    }
    writer.finish(info())
}

fn read(path: &Path) -> Result<Vec<Row>> {
    let pages = Pages::load(path)?;
    let rows = pages.iter().map(|(place, bytes)| {
        (place.process, place.mapping.to_owned(), place.address, bytes.to_vec())
    });
    Ok(rows.collect())
}

fn rows(count: u32, page_bytes: u32) -> Vec<Row> {
    let mappings = ["[heap]", "", "/lib/ä b.so"];
    (0..count)
        .map(|n| {
            let bytes = (0..page_bytes).map(|at| (at * n / 7 + at / 64) as u8).collect();
            let address = u64::MAX - u64::from(n * page_bytes);
            (n % 2, mappings[(n / 3 % 3) as usize].to_owned(), address, bytes)
        })
        .collect()
}

#[test]
fn pages_come_back_as_they_were_written() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.pages");
    // The second file has several row groups.
    for (count, page_bytes) in [(5, 64), (2500, 4096), (3, 65536)] {
        let rows = rows(count, page_bytes);
        let written = write(&path, page_bytes, &rows).unwrap();
        assert_eq!((written.pages, written.page_bytes), (count.into(), page_bytes));
        assert!(read(&path).unwrap() == rows);
        assert_eq!(pages::info(&path).unwrap(), written);
    }
}

#[test]
fn damage_is_an_error_never_other_bytes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("good.pages");
    let rows = rows(4, 64);
    write(&path, 64, &rows).unwrap();
    let good = std::fs::read(&path).unwrap();
    let broken = folder.path().join("broken.pages");
    let mut refused = 0;
    let mut check = |bytes: &[u8]| {
        std::fs::write(&broken, bytes).unwrap();
        match read(&broken) {
            Ok(read_rows) => assert_eq!(read_rows, rows),
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    };
    for end in 0..good.len() {
        check(&good[..end]);
    }
    for at in 0..good.len() {
        for flip in [1, 0xff] {
            let mut bytes = good.clone();
            bytes[at] ^= flip;
            check(&bytes);
        }
    }
    assert!(refused > good.len() * 2, "{refused} of {}", good.len() * 3);
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces");
    let folder = TempDir::new().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "no pages at all").unwrap();
    let empty = folder.path().join("empty.pages");
    write(&empty, 4096, &[]).unwrap();
    for (path, what) in [
        (traces.join("troff.trace"), "is Parquet without the columns of a file of pages"),
        (text, "is no flashpager file of pages; 'flashpager swap capture' makes one"),
        (traces, "is a folder, not a file of pages"),
        (empty, "holds no page"),
    ] {
        let error = Pages::load(&path).unwrap_err().to_string();
        assert_eq!(error, format!("{}: {what}", path.display()));
    }
}

#[test]
fn pages_of_other_sizes_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some.pages");
    for bytes in [0, 63, 66, 131_072] {
        let error = PagesWriter::create(&path, bytes).map(drop).unwrap_err().to_string();
        assert!(error.contains("are no page of memory"), "{error}");
    }
    let mut writer = PagesWriter::create(&path, 64).unwrap();
    let place = PageOrigin { process: 0, mapping: "", address: 0 };
    assert!(writer.push(place, &[0; 65]).is_err());
    drop(writer);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
mod capture {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use flashpager::swap::capture::{CaptureOptions, capture};

    use super::*;

    const PAGE: usize = 4096;
    const FILLED: usize = 100;
    const ZEROS: usize = 20;

    fn content(number: usize) -> Vec<u8> {
        (0..PAGE).map(|at| (at / 5 * (number + 1)) as u8 ^ 0x5a).collect()
    }

    /// Not a test, but the program whose pages are captured.
    #[test]
    #[ignore = "is run by the tests of captures"]
    fn program() {
        let mut memory = vec![0xff; (FILLED + ZEROS + 1) * PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        for number in 0..FILLED {
            memory[start + number * PAGE..][..PAGE].copy_from_slice(&content(number));
        }
        memory[start + FILLED * PAGE..][..ZEROS * PAGE].fill(0);
        // Its threads are stopped, too.
        std::thread::spawn(std::thread::park);
        println!("at {}", memory[start..].as_ptr() as usize);
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        std::hint::black_box(&memory);
        println!("read {line}");
    }

    struct Program {
        child: Child,
        address: u64,
    }

    impl Program {
        fn start() -> Self {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "swap_pages::capture::program", "--ignored", "--nocapture"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
            let address = lines
                .map_while(|line| line.ok())
                .find_map(|line| line.split_once("at ")?.1.parse().ok())
                .unwrap();
            // It is captured once all of its threads wait.
            let mut calm = 0;
            while calm < 3 {
                std::thread::sleep(Duration::from_millis(2));
                calm = if is_calm(child.id()) { calm + 1 } else { 0 };
            }
            Self { child, address }
        }

        fn pid(&self) -> i32 {
            self.child.id() as i32
        }

        /// Lets the program end; returns true if it succeeds.
        fn ends(mut self) -> bool {
            self.child.stdin.take().unwrap().write_all(b"done\n").unwrap();
            self.child.wait().unwrap().success()
        }
    }

    /// Returns true if its three threads (libtest's, the test's and the parked one) sleep.
    fn is_calm(pid: u32) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let states = tasks.map(|task| {
            let path = task.unwrap().path().join("status");
            std::fs::read_to_string(path).unwrap().contains("S (sleeping)")
        });
        states.filter(|sleeps| *sleeps).count() == 3
    }

    #[test]
    fn all_anonymous_pages_of_a_program() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("all.pages");
        let program = Program::start();
        let info = capture(program.pid(), &CaptureOptions::default(), &path).unwrap();
        let rollup = format!("/proc/{}/smaps_rollup", program.pid());
        let smaps = std::fs::read_to_string(rollup).unwrap();
        let (address, executable) = (program.address, std::env::current_exe().unwrap());
        assert!(program.ends());

        let anonymous: u64 = smaps
            .lines()
            .find_map(|line| {
                line.strip_prefix("Anonymous:")?.trim().strip_suffix(" kB")?.parse().ok()
            })
            .unwrap();
        let [process] = &info.processes[..] else { panic!("{info:?}") };
        assert_eq!(process.anonymous_pages * PAGE as u64, anonymous * 1024);
        assert_eq!((process.pages, info.pages), (process.anonymous_pages, process.pages));
        assert!(process.zero_pages >= ZEROS as u64 && info.stopped, "{info:?}");

        let rows = read(&path).unwrap();
        for number in 0..FILLED + ZEROS {
            let wanted = if number < FILLED { content(number) } else { vec![0; PAGE] };
            let at = address + (number * PAGE) as u64;
            let row = rows.iter().find(|row| row.2 == at).unwrap();
            assert!(row.3 == wanted && row.0 == 0, "page {number}");
        }
        let executable = executable.canonicalize().unwrap();
        for mapping in ["[heap]", "[stack]", executable.to_str().unwrap()] {
            assert!(rows.iter().any(|row| row.1 == mapping), "no page of {mapping}");
        }
    }

    #[test]
    fn samples_are_spread_and_the_same_each_time() {
        let folder = TempDir::new().unwrap();
        let names = ["before", "first", "again", "after"];
        let paths = names.map(|name| folder.path().join(name));
        let program = Program::start();
        let sample =
            CaptureOptions { limit: Some(40), zero_pages: false, ..CaptureOptions::default() };
        let whole = CaptureOptions { limit: None, ..sample };
        let deadline = Instant::now() + Duration::from_secs(30);
        // On a busy machine a thread of the test harness may still write to its stack.
        let (info, [all, first, again]) = loop {
            capture(program.pid(), &whole, &paths[0]).unwrap();
            let info = capture(program.pid(), &sample, &paths[1]).unwrap();
            capture(program.pid(), &CaptureOptions { stop: false, ..sample }, &paths[2]).unwrap();
            capture(program.pid(), &whole, &paths[3]).unwrap();
            let [before, first, again, after] = paths.each_ref().map(|path| read(path).unwrap());
            if before == after {
                break (info, [after, first, again]);
            }
            assert!(Instant::now() < deadline, "the program never rests");
        };
        assert!(program.ends());
        assert_eq!((first.len(), info.pages), (40, 40));
        assert!(first == again);
        assert!(info.processes[0].zero_pages >= ZEROS as u64);
        assert!(all.iter().all(|row| row.3.iter().any(|byte| *byte != 0)));
        let places: Vec<usize> =
            first.iter().map(|row| all.iter().position(|other| other == row).unwrap()).collect();
        let steps: Vec<usize> = places.windows(2).map(|two| two[1] - two[0]).collect();
        let (least, most) = (steps.iter().min().unwrap(), steps.iter().max().unwrap());
        assert!(most - least <= 1 && places[0] == 0, "{places:?}");
    }

    #[test]
    fn children_are_captured_with_their_parent() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("family");
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & sleep 60 & echo started; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let options =
            CaptureOptions { limit: Some(30), children: true, ..CaptureOptions::default() };
        // The children begin as copies of the shell, and then as programs that have hardly begun.
        // If a child becomes another program during its capture, its old memory is gone, and the capture
        // fails as if the child had ended.
        let deadline = Instant::now() + Duration::from_secs(30);
        let has_begun = |info: &PagesInfo| {
            let children = &info.processes[1..];
            children.iter().all(|child| child.program == "sleep" && child.pages > 5)
        };
        let info = loop {
            match capture(shell.id() as i32, &options, &path) {
                Ok(info) if has_begun(&info) => break info,
                Ok(info) => assert!(Instant::now() < deadline, "{info:?}"),
                Err(error) => assert!(error.to_string().ends_with("while it was captured")),
            }
        };
        let alone = CaptureOptions { children: false, ..options };
        assert_eq!(capture(shell.id() as i32, &alone, &path).unwrap().processes.len(), 1);
        // One by one, because the group contains this process.
        let children = format!("/proc/{0}/task/{0}/children", shell.id());
        let children = std::fs::read_to_string(children).unwrap();
        // The shell's own `kill`: a minimal system has no program of that name.
        let kill = format!("kill {children}");
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        assert!(shell.wait().is_ok());
        let names: Vec<&str> = info.processes.iter().map(|it| it.program.as_str()).collect();
        assert_eq!(names, ["sh", "sleep", "sleep"]);
        assert_eq!(info.pages, 30);
        assert!(info.processes.iter().all(|process| process.pages > 5), "{info:?}");
    }

    #[test]
    fn pages_that_cannot_be_captured_are_reported() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("none");
        let capture = |pid, options| capture(pid, &options, &path).unwrap_err().to_string();
        let none = i32::MAX;
        assert_eq!(capture(none, CaptureOptions::default()), format!("capture: no process {none}"));
        let zero = CaptureOptions { limit: Some(0), ..CaptureOptions::default() };
        assert_eq!(capture(1, zero), "a capture of 0 pages; take at least 1");
        // A process cannot stop itself as a debugger.
        let own = capture(std::process::id() as i32, CaptureOptions::default());
        assert!(own.contains("its memory may not be read: "), "{own}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
