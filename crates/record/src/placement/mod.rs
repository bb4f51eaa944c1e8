//! Placement: which bytes of a program lie where in flash, and which symbol
//! owns them.
//!
//! As the CARDIS paper does it (section 5.1), the code sections lie one after
//! another in the order the linker produced, image after image; the methods of a
//! Java program in the order of class names, then of methods in their class.

pub mod arrange;
mod bytecode;
pub mod methods;
mod process;
mod spec;

use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result};
use flashpager_binary::elf::ElfFile;
use flashpager_trace::{Image, Symbol};

pub use bytecode::{BYTECODE, METHOD_COMPONENT};
pub use spec::Placement;

/// What to place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementOptions {
    /// Sections of each file, in the order in which they go to flash.
    pub sections: Vec<String>,
    /// Files to place; usually the program alone.
    pub files: Vec<PathBuf>,
    /// Whether libraries follow as the program loads them.
    pub with_libraries: bool,
    /// Whether sections keep the distances that they are linked with, instead of one following
    /// the other. Of one file alone.
    pub as_linked: bool,
}

impl Default for PlacementOptions {
    /// The `.text` of no file yet.
    fn default() -> Self {
        Self {
            sections: vec![".text".into()],
            files: Vec::new(),
            with_libraries: false,
            as_linked: false,
        }
    }
}

impl PlacementOptions {
    /// The `.text` of one file.
    pub fn text_of(file: PathBuf) -> Self {
        Self { files: vec![file], ..Self::default() }
    }

    /// These sections of files; the default's where none is named.
    pub fn of(files: Vec<PathBuf>, sections: Vec<String>, with_libraries: bool) -> Self {
        let sections = if sections.is_empty() { Self::default().sections } else { sections };
        Self { sections, files, with_libraries, ..Self::default() }
    }

    /// The same, its sections as far from one another as they are linked.
    #[must_use]
    pub fn as_linked(self) -> Self {
        Self { as_linked: true, ..self }
    }
}

/// Placed bytes found at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashLocation {
    /// Flash offset of the byte at the address.
    pub offset: u32,
    /// Placed bytes from there on, at least 1.
    pub bytes: u32,
}

struct AddressRange {
    start: u64,
    end: u64,
    offset: u32,
}

struct PlacedFile {
    path: PathBuf,
    elf: ElfFile,
    loaded: bool,
}

/// Assigns flash offsets to code, and finds them again by run-time address.
///
/// Offsets are assigned when a file is added; addresses are known when the
/// file is loaded, which for position-independent code may be later.
pub struct Placer {
    options: PlacementOptions,
    files: Vec<PlacedFile>,
    images: Vec<Image>,
    ranges: Vec<AddressRange>,
    end: u32,
}

impl Placer {
    /// Assign offsets to the files of `options`.
    ///
    /// # Errors
    /// A file that is no ELF or lacks a section, and more than one to be placed as linked.
    pub fn new(options: PlacementOptions) -> Result<Self> {
        if options.as_linked && (options.files.len() > 1 || options.with_libraries) {
            return Err(Error::design(
                "one file alone is placed as linked: name one, without libraries",
            ));
        }
        let files = options.files.clone();
        let mut placer =
            Self { options, files: Vec::new(), images: Vec::new(), ranges: Vec::new(), end: 0 };
        for path in &files {
            let elf = ElfFile::read(path)?;
            placer.add(path, elf)?;
        }
        Ok(placer)
    }

    /// Place as much of another program as is placed of `own`; files that are no program's own
    /// stay what they are.
    ///
    /// # Errors
    /// As [`Placer::new`].
    pub fn of_another(&self, own: &Path, program: &Path) -> Result<Self> {
        let mut options = self.options.clone();
        if options.files == [own] {
            options.files = vec![program.to_owned()];
        }
        Self::new(options)
    }

    /// Place the addresses from `start` up to `end` as they stand, without a file.
    pub fn for_range(start: u64, end: u64) -> Result<Self> {
        let bytes =
            end.checked_sub(start).filter(|bytes| *bytes > 0 && *bytes < 1 << 32).ok_or_else(
                || Error::design(format!("the range {start:#x}-{end:#x} is empty or over 4 GiB")),
            )?;
        Ok(Self {
            options: PlacementOptions { sections: Vec::new(), ..PlacementOptions::default() },
            files: Vec::new(),
            images: Vec::new(),
            ranges: vec![AddressRange { start, end, offset: 0 }],
            end: bytes as u32,
        })
    }

