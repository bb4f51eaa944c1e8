//! A simulated machine: RAM of so many frames, a policy that says who goes out, and a store
//! that really holds what went. It counts; [`SwapPrices`] gives time.

use serde::{Deserialize, Serialize};

use super::price::{SwapPrices, SwapTime};
use super::spec::{SwapSpec, SwapSystem};
use super::store::{Geometry, Statistics, Store, StoreCounters, StoreError, Wear};
use super::workload::{Contents, SplitMix, Step};
use crate::error::{Error, Result};
use crate::pager::{Outcome, Page, Pager};

/// Bytes of the papers' megabyte.
const MIB: f64 = 1_048_576.0;

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCounts {
    /// Bytes that the program read.
    pub bytes_read: u64,
    /// Bytes that it wrote.
    pub bytes_written: u64,
    /// Pages that were in no frame: touched for the first time, or swapped out.
    pub faults: u64,
    /// Pages that the policy had marked invalid.
    pub false_faults: u64,
    /// Of the faults those on pages never touched before.
    pub first_touches: u64,
    /// Pages that came from the store.
    pub pages_in: u64,
    /// Victims that went to the store.
    pub pages_out: u64,
    /// Victims that were clean, with a copy in their slot.
    pub pages_dropped: u64,
    /// Copies given up: their page was written to, or the medium was too full to keep them.
    pub copies_freed: u64,
    /// What was asked of medium and compressor.
    pub store: StoreCounters,
}

impl std::ops::Sub for MachineCounts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            bytes_read: self.bytes_read - before.bytes_read,
            bytes_written: self.bytes_written - before.bytes_written,
            faults: self.faults - before.faults,
            false_faults: self.false_faults - before.false_faults,
            first_touches: self.first_touches - before.first_touches,
            pages_in: self.pages_in - before.pages_in,
            pages_out: self.pages_out - before.pages_out,
            pages_dropped: self.pages_dropped - before.pages_dropped,
            copies_freed: self.copies_freed - before.copies_freed,
            store: self.store - before.store,
        }
    }
}

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Never touched.
    Nowhere,
    /// In a frame, as in its slot.
    Clean,
    /// In a frame, and nowhere else.
    Dirty,
    /// In its slot alone.
    Out,
}

/// Why a step was not done.
enum Stop {
    OutOfMemory,
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// RAM, policy and store. A page's slot has its number.
struct Machine<'a> {
    store: Store,
    pager: Pager,
    contents: &'a dyn Contents,
    places: Vec<Place>,
    /// By page: the number of its content.
    content: Vec<u64>,
    buffer: Vec<u8>,
    expected: Vec<u8>,
    keep_copies_percent: u64,
    /// Where to look for a copy to give up.
    next_copy: Page,
    counts: MachineCounts,
}

impl<'a> Machine<'a> {
    fn new(system: &SwapSystem, contents: &'a dyn Contents) -> Result<Self> {
        let pages = system.workload.pages() as usize;
        let page_bytes = system.spec.page_bytes as usize;
        Ok(Self {
            pager: Pager::new(&system.policy, system.shape()?)?,
            store: Store::format(&system.store)?,
            contents,
            places: vec![Place::Nowhere; pages],
            content: vec![0; pages],
            buffer: vec![0; page_bytes],
            expected: vec![0; page_bytes],
            keep_copies_percent: system.spec.keep_copies_percent.into(),
            next_copy: 0,
            counts: MachineCounts::default(),
        })
    }

    fn counts(&self) -> MachineCounts {
        MachineCounts { store: self.store.counters(), ..self.counts }
    }

    fn read(&mut self, page: Page) -> std::result::Result<(), Stop> {
        self.touch(page)?;
        self.counts.bytes_read += self.buffer.len() as u64;
        Ok(())
    }

    /// All of `page` gets another content.
    fn write(&mut self, page: Page, content: u64) -> std::result::Result<(), Stop> {
        self.touch(page)?;
        if self.places[page as usize] == Place::Clean {
            self.forget_copy(page)?;
        }
        self.pager.written(page);
        self.content[page as usize] = content;
        self.counts.bytes_written += self.buffer.len() as u64;
        Ok(())
    }

