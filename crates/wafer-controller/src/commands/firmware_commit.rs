//! Firmware Commit.

use wafer_drive::{BUILT_IN_SLOT, FIRMWARE_SLOTS};
use wafer_nvme::{CommitAction, FirmwareCommitCdw10, Sqe, Status};

use super::{AdminCommand, Controller, Failure, Reply};

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
        let before = controller.subsystem.drive.firmware().running();
        let (slot, action) = (self.slot, self.action);
        let committed = self.commit(controller);
        let status = committed.as_ref().err().map_or(Status::SUCCESS, |failure| failure.status);
        let slot = committed.as_ref().map_or(slot, |slot| *slot);
        let new = controller.subsystem.drive.firmware().revision(slot).unwrap_or_default();
        controller.log_firmware_commit([before, new], action.0, slot, status);
        committed.map(|_| Reply::default())
    }
}

impl FirmwareCommit {
    /// Executes the command and returns the slot used.
    fn commit(self, controller: &Controller) -> Result<u8, Failure> {
        let (subsystem, mut slot) = (&controller.subsystem, self.slot);
        if slot > FIRMWARE_SLOTS {
            return Err(Status::INVALID_FIRMWARE_SLOT.into());
        }
        let download = &subsystem.download;
        let replaces = match self.action {
            CommitAction::ACTIVATE => false,
            CommitAction::ACTIVATE_NOW => download.is_begun(controller.downloader()),
            _ => true,
        };
        if replaces && slot == BUILT_IN_SLOT {
            return Err(Status::INVALID_FIRMWARE_SLOT.into());
        }
        let image = if replaces { Some(download.take(controller.downloader())?) } else { None };
        subsystem.drive.change_firmware(|slots| {
            if image.is_some() && slot == 0 {
                slot = slots.unused();
            }
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
            subsystem.notify(|events| events.firmware.raise(), |_| true);
        }
        Ok(slot)
    }
}
