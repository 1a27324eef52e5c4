//! Resuming a drive from its files, as if the server had never stopped.

use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use wafer_interface::{Command, LBA_BYTES, NsId, Op, Placement};
use wafer_journal::{Ending, Entry};
use wafer_nvme::HardwareErrorCode;

use super::change::Change;
use super::checkpoint::{self, Saved};
use super::persistence::{self, Persistence};
use super::{Drive, DriveError, Inner, Namespace, space};

impl Drive {
    /// Resumes from files and returns messages for the user.
    pub(super) fn resume(&self, mut files: Persistence) -> Result<Vec<String>, DriveError> {
        let [data, state, _, journal] = persistence::files(&files.data);
        let wrong = |path: &std::path::Path, reason: String| {
            let path = path.display().to_string();
            DriveError::State { path, reason }
        };
        let (saved, device) = checkpoint::read(&*files.storage, &state, &self.options)
            .map_err(|reason| wrong(&state, reason))?;
        let header = files.journal.header();
        if header.drive != saved.drive {
            let reason = "this is the journal of another drive; put the drive's own back";
            return Err(wrong(&journal, reason.to_owned()));
        }
        if header.generation > saved.generation {
            let reason = "older than the journal; put the newest state of the drive back";
            return Err(wrong(&state, reason.to_owned()));
        }
        if header.generation < saved.superseded {
            let reason = "older than the state of the drive; put its newest journal back";
            return Err(wrong(&journal, reason.to_owned()));
        }
        let begun = self.check_data(&saved).map_err(|reason| wrong(&data, reason))?;
        if begun && header.generation < saved.generation {
            let reason = "older than the state of the drive; put its newest journal back";
            return Err(wrong(&journal, reason.to_owned()));
        }
        if let Some(data) = self.backend.data_file() {
            data.begin().map_err(|e| DriveError::io(&journal, e))?;
        }
        let mut inner = self.lock();
        inner.device = device;
        inner.config = saved.config;
        inner.made = saved.made;
        inner.seed = saved.seed;
        inner.initial = saved.initial;
        inner.life = saved.life;
        inner.preconditioning = saved.preconditioning;
        inner.hosts = saved.hosts;
        inner.events = saved.events;
        self.set_sanitized(&mut inner, saved.sanitized);
        inner.self_tests = saved.self_tests;
        inner.firmware = saved.firmware;
        inner.features = saved.features;
        inner.persistent_log = saved.persistent_log;
        for namespace in saved.namespaces {
            self.restore_namespace(&inner, namespace).map_err(|e| wrong(&state, e.to_string()))?;
        }
        files.generation = saved.generation;
        files.begun = header.generation;
        let mut notices = Vec::new();
        inner.life.power_cycles += 1;
        if header.generation < saved.generation {
            // Killed between a checkpoint and its journal: the checkpoint is complete.
            inner.life.unsafe_shutdowns += 1;
            notices.push(
                "the last server was killed while it saved; the device resumes from that checkpoint, \
                 and nothing is lost"
                    .to_owned(),
            );
        } else if header.ending != Ending::Clean {
            let uncertain = self.backend.data_file().is_some_and(|data| data.is_uncertain());
            let lost = header.ending == Ending::DataLost;
            let mut written = (lost || uncertain).then(Vec::new);
            let replayed = self.replay(&mut inner, &files, &mut written);
            let (replayed, damaged) = replayed.map_err(|e| wrong(&journal, e.to_string()))?;
            self.write_again(&written.unwrap_or_default()).map_err(|e| DriveError::io(&data, e))?;
            inner.life.unsafe_shutdowns += 1;
            let survives = match damaged {
                false => "so that every command reported as complete survives",
                true => "but its journal is damaged there: what it holds of later commands is lost",
            };
            notices.push(format!(
                "the last server was killed or could not save; the device resumes from its last checkpoint \
                 and the {replayed} commands after it, {survives}"
            ));
        }
        if inner.preconditioning {
            let reason = "the precondition of this drive was interrupted; remove its files to create it anew";
            return Err(wrong(&state, reason.to_owned()));
        }
        if let Some(data) = self.backend.data_file() {
            data.written_again();
        }
        if header.ending == Ending::DataLost {
            inner.life.media_errors += 1;
            notices.push(
                "the data file failed to sync under the last server; what hosts wrote after their last Flush \
                 that succeeded may be lost"
                    .to_owned(),
            );
        }
        // The journal holds the slots before the reset; the next server repeats it.
        inner.firmware.reset();
        if header.generation < saved.generation || header.ending != Ending::Clean {
            inner.log_hardware_error(HardwareErrorCode::UNSAFE_SHUTDOWN, &[]);
        }
        let reserved = self.namespaces().iter().flatten().any(|n| n.reservations.is_held());
        self.reserved.store(reserved, Ordering::Release);
        let hours = inner.life.power_on_seconds / 3600;
        inner.self_tests = std::mem::take(&mut inner.self_tests).after_power_cycle(hours);
        // The last server may have been killed before it released the space of deleted and formatted namespaces.
        let released = space::release_gaps(&self.backend, &self.namespaces());
        released.map_err(|e| DriveError::io(&data, e))?;
        inner.device.observer_mut().events.clear();
        // The next checkpoint records that it supersedes this journal.
        files.journal.confirm().map_err(|e| DriveError::io(&journal, e))?;
        inner.persistence = Some(files);
        self.checkpoint(&mut inner).map_err(|e| {
            if self.backend.lost().is_some() {
                // The next server must know, although this one has never started.
                inner.record_loss();
            }
            DriveError::io(&state, e)
        })?;
        Ok(notices)
    }

