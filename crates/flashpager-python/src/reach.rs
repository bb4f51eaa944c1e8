//! The code and data that a function reaches outside of RAM.

use std::path::PathBuf;

use flashpager::Error;
use flashpager::reach::{self, ReachRequest};
use pyo3::prelude::*;

use crate::seam::{run, view, views_by_name};

views_by_name!(reach::Verdict, reach::FindingKind);

view! {
    /// A function or an object on a path.
    ReachStep = reach::Step {
        /// The name, demangled.
        name: String,
        /// The address.
        address: u64,
        /// ``RAM``, ``ROM``, or ``flash`` with the name of a section.
        place: String,
    }
}

view! {
    /// Something that is reached outside of RAM, or not understood.
    ReachFinding = reach::Finding {
        /// ``reaches-code``, ``reaches-data``, ``may-reach`` or ``cannot-tell``.
        kind: &'static str,
        /// The shortest path, from a root on. It ends with what is reached, if that is known.
        path: Vec<ReachStep>,
        /// The address of the first instruction that reaches it.
        site: u64,
        /// The number of instructions with the same finding.
        sites: u64,
        /// ``called``, ``read``, ``written``, or what is not understood.
        text: String,
    }
}

view! {
    /// A function that another one calls, or jumps to.
    ReachCall = reach::Call {
        /// The address of the function that calls.
        caller: u64,
        /// The address of the called one.
        callee: u64,
    }
}

view! {
    /// All that some functions reach.
    Reach = reach::ReachReport {
        /// ``closed``, ``not-closed`` or ``cannot-tell``.
        verdict: &'static str,
        /// The names of the roots.
        roots: Vec<String>,
        /// The number of functions in RAM that are reached.
        functions_in_ram: u64,
        /// The number of functions in flash that they call.
        functions_in_flash: u64,
        /// The number of indirect jumps and calls whose targets are known.
        resolved: u64,
        /// The number of indirect jumps and calls.
        indirect: u64,
        /// The calls that were found, each pair of functions once.
        calls: Vec<ReachCall>,
        /// The findings: what is certain first.
        findings: Vec<ReachFinding>,
        /// Assumptions that the answer rests on.
        notes: Vec<String>,
    }
}

/// Follow all that functions of a linked program reach, and find what of it lies outside of RAM.
///
/// Args:
///     file: the program, an ELF file.
///     roots: names of functions, patterns, or ``vectors``.
///     ram: patterns of names of sections in RAM, or ranges of addresses.
///     flash: patterns of names of sections in flash, or ranges of addresses.
///     rom: ranges of addresses of ROM.
///     calls: targets of indirect calls, by the address of a call or the function that holds it.
///     pinned: functions that are assumed to lie in RAM and are roots, too.
///
/// Raises:
///     FlashpagerError: if the file is no linked program or has nothing in RAM, its machine is not
///         followed, or it does not have what is named.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (file, roots, *, ram, flash, rom, calls, pinned))]
pub fn reached(
    py: Python<'_>,
    file: PathBuf,
    roots: Vec<String>,
    ram: Vec<String>,
    flash: Vec<String>,
    rom: Vec<String>,
    calls: Vec<(String, Vec<String>)>,
    pinned: Vec<String>,
) -> PyResult<Reach> {
    let report = run(
        py,
        |_, (): ()| Ok(()),
        |should_continue, _| {
            let bytes = std::fs::read(&file).map_err(|error| Error::file(&file, error))?;
            let request = ReachRequest { roots, ram, flash, rom, calls, pinned };
            reach::reach(&bytes, &file.display().to_string(), &request, should_continue)
        },
    )?;
    Ok(Reach(report))
}
