//! The answer: whether all that a function reaches lies in RAM, and the paths to what does not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flashpager_base::{Error, Result, did_you_mean, shown};
use flashpager_binary::names::{demangled, is_called};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::analysis::{Analysis, Event};
use crate::decode::{Decoder, decoder_for};
use crate::execute::Access;
use crate::program::{Memory, MemoryRequest, Program, StatedMemory, matches};
use crate::variables::{Extents, Notes, Variables};

/// A question about a program.
#[derive(Clone, Debug, Default)]
pub struct ReachRequest {
    /// Names of functions, patterns with `*` and `?`, or `vectors`: the handlers of interrupts.
    pub roots: Vec<String>,
    /// RAM and peripherals: patterns of names of sections, or ranges of addresses.
    pub ram: Vec<String>,
    /// Flash: patterns of names of sections, or ranges of addresses.
    pub flash: Vec<String>,
    /// Ranges of addresses of ROM: code there is not followed.
    pub rom: Vec<String>,
    /// Targets of indirect calls: the address of the call or the name of the function that holds it,
    /// and the names of functions.
    pub calls: Vec<(String, Vec<String>)>,
    /// Functions that are taken to lie in RAM, by their names or those of their input sections, such
    /// as `.text.poll` or `radio.o(.text.poll)`, or all that begin in a range of addresses. They are
    /// roots, too.
    pub pinned: Vec<String>,
}

/// The answer in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All that the roots reach lies in RAM.
    Closed,
    /// Something in flash is reached.
    NotClosed,
    /// No flash was seen to be reached, but not all was understood.
    CannotTell,
}

impl Verdict {
    /// The name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::NotClosed => "not-closed",
            Self::CannotTell => "cannot-tell",
        }
    }
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Code in flash is executed.
    ReachesCode,
    /// Data in flash are accessed.
    ReachesData,
    /// Code or data in flash are among several possible targets.
    MayReach,
    /// An instruction is not understood.
    CannotTell,
}

impl FindingKind {
    /// The name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReachesCode => "reaches-code",
            Self::ReachesData => "reaches-data",
            Self::MayReach => "may-reach",
            Self::CannotTell => "cannot-tell",
        }
    }
}

/// A function or an object on a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Step {
    /// The demangled name, or that of the section.
    pub name: String,
    /// The address.
    pub address: u64,
    /// `RAM`, `flash`, or `flash` with the name of a section.
    pub place: String,
}

/// Something that is reached outside of RAM, or not understood.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The shortest path, from a root on. The last step is what is reached, if that is known.
    pub path: Vec<Step>,
    /// The address of the first instruction that reaches it.
    pub site: u64,
    /// Number of instructions with the same finding.
    pub sites: u64,
    /// A text about the instruction: `called`, `read`, `written`, or what is not understood.
    pub text: String,
}

/// A function that another one calls, or jumps to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Call {
    /// The address of the function that calls.
    pub caller: u64,
    /// The address of the called one.
    pub callee: u64,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReachReport {
    /// The answer in a word.
    pub verdict: Verdict,
    /// Names of the roots.
    pub roots: Vec<String>,
    /// Number of functions in RAM that are reached.
    pub functions_in_ram: u64,
    /// Number of functions in flash that are called by them.
    pub functions_in_flash: u64,
    /// Number of indirect jumps and calls with known targets.
    pub resolved: u64,
    /// Number of indirect jumps and calls.
    pub indirect: u64,
    /// The calls that were found, each pair of functions once.
    pub calls: Vec<Call>,
    /// The findings: what is certain first.
    pub findings: Vec<Finding>,
    /// Assumptions that the answer rests on.
    pub notes: Vec<String>,
}

