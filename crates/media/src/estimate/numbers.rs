//! Numbers as people write them, and their checks.

use flashpager_base::{Error, Result};
use serde::Serializer;

/// Nanoseconds in a second.
pub(super) const NS_PER_S: f64 = 1e9;

/// Serializes a number as a person writes it: a whole number without a point.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn as_written<S: Serializer>(
    number: &f64,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        to.serialize_i64(*number as i64)
    } else {
        to.serialize_f64(*number)
    }
}

/// Does the same for a number that may be absent.
#[expect(clippy::ref_option, reason = "serde passes references")]
pub(super) fn option_as_written<S: Serializer>(
    number: &Option<f64>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    match number {
        Some(number) => as_written(number, to),
        None => to.serialize_none(),
    }
}

/// Checks that a number is above 0 and at most `most`.
pub(super) fn positive(name: &str, number: f64, most: f64) -> Result<()> {
    if number > 0.0 && number <= most {
        return Ok(());
    }
    Err(Error::design(format!("{name} = {number} is not above 0 and at most {most}")))
}
