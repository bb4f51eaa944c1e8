//! The objects that a map names, and the alignments of their sections.

use std::path::{Path, PathBuf};

use flashpager_base::shown;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};
use rustc_hash::FxHashMap;

use super::map::{InputSection, LINKER_STUBS};
use crate::elf::read_bytes;

/// Number of folders above that of the map in which a relative path is tried.
const FOLDERS_ABOVE: usize = 3;

/// Sections of one object: name, length in bytes, alignment in bytes.
type ObjectSections = Vec<(String, u64, u64)>;

/// Alignment in bytes of the code that GNU ld makes.
const STUB_ALIGN: u64 = 8;

/// Sets the alignment of each of `inputs`. It is 0 for data whose object is gone or has no such
/// section: the linker may have made it. `beside` is the folder of the map.
///
/// # Errors
/// If something is wrong with the map. The message begins with a verb.
pub(super) fn align(inputs: &mut [InputSection], beside: &Path) -> Result<(), String> {
    let mut by_file: FxHashMap<String, Vec<usize>> = FxHashMap::default();
    for (number, input) in inputs.iter_mut().enumerate() {
        input.align = if input.file == LINKER_STUBS { STUB_ALIGN } else { 0 };
        by_file.entry(input.file.clone()).or_default().push(number);
    }
    let mut files: Vec<_> = by_file.into_iter().collect();
    files.sort();
    for (file, mut numbers) in files {
        let (path, bytes) = match find(&file, beside) {
            Ok(object) => object,
            Err(error) if numbers.iter().any(|number| inputs[*number].is_movable()) => {
                return Err(error);
            }
            Err(_) => continue,
        };
        // Data that the linker merged may have any length; code is matched first.
        numbers.sort_by_key(|number| !inputs[*number].is_movable());
        let mut known: FxHashMap<String, ObjectSections> = FxHashMap::default();
        for number in numbers {
            let input = &mut inputs[number];
            let sections = match known.entry(input.member.clone()) {
                std::collections::hash_map::Entry::Occupied(there) => there.into_mut(),
                std::collections::hash_map::Entry::Vacant(free) => {
                    match sections_of(&path, &bytes, &input.member) {
                        Ok(sections) => free.insert(sections),
                        Err(error) if input.is_movable() => return Err(error),
                        Err(_) => continue,
                    }
                }
            };
            if !input.is_movable() {
                let named = sections.iter().filter(|(name, ..)| *name == input.name);
                let align = named.map(|(.., align)| *align).max();
                input.align = align.unwrap_or(input.align);
                continue;
            }
            let wanted = input.bytes_before.unwrap_or(input.bytes);
            // A name occurs as often as sections with that name were linked.
            let section_index = sections
                .iter()
                .position(|(name, bytes, _)| *name == input.name && *bytes == wanted);
            let Some(section_index) = section_index else {
                return Err(format!(
                    "says that {} has a section {} of {wanted} bytes, and it has none: it was \
                     compiled again since; link again",
                    shown(input.origin()),
                    shown(&input.name)
                ));
            };
            input.align = sections.remove(section_index).2;
        }
    }
    Ok(())
}

/// Finds `file`. Returns its path and contents.
fn find(file: &str, beside: &Path) -> Result<(PathBuf, Vec<u8>), String> {
    let mut tried = vec![PathBuf::from(file)];
    if Path::new(file).is_relative() {
        let above = std::path::absolute(beside).unwrap_or_else(|_| beside.to_owned());
        tried.extend(above.ancestors().take(FOLDERS_ABOVE).map(|folder| folder.join(file)));
        // Objects may have been copied together with the map.
        tried.extend(Path::new(file).file_name().map(|name| above.join(name)));
    }
    let there = tried.iter().find(|path| path.is_file());
    let Some(path) = there else {
        return Err(format!(
            "names {}, which is gone: keep the objects (compile with -c, link apart; with -flto, -save-temps), beside \
             the map or where the linker ran",
            shown(file)
        ));
    };
    let bytes = read_bytes(path).map_err(|error| format!("names an object: {error}"))?;
    Ok((path.clone(), bytes))
}

fn sections_of(path: &Path, bytes: &[u8], member: &str) -> Result<ObjectSections, String> {
    let file_name = shown(path.display());
    let damaged = |error: object::read::Error| {
        format!("names {file_name}, which is no object of this linker ({error})")
    };
    if member.is_empty() {
        return parsed(bytes).map_err(damaged);
    }
    let archive = ArchiveFile::parse(bytes).map_err(damaged)?;
    let mut sections = Vec::new();
    for one in archive.members() {
        let one = one.map_err(damaged)?;
        if one.name() != member.as_bytes() {
            continue;
        }
        if archive.is_thin() {
            let beside = path.parent().unwrap_or(Path::new("")).join(member);
            let bytes =
                read_bytes(&beside).map_err(|error| format!("names {file_name}: {error}"))?;
            sections.extend(parsed(&bytes).map_err(damaged)?);
        } else {
            sections.extend(parsed(one.data(bytes).map_err(damaged)?).map_err(damaged)?);
        }
    }
    Ok(sections)
}

fn parsed(bytes: &[u8]) -> Result<ObjectSections, object::read::Error> {
    let file = object::File::parse(bytes)?;
    let sections = file.sections();
    Ok(sections
        .filter_map(|section| {
            Some((section.name().ok()?.to_owned(), section.size(), section.align().max(1)))
        })
        .collect())
}
