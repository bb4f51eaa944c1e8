//! Measured hosts: their times beside part and bus, and what these let one expect of a host that
//! was not measured.
//!
//! Each time below is a published measurement minus the time composed of part and bus, with the
//! array at [`READ_SHARE`] of its datasheet's maximum. `flashpager reproduce measurements` derives
//! all of them again.

use flashpager_base::{Error, Result, did_you_mean, named};
use serde::{Deserialize, Serialize};

/// The system that drives a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// Linux, or a boot loader of its kind, on an application processor.
    Linux,
    /// A driver on a microcontroller.
    Firmware,
    /// No driver: a controller fetches the addresses that a program reads.
    InPlace,
}

named! {
    System: "unknown system",
    "linux" => Linux,
    "firmware" => Firmware,
    "in-place" => InPlace,
}

/// The engine that moves bytes from the controller to RAM on a microcontroller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferEngine {
    /// DMA, at the same time as the bus: the slower of the two counts.
    Dma,
    /// The processor, after each byte of the bus: both times count.
    Processor,
}

named! {
    TransferEngine: "unknown transfer engine",
    "dma" => Dma,
    "processor" => Processor,
}

/// The range of an unknown value: best for speed, likely, worst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ValueRange {
    /// The value with which the operation is fastest.
    pub best: f64,
    /// The likely value: the median of the measurements.
    pub likely: f64,
    /// The value with which it is slowest.
    pub worst: f64,
}

/// A measured host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredHost {
    /// The name, as in [`Host::like`](super::Host::like).
    pub name: &'static str,
    /// The source of the measurement.
    pub source: &'static str,
    /// The system that drives the medium.
    pub system: System,
    /// True if pages are read through a data register; else memory is read in place.
    pub pages: bool,
    /// The time of an operation beside part, bus and transfer engine, in µs, one value per
    /// measurement.
    pub operation_us: &'static [f64],
    /// The transfer engine, and the processor's clocks per byte, one value per measurement.
    #[serde(rename = "mover")]
    pub transfer: Option<(TransferEngine, &'static [f64])>,
    /// The processor's clock; the fastest of the chip if the source does not state it.
    pub processor_mhz: Option<f64>,
    /// The bus's clock over the fastest that the part allows, as the mean of the measurements.
    pub clock_share: Option<f64>,
    /// True if the medium is serial.
    pub serial: bool,
    /// Time per byte at the host's own pace in ns, if it was measured as a part of the operation:
    /// the slower of it and the bus counts. 0 if the operation's time contains the transfer. It
    /// applies only to a host that resembles this one; nothing is fitted to it.
    pub byte_ns: Option<f64>,
    /// Times of a transaction over those of the bus alone, one value per measurement, where a
    /// controller adds to each transfer: bridges, chip select, copying out of a FIFO.
    pub controller: &'static [f64],
    /// True if the medium is an SD card or an eMMC.
    pub card: bool,
    /// True if nothing is fitted to this host: it stands only for a host that is like it.
    pub likeness_only: bool,
}

impl MeasuredHost {
    /// The host with serial memory.
    const fn serial(self) -> Self {
        Self { serial: true, ..self }
    }

    /// The host with a pace of its own for each byte.
    const fn with_byte_ns(self, ns: f64) -> Self {
        Self { byte_ns: Some(ns), ..self }
    }

    /// The host with a card as its medium.
    const fn on_card(self) -> Self {
        Self { card: true, serial: false, ..self }
    }

    /// Returns whether times besides those of the bus were measured.
    pub const fn has_driver_time(&self) -> bool {
        !self.operation_us.is_empty() || self.transfer.is_some()
    }
}

/// A host of which the time of an operation was measured.
const fn driven(
    name: &'static str,
    source: &'static str,
    system: System,
    pages: bool,
    operation_us: &'static [f64],
    processor_mhz: Option<f64>,
    clock_share: Option<f64>,
) -> MeasuredHost {
    MeasuredHost {
        name,
        source,
        system,
        pages,
        operation_us,
        transfer: None,
        processor_mhz,
        clock_share,
        serial: !pages,
        byte_ns: None,
        controller: &[],
        card: false,
        likeness_only: false,
    }
}

