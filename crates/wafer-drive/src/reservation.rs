//! Reservations of a namespace (Base 2.1, 8.1.22): the registered hosts, the holder, and what other hosts may not do.
//!
//! Hosts are identified by their host identifiers, so all controllers of a host share its registration. An action is
//! performed on a copy, which is saved before it takes effect. Without Persist Through Power Loss, nothing is saved,
//! and a drive that is opened again has neither registrations nor reservations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use wafer_nvme::{ReservationType, Status};

/// Identifier of a host.
pub type HostId = [u8; 16];

/// Maximum number of hosts registered with a namespace.
const MOST_REGISTRANTS: usize = 1024;

/// A registered host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registrant {
    /// The host.
    pub host: HostId,
    /// Its key.
    pub key: u64,
}

/// A reservation command. A key that is `None` is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationAction {
    /// Register with a key.
    Register(u64),
    /// Remove the registration with a key.
    Unregister(Option<u64>),
    /// Replace a key with another.
    Replace(Option<u64>, u64),
    /// Acquire a reservation.
    Acquire(u64, ReservationType),
    /// Remove the registrations with the second key, and take over the reservation if one of them holds it.
    Preempt(u64, u64, ReservationType),
    /// Release the reservation.
    Release(u64, ReservationType),
    /// Remove the reservation and all registrations.
    Clear(u64),
}

/// Notifications to hosts about actions of other hosts (Base 2.1, Reservation Notification log page).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ReservationNotice {
    /// Another host removed the registration.
    RegistrationPreempted = 1,
    /// The reservation was released.
    Released = 2,
    /// The reservation and all registrations were removed.
    Preempted = 3,
}

/// The access of a command, as far as reservations are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// It reads.
    Read,
    /// It writes, or makes written data durable.
    Write,
}

/// The registrations and the reservation of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservations {
    /// Number of changes of registrations.
    pub generation: u32,
    /// Persist Through Power Loss.
    pub ptpl: bool,
    /// Registered hosts, in order of registration.
    pub registrants: Vec<Registrant>,
    /// The host that holds the reservation (for an all-registrants type, the one that acquired it), and its type.
    holder: Option<(HostId, u8)>,
}

/// Notifications, each with its host.
pub type Notices = Vec<(HostId, ReservationNotice)>;

impl Reservations {
    /// Returns the type of the reservation, if there is one.
    pub fn rtype(&self) -> Option<ReservationType> {
        self.holder.map(|(_, rtype)| ReservationType(rtype))
    }

    /// Returns whether a host holds the reservation.
    pub fn is_holder(&self, host: &HostId) -> bool {
        match self.holder {
            Some((_, rtype)) if ReservationType(rtype).is_all_registrants() => {
                self.key(host).is_some()
            }
            Some((holder, _)) => holder == *host,
            None => false,
        }
    }

    fn key(&self, host: &HostId) -> Option<u64> {
        self.registrants.iter().find(|r| r.host == *host).map(|r| r.key)
    }

    /// Returns whether the reservation bars a host from a command.
    fn conflicts(&self, host: &HostId, command: Reserved) -> bool {
        let Some(rtype) = self.rtype() else { return false };
        let admitted = rtype.admits_registrants() && self.key(host).is_some();
        let concerned = command == Reserved::Write || rtype.is_exclusive_access();
        concerned && !admitted && !self.is_holder(host)
    }

    /// Returns a notice for each registered host except one.
    fn others(&self, host: &HostId, notice: ReservationNotice) -> Notices {
        let others = self.registrants.iter().filter(|r| r.host != *host);
        others.map(|r| (r.host, notice)).collect()
    }

    /// Checks that a host is registered with a key.
    fn check(&self, host: &HostId, key: Option<u64>) -> Result<(), Status> {
        match self.key(host) {
            Some(own) if key.is_none_or(|key| key == own) => Ok(()),
            _ => Err(Status::RESERVATION_CONFLICT),
        }
    }

    /// Performs an action of a host and returns the notifications.
    ///
    /// # Errors
    /// `RESERVATION_CONFLICT`; `INVALID_FIELD`; `INTERNAL_ERROR` if too many hosts are registered.
    pub(crate) fn act(
        &mut self,
        host: &HostId,
        action: ReservationAction,
    ) -> Result<Notices, Status> {
        match action {
            ReservationAction::Register(key) => self.register(host, key),
            ReservationAction::Unregister(key) => {
                self.check(host, key)?;
                Ok(self.unregister(host))
            }
            ReservationAction::Replace(current, key) => {
                self.check(host, current)?;
                for registrant in self.registrants.iter_mut().filter(|r| r.host == *host) {
                    registrant.key = key;
                }
                self.generation = self.generation.wrapping_add(1);
                Ok(Vec::new())
            }
            ReservationAction::Acquire(key, rtype) => {
                self.check(host, Some(key))?;
                match self.holder {
                    None => self.holder = Some((*host, rtype.0)),
                    Some((_, held)) if self.is_holder(host) && held == rtype.0 => {}
                    Some(_) => return Err(Status::RESERVATION_CONFLICT),
                }
                Ok(Vec::new())
            }
            ReservationAction::Preempt(key, preempted, rtype) => {
                self.check(host, Some(key))?;
                self.preempt(host, preempted, rtype)
            }
            ReservationAction::Release(key, rtype) => {
                self.check(host, Some(key))?;
                if !self.is_holder(host) {
                    return Ok(Vec::new());
                }
                if self.rtype() != Some(rtype) {
                    return Err(Status::INVALID_FIELD);
                }
                Ok(self.release(host))
            }
            ReservationAction::Clear(key) => {
                self.check(host, Some(key))?;
                let notices = self.others(host, ReservationNotice::Preempted);
                self.registrants.clear();
                self.holder = None;
                self.generation = self.generation.wrapping_add(1);
                Ok(notices)
            }
        }
    }

