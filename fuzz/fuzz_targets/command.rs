//! Runs `crates/wafer-target/src/fuzzing/command.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    wafer_target::fuzzing::command(input);
});
