//! `wafer models`

use std::io::Write as _;

use serde::Serialize;
use wafer_lab::{ModelInfo, find_model, models};

use crate::args::ModelsArgs;
use crate::output;

#[derive(Serialize)]
struct Row {
    name: &'static str,
    summary: &'static str,
    /// Keys with their defaults.
    defaults: serde_json::Value,
}

impl Row {
    fn of(model: &ModelInfo) -> anyhow::Result<Self> {
        let defaults = serde_json::to_value((model.defaults)())?;
        Ok(Row { name: model.name, summary: model.summary, defaults })
    }
}

pub(crate) fn run(args: &ModelsArgs) -> anyhow::Result<()> {
    if let Some(name) = &args.name {
        let model = find_model(name)?;
        if args.json {
            return output::json(&Row::of(model)?);
        }
        let mut out = output::styled();
        writeln!(out, "[workload]\nmodel = \"{}\"", model.name)?;
        write!(out, "{}", (model.defaults)())?;
        return Ok(());
    }
    if args.json {
        let rows: anyhow::Result<Vec<Row>> = models().iter().map(Row::of).collect();
        return output::json(&rows?);
    }
    output::summaries(false, ["model", "application"], models().iter().map(|m| (m.name, m.summary)))
}
