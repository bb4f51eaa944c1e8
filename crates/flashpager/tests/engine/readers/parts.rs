//! Parts' files.

use super::*;

const PART: &str = r#"
name = "X"
maker = "Y"
kind = "nand"
page_bytes = { value = 2048, source = "s" }
pages_per_block = { value = 64, source = "s" }
width_bits = { value = 8, source = "s" }
t_r_ns = { value = 25000, source = "s" }
ecc = { place = "host", codeword_bytes = 512, correctable_bits = 4, source = "s" }
"#;

#[test]
fn a_bad_part_is_refused() {
    assert_eq!(Part::parse(PART, "x.toml").unwrap().block_bytes(), 131_072);
    let with = |from: &str, to: &str| {
        assert!(PART.contains(from));
        Part::parse(&PART.replace(from, to), "x.toml")
    };
    assert_says(with("\"nand\"", "\"tape\""), &["x.toml, line 4", "tape"]);
    assert_says(with("value = 2048", "value = 2000"), &["x.toml", "2000 bytes", "power of two"]);
    assert_says(with("value = 2048", "value = -1"), &["x.toml, line 5"]);
    assert_says(with("value = 64", "value = 0"), &["pages_per_block = 0"]);
    assert_says(with("value = 8,", "value = 7,"), &["width_bits = 7"]);
    for time in ["nan", "inf", "-inf", "0", "-1", "1e300", "0.000025"] {
        assert_says(with("25000", time), &["x.toml, line 8: t_r_ns = "]);
    }
    for codeword in ["0", "500", "4096"] {
        assert_says(
            with("codeword_bytes = 512", &format!("codeword_bytes = {codeword}")),
            &[codeword],
        );
    }
    let more = |line: &str| Part::parse(&format!("{PART}{line}"), "x.toml");
    assert_says(more("reads_before_refresh = { value = nan, source = '' }"), &["NaN"]);
    assert_says(more("t_byte_ns = { \"\\u001b\\n\" = { value = 1, source = '' } }"), &["MHz"]);
    assert_says(more("\"\\n\\u001b\" = 1"), &["x.toml, line 10", "unknown field"]);
    assert_says(more("x"), &["x.toml, line 10"]);
    assert_says(more(&format!("\"{}\" = 1", "k".repeat(100_000))), &["unknown field"]);
    assert_says(more(&format!("a = {}", "[".repeat(100_000))), &["x.toml, line 10"]);
    assert_says(Part::parse("", "x.toml"), &["x.toml, line 1", "missing field"]);
    assert_says(part::find("/nowhere/x.toml"), &["/nowhere/x.toml", "No such file"]);
}
