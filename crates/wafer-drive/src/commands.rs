//! Host commands: counting, placement, and FDP events.

use std::sync::Arc;

use wafer_interface::{Command, CommandStream, Op, Placement, RgId, RuhId, StreamState};
use wafer_journal::{MAX_COMMANDS, Transferred};
use wafer_nvme::{FdpEventType, Status};

use super::change::Change;
use super::emulated::Origin;
use super::{Batch, Drive, DriveError, EventRecord, Inner, Namespace};

/// A row of Reclaim Unit Handle Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleStatus {
    /// Placement identifier.
    pub placement: Placement,
    /// The handle that it selects.
    pub handle: RuhId,
    /// RUAMW in pages.
    pub available_pages: u32,
}

impl Drive {
    /// Fills a new drive before the first command of a host, without data: it reads as zeroes. Calls `progress` with the
    /// bytes written so far, and stops when that returns false. A drive that was filled only in part cannot be opened
    /// again.
    ///
    /// # Errors
    /// [`DriveError::Used`], [`DriveError::Interrupted`] or [`DriveError::Unrecorded`].
    pub fn precondition(
        &self,
        stream: &mut dyn CommandStream,
        mut progress: impl FnMut(u64) -> bool,
    ) -> Result<(), DriveError> {
        if self.counters().life.power_cycles > 1 {
            return Err(DriveError::Used);
        }
        self.note_precondition(true)?;
        let (mut commands, mut written) = (wafer_interface::Batch::with_capacity(MAX_COMMANDS), 0);
        loop {
            commands.clear();
            let state = stream.next(&mut commands, MAX_COMMANDS);
            self.apply(0, &commands.commands).map_err(|_| DriveError::Unrecorded)?;
            written += commands.commands.iter().map(Command::written_bytes).sum::<u64>();
            if !progress(written) {
                return Err(DriveError::Interrupted);
            }
            if state != StreamState::Ready {
                return self.note_precondition(false);
            }
        }
    }

    fn note_precondition(&self, running: bool) -> Result<(), DriveError> {
        let mut inner = self.lock();
        inner.preconditioning = running;
        let noted = self.commit(&mut inner, &Change::Precondition { running });
        noted.map_err(|_| DriveError::Unrecorded)
    }

    /// Applies a batch to the device, in order, and empties it. Commands on namespaces that have been deleted or
    /// formatted since do not count.
    ///
    /// # Errors
    /// `WRITE_FAULT`: the drive cannot record the batch, so commands that changed data must not succeed.
    pub fn apply_batch(&self, host: u16, batch: &mut Batch) -> Result<(), Status> {
        let mut recorded = Ok(());
        if !batch.is_empty() {
            let mut inner = self.lock();
            let live = batch.live();
            let (first, rest) = live.split_first().map_or((&[][..], &[][..]), |(f, r)| (*f, r));
            let origin = Origin { host, ticket: batch.ticket };
            recorded = self.apply_locked(&mut inner, origin, first, batch.transferred);
            for commands in rest {
                let part = self.apply_locked(&mut inner, origin, commands, Transferred::default());
                recorded = recorded.and(part);
            }
        }
        batch.clear();
        recorded
    }

    /// Returns the offset of the first byte of a range that is deallocated or was never written, according to the
    /// commands counted so far. The unit is a page, which is allocated as soon as one of its blocks is written.
    ///
    /// # Errors
    /// As [`Namespace::check_live`].
    pub fn first_deallocated(
        &self,
        namespace: &Namespace,
        offset: u64,
        length: u64,
    ) -> Result<Option<u64>, Status> {
        let inner = self.lock();
        namespace.check_live()?;
        let page = inner.device.geometry().page_bytes;
        let pages = offset / page..(offset + length).div_ceil(page);
        let first = inner.device.first_unmapped(namespace.id(), pages);
        Ok(first.map(|first| (first * page).max(offset)))
    }

    /// Returns how often the drive was opened after an unsafe shutdown.
    pub fn unsafe_shutdowns(&self) -> u64 {
        self.lock().life.unsafe_shutdowns
    }

    /// Returns the Reclaim Unit Handle Status of a namespace: for each placement handle, in each group.
    pub fn handle_status(&self, namespace: &Namespace) -> Vec<HandleStatus> {
        let inner = self.lock();
        inner
            .device
            .placements(namespace.id())
            .into_iter()
            .filter_map(|placement| {
                let (group, handle) = namespace.placement(placement).ok()?;
                let available_pages = inner.device.available_pages(RgId(group), handle);
                Some(HandleStatus { placement, handle, available_pages })
            })
            .collect()
    }

