//! `wafer schema`

use crate::args::{SchemaArgs, SchemaOf};
use wafer_output as output;

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<()> {
    match args.what {
        SchemaOf::Record => output::json(&wafer_record::schema()),
        SchemaOf::Config => output::json(&wafer_lab::experiment_schema()),
        SchemaOf::Reproduce => output::json(&wafer_studies::reproduce::schema()),
    }
}
