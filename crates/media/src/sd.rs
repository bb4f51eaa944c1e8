//! SD and MMC cards: commands and blocks over a clocked bus, and a controller inside
//! whose busy times can only be measured.

use flashpager_base::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bus::Bus;
use super::operation::{
    Medium, Operation, OperationKind, OperationRequest, OperationStep, implausible, unsupported,
    words,
};
use super::part::{MemoryKind, Part, Sourced};

/// A command and its response, 48 bits each, and the clocks between them
/// (SD Physical Layer Simplified Specification: N_CR is 2 to 64, 8 taken here).
const COMMAND_CLOCKS: u32 = 48 + 8 + 48;
/// Start and end bit of a block, and its CRC-16, on each line.
const FRAME_CLOCKS: u64 = 1 + 16 + 1;
const BLOCK_BYTES: u32 = 512;
/// What a controller may take, least and most.
const BUSY_NS: (f64, f64) = (50.0, 1e11);

/// How long a card was seen busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardBusyTime {
    /// Mean.
    pub mean_ns: f64,
    /// 99 of 100 are no longer, where that was measured.
    pub p99_ns: Option<f64>,
    /// Longest seen.
    pub max_ns: Option<f64>,
    /// Who measured it, and on what.
    pub source: String,
}

/// The table `[sd]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sd {
    /// Fastest clock of the bus.
    pub clock_mhz: Sourced<f64>,
    /// Bytes of a block; 512 if absent.
    pub block_bytes: Option<Sourced<u32>>,
    /// Clocks of a command and its response; 104 if absent.
    pub command_clocks: Option<Sourced<u32>>,
    /// Before the data of each block that is read.
    pub read_busy: Option<CardBusyTime>,
    /// Behind the data of each block that is written.
    pub write_busy: Option<CardBusyTime>,
}

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
        // Nothing less than a block moves.
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
            let what = format!("clock_mhz = {} is no clock in MHz", self.clock_mhz.value);
            wrong.push(("clock_mhz".into(), what));
        }
        if let Some(bytes) = self.block_bytes.as_ref()
            && !(1..=1 << 20).contains(&bytes.value)
        {
            let what = format!("block_bytes = {} is no size of a block", bytes.value);
            wrong.push(("block_bytes".into(), what));
        }
        if let Some(clocks) = self.command_clocks.as_ref().filter(|clocks| clocks.value > 100_000) {
            let what = format!("command_clocks = {} is over 100000", clocks.value);
            wrong.push(("command_clocks".into(), what));
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
                    && let Some(what) = implausible(ns, BUSY_NS)
                {
                    wrong.push((path.clone(), format!("{path} = {ns} {what}")));
                } else if ns < before.1 {
                    let what = format!("{path} = {ns} is less than {} = {}", before.0, before.1);
                    wrong.push((path, what));
                }
                before = (field, ns);
            }
        }
        wrong
    }
}
