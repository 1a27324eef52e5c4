//! Reservation Notification Mask of a controller, and Reservation Persistence of a namespace.

use std::sync::Arc;

use wafer_drive::Namespace;
use wafer_nvme::{Fid, ReservationMask, ReservationPersistence, Sqe, Status};

use super::{Controller, Failure, Feature, Get, Reply, Set};
use crate::nsid::BROADCAST;

pub(super) const NOTIFICATION_MASK: Feature =
    Feature { fid: Fid::RESERVATION_NOTIFICATION, get: get_mask, set: set_mask };
pub(super) const PERSISTENCE: Feature =
    Feature { fid: Fid::RESERVATION_PERSISTENCE, get: get_persistence, set: set_persistence };

/// Returns the namespaces that a command names.
fn meant(controller: &Controller, sqe: &Sqe) -> Result<Vec<Arc<Namespace>>, Failure> {
    let nsids = match sqe.nsid.get() {
        BROADCAST => controller.nsids(true),
        nsid => vec![nsid],
    };
    let find = |nsid| controller.active(nsid)?.ok_or_else(|| Status::INVALID_FIELD.into());
    nsids.into_iter().map(find).collect()
}

fn one(controller: &Controller, sqe: &Sqe) -> Result<Arc<Namespace>, Failure> {
    Ok(controller.active(sqe.nsid.get())?.ok_or(Status::INVALID_FIELD)?)
}

fn get_mask(controller: &Controller, get: &Get<'_>) -> Result<Reply, Failure> {
    let nsid = one(controller, get.sqe)?.nsid;
    let mask = controller.state().reservation_mask(nsid);
    Ok(Reply::dw0(if get.default { 0 } else { mask.into_bits() }))
}

fn set_mask(controller: &Controller, set: &Set<'_>) -> Result<Reply, Failure> {
    let mask = ReservationMask::of(set.sqe);
    let namespaces = meant(controller, set.sqe)?;
    controller.state().reservation_masks.extend(namespaces.iter().map(|n| (n.nsid, mask)));
    Ok(Reply::default())
}

fn get_persistence(controller: &Controller, get: &Get<'_>) -> Result<Reply, Failure> {
    let persists = one(controller, get.sqe)?.reservations().ptpl && !get.default;
    Ok(Reply::dw0(persists.into()))
}

fn set_persistence(controller: &Controller, set: &Set<'_>) -> Result<Reply, Failure> {
    let ptpl = Some(ReservationPersistence::of(set.sqe).ptpl());
    for namespace in meant(controller, set.sqe)? {
        controller.subsystem.drive.reserve(&namespace, &controller.hostid, None, ptpl)?;
    }
    Ok(Reply::default())
}
