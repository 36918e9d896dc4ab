//! Two threads compute with labels of the crate custom-labels. Each prints its own.

use custom_labels::with_label;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};

extern "C" {
    fn gettid() -> i32;
}

fn main() {
    let stop = Arc::new(AtomicBool::new(false));
    let (say, hear) = mpsc::channel();
    let threads: Vec<_> = [("acme", "/search"), ("globex", "/checkout")]
        .into_iter()
        .map(|(tenant, route)| {
            let (stop, say) = (stop.clone(), say.clone());
            std::thread::spawn(move || {
                with_label("tenant", tenant, || {
                    with_label("http.route", route, || {
                        let tid = unsafe { gettid() };
                        say.send(format!(r#"{{"tid":{tid},"labels":{{"tenant":"{tenant}","http.route":"{route}"}}}}"#)).unwrap();
                        while !stop.load(Ordering::Relaxed) {}
                    })
                })
            })
        })
        .collect();
    for _ in &threads {
        println!("{}", hear.recv().unwrap());
    }
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
}
