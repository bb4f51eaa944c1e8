//! Captures the anonymous memory of a running process (Linux).
//!
//! Anonymous memory is what only swap can hold: heap, stacks, anonymous mappings, and pages of
//! private file mappings that the process has changed. Pages of files and shared memory are not
//! anonymous. Swapped-out pages are captured like resident ones.
//!
//! A page that was only ever read is the kernel's shared page of zeros and takes no memory. If
//! `/proc/PID/pagemap` cannot distinguish it, a page of zeros that is not the process's own is left
//! out.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use flashpager_base::{Error, Result};
use procfs::ProcError;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, MemoryPageFlags, PageInfo};

use super::pages::{CapturedProcess, PageOrigin, PagesInfo, PagesWriter};

/// Page table entries read at a time.
const ENTRIES: u64 = 1 << 16;

/// The time limit for a thread to stop. A thread that waits for a disk in the kernel stops later,
/// and executes nothing until then.
const STOPPING: Duration = Duration::from_secs(1);

/// Options of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Maximum number of pages, sampled evenly over all. `None` captures all.
    pub limit: Option<u64>,
    /// Also capture processes that the process started, and their descendants.
    pub children: bool,
    /// Keep pages full of zeros, as a swap does. Otherwise they are only counted.
    pub zero_pages: bool,
    /// Stop the processes while their pages are read, so that all pages are of one moment.
    pub stop: bool,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self { limit: None, children: false, zero_pages: true, stop: true }
    }
}

