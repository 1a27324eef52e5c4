//! Garbage collection: when it runs, which reclaim unit it collects, and where valid pages go.

pub(crate) mod collect;
