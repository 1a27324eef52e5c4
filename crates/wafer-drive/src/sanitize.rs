//! Sanitize: erases the data of all namespaces in the background.
//!
//! Each namespace is formatted with its current block size (`removal.rs`). The operation succeeds once the old storage
//! of the namespaces is released and synced. It fails if that cannot be saved; then hosts can use nothing until it is
//! repeated or they exit the failure mode. A reopened drive continues, because the state is in the journal.

use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use wafer_nvme::{SanitizeCdw10, Status};

use super::change::Change;
use super::operations::{SanitizeState, Sanitized};
use super::{Drive, Inner, Removal};

/// Time that each call of [`Drive::maintain`] spends sanitizing.
const TURN: Duration = Duration::from_millis(250);

/// The last Sanitize operation, as hosts see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SanitizeStatus {
    /// Its state.
    pub state: SanitizeState,
    /// Command dword 10 of the command.
    pub cdw10: u32,
    /// Completed fraction of the operation in progress, in units of 1/65,536.
    pub progress: u16,
    /// Whether no host has written since the drive was created or the operation succeeded.
    pub clean: bool,
}

/// The operation in progress.
#[derive(Default)]
pub(crate) struct Sanitizing {
    /// The state, for commands that check it without the lock.
    barred: AtomicU8,
    progress: AtomicU16,
    work: Mutex<Work>,
    notify: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct Work {
    /// The current or most recent namespace.
    nsid: u32,
    removal: Option<Removal>,
    /// Bytes of the completed namespaces.
    done: u64,
}

/// Values of [`Sanitizing::barred`].
const ALLOWED: u8 = 0;
const IN_PROGRESS: u8 = 1;
const FAILED: u8 = 2;

/// The outcome of a slice.
enum Slice {
    More,
    /// Commands on erased namespaces have to end first.
    Wait,
    Done,
}

impl Drive {
    /// Checks, without the lock, that no Sanitize operation bars commands.
    ///
    /// # Errors
    /// `SANITIZE_IN_PROGRESS`, `SANITIZE_FAILED`.
    pub fn check_sanitize(&self) -> Result<(), Status> {
        match self.sanitizing.barred.load(Ordering::Acquire) {
            ALLOWED => Ok(()),
            IN_PROGRESS => Err(Status::SANITIZE_IN_PROGRESS),
            _ => Err(Status::SANITIZE_FAILED),
        }
    }

    /// Has `notify` called after each Sanitize operation. Only the first call has an effect.
    pub fn on_sanitized(&self, notify: impl Fn() + Send + Sync + 'static) {
        let _ = self.sanitizing.notify.set(Box::new(notify));
    }

    /// Returns the last Sanitize operation.
    pub fn sanitize_status(&self) -> SanitizeStatus {
        let written = self.counters().lifetime.host_bytes;
        let Sanitized { state, cdw10, clean_at } = self.lock().sanitized;
        let progress = match state {
            SanitizeState::InProgress => self.sanitizing.progress.load(Ordering::Relaxed),
            _ => u16::MAX,
        };
        let clean = written == clean_at.unwrap_or(0) && state != SanitizeState::InProgress;
        SanitizeStatus { state, cdw10, progress, clean }
    }

    /// Begins to erase the data of all namespaces; [`Self::maintain`] continues. `cdw10` comes from the command.
    ///
    /// # Errors
    /// `SANITIZE_IN_PROGRESS`; `SANITIZE_FAILED` if the command allows an unrestricted exit and the failed operation
    /// did not; `FIRMWARE_NEEDS_RESET` if a reset activates firmware; `NAMESPACE_WRITE_PROTECTED`; `WRITE_FAULT` if the drive cannot be saved.
    pub fn begin_sanitize(&self, cdw10: u32) -> Result<(), Status> {
        let mut inner = self.lock();
        let ause = |cdw10: u32| SanitizeCdw10::from_bits(cdw10).ause();
        match inner.sanitized.state {
            SanitizeState::InProgress => return Err(Status::SANITIZE_IN_PROGRESS),
            SanitizeState::Failed if ause(cdw10) && !ause(inner.sanitized.cdw10) => {
                return Err(Status::SANITIZE_FAILED);
            }
            _ => {}
        }
        if inner.firmware.next().is_some() {
            return Err(Status::FIRMWARE_NEEDS_RESET);
        }
        self.namespaces().iter().flatten().try_for_each(|n| n.check_unprotected())?;
        let sanitized = Sanitized { state: SanitizeState::InProgress, cdw10, clean_at: None };
        self.commit(&mut inner, &Change::Sanitize(sanitized))?;
        self.set_sanitized(&mut inner, sanitized);
        self.sanitize_ends_self_test(&mut inner);
        Ok(())
    }

