//! The error type of the engine. A message states in one line what is wrong, where, and what to do.

use std::path::Path;

/// An error of the engine. Its message is a single line that a command can show unchanged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused a file.
    #[error("{location}: {source}")]
    Io {
        /// The file, as the user named it.
        location: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file is damaged, has another format, or states something impossible.
    #[error("{location}: {message}")]
    Data {
        /// The file, with line or byte if known.
        location: String,
        /// The fault, and what to do.
        message: String,
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
    /// Creates an [`Error::Io`] at `location`.
    pub fn io(location: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { location: location.into(), source }
    }

    /// Creates an [`Error::Io`] on the file `path`.
    pub fn file(path: &Path, source: std::io::Error) -> Self {
        Self::io(path.display().to_string(), source)
    }

    /// Creates an [`Error::Data`] at `location`.
    pub fn data(location: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Data { location: location.into(), message: message.into() }
    }

    /// Creates an [`Error::Design`].
    pub fn design(message: impl Into<String>) -> Self {
        Self::Design(message.into())
    }

    /// Returns whether the disk was full.
    pub fn is_disk_full(&self) -> bool {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. }
            if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}
