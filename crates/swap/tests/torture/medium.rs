//! A NAND that has every fault a NAND may have, and that checks the rules for its use.
//!
//! The rules: a page is programmed whole, once, in ascending order, after a complete erasure of its
//! block; a bad block is not touched; a block whose programming failed takes no more until it has
//! been erased. `breach` has the first breach.

use super::kinds::{
    BLACKOUT, CORRECTED, CUT, ERASE, ERASE_FAILURE, FaultKinds, PROGRAM_FAILURE, TORN, TRANSIENT,
    UNSTABLE,
};
use super::random::Random;

pub const OK: i32 = 0;
pub const WAS_CORRECTED: i32 = 1;
pub const FAILED: i32 = -1;

/// Successful reads after a transient error, so that a few retries are enough.
const QUIET: u32 = 8;

#[derive(Clone, Copy)]
pub struct NandGeometry {
    pub page_bytes: u32,
    pub block_pages: u32,
    pub blocks: u32,
}

/// Frequencies of faults, in a million operations.
#[derive(Clone, Copy)]
pub struct FaultRates {
    pub program_failure: u32,
    pub erase_failure: u32,
    pub corrected: u32,
    pub transient: u32,
    pub unstable: u32,
    /// The maximum number of blocks that go bad.
    pub failures: u32,
}

/// The data that reads of a page return after a cut or failure during its programming or erasure.
#[derive(Clone)]
enum FlakyReading {
    /// The page's data with these bits flipped.
    Bits(Vec<u32>),
    /// In turn the page's data and these bytes.
    Other(Vec<u8>),
    /// Random bytes.
    Noise,
    /// An error.
    Error,
}

#[derive(Clone)]
struct FlakyPage {
    flaw: FlakyReading,
    /// Number of reads that show the flaw, per million.
    shows: u32,
    /// True if the flaw shows in all reads of a power cycle or in none.
    holds: bool,
    /// If it holds: a power cycle, and whether the flaw shows in it.
    drawn: (u64, bool),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PageState {
    Blank,
    Complete,
    /// A cut or a failure hit its programming or erasure.
    Hit,
}

#[derive(Clone, Default)]
struct NandBlock {
    bad: bool,
    /// All erasures and programs fail from now on.
    dead: bool,
    /// The block was never erased completely.
    unclean: bool,
    /// A program failed since the last erasure.
    failed: bool,
    /// The lowest page that may be programmed.
    next: u32,
    unreadable: bool,
}

/// Counts of the medium's operations.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Operations {
    /// Flash pages read.
    pub reads: u64,
    pub programs: u64,
    pub erases: u64,
    pub marks: u64,
}

impl Operations {
    pub fn since(self, before: Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            programs: self.programs - before.programs,
            erases: self.erases - before.erases,
            marks: self.marks - before.marks,
        }
    }

    /// Counts the operations that a cut can hit.
    pub fn changes(self) -> u64 {
        self.programs + self.erases + self.marks
    }
}

/// Counts of the faults that happened.
#[derive(Clone, Copy, Default)]
pub struct FaultCounts {
    pub torn_programs: u64,
    pub torn_erases: u64,
    pub flaky_pages: u64,
    pub flaky_reads: u64,
    pub program_failures: u64,
    pub erase_failures: u64,
    pub corrected: u64,
    pub transient: u64,
    pub dark_reads: u64,
    pub unreadable: u64,
}

pub struct FaultyNand {
    pub geometry: NandGeometry,
    kinds: FaultKinds,
    rates: FaultRates,
    random: Random,
    data: Vec<u8>,
    states: Vec<PageState>,
    flaky: Vec<Option<Box<FlakyPage>>>,
    unreadable: Vec<bool>,
    blocks: Vec<NandBlock>,
    /// True if the power is on.
    pub on: bool,
    cycle: u64,
    cut_at: u64,
    /// All reads fail.
    pub dark: bool,
    burst: u32,
    quiet: u32,
    pub operations: Operations,
    pub fault_counts: FaultCounts,
    /// Blocks that went bad since the start.
    pub grown: u32,
    /// The first breach of the rules.
    pub breach: Option<String>,
    /// The operations, if they are recorded.
    pub trace: Option<Vec<String>>,
}