    fn touch(&mut self, page: Page) -> std::result::Result<(), Stop> {
        match self.pager.reference(page)? {
            Outcome::Hit | Outcome::BitSet => return Ok(()),
            Outcome::FalseFault { .. } => self.counts.false_faults += 1,
            Outcome::Miss { victim, .. } => {
                self.counts.faults += 1;
                if let Some(victim) = victim {
                    self.evict(victim)?;
                }
                self.bring(page)?;
            }
        }
        Ok(())
    }

    fn evict(&mut self, page: Page) -> std::result::Result<(), Stop> {
        if self.places[page as usize] == Place::Clean {
            self.counts.pages_dropped += 1;
        } else {
            self.contents.fill(self.content[page as usize], &mut self.buffer);
            // Before it is compressed, not twice.
            while !self.store.has_room_for_a_page() && self.free_a_copy()? {}
            loop {
                match self.store.write(page, &self.buffer) {
                    Ok(()) => break,
                    Err(StoreError::Full) if self.free_a_copy()? => {}
                    Err(StoreError::Full) => return Err(Stop::OutOfMemory),
                    Err(other) => return Err(fault(page, other).into()),
                }
            }
            self.counts.pages_out += 1;
        }
        self.places[page as usize] = Place::Out;
        Ok(())
    }

    /// Give up the copy of a page that is in a frame, one after another; whether there was
    /// any.
    fn free_a_copy(&mut self) -> Result<bool> {
        let pages = self.places.len() as u32;
        let turn = (self.next_copy..pages).chain(0..self.next_copy);
        let Some(page) = turn.into_iter().find(|page| self.places[*page as usize] == Place::Clean)
        else {
            return Ok(false);
        };
        self.next_copy = page + 1;
        self.forget_copy(page)?;
        Ok(true)
    }

    fn forget_copy(&mut self, page: Page) -> Result<()> {
        self.store.free(page).map_err(|e| fault(page, e))?;
        self.counts.copies_freed += 1;
        self.places[page as usize] = Place::Dirty;
        self.pager.written(page);
        Ok(())
    }

    fn bring(&mut self, page: Page) -> std::result::Result<(), Stop> {
        if self.places[page as usize] == Place::Nowhere {
            // Filled with zeros, which are nowhere else.
            self.counts.first_touches += 1;
            self.places[page as usize] = Place::Dirty;
            self.pager.written(page);
            return Ok(());
        }
        self.store.read(page, &mut self.buffer).map_err(|e| fault(page, e))?;
        self.contents.fill(self.content[page as usize], &mut self.expected);
        if self.buffer != self.expected {
            return Err(fault(page, StoreError::Corrupt).into());
        }
        self.counts.pages_in += 1;
        self.places[page as usize] = Place::Clean;
        if self.keep_copies_percent < 100 {
            let Statistics { mem_used_total, mem_limit, .. } = self.store.statistics();
            if mem_used_total * 100 > mem_limit * self.keep_copies_percent {
                self.forget_copy(page)?;
            }
        }
        Ok(())
    }
}

fn fault(page: Page, error: StoreError) -> Error {
    Error::data(format!("swap store, page {page}"), error.to_string())
}

/// Counts of a while, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Phase {
    /// What happened.
    pub counts: MachineCounts,
    /// What it took.
    pub time: SwapTime,
}

impl Phase {
    fn new(counts: MachineCounts, prices: &SwapPrices) -> Self {
        Self { counts, time: prices.time(&counts) }
    }
}

/// A point of the chart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Bytes that the program had allocated.
    pub allocated_bytes: u64,
    /// How fast it read, in 2²⁰ bytes a second.
    #[serde(rename = "mb_per_s")]
    pub mib_s: f64,
    /// As a share of RAM's speed.
    pub share_of_ram: f64,
    /// Allocating and filling the chunk.
    pub fill: Phase,
    /// The reading that was measured.
    pub read: Phase,
}

/// What the store did, at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StoreReport {
    /// Statistics.
    pub statistics: Statistics,
    /// What was asked of medium and compressor.
    pub counters: StoreCounters,
    /// How the medium is worn.
    pub wear: Wear,
    /// Most over mean of that; absent where nothing is worn.
    pub wear_max_over_mean: Option<f64>,
    /// Bytes programmed over compressed bytes written; absent where nothing was.
    pub write_amplification: Option<f64>,
}

