//! Rows of a stack in the vector registers of the processor.
//!
//! Everything that depends on the processor is here. AVX-512 or AVX2 is chosen when the program
//! runs; other processors use what the compiler makes of the plain code.

use pulp::NullaryFnOnce;
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};
use wide::{CmpEq, i16x16, i32x8};

/// The vector unit in use.
#[derive(Clone, Copy, Debug)]
pub enum VectorUnit {
    /// AVX-512 with BW, DQ and VL (x86-64-v4).
    #[cfg(target_arch = "x86_64")]
    Avx512(V4),
    /// AVX2 (x86-64-v3).
    #[cfg(target_arch = "x86_64")]
    Avx2(V3),
    /// The baseline of the architecture.
    Any,
}

impl VectorUnit {
    /// All vector units of this processor, the widest first.
    pub fn usable() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let vectors = [V4::try_new().map(Self::Avx512), V3::try_new().map(Self::Avx2)];
        #[cfg(not(target_arch = "x86_64"))]
        let vectors: [Option<Self>; 0] = [];
        vectors.into_iter().flatten().chain([Self::Any])
    }

    /// The widest vector unit of this processor.
    pub fn here() -> Self {
        Self::usable().next().unwrap_or(Self::Any)
    }

    /// Runs `work`, compiled for this vector unit.
    #[inline(always)]
    pub fn run(self, work: impl NullaryFnOnce<Output = ()>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(simd) => simd.vectorize(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(simd) => simd.vectorize(work),
            Self::Any => work.call(),
        }
    }
}

/// A row: some neighbouring entries of a stack.
pub trait VectorRow: Copy {
    /// An entry.
    type Entry: Copy;
    /// A row of entries in a register.
    type Vector: Copy;
    /// The number of entries in a row.
    const LANES: usize;

    /// Loads the first [`VectorRow::LANES`] of `entries`.
    fn load(self, entries: &[Self::Entry]) -> Self::Vector;
    /// Stores a row at the begin of `entries`.
    fn store(self, row: Self::Vector, entries: &mut [Self::Entry]);
    /// A row with `entry` in all lanes.
    fn splat(self, entry: Self::Entry) -> Self::Vector;
}

/// Rows in which an entry is searched for, while others move on by one place.
pub trait OrderRow: VectorRow {
    /// A bit for each entry of `row` that equals that of `wanted`.
    fn matches(self, row: Self::Vector, wanted: Self::Vector) -> u64;
    /// `row` moved on by one place, behind the last of `above`.
    fn moved_on(self, above: Self::Vector, row: Self::Vector) -> Self::Vector;
    /// Selects the entries of `set` where the bit is set, else those of `clear`.
    fn choose(self, bits: u64, set: Self::Vector, clear: Self::Vector) -> Self::Vector;
}

/// Rows of unsigned numbers through which a number falls.
pub trait FallingRow: VectorRow<Entry = u32> {
    /// Takes the entry that equals `wanted` out of `row`, and lets `falling` (equal in all lanes)
    /// fall: at each place the smaller number stays and the larger one goes on. The place that
    /// became free holds `u32::MAX`, where the fall ends. Returns the row, the number that falls
    /// out of it (in all lanes), and the bits of the entry taken out.
    fn sink(
        self,
        row: Self::Vector,
        falling: Self::Vector,
        wanted: Self::Vector,
    ) -> (Self::Vector, Self::Vector, u32);
    /// The entry of a row with equal lanes.
    fn entry(self, row: Self::Vector) -> u32;
}

/// Rows of 16-bit entries on any processor.
#[derive(Clone, Copy)]
pub struct Plain16;

impl VectorRow for Plain16 {
    type Entry = u16;
    type Vector = [u16; 16];
    const LANES: usize = 16;

    #[inline(always)]
    fn load(self, entries: &[u16]) -> [u16; 16] {
        std::array::from_fn(|lane| entries[lane])
    }

    #[inline(always)]
    fn store(self, row: [u16; 16], entries: &mut [u16]) {
        entries[..16].copy_from_slice(&row);
    }

    #[inline(always)]
    fn splat(self, entry: u16) -> [u16; 16] {
        [entry; 16]
    }
}

