//! The bus between flash and processor.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Data lines that a bus or a part may have.
pub const WIDTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// A bus by its clock and data lines: `33MHz-x8`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bus {
    /// Clock in MHz.
    pub clock_mhz: f64,
    /// Data lines, one of [`WIDTHS`].
    pub width_bits: u32,
}

impl Bus {
    /// Time of one bus cycle.
    pub fn cycle_ns(self) -> f64 {
        1e3 / self.clock_mhz
    }
}

impl FromStr for Bus {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.split_once("-x").and_then(|(clock, width)| {
            let clock_mhz: f64 = clock.strip_suffix("MHz")?.parse().ok()?;
            let width_bits: u32 = width.parse().ok()?;
            let sane = clock_mhz > 0.0 && clock_mhz <= 10_000.0 && WIDTHS.contains(&width_bits);
            sane.then_some(Self { clock_mhz, width_bits })
        });
        parsed.ok_or_else(|| {
            Error::design(format!(
                "bus '{text}' is not of the form 33MHz-x8 (clock, then 1, 2, 4, 8, 16 or 32 data lines)"
            ))
        })
    }
}

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}MHz-x{}", self.clock_mhz, self.width_bits)
    }
}
