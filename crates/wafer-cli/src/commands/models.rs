//! `wafer models`

use std::io::Write as _;

use serde_json::{Value, json};
use wafer_lab::{ModelInfo, find_model, model_defaults, models};

use crate::args::ModelsArgs;
use wafer_output as output;

/// Returns a model with its keys and defaults.
fn described(model: &ModelInfo) -> anyhow::Result<Value> {
    let defaults = serde_json::to_value(model_defaults(model))?;
    Ok(json!({ "name": model.name, "summary": model.summary, "defaults": defaults }))
}

pub(crate) fn run(args: &ModelsArgs) -> anyhow::Result<()> {
    if let Some(name) = &args.name {
        let model = find_model(name)?;
        if args.json {
            return output::json(&described(model)?);
        }
        let mut out = output::styled();
        writeln!(out, "[workload]\nmodel = \"{}\"", model.name)?;
        write!(out, "{}", model_defaults(model))?;
        return Ok(());
    }
    if args.json {
        let models: anyhow::Result<Value> = models().iter().map(described).collect();
        return output::json(&models?);
    }
    output::summaries(false, ["model", "application"], models().iter().map(|m| (m.name, m.summary)))
}
