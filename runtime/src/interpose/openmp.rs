//! OpenMP by way of gcc's libgomp, which synchronises by means of its own where
//! nobody can see it; but what it promises its callers can be known.
//!
//! A team's members know what its master knew, the master knows afterwards what
//! they did, barriers order all, critical sections are locks. See [`tasks`], too.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use racehound_trace::Mode;

use super::{Call, interpose, tasks};
use crate::control::{Lock, doubt};
use crate::sync::{self, Traits};
use crate::thread::{self, Visit};

pub(super) type Body = unsafe extern "C" fn(*mut c_void);

/// A parallel region while it lasts; its address stands for what it orders.
#[repr(C, align(64))]
struct Team {
    body: Body,
    data: *mut c_void,
    /// Addresses of their own, for the beginning, the end and barriers.
    begins: u64,
    ends: u64,
    barrier: u64,
    master: u32,
    /// Somebody does what only one is to do.
    does_single: AtomicBool,
}

impl Team {
    fn new(body: Body, data: *mut c_void) -> Self {
        Self {
            body,
            data,
            master: thread::current().map_or(0, |thread| thread.number),
            begins: 0,
            ends: 0,
            barrier: 0,
            does_single: AtomicBool::new(false),
        }
    }
}

pub(super) fn address(of: &u64) -> usize {
    ptr::from_ref(of) as usize
}

/// What every member runs.
unsafe extern "C" fn member(team: *mut c_void) {
    // SAFETY: the master's team, which outlives the region.
    let team = unsafe { &*team.cast::<Team>() };
    let at = ptr::from_ref(team) as usize;
    let outer = enter(at);
    // Nobody of the program's calls it.
    let place = team.body as usize;
    if let Some(call) = Call::around(place) {
        gather(&call, team);
        sync::take(&Visit::begin(), address(&team.begins), call.place);
    }
    let implicit = tasks::begin(place);
    // SAFETY: what the program asked for.
    unsafe { (team.body)(team.data) };
    if let Some(call) = Call::around(place) {
        tasks::finish(&call, at);
        sync::post(&Visit::begin(), address(&team.ends), call.place);
        if let Some(turn) = call.turn() {
            turn.disperse(at);
        }
    }
    tasks::end(implicit);
    enter(outer);
}

/// Under control a member waits for the others of its team.
fn gather(call: &Call, team: &Team) {
    if let Some(turn) = call.turn() {
        // SAFETY: asks.
        let size = unsafe { real::omp_get_num_threads() };
        let at = ptr::from_ref(team) as usize;
        while let Some(task) = turn.gather(at, size.max(1) as u32, team.master) {
            tasks::run(call, &turn, &task);
        }
    }
}

/// Runs code of the library that may wait for other threads there.
pub(super) fn in_library<R>(call: &Call, real: impl FnOnce() -> R) -> R {
    match call.turn() {
        Some(turn) => turn.in_library(real),
        None => real(),
    }
}

/// Makes a team the current one; the one before.
fn enter(team: usize) -> usize {
    match thread::current() {
        Some(thread) => std::mem::replace(&mut thread.team, team),
        None => 0,
    }
}

/// Runs a parallel region by `real`, which gets what to run in place of the
/// program's.
unsafe fn region(body: Body, data: *mut c_void, real: impl FnOnce(Body, *mut c_void)) {
    let mut team = Team::new(body, data);
    let Some(call) = Call::begin() else {
        return real(body, data);
    };
    sync::post(&Visit::begin(), address(&team.begins), call.place);
    let real = || real(member, (&raw mut team).cast());
    match call.turn() {
        Some(turn) => turn.run_team(real),
        None => real(),
    }
    sync::take(&Visit::begin(), address(&team.ends), call.place);
    let visit = Visit::begin();
    for at in [&team.begins, &team.ends, &team.barrier] {
        crate::objects::forget(visit.thread(), address(at));
    }
}

/// Whether what a team does may be cancelled: then who waits at a barrier may go on before
/// all are there, and tasks may be left undone. When, nobody tells us, so the library goes
/// its own way.
pub(super) fn may_cancel() -> bool {
    // SAFETY: asks.
    unsafe { real::omp_get_cancellation() != 0 }
}

