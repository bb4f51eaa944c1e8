//! Reads files of pages.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use flashpager_base::{Error, Result};
use flashpager_trace::columns::crc32;
use flashpager_trace::columns::footer::{Footer, RowGroup};
use flashpager_trace::columns::pages::plain_values;
use flate2::Crc;

use super::*;
use crate::workload::Contents;

/// Pages of memory, with their origins.
#[derive(Clone, Debug)]
pub struct Pages {
    info: PagesInfo,
    rows: Vec<(u32, u32, u64)>,
    mappings: Vec<String>,
    bytes: Vec<u8>,
}

impl Pages {
    /// Reads the file `path`.
    ///
    /// # Errors
    /// If the file cannot be read, is not a file of pages, is damaged, holds no page, or holds more
    /// than 4 GiB of pages.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, footer, info, checksums) = open(path)?;
        let place = path.display().to_string();
        let damaged = |message: String| {
            Error::data(&place, format!("is damaged ({message}): make or copy it again"))
        };
        if info.pages == 0 {
            return Err(Error::data(place, "holds no page"));
        }
        if info.pages * u64::from(info.page_bytes) > MAX_BYTES {
            return Err(Error::data(
                place,
                "holds more than 4 GiB of pages; capture fewer with --limit",
            ));
        }
        let file = Arc::new(file);
        let mut pages = Self { info, rows: Vec::new(), mappings: Vec::new(), bytes: Vec::new() };
        for (number, group) in footer.groups.iter().enumerate() {
            pages.add_group(&file, group).map_err(|e| match e.kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                    damaged(format!("in row group {}", number + 1))
                }
                _ => Error::io(&place, e),
            })?;
        }
        let mut checksum = Crc::new();
        for (origin, bytes) in pages.iter() {
            add_to_checksum(&mut checksum, origin, bytes);
        }
        if checksums.1 != checksum.sum() {
            return Err(damaged("its pages do not match their checksum".to_owned()));
        }
        Ok(pages)
    }

    fn add_group(&mut self, file: &Arc<File>, group: &RowGroup) -> io::Result<()> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let mut columns = Vec::new();
        for column in &group.columns {
            let (count, values) = plain_values(Arc::clone(file), column)?;
            if count != group.rows {
                return Err(damaged());
            }
            columns.push(values);
        }
        let [processes, mappings, addresses, bytes] = &columns[..] else { return Err(damaged()) };
        let rows = group.rows as usize;
        if processes.len() != rows * 4
            || addresses.len() != rows * 8
            || bytes.len() != rows * self.info.page_bytes as usize
        {
            return Err(damaged());
        }
        let mut names = &mappings[..];
        for (process, address) in processes.as_chunks().0.iter().zip(addresses.as_chunks().0) {
            let process = u32::from_le_bytes(*process);
            let name = (|| {
                let (length, rest) = names.split_first_chunk()?;
                let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                names = rest;
                std::str::from_utf8(name).ok().filter(|name| name.len() <= MAX_NAME_BYTES)
            })();
            let (Some(name), true) = (name, (process as usize) < self.info.processes.len()) else {
                return Err(damaged());
            };
            // Neighbouring pages are usually of one mapping.
            if self.mappings.last().is_none_or(|last| last != name) {
                self.mappings.push(name.to_owned());
            }
            let mapping = (self.mappings.len() - 1) as u32;
            self.rows.push((process, mapping, u64::from_le_bytes(*address)));
        }
        if !names.is_empty() {
            return Err(damaged());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the description.
    pub fn info(&self) -> &PagesInfo {
        &self.info
    }

    /// Returns the pages with their origins, in the file's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (PageOrigin<'_>, &[u8])> {
        self.rows.iter().zip(self.bytes.chunks_exact(self.info.page_bytes as usize)).map(
            |(&(process, mapping, address), bytes)| {
                (PageOrigin { process, mapping: &self.mappings[mapping as usize], address }, bytes)
            },
        )
    }

    /// Returns the bytes of all pages, one after another.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Contents for Pages {
    /// Gives the pages in turn. If `page` has another size, gives their bytes in turn.
    fn fill(&self, content: u64, page: &mut [u8]) {
        let all = self.bytes.len() as u64;
        let mut at = (u128::from(content) * page.len() as u128 % u128::from(all)) as usize;
        let mut rest = page;
        while !rest.is_empty() {
            let from = &self.bytes[at..];
            let (now, later) = rest.split_at_mut(from.len().min(rest.len()));
            now.copy_from_slice(&from[..now.len()]);
            rest = later;
            at = 0;
        }
    }
}

/// Reads the description of the file `path`, without its pages.
///
/// # Errors
/// If the file cannot be read, is not a file of pages, or is damaged.
pub fn info(path: &Path) -> Result<PagesInfo> {
    Ok(open(path)?.2)
}

fn open(path: &Path) -> Result<(File, Footer, PagesInfo, (u32, u32))> {
    let place = path.display().to_string();
    let mut file = File::open(path).map_err(|e| Error::file(path, e))?;
    let footer = Footer::read(path, &mut file, &PAGES_FILE)?;
    let info: PagesInfo =
        footer.description(path, &PAGES_FILE, METADATA_KEY, SCHEMA_VERSION..=SCHEMA_VERSION)?;
    let json = footer.value(METADATA_KEY).unwrap_or_default();
    let checksums = footer
        .value(CHECKSUM_KEY)
        .and_then(|text| text.split_once(' '))
        .and_then(|(info, rows)| Some((hexadecimal(info)?, hexadecimal(rows)?)))
        .filter(|(sum, _)| *sum == crc32(json.as_bytes()))
        .ok_or_else(|| Error::data(&place, "its description is damaged: make or copy it again"))?;
    let fits = check_page_bytes(info.page_bytes).is_ok()
        && footer.fixed_bytes == u64::from(info.page_bytes)
        && footer.rows == info.pages
        && u64::from(u32::MAX) >= info.pages;
    if !fits {
        return Err(Error::data(&place, "its description does not fit its contents"));
    }
    Ok((file, footer, info, checksums))
}
