//! A swap store over an emulated medium: a safe interface to the C library of `runtime/swap`.
#![allow(unsafe_code)]

mod compressor;
mod emulated;
mod pinned_box;
mod rewriter;
mod spec;
mod statistics;

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use flashpager_base::{Error, Result};

use super::ffi;
use compressor::InstrumentedCompressor;
use emulated::EmulatedMedium;
use pinned_box::PinnedBox;
use rewriter::Rewriter;
use statistics::result;

pub use spec::{Compressor, Geometry, MediumFaults, StoreLayout, StoreSpec};
pub use statistics::{Statistics, StoreCounters, StoreError, Wear};

/// # Safety
/// `data` has `size` bytes.
unsafe extern "C" fn crc32(crc: u32, data: *const c_void, size: usize) -> u32 {
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
    let mut hasher = crc32fast::Hasher::new_with_initial(crc);
    hasher.update(bytes);
    hasher.finalize()
}

/// A store and its medium.
///
/// Everything that C points to is on the heap and is freed with the store, after the store itself.
pub struct Store {
    swap: PinnedBox<[u64]>,
    page_bytes: u32,
    memory_bytes: u64,
    geometry: Geometry,
    _config: PinnedBox<ffi::FpSwapConfig>,
    _memory: PinnedBox<[u32]>,
    _verify: Option<PinnedBox<[u64]>>,
    compressor: Option<InstrumentedCompressor>,
    rewriter: Option<Rewriter>,
    emulated: EmulatedMedium,
}

// SAFETY: all that it points to is its own, and C keeps no state per thread.
unsafe impl Send for Store {}

impl Store {
    /// Makes an empty store on its medium.
    ///
    /// # Errors
    /// If a size is out of range, the medium is too small for the layout, or the file cannot be
    /// made.
    pub fn format(spec: &StoreSpec) -> Result<Self> {
        Self::start(spec, true)
    }

    /// Mounts the store that the file holds.
    ///
    /// # Errors
    /// If [`Store::format`] would fail, or the file has no such store.
    pub fn mount(spec: &StoreSpec) -> Result<Self> {
        Self::start(spec, false)
    }

    fn start(spec: &StoreSpec, fresh: bool) -> Result<Self> {
        spec.check()?;
        let emulated = EmulatedMedium::open(spec)?;
        let rewriter = match spec.layout {
            StoreLayout::Rewrite => Some(Rewriter::new(emulated.medium(), spec.geometry)?),
            StoreLayout::Fragments | StoreLayout::Log => None,
        };
        let compressor = InstrumentedCompressor::new(spec.compressor, spec.page_bytes)?;
        let verify =
            spec.verify.then(|| PinnedBox::<[u64]>::zeroed(spec.page_bytes.div_ceil(8) as usize));
        let words = spec.words();
        let memory = PinnedBox::<[u32]>::zeroed(words);
        let layout = match spec.layout {
            StoreLayout::Log => &raw const ffi::fp_swap_log,
            StoreLayout::Fragments | StoreLayout::Rewrite => &raw const ffi::fp_swap_fragments,
        };
        let config = PinnedBox::from_box(Box::new(ffi::FpSwapConfig {
            medium: rewriter.as_ref().map_or_else(|| emulated.medium(), Rewriter::medium),
            layout,
            compressor: compressor.as_ref().map_or(null(), InstrumentedCompressor::interface),
            verify: verify.as_ref().map_or(null_mut(), |page| page.as_ptr().cast::<c_void>()),
            crc: Some(crc32),
            page_bytes: spec.page_bytes,
            slot_count: spec.slot_count,
            reserve_blocks: spec.reserve_blocks,
            chunk_count: spec.chunk_count(),
            memory: memory.as_ptr().cast::<c_void>(),
            memory_bytes: words * size_of::<u32>(),
        }));
        // SAFETY: a function without arguments.
        let bytes = unsafe { ffi::fp_shim_store_bytes() };
        let store = Self {
            swap: PinnedBox::<[u64]>::zeroed(bytes.div_ceil(size_of::<u64>())),
            page_bytes: spec.page_bytes,
            memory_bytes: spec.memory_bytes(),
            geometry: spec.geometry,
            _config: config,
            _memory: memory,
            _verify: verify,
            compressor,
            rewriter,
            emulated,
        };
        let start = if fresh { ffi::fp_swap_format } else { ffi::fp_swap_mount };
        // SAFETY: all that the config points to lives as long as the store.
        match result(unsafe { start(store.swap(), store._config.as_ptr()) }) {
            Ok(()) => Ok(store),
            Err(StoreError::Invalid) => Err(Error::design(format!(
                "a medium of {} blocks of {} bytes is too small for the layout {} and {} slots; \
                 take a larger one",
                spec.geometry.block_count,
                spec.geometry.block_bytes,
                spec.layout.name(),
                spec.slot_count
            ))),
            Err(other) => Err(match (&spec.file, other) {
                (Some(file), StoreError::Other) => Error::data(
                    file.display().to_string(),
                    "holds a swap store of another version, or of other pages, slots or blocks; \
                     name another file, or remove it",
                ),
                (Some(file), StoreError::NoStore | StoreError::Io) => {
                    Error::data(file.display().to_string(), other.to_string())
                }
                _ => other.into(),
            }),
        }
    }

