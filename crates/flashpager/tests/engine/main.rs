//! Tests of the engine through its facade, against slow and obvious references, golden counts, and
//! the papers' tables.

mod attribution;
mod calls;
mod cost;
mod defaults;
mod driver;
mod estimate;
mod functions;
mod golden;
mod layout;
mod model_policies;
mod pager;
mod parts;
mod pin;
mod readers;
mod reference;
mod replay_reference;
mod sample;
mod swap_pages;
mod warm_up;
mod windows;
