//! Shares over time, from a file of cumulative counters.

use std::path::Path;

use wafer_config::Place;
use wafer_fio::PaceTable;
use wafer_record::files::read_text;

use crate::error::LabError;

/// Reads `columns` of a comma-separated file with a header line. A name such as `ruh0` stands for the column of that
/// name or for `ruh0_host_bytes`. Lines that start with `#` are comments.
pub(super) fn read(path: &Path, columns: &[String]) -> Result<PaceTable, LabError> {
    parse(&read_text(path)?, &path.display().to_string(), columns)
}

fn parse(text: &str, file: &str, columns: &[String]) -> Result<PaceTable, LabError> {
    let fail = |line: u64, column: &str, reason: String| {
        let place = Place::File {
            file: file.to_owned(),
            line: Some(line as usize),
            key: Some(format!("column `{column}`")),
        };
        LabError::config(place, reason)
    };
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .flexible(true)
        .from_reader(text.as_bytes());
    let header = reader.headers().ok().filter(|header| !header.is_empty()).cloned();
    let header = header.ok_or_else(|| fail(1, "host_bytes", "no header".to_owned()))?;
    let header_line = header.position().map_or(1, csv::Position::line);
    let find = |wanted: &str| {
        let long = format!("{wanted}_host_bytes");
        header.iter().position(|name| name == wanted || name == long).ok_or_else(|| {
            let known = header.iter().collect::<Vec<_>>().join(", ");
            fail(header_line, wanted, format!("no such column; known: {known}"))
        })
    };
    let mut wanted = vec![("host_bytes", find("host_bytes")?)];
    for column in columns {
        wanted.push((column, find(column)?));
    }
    let mut rows: Vec<Vec<u64>> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| {
            let line = e.position().map_or(1, csv::Position::line);
            fail(line, "host_bytes", "not a line of a table".to_owned())
        })?;
        let line = record.position().map_or(1, csv::Position::line);
        let mut row = Vec::with_capacity(wanted.len());
        for (i, &(name, column)) in wanted.iter().enumerate() {
            let cell = record.get(column).unwrap_or_default();
            let value: u64 = cell
                .parse()
                .map_err(|_| fail(line, name, format!("`{cell}` is not a number of bytes")))?;
            if rows.last().is_some_and(|before| value < before[i]) {
                return Err(fail(line, name, format!("{value} is less than in the line before")));
            }
            row.push(value);
        }
        rows.push(row);
    }
    let flat = || "does not grow: there are no shares to take".to_owned();
    PaceTable::new(&rows).ok_or_else(|| fail(header_line + 1, "host_bytes", flat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let text = "# a remark\nhost_bytes,media_bytes,ruh0_host_bytes,ruh1_host_bytes\n\
                    0,0,0,0\n100,100,100,0\n100,100,100,0\n300,400,150,150\n";
        let table = parse(text, "x.csv", &["ruh1".to_owned(), "ruh0".to_owned()]).unwrap();
        let rows = [[0, 0, 0], [100, 0, 100], [100, 0, 100], [300, 150, 150]];
        assert_eq!(table, PaceTable::new(&rows.map(Vec::from)).unwrap());
    }

    #[test]
    fn errors_name_line_and_column() {
        let error = |text: &str, column: &str| {
            parse(text, "x.csv", &[column.to_owned()]).unwrap_err().to_string()
        };
        assert!(error("", "ruh0").contains("x.csv:1"));
        let text = "host_bytes,ruh0_host_bytes\n0,0\n";
        assert!(error(text, "ruh3").contains("`ruh3`: no such column; known: host_bytes"));
        assert!(error(text, "ruh0").contains("does not grow"));
        let text = "host_bytes,ruh0_host_bytes\n0,0\n5,x\n";
        assert_eq!(error(text, "ruh0"), "x.csv:3: column `ruh0`: `x` is not a number of bytes");
        let text = "host_bytes,ruh0_host_bytes\n0,0\n\n5,2\n4,3\n";
        assert!(error(text, "ruh0").starts_with("x.csv:5: column `host_bytes`: 4 is less"));
        assert!(error("host_bytes,ruh0_host_bytes\n0,0\n5\n", "ruh0").contains("x.csv:3"));
    }
}
