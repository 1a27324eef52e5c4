//! Evaluates the effect of each counterfactual.

use wafer_record::{AttributionRecord, Record};

use crate::Cause;
use crate::causes::{Counterfactual, Measure};

/// Minimum share of the WAF that a cause must cost to be named.
const LEAST: f64 = 0.03;
/// Relative difference of WAF between parts of a run that makes it unsteady.
const UNSTEADY: f64 = 0.1;

/// Returns the causes, most costly first. Each counterfactual comes with its record and the WAF to compare it with.
pub(crate) fn rank<'a>(
    base: &Record,
    changed: impl Iterator<Item = (&'a Counterfactual, Record, f64)>,
) -> Vec<Cause> {
    let waf = base.summary.waf;
    let mut found: Vec<(f64, Cause)> = Vec::new();
    for (counterfactual, record, with) in changed {
        let Some(without) = measure(&counterfactual.measure, base, &record) else { continue };
        let change = match counterfactual.measure {
            Measure::LastPart => (without - last_part(base).unwrap_or(waf)).abs() / without,
            _ => (with.min(waf) - without) / with,
        };
        let least = if let Measure::LastPart = counterfactual.measure { UNSTEADY } else { LEAST };
        if change < least {
            continue;
        }
        let Counterfactual { cause, what, advice, .. } = counterfactual;
        let text = match counterfactual.measure {
            Measure::LastPart => format!(
                "{what} the last quarter of the writes has WAF {without:.3}, here {:.3}: {advice}",
                last_part(base).unwrap_or(waf)
            ),
            Measure::Beside(_) if (with / waf - 1.0).abs() > LEAST => format!(
                "{what} the WAF is {without:.3} instead of {waf:.3}, and {with:.3} with the same device alone: {advice}"
            ),
            _ => format!("{what} the WAF is {without:.3} instead of {waf:.3}: {advice}"),
        };
        let cause = Cause { cause: (*cause).to_owned(), waf_without: without, text };
        found.push((change * counterfactual.weight, cause));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    // The most effective way to remove a cause represents the others.
    let mut causes: Vec<Cause> = Vec::new();
    for (_, cause) in found {
        if !causes.iter().any(|known| known.cause == cause.cause) {
            causes.push(cause);
        }
    }
    causes
}

fn measure(measure: &Measure, base: &Record, changed: &Record) -> Option<f64> {
    let (host, media) = (base.summary.host_bytes as f64, base.summary.media_bytes as f64);
    match measure {
        Measure::Waf | Measure::Beside(_) => Some(changed.summary.waf),
        Measure::LastPart => last_part(changed),
        Measure::Others(handle) => {
            let saved = moved(base, |h| h != handle)? - moved(changed, |h| h != handle)?;
            Some((media - saved) / host)
        }
        Measure::Alone(handle) => {
            let saved = moved(base, |h| h == handle)? - moved(changed, |h| h == handle)?;
            Some((media - saved) / host)
        }
    }
}

/// Returns the relocated bytes of some handles' data.
pub(crate) fn moved(record: &Record, which: impl Fn(&str) -> bool) -> Option<f64> {
    let attribution: &AttributionRecord = record.attribution.as_ref()?;
    let rows = attribution.relocated_bytes.iter();
    let cells = rows.flat_map(|row| row.iter().zip(&attribution.handles));
    Some(cells.filter(|(_, handle)| which(handle)).map(|(bytes, _)| *bytes as f64).sum())
}

/// Returns the WAF of the last quarter of the host writes.
fn last_part(record: &Record) -> Option<f64> {
    let timeline = &record.timeline;
    let (host, media) = (*timeline.host_bytes.last()?, *timeline.media_bytes.last()?);
    let from = host / 4 * 3;
    let before = timeline.media_at(from)?;
    (host > from).then(|| (media as f64 - before) / (host - from) as f64)
}
