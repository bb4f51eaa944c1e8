//! An upper bound of the misses of one call of a function, from any state of the cache.
//!
//! The bound holds for each way through the [code graph](flashpager_reach::CodeGraph) of the function
//! and of all that it calls on which no loop runs more often than stated. Interrupts during the call
//! and data reads are not in it. `docs/model.md` has the definitions.

mod cached;
mod loops;
mod must;
mod paths;
mod recorded;
mod unfold;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use flashpager_base::{Error, Result, shown};
use flashpager_binary::binaries::Binaries;
use flashpager_reach::{CodeGraph, Exit, code_graph};
use flashpager_trace::{Image, Run, Trace, TraceInfo};
use serde::Serialize;

use crate::design::Design;
use cached::{CacheShape, References};
use loops::Loops;
use paths::{HeadLimit, most_misses};
use recorded::{LoopKey, PlacedGraph, RecordedCalls};
use unfold::Unfolded;

/// A question about the calls of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundRequest {
    /// The function.
    pub function: String,
    /// ELF files of the recorded images.
    pub elfs: Vec<PathBuf>,
    /// Targets of indirect calls: the address of the call or the function that holds it, and names of
    /// functions.
    pub targets: Vec<(String, Vec<String>)>,
    /// Limits on loops: the place of a loop, as `crc+0x12`, and the most executions of its heads for
    /// each entry. `None` takes those of the trace.
    pub loops: Option<Vec<(String, u64)>>,
    /// True to take the trace's most executions of each loop in a call, too.
    pub has_totals: bool,
}

/// A loop in the code of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoopBound {
    /// The function and the offset of the loop's first head in it, as `crc+0x12`.
    pub place: String,
    /// The linked address of the first head.
    pub address: u64,
    /// Most executions of the heads for each entry of the loop.
    pub iterations: u64,
    /// Most executions of the heads in one call, if the bound is limited by it.
    pub in_call: Option<u64>,
}

/// A cache set to which the code of a call has more lines than ways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverfullSet {
    /// The number of the set.
    pub set: u32,
    /// Number of lines in it.
    pub lines: u32,
    /// Names of functions with code in these lines.
    pub functions: Vec<String>,
}

/// The misses of one call of a function at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallBound {
    /// The function, as in the request.
    pub function: String,
    /// Upper bound of the misses of a call, from any state of the cache.
    pub misses: u64,
    /// Number of recorded calls that were followed.
    pub calls: u64,
    /// Recorded calls that were not followed to their end: an interrupt came, they ran code in RAM
    /// that calls code in flash, or the trace ended.
    pub unfollowed_calls: u64,
    /// Most misses of a recorded call if the cache is empty before it; `None` if none was followed.
    pub first_call_misses: Option<u64>,
    /// Number of functions in the code of a call.
    pub functions: u64,
    /// Number of cache lines with code of a call.
    pub lines: u64,
    /// Number of ways of a set.
    pub ways: u32,
    /// True if the limits on loops are the trace's.
    pub has_recorded_loops: bool,
    /// The loops.
    pub loops: Vec<LoopBound>,
    /// The sets with more lines than ways, the fullest first.
    pub overfull: Vec<OverfullSet>,
    /// Functions in RAM, whose code needs no line.
    pub in_ram: Vec<String>,
}

/// Returns the bound of a function's calls with the cache of `design`. The code lies where the trace
/// has it.
///
/// # Errors
/// If the analysis does not cover the design, the trace has data reads, the code is not known
/// completely, calls itself or has a loop without a limit. [`Error::Interrupted`] if
/// `should_continue` returned false.
pub fn call_bound(
    trace: &dyn Trace,
    info: &TraceInfo,
    design: &Design,
    request: &BoundRequest,
    should_continue: &dyn Fn() -> bool,
) -> Result<CallBound> {
    let shape = shape_of(design)?;
    if info.reads > 0 {
        let message = format!(
            "holds {} data reads, which go through the same cache, and the bound is for code alone: \
             record it with --no-reads",
            info.reads
        );
        return Err(Error::data(shown(&info.program), message));
    }
    if !info.warm_up.is_none() {
        return Err(Error::design("a bound is for all calls: leave the warm-up out"));
    }
    let binaries = Binaries::of(&info.images, &request.elfs)?;
    let image = image_of(info, &binaries, &request.function)?;
    let about = &info.images[image];
    let bytes = binaries.bytes(image, about)?;
    let targets = &request.targets;
    let graph =
        code_graph(&bytes, &shown(&about.path), &request.function, targets, should_continue)?;
    let loops: Vec<Loops> = graph.functions.iter().map(Loops::of).collect();
    let places = placed(&graph, about)?;
    let placed = PlacedGraph { graph: &graph, loops: &loops, places };
    let recorded = placed.recorded(trace, shape, should_continue)?;
    let limits = Limits::of(&placed, request, &recorded)?;
    let (misses, found) = bounded(&placed, shape, &limits)?;
    Ok(CallBound {
        function: request.function.clone(),
        misses,
        calls: recorded.calls,
        unfollowed_calls: recorded.unfollowed_calls,
        first_call_misses: (recorded.calls > 0).then_some(recorded.most_misses),
        functions: graph.functions.iter().map(|each| each.address).collect::<BTreeSet<_>>().len()
            as u64,
        lines: found.lines,
        ways: shape.ways,
        has_recorded_loops: request.loops.is_none(),
        loops: limits.loops(&placed),
        overfull: found.overfull,
        in_ram: functions_in_ram(&placed),
    })
}

