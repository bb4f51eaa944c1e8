//! The benchmark program of MTDCOMPR ("Performance measurement technique").
//!
//! The program allocates memory chunk by chunk and fills each chunk with data. After each chunk it
//! reads some of its memory and measures how fast. The simulated machine and the live process take
//! the same steps, and the same settings always give the same steps.

use flashpager_base::{Error, Result, named};
use serde::{Deserialize, Serialize};

/// The memory that the program reads after each chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessPattern {
    /// A random page of all so far, each time another one.
    Random,
    /// One chunk, chosen at random, several times.
    Fixed,
    /// The last chunk, several times.
    Last,
}

named! {
    AccessPattern: "unknown way to read",
    "random" => Random,
    "fixed" => Fixed,
    "last" => Last,
}

/// The benchmark program's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// The memory that it reads after each chunk.
    pub reading: AccessPattern,
    /// Bytes of a page of memory.
    pub page_bytes: u32,
    /// Bytes of a chunk, a multiple of the page.
    pub chunk_bytes: u64,
    /// Number of times that `fixed` and `last` read their chunk.
    pub reads: u32,
    /// Pages that `random` reads after each chunk.
    pub random_pages: u32,
    /// Bytes after which the program ends, rounded down to whole chunks.
    pub most_bytes: u64,
    /// Seed of everything random.
    pub seed: u64,
}

/// A step of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadStep {
    /// The program writes all of `page`, for the first time. Pages are numbered from 0 in the order
    /// in which they are filled.
    Fill {
        /// Number of the page.
        page: u32,
        /// Number of the page's content ([`Contents`]).
        content: u64,
    },
    /// The chunk is full. The reads that follow are measured.
    Begin,
    /// The program reads all of `page`.
    Read {
        /// Number of the page.
        page: u32,
    },
    /// The measurement ends.
    End {
        /// Bytes allocated so far.
        allocated_bytes: u64,
    },
}

impl Workload {
    /// Checks the sizes.
    ///
    /// # Errors
    /// If chunks are not whole pages, there are too many pages, or nothing would be read.
    pub fn check(&self) -> Result<()> {
        let page = u64::from(self.page_bytes);
        if page == 0 || self.chunk_bytes == 0 || !self.chunk_bytes.is_multiple_of(page) {
            return Err(Error::design(format!(
                "a chunk of {} bytes is not whole pages of {page}; take a multiple",
                self.chunk_bytes
            )));
        }
        if self.most_bytes / page > u64::from(u32::MAX) {
            return Err(Error::design(format!(
                "{} bytes are more than 2^32 pages of {page}; allocate less",
                self.most_bytes
            )));
        }
        let (field, reads) = match self.reading {
            AccessPattern::Random => ("random_pages", self.random_pages),
            AccessPattern::Fixed | AccessPattern::Last => ("reads", self.reads),
        };
        if reads == 0 {
            return Err(Error::design(format!("{field} = 0: there is nothing to measure")));
        }
        Ok(())
    }

    /// Chunks that the program allocates, unless memory runs out before.
    pub fn chunks(&self) -> u64 {
        self.most_bytes / self.chunk_bytes.max(1)
    }

    /// Pages that the program allocates, unless memory runs out before.
    pub fn pages(&self) -> u32 {
        (self.chunks() * u64::from(self.chunk_pages())).min(u32::MAX.into()) as u32
    }

    fn chunk_pages(&self) -> u32 {
        (self.chunk_bytes / u64::from(self.page_bytes.max(1))) as u32
    }

    /// Returns the program's steps, from the first chunk to the last. The workload must pass
    /// [`Workload::check`].
    pub fn steps(&self) -> WorkloadSteps<'_> {
        WorkloadSteps {
            workload: self,
            random: SplitMix::new(self.seed),
            chunk: 0,
            progress: ChunkProgress::Fill(0),
        }
    }
}

enum ChunkProgress {
    /// Filling the chunk: pages filled so far.
    Fill(u32),
    /// Reading: pages read so far, and the first page of the chunk that is read.
    Read(u64, u32),
}

/// The steps of a program ([`Workload::steps`]).
pub struct WorkloadSteps<'a> {
    workload: &'a Workload,
    random: SplitMix,
    chunk: u64,
    progress: ChunkProgress,
}

