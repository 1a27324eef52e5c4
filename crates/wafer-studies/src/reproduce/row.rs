//! A row of a study: one published figure and the metric compared with it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::Metric;

/// How much agreement with a published figure proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The model predicts a figure it was not fitted to.
    Identified,
    /// A parameter was chosen with this figure in view; agreement shows only that the form is right.
    Calibrated,
    /// Parts of the measured system are not modelled; the figure is right only in kind.
    Sketch,
    /// Recorded traffic of the same program, replayed at another size: nothing was fitted.
    Captured,
    /// The model does not reproduce it; the reason says why, as far as known.
    NotReproduced,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Identified => "identified",
            Class::Calibrated => "calibrated",
            Class::Sketch => "sketch",
            Class::Captured => "captured",
            Class::NotReproduced => "not reproduced",
        })
    }
}

/// One published figure and the metric compared with it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name within the study.
    pub id: String,
    /// Computes our figure from the records.
    pub metric: Metric,
    /// The published figure.
    pub published: f64,
    /// How much agreement proves.
    pub class: Class,
    /// Largest relative difference that counts as agreement.
    pub tolerance: f64,
    /// Figure, table or file of the source.
    pub source: Option<String>,
    /// The reason for a miss, if known.
    pub reason: Option<String>,
}