/// The lines of a call.
struct CodeLines {
    lines: u64,
    overfull: Vec<OverfullSet>,
}

/// The bound of the calls of a graph.
fn bounded(
    placed: &PlacedGraph<'_>,
    shape: CacheShape,
    limits: &Limits,
) -> Result<(u64, CodeLines)> {
    let unfolded = Unfolded::of(placed.graph, placed.loops)?;
    let lines = unfolded.nodes.iter().map(|node| {
        let place = node.block.and_then(|block| placed.places[node.function][block]);
        place.map_or_else(Vec::new, |place| {
            (place.offset / shape.line_bytes..=place.last() / shape.line_bytes).collect()
        })
    });
    let references = References { graph: &unfolded, shape, lines: lines.collect() };
    let misses =
        most_misses(&unfolded, &references.misses(), &limits.of_scopes(placed, &unfolded))?;
    let lines = references.all_lines().len() as u64;
    Ok((misses, CodeLines { lines, overfull: overfull(placed, &references) }))
}

/// The cache of a design, if the analysis covers it.
fn shape_of(design: &Design) -> Result<CacheShape> {
    design.check_plain_store("bound the calls")?;
    let cache = design.cache();
    if cache.hierarchy.is_some() {
        return Err(Error::design(
            "no sound analysis is built in for a cache behind an instruction cache: take a board or a \
             design without [icache]",
        ));
    }
    if !cache.keeps_as_lru() {
        return Err(Error::design(format!(
            "no sound analysis is built in for {} in sets of {}: take --policy lru, plru \
             with --ways 1 or 2, or fifo or random with --ways 1",
            cache.policy,
            cache.ways_of_set()
        )));
    }
    let small = |number: u64| {
        u32::try_from(number).map_err(|_| Error::design("a cache of over 2^32 lines has no bound"))
    };
    Ok(CacheShape {
        line_bytes: cache.cache_page_bytes,
        sets: small(cache.frames() / cache.ways_of_set().max(1))?,
        ways: small(cache.ways_of_set())?,
    })
}

/// The image with the function.
fn image_of(info: &TraceInfo, binaries: &Binaries, function: &str) -> Result<usize> {
    let named = |index: &usize| {
        let symbols = binaries.symbols(*index, &info.images[*index]);
        symbols.iter().any(|symbol| flashpager_binary::names::is_called(&symbol.name, function))
    };
    if info.images.len() == 1 {
        return Ok(0);
    }
    (0..info.images.len()).find(named).ok_or_else(|| {
        let message = format!(
            "names no function '{}': give --elf the file with its symbols",
            shown(function)
        );
        Error::data(shown(&info.program), message)
    })
}

/// The bytes of each block in the flash image.
fn placed(graph: &CodeGraph, image: &Image) -> Result<Vec<Vec<Option<Run>>>> {
    let mut places = Vec::new();
    for function in &graph.functions {
        let mut own = Vec::new();
        for block in &function.blocks {
            let offset = image.sections.iter().find_map(|section| section.offset_of(block.start));
            let place = match offset {
                Some(offset) => Some(Run { offset, length: (block.end - block.start) as u32 }),
                None if block.is_in_ram => None,
                None => {
                    let message = format!(
                        "has {} at {:#x} in the call, whose section is not among those recorded: \
                         record the program with it",
                        shown(&function.name),
                        block.start
                    );
                    return Err(Error::data(shown(&image.path), message));
                }
            };
            own.push(place);
        }
        places.push(own);
    }
    Ok(places)
}