    /// Exits the failure mode of a Sanitize operation.
    ///
    /// # Errors
    /// `SANITIZE_IN_PROGRESS`; `SANITIZE_FAILED` if the failed command does not allow this; `WRITE_FAULT` if the drive
    /// cannot be saved.
    pub fn exit_sanitize_failure(&self) -> Result<(), Status> {
        let mut inner = self.lock();
        let sanitized = Sanitized { state: SanitizeState::Left, ..inner.sanitized };
        match inner.sanitized.state {
            SanitizeState::InProgress => Err(Status::SANITIZE_IN_PROGRESS),
            SanitizeState::Failed if SanitizeCdw10::from_bits(sanitized.cdw10).ause() => {
                self.commit(&mut inner, &Change::Sanitize(sanitized))?;
                self.set_sanitized(&mut inner, sanitized);
                Ok(())
            }
            SanitizeState::Failed => Err(Status::SANITIZE_FAILED),
            _ => Ok(()),
        }
    }

    /// Changes the state; nothing else does.
    pub(crate) fn set_sanitized(&self, inner: &mut Inner, sanitized: Sanitized) {
        inner.sanitized = sanitized;
        let barred = match sanitized.state {
            SanitizeState::InProgress => IN_PROGRESS,
            SanitizeState::Failed => FAILED,
            _ => ALLOWED,
        };
        self.sanitizing.progress.store(0, Ordering::Relaxed);
        self.sanitizing.barred.store(barred, Ordering::Release);
    }

    /// Sanitizes for one turn, if an operation is in progress.
    pub(crate) fn sanitize(&self) {
        if self.sanitizing.barred.load(Ordering::Acquire) != IN_PROGRESS {
            return;
        }
        let until = self.uptime() + TURN;
        let mut work = self.sanitizing.work.lock().unwrap_or_else(PoisonError::into_inner);
        let result = loop {
            match self.sanitize_slice(&mut work) {
                Ok(Slice::More) if self.uptime() < until => {}
                Ok(Slice::More | Slice::Wait) => return,
                Ok(Slice::Done) => break Ok(()),
                Err(status) => break Err(status),
            }
        };
        *work = Work::default();
        let mut inner = self.lock();
        let mut sanitized = Sanitized { state: SanitizeState::Failed, ..inner.sanitized };
        let saved = result.and_then(|()| {
            let clean_at = Some(inner.lifetime().host_bytes);
            sanitized = Sanitized { state: SanitizeState::Completed, clean_at, ..sanitized };
            self.commit(&mut inner, &Change::Sanitize(sanitized))
        });
        if let Err(status) = saved {
            tracing::error!(?status, "the drive could not be sanitized");
            sanitized = Sanitized { state: SanitizeState::Failed, clean_at: None, ..sanitized };
            // If this cannot be saved either, the next server repeats the operation.
            self.note(&mut inner, &Change::Sanitize(sanitized));
        }
        self.set_sanitized(&mut inner, sanitized);
        drop(inner);
        if let Some(notify) = self.sanitizing.notify.get() {
            notify();
        }
    }

    fn sanitize_slice(&self, work: &mut Work) -> Result<Slice, Status> {
        if let Some(removal) = work.removal.take() {
            work.removal = self.remove_slice(removal)?;
            let namespaces = self.namespaces();
            let bytes = || namespaces.iter().flatten().map(|n| (n.nsid, n.bytes));
            if work.removal.is_none() {
                work.done += bytes().find(|(nsid, _)| *nsid == work.nsid).map_or(0, |(_, b)| b);
            }
            let part = work.removal.as_ref().map_or(0, Removal::done_bytes);
            let total: u64 = bytes().map(|(_, bytes)| bytes).sum();
            let progress = u128::from(work.done + part) * 65_536 / u128::from(total.max(1));
            let progress = u16::try_from(progress).unwrap_or(u16::MAX);
            self.sanitizing.progress.store(progress, Ordering::Relaxed);
            return Ok(Slice::More);
        }
        let namespaces = self.namespaces();
        let Some(next) = namespaces.into_iter().flatten().find(|n| n.nsid > work.nsid) else {
            return self.finish_sanitize();
        };
        match self.begin_format(0, next.nsid, next.lba_bytes() as u32) {
            Ok(removal) => work.removal = Some(removal),
            // It is already being formatted or deleted.
            Err(Status::FORMAT_IN_PROGRESS | Status::INVALID_NAMESPACE) => return Ok(Slice::Wait),
            Err(status) => return Err(status),
        }
        work.nsid = next.nsid;
        Ok(Slice::More)
    }

    /// Releases the old storage of the namespaces, durably.
    fn finish_sanitize(&self) -> Result<Slice, Status> {
        self.space.release(&self.backend);
        if self.space.is_referenced() {
            return Ok(Slice::Wait);
        }
        if self.space.is_reserved() {
            // The backend could not free it.
            return Err(Status::WRITE_FAULT);
        }
        // The write log also holds the latest writes.
        let erased = self.backend.data_file().map_or(Ok(()), |data| data.erase_log());
        if let Err(error) = erased {
            self.fail(&mut self.lock(), &error, false);
            return Err(Status::WRITE_FAULT);
        }
        Ok(Slice::Done)
    }
}
