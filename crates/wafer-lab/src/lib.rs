//! wafer