impl OrderRow for Plain16 {
    #[inline(always)]
    fn matches(self, row: [u16; 16], wanted: [u16; 16]) -> u64 {
        let [row, wanted] = [row, wanted].map(|row| i16x16::new(row.map(|entry| entry as i16)));
        row.cmp_eq(wanted).move_mask() as u16 as u64
    }

    #[inline(always)]
    fn moved_on(self, above: [u16; 16], row: [u16; 16]) -> [u16; 16] {
        moved_on(above, row)
    }

    #[inline(always)]
    fn choose(self, bits: u64, set: [u16; 16], clear: [u16; 16]) -> [u16; 16] {
        std::array::from_fn(|lane| if bits >> lane & 1 == 1 { set[lane] } else { clear[lane] })
    }
}

/// Rows of 32-bit entries on any processor.
#[derive(Clone, Copy)]
pub struct Plain32;

impl VectorRow for Plain32 {
    type Entry = u32;
    type Vector = [u32; 8];
    const LANES: usize = 8;

    #[inline(always)]
    fn load(self, entries: &[u32]) -> [u32; 8] {
        std::array::from_fn(|lane| entries[lane])
    }

    #[inline(always)]
    fn store(self, row: [u32; 8], entries: &mut [u32]) {
        entries[..8].copy_from_slice(&row);
    }

    #[inline(always)]
    fn splat(self, entry: u32) -> [u32; 8] {
        [entry; 8]
    }
}

impl OrderRow for Plain32 {
    #[inline(always)]
    fn matches(self, row: [u32; 8], wanted: [u32; 8]) -> u64 {
        let [row, wanted] = [row, wanted].map(|row| i32x8::new(row.map(|entry| entry as i32)));
        row.cmp_eq(wanted).move_mask() as u8 as u64
    }

    #[inline(always)]
    fn moved_on(self, above: [u32; 8], row: [u32; 8]) -> [u32; 8] {
        moved_on(above, row)
    }

    #[inline(always)]
    fn choose(self, bits: u64, set: [u32; 8], clear: [u32; 8]) -> [u32; 8] {
        std::array::from_fn(|lane| if bits >> lane & 1 == 1 { set[lane] } else { clear[lane] })
    }
}

impl FallingRow for Plain32 {
    #[inline(always)]
    fn sink(
        self,
        mut row: [u32; 8],
        falling: [u32; 8],
        wanted: [u32; 8],
    ) -> ([u32; 8], [u32; 8], u32) {
        let mut falling = falling[0];
        let mut bits = 0;
        for (lane, entry) in row.iter_mut().enumerate() {
            let is_wanted = *entry == wanted[0];
            bits |= u32::from(is_wanted) << lane;
            let here = if is_wanted { u32::MAX } else { *entry };
            *entry = falling.min(here);
            falling = falling.max(here);
        }
        (row, [falling; 8], bits)
    }

    #[inline(always)]
    fn entry(self, row: [u32; 8]) -> u32 {
        row[0]
    }
}