/// Returns all that the roots reach in the ELF file `bytes`; `place` is its name in errors.
///
/// # Errors
/// If the file is no linked ELF file, has nothing in RAM, is of a machine that is not followed, or
/// does not have a name. [`Error::Interrupted`] if `should_continue` returned false.
pub fn reach(
    bytes: &[u8],
    place: &str,
    request: &ReachRequest,
    should_continue: &dyn Fn() -> bool,
) -> Result<ReachReport> {
    let memory = MemoryRequest {
        ram: StatedMemory::parse("--ram", &request.ram)?,
        flash: StatedMemory::parse("--flash", &request.flash)?,
        rom: StatedMemory::parse("--rom", &request.rom)?,
        is_pinned: !request.pinned.is_empty(),
    };
    let mut program = Program::parse(bytes, place, &memory)?;
    let decoder = decoder_for(&program, place)?;
    let mut roots = roots(&program, place, &request.roots)?;
    let mut unknown = Vec::new();
    roots.extend(pin(&mut program, place, &request.pinned, &mut unknown)?);
    let calls = named_calls(&program, place, &request.calls)?;
    let mut entries: Vec<u64> = roots.values().copied().collect();
    entries.sort_unstable();
    entries.dedup();
    // A root in flash is a finding itself; what it reaches is not walked.
    let in_ram = |entry: &u64| program.memory_at(program.plain(*entry)) == Memory::Ram;
    let (walked, outside): (Vec<u64>, Vec<u64>) = entries.iter().partition(|entry| in_ram(entry));
    let mut analysis = Analysis::new(&program, decoder.as_ref(), &calls, &[]);
    let mut numbers = Vec::new();
    if !walked.is_empty() {
        numbers = analysis.walk(&walked, should_continue)?;
    }
    let has = |is: fn(&Event) -> bool| analysis.events.iter().any(|(_, _, event)| is(event));
    let known = if has(Event::is_unknown) && !has(Event::is_flash) {
        known_variables(&program, decoder.as_ref(), &calls, should_continue)?
    } else {
        Vec::new()
    };
    let mut decided = Vec::new();
    check_calls(&program, &analysis, request)?;
    if !known.is_empty() {
        let named = std::mem::take(&mut analysis.named);
        analysis = Analysis::new(&program, decoder.as_ref(), &calls, &known);
        numbers = analysis.walk(&walked, should_continue)?;
        decided = named.difference(&analysis.named).copied().collect();
        decided.sort_unstable();
    }
    let reporter = Reporter { program: &program, analysis: &analysis };
    let mut report = reporter.report(&numbers);
    report.notes = notes(&program, request);
    report.notes.extend(decided.into_iter().map(|site| {
        format!("with the values of variables, no target that --calls names is used at {site:#x}")
    }));
    report.notes.extend(unknown.iter().map(|range| {
        format!("no function with a name begins in {range}, so what it reaches is not known")
    }));
    for entry in outside {
        let path = vec![step(&program, program.plain(entry))];
        let text = "a root itself,".into();
        let site = program.plain(entry);
        report
            .findings
            .insert(0, Finding { kind: FindingKind::ReachesCode, path, site, sites: 1, text });
        report.functions_in_flash += 1;
        report.verdict = Verdict::NotClosed;
    }
    report.roots = roots.keys().map(|name| demangled(name)).collect();
    Ok(report)
}

/// Most instructions that are executed to find variables, in all walks of the program.
const MOST_STEPS: u64 = 500_000;
/// Most walks of the whole program until the variables hold nothing new.
const MOST_ROUNDS: usize = 12;

