//! Sync and mount of the store, as sequences of operations on the medium.

use crate::medium::{
    BlockLink, MetaPair, ModelMedium, NONE, OperationResult, PageContent, PowerCut, SUCCESSORS,
    Successors,
};

/// Rules for a mount that finds only the first pair of the newest block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The first version: go on in a kept successor. Kept ones are counted from the block itself.
    Written,
    /// Like `Written`, but a block stays kept only while it is in the successors of every block
    /// since the one known to be complete.
    Nested,
    /// A valid copy B means that copy A, and so the block, is complete. Otherwise go on in a kept
    /// successor, whose place among the kept ones the block itself takes.
    Witness,
    /// Like `Witness`, but a kept block that reads invalid is taken first, else the youngest. The
    /// other valid ones stay, no new ones come in, and the base is not free.
    Steady,
    /// A second pair confirms the first (`confirm`).
    Confirm,
}

/// A deliberate error of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    None,
    /// Mount erases only the successor that it takes.
    EraseOne,
    /// Mount goes on in a successor that is not kept, though the first pair may be flaky.
    TakeNew,
    /// Mount serves the last pair without writing it again.
    Trust,
    /// Data of the last complete commit is erased for the next one.
    FreeDataEarly,
    /// Copy A alone counts as a commit.
    OneCopy,
    /// A block gets the generation of the previous one.
    SameGeneration,
    /// The link that mount writes counts the last pair, which may be flaky.
    CountFlaky,
    /// A block names only new successors.
    Unnested,
    /// Meta blocks are free as soon as a pair that is not complete yet no longer needs them.
    FreeMetaEarly,
    /// Mount programs first, and erases the other successors afterwards.
    EraseLater,
    /// Copy B is programmed first.
    CopyBFirst,
    /// A full block is marked bad before its rescue is complete.
    MarkEarly,
    /// A pair that failed is tried again in the next pair of its block.
    GoOnAfterFailure,
    /// Copy B is programmed though copy A failed.
    CopyBAfterFailure,
    /// A block's first pair alone makes it count.
    NoConfirmation,
    /// The generation of a mount is one above that of the block that counts, not above all that are
    /// found.
    OverCountingOnly,
    /// Mount takes blocks with higher generations like any other.
    TakeHigher,
    /// Blocks that are neither valid nor blank stay as they are.
    KeepSuspicious,
}

/// The state of a running store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelStore {
    pub block: u8,
    /// Complete pairs of the block.
    pub pairs: u8,
    pub last: MetaPair,
    /// The block of the pair before the last one.
    pub before: u8,
    /// The highest generation found.
    pub top: u8,
}

/// Reasons why a step ended early.
#[derive(Debug)]
pub enum EarlyEnd {
    PowerCut,
    /// There is no good block left.
    Full,
    /// The protocol broke.
    Broken(String),
}

impl From<PowerCut> for EarlyEnd {
    fn from(_: PowerCut) -> Self {
        Self::PowerCut
    }
}

/// Sizes and rules of the protocol, and its deliberate error.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Pairs of a meta block, blocks of the zone, and all blocks.
    pub pairs: usize,
    pub zone: usize,
    pub blocks: usize,
    /// With `Confirm`: the block that a mount came from is not free at the next mount.
    pub keep_base: bool,
    pub rules: Rules,
    pub mutation: Mutation,
}

impl Protocol {
    pub fn has(&self, mutation: Mutation) -> bool {
        self.mutation == mutation
    }

    pub fn zone(&self, medium: &ModelMedium) -> Vec<u8> {
        (0..self.blocks as u8).filter(|&block| !medium.bad(block)).take(self.zone).collect()
    }

    /// Returns the successors of `block`, itself a successor of the previous block: first the other
    /// successors of that one, then new blocks, which must not be in `used`.
    fn successors(&self, medium: &ModelMedium, block: u8, old: &[u8], used: &[u8]) -> Successors {
        let mut list: Vec<u8> =
            old.iter().copied().filter(|&old| old != block && !medium.bad(old)).collect();
        if self.has(Mutation::Unnested) {
            list.clear();
        }
        let kept = list.len();
        let zone = self.zone(medium);
        let start = zone.iter().position(|&at| at > block).unwrap_or(0);
        for at in (0..zone.len()).map(|step| zone[(start + step) % zone.len()]) {
            let taken = at == block || used.contains(&at) || old.contains(&at);
            if list.len() < SUCCESSORS && !taken && !list.contains(&at) {
                list.push(at);
            }
        }
        Successors::new(&list, kept)
    }

