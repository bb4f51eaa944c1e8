//! Laying out methods anew: a trace of movable methods becomes the trace that
//! the same execution has when they lie in another order.
//!
//! As the CARDIS paper's image (section 5.2, and 6.3 of its draft), methods lie one
//! right behind another by the names of their classes, then as in the class.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::methods::{BYTECODE, METHOD_COMPONENT, image};
use super::{Image, Symbol};
use crate::error::{Error, Result};
use crate::trace::{Run, RunBuilder, TraceFile, TraceInfo, TraceWriter, for_runs};

/// Which methods the image holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Those of which something was executed, as after a ROMizer.
    #[default]
    Used,
    /// All that are known.
    All,
}

/// How methods are laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// Which are there.
    pub keep: Keep,
    /// Methods, or classes for all their methods, in the order in which they go to
    /// flash before all others; `*` stands for any characters. A method may stand
    /// without its parameters.
    pub order: Vec<String>,
}

impl Arrangement {
    /// The numbers of `symbols` in the order in which they lie in flash.
    fn of(&self, symbols: &[Symbol], used: &[bool]) -> Vec<usize> {
        let kept = |number: &usize| self.keep == Keep::All || used[*number];
        let mut placed: Vec<(usize, usize)> = (0..symbols.len())
            .filter(kept)
            .map(|number| {
                let name = &symbols[number].name;
                let line = self.order.iter().position(|line| names(line, name));
                (line.unwrap_or(self.order.len()), number)
            })
            .collect();
        placed.sort_by(|(line_a, a), (line_b, b)| {
            let classes = || class(&symbols[*a].name).cmp(class(&symbols[*b].name));
            line_a.cmp(line_b).then_with(classes).then(a.cmp(b))
        });
        placed.into_iter().map(|(_, number)| number).collect()
    }
}

/// `com.acme.Radio.send` of `com.acme.Radio.send(int)`.
fn without_parameters(method: &str) -> &str {
    method.split_once('(').map_or(method, |(name, _)| name)
}

/// `com.acme.Radio` of `com.acme.Radio.send(int)`.
fn class(method: &str) -> &str {
    without_parameters(method).rsplit_once('.').map_or("", |(class, _)| class)
}

/// Whether a line of an order means `method`.
fn names(line: &str, method: &str) -> bool {
    [method, without_parameters(method), class(method)].iter().any(|name| matches(line, name))
}

/// Whether a line of an order means a method of `images`.
pub fn names_one_of(line: &str, images: &[Image]) -> bool {
    images.iter().flat_map(|image| &image.symbols).any(|symbol| names(line, &symbol.name))
}

/// Whether `name` is `pattern`, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or("");
    for piece in pieces {
        let Some(at) = name.find(piece) else { return false };
        name = &name[at + piece.len()..];
    }
    name.ends_with(end)
}

/// Where the methods of one image lie, before and after.
struct Move<'a> {
    /// What lies below stays.
    given_bytes: u32,
    /// What can move: by offset, none over another.
    symbols: &'a [Symbol],
    /// The new offset of each; methods that are not placed have none.
    offsets: Vec<Option<u32>>,
    /// Runs inside one method, found before.
    known: FxHashMap<Run, Run>,
    place: String,
}

impl Move<'_> {
    fn owner(&self, offset: u32) -> Result<usize> {
        owner(self.symbols, offset).ok_or_else(|| {
            Error::data(&self.place, format!("the code at {offset:#x} belongs to no method"))
        })
    }

    /// Hand out the pieces of `run` at their new places.
    fn pieces(&mut self, run: Run, mut take: impl FnMut(Run) -> Result<()>) -> Result<()> {
        if let Some(moved) = self.known.get(&run) {
            return take(*moved);
        }
        let mut at = run.offset;
        if at < self.given_bytes {
            let length = run.end().min(self.given_bytes) - at;
            take(Run { offset: at, length })?;
            at += length;
        }
        while at < run.end() {
            let number = self.owner(at)?;
            let symbol = &self.symbols[number];
            let length = (symbol.offset + symbol.bytes).min(run.end()) - at;
            let start = self.offsets[number].ok_or_else(|| {
                Error::data(&self.place, format!("{} is executed and not placed", symbol.name))
            })?;
            let moved = Run { offset: start + (at - symbol.offset), length };
            if length == run.length {
                self.known.insert(run, moved);
            }
            take(moved)?;
            at += length;
        }
        Ok(())
    }
}

fn owner(symbols: &[Symbol], offset: u32) -> Option<usize> {
    let after = symbols.partition_point(|symbol| symbol.offset <= offset);
    let number = after.checked_sub(1)?;
    let symbol = &symbols[number];
    (offset - symbol.offset < symbol.bytes).then_some(number)
}

