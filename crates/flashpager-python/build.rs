//! The recorders in C, the examples and the pager in C, which the Python package ships beside the engine.
//!
//! The recorders are programs of their own: QEMU loads the plugin, and the kernel starts the
//! stepper; so is the pager of Linux programs, which the loader preloads into them. The examples are copied, as a package takes files of other folders from here alone.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// The machines whose programs the stepper can step.
const STEPPED: [&str; 2] = ["x86_64", "aarch64"];

/// The examples that are installed.
const EXAMPLES: [&str; 4] = ["traces", "pages", "spaces", "exploring.ipynb"];

/// The header with which the recorders in C write the stream.
const STREAM: &str = "recorders/stream";

/// A program or library, of all C files of its folder.
struct Native {
    folder: &'static str,
    output: &'static str,
    flags: &'static [&'static str],
    libraries: &'static [&'static str],
}

const QEMU: Native = Native {
    folder: "recorders/qemu",
    output: "flashpager-qemu.so",
    flags: &["-shared", "-fPIC", "-fvisibility=hidden"],
    libraries: &["-ldl"],
};
const STEP: Native =
    Native { folder: "recorders/step", output: "flashpager-step", flags: &[], libraries: &[] };
/// Built where simavr's headers are.
const SIMAVR: Native = Native {
    folder: "recorders/simavr",
    output: "flashpager-simavr",
    flags: &[],
    libraries: &["-ldl"],
};
/// What `flashpager page` preloads into a program.
const PAGE: Native = Native {
    folder: "runtime/pager/linux",
    output: "flashpager-page.so",
    flags: &["-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,initfirst"],
    libraries: &["-ldl", "-lpthread"],
};

fn main() {
    build(&QEMU);
    let target = |key: &str| env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") == "linux" && STEPPED.contains(&target("ARCH").as_str()) {
        build(&STEP);
    }
    if target("OS") == "linux" && target("ARCH") == "x86_64" {
        build(&PAGE);
    }
    // The Makefile builds it where the headers are installed later.
    if has_header("simavr/sim_avr.h") {
        build(&SIMAVR);
    } else {
        println!("cargo::warning=without libsimavr-dev, no AVR firmware is recorded in simavr");
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

/// Returns true if the C compiler finds a header.
fn has_header(name: &str) -> bool {
    let source = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("header.c");
    if fs::write(&source, format!("#include <{name}>\n")).is_err() {
        return false;
    }
    let compiler = cc::Build::new().opt_level(0).debug(false).get_compiler();
    let mut command: Command = compiler.to_command();
    command.arg("-E").arg(&source).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn build(native: &Native) {
    let folder = Path::new("../..").join(native.folder);
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=../../{STREAM}");
    let mut sources: Vec<_> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    assert!(!sources.is_empty(), "{}: no C files", folder.display());
    let output = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(native.output);
    let compiler = cc::Build::new().opt_level(2).debug(false).std("c11").get_compiler();
    let mut command: Command = compiler.to_command();
    command.args(native.flags).arg("-o").arg(output).args(sources).args(native.libraries);
    match command.status() {
        Ok(status) if status.success() => {}
        failed => panic!("what is in {} is not built: {failed:?}", folder.display()),
    }
}