    /// Moves the handle that a placement identifier selects to another reclaim unit.
    ///
    /// # Errors
    /// `INVALID_FIELD` for an identifier that the namespace does not define, `INVALID_NAMESPACE` if the namespace is
    /// gone, `READ_ONLY_RANGE` if the media are worn out, `WRITE_FAULT` if the drive cannot record it.
    pub fn update(&self, host: u16, namespace: &Namespace, pid: Placement) -> Result<(), Status> {
        namespace.placement(pid).map_err(|_| Status::INVALID_FIELD)?;
        self.check_media()?;
        self.check_writable()?;
        let mut inner = self.lock();
        if namespace.retired().is_some() {
            return Err(Status::INVALID_NAMESPACE);
        }
        let update = Command::update(namespace.id(), pid);
        self.apply_locked(&mut inner, host.into(), &[update], Transferred::default())
    }

    /// Logs a placement identifier that its namespace does not define, of a command that the device does not see.
    pub fn invalid_placement(&self, namespace: &Namespace, pid: Placement) {
        let inner = &mut *self.lock();
        let (timestamp, geometry) = (inner.timestamp(), inner.device.geometry());
        if inner.events.invalid_placement(namespace.id(), pid, timestamp, geometry) {
            let change = Change::RefusedPlacement { nsid: namespace.nsid, pid: pid.0, timestamp };
            self.note(inner, &change);
        }
    }

    /// Enables or disables event types for a handle.
    ///
    /// # Errors
    /// `INVALID_FIELD` for an unknown type, `WRITE_FAULT` if the drive cannot be saved.
    pub fn enable_events(&self, handle: RuhId, types: &[u8], enable: bool) -> Result<(), Status> {
        let mut inner = self.lock();
        let masks = inner.events.masks_with(handle, types, enable).ok_or(Status::INVALID_FIELD)?;
        self.commit(&mut inner, &Change::Events { masks: masks.clone() })?;
        inner.events.set_masks(masks);
        Ok(())
    }

    /// Returns the event types that can be enabled for a handle, and whether they are.
    pub fn supported_events(&self, handle: RuhId) -> Vec<(u8, bool)> {
        self.lock().events.supported(handle)
    }

    /// Returns whether all events are enabled by default.
    pub fn default_events(&self) -> bool {
        self.options.events_enabled
    }
}

impl Inner {
    /// Executes a batch of commands, without the journal. Replaying the journal uses this too.
    pub(crate) fn execute(
        &mut self,
        namespaces: &[Option<Arc<Namespace>>],
        commands: &[Command],
        transferred: Transferred,
        timestamp: (u64, u8),
    ) {
        self.life.read_commands += transferred.reads;
        self.life.write_commands += transferred.writes;
        match commands {
            [update] if update.op == Op::Update => self.update(namespaces, update, timestamp),
            _ => self.device.apply_accepted(commands),
        }
        Self::clear_marks(namespaces, commands);
        self.log_events(timestamp);
    }

    /// Executes a reclaim unit update by a host, whose event contains the placement identifier.
    fn update(
        &mut self,
        namespaces: &[Option<Arc<Namespace>>],
        update: &Command,
        timestamp: (u64, u8),
    ) {
        let namespace = namespaces.get(update.namespace.index()).and_then(Option::as_ref);
        let place = namespace.and_then(|namespace| namespace.placement(update.placement).ok());
        let unwritten = place.map(|(group, handle)| {
            let pages = self.device.available_pages(RgId(group), handle);
            (RgId(group), handle, pages)
        });
        self.device.apply_accepted(std::slice::from_ref(update));
        // A handle with an empty reclaim unit keeps it.
        let Some((group, handle, pages)) = unwritten else { return };
        if pages > 0 && pages < self.device.geometry().pages_per_ru {
            let record = EventRecord {
                event_type: FdpEventType::RU_NOT_FULLY_WRITTEN.0,
                timestamp,
                placement: Some(update.placement),
                namespace: Some(update.namespace),
                location: Some((group, handle)),
                pages,
            };
            self.events.log(Some(handle), record);
        }
    }
}
