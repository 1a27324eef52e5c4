//! Telemetry: a snapshot of the drive's state, for hosts to save.
//!
//! Data Area 1 is the drive's state as JSON: its counters, namespaces, FDP events, hosts, health and self-tests. Data
//! Area 2 adds its reclaim units. A host triggers the first log; the drive creates the second one when it begins to
//! fail. Both are kept until the server exits.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::json;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{Lid, TelemetryLog, padded};

use super::Subsystem;
use super::identify::OUI;

/// Bytes of a block of a data area.
const BLOCK: usize = 512;
/// Scope of the data: the NVM subsystem.
const SUBSYSTEM: u8 = 2;

/// The telemetry of a subsystem.
#[derive(Default)]
pub(crate) struct Telemetry(Mutex<State>);

#[derive(Default)]
struct State {
    host: Data,
    controller: Data,
    /// Whether the drive created data that no host has read yet.
    available: bool,
    /// Why a capture is due, if it is.
    due: Option<&'static str>,
}

/// One capture of the state.
#[derive(Default)]
struct Data {
    generation: u8,
    reason: &'static str,
    /// Last blocks of the data areas.
    last_blocks: [u16; 3],
    blocks: Vec<u8>,
}

impl Data {
    fn renew(&mut self, subsystem: &Subsystem, reason: &'static str) {
        self.generation = self.generation.wrapping_add(1);
        self.reason = reason;
        self.blocks.clear();
        let drive = &subsystem.drive;
        let state = json!({
            "firmware": env!("CARGO_PKG_VERSION"),
            "health": format!("{:?}", drive.health()),
            "self_tests": drive.self_test_results().len(),
            "drive": drive.snapshot(),
        });
        let first = self.push(&state);
        let second = self.push(&json!({ "reclaim_units": drive.reclaim_units() }));
        self.last_blocks = [first, second, second];
    }

    /// Appends a part in whole blocks, unless it is too long, and returns the number of the last block.
    fn push(&mut self, part: &serde_json::Value) -> u16 {
        let text = part.to_string();
        let most = usize::from(u16::MAX) * BLOCK;
        if self.blocks.len() + text.len() <= most {
            self.blocks.extend_from_slice(text.as_bytes());
            let whole = self.blocks.len().next_multiple_of(BLOCK);
            self.blocks.resize(whole, b' ');
        }
        (self.blocks.len() / BLOCK) as u16
    }
}

impl Subsystem {
    fn telemetry(&self) -> MutexGuard<'_, State> {
        self.telemetry.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Schedules a capture, with its reason. The drive must not be used here, because its lock is held.
    pub(crate) fn telemetry_due(&self, reason: &'static str) {
        self.telemetry().due = Some(reason);
    }

    /// Captures the state of the drive if that is due, and notifies hosts.
    pub(super) fn capture_telemetry(&self) {
        let Some(reason) = self.telemetry().due.take() else { return };
        let mut data =
            Data { generation: self.telemetry().controller.generation, ..Data::default() };
        data.renew(self, reason);
        let mut state = self.telemetry();
        (state.controller, state.available) = (data, true);
        let head = head(Lid::TELEMETRY_CONTROLLER, &state, &state.controller);
        drop(state);
        self.log_telemetry(&head);
        self.notify(|events| events.telemetry.raise(), |_| true);
    }

    /// Returns the host-initiated log; with `create`, captures it first.
    pub(super) fn host_telemetry(&self, create: bool) -> Vec<u8> {
        if create {
            let mut data = Data { generation: self.telemetry().host.generation, ..Data::default() };
            data.renew(self, "a host asked for it");
            self.telemetry().host = data;
        }
        let state = self.telemetry();
        let head = head(Lid::TELEMETRY_HOST, &state, &state.host);
        let page = [head.as_bytes(), &state.host.blocks].concat();
        drop(state);
        if create {
            self.log_telemetry(&head);
        }
        page
    }

    /// Returns the controller-initiated log. Reading it without `retain` marks it as no longer available.
    pub(super) fn controller_telemetry(&self, retain: bool) -> Vec<u8> {
        self.capture_telemetry();
        let mut state = self.telemetry();
        let head = head(Lid::TELEMETRY_CONTROLLER, &state, &state.controller);
        let page = [head.as_bytes(), &state.controller.blocks].concat();
        state.available &= retain;
        page
    }
}

/// Returns the header of a log.
fn head(lid: Lid, state: &State, data: &Data) -> TelemetryLog {
    let host = lid == Lid::TELEMETRY_HOST;
    TelemetryLog {
        lid: lid.0,
        ieee: OUI,
        last_blocks: data.last_blocks.map(Into::into),
        // In the controller-initiated log, the scope is in another field.
        scope: if host { SUBSYSTEM } else { 0 },
        host_generation: if host { state.host.generation } else { SUBSYSTEM },
        available: u8::from(state.available),
        controller_generation: state.controller.generation,
        reason: padded(data.reason),
        ..Default::default()
    }
}