impl StoreReport {
    fn new(store: &Store) -> Self {
        let (statistics, counters, wear) = (store.statistics(), store.counters(), store.wear());
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        Self {
            statistics,
            counters,
            wear,
            wear_max_over_mean: ratio(wear.max.into(), wear.mean),
            write_amplification: ratio(
                counters.program_bytes as f64,
                statistics.written_size as f64,
            ),
        }
    }
}

/// What all results say of their system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemReport {
    /// The spec, nothing absent that was chosen.
    pub spec: SwapSpec,
    /// The medium's part; absent for RAM.
    pub part: Option<String>,
    /// Fields of it that nobody checked.
    pub unverified: Vec<String>,
    /// Bytes of the medium.
    pub medium_bytes: u64,
    /// Its shape.
    pub geometry: Geometry,
    /// Bytes of RAM.
    pub ram_bytes: u64,
    /// Of them not for the program's pages: reserved, the store's, and a medium of RAM.
    pub taken_bytes: u64,
    /// Frames for the program's pages; 0 where none fits, and churn needs none.
    pub frames: u32,
    /// RAM's own speed, in 2²⁰ bytes a second.
    #[serde(rename = "ram_mb_per_s")]
    pub ram_mib_s: f64,
    /// Bytes of RAM that the store takes beside its medium.
    pub store_memory_bytes: u64,
    /// Its slots.
    pub slot_count: u32,
    /// What things take.
    pub prices: SwapPrices,
}

impl SwapSystem {
    /// The system as results have it.
    pub fn report(&self) -> SystemReport {
        SystemReport {
            spec: self.spec.clone(),
            part: self.medium.part.as_ref().map(|part| part.name.clone()),
            unverified: self.unverified.clone(),
            medium_bytes: self.medium.geometry.bytes(),
            geometry: self.medium.geometry,
            ram_bytes: self.spec.ram_bytes,
            taken_bytes: self.taken_bytes(),
            frames: self.frames().unwrap_or(0),
            ram_mib_s: 1e9 / self.prices.ram_ns_per_byte / MIB,
            store_memory_bytes: self.store.memory_bytes(),
            slot_count: self.store.slot_count,
            prices: self.prices,
        }
    }
}

/// What [`bench`] gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchReport {
    /// The system.
    #[serde(flatten)]
    pub system: SystemReport,
    /// The chart.
    pub points: Vec<Point>,
    /// The mean of the points' speeds as shares of RAM's; absent without points.
    pub mean_share_of_ram: Option<f64>,
    /// Bytes allocated when the medium was full; absent if it never was.
    pub out_of_memory_at_bytes: Option<u64>,
    /// Everything, from the first byte to the last.
    pub total: Phase,
    /// The store in the end.
    pub store: StoreReport,
}

/// Run MTDCOMPR's benchmark program on the simulated machine. `progress` is told the bytes
/// allocated so far, and those at most.
///
/// # Errors
/// A system that cannot be, a store that gives other bytes than it got, a medium that
/// fails, or `go_on` saying no. A full medium is none.
pub fn bench(
    spec: SwapSpec,
    go_on: &dyn Fn() -> bool,
    progress: &dyn Fn(u64, u64),
) -> Result<BenchReport> {
    let system = SwapSystem::new(spec)?;
    let contents = system.contents()?;
    run(&system, &*contents, go_on, progress)
}