impl FaultyNand {
    pub fn new(
        geometry: NandGeometry,
        kinds: FaultKinds,
        rates: FaultRates,
        factory_bad: &[u32],
        seed: u64,
        traced: bool,
    ) -> Self {
        let pages = (geometry.blocks * geometry.block_pages) as usize;
        let block = NandBlock { unclean: true, ..NandBlock::default() };
        let mut medium = Self {
            geometry,
            kinds,
            rates,
            random: Random::new(seed ^ 0x6d65_6469_756d),
            data: vec![0xff; pages * geometry.page_bytes as usize],
            states: vec![PageState::Blank; pages],
            flaky: vec![None; pages],
            unreadable: vec![false; pages],
            blocks: vec![block; geometry.blocks as usize],
            on: true,
            cycle: 0,
            cut_at: u64::MAX,
            dark: false,
            burst: 0,
            quiet: 0,
            operations: Operations::default(),
            fault_counts: FaultCounts::default(),
            grown: 0,
            breach: None,
            trace: traced.then(Vec::new),
        };
        for &block in factory_bad {
            medium.blocks[block as usize].bad = true;
        }
        medium
    }

    pub fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    fn breach(&mut self, what: &str, block: u32, page: u32) {
        if self.breach.is_none() {
            self.breach = Some(format!("{what}: block {block} page {page}"));
        }
        self.note(|| format!("    BREACH {what}: block {block} page {page}"));
    }

    /// Cuts the power at the `after`-th change from now.
    pub fn cut_after(&mut self, after: u64) {
        self.cut_at = self.operations.changes() + after;
    }

    pub fn do_not_cut(&mut self) {
        self.cut_at = u64::MAX;
    }

    /// Cuts the power now.
    pub fn cut(&mut self) {
        self.on = false;
        self.note(|| "    cut".into());
    }

    pub fn power_on(&mut self) {
        self.on = true;
        self.cycle += 1;
        self.do_not_cut();
        self.burst = 0;
    }

    /// Returns true if no more blocks may go bad.
    pub fn is_worn(&self) -> bool {
        self.grown >= self.rates.failures
    }

    fn page(&self, block: u32, page: u32) -> usize {
        (block * self.geometry.block_pages + page) as usize
    }

    fn bytes_of(&self, page: usize) -> std::ops::Range<usize> {
        let bytes = self.geometry.page_bytes as usize;
        page * bytes..(page + 1) * bytes
    }

    fn is_cut_here(&self) -> bool {
        self.kinds.has(CUT) && self.operations.changes() >= self.cut_at
    }

    pub fn is_bad(&mut self, block: u32) -> bool {
        if block >= self.geometry.blocks {
            self.breach("is_bad beyond the medium", block, 0);
            return true;
        }
        self.blocks[block as usize].bad
    }

    pub fn mark_bad(&mut self, block: u32) -> i32 {
        if !self.on {
            return FAILED;
        }
        if block >= self.geometry.blocks {
            self.breach("mark_bad beyond the medium", block, 0);
            return FAILED;
        }
        self.operations.marks += 1;
        let cut = self.is_cut_here();
        let done = !cut || self.random.one_in(2);
        self.note(|| format!("    mark bad {block}{}", if cut { " CUT" } else { "" }));
        if done {
            self.blocks[block as usize].bad = true;
        }
        if cut {
            self.cut();
            return FAILED;
        }
        OK
    }

