//! The boards are compiled in, and `include_dir` alone does not notice new files.

fn main() {
    println!("cargo::rerun-if-changed=../../boards");
}
