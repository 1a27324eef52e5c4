//! The limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files as far as the system allows without privileges, and returns it.
pub(crate) fn raise() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // The old limit holds if the new one is refused.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(current).unwrap_or(usize::MAX)
}
