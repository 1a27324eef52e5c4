//! Get Features.

use wafer_nvme::{FeatureCapabilities, FeatureCdw14, Fid, GetFeaturesCdw10, Scope, Sqe};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::features::{self, Get};
use crate::identify::check_uuid;

pub(super) struct GetFeatures<'a> {
    sqe: &'a Sqe,
    fid: Fid,
    select: Select,
}

enum Select {
    Current,
    Default,
    Saved,
    Capabilities,
}

impl<'a> AdminCommand<'a> for GetFeatures<'a> {
    fn parse(sqe: &'a Sqe, _data: &'a [u8]) -> Result<Self, Failure> {
        let uuid = FeatureCdw14::new().with_uuid_index(1).location();
        check_uuid(FeatureCdw14::of(sqe).uuid_index(), uuid)?;
        let cdw10 = GetFeaturesCdw10::of(sqe);
        let select = match cdw10.sel() {
            0 => Select::Current,
            1 => Select::Default,
            2 => Select::Saved,
            3 => Select::Capabilities,
            _ => return Err(GetFeaturesCdw10::new().with_sel(1).location().into()),
        };
        Ok(GetFeatures { sqe, fid: Fid(cdw10.fid()), select })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let (feature, info) = features::find(controller, self.fid)?;
        if info.scope == Scope::Namespace {
            controller.check_path(self.sqe.nsid.get())?;
        }
        let (default, saved) = match self.select {
            Select::Current => (false, false),
            Select::Default => (true, false),
            Select::Saved => (true, true),
            Select::Capabilities => {
                let capabilities = FeatureCapabilities::new()
                    .with_saveable(info.saveable)
                    .with_namespace_specific(info.scope == Scope::Namespace)
                    .with_changeable(info.changeable);
                return Ok(Reply::dw0(capabilities.into_bits()));
            }
        };
        (feature.get)(controller, &Get { sqe: self.sqe, default, saved })
    }
}
