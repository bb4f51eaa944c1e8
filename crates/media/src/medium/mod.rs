//! Interfaces of parts: one implementation of [`Medium`] for each table of a part's file, and the
//! methods of [`Part`] that use it.

mod lines;
mod onenand;
mod parallel;
mod power;
mod sd;
mod sdr;
mod spi;

use flashpager_base::{Error, Result};

use crate::bus::Bus;
use crate::datasheet::Part;
use crate::operation::{Medium, OperationKind, OperationRequest};

pub use power::Power;

impl Part {
    /// The tables that can state the interface of a part, each `None` if the part's file lacks it.
    fn tables(&self) -> [(&'static str, Option<&dyn Medium>); 5] {
        fn table<M: Medium>(medium: &Option<M>) -> Option<&dyn Medium> {
            medium.as_ref().map(|medium| medium as &dyn Medium)
        }
        [
            ("sdr", table(&self.sdr)),
            ("onenand", table(&self.onenand)),
            ("spi", table(&self.spi)),
            ("parallel", table(&self.parallel)),
            ("sd", table(&self.sd)),
        ]
    }

    /// The tables of interfaces that the part's file has: exactly one, if the file is valid.
    pub(crate) fn media(&self) -> Vec<(&'static str, &dyn Medium)> {
        self.tables().into_iter().filter_map(|(name, table)| Some((name, table?))).collect()
    }

    /// The interface of the part.
    ///
    /// # Errors
    /// If the part's file has none of the tables.
    pub fn medium(&self) -> Result<&dyn Medium> {
        self.media().first().map(|(_, medium)| *medium).ok_or_else(|| {
            let tables = self.tables().map(|(name, _)| format!("[{name}]"));
            Error::design(format!(
                "{} does not say how it is spoken to: its file needs one of the tables {}",
                self.name,
                tables.join(", ")
            ))
        })
    }

    /// The name of the table that states the part's interface. `None` if the file has none.
    pub fn table(&self) -> Option<&'static str> {
        self.media().first().map(|(name, _)| *name)
    }

    /// The bus in words: `x8`, `SPI x4`.
    pub fn bus(&self) -> String {
        let name = self.media().first().map_or("", |(_, medium)| medium.bus_name());
        format!("{name} x{}", self.width_bits.value).trim_start().to_owned()
    }

    /// The fields of the part's table that set the pace of words; `None` without a table.
    pub fn pace(&self) -> Option<Vec<(&'static str, f64)>> {
        self.media().first().map(|(_, medium)| medium.pace())
    }

    /// Time of one byte over `bus`: the time that a source states for this part on this bus, else
    /// that of the slower of bus and part for each word.
    ///
    /// # Errors
    /// If no source states it and it cannot be composed.
    pub fn byte_time(&self, bus: Bus) -> Result<f64> {
        let stated = self
            .t_byte_ns
            .iter()
            .find(|(name, _)| name.parse::<Bus>().is_ok_and(|stated| stated == bus));
        if let Some((_, time)) = stated {
            return Ok(time.value);
        }
        match self.media().first() {
            Some((_, medium)) => medium.byte_ns(self, bus),
            None if self.t_byte_ns.is_empty() => self.medium()?.byte_ns(self, bus),
            None => {
                let known: Vec<&str> = self.t_byte_ns.keys().map(String::as_str).collect();
                Err(Error::design(format!(
                    "{} does not say how it is spoken to, so its time on the bus {bus} is unknown \
                     (known: {})",
                    self.name,
                    known.join(", ")
                )))
            }
        }
    }

    /// The times of a read of `bytes` in place over `bus`, in one transaction: the time before its
    /// data, and the time of a byte of the data. `mode` is a read mode of the part, the fastest if
    /// absent. A part for which only the time of a byte is stated has no time before the data.
    ///
    /// # Errors
    /// If the part lacks the mode, or the bus lacks its lines.
    pub fn in_place_ns(&self, bus: Bus, mode: Option<&str>, bytes: u32) -> Result<(f64, f64)> {
        let Ok(medium) = self.medium() else { return Ok((0.0, self.byte_time(bus)?)) };
        let read = |bytes: u64| {
            let request = OperationRequest { mode, ..OperationRequest::read(Some(bytes), bus) };
            medium.operation(self, &request).map(|operation| operation.ns())
        };
        let bytes = u64::from(bytes.max(1));
        let whole_ns = read(bytes)?;
        let byte_ns = (read(2 * bytes)? - whole_ns) / bytes as f64;
        Ok(((whole_ns - byte_ns * bytes as f64).max(0.0), byte_ns))
    }

    /// Time in nanoseconds from a column change to the first byte; `None` if it is unknown.
    pub fn column_change_ns(&self, bus: Bus) -> Option<f64> {
        self.media().first().and_then(|(_, medium)| medium.column_change_ns(self, bus))
    }

    /// Time of the command, address and status cycles of a load; `None` if it is unknown.
    pub fn load_commands_ns(&self, bus: Bus) -> Option<f64> {
        self.media().first().and_then(|(_, medium)| medium.load_commands_ns(self, bus))
    }

    /// Composes an operation with the usual bytes and mode, on a bus as fast as the part.
    ///
    /// # Errors
    /// If the part lacks a number.
    pub(crate) fn compose_usual(&self, kind: OperationKind) -> Result<()> {
        let request = OperationRequest { kind, bytes: None, mode: None, bus: None, waits: false };
        self.medium()?.operation(self, &request).map(drop)
    }
}
