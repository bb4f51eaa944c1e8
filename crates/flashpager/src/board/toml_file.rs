//! Reading TOML files, and the values in them that TOML has no type for.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flashpager_base::sizes::parse_size;
use flashpager_base::{Error, Result};
use toml::Value as Toml;

/// Largest file that is read, in bytes. A board file has about 2 KB.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Reads a TOML file.
///
/// # Errors
/// If the file cannot be read, is too large, or is not TOML.
pub fn read_table(path: &Path) -> Result<toml::Table> {
    let wrong = |reason: String| Error::data(path.display().to_string(), reason);
    if path.exists() && !path.is_file() {
        return Err(wrong("no file".into()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| Error::file(path, error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(wrong(format!(
            "is larger than {} MiB: neither a board nor a space",
            MAX_FILE_BYTES >> 20
        )));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| wrong("is not valid TOML: it is not UTF-8 text".into()))?;
    parse_table(&text, path)
}

/// The table of a TOML text. Errors name the file `path`.
///
/// # Errors
/// If the text is not TOML, with the line.
pub(super) fn parse_table(text: &str, path: &Path) -> Result<toml::Table> {
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let at = line.map_or(String::new(), |line| format!(" in line {line}"));
        let is_too_deep = error.message().contains("recurse");
        let reason = if is_too_deep { "nested too deeply" } else { error.message() };
        Error::data(path.display().to_string(), format!("is not valid TOML{at}: {reason}"))
    })
}

/// A size in bytes, from a number or from text such as `2K`. Errors name the file `place`.
///
/// # Errors
/// If the value is not a size.
pub(super) fn size(place: &str, name: &str, given: &Toml) -> Result<u64> {
    let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
    parse_size(&text).map_err(|error| Error::data(place, format!("{name}: {error}")))
}

/// A list of texts; empty if the field is absent. Errors name the file `place`.
///
/// # Errors
/// If the field is not a list of texts.
pub(super) fn texts(table: &toml::Table, name: &str, place: &str) -> Result<Vec<String>> {
    let wrong = || Error::data(place, format!("{name}: must be a list of texts"));
    let text = |one: &Toml| one.as_str().map(str::to_owned).ok_or_else(wrong);
    match table.get(name) {
        None => Ok(Vec::new()),
        Some(Toml::Array(list)) => list.iter().map(text).collect(),
        Some(_) => Err(wrong()),
    }
}

/// A number, with or without a decimal point. `None` if the value is no number.
pub(super) fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}
