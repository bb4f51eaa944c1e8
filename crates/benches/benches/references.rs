//! The time and the misses of one policy over a file of page references.
//!
//! ```text
//! cargo bench --bench references -- FILE single POLICY FRAMES
//! cargo bench --bench references -- FILE sizes POLICY FRAMES,FRAMES,…
//! cargo bench --bench references -- FILE sizes POLICY FIRST-LAST
//! cargo bench --bench references -- FILE spans POLICY FRAMES,FRAMES,… WAYS
//! ```
//!
//! FILE holds little-endian 32-bit page numbers, consecutive ones different, as benches/sweep.py writes
//! it. With `spans`, for caches in sets, it holds the first and the last page of each run, as
//! benches/xip.py writes it.
//!
//! The program prints one line of JSON. `seconds` is the time from the references in memory to the
//! misses: it includes making the caches, and for MIN finding the next uses, which takes
//! `next_use_seconds` of it. It does not include reading the file. For spans it is a list with the time
//! of each piece, which fits into the first-level cache.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use flashpager::error::Result;
use flashpager::pager::{
    AllSizes, Moment, NEVER, Page, PageSpan, Policy, PolicyParameter, PolicySpec, PolicyVisitor,
    ReferenceBlock, ReferenceOutcome, Shape, SizesVisitor,
};
use serde_json::json;

const USAGE: &str = "references FILE single|sizes|spans POLICY FRAMES[,FRAMES…|-LAST] [WAYS]";

/// References that a policy receives together, as in a replay.
const BLOCK: usize = 1 << 13;
/// Spans that a policy receives together.
const BLOCK_SPANS: usize = 1 << 11;

/// The result of one measurement.
struct Measured {
    /// Misses for each size.
    misses: Vec<u64>,
    /// Time of finding the next uses, a part of the whole time.
    next_use_seconds: f64,
}

struct References<'a> {
    pages: &'a [Page],
    /// Sizes in frames; `None` for a single size.
    frames: &'a [u32],
    /// Ways of a set; `None` for a fully associative cache.
    ways: Option<u32>,
}

impl References<'_> {
    /// A number larger than that of every page.
    fn page_bound(&self) -> u32 {
        self.pages.iter().max().map_or(1, |page| page + 1)
    }

    /// For each reference the index of the next one to the same page; empty if the policy does not need
    /// it.
    fn next_uses<P: Policy>(&self) -> (Vec<Moment>, f64) {
        if !P::NEEDS_NEXT_USE {
            return (Vec::new(), 0.0);
        }
        let start = Instant::now();
        let mut next_use_of = vec![NEVER; self.page_bound() as usize];
        let mut next_uses = vec![NEVER; self.pages.len()];
        for (time, &page) in self.pages.iter().enumerate().rev() {
            let next_use = &mut next_use_of[page as usize];
            next_uses[time] = std::mem::replace(next_use, time as Moment);
        }
        (next_uses, start.elapsed().as_secs_f64())
    }
}

impl PolicyVisitor for References<'_> {
    type Output = Measured;

    fn visit<P: Policy>(self, mut policy: P) -> Measured {
        let mut misses = 0;
        let (next_uses, next_use_seconds) = self.next_uses::<P>();
        let mut take = |page, next_use| {
            misses += u64::from(matches!(
                policy.reference(page, next_use),
                ReferenceOutcome::Miss { .. }
            ));
        };
        if P::NEEDS_NEXT_USE {
            self.pages.iter().zip(&next_uses).for_each(|(&page, &next)| take(page, next));
        } else {
            self.pages.iter().for_each(|&page| take(page, NEVER));
        }
        Measured { misses: vec![misses], next_use_seconds }
    }
}

impl SizesVisitor for References<'_> {
    type Output = Measured;

    fn visit<P: Policy>(self, parameters: &[PolicyParameter]) -> Result<Measured> {
        let mut caches = P::AllSizes::new(self.frames, self.ways, self.page_bound(), parameters)?;
        // With inclusion the sizes that miss are the first ones: their number is counted, and the sums
        // come afterwards.
        let mut misses = vec![0; self.frames.len() + 1];
        let (next_uses, next_use_seconds) = self.next_uses::<P>();
        for (block, pages) in self.pages.chunks(BLOCK).enumerate() {
            let next_uses = next_uses.chunks(BLOCK).nth(block).unwrap_or_default();
            let block = ReferenceBlock { pages, next_uses, spans: &[] };
            caches.references(block, |_, sizes, outcome| {
                count::<P>(&mut misses, sizes, outcome);
            });
        }
        Ok(Measured { misses: summed::<P>(misses), next_use_seconds })
    }
}