    fn swap(&self) -> *mut ffi::FpSwap {
        self.swap.as_ptr().cast::<ffi::FpSwap>()
    }

    /// Returns the bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Returns the bytes of RAM that the store uses beside its medium.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Writes `page` to `slot`, replacing the page there.
    ///
    /// # Errors
    /// [`StoreError::Full`] if there is no room; the slot then still holds its old page. Another
    /// error if the medium fails.
    pub fn write(&mut self, slot: u32, page: &[u8]) -> std::result::Result<(), StoreError> {
        if page.len() != self.page_bytes as usize {
            return Err(StoreError::Invalid);
        }
        // SAFETY: the page has the store's page size.
        result(unsafe { ffi::fp_swap_write(self.swap(), slot, page.as_ptr().cast()) })
    }

    /// Reads the page of `slot`. After an error `page` is undefined.
    ///
    /// # Errors
    /// [`StoreError::Empty`] if there is no page. Another error if the page is lost or the medium
    /// fails.
    pub fn read(&mut self, slot: u32, page: &mut [u8]) -> std::result::Result<(), StoreError> {
        if page.len() != self.page_bytes as usize {
            return Err(StoreError::Invalid);
        }
        // SAFETY: the page has the store's page size.
        result(unsafe { ffi::fp_swap_read(self.swap(), slot, page.as_mut_ptr().cast()) })
    }

    /// Frees `slot`. A slot without a page stays as it is.
    ///
    /// # Errors
    /// If there is no such slot, or the medium fails.
    pub fn free(&mut self, slot: u32) -> std::result::Result<(), StoreError> {
        // SAFETY: the store was formatted or mounted.
        result(unsafe { ffi::fp_swap_free(self.swap(), slot) })
    }

    /// Returns true if `slot` holds a page.
    pub fn holds(&self, slot: u32) -> bool {
        // SAFETY: the store was formatted or mounted.
        unsafe { ffi::fp_swap_holds(self.swap(), slot) }
    }

    /// Puts all that was written onto the medium.
    ///
    /// # Errors
    /// If the medium fails or is full.
    pub fn sync(&mut self) -> std::result::Result<(), StoreError> {
        // SAFETY: the store was formatted or mounted.
        result(unsafe { ffi::fp_swap_sync(self.swap()) })?;
        match &self.rewriter {
            Some(rewriter) => rewriter.flush(),
            None => Ok(()),
        }
    }

    /// Does a little of the work that later calls would have to do. Returns whether there is more.
    ///
    /// # Errors
    /// If the medium fails or is full.
    pub fn idle(&mut self) -> std::result::Result<bool, StoreError> {
        // SAFETY: the store was formatted or mounted.
        match unsafe { ffi::fp_swap_idle(self.swap()) } {
            0 => Ok(false),
            1 => Ok(true),
            code => result(code).map(|()| false),
        }
    }

