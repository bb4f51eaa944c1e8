//! The power that an operation draws.

use serde::Serialize;

use crate::datasheet::{Part, Sourced, Supply};
use crate::operation::OperationKind;

/// The power of a part, from its datasheet's currents, which are mostly maxima.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// Power while the array works.
    pub array_mw: f64,
    /// Power while commands and data move over the bus.
    pub io_mw: f64,
}

impl Supply {
    /// The power of an operation; `None` without voltage or current.
    pub fn power(&self, kind: OperationKind) -> Option<Power> {
        fn value(number: &Option<Sourced<f64>>) -> Option<f64> {
            number.as_ref().map(|number| number.value)
        }
        let read = value(&self.read_ma);
        let program = value(&self.program_ma).or(read);
        let array = match kind {
            OperationKind::Program | OperationKind::MultiPlaneProgram => program,
            OperationKind::Erase => value(&self.erase_ma).or(program),
            _ => read,
        };
        let volts = value(&self.volts)?;
        let io = value(&self.io_ma).or(read)?;
        Some(Power { array_mw: volts * array?, io_mw: volts * io })
    }
}

impl Part {
    /// The power of an operation; `None` if the part states no voltage or no current.
    pub fn power(&self, kind: OperationKind) -> Option<Power> {
        self.supply.as_ref().and_then(|supply| supply.power(kind))
    }
}
