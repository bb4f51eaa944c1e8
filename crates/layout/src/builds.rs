//! Two builds of a program at the same places.
//!
//! The units of two builds are matched by name and occurrence. A joint program has each matched unit
//! once, as long as the longer of both, and the units that one build alone has. Placed in any way,
//! both builds run at the same addresses, and what differs between them is their code.

use std::collections::BTreeMap;

use flashpager_base::Result;

use crate::place::UnitPlacement;
use crate::units::{Unit, Units};

/// No unit, in tables of numbers.
const NONE: u32 = u32::MAX;
/// The most pairs of units of one name that are aligned by length; more are matched in turn.
const MOST_PAIRS: usize = 1 << 20;

/// One of two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// The first one.
    A,
    /// The second one.
    B,
}

impl Build {
    /// Both builds, in order.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The names by which units are matched, at most one a unit and level. Names of an earlier level are
/// matched first. A unit without names is matched by the named one before it.
pub type MatchNames = Vec<Vec<String>>;

/// Two builds whose units are matched.
#[derive(Clone, Debug)]
pub struct MatchedBuilds<'a> {
    units: [&'a Units; 2],
    /// The number of the matched unit in the other build, by build and unit.
    matches: [Vec<u32>; 2],
}

impl<'a> MatchedBuilds<'a> {
    /// Matches the units of two builds. `names` has the names of each unit, by build.
    pub fn new(units: [&'a Units; 2], names: [&MatchNames; 2]) -> Self {
        let matches = units.map(|units| vec![NONE; units.all().len()]);
        let mut matched = Self { units, matches };
        let levels = names.iter().flat_map(|names| names.iter().map(Vec::len)).max().unwrap_or(0);
        for level in 0..levels {
            let key = |build: Build, number: usize| names[build as usize][number].get(level);
            matched.match_by(|build, number, _| key(build, number).cloned());
        }
        // The unnamed ones, by the last matched one before them.
        let is_unnamed = |build: Build, number: usize| names[build as usize][number].is_empty();
        matched.match_by(|build, number, before| is_unnamed(build, number).then_some(before));
        matched
    }

    /// Matches units of one key that have no match yet. The key may depend on the number, in build A,
    /// of the last matched unit before; it is [`NONE`] at the start.
    fn match_by<K: Ord>(&mut self, key: impl Fn(Build, usize, u32) -> Option<K>) {
        let mut groups: BTreeMap<(bool, K), [Vec<u32>; 2]> = BTreeMap::new();
        for build in Build::BOTH {
            let mut before = NONE;
            for (number, unit) in self.units[build as usize].all().iter().enumerate() {
                let other = self.matches[build as usize][number];
                if other != NONE {
                    before = if build == Build::A { number as u32 } else { other };
                } else if let Some(key) = key(build, number, before) {
                    let group = groups.entry((unit.fixed, key)).or_default();
                    group[build as usize].push(number as u32);
                }
            }
        }
        for [a, b] in groups.into_values() {
            let bytes = |build: Build, number: &u32| {
                self.units[build as usize].all()[*number as usize].bytes
            };
            let lengths = [
                a.iter().map(|number| bytes(Build::A, number)).collect::<Vec<u32>>(),
                b.iter().map(|number| bytes(Build::B, number)).collect(),
            ];
            for (in_a, in_b) in aligned(&lengths[0], &lengths[1]) {
                let (in_a, in_b) = (a[in_a], b[in_b]);
                self.matches[0][in_a as usize] = in_b;
                self.matches[1][in_b as usize] = in_a;
            }
        }
    }

    /// Returns the number of the unit in the other build, if there is one.
    pub fn matched(&self, build: Build, number: usize) -> Option<usize> {
        let other = self.matches[build as usize][number];
        (other != NONE).then_some(other as usize)
    }

    /// Returns the joint program that begins as the link of `base`: what the other build alone has lies
    /// behind the unit that it follows there.
    ///
    /// # Errors
    /// An image beyond 4 GiB.
    pub fn joint(&self, base: Build) -> Result<JointUnits> {
        let other = base.other();
        let [own, others] = [base, other].map(|build| self.units[build as usize].all());
        // The units of the other build alone, by the base's unit that they follow: 0 for none.
        let mut behind = vec![Vec::new(); own.len() + 1];
        let mut anchor = 0;
        for number in 0..others.len() {
            match self.matched(other, number) {
                Some(matched) => anchor = matched + 1,
                None => behind[anchor].push(number),
            }
        }
        let mut joint = JointBuilder::new(self, base);
        behind[0].iter().for_each(|number| joint.push(None, Some(*number)));
        for number in 0..own.len() {
            joint.push(Some(number), self.matched(base, number));
            behind[number + 1].iter().for_each(|number| joint.push(None, Some(*number)));
        }
        joint.finish()
    }
}

/// Pairs the items of two lists in their order, as many as the shorter list has, so that the sum of
/// the differences of their lengths is least.
fn aligned(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    if a.len() > b.len() {
        return aligned(b, a).into_iter().map(|(in_b, in_a)| (in_a, in_b)).collect();
    }
    if a.len() == b.len() || a.is_empty() || a.len() * b.len() > MOST_PAIRS {
        return (0..a.len()).map(|number| (number, number)).collect();
    }
    // The least cost of pairing the first `in_a` items with some of the first `in_b`.
    let width = b.len() + 1;
    let mut costs = vec![u64::MAX; (a.len() + 1) * width];
    costs[..width].fill(0);
    for in_a in 1..=a.len() {
        for in_b in in_a..=b.len() {
            let paired = costs[(in_a - 1) * width + in_b - 1]
                .saturating_add(a[in_a - 1].abs_diff(b[in_b - 1]).into());
            costs[in_a * width + in_b] = paired.min(costs[in_a * width + in_b - 1]);
        }
    }
    let mut pairs = Vec::new();
    let (mut in_a, mut in_b) = (a.len(), b.len());
    while in_a > 0 {
        if costs[in_a * width + in_b] == costs[in_a * width + in_b - 1] {
            in_b -= 1;
        } else {
            (in_a, in_b) = (in_a - 1, in_b - 1);
            pairs.push((in_a, in_b));
        }
    }
    pairs.reverse();
    pairs
}

/// The units of both builds.
#[derive(Clone, Debug)]
pub struct JointUnits {
    units: Units,
    /// The joint number of each unit, by build.
    numbers: [Vec<u32>; 2],
}

impl JointUnits {
    /// Returns the units.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// Returns the joint number of each unit of `build`.
    pub fn numbers(&self, build: Build) -> &[u32] {
        &self.numbers[build as usize]
    }

