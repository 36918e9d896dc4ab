//! Labels that are kept: for other threads, and for futures.

use crate::{abi, Scope};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::slice;
use std::task::{Context, Poll};

/// Labels that belong to no thread. Any number of threads may use them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Labels {
    /// These labels; the last of two equal keys counts.
    pub fn new<K: AsRef<[u8]>, V: AsRef<[u8]>>(labels: impl IntoIterator<Item = (K, V)>) -> Labels {
        Labels { pairs: labels.into_iter().map(|(key, value)| (key.as_ref().to_vec(), value.as_ref().to_vec())).collect() }
    }

    /// The labels of this thread, without its trace context.
    pub fn current() -> Labels {
        // SAFETY: a text of a label that is present is there, and nothing changes the copy.
        let bytes = |text: &abi::Text| unsafe { slice::from_raw_parts(text.buf, text.len) }.to_vec();
        // A signal handler may change the thread's labels at any time, but not while the library makes a copy.
        // SAFETY: the calls accept any set that is current, and none.
        let set = unsafe { abi::custom_labels_clone(abi::custom_labels_current()) };
        let labels = (0..unsafe { abi::custom_labels_count(set) }).filter_map(|i| unsafe { abi::custom_labels_at(set, i).as_ref() });
        let pairs = labels
            .filter(|label| !label.key.buf.is_null() && !label.value.buf.is_null())
            .map(|label| (bytes(&label.key), bytes(&label.value)))
            .filter(|(key, _)| key != b"span-id" && key != b"root-span-id");
        let labels = Labels { pairs: pairs.collect() };
        // SAFETY: it is the copy, or none, and nothing refers to it any more.
        unsafe { abi::custom_labels_free(set) };
        labels
    }

    /// The keys and values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.pairs.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// Adds the labels to those of this thread, until the scope is dropped.
    pub fn enter(&self) -> Scope {
        let label = |(key, value): (&[u8], &[u8])| abi::Label { key: abi::Text::new(key), value: abi::Text::new(value) };
        let mut raw = [label((&[], &[])); 8];
        if self.pairs.len() <= raw.len() {
            self.iter().zip(&mut raw).for_each(|(pair, raw)| *raw = label(pair));
            return Scope::enter_raw(&raw[..self.pairs.len()]);
        }
        Scope::enter_raw(&self.iter().map(label).collect::<Vec<_>>())
    }

    /// Labels each poll of the future and its drop, on whatever thread an executor makes them. Between
    /// them the thread has its own labels, so futures that take turns do not mix theirs. (A [`Scope`]
    /// must not be held across an await: it would not come along, and the compiler refuses it in
    /// futures that must be `Send`.)
    pub fn follow<F: Future>(self, future: F) -> Followed<F> {
        Followed { labels: self, future: ManuallyDrop::new(future) }
    }
}

/// A future that runs under labels; see [`Labels::follow`].
#[must_use = "futures do nothing unless they are polled"]
#[derive(Debug)]
pub struct Followed<F> {
    labels: Labels,
    future: ManuallyDrop<F>,
}

impl<F: Future> Future for Followed<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _labels = self.labels.enter();
        // SAFETY: the future stays where it is, and nothing else gets a reference to it.
        unsafe { self.map_unchecked_mut(|followed| &mut *followed.future) }.poll(context)
    }
}

impl<F> Drop for Followed<F> {
    fn drop(&mut self) {
        let _labels = self.labels.enter();
        // SAFETY: it is dropped once, where it is.
        unsafe { ManuallyDrop::drop(&mut self.future) }
    }
}

/// Wraps a function. Wherever it is called later, it runs under the labels that the caller of
/// `inherit` has now, on top of those of its thread: `std::thread::spawn(inherit(work))`.
pub fn inherit<R>(function: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let labels = Labels::current();
    move || {
        let _labels = labels.enter();
        function()
    }
}
