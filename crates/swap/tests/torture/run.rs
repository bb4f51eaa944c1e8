//! Uses one store, cuts its power and mounts it again, and compares it with the model.

use std::collections::HashSet;

use super::kinds::{
    BAD_BLOCKS, BLACKOUT, CUT, ERASE, FORMAT, FaultKinds, TORN, TRANSIENT, UNREADABLE, UNSTABLE,
};
use super::medium::{FaultCounts, FaultyNand, Operations};
use super::model::{EMPTY, LOST, Model, SlotContent, name};
use super::pages;
use super::plan::{SlotChoice, TorturePlan};
use super::random::Random;
use super::store::{CallResult, StoreShape, TorturedStore};

/// The maximum number of consecutive power cycles in which a store of two shapes may be refused with
/// both, as an unstable page reads differently for each.
const CYCLES: u32 = 40;

/// Kinds with which a write has nothing to retry and no block to move.
const NOTHING_FAILS: u32 = CUT.0 | TORN.0 | ERASE.0 | UNSTABLE.0 | BAD_BLOCKS.0 | FORMAT.0;

/// The maximum number of calls before a cut, if none of them changes the medium.
const CALLS: u32 = 400;

/// Something that the store must not do.
pub struct Violation {
    pub seed: u64,
    /// Its message without numbers.
    pub class: String,
    pub message: String,
    pub plan: String,
    /// Calls and cuts of this store until then.
    pub calls: u64,
    pub cuts: u64,
    /// All operations, if they are recorded.
    pub trace: Vec<String>,
}

/// The costliest call.
#[derive(Clone, Copy, Default)]
pub struct CostliestCall {
    pub all: u64,
    pub operations: Operations,
    pub seed: u64,
}

impl CostliestCall {
    fn record(&mut self, operations: Operations, seed: u64) {
        let all = operations.reads + operations.changes();
        if all > self.all {
            *self = Self { all, operations, seed };
        }
    }

    fn join(&mut self, other: &Self) {
        if other.all > self.all {
            *self = *other;
        }
    }
}

#[derive(Clone, Default)]
pub struct TortureCounts {
    pub stores: u64,
    /// Stores that `format` refused because the medium is too small.
    pub refused: u64,
    /// Stores whose medium wore out as planned.
    pub worn: u64,
    pub cuts: u64,
    pub calls: u64,
    pub full: u64,
    pub mounts: u64,
    /// Mounts after which all slots were read.
    pub served: u64,
    /// Formats of a store that holds pages, those that were cut, and those after which the old store
    /// was there.
    pub formats: u64,
    pub cut_formats: u64,
    pub undone_formats: u64,
    /// Power cycles in which neither shape was mounted.
    pub undecided: u64,
    /// The costliest write of stores without failures.
    pub worst_write: CostliestCall,
    /// The costliest write of all stores.
    pub worst_write_failing: CostliestCall,
    /// The costliest mounts after an unmount and after a cut.
    pub worst_mount: CostliestCall,
    pub worst_mount_cut: CostliestCall,
    pub fault_counts: FaultCounts,
}

impl TortureCounts {
    pub fn join(&mut self, other: &Self) {
        self.stores += other.stores;
        self.refused += other.refused;
        self.worn += other.worn;
        self.cuts += other.cuts;
        self.calls += other.calls;
        self.full += other.full;
        self.mounts += other.mounts;
        self.served += other.served;
        self.formats += other.formats;
        self.cut_formats += other.cut_formats;
        self.undone_formats += other.undone_formats;
        self.undecided += other.undecided;
        self.worst_write.join(&other.worst_write);
        self.worst_write_failing.join(&other.worst_write_failing);
        self.worst_mount.join(&other.worst_mount);
        self.worst_mount_cut.join(&other.worst_mount_cut);
        let (all, more) = (&mut self.fault_counts, &other.fault_counts);
        all.torn_programs += more.torn_programs;
        all.torn_erases += more.torn_erases;
        all.flaky_pages += more.flaky_pages;
        all.flaky_reads += more.flaky_reads;
        all.program_failures += more.program_failures;
        all.erase_failures += more.erase_failures;
        all.corrected += more.corrected;
        all.transient += more.transient;
        all.dark_reads += more.dark_reads;
        all.unreadable += more.unreadable;
    }
}

