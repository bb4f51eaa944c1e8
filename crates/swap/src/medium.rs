//! Media for a swap store, by name and size: `ram:12M`, `pcm:16M`, `MT29F2G08AAC:64M`.

use flashpager_base::{Error, Result, did_you_mean};
use flashpager_media::bus::Bus;
use flashpager_media::operation::{OperationKind, OperationRequest};
use flashpager_media::part::{self, MemoryKind, Part};
use serde::{Deserialize, Serialize};

use super::store::{Geometry, StoreCounters, StoreLayout};

/// Kinds of media, each with the catalog part that represents it. RAM is not a part.
pub const KINDS: [(&str, Option<&str>); 5] = [
    ("ram", None),
    ("pcm", Some("NP8P128A")),
    ("mram", Some("MR25H40")),
    ("fram", Some("MB85RS256TY")),
    ("nand", Some("MT29F2G08AAC")),
];

/// Bytes of a medium that is given without a size.
pub const DEFAULT_BYTES: u64 = 16 << 20;

/// Bytes of a block for which wear is counted on media that rewrite in place.
const IN_PLACE_BLOCK_BYTES: u32 = 4096;

/// A medium, looked up by name.
#[derive(Clone, Debug)]
pub struct SwapMedium {
    /// The name, with the size.
    pub name: String,
    /// The part. `None` for RAM.
    pub part: Option<Part>,
    /// The medium's shape.
    pub geometry: Geometry,
    /// True if the size is [`DEFAULT_BYTES`] because none was given.
    pub size_is_assumed: bool,
}

impl std::str::FromStr for SwapMedium {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // A part may also be a TOML file, and its path may contain a colon.
        let (name, size) = match text.rsplit_once(':') {
            Some((name, size)) if !name.is_empty() => (name, Some(size)),
            _ => (text, None),
        };
        let bytes = size.map_or(Ok(DEFAULT_BYTES), |size| bytes_of(text, size))?;
        let kind = KINDS.iter().find(|(kind, _)| kind.eq_ignore_ascii_case(name));
        let part = match kind {
            Some((_, None)) => None,
            Some((_, Some(part))) => Some(part::find(part)?),
            None if name.ends_with(".toml") => Some(part::find(name)?),
            None => Some(known_part(name)?),
        };
        let geometry = geometry(text, part.as_ref(), bytes)?;
        // With the size, so that the name shows the size that was assumed.
        let name = match size {
            Some(_) => text.to_owned(),
            None => format!("{text}:{}M", DEFAULT_BYTES >> 20),
        };
        Ok(Self { name, part, geometry, size_is_assumed: size.is_none() })
    }
}

fn known_part(name: &str) -> Result<Part> {
    let parts = part::catalog()?;
    if let Some(part) = parts.iter().find(|part| part.name.eq_ignore_ascii_case(name)) {
        return Ok(part.clone());
    }
    let kinds = || KINDS.iter().map(|(kind, _)| *kind);
    let near = did_you_mean(name, kinds().chain(parts.iter().map(|part| part.name.as_str())));
    Err(Error::design(format!(
        "unknown medium '{name}'{near} (known: {}, and the parts of the catalog)",
        kinds().collect::<Vec<_>>().join(", ")
    )))
}

