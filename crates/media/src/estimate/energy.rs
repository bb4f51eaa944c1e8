//! What an operation takes of the supply.

use serde::Serialize;

use crate::operation::Operation;
use crate::part::Part;

const BYTES_PER_KB: f64 = 1024.0;

/// Energy as NAND simulators reckon it: V · I_array · t_array + V · I_io · t_transfer.
/// Currents of datasheets are mostly maxima, and so is this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Energy {
    /// Of the array.
    pub array_uj: f64,
    /// Of commands and data on the bus.
    pub io_uj: f64,
    /// Both.
    pub operation_uj: f64,
    /// Both, for 1024 bytes; absent if no byte moves.
    pub uj_per_kb: Option<f64>,
    /// Of a page fault: a read of a cache page, if one was named.
    pub fault_uj: Option<f64>,
}

/// Array and bus energy in µJ.
fn of(part: &Part, operation: &Operation) -> Option<(f64, f64)> {
    let power = part.power(operation.kind)?;
    // mW · ns are pJ.
    let uj = |mw: f64, ns: f64| mw * ns * 1e-6;
    Some((uj(power.array_mw, operation.busy_ns()), uj(power.io_mw, operation.bus_ns())))
}

impl Energy {
    /// Of `operation` as it runs on the host's bus, and of a page fault's; `None` if the part
    /// gives no voltage or current.
    pub fn of(part: &Part, operation: &Operation, fault: Option<&Operation>) -> Option<Self> {
        let (array_uj, io_uj) = of(part, operation)?;
        let operation_uj = array_uj + io_uj;
        let bytes = operation.bytes() as f64;
        let fault_uj = fault.and_then(|fault| of(part, fault)).map(|(array, io)| array + io);
        Some(Self {
            array_uj,
            io_uj,
            operation_uj,
            uj_per_kb: (bytes > 0.0).then(|| operation_uj * BYTES_PER_KB / bytes),
            fault_uj,
        })
    }
}
