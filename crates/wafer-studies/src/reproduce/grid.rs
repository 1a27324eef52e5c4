//! Tables of a study: CSV files of published figures in which each cell becomes a row.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use wafer_record::files::read_text;

use super::measure::{Measure, Window};
use super::metric::Metric;
use super::row::{Class, Row};

/// A table of published figures of runs with a clock: a line per experiment, a column per measure.
///
/// The rows are named `NAME/LINE/COLUMN`. Empty cells were not measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableFile {
    /// First part of the rows' names.
    name: String,
    /// The CSV file, relative to the study.
    reference: PathBuf,
    /// Column that names a line.
    key: String,
    /// The experiment of a line; `{}` stands for the line's name.
    experiment: String,
    /// The job that is measured; empty for all jobs.
    #[serde(default)]
    job: String,
    /// Begin and end of the measured part of the run, in multiples of the capacity: numbers, or columns that contain
    /// them.
    window: Option<(String, String)>,
    /// Lines that are compared; empty for all.
    #[serde(default)]
    lines: Vec<String>,
    /// Lines with which parameters were chosen.
    #[serde(default)]
    calibrated: Vec<String>,
    /// The columns that are compared.
    columns: Vec<ColumnFile>,
    knee: Option<KneeFile>,
    /// Reasons for misses, by `LINE/COLUMN`, or by `COLUMN` for all lines.
    #[serde(default)]
    reasons: BTreeMap<String, String>,
    /// Figure or file of the source.
    source: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnFile {
    column: String,
    /// The measure; by default the column's name.
    measure: Option<String>,
    /// Largest relative difference that counts as agreement.
    tolerance: f64,
    /// Class of its rows, if it differs from that of the lines.
    class: Option<Class>,
    /// Lines of this column; by default all of the table.
    #[serde(default)]
    lines: Vec<String>,
}

/// The value of the key at which a measure first exceeds a limit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KneeFile {
    column: String,
    limit: f64,
    tolerance: f64,
    class: Class,
}

/// An invalid key, and the reason.
type Fault = (&'static str, String);

impl TableFile {
    /// Returns a row for each cell.
    ///
    /// # Errors
    /// The invalid key, and the reason.
    pub(super) fn rows(self, folder: &Path, experiments: &[&str]) -> Result<Vec<Row>, Fault> {
        let cells = Cells::read(&folder.join(&self.reference)).map_err(|e| ("reference", e))?;
        let of = |column: &str, key: &'static str| {
            cells
                .column(column)
                .ok_or_else(|| (key, format!("the reference has no column `{column}`")))
        };
        let keys = of(&self.key, "key")?;
        for line in self
            .lines
            .iter()
            .chain(&self.calibrated)
            .chain(self.columns.iter().flat_map(|c| &c.lines))
        {
            if !cells.lines.iter().any(|cells| &cells[keys] == line) {
                return Err(("lines", format!("the reference has no line `{line}`")));
            }
        }
        let chosen = |lines: &[String], line: &String| lines.is_empty() || lines.contains(line);
        let mut rows = Vec::new();
        for cells in cells.lines.iter().filter(|cells| chosen(&self.lines, &cells[keys])) {
            let line = &cells[keys];
            let experiment = self.experiment.replace("{}", line);
            if !experiments.contains(&experiment.as_str()) {
                return Err(("experiment", format!("no experiment `{experiment}`")));
            }
            let edge = |text: &str| match text.parse() {
                Ok(volume) => Ok(volume),
                Err(_) => number(&cells[of(text, "window")?]).map_err(|e| ("window", e)),
            };
            let window = match &self.window {
                None => None,
                Some((from, to)) => Some(Window { from: edge(from)?, to: edge(to)? }),
            };
            for column in self.columns.iter().filter(|column| chosen(&column.lines, line)) {
                let cell = &cells[of(&column.column, "columns")?];
                let measure = measure(column)?;
                if window.is_some() && !measure.has_windows() {
                    return Err((
                        "columns",
                        format!("no {} of a part of a run", measure.describe()),
                    ));
                }
                if cell.is_empty() {
                    continue;
                }
                let (name, job) = (&column.column, self.job.clone());
                let reason =
                    self.reasons.get(&format!("{line}/{name}")).or_else(|| self.reasons.get(name));
                let class = match self.calibrated.contains(line) {
                    true => Class::Calibrated,
                    false => Class::Identified,
                };
                rows.push(Row {
                    id: format!("{}/{line}/{name}", self.name),
                    metric: Metric::Time { experiment: experiment.clone(), job, measure, window },
                    published: number(cell).map_err(|e| ("reference", e))?,
                    class: column.class.unwrap_or(class),
                    tolerance: column.tolerance,
                    source: self.source.clone(),
                    reason: reason.cloned(),
                });
            }
        }
        if let Some(knee) = &self.knee {
            rows.push(self.knee(knee, &cells, keys)?);
        }
        Ok(rows)
    }

    fn knee(&self, knee: &KneeFile, cells: &Cells, keys: usize) -> Result<Row, Fault> {
        let missing = || ("knee", format!("the reference has no column `{}`", knee.column));
        let column = cells.column(&knee.column).ok_or_else(missing)?;
        let measure = Measure::parse(&knee.column).ok_or_else(missing)?;
        let (mut experiments, mut over, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for cells in cells.lines.iter().filter(|cells| !cells[column].is_empty()) {
            experiments.push(self.experiment.replace("{}", &cells[keys]));
            over.push(number(&cells[keys]).map_err(|e| ("key", e))?);
            values.push(number(&cells[column]).map_err(|e| ("reference", e))?);
        }
        let published = super::metric::first_above(&over, &values, knee.limit)
            .ok_or_else(|| ("knee", format!("the reference does not exceed {}", knee.limit)))?;
        Ok(Row {
            id: format!("{}/knee", self.name),
            metric: Metric::Knee {
                experiments,
                over,
                job: self.job.clone(),
                measure,
                limit: knee.limit,
            },
            published,
            class: knee.class,
            tolerance: knee.tolerance,
            source: self.source.clone(),
            reason: self.reasons.get("knee").cloned(),
        })
    }
}

fn measure(column: &ColumnFile) -> Result<Measure, Fault> {
    let name = column.measure.as_ref().unwrap_or(&column.column);
    let unknown = || {
        let known = "DIRECTION_mean_us, DIRECTION_p99_us, DIRECTION_iops, DIRECTION_mb_s with `read` or `write`, \
                     media_mb_s, media_waf";
        ("columns", format!("no measure `{name}`; known: {known}"))
    };
    if !(column.tolerance >= 0.0 && column.tolerance.is_finite()) {
        return Err(("columns", format!("{}: expected a tolerance of at least 0", column.column)));
    }
    Measure::parse(name).ok_or_else(unknown)
}

fn number(cell: &str) -> Result<f64, String> {
    cell.parse()
        .ok()
        .filter(|n: &f64| n.is_finite())
        .ok_or_else(|| format!("`{cell}` is not a number"))
}

/// The cells of a CSV file; lines that begin with `#` are comments.
struct Cells {
    header: Vec<String>,
    lines: Vec<Vec<String>>,
}

impl Cells {
    fn read(path: &Path) -> Result<Self, String> {
        let text = read_text(path).map_err(|e| e.to_string())?;
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let broken = |_| format!("{}: not a table of equal columns", path.display());
        let cells = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
        let header = cells(reader.headers().map_err(broken)?);
        let lines = reader.records().map(|record| record.map(|r| cells(&r)).map_err(broken));
        Ok(Cells { header, lines: lines.collect::<Result<_, _>>()? })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }
}
