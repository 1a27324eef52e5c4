//! `wafer cache`

use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context as _;
use serde_json::json;
use wafer_cache::Cache;
use wafer_lab::LabError;
use wafer_record::record::rfc3339;

use crate::args::CacheCommand;
use crate::batch;
use wafer_output as output;
use wafer_output::Table;

pub(crate) fn run(command: &CacheCommand, quiet: bool) -> anyhow::Result<()> {
    let cache = batch::cache(quiet)?.ok_or_else(|| {
        LabError::config("WAFER_CACHE", "is `off`, or there is no home folder: nothing is kept")
    })?;
    match command {
        CacheCommand::List { json } => list(&cache, *json, quiet),
        CacheCommand::Clear => {
            let (count, bytes) = cache.clear().with_context(|| folder(&cache))?;
            let text = format!("removed drives: {count}, {}", output::bytes(bytes));
            output::notice(quiet, &text);
            Ok(())
        }
    }
}

fn folder(cache: &Cache) -> String {
    cache.folder().display().to_string()
}

fn list(cache: &Cache, json: bool, quiet: bool) -> anyhow::Result<()> {
    let entries = cache.entries().with_context(|| folder(cache))?;
    let bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
    if json {
        return output::json(&json!({
            "folder": folder(cache), "limit": cache.limit(), "bytes": bytes, "drives": entries,
        }));
    }
    let mut table = Table::default()
        .text(["device", "workload", "precondition"])
        .numbers(["seed", "size"])
        .text(["last used"]);
    let count = entries.len();
    for entry in entries {
        table.row([
            entry.device,
            entry.workload,
            entry.precondition,
            entry.seed.to_string(),
            output::bytes(entry.bytes),
            rfc3339(UNIX_EPOCH + Duration::from_secs(entry.used_unix_seconds)),
        ]);
    }
    if count > 0 {
        table.print(&mut output::styled())?;
    }
    let (taken, limit) = (output::bytes(bytes), output::bytes(cache.limit()));
    output::notice(
        quiet,
        &format!("drives: {count}, {taken} in {}; at most {limit}", folder(cache)),
    );
    Ok(())
}
