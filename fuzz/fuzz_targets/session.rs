//! Sessions of several connections, as in `crates/wafer-target/tests/fuzz.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    wafer_target::fuzzing::run(input);
});
