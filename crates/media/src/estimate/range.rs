//! The range of an operation's time on a host with unknown parameters, from best to worst.

use flashpager_base::Result;
use serde::Serialize;

use super::measured;
use super::numbers::NS_PER_S;
use super::setting::{EstimateSetting, EstimateSpec};
use super::unknown::{AssumedValue, RangeEnd, ResolvedSetting, UnknownParameters};

/// The range of the time of an operation through the driver.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The time with every unknown at its best.
    pub low_ns: f64,
    /// The time with every unknown at its likely value.
    pub likely_ns: f64,
    /// The time with every unknown at its worst.
    pub high_ns: f64,
    /// Bytes per second at the worst.
    pub low_bytes_per_s: f64,
    /// Bytes per second at the likely values.
    pub likely_bytes_per_s: f64,
    /// Bytes per second at the best.
    pub high_bytes_per_s: f64,
    /// The open parameters, the one that would narrow the range most first. Empty if everything is
    /// known; then the three times are equal.
    pub assumed: Vec<AssumedValue>,
}

impl Range {
    /// The ratio of the ends; 1 if everything is known.
    pub fn width(&self) -> f64 {
        if self.low_ns > 0.0 { self.high_ns / self.low_ns } else { 1.0 }
    }
}

/// The unknown parameters of a setting, narrowed by a measured rate if there is one.
fn unknowns<'a>(
    setting: &'a EstimateSetting,
    spec: &EstimateSpec,
) -> Result<UnknownParameters<'a>> {
    let open = UnknownParameters::of(setting, spec)?;
    match &spec.measured {
        Some(rate) => measured::narrow(*rate, open, spec.without.as_deref()),
        None => Ok(open),
    }
}

/// The likely point of a setting.
pub(super) fn likely(setting: &EstimateSetting, spec: &EstimateSpec) -> Result<ResolvedSetting> {
    unknowns(setting, spec)?.resolved(|_| RangeEnd::Likely)
}

/// Computes the range of a setting.
pub(super) fn estimate_range(setting: &EstimateSetting, spec: &EstimateSpec) -> Result<Range> {
    let open = unknowns(setting, spec)?;
    let bytes = setting.compose(setting.used_bus())?.bytes() as f64;
    let [low_ns, likely_ns, high_ns] = open.ends(None)?;
    let rate = |ns: f64| if ns > 0.0 { bytes * NS_PER_S / ns } else { 0.0 };
    let mut assumed = open.assumed();
    for one in &mut assumed {
        let [low, _, high] = open.ends(Some(one.parameter))?;
        one.narrows = (high_ns / low_ns) / (high / low);
    }
    assumed.sort_by(|a, b| b.narrows.total_cmp(&a.narrows));
    let [low_ns, high_ns] = match &spec.measured {
        Some(rate) => measured::bounds(*rate, setting, [low_ns, likely_ns, high_ns])?,
        None => [low_ns, high_ns],
    };
    Ok(Range {
        low_ns,
        likely_ns,
        high_ns,
        low_bytes_per_s: rate(high_ns),
        likely_bytes_per_s: rate(likely_ns),
        high_bytes_per_s: rate(low_ns),
        assumed,
    })
}