/// The one image of `info` if it has methods that can be moved, how many of its bytes stay,
/// and how many symbols these are.
fn movable<'a>(path: &Path, info: &'a TraceInfo) -> Result<(&'a Image, u32, usize)> {
    let refused = |what: &str| Err(Error::data(path.display().to_string(), what));
    let [image] = info.images.as_slice() else {
        return refused("has no single image of methods: only recorded Java can be arranged");
    };
    let section = |name: &str| image.sections.iter().find(|section| section.name == name);
    let given_bytes = section(METHOD_COMPONENT).map_or(0, |section| section.bytes);
    let known = [BYTECODE, METHOD_COMPONENT];
    let all_known = image.sections.iter().all(|section| known.contains(&section.name.as_str()));
    if section(BYTECODE).is_none() || !all_known {
        return refused(
            "holds code that its file has laid out: change the order there (linker, CAP file) and \
             record it again; only Java bytecode can be arranged",
        );
    }
    let given = image.symbols.partition_point(|symbol| symbol.offset < given_bytes);
    let mut free = given_bytes;
    for symbol in &image.symbols[given..] {
        let end = symbol.offset.checked_add(symbol.bytes);
        free = match end.filter(|_| symbol.offset >= free) {
            Some(end) => end,
            None => return refused("has methods that lie over each other"),
        };
    }
    Ok((image, given_bytes, given))
}

/// Write each trace of `files` (from, to) with its methods laid out as
/// `arrangement` says; a file may be written over itself. All are of one execution:
/// what one of them uses is placed for all. Gives their descriptions. `go_on` as
/// in [`crate::trace::blocks::BlockStatistics::of`].
///
/// # Errors
/// When a file cannot be read or written, or holds code that cannot be moved.
pub fn arrange(
    files: &[(PathBuf, PathBuf)],
    arrangement: &Arrangement,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<TraceInfo>> {
    let traces: Vec<TraceFile> =
        files.iter().map(|(from, _)| TraceFile::open(from)).collect::<Result<_>>()?;
    let Some(first) = traces.first() else { return Ok(Vec::new()) };
    let (old, given_bytes, given) = movable(first.path(), first.info())?;
    if let Some(other) = traces.iter().find(|trace| trace.info().images != first.info().images) {
        let what = format!("is of another execution than {}", first.path().display());
        return Err(Error::data(other.path().display().to_string(), what));
    }
    let symbols = &old.symbols[given..];
    let mut used = vec![false; symbols.len()];
    for trace in &traces {
        for_runs(trace, go_on, |runs| {
            for run in runs {
                // A run may go from one method into the one behind it.
                let mut at = run.offset.max(given_bytes);
                while let Some(number) = owner(symbols, at).filter(|_| at < run.end()) {
                    used[number] = true;
                    at = symbols[number].offset + symbols[number].bytes;
                }
            }
            Ok(())
        })?;
    }
    let mut offsets = vec![None; symbols.len()];
    let mut placed = old.symbols[..given].to_vec();
    let mut end = given_bytes;
    for number in arrangement.of(symbols, &used) {
        offsets[number] = Some(end);
        placed.push(Symbol { offset: end, ..symbols[number].clone() });
        end += symbols[number].bytes;
    }
    let new = image(&old.path, given_bytes, end, placed);
    let known = FxHashMap::default();
    let mut moved = Move { given_bytes, symbols, offsets, known, place: String::new() };
    let mut infos = Vec::new();
    for (trace, (_, to)) in traces.iter().zip(files) {
        moved.place = trace.path().display().to_string();
        let mut writer = TraceWriter::create(to, false)?;
        rewrite(trace, &mut moved, &mut writer, go_on)?;
        let mut info = trace.info().clone();
        info.images = vec![new.clone()];
        info.image_bytes = u64::from(end);
        infos.push(writer.finish(info)?);
    }
    Ok(infos)
}

fn rewrite(
    trace: &TraceFile,
    moved: &mut Move<'_>,
    writer: &mut TraceWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<()> {
    let mut builder = RunBuilder::default();
    let mut before = None;
    for_runs(trace, go_on, |runs| {
        for &run in runs {
            // Something outside the image lies between runs that would else be one.
            if before == Some(run.offset)
                && let Some(run) = builder.cut()
            {
                writer.push(run)?;
            }
            before = Some(run.end());
            moved.pieces(run, |piece| match builder.push(piece) {
                Some(run) => writer.push(run),
                None => Ok(()),
            })?;
        }
        Ok(())
    })?;
    builder.cut().map_or(Ok(()), |run| writer.push(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_methods_classes_and_patterns() {
        let method = "com.acme.Radio.send(int,byte[])";
        for line in ["com.acme.Radio", "com.acme.Radio.send", method, "com.*", "*.send*", "*"] {
            assert!(names(line, method), "{line}");
        }
        for line in ["com.acme", "com.acme.Radio.s", "acme.*", "*.send(int)", "", "com.acme.*x"] {
            assert!(!names(line, method), "{line}");
        }
    }
}
