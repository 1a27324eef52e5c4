//! `wafer report`

use wafer_record::{Outputs, read_records, write_text};

use crate::args::ReportArgs;
use wafer_output as output;

pub(crate) fn run(args: &ReportArgs, quiet: bool) -> anyhow::Result<()> {
    let mut outputs = Outputs::default();
    args.records.iter().for_each(|path| outputs.input(path));
    outputs.output_or_stdout(&args.output)?;
    let mut records = Vec::new();
    for path in &args.records {
        records.extend(read_records(path)?);
    }
    let count = records.len();
    let page = wafer_web::report::page(args.title.as_deref(), records)?;
    if outputs.has_stdout() {
        return output::text(&page);
    }
    write_text(&args.output, &page)?;
    let size = output::bytes(page.len() as u64);
    output::notice(
        quiet,
        &format!("{}: {}, {size}", args.output.display(), output::count(count, "run")),
    );
    Ok(())
}
