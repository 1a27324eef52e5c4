//! Published or measured WAF beside ours.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_interface::Bytes;

use crate::files::read_text;
use crate::{Record, RecordError};

/// Volumes, in multiples of the logical capacity, that tables show.
pub const VOLUMES: [f64; 10] = [1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 30.0];

/// A published or measured curve of cumulative WAF.
///
/// A CSV file with the columns `volume` (multiples of the logical capacity) and `waf`, or
/// `host_bytes` and `media_bytes`. Lines `# key = value` before the header tell of it: `source`,
/// and `write_rate`, bytes per second that the real device took.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Where the figures come from.
    pub source: Option<String>,
    /// Bytes per second that the media of the real device took.
    pub write_rate: Option<Bytes>,
    points: Points,
}

#[derive(Clone, Debug)]
enum Points {
    /// Volume and cumulative WAF.
    Waf(Vec<(f64, f64)>),
    /// Host bytes and media bytes.
    Bytes(Vec<(f64, f64)>),
}

/// Ours and theirs at one volume.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ComparisonRow {
    /// Multiples of the logical capacity.
    pub volume: f64,
    /// Their cumulative WAF.
    pub published: f64,
    /// Ours.
    pub ours: f64,
    /// (ours - theirs) / theirs, percent.
    pub difference_percent: f64,
}

/// A published or measured curve to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The file of the reference.
    pub reference: String,
    /// Source of its figures, such as a paper and a figure in it.
    pub source: Option<String>,
    /// Host bytes at each point.
    pub host_bytes: Vec<u64>,
    /// Cumulative WAF at each point.
    pub waf: Vec<f64>,
}

/// How a run compares with a reference.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The file of the reference.
    pub reference: String,
    /// Where its figures come from.
    pub source: Option<String>,
    /// Volumes that both have.
    pub rows: Vec<ComparisonRow>,
}

impl Reference {
    /// Reads a reference table.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        Reference::parse(&path.display().to_string(), &read_text(path)?)
    }

    /// Parses a reference table; `label` is its name in messages.
    pub fn parse(label: &str, text: &str) -> Result<Self, RecordError> {
        let remark = |key: &str| {
            text.lines().take_while(|line| line.starts_with('#')).find_map(|line| {
                let (name, value) = line.trim_start_matches('#').split_once('=')?;
                (name.trim() == key).then(|| value.trim().to_owned())
            })
        };
        let write_rate = remark("write_rate").map(|rate| rate.parse::<Bytes>()).transpose();
        let write_rate = write_rate
            .map_err(|e| RecordError::input(format!("{label}: write_rate"), e.to_string()))?;
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let broken = |e: &csv::Error| {
            let line = e.position().map_or_else(String::new, |p| format!(":{}", p.line()));
            RecordError::input(format!("{label}{line}"), "not a table of equal columns")
        };
        let header = reader.headers().map_err(|e| broken(&e))?.clone();
        let column = |name: &str| header.iter().position(|column| column == name);
        let (x, y, is_waf) = match (column("volume"), column("waf")) {
            (Some(x), Some(y)) => (x, y, true),
            _ => match (column("host_bytes"), column("media_bytes")) {
                (Some(x), Some(y)) => (x, y, false),
                _ => {
                    let reason = "expected the columns volume,waf or host_bytes,media_bytes";
                    return Err(RecordError::input(label, reason));
                }
            },
        };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for row in reader.records() {
            let row = row.map_err(|e| broken(&e))?;
            let line = row.position().map_or(0, csv::Position::line);
            let number = |i: usize| {
                let field = row.get(i).unwrap_or("");
                field.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0).ok_or_else(|| {
                    RecordError::input(
                        format!("{label}:{line}: {}", &header[i]),
                        format!("`{field}` is not a number"),
                    )
                })
            };
            let point = (number(x)?, number(y)?);
            if points.last().is_some_and(|last| last.0 > point.0) {
                let reason = "rows must not descend";
                return Err(RecordError::input(format!("{label}:{line}: {}", &header[x]), reason));
            }
            points.push(point);
        }
        if points.is_empty() {
            return Err(RecordError::input(label, "no rows"));
        }
        let points = if is_waf { Points::Waf(points) } else { Points::Bytes(points) };
        Ok(Reference { source: remark("source"), write_rate, points })
    }

    /// Cumulative WAF at a volume, linear between points (of WAF, or of media bytes); none
    /// outside.
    pub fn waf_at(&self, volume: f64, logical_bytes: u64) -> Option<f64> {
        match &self.points {
            Points::Waf(points) => interpolate(points, volume),
            Points::Bytes(points) => {
                let host = volume * logical_bytes as f64;
                Some(interpolate(points, host)? / host)
            }
        }
    }

    /// The whole curve for a device of `logical_bytes`, points without host bytes left out.
    pub fn published(&self, path: &Path, logical_bytes: u64) -> Published {
        let points: Vec<(f64, f64)> = match &self.points {
            Points::Waf(points) => {
                points.iter().map(|(volume, waf)| (volume * logical_bytes as f64, *waf)).collect()
            }
            Points::Bytes(points) => points.iter().map(|(h, m)| (*h, m / h)).collect(),
        };
        let points = points.into_iter().filter(|(host, _)| *host > 0.0);
        let (host_bytes, waf) = points.map(|(host, waf)| (host.round() as u64, waf)).unzip();
        Published {
            reference: path.display().to_string(),
            source: self.source.clone(),
            host_bytes,
            waf,
        }
    }

    /// Ours beside theirs at the volumes that both have.
    pub fn compare(&self, path: &Path, record: &Record) -> Comparison {
        let logical = record.logical_bytes();
        let row = |volume: f64| {
            let published = self.waf_at(volume, logical)?;
            let ours = record.timeline.waf_at((volume * logical as f64).round() as u64)?;
            let difference_percent = 100.0 * (ours - published) / published;
            Some(ComparisonRow { volume, published, ours, difference_percent })
        };
        Comparison {
            reference: path.display().to_string(),
            source: self.source.clone(),
            rows: VOLUMES.into_iter().filter_map(row).collect(),
        }
    }
}

