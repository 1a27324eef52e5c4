//! The device model as files: data written to them is written to the simulated drive.
//!
//! # What it is
//! [`mount`] creates a folder with one file for each namespace, `nvme0n1`, `nvme0n2` and so on, as large
//! as the namespace. Loop devices, file systems, swap, QEMU and any other hypervisor can use them as
//! disks. A file `counters.json` is the record of the drive so far.
//!
//! # Architecture
//! - `engine.rs`: maps bytes at offsets to commands of a [`Drive`](wafer_drive::Drive), as served
//!   by `wafer serve`: the device counts, a backend keeps the data, a capture records;
//! - `files.rs`: the file system (FUSE) over the engine;
//! - `mount.rs`: mounting, unmounting, and the requirements of a server below swap (`memory.rs`);
//! - `place.rs`: identifies the drive among the mounts on a folder.
//!
//! A write is a write, a read a read, `fallocate` with punch hole or zero range a deallocate, `fsync` a
//! flush. Files are opened for direct I/O: requests arrive as programs issue them, without a page cache in
//! between. A loop device needs direct I/O too: `losetup --direct-io=on`.
//!
//! # Invariants
//! The counters are those of the commands in the capture, in its order: a replay on the same device
//! gives the same. Written data is read back until it is deallocated; then it reads as zeroes.
//!
//! # Error model
//! [`MountError`], one line. A request that extends beyond the end of a namespace is cut short, and a write that begins
//! there fails with ENOSPC, as on a block device; errors of the medium are passed on.
//!
//! # What it does not implement
//! Placement identifiers: files cannot express them, so each namespace writes to its first handle.
//! Time, without [`MountOptions::time`]: requests then take as long as the machine needs.

mod engine;
mod files;
mod memory;
mod mount;
mod place;

pub use engine::Engine;
pub use mount::{MountError, MountOptions, Mounted, mount};
