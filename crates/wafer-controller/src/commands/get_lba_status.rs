//! Get LBA Status: the blocks that cannot be read. The drive tracks all of them, so a scan finds no others.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    LbaStatusAction, LbaStatusCdw13, LbaStatusDescriptor, LbaStatusList, Sqe, location,
};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::MAX_TRANSFER;

pub(super) struct GetLbaStatus {
    nsid: u32,
    lba: u64,
    /// Logical blocks; 0 means up to the end of the namespace.
    blocks: u64,
    /// Bytes to return.
    length: usize,
}

/// Completion Condition.
const NO_ROOM: u8 = 1;
const COMPLETE: u8 = 2;

impl AdminCommand<'_> for GetLbaStatus {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let cdw13 = LbaStatusCdw13::of(sqe);
        let action = LbaStatusAction(cdw13.atype());
        if ![LbaStatusAction::SCAN, LbaStatusAction::TRACKED].contains(&action) {
            return Err(LbaStatusCdw13::new().with_atype(1).location().into());
        }
        let length = (u64::from(sqe.cdw12.get()) + 1) * 4;
        if length > MAX_TRANSFER || length < size_of::<LbaStatusList>() as u64 {
            return Err(location!(cdw12).into());
        }
        Ok(GetLbaStatus {
            nsid: sqe.nsid.get(),
            lba: sqe.cdw10_11(),
            blocks: cdw13.rl().into(),
            length: length as usize,
        })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let GetLbaStatus { nsid, lba, blocks, length } = self;
        let namespace = controller.active(nsid)?.ok_or(location!(nsid))?;
        namespace.check_live()?;
        let left = namespace.blocks().saturating_sub(lba);
        let blocks = if blocks == 0 { left.max(1) } else { blocks };
        let (offset, bytes) =
            namespace.range(lba, blocks).map_err(|status| Failure { lba, ..status.into() })?;
        let room = (length - size_of::<LbaStatusList>()) / size_of::<LbaStatusDescriptor>();
        let mut descriptors = namespace.lba_status(offset, offset + bytes, room + 1);
        let cmpc = if descriptors.len() > room { NO_ROOM } else { COMPLETE };
        descriptors.truncate(room);
        let count = (descriptors.len() as u32).into();
        let head = LbaStatusList { count, cmpc, ..Default::default() };
        let mut data = [head.as_bytes(), descriptors.as_bytes()].concat();
        data.resize(length, 0);
        Ok(Reply::data(data))
    }
}
