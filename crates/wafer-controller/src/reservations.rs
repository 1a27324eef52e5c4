//! The commands that reservations prohibit, and the notifications that hosts receive about reservations.

use std::collections::VecDeque;

use wafer_drive::{Namespace, Notices, ReservationNotice, Reserved};
use wafer_nvme::{AdminOpcode, NvmOpcode, ReservationMask, Status};

use super::async_event::Notice;
use super::nsid::BROADCAST;
use super::{Controller, Failure, Kind, Subsystem};

/// Maximum notifications that a controller holds, limited by the counter of the log page.
const MOST: usize = 255;

/// The notifications of a controller.
#[derive(Default)]
pub(crate) struct Notifications {
    /// Oldest first: number, notice and namespace.
    pub(crate) queue: VecDeque<(u64, ReservationNotice, u32)>,
    /// Number of the last notification.
    count: u64,
    /// Reservation Log Page Available.
    pub(crate) notice: Notice,
}

impl Notifications {
    fn add(&mut self, notice: ReservationNotice, nsid: u32) {
        // Zero means an empty page.
        self.count = self.count.wrapping_add(1).max(1);
        if self.queue.len() == MOST {
            self.queue.pop_front();
        }
        self.queue.push_back((self.count, notice, nsid));
        self.notice.raise();
    }
}

/// Returns the access of an I/O command (Base 2.1, figure "Command Behavior in the Presence of a Reservation").
pub fn io_command(opcode: NvmOpcode) -> &'static [Reserved] {
    match opcode {
        NvmOpcode::READ | NvmOpcode::COMPARE | NvmOpcode::VERIFY => &[Reserved::Read],
        NvmOpcode::COPY => &[Reserved::Read, Reserved::Write],
        NvmOpcode::WRITE
        | NvmOpcode::WRITE_ZEROES
        | NvmOpcode::WRITE_UNCORRECTABLE
        | NvmOpcode::DATASET_MANAGEMENT
        | NvmOpcode::FLUSH
        | NvmOpcode::IO_MANAGEMENT_SEND => &[Reserved::Write],
        _ => &[],
    }
}

impl Controller {
    /// Checks that the host has an identifier, without which hosts cannot be distinguished.
    ///
    /// # Errors
    /// `HOST_ID_NOT_INITIALIZED`.
    pub fn check_host_id(&self) -> Result<(), Failure> {
        let known = self.hostid != [0; 16];
        if known { Ok(()) } else { Err(Status::HOST_ID_NOT_INITIALIZED.into()) }
    }

    /// Checks that no reservation bars the host from an admin command that destroys data of a namespace, or of all.
    ///
    /// # Errors
    /// `RESERVATION_CONFLICT`.
    pub(super) fn check_reserved(&self, opcode: AdminOpcode, nsid: u32) -> Result<(), Failure> {
        let all = self.subsystem.drive.namespaces();
        let mut meant = all.iter().flatten().filter(|n| match opcode {
            AdminOpcode::FORMAT_NVM if nsid == BROADCAST => n.is_attached(&self.hostnqn),
            AdminOpcode::FORMAT_NVM => n.nsid == nsid,
            _ => opcode == AdminOpcode::SANITIZE,
        });
        Ok(meant.try_for_each(|n| n.check_reservation(&self.hostid, Reserved::Write))?)
    }
}

impl Subsystem {
    /// Notifies the controllers of hosts whose registrations or reservations changed.
    pub fn notify_reservations(&self, namespace: &Namespace, notices: &Notices) {
        if notices.is_empty() {
            return;
        }
        for controller in self.controllers() {
            if controller.kind != Kind::Io || !namespace.is_attached(&controller.hostnqn) {
                continue;
            }
            let mut state = controller.state();
            for (_, notice) in notices.iter().filter(|(host, _)| *host == controller.hostid) {
                if !is_masked(state.reservation_mask(namespace.nsid), *notice) {
                    state.notifications.add(*notice, namespace.nsid);
                }
            }
            drop(state);
            controller.wake.notify_one();
        }
    }
}

fn is_masked(mask: ReservationMask, notice: ReservationNotice) -> bool {
    match notice {
        ReservationNotice::RegistrationPreempted => mask.registration_preempted(),
        ReservationNotice::Released => mask.released(),
        ReservationNotice::Preempted => mask.preempted(),
    }
}

impl super::State {
    /// Returns which notifications of a namespace are masked.
    pub(super) fn reservation_mask(&self, nsid: u32) -> ReservationMask {
        self.reservation_masks.get(&nsid).copied().unwrap_or_default()
    }
}