    /// Returns the larger of two values of each unit, which are given by build and unit.
    pub fn largest(&self, values: [&[u32]; 2]) -> Vec<u32> {
        let mut largest = vec![0; self.units.all().len()];
        for (numbers, values) in self.numbers.iter().zip(values) {
            for (number, value) in numbers.iter().zip(values) {
                let joint: &mut u32 = &mut largest[*number as usize];
                *joint = (*joint).max(*value);
            }
        }
        largest
    }

    /// Returns where the units of `build` lie if the joint ones lie as in `placement`.
    pub fn placement(&self, build: Build, placement: &UnitPlacement) -> UnitPlacement {
        let offset = |number: &u32| placement.offsets[*number as usize];
        UnitPlacement {
            offsets: self.numbers(build).iter().map(offset).collect(),
            ..placement.clone()
        }
    }
}

/// Puts joint units behind one another, at the base's offsets as far as what lies before allows.
struct JointBuilder<'a> {
    builds: &'a MatchedBuilds<'a>,
    base: Build,
    units: Vec<Unit>,
    followers: Vec<u32>,
    is_follower: [Vec<bool>; 2],
    numbers: [Vec<u32>; 2],
    free: u64,
}

impl<'a> JointBuilder<'a> {
    fn new(builds: &'a MatchedBuilds<'a>, base: Build) -> Self {
        let numbers = builds.units.map(|units| vec![NONE; units.all().len()]);
        let is_follower = builds.units.map(|units| {
            let mut follows = vec![false; units.all().len()];
            units.followers().iter().for_each(|number| follows[*number as usize] = true);
            follows
        });
        let (units, followers) = (Vec::new(), Vec::new());
        Self { builds, base, units, followers, is_follower, numbers, free: 0 }
    }

