//! The heap: blocks come without a past and go with a last write that nobody
//! knows of, see [`graves`](crate::graves).
//!
//! The C library allocates; we only watch. What it does to the memory between a
//! free and the next allocation is its own business, so a new block forgets all.
//! A block of moderate size looks written by whoever allocated it: the accesses
//! that follow are then settled by the fast path, and whoever gets hold of the
//! block without synchronisation is told. Not so what the C library allocates, perhaps
//! for itself.
//!
//! A block that was freed does not go back to the C library at once, see
//! [`quarantine`](crate::quarantine), and never twice.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::{AccessKind, Call, interpose};
use crate::abi::sanitizer;
use crate::access::Access;
use crate::blocks::Freed;
use crate::report::{self, Misuse};
use crate::thread::Visit;
use crate::{benign, blocks, detector, record, shadow_range, signals, triggers};

/// Larger blocks are not marked as written.
const MARKED: usize = 64 << 10;

/// The C library has a new block for somebody.
fn handed_out(block: *mut c_void, size: usize) {
    match Call::begin() {
        Some(call) => allocated(&call, block, size),
        // It may be freed by the program, who must not find what was there before.
        None => blocks::forget(block as usize),
    }
}

fn allocated(call: &Call, block: *mut c_void, size: usize) {
    if block.is_null() {
        return;
    }
    if call.is_librarys_own() {
        return forget(block, size);
    }
    signals::unsafe_call(call.place);
    let visit = Visit::begin();
    let thread = visit.thread();
    let marked = call.is_looked_at(thread) && size < MARKED && !call.is_c_librarys();
    let stamp = marked.then(|| thread.stamp(visit.hot(), call.place));
    let context = match stamp {
        Some(stamp) => stamp.record().context,
        None => thread.context_of(visit.hot(), call.place),
    };
    let whose = thread.context_in(context, blocks::place_of(thread.number));
    blocks::insert(block as usize, size, whose);
    if triggers::is_all() {
        // The locks of a block were forgotten when it was freed.
        drop(visit);
        return sanitizer::allocated(block, size);
    }
    benign::forget(block as usize, size);
    if let Some(stamp) = stamp {
        shadow_range::written(thread, block as usize, size, stamp);
    } else {
        shadow_range::forget(thread, block as usize, size);
    }
    record::alloc(thread, block as usize, size, marked, call.place);
    drop(visit);
    sanitizer::allocated(block, size);
}

/// The dynamic loader has a new block, or frees one.
#[cold]
fn forget(block: *mut c_void, size: usize) {
    let visit = Visit::begin();
    blocks::forget(block as usize);
    record::forget(visit.thread(), block as usize, size);
    shadow_range::forget(visit.thread(), block as usize, size);
}

/// What becomes of a block that is freed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Its owner gets it back.
    GoesBack,
    /// It waits, and another one that has waited goes back to the C library.
    Waits,
}

/// The program frees a block, of which nothing is wanted but that its locks are forgotten.
/// Returns it, unless it was freed before.
fn only_freeing(block: *mut c_void) -> *mut c_void {
    sanitizer::freeing(block);
    match blocks::free(block as usize) {
        Freed::Now(size) => {
            let visit = Visit::begin();
            let thread = visit.thread();
            shadow_range::forget(thread, block as usize, size);
            thread.abandoned.clear();
            block
        }
        Freed::Unknown => block,
        Freed::Before(_) => ptr::null_mut(),
    }
}

