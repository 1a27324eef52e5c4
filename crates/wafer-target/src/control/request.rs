//! Requests of operators, and the responses to them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;
use wafer_controller::HostEntry;
use wafer_controller::faults::EventKind;
use wafer_nvme::AnaState;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum Request {
    /// Report what is injected and which hosts are connected.
    Status(NoFields),
    /// Add a media error to logical blocks, or remove it.
    MediaError(Range),
    /// Delay reads of logical blocks.
    ReadDelay(ReadDelays),
    /// Change values of the SMART log.
    Health(HealthChange),
    /// Fail commands.
    Fail(Fail),
    /// Drop connections.
    Drop(Drop),
    /// Send an asynchronous event.
    Event(Event),
    /// Change the access to namespaces through a port.
    Ana(Ana),
    /// Switch a namespace on or off, or change its identity.
    Namespace(Namespace),
    /// Change which hosts may connect, and how they authenticate.
    Hosts(Hosts),
    /// Remove everything injected except media errors. Namespaces, port states and hosts are unchanged.
    Clear(NoFields),
}

/// A request without fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoFields {}

/// Logical blocks of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// NSID.
    pub namespace: u32,
    /// First logical block.
    pub lba: u64,
    /// Number of logical blocks.
    pub blocks: u64,
    /// Whether to remove the fault instead.
    #[serde(default)]
    pub clear: bool,
}

/// Delays of reads of logical blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadDelays {
    /// NSID.
    pub namespace: u32,
    /// First logical block.
    pub lba: u64,
    /// Number of logical blocks.
    pub blocks: u64,
    /// Duration of each read, milliseconds; 0 removes the delays that affect any of the blocks.
    pub milliseconds: u32,
}

/// Values of the SMART log. Unspecified values are unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HealthChange {
    /// Whether to restore all of the drive's own values first.
    pub clear: bool,
    /// Available Spare, percent.
    pub available_spare: Option<u8>,
    /// Composite Temperature, kelvin.
    pub temperature: Option<u16>,
    /// Percentage Used.
    pub percentage_used: Option<u8>,
    /// Bits of Critical Warning in addition to those implied by the values.
    pub critical_warning: Option<u8>,
}

/// Commands to fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    /// Name, such as `read` or `get-log-page`, or queue and code, such as `io:0x02` or `admin:2`.
    pub opcode: String,
    /// Name, such as `unrecovered-read-error`, or type and code, such as `2/0x81`.
    pub status: String,
    /// Number of commands.
    pub count: u32,
    /// Do Not Retry.
    #[serde(default)]
    pub dnr: bool,
    /// NQN of the host.
    #[serde(default)]
    pub host: Option<String>,
    /// NSID of the commands.
    #[serde(default)]
    pub namespace: Option<u32>,
}

/// Connections to drop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Drop {
    /// NQN of the host. Default: every host.
    pub host: Option<String>,
    /// Queue. Dropping the admin queue, 0, ends its controller. Default: all.
    pub queue: Option<u16>,
}

/// An asynchronous event to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// What it reports.
    pub kind: EventKind,
    /// NQN of the host. Default: every host.
    #[serde(default)]
    pub host: Option<String>,
}

/// The hosts that may connect from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// The complete list; no other host may connect.
    pub hosts: Vec<HostEntry>,
}

/// The access to namespaces through a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ana {
    /// Port Identifier.
    pub port: u16,
    /// ANA group of the namespaces. Default: all.
    #[serde(default)]
    pub group: Option<u32>,
    /// Its state.
    pub state: AnaAccess,
}

/// A change to a namespace. Unspecified values are unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Namespace {
    /// NSID.
    pub namespace: u32,
    /// Whether the hosts that it is attached to see it.
    #[serde(default)]
    pub on: Option<bool>,
    /// Its UUID; the NGUID changes too. Only while it is off.
    #[serde(default)]
    pub uuid: Option<Uuid>,
    /// Its ANA group, from 1 to 16. Only while it is off.
    #[serde(default)]
    pub ana_group: Option<u32>,
}

/// A state of Asymmetric Namespace Access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum AnaAccess {
    /// ANA Optimized: hosts prefer the port.
    Optimized,
    /// ANA Non-Optimized: hosts use the port if there is no better one.
    NonOptimized,
    /// ANA Inaccessible: no command reaches a namespace, and hosts use another port.
    Inaccessible,
    /// ANA Persistent Loss: as inaccessible, permanently.
    PersistentLoss,
    /// ANA Change: hosts try again.
    Change,
}

impl From<AnaAccess> for AnaState {
    fn from(access: AnaAccess) -> Self {
        match access {
            AnaAccess::Optimized => AnaState::OPTIMIZED,
            AnaAccess::NonOptimized => AnaState::NON_OPTIMIZED,
            AnaAccess::Inaccessible => AnaState::INACCESSIBLE,
            AnaAccess::PersistentLoss => AnaState::PERSISTENT_LOSS,
            AnaAccess::Change => AnaState::CHANGE,
        }
    }
}

impl From<AnaState> for AnaAccess {
    fn from(state: AnaState) -> Self {
        match state {
            AnaState::NON_OPTIMIZED => AnaAccess::NonOptimized,
            AnaState::INACCESSIBLE => AnaAccess::Inaccessible,
            AnaState::PERSISTENT_LOSS => AnaAccess::PersistentLoss,
            AnaState::CHANGE => AnaAccess::Change,
            _ => AnaAccess::Optimized,
        }
    }
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// Done. Contains the status, or what the request affects.
    Done(Value),
    /// The request is invalid; nothing has changed.
    Refused(String),
    /// The drive failed.
    Failed(String),
}