    /// Programs both copies of a pair.
    pub fn program(
        &self,
        medium: &mut ModelMedium,
        block: u8,
        index: usize,
        pair: MetaPair,
    ) -> Result<OperationResult, EarlyEnd> {
        let content = PageContent::Complete(pair);
        let (first, second) = if self.has(Mutation::CopyBFirst) { (1, 0) } else { (0, 1) };
        let outcome = medium.program(block, 2 * index + first, content)?;
        if outcome == OperationResult::Failed && !self.has(Mutation::CopyBAfterFailure) {
            return Ok(OperationResult::Failed);
        }
        if self.has(Mutation::OneCopy) && outcome == OperationResult::Done {
            return Ok(outcome);
        }
        Ok(medium.program(block, 2 * index + second, content)?)
    }

    /// Erases a block and programs its first pair. A block that fails is marked bad.
    fn begin(
        &self,
        medium: &mut ModelMedium,
        block: u8,
        pair: MetaPair,
        erased: bool,
    ) -> Result<OperationResult, EarlyEnd> {
        let mut outcome = OperationResult::Done;
        if !erased {
            outcome = medium.erase(block)?;
        }
        if outcome == OperationResult::Done {
            outcome = self.program(medium, block, 0, pair)?;
        }
        if outcome == OperationResult::Failed {
            medium.mark(block)?;
        }
        Ok(outcome)
    }

    /// Formats the medium: one complete pair, all else blank.
    pub fn format(&self, medium: &mut ModelMedium) -> Result<ModelStore, EarlyEnd> {
        if self.rules == Rules::Confirm {
            return self.format_confirmed(medium);
        }
        let data = self.blocks as u8 - 1;
        let mut successors = self.successors(medium, 0, &[], &[]);
        successors.kept = successors.len;
        let pair = MetaPair {
            generation: 1,
            link: None,
            successors,
            version: 0,
            before: NONE,
            chunk: 0,
            data,
            base: NONE,
        };
        medium.program(data, 0, PageContent::Data(0))?;
        self.program(medium, 0, 0, pair)?;
        Ok(ModelStore { block: 0, pairs: 1, last: pair, before: NONE, top: 0 })
    }

    /// A call and a sync: programs data, then a pair in this block or the next one.
    pub fn sync(
        &self,
        medium: &mut ModelMedium,
        store: &mut ModelStore,
        version: u8,
    ) -> Result<(), EarlyEnd> {
        let zone = self.zone(medium);
        let data = loop {
            let early = self.has(Mutation::FreeDataEarly);
            let free = (0..self.blocks as u8).rev().find(|&block| {
                !zone.contains(&block) && !medium.bad(block) && (early || block != store.last.data)
            });
            let block = free.ok_or(EarlyEnd::Full)?;
            let mut outcome = medium.erase(block)?;
            if outcome == OperationResult::Done {
                outcome = medium.program(block, 0, PageContent::Data(version))?;
            }
            if outcome == OperationResult::Done {
                break block;
            }
            medium.mark(block)?;
        };
        let last = store.last;
        let mut pair =
            MetaPair { version, before: last.version, chunk: 1 - last.chunk, data, ..last };
        let mut failed = None;
        let mut next = store.pairs as usize;
        while next < self.pairs {
            if self.program(medium, store.block, next, pair)? == OperationResult::Done {
                store.before = store.block;
                store.last = pair;
                store.pairs = next as u8 + 1;
                return Ok(());
            }
            failed = Some(store.block);
            next += 1;
            if !self.has(Mutation::GoOnAfterFailure) {
                break;
            }
        }
        if let (Some(block), true) = (failed, self.has(Mutation::MarkEarly)) {
            medium.mark(block)?;
        }
        if self.rules == Rules::Confirm {
            return self.open_next(medium, store, pair, failed);
        }
        // Goes on in the next block. The cycle is counted from the last complete pair.
        let generation = last.generation + u8::from(!self.has(Mutation::SameGeneration));
        let link =
            BlockLink { block: store.block, generation: last.generation, count: store.pairs };
        let mut used = vec![store.block, store.before, last.data, data];
        if self.has(Mutation::FreeMetaEarly) {
            used.remove(1);
        }
        for &block in last.successors.all() {
            if medium.bad(block) {
                continue;
            }
            let old = last.successors;
            let successors = self.successors(medium, block, old.all(), &used);
            pair = MetaPair { generation, link: Some(link), successors, base: store.block, ..pair };
            if self.begin(medium, block, pair, false)? == OperationResult::Done {
                if let Some(failed) = failed.filter(|&failed| !medium.bad(failed)) {
                    medium.mark(failed)?;
                }
                *store = ModelStore { block, pairs: 1, last: pair, before: store.block, top: 0 };
                return Ok(());
            }
        }
        Err(EarlyEnd::Full)
    }