/// The program frees a block. Returns the one that goes back now, if not null.
fn freeing(call: &Call, block: *mut c_void, then: Then) -> *mut c_void {
    if call.is_librarys_own() {
        // SAFETY: a block, or the C library would fail over it.
        let size = unsafe { libc::malloc_usable_size(block) };
        forget(block, size);
        return block;
    }
    if triggers::is_all() {
        return only_freeing(block);
    }
    signals::unsafe_call(call.place);
    if let Some(size) = blocks::size(block as usize) {
        call.announces_write(block as usize, size);
    }
    sanitizer::freeing(block);
    let size = match blocks::free(block as usize) {
        Freed::Now(size) => size,
        Freed::Unknown => return block,
        Freed::Before(size) => {
            // What comes later may belong to another block by now.
            call.writes(block, size.min(8));
            return ptr::null_mut();
        }
    };
    let visit = Visit::begin();
    let thread = visit.thread();
    let watched = call.is_looked_at(thread);
    let grave = (watched && size < MARKED).then(|| {
        let context = thread.context_of(visit.hot(), call.place);
        thread.graves.stamp_of(thread.number, context)
    });
    if watched {
        let last_write = Access {
            address: block as usize,
            size: size.min(1 << 20),
            kind: AccessKind::Write,
            place: call.place,
        };
        detector::last_write(&visit, &last_write, grave);
    }
    if grave.is_none() {
        shadow_range::forget(thread, block as usize, size);
    }
    match watched {
        true => record::free(thread, block as usize, size, call.place),
        false => record::forget(thread, block as usize, size),
    }
    for lock in std::mem::take(&mut thread.abandoned) {
        report::misuse(
            thread,
            Misuse::DestroyLocked,
            lock.id,
            call.place,
            lock.taken,
        );
    }
    match then {
        Then::GoesBack => block,
        Then::Waits => thread.quarantine.exchange(block, size),
    }
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

interpose! {
    fn malloc(size: usize) -> *mut c_void {
        let block = __libc_malloc(size);
        handed_out(block, size);
        block
    }

    fn calloc(count: usize, size: usize) -> *mut c_void {
        let block = __libc_calloc(count, size);
        handed_out(block, count.saturating_mul(size));
        block
    }

    fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
        let Some(call) = Call::begin() else {
            let new = __libc_realloc(block, size);
            blocks::forget(new as usize);
            return new;
        };
        if block.is_null() {
            let new = __libc_malloc(size);
            allocated(&call, new, size);
            return new;
        }
        if size == 0 {
            __libc_free(freeing(&call, block, Then::Waits));
            return ptr::null_mut();
        }
        // A copy, so that the old block is freed by us while it is still ours.
        let new = __libc_malloc(size);
        if new.is_null() {
            return new;
        }
        // All that there is room for: somebody may have found out how much that is.
        let old = libc::malloc_usable_size(block);
        ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(size));
        allocated(&call, new, size);
        __libc_free(freeing(&call, block, Then::Waits));
        new
    }

    /// What the program has asked for is what it may use: the rest has the past of
    /// the blocks before.
    fn malloc_usable_size(block: *mut c_void) -> usize {
        match blocks::size(block as usize) {
            Some(size) if size < blocks::LARGEST => size,
            _ => libc::malloc_usable_size(block),
        }
    }

    fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
        match count.checked_mul(size) {
            Some(bytes) => realloc(block, bytes),
            None => {
                *libc::__errno_location() = libc::ENOMEM;
                ptr::null_mut()
            }
        }
    }

    fn free(block: *mut c_void) {
        __libc_free(match Call::begin() {
            Some(call) if !block.is_null() => freeing(&call, block, Then::Waits),
            _ => block,
        });
    }

    fn cfree(block: *mut c_void) {
        free(block);
    }

    fn memalign(align: usize, size: usize) -> *mut c_void {
        let block = __libc_memalign(align, size);
        handed_out(block, size);
        block
    }

    fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
        let block = libc::aligned_alloc(align, size);
        handed_out(block, size);
        block
    }

    fn posix_memalign(block: *mut *mut c_void, align: usize, size: usize) -> c_int {
        let result = libc::posix_memalign(block, align, size);
        if result == 0 {
            handed_out(*block, size);
            if let Some(call) = Call::begin() {
                call.writes(block, size_of::<*mut c_void>());
            }
        }
        result
    }

    fn valloc(size: usize) -> *mut c_void {
        let block = __libc_memalign(crate::memory::PAGE, size);
        handed_out(block, size);
        block
    }

    fn pvalloc(size: usize) -> *mut c_void {
        let size = size.next_multiple_of(crate::memory::PAGE).max(crate::memory::PAGE);
        let block = __libc_memalign(crate::memory::PAGE, size);
        handed_out(block, size);
        block
    }
}

/// C++'s own operators: they are functions of its library, which allocate by
/// `malloc`. What they do inside is not looked at.
macro_rules! operators {
    ($(new $new:ident($($arg:ident: $type:ty),*) $size:ident;)* $(delete $delete:ident($($rest:ident: $other:ty),*);)*) => {
        mod real {
            use std::ffi::c_void;
            unsafe extern "C" {
                $(pub(super) fn $new($($arg: $type),*) -> *mut c_void;)*
                $(pub(super) fn $delete(block: *mut c_void $(, $rest: $other)*);)*
            }
        }
        interpose! {
            $(fn $new($($arg: $type),*) -> *mut c_void {
                let Some(call) = Call::begin() else {
                    return real::$new($($arg),*);
                };
                let inside = Visit::begin();
                let block = real::$new($($arg),*);
                drop(inside);
                allocated(&call, block, $size);
                block
            })*
            $(fn $delete(block: *mut c_void $(, $rest: $other)*) {
                let Some(call) = Call::begin() else {
                    return real::$delete(block $(, $rest)*);
                };
                if block.is_null() || freeing(&call, block, Then::GoesBack).is_null() {
                    return;
                }
                let inside = Visit::begin();
                real::$delete(block $(, $rest)*);
                drop(inside);
            })*
        }
    };
}

operators! {
    new _Znwm(size: usize) size;
    new _Znam(size: usize) size;
    new _ZnwmRKSt9nothrow_t(size: usize, nothrow: *const c_void) size;
    new _ZnamRKSt9nothrow_t(size: usize, nothrow: *const c_void) size;
    new _ZnwmSt11align_val_t(size: usize, align: usize) size;
    new _ZnamSt11align_val_t(size: usize, align: usize) size;
    new _ZnwmSt11align_val_tRKSt9nothrow_t(size: usize, align: usize, nothrow: *const c_void) size;
    new _ZnamSt11align_val_tRKSt9nothrow_t(size: usize, align: usize, nothrow: *const c_void) size;
    delete _ZdlPv();
    delete _ZdaPv();
    delete _ZdlPvm(size: usize);
    delete _ZdaPvm(size: usize);
    delete _ZdlPvRKSt9nothrow_t(nothrow: *const c_void);
    delete _ZdaPvRKSt9nothrow_t(nothrow: *const c_void);
    delete _ZdlPvSt11align_val_t(align: usize);
    delete _ZdaPvSt11align_val_t(align: usize);
    delete _ZdlPvmSt11align_val_t(size: usize, align: usize);
    delete _ZdaPvmSt11align_val_t(size: usize, align: usize);
    delete _ZdlPvSt11align_val_tRKSt9nothrow_t(align: usize, nothrow: *const c_void);
    delete _ZdaPvSt11align_val_tRKSt9nothrow_t(align: usize, nothrow: *const c_void);
}