/// Finds the variables in RAM whose values are known in each run of the program: those that follow
/// if no value in memory is known, and those that follow if all are.
pub fn known_variables(
    program: &Program,
    decoder: &dyn Decoder,
    calls: &FxHashMap<u64, Vec<u64>>,
    should_continue: &dyn Fn() -> bool,
) -> Result<Vec<Variables>> {
    let (sections, objects) = program.extents();
    let extents = Extents::new(&sections, objects);
    let all = Variables::unwritten(&extents);
    let mut steps = MOST_STEPS;
    // Three walks at least, of four bytes an instruction at most.
    let code = program.sections.iter().filter(|section| section.is_code);
    if code.map(|section| section.data.len() as u64 / 4 * 3).sum::<u64>() > steps
        || program.is_outlined()
    {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for start in [None, Some(&all)] {
        let mut known = start.cloned();
        // Each walk takes for granted what the one before has found, and the last one finds nothing
        // new.
        for _ in 0..MOST_ROUNDS {
            let notes = Notes::new(sections.clone());
            notes.note(|ledger| ledger.follow_code(program.code_ranges()));
            let before = known.as_slice();
            let mut analysis = Analysis::new(program, decoder, calls, before);
            if !analysis.walk_all(&notes, &mut steps, should_continue)? {
                return Ok(found);
            }
            let mut words = BTreeSet::new();
            notes.note(|ledger| words = program.words(&sections, &ledger.literals));
            let next = match (start, &known) {
                // The walk before took all values for unknown, so it missed no address.
                (None, Some(known)) => known.with_stores(&notes),
                _ => known.as_ref().unwrap_or(&all).behind(&notes, &extents, &words),
            };
            if known.as_ref() == Some(&next) {
                found.push(next);
                break;
            }
            // The stores of the first walk, in which all values were unknown, are too many.
            known = Some(if known.is_none() { next.without_stores() } else { next });
        }
    }
    Ok(found)
}

/// The root that stands for all handlers in the vector table.
const VECTORS: &str = "vectors";

/// Assumptions that an answer rests on.
fn notes(program: &Program, request: &ReachRequest) -> Vec<String> {
    let mut notes = Vec::new();
    if request.roots.iter().any(|root| root == VECTORS)
        && let Some((table, _)) = program.vectors()
        && program.memory_at(table) == Memory::Flash
    {
        notes.push(format!(
            "the vector table is linked to flash at {table:#x}: the processor reads it there unless \
             the program has moved it (VTOR)"
        ));
    }
    if !request.rom.is_empty() {
        notes.push("code in ROM (--rom) is taken to keep to the ABI and to stay in ROM".into());
    }
    if !request.calls.is_empty() {
        notes.push("the targets of calls that --calls names are taken as they are named".into());
    }
    notes
}

/// Checks that the walk has met each call that the user names.
fn check_calls(program: &Program, analysis: &Analysis<'_>, request: &ReachRequest) -> Result<()> {
    let sites: BTreeSet<u64> = analysis
        .events
        .iter()
        .filter(|(_, _, event)| matches!(event, Event::Resolved | Event::UnknownTarget { .. }))
        .map(|(_, code, _)| program.plain(*code))
        .collect();
    for (site, _) in &request.calls {
        let address = call_site(program, site);
        let inside = |site_address: &u64| {
            Some(*site_address) == address
                || program.function_at(*site_address).map(|function| function.address) == address
        };
        if !sites.iter().any(inside) {
            let message =
                format!("--calls {}: the roots reach no indirect call there", shown(site));
            return Err(Error::design(message));
        }
    }
    Ok(())
}

/// The address of a call, or of the function that holds it.
fn call_site(program: &Program, site: &str) -> Option<u64> {
    if let Some(digits) = site.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|address| program.plain(address));
    }
    let named = program.names.iter().find(|(name, _)| is_called(name, site));
    named.map(|(_, address)| program.plain(*address))
}

/// Takes functions for RAM, and returns them. Ranges in which no function begins are added to
/// `unknown`.
fn pin(
    program: &mut Program,
    place: &str,
    pinned: &[String],
    unknown: &mut Vec<String>,
) -> Result<BTreeMap<String, u64>> {
    let mut addresses = BTreeMap::new();
    for text in pinned {
        let is_range = text.starts_with("0x");
        let named =
            if is_range { beginning_in(program, text)? } else { pinned_by_name(program, text) };
        if named.is_empty() && is_range {
            unknown.push(text.clone());
        } else if named.is_empty() {
            let message = format!("has no function '{}', which is pinned", shown(text));
            return Err(Error::data(place, message));
        }
        for (name, address) in named {
            program.take_for_ram(program.plain(address));
            let name = match addresses.get(&name) {
                Some(other) if *other != address => format!("{name}@{address:#x}"),
                _ => name,
            };
            addresses.insert(name, address);
        }
    }
    Ok(addresses)
}

