//! Compiles the swap store in C, as a device links it, and generates the Rust mirrors of its
//! structs of numbers from their headers.

use std::path::{Path, PathBuf};

/// Folders of `runtime/` that the store is made of.
const FOLDERS: [&str; 3] = ["swap", "medium", "compress"];

/// Third-party code, compiled without warnings.
const HEATSHRINK: &str = "third_party/heatshrink";

/// C structs of numbers: the header, the C name and the Rust name, which also names the file in
/// `OUT_DIR`.
const STRUCTS: [(&str, &str, &str); 2] = [
    ("swap/flashpager_swap.h", "fp_swap_stat", "FpSwapStat"),
    ("medium/emulated.h", "fp_emulated_counters", "FpEmulatedCounters"),
];

fn main() {
    let runtime = Path::new("../../runtime");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    for (header, name, mirror) in STRUCTS {
        let header = runtime.join(header);
        let text = std::fs::read_to_string(&header).expect("the header is there");
        let file = out.join(format!("{mirror}.rs"));
        std::fs::write(file, mirror_of(&text, name, mirror)).expect("OUT_DIR takes files");
    }
    let folder = |name: &str| {
        let folder = runtime.join(name);
        println!("cargo::rerun-if-changed={}", folder.display());
        c_files(&folder)
    };
    let mut heatshrink = cc::Build::new();
    heatshrink.opt_level(2).warnings(false).files(folder(HEATSHRINK));

    let mut build = cc::Build::new();
    // Optimized in debug builds, too: tests wait for the compressors.
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
    // A library must follow the code that needs it on the linker's command line.
    heatshrink.compile("flashpager_heatshrink");
}

/// Returns the Rust mirror of a struct whose fields are all `uintN_t`. Its comments become docs.
///
/// # Panics
/// If the struct is not there, or has another field.
fn mirror_of(header: &str, name: &str, mirror: &str) -> String {
    let (_, rest) = header.split_once(&format!("struct {name} {{\n")).expect("the struct is there");
    let (fields, _) = rest.split_once("\n};").expect("the struct ends");
    let mut out = format!(
        "/// `struct {name}`.\n#[repr(C)]\n#[derive(Clone, Copy, Default)]\npub struct {mirror} {{\n"
    );
    for line in fields.lines() {
        let (field, comment) = line.split_once(';').unwrap_or_else(|| panic!("{name}: {line}"));
        let (kind, field) =
            field.trim().split_once(' ').unwrap_or_else(|| panic!("{name}: {line}"));
        let bits = kind.strip_prefix("uint").and_then(|kind| kind.strip_suffix("_t"));
        let bits = bits.unwrap_or_else(|| panic!("{name}: {kind} is no unsigned number"));
        let comment = comment.trim().trim_start_matches("/*").trim_end_matches("*/").trim();
        if !comment.is_empty() {
            out += &format!("    /// {comment}\n");
        }
        out += &format!("    pub {field}: u{bits},\n");
    }
    out + "}\n"
}

/// Returns the C files of a folder and its subfolders, sorted so that the library is always the
/// same.
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
