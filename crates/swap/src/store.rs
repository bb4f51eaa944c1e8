//! A swap store over an emulated medium: the C library of `runtime/swap`, safe to use.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int, c_void};
use std::path::PathBuf;
use std::ptr::{NonNull, null};

use flashpager_base::{Error, Result, named};
use serde::{Deserialize, Serialize};

use super::ffi;

/// How pages lie on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// MTDCOMPR's, for media that rewrite in place.
    Fragments,
    /// For NAND: out of place, with garbage collection and wear levelling.
    Log,
    /// MTDCOMPR's way with NAND: fragments over blocks that are read, erased and written
    /// back.
    Rewrite,
}

impl Layout {
    /// Whether it is for flash pages in erase blocks.
    pub fn is_for_nand(self) -> bool {
        self != Self::Fragments
    }
}

named! {
    Layout: "unknown layout",
    "fragments" => Fragments,
    "log" => Log,
    "rewrite" => Rewrite,
}

/// What makes pages smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compressor {
    /// Pages are stored as they are.
    None,
    /// zlib's deflate of level 1, MTDCOMPR's.
    Deflate,
    /// LZ4's fast one.
    Lz4,
    /// For small MCUs.
    Heatshrink,
}

impl Compressor {
    /// As `shim.c` numbers them.
    fn number(self) -> Option<c_int> {
        match self {
            Self::None => None,
            Self::Deflate => Some(0),
            Self::Lz4 => Some(1),
            Self::Heatshrink => Some(2),
        }
    }

    /// Bytes of RAM that it works in, for pages of that size.
    pub fn memory_bytes(self, page_bytes: u32) -> usize {
        // SAFETY: a function of two numbers, for any numbers.
        self.number()
            .map_or(0, |number| unsafe { ffi::fp_shim_compressor_bytes(number, page_bytes) })
    }
}

named! {
    Compressor: "unknown compressor",
    "none" => None,
    "deflate" => Deflate,
    "lz4" => Lz4,
    "heatshrink" => Heatshrink,
}

/// The shape of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Bytes of a flash page; 1 where bytes are rewritten in place.
    pub program_bytes: u32,
    /// Bytes of an erase block; of media that rewrite in place, what wear is counted by.
    pub block_bytes: u32,
    /// Blocks.
    pub block_count: u32,
}

impl Geometry {
    /// Bytes of the medium.
    pub fn bytes(self) -> u64 {
        u64::from(self.block_bytes) * u64::from(self.block_count)
    }
}

/// What fails on an emulated medium, and when; by default nothing does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Blocks that are bad from the start.
    pub factory_bad_blocks: u32,
    /// Erasures after which a block may fail; 0: never.
    pub endurance_cycles: u32,
    /// Of a million programs, those that fail and grow a bad block.
    pub program_fail_ppm: u32,
    /// Of a million erasures, those that do.
    pub erase_fail_ppm: u32,
    /// Of a million reads, those whose bits had to be corrected.
    pub corrected_ppm: u32,
}

/// A store to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSpec {
    /// How pages lie.
    pub layout: Layout,
    /// What makes them smaller.
    pub compressor: Compressor,
    /// Bytes of a page of memory: a multiple of 4, at most 32768.
    pub page_bytes: u32,
    /// Slots, numbered from 0.
    pub slot_count: u32,
    /// The medium.
    pub geometry: Geometry,
    /// Blocks that a log leaves free; 0: as few as it can.
    pub reserve_blocks: u32,
    /// The file that holds the medium; memory if absent.
    pub file: Option<PathBuf>,
    /// What fails.
    pub faults: Faults,
    /// Of all that is random.
    pub seed: u64,
}

impl StoreSpec {
    /// Pieces that fragments may cut the medium into.
    fn chunk_count(&self) -> u32 {
        (u64::from(self.slot_count) * 3 / 2 + 1).min(u32::MAX.into()) as u32
    }

