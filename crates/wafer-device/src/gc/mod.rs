//! Garbage collection: when it runs, which reclaim unit it takes, and where valid pages go.

pub(crate) mod collect;
