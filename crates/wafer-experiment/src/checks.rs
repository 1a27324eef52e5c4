//! Comparison of an experiment with its measured curve, `[validate]` of an experiment file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Volumes at which an experiment is compared with its measured curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checks {
    /// Whether parameters were chosen from this curve.
    pub standing: Standing,
    /// Volumes in multiples of the logical capacity.
    pub volumes: Vec<f64>,
    /// Tolerance at each volume, percent.
    pub tolerance_percent: Vec<f64>,
}

/// Whether an experiment's parameters were chosen from the curve it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// No parameter was chosen from this curve.
    Predicted,
    /// Some parameters were chosen from this curve, so agreement confirms its shape, not its level.
    Calibrated,
}

impl Checks {
    /// Checks that volumes and tolerances match. An error names the key.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.volumes.is_empty() || self.volumes.len() != self.tolerance_percent.len() {
            let reason = format!(
                "{} volumes but {} tolerances",
                self.volumes.len(),
                self.tolerance_percent.len()
            );
            return Err(("validate.tolerance_percent", reason));
        }
        let positive = |n: &f64| *n > 0.0 && n.is_finite();
        if !self.volumes.iter().all(positive) {
            return Err(("validate.volumes", "volumes must be above 0".to_owned()));
        }
        if !self.tolerance_percent.iter().all(positive) {
            return Err(("validate.tolerance_percent", "tolerances must be above 0".to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_pair_volumes_and_tolerances() {
        let checks = |volumes: &[f64], tolerances: &[f64]| {
            let (volumes, tolerance_percent) = (volumes.to_vec(), tolerances.to_vec());
            Checks { standing: Standing::Predicted, volumes, tolerance_percent }.check()
        };
        assert!(checks(&[2.0, 4.0], &[1.0, 2.0]).is_ok());
        assert_eq!(checks(&[2.0], &[]).unwrap_err().1, "1 volumes but 0 tolerances");
        assert_eq!(checks(&[], &[]).unwrap_err().0, "validate.tolerance_percent");
        assert_eq!(checks(&[0.0], &[1.0]).unwrap_err().0, "validate.volumes");
        assert_eq!(checks(&[1.0], &[-1.0]).unwrap_err().0, "validate.tolerance_percent");
    }
}