    /// Bytes of RAM that the store takes beside its medium: slots, blocks, buffers and the
    /// compressor's.
    pub fn memory_bytes(&self) -> u64 {
        let rewriter = match self.layout {
            Layout::Rewrite => {
                u64::from(self.geometry.block_bytes) + 4 * u64::from(self.geometry.block_count)
            }
            _ => 0,
        };
        4 * self.words() as u64 + rewriter + self.compressor.memory_bytes(self.page_bytes) as u64
    }

    fn words(&self) -> usize {
        let Geometry { program_bytes, block_count, .. } = self.geometry;
        let slots = self.slot_count as usize;
        // SAFETY: functions of numbers, for any numbers.
        unsafe {
            match self.layout {
                Layout::Log => ffi::fp_shim_log_words(
                    slots,
                    block_count as usize,
                    self.page_bytes,
                    program_bytes,
                ),
                Layout::Fragments | Layout::Rewrite => {
                    ffi::fp_shim_fragment_words(slots, self.chunk_count() as usize, self.page_bytes)
                }
            }
        }
    }

    fn check(&self) -> Result<()> {
        let Geometry { program_bytes, block_bytes, block_count } = self.geometry;
        if program_bytes == 0
            || block_bytes == 0
            || block_count == 0
            || !block_bytes.is_multiple_of(program_bytes)
            || self.geometry.bytes() >= u64::from(u32::MAX)
        {
            return Err(Error::design(format!(
                "a medium of {block_count} blocks of {block_bytes} bytes, programmed {program_bytes} \
                 together, cannot be: it has at least one block, of whole flash pages, and less \
                 than 4 GiB"
            )));
        }
        if self.layout.is_for_nand() != (program_bytes > 1) {
            return Err(Error::design(match self.layout {
                Layout::Fragments => {
                    "the layout fragments wants a medium that rewrites in place; take log (or \
                     rewrite) for NAND"
                        .to_owned()
                }
                layout => format!(
                    "the layout {} wants NAND; take fragments for a medium that rewrites in place",
                    layout.name()
                ),
            }));
        }
        if self.page_bytes == 0 || !self.page_bytes.is_multiple_of(4) || self.page_bytes > 32768 {
            return Err(Error::design(format!(
                "a page of {} bytes cannot be swapped: take a multiple of 4, at most 32768",
                self.page_bytes
            )));
        }
        if self.slot_count == 0 || self.slot_count == u32::MAX {
            return Err(Error::design(format!("a store has no {} slots", self.slot_count)));
        }
        if self.faults.factory_bad_blocks >= block_count {
            return Err(Error::design(format!(
                "factory_bad_blocks = {}: of {block_count} blocks some must be good",
                self.faults.factory_bad_blocks
            )));
        }
        Ok(())
    }
}

/// Why a store did not do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The slot holds no page.
    #[error("the slot holds no page")]
    Empty,
    /// No room on the medium; the slot keeps what it held.
    #[error("the medium is full")]
    Full,
    /// The medium gave other bytes than were written.
    #[error("the medium gave other bytes than were written")]
    Corrupt,
    /// The medium failed.
    #[error("the medium failed")]
    Io,
    /// Nothing to mount.
    #[error("the medium holds no store of this shape; format it")]
    NoStore,
    /// A slot, or a size, that cannot be.
    #[error("no such slot, or a page of another size")]
    Invalid,
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::data("swap store", error.to_string())
    }
}

fn result(code: c_int) -> std::result::Result<(), StoreError> {
    match code {
        ffi::OK => Ok(()),
        ffi::EMPTY => Err(StoreError::Empty),
        ffi::FULL => Err(StoreError::Full),
        ffi::CORRUPT => Err(StoreError::Corrupt),
        ffi::IO => Err(StoreError::Io),
        ffi::NO_STORE => Err(StoreError::NoStore),
        _ => Err(StoreError::Invalid),
    }
}

