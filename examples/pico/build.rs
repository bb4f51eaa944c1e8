//! Tells the linker where `memory.x` is, and where the map belongs that `cargo flashpager` reads.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let folder = |name| PathBuf::from(env::var_os(name).expect("Cargo sets it"));
    let (here, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    println!("cargo:rustc-link-search={}", here.display());
    println!("cargo:rerun-if-changed=memory.x");
    // Without an order the program is linked as without these files.
    for name in ["order.ld", "pinned.ld"] {
        let fragment = here.join(name);
        if !fragment.is_file() {
            fs::write(&fragment, "").expect("an empty fragment can be written");
        }
        println!("cargo:rerun-if-changed={name}");
    }
    let products = out.ancestors().nth(5).expect("the folder of all that Cargo builds");
    println!("cargo:rustc-link-arg=-Map={}", products.join("flashpager.map").display());
}
