//! One error type: what was wrong, where, and what to do, in one line.

use std::path::Path;

/// What can go wrong in the engine. Every message is a single line that a
/// command can show as it stands.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused a file.
    #[error("{place}: {source}")]
    Io {
        /// The file, as the user named it.
        place: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that is damaged, foreign, or says something impossible.
    #[error("{place}: {what}")]
    Data {
        /// The file, with line or byte where known.
        place: String,
        /// What is wrong and what to do.
        what: String,
    },
    /// A design, a part or a parameter that cannot be.
    #[error("{0}")]
    Design(String),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Shorthand for results of the engine.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An [`Error::Io`] at `place`.
    pub fn io(place: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { place: place.into(), source }
    }

    /// An [`Error::Io`] on the file `path`.
    pub fn file(path: &Path, source: std::io::Error) -> Self {
        Self::io(path.display().to_string(), source)
    }

    /// An [`Error::Data`] at `place`.
    pub fn data(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Data { place: place.into(), what: what.into() }
    }

    /// An [`Error::Design`].
    pub fn design(what: impl Into<String>) -> Self {
        Self::Design(what.into())
    }

    /// Whether the disk was full.
    pub fn is_disk_full(&self) -> bool {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. }
            if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}
