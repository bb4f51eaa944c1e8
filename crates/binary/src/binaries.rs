//! The ELF files behind the images of a trace.

use std::ops::Range;
use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result, shown};
use flashpager_trace::{Image, Symbol};

use super::lines::SourceLines;
use super::names::file_name;
use crate::elf::{ElfFile, is_unnamed, read_bytes};
use crate::sample_profile::{SampleProfile, profile};

/// The value of flash bytes that were not programmed.
const ERASED: u8 = 0xff;

/// An ELF file with its contents.
pub(crate) struct Binary {
    path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) elf: ElfFile,
}

impl Binary {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let bytes = read_bytes(path)?;
        let elf = ElfFile::parse(&bytes)
            .map_err(|reason| Error::data(path.display().to_string(), reason))?;
        Ok(Self { path: path.to_owned(), bytes, elf })
    }

    /// Returns why this is not the file that `image` was made from; `None` if it may be.
    pub(crate) fn differs_from(&self, image: &Image) -> Option<String> {
        let (here, recorded) = (self.elf.build_id(), image.build_id.as_str());
        if here != recorded && !(here.is_empty() || recorded.is_empty()) {
            return Some(format!(
                "its build id {} is not the recorded {}",
                shown(here),
                shown(recorded)
            ));
        }
        (!self.elf.agrees_with(&image.sections))
            .then(|| "its sections lie elsewhere than those recorded".to_owned())
    }
}

/// Returns the file that `image` was made from; `None` if it is gone or another one.
pub fn recorded_file(image: &Image) -> Option<ElfFile> {
    let binary = Binary::read(Path::new(&image.path)).ok()?;
    binary.differs_from(image).is_none().then_some(binary.elf)
}

/// The files that the user named, each with its image.
pub struct Binaries {
    /// The file of each image; `None` if none was named for it.
    named: Vec<Option<Binary>>,
}

impl Binaries {
    /// Reads the files and finds the image of each: by build id, or by name and sections if there is
    /// none.
    ///
    /// # Errors
    /// If a file cannot be read or belongs to none of `images`.
    pub fn of(images: &[Image], elfs: &[PathBuf]) -> Result<Self> {
        let mut named: Vec<Option<Binary>> = images.iter().map(|_| None).collect();
        for path in elfs {
            let binary = Binary::read(path)?;
            let name = path.file_name().map(|name| name.to_string_lossy());
            let is_same = |image: &&Image| binary.differs_from(image).is_none();
            let is_named = |image: &Image| Some(file_name(&image.path).into()) == name;
            let mut fitting: Vec<usize> =
                (0..images.len()).filter(|index| is_same(&&images[*index])).collect();
            fitting.sort_by_key(|index| {
                let image = &images[*index];
                let by_id = !image.build_id.is_empty() && image.build_id == binary.elf.build_id();
                (!by_id, !is_named(image))
            });
            let Some(index) = fitting.first() else {
                return Err(belongs_to_none(&binary, images));
            };
            named[*index] = Some(binary);
        }
        Ok(Self { named })
    }

    /// Returns the recorded symbols of `image`, or those of its file if that names more functions. A
    /// stripped program may still name the functions that it exports.
    pub fn symbols(&self, image: usize, about: &Image) -> Vec<Symbol> {
        let named = |symbols: &[Symbol]| {
            let unnamed = symbols.iter().filter(|symbol| is_unnamed(&symbol.name)).count();
            (symbols.len() - unnamed, symbols.len())
        };
        let binary = self.named[image].as_ref();
        let symbols = binary.map(|binary| binary.elf.symbols_in(&about.sections));
        symbols
            .filter(|symbols| named(symbols) > named(&about.symbols))
            .unwrap_or_else(|| about.symbols.clone())
    }

    /// Returns the source lines of `image`, from the named file or the recorded one.
    ///
    /// # Errors
    /// If the file is gone, has changed, or has no lines.
    pub fn lines(&self, image: usize, about: &Image) -> Result<SourceLines> {
        self.read(image, about, |bytes| SourceLines::of(bytes, &about.sections))
    }

