//! Sanitize. Only block erase: data is not encrypted, and the media need no overwriting.

use wafer_nvme::{SanitizeCdw10, Sqe};

use super::{AdminCommand, Controller, Failure, Reply};

pub(super) enum Sanitize {
    ExitFailureMode,
    BlockErase { cdw10: u32 },
}

/// Sanitize Actions.
const EXIT_FAILURE_MODE: u8 = 1;
const BLOCK_ERASE: u8 = 2;

impl AdminCommand<'_> for Sanitize {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let cdw10 = SanitizeCdw10::of(sqe);
        match cdw10.sanact() {
            EXIT_FAILURE_MODE => Ok(Sanitize::ExitFailureMode),
            // Blocks cannot stay allocated, and there is no media verification.
            BLOCK_ERASE if cdw10.ndas() => {
                Err(SanitizeCdw10::new().with_ndas(true).location().into())
            }
            BLOCK_ERASE if cdw10.emvs() => {
                Err(SanitizeCdw10::new().with_emvs(true).location().into())
            }
            BLOCK_ERASE => Ok(Sanitize::BlockErase { cdw10: sqe.cdw10.get() }),
            _ => Err(SanitizeCdw10::new().with_sanact(1).location().into()),
        }
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let drive = &controller.subsystem.drive;
        match self {
            Sanitize::ExitFailureMode => drive.exit_sanitize_failure()?,
            Sanitize::BlockErase { cdw10 } => {
                drive.begin_sanitize(cdw10)?;
                controller.log_sanitize_start(cdw10);
            }
        }
        Ok(Reply::default())
    }
}
