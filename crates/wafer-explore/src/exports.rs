//! The functions that the module exports, and its memory. JavaScript calls them from one thread.
//!
//! `wafer_alloc(length)` allocates a request, `wafer_call(request, length)` handles it and frees it, and
//! `wafer_answer_length()` returns the length of the answer, which stays valid until the next call.

use std::cell::RefCell;

use crate::Session;

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[link(wasm_import_module = "wafer")]
unsafe extern "C" {
    /// Tells the page why the module is about to stop.
    fn panicked(text: *const u8, length: usize);
}

/// Allocates a request of `length` bytes.
#[unsafe(no_mangle)]
extern "C" fn wafer_alloc(length: usize) -> *mut u8 {
    let room = vec![0u8; length].into_boxed_slice();
    Box::into_raw(room).cast()
}

/// Handles a request allocated by [`wafer_alloc`], and frees it. Returns the address of the answer.
///
/// # Safety
/// `request` comes from [`wafer_alloc`] with the same `length`, and is not used again.
#[unsafe(no_mangle)]
unsafe extern "C" fn wafer_call(request: *mut u8, length: usize) -> *const u8 {
    // SAFETY: required of the caller.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(request, length)) };
    let answer = SESSION.with_borrow_mut(|session| session.answer(&request));
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer;
        kept.as_ptr()
    })
}

/// Returns the length of the last answer in bytes.
#[unsafe(no_mangle)]
extern "C" fn wafer_answer_length() -> usize {
    ANSWER.with_borrow(Vec::len)
}

/// Sets up panics to be reported to the page; call it once.
#[unsafe(no_mangle)]
extern "C" fn wafer_start() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        // SAFETY: the page reads the text before it returns.
        unsafe { panicked(text.as_ptr(), text.len()) }
    }));
}