/// The class and the message of a violation.
struct BrokenPromise(&'static str, String);

struct StoreRun {
    seed: u64,
    plan: TorturePlan,
    /// The largest shape, for whose memory there is room.
    home: StoreShape,
    store: TorturedStore,
    model: Model,
    random: Random,
    counts: TortureCounts,
    /// Number of the next page.
    number: u32,
    /// The last slot, if slots are used one after another.
    slot: u32,
    page: Vec<u8>,
    expected: Vec<u8>,
    scratch: Vec<u8>,
    seen: Vec<Option<SlotContent>>,
    /// The store is as full as planned.
    filled: bool,
    dark_calls: u32,
    /// The maximum number of operations of the medium for one write.
    bound: u64,
}

/// Tortures the store of a seed.
pub fn run(
    seed: u64,
    kinds: Option<FaultKinds>,
    rounds: u32,
    traced: bool,
) -> (TortureCounts, Option<Violation>) {
    let plan = TorturePlan::draw(seed, kinds, rounds);
    let medium =
        FaultyNand::new(plan.geometry, plan.kinds, plan.rates, &plan.factory_bad, seed, traced);
    let page_bytes = plan.shape.page_bytes as usize;
    let mut run = StoreRun {
        seed,
        home: plan.shape,
        store: TorturedStore::new(plan.shape, medium),
        model: Model::new(plan.shape.slots),
        random: Random::new(seed ^ 0x0072_756e),
        counts: TortureCounts { stores: 1, ..TortureCounts::default() },
        number: 1,
        slot: 0,
        page: vec![0; page_bytes],
        expected: vec![0; page_bytes],
        scratch: Vec::new(),
        seen: vec![None; plan.shape.slots as usize],
        filled: false,
        dark_calls: 0,
        bound: 0,
        plan,
    };
    run.bound = run.store.write_bound();
    let result = run.run_rounds();
    run.counts.fault_counts = run.store.medium().fault_counts;
    let violation = result.err().map(|BrokenPromise(class, message)| Violation {
        seed,
        class: class.into(),
        message,
        plan: run.plan.describe(),
        calls: run.counts.calls,
        cuts: run.counts.cuts,
        trace: run.store.medium().trace.take().unwrap_or_default(),
    });
    (run.counts, violation)
}

impl StoreRun {
    fn medium(&mut self) -> &mut FaultyNand {
        self.store.medium()
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        self.store.medium().note(line);
    }

    fn run_rounds(&mut self) -> Result<(), BrokenPromise> {
        if !self.format()? {
            self.counts.refused = 1;
            return Ok(());
        }
        if self.plan.second {
            for _ in 0..self.random.below(60) {
                self.write()?;
            }
            self.sync()?;
            self.format()?;
        }
        for _ in 0..self.plan.rounds {
            self.work()?;
            self.recover()?;
            if self.plan.kinds.has(FORMAT) && self.random.one_in(6) && !self.reformat()? {
                self.counts.worn = 1;
                break;
            }
            if self.plan.rates.failures > 0 && self.medium().is_worn() {
                self.counts.worn = 1;
                break;
            }
        }
        Ok(())
    }

    fn format(&mut self) -> Result<bool, BrokenPromise> {
        self.note(|| "format".into());
        let answer = self.store.format();
        self.check_rules()?;
        self.model = Model::new(self.plan.shape.slots);
        match answer {
            CallResult::Ok => Ok(true),
            CallResult::Invalid => Ok(false),
            other => Err(BrokenPromise("format fails", format!("format gives {other:?}"))),
        }
    }

    /// Makes calls, up to a cut or an unmount.
    fn work(&mut self) -> Result<(), BrokenPromise> {
        let cuts = self.plan.kinds.has(CUT) && !self.random.one_in(12);
        if cuts {
            // Every other cut comes soon after the last one.
            let pace = if self.random.one_in(2) { self.plan.pace } else { 3 };
            let after = 1 + u64::from(self.random.below(pace));
            self.medium().cut_after(after);
        }
        let calls = if cuts { CALLS } else { self.random.between(1, CALLS / 4) };
        for _ in 0..calls {
            self.call()?;
            if !self.medium().on {
                self.counts.cuts += 1;
                return Ok(());
            }
        }
        if self.plan.kinds.has(CUT) && self.random.one_in(2) {
            self.medium().cut();
            self.counts.cuts += 1;
            return Ok(());
        }
        self.medium().do_not_cut();
        self.note(|| "unmount".into());
        self.sync()
    }

    fn call(&mut self) -> Result<(), BrokenPromise> {
        if self.medium().dark {
            self.dark_calls -= 1;
            if self.dark_calls == 0 {
                if self.plan.kinds.has(CUT) && self.random.one_in(2) {
                    // Reads still fail at the next mount.
                    self.medium().cut();
                    return Ok(());
                }
                self.medium().darken(false);
                self.note(|| "light".into());
            }
        } else if self.plan.kinds.has(BLACKOUT) && self.random.one_in(300) {
            self.dark_calls = self.random.between(2, 12);
            self.medium().darken(true);
            self.note(|| "dark".into());
        }
        if self.plan.kinds.has(UNREADABLE) && self.random.one_in(2000) {
            self.lose_a_page();
        }
        let TorturePlan { frees, reads, syncs, idles, .. } = self.plan;
        let drawn = self.random.below(100);
        if drawn < reads {
            let slot = self.choose_slot();
            self.read(slot)
        } else if drawn < reads + syncs {
            self.sync()
        } else if drawn < reads + syncs + frees {
            self.free()
        } else if drawn < reads + syncs + frees + idles {
            self.idle()
        } else {
            self.write()
        }
    }

    fn choose_slot(&mut self) -> u32 {
        let slots = self.plan.shape.slots;
        match self.plan.choice {
            SlotChoice::Uniform => self.random.below(slots),
            SlotChoice::Hot if self.random.one_in(10) => self.random.below(slots),
            SlotChoice::Hot => self.random.below(slots.div_ceil(10)),
            SlotChoice::Sequential => {
                self.slot = (self.slot + 1) % slots;
                self.slot
            }
        }
    }

    /// Checks that the last call kept the medium's rules.
    fn check_rules(&mut self) -> Result<(), BrokenPromise> {
        match self.medium().breach.take() {
            Some(breach) => {
                let class = if breach.starts_with("program after") {
                    "a block is programmed after its program failed"
                } else {
                    "a rule of the medium is broken"
                };
                Err(BrokenPromise(class, breach))
            }
            None => Ok(()),
        }
    }

    fn write(&mut self) -> Result<(), BrokenPromise> {
        if self.counts.calls.is_multiple_of(16) {
            let stat = self.store.stat();
            let TorturePlan { geometry, rates, fill, .. } = &self.plan;
            let block = u64::from(geometry.block_pages) * u64::from(geometry.page_bytes);
            let limit = stat.mem_limit.saturating_sub(u64::from(rates.failures) * block);
            self.filled = stat.mem_used_total * 100 >= limit * u64::from(*fill);
        }
        let mut slot = self.choose_slot();
        if self.filled && self.model.newest(slot) == EMPTY {
            // The store is full enough: the call overwrites a page, or frees one.
            for _ in 0..4 {
                slot = self.choose_slot();
                if self.model.newest(slot) != EMPTY {
                    break;
                }
            }
            if self.model.newest(slot) == EMPTY {
                return self.free();
            }
        } else if self.filled && self.random.one_in(8) {
            return self.free();
        }
        let kind = self.random.pick(&self.plan.pages);
        let number = self.number << 2 | kind;
        self.number += 1;
        pages::make(number, &mut self.page);
        let old = self.model.newest(slot);
        self.model.begin(slot, number);
        let now = self.model.now();
        self.note(|| format!("{now}: write slot {slot} page {number}"));
        let before = self.medium().operations;
        let answer = self.store.write(slot, &self.page);
        self.counts.calls += 1;
        self.check_rules()?;
        if !self.medium().on {
            return Ok(());
        }
        let operations = self.medium().operations.since(before);
        self.counts.worst_write_failing.record(operations, self.seed);
        if self.plan.kinds.0 & !NOTHING_FAILS == 0 {
            self.counts.worst_write.record(operations, self.seed);
            let taken = operations.reads + operations.changes();
            if taken > self.bound {
                return Err(BrokenPromise(
                    "a write takes more operations than it may",
                    format!("{taken} of {}: {operations:?}", self.bound),
                ));
            }
        }
        match answer {
            CallResult::Ok => Ok(()),
            CallResult::Full => {
                self.note(|| "    FULL".into());
                self.counts.full += 1;
                self.model.undo(slot);
                self.check_full(number, old)
            }
            CallResult::Io if self.medium().dark => {
                self.note(|| "    IO".into());
                self.model.leave_open(slot);
                Ok(())
            }
            other => {
                Err(BrokenPromise("a write fails", format!("write of slot {slot} gives {other:?}")))
            }
        }
    }

    /// FULL is allowed only if the store reports that there is no space.
    fn check_full(&mut self, new: u32, old: u32) -> Result<(), BrokenPromise> {
        let compressed = self.plan.shape.compressed;
        let new_bytes = pages::stored_bytes(new, &self.page, compressed, &mut self.scratch);
        let stat = self.store.stat();
        if stat.mem_used_total + new_bytes as u64 + 64 <= stat.mem_limit {
            return Err(BrokenPromise(
                "FULL while there is room",
                format!(
                    "{} bytes used of {}, and {new_bytes} do not fit",
                    stat.mem_used_total, stat.mem_limit
                ),
            ));
        }
        // In a block of few records cuts leave more unused space than the reserve covers.
        let block = self.plan.geometry.block_pages * self.plan.geometry.page_bytes;
        let records = block / (self.plan.shape.page_bytes + 12);
        if records >= 8 && old != EMPTY && old != LOST && self.medium().grown == 0 {
            pages::make(old, &mut self.expected);
            let old_bytes = pages::stored_bytes(old, &self.expected, compressed, &mut self.scratch);
            if new_bytes <= old_bytes {
                return Err(BrokenPromise(
                    "FULL for a page in place of one as large",
                    format!("{new_bytes} bytes in place of {old_bytes}"),
                ));
            }
        }
        Ok(())
    }

    fn free(&mut self) -> Result<(), BrokenPromise> {
        let slot = self.choose_slot();
        self.model.begin(slot, EMPTY);
        let now = self.model.now();
        self.note(|| format!("{now}: free slot {slot}"));
        let answer = self.store.free(slot);
        self.counts.calls += 1;
        self.check_rules()?;
        if !self.medium().on {
            return Ok(());
        }
        match answer {
            CallResult::Ok => Ok(()),
            CallResult::Io if self.medium().dark => {
                self.model.leave_open(slot);
                Ok(())
            }
            other => {
                Err(BrokenPromise("a free fails", format!("free of slot {slot} gives {other:?}")))
            }
        }
    }

    fn sync(&mut self) -> Result<(), BrokenPromise> {
        self.note(|| "sync".into());
        let answer = self.store.sync();
        self.counts.calls += 1;
        self.check_rules()?;
        if !self.medium().on {
            return Ok(());
        }
        match answer {
            CallResult::Ok => {
                self.model.synced();
                Ok(())
            }
            CallResult::Io if self.medium().dark => Ok(()),
            other => Err(BrokenPromise("a sync fails", format!("sync gives {other:?}"))),
        }
    }

    fn idle(&mut self) -> Result<(), BrokenPromise> {
        for _ in 0..self.random.between(1, 8) {
            self.note(|| "idle".into());
            let answer = self.store.idle();
            self.counts.calls += 1;
            self.check_rules()?;
            if !self.medium().on {
                return Ok(());
            }
            match answer {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(CallResult::Io) if self.medium().dark => return Ok(()),
                Err(other) => {
                    return Err(BrokenPromise(
                        "fp_swap_idle fails",
                        format!("idle gives {other:?}"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Reads a slot. Returns `None` if it cannot be read for now.
    fn read_slot(&mut self, slot: u32) -> Result<Option<SlotContent>, BrokenPromise> {
        let answer = self.store.read(slot, &mut self.page);
        self.counts.calls += 1;
        self.check_rules()?;
        if !self.medium().on {
            return Ok(None);
        }
        Ok(Some(match answer {
            CallResult::Ok => {
                let number = pages::number(&self.page);
                pages::make(number, &mut self.expected);
                if self.page == self.expected {
                    SlotContent::Page(number)
                } else {
                    SlotContent::Wrong
                }
            }
            CallResult::Empty => SlotContent::Empty,
            CallResult::Corrupt => SlotContent::Corrupt,
            CallResult::Io if self.medium().dark => return Ok(None),
            // The page may be the one that cannot be read.
            CallResult::Io if self.plan.kinds.has(UNREADABLE) => SlotContent::Corrupt,
            other => {
                return Err(BrokenPromise(
                    "a read fails",
                    format!("read of slot {slot} gives {other:?}"),
                ));
            }
        }))
    }

    fn read(&mut self, slot: u32) -> Result<(), BrokenPromise> {
        self.note(|| format!("read slot {slot}"));
        let Some(seen) = self.read_slot(slot)? else { return Ok(()) };
        if self.model.read(slot, seen) {
            return Ok(());
        }
        let expected: Vec<u32> = self.model.current(slot).collect();
        Err(BrokenPromise(
            match seen {
                SlotContent::Corrupt => "a page is lost in use",
                SlotContent::Wrong => "wrong bytes as right",
                _ => "another page than was written last",
            },
            format!("slot {slot} gives {}, not of {expected:?}", name(seen)),
        ))
    }

    /// Makes a page of the medium unreadable for good.
    fn lose_a_page(&mut self) {
        let Some(lost) = self.medium().lose_a_page() else { return };
        let words: HashSet<[u8; 4]> =
            lost.windows(4).map(|four| [four[0], four[1], four[2], four[3]]).collect();
        let Self { model, plan, expected, scratch, .. } = self;
        // A record is in the page if four of its bytes are, or its slot's number; or if its few
        // last bytes begin the page, or its few first ones end it.
        model.doom(|slot, page| {
            if words.contains(&slot.to_le_bytes()) {
                return true;
            }
            pages::make(page, expected);
            pages::stored_bytes(page, expected, plan.shape.compressed, scratch);
            scratch.windows(4).any(|four| words.contains(four))
                || (1..4).any(|few| {
                    lost.starts_with(&scratch[scratch.len().saturating_sub(few)..])
                        || lost.ends_with(&scratch[..few.min(scratch.len())])
                })
        });
    }

    /// Mounts the store until all slots were read.
    fn recover(&mut self) -> Result<(), BrokenPromise> {
        let mut was_cut = !self.medium().on;
        loop {
            self.medium().power_on();
            if self.medium().dark {
                let answer = self.store.mount();
                self.counts.mounts += 1;
                self.note(|| format!("mount in the dark: {answer:?}"));
                self.check_rules()?;
                if answer != CallResult::Io {
                    return Err(BrokenPromise(
                        "a mount of an unreadable medium is not IO",
                        format!("a mount while nothing can be read gives {answer:?}"),
                    ));
                }
                if self.random.one_in(2) {
                    self.medium().darken(false);
                }
                continue;
            }
            if self.plan.kinds.has(UNREADABLE) && self.random.one_in(100) {
                self.lose_a_page();
            }
            if self.plan.kinds.has(CUT) && self.random.below(100) < self.plan.chain {
                let pace = self.plan.chain_pace;
                let after = 1 + u64::from(self.random.below(pace));
                self.medium().cut_after(after);
            }
            self.note(|| "mount".into());
            let before = self.medium().operations;
            let answer = self.store.mount();
            self.counts.mounts += 1;
            self.check_rules()?;
            if !self.medium().on {
                self.counts.cuts += 1;
                was_cut = true;
                continue;
            }
            self.medium().do_not_cut();
            let operations = self.medium().operations.since(before);
            match answer {
                CallResult::Ok => {}
                CallResult::Io => {
                    return Err(BrokenPromise("a mount gives IO", "a mount gives IO".into()));
                }
                CallResult::NoStore => {
                    return Err(BrokenPromise(
                        "a mount gives NO_STORE",
                        "a mount gives NO_STORE".into(),
                    ));
                }
                other => {
                    return Err(BrokenPromise("a mount fails", format!("a mount gives {other:?}")));
                }
            }
            let worst = if was_cut {
                &mut self.counts.worst_mount_cut
            } else {
                &mut self.counts.worst_mount
            };
            worst.record(operations, self.seed);
            if self.read_back()? {
                return Ok(());
            }
            self.medium().cut();
            self.counts.cuts += 1;
            was_cut = true;
        }
    }

    /// Reads slots after a mount, usually all. Returns false if only some were read, before another
    /// cut.
    fn read_back(&mut self) -> Result<bool, BrokenPromise> {
        let slots = self.plan.shape.slots;
        let part = self.plan.kinds.has(CUT) && self.random.one_in(6);
        self.seen.fill(None);
        let one_in = self.random.pick(&[2, 4, 16]);
        for slot in 0..slots {
            if part && (slot == 0 || !self.random.one_in(one_in)) {
                continue;
            }
            let seen = self.read_slot(slot)?;
            self.seen[slot as usize] = seen;
        }
        if self.store.medium().trace.is_some() {
            let seen: Vec<String> = self
                .seen
                .iter()
                .enumerate()
                .filter_map(|(slot, seen)| seen.map(|seen| format!("{slot}: {}", name(seen))))
                .collect();
            self.note(|| format!("  served {}", seen.join(", ")));
        }
        for slot in 0..slots {
            let Some(seen) = self.seen[slot as usize] else { continue };
            if self.store.holds(slot) == (seen == SlotContent::Empty) {
                return Err(BrokenPromise(
                    "holds is wrong",
                    format!("slot {slot} gives {}, and holds says otherwise", name(seen)),
                ));
            }
        }
        self.check_moment()?;
        if part {
            return Ok(false);
        }
        self.counts.served += 1;
        let checkable = !self.plan.kinds.has(UNREADABLE) && !self.plan.kinds.has(TRANSIENT);
        if checkable && self.random.one_in(64) {
            if let Some(wrong) = self.store.check() {
                return Err(BrokenPromise("fp_swap_check", wrong));
            }
            self.check_rules()?;
        }
        Ok(true)
    }

    /// Checks that what was read is what the store held at a moment that a mount may restore.
    fn check_moment(&mut self) -> Result<(), BrokenPromise> {
        self.model.mounted(&self.seen).map_err(|message| {
            let class = if message.contains("WRONG") {
                "wrong bytes as right"
            } else if message.contains("gives CORRUPT") {
                "a page is lost in a mount"
            } else if message.contains("all the time") {
                "a mount brings back what was undone"
            } else {
                "a mount gives no state that there was"
            };
            BrokenPromise(class, message)
        })
    }

    /// Takes a shape over: that of the store that is mounted now.
    fn take_shape(&mut self, shape: StoreShape) {
        self.plan.shape = shape;
        self.store.reshape(shape);
        self.page.resize(shape.page_bytes as usize, 0);
        self.expected.resize(shape.page_bytes as usize, 0);
        self.seen = vec![None; shape.slots as usize];
        self.slot = 0;
        self.filled = false;
        self.bound = self.store.write_bound();
    }

    /// Draws the shape of a format: half of them are of the same one.
    fn draw_shape(&mut self) -> StoreShape {
        let mut shape = self.plan.shape;
        if self.random.one_in(2) {
            shape.slots = self.random.between(4, self.home.slots);
            shape.compressed = self.random.one_in(2);
            if self.random.one_in(2) {
                shape.page_bytes = self.home.page_bytes / self.random.pick(&[1, 2]);
            }
        }
        shape
    }

    /// Formats the store over its pages, and cuts that. Returns false if too many blocks are bad.
    fn reformat(&mut self) -> Result<bool, BrokenPromise> {
        for _ in 0..self.random.below(20) {
            self.write()?;
        }
        if self.random.one_in(2) {
            self.sync()?;
        }
        let old = self.plan.shape;
        let new = self.draw_shape();
        if self.plan.kinds.has(CUT) && !self.random.one_in(4) {
            let pace = self.random.pick(&[3, 8, 20, 60]);
            let after = 1 + u64::from(self.random.below(pace));
            self.medium().cut_after(after);
        }
        self.note(|| {
            format!(
                "format with {} slots of {} bytes, compressed: {}",
                new.slots, new.page_bytes, new.compressed
            )
        });
        self.counts.formats += 1;
        self.store.reshape(new);
        let answer = self.store.format();
        self.check_rules()?;
        if self.medium().on {
            self.medium().do_not_cut();
            self.take_shape(new);
            self.model = Model::new(new.slots);
            return match answer {
                CallResult::Ok => Ok(true),
                CallResult::Small | CallResult::Full if self.plan.rates.failures > 0 => Ok(false),
                other => Err(BrokenPromise("format fails", format!("format gives {other:?}"))),
            };
        }
        self.counts.cuts += 1;
        self.counts.cut_formats += 1;
        self.recover_format(old, new)?;
        Ok(true)
    }

    /// Mounts with one shape, after power was lost in a format from `old` to `new`. Returns whether
    /// that store is there, or `None` after another cut.
    fn mount_shape(&mut self, shape: StoreShape) -> Result<Option<bool>, BrokenPromise> {
        if self.random.below(100) < self.plan.chain {
            let pace = self.plan.chain_pace;
            let after = 1 + u64::from(self.random.below(pace));
            self.medium().cut_after(after);
        }
        self.store.reshape(shape);
        self.note(|| format!("mount with {} slots of {} bytes", shape.slots, shape.page_bytes));
        let answer = self.store.mount();
        self.counts.mounts += 1;
        self.check_rules()?;
        if !self.medium().on {
            self.counts.cuts += 1;
            return Ok(None);
        }
        self.medium().do_not_cut();
        self.note(|| format!("  {answer:?}"));
        match answer {
            CallResult::Ok => Ok(Some(true)),
            CallResult::Other => Ok(Some(false)),
            other => Err(BrokenPromise(
                "a mount after a cut format fails",
                format!("a mount after a cut format gives {other:?}"),
            )),
        }
    }

    /// Mounts after a cut in a format until one of both stores is there, and the other is not.
    fn recover_format(&mut self, old: StoreShape, new: StoreShape) -> Result<(), BrokenPromise> {
        let mut refused = 0;
        loop {
            self.medium().power_on();
            let first = if self.random.one_in(2) { new } else { old };
            let second = if first == new { old } else { new };
            let mut mounted = None;
            for shape in [first, second] {
                match self.mount_shape(shape)? {
                    Some(true) => mounted = Some(shape),
                    Some(false) => continue,
                    None => {}
                }
                break;
            }
            let Some(mounted) = mounted else {
                refused += u32::from(self.medium().on);
                self.counts.undecided += u64::from(self.medium().on);
                if refused > CYCLES {
                    return Err(BrokenPromise(
                        "both shapes are refused after a cut format",
                        format!("{refused} times"),
                    ));
                }
                self.medium().cut();
                continue;
            };
            self.take_shape(mounted);
            for slot in 0..mounted.slots {
                self.seen[slot as usize] = self.read_slot(slot)?;
            }
            let is_empty = self.seen.iter().all(|seen| *seen == Some(SlotContent::Empty));
            if is_empty && mounted == new {
                self.model = Model::new(new.slots);
            } else if mounted == old {
                self.counts.undone_formats += 1;
                self.check_moment()?;
            } else {
                return Err(BrokenPromise(
                    "a cut format gives pages",
                    "the store of the new shape is not empty".into(),
                ));
            }
            self.note(|| format!("  the {} store", if is_empty { "empty" } else { "old" }));
            return self.refuse_other(if mounted == new { old } else { new });
        }
    }

    /// The shape that was not mounted is refused, and changes nothing.
    fn refuse_other(&mut self, other: StoreShape) -> Result<(), BrokenPromise> {
        let here = self.plan.shape;
        if here == other {
            return Ok(());
        }
        self.store.reshape(other);
        let before = self.medium().operations.changes();
        let answer = self.store.mount();
        let changes = self.medium().operations.changes() - before;
        self.store.reshape(here);
        if answer != CallResult::Other || changes > 0 {
            return Err(BrokenPromise(
                "another shape is not refused",
                format!("a mount with the other shape gives {answer:?}, and {changes} changes"),
            ));
        }
        let again = self.store.mount();
        self.check_rules()?;
        if again == CallResult::Ok {
            return Ok(());
        }
        Err(BrokenPromise("a mount fails", format!("a second mount gives {again:?}")))
    }
}
