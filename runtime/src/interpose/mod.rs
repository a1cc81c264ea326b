//! The functions of the C library that we stand in for.
//!
//! Each is an ordinary function under the name `__interceptor_NAME`. When the
//! runtime is put together (see the crate `racehound-bundle`), the program's
//! `NAME` is made to lead here, and every reference to `NAME` from within the
//! runtime, those of Rust's standard library included, to the real one. So in
//! these files `libc::read` is the real `read`, and nothing that the runtime
//! does for itself comes back to it.
//!
//! On the way here the caller's address is noted; [`Call`] picks it up, so that
//! stacks in reports end with the function the program called.

pub(crate) mod asynchronous;
pub(crate) mod atexit;
pub(crate) mod barrier;
pub(crate) mod c11;
mod callbacks;
pub(crate) mod condition;
pub(crate) mod containers;
pub(crate) mod delayed;
pub(crate) mod descriptors;
pub(crate) mod exceptions;
pub(crate) mod files;
pub(crate) mod formats;
pub(crate) mod futexes;
pub(crate) mod heap;
pub(crate) mod hidden;
pub(crate) mod jumps;
pub(crate) mod libraries;
pub(crate) mod mapping;
pub(crate) mod misc;
pub(crate) mod mutex;
pub(crate) mod once;
pub(crate) mod openmp;
pub(crate) mod process;
pub(crate) mod queues;
pub(crate) mod randomness;
pub(crate) mod readiness;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod signals;
pub(crate) mod sockets;
pub(crate) mod streams;
pub(crate) mod strings;
pub(crate) mod system_calls;
pub(crate) mod tasks;
pub(crate) mod threads;
pub(crate) mod timers;
pub(crate) mod times;
pub(crate) mod transfers;
pub(crate) mod wide;

use std::ffi::{c_char, c_int};
use std::marker::PhantomData;

use crate::access::Access;
use crate::control::clock::Until;
use crate::control::{Came, Turn};
use crate::shared_memory::{self, Whose};
use crate::thread::{self, Thread, Visit};
use crate::tls::hot;
use crate::{control, detector, options, sampling, sync, triggers, value};

use descriptors::Outcome;
pub(crate) use racehound_detect::AccessKind;

