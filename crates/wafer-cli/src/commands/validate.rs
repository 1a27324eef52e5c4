//! `wafer validate`

use std::path::Path;

use wafer_lab::Options;
use wafer_record::write_json;
use wafer_studies::reproduce::{Outcomes, Reproduction};
use wafer_studies::validate::{Validation, experiments, plan, update_document};

use super::figures;
use crate::args::ValidateArgs;
use crate::output;

pub(crate) fn run(args: &ValidateArgs, quiet: bool) -> anyhow::Result<()> {
    let options = Options { data_dir: args.data.data_dir.clone(), ..Options::default() };
    let curves = experiments(&args.experiments, &args.names, &options)?;
    let plan = plan(&curves, args.seeds.unwrap_or(1))?;
    if let Some(path) = &args.markdown {
        let empty = Reproduction::new(&plan, &Outcomes::new(), 0.0);
        figures::check_document(path, |label, text| update_document(&empty, label, text))?;
    }
    let (table, outcomes) = figures::run_all(&plan, args.threads, None, quiet)?;
    let validation = Validation::new(&curves, &table, &outcomes);
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => output::json(&validation)?,
        Some(path) => write_json(path, &validation)?,
        None => {}
    }
    if let Some(path) = &args.markdown {
        figures::write_document(path, |label, text| update_document(&table, label, text))?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        figures::print(&table)?;
    }
    figures::finish(&table, args.strict)
}
