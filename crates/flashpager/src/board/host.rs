//! The host's half of a board: what lies between a medium's pins and the application, and what a
//! medium gives there.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use super::{catalog, refuse_unknown};
use crate::spec::NONE;
use flashpager_base::{Error, Result};
use flashpager_binary::driver::{CopyLoop, Direction, copy_loop_of};
use flashpager_media::bus::Bus;
use flashpager_media::cores;
use flashpager_media::estimate::{
    Dma, Estimate, EstimateSpec, Host, Layer, Memory, Peripheral, Processor, Software, System,
    check_array_share, check_layers, check_operation_ns, estimate,
};
use flashpager_media::operation::OperationKind;
use flashpager_media::part::{self, Part};

/// Tables of a board that describe its host; a design's prices do not need them.
pub const HOST_FIELDS: &[&str] =
    &["peripheral", "memory", "processor", "driver", "dma", "layers", "array_share"];

/// What a loop does, in `[driver]`.
const LOOP_FIELDS: &[&str] =
    &["instructions", "bytes", "port_accesses", "memory_accesses", "other_device_accesses"];
/// What else may stand in `[driver]`: the time around the loop, the code to count it in, and what
/// is known of a driver that nobody counted.
const DRIVER_FIELDS: &[&str] =
    &["operation_ns", "object", "function", "port", "system", "like", "copied"];
const LAYER_FIELDS: &[&str] = &["name", "read_kb_s", "write_kb_s", "read_share", "write_share"];

const BYTES_PER_KB: f64 = 1000.0;

/// The code of a driver: an object file, and the function whose loop moves the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DriverCode {
    /// The object file.
    pub object: PathBuf,
    /// The function.
    pub function: String,
    /// Address of the data port, where it cannot be told from the code.
    pub port: Option<u64>,
}

/// A layer of software above the driver, reading and writing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LayerRates {
    /// What it is called.
    pub name: String,
    /// Measured through it, reading, in 1000 bytes a second.
    pub read_kb_s: Option<f64>,
    /// Measured through it, writing.
    pub write_kb_s: Option<f64>,
    /// What it leaves of the driver's rate, reading.
    pub read_share: Option<f64>,
    /// What it leaves of the driver's rate, writing.
    pub write_share: Option<f64>,
}

/// What lies between a medium's pins and the application, as a person writes it down; what is
/// absent costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BoardHost {
    /// The bus to the medium; as fast and wide as the part's if absent.
    pub bus: Option<Bus>,
    /// A port that divides its clock; then `bus` gives its lines alone.
    pub peripheral: Option<Peripheral>,
    /// The RAM.
    pub memory: Option<Memory>,
    /// The processor.
    pub processor: Option<Processor>,
    /// The driver's loop.
    pub software: Option<Software>,
    /// Code in which to count the loop instead.
    pub driver: Option<DriverCode>,
    /// What the driver takes for an operation outside of its loop, if that is known.
    pub operation_ns: Option<f64>,
    /// Whether data is moved by DMA.
    pub dma: Option<Dma>,
    /// Whether the processor moves it, by a loop of which no more is known.
    pub copied: bool,
    /// What drives the medium.
    pub system: Option<System>,
    /// A measured host, by name, that this one is like.
    pub like: Option<String>,
    /// What the chip takes of its datasheet's array time, if that was measured.
    pub array_share: Option<f64>,
    /// What is above the driver, from below.
    pub layers: Vec<LayerRates>,
}

impl BoardHost {
    /// The host on a board, shipped or in a file, and the name of its part.
    ///
    /// # Errors
    /// A file that cannot be read, unknown fields, and numbers that cannot be, with the file and
    /// the table.
    pub fn read(board: &Path) -> Result<(Self, Option<String>)> {
        let (table, path) = catalog::read(board)?;
        refuse_unknown(&table, &path.display().to_string())?;
        let part = BoardFile(&path).text(&table, "part")?.map(str::to_owned);
        Ok((Self::of(&table, &path)?, part))
    }

    /// The host of a board's `table`, read from the file `place`; what else the board says is
    /// left to others.
    ///
    /// # Errors
    /// What is no host, with the file and the table.
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

