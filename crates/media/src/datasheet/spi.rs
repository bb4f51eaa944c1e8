//! The table `[spi]`.

use serde::{Deserialize, Serialize};

use super::number::Sourced;
use crate::bus::words;

/// Bits of a command.
pub(crate) const COMMAND_BITS: u32 = 8;

/// A read mode: the lines and clocks of a read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadMode {
    /// Lines of command, address and data, such as `1-4-4`. A continuous read that needs no
    /// command has 0 command lines. A slower read than the usual one is named with its command,
    /// such as `1-1-1-03h`, and is used only if it is asked for by name.
    pub name: String,
    /// Clocks between address and data, mode clocks included.
    pub dummy_clocks: Sourced<u32>,
    /// Fastest clock in this mode; the part's if absent.
    pub clock_mhz: Option<Sourced<f64>>,
    /// True if address and data move on both edges of the clock.
    #[serde(default)]
    pub double_rate: bool,
}

impl ReadMode {
    /// Lines of command, address and data; `None` if the name is malformed.
    pub(crate) fn lines(&self) -> Option<[u32; 3]> {
        let name = self.command().map_or(&*self.name, |(lines, _)| lines);
        let mut lines = name.split('-').map(|lines| lines.parse::<u32>().ok());
        let counts = [lines.next()??, lines.next()??, lines.next()??];
        let sane = matches!(counts[0], 0 | 1 | 2 | 4 | 8)
            && counts[1..].iter().all(|lines| matches!(lines, 1 | 2 | 4 | 8))
            && lines.next().is_none();
        sane.then_some(counts)
    }

    /// The lines and the command, two hexadecimal digits and `h`, of a mode named with its command.
    pub(crate) fn command(&self) -> Option<(&str, &str)> {
        let named = |(_, command): &(&str, &str)| {
            command.strip_suffix('h').is_some_and(|hex| {
                hex.len() == 2 && hex.bytes().all(|digit| digit.is_ascii_hexdigit())
            })
        };
        self.name.rsplit_once('-').filter(named)
    }

    /// Data lines.
    pub(crate) fn data_lines(&self) -> u32 {
        self.lines().map_or(1, |lines| lines[2])
    }

    /// Transfers per clock.
    pub(crate) fn rate(&self) -> f64 {
        if self.double_rate { 2.0 } else { 1.0 }
    }

    /// Clocks before the data: command, an address of `bits`, and dummies.
    pub(crate) fn lead_clocks(&self, bits: u32) -> f64 {
        let [command, address, _] = self.lines().unwrap_or([1, 1, 1]);
        let command = if command == 0 { 0 } else { COMMAND_BITS.div_ceil(command) };
        f64::from(command)
            + f64::from(bits.div_ceil(address)) / self.rate()
            + f64::from(self.dummy_clocks.value)
    }

    /// Clocks of the data.
    pub(crate) fn data_clocks(&self, bytes: u64) -> f64 {
        (words(bytes, self.data_lines()) as f64 / self.rate()).ceil()
    }
}

/// The table `[spi]`: clock and read modes of a serial part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Spi {
    /// Fastest clock.
    pub clock_mhz: Sourced<f64>,
    /// Address bits of memory read in place; 24 if absent.
    pub address_bits: Option<Sourced<u32>>,
    /// The read modes.
    pub modes: Vec<ReadMode>,
    /// Data lines when programming; 1 if absent.
    pub program_lines: Option<Sourced<u32>>,
    /// True if an SPI NAND delivers page after page without a command, loading the next one
    /// meanwhile.
    #[serde(default)]
    pub continuous_read: bool,
}