/// A host of which the clocks per byte were measured.
const fn moved(
    name: &'static str,
    source: &'static str,
    engine: TransferEngine,
    clocks: &'static [f64],
    processor_mhz: f64,
    clock_share: Option<f64>,
) -> MeasuredHost {
    MeasuredHost {
        transfer: Some((engine, clocks)),
        processor_mhz: Some(processor_mhz),
        clock_share,
        ..driven(name, source, System::Firmware, false, &[], None, None)
    }
}

/// A host of which the time of transactions on a known bus was measured.
const fn controlled(
    name: &'static str,
    source: &'static str,
    system: System,
    controller: &'static [f64],
) -> MeasuredHost {
    MeasuredHost { controller, ..driven(name, source, system, false, &[], None, None) }
}

/// A driver on a microcontroller whose time contains the transfer, and to which nothing is fitted.
const fn likeness(
    name: &'static str,
    source: &'static str,
    operation_us: &'static [f64],
    processor_mhz: f64,
) -> MeasuredHost {
    MeasuredHost {
        likeness_only: true,
        byte_ns: Some(0.0),
        ..driven(name, source, System::Firmware, false, operation_us, Some(processor_mhz), None)
    }
}

const OPENWRT: &str = "OpenWrt 25246, 18694";
const ESP: &str = "ESP-IDF components 489";
const MBED_DMA: &str = "Mbed CE 456";
const MBED_POLLED: &str = "Mbed CE 447";
const ADAFRUIT: &str = "Adafruit SPIFlash 63, 67";
const ZEPHYR_SPIM: &str = "Zephyr 40943";

