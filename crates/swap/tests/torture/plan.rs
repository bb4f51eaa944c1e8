//! The random plan of one store: its shape, its medium, its use and its faults.

use super::kinds::{
    BAD_BLOCKS, BLACKOUT, CORRECTED, CUT, ERASE, ERASE_FAILURE, FORMAT, FaultKinds,
    PROGRAM_FAILURE, TORN, TRANSIENT, UNREADABLE, UNSTABLE,
};
use super::medium::{FaultRates, NandGeometry};
use super::pages::{HALF, RANDOM, RUNS, SAME};
use super::random::Random;
use super::store::StoreShape;

/// Blocks of the smallest medium, without those that may fail or are bad.
pub const FEWEST_BLOCKS: u32 = 20;

/// The choice of the slots of calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SlotChoice {
    Uniform,
    /// Nine in ten calls use the first tenth of the slots.
    Hot,
    /// One slot after another.
    Sequential,
}

pub struct TorturePlan {
    pub kinds: FaultKinds,
    pub geometry: NandGeometry,
    pub rates: FaultRates,
    pub shape: StoreShape,
    pub factory_bad: Vec<u32>,
    /// Power cuts until the next store, or mounts if there are no cuts.
    pub rounds: u32,
    /// The maximum number of changes of the medium before a cut.
    pub pace: u32,
    /// Percentage of mounts that are cut; `chain_pace` is the most changes before that.
    pub chain: u32,
    pub chain_pace: u32,
    /// Percentage of the space that is filled.
    pub fill: u32,
    /// Percentages of the calls.
    pub frees: u32,
    pub reads: u32,
    pub syncs: u32,
    pub idles: u32,
    pub choice: SlotChoice,
    /// Kinds of pages to draw from.
    pub pages: [u32; 4],
    /// True if the medium held another store before.
    pub second: bool,
}

fn draw_kinds(random: &mut Random) -> FaultKinds {
    let mut kinds = CUT;
    match random.below(8) {
        0 => {}
        1 => kinds = kinds.with(TORN).with(ERASE),
        2 => kinds = kinds.with(TORN).with(ERASE).with(UNSTABLE),
        _ => {
            let chances = [
                (TORN, 85),
                (ERASE, 85),
                (UNSTABLE, 60),
                (PROGRAM_FAILURE, 40),
                (ERASE_FAILURE, 40),
                (BAD_BLOCKS, 30),
                (CORRECTED, 30),
                (TRANSIENT, 30),
                (BLACKOUT, 15),
                (UNREADABLE, 10),
                (FORMAT, 50),
            ];
            for (kind, per_cent) in chances {
                if random.below(100) < per_cent {
                    kinds = kinds.with(kind);
                }
            }
        }
    }
    kinds
}

impl TorturePlan {
    pub fn draw(seed: u64, wanted: Option<FaultKinds>, rounds: u32) -> Self {
        let mut random = Random::new(seed);
        let drawn = draw_kinds(&mut random);
        let kinds = wanted.unwrap_or(drawn);
        let size = random.below(100);
        let (page_bytes, block_pages, blocks) = if size < 70 {
            (random.pick(&[256, 256, 512]), 8, random.between(0, 12))
        } else if size < 98 {
            (random.pick(&[256, 512, 1024]), random.pick(&[8, 16, 32]), random.between(0, 40))
        } else {
            (random.pick(&[512, 2048]), random.pick(&[32, 64]), random.between(60, 108))
        };
        let failures = if kinds.has(PROGRAM_FAILURE) || kinds.has(ERASE_FAILURE) {
            random.between(2, 6)
        } else {
            0
        };
        let bad = if kinds.has(BAD_BLOCKS) { random.between(1, 4) } else { 0 };
        let blocks = FEWEST_BLOCKS + blocks + bad + failures;
        let geometry = NandGeometry { page_bytes, block_pages, blocks };
        let mut factory_bad = Vec::new();
        while factory_bad.len() < bad as usize {
            let block = random.below(blocks);
            if !factory_bad.contains(&block) {
                factory_bad.push(block);
            }
        }
        let memory_page = (page_bytes * random.pick(&[1, 1, 2, 4]) / 2).min(4096);
        let pages = random.pick(&[
            [SAME, RUNS, RANDOM, HALF],
            [RUNS, RUNS, HALF, HALF],
            [RANDOM, RANDOM, RANDOM, RANDOM],
            [RUNS, RUNS, RUNS, RANDOM],
        ]);
        let room = (blocks - bad - failures - 7) * geometry.block_pages * page_bytes;
        let mean = if pages[0] == RANDOM { memory_page } else { memory_page / 2 };
        let slots = (room / (mean + 12)).clamp(4, random.pick(&[12, 24, 48, 96]));
        Self {
            kinds,
            geometry,
            rates: FaultRates {
                program_failure: 3000,
                erase_failure: 3000,
                corrected: random.pick(&[1000, 5000, 20_000]),
                transient: random.pick(&[200, 1000, 10_000]),
                unstable: random.pick(&[300_000, 700_000, 1_000_000]),
                failures,
            },
            shape: StoreShape {
                page_bytes: memory_page,
                slots,
                reserve_blocks: 0,
                compressed: random.below(4) != 0,
            },
            factory_bad,
            rounds: if size < 98 { rounds } else { rounds / 8 + 1 },
            pace: random.pick(&[3, 6, 12, 25, 50, 200]),
            chain: random.pick(&[20, 40, 60, 80]),
            chain_pace: random.pick(&[3, 6, 12, 40]),
            fill: random.pick(&[30, 60, 80, 90, 97]),
            frees: random.pick(&[2, 10, 25]),
            reads: random.pick(&[5, 20]),
            syncs: random.pick(&[1, 5, 15, 30]),
            idles: random.pick(&[0, 3, 10]),
            choice: random.pick(&[SlotChoice::Uniform, SlotChoice::Hot, SlotChoice::Sequential]),
            pages,
            second: random.one_in(4),
        }
    }

    pub fn describe(&self) -> String {
        let NandGeometry { page_bytes, block_pages, blocks } = self.geometry;
        format!(
            "{blocks} blocks of {block_pages} pages of {page_bytes} bytes, {} slots of {} bytes{}, \
             {} % full; {}",
            self.shape.slots,
            self.shape.page_bytes,
            if self.shape.compressed { ", compressed" } else { "" },
            self.fill,
            self.kinds.list()
        )
    }
}