#[inline(always)]
fn moved_on<T: Copy, const LANES: usize>(above: [T; LANES], row: [T; LANES]) -> [T; LANES] {
    std::array::from_fn(|lane| if lane == 0 { above[LANES - 1] } else { row[lane - 1] })
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2Of16, Avx2Of32, Avx512Of16, Avx512Of32};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128i, __m256i, __m512i};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{FallingRow, OrderRow, VectorRow};

    /// For each place of two consecutive rows, the place before it.
    const BEFORE: [u16; 32] = {
        let mut before = [31; 32];
        let mut lane = 0;
        while lane < 32 {
            before[lane] += lane as u16;
            lane += 1;
        }
        before
    };

    macro_rules! row {
        ($(#[$doc:meta])* $name:ident($simd:ty), $entry:ty, $lanes:literal, $vector:ty, $splat:expr) => {
            $(#[$doc])*
            #[derive(Clone, Copy)]
            pub struct $name(pub $simd);

            impl VectorRow for $name {
                type Entry = $entry;
                type Vector = $vector;
                const LANES: usize = $lanes;

                #[inline(always)]
                fn load(self, entries: &[$entry]) -> $vector {
                    let mut row = [0; $lanes];
                    row.copy_from_slice(&entries[..$lanes]);
                    cast(row)
                }

                #[inline(always)]
                fn store(self, row: $vector, entries: &mut [$entry]) {
                    let row: [$entry; $lanes] = cast(row);
                    entries[..$lanes].copy_from_slice(&row);
                }

                #[inline(always)]
                fn splat(self, entry: $entry) -> $vector {
                    $splat(self.0, entry)
                }
            }
        };
    }

    row!(
        /// Rows of 16-bit entries in registers of 512 bits.
        Avx512Of16(V4), u16, 32, __m512i,
        |simd: V4, entry: u16| simd.avx512f._mm512_set1_epi16(entry as i16)
    );

    impl OrderRow for Avx512Of16 {
        #[inline(always)]
        fn matches(self, row: __m512i, wanted: __m512i) -> u64 {
            self.0.avx512bw._mm512_cmpeq_epi16_mask(row, wanted).into()
        }

        #[inline(always)]
        fn moved_on(self, above: __m512i, row: __m512i) -> __m512i {
            self.0.avx512bw._mm512_permutex2var_epi16(above, cast(BEFORE), row)
        }

        #[inline(always)]
        fn choose(self, bits: u64, set: __m512i, clear: __m512i) -> __m512i {
            self.0.avx512bw._mm512_mask_mov_epi16(clear, bits as u32, set)
        }
    }

    row!(
        /// Rows of 32-bit entries in registers of 512 bits.
        Avx512Of32(V4), u32, 16, __m512i,
        |simd: V4, entry: u32| simd.avx512f._mm512_set1_epi32(entry as i32)
    );

    impl OrderRow for Avx512Of32 {
        #[inline(always)]
        fn matches(self, row: __m512i, wanted: __m512i) -> u64 {
            self.0.avx512f._mm512_cmpeq_epi32_mask(row, wanted).into()
        }

        #[inline(always)]
        fn moved_on(self, above: __m512i, row: __m512i) -> __m512i {
            self.0.avx512f._mm512_alignr_epi32::<15>(row, above)
        }

        #[inline(always)]
        fn choose(self, bits: u64, set: __m512i, clear: __m512i) -> __m512i {
            self.0.avx512f._mm512_mask_mov_epi32(clear, bits as u16, set)
        }
    }

    impl FallingRow for Avx512Of32 {
        #[inline(always)]
        fn sink(self, row: __m512i, falling: __m512i, wanted: __m512i) -> (__m512i, __m512i, u32) {
            let simd = self.0.avx512f;
            let max = |a, b| simd._mm512_max_epu32(a, b);
            let bits = simd._mm512_cmpeq_epi32_mask(row, wanted);
            let free = simd._mm512_set1_epi32(-1);
            let row = simd._mm512_mask_mov_epi32(row, bits, free);
            // The number that arrives at each place is the largest of all before it: of the four
            // before, then of four times as many.
            let one = simd._mm512_alignr_epi32::<15>(row, falling);
            let two = simd._mm512_alignr_epi32::<14>(row, falling);
            let three = simd._mm512_alignr_epi32::<13>(row, falling);
            let four = simd._mm512_alignr_epi32::<12>(row, falling);
            let of_four = max(max(one, two), max(three, four));
            let before_four = simd._mm512_alignr_epi32::<12>(of_four, falling);
            let before_eight = simd._mm512_alignr_epi32::<8>(of_four, falling);
            let before_twelve = simd._mm512_alignr_epi32::<4>(of_four, falling);
            let arriving = max(max(of_four, before_four), max(before_eight, before_twelve));
            let last = simd._mm512_set1_epi32(15);
            let out = simd._mm512_permutexvar_epi32(last, max(arriving, row));
            (simd._mm512_min_epu32(arriving, row), out, bits.into())
        }

        #[inline(always)]
        fn entry(self, row: __m512i) -> u32 {
            cast::<_, [u32; 16]>(row)[0]
        }
    }

    row!(
        /// Rows of 16-bit entries in registers of 256 bits.
        Avx2Of16(V3), u16, 16, __m256i,
        |simd: V3, entry: u16| simd.avx._mm256_set1_epi16(entry as i16)
    );

    impl OrderRow for Avx2Of16 {
        #[inline(always)]
        fn matches(self, row: __m256i, wanted: __m256i) -> u64 {
            let equal = self.0.avx2._mm256_cmpeq_epi16(row, wanted);
            let [low, high]: [__m128i; 2] = cast(equal);
            let bytes = self.0.sse2._mm_packs_epi16(low, high);
            self.0.sse2._mm_movemask_epi8(bytes) as u64
        }

        #[inline(always)]
        fn moved_on(self, above: __m256i, row: __m256i) -> __m256i {
            let between = self.0.avx2._mm256_permute2x128_si256::<0x21>(above, row);
            self.0.avx2._mm256_alignr_epi8::<14>(row, between)
        }

        #[inline(always)]
        fn choose(self, bits: u64, set: __m256i, clear: __m256i) -> __m256i {
            const OWN: [u16; 16] = [
                0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80, //
                0x100, 0x200, 0x400, 0x800, 0x1000, 0x2000, 0x4000, 0x8000,
            ];
            let bits = self.splat(bits as u16);
            let is_set = self.0.avx2._mm256_and_si256(bits, cast(OWN));
            let is_set = self.0.avx2._mm256_cmpeq_epi16(is_set, cast(OWN));
            self.0.avx2._mm256_blendv_epi8(clear, set, is_set)
        }
    }

    row!(
        /// Rows of 32-bit entries in registers of 256 bits.
        Avx2Of32(V3), u32, 8, __m256i,
        |simd: V3, entry: u32| simd.avx._mm256_set1_epi32(entry as i32)
    );

    impl OrderRow for Avx2Of32 {
        #[inline(always)]
        fn matches(self, row: __m256i, wanted: __m256i) -> u64 {
            let equal = self.0.avx2._mm256_cmpeq_epi32(row, wanted);
            self.0.avx._mm256_movemask_ps(cast(equal)) as u64
        }

        #[inline(always)]
        fn moved_on(self, above: __m256i, row: __m256i) -> __m256i {
            let between = self.0.avx2._mm256_permute2x128_si256::<0x21>(above, row);
            self.0.avx2._mm256_alignr_epi8::<12>(row, between)
        }

        #[inline(always)]
        fn choose(self, bits: u64, set: __m256i, clear: __m256i) -> __m256i {
            const OWN: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
            let bits = self.splat(bits as u32);
            let is_set = self.0.avx2._mm256_and_si256(bits, cast(OWN));
            let is_set = self.0.avx2._mm256_cmpeq_epi32(is_set, cast(OWN));
            self.0.avx2._mm256_blendv_epi8(clear, set, is_set)
        }
    }

    impl FallingRow for Avx2Of32 {
        #[inline(always)]
        fn sink(self, row: __m256i, falling: __m256i, wanted: __m256i) -> (__m256i, __m256i, u32) {
            let simd = self.0.avx2;
            let equal = simd._mm256_cmpeq_epi32(row, wanted);
            let bits = self.0.avx._mm256_movemask_ps(cast(equal)) as u32;
            let row = simd._mm256_or_si256(row, equal);
            // The largest of one entry before, then of two, of four, of eight.
            let between = |of| simd._mm256_permute2x128_si256::<0x21>(falling, of);
            let one = simd._mm256_alignr_epi8::<12>(row, between(row));
            let two = simd._mm256_alignr_epi8::<12>(one, between(one));
            let of_two = simd._mm256_max_epu32(one, two);
            let before_two = simd._mm256_alignr_epi8::<8>(of_two, between(of_two));
            let of_four = simd._mm256_max_epu32(of_two, before_two);
            let arriving = simd._mm256_max_epu32(of_four, between(of_four));
            let last = simd._mm256_max_epu32(arriving, row);
            let out = simd._mm256_permutevar8x32_epi32(last, self.splat(7));
            (simd._mm256_min_epu32(arriving, row), out, bits)
        }

        #[inline(always)]
        fn entry(self, row: __m256i) -> u32 {
            cast::<_, [u32; 8]>(row)[0]
        }
    }
}
