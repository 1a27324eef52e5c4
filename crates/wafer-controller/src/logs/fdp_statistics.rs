//! FDP Statistics.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{FdpStatistics, Lid};

use super::{Controller, Failure, Page, Request};

pub(super) const PAGE: Page = Page { lid: Lid::FDP_STATISTICS, read };

fn read(controller: &Controller, _: &Request) -> Result<Vec<u8>, Failure> {
    controller.check_fdp()?;
    let counters = controller.subsystem.drive.counters().counters;
    let log = FdpStatistics {
        hbmw: u128::from(counters.host_bytes).into(),
        mbmw: u128::from(counters.media_bytes).into(),
        mbe: u128::from(counters.erased_bytes).into(),
        ..Default::default()
    };
    Ok(log.as_bytes().to_vec())
}
