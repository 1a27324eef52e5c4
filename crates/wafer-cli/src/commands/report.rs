//! `wafer report`

use wafer_record::{Outputs, read_records, write_text};

use crate::args::ReportArgs;
use wafer_output as output;

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
    let count = records.len();
    let page = wafer_web::report::page(args.title.as_deref(), records)?;
    if output::is_stdout(&args.output) {
        return output::text(&page);
    }
    write_text(&args.output, &page)?;
    let size = output::bytes(page.len() as u64);
    output::notice(
        quiet,
        &format!(
            "{}: {count} {}, {size}",
            args.output.display(),
            if count == 1 { "run" } else { "runs" }
        ),
    );
    Ok(())
}
