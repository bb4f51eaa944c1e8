//! The recorders in C, the examples and the pager in C, which the Python package ships beside the engine.
//!
//! The recorders are programs of their own: QEMU loads the plugin, and the kernel starts the
//! stepper. The examples are copied, as a package takes files of other folders from here alone.

use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

/// The machines whose programs the stepper can step.
const STEPPED: [&str; 2] = ["x86_64", "aarch64"];

/// The examples that are installed.
const EXAMPLES: [&str; 4] = ["traces", "pages", "spaces", "exploring.ipynb"];

/// A recorder, of all C files of its folder.
struct Recorder {
    folder: &'static str,
    output: &'static str,
    flags: &'static [&'static str],
    libraries: &'static [&'static str],
}

const QEMU: Recorder = Recorder {
    folder: "qemu",
    output: "flashpager-qemu.so",
    flags: &["-shared", "-fPIC", "-fvisibility=hidden"],
    libraries: &["-ldl"],
};
const STEP: Recorder =
    Recorder { folder: "step", output: "flashpager-step", flags: &[], libraries: &[] };

fn main() {
    build(&QEMU);
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") == "linux" && STEPPED.contains(&target("ARCH").as_str()) {
        build(&STEP);
    }
    copy_examples().expect("the examples are copied");
    copy_pager().expect("the pager is copied");
}

/// The pager in C, which `flashpager verify` compiles, and the cipher of its tags.
fn copy_pager() -> io::Result<()> {
    let runtime = Path::new("../../runtime");
    let (pager, cipher) = (runtime.join("pager"), runtime.join("third_party/tiny-aes"));
    println!("cargo::rerun-if-changed={}", pager.display());
    println!("cargo::rerun-if-changed={}", cipher.display());
    let output = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("runtime");
    if output.exists() {
        fs::remove_dir_all(&output)?;
    }
    fs::create_dir_all(output.join("third_party"))?;
    copy(&cipher, &output.join("third_party/tiny-aes"))?;
    copy(&pager, &output.join("pager"))
}

fn copy_examples() -> io::Result<()> {
    let folder = Path::new("../../examples");
    let output = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("examples");
    // What is no example any more must not stay one.
    if output.exists() {
        fs::remove_dir_all(&output)?;
    }
    fs::create_dir(&output)?;
    for name in EXAMPLES {
        println!("cargo::rerun-if-changed={}", folder.join(name).display());
        copy(&folder.join(name), &output.join(name))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn build(recorder: &Recorder) {
    let folder = Path::new("../../recorders").join(recorder.folder);
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut sources: Vec<_> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    assert!(!sources.is_empty(), "{}: no C files", folder.display());
    let output = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(recorder.output);
    let compiler = cc::Build::new().opt_level(2).debug(false).std("c11").get_compiler();
    let mut command: Command = compiler.to_command();
    command.args(recorder.flags).arg("-o").arg(output).args(sources).args(recorder.libraries);
    match command.status() {
        Ok(status) if status.success() => {}
        failed => panic!("the recorder in {} is not built: {failed:?}", folder.display()),
    }
}
