//! The error type of the engine. A message states in one line what is wrong, where, and what to do.

use std::path::Path;

/// An error of the engine. Its message is a single line that a command can show unchanged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused a file.
    #[error("{place}: {source}")]
    Io {
        /// The file, as the user named it.
        place: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file is damaged, of another format, or states something impossible.
    #[error("{place}: {what}")]
    Data {
        /// The file, with line or byte if known.
        place: String,
        /// The fault, and what to do.
        what: String,
    },
    /// A design, a part or a parameter is impossible.
    #[error("{0}")]
    Design(String),
    /// The caller stopped the work.
    #[error("interrupted")]
    Interrupted,
}

/// The result type of the engine.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an [`Error::Io`] at `place`.
    pub fn io(place: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { place: place.into(), source }
    }

    /// Creates an [`Error::Io`] on the file `path`.
    pub fn file(path: &Path, source: std::io::Error) -> Self {
        Self::io(path.display().to_string(), source)
    }

    /// Creates an [`Error::Data`] at `place`.
    pub fn data(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Data { place: place.into(), what: what.into() }
    }

    /// Creates an [`Error::Design`].
    pub fn design(what: impl Into<String>) -> Self {
        Self::Design(what.into())
    }

    /// Returns whether the disk was full.
    pub fn is_disk_full(&self) -> bool {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. }
            if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}
