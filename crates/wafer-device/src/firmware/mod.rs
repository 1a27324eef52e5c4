//! What a drive does beside garbage collection: caches in front of the reclaim units (`cached.rs`), and the care of the
//! media (`maintenance.rs`).

pub(crate) mod cached;
pub(crate) mod maintenance;
