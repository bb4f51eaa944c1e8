//! The placer, which assigns flash offsets to the code of files.

use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result};
use flashpager_binary::elf::{ElfFile, read_bytes};
use flashpager_trace::{Image, MAX_IMAGE_BYTES, Symbol};

/// The code to place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementOptions {
    /// Sections of each file, in the order in which they are placed.
    pub sections: Vec<String>,
    /// Files to place; usually the program alone.
    pub files: Vec<PathBuf>,
    /// Libraries are placed as the program loads them.
    pub with_libraries: bool,
    /// Sections keep the distances at which they are linked, instead of following one another.
    /// Possible for a single file only.
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
    /// Places the `.text` of one file.
    pub fn text_of(file: PathBuf) -> Self {
        Self { files: vec![file], ..Self::default() }
    }

    /// Places these sections of files; the default sections if none is named.
    pub fn of(files: Vec<PathBuf>, sections: Vec<String>, with_libraries: bool) -> Self {
        let sections = if sections.is_empty() { Self::default().sections } else { sections };
        Self { sections, files, with_libraries, ..Self::default() }
    }

    /// Makes sections keep the distances at which they are linked.
    #[must_use]
    pub fn as_linked(self) -> Self {
        Self { as_linked: true, ..self }
    }
}

/// Placed bytes at a run-time address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashLocation {
    /// Flash offset of the byte at the address.
    pub offset: u32,
    /// Number of placed bytes from there on, at least 1. [`u32::MAX`] stands for that many or more.
    pub bytes: u32,
}

/// The bytes of a placed section at their run-time addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedCode {
    /// Address of the first byte.
    pub start: u64,
    /// The bytes, as the file has them.
    pub bytes: Vec<u8>,
    /// Addresses from which on the code of an ARM is Thumb code, or is not.
    thumb: Vec<(u64, bool)>,
}

impl PlacedCode {
    /// Returns true if the code at `address` is Thumb code.
    pub fn is_thumb(&self, address: u64) -> bool {
        let after = self.thumb.partition_point(|(start, _)| *start <= address);
        self.thumb[..after].last().is_some_and(|(_, thumb)| *thumb)
    }
}

/// Placed code at its run-time addresses.
struct AddressRange {
    start: u64,
    end: u64,
    /// Flash offset of the first byte.
    offset: u32,
}

/// A file with placed sections.
struct PlacedFile {
    path: PathBuf,
    elf: ElfFile,
    /// Distance above its linked addresses; `None` until that is known.
    bias: Option<u64>,
}

/// Code of a program that is not placed, by its linked addresses.
#[derive(Clone, Debug, Default)]
pub struct UnplacedCode {
    /// Name, first address and bytes of each function.
    pub functions: Vec<(String, u64, u64)>,
    /// First address and the address behind the last, of each section.
    pub sections: Vec<(u64, u64)>,
}

/// Assigns flash offsets to code, and finds them by run-time address.
///
/// Offsets are assigned when a file is added. Addresses are known when the file is loaded, which
/// may be later for position-independent code.
pub struct Placer {
    options: PlacementOptions,
    files: Vec<PlacedFile>,
    /// The image of each file.
    images: Vec<Image>,
    /// Loaded code, by ascending address.
    ranges: Vec<AddressRange>,
    /// End of the flash image.
    end: u64,
}

impl Placer {
    /// Assigns offsets to the files of `options`.
    ///
    /// # Errors
    /// If a file is no ELF file or lacks the sections, or several files are to be placed as linked.
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

    /// Makes a placer for another program, with the same options. `program` takes the place of the
    /// first program `own` if that is the only file.
    ///
    /// # Errors
    /// If [`Placer::new`] fails.
    pub fn of_another(&self, own: &Path, program: &Path) -> Result<Self> {
        let mut options = self.options.clone();
        if options.files == [own] {
            options.files = vec![program.to_owned()];
        }
        Self::new(options)
    }

    /// Places the addresses from `start` to `end`, without a file.
    ///
    /// # Errors
    /// If the range is empty or over 4 GiB.
    pub fn for_range(start: u64, end: u64) -> Result<Self> {
        let bytes = end
            .checked_sub(start)
            .filter(|bytes| *bytes > 0 && *bytes <= MAX_IMAGE_BYTES)
            .ok_or_else(|| {
                Error::design(format!("the range {start:#x}-{end:#x} is empty or over 4 GiB"))
            })?;
        Ok(Self {
            options: PlacementOptions { sections: Vec::new(), ..PlacementOptions::default() },
            files: Vec::new(),
            images: Vec::new(),
            ranges: vec![AddressRange { start, end, offset: 0 }],
            end: bytes,
        })
    }

    fn add(&mut self, path: &Path, elf: ElfFile) -> Result<()> {
        let PlacementOptions { sections, as_linked, .. } = &self.options;
        let image = if *as_linked {
            elf.place_as_linked(&short(path), sections)?
        } else {
            elf.place(&short(path), sections, self.end)?
        };
        self.end = image.end();
        self.images.push(image);
        self.files.push(PlacedFile { path: path.to_owned(), elf, bias: None });
        Ok(())
    }

