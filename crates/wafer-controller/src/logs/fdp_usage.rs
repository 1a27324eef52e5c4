//! Reclaim Unit Handle Usage.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{Lid, RuhUsage, RuhUsageDescriptor};

use super::{Controller, Failure, Page, Request};

pub(super) const PAGE: Page = Page { lid: Lid::FDP_RUH_USAGE, read };

fn read(controller: &Controller, _: &Request) -> Result<Vec<u8>, Failure> {
    controller.check_fdp()?;
    let usage = controller.subsystem.drive.handle_usage();
    let head = RuhUsage { nruh: (usage.len() as u16).into(), ..Default::default() };
    let mut page = head.as_bytes().to_vec();
    for ruha in usage {
        page.extend_from_slice(RuhUsageDescriptor { ruha, ..Default::default() }.as_bytes());
    }
    Ok(page)
}