/// Statistics, named after zram's `mm_stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Bytes of the pages held, as they were written.
    pub orig_data_size: u64,
    /// Bytes of them after compression.
    pub compr_data_size: u64,
    /// Bytes of the medium that they take, headers and all.
    pub mem_used_total: u64,
    /// Bytes of the medium that they may take.
    pub mem_limit: u64,
    /// The most they ever took.
    pub mem_used_max: u64,
    /// Slots that hold a page.
    pub pages: u32,
    /// Of them filled with one word: no data.
    pub same_pages: u32,
    /// Of them incompressible: stored as they are.
    pub huge_pages: u32,
    /// Of them lost.
    pub lost_pages: u32,
    /// Bad blocks of the medium.
    pub bad_blocks: u32,
    /// Erasures since format or mount.
    pub erases: u32,
    /// Bytes handed to the layout: compressed pages.
    pub written_size: u64,
    /// Bytes that collection moved.
    pub moved_size: u64,
    /// Bytes that the layout programmed.
    pub programmed_size: u64,
    /// What the compressor makes of the pages that are not same-filled; absent without any.
    pub compression_ratio: Option<f64>,
    /// What compressor and store make of them.
    pub used_ratio: Option<f64>,
}

/// What was asked of the medium, and of the compressor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreCounters {
    /// Reads of the medium.
    pub reads: u64,
    /// Of them loads of another flash page into the data register.
    pub loads: u64,
    /// Of them changes of the column within it.
    pub columns: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Programs: of flash pages, or of bytes in place.
    pub programs: u64,
    /// Bytes programmed.
    pub program_bytes: u64,
    /// Erasures.
    pub erases: u64,
    /// Pages given to the compressor.
    pub compressed_pages: u64,
    /// Pages that it gave back.
    pub decompressed_pages: u64,
}

impl std::ops::Sub for StoreCounters {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            loads: self.loads - before.loads,
            columns: self.columns - before.columns,
            read_bytes: self.read_bytes - before.read_bytes,
            programs: self.programs - before.programs,
            program_bytes: self.program_bytes - before.program_bytes,
            erases: self.erases - before.erases,
            compressed_pages: self.compressed_pages - before.compressed_pages,
            decompressed_pages: self.decompressed_pages - before.decompressed_pages,
        }
    }
}

/// How the erasures of a medium are spread over its good blocks; of media that rewrite in
/// place, how often each block's bytes were rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wear {
    /// Blocks that are not bad.
    pub good_blocks: u32,
    /// Of the least worn.
    pub min: u32,
    /// On average.
    pub mean: f64,
    /// Of the most worn.
    pub max: u32,
}

/// A value on the heap that C keeps pointers to: unlike a `Box`, moving it claims nothing.
struct Heap<T: ?Sized>(NonNull<T>);

impl<T: ?Sized> Heap<T> {
    fn from_box(value: Box<T>) -> Self {
        Self(NonNull::from(Box::leak(value)))
    }

    fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Heap<[T]> {
    fn zeroed(count: usize) -> Self
    where
        T: Clone + Default,
    {
        Self::from_box(vec![T::default(); count].into_boxed_slice())
    }
}

impl<T: ?Sized> Drop for Heap<T> {
    fn drop(&mut self) {
        // SAFETY: it came from a `Box`, and nobody else frees it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// An emulated medium.
struct Emulated(NonNull<ffi::Emulated>);

impl Emulated {
    fn open(spec: &StoreSpec) -> Result<Self> {
        let invalid =
            |path: &PathBuf| Error::data(path.display().to_string(), "has a zero byte in its name");
        let path = spec.file.as_ref().map(|path| {
            CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| invalid(path))
        });
        let path = path.transpose()?;
        let config = ffi::EmulatedConfig {
            program_bytes: spec.geometry.program_bytes,
            block_bytes: spec.geometry.block_bytes,
            block_count: spec.geometry.block_count,
            path: path.as_ref().map_or(null(), |path| path.as_ptr()),
            seed: spec.seed,
            factory_bad: spec.faults.factory_bad_blocks,
            endurance_cycles: spec.faults.endurance_cycles,
            program_fail_ppm: spec.faults.program_fail_ppm,
            erase_fail_ppm: spec.faults.erase_fail_ppm,
            corrected_ppm: spec.faults.corrected_ppm,
        };
        // SAFETY: the config is whole, and its path lives until the call returns.
        let medium = unsafe { ffi::fp_emulated_open(&raw const config) };
        NonNull::new(medium).map(Self).ok_or_else(|| {
            let error = std::io::Error::last_os_error();
            match &spec.file {
                Some(file) if error.kind() == std::io::ErrorKind::AlreadyExists => Error::data(
                    file.display().to_string(),
                    "is no medium of this shape; name another file, or remove it",
                ),
                Some(file) => Error::file(file, error),
                None => Error::io(format!("a medium of {} bytes", spec.geometry.bytes()), error),
            }
        })
    }

    fn medium(&self) -> *const ffi::Medium {
        // SAFETY: the medium is open.
        unsafe { ffi::fp_emulated_medium(self.0.as_ptr()) }
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        // SAFETY: it was opened and is closed once.
        unsafe { ffi::fp_emulated_close(self.0.as_ptr()) }
    }
}

/// What stands between store and compressor, and counts.
struct Tap {
    inner: *const ffi::Compressor,
    compressed: u64,
    decompressed: u64,
}

/// # Safety
/// As `compress` of `struct fp_swap_compressor`; `context` is a [`Tap`].
unsafe extern "C" fn tap_compress(
    context: *mut c_void,
    page: *const u8,
    page_bytes: u32,
    out: *mut u8,
    capacity: u32,
) -> u32 {
    // SAFETY: the tap and its compressor live as long as the store that calls.
    unsafe {
        let tap = context.cast::<Tap>();
        (*tap).compressed += 1;
        let inner = (*tap).inner;
        (*inner)
            .compress
            .map_or(0, |compress| compress((*inner).context, page, page_bytes, out, capacity))
    }
}

/// # Safety
/// As `decompress` of `struct fp_swap_compressor`; `context` is a [`Tap`].
unsafe extern "C" fn tap_decompress(
    context: *mut c_void,
    data: *const u8,
    size: u32,
    page: *mut u8,
    page_bytes: u32,
) -> c_int {
    // SAFETY: the tap and its compressor live as long as the store that calls.
    unsafe {
        let tap = context.cast::<Tap>();
        (*tap).decompressed += 1;
        let inner = (*tap).inner;
        (*inner)
            .decompress
            .map_or(-1, |decompress| decompress((*inner).context, data, size, page, page_bytes))
    }
}

/// # Safety
/// `data` has `size` bytes.
unsafe extern "C" fn crc32(crc: u32, data: *const c_void, size: usize) -> u32 {
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
    let mut hasher = crc32fast::Hasher::new_with_initial(crc);
    hasher.update(bytes);
    hasher.finalize()
}

/// A compressor, its memory, and the tap before it.
struct Tapped {
    tap: Heap<Tap>,
    /// What the store is shown; points to `tap`.
    shown: Heap<ffi::Compressor>,
    /// Holds the compressor that `tap` points to.
    _memory: Heap<[u128]>,
}

impl Tapped {
    fn new(compressor: Compressor, page_bytes: u32) -> Result<Option<Self>> {
        let Some(number) = compressor.number() else { return Ok(None) };
        let bytes = compressor.memory_bytes(page_bytes);
        let memory = Heap::<[u128]>::zeroed(bytes.div_ceil(size_of::<u128>()));
        // SAFETY: the memory is as large as was asked for, and aligned to 16.
        let inner = unsafe {
            ffi::fp_shim_compressor(number, page_bytes, memory.as_ptr().cast::<c_void>())
        };
        if inner.is_null() {
            let what = format!("{} cannot compress pages of {page_bytes} bytes", compressor.name());
            return Err(Error::design(what));
        }
        let tap = Heap::from_box(Box::new(Tap { inner, compressed: 0, decompressed: 0 }));
        let shown = Heap::from_box(Box::new(ffi::Compressor {
            context: tap.as_ptr().cast::<c_void>(),
            compress: Some(tap_compress),
            decompress: Some(tap_decompress),
        }));
        Ok(Some(Self { tap, shown, _memory: memory }))
    }
}

/// NAND that looks as if it could be rewritten.
struct Rewriter {
    rewriter: Heap<[u64]>,
    _block: Heap<[u8]>,
    _good: Heap<[u32]>,
}

impl Rewriter {
    fn new(nand: *const ffi::Medium, geometry: Geometry) -> Result<Self> {
        let block = Heap::<[u8]>::zeroed(geometry.block_bytes as usize);
        let good = Heap::<[u32]>::zeroed(geometry.block_count as usize);
        // SAFETY: a function of nothing.
        let bytes = unsafe { ffi::fp_shim_rewriter_bytes() };
        let rewriter = Heap::<[u64]>::zeroed(bytes.div_ceil(size_of::<u64>()));
        // SAFETY: the NAND is open, and the memory as large as the header says.
        let code = unsafe {
            ffi::fp_swap_rewriter_init(
                rewriter.as_ptr().cast::<ffi::Rewriter>(),
                nand,
                block.as_ptr().cast::<u8>(),
                good.as_ptr().cast::<u32>(),
            )
        };
        result(code)?;
        Ok(Self { rewriter, _block: block, _good: good })
    }