fn bytes_of(text: &str, size: &str) -> Result<u64> {
    let upper = size.trim().to_ascii_uppercase();
    let plain = upper.strip_suffix('B').unwrap_or(&upper);
    let plain = plain.strip_suffix('I').unwrap_or(plain);
    let (digits, unit) = match plain.char_indices().next_back() {
        Some((at, 'K')) => (&plain[..at], 1 << 10),
        Some((at, 'M')) => (&plain[..at], 1 << 20),
        Some((at, 'G')) => (&plain[..at], 1 << 30),
        _ => (plain, 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| {
        Error::design(format!(
            "medium '{text}': '{size}' is no size; write bytes, or K, M or G behind a number, as \
             pcm:16M"
        ))
    })
}

fn geometry(text: &str, part: Option<&Part>, bytes: u64) -> Result<Geometry> {
    let (program_bytes, block_bytes) = match part {
        Some(part) if part.kind == MemoryKind::Nand => {
            (part.flash_page_bytes(), u32::try_from(part.block_bytes()).unwrap_or(u32::MAX))
        }
        Some(part) if !rewrites_in_place(part.kind) => {
            return Err(Error::design(format!(
                "medium '{text}': {} is {}, which a swap store cannot use; take NAND, PCM, MRAM, \
                 FRAM or RAM",
                part.name,
                part.kind.name()
            )));
        }
        _ => (1, IN_PLACE_BLOCK_BYTES),
    };
    let blocks = bytes / u64::from(block_bytes.max(1));
    if blocks == 0 || bytes >= u64::from(u32::MAX) {
        return Err(Error::design(format!(
            "medium '{text}': {bytes} bytes are not between a block of {block_bytes} bytes and 4 GiB"
        )));
    }
    Ok(Geometry { program_bytes, block_bytes, block_count: blocks as u32 })
}

fn rewrites_in_place(kind: MemoryKind) -> bool {
    kind == MemoryKind::Pcm || kind.is_written_in_place()
}

impl SwapMedium {
    /// Returns true if the medium is in the same RAM as the program's pages.
    pub fn is_ram(&self) -> bool {
        self.part.is_none()
    }

    /// The usual layout on this medium.
    pub fn layout(&self) -> StoreLayout {
        if self.geometry.program_bytes > 1 { StoreLayout::Log } else { StoreLayout::Fragments }
    }

    /// Times of the medium's operations over `bus`, or over the fastest bus of the part. RAM as a
    /// medium takes `ram_ns_per_byte` for each byte.
    ///
    /// # Errors
    /// If the part lacks a time that is needed, or cannot use the bus.
    pub fn prices(&self, bus: Option<Bus>, ram_ns_per_byte: f64) -> Result<MediumPrices> {
        let Some(part) = &self.part else {
            return Ok(MediumPrices {
                read_byte_ns: ram_ns_per_byte,
                program_byte_ns: ram_ns_per_byte,
                ..MediumPrices::default()
            });
        };
        bus.map_or(Ok(()), |bus| part.check_bus(bus))?;
        let medium = part.medium()?;
        let ns = |kind, bytes| {
            let request = OperationRequest { kind, bytes, mode: None, bus, waits: false };
            medium.operation(part, &request).map(|operation| operation.ns()).map_err(|error| {
                Error::design(format!(
                    "medium '{}': {error}; or take another part ('flashpager parts' lists them)",
                    self.name
                ))
            })
        };
        let byte_ns = |kind, bytes: u32| {
            let bytes = u64::from(bytes.max(1));
            Ok::<f64, Error>((ns(kind, Some(bytes))? - ns(kind, Some(0))?) / bytes as f64)
        };
        let prices = if part.kind == MemoryKind::Nand {
            let page = part.flash_page_bytes();
            MediumPrices {
                load_ns: ns(OperationKind::Read, Some(0))?,
                // A small-page part has no column change: it loads the page again.
                column_ns: match part.has_column_change() {
                    true => ns(OperationKind::ChangeColumn, Some(0))?,
                    false => ns(OperationKind::Read, Some(0))?,
                },
                read_byte_ns: byte_ns(OperationKind::Read, page)?,
                program_ns: ns(OperationKind::Program, None)?,
                erase_ns: ns(OperationKind::Erase, None)?,
                ..MediumPrices::default()
            }
        } else if part.kind.is_written_in_place() {
            MediumPrices {
                read_ns: ns(OperationKind::Read, Some(0))?,
                read_byte_ns: byte_ns(OperationKind::Read, IN_PLACE_BLOCK_BYTES)?,
                program_ns: ns(OperationKind::Program, Some(0))?,
                program_byte_ns: byte_ns(OperationKind::Program, IN_PLACE_BLOCK_BYTES)?,
                ..MediumPrices::default()
            }
        } else {
            let unit = part.program_unit_bytes();
            MediumPrices {
                read_ns: ns(OperationKind::Read, Some(0))?,
                read_byte_ns: byte_ns(OperationKind::Read, IN_PLACE_BLOCK_BYTES)?,
                program_unit_bytes: unit,
                program_unit_ns: ns(OperationKind::Program, Some(unit.into()))?,
                ..MediumPrices::default()
            }
        };
        Ok(prices)
    }

    /// Fields of the part that were never checked against a datasheet and that prices or life
    /// depend on.
    pub fn unverified(&self, bus: Option<Bus>) -> Vec<String> {
        let Some(part) = &self.part else { return Vec::new() };
        part.unverified_in(|part| {
            let medium = Self { part: Some(part.clone()), ..self.clone() };
            let endurance = part.endurance_cycles.as_ref().map(|cycles| cycles.value);
            (medium.prices(bus, 0.0).ok(), endurance)
        })
    }
}

/// Times of a medium's operations, in nanoseconds. An operation that the medium does not have takes
/// 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediumPrices {
    /// A read, without the transfer of its bytes.
    pub read_ns: f64,
    /// A load of a flash page into the data register: commands, address and t_R.
    pub load_ns: f64,
    /// A change of the column within the register.
    pub column_ns: f64,
    /// The transfer of one byte that is read.
    pub read_byte_ns: f64,
    /// A program, without the transfer of its bytes. For NAND, a whole flash page with its bytes.
    pub program_ns: f64,
    /// One byte that is programmed in place.
    pub program_byte_ns: f64,
    /// Bytes that are programmed together in place; 0 if each byte is programmed by itself.
    pub program_unit_bytes: u32,
    /// One such unit, with the transfer of its bytes.
    pub program_unit_ns: f64,
    /// An erasure of a block.
    pub erase_ns: f64,
}

