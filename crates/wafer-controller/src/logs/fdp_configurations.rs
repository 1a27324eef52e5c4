//! FDP Configurations: the only configuration, even while FDP is disabled.

use wafer_device::Isolation;
use wafer_interface::Placement;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{FdpConfiguration, FdpConfigurations, Fdpa, Lid, RuhDescriptor};

use super::{Controller, Failure, Page, Request};
use crate::nsid::LAST_NSID;

pub(super) const PAGE: Page = Page { lid: Lid::FDP_CONFIGURATIONS, read };

fn read(controller: &Controller, _: &Request) -> Result<Vec<u8>, Failure> {
    let config = controller.subsystem.drive.initial_config();
    let handles = usize::from(config.handles);
    let groups = u32::from(config.groups);
    let runs = config.reclaim_unit.size.0;
    let list = handles * size_of::<RuhDescriptor>();
    let ds = (size_of::<FdpConfiguration>() + list).next_multiple_of(8);
    let head = FdpConfigurations {
        size: ((size_of::<FdpConfigurations>() + ds) as u32).into(),
        ..Default::default()
    };
    let rgif = Placement::group_bits(config.groups) as u8;
    let configuration = FdpConfiguration {
        ds: (ds as u16).into(),
        fdpa: Fdpa::new().with_rgif(rgif).with_fdpvwc(true).with_valid(true).into_bits(),
        nrg: groups.into(),
        nruh: config.handles.into(),
        maxpids_z: ((groups * u32::from(config.handles) - 1) as u16).into(),
        nnss: LAST_NSID.into(),
        runs: runs.into(),
        ..Default::default()
    };
    let mut page = [head.as_bytes(), configuration.as_bytes()].concat();
    for handle in 0..handles {
        let named = config.handle_isolation.get(&handle.to_string());
        let ruht = match named.unwrap_or(&config.isolation) {
            Isolation::Initially => 1,
            Isolation::Persistently => 2,
        };
        page.extend_from_slice(RuhDescriptor { ruht, ..Default::default() }.as_bytes());
    }
    page.resize(size_of::<FdpConfigurations>() + ds, 0);
    Ok(page)
}