/// All measured hosts.
pub const HOSTS: &[MeasuredHost] = &[
    driven(
        "linux-mediatek-spi",
        OPENWRT,
        System::Linux,
        true,
        &[69.6, 66.3, 21.1, 17.5],
        Some(2000.0),
        Some(0.28),
    )
    .serial(),
    driven(
        "linux-cadence-qspi",
        "Linux MTD, W35N02JW",
        System::Linux,
        true,
        &[57.0, 45.5],
        Some(1400.0),
        Some(0.15),
    )
    .serial(),
    driven(
        "linux-gpmi-imx6",
        "Linux 003fe4b9545b",
        System::Linux,
        true,
        &[47.1, 41.2],
        Some(1000.0),
        Some(0.99),
    ),
    driven(
        "linux-gpmi-imx28",
        "Linux MTD, i.MX28",
        System::Linux,
        true,
        &[513.7, 288.5],
        Some(454.0),
        None,
    ),
    driven(
        "linux-pl353-zynq",
        "Linux MTD, PL353",
        System::Linux,
        true,
        &[283.8],
        Some(667.0),
        None,
    ),
    driven(
        "linux-atmel-sama5d4",
        "Linux MTD, SAMA5D4",
        System::Linux,
        true,
        &[281.8],
        Some(600.0),
        None,
    ),
    driven(
        "linux-mtk-mt2712",
        "Linux MTD, MT2712",
        System::Linux,
        true,
        &[61.3, 57.3],
        Some(1200.0),
        None,
    ),
    driven(
        "linux-mt7621-nand",
        "LEDE 1669, MT7621",
        System::Linux,
        true,
        &[272.3, 624.1],
        Some(880.0),
        None,
    ),
    driven("linux-ep93xx", "Linux MTD, EP93xx", System::Linux, true, &[474.5], Some(200.0), None),
    driven(
        "esp-idf-spi-nand",
        ESP,
        System::Firmware,
        true,
        &[374.8, 348.8, 348.9],
        None,
        Some(0.3),
    )
    .serial()
    .with_byte_ns(0.0),
    driven(
        "smx-sam9263",
        "Hu 2010, K9F2G08U",
        System::Firmware,
        true,
        &[52.3],
        Some(200.0),
        Some(0.375),
    ),
    driven("linux-rzn1-qspi", "Linux SPI, RZ/N1", System::Linux, false, &[43.8], None, None)
        .with_byte_ns(65.6),
    driven(
        "nrf52-mx25r",
        "a published fit, MX25R6435F",
        System::Firmware,
        false,
        &[65.2],
        None,
        None,
    )
    .with_byte_ns(631.0),
    moved("stm32f7-qspi-dma", MBED_DMA, TransferEngine::Dma, &[7.08], 216.0, Some(1.0)),
    moved("stm32f4-qspi-dma", MBED_DMA, TransferEngine::Dma, &[7.06], 180.0, Some(0.83)),
    moved("stm32l4-qspi-dma", MBED_DMA, TransferEngine::Dma, &[8.09], 80.0, Some(0.37)),
    moved("stm32g4-qspi-dma", MBED_DMA, TransferEngine::Dma, &[11.82], 170.0, Some(0.82)),
    moved("stm32u5-ospi-dma", MBED_DMA, TransferEngine::Dma, &[4.04], 160.0, Some(0.6)),
    moved("nrf52-qspi-dma", ADAFRUIT, TransferEngine::Dma, &[8.77], 64.0, Some(0.27)),
    moved("samd21-spi", ADAFRUIT, TransferEngine::Processor, &[66.0, 68.2], 48.0, None),
    moved("samd51-spi", ADAFRUIT, TransferEngine::Processor, &[52.3], 120.0, None),
    moved("samd51-qspi", ADAFRUIT, TransferEngine::Processor, &[9.0], 120.0, None),
    moved("stm32f7-qspi", MBED_POLLED, TransferEngine::Processor, &[39.7], 216.0, None),
    moved("stm32f4-qspi", MBED_POLLED, TransferEngine::Processor, &[65.5], 180.0, None),
    controlled("litex-arty-spi", "LiteX 998", System::InPlace, &[1.412, 1.419]),
    controlled("litex-titanium-spi", "LiteX boards 307", System::InPlace, &[5.158, 1.528]),
    controlled(
        "esp32s3-octal-psram",
        "esp32-s3-memorycopy 2",
        System::InPlace,
        &[1.572, 1.449, 1.289],
    ),
    controlled("rp2040-uncached", "oberon-rtk, flash memory", System::InPlace, &[1.25]),
    controlled("linux-qca9558-spi", "OpenWrt 2939", System::Linux, &[1.224, 1.282]),
    controlled("linux-ar9344-spi", "OpenWrt 3251", System::Linux, &[1.229, 1.266]),
    controlled("linux-bcm2836-sd", "raspberrypi linux 1368", System::Linux, &[1.42, 1.112])
        .on_card(),
    likeness(
        "rp2-psram-pio",
        "rp2040-psram",
        &[
            0.67, 0.78, 0.8, 1.32, 0.03, 0.03, 0.15, 0.03, 0.75, 0.81, 0.84, 0.15, 0.25, 0.25,
            0.75, 0.82, 0.88, 0.49, 0.53, 0.55, 0.28, 0.33,
        ],
        125.0,
    ),
    likeness("nrf52-spim-nordic", ZEPHYR_SPIM, &[12.0], 64.0),
    likeness("nrf52-spim-zephyr", ZEPHYR_SPIM, &[51.0], 64.0),
    likeness("esp32s3-sdmmc", "ESP-IDF 12952", &[531.35, 479.0, 703.8, 803.0], 240.0).on_card(),
    likeness("zephyr-sd-spi", "Zephyr 22906", &[2161.9, 2131.9, 1866.9, 1725.9], 80.0).on_card(),
];

/// All measured hosts.
pub fn hosts() -> &'static [MeasuredHost] {
    HOSTS
}

/// Finds a measured host by its name.
///
/// # Errors
/// If there is none of that name.
pub fn find(name: &str) -> Result<&'static MeasuredHost> {
    HOSTS.iter().find(|host| host.name == name).ok_or_else(|| {
        let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
        let near = did_you_mean(name, names.iter().copied());
        Error::design(format!("no measured host '{name}'{near} (known: {})", names.join(", ")))
    })
}

