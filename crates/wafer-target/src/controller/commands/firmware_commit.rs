//! Firmware Commit.

use wafer_drive::{BUILT_IN_SLOT, FIRMWARE_SLOTS};
use wafer_nvme::{CommitAction, FirmwareCommitCdw10, Sqe, Status};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::controller::notices::Notice;

pub(super) struct FirmwareCommit {
    /// 0 lets the drive choose.
    slot: u8,
    action: CommitAction,
}

impl AdminCommand<'_> for FirmwareCommit {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let cdw10 = FirmwareCommitCdw10::of(sqe);
        let action = CommitAction(cdw10.action());
        if action.name().is_none() {
            return Err(FirmwareCommitCdw10::new().with_action(1).location().into());
        }
        Ok(FirmwareCommit { slot: cdw10.slot(), action })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let (subsystem, slot) = (&controller.subsystem, self.slot);
        if slot > FIRMWARE_SLOTS {
            return Err(Status::INVALID_FIRMWARE_SLOT.into());
        }
        let download = &subsystem.download;
        let replaces = match self.action {
            CommitAction::ACTIVATE => false,
            CommitAction::ACTIVATE_NOW => download.is_begun(controller),
            _ => true,
        };
        if replaces && slot == BUILT_IN_SLOT {
            return Err(Status::INVALID_FIRMWARE_SLOT.into());
        }
        let image = if replaces { Some(download.take(controller)?) } else { None };
        subsystem.drive.change_firmware(|slots| {
            let slot = if image.is_some() && slot == 0 { slots.unused() } else { slot };
            if let Some(revision) = image {
                slots.replace(slot, revision)?;
            }
            if self.action != CommitAction::REPLACE {
                slots.activate_at_reset(slot)?;
            }
            if self.action == CommitAction::ACTIVATE_NOW {
                slots.reset();
            }
            Ok(())
        })?;
        if self.action == CommitAction::ACTIVATE_NOW {
            subsystem.notify(Notice::Firmware, |_| true);
        }
        Ok(Reply::default())
    }
}
