//! The protocol with a confirmation: a block counts once its second pair is valid, too.

use crate::medium::{
    BlockLink, MetaPair, ModelMedium, NONE, OperationResult, PageContent, Successors,
};
use crate::store::{EarlyEnd, ModelStore, Mutation, Protocol};

/// The first pair of a zone block, as a mount reads it.
#[derive(Clone, Copy)]
enum FirstPair {
    Valid(MetaPair),
    /// Blank in both copies.
    Blank,
    /// Neither valid nor blank.
    Suspicious,
}

impl Protocol {
    fn first_pair(&self, medium: &mut ModelMedium, block: u8) -> FirstPair {
        let a = medium.read_or_blank(block, 0);
        if let Ok(pair) = a {
            return FirstPair::Valid(pair);
        }
        match (a, medium.read_or_blank(block, 1)) {
            (_, Ok(pair)) => FirstPair::Valid(pair),
            (Err(true), Err(true)) => FirstPair::Blank,
            _ => FirstPair::Suspicious,
        }
    }

    /// Opens a block: programs `pair`, then the confirmation.
    fn open(
        &self,
        medium: &mut ModelMedium,
        block: u8,
        pair: MetaPair,
    ) -> Result<Option<ModelStore>, EarlyEnd> {
        let confirmation = MetaPair { before: pair.version, chunk: 1 - pair.chunk, ..pair };
        let mut done = medium.erase(block)? == OperationResult::Done
            && self.program(medium, block, 0, pair)? == OperationResult::Done;
        let confirmed = !self.has(Mutation::NoConfirmation);
        if done && confirmed {
            done = self.program(medium, block, 1, confirmation)? == OperationResult::Done;
        }
        if !done {
            medium.mark(block)?;
            return Ok(None);
        }
        let (pairs, last) = if confirmed { (2, confirmation) } else { (1, pair) };
        Ok(Some(ModelStore { block, pairs, last, before: block, top: pair.generation }))
    }

    /// Returns the zone blocks that are not in `used`, beginning after `after`.
    fn free(&self, medium: &ModelMedium, after: u8, used: &[u8]) -> Vec<u8> {
        let zone = self.zone(medium);
        let start = zone.iter().position(|&at| at > after).unwrap_or(0);
        let round = (0..zone.len()).map(|step| zone[(start + step) % zone.len()]);
        round.filter(|block| !used.contains(block)).collect()
    }

    pub fn format_confirmed(&self, medium: &mut ModelMedium) -> Result<ModelStore, EarlyEnd> {
        let data = self.blocks as u8 - 1;
        let successors = Successors::new(&[], 0);
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
        self.open(medium, 0, pair)?.ok_or(EarlyEnd::Full)
    }

    /// Opens the next block with `pair`. `failed` is the block whose pair could not be programmed.
    pub fn open_next(
        &self,
        medium: &mut ModelMedium,
        store: &mut ModelStore,
        pair: MetaPair,
        failed: Option<u8>,
    ) -> Result<(), EarlyEnd> {
        let generation = store.top + u8::from(!self.has(Mutation::SameGeneration));
        let link =
            BlockLink { block: store.block, generation: store.last.generation, count: store.pairs };
        let pair = MetaPair { generation, link: Some(link), base: store.block, ..pair };
        let mut used = vec![store.block, store.before, store.last.data, pair.data];
        if store.pairs == 2 {
            // No pair after the confirmation is complete, so the base of the mount stays.
            used.push(store.last.base);
        }
        let mut free = self.free(medium, store.block, &used);
        if medium.either() {
            free.reverse();
        }
        for block in free {
            if let Some(next) = self.open(medium, block, pair)? {
                if let Some(failed) = failed.filter(|&failed| !medium.bad(failed)) {
                    medium.mark(failed)?;
                }
                *store = next;
                return Ok(());
            }
        }
        Err(EarlyEnd::Full)
    }

