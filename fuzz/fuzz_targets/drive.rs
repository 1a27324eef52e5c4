//! As in `drive.rs` of the folder above.
#![no_main]

#[path = "../drive.rs"]
#[allow(dead_code)]
mod drive;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    drive::drive(input);
});
