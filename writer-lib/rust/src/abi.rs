//! The C functions that this crate calls (customlabels/writer.h, customlabels/customlabels.h).

use std::os::raw::{c_int, c_void};

/// Is `custom_labels_string_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub len: usize,
    pub buf: *const u8,
}

impl Text {
    pub fn new(bytes: &[u8]) -> Text {
        Text { len: bytes.len(), buf: bytes.as_ptr() }
    }
}

/// Is `custom_labels_label_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Label {
    pub key: Text,
    pub value: Text,
}

/// Is `custom_labels_saved_t`.
#[repr(C)]
pub struct Saved {
    pointers: [*const c_void; 4],
    numbers: [u64; 2],
    image: [u64; 3480 / 8],
}

extern "C" {
    pub fn custom_labels_thread_prepare() -> c_int;
    pub fn custom_labels_thread_set(key: *const c_void, key_len: usize, value: *const c_void, value_len: usize) -> c_int;
    pub fn custom_labels_thread_remove(key: *const c_void, key_len: usize) -> c_int;
    pub fn custom_labels_thread_clear() -> c_int;
    pub fn custom_labels_thread_enter(saved: *mut Saved, labels: *const Label, n: usize) -> c_int;
    pub fn custom_labels_thread_leave(saved: *const Saved) -> c_int;
    pub fn custom_labels_current() -> *mut c_void;
    pub fn custom_labels_clone(set: *const c_void) -> *mut c_void;
    pub fn custom_labels_free(set: *mut c_void);
    pub fn custom_labels_count(set: *mut c_void) -> usize;
    pub fn custom_labels_at(set: *const c_void, index: usize) -> *const Label;
}
