//! Raises the limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files as far as possible without privileges, and returns it.
pub(crate) fn raise() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // If the new limit is refused, the old one remains.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(current).unwrap_or(usize::MAX)
}
