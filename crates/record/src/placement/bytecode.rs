//! The image of a program without files: code that CAP files lay out, and bytecode that can lie in
//! any order.

use flashpager_trace::{Image, Section, Symbol};

/// The section of raw bytecode arrays, which can lie in any order.
pub const BYTECODE: &str = "bytecode";

/// The section of the method component of a CAP file, which keeps the order of the file.
pub const METHOD_COMPONENT: &str = "Method.cap";

/// Makes an image from offset 0 to `end`, at most 4 GiB. Its first `given_bytes` come from CAP files.
pub fn image(path: &str, given_bytes: u32, end: u64, symbols: Vec<Symbol>) -> Image {
    let section = |name: &str, offset, bytes| Section {
        name: name.to_owned(),
        address: u64::from(offset),
        offset,
        bytes,
    };
    let sections = [
        section(METHOD_COMPONENT, 0, given_bytes),
        section(BYTECODE, given_bytes, (end - u64::from(given_bytes)) as u32),
    ];
    Image {
        path: path.to_owned(),
        build_id: String::new(),
        offset: 0,
        bytes: end as u32,
        sections: sections.into_iter().filter(|section| section.bytes > 0).collect(),
        symbols,
    }
}
