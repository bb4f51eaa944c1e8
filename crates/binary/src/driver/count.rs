//! Counts the instructions and accesses of one iteration of a loop.

use rustc_hash::FxHashMap;

use super::code::FunctionCode;
use super::graph::{Graph, Loop};
use super::instruction::AccessKind;
use super::loop_counts::{CopyLoop, Direction, ListedInstruction};
use super::ports::{AccessClass, AccessId, ClassifiedAccesses, DataPort, FixedAddress};

/// A path from the header of a loop to a block.
#[derive(Clone, Copy)]
struct LoopPath {
    /// Port accesses on the path.
    ports: u32,
    /// Instructions on the path.
    instructions: u32,
    /// The block before the last one.
    from: Option<usize>,
}

/// The role of an access in the result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AccessRole {
    Literal,
    Memory,
    Device,
    Port,
}

impl AccessRole {
    fn name(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::Memory => "memory",
            Self::Device => "device",
            Self::Port => "port",
        }
    }

    /// Returns the role of an access in a loop whose data port is `port`.
    fn of(classified: &ClassifiedAccesses<'_>, port: &DataPort, (at, index): AccessId) -> Self {
        let (fixed, is_device) = match &classified.classes[&(at, index)] {
            AccessClass::Literal => return Self::Literal,
            AccessClass::Memory { .. } => return Self::Memory,
            AccessClass::Fixed { at: fixed, is_device } => (fixed, *is_device),
        };
        let kind = classified.kind(at, index);
        let is_at_port = port.addresses.contains(fixed);
        let is_data = matches!(
            (port.direction, kind),
            (Direction::Read, AccessKind::Load) | (Direction::Write, AccessKind::Store)
        );
        if is_at_port && is_data {
            Self::Port
        } else if kind == AccessKind::Load && !is_at_port && !is_device {
            Self::Memory
        } else {
            Self::Device
        }
    }
}

/// Counts the instructions and accesses of one iteration of `natural_loop` in `function`.
pub fn count(
    code: &FunctionCode,
    graph: &Graph,
    natural_loop: &Loop,
    classified: &ClassifiedAccesses<'_>,
    port: &DataPort,
    function: &str,
) -> CopyLoop {
    let roles = |at: usize| {
        let accesses = 0..code.instructions[at].accesses.len();
        accesses.map(move |index| (index, AccessRole::of(classified, port, (at, index))))
    };
    let ports_of = |block: usize| {
        let inside = graph.blocks[block].instructions.iter();
        inside.flat_map(|at| roles(*at)).filter(|(_, role)| *role == AccessRole::Port).count()
            as u32
    };
    let longest = paths(graph, natural_loop, &ports_of, |new, old| new > old);
    let shortest = paths(graph, natural_loop, &ports_of, |new, old| new < old);
    let executed = instructions_on(graph, &longest, best_end(natural_loop, &longest, true));

    let all = || natural_loop.blocks.iter().flat_map(|block| &graph.blocks[*block].instructions);
    let address = |at: &usize| code.instructions[*at].address;
    let mut counted = CopyLoop {
        function: function.to_owned(),
        architecture: code.architecture.to_owned(),
        direction: port.direction,
        port: port.addresses.first().and_then(FixedAddress::number),
        first_address: all().map(address).min().unwrap_or_default(),
        last_address: all().map(address).max().unwrap_or_default(),
        bytes: 0,
        instructions: executed.len() as u32,
        shortest_instructions: best_end(natural_loop, &shortest, false)
            .and_then(|end| shortest.get(&end))
            .map_or(0, |path| path.instructions),
        port_accesses: 0,
        memory_accesses: 0,
        literal_accesses: 0,
        other_device_accesses: 0,
        calls: Vec::new(),
        listing: Vec::with_capacity(executed.len()),
    };
    for at in &executed {
        add_instruction(&mut counted, code, *at, roles(*at));
    }
    let at_other_end = at_other_end(code, graph, natural_loop, classified, port, &executed);
    counted.bytes = moved(counted.bytes, counted.port_accesses, at_other_end);
    counted
}

/// Adds an instruction with the roles of its accesses to the counts.
fn add_instruction(
    counted: &mut CopyLoop,
    code: &FunctionCode,
    at: usize,
    roles: impl Iterator<Item = (usize, AccessRole)>,
) {
    let made = &code.instructions[at];
    let mut access = None;
    for (index, role) in roles {
        access = access.max(Some(role));
        match role {
            AccessRole::Literal => counted.literal_accesses += 1,
            AccessRole::Memory => counted.memory_accesses += 1,
            AccessRole::Device => counted.other_device_accesses += 1,
            AccessRole::Port => {
                counted.port_accesses += 1;
                counted.bytes += made.accesses[index].bytes;
            }
        }
    }
    if let Some(name) = code.calls.get(&made.address)
        && !counted.calls.contains(name)
    {
        counted.calls.push(name.clone());
    }
    counted.listing.push(ListedInstruction {
        address: made.address,
        text: made.text.clone(),
        access: access.map(AccessRole::name),
    });
}

