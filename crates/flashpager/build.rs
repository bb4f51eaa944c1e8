//! The catalog is compiled in; `include_dir` alone does not notice new files.

fn main() {
    println!("cargo::rerun-if-changed=../../parts");
}