    /// Checks that the data file belongs to a checkpoint. Returns whether the journal of the checkpoint's generation is
    /// known to have begun.
    fn check_data(&self, saved: &Saved<Namespace>) -> Result<bool, String> {
        let Some(data) = self.backend.data_file().map(|data| data.file()) else { return Ok(false) };
        let length = data.len().map_err(|e| e.to_string())?;
        if length < saved.data_bytes {
            return Err(format!(
                "truncated: {length} bytes instead of {}; put the drive's data back",
                saved.data_bytes
            ));
        }
        if !saved.marked {
            return Ok(false);
        }
        let expected = checkpoint::mark(saved.drive, saved.generation);
        let mark = data.mark().map_err(|e| e.to_string())?;
        let mark = mark.map(|mark| String::from_utf8_lossy(&mark).into_owned());
        let begun = mark.as_deref().and_then(|mark| mark.strip_suffix(checkpoint::BEGUN));
        let is_begun = begun.is_some();
        let mark = begun.map(str::to_owned).or(mark);
        let Some((drive, generation)) = mark.as_deref().and_then(|mark| mark.split_once(' '))
        else {
            return Err(format!(
                "this is a copy, or another file: it does not have the mark of the drive; put the drive's data \
                 back, or accept a copy as new as the state with `setfattr -n user.wafer.drive -v '{expected}'`"
            ));
        };
        let generation = generation.parse::<u64>().ok();
        if !expected.starts_with(drive) || drive.len() != 36 {
            return Err("this is the data of another drive; put the drive's own back".to_owned());
        }
        if generation.is_none_or(|generation| generation < saved.generation) {
            let reason = "older than the state of the drive; put its newest data back";
            return Err(reason.to_owned());
        }
        if generation.is_some_and(|generation| generation > saved.generation + 1) {
            let reason = "newer than the state of the drive; put its newest state and journal back";
            return Err(reason.to_owned());
        }
        Ok(is_begun && generation == Some(saved.generation))
    }

    /// Opens the data of a namespace that exists in the device.
    fn restore_namespace(&self, inner: &Inner, mut namespace: Namespace) -> io::Result<()> {
        let number = namespace.nsid.wrapping_sub(1) as usize;
        if number >= 255 || !inner.device.has_namespace(NsId(number as u8)) {
            let reason = format!("namespace {} is not in the device", namespace.nsid);
            return Err(io::Error::other(reason));
        }
        if let Some(data) = self.backend.data_file()
            && namespace.base.saturating_add(namespace.bytes) > data.file().len()?
        {
            let reason = format!("the data file ends before namespace {}", namespace.nsid);
            return Err(io::Error::other(reason));
        }
        namespace.store = self.backend.store(namespace.base, namespace.bytes)?;
        namespace.protection.set(namespace.protection().after_power_cycle());
        namespace.reservations.power_cycle();
        namespace.groups = inner.device.geometry().groups;
        self.insert(namespace);
        Ok(())
    }

    /// Replays the journal. Returns the number of commands, and whether damage ended the replay. `written` receives the
    /// commands that changed data.
    fn replay(
        &self,
        inner: &mut Inner,
        files: &Persistence,
        written: &mut Option<Vec<Command>>,
    ) -> io::Result<(u64, bool)> {
        let mut replayed = 0;
        let mut frames = files.journal.frames();
        while let Some(entry) = frames.next_entry()? {
            match entry {
                Entry::Batch { timestamp, transferred, commands } => {
                    replayed += commands.len() as u64;
                    if let Some(written) = written {
                        written.extend(commands.iter().filter(|c| c.op != Op::Read));
                    }
                    let namespaces = self.namespaces.read().unwrap_or_else(PoisonError::into_inner);
                    inner.execute(&namespaces, &commands, transferred, timestamp);
                }
                Entry::Change(change) => self.replay_change(inner, *change)?,
            }
        }
        Ok((replayed, frames.is_damaged::<Change<Namespace>>()?))
    }

