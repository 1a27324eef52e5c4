//! Measured latency, with the loads under which it was measured.

use std::path::{Path, PathBuf};

use wafer_lab::LabError;
use wafer_record::files::read_text;

/// Latencies of one direction in microseconds; none if not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    /// Mean.
    pub mean: Option<f64>,
    /// Percentiles 50, 99, 99.9, 99.99 and 99.999.
    pub percentiles: [Option<f64>; 5],
}

/// Names of the percentiles, in tables and in records.
pub(crate) const PERCENTILES: [(&str, &str); 5] =
    [("p50", "50"), ("p99", "99"), ("p999", "99.9"), ("p9999", "99.99"), ("p99999", "99.999")];

impl Latency {
    /// Returns the names and values.
    pub(crate) fn figures(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        let percentiles = PERCENTILES.iter().zip(self.percentiles);
        [("mean", self.mean)].into_iter().chain(percentiles.map(|((name, _), us)| (*name, us)))
    }

    /// Returns the mean of each figure that all of them have.
    pub(crate) fn mean_of(all: &[Latency]) -> Self {
        let mean = |of: &dyn Fn(&Latency) -> Option<f64>| -> Option<f64> {
            let sum: Option<f64> = all.iter().map(of).sum();
            Some(sum? / all.len() as f64)
        };
        Latency {
            mean: mean(&|one| one.mean),
            percentiles: [0, 1, 2, 3, 4].map(|i| mean(&|one| one.percentiles[i])),
        }
    }

    fn is_empty(&self) -> bool {
        self.figures().all(|(_, us)| us.is_none())
    }

    fn set(&mut self, name: &str, us: f64) {
        match PERCENTILES.iter().position(|(percentile, _)| *percentile == name) {
            Some(at) => self.percentiles[at] = Some(us),
            None => self.mean = Some(us),
        }
    }

    /// Returns the highest measured percentile up to the one at index `most`.
    pub(crate) fn tail(&self, most: usize) -> Option<f64> {
        self.percentiles[1..=most].iter().rev().find_map(|us| *us)
    }
}

/// When writes were issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At a rate with which the drive kept up.
    Rate,
    /// Each when the previous one had completed.
    Single,
    /// Several were always in flight: they had no rate, or did not reach it.
    Queue,
}

/// The measurements of one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name for tables.
    pub name: String,
    /// Writes of 4 KiB per second.
    pub writes_per_s: f64,
    /// Requested writes of 4 KiB per second, if `writes_per_s` is only an upper limit of those reached.
    pub(crate) asked: Option<f64>,
    /// Jobs, as text of a fio job file.
    pub(crate) jobs: String,
    /// Bytes of the drive they ran on; none for those of the device.
    pub(crate) drive_bytes: Option<u64>,
    /// What was written before: the whole drive at random, or the jobs' writes until it is steady.
    pub(crate) before: &'static str,
    /// Names of the jobs whose reads and whose writes were measured.
    pub(crate) probes: (String, String),
    /// When its writes were issued.
    pub(crate) pace: Pace,
    /// Mean bytes per write of the probe.
    pub(crate) write_bytes: f64,
    /// Reads.
    pub read: Latency,
    /// Writes.
    pub write: Latency,
}

impl Row {
    /// Returns a row of SSD-iq's latency run at `rate` writes per second, without figures.
    pub(crate) fn at(rate: f64) -> Self {
        Row {
            name: format!("{rate}"),
            writes_per_s: rate,
            asked: Some(rate),
            jobs: jobs(rate),
            drive_bytes: None,
            before: RANDOM,
            probes: ("probe".to_owned(), "probe".to_owned()),
            pace: Pace::Rate,
            write_bytes: 4096.0,
            read: Latency::default(),
            write: Latency::default(),
        }
    }

    /// Returns whether half a second of its writes reveals their WAF. Rows of a table write alike at any rate.
    pub(crate) fn tells_waf(&self) -> bool {
        self.writes_per_s >= if self.asked.is_some() { WRITING } else { LEAST_WRITING }
    }

    /// Returns a row that writes like those of a table, independent of the measured rows.
    pub(crate) fn writing() -> Self {
        Row::at(WRITING)
    }
}

/// Measured rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Rows in ascending order of writes per second.
    pub rows: Vec<Row>,
    /// Notices about what cannot be used, one line each.
    pub notices: Vec<String>,
}

