#![no_main]

use flashpager::record::import::ImportFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| flashpager_fuzz::import(data, ImportFormat::QemuLog));
