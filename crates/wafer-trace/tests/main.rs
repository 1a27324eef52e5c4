//! Readers of traces.

mod formats;
mod mutated;
mod odd;

/// Returns an error with its causes, as a program prints it.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
