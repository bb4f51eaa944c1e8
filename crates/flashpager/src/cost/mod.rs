//! Cost: counts × media × handler gives time, bandwidth and latency.
//!
//! A price applies to counts, to a class of faults, or to one fault. It does not depend on the policy
//! that caused them. So a result re-prices for another part or bus without a replay.
//!
//! The four steps of a fault are those of CARDIS 2010, section 4.2: load, fetch, write, read. Usually
//! a time is a sum of prices ([`Time::of`]). If flash or bus go on while the program runs, it is not:
//! then the faults are executed one by one, in time ([`Execution`], [`LineExecution`]).

mod bandwidth;
mod energy;
mod execution;
mod fetch;
mod fetch_prices;
pub mod handler;
mod latency;
mod line_fetch;
mod nor;
mod prices;
mod read_disturb;
mod run_time;
mod time;
mod warnings;

pub use bandwidth::{MIB, RawBandwidth, bandwidth_mib_s};
pub use energy::FlashEnergy;
pub use execution::{Distribution, Execution, ExecutionTime};
pub use fetch::Fetch;
pub use fetch_prices::FetchPrices;
pub use handler::Handler;
pub use latency::{Latency, fault_latencies};
pub use line_fetch::{LineExecution, LineFetch};
pub use nor::NorComparison;
pub use prices::{Prices, Ram, ReadSettings, SoftwareCosts, TagPrices, t_r_ns};
pub use read_disturb::ReadDisturb;
pub use run_time::{RunTime, Work, fault_path};
pub use time::Time;
pub use warnings::{fetches_below_codeword, short_tag, warnings};
