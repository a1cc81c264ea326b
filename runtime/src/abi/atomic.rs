//! Atomic operations.
//!
//! An operation and what it does to the order of threads happen together, with
//! the location's [`Cell`] held: who reads a value learns exactly what was handed
//! on with it. The rules are those of `racehound_detect::order`: release
//! sequences and fences as in C++20.

pub(crate) mod plain;

use std::ffi::c_int;
use std::sync::atomic::{Ordering, fence};

use racehound_detect::AccessKind;
use racehound_detect::order::AtomicOp;
use racehound_trace::MemoryOrder;

use super::loads::Load;
use super::{caller, with_caller};
use crate::access::{self, Access};
use crate::cell::{self, Cell};
use crate::control::Turn;
use crate::detector::{self, Engine};
use crate::range;
use crate::rule::{AccuLock, FastTrack, Rule};
use crate::shared_memory::known_as;
use crate::thread::Visit;
use crate::{general, messages, options, record, report, shadow, sync};

/// The memory order that a number stands for. Unknown numbers are the strongest.
fn order(number: c_int) -> MemoryOrder {
    match number & 0x7fff {
        _ if options::get().force_seq_cst_atomics => MemoryOrder::SeqCst,
        0 => MemoryOrder::Relaxed,
        1 | 2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

/// What an operation turned out to be.
struct Done<T> {
    value: T,
    op: AtomicOp,
    order: MemoryOrder,
}

/// Carries an operation out, whatever its sort and size, and says what it was. That is
/// all that differs between them: the rest is compiled once.
type Deed<'a> = &'a mut dyn FnMut() -> (AtomicOp, MemoryOrder);

/// Carries an operation out and accounts for it.
fn perform<T>(address: usize, size: usize, operation: impl Fn() -> Done<T>) -> T {
    let mut result = None;
    accounted((known_as(address), size), &mut || {
        let Done { value, op, order } = operation();
        result = Some(value);
        (op, order)
    });
    result.expect("an operation is carried out")
}

fn accounted(at: (usize, usize), operation: Deed) {
    match Turn::here(caller()) {
        Some(turn) => turn.atomic(at, false, || account_for(at, operation)),
        None => account_for(at, operation),
    }
}

fn account_for(at: (usize, usize), operation: Deed) {
    match detector::engine() {
        Engine::Off => _ = operation(),
        Engine::FastTrack => settle::<FastTrack>(&Visit::begin(), at, caller(), operation),
        Engine::AccuLock => settle::<AccuLock>(&Visit::begin(), at, caller(), operation),
        Engine::General => as_event(at, operation),
    }
}

/// Carries an operation out that is an event, and nothing else.
fn as_event(at: (usize, usize), operation: Deed) {
    let place = caller();
    let visit = Visit::begin();
    let thread = visit.thread();
    if thread.ignore != 0 || thread.ignore_sync != 0 || !record::is_active() {
        operation();
        return;
    }
    let context = thread.context(place);
    general::atomically(thread, context, |thread| {
        let (op, order) = operation();
        let op = record::atomic_op(at, op, order);
        record::atomic(thread, place, op);
        op
    });
}

/// Carries a load out and accounts for it.
fn perform_load<T>(address: usize, size: usize, order: MemoryOrder, value: impl Fn() -> T) -> T {
    let at = (known_as(address), size);
    let load = || {
        load_again(at, order, &value).unwrap_or_else(|| {
            let mut result = None;
            account_for(at, &mut || {
                result = Some(value());
                (AtomicOp::Load, order)
            });
            result.expect("a load is carried out")
        })
    };
    match Turn::here(caller()) {
        Some(turn) => turn.atomic(at, true, load),
        None => load(),
    }
}

/// A load of what the thread has loaded before in this epoch, if nobody has been
/// there since: there is nothing to learn, and nothing to remember. So threads
/// that wait for a value do not keep others from storing it.
#[inline]
fn load_again<T>(at: (usize, usize), order: MemoryOrder, value: impl Fn() -> T) -> Option<T> {
    let visit = Visit::of_known()?;
    let thread = visit.thread();
    let group = shadow::existing(at.0)?;
    let number = shadow::load(group)[0].as_cell()?;
    let version = cell::version(number)?;
    let load = Load {
        at,
        cell: (number, version),
        epoch: thread.floor(),
        acquires: order.acquires(),
    };
    if !thread.loads.includes(load) {
        return None;
    }
    let value = value();
    fence(Ordering::Acquire);
    let same =
        cell::version(number) == Some(version) && shadow::load(group)[0].as_cell() == Some(number);
    let waiting = same && thread.loads.is_waiting();
    drop(visit);
    if waiting {
        std::thread::yield_now();
    }
    same.then_some(value)
}

/// An operation that has no effect of its own, for tests.
#[cfg(test)]
pub(crate) fn account<R: Rule>(
    visit: &Visit,
    at: (usize, usize),
    place: usize,
    op: AtomicOp,
    order: MemoryOrder,
) {
    settle::<R>(visit, at, place, &mut || (op, order));
}

fn settle<R: Rule>(visit: &Visit, (address, size): (usize, usize), place: usize, operation: Deed) {
    let thread = visit.thread();
    if !shadow::is_user(address) || (thread.ignore != 0 && thread.ignore_sync != 0) {
        operation();
        return;
    }
    let group = shadow::group(address);
    // Before the cell is held: it may take a sweep to get one.
    let stamp = thread.stamp(visit.hot(), place);
    let mut cell = Cell::of(group, &mut thread.spare);
    let (op, order) = operation();
    if record::is_active() {
        record::atomic(thread, place, record::atomic_op((address, size), op, order));
    }
    let sync = thread.ignore_sync == 0;
    if sync
        && op != AtomicOp::Store
        && let Some(message) = messages::find(&mut cell, address)
    {
        thread.synchronise(|sync, t| sync.before_atomic(t, op, order, message));
    }
    let kind = match op {
        AtomicOp::Load => AccessKind::AtomicRead,
        AtomicOp::Store | AtomicOp::Rmw => AccessKind::AtomicWrite,
    };
    let mut race = None;
    if thread.ignore == 0 {
        let bytes = (((1u32 << size.min(8)) - 1) << (address & 7)) as u8;
        let access = Access {
            address,
            size,
            kind,
            place,
        };
        if !access::touches::<R>(thread, &mut cell, (stamp, bytes, kind)) {
            let at = address & !7;
            (cell, race) = access::hold::<R>(thread, cell, group, at, bytes, stamp, &access);
        }
    }
    if sync && op != AtomicOp::Load {
        let mut message = messages::find(&mut cell, address);
        if message.is_none() && (order.releases() || thread.clock.has_fenced()) {
            message = Some(messages::add(&mut cell, address, &mut thread.messages));
        }
        if let Some(message) = message {
            thread.synchronise(|sync, t| sync.after_atomic(t, op, order, message));
        }
    }
    // A recording has every load.
    let repeats = op == AtomicOp::Load && !record::is_active();
    if repeats && size <= 8 && thread.ignore == 0 && sync {
        thread.loads.note(Load {
            at: (address, size),
            cell: cell.version_after(),
            epoch: thread.floor(),
            acquires: order.acquires(),
        });
    }
    cell.finish(group, &mut thread.spare);
    if let Some(race) = race {
        report::race(thread, race);
    }
    if size > 8 {
        let rest = Access {
            address: address + 8,
            size: size - 8,
            kind,
            place,
        };
        range::of::<R>(visit, &rest);
    }
}

macro_rules! atomics {
    ($($int:ty, $atomic:ty, $module:ident, $load:ident $store:ident $exchange:ident
       $add:ident $sub:ident $and:ident $or:ident $xor:ident $nand:ident
       $strong:ident $weak:ident $val:ident;)*) => {
        $(
            mod $module {
                use super::*;

                const SIZE: usize = size_of::<$int>();

                with_caller! {
                    fn $load => load;
                    fn $store => store;
                    fn $exchange => exchange;
                    fn $add => add;
                    fn $sub => sub;
                    fn $and => and;
                    fn $or => or;
                    fn $xor => xor;
                    fn $nand => nand;
                    fn $strong => compare_exchange;
                    fn $weak => compare_exchange;
                    fn $val => compare_exchange_value;
                }

                unsafe fn at<'a>(address: *mut $int) -> &'a $atomic {
                    // SAFETY: the program's atomic, aligned as atomics are.
                    unsafe { &*address.cast() }
                }

                fn rmw(address: *mut $int, mo: c_int, f: impl Fn(&$atomic) -> $int) -> $int {
                    perform(address as usize, SIZE, || Done {
                        // SAFETY: the program's atomic.
                        value: f(unsafe { at(address) }),
                        op: AtomicOp::Rmw,
                        order: order(mo),
                    })
                }

                unsafe extern "C" fn load(address: *mut $int, mo: c_int) -> $int {
                    perform_load(address as usize, SIZE, order(mo), || {
                        // SAFETY: the program's atomic.
                        unsafe { at(address) }.load(Ordering::SeqCst)
                    })
                }

                unsafe extern "C" fn store(address: *mut $int, value: $int, mo: c_int) {
                    perform(address as usize, SIZE, || Done {
                        // SAFETY: the program's atomic.
                        value: unsafe { at(address) }.store(value, match order(mo) {
                            MemoryOrder::SeqCst => Ordering::SeqCst,
                            _ => Ordering::Release,
                        }),
                        op: AtomicOp::Store,
                        order: order(mo),
                    });
                }

                unsafe extern "C" fn exchange(address: *mut $int, value: $int, mo: c_int) -> $int {
                    rmw(address, mo, |a| a.swap(value, Ordering::SeqCst))
                }

                unsafe extern "C" fn add(address: *mut $int, value: $int, mo: c_int) -> $int {
                    rmw(address, mo, |a| a.fetch_add(value, Ordering::SeqCst))
                }

                unsafe extern "C" fn sub(address: *mut $int, value: $int, mo: c_int) -> $int {
                    rmw(address, mo, |a| a.fetch_sub(value, Ordering::SeqCst))
                }

                unsafe extern "C" fn and(address: *mut $int, value: $int, mo: c_int) -> $int {
                    rmw(address, mo, |a| a.fetch_and(value, Ordering::SeqCst))
                }

                unsafe extern "C" fn or(address: *mut $int, value: $int, mo: c_int) -> $int {
                    rmw(address, mo, |a| a.fetch_or(value, Ordering::SeqCst))
                }

                unsafe extern "C" fn xor(address: *mut $int, value: $int, mo: c_int) -> $int {
                    rmw(address, mo, |a| a.fetch_xor(value, Ordering::SeqCst))
                }

                unsafe extern "C" fn nand(address: *mut $int, value: $int, mo: c_int) -> $int {
                    rmw(address, mo, |a| a.fetch_nand(value, Ordering::SeqCst))
                }

                fn exchange_if(
                    address: *mut $int,
                    expected: $int,
                    new: $int,
                    (success, failure): (c_int, c_int),
                ) -> Result<$int, $int> {
                    perform(address as usize, SIZE, || {
                        // SAFETY: the program's atomic.
                        let value = unsafe { at(address) }.compare_exchange(
                            expected,
                            new,
                            Ordering::SeqCst,
                            Ordering::SeqCst,
                        );
                        match value {
                            Ok(_) => Done { value, op: AtomicOp::Rmw, order: order(success) },
                            Err(_) => Done { value, op: AtomicOp::Load, order: order(failure) },
                        }
                    })
                }

                unsafe extern "C" fn compare_exchange(
                    address: *mut $int,
                    expected: *mut $int,
                    new: $int,
                    success: c_int,
                    failure: c_int,
                ) -> bool {
                    // SAFETY: the program's own variable.
                    let wanted = unsafe { expected.read() };
                    match exchange_if(address, wanted, new, (success, failure)) {
                        Ok(_) => true,
                        Err(seen) => {
                            // SAFETY: the same.
                            unsafe { expected.write(seen) };
                            false
                        }
                    }
                }

                unsafe extern "C" fn compare_exchange_value(
                    address: *mut $int,
                    expected: $int,
                    new: $int,
                    success: c_int,
                    failure: c_int,
                ) -> $int {
                    match exchange_if(address, expected, new, (success, failure)) {
                        Ok(seen) | Err(seen) => seen,
                    }
                }
            }
        )*
    };
}

/// Gives another macro all sizes, each with its type and the names of its operations.
macro_rules! of_all_sizes {
    ($then:ident) => {
        $then! {
    u8, std::sync::atomic::AtomicU8, bits8, __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
        __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or
        __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_strong
        __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val;
    u16, std::sync::atomic::AtomicU16, bits16, __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
        __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or
        __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_strong
        __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val;
    u32, std::sync::atomic::AtomicU32, bits32, __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
        __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or
        __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_strong
        __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val;
    u64, std::sync::atomic::AtomicU64, bits64, __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
        __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or
        __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_strong
        __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val;
    u128, wide::AtomicU128, bits128, __tsan_atomic128_load __tsan_atomic128_store __tsan_atomic128_exchange
        __tsan_atomic128_fetch_add __tsan_atomic128_fetch_sub __tsan_atomic128_fetch_and __tsan_atomic128_fetch_or
        __tsan_atomic128_fetch_xor __tsan_atomic128_fetch_nand __tsan_atomic128_compare_exchange_strong
        __tsan_atomic128_compare_exchange_weak __tsan_atomic128_compare_exchange_val;
        }
    };
}
use of_all_sizes;

of_all_sizes!(atomics);

/// Sixteen bytes at once, of which the standard library knows nothing.
mod wide {
    use std::cell::UnsafeCell;
    use std::sync::atomic::Ordering;

    use crate::memory;

    #[repr(C, align(16))]
    pub(super) struct AtomicU128(UnsafeCell<u128>);

    impl AtomicU128 {
        pub(super) fn compare_exchange(
            &self,
            old: u128,
            new: u128,
            _success: Ordering,
            _failure: Ordering,
        ) -> Result<u128, u128> {
            // SAFETY: aligned.
            let seen = unsafe { memory::compare_exchange_16(self.0.get(), old, new) };
            match seen == old {
                true => Ok(seen),
                false => Err(seen),
            }
        }

        pub(super) fn load(&self, order: Ordering) -> u128 {
            match self.compare_exchange(0, 0, order, order) {
                Ok(seen) | Err(seen) => seen,
            }
        }

        fn update(&self, f: impl Fn(u128) -> u128) -> u128 {
            let mut old = self.load(Ordering::SeqCst);
            loop {
                match self.compare_exchange(old, f(old), Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => return old,
                    Err(seen) => old = seen,
                }
            }
        }

        pub(super) fn store(&self, value: u128, _order: Ordering) {
            self.update(|_| value);
        }

        pub(super) fn swap(&self, value: u128, _order: Ordering) -> u128 {
            self.update(|_| value)
        }

        pub(super) fn fetch_add(&self, value: u128, _order: Ordering) -> u128 {
            self.update(|old| old.wrapping_add(value))
        }

        pub(super) fn fetch_sub(&self, value: u128, _order: Ordering) -> u128 {
            self.update(|old| old.wrapping_sub(value))
        }

        pub(super) fn fetch_and(&self, value: u128, _order: Ordering) -> u128 {
            self.update(|old| old & value)
        }

        pub(super) fn fetch_or(&self, value: u128, _order: Ordering) -> u128 {
            self.update(|old| old | value)
        }

        pub(super) fn fetch_xor(&self, value: u128, _order: Ordering) -> u128 {
            self.update(|old| old ^ value)
        }

        pub(super) fn fetch_nand(&self, value: u128, _order: Ordering) -> u128 {
            self.update(|old| !(old & value))
        }
    }
}

with_caller! {
    fn __tsan_atomic_thread_fence => thread_fence;
}

extern "C" fn thread_fence(mo: c_int) {
    std::sync::atomic::fence(Ordering::SeqCst);
    if detector::engine() != Engine::Off {
        sync::fence(&Visit::begin(), order(mo), caller());
    }
}

/// `__tsan_atomic_signal_fence` of the ABI: the compiler has done its part.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_mo: c_int) {}