/// Captures pages of the process `pid` into the file `output`.
///
/// A stopped process goes on when its pages have been read, and also if this process dies
/// meanwhile: it is stopped as a debugger stops it.
///
/// # Errors
/// If there is no such process, permission is missing, another debugger holds the process, it has
/// no anonymous memory, or the file cannot be written.
pub fn capture(pid: i32, options: &CaptureOptions, output: &Path) -> Result<PagesInfo> {
    if options.limit == Some(0) {
        return Err(Error::design("a capture of 0 pages; take at least 1"));
    }
    let page_bytes = u32::try_from(procfs::page_size()).unwrap_or(u32::MAX);
    let mut writer = PagesWriter::create(output, page_bytes)?;
    let mut targets = Vec::new();
    let mut stopped = Vec::new();
    for pid in family(pid, options.children)? {
        let opened = OpenProcess::open(pid).and_then(|target| {
            let stop = options.stop.then(|| StoppedProcess::stop(pid)).transpose()?;
            Ok((target, stop))
        });
        match opened {
            Ok((target, stop)) => {
                targets.push(target);
                stopped.extend(stop);
            }
            // A child that has ended meanwhile.
            Err(CaptureFailure::Ended(_)) if !targets.is_empty() => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    let mut counts = Vec::new();
    for target in &targets {
        counts.push(target.anonymous()?.len() as u64);
    }
    let mut processes = Vec::new();
    for (target, share) in targets.iter().zip(shares(&counts, options.limit)) {
        let number = processes.len() as u32;
        processes.push(target.capture(number, share, options.zero_pages, &mut writer)?);
    }
    drop(stopped);
    if processes.iter().all(|process| process.anonymous_pages == 0) {
        return Err(Error::data(
            format!("process {pid}"),
            "has no anonymous memory (is it a part of the kernel?)",
        ));
    }
    writer.finish(PagesInfo {
        schema_version: 0,
        page_bytes,
        pages: 0,
        limit: options.limit,
        with_zero_pages: options.zero_pages,
        stopped: options.stop,
        processes,
    })
}

/// Splits `limit` over processes with `counts` pages, each the same share of its pages. Without a
/// limit each gets all that it will have.
fn shares(counts: &[u64], limit: Option<u64>) -> Vec<u64> {
    let all: u64 = counts.iter().sum();
    let Some(limit) = limit.filter(|limit| *limit < all) else {
        return vec![u64::MAX; counts.len()];
    };
    let mut before = 0;
    let upto = |count: u64| (u128::from(count) * u128::from(limit) / u128::from(all)) as u64;
    counts
        .iter()
        .map(|count| {
            let start = upto(before);
            before += count;
            upto(before) - start
        })
        .collect()
}

/// Returns the process, and with `children` its descendants except this process: parents first,
/// then by number.
fn family(pid: i32, children: bool) -> Result<Vec<i32>> {
    let mut processes = vec![pid];
    if children {
        let all = procfs::process::all_processes().map_err(|e| trouble(pid, e))?;
        let mut parents: Vec<(i32, i32)> =
            all.flatten().filter_map(|it| it.stat().ok()).map(|it| (it.pid, it.ppid)).collect();
        parents.sort_unstable();
        let mut at = 0;
        while let Some(&parent) = processes.get(at) {
            processes.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
            at += 1;
        }
        // This process is in the family of the shell that started it.
        processes.retain(|other| *other == pid || *other != std::process::id().cast_signed());
    }
    Ok(processes)
}

/// Reasons why a process cannot be captured.
enum CaptureFailure {
    Ended(Error),
    Refused(Error),
}

impl From<CaptureFailure> for Error {
    fn from(failure: CaptureFailure) -> Self {
        match failure {
            CaptureFailure::Ended(error) | CaptureFailure::Refused(error) => error,
        }
    }
}

fn trouble(pid: i32, error: ProcError) -> CaptureFailure {
    let place = format!("process {pid}");
    match error {
        ProcError::PermissionDenied(_) => CaptureFailure::Refused(forbidden(pid)),
        ProcError::NotFound(_) => {
            CaptureFailure::Ended(Error::data("capture", format!("no process {pid}")))
        }
        ProcError::Io(source, _) => from_io(pid, source),
        other => CaptureFailure::Refused(Error::data(
            place,
            format!("its description in /proc cannot be read ({other})"),
        )),
    }
}

fn from_io(pid: i32, error: io::Error) -> CaptureFailure {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => CaptureFailure::Refused(forbidden(pid)),
        Some(libc::ESRCH | libc::ENOENT) => {
            CaptureFailure::Ended(Error::data("capture", format!("no process {pid}")))
        }
        _ => CaptureFailure::Refused(Error::io(format!("process {pid}"), error)),
    }
}

/// The error for memory that may not be read, with what to do.
fn forbidden(pid: i32) -> Error {
    let yama = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let remedy = match yama.trim() {
        "1" => {
            "run flashpager as root, or as its user after \
             'sudo sysctl kernel.yama.ptrace_scope=0'"
        }
        "2" => "run flashpager as root (kernel.yama.ptrace_scope is 2)",
        "3" => "kernel.yama.ptrace_scope is 3, which forbids it until the next boot",
        _ => "run flashpager as the user who runs it, or as root; under a debugger it cannot be",
    };
    Error::data(format!("process {pid}"), format!("its memory may not be read: {remedy}"))
}

/// A process whose files in /proc are open. They stay those of this process even if its number is
/// reused.
struct OpenProcess {
    pid: i32,
    process: procfs::process::Process,
    program: String,
    memory: File,
}

/// An anonymous page of a process.
#[derive(Clone, Copy)]
struct AnonymousPage {
    mapping: u32,
    address: u64,
    swapped: bool,
}

impl OpenProcess {
    fn open(pid: i32) -> std::result::Result<Self, CaptureFailure> {
        let process = procfs::process::Process::new(pid).map_err(|e| trouble(pid, e))?;
        let program = process.stat().map_err(|e| trouble(pid, e))?.comm;
        let memory = File::open(format!("/proc/{pid}/mem")).map_err(|e| from_io(pid, e))?;
        Ok(Self { pid, process, program, memory })
    }

    /// Returns the mappings that can have anonymous pages.
    fn mappings(&self) -> Result<Vec<MemoryMap>> {
        let all = self.process.maps().map_err(|e| trouble(self.pid, e))?;
        let wanted = |map: &MemoryMap| {
            let perms = map.perms;
            perms.contains(MMPermissions::PRIVATE)
                && perms.intersects(MMPermissions::READ | MMPermissions::WRITE)
                && !matches!(
                    map.pathname,
                    MMapPath::Vdso | MMapPath::Vvar | MMapPath::Vsyscall | MMapPath::Vsys(_)
                )
        };
        Ok(all.into_iter().filter(wanted).collect())
    }

    /// Returns the anonymous pages, by address.
    fn anonymous(&self) -> Result<Vec<AnonymousPage>> {
        let page_bytes = procfs::page_size();
        let mut entries = self.process.pagemap().map_err(|e| trouble(self.pid, e))?;
        let mut pages = Vec::new();
        let mut bytes = vec![0; page_bytes as usize];
        for (mapping, map) in self.mappings()?.iter().enumerate() {
            let (start, end) = (map.address.0 / page_bytes, map.address.1 / page_bytes);
            for first in (start..end).step_by(ENTRIES as usize) {
                let range = first as usize..end.min(first + ENTRIES) as usize;
                let entries_of_range =
                    entries.get_range_info(range).map_err(|e| trouble(self.pid, e))?;
                for (number, entry) in (first..).zip(entries_of_range) {
                    let address = number * page_bytes;
                    let swapped = match entry {
                        PageInfo::SwapPage(_) => true,
                        PageInfo::MemoryPage(flags) => {
                            let shared = MemoryPageFlags::FILE;
                            if !flags.contains(MemoryPageFlags::PRESENT) || flags.contains(shared) {
                                continue;
                            }
                            let own = flags.contains(MemoryPageFlags::MMAP_EXCLUSIVE);
                            if !own && self.read(address, &mut bytes)? && is_zero(&bytes) {
                                continue;
                            }
                            false
                        }
                    };
                    pages.push(AnonymousPage { mapping: mapping as u32, address, swapped });
                }
            }
        }
        Ok(pages)
    }

    /// Reads a page. Returns false if it is gone or cannot be read by anybody.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<bool> {
        match self.memory.read_exact_at(bytes, address) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(false),
            // The address space has ended.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(Error::data(format!("process {}", self.pid), "ended while it was captured"))
            }
            Err(error) => Err(from_io(self.pid, error).into()),
        }
    }

    /// Writes `share` of the pages, sampled evenly.
    fn capture(
        &self,
        number: u32,
        share: u64,
        zero_pages: bool,
        writer: &mut PagesWriter,
    ) -> Result<CapturedProcess> {
        let mappings = self.mappings()?;
        let mut pages = self.anonymous()?;
        let mut process = CapturedProcess {
            program: self.program.clone(),
            anonymous_pages: pages.len() as u64,
            swapped_pages: pages.iter().filter(|page| page.swapped).count() as u64,
            ..CapturedProcess::default()
        };
        let mut bytes = vec![0; procfs::page_size() as usize];
        if !zero_pages {
            let mut zeros = 0;
            let mut kept = Vec::new();
            for page in pages {
                if self.read(page.address, &mut bytes)? && is_zero(&bytes) {
                    zeros += 1;
                } else {
                    kept.push(page);
                }
            }
            pages = kept;
            process.zero_pages = zeros;
        }
        let all = pages.len() as u64;
        let share = share.min(all);
        for at in 0..share {
            let page = pages[(u128::from(at) * u128::from(all) / u128::from(share)) as usize];
            if !self.read(page.address, &mut bytes)? {
                continue;
            }
            process.zero_pages += u64::from(is_zero(&bytes));
            process.pages += 1;
            let mapping = mappings.get(page.mapping as usize).map(name).unwrap_or_default();
            writer.push(
                PageOrigin { process: number, mapping: &mapping, address: page.address },
                &bytes,
            )?;
        }
        Ok(process)
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Returns the name of a mapping, as in `/proc/PID/maps`.
fn name(map: &MemoryMap) -> String {
    match &map.pathname {
        MMapPath::Path(path) => path.to_string_lossy().into_owned(),
        MMapPath::Heap => "[heap]".to_owned(),
        MMapPath::Stack => "[stack]".to_owned(),
        MMapPath::TStack(thread) => format!("[stack:{thread}]"),
        MMapPath::Other(other) => format!("[{other}]"),
        _ => String::new(),
    }
}

/// A process whose threads are stopped, as by a debugger. It goes on when this is dropped; the
/// kernel also lets it go when the thread that made this ends.
struct StoppedProcess {
    threads: Vec<libc::pid_t>,
}

impl StoppedProcess {
    fn stop(pid: i32) -> std::result::Result<Self, CaptureFailure> {
        let mut stopped = Self { threads: Vec::new() };
        // Threads that are not stopped yet may start others.
        loop {
            let mut new = 0;
            for thread in threads(pid)? {
                if stopped.threads.contains(&thread) {
                    continue;
                }
                if stopped.seize(thread).map_err(|e| from_io(pid, e))? {
                    new += 1;
                    stopped.threads.push(thread);
                }
            }
            if new == 0 {
                break;
            }
        }
        if stopped.threads.is_empty() {
            return Err(CaptureFailure::Ended(Error::data("capture", format!("no process {pid}"))));
        }
        Ok(stopped)
    }

    /// Stops a thread. Returns false if it has ended.
    fn seize(&self, thread: libc::pid_t) -> io::Result<bool> {
        let none = std::ptr::null_mut::<libc::c_void>();
        for request in [libc::PTRACE_SEIZE, libc::PTRACE_INTERRUPT] {
            // SAFETY: neither request reads or writes memory of this process.
            #[allow(unsafe_code)]
            let done = unsafe { libc::ptrace(request, thread, none, none) };
            if done != 0 {
                let error = io::Error::last_os_error();
                return if error.raw_os_error() == Some(libc::ESRCH) {
                    Ok(false)
                } else {
                    Err(error)
                };
            }
        }
        let since = Instant::now();
        loop {
            let mut status = 0;
            // SAFETY: `status` is a number of the size that the call writes.
            #[allow(unsafe_code)]
            let waited =
                unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) };
            match waited {
                0 if since.elapsed() < STOPPING => std::thread::sleep(Duration::from_micros(100)),
                0 => return Ok(true),
                _ => return Ok(waited == thread && libc::WIFSTOPPED(status)),
            }
        }
    }
}

impl Drop for StoppedProcess {
    fn drop(&mut self) {
        let none = std::ptr::null_mut::<libc::c_void>();
        for thread in &self.threads {
            // SAFETY: the request reads and writes no memory of this process.
            #[allow(unsafe_code)]
            unsafe {
                libc::ptrace(libc::PTRACE_DETACH, *thread, none, none);
            }
        }
    }
}

fn threads(pid: i32) -> std::result::Result<Vec<libc::pid_t>, CaptureFailure> {
    let folder = std::fs::read_dir(format!("/proc/{pid}/task")).map_err(|e| from_io(pid, e))?;
    let names = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.collect())
}
