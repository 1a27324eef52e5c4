//! Ports: the addresses of a subsystem, and the ANA state of namespaces at each.
//!
//! Each namespace is in an ANA group (Base 2.1, 8.1.1), and each port has a state for each group. A controller reports
//! the states of its port.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use wafer_drive::Namespace;
use wafer_nvme::{AnaState, Status};

use super::nsid::BROADCAST;
use super::{Controller, Failure, Subsystem};

/// Number of ANA groups, which are numbered from 1.
pub const ANA_GROUPS: u32 = 16;

/// A port of a subsystem.
#[derive(Debug)]
pub struct Port {
    /// Port Identifier, from 1.
    pub id: u16,
    /// The address that it listens on, if known.
    pub address: Option<SocketAddr>,
    /// The ANA groups, starting with group 1.
    groups: [Group; ANA_GROUPS as usize],
    /// Whether any group's state bars commands; otherwise commands check nothing else.
    barred: AtomicBool,
}

/// The state of an ANA group at a port.
#[derive(Debug)]
struct Group {
    /// An [`AnaState`].
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

/// An error: the port or ANA group does not exist.
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

/// Returns the status of commands to namespaces whose group is in `state`, which makes hosts use another path (Base
/// 2.1, Path Related Status); `None` if commands are executed.
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
    /// Replaces the ports, before hosts connect, with one per address, numbered from 1.
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

    /// Changes the state of an ANA group, or of all groups, at a port, and notifies the hosts connected through it.
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
        // The lock orders the numbers of changes.
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

    /// Moves a namespace that no host sees to an ANA group. Hosts rely on a visible namespace never changing its group.
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
    /// Checks that the controller's port gives access to a namespace, or to all that are attached.
    ///
    /// # Errors
    /// The status of the state of its ANA group.
    pub fn check_path(&self, nsid: u32) -> Result<(), Failure> {
        if !self.port.barred.load(Ordering::Acquire) {
            return Ok(());
        }
        let all = self.subsystem.drive.namespaces().into_iter().flatten();
        let mut concerned = all.filter(|namespace| match nsid {
            BROADCAST => namespace.is_attached(&self.hostnqn),
            nsid => namespace.nsid == nsid,
        });
        let refused =
            concerned.find_map(|namespace| refusal(self.port.state(namespace.ana_group())));
        refused.map_or(Ok(()), |status| Err(status.into()))
    }
}
