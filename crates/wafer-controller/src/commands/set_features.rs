//! Set Features.

use wafer_nvme::{FeatureCdw14, Fid, Scope, SetFeaturesCdw10, Sqe, Status};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::features::{self, Set};
use crate::identify::check_uuid;
use crate::nsid::BROADCAST;

pub(super) struct SetFeatures<'a> {
    fid: Fid,
    nsid: u32,
    set: Set<'a>,
}

impl<'a> AdminCommand<'a> for SetFeatures<'a> {
    fn parse(sqe: &'a Sqe, data: &'a [u8]) -> Result<Self, Failure> {
        let uuid = FeatureCdw14::new().with_uuid_index(1).location();
        check_uuid(FeatureCdw14::of(sqe).uuid_index(), uuid)?;
        let cdw10 = SetFeaturesCdw10::of(sqe);
        Ok(SetFeatures {
            fid: Fid(cdw10.fid()),
            nsid: sqe.nsid.get(),
            set: Set { sqe, data, save: cdw10.sv() },
        })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let (feature, info) = features::find(controller, self.fid)?;
        if info.scope == Scope::Namespace {
            controller.check_path(self.nsid)?;
        }
        if self.set.save && !info.saveable {
            return Err(Status::FEATURE_NOT_SAVEABLE.into());
        }
        if !info.changeable {
            return Err(Status::FEATURE_NOT_CHANGEABLE.into());
        }
        if info.scope == Scope::Namespace {
            if self.nsid != BROADCAST {
                controller.active(self.nsid)?.ok_or(Status::INVALID_FIELD)?;
            }
        } else if self.nsid != 0 && self.nsid != BROADCAST {
            return Err(Status::FEATURE_NOT_NAMESPACE_SPECIFIC.into());
        }
        let before = controller.subsystem.drive.timestamp();
        let reply = (feature.set)(controller, &self.set)?;
        controller.log_set_feature(info, &self.set, before);
        Ok(reply)
    }
}
