#![no_main]

use flashpager::media::bus::Bus;
use flashpager::media::part::Part;
use flashpager::media::register::RegisterModel;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let outcome = (|| {
        let part = Part::parse(text, "fuzz")?;
        assert!(part.block_bytes() >= u64::from(part.flash_page_bytes()));
        let time = part.byte_time(Bus { clock_mhz: 33.0, cycles: 1, width_bits: 8 })?;
        assert!(time > 0.0 && time.is_finite());
        part.check_register(RegisterModel::RandomColumn)
    })();
    if let Err(error) = outcome {
        flashpager_fuzz::check(&error);
    }
});