    /// Check all numbers.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn check(&self) -> Result<()> {
        self.peripheral.map_or(Ok(()), Peripheral::check)?;
        let priced = self.priced(Direction::Read, None)?;
        priced.check()?;
        self.check_layers()
    }

    fn check_layers(&self) -> Result<()> {
        check_layers(&self.layers(Direction::Read))?;
        check_layers(&self.layers(Direction::Write))
    }

    /// The layers of which a rate is known in this direction.
    fn layers(&self, direction: Direction) -> Vec<Layer> {
        let of = |layer: &LayerRates| {
            let (rate, share) = match direction {
                Direction::Read => (layer.read_kb_s, layer.read_share),
                Direction::Write => (layer.write_kb_s, layer.write_share),
            };
            let bytes_per_s = rate.map(|rate| rate * BYTES_PER_KB);
            let is_known = bytes_per_s.is_some() || share.is_some();
            is_known.then(|| Layer { name: layer.name.clone(), share, bytes_per_s })
        };
        self.layers.iter().filter_map(of).collect()
    }

    /// The loop of the driver's code, if there is code.
    ///
    /// # Errors
    /// A file that is no object, without the function, or without a loop.
    pub fn copy_loop(&self) -> Result<Option<CopyLoop>> {
        let counted =
            |driver: &DriverCode| copy_loop_of(&driver.object, &driver.function, driver.port);
        self.driver.as_ref().map(counted).transpose()
    }

    /// The host as an operation in this direction is priced on it, with the loop that was counted
    /// in the driver's code.
    ///
    /// # Errors
    /// A loop that moves data the other way.
    pub fn priced(&self, direction: Direction, counted: Option<&CopyLoop>) -> Result<Host> {
        let software = match counted {
            None => self.software,
            Some(counted) => Some(software(counted, direction)?),
        };
        Ok(Host {
            bus: self.bus,
            peripheral: self.peripheral,
            memory: self.memory,
            processor: self.processor,
            software,
            operation_ns: self.operation_ns,
            dma: self.dma,
            copied: self.copied,
            system: self.system,
            like: self.like.clone(),
            array_share: self.array_share,
            layers: self.layers(direction),
        })
    }

    /// The same host, its bus clocked otherwise.
    ///
    /// # Errors
    /// A clock that is none.
    pub fn with_clock(&self, part: &Part, clock_mhz: f64) -> Result<Self> {
        let (cycles, width_bits) =
            self.bus.map_or((1, part.width_bits.value), |bus| (bus.cycles, bus.width_bits));
        let bus = Bus { clock_mhz, cycles, width_bits };
        // Read as a person would have written it, so that it is refused alike.
        let bus = Some(bus.to_string().parse()?);
        Ok(Self { bus, peripheral: None, ..self.clone() })
    }

    /// The same host without what was measured through layers: that was measured with one part
    /// alone.
    pub fn without_measurements(&self) -> Self {
        let mut host = self.clone();
        for layer in &mut host.layers {
            (layer.read_kb_s, layer.write_kb_s) = (None, None);
        }
        host
    }
}

/// A disassembled loop as it is priced. Constants beside the code come from the instruction
/// memory, which has no price.
fn software(counted: &CopyLoop, direction: Direction) -> Result<Software> {
    if counted.direction != direction {
        let (does, wanted) = match direction {
            Direction::Write => ("reads from", "writes to"),
            Direction::Read => ("writes to", "reads from"),
        };
        return Err(Error::design(format!(
            "the loop of {} {does} the data port; the operation needs a function that {wanted} it",
            counted.function
        )));
    }
    Ok(Software {
        instructions: f64::from(counted.instructions),
        bytes: counted.bytes,
        port_accesses: Some(counted.port_accesses),
        memory_accesses: Some(f64::from(counted.memory_accesses)),
        other_device_accesses: Some(f64::from(counted.other_device_accesses)),
    })
}

/// An estimate on a board's host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoardEstimate {
    /// The estimate.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// What the driver's code does, if it was counted there.
    #[serde(rename = "loop")]
    pub counted: Option<CopyLoop>,
}

impl Deref for BoardEstimate {
    type Target = Estimate;

    fn deref(&self) -> &Estimate {
        &self.estimate
    }
}

/// Estimate one operation on `host`, which takes the place of the one in `spec`; `counted` is its
/// driver's loop, where that was counted before.
///
/// # Errors
/// What [`estimate`] refuses, a driver without a loop, and one that moves data the other way.
pub fn estimate_on(
    host: &BoardHost,
    spec: EstimateSpec,
    counted: Option<CopyLoop>,
) -> Result<BoardEstimate> {
    let what = match &spec.operation {
        Some(name) => name.parse()?,
        None => {
            let part = part::find(&spec.part)?;
            part.medium()?.operations(&part).first().copied().unwrap_or(OperationKind::Read)
        }
    };
    let counted = match counted {
        Some(counted) => Some(counted),
        None => host.copy_loop()?,
    };
    let direction = if what.writes() { Direction::Write } else { Direction::Read };
    let host = host.priced(direction, counted.as_ref())?;
    let operation = Some(what.name().to_owned());
    let estimate = estimate(&EstimateSpec { host, operation, ..spec })?;
    Ok(BoardEstimate { estimate, counted })
}

