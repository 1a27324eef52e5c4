//! The flash translation layer: the map, segments, reclaim units and the path of a write.

pub(crate) mod mapping;
pub(crate) mod merge;
pub(crate) mod open;
mod report;
pub(crate) mod segment;
pub(crate) mod write;
pub(crate) mod writers;