/// As [`bench`], with contents of one's own.
///
/// # Errors
/// As [`bench`].
pub fn run(
    system: &SwapSystem,
    contents: &dyn Contents,
    go_on: &dyn Fn() -> bool,
    progress: &dyn Fn(u64, u64),
) -> Result<BenchReport> {
    let mut machine = Machine::new(system, contents)?;
    let prices = &system.prices;
    let page_bytes = u64::from(system.spec.page_bytes);
    let mut points: Vec<Point> = Vec::new();
    let mut out_of_memory_at_bytes = None;
    let mut allocated_bytes = 0;
    let (mut filled_from, mut read_from) = (MachineCounts::default(), MachineCounts::default());
    for step in system.workload.steps() {
        let done = match step {
            Step::Fill { page, content } => {
                if !go_on() {
                    return Err(Error::Interrupted);
                }
                machine.write(page, content).map(|()| allocated_bytes += page_bytes)
            }
            Step::Begin => {
                read_from = machine.counts();
                Ok(())
            }
            Step::Read { page } => machine.read(page),
            Step::End { allocated_bytes } => {
                let now = machine.counts();
                let read = Phase::new(now - read_from, prices);
                let ram_ns = read.time.ram_ns;
                points.push(Point {
                    allocated_bytes,
                    mib_s: read.counts.bytes_read as f64 / MIB / (read.time.total_ns * 1e-9),
                    share_of_ram: ram_ns / read.time.total_ns,
                    fill: Phase::new(read_from - filled_from, prices),
                    read,
                });
                filled_from = now;
                if !go_on() {
                    return Err(Error::Interrupted);
                }
                progress(allocated_bytes, system.workload.most_bytes);
                Ok(())
            }
        };
        match done {
            Ok(()) => {}
            Err(Stop::OutOfMemory) => {
                out_of_memory_at_bytes = Some(allocated_bytes);
                break;
            }
            Err(Stop::Error(error)) => return Err(error),
        }
    }
    let shares = points.iter().map(|point| point.share_of_ram).sum::<f64>();
    Ok(BenchReport {
        system: system.report(),
        mean_share_of_ram: (!points.is_empty()).then(|| shares / points.len() as f64),
        points,
        out_of_memory_at_bytes,
        total: Phase::new(machine.counts(), prices),
        store: StoreReport::new(&machine.store),
    })
}

/// What [`churn`] gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChurnReport {
    /// The system.
    #[serde(flatten)]
    pub system: SystemReport,
    /// Slots that were filled before.
    pub filled_slots: u32,
    /// Share of the store's room that they took.
    pub filled_share: f64,
    /// Pages written over others.
    pub pages_written: u64,
    /// How often their bytes, compressed, would fill the store's room.
    pub turnovers: f64,
    /// Of overwriting alone.
    pub overwriting: Phase,
    /// Time of a page written over another.
    pub page_ns: f64,
    /// Bytes programmed over compressed bytes written, of overwriting alone.
    pub write_amplification: f64,
    /// The store in the end, filling included.
    pub store: StoreReport,
}