    /// Adds a unit of the base, of the other build, or of both.
    fn push(&mut self, own: Option<usize>, other: Option<usize>) {
        let sides = [(self.base, own), (self.base.other(), other)];
        let sides = sides.into_iter().filter_map(|(build, number)| Some((build, number?)));
        let sides: Vec<(Build, usize)> = sides.collect();
        let units =
            sides.iter().map(|(build, number)| &self.builds.units[*build as usize].all()[*number]);
        let bytes = units.clone().map(|unit| unit.bytes).max().unwrap_or(0);
        let align = units.clone().map(|unit| unit.align).max().unwrap_or(1);
        let fixed = units.clone().all(|unit| unit.fixed);
        let wanted = if own.is_some() { units.clone().next().map_or(0, |it| it.offset) } else { 0 };
        let offset = self.free.max(wanted.into()).next_multiple_of(align.into());
        let number = self.units.len() as u32;
        let (build, of_build) = sides[0];
        // What the base's link has at a fixed place has it in the joint link.
        let follows = self.is_follower[build as usize][of_build]
            && (own.is_some() || !self.builds.units[self.base as usize].followers().is_empty());
        if follows {
            self.followers.push(number);
        }
        for (build, of_build) in sides {
            self.numbers[build as usize][of_build] = number;
        }
        // An image that is too long is refused at the end.
        self.free = offset + u64::from(bytes);
        let offset = offset.min(u32::MAX.into()) as u32;
        self.units.push(Unit { name: number.to_string(), offset, bytes, align, fixed });
    }

    fn finish(self) -> Result<JointUnits> {
        let image_bytes = self.builds.units.map(Units::image_bytes);
        let image_bytes = self.free.max(image_bytes[self.base as usize]);
        let units = Units::new(self.units, image_bytes)?.with_followers(self.followers);
        Ok(JointUnits { units, numbers: self.numbers })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Order, place};

    fn unit(name: &str, offset: u32, bytes: u32) -> Unit {
        Unit { name: name.to_owned(), offset, bytes, align: 4, fixed: name.starts_with('@') }
    }

    /// The name of a unit up to an `@`, which unnamed units begin with.
    fn names(units: &Units) -> MatchNames {
        let name = |unit: &Unit| unit.name.split('@').next().unwrap_or_default().to_owned();
        let names = units.all().iter().map(name);
        names.map(|name| if name.is_empty() { vec![] } else { vec![name] }).collect()
    }

    fn units(all: &[(&str, u32, u32)]) -> Units {
        let end = all.last().map_or(0, |(_, offset, bytes)| offset + bytes);
        let all = all.iter().map(|(name, offset, bytes)| unit(name, *offset, *bytes));
        Units::new(all.collect(), end.into()).expect("units that can be")
    }

