//! The protocol with a confirmation: a block counts when its second pair is valid, too.

use crate::medium::{Link, Medium, NONE, Outcome, Page, Pair, Successors};
use crate::store::{Mutation, Protocol, Stop, Store};

/// What mount saw in the first pair of a zone block.
#[derive(Clone, Copy)]
enum Look {
    Shows(Pair),
    /// Blank in both copies.
    Blank,
    /// Neither valid nor blank.
    Suspicious,
}

impl Protocol {
    fn look(&self, medium: &mut Medium, block: u8) -> Look {
        let a = medium.look(block, 0);
        if let Ok(pair) = a {
            return Look::Shows(pair);
        }
        match (a, medium.look(block, 1)) {
            (_, Ok(pair)) => Look::Shows(pair),
            (Err(true), Err(true)) => Look::Blank,
            _ => Look::Suspicious,
        }
    }

    /// Opens a block: the pair that is due, then the confirmation.
    fn open(&self, medium: &mut Medium, block: u8, pair: Pair) -> Result<Option<Store>, Stop> {
        let confirmation = Pair { before: pair.version, chunk: 1 - pair.chunk, ..pair };
        let mut done = medium.erase(block)? == Outcome::Done
            && self.program(medium, block, 0, pair)? == Outcome::Done;
        let confirmed = !self.is(Mutation::NoConfirmation);
        if done && confirmed {
            done = self.program(medium, block, 1, confirmation)? == Outcome::Done;
        }
        if !done {
            medium.mark(block)?;
            return Ok(None);
        }
        let (pairs, last) = if confirmed { (2, confirmation) } else { (1, pair) };
        Ok(Some(Store { block, pairs, last, before: block, top: pair.generation }))
    }

    /// Zone blocks that are not among `used`, from `after` on.
    fn free(&self, medium: &Medium, after: u8, used: &[u8]) -> Vec<u8> {
        let zone = self.zone(medium);
        let start = zone.iter().position(|&at| at > after).unwrap_or(0);
        let round = (0..zone.len()).map(|step| zone[(start + step) % zone.len()]);
        round.filter(|block| !used.contains(block)).collect()
    }

    pub fn format_confirmed(&self, medium: &mut Medium) -> Result<Store, Stop> {
        let data = self.blocks as u8 - 1;
        let successors = Successors::new(&[], 0);
        let pair = Pair {
            generation: 1,
            link: None,
            successors,
            version: 0,
            before: NONE,
            chunk: 0,
            data,
            base: NONE,
        };
        medium.program(data, 0, Page::Data(0))?;
        self.open(medium, 0, pair)?.ok_or(Stop::Full)
    }

    /// The next block, with a pair that is due. `failed` is a block whose pair could not be programmed.
    pub fn open_next(
        &self,
        medium: &mut Medium,
        store: &mut Store,
        pair: Pair,
        failed: Option<u8>,
    ) -> Result<(), Stop> {
        let generation = store.top + u8::from(!self.is(Mutation::SameGeneration));
        let link =
            Link { block: store.block, generation: store.last.generation, count: store.pairs };
        let pair = Pair { generation, link: Some(link), base: store.block, ..pair };
        let mut used = vec![store.block, store.before, store.last.data, pair.data];
        if store.pairs == 2 {
            // No pair after the confirmation is complete: what mount came from stays.
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
        Err(Stop::Full)
    }

    pub fn mount_confirmed(&self, medium: &mut Medium) -> Result<Store, Stop> {
        let zone = self.zone(medium);
        let mut looks: Vec<(u8, Look)> = Vec::new();
        for &block in &zone {
            let look = self.look(medium, block);
            looks.push((block, look));
        }
        let mut shown: Vec<(u8, u8)> = Vec::new();
        for &(block, look) in &looks {
            if let Look::Shows(pair) = look {
                shown.push((pair.generation, block));
            }
        }
        shown.sort_by(|a, b| b.cmp(a));
        let top = shown.first().map_or(0, |shown| shown.0);
        let mut found = None;
        for &(generation, block) in &shown {
            if let Some(pair) = self.pair(medium, block, 1)
                && pair.generation == generation
            {
                found = Some((block, pair));
                break;
            }
        }
        let (r, mut pair) = found.ok_or_else(|| Stop::Broken("no store".into()))?;
        let generation = pair.generation;
        let mut k = 1;
        while k + 1 < self.pairs
            && let Some(next) = self.pair(medium, r, k + 1)
            && next.generation == generation
        {
            (k, pair) = (k + 1, next);
        }
        medium.say(|| format!("    R is block {r}, last pair {k}: v{}", pair.version));
        let previous = self.previous(medium, r, k, &pair);
        let said = previous.map(|(_, _, previous)| (previous.version, previous.chunk));
        if said != Some((pair.before, 1 - pair.chunk)) {
            return Err(Stop::Broken(format!(
                "v{} needs v{}, found {said:?}",
                pair.version, pair.before
            )));
        }
        // The cycle is counted from the pair before, which is complete.
        let mut used = vec![r, pair.data];
        if let Some((block, index, previous)) = previous {
            used.extend([block, previous.data]);
            if !self.is(Mutation::FreeMetaEarly)
                && let Some((block, ..)) = self.previous(medium, block, index, &previous)
            {
                used.push(block);
            }
        }
        // A confirmation valid in copy A alone may be torn: what it came from must stay, too. Copy B
        // is programmed after copy A is complete, so where B is valid the block counts for ever.
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
        let count = k as u8 + u8::from(self.is(Mutation::CountFlaky));
        let link = Some(Link { block: r, generation, count });
        let top = if self.is(Mutation::OverCountingOnly) { generation } else { top };
        let again = Pair {
            generation: top + u8::from(!self.is(Mutation::SameGeneration)),
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
            if age > generation && !self.is(Mutation::TakeHigher) { age } else { 0 }
        };
        free.sort_by_key(|&block| higher(block));
        let mut store = None;
        for &m in &free {
            store = self.open(medium, m, again)?;
            if store.is_some() {
                break;
            }
        }
        let store = store.ok_or(Stop::Full)?;
        if !self.is(Mutation::KeepSuspicious) {
            for &(block, look) in &looks {
                let suspicious = matches!(look, Look::Suspicious);
                let free = free.contains(&block) && block != store.block && !medium.bad(block);
                if suspicious && free && medium.erase(block)? == Outcome::Failed {
                    medium.mark(block)?;
                }
            }
        }
        Ok(store)
    }
}
