//! A number together with the place it was read.

use serde::{Deserialize, Serialize};

/// The word in a source that marks a number nobody has checked.
const UNVERIFIED: &str = "unverified";

/// Returns whether a source marks its number as unchecked.
pub(super) fn is_unverified(source: &str) -> bool {
    source.contains(UNVERIFIED)
}

/// A number and its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schemars(rename = "Sourced_{T}"))]
pub struct Sourced<T> {
    /// The number, in the unit that the field's name ends with.
    pub value: T,
    /// The datasheet, paper or table it was read in. The word `unverified` marks a number from
    /// memory.
    pub source: String,
}

impl<T> Sourced<T> {
    /// Returns whether the source marks the number as unchecked.
    pub fn is_unverified(&self) -> bool {
        is_unverified(&self.source)
    }
}

/// Returns those of `fields` that a part states, by name.
pub(crate) fn stated(fields: &[(&'static str, Option<&Sourced<f64>>)]) -> Vec<(&'static str, f64)> {
    let value = |(name, number): &(&'static str, Option<&Sourced<f64>>)| {
        number.map(|number| (*name, number.value))
    };
    fields.iter().filter_map(value).collect()
}