/// A barrier of the current team at which nobody waits once it is cancelled; whether it is.
fn cancellable_barrier(real: impl Fn() -> bool) -> bool {
    let mut cancelled = false;
    let (Some(call), Some(team)) = (Call::begin(), current_team()) else {
        return real();
    };
    match call.turn().filter(|_| may_cancel()) {
        None => barrier(|| cancelled = real()),
        Some(turn) => {
            doubt::tell("OpenMP", "may cancel what a team does");
            let at = address(&team.barrier);
            tasks::done(&call);
            sync::arrive(&Visit::begin(), at, call.place);
            turn.touch();
            cancelled = turn.outside(real);
            sync::depart(&Visit::begin(), at, call.place);
            tasks::known(&call);
        }
    }
    cancelled
}

/// A barrier of the current team.
fn barrier(real: impl FnOnce()) {
    let (Some(call), Some(team)) = (Call::begin(), current_team()) else {
        return real();
    };
    let at = address(&team.barrier);
    tasks::done(&call);
    sync::arrive(&Visit::begin(), at, call.place);
    at_barrier(&call, real);
    sync::depart(&Visit::begin(), at, call.place);
    tasks::known(&call);
}

/// Waits by `real` in the library until all of the team do. Under control all gather in
/// front of it and behind it.
fn at_barrier(call: &Call, real: impl FnOnce()) {
    let (Some(turn), Some(team)) = (call.turn(), current_team()) else {
        return real();
    };
    gather(call, team);
    turn.enter_barrier(ptr::from_ref(team) as usize);
    real();
    gather(call, team);
}

/// The current team, if the thread works in one.
fn current_team() -> Option<&'static Team> {
    let team = thread::current().map_or(0, |thread| thread.team);
    // SAFETY: the team outlives its members' stay.
    (team != 0).then(|| unsafe { &*(team as *const Team) })
}

/// Whether the thread is the one of its team that does what only one is to do, and whose
/// results the others get. They wait for it at a barrier.
fn begins_single() -> bool {
    current_team().is_none_or(|team| !team.does_single.swap(true, Ordering::Relaxed))
}

/// It has done that, and the others wait at the barrier.
fn ends_single() {
    if let Some(team) = current_team() {
        team.does_single.store(false, Ordering::Relaxed);
    }
}

static CRITICAL: u64 = 0;
static ATOMIC: u64 = 0;
static ORDERED: u64 = 0;

/// A lock of the library, and whether who holds it may take it again.
#[derive(Clone, Copy)]
struct Guard {
    at: usize,
    nests: bool,
}

impl Guard {
    fn simple(at: usize) -> Self {
        Self { at, nests: false }
    }

    fn nesting(at: usize) -> Self {
        Self { at, nests: true }
    }

    fn traits(self, tried: bool) -> Traits {
        Traits {
            recursive: self.nests,
            tried,
            ..Traits::default()
        }
    }
}

fn lock(guard: Guard, real: impl Fn()) {
    let Some(call) = Call::begin() else {
        return real();
    };
    let (at, mode, traits) = (guard.at, Mode::Exclusive, guard.traits(false));
    sync::about_to_lock(&Visit::begin(), at, mode, traits, call.place);
    match call.turn() {
        Some(turn) => {
            let real = || {
                real();
                0
            };
            turn.lock(Lock::of_library(at, guard.nests), None, real, real);
        }
        None => real(),
    }
    sync::acquired(&Visit::begin(), at, mode, traits, call.place);
}

/// Takes a lock if it is free; `real` says how often the thread has it then.
fn try_lock(guard: Guard, real: impl Fn() -> c_int) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    let (at, mode) = (guard.at, Mode::Exclusive);
    let depth = std::cell::Cell::new(0);
    let attempt = || {
        depth.set(real());
        match depth.get() {
            0 => libc::EBUSY,
            _ => 0,
        }
    };
    let result = match call.turn() {
        Some(turn) => turn.try_lock((at, mode), attempt),
        None => attempt(),
    };
    if result == 0 {
        sync::acquired(&Visit::begin(), at, mode, guard.traits(true), call.place);
    }
    depth.get()
}

/// Makes a lock, or does away with one: what was known of another there is forgotten.
fn renew(lock: *mut c_void, real: impl FnOnce()) {
    if Call::begin().is_some() {
        let visit = Visit::begin();
        crate::objects::forget(visit.thread(), lock as usize);
    }
    real();
}

fn unlock(at: usize, real: impl FnOnce()) {
    if let Some(call) = Call::begin() {
        sync::releasing(&Visit::begin(), at, Some(Mode::Exclusive), call.place);
        if let Some(turn) = call.turn() {
            let real = || {
                real();
                0
            };
            turn.unlock(at, real);
            return;
        }
    }
    real();
}

mod real {
    use super::Body;
    use std::ffi::{c_int, c_uint, c_void};

