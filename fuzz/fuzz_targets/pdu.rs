//! Runs `crates/wafer-target/src/fuzzing/pdu.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    wafer_target::fuzzing::pdu(input);
});
