//! Metrics: compute the number compared with a published one from the records of one seed.

use wafer_record::{Explanation, HandleKey, Record};

use super::measure::{Measure, Window};

/// A metric. Volumes `at` are multiples of the logical capacity; none means the end of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// Cumulative WAF.
    Waf {
        /// The experiment.
        experiment: String,
        /// The volume.
        at: Option<f64>,
    },
    /// WAF over the last quarter of a capacity written.
    RecentWaf {
        /// The experiment.
        experiment: String,
    },
    /// WAF of the first experiment divided by that of the second.
    Ratio {
        /// The two experiments.
        experiments: Vec<String>,
        /// The volume.
        at: Option<f64>,
    },
    /// An application's own figure in the first experiment, divided by that in the second.
    FigureRatio {
        /// The two experiments.
        experiments: Vec<String>,
        /// The figure's name.
        figure: String,
    },
    /// Cumulative WAF of a handle: its media bytes over its host bytes.
    HandleWaf {
        /// The experiment.
        experiment: String,
        /// The handle.
        handle: String,
        /// The volume.
        at: Option<f64>,
    },
    /// Share of the extra media writes that were relocated out of a handle's reclaim units.
    ExtraShare {
        /// The experiment.
        experiment: String,
        /// The handle, or `gc`.
        handle: String,
        /// The volume.
        at: Option<f64>,
    },
    /// Share of the relocated bytes that invalidations of a handle caused.
    CausedShare {
        /// The experiment.
        experiment: String,
        /// The handle.
        handle: String,
    },
    /// 1 if `wafer explain` agrees with the expectation, else 0.
    Effect {
        /// The experiment.
        experiment: String,
        /// The effect.
        effect: Effect,
        /// Whether it is expected.
        present: bool,
    },
    /// An application's own figure.
    Figure {
        /// The experiment.
        experiment: String,
        /// The application's name, if several share the device.
        tenant: String,
        /// The figure's name.
        figure: String,
    },
    /// Share of adjacent pairs whose WAF ascends as listed.
    Ascending {
        /// From the lowest to the highest.
        experiments: Vec<String>,
        /// The volume.
        at: Option<f64>,
    },
    /// The crossover point, interpolated linearly: the last value at which the first series' WAF rises
    /// above the second's.
    Crossover {
        /// The series that is lower at first.
        experiments: Vec<String>,
        /// The series that is lower in the end.
        against: Vec<String>,
        /// The value at each point, ascending.
        over: Vec<f64>,
        /// The volume.
        at: Option<f64>,
    },
    /// Bandwidth, rate or latency of a run with a clock.
    Time {
        /// The experiment.
        experiment: String,
        /// The job; empty for all jobs.
        job: String,
        /// The measure.
        measure: Measure,
        /// The part of the run; none for the whole.
        window: Option<Window>,
    },
    /// A measure of the first experiment divided by that of the second.
    TimeRatio {
        /// The two experiments.
        experiments: Vec<String>,
        /// The job; empty for all jobs.
        job: String,
        /// The measure.
        measure: Measure,
    },
    /// The knee, interpolated linearly: the value at which a measure first exceeds a limit.
    Knee {
        /// The experiments.
        experiments: Vec<String>,
        /// The value of each, ascending.
        over: Vec<f64>,
        /// The job; empty for all jobs.
        job: String,
        /// The measure.
        measure: Measure,
        /// The limit.
        limit: f64,
    },
}

/// An effect named by the WARP study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Invalidations of one handle cause relocations of other handles' data.
    NoisyRuh,
    /// A sequential stream is collected before it invalidates itself.
    SaveSequential,
}

impl Metric {
    /// Returns the names of the experiments it needs.
    pub fn experiments(&self) -> Vec<&str> {
        match self {
            Metric::Waf { experiment, .. }
            | Metric::RecentWaf { experiment }
            | Metric::HandleWaf { experiment, .. }
            | Metric::ExtraShare { experiment, .. }
            | Metric::CausedShare { experiment, .. }
            | Metric::Effect { experiment, .. }
            | Metric::Time { experiment, .. }
            | Metric::Figure { experiment, .. } => vec![experiment],
            Metric::Ascending { experiments, .. }
            | Metric::Ratio { experiments, .. }
            | Metric::TimeRatio { experiments, .. }
            | Metric::Knee { experiments, .. }
            | Metric::FigureRatio { experiments, .. } => {
                experiments.iter().map(String::as_str).collect()
            }
            Metric::Crossover { experiments, against, .. } => {
                experiments.iter().chain(against).map(String::as_str).collect()
            }
        }
    }

