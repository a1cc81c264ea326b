//! Every way in which the standard library orders threads. There is no race.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};
use std::thread;

/// A number that whoever has it may change: what orders the threads is not the
/// type's business.
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

fn mutex() {
    let (lock, data) = (Mutex::new(()), Plain::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let _held = lock.lock().unwrap();
                    data.add();
                }
            });
        }
    });
    assert_eq!(data.get(), 800);
}

fn rwlock() {
    let (lock, data) = (RwLock::new(()), Plain::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let _held = lock.write().unwrap();
                    data.add();
                }
            });
            scope.spawn(|| {
                for _ in 0..200 {
                    let _held = lock.read().unwrap();
                    assert!(data.get() <= 400);
                }
            });
        }
    });
    assert_eq!(data.get(), 400);
}

fn condvar() {
    let (lock, ready, data) = (Mutex::new(false), Condvar::new(), Plain::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut set = lock.lock().unwrap();
            while !*set {
                set = ready.wait(set).unwrap();
            }
            data.add();
        });
        data.add();
        *lock.lock().unwrap() = true;
        ready.notify_one();
    });
    assert_eq!(data.get(), 2);
}

fn channels() {
    let (send, receive) = mpsc::channel::<Box<u64>>();
    let (send_back, receive_back) = mpsc::sync_channel::<Box<u64>>(0);
    let worker = thread::spawn(move || {
        for mut number in receive {
            *number += 1;
            send_back.send(number).unwrap();
        }
    });
    for i in 0..100 {
        send.send(Box::new(i)).unwrap();
        assert_eq!(*receive_back.recv().unwrap(), i + 1);
    }
    drop(send);
    worker.join().unwrap();
}

fn arc() {
    for _ in 0..50 {
        let shared = Arc::new(Mutex::new(vec![1, 2, 3]));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.lock().unwrap().push(4))
            })
            .collect();
        drop(shared);
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

fn park() {
    static SET: AtomicBool = AtomicBool::new(false);
    static DATA: Plain = Plain::new();
    let sleeper = thread::spawn(|| {
        while !SET.load(Ordering::Acquire) {
            thread::park();
        }
        DATA.add();
    });
    DATA.add();
    SET.store(true, Ordering::Release);
    sleeper.thread().unpark();
    sleeper.join().unwrap();
    assert_eq!(DATA.get(), 2);
}

fn once() {
    static ONCE: Once = Once::new();
    static DATA: Plain = Plain::new();
    static CELL: OnceLock<Vec<u64>> = OnceLock::new();
    static LAZY: LazyLock<Vec<u64>> = LazyLock::new(|| vec![7; 100]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                ONCE.call_once(|| DATA.add());
                assert_eq!(DATA.get(), 1);
                assert_eq!(CELL.get_or_init(|| vec![5; 100])[99], 5);
                assert_eq!(LAZY[99], 7);
            });
        }
    });
}

fn barrier() {
    let (barrier, data) = (Barrier::new(3), Plain::new());
    thread::scope(|scope| {
        for i in 0..3 {
            let (barrier, data) = (&barrier, &data);
            scope.spawn(move || {
                if i == 0 {
                    data.add();
                }
                barrier.wait();
                assert_eq!(data.get(), 1);
            });
        }
    });
}

fn atomics() {
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
    let threads: Vec<_> = (0..4)
        .map(|i| thread::Builder::new().name(format!("worker {i}")).spawn(move || vec![i; 10]))
        .collect();
    for (i, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.unwrap().join().unwrap(), vec![i; 10]);
    }
    assert!(thread::spawn(|| panic!("as planned")).join().is_err());
}

fn main() {
    mutex();
    rwlock();
    condvar();
    channels();
    arc();
    park();
    once();
    barrier();
    atomics();
    results();
    println!("done");
}
