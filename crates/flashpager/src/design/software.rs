//! The software of a design: its times, its tags, and what is assumed of both.

use flashpager_base::Result;
use flashpager_media::cores::ClockedCore;
use flashpager_replay::Tags;
use flashpager_replay::register::RegisterModel;

use super::resolved::cycles_assumed;
use super::{Assumption, resolved_name};
use crate::cost::{Handler, Prices, Ram, SoftwareCosts, fault_path};
use crate::spec::DesignSpec;

/// The times of a design's software, and of its RAM: those that the spec states, or else those of
/// the processor's fault path, or else 0. A cache in hardware has none: a hit is as fast as RAM, and
/// a line is written as it comes over the bus.
fn software_times(spec: &DesignSpec, processor: Option<&ClockedCore>) -> Result<(Handler, Ram)> {
    let (handler, ram) = if spec.ways.is_some() {
        (Handler::default(), Ram::default())
    } else {
        processor.map(fault_path).transpose()?.unwrap_or_default()
    };
    Ok((spec.handler.unwrap_or(handler), spec.ram.unwrap_or(ram)))
}

impl DesignSpec {
    /// The times of the software, and of the RAM: those that the spec states, or else those of the
    /// processor's fault path.
    ///
    /// # Errors
    /// An unknown part or processor.
    pub fn software_times(&self) -> Result<(Handler, Ram)> {
        let (resolved, _) = self.resolved()?;
        software_times(&resolved, resolved.clocked_core()?.as_ref())
    }
}

/// Bytes that a MAC covers before the data: the image's version and the unit's number.
const MAC_HEAD_BYTES: u32 = 8;

/// Offset of the first tag in the spare area, behind the mark of a bad block.
pub const TAG_AT: u32 = 2;

/// The tags of a design; `None` without. Its register has to be resolved.
pub(super) fn tags(spec: &DesignSpec) -> Option<Tags> {
    let unit_bytes = spec.cache_page_bytes.max(spec.codeword_bytes.unwrap_or(0));
    spec.tag_bytes.map(|tag_bytes| Tags {
        tag_bytes,
        mac_bytes: MAC_HEAD_BYTES.saturating_add(unit_bytes),
        changes_column: resolved_name(&spec.register) == RegisterModel::RandomColumn.name(),
    })
}

/// The host's times for a fault and for an instruction fetch.
pub(super) fn software(
    spec: &DesignSpec,
    processor: Option<&ClockedCore>,
) -> Result<SoftwareCosts> {
    let (handler, ram) = software_times(spec, processor)?;
    Ok(SoftwareCosts {
        ram,
        handler,
        schedule: spec.schedule.parse()?,
        emulates_bit: spec.emulates_bit()?,
        tags: tags(spec),
        fetch: spec.hierarchy()?.map(|(_, prices)| prices),
    })
}

/// The name of the job that writes into RAM; all others are the handler's.
const COPY: &str = "copy_byte";

/// The open parameters of processor and software, as they were resolved. `is_named` is true unless
/// the processor was assumed.
pub(super) fn assumed_software(
    spec: &DesignSpec,
    processor: Option<&ClockedCore>,
    is_named: bool,
    software: &SoftwareCosts,
) -> Vec<Assumption> {
    let mut assumed = Vec::new();
    let mut take = |field, value, reason| assumed.push(Assumption { field, value, reason });
    let SoftwareCosts { handler, ram, .. } = software;
    let Some(processor) = processor else {
        if spec.ram.is_none() && spec.ways.is_none() {
            let reason = "no processor: times of the flash alone".into();
            take("ram", format!("{} ns a byte", ram.t_write_ns), reason);
        }
        return assumed;
    };
    let core = &processor.core.name;
    if let Some((cycles, source)) = cycles_assumed(processor).filter(|_| is_named) {
        take("processor", cycles, source);
    }
    if spec.ways.is_some() {
        return assumed;
    }
    let jobs = processor.core.jobs().unwrap_or_default();
    let reason = |is_copy: bool| {
        let its = jobs.iter().filter(|job| (job.name == COPY) == is_copy);
        let mut elsewhere: Vec<&str> = its.map(|job| job.measured_on.as_str()).collect();
        elsewhere.retain(|measured| measured != core);
        elsewhere.dedup();
        if elsewhere.is_empty() {
            return format!("measured on {core}");
        }
        let other = elsewhere.join(" and ");
        let partly = if is_copy { "" } else { "partly " };
        format!("{partly}as many instructions as on {other}: flashpager cores {core}")
    };
    let (of_core, _) = fault_path(processor).unwrap_or_default();
    if spec.handler.is_none() {
        let fault_ns = handler.fixed_fault_ns();
        let times = format!("lookup {:.0} ns, fault {fault_ns:.0} ns", handler.lookup_ns);
        take("handler", times, reason(false));
    } else if *handler != Handler::default() {
        // A board with all times 0 has a free handler. One with some times 0 may have forgotten them.
        let both = handler.times().into_iter().zip(of_core.times());
        let unsaid = both.filter(|((_, said), (_, core))| *said == 0.0 && *core > 0.0);
        let unsaid: Vec<&str> = unsaid.map(|((name, _), _)| name).collect();
        if !unsaid.is_empty() {
            take("handler", format!("{} 0", unsaid.join(", ")), "[handler] has other times".into());
        }
    }
    if spec.ram.is_none() {
        take("ram", format!("copy {:.1} ns a byte", ram.t_write_ns), reason(true));
    }
    assumed
}

/// The assumption that a check of a tag takes no time, if the handler states none.
pub(super) fn assumed_check(prices: &Prices) -> Option<Assumption> {
    let is_free = prices.tag.is_some_and(|tag| tag.check_ns == 0.0);
    is_free.then(|| Assumption {
        field: "handler",
        value: "tag_check_ns, mac_block_ns 0".into(),
        reason: "nobody said what checking a tag takes: docs/pager.md measures it".into(),
    })
}
