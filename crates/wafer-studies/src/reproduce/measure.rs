//! Measures of runs with a clock: bandwidth, rate and latency, named like the columns of reference tables.

use wafer_record::time::{Requests, TimeSeries};
use wafer_record::{Record, TimeRecord};

/// A measure. Text form: `read_mean_us`, `write_p999_us` (the 99.9th percentile), `read_iops`, `write_mb_s`,
/// `media_mb_s` (all bytes the media program) or `media_waf` (the same over the hosts' bytes).
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    of: Of,
    quantity: Quantity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Read,
    Write,
    Media,
}

#[derive(Clone, Debug, PartialEq)]
enum Quantity {
    Mean,
    /// As named in records, such as `99.9`.
    Percentile(String),
    Rate,
    Bandwidth,
    Waf,
}

/// A part of a run, in host bytes written as multiples of the logical capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its begin.
    pub from: f64,
    /// Its end.
    pub to: f64,
}

impl Measure {
    /// Parses the text form.
    pub fn parse(text: &str) -> Option<Self> {
        let (of, quantity) = text.split_once('_')?;
        let of = match of {
            "read" => Of::Read,
            "write" => Of::Write,
            "media" => Of::Media,
            _ => return None,
        };
        let quantity = match (of, quantity) {
            (_, "mb_s") => Quantity::Bandwidth,
            (Of::Media, "waf") => Quantity::Waf,
            (Of::Media, _) => return None,
            (_, "iops") => Quantity::Rate,
            (_, "mean_us") => Quantity::Mean,
            (_, other) => {
                let digits = other.strip_prefix('p')?.strip_suffix("_us")?;
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                let (whole, part) = digits.split_at(digits.len().min(2));
                let dot = if part.is_empty() { "" } else { "." };
                Quantity::Percentile(format!("{whole}{dot}{part}"))
            }
        };
        Some(Measure { of, quantity })
    }

    /// Returns the unit; empty for a ratio.
    pub fn unit(&self) -> &'static str {
        match self.quantity {
            Quantity::Mean | Quantity::Percentile(_) => "µs",
            Quantity::Rate => "1/s",
            Quantity::Bandwidth => "MB/s",
            Quantity::Waf => "",
        }
    }

    /// Returns whether it can be measured over a part of a run.
    pub fn has_windows(&self) -> bool {
        matches!(self.quantity, Quantity::Bandwidth | Quantity::Waf)
    }

    /// Returns a description for tables.
    pub fn describe(&self) -> String {
        let of = match self.of {
            Of::Read => "read",
            Of::Write => "write",
            Of::Media => "media",
        };
        match &self.quantity {
            Quantity::Mean => format!("mean {of} latency"),
            Quantity::Percentile(percent) => format!("p{percent} {of} latency"),
            Quantity::Rate => format!("{of} IOPS"),
            Quantity::Bandwidth => format!("{of} bandwidth"),
            Quantity::Waf => "WAF with metadata".to_owned(),
        }
    }

    /// Measures a run: one job, or all if `job` is empty; a window, or the whole run.
    ///
    /// # Errors
    /// If the record lacks the measured values.
    pub fn value(&self, record: &Record, job: &str, window: Option<Window>) -> Result<f64, String> {
        let time =
            record.time.as_ref().ok_or_else(|| format!("{}: ran without a clock", record.name))?;
        if let Some(window) = window {
            return self.of_window(record, time, window);
        }
        if self.of == Of::Media {
            let media = (record.summary.media_bytes + time.metadata_bytes) as f64;
            return Ok(match self.quantity {
                Quantity::Waf => media / record.summary.host_bytes.max(1) as f64,
                _ => media / time.seconds / 1e6,
            });
        }
        let requests =
            self.requests(time, job).ok_or_else(|| format!("no {} of `{job}`", self.describe()))?;
        Ok(match &self.quantity {
            Quantity::Mean => requests.mean_us,
            Quantity::Rate => requests.iops,
            Quantity::Percentile(percent) => *(requests.percentiles_us.get(percent))
                .ok_or_else(|| format!("records have no percentile {percent}"))?,
            Quantity::Bandwidth | Quantity::Waf => requests.bytes_per_second / 1e6,
        })
    }

    fn requests<'a>(&self, time: &'a TimeRecord, job: &str) -> Option<&'a Requests> {
        let is_read = self.of == Of::Read;
        if job.is_empty() {
            return if is_read { time.read.as_ref() } else { time.write.as_ref() };
        }
        let job = time.jobs.get(job)?;
        if is_read { job.read.as_ref() } else { job.write.as_ref() }
    }

    fn of_window(&self, record: &Record, time: &TimeRecord, window: Window) -> Result<f64, String> {
        let end = record.summary.host_bytes as f64;
        let bytes = |at: f64| (at * record.logical_bytes() as f64).min(end);
        let (from, to) = (bytes(window.from), bytes(window.to));
        let host = to - from;
        if host <= 0.0 {
            return Err(format!("does not reach x{}", window.to));
        }
        let media = || {
            let at =
                |bytes: f64| record.timeline.media_at(bytes as u64).ok_or("nothing was written");
            Ok::<f64, String>(at(to)? - at(from)?)
        };
        let seconds = written_at(&time.series, to) - written_at(&time.series, from);
        match (self.of, &self.quantity) {
            (_, Quantity::Waf) => Ok(media()? / host),
            (Of::Media, Quantity::Bandwidth) => Ok(media()? / seconds / 1e6),
            (Of::Write, Quantity::Bandwidth) => Ok(host / seconds / 1e6),
            _ => Err(format!("no {} of a part of a run", self.describe())),
        }
    }
}

