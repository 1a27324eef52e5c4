//! Checkpoint and journal of a drive, kept beside its data file.
//!
//! `FILE.state` is a checkpoint: the device, its namespaces and its counters at one moment.
//! `FILE.journal` holds every command completed since. The device is deterministic, so replaying
//! the journal on the checkpoint restores the drive after a kill. Rare changes (namespaces, formats, FDP) write
//! a new checkpoint at once; so does a full journal.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};
use wafer_device::{Device, DeviceConfig, DeviceState};
use wafer_interface::{Counters, NsId};
use wafer_nvme::crc32c;

use super::events::EventLog;
use super::journal::Journal;
use super::{Drive, DriveError, Inner, Namespace, Pending};
use crate::storage::Storage;

const MAGIC: [u8; 8] = *b"WAFERSTA";
const VERSION: u32 = 4;
/// Limits of the size of a journal. Within them it is as large as the map, because a checkpoint writes the map.
const JOURNAL_BYTES: std::ops::RangeInclusive<u64> = 4 << 20..=1 << 30;
/// Bytes of the map that one check covers.
const PIECE: usize = 1 << 20;

/// A checkpoint without the state of the device and its map. `N` is a namespace, borrowed to write it.
#[derive(Serialize, Deserialize)]
struct Saved<N> {
    generation: u64,
    config: DeviceConfig,
    earlier: Counters,
    read_commands: u64,
    write_commands: u64,
    unsafe_shutdowns: u64,
    hosts: Vec<String>,
    events_enabled: Vec<u8>,
    namespaces: Vec<N>,
}

/// The files of a drive.
pub(super) struct Persistence {
    storage: Arc<dyn Storage>,
    state: PathBuf,
    pub(super) journal: Journal,
    generation: u64,
}

fn beside(data: &Path, extension: &str) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(extension);
    name.into()
}

impl Persistence {
    /// Opens the files beside a data file.
    pub(super) fn open(
        storage: Arc<dyn Storage>,
        data: &Path,
        logical_pages: u64,
    ) -> Result<Self, DriveError> {
        let path = beside(data, ".journal");
        let bytes = (logical_pages * 4).clamp(*JOURNAL_BYTES.start(), *JOURNAL_BYTES.end());
        let file = storage.open(&path);
        let journal = file.and_then(|file| Journal::open(&*file, bytes));
        let journal = journal.map_err(|e| DriveError::io(&path, e))?;
        Ok(Persistence { storage, state: beside(data, ".state"), journal, generation: 0 })
    }

    /// Returns whether the drive already exists.
    pub(super) fn exists(&self) -> bool {
        self.storage.exists(&self.state)
    }
}

impl Drive {
    /// Writes a checkpoint and restarts the journal. Data is flushed first: a checkpoint must not refer to data
    /// that a loss of power could still destroy.
    pub(super) fn checkpoint(&self, inner: &mut Inner) -> io::Result<()> {
        let Some(mut persistence) = inner.persistence.take() else { return Ok(()) };
        let result = self.backend.flush().and_then(|()| {
            let generation = persistence.generation + 1;
            let namespaces = self.namespaces();
            let saved = Saved {
                generation,
                config: inner.config.clone(),
                earlier: inner.earlier,
                read_commands: inner.read_commands,
                write_commands: inner.write_commands,
                unsafe_shutdowns: inner.unsafe_shutdowns,
                hosts: inner.hosts.clone(),
                events_enabled: inner.events.masks().to_vec(),
                namespaces: namespaces.iter().flatten().map(|n| &**n).collect(),
            };
            write_state(&*persistence.storage, &persistence.state, &saved, &inner.device)?;
            persistence.generation = generation;
            persistence.journal.begin(generation)
        });
        inner.persistence = Some(persistence);
        result
    }

    /// Resumes from the files of an earlier server and returns notices for the user.
    pub(super) fn load(&self, inner: &mut Inner) -> Result<Vec<String>, DriveError> {
        let Some(mut persistence) = inner.persistence.take() else { return Ok(Vec::new()) };
        let path = persistence.state.display().to_string();
        let wrong = |reason: String| DriveError::State { path: path.clone(), reason };
        let (saved, device) =
            read_state(&*persistence.storage, &persistence.state, &self.options.device)
                .map_err(wrong)?;
        inner.device = device;
        inner.config = saved.config;
        inner.earlier = saved.earlier;
        inner.read_commands = saved.read_commands;
        inner.write_commands = saved.write_commands;
        inner.unsafe_shutdowns = saved.unsafe_shutdowns;
        inner.hosts = saved.hosts;
        inner.events = EventLog::with_masks(saved.events_enabled);
        self.open_namespaces(inner, saved.namespaces).map_err(|e| wrong(e.to_string()))?;
        persistence.generation = saved.generation;
        let mut notices = Vec::new();
        match persistence.journal.header() {
            Some((generation, true)) if generation == saved.generation => {}
            Some((generation, false)) if generation == saved.generation => {
                let commands = persistence.journal.read(generation);
                inner.device.apply(&commands);
                inner.unsafe_shutdowns += 1;
                notices.push(format!(
                    "the last server was killed; the device resumes from its last checkpoint and the {} \
                     commands after it, so that every command reported as complete survives",
                    commands.len()
                ));
            }
            // Killed between a checkpoint and its journal: the checkpoint is complete.
            _ => {
                inner.unsafe_shutdowns += 1;
                notices.push(
                    "the last server was killed while it saved; the device resumes from that checkpoint, \
                     and nothing is lost"
                        .to_owned(),
                );
            }
        }
        inner.device.observer_mut().0.clear();
        inner.persistence = Some(persistence);
        let result = self.checkpoint(inner);
        result.map_err(|e| DriveError::State { path, reason: e.to_string() })?;
        Ok(notices)
    }