    /// Returns true if there is space for an incompressible page. The free space may still be in
    /// pieces that are too small.
    pub fn has_room_for_a_page(&self) -> bool {
        let Statistics { mem_used_total, mem_limit, .. } = self.statistics();
        // The headers of a page have at most 64 bytes.
        mem_used_total + u64::from(self.page_bytes) + 64 <= mem_limit
    }

    /// Returns the store's statistics.
    pub fn statistics(&self) -> Statistics {
        let mut stat = ffi::FpSwapStat::default();
        // SAFETY: the store was formatted or mounted, and `stat` has the struct's size.
        unsafe { ffi::fp_swap_stat(self.swap(), &raw mut stat) };
        // Same-filled pages say nothing about the compressor: the store keeps a word of each.
        let held = stat.orig_data_size - u64::from(stat.same_pages) * u64::from(self.page_bytes);
        let ratio = |bytes: u64| (held > 0).then(|| bytes as f64 / held as f64);
        Statistics {
            orig_data_size: stat.orig_data_size,
            compr_data_size: stat.compr_data_size,
            mem_used_total: stat.mem_used_total,
            mem_limit: stat.mem_limit,
            mem_used_max: stat.mem_used_max,
            pages: stat.pages,
            same_pages: stat.same_pages,
            huge_pages: stat.huge_pages,
            lost_pages: stat.lost_pages,
            bad_blocks: stat.bad_blocks,
            erases: stat.erases,
            written_size: stat.written_size,
            moved_size: stat.moved_size,
            programmed_size: stat.programmed_size,
            compression_ratio: ratio(stat.compr_data_size),
            used_ratio: ratio(stat.mem_used_total),
        }
    }

    /// Compares the whole medium with the store's memory. This is slow, for tests.
    ///
    /// # Errors
    /// If the store is inconsistent. The error is the first inconsistency.
    pub fn check(&mut self) -> Result<()> {
        // SAFETY: the store was formatted or mounted.
        let wrong = unsafe { ffi::fp_swap_check(self.swap()) };
        if wrong.is_null() {
            return Ok(());
        }
        // SAFETY: the function returns static strings.
        let wrong = unsafe { CStr::from_ptr(wrong) };
        Err(Error::data("swap store", wrong.to_string_lossy()))
    }

    /// Returns the operations of medium and compressor so far.
    pub fn counters(&self) -> StoreCounters {
        let medium = self.emulated.counters();
        let (compressed_pages, decompressed_pages) =
            self.compressor.as_ref().map_or((0, 0), InstrumentedCompressor::pages);
        StoreCounters {
            reads: medium.reads,
            loads: medium.loads,
            columns: medium.columns,
            read_bytes: medium.read_bytes,
            programs: medium.programs,
            program_bytes: medium.program_bytes,
            erases: medium.erases,
            compressed_pages: (compressed_pages, decompressed_pages).0,
            decompressed_pages: (compressed_pages, decompressed_pages).1,
        }
    }

    /// Returns the wear of the medium.
    pub fn wear(&self) -> Wear {
        let blocks = 0..self.geometry.block_count;
        let good = blocks.filter_map(|block| self.emulated.wear_of(block));
        let (mut wear, mut sum) = (Wear { min: u32::MAX, ..Wear::default() }, 0);
        for erasures in good {
            wear.good_blocks += 1;
            wear.min = wear.min.min(erasures);
            wear.max = wear.max.max(erasures);
            sum += u64::from(erasures);
        }
        wear.min = wear.min.min(wear.max);
        wear.mean = sum as f64 / f64::from(wear.good_blocks.max(1));
        wear
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Contents, SplitMix, Synthetic};

    const IN_PLACE: Geometry = Geometry { program_bytes: 1, block_bytes: 4096, block_count: 256 };
    const NAND: Geometry = Geometry { program_bytes: 2048, block_bytes: 65536, block_count: 32 };

    fn spec(layout: StoreLayout, compressor: Compressor) -> StoreSpec {
        let geometry = if layout.is_for_nand() { NAND } else { IN_PLACE };
        StoreSpec {
            layout,
            compressor,
            verify: false,
            page_bytes: 4096,
            slot_count: 128,
            geometry,
            reserve_blocks: 0,
            file: None,
            faults: MediumFaults::default(),
            seed: 1,
        }
    }

