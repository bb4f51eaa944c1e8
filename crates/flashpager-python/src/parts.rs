//! The catalog of parts, and part files of one's own.

use std::path::PathBuf;

use flashpager::cost;
use flashpager::media::bus::Bus;
use flashpager::media::part::{self, EccPlace, MemoryKind};
use pyo3::prelude::*;
use serde::Serialize;

use crate::seam::{Json, ToPyView, raise, to_python, view, views_by_name};

views_by_name!(EccPlace);

impl ToPyView<MemoryKind> for &'static str {
    fn view_of(value: &MemoryKind) -> Self {
        value.word()
    }
}

impl ToPyView<Bus> for String {
    fn view_of(value: &Bus) -> Self {
        value.to_string()
    }
}

view! {
    /// A whole number with its source.
    SourcedInt = part::Sourced<u32> {
        /// The number, in the unit that ends the field's name.
        value: u32,
        /// The datasheet, paper or table that states the number.
        source: String,
    }
    methods {
        /// True if the number is unchecked.
        #[getter]
        fn unverified(&self) -> bool {
            self.0.is_unverified()
        }
    }
}

view! {
    /// A number with its source.
    SourcedFloat = part::Sourced<f64> {
        /// The number, in the unit that ends the field's name.
        value: f64,
        /// The datasheet, paper or table that states the number.
        source: String,
    }
    methods {
        /// True if the number is unchecked.
        #[getter]
        fn unverified(&self) -> bool {
            self.0.is_unverified()
        }
    }
}

view! {
    /// Error correction of a NAND part.
    Ecc = part::Ecc {
        /// The place of error correction: `host` or `on-die`.
        place: &'static str,
        /// Bytes checked together.
        codeword_bytes: u32,
        /// Bits corrected in each codeword.
        correctable_bits: u32,
        /// Source of the values.
        source: String,
    }
}

view! {
    /// A number of a part: its path in the file, its value and its source.
    Fact = part::Fact {
        /// The number's path, as `sdr.t_wc_ns`.
        field: String,
        /// Source of the number.
        source: String,
        /// True if the number is unchecked.
        unverified: bool,
    }
    methods {
        /// The value as written: a number, or a table of numbers.
        #[getter]
        fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
            to_python(py, &self.0.value)
        }
    }
}

view! {
    /// A flash part. Fields that only some media have are found by their path: `number()`, `facts`.
    Part = part::Part {
        /// The part's name, as on the package.
        name: String,
        /// The part's maker.
        maker: String,
        /// Kind of memory, as `nand`.
        kind: &'static str,
        /// A note to read before the part's numbers are used.
        note: Option<String>,
        /// Bytes of a page without spare.
        page_bytes: Option<SourcedInt>,
        /// Spare bytes of a page.
        spare_bytes: Option<SourcedInt>,
        /// Pages of an erase block.
        pages_per_block: Option<SourcedInt>,
        /// Bytes erased together in parts without pages.
        erase_bytes: Option<SourcedInt>,
        /// Bytes programmed together in parts without pages.
        program_bytes: Option<SourcedInt>,
        /// Number of data lines.
        width_bits: SourcedInt,
        /// Time to load a page from the array into the register.
        t_r_ns: Option<SourcedFloat>,
        /// Time to program a page, or `program_bytes` in parts without pages.
        t_prog_ns: Option<SourcedFloat>,
        /// Time to erase a block.
        t_bers_ns: Option<SourcedFloat>,
        /// Reads of a block before it should be refreshed.
        reads_before_refresh: Option<SourcedFloat>,
        /// Cycles of program and erase that a block endures.
        endurance_cycles: Option<SourcedFloat>,
        /// The most programs of a page between two erases.
        programs_per_page: Option<SourcedInt>,
        /// Error correction.
        ecc: Option<Ecc>,
    }
    methods {
        /// Bytes of a page without spare; 0 for parts without pages.
        #[getter]
        fn flash_page_bytes(&self) -> u32 {
            self.0.flash_page_bytes()
        }

        /// True if bytes are read in place, without loading a page.
        #[getter]
        fn is_read_in_place(&self) -> bool {
            self.0.kind.is_read_in_place()
        }

        /// True if the part keeps its data without power.
        #[getter]
        fn is_nonvolatile(&self) -> bool {
            self.0.kind.is_nonvolatile()
        }

        /// The table that describes the part's interface, as `sdr`; None if its file has none.
        #[getter]
        fn table(&self) -> Option<&'static str> {
            self.0.table()
        }

        /// The part's bus as datasheets write it: `x8`, `SPI x4`.
        #[getter]
        fn bus(&self) -> String {
            self.0.bus()
        }

        /// The fields of `table` that limit the rate of words on the bus, with their values; None
        /// if the part has no table.
        #[getter]
        fn pace(&self) -> Option<Vec<(&'static str, f64)>> {
            self.0.pace()
        }

        /// Abilities by path, as `spi.continuous_read`. Each is True if the part has it.
        #[getter]
        fn abilities(&self) -> Vec<(String, bool)> {
            self.0.abilities()
        }

        /// Every number of the part, in the order of the file's fields.
        #[getter]
        fn facts(&self) -> Vec<Fact> {
            self.0.facts().into_iter().map(Fact).collect()
        }

        /// Fields whose source is marked unverified.
        #[getter]
        fn unverified(&self) -> Vec<String> {
            self.0.unverified()
        }

        /// The number at a path, as `sdr.t_wc_ns`.
        fn number(&self, field: &str) -> PyResult<f64> {
            self.0.number(field).map_err(raise)
        }

        /// The operations that can be composed, and the reason for each that cannot.
        #[getter]
        fn composable(&self) -> (Vec<&'static str>, Vec<(&'static str, String)>) {
            let (can, cannot) = self.0.composable();
            let reasons = cannot.into_iter().map(|(kind, reason)| (kind.name(), reason));
            (can.into_iter().map(|kind| kind.name()).collect(), reasons.collect())
        }

        /// The operations of the part; the first is the usual one.
        fn operations(&self) -> PyResult<Vec<&'static str>> {
            let medium = self.0.medium().map_err(raise)?;
            Ok(medium.operations(&self.0).into_iter().map(|kind| kind.name()).collect())
        }
    }
}