/// The share of a datasheet's maximum t_R that a chip takes: 50 of 60 µs were measured on a
/// W25N01GV.
const READ_SHARE: ValueRange = ValueRange { best: 0.83, likely: 0.83, worst: 1.0 };
/// The source and the share of the quickest reads among [`HOSTS`].
const QUICKEST_READ: (&str, f64) = (OPENWRT, 0.5);

/// The expected share of t_R, from all sources except `without`.
pub fn read_share(without: Option<&str>) -> ValueRange {
    let (source, best) = QUICKEST_READ;
    if without == Some(source) { READ_SHARE } else { ValueRange { best, ..READ_SHARE } }
}

/// The share of a typical t_PROG, up to the longest: 220 and 500 µs in the flash-media article.
pub const PROGRAM_SHARE: ValueRange = ValueRange { best: 0.5, likely: 1.0, worst: 500.0 / 220.0 };
/// The share of a typical t_BERS, up to the longest: 0.5 and 3 ms in the article.
pub const ERASE_SHARE: ValueRange = ValueRange { best: 0.5, likely: 1.0, worst: 6.0 };
/// The clock of the fastest microcontroller on sale, in MHz.
pub const FASTEST_MHZ: f64 = 1000.0;
/// The clock of the slowest microcontroller that is expected, in MHz.
pub const SLOWEST_MHZ: f64 = 4.0;

/// The expected clock of a microcontroller: the range on sale, and the median of the measured ones.
pub fn processor_mhz(without: Option<&str>) -> ValueRange {
    let moved = HOSTS.iter().filter(|it| it.transfer.is_some() && Some(it.source) != without);
    let mut clocks: Vec<f64> = moved.filter_map(|it| it.processor_mhz).collect();
    clocks.sort_by(f64::total_cmp);
    let likely = median(&clocks).unwrap_or(FASTEST_MHZ);
    ValueRange { best: FASTEST_MHZ, likely, worst: SLOWEST_MHZ }
}

/// Checks that a measured host has this source.
///
/// # Errors
/// If none has.
pub fn check_source(source: &str) -> Result<()> {
    if HOSTS.iter().any(|host| host.source == source) {
        return Ok(());
    }
    let mut known: Vec<&str> = HOSTS.iter().map(|host| host.source).collect();
    known.dedup();
    Err(Error::design(format!(
        "no measured host is of the source '{source}' (known: {})",
        known.join("; ")
    )))
}

/// A quantity of a host that is fitted to the measured hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FittedQuantity {
    /// The time of an operation in µs, on pages or in place.
    Operation {
        /// True if pages are read through a data register.
        pages: bool,
    },
    /// The processor's clocks per byte.
    ByteClocks(TransferEngine),
    /// The bus's clock over the fastest that the part allows.
    Clock,
    /// The time of a transaction over that of the bus alone, in place or under Linux.
    Controller(System),
}

/// The controllers, whose spread is pooled.
const CONTROLLERS: [FittedQuantity; 2] =
    [FittedQuantity::Controller(System::InPlace), FittedQuantity::Controller(System::Linux)];

/// The quantities whose spread is pooled: all times.
const POOLED: [FittedQuantity; 4] = [
    FittedQuantity::Operation { pages: true },
    FittedQuantity::Operation { pages: false },
    FittedQuantity::ByteClocks(TransferEngine::Dma),
    FittedQuantity::ByteClocks(TransferEngine::Processor),
];