    unsafe extern "C" {
        pub(super) fn GOMP_parallel(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint);
        pub(super) fn GOMP_parallel_sections(
            body: Body,
            data: *mut c_void,
            threads: c_uint,
            count: c_uint,
            flags: c_uint,
        );
        pub(super) fn GOMP_parallel_reductions(
            body: Body,
            data: *mut c_void,
            threads: c_uint,
            flags: c_uint,
        ) -> c_uint;
        pub(super) fn omp_get_cancellation() -> c_int;
        pub(super) fn GOMP_barrier();
        pub(super) fn GOMP_barrier_cancel() -> bool;
        pub(super) fn GOMP_loop_end();
        pub(super) fn GOMP_loop_end_cancel() -> bool;
        pub(super) fn GOMP_sections_end();
        pub(super) fn GOMP_sections_end_cancel() -> bool;
        pub(super) fn GOMP_single_copy_start() -> *mut c_void;
        pub(super) fn GOMP_single_copy_end(data: *mut c_void);
        pub(super) fn GOMP_critical_start();
        pub(super) fn GOMP_critical_end();
        pub(super) fn GOMP_critical_name_start(name: *mut *mut c_void);
        pub(super) fn GOMP_critical_name_end(name: *mut *mut c_void);
        pub(super) fn GOMP_atomic_start();
        pub(super) fn GOMP_atomic_end();
        pub(super) fn GOMP_ordered_start();
        pub(super) fn GOMP_ordered_end();
        pub(super) fn omp_get_num_threads() -> c_int;
        pub(super) fn omp_init_lock(lock: *mut c_void);
        pub(super) fn omp_destroy_lock(lock: *mut c_void);
        pub(super) fn omp_set_lock(lock: *mut c_void);
        pub(super) fn omp_unset_lock(lock: *mut c_void);
        pub(super) fn omp_test_lock(lock: *mut c_void) -> c_int;
        pub(super) fn omp_init_nest_lock(lock: *mut c_void);
        pub(super) fn omp_destroy_nest_lock(lock: *mut c_void);
        pub(super) fn omp_set_nest_lock(lock: *mut c_void);
        pub(super) fn omp_unset_nest_lock(lock: *mut c_void);
        pub(super) fn omp_test_nest_lock(lock: *mut c_void) -> c_int;
    }
}

