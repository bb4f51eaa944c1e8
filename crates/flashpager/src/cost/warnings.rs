//! Warnings: reasons why a design may disappoint in practice.

use flashpager_media::part::{EccPlace, Part};

/// The least bytes of a tag that cannot be guessed by trying.
const SAFE_TAG_BYTES: u32 = 8;

/// Returns true if less is fetched than the codeword that the host must check.
pub fn fetches_below_codeword(
    part: &Part,
    cache_page_bytes: u32,
    codeword_bytes: Option<u32>,
) -> bool {
    let fetched = cache_page_bytes.max(codeword_bytes.unwrap_or(0));
    let ecc = part.ecc.as_ref().filter(|ecc| ecc.place == EccPlace::Host);
    ecc.is_some_and(|ecc| fetched < ecc.codeword_bytes)
}

/// A warning of tags so short that one can be guessed by trying; `tag_bytes` is 0 without tags.
pub fn short_tag(tag_bytes: u32) -> Option<String> {
    let is_short = tag_bytes > 0 && tag_bytes < SAFE_TAG_BYTES;
    is_short.then(|| {
        format!(
            "a tag of {tag_bytes} byte{} lets one forged page in 2^{} pass: take {SAFE_TAG_BYTES} bytes or more",
            if tag_bytes == 1 { "" } else { "s" },
            8 * tag_bytes
        )
    })
}

/// The reasons why a design may disappoint in practice; empty if none is known.
pub fn warnings(
    part: &Part,
    cache_page_bytes: u32,
    codeword_bytes: Option<u32>,
    flash_page_bytes: u32,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if !part.kind.is_nonvolatile() {
        warnings.push(format!(
            "{} is RAM: something has to copy the code there at the start",
            part.name
        ));
    }
    if part.kind.is_read_in_place() {
        return warnings;
    }
    match &part.ecc {
        Some(ecc) if ecc.place == EccPlace::Host => {
            let fetched = cache_page_bytes.max(codeword_bytes.unwrap_or(0));
            if fetches_below_codeword(part, cache_page_bytes, codeword_bytes) {
                warnings.push(format!(
                    "{} has no on-die ECC: {fetched} bytes are less than its codeword of {} and cannot \
                     be checked. Set the codeword to {}, or take a part with on-die ECC",
                    part.name, ecc.codeword_bytes, ecc.codeword_bytes
                ));
            }
        }
        Some(_) => {}
        None => warnings.push(format!(
            "{}: it is unknown whether the chip or the host corrects its errors",
            part.name
        )),
    }
    if flash_page_bytes != part.flash_page_bytes() {
        warnings.push(format!(
            "{} has pages of {} bytes, not {flash_page_bytes}: this is a what-if",
            part.name,
            part.flash_page_bytes()
        ));
    }
    warnings
}