    fn as_ptr(&self) -> *mut ffi::Rewriter {
        self.rewriter.as_ptr().cast::<ffi::Rewriter>()
    }

    fn medium(&self) -> *const ffi::Medium {
        // SAFETY: the rewriter is alive.
        unsafe { ffi::fp_shim_rewriter_medium(self.as_ptr()) }
    }
}

/// A store and its medium.
///
/// Everything that C points to lies on the heap and is freed with the store, the store
/// itself first.
pub struct Store {
    swap: Heap<[u64]>,
    page_bytes: u32,
    memory_bytes: u64,
    geometry: Geometry,
    _config: Heap<ffi::Config>,
    _memory: Heap<[u32]>,
    compressor: Option<Tapped>,
    rewriter: Option<Rewriter>,
    emulated: Emulated,
}

// SAFETY: what it points to is its own alone, and C keeps nothing a thread.
unsafe impl Send for Store {}

impl Store {
    /// Make an empty store on its medium.
    ///
    /// # Errors
    /// Sizes that cannot be, a medium too small for the layout, a file that cannot be made.
    pub fn format(spec: &StoreSpec) -> Result<Self> {
        Self::start(spec, true)
    }

    /// Take up the store that the file holds.
    ///
    /// # Errors
    /// As [`Store::format`], and a file without such a store.
    pub fn mount(spec: &StoreSpec) -> Result<Self> {
        Self::start(spec, false)
    }

