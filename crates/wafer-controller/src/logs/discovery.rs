//! Discovery.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{DISCOVERY_NQN, DiscoveryEntry, DiscoveryLog, Lid, Subtype, nqn_field, padded};

use super::{Controller, Failure, Page, Request};
use crate::Port;

pub(super) const PAGE: Page = Page { lid: Lid::DISCOVERY, read };

fn read(controller: &Controller, _: &Request) -> Result<Vec<u8>, Failure> {
    let mut entries = vec![entry(controller, &controller.port, Subtype::CURRENT_DISCOVERY)];
    for subsystem in controller.subsystem.offered() {
        let subnqn = nqn_field(&subsystem.options.nqn);
        entries.extend(subsystem.ports().iter().map(|port| {
            let found = entry(controller, port, Subtype::NVM);
            DiscoveryEntry { subnqn, ..found }
        }));
    }
    let head = DiscoveryLog {
        genctr: 1.into(),
        numrec: (entries.len() as u64).into(),
        ..Default::default()
    };
    let mut page = head.as_bytes().to_vec();
    for entry in &entries {
        page.extend_from_slice(entry.as_bytes());
    }
    Ok(page)
}

/// Returns the entry of the discovery subsystem at a port.
fn entry(controller: &Controller, port: &Port, subtype: Subtype) -> DiscoveryEntry {
    let (address, service) = address(controller, port);
    DiscoveryEntry {
        trtype: 3,
        adrfam: if address.contains(':') { 2 } else { 1 },
        subtype: subtype.0,
        // No secure channel; SQ flow control may be disabled.
        treq: 0b110,
        portid: port.id.into(),
        cntlid: 0xffff.into(),
        asqsz: 32.into(),
        trsvcid: padded(&service),
        subnqn: nqn_field(DISCOVERY_NQN),
        traddr: padded(&address),
        tsas: [0; 256],
        ..Default::default()
    }
}

/// Returns the address and service identifier of a port, as seen by the controller's host.
fn address(controller: &Controller, port: &Port) -> (String, String) {
    let advertised = &controller.subsystem.options.advertise;
    if let Some((address, service)) = advertised.get(usize::from(port.id) - 1) {
        return (address.clone(), service.to_string());
    }
    let (reached, service) = match controller.local.rsplit_once(':') {
        Some((address, service)) => {
            (address.trim_start_matches('[').trim_end_matches(']').to_owned(), service.to_owned())
        }
        None => (controller.local.clone(), String::new()),
    };
    match port.address {
        Some(listens) if port.id != controller.port.id => {
            // A port that listens on all addresses is reachable at the one that the host used.
            let ip = listens.ip();
            let address = if ip.is_unspecified() { reached } else { ip.to_string() };
            (address, listens.port().to_string())
        }
        _ => (reached, service),
    }
}
