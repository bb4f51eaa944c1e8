//! The catalog of parts, which is compiled in, and parts in files of the user.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use flashpager_base::{Error, Result, did_you_mean};
use include_dir::{Dir, include_dir};

use crate::datasheet::Part;

/// The largest file that is read. A part takes about 2 KB.
const MAX_FILE_BYTES: u64 = 1 << 20;

static CATALOG: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../parts");

/// All parts of the catalog, in the order of their names.
///
/// # Errors
/// If a file of the catalog holds no part, which tests exclude.
pub fn catalog() -> Result<&'static [Part]> {
    static PARTS: OnceLock<Vec<Part>> = OnceLock::new();
    match PARTS.get() {
        Some(parts) => Ok(parts),
        None => {
            let parts = parse_catalog()?;
            Ok(PARTS.get_or_init(|| parts))
        }
    }
}

fn parse_catalog() -> Result<Vec<Part>> {
    let mut parts = CATALOG
        .files()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
        .map(|file| {
            let file_name = format!("parts/{}", file.path().display());
            Part::parse(file.contents_utf8().unwrap_or_default(), &file_name)
        })
        .collect::<Result<Vec<Part>>>()?;
    parts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(parts)
}

/// Reads the text of a part's file.
///
/// # Errors
/// If the file cannot be read, is larger than 1 MiB, or is no UTF-8 text.
pub fn read(path: &Path) -> Result<String> {
    let file_name = || path.display().to_string();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|e| Error::file(path, e))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let reason = format!("is larger than {MAX_FILE_BYTES} bytes: not a part's file");
        return Err(Error::data(file_name(), reason));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let reason = "is no UTF-8 text; save it as UTF-8";
        Error::data(format!("{}, line {line}", file_name()), reason)
    })
}

/// Finds the part of this name in the catalog, or reads it from a path that ends in `.toml`.
///
/// # Errors
/// If the name is unknown, or the file holds no part.
pub fn find(name: &str) -> Result<Part> {
    if name.ends_with(".toml") {
        return Part::parse(&read(Path::new(name))?, name);
    }
    let parts = catalog()?;
    if let Some(part) = parts.iter().find(|part| part.name.eq_ignore_ascii_case(name)) {
        return Ok(part.clone());
    }
    let near = did_you_mean(name, parts.iter().map(|part| part.name.as_str()));
    let count = parts.len();
    Err(Error::design(format!(
        "unknown part '{name}'{near} ('flashpager parts list' has all {count} that are known)"
    )))
}
