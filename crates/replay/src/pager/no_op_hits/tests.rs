//! Spans compared with their pages one by one, and a policy that reports less than it must.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;

use super::super::plru::Plru;
use super::super::random::Random;
use super::super::sets::InOrder;
use super::super::{Moment, NEVER, PolicyMetadata};
use super::*;

/// The missing pages of each size, in order.
type Misses = Vec<Vec<Page>>;

/// Caches with the same number of ways, and the spans that they take.
#[derive(Clone, Debug)]
struct SpanCase {
    ways: u32,
    sets: Vec<u32>,
    spans: Vec<PageSpan>,
    pages: u32,
    block: usize,
}

/// A few spans repeated many times, some of them longer than a cache.
fn cases() -> impl Strategy<Value = SpanCase> {
    let length = prop_oneof![8 => 0..6u32, 3 => 0..70u32, 1 => 0..400u32];
    let span =
        (0..1500u32, length).prop_map(|(first, length)| PageSpan { first, last: first + length });
    let program = vec(span, 1..12).prop_flat_map(|spans| vec(prop::sample::select(spans), 1..120));
    let sets = subsequence((0..9).map(|bits| 1 << bits).collect::<Vec<u32>>(), 1..6);
    (1..6u32, sets, program, 1..80usize).prop_map(|(ways, sets, spans, block)| {
        let pages = spans.iter().map(|span| span.last + 1).max().unwrap_or(1);
        SpanCase { ways, sets, spans, pages, block }
    })
}

impl SpanCase {
    fn frames(&self) -> Vec<u32> {
        self.sets.iter().map(|sets| sets * self.ways).collect()
    }

    /// The misses of all sizes together, by spans.
    fn by_spans<P: NoOpHits>(&self, parameters: &[PolicyParameter]) -> Misses {
        let mut misses = vec![Vec::new(); self.sets.len()];
        let caches =
            NoOpHitSizes::<P>::new(&self.frames(), Some(self.ways), self.pages, parameters);
        let mut caches = caches.unwrap();
        for spans in self.spans.chunks(self.block) {
            let block = ReferenceBlock { pages: &[], next_uses: &[], spans };
            caches.references(block, |page, sizes, outcome| {
                assert!(matches!(outcome, ReferenceOutcome::Miss { .. }));
                misses[sizes].iter_mut().for_each(|of_size| of_size.push(page));
            });
        }
        misses
    }

    /// The misses size by size, page by page.
    fn by_pages<P: Policy>(&self, parameters: &[PolicyParameter]) -> Misses {
        let of_size = |frames: u32| {
            let shape = Shape { frames, pages: self.pages, ways: Some(self.ways) };
            let mut policy = P::new(shape, parameters).unwrap();
            let pages = self.spans.iter().flat_map(|span| span.first..=span.last);
            let is_miss = |page: &Page| {
                matches!(policy.reference(*page, NEVER), ReferenceOutcome::Miss { .. })
            };
            pages.filter(is_miss).collect()
        };
        self.frames().into_iter().map(of_size).collect()
    }

    fn agrees<P: NoOpHits>(&self, parameters: &[PolicyParameter]) {
        assert_eq!(self.by_spans::<P>(parameters), self.by_pages::<P>(parameters));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn spans_are_their_pages(case in cases(), seed in 0..1000u64) {
        case.agrees::<InOrder<true>>(&[]);
        case.agrees::<InOrder<false>>(&[]);
        case.agrees::<Random>(&[PolicyParameter::Number(seed)]);
        let ways = case.ways.next_power_of_two();
        SpanCase { ways, ..case }.agrees::<Plru>(&[]);
    }
}

/// A policy that does not report which page is no longer no-op.
struct Forgets<P>(P);

impl<P: Policy> Policy for Forgets<P> {
    const METADATA: Option<PolicyMetadata> = P::METADATA;
    type AllSizes = P::AllSizes;
    type InSets = P::InSets;

    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self> {
        P::new(shape, parameters).map(Self)
    }

    fn reference(&mut self, page: Page, next_use: Moment) -> ReferenceOutcome {
        self.0.reference(page, next_use)
    }

    fn would_hit(&self, page: Page) -> bool {
        self.0.would_hit(page)
    }
}

impl<P: NoOpHits> NoOpHits for Forgets<P> {
    const NESTS: bool = P::NESTS;

    fn reference_to_no_op(&mut self, page: Page) -> (ReferenceOutcome, Option<Page>) {
        (self.0.reference_to_no_op(page).0, None)
    }
}

/// FIFO that claims to nest.
struct Nests(InOrder<false>);

impl Policy for Nests {
    const METADATA: Option<PolicyMetadata> = None;
    type AllSizes = NoOpHitSizes<Self>;
    type InSets = Self;

    fn new(shape: Shape, parameters: &[PolicyParameter]) -> Result<Self> {
        InOrder::new(shape, parameters).map(Self)
    }

    fn reference(&mut self, page: Page, next_use: Moment) -> ReferenceOutcome {
        self.0.reference(page, next_use)
    }

    fn would_hit(&self, page: Page) -> bool {
        self.0.would_hit(page)
    }
}

impl NoOpHits for Nests {
    const NESTS: bool = true;

    fn reference_to_no_op(&mut self, page: Page) -> (ReferenceOutcome, Option<Page>) {
        self.0.reference_to_no_op(page)
    }
}

/// The property above would find wrong policies.
#[test]
fn wrong_policies_are_found() {
    let two_in_turns = |ways: u32, sets: &[u32], firsts: &[u32]| SpanCase {
        ways,
        sets: sets.to_vec(),
        spans: firsts.iter().map(|&first| PageSpan { first, last: first + 2 }).collect(),
        pages: 1000,
        block: 4,
    };
    let thrashed = two_in_turns(1, &[64], &[0, 64, 0, 64]);
    assert_ne!(
        thrashed.by_spans::<Forgets<InOrder<true>>>(&[]),
        thrashed.by_pages::<InOrder<true>>(&[])
    );
    assert_ne!(
        thrashed.by_spans::<Forgets<InOrder<false>>>(&[]),
        thrashed.by_pages::<InOrder<false>>(&[])
    );
    thrashed.agrees::<InOrder<true>>(&[]);
    thrashed.agrees::<InOrder<false>>(&[]);

    // With 64 sets page 0 leaves before it comes again; with 128 it is still there and does not
    // come in anew.
    let anomaly = two_in_turns(2, &[64, 128], &[0, 64, 128, 0, 256, 0, 384, 0]);
    assert_ne!(anomaly.by_spans::<Nests>(&[]), anomaly.by_pages::<Nests>(&[]));
    anomaly.agrees::<InOrder<false>>(&[]);
}
