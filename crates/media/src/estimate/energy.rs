//! The energy of an operation.

use serde::Serialize;

use crate::operation::Operation;
use crate::part::Part;

const BYTES_PER_KB: f64 = 1024.0;

/// The energy of an operation as NAND simulators compute it: V · I_array · t_array + V · I_io ·
/// t_transfer. The currents of datasheets are mostly maxima, and so is the energy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Energy {
    /// Energy of the array.
    pub array_uj: f64,
    /// Energy of commands and data on the bus.
    pub io_uj: f64,
    /// The sum.
    pub operation_uj: f64,
    /// The sum per 1024 bytes; absent if no byte moves.
    pub uj_per_kb: Option<f64>,
    /// Energy of a page fault, which reads a cache page; absent if no cache page was named.
    pub fault_uj: Option<f64>,
}

/// Energy of the array and of the bus, in µJ.
fn array_and_io(part: &Part, operation: &Operation) -> Option<(f64, f64)> {
    let power = part.power(operation.kind)?;
    // mW · ns = pJ
    let uj = |mw: f64, ns: f64| mw * ns * 1e-6;
    Some((uj(power.array_mw, operation.busy_ns()), uj(power.io_mw, operation.bus_ns())))
}

impl Energy {
    /// The energy of `operation` on the host's bus, and of the read of a page fault. `None` if the
    /// part states no voltage or no current.
    pub fn of(part: &Part, operation: &Operation, fault: Option<&Operation>) -> Option<Self> {
        let (array_uj, io_uj) = array_and_io(part, operation)?;
        let operation_uj = array_uj + io_uj;
        let bytes = operation.bytes() as f64;
        let fault_uj =
            fault.and_then(|fault| array_and_io(part, fault)).map(|(array, io)| array + io);
        Some(Self {
            array_uj,
            io_uj,
            operation_uj,
            uj_per_kb: (bytes > 0.0).then(|| operation_uj * BYTES_PER_KB / bytes),
            fault_uj,
        })
    }
}
