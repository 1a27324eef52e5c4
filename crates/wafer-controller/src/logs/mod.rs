//! Log pages, one per file.
//!
//! To add one, copy a file and name it below. Its identifier, scope and capability bits are in the table of
//! `wafer_nvme`.

mod ana;
mod changed_namespaces;
mod discovery;
mod effects;
mod endurance_group;
mod error;
mod fdp_configurations;
mod fdp_events;
mod fdp_statistics;
mod fdp_usage;
mod feature_effects;
mod firmware;
mod handles;
mod lba_status;
mod lockdown;
mod ocp;
mod persistent_event;
mod reservation;
pub(super) mod sanitize;
mod self_test;
pub(super) mod smart;
mod supported;
mod telemetry;

use wafer_drive::ENDURANCE_GROUP;
use wafer_nvme::{GetLogCdw11, Lid, Scope, Status, location};

use super::async_event::{Events, Notice};
use super::nsid::BROADCAST;
use super::{Controller, Failure, Kind};

/// The parameters of Get Log Page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) lid: Lid,
    /// Log Specific Parameter.
    pub(super) lsp: u8,
    /// Log Specific Identifier.
    pub(super) lsi: u16,
    /// Retain Asynchronous Event.
    pub(super) retain: bool,
    pub(super) nsid: u32,
}

/// A supported log page.
pub(super) struct Page {
    pub(super) lid: Lid,
    /// Returns the whole page.
    read: fn(&Controller, &Request) -> Result<Vec<u8>, Failure>,
}

/// Every supported log page.
pub(super) const PAGES: &[Page] = &[
    supported::PAGE,
    error::PAGE,
    smart::PAGE,
    firmware::PAGE,
    changed_namespaces::PAGE,
    effects::PAGE,
    self_test::PAGE,
    telemetry::HOST,
    telemetry::CONTROLLER,
    endurance_group::PAGE,
    ana::PAGE,
    persistent_event::PAGE,
    lba_status::PAGE,
    feature_effects::PAGE,
    lockdown::PAGE,
    fdp_configurations::PAGE,
    fdp_usage::PAGE,
    fdp_statistics::PAGE,
    fdp_events::PAGE,
    discovery::PAGE,
    reservation::PAGE,
    sanitize::PAGE,
    ocp::SMART,
    ocp::ERROR_RECOVERY,
    ocp::FIRMWARE_HISTORY,
    ocp::LATENCY_MONITOR,
    ocp::DEVICE_CAPABILITIES,
    handles::PAGE,
];

/// Pages of the controller or the subsystem, apart from vendor pages, that may be read with the NSID of a namespace:
/// SMART checks the NSID itself, and xNVMe reads the sanitize status with one.
const TAKE_NSID: [Lid; 2] = [Lid::SMART, Lid::SANITIZE_STATUS];
/// First vendor-specific page.
const VENDOR: Lid = Lid(0xc0);

impl Page {
    /// Returns whether controllers of this kind have the page.
    pub(super) fn is_of(&self, kind: Kind) -> bool {
        let discovery = self.lid.info().is_some_and(|row| row.discovery);
        self.lid == Lid::SUPPORTED || discovery == (kind == Kind::Discovery)
    }
}

impl Controller {
    /// Allows the event of a log page to be sent again, unless the request retains it.
    fn end_event(&self, request: &Request, event: impl FnOnce(&mut Events) -> &mut Notice) {
        if !request.retain {
            event(&mut self.state().events).read();
            self.wake.notify_one();
        }
    }
}

/// Returns a whole log page.
///
/// # Errors
/// The status that Get Log Page completes with.
pub(super) fn read(controller: &Controller, request: &Request) -> Result<Vec<u8>, Failure> {
    let mut pages = PAGES.iter().filter(|page| page.is_of(controller.kind));
    let page = pages.find(|page| page.lid == request.lid).ok_or(Status::INVALID_LOG_PAGE)?;
    let scope = page.lid.info().map(|row| row.scope);
    if scope == Some(Scope::EnduranceGroup) {
        if request.lsi != ENDURANCE_GROUP {
            return Err(GetLogCdw11::new().with_lsi(1).location().into());
        }
    } else if ![0, BROADCAST].contains(&request.nsid)
        && page.lid < VENDOR
        && !TAKE_NSID.contains(&page.lid)
    {
        return Err(location!(nsid).into());
    }
    (page.read)(controller, request)
}
