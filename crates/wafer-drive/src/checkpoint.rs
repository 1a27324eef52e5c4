//! The checkpoint of a drive: one file, which is always replaced as a whole.
//!
//! It holds a header with magic, version and lengths, the drive as JSON, the device's state in postcard, and the
//! device's map in pieces. A CRC-32C follows each part.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;
use wafer_device::{Device, DeviceConfig, DeviceState};
use wafer_nvme::crc32c;

use super::events::EventLog;
use super::operations::{Sanitized, SelfTests};
use super::persistence::{self, Persistence};
use super::persistent_log::PersistentLog;
use super::{Drive, DriveOptions, Firmware, Inner, Life, Namespace, Pending};
use wafer_storage::Storage;

const MAGIC: [u8; 8] = *b"WAFERSTA";
const VERSION: u32 = 11;
/// Bytes of the map covered by one checksum.
const PIECE: usize = 1 << 20;

/// Settings that a drive was created with, in addition to its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Initial {
    lba_bytes: u32,
    events_enabled: bool,
}

impl Initial {
    pub(super) fn of(options: &DriveOptions) -> Self {
        Initial { lba_bytes: options.lba_bytes, events_enabled: options.events_enabled }
    }
}

/// A checkpoint without the state of the device and its map. `N` is a namespace, borrowed for writing.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved<N> {
    /// UUID of the drive.
    pub(super) drive: [u8; 16],
    pub(super) generation: u64,
    /// The journal that this checkpoint supersedes. Later journals may have begun only in part.
    pub(super) superseded: u64,
    /// Bytes of the data file.
    pub(super) data_bytes: u64,
    /// Whether the data file carries a mark.
    pub(super) marked: bool,
    /// The configuration that the drive was created with.
    pub(super) made: DeviceConfig,
    pub(super) config: DeviceConfig,
    pub(super) seed: u64,
    pub(super) initial: Initial,
    pub(super) life: Life,
    #[serde(default)]
    pub(super) preconditioning: bool,
    pub(super) hosts: Vec<String>,
    pub(super) events: EventLog,
    #[serde(default)]
    pub(super) sanitized: Sanitized,
    #[serde(default)]
    pub(super) self_tests: SelfTests,
    #[serde(default)]
    pub(super) firmware: Firmware,
    #[serde(default)]
    pub(super) features: BTreeMap<u8, Vec<u8>>,
    #[serde(default)]
    pub(super) persistent_log: PersistentLog,
    pub(super) namespaces: Vec<N>,
}

/// Returns the mark of the data file.
pub(super) fn mark(drive: [u8; 16], generation: u64) -> String {
    format!("{} {generation}", Uuid::from_bytes(drive))
}

/// Suffix of the mark once the journal of its generation has begun.
pub(super) const BEGUN: &str = " begun";

impl Drive {
    /// Writes a checkpoint and begins the journal of its generation. Returns the SMART values in it. Syncs the data
    /// first, because a checkpoint must not refer to data that a power loss could still destroy.
    pub(super) fn write_checkpoint(
        &self,
        inner: &Inner,
        files: &mut Persistence,
    ) -> io::Result<Life> {
        let generation = files.generation + 1;
        let data = self.backend.data_file();
        let mark = mark(files.uuid, generation);
        data.map_or(Ok(()), |data| data.empty_log())?;
        let marked = data.map_or(Ok(false), |data| data.set_mark(mark.as_bytes()))?;
        let namespaces = self.namespaces();
        let saved = Saved {
            drive: files.uuid,
            generation,
            superseded: files.begun,
            data_bytes: data.map_or(Ok(0), |data| data.file().len())?,
            marked,
            made: inner.made.clone(),
            config: inner.config.clone(),
            seed: inner.seed,
            initial: inner.initial,
            life: self.life(inner),
            preconditioning: inner.preconditioning,
            hosts: inner.hosts.clone(),
            events: inner.events.clone(),
            sanitized: inner.sanitized,
            self_tests: inner.self_tests.clone(),
            firmware: inner.firmware,
            features: inner.features.clone(),
            persistent_log: inner.persistent_log.clone(),
            namespaces: namespaces.iter().flatten().map(|n| &**n).collect(),
        };
        let [_, state, new, _] = persistence::files(&files.data);
        let storage = &*files.storage;
        if let Err(error) = write(storage, &new, &saved, &inner.device) {
            // A partial file may be what fills the medium.
            let _ = storage.remove(&new);
            return Err(error);
        }
        if let Err(error) = storage.rename(&new, &state) {
            if storage.exists(&new) {
                let _ = storage.remove(&new);
            } else {
                // The file is renamed, but perhaps not durably: either checkpoint may be found.
                files.generation = generation;
            }
            return Err(error);
        }
        files.generation = generation;
        files.journal.begin(generation)?;
        files.begun = generation;
        if marked && let Some(data) = data {
            // From now on, an older journal cannot belong to the drive.
            data.set_mark(format!("{mark}{BEGUN}").as_bytes())?;
        }
        Ok(saved.life)
    }
}

