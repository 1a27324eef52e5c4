//! Filled drives in memory, for several runs of one process that begin with the same one.

use std::collections::{HashMap, HashSet};
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use wafer_experiment::Experiment;
use wafer_experiment::memory::available_memory;

use crate::control::SteadyStates;
use crate::steady::{Reached, key};

/// Maximum bytes that are kept, and the divisor of the available memory that limits them; further drives are filled for
/// each run.
const MOST: u64 = 512 << 20;
const MOST_PART: u64 = 8;

/// Drives with their sequential and random precondition. Another store keeps steady-state drives.
#[derive(Default)]
pub struct FilledDrives<'a> {
    steady: Option<&'a dyn SteadyStates>,
    /// Keys worth keeping; `None` for all.
    shared: Option<HashSet<String>>,
    kept: Mutex<HashMap<String, Arc<[u8]>>>,
}

impl<'a> FilledDrives<'a> {
    /// Creates an empty store for the filled drives that several of these experiments share, next to a store of
    /// steady-state drives.
    pub fn shared<'e>(
        experiments: impl Iterator<Item = &'e Experiment>,
        steady: Option<&'a dyn SteadyStates>,
    ) -> Self {
        let mut seen = HashSet::new();
        let keys = experiments.filter_map(|experiment| key(experiment, Reached::Filled));
        let shared = keys.map(|key| key.to_string()).filter(|key| !seen.insert(key.clone()));
        FilledDrives { steady, shared: Some(shared.collect()), ..Self::default() }
    }

    /// Returns the other store, if the key is not that of a filled drive.
    fn other(&self, key: &Value) -> Option<&'a dyn SteadyStates> {
        self.steady.filter(|_| !Reached::Filled.is_of(key))
    }
}

impl SteadyStates for FilledDrives<'_> {
    fn find(&self, key: &Value) -> Option<Box<dyn Read>> {
        if let Some(other) = self.other(key) {
            return other.find(key);
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Box::new(Cursor::new(kept.get(&key.to_string())?.clone())))
    }

    fn keep(&self, key: &Value, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        if let Some(other) = self.other(key) {
            return other.keep(key, write);
        }
        let (name, mut state) = (key.to_string(), Vec::new());
        let is_wanted = self.shared.as_ref().is_none_or(|shared| shared.contains(&name));
        if !is_wanted || !Reached::Filled.is_of(key) || write(&mut state).is_err() {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = kept.values().map(|one| one.len()).sum::<usize>() + state.len();
        let most = available_memory().map_or(MOST, |bytes| MOST.min(bytes / MOST_PART));
        if bytes as u64 <= most {
            kept.insert(name, state.into());
        }
    }

    fn remove(&self, key: &Value) {
        if let Some(other) = self.other(key) {
            return other.remove(key);
        }
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(&key.to_string());
    }

    fn saves_filled(&self) -> bool {
        true
    }
}
