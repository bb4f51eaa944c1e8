//! OneNAND: a NAND array behind RAM buffers that the host reads like memory.

use flashpager_base::Result;

use crate::bus::{Bus, words};
use crate::datasheet::{MemoryKind, OneNand, Part, stated};
use crate::operation::{
    Medium, Operation, OperationKind, OperationRequest, OperationStep, implausible, required,
    unknown_mode, unsupported,
};

const ASYNC: &str = "async";
const BURST: &str = "burst";

impl OneNand {
    fn is_burst(&self, request: &OperationRequest<'_>) -> Result<bool> {
        let modes = self.modes();
        match request.mode {
            None => Ok(self.burst_clock_mhz.is_some()),
            Some(mode) if modes.iter().any(|known| known == mode) => Ok(mode == BURST),
            Some(mode) => Err(unknown_mode(mode, &modes)),
        }
    }

    /// Time of a word of the part, which is also the clock of the latency.
    fn word_ns(&self, part: &Part, kind: OperationKind, burst: bool) -> Result<f64> {
        if burst {
            let clock =
                required(self.burst_clock_mhz.as_ref(), "onenand.burst_clock_mhz", part, kind)?;
            Ok(1e3 / clock)
        } else {
            required(self.async_cycle_ns.as_ref(), "onenand.async_cycle_ns", part, kind)
        }
    }

    /// The writes of the registers that start an operation, if there are any.
    fn setup(
        &self,
        part: &Part,
        kind: OperationKind,
        access_ns: f64,
    ) -> Result<Option<OperationStep>> {
        let writes = self.command_writes.as_ref().map_or(0, |writes| writes.value);
        if writes == 0 {
            return Ok(None);
        }
        let cycle = self.word_ns(part, kind, false)?.max(access_ns);
        let formula = format!("{writes} asynchronous writes");
        Ok(Some(OperationStep::command("registers", formula, f64::from(writes) * cycle)))
    }

    fn data(
        &self,
        part: &Part,
        request: &OperationRequest<'_>,
        bytes: u64,
        name: &str,
    ) -> Result<Vec<OperationStep>> {
        let burst = self.is_burst(request)? && !request.kind.writes();
        let own = self.word_ns(part, request.kind, burst)?;
        let access = request.bus.map_or(0.0, Bus::access_ns);
        let width_bits = request.bus.map_or(32, |bus| bus.width_bits).min(part.width_bits.value);
        let words = words(bytes, width_bits);
        let word = own.max(access);
        let mut steps = Vec::new();
        let latency = self.burst_latency_clocks.as_ref().filter(|clocks| burst && clocks.value > 0);
        if let Some(clocks) = latency {
            let formula = format!("{} clocks", clocks.value);
            steps.push(OperationStep::command(
                "burst latency",
                formula,
                f64::from(clocks.value) * word,
            ));
        }
        let way = if burst { "burst clocks" } else { "asynchronous cycles" };
        let formula = format!("{words} {way}");
        steps.push(OperationStep::transfer(name, formula, words as f64 * word, bytes));
        Ok(steps)
    }
}

