//! Two threads that count together, without order.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Counter(UnsafeCell<u64>);

// SAFETY: it is not: that is the bug.
unsafe impl Sync for Counter {}

static COUNTER: Counter = Counter(UnsafeCell::new(0));
static READY: AtomicUsize = AtomicUsize::new(0);

fn count() {
    // Both run at the same time; relaxed, so this orders nothing.
    READY.fetch_add(1, Ordering::Relaxed);
    while READY.load(Ordering::Relaxed) < 2 {
        thread::yield_now();
    }
    unsafe { *COUNTER.0.get() += 1 }; // RACE
}

fn main() {
    let threads = [thread::spawn(count), thread::spawn(count)];
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{}", unsafe { *COUNTER.0.get() });
}