    /// By hand: `new` is of B alone, `old` of A alone, `f` grows, of two helpers one is gone, and the
    /// unnamed code behind `f` moves with it.
    #[test]
    fn units_are_matched_by_name_and_occurrence() {
        let a = units(&[
            ("helper", 0, 40),
            ("old", 40, 8),
            ("f", 48, 16),
            ("@0x40", 64, 4),
            ("helper@0x44", 68, 12),
        ]);
        let b = units(&[("new", 0, 4), ("f", 4, 20), ("@0x18", 24, 4), ("helper", 28, 12)]);
        let [of_a, of_b] = [&a, &b].map(names);
        let matched = MatchedBuilds::new([&a, &b], [&of_a, &of_b]);
        let pairs: Vec<_> = (0..5).map(|number| matched.matched(Build::A, number)).collect();
        assert_eq!(pairs, [None, None, Some(1), Some(2), Some(3)]);
        assert_eq!(matched.matched(Build::B, 0), None);

        // A's link: `new` goes first; the growth of `f` and it push the rest.
        let joint = matched.joint(Build::A).unwrap();
        let offsets = |joint: &JointUnits, build| -> Vec<u32> {
            let all = joint.units().all();
            joint.numbers(build).iter().map(|number| all[*number as usize].offset).collect()
        };
        assert_eq!(offsets(&joint, Build::A), [4, 44, 52, 72, 76]);
        assert_eq!(offsets(&joint, Build::B), [0, 52, 72, 76]);
        assert_eq!(joint.largest([&[1, 2, 3, 4, 5], &[6, 1, 9, 1]]), [6, 1, 2, 3, 9, 5]);
        // B's link: `helper` and `old` of A go first.
        let joint = matched.joint(Build::B).unwrap();
        assert_eq!(offsets(&joint, Build::B), [48, 52, 72, 76]);
        assert_eq!(offsets(&joint, Build::A), [0, 40, 52, 72, 76]);
    }

    /// By hand: as many pairs as can be, with the least differences of length.
    #[test]
    fn occurrences_are_aligned_by_length() {
        assert_eq!(aligned(&[8, 16], &[16, 8]), [(0, 0), (1, 1)]);
        assert_eq!(aligned(&[8, 16, 32], &[16, 30]), [(1, 0), (2, 1)]);
        assert_eq!(aligned(&[30], &[8, 16, 32]), [(0, 2)]);
        assert_eq!(aligned(&[], &[8]), []);
    }

    proptest! {
        /// However the joint units are placed, the units of each build do not overlap, keep their
        /// alignments, and matched ones lie at the same place.
        #[test]
        fn both_builds_lie_at_the_same_places(
            builds in prop::array::uniform2(
                prop::collection::vec((0u32..30, 1u32..90, 0u32..5, 0u32..20), 1..24)),
            shuffle in any::<u64>(),
        ) {
            let made = builds.map(|all| {
                let (mut at, mut units) = (0u32, Vec::new());
                for (number, (name, bytes, align, gap)) in all.into_iter().enumerate() {
                    let offset = (at + gap).next_multiple_of(1 << align);
                    at = offset + bytes;
                    let name = match name {
                        0 => format!("@{number}"),
                        _ => format!("{name}@{number}"),
                    };
                    let fixed = name.starts_with('@');
                    units.push(Unit { name, offset, bytes, align: 1 << align, fixed });
                }
                units.push(Unit { name: "main".into(), offset: at, bytes: 8, align: 1, fixed: false });
                Units::new(units, (at + 8).into()).expect("units that can be")
            });
            let [of_a, of_b] = [&made[0], &made[1]].map(names);
            let matched = MatchedBuilds::new([&made[0], &made[1]], [&of_a, &of_b]);
            for base in Build::BOTH {
                let joint = matched.joint(base).expect("a small image");
                let mut numbers = joint.units().movable().to_vec();
                let count = numbers.len() as u64;
                numbers.rotate_left((shuffle % count) as usize);
                let order = Order::new(joint.units(), numbers).expect("a permutation");
                let placed = place(joint.units(), &order).expect("a small image");
                for build in Build::BOTH {
                    let units = &made[build as usize];
                    let placement = joint.placement(build, &placed);
                    let mut taken = vec![false; placement.image_bytes as usize];
                    for (number, unit) in units.all().iter().enumerate() {
                        let offset = placement.offsets[number];
                        prop_assert!(unit.fixed || offset.is_multiple_of(unit.align));
                        for at in offset..offset + unit.bytes {
                            prop_assert!(!std::mem::replace(&mut taken[at as usize], true));
                        }
                        if let Some(other) = matched.matched(build, number) {
                            prop_assert_eq!(matched.matched(build.other(), other), Some(number));
                            let there = joint.placement(build.other(), &placed);
                            prop_assert_eq!(there.offsets[other], offset);
                        }
                    }
                }
            }
        }
    }
}
