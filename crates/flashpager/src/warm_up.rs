//! Warm-ups: the first runs of a trace, which fill the cache and are not counted, as a user writes
//! them.

use flashpager_base::sizes::parse_size;
use flashpager_base::{Error, Result, shown};
use flashpager_trace::{Mark, Run, TraceFile, WarmUp};

use crate::calls::symbols_named;

/// The warm-up of `trace` that `text` describes:
///
/// * a size, as `80K`: the fewest first runs with as many bytes;
/// * a share, as `10%`: the fewest first runs with this share of all bytes;
/// * the name of a function: the runs before its first byte is executed for the first time;
/// * `none`: no warm-up.
///
/// # Errors
/// If the text has another form, the function was not executed, the warm-up leaves nothing to
/// count, or the trace cannot be read.
pub fn find(trace: &TraceFile, text: &str) -> Result<WarmUp> {
    let text = text.trim();
    if text == "none" {
        return Ok(WarmUp::default());
    }
    let info = trace.info();
    let refused = |message: String| Error::data(trace.path().display().to_string(), message);
    if let Some(bytes) = wanted(text, info.bytes) {
        let warm_up = WarmUp::until(trace, |before, _, _| before.bytes >= bytes)?;
        if warm_up.runs >= info.runs {
            return Err(refused(format!(
                "fetches {} bytes: a warm-up of {text} leaves nothing to count; take a shorter one",
                info.bytes
            )));
        }
        return Ok(warm_up);
    }
    let named = text.starts_with(|c: char| c.is_alphabetic() || c == '_') && !text.ends_with('%');
    if info.symbols().next().is_none() || !named {
        return Err(Error::design(format!(
            "a warm-up of '{}': give bytes of the trace, as 80K, a share of them, as 10%, a \
             function that the trace names, or none",
            shown(text)
        )));
    }
    let symbols: Vec<_> = info.symbols().cloned().collect();
    let entries: Vec<u32> =
        symbols_named(&symbols, text, info)?.iter().map(|symbol| symbol.offset).collect();
    let enters = |run: &Run| entries.iter().any(|at| (run.offset..=run.last()).contains(at));
    // A data read of a function does not enter it.
    let warm_up = WarmUp::until(trace, |_, run, mark| mark != Mark::Read && enters(run))?;
    if warm_up.runs >= info.runs {
        return Err(refused(format!(
            "{} is never executed, so no warm-up ends there",
            shown(text)
        )));
    }
    Ok(warm_up)
}

/// Bytes of a warm-up that is written as a size or as a share of `all`; `None` for any other text.
fn wanted(text: &str, all: u64) -> Option<u64> {
    let Some(percent) = text.strip_suffix('%') else { return parse_size(text).ok() };
    let percent: f64 = percent.trim().parse().ok()?;
    (0.0..=100.0).contains(&percent).then(|| (percent / 100.0 * all as f64).ceil() as u64)
}