/// Returns the end of the best path to a latch of the loop: with most port accesses, then the
/// longest or the shortest.
fn best_end(
    natural_loop: &Loop,
    paths: &FxHashMap<usize, LoopPath>,
    longest: bool,
) -> Option<usize> {
    let ends = natural_loop.latches.iter().filter_map(|latch| Some((*latch, *paths.get(latch)?)));
    let best = ends.max_by_key(|(_, path)| {
        let length = i64::from(path.instructions);
        (path.ports, if longest { length } else { -length })
    });
    best.map(|(latch, _)| latch)
}

/// Returns the instructions on the path to the block `end`, sorted by address.
fn instructions_on(
    graph: &Graph,
    paths: &FxHashMap<usize, LoopPath>,
    end: Option<usize>,
) -> Vec<usize> {
    let mut instructions = Vec::new();
    let mut at = end;
    while let Some(block) = at {
        instructions.extend(&graph.blocks[block].instructions);
        at = paths.get(&block).and_then(|path| path.from);
    }
    instructions.sort_unstable();
    instructions
}

/// Returns the bytes that the instructions `executed` of an iteration store to moving memory for a
/// read, or load from it for a write. `None` if an instruction is repeated an unknown number of
/// times.
fn at_other_end(
    code: &FunctionCode,
    graph: &Graph,
    natural_loop: &Loop,
    classified: &ClassifiedAccesses<'_>,
    port: &DataPort,
    executed: &[usize],
) -> Option<u32> {
    let wanted = match port.direction {
        Direction::Read => AccessKind::Store,
        Direction::Write => AccessKind::Load,
    };
    let repeats = |at: usize| {
        let block = graph.block_of[at];
        code.instructions[at].repeated
            || graph.loops.iter().any(|inner| {
                inner.header != natural_loop.header
                    && natural_loop.holds[inner.header]
                    && inner.holds[block]
            })
    };
    let mut bytes = 0_u32;
    for at in executed {
        for (index, access) in code.instructions[*at].accesses.iter().enumerate() {
            let moves = classified.classes[&(*at, index)] == AccessClass::Memory { moves: true };
            if !moves || access.kind != wanted {
                continue;
            }
            if repeats(*at) {
                return None;
            }
            bytes = bytes.saturating_add(access.bytes);
        }
    }
    Some(bytes)
}

/// Returns the bytes of data that an iteration moves. It makes `accesses` to the port, which have
/// `bytes` bytes together, and stores or loads `at_other_end` bytes at the other end. A driver may use
/// only a part of a wide data register; the rest of the register is not data.
///
/// Each access is assumed to move the same power of two of bytes, so that the result may be smaller
/// than `at_other_end`. If an access would move less than a byte, some accesses move no data, and it is
/// unknown which. The result is then `bytes`.
fn moved(bytes: u32, accesses: u32, at_other_end: Option<u32>) -> u32 {
    let kept = at_other_end.filter(|kept| *kept < bytes);
    let each = kept.and_then(|kept| kept.checked_div(accesses)).and_then(u32::checked_ilog2);
    each.map_or(bytes, |power| accesses << power)
}

/// Returns the best path from the header to each block: with most port accesses, then with the
/// number of instructions that `is_better` prefers.
fn paths(
    graph: &Graph,
    natural_loop: &Loop,
    ports_of: &dyn Fn(usize) -> u32,
    is_better: fn(u32, u32) -> bool,
) -> FxHashMap<usize, LoopPath> {
    let mut paths: FxHashMap<usize, LoopPath> = FxHashMap::default();
    for block in &natural_loop.blocks {
        let before = graph.blocks[*block].before.iter();
        let mut best: Option<(usize, LoopPath)> = None;
        for from in before.filter(|from| !Graph::goes_back(**from, *block)) {
            let Some(path) = paths.get(from) else { continue };
            let wins = best.is_none_or(|(_, old)| {
                path.ports > old.ports
                    || path.ports == old.ports && is_better(path.instructions, old.instructions)
            });
            if wins {
                best = Some((*from, *path));
            }
        }
        if best.is_none() && *block != natural_loop.header {
            continue;
        }
        let (from, before) = match best.filter(|_| *block != natural_loop.header) {
            Some((from, path)) => (Some(from), path),
            None => (None, LoopPath { ports: 0, instructions: 0, from: None }),
        };
        let length = graph.blocks[*block].instructions.len() as u32;
        paths.insert(
            *block,
            LoopPath {
                ports: before.ports.saturating_add(ports_of(*block)),
                instructions: before.instructions.saturating_add(length),
                from,
            },
        );
    }
    paths
}
