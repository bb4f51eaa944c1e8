//! The run time of a program on a processor, from RAM and paged.

use flashpager_base::{Error, Result};
use flashpager_media::cores::ClockedCore;
use flashpager_trace::TraceInfo;
use serde::Serialize;

use super::handler::Handler;
use super::prices::Ram;
use super::time::Time;

/// The instructions of a trace on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Work {
    /// Instructions of the code in flash.
    pub instructions: u64,
    /// Instructions of code that is not in flash: it runs at full speed, paged or not.
    pub outside_instructions: u64,
    /// Mean time of an instruction.
    pub instruction_ns: f64,
}

impl Work {
    /// The instructions of the trace that `info` describes.
    ///
    /// # Errors
    /// If the trace has no number of instructions, or counts bytecodes for which the processor has
    /// no number of cycles.
    pub fn of(info: &TraceInfo, processor: &ClockedCore) -> Result<Self> {
        if !processor.knows_cycles_of(&info.architecture) {
            let core = &processor.core.name;
            let message = format!(
                "the trace counts bytecodes, and how many cycles one takes the virtual machine \
                 decides: give them, as --processor '{core}(120)@{}MHz' for 120",
                processor.clock_mhz
            );
            return Err(Error::data(&info.program, message));
        }
        let instructions = info.instructions.ok_or_else(|| {
            let message = "the trace does not say how many instructions were executed, so a \
                           processor's time cannot be told: record the program, import CSV with a \
                           column 'instructions', or leave the processor out";
            Error::data(&info.program, message)
        })?;
        let outside_instructions = info.outside_instructions.unwrap_or(0);
        let instruction_ns = processor.instruction_ns();
        Ok(Self { instructions, outside_instructions, instruction_ns })
    }

    /// A share of the instructions.
    pub(crate) fn share(self, share: f64) -> Self {
        let scaled = |instructions: u64| (instructions as f64 * share).round() as u64;
        Self {
            instructions: scaled(self.instructions),
            outside_instructions: scaled(self.outside_instructions),
            ..self
        }
    }

    /// Mean time of a byte of a trace of `bytes`.
    pub fn byte_ns(&self, bytes: u64) -> f64 {
        self.instructions as f64 * self.instruction_ns / bytes.max(1) as f64
    }
}

/// The run time of a program on a processor, from RAM and paged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunTime {
    /// The instructions executed.
    #[serde(flatten)]
    pub work: Work,
    /// Run time from RAM, including refills of an instruction cache.
    pub alone_ns: f64,
    /// Run time if the code in flash is paged.
    pub paged_ns: f64,
    /// The paged run time over that from RAM.
    pub slowdown: f64,
    /// Time of paging: loads, transfers, copies, handler and lookups, less the hidden time.
    pub lost_ns: f64,
}

impl RunTime {
    /// The run time of a replay that took `time`, with reads at the processor's speed.
    pub fn of(work: Work, time: &Time) -> Self {
        let outside_ns = work.outside_instructions as f64 * work.instruction_ns;
        let alone_ns = time.read_ns + outside_ns;
        let paged_ns = time.time_ns + outside_ns;
        let slowdown = if alone_ns > 0.0 { paged_ns / alone_ns } else { 1.0 };
        Self { work, alone_ns, paged_ns, slowdown, lost_ns: time.time_ns - time.read_ns }
    }
}

/// The fault path of `processor`: the times of its handler, and of the RAM into which it copies.
///
/// # Errors
/// If the core's file refers to an unknown core or job.
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
                let message = format!("{other} is no job of the fault path");
                return Err(Error::design(message));
            }
        }
    }
    Ok((handler, ram))
}
