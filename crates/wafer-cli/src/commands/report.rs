//! `wafer report`

use wafer_record::{Outputs, Record, read_records, write_text};

use crate::args::ReportArgs;
use crate::output;

pub(crate) fn run(args: &ReportArgs, quiet: bool) -> anyhow::Result<()> {
    let mut outputs = Outputs::default();
    args.records.iter().for_each(|path| outputs.input(path));
    if !output::is_stdout(&args.output) {
        outputs.output(&args.output)?;
    }
    let mut records = Vec::new();
    for path in &args.records {
        records.extend(read_records(path)?);
    }
    let title = args.title.clone().unwrap_or_else(|| title_of(&records));
    let count = records.len();
    let page = wafer_web::report::page(&title, records)?;
    if output::is_stdout(&args.output) {
        return output::text(&page);
    }
    write_text(&args.output, &page)?;
    let size = output::bytes(page.len() as u64);
    output::notice(quiet, &format!("{}: {count} runs, {size}", args.output.display()));
    Ok(())
}

/// Returns the names of the runs, shortened if there are more than three.
fn title_of(records: &[Record]) -> String {
    let mut names: Vec<&str> = records.iter().map(|r| r.name.as_str()).collect();
    names.dedup();
    match names.as_slice() {
        [] => "wafer".to_owned(),
        few if few.len() <= 3 => few.join(", "),
        many => format!("{} and {} more", many[0], many.len() - 1),
    }
}
