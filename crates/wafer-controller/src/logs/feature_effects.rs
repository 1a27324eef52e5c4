//! Feature Identifiers Supported and Effects.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{FeatureEffectsLog, Lid};

use super::Page;

pub(super) const PAGE: Page = Page {
    lid: Lid::FEATURE_EFFECTS,
    read: |controller, _| {
        let mut log = FeatureEffectsLog::default();
        for row in controller.subsystem.support.features() {
            log.features[usize::from(row.fid.0)] = row.effects().into();
        }
        Ok(log.as_bytes().to_vec())
    },
};