    /// Pages of every kind: same-filled, compressible and incompressible.
    fn page(content: u64) -> [u8; 4096] {
        let mut page = [0; 4096];
        let percent = [0, 10, 25, 60, 100][content as usize % 5];
        Synthetic { percent, seed: 3 }.fill(content, &mut page);
        page
    }

    #[test]
    fn every_layout_gives_back_what_every_compressor_made() {
        for (name, layout) in StoreLayout::ALL {
            for (_, compressor) in Compressor::ALL {
                let mut store = Store::format(&spec(layout, compressor)).unwrap();
                let mut held = [None; 128];
                let mut random = SplitMix::new(5);
                let mut out = [0; 4096];
                for step in 0..2000 {
                    let slot = random.below(128) as usize;
                    match random.below(8) {
                        0 => {
                            store.free(slot as u32).unwrap();
                            held[slot] = None;
                        }
                        1..5 => {
                            store.write(slot as u32, &page(step)).unwrap();
                            held[slot] = Some(step);
                        }
                        _ => match held[slot] {
                            None => {
                                assert_eq!(
                                    store.read(slot as u32, &mut out),
                                    Err(StoreError::Empty)
                                );
                            }
                            Some(content) => {
                                store.read(slot as u32, &mut out).unwrap();
                                assert!(out == page(content), "{name} {compressor:?} {slot}");
                            }
                        },
                    }
                    assert_eq!(store.holds(slot as u32), held[slot].is_some());
                }
                store.check().unwrap();
                let stat = store.statistics();
                let same = held.iter().flatten().filter(|content| **content % 5 == 0).count();
                assert_eq!(stat.same_pages as usize, same);
                assert_eq!(stat.pages as usize, held.iter().flatten().count());
                let huge = stat.pages - stat.same_pages;
                assert_eq!(stat.huge_pages == huge, compressor == Compressor::None);
                let counters = store.counters();
                assert_eq!(counters.compressed_pages == 0, compressor == Compressor::None);
                assert!(counters.program_bytes > 0 && counters.read_bytes > 0);
                assert_eq!(counters.erases > 0, layout.is_for_nand());
                assert!(store.wear().max > 0);
            }
        }
    }

    /// The store decompresses each page after compressing it, and compares.
    #[test]
    fn a_store_that_verifies_keeps_the_same_in_a_page_more_of_memory() {
        for (_, layout) in StoreLayout::ALL {
            let plain = spec(layout, Compressor::Zstd);
            let checked = StoreSpec { verify: true, ..plain.clone() };
            let [plain, checked] = [plain, checked].map(|spec| {
                let mut store = Store::format(&spec).unwrap();
                for slot in 0..100 {
                    store.write(slot, &page(slot.into())).unwrap();
                }
                store
            });
            assert_eq!(checked.statistics(), plain.statistics());
            assert_eq!(checked.memory_bytes(), plain.memory_bytes() + 4096);
            // Random pages do not shrink and are stored uncompressed.
            let huge = u64::from(checked.statistics().huge_pages);
            let counters = checked.counters();
            assert_eq!(counters.decompressed_pages, counters.compressed_pages - huge);
            assert_eq!(plain.counters().decompressed_pages, 0);
        }
    }

    #[test]
    fn a_full_medium_is_a_result_and_a_wrong_slot_an_error() {
        for (_, layout) in StoreLayout::ALL {
            let small = StoreSpec { slot_count: 4096, ..spec(layout, Compressor::Lz4) };
            let mut store = Store::format(&small).unwrap();
            let full = (0..4096).find(|slot| {
                let content = u64::from(*slot) * 5 + 3;
                match store.write(*slot, &page(content)) {
                    Ok(()) => false,
                    Err(StoreError::Full) => true,
                    Err(other) => panic!("{other}"),
                }
            });
            let full = full.unwrap();
            assert!(!store.holds(full));
            let mut out = [0; 4096];
            for slot in 0..full {
                store.read(slot, &mut out).unwrap();
                assert!(out == page(u64::from(slot) * 5 + 3));
            }
            store.free(0).unwrap();
            store.write(0, &page(10)).unwrap();
            store.check().unwrap();
            assert_eq!(store.write(4096, &out), Err(StoreError::Invalid));
            assert_eq!(store.write(0, &out[1..]), Err(StoreError::Invalid));
            assert_eq!(store.read(0, &mut out[1..]), Err(StoreError::Invalid));
        }
    }

