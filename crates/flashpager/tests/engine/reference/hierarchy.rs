//! Instruction cache and TLB.

use super::*;

/// A need of bytes from the frame of a page.
pub struct Need {
    pub page: Page,
    /// The first byte to be executed.
    pub offset: u32,
    /// Bytes executed and words fetched before it.
    pub bytes: u64,
    pub words: u64,
}

/// Tags in sets, replaced round robin.
pub struct Sets {
    pub ways: Vec<Vec<Option<u32>>>,
    pub next_way: Vec<usize>,
}

impl Sets {
    pub fn new(sets: u32, ways: u32) -> Self {
        let ways = vec![vec![None; ways as usize]; sets as usize];
        Self { next_way: vec![0; ways.len()], ways }
    }

    pub fn knows(&self, tag: u32) -> bool {
        self.ways[tag as usize % self.ways.len()].contains(&Some(tag))
    }

    pub fn take(&mut self, tag: u32) {
        let set = tag as usize % self.ways.len();
        let way = self.next_way[set];
        self.ways[set][way] = Some(tag);
        self.next_way[set] = (way + 1) % self.ways[set].len();
    }

    /// Empties the ways of all tags that are not in `tags`.
    pub fn keep_only(&mut self, tags: &[u32]) {
        for way in self.ways.iter_mut().flatten() {
            *way = way.filter(|tag| tags.contains(tag));
        }
    }
}

/// The needs without an instruction cache, where every byte comes from a frame. The first of
/// `granule` bytes stands for those executed right after it.
pub fn bytes_needed(runs: &[Run], cache_page: u32, granule: u32) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    let (mut bytes, mut previous) = (0, None);
    for run in runs {
        for byte in run.offset..=run.offset + (run.length - 1) {
            if previous != Some(byte / granule) {
                needs.push(Need { page: byte / cache_page, offset: byte, bytes, words: 0 });
            }
            previous = Some(byte / granule);
            bytes += 1;
        }
    }
    needs
}

/// The needs behind an instruction cache: the lines that are refilled.
pub fn lines_needed(runs: &[Run], cache_page: u32, icache: &ICacheShape) -> Vec<Need> {
    let ICacheShape { cache_bytes, line_bytes, ways } = *icache;
    let mut cached = Sets::new(cache_bytes / line_bytes / ways, ways);
    let mut needs: Vec<Need> = Vec::new();
    let (mut bytes, mut words) = (0, 0);
    for run in runs {
        let (first, last) = (run.offset / 4, (run.offset + (run.length - 1)) / 4);
        for word in first..=last {
            let line = word * 4 / line_bytes;
            if !cached.knows(line) {
                cached.take(line);
                let offset = std::cmp::max(run.offset, word * 4);
                let bytes = bytes + u64::from(offset - run.offset);
                needs.push(Need { page: offset / cache_page, offset, bytes, words });
            }
            words += 1;
        }
        bytes += u64::from(run.length);
    }
    needs
}
