//! What a part takes of its supply.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Sourced;
use crate::operation::OperationKind;

/// The table `[supply]`: what a part takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Supply {
    /// Supply voltage at which energy is reckoned.
    pub volts: Option<Sourced<f64>>,
    /// Current while the array is read, and, if `io_ma` is absent, while data moves.
    pub read_ma: Option<Sourced<f64>>,
    /// Current while the array is programmed; that of reading if absent.
    pub program_ma: Option<Sourced<f64>>,
    /// Current while the array is erased; that of programming if absent.
    pub erase_ma: Option<Sourced<f64>>,
    /// Current while data moves over the bus.
    pub io_ma: Option<Sourced<f64>>,
    /// Current while nothing happens.
    pub standby_ua: Option<Sourced<f64>>,
}

/// A part's power, as its datasheet's currents give it: mostly maxima.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// While the array is at work.
    pub array_mw: f64,
    /// While commands and data go over the bus.
    pub io_mw: f64,
}

impl Supply {
    /// The power of an operation; `None` without voltage or current.
    pub fn power(&self, what: OperationKind) -> Option<Power> {
        fn value(number: &Option<Sourced<f64>>) -> Option<f64> {
            number.as_ref().map(|number| number.value)
        }
        let read = value(&self.read_ma);
        let program = value(&self.program_ma).or(read);
        let array = match what {
            OperationKind::Program | OperationKind::MultiPlaneProgram => program,
            OperationKind::Erase => value(&self.erase_ma).or(program),
            _ => read,
        };
        let volts = value(&self.volts)?;
        let io = value(&self.io_ma).or(read)?;
        Some(Power { array_mw: volts * array?, io_mw: volts * io })
    }
}