fn write(
    storage: &dyn Storage,
    path: &Path,
    saved: &Saved<&Namespace>,
    device: &Device<Pending>,
) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(PIECE, storage.create(path)?);
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
    storage.open(path)?.sync()
}

/// Reads a checkpoint of a drive that was created with this configuration.
pub(super) fn read(
    storage: &dyn Storage,
    path: &Path,
    options: &DriveOptions,
) -> Result<(Saved<Namespace>, Device<Pending>), String> {
    let file = storage.open(path).map_err(|e| e.to_string())?;
    let end = file.len().map_err(|e| e.to_string())?;
    let mut at = 0;
    // The file states the length of each part; a checksum follows each.
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
        return Err("written by another version of wafer; create the drive again".to_owned());
    }
    let json = part(number(12))?;
    let mut saved: Saved<Namespace> =
        serde_json::from_slice(&json).map_err(|e| format!("damaged: {e}"))?;
    if let Some(key) = difference(&saved.made, &options.device) {
        return Err(format!("this drive was made with another `{key}`"));
    }
    let (made, now) = (saved.initial, Initial::of(options));
    let given = options.given;
    for (given, same, what) in [
        (given.seed, saved.seed == options.seed, format!("seed {}", saved.seed)),
        (
            given.lba_bytes,
            made.lba_bytes == now.lba_bytes,
            format!("blocks of {} bytes", made.lba_bytes),
        ),
        (
            given.events_enabled,
            made.events_enabled == now.events_enabled,
            "other FDP events".to_owned(),
        ),
    ] {
        if given && !same {
            return Err(format!("this drive was made with {what}, which it keeps"));
        }
    }
    saved.made.timing.clone_from(&options.device.timing);
    saved.config.timing.clone_from(&options.device.timing);
    saved.made.endurance.clone_from(&options.device.endurance);
    saved.config.endurance.clone_from(&options.device.endurance);
    let state = part(number(20))?;
    let state: DeviceState = postcard::from_bytes(&state).map_err(|e| format!("damaged: {e}"))?;
    let device = Device::restore(&saved.config, Pending::default(), state, |map| {
        for piece in map.chunks_mut(PIECE) {
            piece.copy_from_slice(&part(piece.len() as u64)?);
        }
        Ok(())
    });
    let device = device.map_err(|e| e.to_string())?;
    if !saved.events.is_of(device.geometry().handles) {
        return Err("damaged: events of another device".to_owned());
    }
    Ok((saved, device))
}

/// Returns the first key that differs from the configuration at creation. Times and endurance may differ.
fn difference(made: &DeviceConfig, given: &DeviceConfig) -> Option<String> {
    let value = |config: &DeviceConfig| serde_json::to_value(config.of_bytes()).unwrap_or_default();
    different_key(&value(made), &value(given))
}

/// Returns the first dotted key whose values differ, or `None` if either value is not an object.
fn different_key(made: &Value, given: &Value) -> Option<String> {
    let (made, given) = (made.as_object()?, given.as_object()?);
    let key = made.keys().chain(given.keys()).find(|key| made.get(*key) != given.get(*key))?;
    let both = made.get(key).zip(given.get(key));
    let below = both.and_then(|(made, given)| different_key(made, given));
    Some(below.map_or(key.clone(), |below| format!("{key}.{below}")))
}