    pub fn read(&mut self, block: u32, offset: u32, out: &mut [u8]) -> i32 {
        if !self.on {
            return FAILED;
        }
        let bytes = self.geometry.page_bytes;
        let size = out.len() as u32;
        let first = offset / bytes;
        if block >= self.geometry.blocks
            || size == 0
            || u64::from(offset) + u64::from(size)
                > u64::from(bytes) * u64::from(self.geometry.block_pages)
        {
            self.breach("read beyond the block", block, first);
            return FAILED;
        }
        let last = (offset + size - 1) / bytes;
        self.operations.reads += u64::from(last - first + 1);
        if self.blocks[block as usize].bad {
            self.breach("read of a bad block", block, first);
            return FAILED;
        }
        if self.dark {
            self.fault_counts.dark_reads += 1;
            out.fill(0xa5);
            return FAILED;
        }
        if self.fails_for_now() {
            self.fault_counts.transient += 1;
            self.note(|| format!("    read {block}.{first} transient error"));
            out.fill(0x5a);
            return FAILED;
        }
        let mut result = OK;
        for page in first..=last {
            let index = self.page(block, page);
            let from = offset.max(page * bytes);
            let to = (offset + size).min((page + 1) * bytes);
            let start = self.bytes_of(index).start + (from - page * bytes) as usize;
            let part = &mut out[(from - offset) as usize..(to - offset) as usize];
            part.copy_from_slice(&self.data[start..start + (to - from) as usize]);
            if self.unreadable[index] {
                part.fill(0x33);
                result = FAILED;
            } else if self.flaky[index].is_some()
                && !self.read_flaky(index, from - page * bytes, part)
            {
                result = FAILED;
            }
        }
        if result == OK && self.kinds.has(CORRECTED) && self.random.happens(self.rates.corrected) {
            self.fault_counts.corrected += 1;
            result = WAS_CORRECTED;
        }
        result
    }

    fn fails_for_now(&mut self) -> bool {
        if !self.kinds.has(TRANSIENT) {
            return false;
        }
        if self.burst == 0 {
            if self.quiet > 0 {
                self.quiet -= 1;
                return false;
            }
            if !self.random.happens(self.rates.transient) {
                return false;
            }
            self.burst = self.random.between(1, 2);
        }
        self.burst -= 1;
        if self.burst == 0 {
            self.quiet = QUIET;
        }
        true
    }

    /// Reads a flaky page. Returns false if the read fails.
    fn read_flaky(&mut self, page: usize, offset: u32, part: &mut [u8]) -> bool {
        let cycle = self.cycle;
        let random = &mut self.random;
        let Some(flaky) = &mut self.flaky[page] else { return true };
        if !flaky.holds || flaky.drawn.0 != cycle {
            flaky.drawn = (cycle, random.happens(flaky.shows));
        }
        if !flaky.drawn.1 {
            return true;
        }
        self.fault_counts.flaky_reads += 1;
        let (block, in_block) =
            (page as u32 / self.geometry.block_pages, page as u32 % self.geometry.block_pages);
        if let Some(trace) = &mut self.trace {
            trace.push(format!("    read {block}.{in_block} flaky"));
        }
        match &flaky.flaw {
            FlakyReading::Bits(bits) => {
                for &bit in bits {
                    let at = (bit / 8).wrapping_sub(offset) as usize;
                    if at < part.len() && (flaky.holds || random.one_in(2)) {
                        part[at] ^= 1 << (bit % 8);
                    }
                }
            }
            FlakyReading::Other(other) => {
                part.copy_from_slice(&other[offset as usize..offset as usize + part.len()]);
            }
            FlakyReading::Noise => {
                for byte in part {
                    *byte = random.next() as u8;
                }
            }
            FlakyReading::Error => {
                part.fill(0xc3);
                return false;
            }
        }
        true
    }

    /// Makes a page that was hit flaky, if the kinds allow it. `other` gives the other bytes that
    /// it may read as.
    fn make_flaky(&mut self, page: usize, other: impl FnOnce() -> Vec<u8>) {
        if !self.kinds.has(UNSTABLE) || !self.random.happens(self.rates.unstable) {
            return;
        }
        let flaw = match self.random.below(10) {
            0..=3 => {
                let bits = self.geometry.page_bytes * 8;
                let count = self.random.between(1, 4);
                FlakyReading::Bits((0..count).map(|_| self.random.below(bits)).collect())
            }
            4..=6 => FlakyReading::Other(other()),
            7 => FlakyReading::Noise,
            _ => FlakyReading::Error,
        };
        let shows = self.random.pick(&[10_000, 100_000, 300_000, 500_000, 700_000, 900_000]);
        let holds = self.random.one_in(2);
        self.flaky[page] = Some(Box::new(FlakyPage { flaw, shows, holds, drawn: (0, false) }));
        self.fault_counts.flaky_pages += 1;
    }

