//! The mappings of a running process: the addresses of its files in memory.

use std::path::{Path, PathBuf};

use flashpager_base::Result;

use super::placer::Placer;
use crate::input::{parse_decimal, parse_hex};

impl Placer {
    /// Loads every file that process `pid` has mapped, as [`Placer::file_mapped`] does. A process
    /// that has ended has mapped nothing.
    ///
    /// # Errors
    /// If the library cannot be placed behind the others.
    pub fn load_mappings_of(&mut self, pid: u32) -> Result<()> {
        let Ok(maps) = std::fs::read_to_string(format!("/proc/{pid}/maps")) else {
            return Ok(());
        };
        for line in maps.lines() {
            if let Some((start, end, offset, path)) = parse(line)
                && !is_valgrinds(&path)
            {
                self.file_mapped(&path, offset, start, end)?;
            }
        }
        Ok(())
    }
}

/// Returns true if a file belongs to Valgrind. Its tool and the libraries that it preloads lie in
/// the memory of the program.
fn is_valgrinds(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("valgrind"))
}

/// Parses a line `start-end perms offset device inode path` to start, end, offset and path. `None`
/// unless it is an executable mapping of a file.
fn parse(line: &str) -> Option<(u64, u64, u64, PathBuf)> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let executable = fields.next()?.contains('x');
    let offset = fields.next()?;
    let inode = fields.nth(1)?;
    let path = fields.next()?.trim_start();
    let is_file = executable && parse_decimal(inode.as_bytes())? != 0;
    is_file.then_some((
        parse_hex(start.as_bytes())?,
        parse_hex(end.as_bytes())?,
        parse_hex(offset.as_bytes())?,
        PathBuf::from(path),
    ))
}
