//! The data register of a NAND chip, which holds one flash page and is read from some column on; or
//! two buffers of a flash page each, as in OneNAND; or a prefetch buffer before memory read in
//! place.

use flashpager_base::sizes::{MAX_FLASH_PAGE_BYTES, SMALL_PAGE_BYTES, power_of_two};
use flashpager_base::{Error, Result, named};
use serde::{Deserialize, Serialize};

/// The ways a register can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegisterModel {
    /// A read starts at column 0 and goes on byte after byte (CARDIS 2010, section 4.3).
    Sequential,
    /// The read command carries the first column, as on real chips.
    StartColumn,
    /// The column can be changed without a new load (05h–E0h).
    RandomColumn,
    /// The host reads two buffers of a flash page like RAM, from any column (OneNAND's DataRAM). A
    /// load goes into the buffer that was not used last.
    DoubleBuffer,
    /// Like [`Self::DoubleBuffer`], with prefetching: after every request the next flash page is
    /// loaded into the other buffer, unless it is there.
    DoubleBufferPrefetch,
}

impl RegisterModel {
    /// Returns whether there are two buffers, whose contents depend on more than the last request.
    pub fn has_two_buffers(self) -> bool {
        matches!(self, Self::DoubleBuffer | Self::DoubleBufferPrefetch)
    }
}

named! {
    RegisterModel: "unknown register model",
    "sequential" => Sequential,
    "start-column" => StartColumn,
    "random-column" => RandomColumn,
    "double-buffer" => DoubleBuffer,
    "double-buffer-prefetch" => DoubleBufferPrefetch,
}

/// The design of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterDesign {
    /// The way it is read.
    pub model: RegisterModel,
    /// Bytes of a flash page, a power of two.
    pub flash_page_bytes: u32,
    /// Bytes of a codeword, which is fetched and checked whole; `None` without host ECC.
    pub codeword_bytes: Option<u32>,
    /// Cache pages that a buffer before memory read in place prefetches; 0 without such a buffer.
    pub prefetch_lines: u32,
}

/// The maximum number of cache pages of a prefetch buffer.
const MAX_PREFETCH_LINES: u32 = 1024;

impl RegisterDesign {
    /// Returns whether its action at a request depends on more than the request before.
    pub fn is_tracked(&self) -> bool {
        self.model.has_two_buffers() || self.prefetch_lines > 0
    }

    /// Checks the design, alone and against the cache page to be fetched.
    ///
    /// # Errors
    /// If a size is impossible, or does not suit the model.
    pub fn check(&self, cache_page_bytes: u32) -> Result<()> {
        power_of_two("flash page", self.flash_page_bytes)?;
        if self.flash_page_bytes > MAX_FLASH_PAGE_BYTES {
            return Err(Error::design(format!(
                "a flash page of {} bytes is larger than {MAX_FLASH_PAGE_BYTES}",
                self.flash_page_bytes
            )));
        }
        if cache_page_bytes > self.flash_page_bytes {
            return Err(Error::design(format!(
                "a cache page of {cache_page_bytes} bytes is larger than the flash page of {}",
                self.flash_page_bytes
            )));
        }
        if let Some(codeword) = self.codeword_bytes {
            power_of_two("codeword", codeword)?;
            if codeword > self.flash_page_bytes {
                return Err(Error::design(format!(
                    "a codeword of {codeword} bytes is larger than the flash page of {}",
                    self.flash_page_bytes
                )));
            }
        }
        if self.model == RegisterModel::RandomColumn && self.flash_page_bytes <= SMALL_PAGE_BYTES {
            return Err(Error::design(format!(
                "random-column: small-page chips ({} bytes) have no column change; choose \
                 sequential or start-column",
                self.flash_page_bytes
            )));
        }
        self.check_prefetch(cache_page_bytes)
    }

    /// Checks that a prefetch buffer stands before memory read in place.
    fn check_prefetch(&self, cache_page_bytes: u32) -> Result<()> {
        let lines = self.prefetch_lines;
        if lines > MAX_PREFETCH_LINES {
            return Err(Error::design(format!(
                "a prefetch buffer of {lines} lines: take at most {MAX_PREFETCH_LINES}"
            )));
        }
        let is_in_place = self.model == RegisterModel::StartColumn
            && self.flash_page_bytes == cache_page_bytes
            && self.codeword_bytes.is_none();
        if lines > 0 && !is_in_place {
            return Err(Error::design(format!(
                "a prefetch buffer of {lines} lines stands before a part that is read in place: \
                 choose start-column, flash pages as large as a cache page, and no codeword"
            )));
        }
        Ok(())
    }
}

/// The position of the requested bytes relative to the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterCase {
    /// In a flash page that is not held.
    OtherPage,
    /// In the flash page of the buffer that was not used last.
    OtherBuffer,
    /// In the register's page, at its next column or after it.
    Forward,
    /// In the register's page, before its next column.
    Backward,
}

/// The action of a register at one block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The position of the block.
    pub case: RegisterCase,
    /// True if the page was loaded from the array (t_R).
    pub load: bool,
    /// True if the column was changed (t_CCS).
    pub column_change: bool,
    /// Bytes clocked out and discarded.
    pub bytes_skipped: u32,
    /// Bytes of the header of a home; 0 in the plain store.
    pub header_bytes: u32,
    /// Bytes over the bus, skipped ones and headers included.
    pub bytes_fetched: u32,
    /// Distance from the last requested block, in blocks, if both lie in one flash page.
    pub distance: Option<i32>,
    /// The first flash page that is loaded ahead, if any is.
    pub prefetch: Option<u32>,
    /// The number of flash pages loaded ahead.
    pub prefetches: u32,
    /// The number of prefetched pages that left the buffer unused.
    pub dropped: u32,
}