    /// Leaves a page as an interrupted or failed program of `new` does.
    fn tear(&mut self, page: usize, new: &[u8]) {
        let range = self.bytes_of(page);
        let size = new.len() as u32;
        let style = self.random.below(8);
        let random = &mut self.random;
        let data = &mut self.data[range];
        match style {
            // It looks complete, or blank.
            0 | 1 => data.copy_from_slice(new),
            2 => {}
            // Its first or last bytes are there.
            3 => {
                let to = random.below(size) as usize;
                data[..to].copy_from_slice(&new[..to]);
            }
            4 => {
                let from = random.below(size) as usize;
                data[from..].copy_from_slice(&new[from..]);
            }
            // A few bits are missing.
            5 => {
                data.copy_from_slice(new);
                for _ in 0..random.between(1, 4) {
                    let bit = random.below(size * 8);
                    data[bit as usize / 8] |= 1 << (bit % 8);
                }
            }
            // A few bits are there.
            6 => {
                for _ in 0..random.between(1, 16) {
                    let bit = random.below(size * 8);
                    data[bit as usize / 8] &= new[bit as usize / 8] | !(1 << (bit % 8));
                }
            }
            // Random bits are there.
            _ => {
                for (byte, new) in data.iter_mut().zip(new) {
                    *byte = new | random.next() as u8;
                }
            }
        }
        self.states[page] = PageState::Hit;
        let was_style = style;
        self.make_flaky(page, || if was_style < 2 { vec![0xff; new.len()] } else { new.to_vec() });
    }

    pub fn program(&mut self, block: u32, offset: u32, new: &[u8]) -> i32 {
        if !self.on {
            return FAILED;
        }
        let bytes = self.geometry.page_bytes;
        let page = offset / bytes;
        if block >= self.geometry.blocks
            || !offset.is_multiple_of(bytes)
            || page >= self.geometry.block_pages
            || new.len() as u32 != bytes
        {
            self.breach("program of what is no page", block, page);
            return FAILED;
        }
        self.operations.programs += 1;
        let index = self.page(block, page);
        let at = &self.blocks[block as usize];
        let (bad, unclean, failed, next, dead) = (at.bad, at.unclean, at.failed, at.next, at.dead);
        if bad {
            self.breach("program of a bad block", block, page);
            return FAILED;
        }
        if failed {
            self.breach("program after a program failed in the block", block, page);
            return FAILED;
        }
        if unclean {
            self.breach("program without an erasure", block, page);
            return FAILED;
        }
        if page < next || self.states[index] != PageState::Blank {
            self.breach("program of a page again, or out of order", block, page);
            return FAILED;
        }
        if self.is_cut_here() {
            self.note(|| format!("    program {block}.{page} CUT"));
            let torn = self.kinds.has(TORN) && !self.random.one_in(6);
            if torn {
                self.fault_counts.torn_programs += 1;
                self.blocks[block as usize].next = page + 1;
                self.tear(index, new);
            } else if self.random.one_in(2) {
                self.complete(block, page, new);
            }
            self.cut();
            return FAILED;
        }
        let fails = dead
            || (self.kinds.has(PROGRAM_FAILURE)
                && !self.is_worn()
                && self.random.happens(self.rates.program_failure));
        if fails {
            self.note(|| format!("    program {block}.{page} FAILS"));
            self.fault_counts.program_failures += 1;
            let lasts = self.random.one_in(2);
            if !dead {
                self.grown += 1;
            }
            let at = &mut self.blocks[block as usize];
            at.failed = true;
            at.dead |= lasts;
            at.next = page + 1;
            self.tear(index, new);
            return FAILED;
        }
        self.note(|| format!("    program {block}.{page}"));
        self.complete(block, page, new);
        OK
    }

    fn complete(&mut self, block: u32, page: u32, new: &[u8]) {
        let index = self.page(block, page);
        let range = self.bytes_of(index);
        self.data[range].copy_from_slice(new);
        self.states[index] = PageState::Complete;
        self.blocks[block as usize].next = page + 1;
    }

