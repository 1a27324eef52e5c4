//! Reference tables: published or measured WAF to compare a run with.

use std::path::Path;

use wafer_interface::Bytes;
use wafer_record::files::read_text;
use wafer_record::statistics::interpolate;
use wafer_record::{Published, Record};

use crate::error::LabError;

/// A published or measured curve of cumulative WAF.
///
/// A CSV file with the columns `volume` (multiples of the logical capacity) and `waf`, or
/// `host_bytes` and `media_bytes`. Lines `# key = value` before the header give its `source`
/// and the `write_rate` of the real device, bytes per second.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Source of the values.
    pub source: Option<String>,
    /// Media write rate of the real device, bytes per second.
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

/// Cumulative WAF of a reference and of a run at one volume.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonRow {
    /// Multiples of the logical capacity.
    pub volume: f64,
    /// WAF of the reference.
    pub published: f64,
    /// WAF of the run.
    pub ours: f64,
    /// (ours - published) / published, percent.
    pub difference_percent: f64,
}

/// A run compared with a reference.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The reference file.
    pub reference: String,
    /// Source of its values.
    pub source: Option<String>,
    /// The volumes that both reach.
    pub rows: Vec<ComparisonRow>,
}

impl Reference {
    /// Reads a reference table.
    ///
    /// # Errors
    /// The file cannot be read, or is not such a table; the message names line and column.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        Reference::parse(&path.display().to_string(), &read_text(path)?)
    }

    /// Parses a reference table; `label` is its name in messages.
    fn parse(label: &str, text: &str) -> Result<Self, LabError> {
        let remark = |key: &str| {
            text.lines().take_while(|line| line.starts_with('#')).find_map(|line| {
                let (name, value) = line.trim_start_matches('#').split_once('=')?;
                (name.trim() == key).then(|| value.trim().to_owned())
            })
        };
        let write_rate = remark("write_rate").map(|rate| rate.parse::<Bytes>()).transpose();
        let write_rate = write_rate
            .map_err(|e| LabError::config(format!("{label}: write_rate"), e.to_string()))?;
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let broken = |e: &csv::Error| {
            let line = e.position().map_or_else(String::new, |p| format!(":{}", p.line()));
            LabError::config(format!("{label}{line}"), "not a table of equal columns")
        };
        let header = reader.headers().map_err(|e| broken(&e))?.clone();
        let column = |name: &str| header.iter().position(|column| column == name);
        let (x, y, is_waf) = match (column("volume"), column("waf")) {
            (Some(x), Some(y)) => (x, y, true),
            _ => match (column("host_bytes"), column("media_bytes")) {
                (Some(x), Some(y)) => (x, y, false),
                _ => {
                    let reason = "expected the columns volume,waf or host_bytes,media_bytes";
                    return Err(LabError::config(label, reason));
                }
            },
        };
        let most = if is_waf { 1e6 } else { 1e18 };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for row in reader.records() {
            let row = row.map_err(|e| broken(&e))?;
            let line = row.position().map_or(0, csv::Position::line);
            let number = |i: usize| {
                let field = row.get(i).unwrap_or("");
                field.parse::<f64>().ok().filter(|n| (0.0..=most).contains(n)).ok_or_else(|| {
                    LabError::config(
                        format!("{label}:{line}: {}", &header[i]),
                        format!("`{field}` is not a number from 0 to {most}"),
                    )
                })
            };
            let point = (number(x)?, number(y)?);
            if points.last().is_some_and(|last| last.0 > point.0) {
                let reason = "rows must not descend";
                return Err(LabError::config(format!("{label}:{line}: {}", &header[x]), reason));
            }
            points.push(point);
        }
        if points.is_empty() {
            return Err(LabError::config(label, "no rows"));
        }
        let points = if is_waf { Points::Waf(points) } else { Points::Bytes(points) };
        Ok(Reference { source: remark("source"), write_rate, points })
    }

    /// Returns the cumulative WAF at a volume, interpolating WAF or media bytes linearly; `None` outside the table.
    pub fn waf_at(&self, volume: f64, logical_bytes: u64) -> Option<f64> {
        match &self.points {
            Points::Waf(points) => interpolate(points, volume),
            Points::Bytes(points) => {
                let host = volume * logical_bytes as f64;
                Some(interpolate(points, host)? / host)
            }
        }
    }

    /// Returns the whole curve for a device of `logical_bytes`, without points at 0 host bytes.
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

    /// Compares a record with the table at the volumes that both reach.
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
            rows: wafer_record::volumes(record.volume()).into_iter().filter_map(row).collect(),
        }
    }
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
        assert_eq!(
            message("volume,waf\n1,x\n"),
            "t.csv:2: waf: `x` is not a number from 0 to 1000000"
        );
        assert!(message("volume,waf\n1,1e9\n").contains("`1e9` is not a number from 0 to"));
        assert_eq!(message("volume,waf\n2,1\n1,1\n"), "t.csv:3: volume: rows must not descend");
        assert_eq!(message("volume,waf\n1\n"), "t.csv:2: not a table of equal columns");
        assert_eq!(message("volume,waf\n"), "t.csv: no rows");
    }
}