/// Fill a share of a store's room, then overwrite random slots until it was turned over.
/// `progress` is told the compressed bytes written, and those that will be.
///
/// # Errors
/// As [`bench`], and a share that does not fit.
pub fn churn(
    spec: SwapSpec,
    go_on: &dyn Fn() -> bool,
    progress: &dyn Fn(u64, u64),
) -> Result<ChurnReport> {
    let mut system = SwapSystem::new(spec)?;
    let contents = system.contents()?;
    let fill_percent = system.spec.fill_percent;
    if !(1..=100).contains(&fill_percent) {
        return Err(Error::design(format!("fill_percent = {fill_percent} is not 1 to 100")));
    }
    if !(system.spec.turnovers > 0.0 && system.spec.turnovers <= 1e6) {
        return Err(Error::design(format!(
            "turnovers = {} is not between 0 and 1000000",
            system.spec.turnovers
        )));
    }
    // Pages of a sixteenth of their size, if all are.
    let slots = 16 * system.medium.geometry.bytes() / u64::from(system.spec.page_bytes);
    system.store.slot_count = slots.clamp(1, u64::from(u32::MAX) - 1) as u32;
    let mut store = Store::format(&system.store)?;
    let mut page = vec![0; system.spec.page_bytes as usize];
    let mut write = |store: &mut Store, slot: u32, content: u64| -> Result<()> {
        contents.fill(content, &mut page);
        store.write(slot, &page).map_err(|error| match error {
            StoreError::Full => Error::design(format!(
                "the medium is full at slot {slot}: a store of this layout cannot be filled to \
                 {fill_percent} %; fill less"
            )),
            other => fault(slot, other),
        })
    };
    let limit = store.statistics().mem_limit;
    let wanted = limit as f64 * f64::from(fill_percent) / 100.0;
    let mut filled: u32 = 0;
    while (store.statistics().mem_used_total as f64) < wanted && filled < system.store.slot_count {
        write(&mut store, filled, filled.into())?;
        filled += 1;
        if !go_on() {
            return Err(Error::Interrupted);
        }
    }
    let (filled_stat, before) = (store.statistics(), store.counters());
    let mut random = SplitMix::new(system.spec.seed);
    let goal = (limit as f64 * system.spec.turnovers) as u64;
    let mut content = u64::from(filled);
    let mut written = 0;
    while written < goal {
        for _ in 0..64 {
            write(&mut store, random.below(filled.into()) as u32, content)?;
            content += 1;
        }
        let size = store.statistics().written_size - filled_stat.written_size;
        if size == written {
            return Err(Error::design(
                "all pages are filled with one word and take no room: nothing is turned over",
            ));
        }
        written = size;
        if !go_on() {
            return Err(Error::Interrupted);
        }
        progress(written.min(goal), goal);
    }
    let pages_written = content - u64::from(filled);
    let counters = store.counters() - before;
    let counts =
        MachineCounts { pages_out: pages_written, store: counters, ..MachineCounts::default() };
    let overwriting = Phase::new(counts, &system.prices);
    Ok(ChurnReport {
        system: system.report(),
        filled_slots: filled,
        filled_share: filled_stat.mem_used_total as f64 / limit.max(1) as f64,
        pages_written,
        turnovers: written as f64 / limit.max(1) as f64,
        overwriting,
        page_ns: overwriting.time.total_ns / pages_written.max(1) as f64,
        write_amplification: counters.program_bytes as f64 / written.max(1) as f64,
        store: StoreReport::new(&store),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::swap::store::Layout;
    use crate::swap::workload::Reading;

    const PAGE: u64 = 4096;

    /// 16 frames and what the store takes, over half a megabyte.
    fn small(medium: &str, compressor: &str) -> SwapSpec {
        let mut spec = SwapSpec {
            medium: medium.into(),
            compressor: compressor.into(),
            chunk_bytes: 4 * PAGE,
            random_pages: 16,
            reads: 3,
            most_bytes: Some(64 * PAGE),
            ..SwapSpec::default()
        };
        let taken = SwapSystem::new(spec.clone()).unwrap().taken_bytes();
        spec.ram_bytes = taken + 16 * PAGE;
        spec
    }

    fn ran(spec: SwapSpec) -> BenchReport {
        bench(spec, &|| true, &|_, _| {}).unwrap()
    }

    /// LRU, dirty pages and copies as one would say them in words.
    #[derive(Default)]
    struct Model {
        /// Pages in frames, the least recently used first.
        frames: Vec<Page>,
        dirty: BTreeSet<Page>,
        /// What the slots hold.
        slots: BTreeMap<Page, u64>,
        content: BTreeMap<Page, u64>,
        counts: MachineCounts,
    }

    impl Model {
        fn touch(&mut self, page: Page) {
            if let Some(at) = self.frames.iter().position(|other| *other == page) {
                self.frames.remove(at);
            } else {
                self.counts.faults += 1;
                if self.frames.len() == 16 {
                    let victim = self.frames.remove(0);
                    if self.dirty.remove(&victim) {
                        self.slots.insert(victim, self.content[&victim]);
                        self.counts.pages_out += 1;
                    } else {
                        self.counts.pages_dropped += 1;
                    }
                }
                match self.slots.get(&page) {
                    Some(content) => {
                        assert_eq!(*content, self.content[&page]);
                        self.counts.pages_in += 1;
                    }
                    None => {
                        self.counts.first_touches += 1;
                        self.dirty.insert(page);
                        self.content.entry(page).or_insert(0);
                    }
                }
            }
            self.frames.push(page);
        }

        fn read(&mut self, page: Page) {
            self.touch(page);
            self.counts.bytes_read += PAGE;
        }

        fn write(&mut self, page: Page, content: u64) {
            self.touch(page);
            self.counts.copies_freed += u64::from(self.slots.remove(&page).is_some());
            self.dirty.insert(page);
            self.content.insert(page, content);
            self.counts.bytes_written += PAGE;
        }
    }

    #[test]
    fn a_machine_does_what_a_slow_one_says_in_words() {
        for (medium, layout) in
            [("ram:512K", "fragments"), ("nand:2M", "log"), ("nand:2M", "rewrite")]
        {
            let spec = SwapSpec { layout: Some(layout.into()), ..small(medium, "lz4") };
            let ram_bytes = SwapSystem::new(spec.clone()).unwrap().taken_bytes() + 16 * PAGE;
            let system = SwapSystem::new(SwapSpec { ram_bytes, ..spec }).unwrap();
            assert_eq!(system.frames().unwrap(), 16);
            let contents = system.contents().unwrap();
            let mut machine = Machine::new(&system, &*contents).unwrap();
            let (mut model, mut random) = (Model::default(), SplitMix::new(11));
            for step in 0..3000 {
                let page = random.below(1 + random.clone().below(64)) as Page;
                let written = random.below(3) == 0 || !model.content.contains_key(&page);
                let done = if written {
                    model.write(page, step);
                    machine.write(page, step)
                } else {
                    model.read(page);
                    machine.read(page)
                };
                assert!(done.is_ok(), "{layout} {step}");
                for page in 0..64 {
                    assert_eq!(machine.store.holds(page), model.slots.contains_key(&page));
                }
            }
            let counts = machine.counts();
            assert_eq!(counts, MachineCounts { store: counts.store, ..model.counts });
            assert!(counts.pages_in > 500 && counts.pages_dropped > 100, "{counts:?}");
            assert!(counts.copies_freed > 100 && counts.pages_out > 500, "{counts:?}");
            assert_eq!(counts.store.compressed_pages, counts.pages_out);
            assert_eq!(counts.store.decompressed_pages, counts.pages_in);
            machine.store.check().unwrap();
        }
    }

    #[test]
    fn time_is_what_the_counts_cost() {
        let spec = SwapSpec {
            ram_ns_per_byte: 2.0,
            fault_ns: 1000.0,
            clock_mhz: 100.0,
            cycles_per_instruction: 2.0,
            compress_instructions_per_byte: Some(10.0),
            decompress_instructions_per_byte: Some(4.0),
            ..small("ram:512K", "lz4")
        };
        let report = ran(spec);
        assert_eq!(report.points.len(), 16);
        for point in &report.points {
            for phase in [point.fill, point.read] {
                let MachineCounts { bytes_read, bytes_written, faults, store, .. } = phase.counts;
                let ns = 2 * (bytes_read + bytes_written)
                    + 1000 * faults
                    + 2 * (store.read_bytes + store.program_bytes)
                    // 10 ns a cycle, 2 cycles an instruction
                    + 20 * PAGE * (10 * store.compressed_pages + 4 * store.decompressed_pages);
                let total = phase.time.total_ns;
                assert!((total - ns as f64).abs() < 1e-6 * total, "{total} {ns}");
            }
            let seconds = point.read.time.total_ns * 1e-9;
            let mib = (16 * PAGE) as f64 / 1_048_576.0;
            assert!((point.mib_s - mib / seconds).abs() < 1e-9 * point.mib_s);
            assert!((point.share_of_ram - point.mib_s / report.system.ram_mib_s).abs() < 1e-9);
        }
        // All in frames: RAM's own speed. Then some faults, and later more.
        let shares: Vec<f64> = report.points.iter().map(|point| point.share_of_ram).collect();
        assert_eq!(shares[..4], [1.0; 4]);
        assert!(shares[5] < 0.5 && shares[15] < shares[5]);
        let totals = report.points.iter().map(|p| p.fill.time.total_ns + p.read.time.total_ns);
        assert!((totals.sum::<f64>() - report.total.time.total_ns).abs() < 1.0);
    }

    #[test]
    fn reading_one_chunk_again_and_again_is_faster_than_all_over() {
        let share = |reading: Reading| {
            let spec = SwapSpec { reading: reading.name().into(), ..small("pcm:512K", "lz4") };
            ran(spec).mean_share_of_ram.unwrap()
        };
        let [random, fixed, last] = [Reading::Random, Reading::Fixed, Reading::Last].map(share);
        assert!(random < fixed && fixed < last && last == 1.0, "{random} {fixed} {last}");
    }

    #[test]
    fn a_full_medium_ends_the_run_and_the_store_keeps_the_compressors_ratio() {
        for (medium, compressor) in
            [("ram:1M", "deflate"), ("pcm:1M", "lz4"), ("nand:4M", "deflate")]
        {
            let spec = SwapSpec {
                chunk_bytes: 16 * PAGE,
                most_bytes: Some(64 << 20),
                ram_bytes: 8 << 20,
                ..small(medium, compressor)
            };
            let report = ran(spec.clone());
            let end = report.out_of_memory_at_bytes.unwrap();
            let last = report.points.last().unwrap().allocated_bytes;
            assert!(end >= last && end < last + 16 * PAGE + 1, "{end} {last}");
            // What is in frames, and what the medium holds at 25 %.
            let room = report.store.statistics.mem_limit as f64
                / report.store.statistics.used_ratio.unwrap();
            let expected = f64::from(report.system.frames) * PAGE as f64 + room;
            assert!(
                (end as f64 / expected - 1.0).abs() < 0.02,
                "{medium} {end} {expected} {:?}",
                report.store
            );
            let statistics = report.store.statistics;
            let kept = statistics.compr_data_size as f64 / statistics.mem_used_total as f64;
            assert!(kept >= 0.95, "{medium} keeps {kept}");
            assert_eq!(ran(spec), report);
        }
    }

    #[test]
    fn a_log_beats_rewriting_of_blocks_by_far() {
        let share = |layout: Layout| {
            let spec = SwapSpec { layout: Some(layout.name().into()), ..small("nand:4M", "lz4") };
            let report = ran(SwapSpec {
                ram_bytes: 2 << 20,
                chunk_bytes: 16 * PAGE,
                most_bytes: Some(12 << 20),
                random_pages: 64,
                // Pages that were read go out again, so that writes are all over.
                keep_copies_percent: 0,
                ..spec
            });
            assert_eq!(report.out_of_memory_at_bytes, None);
            assert!(report.total.counts.copies_freed > 1000);
            report.points.last().unwrap().share_of_ram
        };
        let ratio = share(Layout::Log) / share(Layout::Rewrite);
        assert!(ratio > 10.0, "{ratio}");
    }

    #[test]
    fn churn_turns_a_store_over() {
        for (medium, layout) in
            [("pcm:256K", "fragments"), ("nand:4M", "log"), ("nand:2M", "rewrite")]
        {
            let spec = SwapSpec {
                medium: medium.into(),
                layout: Some(layout.into()),
                compressor: "lz4".into(),
                turnovers: 2.0,
                ..SwapSpec::default()
            };
            let report = churn(spec, &|| true, &|_, _| {}).unwrap();
            assert!((0.8..0.83).contains(&report.filled_share), "{}", report.filled_share);
            assert!((2.0..2.3).contains(&report.turnovers), "{}", report.turnovers);
            let amplification = report.write_amplification;
            let expected = match layout {
                "rewrite" => 10.0..1000.0,
                _ => 1.0..2.5,
            };
            assert!(expected.contains(&amplification), "{layout} {amplification}");
            assert!(report.page_ns > 0.0 && report.store.wear.mean > 0.5);
        }
    }

    #[test]
    fn what_cannot_be_is_one_line() {
        let with = |change: fn(&mut SwapSpec)| {
            let mut spec = SwapSpec::default();
            change(&mut spec);
            spec
        };
        for (wrong, line) in [
            (with(|spec| spec.compressor = "lz5".into()), "did you mean lz4?"),
            (with(|spec| spec.medium = "ram:32M".into()), "no page fits"),
            (with(|spec| spec.policy = "min".into()), "policy 'min'"),
            (with(|spec| spec.reading = "randon".into()), "did you mean random?"),
            (with(|spec| spec.layout = Some("log".into())), "wants NAND"),
            (with(|spec| spec.chunk_bytes = 5000), "not whole pages"),
            (with(|spec| spec.pages = "synthetic(125%)".into()), "synthetic(25%)"),
            (with(|spec| spec.pages = "/no/such/file".into()), "/no/such/file"),
            (with(|spec| spec.clock_mhz = 0.0), "clock_mhz = 0"),
            (with(|spec| spec.bus = Some("fast".into())), "bus 'fast'"),
            (with(|spec| spec.most_bytes = Some(0)), "hold no chunk"),
        ] {
            let error = bench(wrong, &|| true, &|_, _| {}).unwrap_err().to_string();
            assert!(error.contains(line) && !error.contains('\n'), "{error}");
        }
        let stopped = bench(SwapSpec::default(), &|| false, &|_, _| {}).unwrap_err();
        assert!(matches!(stopped, Error::Interrupted));
    }
}