/// States of a drive before a row: see [`Row::before`].
pub(crate) const RANDOM: &str = "sequential+random:2";
pub(crate) const STEADY: &str = "sequential+steady";
/// Reads, and writes, of the probe per second.
const PROBE: f64 = 5000.0;
/// Number of writing threads.
const THREADS: f64 = 6.0;
/// Maximum commands in flight per thread, and for the probe, as in SSD-iq's benchmark.
const IN_FLIGHT: f64 = 64.0;
/// Writes per second that reveal the WAF, and the minimum that does.
const WRITING: f64 = 50_000.0;
const LEAST_WRITING: f64 = 1000.0;
/// Maximum writes per second of a row.
const MOST: f64 = 1e8;

impl Measured {
    /// Reads a table in SSD-iq's form, measured by its method. A probe reads and writes at fixed intervals, 5,000 of
    /// each per second, beside six threads that write 4 KiB uniformly as Poisson processes. The probe and each thread
    /// have at most 64 commands in flight.
    ///
    /// # Errors
    /// If the file is not such a table; the message names line and column.
    pub fn csv(path: &Path) -> Result<Self, LabError> {
        let label = path.display().to_string();
        let rows = parse(&label, &read_text(path)?)?;
        let behind = rows.iter().filter(|row| row.pace == Pace::Queue);
        let notices = behind.map(|row| {
            let (asked, reached) = (&row.name, row.writes_per_s);
            format!("{label}: row {asked}: by the latency of writes the drive reached at most {reached:.0} writes/s")
        });
        let notices = notices.collect();
        Ok(Measured { files: vec![path.to_owned()], rows, notices })
    }
}

/// Returns the jobs of SSD-iq's latency run at `rate` writes per second, including the probe's.
fn jobs(rate: f64) -> String {
    // The probe's reads and writes alternate.
    let mut text = format!(
        "[global]\nbs=4k\nio_submit_mode=offload\nnorandommap\niodepth={IN_FLIGHT}\n[probe]\nrw=randread\nrate_iops={PROBE}\n"
    );
    if rate > 0.0 {
        let writes = rate.min(PROBE).round().max(1.0);
        text += &format!("[probe]\nrw=randwrite\nstartdelay=100us\nrate_iops={writes}\n");
    }
    let each = ((rate - PROBE) / THREADS).round();
    if each >= 1.0 {
        text += &format!(
            "[writers]\nrw=randwrite\nnumjobs={THREADS}\nrate_iops={each}\nrate_process=poisson\n"
        );
    }
    text
}

/// Returns the maximum writes per second that a drive can have reached at this requested rate: the number in flight
/// divided by the latency of the probe, which waits no longer than the writers.
fn reached(rate: f64, write: &Latency) -> f64 {
    let Some(us) = write.mean.or(write.percentiles[0]) else { return rate };
    let most = |in_flight: f64| in_flight * 1e6 / us;
    rate.min(most(IN_FLIGHT).min(PROBE) + most(THREADS * IN_FLIGHT))
}

/// Returns the figure named by a column such as `read_p99_us`.
fn figure(column: &str) -> Option<&str> {
    let inner = column.strip_suffix("_us")?;
    let inner = inner.strip_prefix("read_").or_else(|| inner.strip_prefix("write_"))?;
    (inner == "mean" || PERCENTILES.iter().any(|(known, _)| *known == inner)).then_some(inner)
}