/// The hosts to which something is fitted, except those of the source `without`.
fn fitted_hosts(without: Option<&str>) -> impl Iterator<Item = &'static MeasuredHost> {
    HOSTS.iter().filter(move |host| !host.likeness_only && Some(host.source) != without)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl FittedQuantity {
    /// The measurements on a host.
    fn of(self, host: &MeasuredHost) -> Option<&'static [f64]> {
        match self {
            Self::Operation { pages } if pages == host.pages => Some(host.operation_us),
            Self::Controller(system) if system == host.system => Some(host.controller),
            Self::Operation { .. } | Self::Controller(_) | Self::Clock => None,
            Self::ByteClocks(engine) => {
                host.transfer.filter(|(own, _)| *own == engine).map(|(_, it)| it)
            }
        }
    }

    /// The means of all hosts on which it was measured, except those of the source `without`.
    fn values(self, without: Option<&str>) -> Vec<f64> {
        let value = |host: &MeasuredHost| match self {
            Self::Clock => host.clock_share,
            // A factor's mean is geometric.
            Self::Controller(_) => mean(&logarithms(self.of(host)?)).map(f64::exp),
            _ => self.of(host).and_then(mean),
        };
        fitted_hosts(without).filter_map(value).collect()
    }

    /// The range on one measured host, from its best to its worst measurement. That of a controller
    /// also contains one further measurement of the host with 80 %.
    pub fn on(self, host: &MeasuredHost) -> Option<ValueRange> {
        let values = self.of(host)?;
        let likely = mean(values)?;
        let best = values.iter().copied().fold(f64::INFINITY, f64::min);
        let worst = values.iter().copied().fold(0.0, f64::max);
        if !matches!(self, Self::Controller(_)) {
            return Some(ValueRange { best, likely, worst });
        }
        let centre = mean(&logarithms(values))?;
        let (within, degrees) = controller_variance_within(None);
        let further = within * (1.0 + 1.0 / values.len() as f64);
        let reach = student(STUDENT_80, degrees) * further.sqrt();
        Some(ValueRange {
            best: best.min((centre - reach).exp()).max(1.0),
            likely: centre.exp(),
            worst: worst.max((centre + reach).exp()),
        })
    }

    /// The expected range on a host that was not measured, and the number of hosts behind it.
    ///
    /// The logarithms of the hosts' means are taken as normally distributed. The range contains one
    /// measurement of a further host with 95 %, by Student's t, and that of a controller with 80 %.
    /// The spread between hosts and that between measurements of one host are pooled over all times,
    /// and over all controllers. The range of times also contains every measurement. The likely
    /// value is the median. A controller is not faster than its bus.
    pub fn expected(self, without: Option<&str>) -> (ValueRange, usize) {
        let mut values = self.values(without);
        let count = values.len();
        values.sort_by(f64::total_cmp);
        let (Some(centre), Some(likely)) = (mean(&logarithms(&values)), median(&values)) else {
            return (ValueRange { best: 0.0, likely: 0.0, worst: 0.0 }, 0);
        };
        let (groups, table): (&[FittedQuantity], _) = match self {
            Self::Clock => (&[FittedQuantity::Clock], STUDENT_95),
            Self::Controller(_) => (&CONTROLLERS, STUDENT_80),
            _ => (&POOLED, STUDENT_95),
        };
        let (squares, degrees) = scatter(groups.iter().map(|group| group.values(without)));
        let between = squares / degrees.max(1) as f64;
        let own = match self {
            Self::Clock => 0.0,
            Self::Controller(_) => controller_variance_within(without).0,
            _ => variance_within(without),
        };
        let further = between * (1.0 + 1.0 / count as f64) + own;
        let reach = student(table, degrees) * further.sqrt();
        let seen = || fitted_hosts(without).filter_map(|host| self.of(host)).flatten().copied();
        let (least, most) = ((centre - reach).exp(), (centre + reach).exp());
        let span = match self {
            // The faster the clock the better; the part's own is the fastest.
            Self::Clock => ValueRange { best: 1.0, likely, worst: least.min(values[0]) },
            Self::Controller(_) => ValueRange { best: 1.0, likely, worst: most.max(likely) },
            _ => ValueRange {
                best: seen().fold(least, f64::min),
                likely,
                worst: seen().fold(most, f64::max),
            },
        };
        (span, count)
    }
}

/// The slowest controller that can be expected or was measured, as the time of a transaction over
/// that of the bus.
pub fn slowest_controller(systems: &[System], without: Option<&str>) -> f64 {
    let expected =
        systems.iter().map(|system| FittedQuantity::Controller(*system).expected(without).0.worst);
    let alone = HOSTS
        .iter()
        .filter(|host| systems.contains(&host.system) && Some(host.source) != without)
        .filter_map(|host| Some(FittedQuantity::Controller(host.system).on(host)?.worst));
    expected.chain(alone).fold(1.0, f64::max)
}

