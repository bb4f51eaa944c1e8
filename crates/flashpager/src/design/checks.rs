//! Checks of a design: combinations of part, bus, register and software that are impossible.

use flashpager_base::sizes::power_of_two;
use flashpager_base::{Error, Result};
use flashpager_media::bus::Bus;
use flashpager_media::operation::OperationRequest;
use flashpager_media::part::Part;
use flashpager_replay::pager::PolicySpec;
use flashpager_replay::register::{RegisterDesign, RegisterModel};

use super::Assumption;
use super::software::TAG_AT;
use crate::cost::handler::Schedule;
use crate::cost::{LineFetch, Prices};
use crate::spec::DesignSpec;

/// Checks that `part` takes `bus`. If the spec allows to clip the bus, a NAND on a parallel bus that
/// is too fast or too wide is read at its own pace, which is the assumption returned.
pub(super) fn check_bus(
    part: &Part,
    bus: Bus,
    spec: &DesignSpec,
    t_byte_ns: f64,
) -> Result<Option<Assumption>> {
    let request =
        OperationRequest { mode: spec.read_mode.as_deref(), ..OperationRequest::read(None, bus) };
    let checked = part.check_lines(bus).and_then(|()| part.check_clock(bus, &request));
    let Err(refused) = checked else { return Ok(None) };
    if !spec.clip_bus || part.is_serial() || bus.width_bits < part.width_bits.value {
        return Err(refused);
    }
    Ok(Some(Assumption {
        field: "clip_bus",
        value: format!("{t_byte_ns} ns a byte"),
        reason: "the part's own pace, slower than the bus".to_owned(),
    }))
}

/// Checks that a read mode is given only for a part that is read in place on a serial bus, and a
/// page only for other parts.
pub(super) fn check_reading(part: &Part, spec: &DesignSpec) -> Result<()> {
    let name = &part.name;
    match (part.kind.is_read_in_place(), &spec.read_mode, spec.flash_page_bytes) {
        (false, Some(mode), _) => Err(Error::design(format!(
            "a read mode of {mode}: {name} loads pages and is not read in place; leave it out"
        ))),
        (true, Some(mode), _) if !part.is_serial() => Err(Error::design(format!(
            "a read mode of {mode}: {name} is on an address bus, whose lines are no choice; leave it \
             out"
        ))),
        (true, _, Some(bytes)) => Err(Error::design(format!(
            "a flash page of {bytes} bytes: {name} is read in place and has none; leave it out"
        ))),
        (true, ..) if spec.codeword_bytes.is_some() => Err(Error::design(format!(
            "a codeword: {name} is read in place, and nobody checks it; leave it out"
        ))),
        _ => Ok(()),
    }
}

/// Checks that `nor` is serial if `part` is, unless its file has no interface.
pub(super) fn check_nor(nor: &Part, part: &Part) -> Result<()> {
    if nor.table().is_none() || nor.is_serial() == part.is_serial() {
        return Ok(());
    }
    let kind = |part: &Part| if part.is_serial() { "serial" } else { "parallel" };
    Err(Error::design(format!(
        "{} is a {} part, and {} a {} one",
        nor.name,
        kind(nor),
        part.name,
        kind(part)
    )))
}

/// Checks that `part` has what `model` needs.
///
/// # Errors
/// A column change or a second buffer that the part does not have.
pub fn check_register(part: &Part, model: RegisterModel) -> Result<()> {
    if part.kind.is_read_in_place() && model != RegisterModel::StartColumn {
        return Err(Error::design(format!(
            "{}: {} is read in place, without a data register; choose start-column, a transaction \
             for each miss",
            model.name(),
            part.name
        )));
    }
    if model == RegisterModel::RandomColumn && !part.has_column_change() {
        return Err(Error::design(format!(
            "{} is a small-page part ({} bytes) and has no column change: random-column is not \
             possible with it; choose sequential or start-column",
            part.name,
            part.flash_page_bytes()
        )));
    }
    if model.has_two_buffers() && part.page_buffers() < 2 {
        return Err(Error::design(
            "a double buffer: the part holds one page at a time, OneNAND two; choose \
             sequential, start-column or random-column",
        ));
    }
    Ok(())
}

