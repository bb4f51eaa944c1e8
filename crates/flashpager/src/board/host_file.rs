//! The tables of a board file that describe its host.

use std::path::Path;

use flashpager_base::{Error, Result};
use flashpager_media::estimate::{
    Dma, MeasuredRate, Memory, Peripheral, Processor, Software, check_array_share,
    check_operation_ns,
};
use serde::de::DeserializeOwned;

use super::catalog;
use super::fields::refuse_unknown;
use super::host::{BYTES_PER_KB, BoardHost, BoardMeasurement, DriverCode, LayerRates};
use super::processor::{BoardProcessor, processor};
use super::toml_file::{number, size};

/// Fields of `[driver]` that describe its loop.
const LOOP_FIELDS: &[&str] =
    &["instructions", "bytes", "port_accesses", "memory_accesses", "other_device_accesses"];
/// Other fields of `[driver]`: the time outside of the loop, the code in which the loop is counted, and
/// properties of a driver whose loop is unknown.
const DRIVER_FIELDS: &[&str] =
    &["operation_ns", "object", "function", "port", "system", "like", "copied"];
/// Fields of `[[layers]]`.
const LAYER_FIELDS: &[&str] = &["name", "read_kb_s", "write_kb_s", "read_share", "write_share"];
/// Fields of `[[measured]]`.
const MEASURED_FIELDS: &[&str] = &["operation", "mode", "kb_s", "bytes"];

impl BoardHost {
    /// Reads the host of a board, shipped or in a file, and the name of the board's part.
    ///
    /// # Errors
    /// If the file cannot be read, a field is unknown, or a number is impossible, with the file and
    /// the table.
    pub fn read(board: &Path) -> Result<(Self, Option<String>)> {
        let (table, path) = catalog::read(board)?;
        refuse_unknown(&table, &path.display().to_string())?;
        let part = BoardFile(&path).text(&table, "part")?.map(str::to_owned);
        Ok((Self::of(&table, &path)?, part))
    }

    /// The host of a board's `table`, which was read from the file `place`. Other fields of the board are
    /// not looked at.
    ///
    /// # Errors
    /// If the tables describe no host, with the file and the table.
    pub fn of(table: &toml::Table, place: &Path) -> Result<Self> {
        let place = BoardFile(place);
        let bus = place.text(table, "bus")?.map(str::parse).transpose();
        let mut host = Self {
            bus: bus.map_err(|error| place.wrong(format!("bus: {error}")))?,
            peripheral: place.checked(table, "peripheral", |it: &Peripheral| it.check())?,
            memory: place.checked(table, "memory", |it: &Memory| it.check())?,
            processor: place.processor(table)?,
            dma: place.checked(table, "dma", |it: &Dma| it.check())?,
            layers: place.layers(table)?,
            measured: place.measured(table)?,
            array_share: place.number(table, "array_share")?,
            ..Self::default()
        };
        check_array_share(host.array_share).map_err(|error| place.wrong(error.to_string()))?;
        if let Some(driver) = place.table(table, "driver")? {
            place.driver(driver, &mut host)?;
        }
        host.check_layers().map_err(|error| place.wrong(format!("[layers]: {error}")))?;
        let is_counted = host.driver.is_some();
        if !is_counted {
            host.check().map_err(|error| place.wrong(error.to_string()))?;
        }
        Ok(host)
    }
}

/// The address of a data port from its text, such as `0x40000000`.
///
/// # Errors
/// If the text is not an address.
pub fn address(text: &str) -> Result<u64> {
    let digits = text.trim().replace('_', "").to_ascii_lowercase();
    let (digits, radix) = match digits.get(..2) {
        Some("0x") => (&digits[2..], 16),
        Some("0o") => (&digits[2..], 8),
        Some("0b") => (&digits[2..], 2),
        _ => (digits.as_str(), 10),
    };
    u64::from_str_radix(digits, radix)
        .map_err(|_| Error::design(format!("'{text}' is no address: write it as 0x40000000")))
}

/// A board file with its path, which errors name.
struct BoardFile<'a>(&'a Path);

