//! The code of every vector unit compared with lists that are searched from the top.

use proptest::collection::vec;
use proptest::prelude::*;

use super::falling::NextUses;
use super::order::UseOrder;
use super::rows::VectorUnit;
use super::{NOT_FOUND, top_and_rest};
use crate::pager::{Moment, NEVER, Page};

/// References to `pages` pages from `base` on, which mostly return to a few of them.
fn references(pages: u32, base: u32) -> impl Strategy<Value = Vec<Page>> {
    let page = prop_oneof![4 => 0..pages.min(20), 2 => 0..pages.min(100), 1 => 0..pages];
    vec(page.prop_map(move |page| base + page), 1..3000)
}

/// The exchanges below the page used last: (page taken out, page put in at the top).
fn exchanges(references: &[Page]) -> Vec<(Page, Page)> {
    let mut pairs: Vec<(Page, Page)> = references.windows(2).map(|two| (two[1], two[0])).collect();
    pairs.retain(|(wanted, inserted)| wanted != inserted);
    pairs
}

/// Collects the depths, with pairs taken in blocks of `block`.
fn in_blocks(
    pairs: &[(u32, u32)],
    block: usize,
    mut take: impl FnMut(&[u32], &[u32], &mut Vec<u32>),
) -> Vec<u32> {
    let (mut found, mut depths) = (Vec::new(), Vec::new());
    for pairs in pairs.chunks(block) {
        let (wanted, other): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
        take(&wanted, &other, &mut depths);
        found.extend_from_slice(&depths);
    }
    found
}

fn check_order(references: &[Page], deepest: usize, block: usize) {
    let pairs = exchanges(references);
    let pages = references.iter().max().map_or(1, |page| page + 1);
    let mut stack: Vec<Page> = Vec::new();
    let by_hand: Vec<Option<usize>> = pairs
        .iter()
        .map(|(wanted, inserted)| {
            let depth = stack.iter().position(|page| page == wanted);
            depth.map(|depth| stack.remove(depth));
            stack.insert(0, *inserted);
            depth
        })
        .collect();
    for processor in VectorUnit::usable() {
        let mut order = UseOrder::new(deepest, pages, processor);
        let depths = in_blocks(&pairs, block, |wanted, inserted, depths| {
            order.exchange(wanted, inserted, depths);
        });
        for (step, (depth, by_hand)) in depths.iter().zip(&by_hand).enumerate() {
            // An entry below `deepest` need not be found.
            match by_hand {
                Some(by_hand) if *depth == NOT_FOUND => assert!(*by_hand >= deepest),
                Some(by_hand) => assert_eq!(*depth as usize, *by_hand, "{processor:?} {step}"),
                None => assert_eq!(*depth, NOT_FOUND, "{processor:?} {step}"),
            }
        }
    }
}

fn check_falling(references: &[Page], deepest: usize, block: usize) {
    let mut last = std::collections::HashMap::new();
    let mut next_uses: Vec<Moment> = references
        .iter()
        .enumerate()
        .rev()
        .map(|(now, page)| last.insert(page, now as Moment).unwrap_or(NEVER))
        .collect();
    next_uses.reverse();
    // The page used last falls through those below it.
    let pairs: Vec<(Moment, Moment)> =
        (1..references.len()).map(|now| (now as Moment, next_uses[now - 1])).collect();
    let mut stack: Vec<Moment> = Vec::new();
    let by_hand: Vec<Option<usize>> = pairs
        .iter()
        .map(|(now, falling)| {
            let depth = stack.iter().position(|next_use| next_use == now);
            let mut falling = *falling;
            let above = depth.unwrap_or(stack.len());
            for step in &mut stack[..above] {
                (*step, falling) = ((*step).min(falling), (*step).max(falling));
            }
            match depth {
                Some(depth) => stack[depth] = falling,
                None => stack.push(falling),
            }
            depth
        })
        .collect();
    for processor in VectorUnit::usable() {
        let mut rest = NextUses::new(deepest, processor);
        let depths = in_blocks(&pairs, block, |wanted, falling, depths| {
            rest.sink(wanted, falling, depths);
        });
        for (step, (depth, by_hand)) in depths.iter().zip(&by_hand).enumerate() {
            match by_hand {
                Some(by_hand) if *depth == NOT_FOUND => assert!(*by_hand >= deepest),
                Some(by_hand) => assert_eq!(*depth as usize, *by_hand, "{processor:?} {step}"),
                None => assert_eq!(*depth, NOT_FOUND, "{processor:?} {step}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_processor_keeps_the_order(
        (references, deepest) in (references(3000, 0), 1usize..3000),
        block in 1usize..500,
    ) {
        check_order(&references, deepest, block);
    }

    #[test]
    fn every_processor_knows_large_page_numbers(
        (references, deepest) in (references(3000, 65_000), 1usize..3000),
        block in 1usize..500,
    ) {
        check_order(&references, deepest, block);
    }

    #[test]
    fn every_processor_lets_next_uses_fall(
        (references, deepest) in (references(600, 0), 1usize..700),
        block in 1usize..500,
    ) {
        check_falling(&references, deepest, block);
    }
}

#[test]
fn a_loop_over_all_pages_is_found_at_the_bottom() {
    for pages in [2, 31, 32, 33, 63, 64, 65, 66, 1024, 1025, 1026, 1090, 2000] {
        let references: Vec<Page> = (0..3 * pages).map(|at| at % pages).collect();
        for deepest in [1, 64, 1024, 4000] {
            check_order(&references, deepest, 100);
            check_falling(&references, deepest, 100);
        }
    }
}

#[test]
fn the_top_is_the_smallest_cache_or_one_page() {
    assert_eq!(top_and_rest(&[1, 2, 1024]), (1, 1023));
    assert_eq!(top_and_rest(&[64, 128]), (64, 64));
    assert_eq!(top_and_rest(&[64]), (64, 0));
}
