//! Memory whose page faults this process serves itself, with userfaultfd(2).

use std::ffi::c_void;
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};

use flashpager_base::{Error, Result};
use linux_raw_sys::general as raw;
use linux_raw_sys::ioctl;

/// `_IO(0xAA, 0)`, the ioctl of /dev/userfaultfd.
const USERFAULTFD_IOC_NEW: u32 = 0xaa00;

/// `UFFDIO_WRITEPROTECT_MODE_WP`, which the headers lack.
const WRITEPROTECT_MODE_WP: u64 = 1;

/// Fault messages read at a time.
const MESSAGES: usize = 16;

/// Anonymous memory, at first without any page in RAM.
pub struct FaultRegion {
    start: NonNull<u8>,
    page_bytes: usize,
    pages: usize,
}

// SAFETY: a region is an address range; each method guards its own accesses.
unsafe impl Send for FaultRegion {}
// SAFETY: as above.
unsafe impl Sync for FaultRegion {}

impl FaultRegion {
    pub fn new(pages: u32) -> Result<Self> {
        let (page_bytes, pages) = (page_bytes(), pages as usize);
        let failed = |e| Error::io(format!("{pages} pages of memory"), e);
        let bytes = pages.checked_mul(page_bytes).ok_or_else(|| {
            Error::design(format!("{pages} pages of {page_bytes} bytes are no memory"))
        })?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses a free address for the new mapping.
        let start = unsafe { libc::mmap(null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(failed(io::Error::last_os_error()));
        }
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| failed(io::ErrorKind::OutOfMemory.into()))?;
        let region = Self { start, page_bytes, pages };
        // Each page must fault by itself, and nobody would serve the faults of a forked child.
        for advice in [libc::MADV_NOHUGEPAGE, libc::MADV_DONTFORK] {
            // SAFETY: the region's own mapping; neither advice changes its contents.
            let advised = unsafe { libc::madvise(region.start.as_ptr().cast(), bytes, advice) };
            let error = io::Error::last_os_error();
            // A kernel without huge pages does not know MADV_NOHUGEPAGE.
            if advised != 0 && error.raw_os_error() != Some(libc::EINVAL) {
                return Err(failed(error));
            }
        }
        Ok(region)
    }

    fn at(&self, page: u32) -> *mut u8 {
        assert!((page as usize) < self.pages, "page {page} of {}", self.pages);
        // SAFETY: the address is within the mapping.
        unsafe { self.start.as_ptr().add(page as usize * self.page_bytes) }
    }

    /// Copies `page` out. The calling thread waits while a fault is served.
    pub fn read(&self, page: u32, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), self.page_bytes);
        let from = self.at(page);
        // SAFETY: both have a page's bytes; `bytes` is not in the region, to which there
        // are no references.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) }
    }

    /// Copies `bytes` to `page`. The calling thread waits while a fault is served.
    pub fn write(&self, page: u32, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.page_bytes);
        let to = self.at(page);
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
    }

    /// Releases a page: the next access to it is a fault.
    fn forget(&self, page: u32) -> io::Result<()> {
        // SAFETY: a page of the region, to which there are no references.
        let done =
            unsafe { libc::madvise(self.at(page).cast(), self.page_bytes, libc::MADV_DONTNEED) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Returns how many pages are in RAM, by mincore(2).
    #[cfg(test)]
    pub fn resident(&self) -> usize {
        let mut present = vec![0u8; self.pages];
        let bytes = self.pages * self.page_bytes;
        // SAFETY: `present` has a byte for each page.
        let done =
            unsafe { libc::mincore(self.start.as_ptr().cast(), bytes, present.as_mut_ptr()) };
        assert_eq!(done, 0);
        present.iter().filter(|page| **page & 1 == 1).count()
    }

    /// Returns a word of a page, for threads that share the page.
    #[cfg(test)]
    pub fn word(&self, page: u32, number: usize) -> &std::sync::atomic::AtomicU64 {
        assert!(number < self.page_bytes / 8);
        // SAFETY: aligned, within the page, and only reached as an atomic.
        unsafe { &*self.at(page).cast::<std::sync::atomic::AtomicU64>().add(number) }
    }
}

impl Drop for FaultRegion {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it, and it is unmapped once.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.pages * self.page_bytes);
        }
    }
}