/// Returns the time at which hosts had written this many bytes, interpolated within an interval.
fn written_at(series: &TimeSeries, bytes: f64) -> f64 {
    let (mut before, mut written) = (0.0, 0.0);
    for (end, rate) in series.seconds.iter().zip(&series.write.bytes_per_second) {
        let more = rate * (end - before);
        if written + more >= bytes && more > 0.0 {
            return before + (end - before) * (bytes - written) / more;
        }
        written += more;
        before = *end;
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_columns_are_measures() {
        let percent = |text: &str| match Measure::parse(text)?.quantity {
            Quantity::Percentile(percent) => Some(percent),
            _ => None,
        };
        assert_eq!(percent("read_p50_us").as_deref(), Some("50"));
        assert_eq!(percent("read_p999_us").as_deref(), Some("99.9"));
        assert_eq!(percent("write_p99999_us").as_deref(), Some("99.999"));
        for (text, what, unit) in [
            ("write_mean_us", "mean write latency", "µs"),
            ("read_iops", "read IOPS", "1/s"),
            ("media_mb_s", "media bandwidth", "MB/s"),
            ("media_waf", "WAF with metadata", ""),
        ] {
            let measure = Measure::parse(text).unwrap();
            assert_eq!((measure.describe().as_str(), measure.unit()), (what, unit));
        }
        for text in
            ["", "read", "read_", "read_p_us", "read_px_us", "trim_mb_s", "media_iops", "read_waf"]
        {
            assert_eq!(Measure::parse(text), None, "{text}");
        }
    }

    #[test]
    fn time_is_linear_in_bytes_within_an_interval() {
        let mut series = TimeSeries { seconds: vec![1.0, 2.0, 4.0], ..TimeSeries::default() };
        series.write.bytes_per_second = vec![100.0, 0.0, 50.0];
        let at: Vec<f64> = [0.0, 50.0, 100.0, 150.0, 200.0, 300.0]
            .iter()
            .map(|b| written_at(&series, *b))
            .collect();
        assert_eq!(at, [0.0, 0.5, 1.0, 3.0, 4.0, 4.0]);
    }
}
