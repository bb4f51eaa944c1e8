#![no_main]

use flashpager::Error;
use flashpager::design::check_register;
use flashpager::media::bus::Bus;
use flashpager::media::operation::{OperationKind, OperationRequest};
use flashpager::media::part::Part;
use flashpager::replay::register::RegisterModel;
use libfuzzer_sys::fuzz_target;

const BUS: Bus = Bus { clock_mhz: 33.0, cycles: 2, width_bits: 8 };

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let outcome = (|| {
        let part = Part::parse(text, "fuzz")?;
        assert!(part.block_bytes() >= u64::from(part.flash_page_bytes()));
        part.facts();
        compose(&part);
        let time = part.byte_time(BUS)?;
        assert!(time > 0.0 && time.is_finite());
        check_register(&part, RegisterModel::RandomColumn)
    })();
    if let Err(error) = outcome {
        flashpager_fuzz::check(&error);
    }
});

/// Composes every operation, possible or not, at the part's own pace and at that of a bus.
fn compose(part: &Part) {
    let composed = |kind: OperationKind, bus: Option<Bus>| -> Result<(), Error> {
        let request = OperationRequest { kind, bytes: None, mode: None, bus, waits: false };
        let ns = part.medium()?.operation(part, &request)?.ns();
        assert!(ns >= 0.0 && ns.is_finite());
        assert!(part.medium()?.operation(part, &OperationRequest { waits: true, ..request })?.ns() >= ns);
        Ok(())
    };
    for (_, kind) in OperationKind::ALL {
        for bus in [None, Some(BUS)] {
            if let Err(error) = composed(kind, bus) {
                flashpager_fuzz::check(&error);
            }
        }
    }
}
