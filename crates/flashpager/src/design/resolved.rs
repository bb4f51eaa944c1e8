//! What a design does not say, and what is then taken: one rule for all who ask.

use flashpager_base::Result;
use flashpager_media::bus::Bus;
use flashpager_media::part::{self, Part};
use flashpager_replay::register::RegisterModel;
use serde::Serialize;

use crate::spec::{DesignSpec, NO_NOR, USUAL_PART};

/// NOR parts to compare with: of the serial ones, and of those on an address bus.
const SERIAL_NOR: &str = "W25Q128JV";
const PARALLEL_NOR: &str = "RC28F512M29EW";

/// A value that nobody said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// The field of [`DesignSpec`].
    pub field: &'static str,
    /// What was taken.
    pub value: String,
    /// Why, in a few words.
    pub reason: String,
}

impl DesignSpec {
    /// The design with what is not said filled in, and why it was so.
    ///
    /// # Errors
    /// An unknown part, and one that does not say how fast a bus it takes.
    pub fn resolved(&self) -> Result<(Self, Vec<Assumption>)> {
        self.resolved_on(&part::find(self.part_name())?)
    }

    /// The same, its part being looked up.
    pub(super) fn resolved_on(&self, part: &Part) -> Result<(Self, Vec<Assumption>)> {
        let mut assumed = Vec::new();
        let mut take = |field: &'static str, value: &str, reason: String| {
            assumed.push(Assumption { field, value: value.to_owned(), reason });
            value.to_owned()
        };
        let mut resolved = self.clone();
        if resolved.part.is_none() {
            let reason = "the CARDIS smart card's".to_owned();
            resolved.part = Some(take("part", USUAL_PART, reason));
        }
        let bus = match &resolved.bus {
            Some(bus) => bus.parse()?,
            None => {
                let bus = part.fastest_bus()?;
                let reason = "the fastest it takes".to_owned();
                resolved.bus = Some(take("bus", &bus.to_string(), reason));
                bus
            }
        };
        if resolved.register.is_none() && part.kind.is_read_in_place() {
            // It holds nothing: a transaction for each miss.
            resolved.register = Some(RegisterModel::StartColumn.name().to_owned());
        }
        if resolved.register.is_none() {
            let (model, reason) = usual_register(part, bus);
            resolved.register = Some(take("register", model.name(), reason));
        }
        if resolved.nor.is_none() && part.kind.is_read_in_place() {
            // It is the NOR itself.
            resolved.nor = Some(NO_NOR.to_owned());
        }
        if resolved.nor.is_none() {
            let serial = part.is_serial();
            let (nor, kind) =
                if serial { (SERIAL_NOR, "serial") } else { (PARALLEL_NOR, "parallel") };
            resolved.nor = Some(take("nor", nor, format!("{kind}, too")));
        }
        Ok((resolved, assumed))
    }
}

/// How a real part is read: by a change of the column where it has that, and a price for it.
fn usual_register(part: &Part, bus: Bus) -> (RegisterModel, String) {
    let (model, reason) = if !part.has_column_change() {
        (RegisterModel::StartColumn, "the part changes no columns")
    } else if part.column_change_ns(bus).is_none() {
        (RegisterModel::StartColumn, "a change of the column has no price")
    } else {
        (RegisterModel::RandomColumn, "the part changes columns")
    };
    (model, reason.to_owned())
}
