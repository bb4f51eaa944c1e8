//! The pager in C is compiled for each policy, lookup and register, with sizes that vary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const POLICIES: [&str; 6] = ["fifo", "clock", "pa-clock", "sieve", "lru", "random"];
/// Those that need not see a hit.
const MMU_POLICIES: [&str; 6] = ["fifo", "clock", "pa-clock", "random", "fifo-sc", "pa-fifo-sc"];
const MMU_SCHEDULES: [&str; 3] = ["sequential", "parallel", "parallel-mmu"];
const LOOKUPS: [&str; 3] = ["table", "hint", "scan"];
const REGISTERS: [&str; 5] =
    ["sequential", "start-column", "random-column", "double-buffer", "double-buffer-prefetch"];
/// The registers that have shapes with the narrow types of a small image, too.
const SMALL: [&str; 2] = ["sequential", "random-column"];
/// Bytes of a tag, of shapes that check one: each such register has a share of the pairs of policy
/// and lookup, as what tags do depends on neither.
const TAGS: [u32; 3] = [8, 1, 16];

/// Its types, and the bytes of its tags.
#[derive(Clone, Copy)]
struct Kind {
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
    for (place, (policy, lookup)) in pairs.enumerate() {
        for (turn, register) in REGISTERS.into_iter().enumerate() {
            // No count depends on the schedule: behind an MMU all in turn.
            let schedule =
                if lookup == "mmu" { MMU_SCHEDULES[(place + turn) % 3] } else { "parallel" };
            let mut kinds = vec![Kind { small: false, tag_bytes: 0 }];
            if SMALL.contains(&register) {
                kinds.push(Kind { small: true, tag_bytes: 0 });
            }
            // The spare area is reached by a register whose column can be changed.
            if turn >= 2 && (place + place / 3 + turn) % 3 == 0 {
                let tag_bytes = TAGS[place / 3 % TAGS.len()];
                kinds.push(Kind { small: register == "random-column", tag_bytes });
            }
            for kind in kinds {
                let Kind { small, tag_bytes } = kind;
                let size = if small { "small" } else { "large" };
                let name = format!("fp_{policy}_{lookup}_{register}_{size}_{tag_bytes}");
                let name = name.replace('-', "_");
                let source = source(&runtime, &name, [policy, lookup, register], schedule, kind);
                let path = output.join(format!("{name}.c"));
                std::fs::write(&path, source)?;
                build.file(path);
                count += 1;
                let _ = writeln!(externs, "    static {name}: ffi::Shape;");
                let _ = writeln!(
                    list,
                    "    Shape::new({policy:?}, {lookup:?}, {register:?}, {schedule:?}, {small}, \
                     {tag_bytes}, &raw const {name}),"
                );
            }
        }
    }
    build.compile("flashpager_pager");
    let shapes = format!(
        "unsafe extern \"C\" {{\n{externs}}}\n/// All there are.\npub static SHAPES: [Shape; \
         {count}] = [\n{list}];\n"
    );
    std::fs::write(output.join("shapes.rs"), shapes)
}

fn source(runtime: &Path, name: &str, choices: [&str; 3], schedule: &str, kind: Kind) -> String {
    let mut text = String::new();
    for (kind, choice) in ["POLICY", "LOOKUP", "REGISTER"].into_iter().zip(choices) {
        let choice = choice.replace('-', "_").to_uppercase();
        let _ = writeln!(text, "#define FP_PAGER_{kind} FP_PAGER_{choice}");
    }
    let schedule = schedule.replace('-', "_").to_uppercase();
    let _ = writeln!(text, "#define FP_PAGER_SCHEDULE FP_PAGER_SCHEDULE_{schedule}");
    if kind.small {
        text += "#define SHAPE_IS_SMALL\n";
    }
    if kind.tag_bytes > 0 {
        let _ = writeln!(text, "#define SHAPE_TAG_BYTES {}", kind.tag_bytes);
    }
    let shape = runtime.join("emulated/shape.c");
    let _ = writeln!(text, "#define SHAPE {name}\n#include {:?}", shape.display().to_string());
    text
}
