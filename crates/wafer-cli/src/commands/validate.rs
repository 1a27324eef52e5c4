//! `wafer validate`

use wafer_lab::Options;
use wafer_studies::reproduce::{Outcomes, Reproduction};
use wafer_studies::validate::{Validation, experiments, plan, update_document};

use super::figures;
use crate::args::ValidateArgs;
use wafer_output as output;

pub(crate) fn run(args: &ValidateArgs, quiet: bool) -> anyhow::Result<()> {
    let options = Options { data_dir: args.table.data.data_dir.clone(), ..Options::default() };
    let curves = experiments(&args.experiments, &args.names, &options)?;
    let plan = plan(&curves, args.seeds.unwrap_or(1))?;
    let documents = args.json.iter().chain(&args.table.markdown);
    let outputs = figures::check_outputs(&plan, &args.experiments, documents)?;
    if let Some(path) = &args.table.markdown {
        let empty = Reproduction::new(&plan, &Outcomes::new(), 0.0);
        figures::check_document(path, |label, text| update_document(&empty, label, text))?;
    }
    let (table, outcomes) = figures::run_all(&plan, args.table.threads, None, quiet)?;
    let validation = Validation::new(&curves, &table, &outcomes);
    if let Some(path) = &args.json {
        output::json_to(path, &validation)?;
    }
    if let Some(path) = &args.table.markdown {
        figures::write_document(path, |label, text| update_document(&table, label, text))?;
    }
    if !outputs.has_stdout() {
        figures::print(&table)?;
    }
    figures::finish(&table, args.table.strict)
}