/// Checks that tags can be fetched, and that all tags of a flash page fit into its spare area.
pub(super) fn check_tags(part: &Part, spec: &DesignSpec, register: &RegisterDesign) -> Result<()> {
    let Some(tag_bytes) = spec.tag_bytes else { return Ok(()) };
    let wrong = |why: String| Err(Error::design(format!("a tag of {tag_bytes} bytes: {why}")));
    let RegisterDesign { model, flash_page_bytes, codeword_bytes, .. } = *register;
    if !(1..=16).contains(&tag_bytes) {
        return wrong("take 1 to 16, as a MAC has; 8 or more against forgery".into());
    }
    if part.kind.is_read_in_place() {
        return wrong(format!(
            "{} is read in place, and nobody checks it; leave it out",
            part.name
        ));
    }
    if model != RegisterModel::RandomColumn && !model.has_two_buffers() {
        return wrong(format!(
            "tags stand in the spare area, and {} cannot change its column to it; take \
             random-column or double-buffer, and a part that has it",
            model.name()
        ));
    }
    if spec.critical_block_bytes.is_some() {
        return wrong(
            "nothing of a page is used before all of it was checked; leave the critical \
             block out"
                .into(),
        );
    }
    let Some(spare) = part.spare_bytes.as_ref() else {
        return wrong(format!("{} does not say how large its spare area is", part.name));
    };
    // With larger pages than the part's own, the spare area grows in proportion.
    let own = u64::from(part.flash_page_bytes().max(1));
    let spare_bytes = u64::from(spare.value) * u64::from(flash_page_bytes) / own;
    let unit_bytes = spec.cache_page_bytes.max(codeword_bytes.unwrap_or(0)).max(1);
    let units = u64::from(flash_page_bytes / unit_bytes);
    let needed = units * u64::from(tag_bytes);
    let room = spare_bytes.saturating_sub(u64::from(TAG_AT));
    if needed > room {
        return wrong(format!(
            "{units} units of {unit_bytes} bytes in a flash page take {needed} bytes of the spare \
             area, which has {room} behind the mark of a bad block; take shorter tags, or a larger \
             cache page or codeword"
        ));
    }
    Ok(())
}

/// Checks a design whose lines come while the program runs.
pub(super) fn check_line_fetch(
    part: &Part,
    spec: &DesignSpec,
    fetch: LineFetch,
    prices: &Prices,
) -> Result<()> {
    let feature = match (spec.prefetch_lines, fetch) {
        (None, LineFetch::Whole) => return Ok(()),
        (Some(_), LineFetch::CriticalWordFirst) => {
            return Err(Error::design(
                "a prefetch buffer with critical-word-first: a burst that wraps never comes to the \
                 next line; choose one of the two",
            ));
        }
        (Some(lines), _) => format!("a prefetch buffer of {lines} lines"),
        (None, fetch) => fetch.name().to_owned(),
    };
    let wrong = |why: &str| Err(Error::design(format!("{feature}: {why}")));
    if spec.ways.is_none() {
        return wrong(
            "there is one behind a cache in hardware alone; give --ways, or leave it out",
        );
    }
    if !part.kind.is_read_in_place() || !part.is_serial() {
        return wrong(&format!(
            "{} is no serial part that is read in place; leave it out",
            part.name
        ));
    }
    if prices.schedule != Schedule::Sequential {
        return wrong("its controller searches nothing meanwhile; choose schedule sequential");
    }
    if fetch == LineFetch::Whole {
        return Ok(());
    }
    if spec.icache.is_some() {
        return wrong("an instruction cache in front asks for lines, not words; choose whole");
    }
    if prices.ram.t_write_ns > 0.0 {
        return wrong("words come into the cache as they come over the bus; leave t_write_ns out");
    }
    Ok(())
}

/// Checks the size of a critical block, and that the register allows one.
pub(super) fn check_critical_block(spec: &DesignSpec, register: &RegisterDesign) -> Result<()> {
    let Some(critical) = spec.critical_block_bytes else { return Ok(()) };
    power_of_two("critical block", critical)?;
    let least = register.codeword_bytes.unwrap_or(1).max(spec.icache.map_or(1, |i| i.line_bytes));
    if critical > spec.cache_page_bytes || critical < least {
        return Err(Error::design(format!(
            "a critical block of {critical} bytes: take at least {least}, which are needed whole, \
             and at most the cache page of {}",
            spec.cache_page_bytes
        )));
    }
    if !register.model.has_two_buffers() {
        return Err(Error::design(format!(
            "{}: a critical block first needs a buffer that is read like RAM, double-buffer",
            register.model.name()
        )));
    }
    Ok(())
}

/// Checks that the policy can do with the references that an emulated reference bit shows.
pub(super) fn check_emulated_bit(policy: &PolicySpec) -> Result<()> {
    if policy.can_emulate_its_bit() {
        return Ok(());
    }
    let others = PolicySpec::with_emulated_bits().join(", ");
    Err(Error::design(format!(
        "{policy} must see every reference: a reference bit that is emulated shows it the first \
         after the bit was cleared; choose one of {others}"
    )))
}

/// Checks that a column change, if the register makes any, has a price.
pub(super) fn check_column_change(
    part: &Part,
    model: RegisterModel,
    prices: &Prices,
) -> Result<()> {
    if model == RegisterModel::RandomColumn && prices.t_column_change_ns.is_none() {
        return Err(Error::design(format!(
            "{} does not say what a change of the column takes: random-column has no price with it",
            part.name
        )));
    }
    Ok(())
}
