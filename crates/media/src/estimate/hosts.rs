//! Hosts that somebody measured: what they take besides the bus, and what that lets one expect of
//! a host that nobody measured.
//!
//! A time below is a published measurement less what the part and the bus compose of it, with the
//! array at [`READ_SHARE`] of its datasheet's maximum; `flashpager reproduce measurements` derives
//! each of them again.

use flashpager_base::{Error, Result, did_you_mean, named};
use serde::{Deserialize, Serialize};

/// What drives a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// Linux, or a loader of its kind, on an application processor.
    Linux,
    /// A driver on a microcontroller.
    Firmware,
    /// Nothing: a controller fetches where a program reads.
    InPlace,
}

named! {
    System: "unknown system",
    "linux" => Linux,
    "firmware" => Firmware,
    "in-place" => InPlace,
}

/// Who carries the bytes from the controller to RAM, on a microcontroller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferEngine {
    /// DMA, while the bus goes on: the slower of the two counts.
    Dma,
    /// The processor, between the bytes.
    Processor,
}

named! {
    TransferEngine: "unknown transfer engine",
    "dma" => Dma,
    "processor" => Processor,
}

/// What an unknown may be: at its best for speed, most likely, and at its worst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ValueRange {
    /// Where the operation is fastest.
    pub best: f64,
    /// The median of what was measured.
    pub likely: f64,
    /// Where it is slowest.
    pub worst: f64,
}

/// A host that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredHost {
    /// What `like` calls it.
    pub name: &'static str,
    /// Who measured it.
    pub source: &'static str,
    /// What drives the medium there.
    pub system: System,
    /// Whether pages come through a data register; else memory is read in place.
    pub pages: bool,
    /// What an operation takes besides part, bus and mover, in µs, each measurement by itself.
    pub operation_us: &'static [f64],
    /// Who moves the bytes, and the processor's clocks for one, each measurement by itself.
    #[serde(rename = "mover")]
    pub transfer: Option<(TransferEngine, &'static [f64])>,
    /// The processor's clock: where the source does not state it, the fastest of the chip.
    pub processor_mhz: Option<f64>,
    /// The bus's clock over the fastest that the part allows, the mean of the measurements.
    pub clock_share: Option<f64>,
    /// Whether the medium there is serial.
    pub serial: bool,
    /// ns of a byte at the host's own pace, where that was measured as a part of an operation:
    /// the slower of it and the bus counts; 0 where the operation's time contains what moves the
    /// bytes. A host that is like this one takes it, and nothing is fitted to it.
    pub byte_ns: Option<f64>,
}

impl MeasuredHost {
    /// The same of serial memory.
    const fn serial(self) -> Self {
        Self { serial: true, ..self }
    }

    /// The same with a pace of its own for each byte.
    const fn with_byte_ns(self, ns: f64) -> Self {
        Self { byte_ns: Some(ns), ..self }
    }
}

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
    }
}

const fn moved(
    name: &'static str,
    source: &'static str,
    engine: TransferEngine,
    clocks: &'static [f64],
    processor_mhz: f64,
    clock_share: Option<f64>,
) -> MeasuredHost {
    MeasuredHost {
        name,
        source,
        system: System::Firmware,
        pages: false,
        operation_us: &[],
        transfer: Some((engine, clocks)),
        processor_mhz: Some(processor_mhz),
        clock_share,
        serial: true,
        byte_ns: None,
    }
}

const OPENWRT: &str = "OpenWrt 25246, 18694";
const ESP: &str = "ESP-IDF components 489";
const MBED_DMA: &str = "Mbed CE 456";
const MBED_POLLED: &str = "Mbed CE 447";
const ADAFRUIT: &str = "Adafruit SPIFlash 63, 67";

/// All of them.
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
];

/// All hosts that were measured.
pub fn hosts() -> &'static [MeasuredHost] {
    HOSTS
}

/// The host of that name.
///
/// # Errors
/// No such host.
pub fn find(name: &str) -> Result<&'static MeasuredHost> {
    HOSTS.iter().find(|host| host.name == name).ok_or_else(|| {
        let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
        let near = did_you_mean(name, names.iter().copied());
        Error::design(format!("no measured host '{name}'{near} (known: {})", names.join(", ")))
    })
}

/// What a chip takes of the time that a datasheet states as the most for a page load: 50 µs of 60
/// were measured of a W25N01GV.
const READ_SHARE: ValueRange = ValueRange { best: 0.83, likely: 0.83, worst: 1.0 };
/// At its best a half: so much the quickest reads of `HOSTS` need, and they have one source.
const QUICKEST_READ: (&str, f64) = (OPENWRT, 0.5);