    pub fn erase(&mut self, block: u32) -> i32 {
        if !self.on {
            return FAILED;
        }
        if block >= self.geometry.blocks {
            self.breach("erase beyond the medium", block, 0);
            return FAILED;
        }
        self.operations.erases += 1;
        let at = &self.blocks[block as usize];
        let dead = at.dead;
        if at.bad {
            self.breach("erase of a bad block", block, 0);
            return FAILED;
        }
        if self.is_cut_here() {
            self.note(|| format!("    erase {block} CUT"));
            if self.kinds.has(ERASE) && !self.random.one_in(6) {
                self.fault_counts.torn_erases += 1;
                self.half_erase(block);
            } else if self.random.one_in(2) && !dead {
                self.clean(block);
            }
            self.cut();
            return FAILED;
        }
        let fails = dead
            || (self.kinds.has(ERASE_FAILURE)
                && !self.is_worn()
                && self.random.happens(self.rates.erase_failure));
        if fails {
            self.note(|| format!("    erase {block} FAILS"));
            self.fault_counts.erase_failures += 1;
            let lasts = self.random.one_in(2);
            if !dead {
                self.grown += 1;
            }
            self.blocks[block as usize].dead |= lasts;
            self.half_erase(block);
            return FAILED;
        }
        self.note(|| format!("    erase {block}"));
        self.clean(block);
        OK
    }

    fn clean(&mut self, block: u32) {
        let pages = self.page(block, 0)..self.page(block + 1, 0);
        let bytes = self.bytes_of(pages.start).start..self.bytes_of(pages.end - 1).end;
        self.data[bytes].fill(0xff);
        self.states[pages.clone()].fill(PageState::Blank);
        self.unreadable[pages.clone()].fill(false);
        for flaky in &mut self.flaky[pages] {
            *flaky = None;
        }
        let at = &mut self.blocks[block as usize];
        at.unclean = false;
        at.failed = false;
        at.unreadable = false;
        at.next = 0;
    }

    /// Leaves a block as an interrupted or failed erasure does.
    fn half_erase(&mut self, block: u32) {
        self.blocks[block as usize].unclean = true;
        let style = self.random.below(6);
        let split = self.random.below(self.geometry.block_pages);
        for page in 0..self.geometry.block_pages {
            let index = self.page(block, page);
            let range = self.bytes_of(index);
            let page_style = match style {
                0 => 0,
                1 => 1,
                2 => u32::from(page < split),
                3 => u32::from(page >= split),
                _ => self.random.below(4),
            };
            let old = self.data[range.clone()].to_vec();
            let random = &mut self.random;
            let data = &mut self.data[range];
            match page_style {
                0 => {}
                1 => data.fill(0xff),
                2 => {
                    for byte in data {
                        *byte |= random.next() as u8;
                    }
                }
                _ => {
                    for _ in 0..random.between(1, 4) {
                        let bit = random.below(old.len() as u32 * 8);
                        data[bit as usize / 8] |= 1 << (bit % 8);
                    }
                }
            }
            self.states[index] = PageState::Hit;
            if self.random.one_in(3) {
                let blank = page_style == 0;
                self.make_flaky(index, || if blank { vec![0xff; old.len()] } else { old });
            }
        }
    }

    /// Makes a completely programmed page unreadable, and returns its bytes. A block has at most
    /// one such page.
    pub fn lose_a_page(&mut self) -> Option<Vec<u8>> {
        let block = self.random.below(self.geometry.blocks);
        let page = self.random.below(self.geometry.block_pages);
        let index = self.page(block, page);
        let at = &mut self.blocks[block as usize];
        if at.bad || at.unreadable || self.states[index] != PageState::Complete {
            return None;
        }
        at.unreadable = true;
        self.unreadable[index] = true;
        self.fault_counts.unreadable += 1;
        self.note(|| format!("    {block}.{page} is unreadable from now on"));
        let range = self.bytes_of(index);
        Some(self.data[range].to_vec())
    }

