//! Memory of a server below swap, which must never wait for memory that only the server can free.

use std::io;

/// From `include/uapi/linux/prctl.h`.
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// Locks all pages of this process in memory. Also marks it as part of the storage path, so that the kernel
/// does not write to that storage to free memory for it. Marking needs CAP_SYS_RESOURCE; returns whether it
/// succeeded.
///
/// # Errors
/// If the limit on locked memory is too low, or the process lacks CAP_IPC_LOCK.
pub(crate) fn lock() -> io::Result<bool> {
    // SAFETY: takes only flags, and changes none of our memory.
    let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    if locked != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: prctl with an option that takes one number; the others must be 0.
    let marked = unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) };
    Ok(marked == 0)
}
