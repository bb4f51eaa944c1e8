//! The owner of each byte of the flash image.

use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::PathBuf;

use flashpager_base::{Error, Result, named};
use flashpager_binary::binaries::Binaries;
use flashpager_binary::elf::is_unnamed;
use flashpager_binary::lines::SourceLines;
use flashpager_binary::names::{bounded, demangled, file_name};
use flashpager_trace::{Image, Run, Symbol, TraceInfo};
use serde::Serialize;

/// The owners by which faults are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// Functions, and other named pieces of code.
    Symbol,
    /// Lines of source, by the DWARF line table.
    Line,
    /// Files.
    Image,
}

named! {
    GroupBy: "faults cannot be attributed by",
    "symbol" => Symbol,
    "line" => Line,
    "image" => Image,
}

/// The kind of an owner, with indices into the images. If several own a byte, the last kind in this
/// order has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OwnerKind {
    Nobody,
    Image { image: usize },
    Section { image: usize, section: usize },
    Symbol { image: usize, symbol: usize },
    Line { image: usize, line: usize },
}

/// Bytes that an owner claims.
struct Claim {
    bytes: Range<u64>,
    kind: OwnerKind,
}

/// The description of code that owns bytes of the flash image.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnerInfo {
    /// The symbol as its language writes it, `file:line`, or the image.
    pub name: String,
    /// The function around a line, the innermost if it was inlined; `None` for other owners.
    pub function: Option<String>,
    /// The source file of a line; `None` for other owners.
    pub file: Option<String>,
    /// The number of a line; `None` for other owners.
    pub line: Option<u32>,
    /// The file that the code comes from; empty if the trace does not name it.
    pub image: String,
    /// Flash offset of the first byte.
    pub offset: u32,
    /// Bytes of code, executed or not.
    pub code_bytes: u64,
}

/// The bytes of one owner.
struct OwnerExtent {
    kind: OwnerKind,
    offset: u32,
    code_bytes: u64,
}

/// The owner of every byte of a flash image.
pub struct Owners {
    by: GroupBy,
    images: Vec<Image>,
    /// The line tables of each image; empty unless owners are grouped by [`GroupBy::Line`].
    lines: Vec<SourceLines>,
    /// (first byte, index of the owner), ascending from 0: each span ends where the next begins.
    spans: Vec<(u32, u32)>,
    owners: Vec<OwnerExtent>,
}

impl Owners {
    /// The owners of the first `image_bytes` of the image that `info` describes. Notes name what
    /// was not found.
    ///
    /// # Errors
    /// If a file of `elfs` belongs to no image, or lines are requested and no image has any.
    pub fn of(
        info: &TraceInfo,
        image_bytes: u64,
        by: GroupBy,
        elfs: &[PathBuf],
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let mut images = info.images.clone();
        let binaries = Binaries::of(&images, elfs)?;
        for (index, image) in images.iter_mut().enumerate() {
            image.symbols = binaries.symbols(index, image);
            image.symbols.sort_by_key(|symbol| symbol.offset);
        }
        if images.is_empty() && by != GroupBy::Image {
            notes.push("the trace names no program, so there are no symbols in it".into());
        }
        let lines =
            if by == GroupBy::Line { lines(&images, &binaries, notes)? } else { Vec::new() };
        let mut owners = Self { by, images, lines, spans: Vec::new(), owners: Vec::new() };
        owners.settle(owners.claims(image_bytes), image_bytes);
        Ok(owners)
    }

    /// The claims of all owners.
    fn claims(&self, image_bytes: u64) -> Vec<Claim> {
        let mut claims = vec![Claim { bytes: 0..image_bytes, kind: OwnerKind::Nobody }];
        for (image, about) in self.images.iter().enumerate() {
            claims.push(Claim {
                bytes: about.offset.into()..about.end(),
                kind: OwnerKind::Image { image },
            });
            if self.by == GroupBy::Image {
                continue;
            }
            for (section, about) in about.sections.iter().enumerate() {
                claims.push(Claim {
                    bytes: about.offset.into()..about.end(),
                    kind: OwnerKind::Section { image, section },
                });
            }
            for (symbol, bytes) in reaches(about).into_iter().enumerate() {
                claims.push(Claim { bytes, kind: OwnerKind::Symbol { image, symbol } });
            }
        }
        for (image, about) in self.lines.iter().enumerate() {
            let spans = about.spans.iter();
            claims.extend(spans.map(|(bytes, line)| Claim {
                bytes: bytes.clone(),
                kind: OwnerKind::Line { image, line: *line },
            }));
        }
        claims.retain(|claim| !claim.bytes.is_empty());
        claims
    }

    /// Gives each byte to the last kind that claims it, and of one kind to the claim that begins last:
    /// the innermost one if they nest.
    fn settle(&mut self, mut claims: Vec<Claim>, image_bytes: u64) {
        claims.sort_by_key(|claim| (claim.bytes.start, claim.kind));
        let rank = |kind| match kind {
            OwnerKind::Nobody => 0,
            OwnerKind::Image { .. } => 1,
            OwnerKind::Section { .. } => 2,
            OwnerKind::Symbol { .. } => 3,
            OwnerKind::Line { .. } => 4,
        };
        let mut known = std::collections::BTreeMap::<OwnerKind, u32>::new();
        let mut open = BinaryHeap::new();
        let (mut at, mut next) = (0_u64, 0);
        while at < image_bytes {
            while let Some(claim) = claims.get(next).filter(|claim| claim.bytes.start <= at) {
                open.push((rank(claim.kind), claim.bytes.start, next));
                next += 1;
            }
            let Some(claim) = open.peek().map(|(_, _, index)| &claims[*index]) else { return };
            if claim.bytes.end <= at {
                open.pop();
                continue;
            }
            let until = claims.get(next).map_or(image_bytes, |claim| claim.bytes.start);
            let until = until.min(claim.bytes.end).min(image_bytes);
            let owner = *known.entry(claim.kind).or_insert_with(|| {
                self.owners.push(OwnerExtent {
                    kind: claim.kind,
                    offset: at as u32,
                    code_bytes: 0,
                });
                self.owners.len() as u32 - 1
            });
            self.owners[owner as usize].code_bytes += until - at;
            if self.spans.last().is_none_or(|(_, last)| *last != owner) {
                self.spans.push((at as u32, owner));
            }
            at = until;
        }
    }

