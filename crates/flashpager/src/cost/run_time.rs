//! What a program takes on a processor: out of RAM, and paged.

use flashpager_base::{Error, Result};
use flashpager_media::cores::ClockedCore;
use flashpager_trace::TraceInfo;
use serde::Serialize;

use super::{Handler, Ram, Time};

/// What a processor executes of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Work {
    /// Instructions of the code in flash.
    pub instructions: u64,
    /// Instructions of code that is not: it runs at full speed, paged or not.
    pub outside_instructions: u64,
    /// Time of an instruction, on average.
    pub instruction_ns: f64,
}

impl Work {
    /// Of the trace that `info` describes.
    ///
    /// # Errors
    /// A trace that does not say how many instructions it holds, and one of bytecodes where nobody
    /// says how many clocks they take.
    pub fn of(info: &TraceInfo, processor: &ClockedCore) -> Result<Self> {
        if !processor.knows_cycles_of(&info.architecture) {
            let core = &processor.core.name;
            let what = format!(
                "the trace counts bytecodes, and how many cycles one takes the virtual machine \
                 decides: give them, as --processor '{core}(120)@{}MHz' for 120",
                processor.clock_mhz
            );
            return Err(Error::data(&info.program, what));
        }
        let instructions = info.instructions.ok_or_else(|| {
            let what = "the trace does not say how many instructions were executed, so a processor's \
                        time cannot be told: record the program, or leave the processor out";
            Error::data(&info.program, what)
        })?;
        let outside_instructions = info.outside_instructions.unwrap_or(0);
        let instruction_ns = processor.instruction_ns();
        Ok(Self { instructions, outside_instructions, instruction_ns })
    }

    /// So much of it.
    pub(crate) fn share(self, share: f64) -> Self {
        let of = |instructions: u64| (instructions as f64 * share).round() as u64;
        Self {
            instructions: of(self.instructions),
            outside_instructions: of(self.outside_instructions),
            ..self
        }
    }

    /// What a byte of a trace with so many takes.
    pub fn byte_ns(&self, bytes: u64) -> f64 {
        self.instructions as f64 * self.instruction_ns / bytes.max(1) as f64
    }
}

/// What a program takes on a processor: out of RAM, and paged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunTime {
    /// What was executed.
    #[serde(flatten)]
    pub work: Work,
    /// All of it out of RAM; with an instruction cache, its refills from there among it.
    pub alone_ns: f64,
    /// All of it, paged.
    pub paged_ns: f64,
    /// The one over the other.
    pub slowdown: f64,
    /// What paging takes: loads, transfers, copies, handler and lookups, less what goes on at
    /// once.
    pub lost_ns: f64,
}

impl RunTime {
    /// Of a replay that takes `time`, with reads at the processor's pace.
    pub fn of(work: Work, time: &Time) -> Self {
        let outside_ns = work.outside_instructions as f64 * work.instruction_ns;
        let alone_ns = time.read_ns + outside_ns;
        let paged_ns = time.time_ns + outside_ns;
        let slowdown = if alone_ns > 0.0 { paged_ns / alone_ns } else { 1.0 };
        Self { work, alone_ns, paged_ns, slowdown, lost_ns: time.time_ns - time.read_ns }
    }
}

/// The fault path of `processor`: its handler, and RAM into which it copies.
///
/// # Errors
/// A core whose file names another that is not known.
pub fn fault_path(processor: &ClockedCore) -> Result<(Handler, Ram)> {
    let (mut handler, mut ram) = (Handler::default(), Ram::default());
    for job in processor.core.jobs()? {
        let ns = job.cycles * processor.cycle_ns();
        match job.name {
            "lookup" => handler.lookup_ns = ns,
            "pre_process" => handler.pre_process_ns = ns,
            "get_freeframe" => handler.get_freeframe_ns = ns,
            "walk_step" => handler.walk_step_ns = ns,
            "downgrade" => handler.downgrade_ns = ns,
            "update_mmu" => handler.update_mmu_ns = ns,
            "post_process" => handler.post_process_ns = ns,
            "false_fault" => handler.false_fault_ns = ns,
            "copy_byte" => ram.t_write_ns = ns,
            other => {
                let what = format!("{other} is no job of the fault path");
                return Err(Error::design(what));
            }
        }
    }
    Ok((handler, ram))
}
