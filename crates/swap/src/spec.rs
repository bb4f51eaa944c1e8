//! Swap systems: the settings a user gives ([`SwapSpec`]), and the same looked up and checked
//! ([`SwapSystem`]).

use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result};
use flashpager_replay::pager::{PolicySpec, Shape};
use serde::Serialize;

use super::medium::{MediumPrices, SwapMedium};
use super::pages::Pages;
use super::price::{CompressorSpeed, SwapPrices};
use super::store::{Compressor, MediumFaults, StoreLayout, StoreSpec};
use super::workload::{AccessPattern, Contents, Synthetic, Workload};

/// Default of `most_bytes`: RAM plus this many times the medium.
const MEDIUM_HOLDS_TIMES: u64 = 5;

/// The settings of a swap system and of the program that runs on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwapSpec {
    /// Bytes of RAM.
    pub ram_bytes: u64,
    /// Bytes of RAM that neither the program's pages nor the store can use.
    pub reserved_bytes: u64,
    /// Bytes of a page of memory.
    pub page_bytes: u32,
    /// The medium, as `pcm:16M` ([`SwapMedium`] lists the forms).
    pub medium: String,
    /// Layout of pages on the medium ([`StoreLayout`]). `None` means the usual one for the medium.
    pub layout: Option<String>,
    /// Name of the compressor ([`Compressor`]).
    pub compressor: String,
    /// Decompress and compare each compressed page. A page that differs is stored uncompressed.
    pub verify: bool,
    /// Name of the replacement policy, which chooses the page that leaves RAM.
    pub policy: String,
    /// Percentage of the medium in use up to which a page that came back keeps its copy there.
    /// Above it the slot is freed and the page is dirty. Linux has 50.
    pub keep_copies_percent: u32,
    /// Contents of pages: `synthetic(25%)`, or the path of a file of captured pages.
    pub pages: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Blocks that a log leaves free; 0 for the fewest it can.
    pub reserve_blocks: u32,
    /// File that holds the medium. `None` keeps it in memory.
    pub file: Option<PathBuf>,
    /// Faults of the emulated medium.
    pub faults: MediumFaults,

    /// The program's access pattern after each chunk: `random`, `fixed` or `last`
    /// ([`AccessPattern`]).
    pub reading: String,
    /// Bytes that the program allocates at a time.
    pub chunk_bytes: u64,
    /// Number of times that `fixed` and `last` read their chunk.
    pub reads: u32,
    /// Pages that `random` reads after each chunk.
    pub random_pages: u32,
    /// Maximum number of bytes that the program allocates. `None`: RAM plus five times the medium.
    pub most_bytes: Option<u64>,

    /// Churn: percent of the store's space that is filled first.
    pub fill_percent: u32,
    /// Churn: number of times that the store's space is then overwritten.
    pub turnovers: f64,

    /// The medium's bus, as `33MHz-x8`. `None` means the fastest and widest of the part.
    pub bus: Option<String>,
    /// Nanoseconds per byte of RAM that the program reads or writes. Also the price of RAM as a
    /// medium.
    pub ram_ns_per_byte: f64,
    /// Nanoseconds of a page fault, without store and medium.
    pub fault_ns: f64,
    /// Clock of the processor, in MHz.
    pub clock_mhz: f64,
    /// Processor cycles per instruction.
    pub cycles_per_instruction: f64,
    /// Instructions per byte of a page to compress it. `None` means the compressor's counted speed
    /// ([`CompressorSpeed`]).
    pub compress_instructions_per_byte: Option<f64>,
    /// Instructions per byte of a page to decompress it. `None` means the counted speed, too.
    pub decompress_instructions_per_byte: Option<f64>,
}

impl Default for SwapSpec {
    /// The board of MTDCOMPR: 32 MB of RAM and an XScale PXA271, with swap on PCM. The paper leaves
    /// the following open, and these are guesses: 416 MHz, 1.5 cycles per instruction, 100 MB/s of
    /// RAM, 20 µs per fault.
    fn default() -> Self {
        Self {
            ram_bytes: 32 << 20,
            reserved_bytes: 0,
            page_bytes: 4096,
            medium: "pcm:16M".into(),
            layout: None,
            compressor: Compressor::Deflate.name().into(),
            verify: false,
            policy: "lru".into(),
            keep_copies_percent: 100,
            pages: "synthetic(25%)".into(),
            seed: 1,
            reserve_blocks: 0,
            file: None,
            faults: MediumFaults::default(),
            reading: AccessPattern::Random.name().into(),
            chunk_bytes: 1 << 20,
            reads: 64,
            random_pages: 256,
            most_bytes: None,
            fill_percent: 80,
            turnovers: 10.0,
            bus: None,
            ram_ns_per_byte: 10.0,
            fault_ns: 20_000.0,
            clock_mhz: 416.0,
            cycles_per_instruction: 1.5,
            compress_instructions_per_byte: None,
            decompress_instructions_per_byte: None,
        }
    }
}