    /// Returns the contents of the file of `image`, the named one or the recorded one.
    ///
    /// # Errors
    /// If the file is gone or has changed.
    pub fn bytes(&self, image: usize, about: &Image) -> Result<Vec<u8>> {
        self.read(image, about, |bytes| Ok(bytes.to_vec()))
    }

    /// Profiles `image` by source lines, from the same file. `times` is that of [`profile()`].
    ///
    /// # Errors
    /// If [`Binaries::lines`] fails.
    pub fn profile(
        &self,
        image: usize,
        about: &Image,
        times: &dyn Fn(Range<u64>) -> u64,
    ) -> Result<SampleProfile> {
        self.read(image, about, |bytes| profile(bytes, &about.sections, times))
    }

    /// Returns the bytes of the flash image, from the sections of the named files. Bytes between the
    /// sections are erased.
    ///
    /// # Errors
    /// If no file is named for an image, or a file has other functions than the recorded ones or
    /// lacks the bytes of its sections.
    pub fn in_flash(&self, images: &[Image]) -> Result<Vec<u8>> {
        let mut flash = Vec::new();
        for (image, binary) in images.iter().zip(&self.named) {
            let Some(Binary { path, bytes, elf }) = binary else {
                let reason = "is in flash, too, and no file was given for it: give one file with the \
                            bytes of all";
                return Err(Error::data(shown(file_name(&image.path)), reason));
            };
            let wrong = |reason: String| Error::data(path.display().to_string(), reason);
            if let Some(moved) = elf.moved(image) {
                return Err(wrong(format!(
                    "is not the version that was recorded: {} lies elsewhere; record it again",
                    shown(moved)
                )));
            }
            for section in &image.sections {
                let held = ElfFile::section_bytes(bytes, section).ok_or_else(|| {
                    wrong(format!("does not hold the bytes of {}", shown(&section.name)))
                })?;
                let at = section.offset as usize;
                flash.resize(flash.len().max(at + held.len()), ERASED);
                flash[at..at + held.len()].copy_from_slice(held);
            }
        }
        Ok(flash)
    }

    /// Applies `read` to the contents of the file of `image`.
    fn read<T>(
        &self,
        image: usize,
        about: &Image,
        read: impl FnOnce(&[u8]) -> std::result::Result<T, String>,
    ) -> Result<T> {
        let read_from = |binary: &Binary| {
            read(&binary.bytes)
                .map_err(|reason| Error::data(binary.path.display().to_string(), reason))
        };
        if let Some(binary) = &self.named[image] {
            return read_from(binary);
        }
        let advice = "name the recorded file, or one with the same build id, with --elf";
        let file_name = shown(&about.path);
        let binary = Binary::read(Path::new(&about.path)).map_err(|error| match error {
            Error::Io { source, .. } => Error::data(
                &file_name,
                format!("{source}, and the lines of code are in it; {advice}"),
            ),
            other => other,
        })?;
        if let Some(how) = binary.differs_from(about) {
            let reason =
                format!("is not the file that was recorded ({how}); record again, or {advice}");
            return Err(Error::data(&file_name, reason));
        }
        read_from(&binary)
    }
}

fn belongs_to_none(binary: &Binary, images: &[Image]) -> Error {
    const SHOWN: usize = 3;
    let mut reasons: Vec<String> = images
        .iter()
        .take(SHOWN)
        .filter_map(|image| {
            let how = binary.differs_from(image)?;
            Some(format!("{}: {how}", shown(file_name(&image.path))))
        })
        .collect();
    if images.len() > SHOWN {
        reasons.push(format!("{} more", images.len() - SHOWN));
    }
    if reasons.is_empty() {
        reasons.push("it names no program".into());
    }
    let reason = format!("belongs to none of the trace's files ({})", reasons.join("; "));
    Error::data(binary.path.display().to_string(), reason)
}
