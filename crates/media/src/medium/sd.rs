//! SD and MMC cards: commands and blocks over a clocked bus. The busy times of the controller
//! inside can only be measured.

use flashpager_base::Result;

use crate::bus::{Bus, words};
use crate::datasheet::{MemoryKind, Part, Sd};
use crate::operation::{
    Medium, Operation, OperationKind, OperationRequest, OperationStep, implausible, unsupported,
};

/// Clocks of a command and its response, 48 bits each, and of the gap between them (SD Physical
/// Layer Simplified Specification: N_CR is 2 to 64 clocks; 8 are assumed here).
const COMMAND_CLOCKS: u32 = 48 + 8 + 48;
/// Clocks of the start bit, the end bit and the CRC-16 of a block, on each line.
const FRAME_CLOCKS: u64 = 1 + 16 + 1;
/// Bytes of a block if the part states none.
const BLOCK_BYTES: u32 = 512;
/// The least and the most plausible busy time of a controller.
const BUSY_NS: (f64, f64) = (50.0, 1e11);

impl Sd {
    fn block(&self) -> u64 {
        u64::from(self.block_bytes.as_ref().map_or(BLOCK_BYTES, |bytes| bytes.value)).max(1)
    }

    fn clock_ns(&self, bus: Option<Bus>) -> f64 {
        (1e3 / self.clock_mhz.value).max(bus.map_or(0.0, Bus::access_ns))
    }

    fn lines(&self, part: &Part, bus: Option<Bus>) -> u32 {
        bus.map_or(32, |bus| bus.width_bits).min(part.width_bits.value).max(1)
    }
}

impl Medium for Sd {
    fn kinds(&self) -> &'static [MemoryKind] {
        &[MemoryKind::Card]
    }

    fn operations(&self, _part: &Part) -> Vec<OperationKind> {
        vec![OperationKind::Read, OperationKind::Program]
    }

    fn operation(&self, part: &Part, request: &OperationRequest<'_>) -> Result<Operation> {
        let kind = request.kind;
        let (busy, busy_name) = match kind {
            OperationKind::Read => (&self.read_busy, "card finds the block"),
            OperationKind::Program => (&self.write_busy, "card is busy"),
            _ => return Err(unsupported(part, kind, &self.operations(part))),
        };
        let clock = self.clock_ns(request.bus);
        let bytes = request.bytes.unwrap_or_else(|| self.block());
        let blocks = bytes.div_ceil(self.block());
        let command = self.command_clocks.as_ref().map_or(COMMAND_CLOCKS, |clocks| clocks.value);
        let frame = blocks.saturating_mul(FRAME_CLOCKS);
        // A card moves whole blocks.
        let moved = blocks.saturating_mul(self.block());
        let data = words(moved, self.lines(part, request.bus));
        let mut steps = vec![
            OperationStep::command(
                "command",
                format!("{command} clocks"),
                f64::from(command) * clock,
            ),
            OperationStep::command(
                "start, CRC, end",
                format!("{frame} clocks"),
                frame as f64 * clock,
            ),
            OperationStep::transfer("data", format!("{data} clocks"), data as f64 * clock, moved),
        ];
        if let Some(busy) = busy {
            let times = blocks as f64;
            let formula = format!("{blocks} × mean, measured");
            let longest = busy.max_ns.map(|ns| (times - 1.0) * busy.mean_ns + ns);
            let step = OperationStep {
                longest_ns: longest,
                ..OperationStep::busy(busy_name, formula, times * busy.mean_ns)
            };
            let at = if kind == OperationKind::Read { 1 } else { steps.len() };
            steps.insert(at, step);
        }
        Ok(Operation { kind, mode: None, steps, data_bytes: bytes, left_out: Vec::new() })
    }

    fn shortest_access_ns(&self, _part: &Part, _ask: &OperationRequest<'_>) -> Result<f64> {
        Ok(1e3 / self.clock_mhz.value)
    }

    fn byte_ns(&self, part: &Part, bus: Bus) -> Result<f64> {
        Ok(8.0 * self.clock_ns(Some(bus)) / f64::from(self.lines(part, Some(bus))))
    }

    fn bus_name(&self) -> &'static str {
        "SD"
    }

    fn pace(&self) -> Vec<(&'static str, f64)> {
        vec![("clock_mhz", self.clock_mhz.value)]
    }

    fn check(&self, _part: &Part) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        if !(self.clock_mhz.value >= 0.01 && self.clock_mhz.value <= 1000.0) {
            let reason = format!("clock_mhz = {} is no clock in MHz", self.clock_mhz.value);
            wrong.push(("clock_mhz".into(), reason));
        }
        if let Some(bytes) = self.block_bytes.as_ref()
            && !(1..=1 << 20).contains(&bytes.value)
        {
            let reason = format!("block_bytes = {} is no size of a block", bytes.value);
            wrong.push(("block_bytes".into(), reason));
        }
        if let Some(clocks) = self.command_clocks.as_ref().filter(|clocks| clocks.value > 100_000) {
            let reason = format!("command_clocks = {} is over 100000", clocks.value);
            wrong.push(("command_clocks".into(), reason));
        }
        for (name, busy) in [("read_busy", &self.read_busy), ("write_busy", &self.write_busy)] {
            let Some(busy) = busy else { continue };
            let mut before = ("mean_ns", busy.mean_ns);
            for (field, ns) in
                [("mean_ns", Some(busy.mean_ns)), ("p99_ns", busy.p99_ns), ("max_ns", busy.max_ns)]
            {
                let Some(ns) = ns else { continue };
                let path = format!("{name}.{field}");
                if ns != 0.0
                    && let Some(reason) = implausible(ns, BUSY_NS)
                {
                    wrong.push((path.clone(), format!("{path} = {ns} {reason}")));
                } else if ns < before.1 {
                    let reason = format!("{path} = {ns} is less than {} = {}", before.0, before.1);
                    wrong.push((path, reason));
                }
                before = (field, ns);
            }
        }
        wrong
    }
}