impl SwapSpec {
    /// Checks the times and rates.
    fn check_numbers(&self) -> Result<()> {
        for (name, value, least) in [
            ("ram_ns_per_byte", Some(self.ram_ns_per_byte), f64::MIN_POSITIVE),
            ("fault_ns", Some(self.fault_ns), 0.0),
            ("clock_mhz", Some(self.clock_mhz), 1e-3),
            ("cycles_per_instruction", Some(self.cycles_per_instruction), 1e-3),
            ("compress_instructions_per_byte", self.compress_instructions_per_byte, 0.0),
            ("decompress_instructions_per_byte", self.decompress_instructions_per_byte, 0.0),
        ] {
            if let Some(value) = value
                && !(value >= least && value <= 1e12)
            {
                return Err(Error::design(format!("{name} = {value} is not between 0 and 1e12")));
            }
        }
        Ok(())
    }

    /// Returns the compressor's speed, with the settings in place of what was counted.
    fn speed_of(&self, compressor: Compressor) -> CompressorSpeed {
        let mut speed = CompressorSpeed::of(compressor);
        if let Some(instructions) = self.compress_instructions_per_byte {
            speed.compress_instructions_per_byte = instructions;
        }
        if let Some(instructions) = self.decompress_instructions_per_byte {
            speed.decompress_instructions_per_byte = instructions;
        }
        speed
    }

    /// Returns the times of all operations.
    fn prices(&self, speed: CompressorSpeed, medium: MediumPrices) -> SwapPrices {
        let instruction_ns = self.cycles_per_instruction * 1e3 / self.clock_mhz;
        let page = f64::from(self.page_bytes);
        SwapPrices {
            ram_ns_per_byte: self.ram_ns_per_byte,
            fault_ns: self.fault_ns,
            compress_page_ns: speed.compress_instructions_per_byte * instruction_ns * page,
            decompress_page_ns: speed.decompress_instructions_per_byte * instruction_ns * page,
            medium,
        }
    }
}

/// A [`SwapSpec`], looked up and checked.
pub struct SwapSystem {
    /// The settings, with every `None` that has a default replaced by it.
    pub spec: SwapSpec,
    /// The medium.
    pub medium: SwapMedium,
    /// The replacement policy.
    pub policy: PolicySpec,
    /// The program that runs.
    pub workload: Workload,
    /// The store's specification.
    pub store: StoreSpec,
    /// Times of all operations.
    pub prices: SwapPrices,
    /// Fields of the medium's part that were never checked against a datasheet.
    pub unverified: Vec<String>,
    /// Values that were assumed and are not in [`SwapSpec::default`], each with its reason.
    pub assumed: Vec<String>,
}

