//! Tortures the log by hand (`runtime/README.md`, "Tortured").

#[path = "../tests/torture/harness.rs"]
mod harness;

use std::process::ExitCode;

use harness::{FaultKinds, NAMES, ROUNDS, TortureOptions, torture};

const USAGE: &str = "usage: torture [--seed N] [--cuts N] [--stores N] [--kinds LIST]
               [--rounds N] [--threads N] [--go-on] [--lines N]";

/// Parses a list of kinds like `cut,torn`.
fn kinds(list: &str) -> Result<FaultKinds, String> {
    let mut kinds = FaultKinds(0);
    for name in list.split(',').filter(|name| !name.is_empty()) {
        let Some(bit) = NAMES.iter().position(|known| *known == name) else {
            return Err(format!("no kind {name}; there are {}", NAMES.join(",")));
        };
        kinds.0 |= 1 << bit;
    }
    Ok(kinds)
}

fn options() -> Result<TortureOptions, String> {
    let mut options = TortureOptions {
        seed: 1,
        cuts: u64::MAX,
        stores: u64::MAX,
        kinds: None,
        rounds: ROUNDS,
        threads: 1,
        keep_going: false,
        lines: 60,
        verbose: true,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        if flag == "--go-on" {
            options.keep_going = true;
            continue;
        }
        let Some(value) = arguments.next() else {
            return Err(format!("{flag} wants a value\n{USAGE}\nkinds: {}", NAMES.join(",")));
        };
        let number = || value.parse::<u64>().map_err(|_| format!("{flag} {value}: no number"));
        let small = || value.parse::<u32>().map_err(|_| format!("{flag} {value}: no number"));
        match flag.as_str() {
            "--seed" => options.seed = number()?,
            "--cuts" => options.cuts = number()?,
            "--stores" => options.stores = number()?,
            "--kinds" => options.kinds = Some(kinds(&value)?),
            "--rounds" => options.rounds = small()?,
            "--threads" => options.threads = small()?.max(1),
            "--lines" => options.lines = small()? as usize,
            _ => return Err(format!("no flag {flag}\n{USAGE}\nkinds: {}", NAMES.join(","))),
        }
    }
    if options.cuts == u64::MAX && options.stores == u64::MAX {
        options.cuts = 1_000_000;
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let report = torture(&options);
    print!("{}", report.summary);
    match report.violations {
        Some(violations) => {
            print!("\n{violations}");
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}