/// Returns the bytes of a page of this kernel.
pub fn page_bytes() -> usize {
    // SAFETY: a call with a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

/// Returns the minor and major faults of the calling thread.
pub fn thread_faults() -> (u64, u64) {
    // SAFETY: the struct has numbers only, so all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills `usage`.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    (usage.ru_minflt as u64, usage.ru_majflt as u64)
}

/// A fault on a page of a region, for which a thread waits.
#[derive(Clone, Copy, Debug)]
pub struct PageFault {
    pub page: u32,
    /// True if the access is a write.
    pub write: bool,
    /// True if the page is in RAM and protected from writing.
    pub protected: bool,
}

/// Serves the faults of a region: missing pages and writes to protected ones.
///
/// When this is dropped, the kernel lets all waiting threads continue, and missing pages read as
/// zeros.
pub struct Userfault<'a> {
    file: OwnedFd,
    region: &'a FaultRegion,
}

impl<'a> Userfault<'a> {
    /// Serves the faults of `region`.
    ///
    /// # Errors
    /// If userfaultfd is not permitted, or the kernel lacks it or its write protection. The message
    /// names the remedy.
    pub fn new(region: &'a FaultRegion) -> Result<Self> {
        let userfault = Self { file: open().map_err(refusal)?, region };
        let mut api = raw::uffdio_api {
            api: raw::UFFD_API.into(),
            features: raw::UFFD_FEATURE_PAGEFAULT_FLAG_WP.into(),
            ioctls: 0,
        };
        let unable = |_| {
            Error::data(
                "userfaultfd",
                "this kernel's cannot protect memory from writing: it takes Linux 5.7 or later on \
                 x86-64, 6.10 on arm64",
            )
        };
        // SAFETY: each structure is the one that its request takes.
        unsafe { userfault.ioctl(ioctl::UFFDIO_API, &mut api) }.map_err(unable)?;
        let mut register = raw::uffdio_register {
            range: userfault.range(0, region.pages),
            mode: (raw::UFFDIO_REGISTER_MODE_MISSING | raw::UFFDIO_REGISTER_MODE_WP).into(),
            ioctls: 0,
        };
        // SAFETY: as above.
        unsafe { userfault.ioctl(ioctl::UFFDIO_REGISTER, &mut register) }.map_err(unable)?;
        Ok(userfault)
    }

    fn range(&self, page: u32, count: usize) -> raw::uffdio_range {
        raw::uffdio_range {
            start: self.region.at(page) as u64,
            len: (count * self.region.page_bytes) as u64,
        }
    }

