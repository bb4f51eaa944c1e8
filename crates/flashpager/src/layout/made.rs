//! Traces and a design that tests make.

use std::path::Path;

use flashpager_trace::{Image, Run, Symbol, TraceInfo, TraceWriter};

use crate::design::Design;
use crate::spec::DesignSpec;

/// Bytes of a cache page and of a flash page of [`design`], so that each miss costs the same.
pub(super) const PAGE_BYTES: u32 = 32;
/// Frames of [`design`].
pub(super) const FRAMES: usize = 3;

/// A design of [`FRAMES`] frames.
pub(super) fn design() -> Design {
    Design::new(DesignSpec {
        cache_bytes: (FRAMES as u32 * PAGE_BYTES).into(),
        cache_page_bytes: PAGE_BYTES,
        flash_page_bytes: Some(PAGE_BYTES),
        policy: "lru".into(),
        nor: Some("none".into()),
        ..DesignSpec::default()
    })
    .unwrap()
}

/// Writes a trace of `runs` to `path`. Its image is an ARM program of `symbols`.
pub(super) fn write_trace(
    path: &Path,
    build_id: &str,
    symbols: Vec<Symbol>,
    runs: impl IntoIterator<Item = Run>,
) {
    let bytes = symbols.iter().map(|symbol| symbol.offset + symbol.bytes).max().unwrap();
    let mut writer = TraceWriter::create(path, false).unwrap();
    writer.add_symbols(&symbols);
    runs.into_iter().for_each(|run| writer.push(run).unwrap());
    let image = Image {
        path: "made".into(),
        build_id: build_id.into(),
        offset: 0,
        bytes,
        sections: Vec::new(),
        symbols,
    };
    let info = TraceInfo {
        program: "made".into(),
        architecture: "arm".into(),
        images: vec![image],
        image_bytes: bytes.into(),
        ..Default::default()
    };
    writer.close(info).unwrap().publish().unwrap();
}