    /// Rewrites data that is in the file but may not be on the medium. After a failed sync, an operating system
    /// considers the data written, so later syncs skip it.
    fn write_again(&self, written: &[Command]) -> io::Result<()> {
        let mut buffer = Vec::new();
        for command in written {
            let Some(namespace) = self.namespace(u32::from(command.namespace.0) + 1) else {
                continue;
            };
            let (mut at, length) = (command.lba * LBA_BYTES, command.bytes());
            let end = at.saturating_add(length).min(namespace.bytes);
            while at < end {
                let count = (end - at).min(1 << 20);
                buffer.resize(count as usize, 0);
                namespace.store.read(at, &mut buffer)?;
                if command.op == Op::Deallocate && buffer.iter().all(|byte| *byte == 0) {
                    namespace.store.deallocate(at, count)?;
                } else {
                    namespace.store.write(at, &buffer)?;
                }
                at += count;
            }
        }
        Ok(())
    }

    fn replay_change(&self, inner: &mut Inner, change: Change<Namespace>) -> io::Result<()> {
        let find = |nsid: u32| {
            let damaged = || io::Error::other(format!("damaged: there is no namespace {nsid}"));
            self.namespace(nsid).ok_or_else(damaged)
        };
        match change {
            Change::Create(namespace) => {
                let pages = namespace.bytes / inner.device.geometry().page_bytes;
                let created = inner.device.create_namespace(pages, &namespace.handles);
                if created.ok().map(|id| u32::from(id.0) + 1) != Some(namespace.nsid) {
                    let reason = format!("damaged: namespace {} cannot be made", namespace.nsid);
                    return Err(io::Error::other(reason));
                }
                self.restore_namespace(inner, namespace)?;
            }
            Change::Delete { nsid } => {
                let namespace = find(nsid)?;
                self.replay_removal(inner, &namespace, None)?;
            }
            Change::Format { nsid, lba_bytes, base } => {
                let namespace = find(nsid)?;
                self.replay_removal(inner, &namespace, Some((lba_bytes, base)))?;
            }
            Change::Attach { nsid, hosts, attached } => {
                let namespace = find(nsid)?;
                for host in hosts {
                    namespace.set_attached(&host, attached);
                }
            }
            Change::Identify { nsid, identity } => find(nsid)?.set_identity(identity),
            Change::Fdp { enabled, all_events } => {
                let device = self.device_with_fdp(inner, enabled).map_err(io::Error::other)?;
                self.replace_device(inner, device, enabled, all_events);
            }
            Change::Events { masks } => {
                if !inner.events.set_masks(masks) {
                    return Err(io::Error::other("damaged: events of another device"));
                }
            }
            Change::RefusedPlacement { nsid, pid, timestamp } => {
                if let Some(namespace) = self.namespace(nsid) {
                    let (id, geometry) = (namespace.id(), inner.device.geometry());
                    inner.events.invalid_placement(id, Placement(pid), timestamp, geometry);
                }
            }
            Change::Protect { nsid, state } => {
                find(nsid)?.protection.set(state.after_power_cycle());
            }
            Change::Uncorrectable { nsid, offset, length } => {
                find(nsid)?.marks.add(offset, offset.saturating_add(length));
            }
            Change::Reservations { nsid, state } => {
                let cell = &find(nsid)?.reservations;
                cell.set(state);
                cell.power_cycle();
            }
            Change::Sanitize(sanitized) => self.set_sanitized(inner, sanitized),
            Change::SelfTests(tests) => inner.self_tests = tests,
            Change::Firmware(firmware) => inner.firmware = firmware,
            Change::Event(event) => inner.persistent_log.push(event),
            Change::Precondition { running } => inner.preconditioning = running,
            Change::Feature { fid, value } => {
                inner.features.insert(fid, value);
            }
            Change::MediaError { nsid, offset, length, failing } => {
                find(nsid)?.set_media_error(offset, length, failing);
            }
            Change::Life { error_entries, power_on_seconds, media_errors } => {
                inner.life.media_errors = inner.life.media_errors.max(media_errors);
                inner.life.error_entries = error_entries;
                inner.life.power_on_seconds = power_on_seconds;
            }
        }
        Ok(())
    }
}
