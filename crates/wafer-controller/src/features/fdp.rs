//! Flexible Data Placement: the feature and the enabled events. The drive saves both, so every value is a saved value.

use wafer_drive::ENDURANCE_GROUP;
use wafer_interface::RuhId;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    FdpEventDescriptor, FdpEventsCdw11, FdpEventsCdw12, FdpFeature, FeatureGroup, Fid,
    SetFeaturesCdw10, Sqe, Status,
};

use super::{Controller, Failure, Feature, Get, Reply, Set};

pub(super) const FDP: Feature = Feature { fid: Fid::FDP, get: get_fdp, set: set_fdp };
pub(super) const FDP_EVENTS: Feature =
    Feature { fid: Fid::FDP_EVENTS, get: get_events, set: set_events };

fn check_group(sqe: &Sqe) -> Result<(), Failure> {
    if FeatureGroup::of(sqe).endgid() == ENDURANCE_GROUP {
        Ok(())
    } else {
        Err(FeatureGroup::new().with_endgid(1).location().into())
    }
}

fn get_fdp(controller: &Controller, get: &Get<'_>) -> Result<Reply, Failure> {
    check_group(get.sqe)?;
    let enabled = !get.is_default() && controller.subsystem.drive.fdp_enabled();
    Ok(Reply::dw0(FdpFeature::new().with_fdpe(enabled).into_bits()))
}

fn set_fdp(controller: &Controller, set: &Set<'_>) -> Result<Reply, Failure> {
    check_group(set.sqe)?;
    controller.check_manage()?;
    if !set.save {
        return Err(SetFeaturesCdw10::new().with_sv(true).location().into());
    }
    let wanted = FdpFeature::of(set.sqe);
    if wanted.fdpe() && wanted.fdpcidx() != 0 {
        return Err(FdpFeature::new().with_fdpcidx(1).location().into());
    }
    controller.subsystem.drive.set_fdp(wanted.fdpe())?;
    Ok(Reply::default())
}

/// Returns the handle that the placement handle of the command refers to.
fn handle(controller: &Controller, sqe: &Sqe) -> Result<(RuhId, FdpEventsCdw11), Failure> {
    controller.check_fdp()?;
    let cdw11 = FdpEventsCdw11::of(sqe);
    let namespace = controller.active(sqe.nsid.get())?.ok_or(Status::INVALID_FIELD)?;
    let handle = namespace.handles.get(usize::from(cdw11.phndl()));
    Ok((*handle.ok_or(FdpEventsCdw11::new().with_phndl(1).location())?, cdw11))
}

fn get_events(controller: &Controller, get: &Get<'_>) -> Result<Reply, Failure> {
    let (handle, _) = handle(controller, get.sqe)?;
    let drive = &controller.subsystem.drive;
    let supported = drive.supported_events(handle);
    let enabled = |now| if get.is_default() { drive.default_events() } else { now };
    // As many as fit in the host's buffer.
    let room = get.sqe.sgl.length.get() as usize / size_of::<FdpEventDescriptor>();
    let told = supported.iter().take(room).map(|(event_type, now)| FdpEventDescriptor {
        event_type: *event_type,
        attributes: u8::from(enabled(*now)),
    });
    let told: Vec<_> = told.collect();
    Ok(Reply { dw0: told.len() as u32, ..Reply::data(told.as_bytes()) })
}

fn set_events(controller: &Controller, set: &Set<'_>) -> Result<Reply, Failure> {
    let (handle, cdw11) = handle(controller, set.sqe)?;
    let types = set.data.get(..usize::from(cdw11.noet())).ok_or(Status::INVALID_SGL_LENGTH)?;
    if types.is_empty() {
        return Err(FdpEventsCdw11::new().with_noet(1).location().into());
    }
    let enable = FdpEventsCdw12::of(set.sqe).fdpee();
    controller.subsystem.drive.enable_events(handle, types, enable)?;
    Ok(Reply::default())
}
