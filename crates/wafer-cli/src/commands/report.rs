//! `wafer report`

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use wafer_record::{Record, read_records};

use crate::args::ReportArgs;
use crate::output;

pub(crate) fn run(args: &ReportArgs, quiet: bool) -> anyhow::Result<()> {
    let mut records = Vec::new();
    for path in &args.records {
        records.extend(read_records(path)?);
    }
    let title = match &args.title {
        Some(title) => title.clone(),
        None => title_of(&records),
    };
    let count = records.len();
    let page = wafer_web::report::page(&title, records)?;
    if args.output.as_os_str() == "-" {
        return output::text(&page);
    }
    write(&args.output, &page)?;
    let size = output::bytes(page.len() as u64);
    output::notice(quiet, &format!("{}: {count} runs, {size}", args.output.display()));
    Ok(())
}

/// Writes a page so that the file is whole or not there.
pub(crate) fn write(path: &Path, page: &str) -> anyhow::Result<()> {
    let temporary = PathBuf::from(format!("{}.{}.tmp", path.display(), std::process::id()));
    let written = std::fs::write(&temporary, page).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // The error that counts is the first.
        let _ = std::fs::remove_file(&temporary);
    }
    written.with_context(|| path.display().to_string())
}

/// The names of the runs, as long as they are few.
fn title_of(records: &[Record]) -> String {
    let mut names: Vec<&str> = records.iter().map(|r| r.name.as_str()).collect();
    names.dedup();
    match names.as_slice() {
        [] => "wafer".to_owned(),
        few if few.len() <= 3 => few.join(", "),
        many => format!("{} and {} more", many[0], many.len() - 1),
    }
}
