#![no_main]

use flashpager::record::import::ImportFormat;
use flashpager::record::input::TextLines;
use libfuzzer_sys::fuzz_target;

/// Decompressed bytes after which the target stops: more of a decompression bomb tests nothing new.
const MAX_BYTES: usize = 4 << 20;

fuzz_target!(|data: &[u8]| {
    let outcome = (|| {
        let mut input = flashpager_fuzz::input(data)?;
        if let Err(error) = ImportFormat::detect(&mut input) {
            flashpager_fuzz::check(&error);
        }
        let mut lines = TextLines::new(input);
        let mut bytes = 0;
        while let Some(line) = lines.next_line()? {
            bytes += line.len() + 1;
            if bytes > MAX_BYTES {
                break;
            }
        }
        Ok(())
    })();
    if let Err(error) = outcome {
        flashpager_fuzz::check(&error);
    }
});
