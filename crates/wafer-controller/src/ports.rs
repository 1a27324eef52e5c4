//! Ports: the addresses of a subsystem, and what hosts that come through each may do.
//!
//! Each namespace is in an ANA group (Base 2.1, 8.1.1), and each port has a state for each group. A controller reports the
//! states of its port.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use wafer_drive::Namespace;
use wafer_nvme::{AnaState, Status};

use super::nsid::BROADCAST;
use super::{Controller, Failure, Subsystem};

/// ANA groups that namespaces may be in: 1 to this.
pub const ANA_GROUPS: u32 = 16;

/// A port of a subsystem.
#[derive(Debug)]
pub struct Port {
    /// Port Identifier, from 1.
    pub id: u16,
    /// The address that it listens on, where known.
    pub address: Option<SocketAddr>,
    /// By ANA group, from 1.
    groups: [Group; ANA_GROUPS as usize],
    /// Whether the state of any group keeps commands away: all that they look at otherwise.
    barred: AtomicBool,
}

/// What a port reports of an ANA group.
#[derive(Debug)]
struct Group {
    /// The [`AnaState`].
    state: AtomicU8,
    /// Number of the last change; 0 before the first.
    changes: AtomicU64,
}

/// The port of a connection, and the address that its host connected to.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Port Identifier.
    pub port: u16,
    /// The address.
    pub address: String,
}

impl From<String> for Reached {
    /// Returns an address of the first port.
    fn from(address: String) -> Self {
        Reached { port: 1, address }
    }
}

/// A port or an ANA group that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// A port.
    #[error("there is no port {0}")]
    Port(u16),
    /// An ANA group.
    #[error("there is no ANA group {0}: they are 1 to {ANA_GROUPS}")]
    Group(u32),
}

impl Port {
    fn new(id: u16, address: Option<SocketAddr>) -> Self {
        let group = |_| Group { state: AnaState::OPTIMIZED.0.into(), changes: 0.into() };
        Port { id, address, groups: std::array::from_fn(group), barred: false.into() }
    }

    fn group(&self, group: u32) -> Option<&Group> {
        self.groups.get((group as usize).checked_sub(1)?)
    }

    /// Returns the state of an ANA group.
    pub fn state(&self, group: u32) -> AnaState {
        let state = |group: &Group| AnaState(group.state.load(Ordering::Acquire));
        self.group(group).map_or(AnaState::OPTIMIZED, state)
    }

    /// Returns the number of the last change of an ANA group; 0 before the first.
    pub(crate) fn changes(&self, group: u32) -> u64 {
        self.group(group).map_or(0, |group| group.changes.load(Ordering::Acquire))
    }

    /// Returns the number of the last change of any group.
    pub(crate) fn last_change(&self) -> u64 {
        (1..=ANA_GROUPS).map(|group| self.changes(group)).max().unwrap_or(0)
    }
}

/// Returns the status of commands to namespaces whose group has a state, which lets hosts use another path (Base 2.1, Path
/// Related Status); none if they are executed.
fn refusal(state: AnaState) -> Option<Status> {
    match state {
        AnaState::INACCESSIBLE => Some(Status::ANA_INACCESSIBLE),
        AnaState::PERSISTENT_LOSS => Some(Status::ANA_PERSISTENT_LOSS),
        AnaState::CHANGE => Some(Status::ANA_TRANSITION),
        _ => None,
    }
}

/// The ports of a subsystem.
pub(crate) struct Ports(RwLock<Vec<Arc<Port>>>);

impl Default for Ports {
    /// Returns one port.
    fn default() -> Self {
        Ports(RwLock::new(vec![Port::new(1, None).into()]))
    }
}

impl Subsystem {
    /// Replaces the ports, before hosts connect, by one for each address: 1 for the first.
    pub fn set_ports(&self, addresses: impl IntoIterator<Item = Option<SocketAddr>>) {
        let ports = (1..).zip(addresses).map(|(id, address)| Port::new(id, address).into());
        *self.ports.0.write().unwrap_or_else(PoisonError::into_inner) = ports.collect();
    }

    /// Returns the ports, ascending.
    pub fn ports(&self) -> Vec<Arc<Port>> {
        self.ports.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a port.
    pub(crate) fn port(&self, id: u16) -> Option<Arc<Port>> {
        self.ports().into_iter().find(|port| port.id == id)
    }

    /// Changes the state of an ANA group, or of all, at a port, and notifies the hosts that are connected through it.
    ///
    /// # Errors
    /// There is no such port or group.
    pub fn set_ana_state(
        &self,
        port: u16,
        group: Option<u32>,
        state: AnaState,
    ) -> Result<(), Missing> {
        check_group(group)?;
        // Changes are numbered in their order.
        let ports = self.ports.0.write().unwrap_or_else(PoisonError::into_inner);
        let changed = ports.iter().find(|p| p.id == port).ok_or(Missing::Port(port))?;
        let next = next_change(&ports);
        let mut any = false;
        for (id, of) in (1..).zip(&changed.groups) {
            if group.is_none_or(|group| group == id)
                && of.state.swap(state.0, Ordering::AcqRel) != state.0
            {
                of.changes.store(next, Ordering::Release);
                any = true;
            }
        }
        let barred = (1..=ANA_GROUPS).any(|group| refusal(changed.state(group)).is_some());
        changed.barred.store(barred, Ordering::Release);
        drop(ports);
        if any {
            self.notify(|events| events.ana.raise(), |controller| controller.port.id == port);
        }
        Ok(())
    }

    /// Puts a namespace that no host sees into an ANA group: hosts are told that the group of one they see never changes.
    pub(crate) fn move_namespace(&self, namespace: &Namespace, group: u32) {
        let ports = self.ports.0.write().unwrap_or_else(PoisonError::into_inner);
        let next = next_change(&ports);
        for port in ports.iter() {
            for of in [namespace.ana_group(), group].iter().filter_map(|group| port.group(*group)) {
                of.changes.store(next, Ordering::Release);
            }
        }
        namespace.set_ana_group(group);
    }
}

/// Checks that there is an ANA group, if one is given.
pub(crate) fn check_group(group: Option<u32>) -> Result<(), Missing> {
    match group {
        Some(group) if !(1..=ANA_GROUPS).contains(&group) => Err(Missing::Group(group)),
        _ => Ok(()),
    }
}

fn next_change(ports: &[Arc<Port>]) -> u64 {
    ports.iter().map(|port| port.last_change()).max().unwrap_or(0) + 1
}

impl Controller {
    /// Checks that commands reach a namespace, or all of them, through the port of the controller.
    ///
    /// # Errors
    /// The status of the state of its ANA group.
    pub fn check_path(&self, nsid: u32) -> Result<(), Failure> {
        if !self.port.barred.load(Ordering::Acquire) {
            return Ok(());
        }
        let all = self.subsystem.drive.namespaces().into_iter().flatten();
        let mut concerned = all.filter(|namespace| [namespace.nsid, BROADCAST].contains(&nsid));
        let refused =
            concerned.find_map(|namespace| refusal(self.port.state(namespace.ana_group())));
        refused.map_or(Ok(()), |status| Err(status.into()))
    }
}
