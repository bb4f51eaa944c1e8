//! Recordings become traces: foreign formats and the recorders' stream are read, and the code
//! that they report is placed in flash.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod fetch;
mod functions;
pub mod import;
pub mod input;
pub mod pipe;
pub mod placement;
mod readers;
mod recording;
pub mod region;
mod session;
mod sink;
mod stream;
mod unplaced;
