//! What orders threads in code of the program's own even where the standard
//! library is not instrumented: reference counts, atomics, creation and end of
//! threads. There is no race.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::thread;

/// A number that whoever has it may change.
struct Plain(UnsafeCell<u64>);

// SAFETY: each user below sees to it.
unsafe impl Sync for Plain {}

impl Plain {
    const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add(&self) {
        unsafe { *self.0.get() += 1 };
    }

    fn get(&self) -> u64 {
        unsafe { *self.0.get() }
    }
}

/// The last to let go frees what the others have used.
fn arc() {
    for _ in 0..50 {
        let shared = Arc::new(vec![1_u64, 2, 3]);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.iter().sum::<u64>())
            })
            .collect();
        drop(shared);
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 6);
        }
    }
}

fn atomics() {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    static DATA: Plain = Plain::new();
    let other = thread::spawn(|| {
        while TURN.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        DATA.add();
    });
    DATA.add();
    TURN.store(1, Ordering::Release);
    other.join().unwrap();
    assert_eq!(DATA.get(), 2);
}

fn fences() {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    static DATA: Plain = Plain::new();
    let other = thread::spawn(|| {
        while TURN.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        fence(Ordering::Acquire);
        DATA.add();
    });
    DATA.add();
    fence(Ordering::Release);
    TURN.store(1, Ordering::Relaxed);
    other.join().unwrap();
    assert_eq!(DATA.get(), 2);
}

fn results() {
    let threads: Vec<_> = (0..4).map(|i| thread::spawn(move || vec![i; 10])).collect();
    for (i, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap(), vec![i; 10]);
    }
}

fn main() {
    arc();
    atomics();
    fences();
    results();
    println!("done");
}
