//! Limits that controllers report to hosts and enforce.

/// Maximum number of I/O queues of a controller.
pub const MAX_IO_QUEUES: u16 = 64;
/// Maximum number of entries of a queue, zero-based: CAP.MQES.
pub const MQES_Z: u16 = 1023;
/// Maximum data of one command, bytes: 2^[`MDTS`] pages of 4 KiB.
pub const MAX_TRANSFER: u64 = 1 << 20;
/// Maximum Data Transfer Size in Identify Controller.
pub(crate) const MDTS: u8 = 8;
/// In-capsule data of I/O queues, bytes.
pub const IO_CAPSULE_DATA: u32 = 16 << 10;
/// In-capsule data of the admin queue, bytes (TCP transport, 3.3.2).
pub const ADMIN_CAPSULE_DATA: u32 = 8 << 10;
/// Maximum number of outstanding asynchronous event requests.
pub(crate) const MAX_ASYNC_EVENTS: usize = 4;
/// Entries of the error log.
pub(crate) const ERROR_ENTRIES: usize = 64;
/// Highest NSID.
pub(crate) const LAST_NSID: u32 = 255;
/// Highest controller ID that hosts may use.
pub(crate) const LAST_CNTLID: u16 = 0xffef;
/// Maximum length of a copy, and of each of its source ranges, in logical blocks.
pub(crate) const COPY_BLOCKS: u32 = 2048;
/// Maximum number of source ranges of a copy, zero-based.
pub(crate) const COPY_RANGES_Z: u8 = 127;
/// LBA formats: data size as a power of two.
pub(crate) const LBA_FORMATS: [u8; 2] = [9, 12];
/// Version of the specification, NVMe 2.1.
pub(crate) const VERSION: u32 = 0x0002_0100;
