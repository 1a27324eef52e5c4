//! A request of a trace, in the form common to all readers.

use std::collections::HashMap;

use wafer_interface::{Op, Placement};

/// No process name is known.
pub const NO_PROCESS: u32 = u32::MAX;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Time in nanoseconds since an arbitrary origin; only differences are meaningful.
    pub time_ns: u64,
    /// First byte in its volume.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub bytes: u64,
    /// The volume (disk, device, namespace): an index into [`Names::volumes`].
    pub volume: u32,
    /// The process: an index into [`Names::processes`], or [`NO_PROCESS`].
    pub process: u32,
    /// The placement identifier that the trace carries, or [`Placement::NONE`].
    pub placement: Placement,
    /// The operation; a flush and a reclaim unit update have no address.
    pub op: Op,
}

impl Request {
    /// Returns a request of the only volume, with an unknown process and without placement.
    pub fn new(op: Op, time_ns: u64, offset: u64, bytes: u64) -> Self {
        Request {
            time_ns,
            offset,
            bytes,
            volume: 0,
            process: NO_PROCESS,
            placement: Placement::NONE,
            op,
        }
    }

    /// Returns the byte after the last one.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// Names seen in a trace, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Names {
    volumes: Table,
    processes: Table,
}

/// Maximum number of names; later ones count as the last: a damaged trace must not fill the memory.
const MOST_NAMES: usize = 1 << 20;
/// Maximum bytes of all names.
const MOST_NAME_BYTES: usize = 64 << 20;

impl Names {
    /// Returns the index of a volume.
    #[inline]
    pub fn volume(&mut self, name: &[u8]) -> u32 {
        self.volumes.index(name)
    }

    /// Returns the index of a process.
    #[inline]
    pub fn process(&mut self, name: &[u8]) -> u32 {
        self.processes.index(name)
    }

    /// Returns the volumes by index. Empty if the format has only one, which then has index 0.
    pub fn volumes(&self) -> &[String] {
        &self.volumes.names
    }

    /// Returns the processes by index.
    pub fn processes(&self) -> &[String] {
        &self.processes.names
    }
}

#[derive(Clone, Debug, Default)]
struct Table {
    names: Vec<String>,
    indices: HashMap<Vec<u8>, u32>,
    /// Bytes of all names.
    bytes: usize,
    /// The latest name looked up: most requests repeat it.
    last: (Vec<u8>, u32),
}

impl Table {
    #[inline]
    fn index(&mut self, name: &[u8]) -> u32 {
        if !self.names.is_empty() && self.last.0 == name {
            return self.last.1;
        }
        self.look_up(name)
    }

    fn look_up(&mut self, name: &[u8]) -> u32 {
        let index = match self.indices.get(name) {
            Some(index) => *index,
            None if self.names.len() >= MOST_NAMES || self.bytes >= MOST_NAME_BYTES => {
                self.names.len() as u32 - 1
            }
            None => {
                self.bytes += name.len();
                let index = self.names.len() as u32;
                self.names.push(String::from_utf8_lossy(name).into_owned());
                self.indices.insert(name.to_vec(), index);
                index
            }
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(name);
        self.last.1 = index;
        index
    }
}
