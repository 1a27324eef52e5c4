//! The injected faults and the connected hosts.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::names;
use super::request::AnaAccess;
use wafer_controller::faults::{FailingCommand, Health, ReadDelay};
use wafer_controller::{ANA_GROUPS, Kind, Subsystem};

/// Maximum number of ranges with media errors listed per namespace.
const MOST_RANGES: usize = 256;

/// The response to [`Request::Status`](super::Request::Status).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Ports, by identifier.
    pub ports: Vec<Port>,
    /// Namespaces, by NSID.
    pub namespaces: Vec<NamespaceStatus>,
    /// Controllers, by ID.
    pub connections: Vec<Connection>,
    /// Ranges with media errors, at most 256 per namespace.
    pub media_errors: Vec<MediaError>,
    /// Delayed reads.
    pub read_delays: Vec<ReadDelay>,
    /// Values of the SMART log that are not the drive's own.
    pub health: Health,
    /// Commands to fail.
    pub failing: Vec<Failing>,
}

/// A port of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Port Identifier.
    pub id: u16,
    /// The address that it listens on, if known.
    pub address: Option<SocketAddr>,
    /// The access to namespaces through it, for each ANA group that has members or is not optimized.
    pub groups: Vec<AnaGroup>,
}

/// An ANA group at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnaGroup {
    /// Its number.
    pub group: u32,
    /// The access to its namespaces.
    pub state: AnaAccess,
}

/// The state of a namespace that an operator may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceStatus {
    /// NSID.
    pub namespace: u32,
    /// Whether the hosts that it is attached to see it.
    pub on: bool,
    /// UUID.
    pub uuid: Uuid,
    /// ANA group.
    pub ana_group: u32,
}

/// A controller and the queues that its host has connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Controller ID.
    pub cntlid: u16,
    /// NQN of the host.
    pub host: String,
    /// Its kind.
    pub kind: Kind,
    /// Queues, the admin queue first.
    pub queues: Vec<u16>,
    /// Number of completed commands.
    pub commands: u64,
}

/// A range of logical blocks with a media error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MediaError {
    /// NSID.
    pub namespace: u32,
    /// First logical block.
    pub lba: u64,
    /// Number of logical blocks.
    pub blocks: u64,
}

/// Commands to fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failing {
    /// Name of the command, or queue and code.
    pub opcode: String,
    /// Name of the status, or type and code.
    pub status: String,
    /// Do Not Retry.
    pub dnr: bool,
    /// Number of commands still to fail.
    pub count: u32,
    /// NQN of the host whose commands fail; `None` for every host.
    pub host: Option<String>,
    /// NSID of the commands; `None` for any.
    pub namespace: Option<u32>,
}

impl From<FailingCommand> for Failing {
    fn from(failing: FailingCommand) -> Self {
        let FailingCommand { admin, opcode, status, dnr, count, host, namespace } = failing;
        let (opcode, status) = (names::command(admin, opcode), names::status_name(status));
        Failing { opcode, status, dnr, count, host, namespace }
    }
}

impl Status {
    pub(super) fn of(subsystem: &Subsystem) -> Self {
        let connections = subsystem.controllers().into_iter().map(|controller| Connection {
            cntlid: controller.cntlid,
            host: controller.hostnqn.clone(),
            kind: controller.kind,
            queues: controller.connected_queues(),
            commands: controller.completed_commands(),
        });
        let namespaces = subsystem.drive.namespaces();
        let media_errors = namespaces.iter().flatten().flat_map(|namespace| {
            let ranges = namespace.media_error_ranges(MOST_RANGES).into_iter();
            ranges.map(|(from, end)| MediaError {
                namespace: namespace.nsid,
                lba: from >> namespace.lba_shift,
                blocks: (end - from) >> namespace.lba_shift,
            })
        });
        let ports = subsystem.ports();
        let used: BTreeSet<u32> = namespaces.iter().flatten().map(|n| n.ana_group()).collect();
        let ports = ports.iter().map(|port| {
            let all = (1..=ANA_GROUPS)
                .map(|group| AnaGroup { group, state: port.state(group).into() })
                .filter(|ana| used.contains(&ana.group) || ana.state != AnaAccess::Optimized);
            Port { id: port.id, address: port.address, groups: all.collect() }
        });
        let states = namespaces.iter().flatten().map(|namespace| NamespaceStatus {
            namespace: namespace.nsid,
            on: namespace.is_on(),
            uuid: Uuid::from_bytes(namespace.identity().uuid),
            ana_group: namespace.ana_group(),
        });
        let injected = subsystem.injected();
        Status {
            ports: ports.collect(),
            namespaces: states.collect(),
            connections: connections.collect(),
            media_errors: media_errors.collect(),
            read_delays: injected.delays,
            health: injected.health,
            failing: injected.failing.into_iter().map(Failing::from).collect(),
        }
    }
}