/// The address of a data port, as `0x40000000`.
///
/// # Errors
/// What is no address.
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

/// The file of a board, as errors name it.
struct BoardFile<'a>(&'a Path);

impl BoardFile<'_> {
    fn wrong(&self, what: impl Into<String>) -> Error {
        Error::data(self.0.display().to_string(), what)
    }

    /// Refuse names that nobody would read.
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

    fn text<'t>(&self, given: &'t toml::Table, name: &str) -> Result<Option<&'t str>> {
        let text = |value: &'t toml::Value| {
            value.as_str().ok_or_else(|| self.wrong(format!("{name} = {value} is not text")))
        };
        given.get(name).map(text).transpose()
    }

    fn number(&self, given: &toml::Table, name: &str) -> Result<Option<f64>> {
        let read = |value: &toml::Value| {
            number(value).ok_or_else(|| self.wrong(format!("{name} = {value} is no number")))
        };
        given.get(name).map(read).transpose()
    }

    fn table<'t>(&self, given: &'t toml::Table, name: &str) -> Result<Option<&'t toml::Table>> {
        let table = |value: &'t toml::Value| {
            value.as_table().ok_or_else(|| self.wrong(format!("[{name}] must be a table")))
        };
        given.get(name).map(table).transpose()
    }

    /// One of the tables, its numbers checked.
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

    /// `[processor]`, or a processor by its name.
    fn processor(&self, given: &toml::Table) -> Result<Option<Processor>> {
        let named = given.get("processor").map(|it| processor(it, &self.0.display().to_string()));
        match named.transpose()?.flatten() {
            None if given.get("processor").is_some_and(toml::Value::is_str) => Ok(None),
            None => self.checked(given, "processor", |it: &Processor| it.check()),
            Some(named) => Ok(Some(Processor {
                clock_mhz: named.clock_mhz,
                cycles_per_instruction: Some(named.cycles_per_instruction()),
            })),
        }
    }

    fn read<T: DeserializeOwned>(&self, table: &toml::Table, name: &str) -> Result<T> {
        let read: std::result::Result<T, toml::de::Error> = table.clone().try_into();
        read.map_err(|error| self.wrong(format!("[{name}]: {}", error.message())))
    }

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

    fn layers(&self, given: &toml::Table) -> Result<Vec<LayerRates>> {
        let Some(value) = given.get("layers") else { return Ok(Vec::new()) };
        let tables: Option<Vec<&toml::Table>> =
            value.as_array().and_then(|items| items.iter().map(toml::Value::as_table).collect());
        let tables = tables.ok_or_else(|| self.wrong("layers are written [[layers]]"))?;
        tables.into_iter().map(|table| self.layer(table)).collect()
    }

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

/// The core at its clock of a table `[processor]`, or as `cortex-m3@64MHz`; nothing where it names
/// no core, and tells only of a driver's instructions.
///
/// # Errors
/// A core without a clock, and numbers that cannot be.
pub(super) fn processor(given: &toml::Value, place: &str) -> Result<Option<cores::ClockedCore>> {
    let wrong = |what: String| Error::data(place, format!("[processor]: {what}"));
    if let Some(text) = given.as_str() {
        if text == NONE {
            return Ok(None);
        }
        return text.parse().map(Some).map_err(|error: Error| wrong(error.to_string()));
    }
    let Some(core) = given.get("core") else { return Ok(None) };
    let core = core.as_str().ok_or_else(|| wrong(format!("core = {core} is no name of a core")))?;
    let fields = ["core", "clock_mhz", "cycles_per_instruction"];
    let mut keys = given.as_table().into_iter().flat_map(toml::Table::keys);
    if let Some(key) = keys.find(|key| !fields.contains(&key.as_str())) {
        return Err(wrong(format!("unknown field '{key}' (known: {})", fields.join(", "))));
    }
    let read = |name: &str| {
        let refused = |value| wrong(format!("{name} = {value} is no number"));
        given.get(name).map(|value| number(value).ok_or_else(|| refused(value))).transpose()
    };
    let clock_mhz = read("clock_mhz")?.ok_or_else(|| wrong("lacks clock_mhz".into()))?;
    let processor = cores::ClockedCore::new(core, clock_mhz, read("cycles_per_instruction")?);
    processor.map(Some).map_err(|error| wrong(error.to_string()))
}

fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}