/// Defines functions under the names by which they are put in the place of the
/// C library's.
macro_rules! interpose {
    ($($(#[$note:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {
        $(
            $(#[$note])*
            #[doc = concat!("Stands in for `", stringify!($name), "`.")]
            #[unsafe(export_name = concat!("__interceptor_", stringify!($name)))]
            pub unsafe extern "C" fn $name($($arg: $type),*) $(-> $result)? {
                // SAFETY: the caller promises what the C library's function asks.
                unsafe { $body }
            }
        )*
    };
}
pub(crate) use interpose;

/// A call from the program into one of these functions, while it lasts.
pub(crate) struct Call {
    /// The function, as a place in the program.
    pub(crate) place: usize,
    /// Where it was called.
    caller: usize,
    /// What it does to memory is not looked at.
    ignored: bool,
    /// Belongs to the current thread.
    _here: PhantomData<*mut ()>,
}

impl Call {
    /// The call that is going on; none if the runtime itself, or the C library
    /// on its behalf, is the caller.
    #[inline]
    pub(crate) fn begin() -> Option<Self> {
        let hot = hot();
        // SAFETY: our own block.
        let (caller, function) = unsafe { ((*hot).caller, (*hot).function) };
        Self::new(caller, caller, function)
    }

    /// What the program does at a place itself, as if by a call that does not
    /// show in stacks.
    fn around(place: usize) -> Option<Self> {
        const NOWHERE: usize = 0;
        // SAFETY: our own block. Whoever waits there is where the program is.
        unsafe { (*hot()).function = place };
        Self::new(place, NOWHERE, place)
    }

    #[inline]
    fn new(caller: usize, shown: usize, place: usize) -> Option<Self> {
        let hot = hot();
        // SAFETY: our own block.
        unsafe {
            if (*hot).busy != 0 {
                return None;
            }
            if (*hot).top.is_null() {
                if !crate::is_ready() || (*hot).gone() {
                    return None;
                }
                let _errno = Errno::keep();
                drop(Visit::begin());
            }
        }
        thread::push_call(shown);
        Some(Self {
            place,
            caller,
            ignored: libraries::is_ignored(caller) || options::get().ignore_interceptors_accesses,
            _here: PhantomData,
        })
    }

    /// The turn that it takes, if the thread is under control.
    pub(crate) fn turn(&self) -> Option<Turn> {
        Turn::here(self.caller)
    }

    /// Does something that may have to wait until a descriptor is ready. Under
    /// control others go on meanwhile.
    pub(crate) fn waits<R: Outcome>(&self, fd: c_int, events: i16, real: impl FnOnce() -> R) -> R {
        match self.awaits(fd, events, None) {
            Came::Interrupted => R::fails(libc::EINTR),
            Came::Fulfilled | Came::TimedOut => real(),
        }
    }

    /// Waits until a descriptor is ready, if the thread is under control and would
    /// wait there.
    pub(crate) fn awaits(&self, fd: c_int, events: i16, until: Option<Until>) -> Came {
        let Some(turn) = self.turn() else {
            return Came::Fulfilled;
        };
        // What children have to say is there by then, and later what they answer.
        descriptors::stir(fd);
        turn.touch();
        descriptors::stir(fd);
        match turn.finds_ready(fd, events) || descriptors::fails_instead_of_waiting(fd, events) {
            true => Came::Fulfilled,
            false => turn.await_descriptor(fd, events, until),
        }
    }

    /// Is about to look for files by name, or to change their names: under control others
    /// may do so first.
    pub(crate) fn uses_names(&self) {
        let _errno = Errno::keep();
        if let Some(turn) = self.turn() {
            turn.touch();
        }
    }

    /// Does something that may have to wait, and that `attempt` only tries: then it
    /// tells that by `is_busy`.
    pub(crate) fn persists<R: Outcome>(
        &self,
        mut attempt: impl FnMut() -> R,
        is_busy: impl Fn(c_int) -> bool,
        real: impl FnOnce() -> R,
    ) -> R {
        let Some(turn) = self.turn() else {
            return real();
        };
        let attempt = || {
            let result = attempt();
            (!result.failed() || !is_busy(Errno::now())).then_some(result)
        };
        turn.persists(attempt).unwrap_or_else(|| turn.outside(real))
    }

    /// Whether other processes have the object there as well, so that they decide, too, who
    /// goes on. Children do what they can before the thread's next step; of others it is said.
    /// Nobody is interrupted while it is looked up.
    pub(crate) fn is_shared(&self, address: usize) -> bool {
        let whose = {
            let _visit = Visit::begin();
            shared_memory::whose(address)
        };
        match whose {
            None => return false,
            Some(Whose::Family) => control::children::share(),
            Some(Whose::Anybody) => {
                control::doubt::tell("a lock or condition", "is shared with other processes");
            }
        }
        true
    }

    /// Whether the dynamic loader is the caller, or the C library in a thread of its own:
    /// what they allocate and free is theirs, although in the program's name.
    fn is_librarys_own(&self) -> bool {
        libraries::loader().contains(&self.caller)
            || thread::is_a_librarys() && self.is_c_librarys()
    }

    /// Whether the C library is the caller: locks of its own, which nobody sees, order what
    /// it does with its memory.
    fn is_c_librarys(&self) -> bool {
        libraries::c_library().contains(&self.caller)
    }

    /// Whether what it does to memory is looked at.
    fn is_looked_at(&self, thread: &Thread) -> bool {
        thread.ignore == 0 && !self.ignored && !sampling::looks_away()
    }

    /// Looks at memory that the function reads on behalf of the program.
    #[inline]
    pub(crate) fn reads(&self, address: *const impl Sized, size: usize) {
        self.access::<false>(address as usize, size);
    }

    /// Looks at memory that it writes.
    #[inline]
    pub(crate) fn writes(&self, address: *const impl Sized, size: usize) {
        self.access::<true>(address as usize, size);
    }

    /// Looks at a value of four or eight bytes that the function reads, and perhaps others
    /// besides: mostly that is known.
    #[inline]
    pub(crate) fn reads_value<T>(&self, at: *const T) {
        if !self.value::<T, false>(at as usize) {
            self.reads(at, size_of::<T>());
        }
    }

    /// Looks at one that it writes.
    #[inline]
    pub(crate) fn writes_value<T>(&self, at: *const T) {
        if !self.value::<T, true>(at as usize) {
            self.writes(at, size_of::<T>());
        }
    }

    #[inline(always)]
    fn value<T, const WRITE: bool>(&self, address: usize) -> bool {
        if self.ignored || control::is_watching() {
            return false;
        }
        match size_of::<T>() {
            8 => value::accessed::<8, WRITE>(address, self.place),
            4 => value::accessed::<4, WRITE>(address, self.place),
            _ => false,
        }
    }

    #[inline]
    fn access<const WRITE: bool>(&self, address: usize, size: usize) {
        // The real function is the one to fail over such a pointer.
        if size == 0 || address == 0 || self.ignored || triggers::is_all() {
            return;
        }
        if control::is_watching() || !detector::settles::<WRITE>(address, size, self.place) {
            let kind = match WRITE {
                true => AccessKind::Write,
                false => AccessKind::Read,
            };
            self.access_thoroughly(address, size, kind);
        }
    }

    #[inline(never)]
    fn access_thoroughly(&self, address: usize, size: usize, kind: AccessKind) {
        if sampling::looks_away() {
            return;
        }
        self.announces(address, size, kind);
        let _errno = Errno::keep();
        let access = Access {
            address,
            size,
            kind,
            place: self.place,
        };
        detector::range(&Visit::begin(), &access);
    }

    fn announces(&self, address: usize, size: usize, kind: AccessKind) {
        if control::is_watching()
            && let Some(turn) = self.turn()
        {
            let turn = turn.of_function(self.place);
            turn.access(address, size, kind.is_write());
        }
    }

    /// Lets others go first, if somebody watches who writes there: it is about to.
    pub(crate) fn announces_write(&self, address: usize, size: usize) {
        let _errno = Errno::keep();
        self.announces(address, size, AccessKind::Write);
    }

    /// Runs code of the C library that calls others of these functions, with an
    /// order of its own between threads: what it does to memory is not looked at.
    pub(crate) fn unwatched<R>(&self, real: impl FnOnce() -> R) -> R {
        let change = |by: i32| {
            if let Some(thread) = thread::current() {
                thread.ignore = thread.ignore.saturating_add_signed(by);
                thread.publish_ignore();
            }
        };
        change(1);
        let result = real();
        change(-1);
        result
    }

    /// Looks at a string that the function reads to its end.
    ///
    /// # Safety
    /// It is a string, or null.
    pub(crate) unsafe fn reads_text(&self, text: *const c_char) {
        if !text.is_null() {
            // SAFETY: the caller's promise.
            self.reads(text, unsafe { libc::strlen(text) } + 1);
        }
    }

    /// Looks at a string that the function has written.
    ///
    /// # Safety
    /// It is a string, or null.
    pub(crate) unsafe fn writes_text(&self, text: *const c_char) {
        if !text.is_null() {
            // SAFETY: the caller's promise.
            self.writes(text, unsafe { libc::strlen(text) } + 1);
        }
    }

    /// Hands on what the thread knows to whoever learns it from there.
    pub(crate) fn hands_on(&self, address: usize) {
        let _errno = Errno::keep();
        sync::post(&Visit::begin(), address, self.place);
    }

    /// Learns what was handed on there.
    pub(crate) fn learns(&self, address: usize) {
        let _errno = Errno::keep();
        sync::take(&Visit::begin(), address, self.place);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        thread::pop_call();
    }
}

/// The error number as the program knows it: what we do for ourselves may change
/// it, so it is put back afterwards.
pub(crate) struct Errno {
    at: *mut c_int,
    value: c_int,
}

impl Errno {
    /// Keeps it for as long as the result lives.
    pub(crate) fn keep() -> Self {
        // SAFETY: the current thread's own number.
        unsafe {
            let at = libc::__errno_location();
            Self { at, value: *at }
        }
    }

    /// What it is now.
    pub(crate) fn now() -> c_int {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() }
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: kept and put back by the same thread.
        unsafe { *self.at = self.value };
    }
}