    fn start(spec: &StoreSpec, fresh: bool) -> Result<Self> {
        spec.check()?;
        let emulated = Emulated::open(spec)?;
        let rewriter = match spec.layout {
            Layout::Rewrite => Some(Rewriter::new(emulated.medium(), spec.geometry)?),
            Layout::Fragments | Layout::Log => None,
        };
        let compressor = Tapped::new(spec.compressor, spec.page_bytes)?;
        let words = spec.words();
        let memory = Heap::<[u32]>::zeroed(words);
        let layout = match spec.layout {
            Layout::Log => &raw const ffi::fp_swap_log,
            Layout::Fragments | Layout::Rewrite => &raw const ffi::fp_swap_fragments,
        };
        let config = Heap::from_box(Box::new(ffi::Config {
            medium: rewriter.as_ref().map_or_else(|| emulated.medium(), Rewriter::medium),
            layout,
            compressor: compressor.as_ref().map_or(null(), |tapped| tapped.shown.as_ptr()),
            crc: Some(crc32),
            page_bytes: spec.page_bytes,
            slot_count: spec.slot_count,
            reserve_blocks: spec.reserve_blocks,
            chunk_count: spec.chunk_count(),
            memory: memory.as_ptr().cast::<c_void>(),
            memory_bytes: words * size_of::<u32>(),
        }));
        // SAFETY: a function of nothing.
        let bytes = unsafe { ffi::fp_shim_store_bytes() };
        let store = Self {
            swap: Heap::<[u64]>::zeroed(bytes.div_ceil(size_of::<u64>())),
            page_bytes: spec.page_bytes,
            memory_bytes: spec.memory_bytes(),
            geometry: spec.geometry,
            _config: config,
            _memory: memory,
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
            Err(other) => Err(other.into()),
        }
    }