    fn add(&mut self, path: &Path, elf: ElfFile) -> Result<()> {
        let PlacementOptions { sections, as_linked, .. } = &self.options;
        let image = if *as_linked {
            elf.place_as_linked(&short(path), sections)?
        } else {
            elf.place(&short(path), sections, self.end)?
        };
        self.end = image.offset + image.bytes;
        self.images.push(image);
        self.files.push(PlacedFile { path: path.to_owned(), elf, loaded: false });
        Ok(())
    }

    /// Every file lies at the addresses it was linked for.
    pub fn load_as_linked(&mut self) {
        for index in 0..self.files.len() {
            self.load(index, 0);
        }
    }

    /// The first file, the program, lies `bias` above its linked addresses.
    pub fn load_program_at(&mut self, bias: u64) {
        if !self.files.is_empty() {
            self.load(0, bias);
        }
    }

    /// The program's executable segments begin at `start` (QEMU's start_code).
    /// `program` is the file that runs, placed or not.
    pub fn load_program_from(&mut self, program: &Path, start: u64) {
        let index = self.files.iter().position(|file| same_file(&file.path, program));
        if let Some(index) = index
            && let Some(first) = self.files[index].elf.first_executable()
        {
            self.load(index, start.wrapping_sub(first));
        }
    }

    /// `path`, from `file_offset` on, has been mapped at `start`..`end`.
    /// Unreadable and foreign files are no code of ours: they are passed over.
    ///
    /// # Errors
    /// A library that cannot be placed behind the others.
    pub fn file_mapped(
        &mut self,
        path: &Path,
        file_offset: u64,
        start: u64,
        end: u64,
    ) -> Result<()> {
        let known = self.files.iter().position(|file| same_file(&file.path, path));
        let index = match known {
            Some(index) if self.files[index].loaded => return Ok(()),
            Some(index) => index,
            None if self.options.with_libraries => {
                let Ok(elf) = ElfFile::read(path) else { return Ok(()) };
                if !elf.has_sections(&self.options.sections) {
                    return Ok(());
                }
                self.add(path, elf)?;
                self.files.len() - 1
            }
            None => return Ok(()),
        };
        if let Some(bias) = self.files[index].elf.bias(file_offset, start, end) {
            self.load(index, bias);
        }
        Ok(())
    }

    fn load(&mut self, index: usize, bias: u64) {
        if std::mem::replace(&mut self.files[index].loaded, true) {
            return;
        }
        for section in &self.images[index].sections {
            let start = section.address.wrapping_add(bias);
            self.ranges.push(AddressRange {
                start,
                end: start.saturating_add(u64::from(section.bytes)),
                offset: section.offset,
            });
        }
        self.ranges.sort_by_key(|range| range.start);
    }

    /// Where the byte at `address` lies in flash; `None` outside.
    #[inline]
    pub fn locate(&self, address: u64) -> Option<FlashLocation> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        let range = self.ranges[..after].last().filter(|range| address < range.end)?;
        Some(FlashLocation {
            offset: range.offset + (address - range.start) as u32,
            bytes: (range.end - address) as u32,
        })
    }

    /// Bytes of the flash image.
    pub fn image_bytes(&self) -> u32 {
        self.end
    }

    /// Whether images may still be added.
    pub fn places_libraries(&self) -> bool {
        self.options.with_libraries
    }

    /// The images so far.
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// The functions of an image under all of their names; the image itself keeps one of each.
    pub fn functions(&self, image: usize) -> Vec<Symbol> {
        let (elf, sections) = (&self.files[image].elf, &self.images[image].sections);
        elf.names_in(sections)
    }

    /// The images, for the trace's description.
    pub fn into_images(self) -> Vec<Image> {
        self.images
    }
}

/// A file by its way from the current folder if it lies below: traces travel.
pub fn short(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).to_owned()
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