impl Medium for OneNand {
    fn kinds(&self) -> &'static [MemoryKind] {
        &[MemoryKind::Nand]
    }

    fn operations(&self, _part: &Part) -> Vec<OperationKind> {
        let mut can = vec![
            OperationKind::Read,
            OperationKind::Program,
            OperationKind::Erase,
            OperationKind::ChangeColumn,
        ];
        if self.buffers.as_ref().is_some_and(|buffers| buffers.value > 1) {
            can.push(OperationKind::CacheRead);
        }
        can
    }

    fn modes(&self) -> Vec<String> {
        let has = [(BURST, self.burst_clock_mhz.is_some()), (ASYNC, self.async_cycle_ns.is_some())];
        has.iter().filter(|(_, has)| *has).map(|(mode, _)| (*mode).to_owned()).collect()
    }

    fn operation(&self, part: &Part, request: &OperationRequest<'_>) -> Result<Operation> {
        let kind = request.kind;
        let bytes = request.bytes.unwrap_or_else(|| part.whole_page_bytes());
        let access = request.bus.map_or(0.0, Bus::access_ns);
        let load = || required(part.t_r_ns.as_ref(), "t_r_ns", part, kind);
        let setup = || self.setup(part, kind, access).map(|step| step.into_iter());
        let steps = match kind {
            OperationKind::Read => {
                let mut steps: Vec<OperationStep> = setup()?.collect();
                steps.push(OperationStep::busy("load into a buffer", "t_R", load()?));
                steps.extend(self.data(part, request, bytes, "buffer to host")?);
                steps
            }
            OperationKind::CacheRead if self.operations(part).contains(&kind) => {
                let mut steps: Vec<OperationStep> = setup()?.collect();
                steps.extend(self.data(part, request, bytes, "buffer to host")?);
                steps.push(OperationStep::hidden(
                    "next page into the other buffer",
                    "t_R",
                    load()?,
                ));
                steps
            }
            OperationKind::ChangeColumn => self.data(part, request, bytes, "buffer to host")?,
            OperationKind::Program => {
                let t_prog = required(part.t_prog_ns.as_ref(), "t_prog_ns", part, kind)?;
                let mut steps = self.data(part, request, bytes, "host to buffer")?;
                steps.extend(setup()?.chain([OperationStep::busy("program", "t_PROG", t_prog)]));
                steps
            }
            OperationKind::Erase => {
                let t_bers = required(part.t_bers_ns.as_ref(), "t_bers_ns", part, kind)?;
                setup()?.chain([OperationStep::busy("erase", "t_BERS", t_bers)]).collect()
            }
            _ => return Err(unsupported(part, kind, &self.operations(part))),
        };
        let mode = match kind {
            OperationKind::Erase => None,
            _ if kind.writes() => Some(ASYNC.to_owned()),
            _ => Some(if self.is_burst(request)? { BURST } else { ASYNC }.to_owned()),
        };
        let data_bytes = match kind {
            OperationKind::Erase => 0,
            _ => bytes.min(u64::from(part.flash_page_bytes())),
        };
        Ok(Operation { kind, mode, steps, data_bytes, left_out: Vec::new() })
    }

    fn shortest_access_ns(&self, part: &Part, request: &OperationRequest<'_>) -> Result<f64> {
        self.word_ns(part, request.kind, self.is_burst(request)? && !request.kind.writes())
    }

    fn byte_ns(&self, part: &Part, bus: Bus) -> Result<f64> {
        let burst = self.burst_clock_mhz.is_some();
        let word = self.word_ns(part, OperationKind::Read, burst)?.max(bus.access_ns());
        Ok(8.0 * word / f64::from(bus.width_bits.min(part.width_bits.value)))
    }

    /// Time of a column change. The buffer is RAM, so only the latency of a burst counts.
    fn column_change_ns(&self, part: &Part, bus: Bus) -> Option<f64> {
        let request = OperationRequest {
            kind: OperationKind::ChangeColumn,
            ..OperationRequest::read(Some(0), bus)
        };
        self.operation(part, &request).ok().map(|change| change.ns())
    }

    fn load_commands_ns(&self, part: &Part, bus: Bus) -> Option<f64> {
        self.operation(part, &OperationRequest::read(Some(0), bus))
            .ok()
            .map(|read| read.ns() - read.busy_ns())
    }

    fn pace(&self) -> Vec<(&'static str, f64)> {
        stated(&[("burst_clock_mhz", self.burst_clock_mhz.as_ref())])
    }

    fn check(&self, _part: &Part) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        if let Some(time) = &self.async_cycle_ns
            && let Some(reason) = implausible(time.value, (1.0, 10_000.0))
        {
            let name = "async_cycle_ns";
            wrong.push((name.into(), format!("{name} = {} {reason}", time.value)));
        }
        if let Some(clock) = &self.burst_clock_mhz
            && !(clock.value >= 0.1 && clock.value <= 10_000.0)
        {
            let name = "burst_clock_mhz";
            wrong.push((name.into(), format!("{name} = {} is no clock in MHz", clock.value)));
        }
        for (name, number) in [
            ("burst_latency_clocks", &self.burst_latency_clocks),
            ("command_writes", &self.command_writes),
            ("buffers", &self.buffers),
        ] {
            if let Some(number) = number.as_ref().filter(|number| number.value > 1000) {
                wrong.push((name.into(), format!("{name} = {} is over 1000", number.value)));
            }
        }
        if self.modes().is_empty() {
            let reason = "[onenand] needs async_cycle_ns or burst_clock_mhz";
            wrong.push((String::new(), reason.into()));
        }
        wrong
    }
}
