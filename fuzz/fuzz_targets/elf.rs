#![no_main]

use std::path::Path;

use flashpager::Error;
use flashpager::binary::elf::ElfFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let names: Vec<String> = [".text", ".init", ".plt"].map(str::to_owned).into();
    let outcome = (|| {
        let elf = ElfFile::parse(data).map_err(|reason| Error::data("fuzz", reason))?;
        let start = elf.first_executable().unwrap_or_default();
        elf.bias(0x1000, start, start.wrapping_add(0x2000));
        let image = elf.place(Path::new("fuzz"), &names, 3)?;
        assert!(elf.has_sections(&names));
        let end = image.offset.checked_add(image.bytes).expect("the image ends below 4 GiB");
        for section in &image.sections {
            assert!(section.offset >= image.offset && section.offset + section.bytes <= end);
            assert!(section.bytes as usize <= data.len());
        }
        for symbol in &image.symbols {
            assert!(symbol.offset >= image.offset && symbol.offset + symbol.bytes <= end);
        }
        assert!(image.symbols.is_sorted_by(|a, b| a.offset < b.offset));
        Ok(())
    })();
    if let Err(error) = outcome {
        flashpager_fuzz::check(&error);
    }
});
