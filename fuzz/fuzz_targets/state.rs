//! As in `state.rs` of the folder above.
#![no_main]

#[path = "../state.rs"]
#[allow(dead_code)]
mod state;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    state::state(input);
});