/// Counts a miss at some of the sizes.
#[inline]
fn count<P: Policy>(misses: &mut [u64], sizes: Range<usize>, outcome: ReferenceOutcome) {
    if !matches!(outcome, ReferenceOutcome::Miss { .. }) {
        return;
    }
    if P::AllSizes::INCLUSION {
        misses[sizes.end] += 1;
    } else {
        misses[sizes].iter_mut().for_each(|count| *count += 1);
    }
}

/// Misses for each size.
fn summed<P: Policy>(mut misses: Vec<u64>) -> Vec<u64> {
    if P::AllSizes::INCLUSION {
        for end in (1..misses.len()).rev() {
            misses[end - 1] += misses[end];
        }
        misses.remove(0);
    } else {
        misses.pop();
    }
    misses
}

/// Replays spans through caches in sets.
struct Spans<'a> {
    spans: &'a [PageSpan],
    frames: &'a [u32],
    ways: Option<u32>,
}

impl SizesVisitor for Spans<'_> {
    type Output = (Vec<u64>, Vec<f64>);

    fn visit<P: Policy>(self, parameters: &[PolicyParameter]) -> Result<Self::Output> {
        assert!(P::AllSizes::TAKES_SPANS, "lru, fifo, random and plru take spans");
        let pages = self.spans.iter().map(|span| span.last + 1).max().unwrap_or(1);
        let mut caches = P::AllSizes::new(self.frames, self.ways, pages, parameters)?;
        let (mut misses, mut seconds) = (vec![0; self.frames.len() + 1], Vec::new());
        let mut piece = Vec::with_capacity(BLOCK_SPANS);
        for spans in self.spans.chunks(BLOCK_SPANS) {
            piece.clear();
            piece.extend_from_slice(spans);
            let start = Instant::now();
            let block = ReferenceBlock { pages: &[], next_uses: &[], spans: &piece };
            caches.references(block, |_, sizes, outcome| {
                count::<P>(&mut misses, sizes, outcome);
            });
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok((summed::<P>(misses), seconds))
    }
}

fn read_pages(path: &Path) -> Vec<Page> {
    let bytes = std::fs::read(path).expect("the file of references reads");
    bytes.chunks_exact(4).map(|bytes| Page::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn parse_sizes(text: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().expect("sizes are whole numbers of frames");
    match text.split_once('-') {
        Some((first, last)) => (number(first)..=number(last)).collect(),
        None => text.split(',').map(number).collect(),
    }
}

fn main() {
    // cargo bench adds an argument of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let ([file, what, policy, sizes] | [file, what, policy, sizes, _]) = arguments.as_slice()
    else {
        println!("usage: {USAGE}\nbenches/sweep.py and benches/xip.py call this");
        return;
    };
    let ways = arguments.get(4).map(|text| text.parse().expect("a number of ways"));
    let pages = read_pages(Path::new(file));
    let frames = parse_sizes(sizes);
    let policy: PolicySpec = policy.parse().expect("a known policy");
    if what == "spans" {
        let spans: Vec<PageSpan> =
            pages.chunks_exact(2).map(|both| PageSpan { first: both[0], last: both[1] }).collect();
        let spans = Spans { spans: &spans, frames: &frames, ways };
        let (misses, seconds) = policy.visit_sizes(true, spans).expect("a design that can be");
        println!("{}", json!({ "seconds": seconds, "misses": misses }));
        return;
    }
    let references = References { pages: &pages, frames: &frames, ways };
    let page_bound = references.page_bound();

    let start = Instant::now();
    let measured = match what.as_str() {
        "single" => policy.visit(Shape { frames: frames[0], pages: page_bound, ways }, references),
        "sizes" => policy.visit_sizes(ways.is_some(), references),
        _ => panic!("usage: {USAGE}"),
    }
    .expect("a design that can be");
    let seconds = start.elapsed().as_secs_f64();
    let line = json!({
        "what": what,
        "policy": policy.to_string(),
        "sizes": frames,
        "references": pages.len(),
        "seconds": seconds,
        "next_use_seconds": measured.next_use_seconds,
        "misses": measured.misses,
    });
    println!("{line}");
}