impl BoardFile<'_> {
    /// An error in this file.
    fn wrong(&self, message: impl Into<String>) -> Error {
        Error::data(self.0.display().to_string(), message)
    }

    /// Refuses unknown fields.
    fn refuse_unknown(&self, given: &toml::Table, known: &[&str]) -> Result<()> {
        let mut unknown: Vec<&str> =
            given.keys().map(String::as_str).filter(|name| !known.contains(name)).collect();
        unknown.sort_unstable();
        match unknown.first() {
            None => Ok(()),
            Some(name) => {
                Err(self.wrong(format!("unknown field '{name}' (known: {})", known.join(", "))))
            }
        }
    }

    /// A field that holds text.
    fn text<'t>(&self, given: &'t toml::Table, name: &str) -> Result<Option<&'t str>> {
        let text = |value: &'t toml::Value| {
            value.as_str().ok_or_else(|| self.wrong(format!("{name} = {value} is not text")))
        };
        given.get(name).map(text).transpose()
    }

    /// A field that holds a number.
    fn number(&self, given: &toml::Table, name: &str) -> Result<Option<f64>> {
        let read = |value: &toml::Value| {
            number(value).ok_or_else(|| self.wrong(format!("{name} = {value} is no number")))
        };
        given.get(name).map(read).transpose()
    }

    /// A field that is a table.
    fn table<'t>(&self, given: &'t toml::Table, name: &str) -> Result<Option<&'t toml::Table>> {
        let table = |value: &'t toml::Value| {
            value.as_table().ok_or_else(|| self.wrong(format!("[{name}] must be a table")))
        };
        given.get(name).map(table).transpose()
    }

    /// A table whose numbers are checked by `check`.
    fn checked<T: DeserializeOwned>(
        &self,
        given: &toml::Table,
        name: &str,
        check: impl Fn(&T) -> Result<()>,
    ) -> Result<Option<T>> {
        let Some(table) = self.table(given, name)? else { return Ok(None) };
        let read: T = self.read(table, name)?;
        check(&read).map_err(|error| self.wrong(format!("[{name}]: {error}")))?;
        Ok(Some(read))
    }

    /// The processor, as the table `[processor]` or by its name.
    fn processor(&self, given: &toml::Table) -> Result<Option<Processor>> {
        let Some(written) = given.get("processor") else { return Ok(None) };
        match processor(written, &self.0.display().to_string())? {
            BoardProcessor::Core(named) => Ok(Some(Processor {
                clock_mhz: named.clock_mhz,
                cycles_per_instruction: Some(named.cycles_per_instruction()),
            })),
            BoardProcessor::Absent if written.is_str() => Ok(None),
            BoardProcessor::Unnamed | BoardProcessor::Absent => {
                let mut table = given.clone();
                if let Some(toml::Value::Table(processor)) = table.get_mut("processor") {
                    processor.remove("core");
                }
                self.checked(&table, "processor", |it: &Processor| it.check())
            }
        }
    }

    /// A value of the fields of a table.
    fn read<T: DeserializeOwned>(&self, table: &toml::Table, name: &str) -> Result<T> {
        let read: std::result::Result<T, toml::de::Error> = table.clone().try_into();
        read.map_err(|error| self.wrong(format!("[{name}]: {}", error.message())))
    }

    /// Reads `[driver]` into `host`.
    fn driver(&self, given: &toml::Table, host: &mut BoardHost) -> Result<()> {
        let known = [LOOP_FIELDS, DRIVER_FIELDS].concat();
        BoardFile(Path::new(&format!("{}: [driver]", self.0.display())))
            .refuse_unknown(given, &known)?;
        let in_driver = |error: Error| self.wrong(format!("[driver]: {error}"));
        let counts: toml::Table = given
            .iter()
            .filter(|(name, _)| LOOP_FIELDS.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if given.contains_key("object") || given.contains_key("function") {
            let text = |name: &str| given.get(name).and_then(toml::Value::as_str);
            let (Some(object), Some(function)) = (text("object"), text("function")) else {
                return Err(self.wrong("[driver] needs both object and function, as text"));
            };
            if let Some(count) = counts.keys().min() {
                return Err(
                    self.wrong(format!("[driver] has code and counts ({count}); give one of them"))
                );
            }
            let port = given.get("port").map(|port| match port {
                toml::Value::String(text) => address(text),
                other => address(&other.to_string()),
            });
            let folder = self.0.parent().unwrap_or(Path::new(""));
            host.driver = Some(DriverCode {
                object: folder.join(object),
                function: function.to_owned(),
                port: port.transpose()?,
            });
        }
        if !counts.is_empty() {
            let software: Software = self.read(&counts, "driver")?;
            software.check().map_err(in_driver)?;
            host.software = Some(software);
        }
        host.operation_ns = self.number(given, "operation_ns")?;
        host.operation_ns.map_or(Ok(()), check_operation_ns).map_err(in_driver)?;
        let text = |name: &str| self.text(given, name);
        host.system = text("system")?.map(str::parse).transpose().map_err(in_driver)?;
        host.like = text("like")?.map(str::to_owned);
        host.copied = match given.get("copied") {
            None => false,
            Some(copied) => copied.as_bool().ok_or_else(|| {
                self.wrong(format!("[driver]: copied = {copied} is neither true nor false"))
            })?,
        };
        Ok(())
    }

    /// All tables of a field that is written `[[name]]`.
    fn tables<'t>(&self, given: &'t toml::Table, name: &str) -> Result<Vec<&'t toml::Table>> {
        let Some(value) = given.get(name) else { return Ok(Vec::new()) };
        let tables: Option<Vec<&toml::Table>> =
            value.as_array().and_then(|items| items.iter().map(toml::Value::as_table).collect());
        tables.ok_or_else(|| self.wrong(format!("{name} is written [[{name}]]")))
    }

    /// Reads all `[[layers]]`.
    fn layers(&self, given: &toml::Table) -> Result<Vec<LayerRates>> {
        self.tables(given, "layers")?.into_iter().map(|table| self.layer(table)).collect()
    }

    /// Reads all `[[measured]]`.
    fn measured(&self, given: &toml::Table) -> Result<Vec<BoardMeasurement>> {
        let mut measured: Vec<BoardMeasurement> = Vec::new();
        for table in self.tables(given, "measured")? {
            let next = self.measurement(table)?;
            if measured.iter().any(|one| (one.operation, &one.mode) == (next.operation, &next.mode))
            {
                let name = next.operation.name();
                return Err(
                    self.wrong(format!("[[measured]] has {name} twice; keep one of the two"))
                );
            }
            measured.push(next);
        }
        Ok(measured)
    }

    /// Reads a table `[[measured]]`.
    fn measurement(&self, given: &toml::Table) -> Result<BoardMeasurement> {
        let place = format!("{}: [[measured]]", self.0.display());
        let place = BoardFile(Path::new(&place));
        place.refuse_unknown(given, MEASURED_FIELDS)?;
        let operation = place.text(given, "operation")?.unwrap_or("read").parse();
        let kb_s = place.number(given, "kb_s")?;
        let kb_s = kb_s.ok_or_else(|| place.wrong("a rate without kb_s, 1000 bytes a second"))?;
        let bytes = match given.get("bytes") {
            None => None,
            Some(value) => Some(size(&place.0.display().to_string(), "bytes", value)?),
        };
        let measurement = BoardMeasurement {
            operation: operation.map_err(|error: Error| place.wrong(error.to_string()))?,
            mode: place.text(given, "mode")?.map(str::to_owned),
            rate: MeasuredRate { bytes_per_s: kb_s * BYTES_PER_KB, bytes },
        };
        measurement.check().map_err(|error| place.wrong(error.to_string()))?;
        Ok(measurement)
    }

    /// Reads a table `[[layers]]`.
    fn layer(&self, given: &toml::Table) -> Result<LayerRates> {
        BoardFile(Path::new(&format!("{}: [[layers]]", self.0.display())))
            .refuse_unknown(given, LAYER_FIELDS)?;
        let name = given.get("name").and_then(toml::Value::as_str);
        let name = name.ok_or_else(|| self.wrong("a layer without a name"))?.to_owned();
        let rate = |field: &str| {
            let read = |value: &toml::Value| {
                number(value)
                    .ok_or_else(|| self.wrong(format!("[[layers]] {field} = {value} is no number")))
            };
            given.get(field).map(read).transpose()
        };
        Ok(LayerRates {
            name,
            read_kb_s: rate("read_kb_s")?,
            write_kb_s: rate("write_kb_s")?,
            read_share: rate("read_share")?,
            write_share: rate("write_share")?,
        })
    }
}
