//! `wafer report`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

const REPORT_EXAMPLES: &str = "\
Examples:
  wafer report result.json                                 writes report.html
  wafer report nofdp.json fdp.json -o fdp.html             two runs beside each other
  wafer report results/ --title 'OP 7 to 28 %'             all records of a folder

The page needs no network and no other file.";

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Result records (JSON, one or an array each), or folders of them.
    #[arg(value_name = "RESULT.json", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) records: Vec<PathBuf>,

    /// Where the page goes; `-` is stdout.
    #[arg(
        long, short, value_name = "REPORT.html", default_value = "report.html",
        value_hint = ValueHint::FilePath
    )]
    pub(crate) output: PathBuf,

    /// Title of the page. Default: the names of the runs.
    #[arg(long)]
    pub(crate) title: Option<String>,
}
