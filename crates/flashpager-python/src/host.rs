//! The host of a flash medium, as Python writes it down.

use std::path::PathBuf;

use flashpager::board::{self, BoardHost};
use flashpager::estimate::{self as engine, Controller, Divider, System};
use pyo3::prelude::*;

use crate::driver::CopyLoop;
use crate::parts::Part;
use crate::seam::{ToPyView, raise, view, views_by_name};

views_by_name!(Controller, Divider, System);

view! {
    /// A port that divides its own clock to make that of the bus.
    Peripheral = engine::Peripheral {
        /// The clock that is divided.
        clock_mhz: f64,
        /// The controller that divides it, as `controllers` lists them.
        controller: Option<&'static str>,
        /// The clock that the driver requests; None for the fastest that the part allows.
        asked_mhz: Option<f64>,
    }
    methods {
        #[new]
        #[pyo3(signature = (clock_mhz, divider=None, *, controller=None, asked_mhz=None))]
        fn new(
            clock_mhz: f64,
            divider: Option<&str>,
            controller: Option<&str>,
            asked_mhz: Option<f64>,
        ) -> PyResult<Self> {
            let divider = divider.map(str::parse).transpose().map_err(raise)?;
            let controller = controller.map(str::parse).transpose().map_err(raise)?;
            let made = engine::Peripheral { clock_mhz, divider, controller, asked_mhz };
            made.check().map(|()| Self(made)).map_err(raise)
        }

        /// The divider's kind: that of the controller, or `integer` by default.
        #[getter]
        fn divider(&self) -> &'static str {
            self.0.divider().name()
        }
    }
}

view! {
    /// The RAM that data is read into or written from.
    Memory = engine::Memory {
        /// The RAM's bus, as `100MHz/5-x32`; the cycles are those of a whole access.
        bus: String,
    }
    methods {
        #[new]
        #[pyo3(signature = (bus, refresh_share=None))]
        fn new(bus: &str, refresh_share: Option<f64>) -> PyResult<Self> {
            let made = engine::Memory { bus: bus.parse().map_err(raise)?, refresh_share };
            made.check().map(|()| Self(made)).map_err(raise)
        }

        /// Share of the time that refreshing takes; 0 by default.
        #[getter]
        fn refresh_share(&self) -> f64 {
            self.0.refresh_share()
        }

        /// The same RAM on another bus.
        fn on(&self, bus: &str) -> PyResult<Self> {
            Self::new(bus, self.0.refresh_share)
        }
    }
}

view! {
    /// The processor that runs the driver.
    Processor = engine::Processor {
        /// The processor's clock.
        clock_mhz: f64,
    }
    methods {
        #[new]
        #[pyo3(signature = (clock_mhz, cycles_per_instruction=None))]
        fn new(clock_mhz: f64, cycles_per_instruction: Option<f64>) -> PyResult<Self> {
            let made = engine::Processor { clock_mhz, cycles_per_instruction };
            made.check().map(|()| Self(made)).map_err(raise)
        }

        /// Clocks of an instruction, on average; 1 by default.
        #[getter]
        fn cycles_per_instruction(&self) -> f64 {
            self.0.cycles_per_instruction()
        }

        /// The same processor at another clock.
        fn at(&self, clock_mhz: f64) -> PyResult<Self> {
            Self::new(clock_mhz, self.0.cycles_per_instruction)
        }
    }
}

view! {
    /// The driver's innermost loop, by what an iteration does.
    Software = engine::Software {
        /// Instructions executed by an iteration.
        instructions: f64,
        /// Bytes that an iteration moves through the data port.
        bytes: u32,
    }
    methods {
        #[new]
        #[pyo3(signature = (instructions, bytes, port_accesses=None, memory_accesses=None,
            other_device_accesses=None))]
        fn new(
            instructions: f64,
            bytes: u32,
            port_accesses: Option<u32>,
            memory_accesses: Option<f64>,
            other_device_accesses: Option<f64>,
        ) -> PyResult<Self> {
            let made = engine::Software {
                instructions,
                bytes,
                port_accesses,
                memory_accesses,
                other_device_accesses,
            };
            made.check().map(|()| Self(made)).map_err(raise)
        }

        /// Accesses to the data port that move the bytes; 1 by default.
        #[getter]
        fn port_accesses(&self) -> u32 {
            self.0.port_accesses()
        }

        /// Accesses to RAM; 1 by default.
        #[getter]
        fn memory_accesses(&self) -> f64 {
            self.0.memory_accesses()
        }

        /// Accesses to other devices on the same bus, such as pins that strobe.
        #[getter]
        fn other_device_accesses(&self) -> f64 {
            self.0.other_device_accesses()
        }
    }
}

view! {
    /// Data moved by DMA instead of by the loop.
    Dma = engine::Dma {}
    methods {
        #[new]
        #[pyo3(signature = (software_share=None))]
        fn new(software_share: Option<f64>) -> PyResult<Self> {
            let made = engine::Dma { software_share };
            made.check().map(|()| Self(made)).map_err(raise)
        }

        /// Share of the software overhead that remains; a half by default.
        #[getter]
        fn software_share(&self) -> f64 {
            self.0.software_share()
        }
    }
}

