//! The data register of a part from which units of any size are read.

use super::counts::{UnitCounts, UnitLoadClass};
use crate::register::{RegisterDesign, RegisterModel};

/// Stands for no flash page.
const NONE: u64 = u64::MAX;

/// The state of a register that serves pieces of flash pages.
pub(super) struct UnitRegister {
    design: RegisterDesign,
    /// The flash page held, or used last.
    page: u64,
    /// The next column of that page.
    next_column: u32,
    /// The flash page in the buffer that was not used last.
    other_page: u64,
    /// Loads of each flash page.
    pub(super) loads_by_page: Vec<u64>,
}

impl UnitRegister {
    /// An empty register.
    pub(super) fn new(design: RegisterDesign) -> Self {
        Self { design, page: NONE, next_column: 0, other_page: NONE, loads_by_page: Vec::new() }
    }

    /// Reads `bytes` from the flash offset `offset` on, a piece for each flash page. Adds them to
    /// `counts`.
    pub(super) fn read(
        &mut self,
        offset: u64,
        bytes: u32,
        counts: &mut UnitCounts,
    ) -> UnitLoadClass {
        let page_bytes = u64::from(self.design.flash_page_bytes);
        let mut class = UnitLoadClass { bytes_written: bytes, ..UnitLoadClass::default() };
        let (mut at, end) = (offset, offset + u64::from(bytes));
        while at < end {
            let page = at / page_bytes;
            let behind = end.min((page + 1) * page_bytes);
            let columns = (at - page * page_bytes) as u32..(behind - page * page_bytes) as u32;
            counts.bytes_skipped += self.read_piece(page, columns, &mut class);
            at = behind;
        }
        counts.loads += u64::from(class.loads);
        counts.column_changes += u64::from(class.column_changes);
        counts.bytes_fetched += u64::from(class.bytes_fetched);
        counts.bytes_written += u64::from(bytes);
        class
    }

    /// Reads the `columns` of a flash page. Returns the bytes skipped.
    fn read_piece(
        &mut self,
        page: u64,
        columns: std::ops::Range<u32>,
        class: &mut UnitLoadClass,
    ) -> u64 {
        let RegisterDesign { model, codeword_bytes, .. } = self.design;
        let codeword = codeword_bytes.unwrap_or(1).max(1);
        let start = columns.start / codeword * codeword;
        let end = columns.end.next_multiple_of(codeword);
        let is_held = page == self.page;
        let is_other = !is_held && model.has_two_buffers() && page == self.other_page;
        let is_backward = is_held && start < self.next_column;
        let reloads = matches!(model, RegisterModel::Sequential | RegisterModel::StartColumn);
        let load = !(is_held || is_other) || is_backward && reloads;
        let column_change =
            model == RegisterModel::RandomColumn && !load && start != self.next_column;
        let skipped = match (model, load) {
            (RegisterModel::Sequential, true) => start,
            (RegisterModel::Sequential | RegisterModel::StartColumn, false) => {
                start - self.next_column
            }
            _ => 0,
        };
        if !is_held {
            self.other_page = self.page;
        }
        (self.page, self.next_column) = (page, end);
        class.loads += u32::from(load);
        class.column_changes += u32::from(column_change);
        class.bytes_fetched += skipped + (end - start);
        if load {
            let page = page as usize;
            if page >= self.loads_by_page.len() {
                self.loads_by_page.resize(page + 1, 0);
            }
            self.loads_by_page[page] += 1;
        }
        u64::from(skipped)
    }
}
