//! wafer

pub mod theory;