/// Time at the medium, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediumTime {
    /// Reads.
    pub read_ns: f64,
    /// Programs.
    pub program_ns: f64,
    /// Erasures.
    pub erase_ns: f64,
}

impl MediumPrices {
    /// Returns the time of a medium's operations.
    ///
    /// Bytes programmed in place begin anywhere within a unit, so a program of n bytes touches (n +
    /// unit − 1) / unit units on average.
    pub fn time(&self, counters: &StoreCounters) -> MediumTime {
        let n = |count: u64| count as f64;
        let units = match self.program_unit_bytes {
            0 => 0.0,
            unit => {
                let unit = f64::from(unit);
                (n(counters.program_bytes) + n(counters.programs) * (unit - 1.0)) / unit
            }
        };
        MediumTime {
            read_ns: n(counters.reads) * self.read_ns
                + n(counters.loads) * self.load_ns
                + n(counters.columns) * self.column_ns
                + n(counters.read_bytes) * self.read_byte_ns,
            program_ns: n(counters.programs) * self.program_ns
                + n(counters.program_bytes) * self.program_byte_ns
                + units * self.program_unit_ns,
            erase_ns: n(counters.erases) * self.erase_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medium(text: &str) -> SwapMedium {
        text.parse().unwrap()
    }

    #[test]
    fn media_as_people_write_them() {
        let ram = medium("ram:12M");
        assert!(ram.is_ram() && ram.layout() == StoreLayout::Fragments);
        assert_eq!(ram.geometry.bytes(), 12 << 20);
        assert_eq!(medium("pcm").geometry.bytes(), DEFAULT_BYTES);
        assert_eq!((medium("pcm").name.as_str(), medium("pcm").size_is_assumed), ("pcm:16M", true));
        assert!(!medium("pcm:16M").size_is_assumed);
        assert_eq!(medium("NP8P128A:65536").geometry.block_count, 16);
        let nand = medium("nand:64MiB");
        assert_eq!(nand.layout(), StoreLayout::Log);
        let blocks = Geometry { program_bytes: 2048, block_bytes: 131_072, block_count: 512 };
        assert_eq!(nand.geometry, blocks);
        for (kind, part) in KINDS {
            assert_eq!(medium(kind).part.map(|part| part.name).as_deref(), part);
        }
        for (wrong, line) in [
            ("nnad:64M", "did you mean nand?"),
            ("pcm:much", "'much' is no size"),
            ("nand:1K", "between a block"),
            ("nand:4G", "4 GiB"),
            ("pcm:0", "no size"),
            ("W25Q128JV:4M", "is NOR"),
        ] {
            let error = wrong.parse::<SwapMedium>().unwrap_err().to_string();
            assert!(error.contains(line) && !error.contains('\n'), "{error}");
        }
    }

    /// Computed by hand from MT29F2G08AAC: t_R 25 µs, t_PROG 300 µs, t_BERS 2 ms, t_RC 30 ns, and
    /// mode 3: t_WC 30, t_WP 15, holds 5, t_CS 25, t_CLR 10, t_RP 15, t_RHZ 100, t_RR 20, t_RHW
    /// 100, t_CCS 500.
    #[test]
    fn nand_costs_the_times_of_its_datasheet() {
        let prices = medium("nand:64M").prices(None, 1.0).unwrap();
        let (command, address) = (20.0, 5.0 * 30.0 + 10.0);
        let status = command + 25.0 + 5.0 + 10.0 + 15.0 + 100.0;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b.max(1.0), "{a} {b}");
        close(prices.load_ns, 2.0 * command + address + 25_000.0 + 20.0);
        close(prices.read_byte_ns, 30.0);
        close(prices.column_ns, 100.0 + 4.0 * 30.0 + 500.0 + 20.0);
        let page = 2112.0 * 30.0 + 5.0;
        close(prices.program_ns, 2.0 * command + address + page + 300_000.0 + status);
        close(prices.erase_ns, 2.0 * command + 3.0 * 30.0 + 10.0 + 2e6 + status);
        let counters = StoreCounters {
            reads: 9,
            loads: 7,
            columns: 2,
            read_bytes: 5000,
            programs: 3,
            program_bytes: 6144,
            erases: 1,
            ..StoreCounters::default()
        };
        let time = prices.time(&counters);
        close(time.read_ns, 7.0 * prices.load_ns + 2.0 * prices.column_ns + 150_000.0);
        close(time.program_ns, 3.0 * prices.program_ns);
        close(time.erase_ns, prices.erase_ns);
    }

    /// Computed by hand from NP8P128A: 16 bytes are read in 115 + 7 · 25 ns; 64 are written by
    /// three command cycles and 32 words of 115 ns, then 120 µs.
    #[test]
    fn pcm_costs_the_times_of_its_datasheet() {
        let prices = medium("pcm:16M").prices(None, 1.0).unwrap();
        let counters = StoreCounters {
            reads: 2,
            read_bytes: 1000,
            programs: 10,
            program_bytes: 1010,
            ..StoreCounters::default()
        };
        let time = prices.time(&counters);
        assert!((time.read_ns - 1000.0 * 290.0 / 16.0).abs() < 1e-6);
        // (1010 + 10 · 63) / 64 units
        let units = 1640.0 / 64.0;
        assert!((time.program_ns - units * (35.0 * 115.0 + 120_000.0)).abs() < 1e-3);
        assert_eq!(time.erase_ns, 0.0);
    }

    #[test]
    fn ram_costs_its_bytes() {
        let prices = medium("ram:1M").prices(None, 10.0).unwrap();
        let counters =
            StoreCounters { read_bytes: 100, program_bytes: 50, ..StoreCounters::default() };
        let time = prices.time(&counters);
        assert_eq!((time.read_ns, time.program_ns), (1000.0, 500.0));
    }

    #[test]
    fn the_error_of_a_part_without_times_names_the_fields() {
        let error = medium("W35N01JW:64M").prices(None, 1.0).unwrap_err().to_string();
        assert!(
            error.contains("t_prog_ns") && error.contains("add it to the part's file"),
            "{error}"
        );
        assert!(!error.contains('\n'));
        for (kind, _) in KINDS {
            medium(kind).prices(None, 1.0).unwrap();
        }
    }
}
