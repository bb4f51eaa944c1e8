//! Laying out methods: a trace of movable methods becomes the trace of the same execution with
//! the methods in another order.
//!
//! As in the image of the CARDIS paper (section 5.2, and 6.3 of its draft), methods lie one
//! directly behind another, sorted by the names of their classes and then as in the class.

use std::path::Path;

use flashpager_base::{Error, Result, named};
use flashpager_trace::file::PendingTraceFile;
use flashpager_trace::{
    Image, MAX_IMAGE_BYTES, Relocation, RelocationError, Relocations, Symbol, TraceFile, TraceInfo,
    TraceWriter, for_runs,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bytecode::{BYTECODE, METHOD_COMPONENT, image};

/// The methods that the image holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptMethods {
    /// Methods of which something was executed, as a ROMizer leaves them.
    #[default]
    Used,
    /// All known methods.
    All,
}

named! {
    KeptMethods: "unknown choice of methods to keep",
    "used" => Used,
    "all" => All,
}

/// The layout of methods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodArrangement {
    /// The methods that are kept.
    pub keep: KeptMethods,
    /// Methods, or classes for all their methods, in the order in which they are placed before all
    /// others. `*` stands for any characters. A method may be given without its parameters.
    pub order: Vec<String>,
}

impl MethodArrangement {
    /// Returns the indices of `symbols` in the order in which they are placed. `used` states which
    /// are executed.
    fn of(&self, symbols: &[Symbol], used: &[bool]) -> Vec<usize> {
        let (patterns, exact): (Vec<_>, Vec<_>) =
            self.order.iter().enumerate().partition(|(_, line)| line.contains('*'));
        // The first of equal lines counts.
        let exact: FxHashMap<&str, usize> =
            exact.into_iter().rev().map(|(rank, line)| (line.as_str(), rank)).collect();
        let rank = |method: &str| {
            let named = names(method).filter_map(|name| exact.get(name).copied());
            let mut matched = patterns.iter().filter(|(_, line)| selects(line, method));
            named.chain(matched.next().map(|(rank, _)| *rank)).min().unwrap_or(self.order.len())
        };
        let kept = |number: &usize| self.keep == KeptMethods::All || used[*number];
        let mut placed: Vec<(usize, usize)> = (0..symbols.len())
            .filter(kept)
            .map(|number| (rank(&symbols[number].name), number))
            .collect();
        placed.sort_by(|(line_a, a), (line_b, b)| {
            let classes = || class(&symbols[*a].name).cmp(class(&symbols[*b].name));
            line_a.cmp(line_b).then_with(classes).then(a.cmp(b))
        });
        placed.into_iter().map(|(_, number)| number).collect()
    }
}

/// Returns `com.acme.Radio.send` for `com.acme.Radio.send(int)`.
fn without_parameters(method: &str) -> &str {
    method.split_once('(').map_or(method, |(name, _)| name)
}

/// Returns `com.acme.Radio` for `com.acme.Radio.send(int)`.
fn class(method: &str) -> &str {
    without_parameters(method).rsplit_once('.').map_or("", |(class, _)| class)
}

/// The names by which a line of an order selects a method: its full name, its name without
/// parameters, its class, and the classes around that one.
fn names(method: &str) -> impl Iterator<Item = &str> {
    let class = class(method);
    let outer = class.rmatch_indices('$').map(move |(at, _)| &class[..at]);
    [method, without_parameters(method), class].into_iter().chain(outer)
}

/// Returns true if a line of an order selects `method`.
fn selects(line: &str, method: &str) -> bool {
    names(method).any(|name| matches(line, name))
}

/// Returns the lines of an order that select no method of `images`. The search stops when
/// `should_continue` returns false.
///
/// # Errors
/// [`Error::Interrupted`] if the callback ends the work.
pub fn unknown<'a>(
    order: &'a [String],
    images: &[Image],
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<&'a str>> {
    let methods: Vec<&str> =
        images.iter().flat_map(|image| &image.symbols).map(|symbol| symbol.name.as_str()).collect();
    let known: FxHashSet<&str> = methods.iter().flat_map(|method| names(method)).collect();
    let mut unknown = Vec::new();
    for line in order {
        if !should_continue() {
            return Err(Error::Interrupted);
        }
        let pattern = line.contains('*') && methods.iter().any(|method| selects(line, method));
        if !pattern && !known.contains(line.as_str()) {
            unknown.push(line.as_str());
        }
    }
    Ok(unknown)
}

/// Returns true if `name` matches `pattern`, in which `*` stands for any characters.
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

