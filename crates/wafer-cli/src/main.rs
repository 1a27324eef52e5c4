//! wafer
fn main() {}
