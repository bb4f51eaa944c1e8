//! Tells the linker where `memory.x` is, and gives it the script of `cortex-m-rt` with one line more,
//! which includes `order.ld`: an order of the functions, as `flashpager tune` writes it.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The line of the script behind which functions may lie in any order.
const RESET: &str = "*(.Reset);";

fn main() {
    let folder = |name| PathBuf::from(env::var_os(name).expect("Cargo sets it"));
    let (here, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    let builds = out.ancestors().nth(2).expect("the folder of all build scripts");
    let script = fs::read_to_string(script_of_cortex_m_rt(builds)).expect("the script");
    assert!(script.contains(RESET), "link.x of cortex-m-rt has no line {RESET}");
    let tuned = script.replacen(RESET, &format!("{RESET}\n    INCLUDE order.ld"), 1);
    fs::write(out.join("tuned.x"), tuned).expect("the script can be written");
    // Without an order the program is linked as without this line.
    let order = here.join("order.ld");
    if !order.is_file() {
        fs::write(&order, "").expect("an empty order can be written");
    }
    // The map stands beside the program.
    let products = builds.parent().expect("the folder of the program");
    println!("cargo:rustc-link-arg=-Map={}", products.join("plotter.map").display());
    println!("cargo:rustc-link-search={}", here.display());
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rerun-if-changed=memory.x");
    println!("cargo:rerun-if-changed=order.ld");
}

/// The newest linker script that `cortex-m-rt` has written among the `builds` of this target.
fn script_of_cortex_m_rt(builds: &Path) -> PathBuf {
    let written = |script: &PathBuf| fs::metadata(script).and_then(|about| about.modified()).ok();
    let entries = fs::read_dir(builds).expect("the folder of all build scripts");
    let scripts = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cortex-m-rt-"))
        })
        .map(|path| path.join("out/link.x"))
        .filter(|script| script.is_file());
    scripts.max_by_key(written).expect("cortex-m-rt has written link.x")
}
