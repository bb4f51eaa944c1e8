//! Checks of the readers that all targets share: any bytes give a value or an error of one
//! printable line, in bounded time and memory.

use std::io::Cursor;

use flashpager::Error;
use flashpager::placement::Placer;
use flashpager::trace::{MAX_IMAGE_BYTES, TraceInfo};
use flashpager::record::import::{ImportFormat, Import};
use flashpager::record::input::Input;

/// Checks that an error has one line that a terminal can show.
pub fn check(error: &Error) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() < 4096, "{} bytes of message", text.len());
    assert!(!text.contains(|c: char| c.is_control()), "not one printable line: {text:?}");
}

/// Makes an input of `data`.
pub fn input(data: &[u8]) -> Result<Input, Error> {
    Input::new("fuzz", Cursor::new(data.to_vec()))
}

/// Imports `data`. If its last byte is odd, code is placed; otherwise addresses are offsets.
pub fn import(data: &[u8], format: ImportFormat) {
    let placed = data.last().is_some_and(|byte| byte % 2 == 1);
    let outcome = (|| {
        let placer = placed.then(|| Placer::for_range(0x1000, 0x40_0000)).transpose()?;
        let limit = placer.as_ref().map_or(MAX_IMAGE_BYTES, Placer::image_bytes);
        let info = TraceInfo { program: "fuzz".into(), ..TraceInfo::default() };
        // The methods of a recorder stream are laid out by reading the trace again, so it is a file.
        let output = match format {
            ImportFormat::Stream => std::env::temp_dir().join("flashpager-fuzz.trace"),
            _ => "/dev/null".into(),
        };
        let mut import = Import::new(placer, &output, info, false)?;
        let ending = import.read(input(data)?, format, 4, &mut |_| true)?;
        for done in import.finish(ending, &|| true)? {
            assert!(done.info.image_bytes <= limit);
        }
        Ok(())
    })();
    if let Err(error) = outcome {
        check(&error);
    }
}
