//! Functions that keep something from one call to the next, for all threads alike.
//!
//! What they keep is in the C library, where no access of its own is seen. Each of these
//! things has eight bytes of ours in its place: a call that changes it writes them, one
//! that only looks reads them. So two threads that have `strtok` go through their texts at
//! the same time are told of, whoever wins.
//!
//! Who changes the environment has a lock of the C library for that, and who looks into it
//! has not: so changes are like atomic ones.

use std::ffi::{c_char, c_int, c_long, c_uint};

use super::{AccessKind, Call, interpose};

mod real {
    use std::ffi::{c_char, c_int, c_long};

    unsafe extern "C" {
        pub(super) fn strtok(text: *mut c_char, set: *const c_char) -> *mut c_char;
        pub(super) fn asctime(time: *const libc::tm) -> *mut c_char;
        pub(super) fn ctime(time: *const libc::time_t) -> *mut c_char;
        pub(super) fn lrand48() -> c_long;
        pub(super) fn mrand48() -> c_long;
        pub(super) fn drand48() -> f64;
        pub(super) fn srand48(seed: c_long);
        pub(super) fn ttyname(fd: c_int) -> *mut c_char;
        pub(super) fn secure_getenv(name: *const c_char) -> *mut c_char;
        pub(super) fn gethostbyname(name: *const c_char) -> *mut libc::hostent;
    }
}

/// What is kept.
#[derive(Clone, Copy)]
enum Kept {
    RestOfText,
    TimeAsText,
    Randomness48,
    Locale,
    User,
    Group,
    Host,
    Terminal,
    Environment,
}

const NAMES: [&str; 9] = [
    "what strtok goes through",
    "the text of asctime and ctime",
    "the state of drand48",
    "the locale",
    "the result of getpwnam and getpwuid",
    "the result of getgrnam and getgrgid",
    "the result of gethostbyname",
    "the result of ttyname",
    "the environment",
];

/// Only their addresses count.
static CELLS: [u64; NAMES.len()] = [0; NAMES.len()];

/// What is kept in the place of an address.
pub(crate) fn describe(address: usize) -> Option<&'static str> {
    let offset = address.checked_sub(CELLS.as_ptr() as usize)?;
    NAMES.get(offset / size_of::<u64>()).copied()
}

fn changes<R>(kept: Kept, real: impl FnOnce() -> R) -> R {
    if let Some(call) = Call::begin() {
        call.writes(&raw const CELLS[kept as usize], size_of::<u64>());
    }
    real()
}

fn looks_at<R>(kept: Kept, real: impl FnOnce() -> R) -> R {
    if let Some(call) = Call::begin() {
        call.reads(&raw const CELLS[kept as usize], size_of::<u64>());
    }
    real()
}

/// A change that is in conflict with who looks, and not with other changes.
fn changes_by_turns<R>(kept: Kept, real: impl FnOnce() -> R) -> R {
    if let Some(call) = Call::begin() {
        let cell = &raw const CELLS[kept as usize];
        call.access_thoroughly(cell as usize, size_of::<u64>(), AccessKind::AtomicWrite);
    }
    real()
}

interpose! {
    fn getenv(name: *const c_char) -> *mut c_char {
        looks_at(Kept::Environment, || libc::getenv(name))
    }

    fn secure_getenv(name: *const c_char) -> *mut c_char {
        looks_at(Kept::Environment, || real::secure_getenv(name))
    }

    fn setenv(name: *const c_char, value: *const c_char, replace: c_int) -> c_int {
        changes_by_turns(Kept::Environment, || libc::setenv(name, value, replace))
    }

    fn unsetenv(name: *const c_char) -> c_int {
        changes_by_turns(Kept::Environment, || libc::unsetenv(name))
    }

    fn putenv(text: *mut c_char) -> c_int {
        changes_by_turns(Kept::Environment, || libc::putenv(text))
    }

    fn clearenv() -> c_int {
        changes_by_turns(Kept::Environment, || libc::clearenv())
    }

    fn strtok(text: *mut c_char, set: *const c_char) -> *mut c_char {
        changes(Kept::RestOfText, || real::strtok(text, set))
    }

    fn asctime(time: *const libc::tm) -> *mut c_char {
        changes(Kept::TimeAsText, || real::asctime(time))
    }

    fn ctime(time: *const libc::time_t) -> *mut c_char {
        changes(Kept::TimeAsText, || real::ctime(time))
    }

    fn lrand48() -> c_long {
        changes(Kept::Randomness48, || real::lrand48())
    }

    fn mrand48() -> c_long {
        changes(Kept::Randomness48, || real::mrand48())
    }

    fn drand48() -> f64 {
        changes(Kept::Randomness48, || real::drand48())
    }

    fn srand48(seed: c_long) {
        changes(Kept::Randomness48, || real::srand48(seed));
    }

    fn setlocale(category: c_int, name: *const c_char) -> *mut c_char {
        match name.is_null() {
            true => looks_at(Kept::Locale, || libc::setlocale(category, name)),
            false => changes(Kept::Locale, || libc::setlocale(category, name)),
        }
    }

    fn localeconv() -> *mut libc::lconv {
        looks_at(Kept::Locale, || libc::localeconv())
    }

    fn getpwnam(name: *const c_char) -> *mut libc::passwd {
        changes(Kept::User, || libc::getpwnam(name))
    }

    fn getpwuid(id: c_uint) -> *mut libc::passwd {
        changes(Kept::User, || libc::getpwuid(id))
    }

    fn getgrnam(name: *const c_char) -> *mut libc::group {
        changes(Kept::Group, || libc::getgrnam(name))
    }

    fn getgrgid(id: c_uint) -> *mut libc::group {
        changes(Kept::Group, || libc::getgrgid(id))
    }

    fn gethostbyname(name: *const c_char) -> *mut libc::hostent {
        changes(Kept::Host, || real::gethostbyname(name))
    }

    fn ttyname(fd: c_int) -> *mut c_char {
        changes(Kept::Terminal, || real::ttyname(fd))
    }
}
