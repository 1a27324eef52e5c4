//! The JSON Schema of records.

use schemars::Schema;
use schemars::generate::SchemaSettings;

use crate::Record;

/// Returns the JSON Schema (draft 2020-12) of a record as wafer writes it.
///
/// Records of version 0.1.0 also validate, because all fields added since are optional.
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Record>()
}

#[cfg(test)]
mod tests;