/// The expected time of a page under Linux in µs, and the number of hosts behind it; `None` if too
/// few were measured.
///
/// If the processor's clock is given, the logarithm of the time is fitted by a straight line over
/// that of the clock. The range contains one further host with 95 %, and lies within the range for
/// an unknown system.
pub fn expected_of_linux(
    processor_mhz: Option<f64>,
    without: Option<&str>,
) -> Option<(ValueRange, usize)> {
    const LEAST: usize = 4;
    let fitted = FittedQuantity::Operation { pages: true };
    let (all, _) = fitted.expected(without);
    let rows = fitted_hosts(without)
        .filter(|host| host.system == System::Linux)
        .filter_map(|host| Some((host.processor_mhz?.ln(), mean(fitted.of(host)?)?.ln())));
    let (clocks, times): (Vec<f64>, Vec<f64>) = rows.unzip();
    let count = times.len();
    if count < LEAST {
        return None;
    }
    let (middle, centre) = (mean(&clocks)?, mean(&times)?);
    let across: f64 = clocks.iter().map(|clock| (clock - middle).powi(2)).sum();
    let (slope, off) = match processor_mhz {
        Some(mhz) => {
            let pairs = clocks.iter().zip(&times);
            let both: f64 = pairs.map(|(x, y)| (x - middle) * (y - centre)).sum();
            (both / across, mhz.ln() - middle)
        }
        None => (0.0, 0.0),
    };
    let left: f64 =
        clocks.iter().zip(&times).map(|(x, y)| (y - centre - slope * (x - middle)).powi(2)).sum();
    let degrees = count - if processor_mhz.is_some() { 2 } else { 1 };
    let further = 1.0 + 1.0 / count as f64 + off * off / across;
    let reach = student(STUDENT_95, degrees)
        * (left / degrees as f64 * further + variance_within(without)).sqrt();
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let log = match processor_mhz {
        Some(_) => centre + slope * off,
        None => centre,
    };
    let within = |ns: f64| ns.clamp(all.best, all.worst);
    let likely = if processor_mhz.is_some() {
        log.exp()
    } else {
        median(&sorted.iter().map(|log| log.exp()).collect::<Vec<_>>())?
    };
    let span = ValueRange {
        best: within((log - reach).exp()),
        likely: within(likely),
        worst: within((log + reach).exp()),
    };
    Some((span, count))
}

/// The variance of the logarithms of measurements of one host, pooled over all hosts.
fn variance_within(without: Option<&str>) -> f64 {
    let values =
        |host: &MeasuredHost| host.transfer.map_or(host.operation_us, |(_, it)| it).to_vec();
    let (squares, degrees) = scatter(fitted_hosts(without).map(values));
    squares / degrees.max(1) as f64
}

/// The variance of the logarithms of one controller's factors, pooled over all, and the degrees of
/// freedom.
fn controller_variance_within(without: Option<&str>) -> (f64, usize) {
    let (squares, degrees) = scatter(fitted_hosts(without).map(|host| host.controller.to_vec()));
    (squares / degrees.max(1) as f64, degrees)
}

/// The factor within which a further measurement of a host lies that was measured once: of a
/// controller with 80 %, of a time with 95 %.
pub fn further_measurement(of_controller: bool, without: Option<&str>) -> f64 {
    let (variance, t) = if of_controller {
        let (variance, degrees) = controller_variance_within(without);
        (variance, student(STUDENT_80, degrees))
    } else {
        (variance_within(without), student(STUDENT_95, STUDENT_95.len()))
    };
    (t * (2.0 * variance).sqrt()).exp()
}

/// The sum of squared deviations of logarithms from the mean of their group, and the degrees of
/// freedom.
fn scatter(groups: impl Iterator<Item = Vec<f64>>) -> (f64, usize) {
    groups.fold((0.0, 0), |(squares, degrees), values| {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let Some(centre) = mean(&logs) else { return (squares, degrees) };
        let own: f64 = logs.iter().map(|log| (log - centre).powi(2)).sum();
        (squares + own, degrees + logs.len() - 1)
    })
}