    /// Returns whether it needs attribution.
    pub fn needs_attribution(&self) -> bool {
        matches!(self, Metric::CausedShare { .. } | Metric::Effect { .. })
    }

    /// Returns the metric for another experiment or volume; metrics of several experiments are unchanged.
    pub(super) fn on(&self, name: Option<&str>, volume: Option<f64>) -> Metric {
        let mut metric = self.clone();
        match &mut metric {
            Metric::Waf { experiment, at }
            | Metric::HandleWaf { experiment, at, .. }
            | Metric::ExtraShare { experiment, at, .. } => {
                *at = volume.or(*at);
                if let Some(name) = name {
                    name.clone_into(experiment);
                }
            }
            Metric::CausedShare { experiment, .. }
            | Metric::RecentWaf { experiment }
            | Metric::Effect { experiment, .. }
            | Metric::Time { experiment, .. }
            | Metric::Figure { experiment, .. } => {
                if let Some(name) = name {
                    name.clone_into(experiment);
                }
            }
            Metric::Ratio { .. }
            | Metric::TimeRatio { .. }
            | Metric::Knee { .. }
            | Metric::FigureRatio { .. }
            | Metric::Ascending { .. }
            | Metric::Crossover { .. } => {}
        }
        metric
    }

    /// Returns the unit of the number; none for WAF, shares and ratios.
    pub fn unit(&self) -> Option<&'static str> {
        let unit = match self {
            Metric::Time { measure, .. } => measure.unit(),
            Metric::Knee { .. } => "1/s",
            _ => "",
        };
        Some(unit).filter(|unit| !unit.is_empty())
    }

    /// Returns a description for tables.
    pub fn describe(&self) -> String {
        let when = |at: &Option<f64>| match at {
            Some(at) => format!(" at x{at}"),
            None => String::new(),
        };
        match self {
            Metric::Waf { at, .. } => format!("WAF{}", when(at)),
            Metric::RecentWaf { .. } => "WAF of the last quarter drive write".to_owned(),
            Metric::Ratio { experiments, at } => {
                let [a, b] = [0, 1].map(|i| experiments.get(i).map_or("", String::as_str));
                format!("WAF of {a} over {b}{}", when(at))
            }
            Metric::FigureRatio { experiments, figure } => {
                let [a, b] = [0, 1].map(|i| experiments.get(i).map_or("", String::as_str));
                format!("{figure} of {a} over {b}")
            }
            Metric::HandleWaf { handle, at, .. } => {
                format!("WAF of handle {handle}{}", when(at))
            }
            Metric::ExtraShare { handle, at, .. } => {
                format!("share of the extra media bytes from RUs of {handle}{}", when(at))
            }
            Metric::CausedShare { handle, .. } => {
                format!("share of relocations caused by handle {handle}")
            }
            Metric::Effect { effect, present, .. } => {
                let name = match effect {
                    Effect::NoisyRuh => "Noisy RUH",
                    Effect::SaveSequential => "Save Sequential",
                };
                format!("{name} {}", if *present { "found" } else { "not found" })
            }
            Metric::Figure { figure, tenant, .. } => match tenant.as_str() {
                "" => figure.clone(),
                tenant => format!("{figure} of {tenant}"),
            },
            Metric::Ascending { at, .. } => {
                format!("neighbours in the published order{}", when(at))
            }
            Metric::Crossover { at, .. } => format!("crossover of WAF{}", when(at)),
            Metric::Time { measure, window: None, .. } => {
                with_unit(measure.describe(), measure.unit())
            }
            Metric::Time { measure, window: Some(Window { from, to }), .. } => {
                with_unit(format!("{} from x{from} to x{to}", measure.describe()), measure.unit())
            }
            Metric::TimeRatio { experiments, measure, .. } => {
                let [a, b] = [0, 1].map(|i| experiments.get(i).map_or("", String::as_str));
                format!("{} of {a} over {b}", measure.describe())
            }
            Metric::Knee { measure, limit, .. } => {
                format!(
                    "rate at which the {} exceeds {limit} {}, 1/s",
                    measure.describe(),
                    measure.unit()
                )
            }
        }
    }

    /// Computes the metric; `record` looks up the record of an experiment.
    ///
    /// # Errors
    /// If a record is missing or lacks what the metric needs.
    pub fn value<'a>(&self, record: &dyn Fn(&str) -> Option<&'a Record>) -> Result<f64, String> {
        let find = |name: &str| record(name).ok_or_else(|| format!("{name} was not run"));
        match self {
            Metric::Waf { experiment, at } => waf(find(experiment)?, *at),
            Metric::RecentWaf { experiment } => recent_waf(find(experiment)?),
            Metric::Ratio { experiments, at } => match all(experiments, &find, *at)?[..] {
                [a, b] => Ok(a / b),
                _ => Err("not two experiments".to_owned()),
            },
            Metric::FigureRatio { experiments, figure } => {
                let of = |name: &String| self::figure(find(name)?, "", figure);
                match experiments.iter().map(of).collect::<Result<Vec<f64>, String>>()?[..] {
                    [a, b] => Ok(a / b),
                    _ => Err("not two experiments".to_owned()),
                }
            }
            Metric::HandleWaf { experiment, handle, at } => {
                let (host, media) = series(find(experiment)?, handle, *at)?;
                if host > 0.0 { Ok(media / host) } else { Err(format!("handle {handle} is idle")) }
            }
            Metric::ExtraShare { experiment, handle, at } => {
                let record = find(experiment)?;
                let (host, media) = series(record, handle, *at)?;
                let all_host = volume_bytes(record, *at)?;
                let all = record.timeline.media_at(all_host).ok_or("no such volume")?;
                let extra = all - all_host as f64;
                if extra > 0.0 { Ok((media - host) / extra) } else { Ok(0.0) }
            }
            Metric::CausedShare { experiment, handle } => {
                let explanation = explained(find(experiment)?)?;
                let found = explanation.handles.iter().find(|h| h.handle == *handle);
                found.and_then(|h| h.caused_share).ok_or_else(|| format!("no handle {handle}"))
            }
            Metric::Effect { experiment, effect, present } => {
                let explanation = explained(find(experiment)?)?;
                let found = match effect {
                    Effect::NoisyRuh => explanation.noisy_ruh(),
                    Effect::SaveSequential => explanation.save_sequential(),
                };
                Ok(f64::from(u8::from(found == *present)))
            }
            Metric::Figure { experiment, tenant, figure } => {
                self::figure(find(experiment)?, tenant, figure)
            }
            Metric::Ascending { experiments, at } => {
                let wafs = all(experiments, &find, *at)?;
                let right = wafs.windows(2).filter(|pair| pair[0] < pair[1]).count();
                Ok(right as f64 / (wafs.len() - 1) as f64)
            }
            Metric::Crossover { experiments, against, over, at } => {
                let first = all(experiments, &find, *at)?;
                let second = all(against, &find, *at)?;
                let gaps: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a - b).collect();
                Ok(crossover(over, &gaps).unwrap_or(f64::NAN))
            }
            Metric::Time { experiment, job, measure, window } => {
                measure.value(find(experiment)?, job, *window)
            }
            Metric::TimeRatio { experiments, job, measure } => {
                let of = |name: &String| measure.value(find(name)?, job, None);
                match experiments.iter().map(of).collect::<Result<Vec<f64>, String>>()?[..] {
                    [a, b] => Ok(a / b),
                    _ => Err("not two experiments".to_owned()),
                }
            }
            Metric::Knee { experiments, over, job, measure, limit } => {
                let of = |name: &String| measure.value(find(name)?, job, None);
                let values = experiments.iter().map(of).collect::<Result<Vec<f64>, String>>()?;
                Ok(first_above(over, &values, *limit).unwrap_or(f64::NAN))
            }
        }
    }
}