/// The limits on the loops of a graph.
struct Limits {
    /// Most executions for each entry, and in a call.
    by_key: BTreeMap<LoopKey, (u64, Option<u64>)>,
}

impl Limits {
    fn of(
        placed: &PlacedGraph<'_>,
        request: &BoundRequest,
        recorded: &RecordedCalls,
    ) -> Result<Self> {
        let keys = all_keys(placed);
        let mut by_key = BTreeMap::new();
        let mut unused: BTreeSet<&str> = BTreeSet::new();
        let mut stated: BTreeMap<String, u64> = BTreeMap::new();
        for (place, most) in request.loops.iter().flatten() {
            stated.insert(place.clone(), *most);
            unused.insert(place);
        }
        let needs_trace = request.loops.is_none() || request.has_totals;
        if needs_trace && !keys.is_empty() && recorded.calls == 0 {
            return Err(no_recorded_call(placed, request, recorded));
        }
        let unseen = unseen_loops(placed);
        for (key, place) in &keys {
            let is_seen = !unseen.contains(key);
            let seen = recorded.each_entry.get(key).copied().unwrap_or_default();
            let each_entry = match &request.loops {
                None if is_seen => seen,
                None => return Err(unseen_loop(place)),
                Some(_) => {
                    let seen = is_seen.then_some(seen);
                    stated_limit(key, place, stated.get(place).copied(), seen)?
                }
            };
            unused.remove(place.as_str());
            let in_call = recorded.in_call.get(key).copied().unwrap_or_default();
            let in_call = (request.has_totals && is_seen).then_some(in_call);
            by_key.insert(key.clone(), (each_entry, in_call));
        }
        if let Some(place) = unused.first() {
            let known: Vec<&str> = keys.values().map(String::as_str).collect();
            let known = match known.is_empty() {
                true => "the call has none".to_owned(),
                false => format!("the call has {}", known.join(", ")),
            };
            return Err(Error::design(format!(
                "--loops {}: is no loop; {}",
                shown(place),
                shown(known)
            )));
        }
        Ok(Self { by_key })
    }

    /// The limits of the loops in a graph of contexts.
    fn of_scopes(&self, placed: &PlacedGraph<'_>, unfolded: &Unfolded) -> Vec<HeadLimit> {
        let mut scopes: BTreeMap<LoopKey, Vec<usize>> = BTreeMap::new();
        for (scope, each) in unfolded.scopes.iter().enumerate() {
            if let Some(number) = each.number {
                scopes.entry(placed.key(each.function, number)).or_default().push(scope);
            }
        }
        let limits = scopes.into_iter().map(|(key, scopes)| {
            let (each_entry, in_all) = self.by_key.get(&key).copied().unwrap_or_default();
            HeadLimit { scopes, each_entry: Some(each_entry), in_all }
        });
        limits.collect()
    }

    fn loops(&self, placed: &PlacedGraph<'_>) -> Vec<LoopBound> {
        let keys = all_keys(placed);
        let loops = self.by_key.iter().map(|(key, (iterations, in_call))| LoopBound {
            place: keys.get(key).cloned().unwrap_or_default(),
            address: key.first().copied().unwrap_or_default(),
            iterations: *iterations,
            in_call: *in_call,
        });
        loops.collect()
    }
}

/// The limit of a loop with --loops; `seen` is that of the trace, if it shows the loop.
fn stated_limit(key: &LoopKey, place: &str, stated: Option<u64>, seen: Option<u64>) -> Result<u64> {
    let place = shown(place);
    match (stated, seen) {
        (Some(most), Some(seen)) if most < seen => {
            Err(Error::design(format!("--loops {place}={most}: the trace runs it {seen} times")))
        }
        (Some(most), _) => Ok(most),
        (None, seen) => {
            let rest = seen.map_or(String::new(), |seen| {
                format!(" (the trace has {seen} at most), or leave --loops out to take the trace's")
            });
            Err(Error::design(format!(
                "the loop at {place} has no limit: add '{place}=N' to --loops, for N executions of \
                 {} for each entry{rest}",
                heads(key)
            )))
        }
    }
}

/// Names the heads of a loop.
fn heads(key: &LoopKey) -> String {
    let addresses: Vec<String> = key.iter().map(|head| format!("{head:#x}")).collect();
    match &addresses[..] {
        [one] => format!("its head ({one})"),
        all => format!("its heads ({}), all together,", all.join(", ")),
    }
}