    pub fn mount_confirmed(&self, medium: &mut ModelMedium) -> Result<ModelStore, EarlyEnd> {
        let zone = self.zone(medium);
        let mut first_pairs: Vec<(u8, FirstPair)> = Vec::new();
        for &block in &zone {
            let first_pair = self.first_pair(medium, block);
            first_pairs.push((block, first_pair));
        }
        let mut shown: Vec<(u8, u8)> = Vec::new();
        for &(block, first_pair) in &first_pairs {
            if let FirstPair::Valid(pair) = first_pair {
                shown.push((pair.generation, block));
            }
        }
        shown.sort_by(|a, b| b.cmp(a));
        let top = shown.first().map_or(0, |shown| shown.0);
        let mut newest = None;
        for &(generation, block) in &shown {
            if let Some(pair) = self.pair(medium, block, 1)
                && pair.generation == generation
            {
                newest = Some((block, pair));
                break;
            }
        }
        let (r, mut pair) = newest.ok_or_else(|| EarlyEnd::Broken("no store".into()))?;
        let generation = pair.generation;
        let mut k = 1;
        while k + 1 < self.pairs
            && let Some(next) = self.pair(medium, r, k + 1)
            && next.generation == generation
        {
            (k, pair) = (k + 1, next);
        }
        medium.log_line(|| format!("    R is block {r}, last pair {k}: v{}", pair.version));
        let previous = self.previous(medium, r, k, &pair);
        let before = previous.map(|(_, _, previous)| (previous.version, previous.chunk));
        if before != Some((pair.before, 1 - pair.chunk)) {
            return Err(EarlyEnd::Broken(format!(
                "v{} needs v{}, found {before:?}",
                pair.version, pair.before
            )));
        }
        // The cycle is counted from the pair before, which is complete.
        let mut used = vec![r, pair.data];
        if let Some((block, index, previous)) = previous {
            used.extend([block, previous.data]);
            if !self.has(Mutation::FreeMetaEarly)
                && let Some((block, ..)) = self.previous(medium, block, index, &previous)
            {
                used.push(block);
            }
        }
        // A confirmation that is valid in copy A alone may be torn, so its base must stay, too.
        // Copy B is programmed after copy A is complete: if B is valid, the block counts for ever.
        let mut doubtful = (r, pair.link, k == 1);
        while let (block, Some(link), true) = doubtful
            && self.keep_base
            && medium.read(block, 3).is_none()
        {
            used.push(link.block);
            let index = link.count as usize - 1;
            let Some(last) = self.pair(medium, link.block, index) else { break };
            if let Some((block, ..)) = self.previous(medium, link.block, index, &last) {
                used.push(block);
            }
            doubtful = (link.block, last.link, index == 0);
        }
        let count = k as u8 + u8::from(self.has(Mutation::CountFlaky));
        let link = Some(BlockLink { block: r, generation, count });
        let top = if self.has(Mutation::OverCountingOnly) { generation } else { top };
        let again = MetaPair {
            generation: top + u8::from(!self.has(Mutation::SameGeneration)),
            link,
            base: r,
            ..pair
        };
        let mut free = self.free(medium, r, &used);
        if medium.either() {
            free.reverse();
        }
        let higher = |block: u8| {
            let age = shown.iter().find(|shown| shown.1 == block).map_or(0, |shown| shown.0);
            if age > generation && !self.has(Mutation::TakeHigher) { age } else { 0 }
        };
        free.sort_by_key(|&block| higher(block));
        let mut store = None;
        for &m in &free {
            store = self.open(medium, m, again)?;
            if store.is_some() {
                break;
            }
        }
        let store = store.ok_or(EarlyEnd::Full)?;
        if !self.has(Mutation::KeepSuspicious) {
            for &(block, first_pair) in &first_pairs {
                let suspicious = matches!(first_pair, FirstPair::Suspicious);
                let free = free.contains(&block) && block != store.block && !medium.bad(block);
                if suspicious && free && medium.erase(block)? == OperationResult::Failed {
                    medium.mark(block)?;
                }
            }
        }
        Ok(store)
    }
}
