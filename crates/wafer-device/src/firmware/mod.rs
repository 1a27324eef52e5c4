//! What a drive does in addition to garbage collection: caches in front of the reclaim units (`cached.rs`), media
//! maintenance (`maintenance.rs`), and a map that is not entirely in memory (`translated.rs`).

pub(crate) mod cached;
pub(crate) mod maintenance;
pub(crate) mod translated;
