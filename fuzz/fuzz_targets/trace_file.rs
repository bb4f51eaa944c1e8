#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use flashpager::trace::{Trace, TraceFile};
use libfuzzer_sys::fuzz_target;

/// A file in memory, one for each fuzzing process.
static PATH: LazyLock<PathBuf> =
    LazyLock::new(|| format!("/dev/shm/flashpager-fuzz-{}.trace", std::process::id()).into());

fuzz_target!(|data: &[u8]| {
    std::fs::write(&*PATH, data).expect("/dev/shm takes a small file");
    let outcome = (|| {
        let trace = TraceFile::open(&PATH)?;
        let mut source = trace.runs()?;
        let mut runs = Vec::new();
        let mut count = 0;
        loop {
            source.read(&mut runs)?;
            if runs.is_empty() {
                break;
            }
            count += runs.len() as u64;
            assert!(runs.iter().all(|run| run.length > 0 && run.end() <= trace.image_bytes()));
        }
        assert_eq!(count, trace.info().runs);
        Ok(())
    })();
    if let Err(error) = outcome {
        flashpager_fuzz::check(&error);
    }
});