/// The logarithms of values.
fn logarithms(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

/// The median; the geometric mean of the middle two of an even number.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] * sorted[middle]).sqrt()),
    }
}

/// Student's t for 95 %, two-sided, by degrees of freedom.
const STUDENT_95: &[f64] = &[
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// Student's t for 80 %, two-sided, by degrees of freedom.
const STUDENT_80: &[f64] =
    &[3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356];

/// Student's t of a table; beyond its end, the last value.
fn student(table: &[f64], degrees: usize) -> f64 {
    table[degrees.clamp(1, table.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The measurements of every host lie in the expected range, whatever source is left out.
    #[test]
    fn expected_ranges_hold_the_measured_hosts() {
        for fitted in POOLED {
            let (all, _) = fitted.expected(None);
            assert!(all.best <= all.likely && all.likely <= all.worst, "{fitted:?}: {all:?}");
            for host in fitted_hosts(None) {
                if let Some(own) = fitted.on(host) {
                    assert!(all.best <= own.best && own.worst <= all.worst, "{}", host.name);
                }
                let (left, _) = fitted.expected(Some(host.source));
                assert!(left.best <= left.likely && left.likely <= left.worst, "{}", host.name);
            }
        }
    }

    /// By hand: the logarithms 0, 1, 2 deviate from their mean by 1, 0, 1; 3 and 5 by 1 each.
    #[test]
    fn scatter_is_pooled_over_groups() {
        let exponentials = |logs: &[f64]| logs.iter().map(|log| log.exp()).collect::<Vec<f64>>();
        let groups = [
            exponentials(&[0.0, 1.0, 2.0]),
            exponentials(&[3.0, 5.0]),
            exponentials(&[7.0]),
            vec![],
        ];
        let (squares, degrees) = scatter(groups.into_iter());
        assert!((squares - 4.0).abs() < 1e-12 && degrees == 3, "{squares} {degrees}");
        assert_eq!((student(STUDENT_95, 3), student(STUDENT_80, 3)), (3.182, 1.638));
        assert_eq!(student(STUDENT_80, 100), 1.356);
    }

    /// Expectations that rest on one source change without it.
    #[test]
    fn facts_of_a_source_are_left_out_with_it() {
        assert_eq!(read_share(None).best, 0.5);
        assert_eq!(read_share(Some(OPENWRT)).best, 0.83);
        assert_ne!(processor_mhz(None).likely, processor_mhz(Some(MBED_DMA)).likely);
        assert!(check_source(OPENWRT).is_ok() && check_source("nobody").is_err());
    }

    /// By hand: hosts in place and under Linux are pooled, each by its geometric mean, and no
    /// controller beats its bus.
    #[test]
    fn controllers_only_take_time() {
        for fitted in CONTROLLERS {
            let FittedQuantity::Controller(system) = fitted else { unreachable!() };
            let (all, count) = fitted.expected(None);
            assert!(count >= 3 && all.best == 1.0 && all.likely > 1.0 && all.worst > all.likely);
            for host in HOSTS.iter().filter(|host| !host.controller.is_empty()) {
                let (left, _) = fitted.expected(Some(host.source));
                assert!(left.worst > left.likely && left.likely > left.best, "{}", host.name);
                if let Some(own) = fitted.on(host) {
                    assert_eq!(host.system, system);
                    assert!(own.best >= 1.0 && own.best < own.likely && own.likely < own.worst);
                    assert!(host.controller.iter().all(|it| (own.best..=own.worst).contains(it)));
                }
            }
        }
        let one = HOSTS.iter().find(|host| host.name == "rp2040-uncached").unwrap();
        let likely = FittedQuantity::Controller(System::InPlace).on(one).unwrap().likely;
        assert!((likely - one.controller[0]).abs() < 1e-12);
    }

    #[test]
    fn the_median_of_an_even_number_is_between() {
        assert_eq!(median(&[1.0, 4.0]), Some(2.0));
        assert_eq!(median(&[1.0, 3.0, 4.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }
}
