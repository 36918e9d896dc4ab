//! `shop SECONDS` labels two threads in turn, and prints the CPU time of each label by the clock of
//! the thread.

use customlabels::{Labels, Scope};
use std::collections::BTreeMap;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}
extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}
fn thread_time() -> f64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.seconds as f64 + time.nanoseconds as f64 / 1e9
}

fn work(seconds: f64, thread: &'static str, plan: [(&'static str, f64); 2]) -> BTreeMap<&'static str, f64> {
    let mut spent = BTreeMap::new();
    let of_thread = Labels::new([("thread", thread)]);
    while thread_time() < seconds {
        for (tenant, milliseconds) in plan {
            let _thread = of_thread.enter();
            let _tenant = Scope::enter([("tenant", tenant)]);
            let entered = thread_time();
            while thread_time() < entered + milliseconds / 1000.0 {}
            *spent.entry(tenant).or_insert(0.0) += thread_time() - entered;
        }
    }
    spent
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("usage: shop SECONDS");
    let one = std::thread::spawn(move || work(seconds, "one", [("acme", 5.0), ("globex", 3.0)]));
    let two = std::thread::spawn(move || work(seconds, "two", [("globex", 2.0), ("initech", 6.0)]));
    let mut spent = one.join().unwrap();
    for (tenant, time) in two.join().unwrap() {
        *spent.entry(tenant).or_insert(0.0) += time;
    }
    println!("{{{}}}", spent.iter().map(|(tenant, time)| format!("\"{tenant}\": {time}")).collect::<Vec<_>>().join(", "));
}