/// The number that stands for no flash page.
const NONE: u32 = u32::MAX;

/// The state of a register.
#[derive(Clone, Debug)]
pub struct Register {
    model: RegisterModel,
    flash_page_shift: u32,
    flash_page_mask: u32,
    block_bytes: u32,
    codeword_mask: u32,
    last_flash_page: u32,
    /// The flash page held, or used last; no page at first.
    page: u32,
    /// The next column of that page.
    next_column: u32,
    /// Column of the last requested block, before widening to codewords.
    last_column: u32,
    /// The flash page in the buffer that was not used last.
    other_page: u32,
    /// The maximum number of lines of the prefetch buffer.
    prefetch_lines: u32,
    /// The first line in the prefetch buffer.
    first_ahead: u32,
    /// The line after the last in the prefetch buffer.
    end_ahead: u32,
}

impl Register {
    /// An empty register that serves blocks of `block_bytes` from an image of `blocks` blocks.
    pub fn new(design: RegisterDesign, block_bytes: u32, blocks: u32) -> Self {
        let flash_page_shift = design.flash_page_bytes.trailing_zeros();
        let last_block = u64::from(blocks.saturating_sub(1)) * u64::from(block_bytes);
        Self {
            model: design.model,
            flash_page_shift,
            flash_page_mask: design.flash_page_bytes - 1,
            block_bytes,
            codeword_mask: design.codeword_bytes.unwrap_or(1).max(1) - 1,
            last_flash_page: (last_block >> flash_page_shift) as u32,
            page: NONE,
            next_column: 0,
            last_column: 0,
            other_page: NONE,
            prefetch_lines: design.prefetch_lines,
            first_ahead: 0,
            end_ahead: 0,
        }
    }

    /// The flash page of a byte offset.
    #[inline]
    pub fn flash_page(&self, offset: u32) -> u32 {
        offset >> self.flash_page_shift
    }

    /// Fetches the block at the flash offset `offset`, a multiple of the block size.
    #[inline]
    pub fn request(&mut self, offset: u32) -> Access {
        use RegisterModel::{
            DoubleBuffer, DoubleBufferPrefetch, RandomColumn, Sequential, StartColumn,
        };
        let wanted = self.flash_page(offset);
        if self.prefetch_lines > 0 {
            return self.read_in_stream(wanted);
        }
        let column = offset & self.flash_page_mask;
        let start = column & !self.codeword_mask;
        let end = (column + self.block_bytes + self.codeword_mask) & !self.codeword_mask;
        let (case, distance) = if wanted == self.page {
            let blocks = (column as i32 - self.last_column as i32) / self.block_bytes as i32;
            let case = if start >= self.next_column {
                RegisterCase::Forward
            } else {
                RegisterCase::Backward
            };
            (case, Some(blocks))
        } else if wanted == self.other_page && self.model.has_two_buffers() {
            (RegisterCase::OtherBuffer, None)
        } else {
            (RegisterCase::OtherPage, None)
        };
        let load = match case {
            RegisterCase::OtherPage => true,
            RegisterCase::Forward | RegisterCase::OtherBuffer => false,
            RegisterCase::Backward => matches!(self.model, Sequential | StartColumn),
        };
        let column_change = self.model == RandomColumn && !load && start != self.next_column;
        let bytes_skipped = match (self.model, load) {
            (Sequential, true) => start,
            (Sequential | StartColumn, false) => start - self.next_column,
            (StartColumn, true) | (RandomColumn | DoubleBuffer | DoubleBufferPrefetch, _) => 0,
        };
        if wanted != self.page {
            self.other_page = self.page;
        }
        self.page = wanted;
        self.next_column = end;
        self.last_column = column;
        let ahead = wanted + 1;
        let prefetch = (self.model == DoubleBufferPrefetch
            && ahead <= self.last_flash_page
            && ahead != self.other_page)
            .then_some(ahead);
        self.other_page = prefetch.unwrap_or(self.other_page);
        Access {
            case,
            load,
            column_change,
            bytes_skipped,
            header_bytes: 0,
            bytes_fetched: bytes_skipped + (end - start),
            distance,
            prefetch,
            prefetches: u32::from(prefetch.is_some()),
            dropped: 0,
        }
    }

    /// Serves `line` from the prefetch buffer, or restarts the stream there; then reads ahead.
    fn read_in_stream(&mut self, line: u32) -> Access {
        let is_held = (self.first_ahead..self.end_ahead).contains(&line);
        let kept_from = if is_held { line } else { self.end_ahead };
        let dropped = kept_from - self.first_ahead;
        let from = if is_held { self.end_ahead } else { line + 1 };
        let end = line.saturating_add(self.prefetch_lines).min(self.last_flash_page) + 1;
        (self.first_ahead, self.end_ahead) = (line + 1, end);
        let prefetches = end - from;
        Access {
            case: if is_held { RegisterCase::OtherBuffer } else { RegisterCase::OtherPage },
            load: !is_held,
            column_change: false,
            bytes_skipped: 0,
            header_bytes: 0,
            bytes_fetched: self.block_bytes,
            distance: None,
            prefetch: (prefetches > 0).then_some(from),
            prefetches,
            dropped,
        }
    }
}