    /// Number of owners.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Index of the owner of the byte at `offset`, which lies in the image.
    pub fn of_byte(&self, offset: u32) -> usize {
        self.spans[self.span(offset)].1 as usize
    }

    /// Calls `take` with the index of each owner of bytes of `run` and the number of bytes that it
    /// owns there.
    pub fn of_run(&self, run: Run, mut take: impl FnMut(usize, u64)) {
        let (mut at, end) = (u64::from(run.offset), run.end());
        let mut span = self.span(run.offset);
        while at < end {
            let next = self.spans.get(span + 1);
            let until = next.map_or(end, |(start, _)| end.min(u64::from(*start)));
            take(self.spans[span].1 as usize, until - at);
            at = until;
            span += 1;
        }
    }

    /// Index of the span of a byte.
    fn span(&self, offset: u32) -> usize {
        self.spans.partition_point(|(start, _)| *start <= offset) - 1
    }

    /// The image of an owner of code that no symbol names; `None` for other owners.
    pub fn nameless_in(&self, owner: usize) -> Option<String> {
        match self.owners[owner].kind {
            OwnerKind::Section { image, .. } => Some(file_name(&self.images[image].path)),
            OwnerKind::Symbol { image, symbol } => {
                let image = &self.images[image];
                is_unnamed(&image.symbols[symbol].name).then(|| file_name(&image.path))
            }
            _ => None,
        }
    }

    /// The description of an owner.
    pub fn info(&self, owner: usize) -> OwnerInfo {
        let OwnerExtent { kind, offset, code_bytes } = self.owners[owner];
        let info = OwnerInfo {
            name: String::new(),
            function: None,
            file: None,
            line: None,
            image: String::new(),
            offset,
            code_bytes,
        };
        let path = |image: usize| bounded(&self.images[image].path);
        match kind {
            OwnerKind::Nobody if self.by == GroupBy::Image => {
                OwnerInfo { name: "(no file)".into(), ..info }
            }
            OwnerKind::Nobody => OwnerInfo { name: "(no symbol)".into(), ..info },
            OwnerKind::Image { image } if self.by == GroupBy::Image => {
                OwnerInfo { name: path(image), image: path(image), ..info }
            }
            OwnerKind::Image { image } => OwnerInfo {
                name: format!("(no section) of {}", file_name(&self.images[image].path)),
                image: path(image),
                ..info
            },
            OwnerKind::Section { image, section } => {
                let about = &self.images[image];
                let section = bounded(&about.sections[section].name);
                let name = format!("{section} of {}", file_name(&about.path));
                OwnerInfo { name, image: path(image), ..info }
            }
            OwnerKind::Symbol { image, symbol } => {
                let name = demangled(&self.images[image].symbols[symbol].name);
                if self.by == GroupBy::Line {
                    let function = Some(name);
                    OwnerInfo { name: "(no line)".into(), function, image: path(image), ..info }
                } else {
                    OwnerInfo { name, image: path(image), ..info }
                }
            }
            OwnerKind::Line { image, line } => {
                let about = &self.lines[image].lines[line];
                OwnerInfo {
                    name: format!("{}:{}", file_name(&about.file), about.line),
                    function: about.function.as_deref().map(str::to_owned),
                    file: Some(about.file.to_string()),
                    line: Some(about.line),
                    image: path(image),
                    ..info
                }
            }
        }
    }
}

/// The line table of each image. An image without one has an empty table and a note.
///
/// # Errors
/// If no image has a line table.
fn lines(
    images: &[Image],
    binaries: &Binaries,
    notes: &mut Vec<String>,
) -> Result<Vec<SourceLines>> {
    let by_image: Vec<Result<SourceLines>> =
        (0..images.len()).map(|image| binaries.lines(image, &images[image])).collect();
    if by_image.iter().all(Result::is_err) {
        let none = || Error::design("the trace names no program, so there are no lines to it");
        return Err(by_image.into_iter().find_map(Result::err).unwrap_or_else(none));
    }
    Ok(by_image
        .into_iter()
        .map(|lines| {
            lines.unwrap_or_else(|reason| {
                notes.push(format!("by symbol only: {reason}"));
                SourceLines::default()
            })
        })
        .collect())
}

/// The bytes of each symbol. A symbol of unknown length reaches to the next symbol or to the end of
/// its section.
fn reaches(image: &Image) -> Vec<Range<u64>> {
    let reach = |index: usize, symbol: &Symbol| {
        if symbol.bytes > 0 {
            return symbol.offset.into()..symbol.end();
        }
        let behind = &image.symbols[index..];
        let next = behind.partition_point(|other| other.offset <= symbol.offset);
        let section = image.sections.iter().find_map(|section| {
            let holds = symbol.offset >= section.offset && u64::from(symbol.offset) < section.end();
            holds.then(|| section.end())
        });
        let end = section.unwrap_or(image.end());
        symbol.offset.into()..behind.get(next).map_or(end, |other| end.min(other.offset.into()))
    };
    image.symbols.iter().enumerate().map(|(index, symbol)| reach(index, symbol)).collect()
}