impl Iterator for WorkloadSteps<'_> {
    type Item = WorkloadStep;

    fn next(&mut self) -> Option<WorkloadStep> {
        let pages = self.workload.chunk_pages();
        let first = self.chunk as u32 * pages;
        match self.progress {
            ChunkProgress::Fill(0) if self.chunk == self.workload.chunks() => None,
            ChunkProgress::Fill(done) if done < pages => {
                self.progress = ChunkProgress::Fill(done + 1);
                let page = first + done;
                Some(WorkloadStep::Fill { page, content: page.into() })
            }
            ChunkProgress::Fill(_) => {
                let base = match self.workload.reading {
                    AccessPattern::Random | AccessPattern::Last => first,
                    AccessPattern::Fixed => self.random.below(self.chunk + 1) as u32 * pages,
                };
                self.progress = ChunkProgress::Read(0, base);
                Some(WorkloadStep::Begin)
            }
            ChunkProgress::Read(done, base) => {
                let (wanted, page) = match self.workload.reading {
                    AccessPattern::Random => (u64::from(self.workload.random_pages), None),
                    AccessPattern::Fixed | AccessPattern::Last => {
                        let wanted = u64::from(self.workload.reads) * u64::from(pages);
                        (wanted, Some(base + (done % u64::from(pages)) as u32))
                    }
                };
                if done == wanted {
                    self.chunk += 1;
                    self.progress = ChunkProgress::Fill(0);
                    return Some(WorkloadStep::End {
                        allocated_bytes: self.chunk * self.workload.chunk_bytes,
                    });
                }
                self.progress = ChunkProgress::Read(done + 1, base);
                let so_far = u64::from(first + pages);
                Some(WorkloadStep::Read {
                    page: page.unwrap_or_else(|| self.random.below(so_far) as u32),
                })
            }
        }
    }
}

/// A source of page contents: captured or generated pages.
pub trait Contents: Sync {
    /// Fills `page` with content number `content`. The same number and page size always give the
    /// same bytes.
    fn fill(&self, content: u64, page: &mut [u8]);
}

/// Generated pages that compress to about `percent` of their size, as `synthetic(25%)`. In lines of
/// 64 bytes, that share is random and the others repeat the line before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// Share of random lines, in percent: 0 to 100.
    pub percent: u32,
    /// Seed of the lines.
    pub seed: u64,
}

const LINE_BYTES: usize = 64;

impl Contents for Synthetic {
    fn fill(&self, content: u64, page: &mut [u8]) {
        let mut random = SplitMix::new(self.seed ^ content.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut line = [0; LINE_BYTES];
        for out in page.chunks_mut(LINE_BYTES) {
            if random.below(100) < u64::from(self.percent) {
                for word in line.chunks_exact_mut(8) {
                    word.copy_from_slice(&random.next().to_le_bytes());
                }
            }
            out.copy_from_slice(&line[..out.len()]);
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): small, and the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(reading: AccessPattern) -> Workload {
        Workload {
            reading,
            page_bytes: 4096,
            chunk_bytes: 8192,
            reads: 2,
            random_pages: 3,
            most_bytes: 3 * 8192 + 4096,
            seed: 7,
        }
    }

    #[test]
    fn last_reads_what_was_just_filled() {
        let steps: Vec<WorkloadStep> = workload(AccessPattern::Last).steps().collect();
        let fill = |page| WorkloadStep::Fill { page, content: page.into() };
        let read = |page| WorkloadStep::Read { page };
        let end = |allocated_bytes| WorkloadStep::End { allocated_bytes };
        let chunk = |first: u32, allocated| {
            let pages = [read(first), read(first + 1)];
            let mut all = vec![fill(first), fill(first + 1), WorkloadStep::Begin];
            all.extend(pages.iter().chain(&pages));
            all.push(end(allocated));
            all
        };
        assert_eq!(steps, [chunk(0, 8192), chunk(2, 16384), chunk(4, 24576)].concat());
    }

    #[test]
    fn random_and_fixed_stay_within_what_is_filled() {
        for reading in [AccessPattern::Random, AccessPattern::Fixed] {
            let wanted = Workload { most_bytes: 100 * 8192, ..workload(reading) };
            let (mut filled, mut reads, mut seen) =
                (0, Vec::new(), std::collections::BTreeSet::new());
            for step in wanted.steps() {
                match step {
                    WorkloadStep::Fill { page, .. } => filled = page + 1,
                    WorkloadStep::Begin => reads.clear(),
                    WorkloadStep::Read { page } => {
                        assert!(page < filled);
                        seen.insert(page);
                        reads.push(page);
                    }
                    WorkloadStep::End { .. } if reading == AccessPattern::Fixed => {
                        assert_eq!(reads.len(), 4);
                        assert_eq!((reads[0] + 1, reads[0] % 2), (reads[1], 0));
                        assert_eq!(reads[..2], reads[2..]);
                    }
                    WorkloadStep::End { .. } => assert_eq!(reads.len(), 3),
                }
            }
            assert!(seen.len() > 50, "{reading:?} reads all over: {}", seen.len());
            let again = Workload { seed: 8, ..wanted.clone() };
            assert!(wanted.steps().eq(wanted.steps()) && !wanted.steps().eq(again.steps()));
        }
    }

    #[test]
    fn made_pages_have_their_share_of_random_lines() {
        for percent in [0, 25, 100] {
            let source = Synthetic { percent, seed: 1 };
            let (mut lines, mut page) = (0, [0; 4096]);
            for content in 0..200 {
                source.fill(content, &mut page);
                let mut before = &[0; LINE_BYTES][..];
                for line in page.chunks(LINE_BYTES) {
                    lines += u32::from(line != before);
                    before = line;
                }
            }
            let share = f64::from(lines) / (200.0 * 64.0) * 100.0;
            assert!((share - f64::from(percent)).abs() < 1.5, "{share} of {percent}");
        }
    }
}