impl SwapSystem {
    /// Looks up and checks everything that `spec` names.
    ///
    /// # Errors
    /// If a medium, layout, compressor or policy is unknown, or a size or number is out of range.
    pub fn new(mut spec: SwapSpec) -> Result<Self> {
        let medium: SwapMedium = spec.medium.parse()?;
        let layout = match &spec.layout {
            Some(layout) => layout.parse::<StoreLayout>()?,
            None => medium.layout(),
        };
        let compressor: Compressor = spec.compressor.parse()?;
        let mut policy: PolicySpec = spec.policy.parse()?;
        let most_bytes = spec
            .most_bytes
            .unwrap_or_else(|| spec.ram_bytes + MEDIUM_HOLDS_TIMES * medium.geometry.bytes());
        let workload = Workload {
            reading: spec.reading.parse()?,
            page_bytes: spec.page_bytes,
            chunk_bytes: spec.chunk_bytes,
            reads: spec.reads,
            random_pages: spec.random_pages,
            most_bytes,
            seed: spec.seed,
        };
        workload.check()?;
        if workload.pages() == 0 {
            return Err(Error::design(format!(
                "{most_bytes} bytes hold no chunk of {} bytes; allocate more, or in smaller chunks",
                spec.chunk_bytes
            )));
        }
        spec.check_numbers()?;
        let bus = spec.bus.as_deref().map(str::parse).transpose()?;
        if let Some(bus) = &spec.bus
            && medium.is_ram()
        {
            return Err(Error::design(format!(
                "medium '{}' is RAM and has no bus: leave {bus} out, or take a part",
                medium.name
            )));
        }
        if spec.reserve_blocks > 0 && layout != StoreLayout::Log {
            return Err(Error::design(format!(
                "the layout {} leaves no blocks free: leave {} reserve blocks out, or take log, on \
                 NAND",
                layout.name(),
                spec.reserve_blocks
            )));
        }
        let speed = spec.speed_of(compressor);
        let prices = spec.prices(speed, medium.prices(bus, spec.ram_ns_per_byte)?);
        let store = StoreSpec {
            layout,
            compressor,
            verify: spec.verify,
            page_bytes: spec.page_bytes,
            slot_count: workload.pages(),
            geometry: medium.geometry,
            reserve_blocks: spec.reserve_blocks,
            file: spec.file.clone(),
            faults: spec.faults,
            seed: spec.seed,
        };
        let unverified = medium.unverified(bus);
        // A budget derives from the times of a fault handler, which a swap system does not have.
        policy = policy.with_budget(u32::MAX);
        let assumed = match medium.size_is_assumed {
            true => vec![format!(
                "{} as the medium, as no size was given (the chip may be larger); write NAME:SIZE for \
                 another one",
                medium.name
            )],
            false => Vec::new(),
        };
        spec.medium.clone_from(&medium.name);
        spec.layout = Some(layout.name().into());
        spec.most_bytes = Some(most_bytes);
        spec.compress_instructions_per_byte = Some(speed.compress_instructions_per_byte);
        spec.decompress_instructions_per_byte = Some(speed.decompress_instructions_per_byte);
        spec.policy = policy.to_string();
        Ok(Self { spec, medium, policy, workload, store, prices, unverified, assumed })
    }

    /// Bytes of RAM that the program's pages cannot use: the reserved ones, the store's, and the
    /// medium if it is RAM.
    pub fn taken_bytes(&self) -> u64 {
        let medium = if self.medium.is_ram() { self.medium.geometry.bytes() } else { 0 };
        self.spec.reserved_bytes.saturating_add(self.store.memory_bytes()).saturating_add(medium)
    }

    /// Frames for the program's pages.
    ///
    /// # Errors
    /// If RAM has no room for a single frame.
    pub fn frames(&self) -> Result<u32> {
        let left = self.spec.ram_bytes.saturating_sub(self.taken_bytes());
        let frames = left / u64::from(self.spec.page_bytes);
        if frames == 0 {
            return Err(Error::design(format!(
                "of {} bytes of RAM {} are taken (by the store {}{}): no page fits; give it more RAM \
                 or a smaller medium",
                self.spec.ram_bytes,
                self.taken_bytes(),
                self.store.memory_bytes(),
                if self.medium.is_ram() { ", and its medium" } else { "" },
            )));
        }
        Ok(frames.min(u32::MAX.into()) as u32)
    }

    /// The shape of the cache of frames, for a policy.
    pub(super) fn shape(&self) -> Result<Shape> {
        Ok(Shape { frames: self.frames()?, pages: self.workload.pages(), ways: None })
    }

    /// Opens the contents of pages.
    ///
    /// # Errors
    /// If the file is not a file of pages.
    pub fn contents(&self) -> Result<Box<dyn Contents>> {
        let text = &self.spec.pages;
        let synthetic = text.trim().strip_prefix("synthetic").map(str::trim);
        let Some(share) = synthetic.filter(|rest| rest.is_empty() || rest.starts_with('(')) else {
            return Ok(Box::new(Pages::load(Path::new(text))?));
        };
        let inner = share.strip_prefix('(').and_then(|rest| rest.strip_suffix("%)"));
        let percent = inner.and_then(|number| number.trim().parse().ok());
        match percent.filter(|percent| *percent <= 100) {
            Some(percent) => Ok(Box::new(Synthetic { percent, seed: self.spec.seed })),
            None => Err(Error::design(format!(
                "pages '{text}': write synthetic(25%), with a share from 0 to 100, or name a file of \
                 captured pages"
            ))),
        }
    }
}