    #[test]
    fn a_log_in_a_file_is_there_the_next_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = Some(folder.path().join("nand"));
        let kept = StoreSpec { file, ..spec(StoreLayout::Log, Compressor::Deflate) };
        let mut store = Store::format(&kept).unwrap();
        for slot in 0..100 {
            store.write(slot, &page(slot.into())).unwrap();
        }
        store.sync().unwrap();
        drop(store);
        let mut store = Store::mount(&kept).unwrap();
        let mut out = [0; 4096];
        for slot in 0..100 {
            store.read(slot, &mut out).unwrap();
            assert!(out == page(slot.into()));
        }
        drop(store);
        let other = StoreSpec { slot_count: 127, ..kept.clone() };
        let error = Store::mount(&other).err().unwrap().to_string();
        assert!(error.contains("nand: holds a swap store of another version"), "{error}");
        let other = StoreSpec { geometry: Geometry { block_count: 31, ..NAND }, ..kept };
        let error = Store::format(&other).err().unwrap().to_string();
        assert!(error.contains("no medium of this shape"), "{error}");
    }

    #[test]
    fn idle_time_ends_and_loses_nothing() {
        let mut store = Store::format(&spec(StoreLayout::Log, Compressor::None)).unwrap();
        for step in 0..2000_u64 {
            store.write((step % 128) as u32, &page(step)).unwrap();
        }
        assert!((0..100_000).any(|_| !store.idle().unwrap()));
        store.check().unwrap();
        let mut out = [0; 4096];
        for slot in 0..128_u64 {
            store.read(slot as u32, &mut out).unwrap();
            assert!(out == page(2000 - 128 + (slot + 128 - 2000 % 128) % 128));
        }
        let mut fragments = Store::format(&spec(StoreLayout::Fragments, Compressor::None)).unwrap();
        assert!(!fragments.idle().unwrap());
    }

    #[test]
    fn an_impossible_input_is_refused_in_one_line() {
        let fragments = spec(StoreLayout::Fragments, Compressor::None);
        let log = spec(StoreLayout::Log, Compressor::None);
        for (wrong, line) in [
            (StoreSpec { geometry: NAND, ..fragments.clone() }, "rewrites in place"),
            (StoreSpec { geometry: IN_PLACE, ..log.clone() }, "needs NAND"),
            (StoreSpec { page_bytes: 4095, ..log.clone() }, "multiple of 4"),
            (StoreSpec { slot_count: 0, ..log.clone() }, "cannot have 0 slots"),
            (StoreSpec { reserve_blocks: 2, ..log.clone() }, "leave 13 or more free"),
            (StoreSpec { reserve_blocks: 32, ..log.clone() }, "leaves 32 of them free"),
            (
                StoreSpec { geometry: Geometry { program_bytes: 128, ..NAND }, ..log.clone() },
                "256 bytes or more",
            ),
            (
                StoreSpec { geometry: Geometry { program_bytes: 16384, ..NAND }, ..log.clone() },
                "6 or more",
            ),
            (
                StoreSpec { geometry: Geometry { block_count: 2, ..NAND }, ..log.clone() },
                "too small",
            ),
            (
                StoreSpec { geometry: Geometry { block_count: 1 << 20, ..NAND }, ..log },
                "less than 4 GiB",
            ),
            (StoreSpec { file: Some("/nowhere/at/all".into()), ..fragments }, "/nowhere/at/all"),
        ] {
            let error = Store::format(&wrong).err().unwrap().to_string();
            assert!(error.contains(line) && !error.contains('\n'), "{error}");
        }
        let error = "defalte".parse::<Compressor>().unwrap_err().to_string();
        assert!(error.contains("did you mean deflate?"), "{error}");
    }
}
