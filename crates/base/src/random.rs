//! Pseudorandom numbers that are the same for the same seed on every machine.

/// The generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to below 1.
    pub fn unit_interval(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_u64()) * end as u128) >> 64) as usize
    }

    /// Shuffles `items`; each order is equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Returns an index with a probability in proportion to its weight; `sums` are the ascending
    /// partial sums of the weights.
    pub fn weighted_index(&mut self, sums: &[f64]) -> usize {
        let all = sums.last().copied().unwrap_or(0.0);
        let drawn = self.unit_interval() * all;
        sums.partition_point(|sum| *sum <= drawn).min(sums.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The six orders of three items are drawn about equally often.
    #[test]
    fn each_order_is_equally_likely() {
        let mut random = SplitMix64::new(1);
        let mut drawn = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *drawn.entry(items).or_insert(0) += 1;
        }
        assert_eq!(drawn.len(), 6);
        assert!(drawn.values().all(|count| (850..1_150).contains(count)), "{drawn:?}");
    }

    /// The first numbers equal those of the reference implementation in C, for the seed 1234567.
    #[test]
    fn as_the_reference() {
        let mut random = SplitMix64::new(1_234_567);
        let first = [(); 3].map(|()| random.next_u64());
        let reference =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first, reference);
    }
}
