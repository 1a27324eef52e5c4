//! The device model as files: what is written to them is written to the simulated drive.
//!
//! # What it is
//! [`mount`] makes a folder with one file for each namespace, `nvme0n1`, `nvme0n2` and so on, as large as
//! the namespace. Loop devices, file systems, swap, QEMU and any other hypervisor use them as disks. A
//! file `counters.json` is the record of the drive so far.
//!
//! # Architecture
//! - `engine.rs`: bytes at offsets as commands of a [`Drive`](wafer_drive::Drive), the same that
//!   `wafer serve` serves: the device counts, a backend keeps the data, a capture records;
//! - `files.rs`: the file system (FUSE) over the engine;
//! - `mount.rs`: mounting, unmounting, and what a server below swap needs (`memory.rs`);
//! - `place.rs`: which of the mounts on a folder is the drive's.
//!
//! write is a write, read a read, `fallocate` with punch hole or zero range a deallocate, `fsync` a flush.
//! Files are opened for direct input and output: requests arrive as programs make them, and no page
//! cache lies between. A loop device needs it too: `losetup --direct-io=on`.
//!
//! # Invariants
//! Counters are those of the commands in the capture, in its order: a replay on the same device gives
//! the same ones. What was written is read back until it is deallocated; then it reads as zeroes.
//!
//! # Error model
//! [`MountError`], one line. A request that reaches behind the end of a namespace is cut short, and a write that begins
//! there fails with ENOSPC, as on a block device; a medium's error is passed on.
//!
//! # What it does not implement
//! Placement identifiers: files have no way to name them, so each namespace writes to its first handle.
//! Without [`MountOptions::time`], time: requests take as long as the machine needs.

mod engine;
mod files;
mod memory;
mod mount;
mod place;

pub use engine::Engine;
pub use mount::{MountError, MountOptions, Mounted, mount};
