//! The laws that any model of a drive in time must keep.

mod laws;
