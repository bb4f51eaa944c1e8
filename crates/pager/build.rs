//! Compiles the pager in C once for each policy, lookup and register, with sizes that are variables.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const POLICIES: [&str; 6] = ["fifo", "clock", "pa-clock", "sieve", "lru", "random"];
/// The policies that need not see a hit.
const MMU_POLICIES: [&str; 6] = ["fifo", "clock", "pa-clock", "random", "fifo-sc", "pa-fifo-sc"];
const MMU_SCHEDULES: [&str; 3] = ["sequential", "parallel", "parallel-mmu"];
const LOOKUPS: [&str; 3] = ["table", "hint", "scan"];
const REGISTERS: [&str; 5] =
    ["sequential", "start-column", "random-column", "double-buffer", "double-buffer-prefetch"];
/// The registers that also have variants with the narrow types of a small image.
const SMALL: [&str; 2] = ["sequential", "random-column"];
/// Sizes of a tag, in bytes, of variants that check tags. Checking depends on neither policy nor lookup,
/// so that each register has it with some of their pairs.
const TAGS: [u32; 3] = [8, 1, 16];

/// The width of a variant's types, and the size of its tags, in bytes.
#[derive(Clone, Copy)]
struct VariantKind {
    small: bool,
    tag_bytes: u32,
}

fn main() -> std::io::Result<()> {
    let runtime = Path::new("../../runtime/pager").canonicalize()?;
    println!("cargo::rerun-if-changed={}", runtime.display());
    let output = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let mut build = cc::Build::new();
    build.opt_level(1).debug(false).std("c11").flag("-Wall").flag("-Wextra");
    let (mut externs, mut list, mut count) = (String::new(), String::new(), 0);
    let pairs = POLICIES.iter().flat_map(|policy| LOOKUPS.map(|lookup| (*policy, lookup)));
    let pairs = pairs.chain(MMU_POLICIES.map(|policy| (policy, "mmu")));
    for (number, (policy, lookup)) in pairs.enumerate() {
        for (turn, register) in REGISTERS.into_iter().enumerate() {
            // No count depends on the schedule: behind an MMU the variants have them in turn.
            let schedule =
                if lookup == "mmu" { MMU_SCHEDULES[(number + turn) % 3] } else { "parallel" };
            let mut kinds = vec![VariantKind { small: false, tag_bytes: 0 }];
            if SMALL.contains(&register) {
                kinds.push(VariantKind { small: true, tag_bytes: 0 });
            }
            // The spare area needs a register whose column can be changed.
            if turn >= 2 && (number + number / 3 + turn) % 3 == 0 {
                let tag_bytes = TAGS[number / 3 % TAGS.len()];
                kinds.push(VariantKind { small: register == "random-column", tag_bytes });
            }
            for kind in kinds {
                let VariantKind { small, tag_bytes } = kind;
                let size = if small { "small" } else { "large" };
                let name = format!("fp_{policy}_{lookup}_{register}_{size}_{tag_bytes}");
                let name = name.replace('-', "_");
                let source = source(&runtime, &name, [policy, lookup, register], schedule, kind);
                let path = output.join(format!("{name}.c"));
                std::fs::write(&path, source)?;
                build.file(path);
                count += 1;
                let _ = writeln!(externs, "    static {name}: ffi::VariantFunctions;");
                let _ = writeln!(
                    list,
                    "    Variant::new({policy:?}, {lookup:?}, {register:?}, {schedule:?}, {small}, \
                     {tag_bytes}, &raw const {name}),"
                );
            }
        }
    }
    build.compile("flashpager_pager");
    let variants = format!(
        "unsafe extern \"C\" {{\n{externs}}}\n/// All variants.\npub static VARIANTS: [Variant; \
         {count}] = [\n{list}];\n"
    );
    std::fs::write(output.join("variants.rs"), variants)
}

/// Returns the C file of a variant: its choices as macros, and the pager with its emulated chip.
fn source(
    runtime: &Path,
    name: &str,
    choices: [&str; 3],
    schedule: &str,
    kind: VariantKind,
) -> String {
    let mut text = String::new();
    for (kind, choice) in ["POLICY", "LOOKUP", "REGISTER"].into_iter().zip(choices) {
        let choice = choice.replace('-', "_").to_uppercase();
        let _ = writeln!(text, "#define FP_PAGER_{kind} FP_PAGER_{choice}");
    }
    let schedule = schedule.replace('-', "_").to_uppercase();
    let _ = writeln!(text, "#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_{schedule}");
    if kind.small {
        text += "#define VARIANT_IS_SMALL\n";
    }
    if kind.tag_bytes > 0 {
        let _ = writeln!(text, "#define VARIANT_TAG_BYTES {}", kind.tag_bytes);
    }
    let variant = runtime.join("emulated/variant.c");
    let _ = writeln!(text, "#define VARIANT {name}\n#include {:?}", variant.display().to_string());
    text
}
