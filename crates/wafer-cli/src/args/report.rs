//! `wafer report`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

const REPORT_EXAMPLES: &str = "\
Examples:
  wafer report result.json                                 write report.html
  wafer report nofdp.json fdp.json -o fdp.html             compare two runs
  wafer report results/ --title 'OP 7 to 28 %'             chart all records of a folder

The page works offline and refers to no other file.";

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Result records (JSON files with a record or an array of them), or folders of them.
    #[arg(value_name = "RESULT.json", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) records: Vec<PathBuf>,

    /// File for the page; `-` is stdout.
    #[arg(
        long, short, value_name = "REPORT.html", default_value = "report.html",
        value_hint = ValueHint::FilePath
    )]
    pub(crate) output: PathBuf,

    /// Title of the page. Default: the names of the runs.
    #[arg(long)]
    pub(crate) title: Option<String>,
}