/// The functions of a name, or of the name of an input section that has one function.
fn pinned_by_name(program: &Program, text: &str) -> Vec<(String, u64)> {
    // The arguments of a C++ function are in parentheses, too, and do not begin with a point.
    let inner = text.strip_suffix(')').and_then(|text| text.rsplit_once("(."));
    let name = match inner {
        Some((_, section)) => section.strip_prefix("text.").unwrap_or(section),
        None => text.strip_prefix(".text.").unwrap_or(text),
    };
    let is_meant = |symbol: &str| is_called(symbol, name) || demangled(symbol) == name;
    program.names.iter().filter(|(symbol, _)| is_meant(symbol)).cloned().collect()
}

/// The functions that begin in a range of addresses; labels if there is no function.
fn beginning_in(program: &Program, range: &str) -> Result<Vec<(String, u64)>> {
    let stated = StatedMemory::parse("pinned", &[range.to_owned()])?;
    let begins = |address: u64| {
        let plain = program.plain(address);
        stated.ranges.iter().any(|(start, end)| (*start..*end).contains(&plain))
    };
    let named = program.names.iter().filter(|(_, address)| begins(*address));
    let (functions, labels): (Vec<_>, Vec<_>) =
        named.cloned().partition(|(_, address)| program.entries.contains(address));
    Ok(if functions.is_empty() { labels } else { functions })
}

/// Finds the functions of names and patterns.
fn roots(program: &Program, place: &str, patterns: &[String]) -> Result<BTreeMap<String, u64>> {
    let mut roots = BTreeMap::new();
    for pattern in patterns {
        if pattern == VECTORS {
            let table = program.vectors().filter(|(_, handlers)| !handlers.is_empty());
            let Some((_, handlers)) = table else {
                let message = "has no vector table that reach knows (--root vectors): a Cortex-M \
                               has one in .isr_vector, .vectors or vector_table; name the handlers";
                return Err(Error::data(place, message));
            };
            roots.extend(handlers);
            continue;
        }
        let is_pattern = pattern.contains(['*', '?']);
        let is_root = |name: &str| {
            if is_pattern {
                matches(pattern, name) || matches(pattern, &demangled(name))
            } else {
                is_called(name, pattern)
            }
        };
        let named: Vec<_> = program.names.iter().filter(|(name, _)| is_root(name)).collect();
        if named.is_empty() {
            let known = program.names.iter().map(|(name, _)| name.as_str());
            let message = format!(
                "has no function '{}' (--root){}",
                shown(pattern),
                shown(did_you_mean(pattern, known))
            );
            return Err(Error::data(place, message));
        }
        for (name, address) in named {
            let name = match roots.get(name) {
                Some(other) if other != address => format!("{name}@{address:#x}"),
                _ => name.clone(),
            };
            roots.insert(name, *address);
        }
    }
    Ok(roots)
}

/// Finds the calls and the functions that the user names.
pub fn named_calls(
    program: &Program,
    place: &str,
    stated: &[(String, Vec<String>)],
) -> Result<FxHashMap<u64, Vec<u64>>> {
    let mut calls = FxHashMap::default();
    for (site, names) in stated {
        let address = call_site(program, site).ok_or_else(|| {
            Error::design(format!(
                "--calls {}: is no address of a call, as 0x20000376, and no function",
                shown(site)
            ))
        })?;
        let mut targets = Vec::new();
        for name in names {
            let named = program.names.iter().filter(|(symbol, _)| is_called(symbol, name));
            let before = targets.len();
            targets.extend(named.map(|(_, address)| *address));
            if targets.len() == before {
                let known = program.names.iter().map(|(name, _)| name.as_str());
                let message = format!(
                    "has no function '{}' (--calls){}",
                    shown(name),
                    shown(did_you_mean(name, known))
                );
                return Err(Error::data(place, message));
            }
        }
        targets.sort_unstable();
        targets.dedup();
        calls.insert(address, targets);
    }
    Ok(calls)
}

