//! Runs `record` of `readers.rs`.
#![no_main]

#[path = "../readers.rs"]
#[allow(dead_code)]
mod readers;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    readers::record(input);
});
