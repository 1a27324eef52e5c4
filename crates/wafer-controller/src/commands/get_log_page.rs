//! Get Log Page.

use wafer_nvme::{GetLogCdw10, GetLogCdw11, GetLogCdw14, Lid, Sqe, location};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::MAX_TRANSFER;
use crate::identify::check_uuid;
use crate::logs::{self, Request};

pub(super) struct GetLogPage {
    request: Request,
    offset: u64,
    /// Bytes.
    length: u64,
}

impl AdminCommand<'_> for GetLogPage {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let (cdw10, cdw11) = (GetLogCdw10::of(sqe), GetLogCdw11::of(sqe));
        let dwords = u64::from(cdw10.numdl_z()) + (u64::from(cdw11.numdu()) << 16) + 1;
        let length = dwords * 4;
        let offset = u64::from(sqe.cdw12.get()) | u64::from(sqe.cdw13.get()) << 32;
        let lid = Lid(cdw10.lid());
        // Telemetry is read in whole data blocks, other pages in dwords.
        let telemetry = [Lid::TELEMETRY_HOST, Lid::TELEMETRY_CONTROLLER].contains(&lid);
        let unit = if telemetry { 512 } else { 4 };
        if offset % unit != 0 {
            return Err(location!(cdw12).into());
        }
        if GetLogCdw14::of(sqe).ot() {
            return Err(GetLogCdw14::new().with_ot(true).location().into());
        }
        let uuid = GetLogCdw14::new().with_uuid_index(1).location();
        check_uuid(GetLogCdw14::of(sqe).uuid_index(), uuid)?;
        if length > MAX_TRANSFER || length % unit != 0 {
            return Err(GetLogCdw10::new().with_numdl_z(1).location().into());
        }
        let request = Request {
            lid,
            lsp: cdw10.lsp(),
            lsi: cdw11.lsi(),
            retain: cdw10.rae(),
            nsid: sqe.nsid.get(),
        };
        Ok(GetLogPage { request, offset, length })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let mut data = logs::read(controller, &self.request)?;
        if self.offset >= data.len() as u64 {
            return Err(location!(cdw12).into());
        }
        data.drain(..self.offset as usize);
        // Beyond the end of the page, hosts read zeroes.
        data.resize(self.length as usize, 0);
        Ok(Reply::data(data))
    }
}