view! {
    /// A layer of software above the driver, described by the rates measured through it or by the
    /// share of the driver's rate that remains above it.
    Layer = board::LayerRates {
        /// Name of the layer.
        name: String,
        /// Measured rate of reading, in 1000 bytes a second; None if unknown.
        read_kb_s: Option<f64>,
        /// Measured rate of writing, in 1000 bytes a second; None if unknown.
        write_kb_s: Option<f64>,
        /// Share of the driver's rate of reading that remains above the layer.
        read_share: Option<f64>,
        /// Share of the driver's rate of writing that remains above the layer.
        write_share: Option<f64>,
    }
    methods {
        #[new]
        #[pyo3(signature = (name, *, read_kb_s=None, write_kb_s=None, read_share=None,
            write_share=None))]
        fn new(
            name: String,
            read_kb_s: Option<f64>,
            write_kb_s: Option<f64>,
            read_share: Option<f64>,
            write_share: Option<f64>,
        ) -> Self {
            Self(board::LayerRates { name, read_kb_s, write_kb_s, read_share, write_share })
        }
    }
}

view! {
    /// A rate that was measured on the board with its own part.
    Measurement = board::BoardMeasurement {
        /// The measured operation.
        operation: &'static str,
        /// The mode of the bus in which it was measured; None for the part's usual one.
        mode: Option<String>,
    }
    methods {
        #[new]
        #[pyo3(signature = (operation, bytes_per_s, *, bytes=None, mode=None))]
        fn new(
            operation: &str,
            bytes_per_s: f64,
            bytes: Option<u64>,
            mode: Option<String>,
        ) -> PyResult<Self> {
            let operation = operation.parse().map_err(raise)?;
            let rate = engine::MeasuredRate { bytes_per_s, bytes };
            let measurement = board::BoardMeasurement { operation, mode, rate };
            measurement.check().map_err(raise)?;
            Ok(Self(measurement))
        }

        /// The rate over the bus, in bytes a second.
        #[getter]
        fn bytes_per_s(&self) -> f64 {
            self.0.rate.bytes_per_s
        }

        /// Bytes of the measured transaction; None for those of the estimated operation.
        #[getter]
        fn bytes(&self) -> Option<u64> {
            self.0.rate.bytes
        }
    }
}

view! {
    /// The code of a driver: an object file, and the function whose loop moves the data.
    Driver = board::DriverCode {
        /// The object file.
        object: PathBuf,
        /// The function whose loop moves the data.
        function: String,
        /// Address of the data port, if it does not follow from the code.
        port: Option<u64>,
    }
    methods {
        #[new]
        #[pyo3(signature = (object, function, port: "int | str | None"=None))]
        fn new(
            object: PathBuf,
            function: String,
            port: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<Self> {
            // A number, or text as 0x40000000.
            let address =
                |port: &Bound<'_, PyAny>| board::address(port.str()?.to_str()?).map_err(raise);
            let port = port.map(address).transpose()?;
            Ok(Self(board::DriverCode { object, function, port }))
        }
    }
}

view! {
    /// The host between a medium's pins and the application; an absent component costs nothing.
    ///
    /// >>> Host(bus="120MHz/8-x8", memory=Memory("100MHz/5-x32")).bus
    /// '120MHz/8-x8'
    Host = BoardHost {
        /// Clock, cycles of an access and data lines, as `120MHz/8-x8`; None for those of the part.
        bus: Option<String>,
        /// A port that makes the bus's clock; then `bus` gives its lines alone.
        peripheral: Option<Peripheral>,
        /// The RAM that data is read into or written from.
        memory: Option<Memory>,
        /// The processor.
        processor: Option<Processor>,
        /// The driver's loop.
        software: Option<Software>,
        /// The driver's code, in which the loop is counted. It replaces `software`.
        driver: Option<Driver>,
        /// Time of the driver for an operation, outside of its loop; None if unknown.
        operation_ns: Option<f64>,
        /// The DMA that moves the data; None if the processor moves it.
        dma: Option<Dma>,
        /// True if the processor moves the data by a loop whose code is unknown.
        copied: bool,
        /// The system that drives the medium: `linux`, `firmware` or `in-place`.
        system: Option<&'static str>,
        /// Name of a measured host that resembles this one, as `measured_hosts` lists them.
        like: Option<String>,
        /// The chip's measured array time as a share of its datasheet's; None if it was not
        /// measured.
        array_share: Option<f64>,
        /// The layers above the driver, the lowest first.
        layers: Vec<Layer>,
        /// The rates measured with the board's own part, at most one for an operation and mode.
        measured: Vec<Measurement>,
    }
    methods {
        #[new]
        #[expect(clippy::too_many_arguments, reason = "the fields of a host, by keyword")]
        #[pyo3(signature = (bus=None, *, peripheral=None, memory=None, processor=None,
            software=None, driver=None, operation_ns=None, dma=None, copied=false, system=None,
            like=None, array_share=None, layers=Vec::new(), measured=Vec::new()))]
        fn new(
            bus: Option<&str>,
            peripheral: Option<PyRef<'_, Peripheral>>,
            memory: Option<PyRef<'_, Memory>>,
            processor: Option<PyRef<'_, Processor>>,
            software: Option<PyRef<'_, Software>>,
            driver: Option<PyRef<'_, Driver>>,
            operation_ns: Option<f64>,
            dma: Option<PyRef<'_, Dma>>,
            copied: bool,
            system: Option<&str>,
            like: Option<String>,
            array_share: Option<f64>,
            layers: Vec<PyRef<'_, Layer>>,
            measured: Vec<PyRef<'_, Measurement>>,
        ) -> PyResult<Self> {
            let made = BoardHost {
                bus: bus.map(str::parse).transpose().map_err(raise)?,
                peripheral: peripheral.map(|it| it.0),
                memory: memory.map(|it| it.0),
                processor: processor.map(|it| it.0),
                software: software.map(|it| it.0),
                driver: driver.map(|it| it.0.clone()),
                operation_ns,
                dma: dma.map(|it| it.0),
                copied,
                system: system.map(str::parse).transpose().map_err(raise)?,
                like,
                array_share,
                layers: layers.iter().map(|it| it.0.clone()).collect(),
                measured: measured.iter().map(|it| it.0.clone()).collect(),
            };
            made.check().map(|()| Self(made)).map_err(raise)
        }

        /// The host on the board in a file, and the name of its part.
        #[staticmethod]
        fn from_board(path: PathBuf) -> PyResult<(Self, Option<String>)> {
            BoardHost::read(&path).map(|(host, part)| (Self(host), part)).map_err(raise)
        }

        /// The loop of the driver's code, if there is code.
        #[pyo3(name = "loop")]
        fn copy_loop(&self) -> PyResult<Option<CopyLoop>> {
            Ok(self.0.copy_loop().map_err(raise)?.map(CopyLoop))
        }

        /// The same host with another clock of its bus.
        fn with_clock(&self, part: PyRef<'_, Part>, clock_mhz: f64) -> PyResult<Self> {
            self.0.with_clock(&part.0, clock_mhz).map(Self).map_err(raise)
        }

        /// The same host without measured rates, which hold for one part on one bus.
        fn without_measurements(&self) -> Self {
            Self(self.0.without_measurements())
        }
    }
}

