#![no_main]

use flashpager::driver::copy_loop;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Seeds have functions of these names.
    for function in ["read_page", "write_page"] {
        match copy_loop(data, "fuzz", function, None) {
            Ok(copy) => assert!(copy.bytes > 0 && copy.instructions > 0),
            Err(error) => flashpager_fuzz::check(&error),
        }
    }
});
