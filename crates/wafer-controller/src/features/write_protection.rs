//! Namespace Write Protection Config. Permanent protection is not supported, because nothing could undo it.

use wafer_drive::Protection;
use wafer_nvme::{Fid, Status, WriteProtectionCdw11};

use super::{Controller, Failure, Feature, Get, Reply, Set};

pub(super) const WRITE_PROTECTION: Feature = Feature { fid: Fid::WRITE_PROTECTION, get, set };

fn get(controller: &Controller, get: &Get<'_>) -> Result<Reply, Failure> {
    let namespace = controller.active(get.sqe.nsid.get())?.ok_or(Status::INVALID_FIELD)?;
    let state = if get.default { Protection::None } else { namespace.protection() };
    Ok(Reply::dw0(u32::from(state as u8)))
}

fn set(controller: &Controller, set: &Set<'_>) -> Result<Reply, Failure> {
    controller.check_manage()?;
    let nsid = set.sqe.nsid.get();
    controller.active(nsid)?.ok_or(Status::INVALID_FIELD)?;
    let state = match WriteProtectionCdw11::of(set.sqe).wps() {
        0 => Protection::None,
        1 => Protection::Protected,
        2 => Protection::UntilPowerCycle,
        _ => return Err(WriteProtectionCdw11::new().with_wps(1).location().into()),
    };
    let subsystem = &controller.subsystem;
    subsystem.drive.protect(controller.host, nsid, state)?;
    let namespace = subsystem.drive.namespace(nsid);
    // Identify Namespace has changed.
    subsystem.namespace_changed(nsid, |c| {
        c.cntlid != controller.cntlid
            && namespace.as_ref().is_some_and(|n| n.is_attached(&c.hostnqn))
    });
    Ok(Reply::default())
}
