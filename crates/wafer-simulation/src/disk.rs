//! The disk of the simulated server, which injects failures, kills the machine, and measures work.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use tokio::sync::Notify;
use wafer_faults::{FaultyStorage, Operation, Verdict};
use wafer_nvme::crc32c;

/// Path of the data file. State and journal are next to it.
pub const DATA: &str = "drive";

/// Failure rates of operations while faults are on, in 1/65536.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Reads of data.
    pub read: u16,
    /// Writes to any file: an I/O error or a full disk. Half of them are torn.
    pub write: u16,
    /// Syncs and renames.
    pub sync: u16,
}

/// A fingerprint of all events, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// Adds bytes.
    pub fn add(&mut self, tag: u64, bytes: &[u8]) {
        let sum = u64::from(crc32c(bytes)) << 32 | bytes.len() as u64;
        self.0 = (self.0.rotate_left(17) ^ sum ^ tag).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Work of another thread that runs in the middle of a disk operation.
type Interleaved = Box<dyn FnOnce() + Send>;

struct State {
    random: Xoshiro256PlusPlus,
    rates: Rates,
    on: bool,
    dead: bool,
    /// Operations until the machine dies.
    kill_in: Option<u64>,
    operations: u64,
    injected: u64,
    /// Bytes moved since another task of the server last ran.
    unbroken: u64,
    faults: u64,
    longest: u64,
    interleave: Option<(u64, Interleaved)>,
    fingerprint: Fingerprint,
}

/// The disk. Clones share it.
#[derive(Clone)]
pub struct Disk {
    /// Its files.
    pub storage: FaultyStorage,
    state: Arc<Mutex<State>>,
    worked: Arc<Notify>,
    died: Arc<Notify>,
}

impl Disk {
    /// Creates an empty disk.
    pub fn new(seed: u64, rates: Rates) -> Self {
        let state = State {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            rates,
            on: false,
            dead: false,
            kill_in: None,
            operations: 0,
            injected: 0,
            unbroken: 0,
            faults: 0,
            longest: 0,
            interleave: None,
            fingerprint: Fingerprint::default(),
        };
        let disk = Disk {
            storage: FaultyStorage::default(),
            state: Arc::new(Mutex::new(state)),
            worked: Arc::default(),
            died: Arc::default(),
        };
        let (state, worked) = (Arc::clone(&disk.state), Arc::clone(&disk.worked));
        let died = Arc::clone(&disk.died);
        disk.storage.set_judge(Arc::new(move |path, operation| {
            let mut locked = lock(&state);
            let was_dead = locked.dead;
            let verdict = locked.judge(path, operation);
            if locked.dead && !was_dead {
                died.notify_waiters();
            }
            if locked.unbroken > 0 {
                worked.notify_one();
            }
            // Not in a write, during which the drive may hold exclusive access to its data file.
            let due = matches!(operation, Operation::Read(..))
                && path == Path::new(DATA)
                && locked.interleaving_is_due();
            let interleaved = if due { locked.interleave.take() } else { None };
            // The work itself uses the disk.
            drop(locked);
            if let Some((_, run)) = interleaved {
                run();
            }
            verdict
        }));
        disk
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Turns faults on or off.
    pub fn set_faults(&self, on: bool) {
        self.state().on = on;
    }

    /// Schedules the death of the machine after this many operations.
    pub fn kill_in(&self, operations: u64) {
        self.state().kill_in = Some(operations);
    }

    /// Kills the machine.
    pub fn die(&self) {
        self.state().dead = true;
        self.died.notify_waiters();
    }

    /// Waits until the machine dies. Tasks wake up in the order in which they began to wait.
    pub async fn death(self) {
        let died = self.died.notified();
        tokio::pin!(died);
        died.as_mut().enable();
        if !self.is_dead() {
            died.await;
        }
    }

    /// Returns whether the machine has died.
    pub fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// Restarts the machine.
    pub fn revive(&self) {
        let mut state = self.state();
        (state.dead, state.kill_in, state.interleave, state.unbroken) = (false, None, None, 0);
    }

    /// Returns the number of failed operations so far.
    pub fn injected(&self) -> u64 {
        self.state().injected
    }

    /// Returns the number of failed operations so far, except those of a dead machine.
    pub fn faults(&self) -> u64 {
        self.state().faults
    }

    /// Runs `work` in the middle of a read of data, after this many others, as another thread would.
    pub fn interleave(&self, operations: u64, work: impl FnOnce() + Send + 'static) {
        self.state().interleave = Some((operations, Box::new(work)));
    }

    /// Records that another task of the server runs, whenever the disk has worked. Never returns.
    pub async fn watch(self) {
        loop {
            self.worked.notified().await;
            self.state().unbroken = 0;
        }
    }

    /// Does work that makes no host wait, because none is connected or a server has a thread for it.
    pub fn apart<T>(&self, work: impl FnOnce() -> T) -> T {
        let (unbroken, longest) = {
            let state = self.state();
            (state.unbroken, state.longest)
        };
        let done = work();
        let mut state = self.state();
        (state.unbroken, state.longest) = (unbroken, longest);
        done
    }

    /// Returns the most bytes that the server moved without yielding to another task.
    pub fn longest_work(&self) -> u64 {
        self.state().longest
    }

    /// Adds an event outside the disk to the fingerprint.
    pub fn witness(&self, tag: u64, bytes: &[u8]) {
        self.state().fingerprint.add(tag, bytes);
    }

    /// Returns the fingerprint of all events so far.
    pub fn fingerprint(&self) -> Fingerprint {
        self.state().fingerprint
    }

    /// Loses power: each sector that is not durable is kept or lost at random.
    pub fn lose_power(&self) {
        let share = u32::from(self.state().random.next_u32() as u8);
        let state = Arc::clone(&self.state);
        self.storage.lose_power(|_, _| lock(&state).random.next_u32() >> 24 < share);
    }

    /// Returns the state and the journal.
    pub fn files(&self) -> [(PathBuf, Option<Vec<u8>>); 2] {
        [".state", ".journal"].map(|extension| {
            let path = PathBuf::from(format!("{DATA}{extension}"));
            let contents = self.storage.contents(&path);
            (path, contents)
        })
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn chance(&mut self, rate: u16) -> bool {
        self.on && rate > 0 && (self.random.next_u32() >> 16) < u32::from(rate)
    }

    fn judge(&mut self, path: &Path, operation: Operation<'_>) -> Verdict {
        if self.dead {
            return Verdict::Torn(0, io::Error::other("simulated: the machine is dead"));
        }
        self.operations += 1;
        let name = path.as_os_str().as_encoded_bytes();
        let rates = self.rates;
        let (tag, bytes, moved, rate): (u64, &[u8], u64, u16) = match operation {
            Operation::Open => (1, name, 0, 0),
            Operation::Create => (2, name, 0, rates.write),
            Operation::Rename(_) => (3, name, 0, rates.sync),
            Operation::SetLen(length) => (4 + (length << 8), name, 0, 0),
            Operation::Read(at, bytes) => (5 + (at << 8), name, bytes as u64, rates.read),
            Operation::Write(at, data) => (6 + (at << 8), data, data.len() as u64, rates.write),
            Operation::PunchHole(at, length) => (7 + (at << 8), name, length / 16, rates.write),
            Operation::Sync => (8, name, 0, rates.sync),
            Operation::SyncName => (9, name, 0, rates.sync),
            Operation::Remove => (10, name, 0, 0),
            Operation::Allocate(at, length) => (11 + (at << 8), name, length / 16, rates.write),
            Operation::Mark => (12, name, 0, 0),
        };
        self.fingerprint.add(tag, bytes);
        self.unbroken += moved;
        self.longest = self.longest.max(self.unbroken);
        let kill = self.kill_in.as_mut().is_some_and(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        });
        if kill {
            (self.dead, self.kill_in) = (true, None);
        } else if !self.chance(rate) {
            return Verdict::Done;
        }
        self.injected += 1;
        self.faults += u64::from(!kill);
        let random = self.random.next_u32();
        let kind = if random & 1 == 0 { io::ErrorKind::Other } else { io::ErrorKind::StorageFull };
        let error = io::Error::new(kind, "simulated");
        match operation {
            Operation::Write(_, data) if random & 2 == 0 && !data.is_empty() => {
                // A kill or an error may leave part of it, in whole sectors, as file systems write them.
                Verdict::Torn((random >> 8) as usize % data.len() / 512 * 512, error)
            }
            _ if kill => Verdict::Torn(0, error),
            _ => Verdict::Fails(error),
        }
    }

    fn interleaving_is_due(&mut self) -> bool {
        self.interleave.as_mut().is_some_and(|(left, _)| {
            *left = left.saturating_sub(1);
            *left == 0
        })
    }
}
