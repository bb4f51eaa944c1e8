//! The shipped boards, which are compiled in, and boards in other files.

use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result, did_you_mean};
use include_dir::{Dir, include_dir};

use super::toml_file::{parse_table, read_table};

static BOARDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../boards");

/// A shipped board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShippedBoard {
    /// Name of the board: that of its file, without `.toml`.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

/// The kind of a board whose file has no `kind`. Such a board is a user's own.
const OWN_KIND: &str = "own";
/// The kinds of shipped boards, in the order of lists: boards to buy, chips with an example of a
/// flash, and boards of papers and emulators.
const KINDS: [&str; 3] = ["board", "chip", "model"];

impl ShippedBoard {
    /// The kind of the board: `board` to buy, `chip` with an example of a flash, or `model` of a
    /// paper or an emulator.
    ///
    /// # Errors
    /// If the file is not TOML, or its kind is unknown.
    pub fn kind(&self) -> Result<&'static str> {
        let path = place(self.name);
        kind_of(&parse_table(self.text, &path)?, &path.display().to_string())
    }

    /// The first sentence of its description.
    ///
    /// # Errors
    /// If the file is not TOML.
    pub fn summary(&self) -> Result<String> {
        let table = parse_table(self.text, &place(self.name))?;
        let description = table.get("description").and_then(toml::Value::as_str);
        let words: Vec<&str> = description.unwrap_or_default().split_whitespace().collect();
        let whole = words.join(" ");
        Ok(whole.split_once(". ").map_or(whole.trim_end_matches('.'), |(first, _)| first).into())
    }
}

/// The kind of the board that `table` describes. Errors name the file `place`.
///
/// # Errors
/// If the kind is unknown.
pub(super) fn kind_of(table: &toml::Table, place: &str) -> Result<&'static str> {
    let Some(given) = table.get("kind") else { return Ok(OWN_KIND) };
    let known = |kind: &&'static str| given.as_str() == Some(*kind);
    KINDS.into_iter().find(known).ok_or_else(|| {
        let near = given.as_str().map(|given| did_you_mean(given, KINDS)).unwrap_or_default();
        let known = KINDS.join(", ");
        let message = format!(
            "kind = {given} is no kind of boards{near} (known: {known}; a board of your own has none)"
        );
        Error::data(place, message)
    })
}

/// All shipped boards, sorted by kind and name.
pub fn shipped() -> Vec<ShippedBoard> {
    let board = |file: &'static include_dir::File<'static>| {
        let name = file.path().to_str()?.strip_suffix(".toml")?;
        Some(ShippedBoard { name, text: file.contents_utf8()? })
    };
    let mut boards: Vec<ShippedBoard> = BOARDS.files().filter_map(board).collect();
    let rank = |board: &ShippedBoard| {
        let kind = board.kind().unwrap_or(OWN_KIND);
        KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len())
    };
    boards.sort_by_cached_key(|board| (rank(board), board.name));
    boards
}

/// The text of a shipped board's file.
///
/// # Errors
/// If the name is unknown.
pub fn text(name: &str) -> Result<&'static str> {
    find(name).map(|board| board.text).ok_or_else(|| unknown(name))
}

/// The shipped board of this name.
fn find(name: &str) -> Option<ShippedBoard> {
    shipped().into_iter().find(|board| board.name == name)
}

/// The error for an unknown name, with the known ones.
fn unknown(name: &str) -> Error {
    let boards = shipped();
    let names = || boards.iter().map(|board| board.name);
    let near = did_you_mean(name, names());
    let known = names().collect::<Vec<_>>().join(", ");
    Error::design(format!(
        "unknown board '{name}'{near} (known: {known}; a file is named with its path or .toml)"
    ))
}

/// The path of a shipped board, as errors name it.
fn place(name: &str) -> PathBuf {
    format!("boards/{name}.toml").into()
}

/// A board's table and the path of its file. A plain name is that of a shipped board; a path, or a name
/// that ends with `.toml`, is that of a file.
///
/// # Errors
/// If the name is unknown, or the file cannot be read or is not TOML.
pub(super) fn read(board: &Path) -> Result<(toml::Table, PathBuf)> {
    let is_name = board.components().count() == 1
        && board.extension().is_none_or(|extension| extension != "toml");
    match board.to_str().filter(|_| is_name) {
        Some(name) => match find(name) {
            Some(shipped) => Ok((parse_table(shipped.text, &place(name))?, place(name))),
            // A file may have such a name, too.
            None if board.exists() => Ok((read_table(board)?, board.to_owned())),
            None => Err(unknown(name)),
        },
        None => Ok((read_table(board)?, board.to_owned())),
    }
}
