//! One measured rate of a user's board, and what it leaves of the unknown parameters.
//!
//! Each parameter keeps the values with which the measured time is possible: with all others at
//! their best it is not exceeded, with all others at their worst it is reached. The likely values
//! move together, from likely towards best or worst, until they make the measured time. Each kind of
//! engine and each number of lines is a hypothesis of its own.

use flashpager_base::{Error, Result};

use super::hosts::{self, ValueRange};
use super::numbers::NS_PER_S;
use super::setting::{EstimateSetting, MeasuredRate};
use super::unknown::{RangeEnd, UnknownParameter, UnknownParameters};

/// The share by which a rounded measurement may lie outside of the range.
const ROUNDING: f64 = 0.02;
/// Steps of a bisection.
const STEPS: usize = 50;
/// The parameters that have a value between the ends.
const CONTINUOUS: [UnknownParameter; 5] = [
    UnknownParameter::Clock,
    UnknownParameter::Operation,
    UnknownParameter::TransferEngine,
    UnknownParameter::Array,
    UnknownParameter::Controller,
];

/// Narrows the unknown parameters by the measured rate of a transaction.
///
/// # Errors
/// If nothing is unknown, no byte moves, or the rate is outside of the range.
pub(super) fn narrow<'a>(
    rate: MeasuredRate,
    open: UnknownParameters<'a>,
    without: Option<&str>,
) -> Result<UnknownParameters<'a>> {
    let own = open.setting;
    let there = EstimateSetting { bytes: rate.bytes.or(own.bytes), ..own.clone() };
    let bytes = there.compose(there.used_bus())?.bytes() as f64;
    if bytes == 0.0 {
        let what = own.kind.name();
        return Err(Error::design(format!("{what} moves no bytes, so no rate was measured")));
    }
    let ns = bytes * NS_PER_S / rate.bytes_per_s;
    let measured = open.of_setting(&there);
    let [low, _, high] = measured.ends(None)?;
    if low == high {
        return Err(Error::design(
            "nothing is unknown of this host, so a measured rate changes nothing: leave it out",
        ));
    }
    if !(low * (1.0 - ROUNDING)..=high * (1.0 + ROUNDING)).contains(&ns) {
        let megabytes = |ns: f64| bytes * 1e3 / ns;
        let (slow, fast) = (megabytes(high), megabytes(low));
        return Err(Error::design(format!(
            "{:.2} MB/s in transactions of {bytes} bytes cannot be measured on such a host, \
             {slow:.2} to {fast:.2} MB/s can: check bus, lines, mode, system and the size",
            rate.bytes_per_s / 1e6
        )));
    }
    let ns = ns.clamp(low, high);
    let mut narrowed: Option<UnknownParameters<'a>> = None;
    for one in open.hypotheses() {
        let measured = one.of_setting(&there);
        let [low, _, high] = measured.ends(None)?;
        if (low..=high).contains(&ns) {
            let one = narrow_one(one, &measured, ns, without)?;
            narrowed = Some(narrowed.map_or_else(|| one.clone(), |all| all.joined(&one)));
        }
    }
    narrowed.ok_or_else(|| Error::design("no engine on no number of lines has this rate"))
}

/// Returns the ends of the range `times_ns` (best, likely and worst time) that the measured
/// transaction allows: a smaller one is not slower, and a larger one is no slower than as many of the
/// measured ones as it needs. The likely time stays inside.
///
/// # Errors
/// If the operation is impossible on this host.
pub(super) fn bounds(
    rate: MeasuredRate,
    setting: &EstimateSetting,
    times_ns: [f64; 3],
) -> Result<[f64; 2]> {
    let there = EstimateSetting { bytes: rate.bytes.or(setting.bytes), ..setting.clone() };
    let moved = |it: &EstimateSetting| Ok(it.compose(it.used_bus())?.bytes() as f64);
    let (own, measured): (f64, f64) = (moved(setting)?, moved(&there)?);
    let ns = measured * NS_PER_S / rate.bytes_per_s;
    let least = ns / (measured / own).ceil() * (1.0 - ROUNDING);
    let most = ns * (own / measured).ceil() * (1.0 + ROUNDING);
    let [low, likely, high] = times_ns;
    Ok([low.max(least).min(likely), high.min(most).max(likely)])
}

/// Narrows the parameters of one hypothesis; `measured` are those of the measured transaction, which
/// took `ns`.
fn narrow_one<'a>(
    mut open: UnknownParameters<'a>,
    measured: &UnknownParameters<'_>,
    ns: f64,
    without: Option<&str>,
) -> Result<UnknownParameters<'a>> {
    // -1 is the best, 0 the likely and 1 the worst value of each parameter.
    let point = |share: f64| {
        let mut point = measured.clone();
        for parameter in CONTINUOUS {
            if let Some(span) = measured.span(parameter) {
                point = point.pinned(parameter, around(span, share));
            }
        }
        point.ns_at(RangeEnd::Likely)
    };
    let likely = bisect(-1.0, 1.0, ns, point)?;
    for parameter in CONTINUOUS {
        let Some(span) = measured.span(parameter) else { continue };
        let at = |end: RangeEnd| {
            move |share: f64| measured.pinned(parameter, between(span, share)).ns_at(end)
        };
        let most = bisect(0.0, 1.0, ns, at(RangeEnd::Best))?;
        let least = bisect(0.0, 1.0, ns, at(RangeEnd::Worst))?;
        let further = further_measurement(parameter, without);
        open.set_span(
            parameter,
            ValueRange {
                best: apart(between(span, least), 1.0 / further, span),
                likely: around(span, likely),
                worst: apart(between(span, most), further, span),
            },
        );
    }
    open.is_measured = true;
    Ok(open)
}

/// The value at a share of the way from likely to worst, or to best if the share is negative.
fn around(span: ValueRange, share: f64) -> f64 {
    let end = if share < 0.0 { span.best } else { span.worst };
    span.likely + share.abs() * (end - span.likely)
}

/// The factor within which a parameter lies in a further measurement of the same host.
fn further_measurement(parameter: UnknownParameter, without: Option<&str>) -> f64 {
    match parameter {
        UnknownParameter::Controller => hosts::further_measurement(true, without),
        UnknownParameter::Operation | UnknownParameter::TransferEngine => {
            hosts::further_measurement(false, without)
        }
        // A clock, lines and a chip stay as they are.
        UnknownParameter::Clock | UnknownParameter::Lines | UnknownParameter::Array => 1.0,
    }
}

/// The value at a share of the way from best to worst.
fn between(span: ValueRange, share: f64) -> f64 {
    span.best + share * (span.worst - span.best)
}

/// A value times a factor, within a range.
fn apart(value: f64, factor: f64, span: ValueRange) -> f64 {
    (value * factor).clamp(span.best.min(span.worst), span.best.max(span.worst))
}

/// The share at which a time that rises with it is `ns`; an end if there is none.
fn bisect(least: f64, most: f64, ns: f64, time: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    if time(least)? >= ns {
        return Ok(least);
    }
    if time(most)? <= ns {
        return Ok(most);
    }
    let (mut low, mut high) = (least, most);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if time(middle)? <= ns {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(f64::midpoint(low, high))
}