    fn open_namespaces(&self, inner: &Inner, list: Vec<Namespace>) -> io::Result<()> {
        let mut namespaces = self.namespaces.write().unwrap_or_else(PoisonError::into_inner);
        for mut namespace in list {
            let number = namespace.nsid.wrapping_sub(1) as usize;
            if number >= 255 || !inner.device.has_namespace(NsId(number as u8)) {
                let reason = format!("namespace {} is not in the device", namespace.nsid);
                return Err(io::Error::other(reason));
            }
            namespace.store = self.backend.store(namespace.base, namespace.bytes)?;
            namespace.groups = inner.device.geometry().groups;
            if namespaces.len() <= number {
                namespaces.resize(number + 1, None);
            }
            namespaces[number] = Some(Arc::new(namespace));
        }
        Ok(())
    }
}

/// Writes a checkpoint beside the old one, then replaces it.
fn write_state(
    storage: &dyn Storage,
    path: &Path,
    saved: &Saved<&Namespace>,
    device: &Device<Pending>,
) -> io::Result<()> {
    let new = beside(path, ".new");
    let mut out = io::BufWriter::with_capacity(PIECE, storage.create(&new)?);
    let json = serde_json::to_vec(saved)?;
    let state = postcard::to_allocvec(&device.state()).map_err(io::Error::other)?;
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&VERSION.to_le_bytes());
    head.extend_from_slice(&(json.len() as u64).to_le_bytes());
    head.extend_from_slice(&(state.len() as u64).to_le_bytes());
    for part in [&head, &json, &state] {
        out.write_all(part)?;
        out.write_all(&crc32c(part).to_le_bytes())?;
    }
    for piece in device.map_bytes().chunks(PIECE) {
        out.write_all(piece)?;
        out.write_all(&crc32c(piece).to_le_bytes())?;
    }
    out.flush()?;
    storage.open(&new)?.sync()?;
    storage.rename(&new, path)
}

fn read_state(
    storage: &dyn Storage,
    path: &Path,
    options: &DeviceConfig,
) -> Result<(Saved<Namespace>, Device<Pending>), String> {
    let file = storage.open(path).map_err(|e| e.to_string())?;
    let end = file.len().map_err(|e| e.to_string())?;
    let mut at = 0;
    // The file gives the length of each part, which a check follows.
    let mut part = |length: u64| -> Result<Vec<u8>, String> {
        let whole = length.checked_add(4).filter(|whole| *whole <= end - at);
        let mut bytes = vec![0; whole.ok_or("damaged")? as usize];
        file.read_at(&mut bytes, at).map_err(|e| e.to_string())?;
        at += bytes.len() as u64;
        let check = bytes.split_off(length as usize);
        if check != crc32c(&bytes).to_le_bytes() {
            return Err("damaged".to_owned());
        }
        Ok(bytes)
    };
    let head = part(28)?;
    if head[..8] != MAGIC {
        return Err("not the state of a drive".to_owned());
    }
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&head[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    if head[8..12] != VERSION.to_le_bytes() {
        return Err("written by another version of wafer".to_owned());
    }
    let json = part(number(12))?;
    let mut saved: Saved<Namespace> =
        serde_json::from_slice(&json).map_err(|e| format!("damaged: {e}"))?;
    if let Some(key) = difference(&saved.config, options) {
        return Err(format!("this drive was made with another `{key}`"));
    }
    saved.config.timing.clone_from(&options.timing);
    let state = part(number(20))?;
    let state: DeviceState = postcard::from_bytes(&state).map_err(|e| format!("damaged: {e}"))?;
    let device = Device::restore(&saved.config, Pending::default(), state, |map| {
        for piece in map.chunks_mut(PIECE) {
            piece.copy_from_slice(&part(piece.len() as u64)?);
        }
        Ok(())
    });
    Ok((saved, device.map_err(|e| e.to_string())?))
}

/// Returns the first key that differs. FDP and namespaces may have changed since the drive was made, and times
/// change no byte.
fn difference(saved: &DeviceConfig, given: &DeviceConfig) -> Option<String> {
    let comparable = |config: &DeviceConfig| {
        let config =
            DeviceConfig { fdp: true, namespaces: Vec::new(), timing: None, ..config.clone() };
        serde_json::to_value(config).unwrap_or_default()
    };
    let (saved, given) = (comparable(saved), comparable(given));
    let keys = saved.as_object().into_iter().chain(given.as_object()).flat_map(|o| o.keys());
    keys.into_iter().find(|key| saved.get(*key) != given.get(*key)).cloned()
}
