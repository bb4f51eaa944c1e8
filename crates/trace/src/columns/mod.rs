//! Parquet with the few features that our files use: a reader that is safe for files from
//! strangers, and functions that all writers share.

pub(crate) mod encode;
pub mod footer;
pub mod pages;
mod thrift;

use std::io;

use flashpager_base::{Error, shown};
use flate2::Crc;
use parquet::errors::ParquetError;

/// Returns the CRC-32 of `bytes`, the checksum of our files.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Makes an error of one that the Parquet writer returned. Most come from the system.
pub fn parquet_error(place: &str, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => Error::io(place, *source),
            Err(other) => Error::data(place, shown(other)),
        },
        other => Error::data(place, format!("cannot be written ({})", shown(other))),
    }
}