/// The share of a page load, as all sources but `without` let one expect.
pub fn read_share(without: Option<&str>) -> ValueRange {
    let (source, best) = QUICKEST_READ;
    if without == Some(source) { READ_SHARE } else { ValueRange { best, ..READ_SHARE } }
}

/// Of a typical t_PROG, to the longest: 220 and 500 µs in the flash-media article.
pub const PROGRAM_SHARE: ValueRange = ValueRange { best: 0.5, likely: 1.0, worst: 500.0 / 220.0 };
/// Of a typical t_BERS, to the longest: 0.5 and 3 ms there.
pub const ERASE_SHARE: ValueRange = ValueRange { best: 0.5, likely: 1.0, worst: 6.0 };
/// Processors of microcontrollers as they are sold, in MHz: the fastest and the slowest.
pub const FASTEST_MHZ: f64 = 1000.0;
/// A slower one lies outside of what is expected.
pub const SLOWEST_MHZ: f64 = 4.0;

/// Clocks of a microcontroller: as they are sold, and likely the median of those measured.
pub fn processor_mhz(without: Option<&str>) -> ValueRange {
    let moved = HOSTS.iter().filter(|it| it.transfer.is_some() && Some(it.source) != without);
    let mut clocks: Vec<f64> = moved.filter_map(|it| it.processor_mhz).collect();
    clocks.sort_by(f64::total_cmp);
    let likely = median(&clocks).unwrap_or(FASTEST_MHZ);
    ValueRange { best: FASTEST_MHZ, likely, worst: SLOWEST_MHZ }
}

/// Whether somebody of `HOSTS` is of that source.
///
/// # Errors
/// Nobody is.
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

/// Something of a host that is fitted to those that were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FittedQuantity {
    /// µs of an operation, on pages or in place.
    Operation {
        /// Pages through a data register.
        pages: bool,
    },
    /// The processor's clocks for a byte.
    ByteClocks(TransferEngine),
    /// The bus's clock over the fastest that the part allows.
    Clock,
}

/// The kinds of which the spread is pooled: those of times.
const POOLED: [FittedQuantity; 4] = [
    FittedQuantity::Operation { pages: true },
    FittedQuantity::Operation { pages: false },
    FittedQuantity::ByteClocks(TransferEngine::Dma),
    FittedQuantity::ByteClocks(TransferEngine::Processor),
];

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl FittedQuantity {
    /// What was measured of it on a host.
    fn of(self, host: &MeasuredHost) -> Option<&'static [f64]> {
        match self {
            Self::Operation { pages } if pages == host.pages => Some(host.operation_us),
            Self::Operation { .. } | Self::Clock => None,
            Self::ByteClocks(engine) => {
                host.transfer.filter(|(own, _)| *own == engine).map(|(_, it)| it)
            }
        }
    }

    /// The hosts of which it was measured, one value each; `without` is a source to leave out.
    fn values(self, without: Option<&str>) -> Vec<f64> {
        let rows = HOSTS.iter().filter(|host| Some(host.source) != without);
        let value = |host: &MeasuredHost| match self {
            Self::Clock => host.clock_share,
            _ => self.of(host).and_then(mean),
        };
        rows.filter_map(value).collect()
    }

    /// What one host that was measured leaves of it: from its best to its worst measurement.
    pub fn on(self, host: &MeasuredHost) -> Option<ValueRange> {
        let values = self.of(host)?;
        let likely = mean(values)?;
        let best = values.iter().copied().fold(f64::INFINITY, f64::min);
        let worst = values.iter().copied().fold(0.0, f64::max);
        Some(ValueRange { best, likely, worst })
    }

    /// What it may be on a host that nobody measured, and of how many hosts that is known.
    ///
    /// Logarithms of the hosts' means are taken for normally distributed. The span is that in
    /// which one measurement of a further host lies with 95 %, by Student's t; the spread of hosts
    /// and that of measurements of one host are pooled over all kinds of times. It reaches as far
    /// as any host that was measured did. What is likely is the median.
    pub fn expected(self, without: Option<&str>) -> (ValueRange, usize) {
        let mut values = self.values(without);
        let count = values.len();
        values.sort_by(f64::total_cmp);
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let (Some(centre), Some(likely)) = (mean(&logs), median(&values)) else {
            return (ValueRange { best: 0.0, likely: 0.0, worst: 0.0 }, 0);
        };
        let groups: &[FittedQuantity] =
            if self == Self::Clock { &[FittedQuantity::Clock] } else { &POOLED };
        let (squares, degrees) = scatter(groups.iter().map(|group| group.values(without)));
        let between = squares / degrees.max(1) as f64;
        let own = if self == Self::Clock { 0.0 } else { variance_within(without) };
        let reach = student(degrees) * (between * (1.0 + 1.0 / count as f64) + own).sqrt();
        let rows = || HOSTS.iter().filter(|host| Some(host.source) != without);
        let seen = || rows().filter_map(|host| self.of(host)).flatten().copied();
        let (least, most) = ((centre - reach).exp(), (centre + reach).exp());
        let span = match self {
            // A faster clock is the better one, and the part's own the fastest.
            Self::Clock => ValueRange { best: 1.0, likely, worst: least.min(values[0]) },
            _ => ValueRange {
                best: seen().fold(least, f64::min),
                likely,
                worst: seen().fold(most, f64::max),
            },
        };
        (span, count)
    }
}