/// Tells for each of `symbols` whether `files` execute something of it.
fn used(
    files: &[MethodTrace<'_>],
    symbols: &[Symbol],
    given_bytes: u32,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<bool>> {
    // Difference between the numbers of runs that cover a method and the one before it.
    let mut covering = vec![0i64; symbols.len() + 1];
    for file in files {
        for_runs(file.trace, should_continue, |runs| {
            for run in runs {
                let first = owner(symbols, run.offset.max(given_bytes));
                let last = owner(symbols, run.last());
                if let (Some(first), Some(last)) = (first, last) {
                    covering[first] += 1;
                    covering[last + 1] -= 1;
                }
            }
            Ok(())
        })?;
    }
    let mut cover = 0;
    let covered = covering[..symbols.len()].iter().map(|change| {
        cover += change;
        cover > 0
    });
    Ok(covered.collect())
}

/// The index of the symbol that the byte at `offset` belongs to.
fn owner(symbols: &[Symbol], offset: u32) -> Option<usize> {
    let after = symbols.partition_point(|symbol| symbol.offset <= offset);
    let number = after.checked_sub(1)?;
    let symbol = &symbols[number];
    (offset - symbol.offset < symbol.bytes).then_some(number)
}

/// Returns the only image of `info`, which must have movable methods, the number of its bytes that
/// stay, and the number of symbols in these.
fn movable<'a>(path: &Path, info: &'a TraceInfo) -> Result<(&'a Image, u32, usize)> {
    let refused = |message: &str| Err(Error::data(path.display().to_string(), message));
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
             record it again; only Java bytecode can be arranged, and what was linked by its map \
             (--map)",
        );
    }
    let given = image.symbols.partition_point(|symbol| symbol.offset < given_bytes);
    let mut free = u64::from(given_bytes);
    for symbol in &image.symbols[given..] {
        if u64::from(symbol.offset) < free || symbol.end() > MAX_IMAGE_BYTES {
            return refused("has methods that lie over each other");
        }
        free = symbol.end();
    }
    Ok((image, given_bytes, given))
}

/// Writes `trace` to `output` with its methods laid out by `arrangement`. Returns its description.
/// The function stops when `should_continue` returns false.
///
/// # Errors
/// If a file cannot be read or written, or holds code that cannot be moved. [`Error::Interrupted`]
/// if the callback ends the work.
pub fn arrange_file(
    trace: &Path,
    output: &Path,
    arrangement: &MethodArrangement,
    should_continue: &dyn Fn() -> bool,
) -> Result<TraceInfo> {
    let traces = [TraceFile::open(trace)?];
    let files = [MethodTrace { trace: &traces[0], known_as: trace, output }];
    let mut written = arrange(&files, arrangement, should_continue)?;
    match written.pop() {
        Some(trace) => trace.publish(),
        None => Err(Error::Interrupted),
    }
}

/// A trace whose methods are to be laid out.
pub struct MethodTrace<'a> {
    /// The trace, which may not have its name yet.
    pub trace: &'a TraceFile,
    /// Its name in errors.
    pub known_as: &'a Path,
    /// The file to write.
    pub output: &'a Path,
}

/// Lays the methods out in all traces of one execution, which share an image. A method that one of
/// them uses is placed for all. The function stops when `should_continue` returns false.
///
/// # Errors
/// If a file cannot be read or written, or holds code that cannot be moved. [`Error::Interrupted`]
/// if the callback ends the work.
pub fn arrange(
    files: &[MethodTrace<'_>],
    arrangement: &MethodArrangement,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<PendingTraceFile>> {
    let Some(first) = files.first() else { return Ok(Vec::new()) };
    for file in files {
        let place = file.known_as.display().to_string();
        file.trace.info().refuse_gaps(&place)?;
        file.trace.info().refuse_reads(&place, "another order")?;
    }
    let (old, given_bytes, given) = movable(first.known_as, first.trace.info())?;
    let symbols = &old.symbols[given..];
    let used = used(files, symbols, given_bytes, should_continue)?;
    let mut offsets = vec![None; symbols.len()];
    let mut placed = old.symbols[..given].to_vec();
    let mut end = u64::from(given_bytes);
    for number in arrangement.of(symbols, &used) {
        let offset = end as u32;
        offsets[number] = Some(offset);
        placed.push(Symbol { offset, ..symbols[number].clone() });
        end += u64::from(symbols[number].bytes);
    }
    let given = Relocation { from: 0, bytes: given_bytes, to: Some(0) };
    let methods = symbols.iter().zip(offsets);
    let methods =
        methods.map(|(symbol, to)| Relocation { from: symbol.offset, bytes: symbol.bytes, to });
    let relocations = Some(given).filter(|given| given.bytes > 0).into_iter().chain(methods);
    let relocations = Relocations::new(relocations.collect());
    let new = image(&old.path, given_bytes, end, placed);
    let mut written = Vec::new();
    for file in files {
        let refused = |not_placed| {
            let message = match not_placed {
                RelocationError::Uncovered(at) => {
                    format!("the code at {at:#x} belongs to no method")
                }
                RelocationError::Dropped(at) => {
                    format!("the code at {at:#x} is executed and not placed")
                }
            };
            Error::data(file.known_as.display().to_string(), message)
        };
        let mut writer = TraceWriter::create(file.output, false)?;
        writer.add_symbols(&new.symbols);
        relocations.rewrite(file.trace, &mut writer, &refused, should_continue)?;
        let mut info = file.trace.info().clone();
        info.images = vec![new.clone()];
        info.image_bytes = end;
        written.push(writer.close(info)?);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_methods_classes_and_patterns() {
        let method = "com.acme.Radio$Link.send(int,byte[])";
        let class = "com.acme.Radio$Link";
        let named = ["com.acme.Radio$Link.send", class, "com.acme.Radio", method];
        for line in named.into_iter().chain(["com.*", "*.send*", "*Link", "*"]) {
            assert!(selects(line, method), "{line}");
        }
        for line in [
            "com.acme",
            "com.acme.Radio$Link.s",
            "com.acme.Rad",
            "acme.*",
            "*.send(int)",
            "",
            "com.acme.*x",
        ] {
            assert!(!selects(line, method), "{line}");
        }
    }
}
