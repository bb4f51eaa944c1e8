//! Counts what one iteration of a loop executes.

use rustc_hash::FxHashMap;

use super::code::FunctionCode;
use super::graph::{Graph, Loop};
use super::instruction::AccessKind;
use super::ports::{AccessClass, ClassifiedAccesses, DataPort, FixedAddress};
use super::{CopyLoop, Direction, ListedInstruction};

/// A way from the header: port accesses and instructions.
#[derive(Clone, Copy)]
struct LoopPath {
    ports: u32,
    instructions: u32,
    /// The block before.
    from: Option<usize>,
}

/// What an access is in the result.
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
}

/// Count what an iteration of `found` executes.
pub fn count(
    code: &FunctionCode,
    graph: &Graph,
    found: &Loop,
    sorted: &ClassifiedAccesses<'_>,
    port: &DataPort,
    function: &str,
) -> CopyLoop {
    let role = |at: usize, index: usize| match &sorted.classes[&(at, index)] {
        AccessClass::Literal => AccessRole::Literal,
        AccessClass::Memory { .. } => AccessRole::Memory,
        AccessClass::Fixed { at: fixed, is_device } => {
            let kind = sorted.kind(at, index);
            let is_data = matches!(
                (port.direction, kind),
                (Direction::Read, AccessKind::Load) | (Direction::Write, AccessKind::Store)
            );
            match kind {
                _ if port.addresses.contains(fixed) && is_data => AccessRole::Port,
                AccessKind::Load if !port.addresses.contains(fixed) && !is_device => {
                    AccessRole::Memory
                }
                _ => AccessRole::Device,
            }
        }
    };
    let roles = |at: usize| {
        (0..code.instructions[at].accesses.len()).map(move |index| (index, role(at, index)))
    };
    let ports_of = |block: usize| {
        let inside = graph.blocks[block].instructions.iter();
        inside.flat_map(|at| roles(*at)).filter(|(_, role)| *role == AccessRole::Port).count()
            as u32
    };
    let longest = ways(graph, found, &ports_of, |new, old| new > old);
    let shortest = ways(graph, found, &ports_of, |new, old| new < old);
    let best = |ways: &FxHashMap<usize, LoopPath>, longer: bool| {
        let ends = found.latches.iter().filter_map(|latch| Some((*latch, *ways.get(latch)?)));
        ends.max_by_key(|(_, way)| {
            let length = i64::from(way.instructions);
            (way.ports, if longer { length } else { -length })
        })
    };
    let mut path = Vec::new();
    let mut at = best(&longest, true).map(|(latch, _)| latch);
    while let Some(block) = at {
        path.push(block);
        at = longest.get(&block).and_then(|way| way.from);
    }
    let mut executed: Vec<usize> =
        path.iter().flat_map(|block| graph.blocks[*block].instructions.iter().copied()).collect();
    executed.sort_unstable();
    let at_other_end = at_other_end(code, graph, found, sorted, port, &executed);

    let all = || found.blocks.iter().flat_map(|block| &graph.blocks[*block].instructions);
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
        shortest_instructions: best(&shortest, false).map_or(0, |(_, way)| way.instructions),
        port_accesses: 0,
        memory_accesses: 0,
        literal_accesses: 0,
        other_device_accesses: 0,
        calls: Vec::new(),
        listing: Vec::with_capacity(executed.len()),
    };
    for at in executed {
        let made = &code.instructions[at];
        let mut access = None;
        for (index, role) in roles(at) {
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
    counted.bytes = moved(counted.bytes, counted.port_accesses, at_other_end);
    counted
}

/// The bytes that the instructions `executed` of an iteration store to moving
/// memory for a read, or load from it for a write; `None` where they repeat, so
/// that how many there are is not known.
fn at_other_end(
    code: &FunctionCode,
    graph: &Graph,
    found: &Loop,
    sorted: &ClassifiedAccesses<'_>,
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
                inner.header != found.header && found.holds[inner.header] && inner.holds[block]
            })
    };
    let mut bytes = 0_u32;
    for at in executed {
        for (index, access) in code.instructions[*at].accesses.iter().enumerate() {
            let moves = sorted.classes[&(*at, index)] == AccessClass::Memory { moves: true };
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

/// The bytes that `accesses` to the port of `bytes` in all move, when
/// `at_other_end` are stored or loaded. A driver of a wide data register may use
/// only a part of it; the rest is no data.
///
/// Each access moves the same power of two of bytes, as accesses do, so that less
/// may be said than is kept. Where that leaves none to an access, some accesses
/// move nothing, and which do is not known: then what passes the port stands.
fn moved(bytes: u32, accesses: u32, at_other_end: Option<u32>) -> u32 {
    let kept = at_other_end.filter(|kept| *kept < bytes);
    let each = kept.and_then(|kept| kept.checked_div(accesses)).and_then(u32::checked_ilog2);
    each.map_or(bytes, |power| accesses << power)
}

/// The best way from the header to each block, that with most port accesses and
/// then as `is_better` compares instructions.
fn ways(
    graph: &Graph,
    found: &Loop,
    ports_of: &dyn Fn(usize) -> u32,
    is_better: fn(u32, u32) -> bool,
) -> FxHashMap<usize, LoopPath> {
    let mut ways: FxHashMap<usize, LoopPath> = FxHashMap::default();
    for block in &found.blocks {
        let before = graph.blocks[*block].before.iter();
        let mut best: Option<(usize, LoopPath)> = None;
        for from in before.filter(|from| !Graph::goes_back(**from, *block)) {
            let Some(way) = ways.get(from) else { continue };
            let wins = best.is_none_or(|(_, old)| {
                way.ports > old.ports
                    || way.ports == old.ports && is_better(way.instructions, old.instructions)
            });
            if wins {
                best = Some((*from, *way));
            }
        }
        if best.is_none() && *block != found.header {
            continue;
        }
        let (from, before) = match best.filter(|_| *block != found.header) {
            Some((from, way)) => (Some(from), way),
            None => (None, LoopPath { ports: 0, instructions: 0, from: None }),
        };
        let length = graph.blocks[*block].instructions.len() as u32;
        ways.insert(
            *block,
            LoopPath {
                ports: before.ports.saturating_add(ports_of(*block)),
                instructions: before.instructions.saturating_add(length),
                from,
            },
        );
    }
    ways
}
