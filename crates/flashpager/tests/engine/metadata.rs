//! What policies keep in a device, as `docs/model.md` says.

use std::collections::BTreeSet;

use flashpager::pager::{POLICIES, PolicySpec};

const FRAMES: u64 = 32;
const CACHE_BYTES: u64 = 2048;

/// Any parameters: metadata does not depend on them.
fn policy(name: &str) -> PolicySpec {
    let (_, parameters) = POLICIES.iter().find(|(known, _)| *known == name).unwrap();
    let text = match parameters {
        0 => name.to_string(),
        _ => format!("{name}({})", vec!["1"; *parameters].join(",")),
    };
    text.parse().unwrap()
}

#[test]
fn the_table_of_metadata_is_right() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model.md");
    let text = std::fs::read_to_string(path).unwrap();
    let table = text.lines().skip_while(|line| !line.starts_with("| policy | bytes a frame"));
    let mut named = BTreeSet::new();
    for row in table.skip(2).take_while(|line| line.starts_with('|')) {
        let name = row.split('`').nth(1).unwrap();
        let metadata = policy(name).metadata().unwrap();
        let bytes = metadata.bytes(FRAMES);
        let expected = format!(
            "| `{name}` | {} | {} | {bytes} | {:.1} % |",
            metadata.bytes_per_frame,
            metadata.fixed_bytes,
            100.0 * bytes as f64 / CACHE_BYTES as f64,
        );
        assert_eq!(row, expected);
        named.insert(name);
    }
    let kept = |name: &&str| policy(name).metadata().is_some();
    let all: BTreeSet<&str> = POLICIES.iter().map(|(name, _)| *name).filter(kept).collect();
    assert_eq!(named, all);
}