pub(crate) fn interpolate(points: &[(f64, f64)], at: f64) -> Option<f64> {
    let right = points.partition_point(|(x, _)| *x < at);
    let (x1, y1) = *points.get(right)?;
    if x1 == at {
        return Some(y1);
    }
    let (x0, y0) = *points.get(right.checked_sub(1)?)?;
    Some(y0 + (y1 - y0) * (at - x0) / (x1 - x0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_table_are_read() {
        let waf = Reference::parse("t", "# source = a paper\nvolume,waf\n1,1\n3,2\n").unwrap();
        assert_eq!(waf.source.as_deref(), Some("a paper"));
        assert_eq!(waf.waf_at(2.0, 100), Some(1.5));
        assert_eq!(waf.waf_at(0.5, 100), None);
        assert_eq!(waf.waf_at(4.0, 100), None);
        let bytes = Reference::parse("t", "host_bytes,media_bytes\n0,0\n100,100\n300,600").unwrap();
        assert_eq!(bytes.waf_at(2.0, 100), Some(1.75));
        let curve = bytes.published(Path::new("t"), 100);
        assert_eq!((curve.host_bytes, curve.waf), (vec![100, 300], vec![1.0, 2.0]));
        let curve = waf.published(Path::new("t"), 100);
        assert_eq!((curve.host_bytes, curve.waf), (vec![100, 300], vec![1.0, 2.0]));
    }

    #[test]
    fn broken_tables_name_the_line() {
        let message = |text: &str| Reference::parse("t.csv", text).unwrap_err().to_string();
        assert_eq!(
            message("a,b\n1,2\n"),
            "t.csv: expected the columns volume,waf or host_bytes,media_bytes"
        );
        assert_eq!(message("volume,waf\n1,x\n"), "t.csv:2: waf: `x` is not a number");
        assert_eq!(message("volume,waf\n2,1\n1,1\n"), "t.csv:3: volume: rows must not descend");
        assert_eq!(message("volume,waf\n1\n"), "t.csv:2: not a table of equal columns");
        assert_eq!(message("volume,waf\n"), "t.csv: no rows");
    }
}
