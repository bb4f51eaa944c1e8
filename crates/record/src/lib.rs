//! Recordings become traces: foreign formats and the recorders' stream, and where the
//! code lies in flash.

mod csv;
mod din;
mod fetch;
mod functions;
pub mod import;
pub mod input;
mod lackey;
pub mod pipe;
pub mod placement;
mod recording;
pub mod region;
mod sink;
mod stream;