fn with_unit(what: String, unit: &str) -> String {
    if unit.is_empty() { what } else { format!("{what}, {unit}") }
}

/// Returns the point at which values first exceed a limit, interpolated linearly.
pub(super) fn first_above(over: &[f64], values: &[f64], limit: f64) -> Option<f64> {
    let at = values.iter().position(|value| *value > limit)?;
    let Some(before) = at.checked_sub(1) else { return over.first().copied() };
    let share = (limit - values[before]) / (values[at] - values[before]);
    Some(over[before] + (over[at] - over[before]) * share)
}

fn all<'a>(
    names: &[String],
    find: &dyn Fn(&str) -> Result<&'a Record, String>,
    at: Option<f64>,
) -> Result<Vec<f64>, String> {
    names.iter().map(|name| waf(find(name)?, at)).collect()
}

/// Returns the point at which the gap last becomes positive.
fn crossover(over: &[f64], gaps: &[f64]) -> Option<f64> {
    let at = (1..gaps.len()).rev().find(|i| gaps[i - 1] <= 0.0 && gaps[*i] > 0.0)?;
    let (x0, x1, g0, g1) = (over[at - 1], over[at], gaps[at - 1], gaps[at]);
    Some(x0 + (x1 - x0) * -g0 / (g1 - g0))
}

