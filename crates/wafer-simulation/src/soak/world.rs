//! The state shared by hosts and operator.

use std::fmt::Display;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wafer_simulation::model::Model;

/// Number of hosts, not counting the operator.
pub(crate) const HOSTS: usize = 3;

/// The state shared by hosts and operator.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) address: SocketAddr,
    began: Instant,
    /// Whether hosts should stop.
    pub(crate) finishing: AtomicBool,
    /// Whether hosts should pause, so that nothing is connected.
    pub(crate) paused: AtomicBool,
    /// Current connections of hosts.
    pub(crate) connected: AtomicU64,
    /// Controller identifiers of the hosts; 0 means none.
    pub(crate) cntlids: [AtomicU16; HOSTS],
    pub(crate) commands: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) sessions: AtomicU64,
    /// Longest time from a command to its completion, microseconds.
    pub(crate) longest: AtomicU64,
    sockets: [Mutex<Option<TcpStream>>; HOSTS],
    model: Mutex<Model>,
    violation: Mutex<Option<String>>,
}

impl World {
    /// Creates the world of a drive at an address.
    pub(crate) fn new(seed: u64, address: SocketAddr) -> Self {
        World {
            seed,
            address,
            began: Instant::now(),
            finishing: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            connected: AtomicU64::new(0),
            cntlids: Default::default(),
            commands: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            sockets: Default::default(),
            model: Mutex::new(Model::new()),
            violation: Mutex::default(),
        }
    }

    /// Locks the reference model.
    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        lock(&self.model)
    }

    /// Prints an event.
    pub(crate) fn event(&self, event: impl Display) {
        eprintln!("{:>8.2} {event}", self.began.elapsed().as_secs_f64());
    }

    /// Records a violation. Only the first is kept, and it ends the soak.
    pub(crate) fn violation(&self, what: impl Display) {
        self.event(format_args!("violation: {what}"));
        lock(&self.violation).get_or_insert_with(|| what.to_string());
        self.finishing.store(true, Ordering::Relaxed);
    }

    /// Records an error as a violation.
    pub(crate) fn check(&self, result: Result<(), String>) {
        if let Err(what) = result {
            self.violation(what);
        }
    }

    /// Returns the violation, if any.
    pub(crate) fn violated(&self) -> Option<String> {
        lock(&self.violation).clone()
    }

    /// Returns whether hosts should stop.
    pub(crate) fn is_finishing(&self) -> bool {
        self.finishing.load(Ordering::Relaxed)
    }

    /// Returns whether a host should be connected.
    pub(crate) fn may_connect(&self) -> bool {
        !self.is_finishing() && !self.paused.load(Ordering::Relaxed)
    }

    /// Sets the socket for [`Self::drop_connection`].
    pub(crate) fn set_socket(&self, host: usize, socket: Option<TcpStream>) {
        *lock(&self.sockets[host]) = socket;
    }

    /// Ends the connection of a host, whatever it is doing.
    pub(crate) fn drop_connection(&self, host: usize) {
        if let Some(socket) = &*lock(&self.sockets[host]) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Records the duration of a command.
    pub(crate) fn took(&self, time: Duration) {
        self.longest.fetch_max(time.as_micros() as u64, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
