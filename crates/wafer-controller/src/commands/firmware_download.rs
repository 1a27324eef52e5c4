//! Firmware Image Download.

use wafer_drive::{FIRMWARE_GRANULARITY, MAX_IMAGE};
use wafer_nvme::{Sqe, Status, location};

use super::{AdminCommand, Controller, Failure, Reply};

pub(super) struct FirmwareDownload<'a> {
    /// Bytes.
    offset: u64,
    data: &'a [u8],
}

impl<'a> AdminCommand<'a> for FirmwareDownload<'a> {
    fn parse(sqe: &'a Sqe, data: &'a [u8]) -> Result<Self, Failure> {
        let length = (u64::from(sqe.cdw10.get()) + 1) * 4;
        let offset = u64::from(sqe.cdw11.get()) * 4;
        if length % FIRMWARE_GRANULARITY != 0 || length > MAX_IMAGE {
            return Err(location!(cdw10).into());
        }
        if offset % FIRMWARE_GRANULARITY != 0 || offset > MAX_IMAGE - length {
            return Err(location!(cdw11).into());
        }
        let data = data.get(..length as usize).ok_or(Status::INVALID_SGL_LENGTH)?;
        Ok(FirmwareDownload { offset, data })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        controller.subsystem.download.add(controller.downloader(), self.offset, self.data)?;
        Ok(Reply::default())
    }
}
