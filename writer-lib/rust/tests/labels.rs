//! What the calling thread publishes, by the library's own account. (tests/consumer/rust.sh reads
//! labels from outside.)

use customlabels::{inherit, Change, Error, Labels, Scope};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};

fn now() -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut all: Vec<_> = Labels::current().iter().map(|(key, value)| (text(key), text(value))).collect();
    all.sort();
    all
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

#[test]
fn labels_are_there_within_a_scope_and_gone_after_it() {
    {
        let labels = Scope::enter([("route", "/pay"), ("tenant", "acme")]);
        assert_eq!(labels.result(), Ok(Change::Set));
        assert_eq!(now(), pairs(&[("route", "/pay"), ("tenant", "acme")]));
        let _inner = Scope::enter([("tenant", format!("{}", 42))]);
        assert_eq!(now(), pairs(&[("route", "/pay"), ("tenant", "42")]));
    }
    assert_eq!(now(), pairs(&[]));
}

#[test]
fn a_scope_that_is_moved_brings_back_its_own_labels() {
    customlabels::set("a", "1").unwrap();
    let labels = Box::new(Scope::enter([("b", "2")]));
    customlabels::set("a", "3").unwrap();
    let moved = *labels;
    assert_eq!(now(), pairs(&[("a", "3"), ("b", "2")]));
    drop(moved);
    assert_eq!(now(), pairs(&[("a", "1")]));
    assert_eq!(customlabels::clear(), Ok(Change::Removed));
}

#[test]
fn a_panic_restores_the_labels() {
    let panicked = std::panic::catch_unwind(|| {
        let _labels = Scope::enter([("tenant", "acme")]);
        std::panic::resume_unwind(Box::new("the request failed"));
    });
    assert!(panicked.is_err());
    assert_eq!(now(), pairs(&[]));
}

#[test]
fn results_have_their_names() {
    assert_eq!(customlabels::prepare(), Ok(Change::Set));
    assert_eq!(customlabels::set("a", "1"), Ok(Change::Set));
    assert_eq!(customlabels::set("a", ""), Ok(Change::Replaced));
    assert_eq!(customlabels::set("long", "é".repeat(129)), Ok(Change::Truncated));
    assert_eq!(now(), pairs(&[("a", ""), ("long", &"é".repeat(128))]));
    assert_eq!(customlabels::remove("a"), Ok(Change::Removed));
    assert_eq!(customlabels::remove("a"), Ok(Change::Absent));
    assert_eq!(customlabels::set("", "x"), Err(Error::Invalid));
    assert_eq!(customlabels::set("span-id", "x"), Err(Error::Reserved));
    let many = Labels::new((0..9).map(|i| (format!("key{i}"), "x")));
    assert_eq!(many.enter().result(), Err(Error::Full));
    assert_eq!(customlabels::clear(), Ok(Change::Removed));
}

#[test]
fn inherit_takes_labels_to_another_thread() {
    let _labels = Scope::enter([("tenant", "acme")]);
    assert_eq!(std::thread::spawn(now).join().unwrap(), pairs(&[]));
    assert_eq!(std::thread::spawn(inherit(now)).join().unwrap(), pairs(&[("tenant", "acme")]));
}

struct Nobody;
impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

/// Is pending once.
struct Turn(bool);
impl Future for Turn {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let waited = std::mem::replace(&mut self.0, true);
        if waited { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[test]
fn futures_that_take_turns_on_two_threads_have_their_own_labels() {
    let work = |number: usize| async move {
        let number = number.to_string();
        for _ in 0..20 {
            assert_eq!(now(), pairs(&[("task", &number)]));
            Labels::new([("half", "second")])
                .follow(async {
                    Turn(false).await;
                    assert_eq!(now(), pairs(&[("half", "second"), ("task", &number)]));
                })
                .await;
        }
    };
    let mut futures: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> =
        (0..100).map(|i| Box::pin(Labels::new([("task", i.to_string())]).follow(work(i))) as Pin<Box<_>>).collect();
    while !futures.is_empty() {
        // Each round has a thread of its own.
        futures = std::thread::spawn(move || {
            let waker = Arc::new(Nobody).into();
            let mut context = Context::from_waker(&waker);
            futures.retain_mut(|future| {
                let ended = future.as_mut().poll(&mut context).is_ready();
                assert_eq!(now(), pairs(&[]));
                !ended
            });
            futures
        })
        .join()
        .unwrap();
    }
}

struct SeenAtTheEnd(Arc<Mutex<Vec<(String, String)>>>);
impl Drop for SeenAtTheEnd {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = now();
    }
}

#[test]
fn a_future_that_is_cancelled_ends_under_its_labels() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let at_end = SeenAtTheEnd(seen.clone());
    let work = async move {
        let _at_end = at_end;
        Turn(false).await;
    };
    let mut future = Box::pin(Labels::new([("task", "1")]).follow(work));
    let waker = Arc::new(Nobody).into();
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(future);
    assert_eq!(*seen.lock().unwrap(), pairs(&[("task", "1")]));
    assert_eq!(now(), pairs(&[]));
}

extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
    fn pthread_self() -> usize;
    fn pthread_kill(thread: usize, number: i32) -> i32;
}
const SIGUSR1: i32 = 10;

static TURN: AtomicUsize = AtomicUsize::new(0);
static LETTERS: [[u8; 200]; 26] = {
    let mut all = [[0; 200]; 26];
    let mut letter = 0;
    while letter < 26 {
        all[letter] = [b'a' + letter as u8; 200];
        letter += 1;
    }
    all
};

/// A label whose length and letters follow from each other.
fn set_turn() {
    let turn = TURN.fetch_add(1, Ordering::Relaxed) % 26;
    let _ = customlabels::set("turn", &LETTERS[turn][..50 + 5 * turn]);
}

extern "C" fn set_twice(_: i32) {
    set_turn();
    set_turn();
}

#[test]
fn labels_are_those_of_one_moment_whatever_a_signal_handler_sets() {
    unsafe { signal(SIGUSR1, set_twice) };
    let (reader, ends) = (unsafe { pthread_self() }, Arc::new(AtomicBool::new(false)));
    set_turn();
    let until = ends.clone();
    let sender = std::thread::spawn(move || {
        while !until.load(Ordering::Relaxed) {
            unsafe { pthread_kill(reader, SIGUSR1) };
        }
    });
    while TURN.load(Ordering::Relaxed) < 100_000 {
        for (_, value) in Labels::current().iter() {
            assert_eq!(value, &LETTERS[usize::from(value[0] - b'a')][..50 + 5 * usize::from(value[0] - b'a')]);
        }
    }
    ends.store(true, Ordering::Relaxed);
    sender.join().unwrap();
    assert_eq!(customlabels::clear(), Ok(Change::Removed));
}
