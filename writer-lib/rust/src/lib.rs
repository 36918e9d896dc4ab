//! Labels what each thread of a program works on. A profiler outside of the process, such as
//! labelscope, reads them at any moment and divides the time by them (Custom Labels ABI v1).
//!
//! ```
//! fn serve(tenant: &str) {
//!     let _labels = customlabels::Scope::enter([("tenant", tenant), ("http.route", "/pay")]);
//!     // ... is profiled under both, until _labels is dropped
//! }
//! # serve("acme");
//! ```
//!
//! Labels belong to a thread of the operating system. [`inherit`] takes them to another one, and
//! [`Labels::follow`] takes them along with a future, wherever it is polled. A thread has at most
//! eight labels; keys have up to 128 bytes and values up to 256, and longer ones are cut at the end
//! of a character. Labels never stop the program: where they cannot be set, it runs without them,
//! and [`Scope::result`] has the reason.

mod abi;
mod labels;

pub use labels::{inherit, Followed, Labels};

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::raw::c_int;

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The labels are published.
    Set,
    /// The same; the key was there before.
    Replaced,
    /// The labels that were there are gone.
    Removed,
    /// There was nothing to remove.
    Absent,
    /// The labels are published, but a key or a value was cut to its limit.
    Truncated,
}

/// Why a call has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The thread would have more than eight labels.
    Full,
    /// There is no memory for the labels of this thread.
    NoMemory,
    /// A key is empty.
    Invalid,
    /// The key is `span-id` or `root-span-id`, which belong to the trace context.
    Reserved,
    /// The caller is a signal handler that has interrupted another call.
    Busy,
    /// The library gave a result that this crate does not know.
    Unknown(i32),
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Full => write!(to, "a thread has at most eight labels"),
            Error::NoMemory => write!(to, "no memory for the labels of this thread"),
            Error::Invalid => write!(to, "the key of a label is empty"),
            Error::Reserved => write!(to, "span-id and root-span-id belong to the trace context"),
            Error::Busy => write!(to, "a signal handler has interrupted another change of labels"),
            Error::Unknown(result) => write!(to, "libcustomlabels gave the result {result}"),
        }
    }
}

impl std::error::Error for Error {}

fn outcome(result: c_int) -> Result<Change, Error> {
    match result {
        0 => Ok(Change::Set),
        1 => Ok(Change::Replaced),
        2 => Ok(Change::Removed),
        3 => Ok(Change::Absent),
        4 => Ok(Change::Truncated),
        -1 => Err(Error::Full),
        -2 => Err(Error::NoMemory),
        -3 => Err(Error::Invalid),
        -4 => Err(Error::Reserved),
        -5 => Err(Error::Busy),
        other => Err(Error::Unknown(other)),
    }
}

/// Sets one label of this thread, until it is set again or removed.
pub fn set(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Change, Error> {
    let (key, value) = (key.as_ref(), value.as_ref());
    // SAFETY: the library copies both.
    outcome(unsafe { abi::custom_labels_thread_set(key.as_ptr().cast(), key.len(), value.as_ptr().cast(), value.len()) })
}

/// Removes one label of this thread.
pub fn remove(key: impl AsRef<[u8]>) -> Result<Change, Error> {
    let key = key.as_ref();
    // SAFETY: the library reads the key and keeps nothing.
    outcome(unsafe { abi::custom_labels_thread_remove(key.as_ptr().cast(), key.len()) })
}

/// Removes all labels of this thread, but not its trace context.
pub fn clear() -> Result<Change, Error> {
    // SAFETY: any thread may call it at any time.
    outcome(unsafe { abi::custom_labels_thread_clear() })
}

/// Allocates this thread's memory now, so that no later call does.
pub fn prepare() -> Result<Change, Error> {
    // SAFETY: any thread may call it at any time.
    outcome(unsafe { abi::custom_labels_thread_prepare() })
}

/// Labels this thread until it is dropped; then exactly the labels from before are back, also when
/// a panic unwinds. It stays on its thread.
///
/// Scopes should be dropped in reverse order. If one is forgotten or dropped late, labels are wrong,
/// and nothing worse: the library has copies of all that it publishes.
#[must_use = "a scope that is dropped at once labels nothing; bind it to a name such as _labels"]
pub struct Scope {
    // It has 3.5 KiB. Without the box, each move of a scope would copy them, which takes longer than
    // to allocate them.
    saved: Box<MaybeUninit<abi::Saved>>,
    result: c_int,
    stays_on_its_thread: PhantomData<*const ()>,
}

impl Scope {
    /// Adds labels to those of this thread: all or none, in one step for every reader.
    #[inline]
    pub fn enter<K: AsRef<[u8]>, V: AsRef<[u8]>, const N: usize>(labels: [(K, V); N]) -> Scope {
        let mut raw = [abi::Label { key: abi::Text::new(&[]), value: abi::Text::new(&[]) }; N];
        for (label, (key, value)) in raw.iter_mut().zip(&labels) {
            *label = abi::Label { key: abi::Text::new(key.as_ref()), value: abi::Text::new(value.as_ref()) };
        }
        Scope::enter_raw(&raw)
    }

    #[inline]
    fn enter_raw(labels: &[abi::Label]) -> Scope {
        let mut saved = Box::new(MaybeUninit::uninit());
        // SAFETY: the library copies the labels, and writes no more than its struct to `saved`.
        let result = unsafe { abi::custom_labels_thread_enter(saved.as_mut_ptr(), labels.as_ptr(), labels.len()) };
        Scope { saved, result, stays_on_its_thread: PhantomData }
    }

    /// The result of entering. After an error the scope has the labels from before.
    pub fn result(&self) -> Result<Change, Error> {
        outcome(self.result)
    }
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: leave is right after every enter, a failed one included.
        unsafe { abi::custom_labels_thread_leave(self.saved.as_ptr()) };
    }
}
