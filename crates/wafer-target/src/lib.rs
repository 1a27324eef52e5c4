//! x
pub mod backend;
pub mod controller;
pub mod drive;
pub mod transport;