    /// Loads every file at its linked addresses.
    pub fn load_as_linked(&mut self) {
        for index in 0..self.files.len() {
            self.load(index, 0);
        }
    }

    /// Loads the first file, the program, `bias` above its linked addresses.
    pub fn load_program_at(&mut self, bias: u64) {
        if !self.files.is_empty() {
            self.load(0, bias);
        }
    }

    /// Loads the program so that its executable segments begin at `start` (QEMU's start_code).
    /// `program` is the file that runs, whether it is placed or not.
    pub fn load_program_from(&mut self, program: &Path, start: u64) {
        let index = self.files.iter().position(|file| same_file(&file.path, program));
        if let Some(index) = index
            && let Some(first) = self.files[index].elf.first_executable()
        {
            self.load(index, start.wrapping_sub(first));
        }
    }

    /// Takes a mapping of `path`, from `file_offset` on, at `start`..`end`. Files that cannot be read
    /// or are not to be placed are skipped.
    ///
    /// # Errors
    /// If the library cannot be placed behind the others.
    pub fn file_mapped(
        &mut self,
        path: &Path,
        file_offset: u64,
        start: u64,
        end: u64,
    ) -> Result<()> {
        let known = self.files.iter().position(|file| same_file(&file.path, path));
        let index = match known {
            Some(index) if self.files[index].bias.is_some() => return Ok(()),
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
        if self.files[index].bias.is_some() {
            return;
        }
        self.files[index].bias = Some(bias);
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

    /// Finds the byte at `address` in flash; `None` outside the placed code.
    #[inline]
    pub fn locate(&self, address: u64) -> Option<FlashLocation> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        let range = self.ranges[..after].last().filter(|range| address < range.end)?;
        Some(FlashLocation {
            offset: range.offset + (address - range.start) as u32,
            bytes: (range.end - address).min(u32::MAX.into()) as u32,
        })
    }

    /// Reads the bytes of all loaded sections, by ascending address. A section without bytes in its
    /// file is left out.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn placed_code(&self) -> Result<Vec<PlacedCode>> {
        let mut code = Vec::new();
        for (file, image) in self.files.iter().zip(&self.images) {
            let contents = read_bytes(&file.path)?;
            let thumb = ElfFile::thumb_code(&contents);
            for section in &image.sections {
                let range = self.ranges.iter().find(|range| range.offset == section.offset);
                if let (Some(range), Some(bytes)) =
                    (range, ElfFile::section_bytes(&contents, section))
                {
                    let bias = range.start.wrapping_sub(section.address);
                    let of_section =
                        |(start, thumb): &(u64, bool)| (start.wrapping_add(bias), *thumb);
                    let thumb = thumb.iter().map(of_section).collect();
                    code.push(PlacedCode { start: range.start, bytes: bytes.to_vec(), thumb });
                }
            }
        }
        code.sort_by_key(|code| code.start);
        Ok(code)
    }

    /// Reads the bytes of all executable sections of the loaded files, placed or not, by ascending
    /// address.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn executable_code(&self) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut code = Vec::new();
        for (file, image) in self.files.iter().zip(&self.images) {
            let bias = image.sections.iter().find_map(|section| {
                let range = self.ranges.iter().find(|range| range.offset == section.offset)?;
                Some(range.start.wrapping_sub(section.address))
            });
            let Some(bias) = bias else { continue };
            for (address, bytes) in ElfFile::executable_code(&read_bytes(&file.path)?) {
                code.push((address.wrapping_add(bias), bytes));
            }
        }
        code.sort_by_key(|(address, _)| *address);
        Ok(code)
    }

    /// Returns true if code is placed by files, and not by addresses.
    pub fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Returns the linked address of the byte at a run-time `address`, as if it were of the first
    /// file.
    pub fn linked(&self, address: u64) -> u64 {
        let bias = self.files.first().and_then(|file| file.bias);
        address.wrapping_sub(bias.unwrap_or(0))
    }

    /// Returns the code of the first file that is not placed.
    pub fn unplaced(&self) -> UnplacedCode {
        match (self.files.first(), self.images.first()) {
            (Some(file), Some(image)) => UnplacedCode {
                functions: file.elf.names_outside(&image.sections),
                sections: file.elf.code_outside(&image.sections),
            },
            _ => UnplacedCode::default(),
        }
    }

    /// Size of the flash image in bytes.
    pub fn image_bytes(&self) -> u64 {
        self.end
    }

    /// Returns true if images may still be added.
    pub fn places_libraries(&self) -> bool {
        self.options.with_libraries
    }

    /// The images placed so far.
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// Returns the functions of an image under all of their names. The image itself keeps one name of
    /// each.
    pub fn functions(&self, image: usize) -> Vec<Symbol> {
        let (elf, sections) = (&self.files[image].elf, &self.images[image].sections);
        elf.names_in(sections)
    }

    /// Returns the images for the description of the trace.
    pub fn into_images(self) -> Vec<Image> {
        self.images
    }
}

/// Returns `path` relative to the current folder if it lies below it: traces are copied elsewhere.
pub fn short(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).to_owned()
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