/// All dividers of a port's clock by name.
#[pyfunction]
pub fn dividers() -> Vec<&'static str> {
    Divider::ALL.iter().map(|(name, _)| *name).collect()
}

view! {
    /// The range of dividers that a controller has.
    DividerRange = engine::DividerRange {
        /// The kind of the dividers.
        divider: &'static str,
        /// The smallest divider.
        least: f64,
        /// The largest divider.
        most: f64,
        /// Source of the values.
        source: &'static str,
    }
}

/// All controllers whose divider is known, by name.
#[pyfunction]
pub fn controllers() -> Vec<(&'static str, DividerRange)> {
    Controller::ALL.iter().map(|(name, it)| (*name, DividerRange(it.divider_range()))).collect()
}

view! {
    /// A measured host: the times that it adds to part and bus.
    MeasuredHost = engine::MeasuredHost {
        /// Name by which `like` refers to it.
        name: &'static str,
        /// Source of the measurement.
        source: &'static str,
        /// The system that drives the medium.
        system: &'static str,
        /// True if pages are read through a data register. False if memory is read in place.
        pages: bool,
        /// The processor's clock, if the mover's time is stated in clocks.
        processor_mhz: Option<f64>,
        /// The bus's clock as a share of the fastest that the part allows.
        clock_share: Option<f64>,
        /// True if the measured medium is serial.
        serial: bool,
        /// Nanoseconds per byte at the host's own pace, if an operation's time was measured with
        /// it. 0 if that time contains the transfer.
        byte_ns: Option<f64>,
        /// True if the medium is an SD card or an eMMC.
        card: bool,
        /// True if nothing is fitted to this host: it stands only for a host that is like it.
        likeness_only: bool,
    }
    methods {
        /// Times of a transaction over those of the bus alone, one for each measurement.
        #[getter]
        fn controller(&self) -> Vec<f64> {
            self.0.controller.to_vec()
        }

        /// Times that the host adds to an operation, besides part, bus and mover, in µs, one for
        /// each measurement.
        #[getter]
        fn operation_us(&self) -> Vec<f64> {
            self.0.operation_us.to_vec()
        }

        /// The mover of the bytes, `dma` or `processor`, and the processor's clocks for a byte, one
        /// for each measurement; None if unknown.
        #[getter]
        fn mover(&self) -> Option<(&'static str, Vec<f64>)> {
            self.0.transfer.map(|(engine, clocks)| (engine.name(), clocks.to_vec()))
        }
    }
}

/// All hosts that were measured.
#[pyfunction]
pub fn measured_hosts() -> Vec<MeasuredHost> {
    engine::hosts().iter().map(MeasuredHost::view_of).collect()
}

/// All systems that drive a medium, by name.
#[pyfunction]
pub fn systems() -> Vec<&'static str> {
    System::ALL.iter().map(|(name, _)| *name).collect()
}
