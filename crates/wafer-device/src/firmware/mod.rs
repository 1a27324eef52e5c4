//! What a drive does beside garbage collection: caches in front of the reclaim units (`cached.rs`), the care of the
//! media (`maintenance.rs`), and a map that is not all in memory (`translated.rs`).

pub(crate) mod cached;
pub(crate) mod maintenance;
pub(crate) mod translated;
