//! Output files that appear under their names when they are complete, and that survive a full disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use flashpager_base::{Error, Result};

/// Disk space reserved while recording, so that a full disk still leaves room for the current row
/// group and the footer.
const RESERVE_BYTES: u64 = 8 << 20;

/// Smallest useful reserve: one row group.
const MIN_RESERVE_BYTES: u64 = 1 << 19;

/// Disk space that is reserved for completing all files of a recording.
#[derive(Clone, Default)]
pub struct DiskReserve {
    reserve: Arc<Mutex<Option<ReserveFile>>>,
    full: Arc<AtomicBool>,
}

/// A file that only takes space. It is deleted with its last user.
struct ReserveFile(PathBuf);

impl Drop for ReserveFile {
    fn drop(&mut self) {
        // Best effort: an error could not be reported any more.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl DiskReserve {
    /// Reserves space beside `target`, if there is any.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn hold(&self, target: &Path) -> Result<()> {
        let path = sibling(target, "reserve")?;
        // From here on it is deleted in any case.
        let file = ReserveFile(path);
        let held = reserve(&file.0, RESERVE_BYTES).map_err(|e| Error::file(target, e))?;
        if held && let Ok(mut reserve) = self.reserve.lock() {
            *reserve = Some(file);
        }
        Ok(())
    }

    /// Returns true if the disk became full. Data written before is safe; further data is not.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Frees the reserved space. Returns false if there was none.
    fn release(&self) -> bool {
        self.reserve.lock().ok().and_then(|mut reserve| reserve.take()).is_some()
    }
}

/// Makes the path of a hidden file beside `target` that no one else uses.
fn sibling(target: &Path, suffix: &str) -> Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = target
        .file_name()
        .ok_or_else(|| Error::data(target.display().to_string(), "is not a file name"))?
        .to_string_lossy();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Ok(target.with_file_name(format!(".{name}.{}-{number}.{suffix}", std::process::id())))
}

/// An output file that gets its name when it is finished. It survives a full disk once: the reserve
/// is then freed for the data that is still to be written.
pub struct OutputFile {
    file: File,
    /// Path of the file until it gets its name; `None` for a device, which is written in place.
    temporary: Option<PathBuf>,
    target: PathBuf,
    space: DiskReserve,
}

impl OutputFile {
    /// Starts the file that will be called `target`. A device is written in place.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(target: &Path, space: DiskReserve) -> Result<Self> {
        let special = std::fs::metadata(target).is_ok_and(|meta| !meta.is_file());
        if special {
            let file =
                File::options().write(true).open(target).map_err(|e| Error::file(target, e))?;
            return Ok(Self { file, temporary: None, target: target.into(), space });
        }
        let temporary = sibling(target, "partial")?;
        let file = File::create(&temporary).map_err(|e| Error::file(target, e))?;
        Ok(Self { file, temporary: Some(temporary), target: target.into(), space })
    }

    /// Returns the path of the contents so far; `None` for a device, which cannot be read again.
    pub fn contents(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Returns the path that the file gets when it is finished.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Changes the path that the file gets.
    pub fn set_target(&mut self, target: &Path) {
        self.target = target.to_owned();
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If the data cannot be written, or the system refuses the name.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush().map_err(|e| Error::file(&self.target, e))?;
        if let Some(temporary) = &self.temporary {
            std::fs::rename(temporary, &self.target).map_err(|e| Error::file(&self.target, e))?;
            self.temporary = None;
        }
        Ok(())
    }
}

/// Reserves up to `bytes` of the disk by writing them, as a sparse file reserves nothing. Halves
/// the number while the disk is too full. Returns whether anything was reserved.
fn reserve(path: &Path, bytes: u64) -> io::Result<bool> {
    let written = || -> io::Result<()> {
        let mut file = File::create(path)?;
        let block = vec![0x5a; 1 << 16];
        for _ in 0..bytes / block.len() as u64 {
            file.write_all(&block)?;
        }
        file.sync_all()
    }();
    match written {
        Ok(()) => Ok(bytes > 0),
        Err(error) if is_full(&error) && bytes > MIN_RESERVE_BYTES => reserve(path, bytes / 2),
        Err(error) if is_full(&error) => {
            std::fs::remove_file(path)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Err(error) if is_full(&error) => {
                self.space.full.store(true, Ordering::Relaxed);
                if self.space.release() { self.file.write(bytes) } else { Err(error) }
            }
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            // Best effort: an error could not be reported any more.
            let _ = std::fs::remove_file(temporary);
        }
    }
}
