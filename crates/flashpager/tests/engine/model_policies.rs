//! The examples of `policy_examples.md`, replayed by the engine and by the reference.

use flashpager::pager::{Page, Pager, ReferenceOutcome, Shape};

use crate::reference;

const POLICIES: [&str; 4] = ["arc", "s3-fifo", "lru-2", "lirs"];

/// `Example of NAME with C frames: N references, M misses.` and the table behind it.
struct Example<'t> {
    policy: &'t str,
    frames: u32,
    /// The text `N references, M misses`.
    totals: &'t str,
    rows: Vec<&'t str>,
}

fn examples(text: &str) -> Vec<Example<'_>> {
    let mut lines = text.lines();
    let mut examples = Vec::new();
    while let Some(line) = lines.next() {
        let Some(title) = line.strip_prefix("Example of `") else { continue };
        let (policy, rest) = title.split_once("` with ").unwrap();
        let (frames, rest) = rest.split_once(" frames: ").unwrap();
        let (totals, _) = rest.split_once('.').unwrap();
        let mut table = lines.by_ref().skip_while(|line| !line.starts_with("| page |")).skip(2);
        let rows = table.by_ref().take_while(|line| line.starts_with('|')).collect();
        examples.push(Example { policy, frames: frames.parse().unwrap(), totals, rows });
    }
    examples
}

/// The table's row for a reference to `page`: the outcome is the engine's, the kept pages are those of
/// the reference implementation, because the engine does not show them.
fn row(page: Page, outcome: ReferenceOutcome, kept: &[String]) -> String {
    let outcome = match outcome {
        ReferenceOutcome::Hit => "hit".to_string(),
        ReferenceOutcome::Miss { victim: None, .. } => "miss".to_string(),
        ReferenceOutcome::Miss { victim: Some(victim), search } if search.walk == 0 => {
            format!("miss, {victim} goes")
        }
        ReferenceOutcome::Miss { victim: Some(victim), search } => {
            format!("miss, {victim} goes, walk {}", search.walk)
        }
        other => panic!("{other:?}"),
    };
    format!("| {page} | {outcome} | {} |", kept.join(" | "))
}

#[test]
fn the_examples_are_right() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engine/policy_examples.md");
    let text = std::fs::read_to_string(path).unwrap();
    let examples = examples(&text);
    assert_eq!(examples.iter().map(|example| example.policy).collect::<Vec<_>>(), POLICIES);
    for Example { policy, frames, totals, rows } in examples {
        let page = |row: &&str| row.split('|').nth(1).unwrap().trim().parse().unwrap();
        let pages: Vec<Page> = rows.iter().map(page).collect();
        let shape = Shape { frames, pages: pages.iter().max().unwrap() + 1, ways: None };
        let mut pager = Pager::new(&policy.parse().unwrap(), shape).unwrap();
        let mut cache = reference::cache_of(policy, frames as usize);
        let mut misses = 0;
        let mut expected = Vec::new();
        for &page in &pages {
            let outcome = pager.reference(page).unwrap();
            let step = cache(page, &[]);
            misses += usize::from(matches!(outcome, ReferenceOutcome::Miss { .. }));
            for other in 0..shape.pages {
                assert_eq!(pager.would_hit(other), step.cached.contains(&other), "{policy}");
            }
            expected.push(row(page, outcome, &step.kept));
        }
        assert_eq!(rows, expected, "{policy}: it should be\n{}", expected.join("\n"));
        assert_eq!(totals, format!("{} references, {misses} misses", pages.len()), "{policy}");
    }
}
