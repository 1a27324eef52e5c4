//! The check that a run fits into memory.

use crate::error::LabError;

/// Refuses what needs more bytes of memory than are available, as far as that is known. `what` begins the message.
///
/// # Errors
/// It does not fit.
pub fn refuse_if_short(what: String, needed: u64, available: Option<u64>) -> Result<(), LabError> {
    match available {
        Some(available) if needed > available => Err(LabError::Memory { what, needed, available }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_fit_is_refused_with_the_estimate() {
        let check = |available| refuse_if_short("a on device b".into(), 3 << 30, available);
        let error = check(Some(1 << 30)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a on device b needs 3.0 GiB of memory, but only 1.0 GiB are available"
        );
        assert!(error.is_usage());
        assert!(check(Some(3 << 30)).is_ok() && check(None).is_ok());
    }
}