fn parse(label: &str, text: &str) -> Result<Vec<Row>, LabError> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let at = |line: usize, column: &str| match column {
        "" => format!("{label}:{line}"),
        column => format!("{label}:{line}: {column}"),
    };
    // The reader's positions are those of the comments before a row.
    let lines =
        text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<usize> = lines.map(|(i, _)| i + 1).collect();
    let line_of = |row: usize| lines.get(row).copied().unwrap_or(1);
    let broken =
        |row: usize| LabError::config(at(line_of(row), ""), "not as many fields as the header");
    let header = reader.headers().map_err(|_| broken(0))?.clone();
    let line = line_of(0);
    if header.is_empty() || header.iter().all(str::is_empty) {
        return Err(LabError::config(label, "no header; it begins with writes_per_s,read_mean_us"));
    }
    for (i, name) in header.iter().enumerate() {
        if name != "writes_per_s" && figure(name).is_none() {
            let reason = "unknown column; expected writes_per_s, and read_ or write_ with mean_us, p50_us, p99_us, \
                          p999_us, p9999_us, p99999_us";
            return Err(LabError::config(at(line, &format!("`{name}`")), reason));
        }
        if header.iter().take(i).any(|before| before == name) {
            return Err(LabError::config(at(line, name), "the column appears twice"));
        }
    }
    let Some(rate_column) = header.iter().position(|name| name == "writes_per_s") else {
        return Err(LabError::config(at(line, "writes_per_s"), "the column is missing"));
    };
    let mut rows: Vec<Row> = Vec::new();
    for (row, record) in (1..).zip(reader.records()) {
        let record = record.map_err(|_| broken(row))?;
        let line = line_of(row);
        let number = |column: usize, most: f64| -> Result<Option<f64>, LabError> {
            let field = record.get(column).unwrap_or("");
            if field.is_empty() {
                return Ok(None);
            }
            let number = field.parse::<f64>().ok().filter(|n| (0.0..=most).contains(n));
            number.map(Some).ok_or_else(|| {
                let reason = format!("`{field}` is not a number from 0 to {most}");
                LabError::config(at(line, &header[column]), reason)
            })
        };
        let Some(rate) = number(rate_column, MOST)? else {
            return Err(LabError::config(at(line, "writes_per_s"), "missing"));
        };
        if let Some(last) = rows.last().filter(|last| last.writes_per_s >= rate) {
            let reason = format!("{rate} after {}: rows must ascend", last.writes_per_s);
            return Err(LabError::config(at(line, "writes_per_s"), reason));
        }
        let (mut read, mut write) = (Latency::default(), Latency::default());
        for (column, name) in header.iter().enumerate() {
            let (Some(inner), Some(us)) = (figure(name), number(column, 1e9)?) else { continue };
            if us == 0.0 {
                return Err(LabError::config(at(line, name), "expected a time above 0"));
            }
            if rate == 0.0 && name.starts_with("write_") {
                return Err(LabError::config(at(line, name), "a latency of writes at 0 writes/s"));
            }
            if name.starts_with("read_") { read.set(inner, us) } else { write.set(inner, us) }
        }
        for (direction, latency) in [("read", &read), ("write", &write)] {
            let measured = PERCENTILES.iter().zip(latency.percentiles);
            let mut below = 0.0;
            for ((name, _), us) in measured.filter_map(|(name, us)| Some((name, us?))) {
                if us < below {
                    let reason = format!("{us} is less than {below} of a lower percentile");
                    return Err(LabError::config(
                        at(line, &format!("{direction}_{name}_us")),
                        reason,
                    ));
                }
                below = us;
            }
        }
        if read.is_empty() && write.is_empty() {
            return Err(LabError::config(at(line, ""), "the row has no latency"));
        }
        let reached = reached(rate, &write);
        let pace = if reached < rate { Pace::Queue } else { Pace::Rate };
        rows.push(Row { writes_per_s: reached, pace, read, write, ..Row::at(rate) });
    }
    if rows.is_empty() {
        return Err(LabError::config(label, "no rows"));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use wafer_fio_file::{JobFile, Target};

    use super::*;

    #[test]
    fn a_published_table_is_read() {
        let text = include_str!(
            "../../../../configs/reference/timing/7450max-800gb-reads-beside-writes.csv"
        );
        let rows = parse("a.csv", text).unwrap();
        assert_eq!(rows.len(), 8);
        assert_eq!(rows[1].write.percentiles[1], Some(880.0));
        assert_eq!((rows[0].read.mean, rows[0].read.percentiles[0]), (None, Some(65.0)));
        assert_eq!(rows[7].read.tail(4), Some(1640.0));
    }

    #[test]
    fn jobs_write_at_the_rate_of_the_row() {
        assert!(jobs(65_000.0).contains("rate_iops=10000\n"));
        assert!(jobs(2000.0).contains("rate_iops=2000\n") && !jobs(2000.0).contains("writers"));
        assert!(jobs(0.0).contains("rw=randread\n") && !jobs(0.0).contains("write"));
    }

    /// The workload that users measure with is the one that runs here.
    #[test]
    fn jobs_are_those_of_the_workload() {
        let workload = include_str!("../../../../configs/workloads/ssd-iq-reads-beside-writes.fio");
        let of = |text: &str| {
            let target = Target {
                namespace_bytes: vec![1 << 40],
                namespace_handles: vec![1],
                page_bytes: 4096,
            };
            let file = JobFile::parse(text, "a.fio").unwrap();
            let variable = |name: &str| match name {
                "RATE" => Some("10000".to_owned()),
                _ => Some("1".to_owned()),
            };
            let jobs = file.resolve_with(&target, &variable).unwrap().jobs.into_iter();
            let mut load: Vec<String> = jobs
                .map(|job| {
                    let (depth, rate) = (job.iodepth, job.rate_iops);
                    format!("{:?} {} {depth} {rate:?} {}", job.direction, job.name, job.start_delay)
                })
                .collect();
            load.sort();
            load
        };
        assert_eq!(of(&jobs(65_000.0)), of(workload));
    }

    /// The rate is the number in flight divided by its latency.
    #[test]
    fn rows_that_did_not_keep_up_have_the_rate_that_they_reached() {
        let rows =
            |text: &str| parse("a.csv", &format!("writes_per_s,write_mean_us\n{text}")).unwrap();
        let found = rows("40000,12\n85000,5428\n");
        assert_eq!((found[0].pace, found[0].writes_per_s), (Pace::Rate, 40_000.0));
        assert_eq!((found[1].pace, found[1].name.as_str()), (Pace::Queue, "85000"));
        assert!((found[1].writes_per_s / 75_740.0 - 1.0).abs() < 0.001, "{found:?}");
        // Also fast drives, but not a drive that kept up.
        assert_eq!(rows("1500000,300\n")[0].pace, Pace::Queue);
        assert_eq!(rows("76500,3359\n")[0].pace, Pace::Rate);
    }

    #[test]
    fn each_fault_has_line_and_column() {
        let cases = [
            ("", "a.csv: no header"),
            ("writes_per_s,read_mean_us\n", "a.csv: no rows"),
            ("rate,read_mean_us\n1,2\n", "a.csv:1: `rate`: unknown column"),
            ("# x\n\n# y\nwrites_per_s,x\n", "a.csv:4: `x`: unknown column"),
            ("writes_per_s,read_mean_us\n1,2\n# x\n\n2,-2\n", "a.csv:5: read_mean_us: `-2` is not"),
            ("read_mean_us\n2\n", "a.csv:1: writes_per_s: the column is missing"),
            (
                "writes_per_s,read_p50_us,read_p50_us\n1,2,3\n",
                "a.csv:1: read_p50_us: the column appears twice",
            ),
            (
                "# x\nwrites_per_s,read_mean_us\n1,-2\n",
                "a.csv:3: read_mean_us: `-2` is not a number",
            ),
            ("writes_per_s,read_mean_us\n1,NaN\n", "a.csv:2: read_mean_us: `NaN` is not a number"),
            ("writes_per_s,read_mean_us\n1,inf\n", "a.csv:2: read_mean_us: `inf` is not"),
            ("writes_per_s,read_mean_us\n1,0\n", "a.csv:2: read_mean_us: expected a time above 0"),
            ("writes_per_s,read_mean_us\n1,x\n", "a.csv:2: read_mean_us: `x` is not"),
            ("writes_per_s,read_mean_us\n,5\n", "a.csv:2: writes_per_s: missing"),
            ("writes_per_s,read_mean_us\n1,\n", "a.csv:2: the row has no latency"),
            (
                "writes_per_s,write_mean_us\n0,12\n",
                "a.csv:2: write_mean_us: a latency of writes at 0 writes/s",
            ),
            ("writes_per_s,read_mean_us\n2,5\n1,5\n", "a.csv:3: writes_per_s: 1 after 2"),
            ("writes_per_s,read_mean_us\n2,5\n2,5\n", "a.csv:3: writes_per_s: 2 after 2"),
            ("writes_per_s,read_mean_us\n2,5,6\n", "a.csv:2: not as many fields"),
            (
                "writes_per_s,read_p50_us,read_p99_us\n2,5,4\n",
                "a.csv:2: read_p99_us: 4 is less than 5",
            ),
        ];
        for (text, expected) in cases {
            let message = parse("a.csv", text).unwrap_err().to_string();
            assert!(
                message.starts_with(expected) && !message.contains('\n'),
                "{text:?}: {message}"
            );
        }
    }
}
