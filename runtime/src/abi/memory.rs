//! Accesses of any size, and the compiler's own memory functions.

use std::ffi::{c_int, c_void};

use super::{caller, is_off, shown, with_caller};
use crate::access::Access;
use crate::control::{self, Turn};
use crate::detector;
use crate::patch::Patch;
use crate::report::VPTR;
use crate::thread::Visit;
use racehound_detect::AccessKind;

/// Lets an access be announced, if somebody watches.
fn announce(address: *const c_void, size: usize, kind: AccessKind, place: usize) {
    if control::is_watching()
        && let Some(turn) = Turn::here(place & !VPTR)
    {
        turn.access(address as usize, size, kind.is_write());
    }
}

fn access(address: *const c_void, size: usize, kind: AccessKind, place: usize) {
    announce(address, size, kind, place);
    if is_off() {
        return;
    }
    let access = Access {
        address: address as usize,
        size,
        kind,
        place,
    };
    detector::range(&Visit::begin(), &access);
}

with_caller! {
    fn __tsan_read_range => read_range;
    fn __tsan_write_range => write_range;
    fn __tsan_vptr_update => vptr_update;
    fn __tsan_memcpy => copy;
    fn __tsan_memmove => copy;
    fn __tsan_memset => set;
}

/// The name of the C library's function that one of these stands for, by its place in
/// stacks.
pub(crate) fn name_at(place: usize) -> Option<&'static str> {
    // Longer than any of them is.
    const LENGTH: usize = 40;
    let functions: [(extern "C" fn(), &str); 3] = [
        (__tsan_memcpy, "memcpy"),
        (__tsan_memmove, "memmove"),
        (__tsan_memset, "memset"),
    ];
    let before = functions.iter().filter(|(f, _)| *f as usize <= place);
    let (function, name) = before.max_by_key(|(f, _)| *f as usize)?;
    (place - *function as usize <= LENGTH).then_some(*name)
}

/// What takes their place where nobody wants to know of accesses.
pub(crate) fn plain() -> [Patch; 6] {
    let returns = |function: extern "C" fn()| Patch::returns(function as usize);
    let jumps =
        |function: extern "C" fn(), to: *const ()| Patch::jumps(function as usize, to as usize);
    [
        returns(__tsan_read_range),
        returns(__tsan_write_range),
        returns(__tsan_vptr_update),
        jumps(__tsan_memcpy, plain_copy as *const ()),
        jumps(__tsan_memmove, plain_copy as *const ()),
        jumps(__tsan_memset, plain_set as *const ()),
    ]
}

unsafe extern "C" fn read_range(address: *const c_void, size: usize) {
    access(address, size, AccessKind::Read, caller());
}

unsafe extern "C" fn write_range(address: *const c_void, size: usize) {
    access(address, size, AccessKind::Write, caller());
}

/// `__tsan_read_range_pc` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_read_range_pc(address: *const c_void, size: usize, place: usize) {
    access(address, size, AccessKind::Read, place);
}

/// `__tsan_write_range_pc` of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_write_range_pc(address: *const c_void, size: usize, place: usize) {
    access(address, size, AccessKind::Write, place);
}

macro_rules! with_place {
    ($($name:ident $size:literal $kind:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the ABI.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(address: *const c_void, place: usize) {
                access(address, $size, AccessKind::$kind, place);
            }
        )*
    };
}

with_place! {
    __tsan_read1_pc 1 Read;
    __tsan_read2_pc 2 Read;
    __tsan_read4_pc 4 Read;
    __tsan_read8_pc 8 Read;
    __tsan_read16_pc 16 Read;
    __tsan_write1_pc 1 Write;
    __tsan_write2_pc 2 Write;
    __tsan_write4_pc 4 Write;
    __tsan_write8_pc 8 Write;
    __tsan_write16_pc 16 Write;
}

/// Setting the table of virtual functions to what it is already is no write.
unsafe extern "C" fn vptr_update(address: *const *const c_void, new: *const c_void) {
    // SAFETY: the program is about to write it.
    if unsafe { address.read_volatile() } != new {
        access(address.cast(), 8, AccessKind::Write, caller() | VPTR);
    }
}

/// Looks at an access by a function that shows in stacks, as the call would that it stands
/// for.
fn accessed<const WRITE: bool>(visit: &Visit, address: usize, size: usize, place: usize) {
    if detector::settles::<WRITE>(address, size, place) {
        return;
    }
    let access = Access {
        address,
        size,
        kind: match WRITE {
            true => AccessKind::Write,
            false => AccessKind::Read,
        },
        place,
    };
    detector::range(visit, &access);
}

unsafe extern "C" fn copy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
    announce(from, size, AccessKind::Read, caller());
    announce(to, size, AccessKind::Write, caller());
    if !is_off() {
        shown(|visit, place| {
            accessed::<false>(visit, from as usize, size, place);
            accessed::<true>(visit, to as usize, size, place);
        });
    }
    // SAFETY: what the program asked for.
    unsafe { plain_copy(to, from, size) }
}

unsafe extern "C" fn plain_copy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
    // SAFETY: what the program asked for.
    unsafe { libc::memmove(to, from, size) }
}

unsafe extern "C" fn set(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void {
    announce(to, size, AccessKind::Write, caller());
    if !is_off() {
        shown(|visit, place| accessed::<true>(visit, to as usize, size, place));
    }
    // SAFETY: what the program asked for.
    unsafe { plain_set(to, byte, size) }
}

unsafe extern "C" fn plain_set(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void {
    // SAFETY: what the program asked for.
    unsafe { libc::memset(to, byte, size) }
}