view! {
    /// A fault in a part's file.
    Complaint = part::Complaint {
        /// The line, from 1.
        line: usize,
        /// The fault, in words.
        message: String,
    }
}

/// A part's file, read and checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartFileCheck {
    part: Option<part::Part>,
    complaints: Vec<part::Complaint>,
}

view! {
    /// A part's file, read and checked.
    PartCheck = PartFileCheck {
        /// The part, if it could be read.
        part: Option<Part>,
        /// All faults, in the order of the lines.
        complaints: Vec<Complaint>,
    }
}

/// All parts of the catalog, by name.
#[pyfunction]
pub fn catalog() -> PyResult<Vec<Part>> {
    Ok(part::catalog().map_err(raise)?.iter().map(Part::view_of).collect())
}

/// One part, by name or TOML file.
#[pyfunction]
pub fn find_part(name: &str) -> PyResult<Part> {
    part::find(name).map(Part).map_err(raise)
}

/// The kinds of memory, as parts' files name them.
#[pyfunction]
pub fn part_kinds() -> Vec<&'static str> {
    MemoryKind::ALL.iter().map(|(word, _)| *word).collect()
}

/// Read and check a part's file.
#[pyfunction]
pub fn examine_part(path: PathBuf) -> PyResult<PartCheck> {
    let (part, complaints) = part::Part::examine(&part::read(&path).map_err(raise)?);
    Ok(PartCheck(PartFileCheck { part, complaints }))
}

/// The JSON Schema of a part's file.
#[pyfunction]
pub fn part_schema(py: Python<'_>) -> PyResult<Json> {
    Json::of(py, &part::schema())
}

view! {
    /// Bandwidth of a part on a bus without a cache, in 2²⁰ bytes/s (CARDIS 2010, tables 1 and 2).
    RawBandwidth = cost::RawBandwidth {
        /// Time of a whole page over the bus.
        page_fetch_ns: f64,
        /// Bandwidth if every byte needs a load and the transfer of a whole page.
        min_mib_s: f64,
        /// Bandwidth if pages are read one after another.
        max_mib_s: f64,
    }
}

/// Compute the bandwidth of a part on a bus without a cache.
#[pyfunction]
pub fn raw_bandwidth(part: &str, bus: &str) -> PyResult<RawBandwidth> {
    let priced =
        part::find(part).and_then(|part| cost::RawBandwidth::of(&part, bus.parse::<Bus>()?));
    priced.map(RawBandwidth).map_err(raise)
}