    /// Makes all reads fail, or succeed again.
    pub fn darken(&mut self, dark: bool) {
        self.dark = dark && self.kinds.has(BLACKOUT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: NandGeometry = NandGeometry { page_bytes: 16, block_pages: 4, blocks: 3 };
    const RATES: FaultRates = FaultRates {
        program_failure: 0,
        erase_failure: 0,
        corrected: 0,
        transient: 0,
        unstable: 1_000_000,
        failures: 0,
    };

    fn medium(kinds: FaultKinds) -> FaultyNand {
        FaultyNand::new(GEOMETRY, kinds, RATES, &[2], 1, false)
    }

    /// Returns true if an operation breaks a rule.
    fn breaks(medium: &mut FaultyNand, act: impl FnOnce(&mut FaultyNand) -> i32) -> bool {
        act(medium);
        medium.breach.take().is_some()
    }

    #[test]
    fn the_rules_are_kept() {
        let page = [0; 16];
        let mut nand = medium(CUT);
        assert!(breaks(&mut nand, |nand| nand.program(0, 0, &page)), "no erasure");
        assert_eq!(nand.erase(0), OK);
        assert_eq!(nand.program(0, 16, &page), OK);
        assert!(breaks(&mut nand, |nand| nand.program(0, 16, &page)), "twice");
        assert!(breaks(&mut nand, |nand| nand.program(0, 0, &page)), "out of order");
        assert!(breaks(&mut nand, |nand| nand.program(0, 40, &page)), "no page");
        assert!(breaks(&mut nand, |nand| nand.program(0, 32, &page[..8])), "half a page");
        assert!(breaks(&mut nand, |nand| nand.erase(2)), "bad");
        assert!(breaks(&mut nand, |nand| nand.read(2, 0, &mut [0; 4])), "bad");
        assert!(breaks(&mut nand, |nand| nand.read(0, 62, &mut [0; 4])), "beyond the block");
        assert!(breaks(&mut nand, |nand| nand.erase(3)), "beyond the medium");
        assert_eq!(nand.mark_bad(0), OK);
        assert!(nand.is_bad(0) && breaks(&mut nand, |nand| nand.program(0, 48, &page)));
    }

    #[test]
    fn a_block_whose_program_failed_takes_no_more() {
        let rates = FaultRates { program_failure: 1_000_000, failures: 1, ..RATES };
        let mut nand = FaultyNand::new(GEOMETRY, PROGRAM_FAILURE, rates, &[], 1, false);
        assert_eq!(nand.erase(0), OK);
        assert_eq!(nand.program(0, 0, &[0; 16]), FAILED);
        assert!(breaks(&mut nand, |nand| nand.program(0, 16, &[0; 16])));
    }

    #[test]
    fn without_power_nothing_happens() {
        let mut nand = medium(CUT);
        assert_eq!(nand.erase(0), OK);
        nand.cut_after(2);
        assert_eq!(nand.program(0, 0, &[1; 16]), OK);
        assert_eq!(nand.program(0, 16, &[2; 16]), FAILED);
        assert_eq!((nand.on, nand.erase(0)), (false, FAILED));
        nand.power_on();
        let mut page = [0; 16];
        assert_eq!(nand.read(0, 0, &mut page), OK);
        assert_eq!(page, [1; 16]);
    }

    /// Many cuts leave every possible outcome: blank, complete, torn and unstable pages.
    #[test]
    fn a_cut_leaves_anything() {
        let (mut blank, mut whole, mut torn, mut unstable) = (0, 0, 0, 0);
        for seed in 0..200 {
            let kinds = CUT.with(TORN).with(UNSTABLE);
            let mut nand = FaultyNand::new(GEOMETRY, kinds, RATES, &[], seed, false);
            assert_eq!(nand.erase(0), OK);
            nand.cut_after(1);
            assert_eq!(nand.program(0, 0, &[0x5a; 16]), FAILED);
            let mut read = || {
                nand.power_on();
                let mut page = [0; 16];
                (nand.read(0, 0, &mut page), page)
            };
            let first = read();
            if (0..50).any(|_| read() != first) {
                unstable += 1;
            } else if first.1 == [0xff; 16] {
                blank += 1;
            } else if first.1 == [0x5a; 16] {
                whole += 1;
            } else {
                torn += 1;
            }
        }
        assert!([blank, whole, unstable].iter().all(|count| *count > 5));
        assert!(torn < 20, "all that was torn is unstable, but for what hides it");
    }
}
