//! Memory on an address bus: parallel NOR and PCM, read word by word in place.

use flashpager_base::Result;

use crate::bus::{Bus, words};
use crate::datasheet::{MemoryKind, Parallel, Part, stated};
use crate::operation::{
    LINE_BYTES, Medium, Operation, OperationKind, OperationRequest, OperationStep, implausible,
    required, unsupported,
};

/// Writes of the usual unlock sequence and the command, before address and data.
const COMMAND_WRITES: u32 = 3;

impl Parallel {
    /// The numbers of words that are first in their read page, and of those that are not.
    fn words(&self, bytes: u64, width_bits: u32) -> (u64, u64) {
        let words = words(bytes, width_bits);
        let first = match (&self.t_page_acc_ns, &self.read_page_bytes) {
            (Some(_), Some(page)) => bytes.div_ceil(u64::from(page.value.max(1))).min(words),
            _ => words,
        };
        (first, words - first)
    }

    /// The commands of an operation that is repeated `times` times.
    fn commands(&self, access_ns: f64, times: u64) -> OperationStep {
        let writes = self.command_writes.as_ref().map_or(COMMAND_WRITES, |writes| writes.value);
        let ns = times as f64 * f64::from(writes) * access_ns.max(self.t_acc_ns.value);
        let formula = match times {
            1 => format!("{writes} write cycles"),
            _ => format!("{times} × {writes} write cycles"),
        };
        OperationStep::command("command", formula, ns)
    }
}

impl Medium for Parallel {
    fn kinds(&self) -> &'static [MemoryKind] {
        &[MemoryKind::Nor, MemoryKind::Pcm, MemoryKind::Mram, MemoryKind::Fram]
    }

    fn operations(&self, part: &Part) -> Vec<OperationKind> {
        if part.kind.is_written_in_place() {
            return vec![OperationKind::Read, OperationKind::Program];
        }
        vec![OperationKind::Read, OperationKind::Program, OperationKind::Erase]
    }

    fn operation(&self, part: &Part, request: &OperationRequest<'_>) -> Result<Operation> {
        let kind = request.kind;
        if !self.operations(part).contains(&kind) {
            return Err(unsupported(part, kind, &self.operations(part)));
        }
        let access = request.bus.map_or(0.0, Bus::access_ns);
        let width_bits = request.bus.map_or(32, |bus| bus.width_bits).min(part.width_bits.value);
        let mut data_bytes = 0;
        let steps = match kind {
            OperationKind::Read => {
                let bytes = request.bytes.unwrap_or(LINE_BYTES);
                data_bytes = bytes;
                let (first, next) = self.words(bytes, width_bits);
                let t_page = self.t_page_acc_ns.as_ref().map_or(0.0, |time| time.value);
                let ns = first as f64 * self.t_acc_ns.value.max(access)
                    + next as f64 * t_page.max(access);
                let formula = match next {
                    0 => format!("{first} t_ACC"),
                    _ => format!("{first} t_ACC + {next} t_PAGE"),
                };
                vec![OperationStep::transfer("words", formula, ns, bytes)]
            }
            OperationKind::Program => {
                let unit = u64::from(part.program_unit_bytes());
                let bytes = request.bytes.unwrap_or(unit.max(1));
                data_bytes = bytes;
                let words = words(bytes, width_bits);
                let word = self.t_acc_ns.value.max(access);
                let moved = OperationStep::transfer(
                    "words",
                    format!("{words} cycles"),
                    words as f64 * word,
                    bytes,
                );
                if part.kind.is_written_in_place() {
                    vec![moved]
                } else {
                    let t_prog = required(part.t_prog_ns.as_ref(), "t_prog_ns", part, kind)?;
                    let times = bytes.div_ceil(unit.max(1));
                    let busy = times as f64 * t_prog;
                    let busy = OperationStep::busy("program", format!("{times} t_PROG"), busy);
                    vec![self.commands(access, times), moved, busy]
                }
            }
            OperationKind::Erase => {
                let t_bers = required(part.t_bers_ns.as_ref(), "t_bers_ns", part, kind)?;
                vec![self.commands(access, 1), OperationStep::busy("erase", "t_BERS", t_bers)]
            }
            _ => return Err(unsupported(part, kind, &self.operations(part))),
        };
        Ok(Operation { kind, mode: None, steps, data_bytes, left_out: Vec::new() })
    }

    fn shortest_access_ns(&self, _part: &Part, _ask: &OperationRequest<'_>) -> Result<f64> {
        // A faster host waits for the chip, word by word.
        Ok(0.0)
    }

    fn byte_ns(&self, part: &Part, bus: Bus) -> Result<f64> {
        let bytes = self.read_page_bytes.as_ref().map_or(LINE_BYTES, |page| page.value.into());
        Ok(self.operation(part, &OperationRequest::read(Some(bytes), bus))?.ns()
            / bytes.max(1) as f64)
    }

    fn pace(&self) -> Vec<(&'static str, f64)> {
        stated(&[
            ("t_acc_ns", Some(&self.t_acc_ns)),
            ("t_page_acc_ns", self.t_page_acc_ns.as_ref()),
        ])
    }

    fn check(&self, _part: &Part) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        for (name, time) in
            [("t_acc_ns", Some(&self.t_acc_ns)), ("t_page_acc_ns", self.t_page_acc_ns.as_ref())]
        {
            if let Some(time) = time
                && let Some(reason) = implausible(time.value, (1.0, 10_000.0))
            {
                wrong.push((name.into(), format!("{name} = {} {reason}", time.value)));
            }
        }
        if let Some(page) = self.read_page_bytes.as_ref()
            && !(1..=4096).contains(&page.value)
        {
            let reason = format!("read_page_bytes = {} is not between 1 and 4096", page.value);
            wrong.push(("read_page_bytes".into(), reason));
        }
        match (&self.t_page_acc_ns, &self.read_page_bytes) {
            (Some(time), _) if time.value > self.t_acc_ns.value => {
                let reason = format!(
                    "t_page_acc_ns = {} is longer than t_acc_ns = {}",
                    time.value, self.t_acc_ns.value
                );
                wrong.push(("t_page_acc_ns".into(), reason));
            }
            (Some(_), None) => {
                let reason = "t_page_acc_ns needs read_page_bytes, the bytes it is for";
                wrong.push(("t_page_acc_ns".into(), reason.into()));
            }
            _ => {}
        }
        if let Some(writes) = self.command_writes.as_ref().filter(|writes| writes.value > 1000) {
            let reason = format!("command_writes = {} is over 1000", writes.value);
            wrong.push(("command_writes".into(), reason));
        }
        wrong
    }
}
