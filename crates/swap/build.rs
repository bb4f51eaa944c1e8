//! The swap store in C is compiled in, as a device links it.

use std::path::{Path, PathBuf};

/// Folders of `runtime/` that the store is made of.
const FOLDERS: [&str; 3] = ["swap", "medium", "compress"];

/// Compiled without warnings: it is not ours.
const HEATSHRINK: &str = "third_party/heatshrink";

fn main() {
    let runtime = Path::new("../../runtime");
    let folder = |name: &str| {
        let folder = runtime.join(name);
        println!("cargo::rerun-if-changed={}", folder.display());
        c_files(&folder)
    };
    let mut heatshrink = cc::Build::new();
    heatshrink.opt_level(2).warnings(false).files(folder(HEATSHRINK));

    let mut build = cc::Build::new();
    // Tests wait for compressors, too.
    build.opt_level(2).std("c11").flag("-Wall").flag("-Wextra");
    for name in FOLDERS {
        build.files(folder(name));
    }
    println!("cargo::rerun-if-changed=src/shim.c");
    build.file("src/shim.c").include(runtime);
    for variable in ["DEP_Z_INCLUDE", "DEP_LZ4_INCLUDE", "DEP_ZSTD_INCLUDE"] {
        let paths = std::env::var(variable).unwrap_or_default();
        build.includes(paths.split([',', ';']).filter(|path| !path.is_empty()));
    }
    build.compile("flashpager_swap");
    // Behind what needs it.
    heatshrink.compile("flashpager_heatshrink");
}

/// With those of its folders. Sorted, so that the library is the same always.
fn c_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(c_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "c") {
            files.push(path);
        }
    }
    files.sort();
    files
}