/// The function, the object or the section at an address, for a path.
fn step(program: &Program, address: u64) -> Step {
    let section = program.section_at(address);
    let is_ram = program.memory_at(address) == Memory::Ram;
    let is_code = section.is_some_and(|section| section.is_code);
    let object = program.object_at(address);
    let name = match object {
        Some(object) => demangled(&object.name),
        None if is_code => match program.function_at(address) {
            Some(function) => demangled(&function.name),
            None => format!("{address:#x}"),
        },
        None => format!("{address:#x}"),
    };
    let memory = match program.memory_at(address) {
        Memory::Ram => "RAM",
        Memory::Flash => "flash",
        Memory::Rom => "ROM",
        Memory::Device | Memory::Unknown => "no section",
    };
    let place = match section {
        Some(section) if !is_ram && (object.is_some() || !is_code) => {
            format!("{memory} {}", shown(&section.name))
        }
        _ => memory.to_owned(),
    };
    Step { name, address, place }
}

/// Makes the report of a walk.
struct Reporter<'a> {
    program: &'a Program,
    analysis: &'a Analysis<'a>,
}

/// The finding at an instruction, without its path.
struct Observation {
    kind: FindingKind,
    target: Option<u64>,
    text: String,
}

impl Reporter<'_> {
    fn report(&self, roots: &[usize]) -> ReachReport {
        let parents = self.parents(roots);
        let mut groups: BTreeMap<(FindingKind, u64, String), (BTreeSet<u64>, usize)> =
            BTreeMap::new();
        let mut indirect: BTreeMap<u64, bool> = BTreeMap::new();
        let mut events: Vec<_> = self.analysis.events.iter().collect();
        events.sort();
        for (number, code, event) in events {
            let site = self.program.plain(*code);
            match event {
                Event::Resolved => {
                    indirect.entry(site).or_insert(true);
                }
                Event::UnknownTarget { .. } => {
                    indirect.insert(site, false);
                }
                _ => {}
            }
            let Some(observation) = self.observation(event) else { continue };
            let here = self.program.function_at(site).map_or(site, |function| function.address);
            let place = match observation.target {
                // All accesses to an object are one finding.
                Some(target) => {
                    let object = self.program.object_at(target);
                    object.map_or(target, |object| object.address)
                }
                None => here,
            };
            let depth = |number: &usize| self.path(&parents, *number).len();
            let (sites, nearest) = groups
                .entry((observation.kind, place, observation.text))
                .or_insert_with(|| (BTreeSet::new(), *number));
            if depth(number) < depth(nearest) {
                *nearest = *number;
            }
            sites.insert(site);
        }
        let mut findings = Vec::new();
        for ((kind, place, text), (sites, nearest)) in groups {
            let Some(site) = sites.first().copied() else { continue };
            let mut path = self.path(&parents, nearest);
            let here = step(self.program, site);
            if path.last().is_none_or(|last| last.name != here.name) {
                path.push(here);
            }
            if kind != FindingKind::CannotTell {
                path.push(step(self.program, place));
            }
            findings.push(Finding { kind, path, site, sites: sites.len() as u64, text });
        }
        findings.sort_by_key(|finding| (finding.kind, finding.path.len(), finding.site));
        self.summary(findings, roots, &parents, &indirect)
    }

    fn summary(
        &self,
        findings: Vec<Finding>,
        roots: &[usize],
        parents: &FxHashMap<usize, usize>,
        indirect: &BTreeMap<u64, bool>,
    ) -> ReachReport {
        let reached = roots.iter().chain(parents.keys());
        let functions: FxHashSet<u64> =
            reached.map(|number| self.analysis.instances[*number].entry).collect();
        let in_flash: FxHashSet<u64> = findings
            .iter()
            .filter(|finding| finding.kind == FindingKind::ReachesCode)
            .filter_map(|finding| finding.path.last().map(|step| step.address))
            .collect();
        let verdict = match findings.first() {
            None => Verdict::Closed,
            Some(_) if findings.iter().all(|finding| finding.kind == FindingKind::CannotTell) => {
                Verdict::CannotTell
            }
            Some(_) => Verdict::NotClosed,
        };
        ReachReport {
            verdict,
            roots: Vec::new(),
            functions_in_ram: functions.len() as u64,
            functions_in_flash: in_flash.len() as u64,
            resolved: indirect.values().filter(|is_resolved| **is_resolved).count() as u64,
            indirect: indirect.len() as u64,
            calls: self.calls(&functions),
            findings,
            notes: Vec::new(),
        }
    }

    /// The calls from functions that are reached, whose entries are given.
    fn calls(&self, reached: &FxHashSet<u64>) -> Vec<Call> {
        let function = |address: u64| {
            let plain = self.program.plain(address);
            self.program.function_at(plain).map_or(plain, |function| function.address)
        };
        let mut calls = BTreeSet::new();
        let mut add = |from: u64, to: u64| {
            let call = Call { caller: function(from), callee: function(to) };
            if call.caller != call.callee {
                calls.insert(call);
            }
        };
        for (_, code, callee) in &self.analysis.edges {
            add(*code, self.analysis.instances[*callee].entry);
        }
        for (_, code, event) in &self.analysis.events {
            if let Event::Code { target, .. } = event {
                add(*code, *target);
            }
        }
        let instances = &self.analysis.instances;
        for instance in instances.iter().filter(|instance| reached.contains(&instance.entry)) {
            for code in instance.codes() {
                add(instance.entry, code);
            }
        }
        calls.into_iter().collect()
    }

    /// The caller of each instance on the shortest path from a root.
    fn parents(&self, roots: &[usize]) -> FxHashMap<usize, usize> {
        let mut callees: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (caller, _, callee) in &self.analysis.edges {
            callees.entry(*caller).or_default().insert(*callee);
        }
        let mut parents = FxHashMap::default();
        let mut next: VecDeque<usize> = roots.iter().copied().collect();
        while let Some(caller) = next.pop_front() {
            for callee in callees.get(&caller).into_iter().flatten() {
                if !roots.contains(callee) && !parents.contains_key(callee) {
                    parents.insert(*callee, caller);
                    next.push_back(*callee);
                }
            }
        }
        parents
    }

    fn path(&self, parents: &FxHashMap<usize, usize>, number: usize) -> Vec<Step> {
        let mut numbers = vec![number];
        while let Some(caller) = numbers.last().and_then(|number| parents.get(number)) {
            numbers.push(*caller);
        }
        let entry = |number: &usize| self.program.plain(self.analysis.instances[*number].entry);
        numbers.iter().rev().map(|number| step(self.program, entry(number))).collect()
    }

    fn observation(&self, event: &Event) -> Option<Observation> {
        use FindingKind as K;
        let (kind, target, text) = match event {
            Event::Resolved => return None,
            Event::Code { target, is_certain } => {
                let kind = if *is_certain { K::ReachesCode } else { K::MayReach };
                (kind, Some(*target), "called".to_owned())
            }
            Event::Access(Access::Flash { address, is_certain, is_write }) => {
                let kind = if *is_certain { K::ReachesData } else { K::MayReach };
                let text = if *is_write { "written" } else { "read" };
                (kind, Some(*address), text.to_owned())
            }
            Event::Access(Access::Pointer) => {
                (K::CannotTell, None, "reads through a pointer that it was given".into())
            }
            Event::Access(Access::Nowhere { address }) => {
                let text = format!("reads at {address:#x}, where no section lies");
                (K::CannotTell, None, text)
            }
            Event::Access(Access::Constant { address }) => {
                let text = format!("writes code or constants in RAM, at {address:#x}");
                (K::CannotTell, None, text)
            }
            Event::UnknownTarget { is_call: true } => {
                (K::CannotTell, None, "calls a function that is not known".into())
            }
            Event::UnknownTarget { .. } => {
                (K::CannotTell, None, "jumps to an address that is not known".into())
            }
            Event::NoCode { target } => {
                (K::CannotTell, None, format!("goes to {target:#x}, where the file has no code"))
            }
            Event::NotDecoded => {
                (K::CannotTell, None, "executes an instruction that is not known".into())
            }
            Event::Trap(trap) => (K::CannotTell, None, trap.text.to_owned()),
            Event::TooLong => {
                (K::CannotTell, None, "is part of a program that is too large to follow".into())
            }
        };
        Some(Observation { kind, target, text })
    }
}
