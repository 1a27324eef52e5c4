//! Ports: the addresses of a subsystem, and what hosts that come through each may do.
//!
//! All namespaces are in one ANA group (Base 2.1, 8.1.1). A controller reports the state of its port for it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use wafer_nvme::{AnaState, Status};

use super::{Controller, Failure, Subsystem};

/// The ANA group of all namespaces.
pub(crate) const ANA_GROUP: u32 = 1;

/// A port of a subsystem.
#[derive(Debug)]
pub struct Port {
    /// Port Identifier, from 1.
    pub id: u16,
    /// The address that it listens on, where known.
    pub address: Option<SocketAddr>,
    /// The [`AnaState`].
    state: AtomicU8,
    /// Number of the last change of the state; 0 before the first.
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

/// There is no port of this identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no port {0}")]
pub struct NoSuchPort(pub u16);

impl Port {
    fn new(id: u16, address: Option<SocketAddr>) -> Self {
        let state = AnaState::OPTIMIZED.0.into();
        Port { id, address, state, changes: AtomicU64::new(0) }
    }

    /// Returns the state.
    pub fn state(&self) -> AnaState {
        AnaState(self.state.load(Ordering::Acquire))
    }

    /// Returns the number of the last change of the state; 0 before the first.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
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

    /// Changes the state of a port and notifies the hosts that are connected through it.
    ///
    /// # Errors
    /// There is no such port.
    pub fn set_ana_state(&self, port: u16, state: AnaState) -> Result<(), NoSuchPort> {
        // Changes are numbered in their order.
        let ports = self.ports.0.write().unwrap_or_else(PoisonError::into_inner);
        let changed = ports.iter().find(|p| p.id == port).ok_or(NoSuchPort(port))?;
        if changed.state.swap(state.0, Ordering::AcqRel) == state.0 {
            return Ok(());
        }
        let last = ports.iter().map(|port| port.changes()).max().unwrap_or(0);
        changed.changes.store(last + 1, Ordering::Release);
        drop(ports);
        self.notify(|events| events.ana.raise(), |controller| controller.port.id == port);
        Ok(())
    }
}

impl Controller {
    /// Checks that commands reach namespaces through the port of the controller.
    ///
    /// # Errors
    /// The status of the port's state, which lets a host use another path (Base 2.1, Path Related Status).
    pub fn check_path(&self) -> Result<(), Failure> {
        match self.port.state() {
            AnaState::INACCESSIBLE => Err(Status::ANA_INACCESSIBLE.into()),
            AnaState::PERSISTENT_LOSS => Err(Status::ANA_PERSISTENT_LOSS.into()),
            AnaState::CHANGE => Err(Status::ANA_TRANSITION.into()),
            _ => Ok(()),
        }
    }
}