/// The error if a loop that the trace does not show is to have the trace's limit.
fn unseen_loop(place: &str) -> Error {
    let place = shown(place);
    Error::design(format!(
        "the loop at {place} lies in RAM or is called from there, and the trace does not show how \
         often it runs: state the limits of all loops with --loops, this one as --loops {place}=N"
    ))
}

/// Loops whose executions the trace does not show: those of functions with code in RAM, and of all
/// that these call.
fn unseen_loops(placed: &PlacedGraph<'_>) -> BTreeSet<LoopKey> {
    let functions = &placed.graph.functions;
    let in_ram = |function: &usize| placed.places[*function].iter().any(Option::is_none);
    let mut open: Vec<usize> = (0..functions.len()).filter(in_ram).collect();
    let mut is_unseen = vec![false; functions.len()];
    while let Some(function) = open.pop() {
        if std::mem::replace(&mut is_unseen[function], true) {
            continue;
        }
        let exits = functions[function].blocks.iter().flat_map(|block| &block.exits);
        open.extend(exits.filter_map(|exit| match exit {
            Exit::Call(callee, _) => Some(*callee),
            _ => None,
        }));
    }
    let unseen = (0..functions.len()).filter(|function| is_unseen[*function]);
    let keys = unseen.flat_map(|function| {
        (0..placed.loops[function].all.len()).map(move |number| placed.key(function, number))
    });
    keys.collect()
}

/// All loops, with the function and the offset of the first head.
fn all_keys(placed: &PlacedGraph<'_>) -> BTreeMap<LoopKey, String> {
    let mut keys = BTreeMap::new();
    for (function, loops) in placed.loops.iter().enumerate() {
        let about = &placed.graph.functions[function];
        for number in 0..loops.all.len() {
            let key = placed.key(function, number);
            let first = key.first().copied().unwrap_or_default();
            let place = match first.checked_sub(about.address) {
                Some(ahead) => format!("{}+{ahead:#x}", about.name),
                None => format!("{}-{:#x}", about.name, about.address - first),
            };
            keys.entry(key).or_insert(place);
        }
    }
    keys
}

/// The error if the limits are to be the trace's, and it has no call.
fn no_recorded_call(
    placed: &PlacedGraph<'_>,
    request: &BoundRequest,
    recorded: &RecordedCalls,
) -> Error {
    let name = shown(&request.function);
    let Some((block, run)) = recorded.left_at else {
        return Error::design(format!(
            "the trace has no whole call of {name}, by which its loops are limited: record one, or \
             state their limits (--loops FILE)"
        ));
    };
    let function = placed
        .places
        .iter()
        .position(|blocks| blocks.iter().flatten().any(|place| place.offset == block));
    let inside = function.map_or(String::new(), |function| {
        format!(" in {}", shown(&placed.graph.functions[function].name))
    });
    Error::design(format!(
        "no recorded call of {name} was followed to its end: after offset {block:#x}{inside} the \
         trace goes on at {run:#x}, as in an interrupt or by code in RAM; state the limits of its \
         loops (--loops FILE)"
    ))
}

/// The sets with more lines than ways, the fullest first.
fn overfull(placed: &PlacedGraph<'_>, references: &References<'_>) -> Vec<OverfullSet> {
    let bytes = references.shape.line_bytes;
    let mut sets: Vec<OverfullSet> = Vec::new();
    for full in references.full_sets() {
        let mut functions = BTreeSet::new();
        for (function, places) in placed.graph.functions.iter().zip(&placed.places) {
            let is_in = |place: &Run| {
                let lines = place.offset / bytes..=place.last() / bytes;
                full.lines.iter().any(|line| lines.contains(line))
            };
            if places.iter().flatten().any(is_in) {
                functions.insert(function.name.clone());
            }
        }
        let lines = full.lines.len() as u32;
        sets.push(OverfullSet { set: full.set, lines, functions: functions.into_iter().collect() });
    }
    sets.sort_by_key(|each| (std::cmp::Reverse(each.lines), each.set));
    sets
}

/// Functions with code in RAM.
fn functions_in_ram(placed: &PlacedGraph<'_>) -> Vec<String> {
    let in_ram = placed.graph.functions.iter().zip(&placed.places);
    let in_ram = in_ram.filter(|(_, places)| places.iter().any(Option::is_none));
    in_ram.map(|(function, _)| function.name.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}
