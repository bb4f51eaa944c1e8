//! Tells the linker where `memory.x` is.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    println!("cargo:rustc-link-search={here}");
    println!("cargo:rerun-if-changed=memory.x");
}