    fn register(&mut self, host: &HostId, key: u64) -> Result<Notices, Status> {
        match self.key(host) {
            Some(own) if own == key => return Ok(Vec::new()),
            Some(_) => return Err(Status::RESERVATION_CONFLICT),
            None if self.registrants.len() >= MOST_REGISTRANTS => {
                return Err(Status::INTERNAL_ERROR);
            }
            None => self.registrants.push(Registrant { host: *host, key }),
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(Vec::new())
    }

    fn unregister(&mut self, host: &HostId) -> Notices {
        self.generation = self.generation.wrapping_add(1);
        let holder = self.is_holder(host);
        self.registrants.retain(|r| r.host != *host);
        let all = self.rtype().is_some_and(ReservationType::is_all_registrants);
        // An all-registrants reservation ends with the last registrant.
        if holder && (!all || self.registrants.is_empty()) {
            return self.release(host);
        }
        Vec::new()
    }

    /// Releases the reservation and notifies the registrants that it admitted.
    fn release(&mut self, host: &HostId) -> Notices {
        let admitted = self.rtype().is_some_and(ReservationType::admits_registrants);
        self.holder = None;
        if admitted { self.others(host, ReservationNotice::Released) } else { Vec::new() }
    }

    fn preempt(
        &mut self,
        host: &HostId,
        key: u64,
        rtype: ReservationType,
    ) -> Result<Notices, Status> {
        let before = self.rtype();
        let all = before.is_some_and(ReservationType::is_all_registrants);
        if key == 0 && !all {
            return Err(Status::INVALID_FIELD);
        }
        let holder = self.holder.filter(|_| !all).map(|(holder, _)| holder);
        let takes_over = match holder {
            Some(holder) => self.key(&holder) == Some(key),
            None => all && key == 0,
        };
        let is_meant = |r: &Registrant| key == 0 || r.key == key;
        if !takes_over && !self.registrants.iter().any(is_meant) {
            return Err(Status::RESERVATION_CONFLICT);
        }
        // A host that preempts a reservation keeps its own registration, whatever its key.
        let is_gone = |r: &Registrant| is_meant(r) && !(takes_over && r.host == *host);
        let gone = self.registrants.iter().filter(|r| is_gone(r));
        let mut notices: Notices =
            gone.map(|r| (r.host, ReservationNotice::RegistrationPreempted)).collect();
        notices.retain(|(gone, _)| gone != host);
        self.registrants.retain(|r| !is_gone(r));
        if takes_over {
            self.holder = Some((*host, rtype.0));
            if before != Some(rtype) && before.is_some_and(ReservationType::admits_registrants) {
                notices.extend(self.others(host, ReservationNotice::Released));
            }
        } else if self.registrants.is_empty() {
            self.holder = None;
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(notices)
    }

    /// Returns what remains after a power cycle.
    fn after_power_cycle(self) -> Self {
        if self.ptpl { self } else { Reservations::default() }
    }
}

/// The reservations of a namespace, which a format preserves.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(from = "Reservations", into = "Reservations")]
pub(crate) struct ReservationCell {
    /// Whether there is a reservation; otherwise commands check nothing else.
    held: AtomicBool,
    state: Mutex<Reservations>,
}

impl ReservationCell {
    fn lock(&self) -> MutexGuard<'_, Reservations> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self) -> Reservations {
        self.lock().clone()
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    /// Checks that the reservation, if there is one, does not bar a host from a command.
    pub(crate) fn check(&self, host: &HostId, command: Reserved) -> Result<(), Status> {
        if self.is_held() && self.lock().conflicts(host, command) {
            return Err(Status::RESERVATION_CONFLICT);
        }
        Ok(())
    }

    /// Replaces the reservations. Called with the drive locked.
    pub(crate) fn set(&self, state: Reservations) {
        let mut current = self.lock();
        self.held.store(state.holder.is_some(), Ordering::Release);
        *current = state;
    }

    /// Removes everything that does not outlive a power cycle.
    pub(crate) fn power_cycle(&self) {
        self.set(self.get().after_power_cycle());
    }
}

impl Clone for ReservationCell {
    fn clone(&self) -> Self {
        self.get().into()
    }
}

impl From<Reservations> for ReservationCell {
    fn from(state: Reservations) -> Self {
        ReservationCell { held: state.holder.is_some().into(), state: state.into() }
    }
}

impl From<ReservationCell> for Reservations {
    fn from(cell: ReservationCell) -> Self {
        cell.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