/// µs of a page under Linux, by the processor's clock if that is given, and of how many hosts that
/// is known; `None` where too few were measured.
///
/// The logarithm of the time is taken to fall in a straight line with that of the clock, and the
/// span is that in which one further host lies with 95 %. It is no wider than what is expected
/// where nobody says the system.
pub fn expected_of_linux(
    processor_mhz: Option<f64>,
    without: Option<&str>,
) -> Option<(ValueRange, usize)> {
    const LEAST: usize = 4;
    let fitted = FittedQuantity::Operation { pages: true };
    let (all, _) = fitted.expected(without);
    let rows = HOSTS
        .iter()
        .filter(|host| host.system == System::Linux && Some(host.source) != without)
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
    let reach =
        student(degrees) * (left / degrees as f64 * further + variance_within(without)).sqrt();
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

/// How the logarithms of several measurements of one host scatter, pooled over all hosts.
fn variance_within(without: Option<&str>) -> f64 {
    let rows = HOSTS.iter().filter(|host| Some(host.source) != without);
    let values =
        |host: &MeasuredHost| host.transfer.map_or(host.operation_us, |(_, it)| it).to_vec();
    let (squares, degrees) = scatter(rows.map(values));
    squares / degrees.max(1) as f64
}

/// Squares of how far logarithms are from the mean of their group, in all, and how many are free.
fn scatter(groups: impl Iterator<Item = Vec<f64>>) -> (f64, usize) {
    groups.fold((0.0, 0), |(squares, degrees), values| {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let Some(centre) = mean(&logs) else { return (squares, degrees) };
        let own: f64 = logs.iter().map(|log| (log - centre).powi(2)).sum();
        (squares + own, degrees + logs.len() - 1)
    })
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] * sorted[middle]).sqrt()),
    }
}

/// Student's t for 95 % on both sides, of so many degrees of freedom.
fn student(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    TABLE[degrees.clamp(1, TABLE.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one host showed lies in what is expected of another, whatever source is left out.
    #[test]
    fn what_was_measured_is_expected() {
        for fitted in POOLED {
            let (all, _) = fitted.expected(None);
            assert!(all.best <= all.likely && all.likely <= all.worst, "{fitted:?}: {all:?}");
            for host in HOSTS {
                if let Some(own) = fitted.on(host) {
                    assert!(all.best <= own.best && own.worst <= all.worst, "{}", host.name);
                }
                let (left, _) = fitted.expected(Some(host.source));
                assert!(left.best <= left.likely && left.likely <= left.worst, "{}", host.name);
            }
        }
    }

    /// By hand: logarithms 0, 1, 2 are 1, 0 and 1 from their mean, 3 and 5 each 1.
    #[test]
    fn scatter_is_pooled_over_groups() {
        let of = |logs: &[f64]| logs.iter().map(|log| log.exp()).collect::<Vec<f64>>();
        let groups = [of(&[0.0, 1.0, 2.0]), of(&[3.0, 5.0]), of(&[7.0]), vec![]];
        let (squares, degrees) = scatter(groups.into_iter());
        assert!((squares - 4.0).abs() < 1e-12 && degrees == 3, "{squares} {degrees}");
        assert_eq!(student(3), 3.182);
    }

    /// What rests on one source is not known without it.
    #[test]
    fn what_a_source_showed_goes_with_it() {
        assert_eq!(read_share(None).best, 0.5);
        assert_eq!(read_share(Some(OPENWRT)).best, 0.83);
        assert_ne!(processor_mhz(None).likely, processor_mhz(Some(MBED_DMA)).likely);
        assert!(check_source(OPENWRT).is_ok() && check_source("nobody").is_err());
    }

    #[test]
    fn the_median_of_an_even_number_is_between() {
        assert_eq!(median(&[1.0, 4.0]), Some(2.0));
        assert_eq!(median(&[1.0, 3.0, 4.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }
}