    fn swap(&self) -> *mut ffi::Swap {
        self.swap.as_ptr().cast::<ffi::Swap>()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Bytes of RAM that the store takes beside its medium.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Put `page` into `slot`, in place of what it held.
    ///
    /// # Errors
    /// [`StoreError::Full`]: the slot keeps what it held.
    pub fn write(&mut self, slot: u32, page: &[u8]) -> std::result::Result<(), StoreError> {
        if page.len() != self.page_bytes as usize {
            return Err(StoreError::Invalid);
        }
        // SAFETY: the page has the store's bytes.
        result(unsafe { ffi::fp_swap_write(self.swap(), slot, page.as_ptr().cast()) })
    }

    /// Get the page of `slot`; `page` is undefined after an error.
    ///
    /// # Errors
    /// [`StoreError::Empty`], or what became of the page.
    pub fn read(&mut self, slot: u32, page: &mut [u8]) -> std::result::Result<(), StoreError> {
        if page.len() != self.page_bytes as usize {
            return Err(StoreError::Invalid);
        }
        // SAFETY: the page has the store's bytes.
        result(unsafe { ffi::fp_swap_read(self.swap(), slot, page.as_mut_ptr().cast()) })
    }

    /// Forget the page of `slot`; nothing where it holds none.
    ///
    /// # Errors
    /// No such slot, or a medium that failed.
    pub fn free(&mut self, slot: u32) -> std::result::Result<(), StoreError> {
        // SAFETY: the store is started.
        result(unsafe { ffi::fp_swap_free(self.swap(), slot) })
    }

    /// Whether `slot` holds a page.
    pub fn holds(&self, slot: u32) -> bool {
        // SAFETY: the store is started.
        unsafe { ffi::fp_swap_holds(self.swap(), slot) }
    }

    /// Put all that was written onto the medium.
    ///
    /// # Errors
    /// A medium that failed or is full.
    pub fn sync(&mut self) -> std::result::Result<(), StoreError> {
        // SAFETY: the store is started.
        result(unsafe { ffi::fp_swap_sync(self.swap()) })?;
        match &self.rewriter {
            // SAFETY: the rewriter was made and its NAND is open.
            Some(rewriter) => result(unsafe { ffi::fp_swap_rewriter_flush(rewriter.as_ptr()) }),
            None => Ok(()),
        }
    }

    /// Whether a page is sure to find room, however little it shrinks, but for pieces that are
    /// too small for it.
    pub fn has_room_for_a_page(&self) -> bool {
        let Statistics { mem_used_total, mem_limit, .. } = self.statistics();
        // With what its headers take at most.
        mem_used_total + u64::from(self.page_bytes) + 64 <= mem_limit
    }

    /// Statistics.
    pub fn statistics(&self) -> Statistics {
        let mut stat = ffi::Stat::default();
        // SAFETY: the store is started, and `stat` is the struct's size.
        unsafe { ffi::fp_swap_stat(self.swap(), &raw mut stat) };
        // Same-filled pages take no data: they say nothing about the compressor.
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

    /// Walk the whole medium and compare it with memory. Slow: for tests.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&mut self) -> Result<()> {
        // SAFETY: the store is started.
        let wrong = unsafe { ffi::fp_swap_check(self.swap()) };
        if wrong.is_null() {
            return Ok(());
        }
        // SAFETY: a static string.
        let wrong = unsafe { CStr::from_ptr(wrong) };
        Err(Error::data("swap store", wrong.to_string_lossy()))
    }

    /// What was asked of the medium and of the compressor so far.
    pub fn counters(&self) -> StoreCounters {
        let mut medium = ffi::EmulatedCounters::default();
        // SAFETY: the medium is open, and the struct is its size.
        unsafe { ffi::fp_emulated_counters(self.emulated.0.as_ptr(), &raw mut medium) };
        let tapped = self.compressor.as_ref().map_or((0, 0), |tapped| {
            // SAFETY: the tap is alive, and nobody writes to it meanwhile.
            let tap = unsafe { &*tapped.tap.as_ptr() };
            (tap.compressed, tap.decompressed)
        });
        StoreCounters {
            reads: medium.reads,
            loads: medium.loads,
            columns: medium.columns,
            read_bytes: medium.read_bytes,
            programs: medium.programs,
            program_bytes: medium.program_bytes,
            erases: medium.erases,
            compressed_pages: tapped.0,
            decompressed_pages: tapped.1,
        }
    }

    /// How the medium is worn.
    pub fn wear(&self) -> Wear {
        let medium = self.emulated.0.as_ptr();
        // SAFETY: the medium is open, and the block one of its.
        let good = (0..self.geometry.block_count).filter_map(|block| unsafe {
            (!ffi::fp_emulated_is_bad(medium, block)).then(|| ffi::fp_emulated_wear(medium, block))
        });
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

    fn spec(layout: Layout, compressor: Compressor) -> StoreSpec {
        let geometry = if layout.is_for_nand() { NAND } else { IN_PLACE };
        StoreSpec {
            layout,
            compressor,
            page_bytes: 4096,
            slot_count: 128,
            geometry,
            reserve_blocks: 0,
            file: None,
            faults: Faults::default(),
            seed: 1,
        }
    }

    /// Pages of every sort: same-filled, compressible, incompressible.
    fn page(content: u64) -> [u8; 4096] {
        let mut page = [0; 4096];
        let percent = [0, 10, 25, 60, 100][content as usize % 5];
        Synthetic { percent, seed: 3 }.fill(content, &mut page);
        page
    }

    #[test]
    fn every_layout_gives_back_what_every_compressor_made() {
        for (name, layout) in Layout::ALL {
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

    #[test]
    fn a_full_medium_is_a_result_and_a_wrong_slot_an_error() {
        for (_, layout) in Layout::ALL {
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
        let kept = StoreSpec { file, ..spec(Layout::Log, Compressor::Deflate) };
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
        let other = StoreSpec { geometry: Geometry { block_count: 31, ..NAND }, ..kept };
        let error = Store::format(&other).err().unwrap().to_string();
        assert!(error.contains("no medium of this shape"), "{error}");
    }

    #[test]
    fn what_cannot_be_is_one_line() {
        let fragments = spec(Layout::Fragments, Compressor::None);
        let log = spec(Layout::Log, Compressor::None);
        for (wrong, line) in [
            (StoreSpec { geometry: NAND, ..fragments.clone() }, "rewrites in place"),
            (StoreSpec { geometry: IN_PLACE, ..log.clone() }, "wants NAND"),
            (StoreSpec { page_bytes: 4095, ..log.clone() }, "multiple of 4"),
            (StoreSpec { slot_count: 0, ..log.clone() }, "no 0 slots"),
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