interpose! {
    fn GOMP_parallel(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint) {
        region(body, data, |body, data| real::GOMP_parallel(body, data, threads, flags));
    }

    fn GOMP_parallel_sections(
        body: Body,
        data: *mut c_void,
        threads: c_uint,
        count: c_uint,
        flags: c_uint,
    ) {
        region(body, data, |body, data| {
            real::GOMP_parallel_sections(body, data, threads, count, flags);
        });
    }

    fn GOMP_parallel_reductions(
        body: Body,
        data: *mut c_void,
        threads: c_uint,
        flags: c_uint,
    ) -> c_uint {
        let mut made = 0;
        // It looks into the data as well, so the data must be the program's own.
        let result = &raw mut made;
        let real = || real::GOMP_parallel_reductions(body, data, threads, flags);
        region(body, data, |_, _| match Call::begin().and_then(|call| call.turn()) {
            // Nobody gathers.
            Some(turn) => *result = turn.in_library(real),
            None => *result = real(),
        });
        made
    }

    fn GOMP_barrier() {
        barrier(|| real::GOMP_barrier());
    }

    fn GOMP_barrier_cancel() -> bool {
        cancellable_barrier(|| real::GOMP_barrier_cancel())
    }

    fn GOMP_loop_end() {
        barrier(|| real::GOMP_loop_end());
    }

    fn GOMP_loop_end_cancel() -> bool {
        cancellable_barrier(|| real::GOMP_loop_end_cancel())
    }

    fn GOMP_sections_end() {
        barrier(|| real::GOMP_sections_end());
    }

    fn GOMP_sections_end_cancel() -> bool {
        cancellable_barrier(|| real::GOMP_sections_end_cancel())
    }

    fn GOMP_single_copy_start() -> *mut c_void {
        let Some(call) = Call::begin() else {
            return real::GOMP_single_copy_start();
        };
        if call.turn().is_some() && begins_single() {
            return real::GOMP_single_copy_start();
        }
        let mut data = ptr::null_mut();
        at_barrier(&call, || data = real::GOMP_single_copy_start());
        if !data.is_null() {
            tasks::known(&call);
        }
        data
    }

    fn GOMP_single_copy_end(data: *mut c_void) {
        let Some(call) = Call::begin() else {
            return real::GOMP_single_copy_end(data);
        };
        tasks::done(&call);
        at_barrier(&call, || {
            ends_single();
            real::GOMP_single_copy_end(data);
        });
    }

    fn GOMP_critical_start() {
        lock(Guard::simple(address(&CRITICAL)), || real::GOMP_critical_start());
    }

    fn GOMP_critical_end() {
        unlock(address(&CRITICAL), || real::GOMP_critical_end());
    }

    fn GOMP_critical_name_start(name: *mut *mut c_void) {
        lock(Guard::simple(name as usize), || real::GOMP_critical_name_start(name));
    }

    fn GOMP_critical_name_end(name: *mut *mut c_void) {
        unlock(name as usize, || real::GOMP_critical_name_end(name));
    }

    fn GOMP_atomic_start() {
        lock(Guard::simple(address(&ATOMIC)), || real::GOMP_atomic_start());
    }

    fn GOMP_atomic_end() {
        unlock(address(&ATOMIC), || real::GOMP_atomic_end());
    }

    fn omp_init_lock(lock: *mut c_void) {
        renew(lock, || real::omp_init_lock(lock));
    }

    fn omp_destroy_lock(lock: *mut c_void) {
        renew(lock, || real::omp_destroy_lock(lock));
    }

    fn omp_set_lock(at: *mut c_void) {
        lock(Guard::simple(at as usize), || real::omp_set_lock(at));
    }

    fn omp_unset_lock(at: *mut c_void) {
        unlock(at as usize, || real::omp_unset_lock(at));
    }

    fn omp_test_lock(at: *mut c_void) -> c_int {
        try_lock(Guard::simple(at as usize), || real::omp_test_lock(at))
    }

    fn omp_init_nest_lock(lock: *mut c_void) {
        renew(lock, || real::omp_init_nest_lock(lock));
    }

    fn omp_destroy_nest_lock(lock: *mut c_void) {
        renew(lock, || real::omp_destroy_nest_lock(lock));
    }

    fn omp_set_nest_lock(at: *mut c_void) {
        lock(Guard::nesting(at as usize), || real::omp_set_nest_lock(at));
    }

    fn omp_unset_nest_lock(at: *mut c_void) {
        unlock(at as usize, || real::omp_unset_nest_lock(at));
    }

    fn omp_test_nest_lock(at: *mut c_void) -> c_int {
        try_lock(Guard::nesting(at as usize), || real::omp_test_nest_lock(at))
    }

    fn GOMP_ordered_start() {
        let Some(call) = Call::begin() else {
            return real::GOMP_ordered_start();
        };
        if call.turn().is_some() {
            doubt::tell("OpenMP", "has iterations wait for their order where it is not seen");
        }
        in_library(&call, || real::GOMP_ordered_start());
        sync::take(&Visit::begin(), address(&ORDERED), call.place);
    }

    fn GOMP_ordered_end() {
        if let Some(call) = Call::begin() {
            sync::post(&Visit::begin(), address(&ORDERED), call.place);
        }
        real::GOMP_ordered_end();
    }

    /// How many are in the current team.
    fn omp_get_num_threads() -> c_int {
        real::omp_get_num_threads()
    }

    /// Whether what teams do can be cancelled.
    fn omp_get_cancellation() -> c_int {
        real::omp_get_cancellation()
    }
}

/// Loops that are regions of their own: with the bounds, and perhaps a chunk.
macro_rules! parallel_loops {
    ($($name:ident($($arg:ident),*);)*) => {
        mod loops {
            use super::{Body, c_long, c_uint, c_void};
            unsafe extern "C" {
                $(pub(super) fn $name(
                    body: Body,
                    data: *mut c_void,
                    threads: c_uint,
                    $($arg: c_long,)*
                    flags: c_uint,
                );)*
            }
        }
        interpose! {
            $(fn $name(
                body: Body,
                data: *mut c_void,
                threads: c_uint,
                $($arg: c_long,)*
                flags: c_uint,
            ) {
                region(body, data, |body, data| {
                    loops::$name(body, data, threads, $($arg,)* flags);
                });
            })*
        }
    };
}

parallel_loops! {
    GOMP_parallel_loop_static(start, end, step, chunk);
    GOMP_parallel_loop_dynamic(start, end, step, chunk);
    GOMP_parallel_loop_guided(start, end, step, chunk);
    GOMP_parallel_loop_runtime(start, end, step);
    GOMP_parallel_loop_nonmonotonic_dynamic(start, end, step, chunk);
    GOMP_parallel_loop_nonmonotonic_guided(start, end, step, chunk);
    GOMP_parallel_loop_nonmonotonic_runtime(start, end, step);
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(start, end, step);
}
