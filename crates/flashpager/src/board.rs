//! Boards: TOML files that say what lies around a flash part.

pub mod host;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

/// A board takes 2 KB; whatever lies beyond this is none.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Read a TOML file.
///
/// # Errors
/// A file that cannot be read, that is too large, or that is no TOML.
pub fn read_table(path: &Path) -> Result<toml::Table> {
    let wrong = |what: String| Error::data(path.display().to_string(), what);
    if path.exists() && !path.is_file() {
        return Err(wrong("no file".into()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| Error::file(path, error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(wrong(format!("over {} MiB is no board and no space", MAX_FILE_BYTES >> 20)));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| wrong("no valid TOML: it is not UTF-8 text".into()))?;
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let place = line.map_or(String::new(), |line| format!(" in line {line}"));
        wrong(format!("no valid TOML{place}: {}", error.message()))
    })
}
