#![no_main]

use flashpager::binary::link::{self, InputSection, LinkMap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let lines = link::lines(&text);
    if let Err(error) = link::check(data, "fuzz", &lines, None) {
        flashpager_fuzz::check(&error);
    }
    let Some(map) = LinkMap::parse(&text) else { return };
    for output in &map.outputs {
        if let Err(error) = map.inputs_of(&output.name) {
            flashpager_fuzz::check(&error);
        }
    }
    match link::names(&map, &map.inputs) {
        Ok(names) => assert_eq!(names.len(), map.inputs.len()),
        Err(error) => flashpager_fuzz::check(&error),
    }
    let all: Vec<&InputSection> = map.inputs.iter().collect();
    assert!(link::fragment(&map, &all, None).starts_with("/*"));
});