/// Explains a run recorded with attribution.
fn explained(record: &Record) -> Result<Explanation, String> {
    match record.attribution {
        Some(_) => Ok(Explanation::of(record)),
        None => Err(format!("{}: ran without attribution", record.name)),
    }
}

/// Returns the host bytes at a volume.
fn volume_bytes(record: &Record, at: Option<f64>) -> Result<u64, String> {
    let end = record.summary.host_bytes;
    let Some(at) = at else { return Ok(end) };
    let bytes = (at * record.logical_bytes() as f64).round() as u64;
    if bytes <= end {
        return Ok(bytes);
    }
    // A workload may end a command short of the requested volume.
    if bytes as f64 <= end as f64 * 1.001 { Ok(end) } else { Err(format!("does not reach x{at}")) }
}

fn waf(record: &Record, at: Option<f64>) -> Result<f64, String> {
    let bytes = volume_bytes(record, at)?;
    record.timeline.waf_at(bytes).ok_or_else(|| "nothing was written".to_owned())
}

/// Returns the WAF over the last quarter of a capacity written.
fn recent_waf(record: &Record) -> Result<f64, String> {
    let end = record.summary.host_bytes;
    let start = end.saturating_sub(record.logical_bytes() / 4).max(1);
    let media = |at| record.timeline.media_at(at).ok_or("nothing was written");
    Ok((media(end)? - media(start)?) / (end - start).max(1) as f64)
}

fn figure(record: &Record, tenant: &str, name: &str) -> Result<f64, String> {
    let found = record.application.iter().find(|f| f.tenant == tenant && f.name == name);
    found.map(|f| f.value).ok_or_else(|| format!("the application has no {name}"))
}

/// Returns the host and media bytes of a handle, interpolated linearly.
fn series(record: &Record, handle: &str, at: Option<f64>) -> Result<(f64, f64), String> {
    let key = match handle {
        "gc" => HandleKey::Gc,
        number => HandleKey::Handle(number.parse().map_err(|_| format!("no handle {number}"))?),
    };
    let bytes = volume_bytes(record, at)?;
    let found = record.timeline.handles.get(&key).ok_or_else(|| format!("no handle {handle}"))?;
    let at = |values: &[u64]| wafer_record::interpolate(&record.timeline.host_bytes, values, bytes);
    Ok((at(&found.host_bytes).unwrap_or(0.0), at(&found.media_bytes).unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knee_lies_between_points() {
        let over = [10.0, 20.0, 30.0];
        assert_eq!(first_above(&over, &[5.0, 10.0, 110.0], 60.0), Some(25.0));
        assert_eq!(first_above(&over, &[70.0, 80.0, 90.0], 60.0), Some(10.0));
        assert_eq!(first_above(&over, &[5.0, 10.0, 20.0], 60.0), None);
    }

    #[test]
    fn curves_cross_between_points() {
        let over = [0.05, 0.07, 0.10, 0.14];
        // Published for 256 MiB reclaim units: II minus PI.
        let gaps = [-0.087, -0.011, 0.224, 0.028];
        let x = crossover(&over, &gaps).unwrap();
        assert!((x - 0.0714).abs() < 1e-4, "{x}");
        assert_eq!(crossover(&over, &[1.0, 1.0, 1.0, 1.0]), None);
        assert_eq!(crossover(&over, &[-1.0, -1.0, -1.0, -1.0]), None);
    }
}