    /// # Safety
    /// `argument` is the structure that `request` takes.
    unsafe fn ioctl<T>(&self, request: u32, argument: &mut T) -> io::Result<()> {
        loop {
            // SAFETY: the caller's promise.
            let done =
                unsafe { libc::ioctl(self.file.as_raw_fd(), request as _, &raw mut *argument) };
            if done >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            // EAGAIN: the process's mappings are changing.
            if !matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN)) {
                return Err(error);
            }
        }
    }

    /// Waits for faults and appends them to `faults`. Returns false if `stop` was closed instead.
    pub fn wait(&self, stop: &PipeReader, faults: &mut Vec<PageFault>) -> io::Result<bool> {
        let mut polled = [self.file.as_raw_fd(), stop.as_raw_fd()].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: the array has two descriptors.
        if unsafe { libc::poll(polled.as_mut_ptr(), 2, -1) } < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(true) } else { Err(error) };
        }
        if polled[0].revents == 0 {
            return Ok(polled[1].revents == 0);
        }
        // SAFETY: the struct has numbers only, so all zeros is a valid value.
        let mut messages: [raw::uffd_msg; MESSAGES] = unsafe { std::mem::zeroed() };
        // SAFETY: the buffer has this size.
        let read = unsafe {
            libc::read(
                self.file.as_raw_fd(),
                messages.as_mut_ptr().cast::<c_void>(),
                size_of_val(&messages),
            )
        };
        let Ok(read) = usize::try_from(read) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(true),
                _ => Err(error),
            };
        };
        for message in &messages[..read / size_of::<raw::uffd_msg>()] {
            if u32::from(message.event) != raw::UFFD_EVENT_PAGEFAULT {
                continue;
            }
            // SAFETY: the event says which field of the union is set.
            let fault = unsafe { message.arg.pagefault };
            let offset = fault.address - self.region.start.as_ptr() as u64;
            let has = |flag: u32| fault.flags & u64::from(flag) != 0;
            faults.push(PageFault {
                page: (offset / self.region.page_bytes as u64) as u32,
                write: has(raw::UFFD_PAGEFAULT_FLAG_WRITE),
                protected: has(raw::UFFD_PAGEFAULT_FLAG_WP),
            });
        }
        Ok(true)
    }

    /// Fills the missing `page` with `bytes` and wakes the threads that wait for it.
    pub fn fill(&self, page: u32, bytes: &[u8], protected: bool) -> io::Result<()> {
        assert_eq!(bytes.len(), self.region.page_bytes);
        let mut copy = raw::uffdio_copy {
            dst: self.range(page, 1).start,
            src: bytes.as_ptr() as u64,
            len: bytes.len() as u64,
            mode: if protected { raw::UFFDIO_COPY_MODE_WP.into() } else { 0 },
            copy: 0,
        };
        // SAFETY: the structure is the request's, and `bytes` has a page's size.
        unsafe { self.ioctl(ioctl::UFFDIO_COPY, &mut copy) }
    }

    /// Protects `page` from writing, or allows it and wakes the threads that wait for that.
    pub fn protect(&self, page: u32, protected: bool) -> io::Result<()> {
        let mut protect = raw::uffdio_writeprotect {
            range: self.range(page, 1),
            mode: if protected { WRITEPROTECT_MODE_WP } else { 0 },
        };
        // SAFETY: the structure is the request's.
        unsafe { self.ioctl(ioctl::UFFDIO_WRITEPROTECT, &mut protect) }
    }

    /// Lets the threads that wait for `page` try again.
    pub fn wake(&self, page: u32) -> io::Result<()> {
        let mut range = self.range(page, 1);
        // SAFETY: the structure is the request's.
        unsafe { self.ioctl(ioctl::UFFDIO_WAKE, &mut range) }
    }

    /// Copies out `page`, which must be in RAM.
    pub fn read(&self, page: u32, bytes: &mut [u8]) {
        self.region.read(page, bytes);
    }

    /// Releases `page`: the next access to it is a fault.
    pub fn forget(&self, page: u32) -> io::Result<()> {
        self.region.forget(page)
    }
}

/// Opens a userfaultfd for faults of user mode, which needs no permission. The region is never
/// passed to a system call, so the kernel itself does not fault on it.
fn open() -> io::Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    let only_user = flags | raw::UFFD_USER_MODE_ONLY as i32;
    // SAFETY: a call with numbers.
    let mut opened = unsafe { libc::syscall(libc::SYS_userfaultfd, only_user) };
    if opened < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        // Linux before 5.11 does not know the flag. SAFETY: as above.
        opened = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    }
    if opened < 0 {
        let error = io::Error::last_os_error();
        let Ok(device) = File::options().read(true).write(true).open("/dev/userfaultfd") else {
            return Err(error);
        };
        // SAFETY: a request with a number.
        let made = unsafe { libc::ioctl(device.as_raw_fd(), USERFAULTFD_IOC_NEW as _, flags) };
        if made < 0 {
            return Err(error);
        }
        opened = made.into();
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(opened as i32) })
}

fn refusal(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Error::data(
            "userfaultfd",
            "is not permitted here: allow it with 'sudo sysctl vm.unprivileged_userfaultfd=1' or \
             'sudo chmod a+rw /dev/userfaultfd'; in a container, also in its seccomp profile",
        ),
        Some(libc::ENOSYS) => Error::data(
            "userfaultfd",
            "this kernel has none: it takes one built with CONFIG_USERFAULTFD",
        ),
        _ => Error::io("userfaultfd", error),
    }
}
