//! What a server below swap needs: it must never wait for memory that only it can free.

use std::io;

/// `include/uapi/linux/prctl.h`.
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// Keeps all pages of this process in memory, and marks the calling thread and those that it starts
/// as part of the way to storage, so that the kernel does not write to that storage to find memory
/// for them.
///
/// # Errors
/// When the limit on locked memory is too low, or the process may not do it (it needs
/// CAP_IPC_LOCK and CAP_SYS_RESOURCE).
pub(crate) fn lock() -> io::Result<()> {
    // SAFETY: takes flags only, and changes no memory of ours.
    let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    if locked != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: prctl with an option that takes one number; the others must be 0.
    let marked = unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) };
    if marked != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
