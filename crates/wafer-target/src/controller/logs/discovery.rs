//! Discovery.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{DISCOVERY_NQN, DiscoveryEntry, DiscoveryLog, Lid, Subtype, nqn_field};

use super::{Controller, Failure, Page, Request};
use crate::controller::identify::padded;

pub(super) const PAGE: Page = Page { lid: Lid::DISCOVERY, read };

fn read(controller: &Controller, _: &Request) -> Result<Vec<u8>, Failure> {
    let options = &controller.subsystem.options;
    let (address, port) = match &options.advertise {
        Some((address, port)) => (address.clone(), port.to_string()),
        None => match controller.local.rsplit_once(':') {
            Some((address, port)) => {
                (address.trim_start_matches('[').trim_end_matches(']').to_owned(), port.to_owned())
            }
            None => (controller.local.clone(), String::new()),
        },
    };
    let entry = |subtype: Subtype, nqn: &str| DiscoveryEntry {
        trtype: 3,
        adrfam: if address.contains(':') { 2 } else { 1 },
        subtype: subtype.0,
        // No secure channel; SQ flow control may be disabled.
        treq: 0b110,
        portid: 1.into(),
        cntlid: 0xffff.into(),
        asqsz: 32.into(),
        trsvcid: padded(&port),
        subnqn: nqn_field(nqn),
        traddr: padded(&address),
        tsas: [0; 256],
        ..Default::default()
    };
    let entries =
        [entry(Subtype::CURRENT_DISCOVERY, DISCOVERY_NQN), entry(Subtype::NVM, &options.nqn)];
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