    /// Reads a pair, from copy A or copy B.
    pub fn pair(&self, medium: &mut ModelMedium, block: u8, index: usize) -> Option<MetaPair> {
        medium.read(block, 2 * index).or_else(|| medium.read(block, 2 * index + 1))
    }

    /// Reads the pair before pair `index` of `block`. Returns its block, its index and the pair.
    pub fn previous(
        &self,
        medium: &mut ModelMedium,
        block: u8,
        index: usize,
        pair: &MetaPair,
    ) -> Option<(u8, usize, MetaPair)> {
        let (at, index, generation) = match (index, pair.link) {
            (0, None) => return None,
            (0, Some(link)) => (link.block, link.count as usize - 1, link.generation),
            _ => (block, index - 1, pair.generation),
        };
        let older = self.pair(medium, at, index)?;
        (older.generation == generation).then_some((at, index, older))
    }

    /// Mounts the store: finds the newest block and its last pair, and writes that pair again to
    /// one of its successors.
    pub fn mount(&self, medium: &mut ModelMedium) -> Result<ModelStore, EarlyEnd> {
        if self.rules == Rules::Confirm {
            return self.mount_confirmed(medium);
        }
        let zone = self.zone(medium);
        let mut newest: Option<(u8, MetaPair)> = None;
        for &block in &zone {
            if let Some(pair) = self.pair(medium, block, 0)
                && newest.is_none_or(|(_, other)| pair.generation > other.generation)
            {
                newest = Some((block, pair));
            }
        }
        let (n, first) = newest.ok_or_else(|| EarlyEnd::Broken("no store".into()))?;
        let (mut k, mut pair) = (0, first);
        while k + 1 < self.pairs
            && let Some(next) = self.pair(medium, n, k + 1)
            && next.generation == first.generation
        {
            (k, pair) = (k + 1, next);
        }
        medium.log_line(|| format!("    newest block {n}, last pair {k}: v{}", pair.version));

        // The state is this pair and, for the other chunk, the one before it.
        let previous = self.previous(medium, n, k, &pair);
        if k > 0 || pair.link.is_some() {
            let stored = previous.map(|(_, _, previous)| (previous.version, previous.chunk));
            if stored != Some((pair.before, 1 - pair.chunk)) {
                return Err(EarlyEnd::Broken(format!(
                    "v{} needs v{} before it, found {stored:?}",
                    pair.version, pair.before
                )));
            }
        }

        // The pair that is certainly complete, and the one before it: their blocks are not free.
        let mut used = vec![n, pair.data];
        if let Some((block, index, previous)) = previous {
            used.extend([block, previous.data]);
            if !self.has(Mutation::FreeMetaEarly)
                && let Some((block, ..)) = self.previous(medium, block, index, &previous)
            {
                used.push(block);
            }
        }

        let alone = k == 0;
        let witness =
            matches!(self.rules, Rules::Witness | Rules::Steady) && medium.read(n, 1).is_some();
        let doubtful = alone && !witness;
        let steady = doubtful && self.rules == Rules::Steady;
        if self.rules == Rules::Steady {
            used.push(first.base);
        }
        let base = if doubtful { first.base } else { n };
        let old = first.successors;
        let link = if alone {
            first.link
        } else {
            let count = k as u8 + u8::from(self.has(Mutation::CountFlaky));
            Some(BlockLink { block: n, generation: first.generation, count })
        };
        if self.has(Mutation::Trust) {
            let before = previous.map_or(NONE, |(block, ..)| block);
            // A page after the last pair may be torn, so the block counts as full.
            let mut store = ModelStore { block: n, pairs: k as u8 + 1, last: pair, before, top: 0 };
            let blank = medium.blocks[n as usize].pages[2 * k + 2..2 * self.pairs]
                .iter()
                .all(|p| *p == PageContent::Blank);
            if !blank {
                store.pairs = self.pairs as u8;
            }
            return Ok(store);
        }

        let late = self.has(Mutation::EraseLater) || self.has(Mutation::EraseOne);
        // Kept blocks by age; those that read invalid come first.
        let mut kept: Vec<(u8, u8)> = Vec::new();
        for &block in old.kept() {
            if steady && !medium.bad(block) {
                let pair = self.pair(medium, block, 0);
                // A younger block read as invalid before, so it is torn.
                let pair = pair.filter(|pair| pair.generation < first.generation);
                let age = pair.map_or(0, |pair| u8::MAX - pair.generation);
                kept.push((age, block));
            }
        }
        kept.sort_by_key(|kept| kept.0);
        let stays = |block: u8| kept.iter().any(|kept| kept.0 > 0 && kept.1 == block);
        if !late {
            for &block in old.all() {
                if stays(block) {
                    continue;
                }
                if !medium.bad(block) && medium.erase(block)? == OperationResult::Failed {
                    medium.mark(block)?;
                }
            }
        }
        let mut candidates = if doubtful { old.kept() } else { old.all() }.to_vec();
        // Any of them is allowed. The first and the last are both tried.
        if !doubtful && medium.either() {
            candidates.reverse();
        }
        if self.has(Mutation::TakeNew) && doubtful {
            candidates = old.all().iter().rev().copied().collect();
        }
        if steady && !self.has(Mutation::TakeNew) {
            candidates = kept.iter().map(|kept| kept.1).collect();
        }
        let generation = first.generation + u8::from(!self.has(Mutation::SameGeneration));
        for m in candidates {
            if medium.bad(m) {
                continue;
            }
            let mut successors = self.successors(medium, m, old.all(), &used);
            if doubtful {
                successors = self.doubtful(medium, successors, n, m, &old);
            }
            let again = MetaPair { generation, link, successors, base, ..pair };
            let erased = !late && !stays(m);
            if self.begin(medium, m, again, erased)? == OperationResult::Done {
                if self.has(Mutation::EraseLater) {
                    for &block in old.all() {
                        if block != m
                            && !medium.bad(block)
                            && medium.erase(block)? == OperationResult::Failed
                        {
                            medium.mark(block)?;
                        }
                    }
                }
                let before = if alone { link.map_or(NONE, |link| link.block) } else { n };
                return Ok(ModelStore { block: m, pairs: 1, last: again, before, top: 0 });
            }
        }
        Err(EarlyEnd::Full)
    }

    /// Returns the successors of `m` if `n`, the block it is written from, may be flaky.
    fn doubtful(
        &self,
        medium: &ModelMedium,
        mut successors: Successors,
        n: u8,
        m: u8,
        old: &Successors,
    ) -> Successors {
        let still = old.kept().iter().filter(|&&block| block != m && !medium.bad(block));
        match self.rules {
            Rules::Written | Rules::Confirm => successors,
            Rules::Nested => {
                successors.kept = still.count() as u8;
                successors
            }
            Rules::Witness | Rules::Steady => {
                let mut list: Vec<u8> = still.copied().collect();
                list.push(n);
                let kept = list.len();
                let rest = if self.rules == Rules::Steady { old } else { &successors };
                for &block in rest.all().iter().filter(|&&block| block != m && !medium.bad(block)) {
                    if list.len() < SUCCESSORS && !list.contains(&block) {
                        list.push(block);
                    }
                }
                Successors::new(&list, kept)
            }
        }
    }
}
