//! PA-FIFO-SC (In, Shin & Kim, LCTES 2007, section 3.2): FIFO with second chance whose false faults
//! are short.
//!
//! `pa-fifo-sc(valid)`: as [`super::fifo_sc`], but a false fault moves nothing down, so *valid* may
//! hold more than `valid` pages for a while. The next true fault first moves the surplus down,
//! which the load hides as far as it lasts, and then goes on as there.

use super::fifo_sc::SecondChance;

/// FIFO with second chance, which moves pages down at the next true fault.
pub type PaFifoSc = SecondChance<true>;
