//! Format NVM.

use wafer_nvme::{FormatCdw10, Sqe, Status, location};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::identify::LBA_FORMATS;
use crate::nsid::{BROADCAST, Nsid};
use crate::removals::{Purpose, Removals};

pub(super) struct FormatNvm {
    nsid: Nsid,
    cdw10: u32,
    lba_bytes: u32,
}

/// Secure Erase Settings: user data, the highest supported value; there is no cryptographic erase.
const USER_DATA_ERASE: u8 = 1;

impl AdminCommand<'_> for FormatNvm {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let cdw10 = FormatCdw10::of(sqe);
        // LBAFU and MSET have no meaning with at most 16 formats and no metadata.
        let format = usize::from(cdw10.lbafl());
        let lbads = *LBA_FORMATS.get(format).ok_or(Status::INVALID_FORMAT)?;
        if cdw10.pi() != 0 {
            return Err(Status::INVALID_FORMAT.into());
        }
        if cdw10.ses() > USER_DATA_ERASE {
            return Err(FormatCdw10::new().with_ses(1).location().into());
        }
        let cdw10 = sqe.cdw10.get();
        Ok(FormatNvm { nsid: Nsid::one_or_all(sqe)?, cdw10, lba_bytes: 1 << lbads })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let nsids = match self.nsid {
            Nsid::All => controller.nsids(true),
            Nsid::One(nsid) => {
                controller.allocated(nsid)?.ok_or(location!(nsid))?;
                vec![nsid]
            }
        };
        // No namespace is formatted unless all of them can be.
        let drive = &controller.subsystem.drive;
        for nsid in &nsids {
            if let Some(namespace) = controller.allocated(*nsid)? {
                namespace.check_unprotected()?;
                if drive.fdp_enabled() {
                    drive.check_format(&namespace.handles, self.lba_bytes, &nsids)?;
                }
            }
        }
        let nsid = match self.nsid {
            Nsid::All => BROADCAST,
            Nsid::One(nsid) => nsid,
        };
        let purpose = Purpose::Format { nsid, lba_bytes: self.lba_bytes };
        controller.log_format_start(nsid, self.cdw10);
        let begun = Removals::begin(controller, purpose, nsids);
        let rest = begun.inspect_err(|e| controller.log_format_completion(nsid, e.status))?;
        Ok(Reply { rest: Some(rest), ..Default::default() })
    }
}
