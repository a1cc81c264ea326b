//! Processes: copied, and ended at once. See [`fork`](crate::fork); `fork` itself
//! tells of itself, but for where it is called, and so does `exit`.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::{Call, interpose};
use crate::{control, fork, record};

type Start = unsafe extern "C" fn(*mut c_void) -> c_int;

mod real {
    use std::ffi::{c_char, c_int, c_uint, c_void};

    unsafe extern "C" {
        pub(super) fn clone(
            start: super::Start,
            stack: *mut c_void,
            flags: c_int,
            argument: *mut c_void,
            parent_id: *mut libc::pid_t,
            storage: *mut c_void,
            child_id: *mut libc::pid_t,
        ) -> c_int;
        pub(super) fn _Fork() -> libc::pid_t;
        pub(super) fn __assert_fail(
            condition: *const c_char,
            file: *const c_char,
            line: c_uint,
            function: *const c_char,
        ) -> !;
    }
}

/// Waits for a child.
fn waits(
    (kind, id): (libc::idtype_t, u32),
    options: c_int,
    status: *const c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    if options & libc::WNOHANG == 0
        && let Some(turn) = call.turn()
    {
        turn.await_child(kind, id, options);
    }
    let result = real();
    if result > 0 {
        call.writes(status, size_of::<c_int>());
    }
    result
}

/// Makes a process that runs a file.
unsafe fn spawns(
    process: *const libc::pid_t,
    file: *const c_char,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = Call::begin() else {
        return real();
    };
    call.uses_names();
    control::processor::loosen_me();
    let result = real();
    if result == 0 {
        // SAFETY: the real function could read it.
        unsafe { call.reads_text(file) };
        call.writes(process, size_of::<libc::pid_t>());
        control::children::begin();
    }
    result
}

/// Whom `waitpid` waits for.
fn whom(child: libc::pid_t) -> (libc::idtype_t, u32) {
    match child {
        -1 => (libc::P_ALL, 0),
        1.. => (libc::P_PID, child as u32),
        _ => (libc::P_PGID, child.unsigned_abs()),
    }
}

/// What the child of `clone` is told.
struct Beginning {
    start: Start,
    argument: *mut c_void,
}

unsafe extern "C" fn begin(beginning: *mut c_void) -> c_int {
    fork::in_child();
    // SAFETY: on the stack of `clone` below, of which the child has a copy.
    let Beginning { start, argument } = unsafe { &*beginning.cast::<Beginning>() };
    // SAFETY: what the program asked for.
    unsafe { start(*argument) }
}

/// Nothing is reported here, but what was recorded is complete.
unsafe fn end_at_once(code: c_int) -> ! {
    if Call::begin().is_some() {
        record::finish();
        control::gives_up();
    }
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// The program gives up: what there is to say of its execution is said first. Others may still
/// come before that: what one has found wrong another may be about to finish.
fn gives_up() {
    if let Some(call) = Call::begin() {
        if let Some(turn) = call.turn() {
            turn.touch();
        }
        control::gives_up();
    }
}

/// The program becomes another one. Some of these functions take any number of
/// arguments, so a few instructions come here and go on to the real one.
#[cfg(not(test))]
macro_rules! becomes_another {
    ($($name:literal),*) => {
        $(
            std::arch::global_asm!(
                ".text",
                concat!(".globl __interceptor_", $name),
                concat!(".type __interceptor_", $name, ", @function"),
                concat!("__interceptor_", $name, ":"),
                "push rdi\n push rsi\n push rdx\n push rcx\n push r8\n push r9\n push rax",
                "call __racehound_becomes_another",
                "pop rax\n pop r9\n pop r8\n pop rcx\n pop rdx\n pop rsi\n pop rdi",
                concat!("jmp ", $name),
            );
        )*
    };
}

#[cfg(not(test))]
becomes_another!(
    "execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve", "execveat"
);

#[unsafe(no_mangle)]
extern "C" fn __racehound_becomes_another() {
    if control::is_on() && Call::begin().is_some() {
        control::processor::loosen_me();
        control::may_end();
    }
}

interpose! {
    fn abort() -> ! {
        gives_up();
        libc::abort()
    }

    fn __assert_fail(
        condition: *const c_char,
        file: *const c_char,
        line: c_uint,
        function: *const c_char,
    ) -> ! {
        gives_up();
        real::__assert_fail(condition, file, line, function)
    }

    fn wait(status: *mut c_int) -> libc::pid_t {
        waits(whom(-1), libc::WEXITED, status, || libc::wait(status))
    }

    fn waitpid(child: libc::pid_t, status: *mut c_int, options: c_int) -> libc::pid_t {
        waits(whom(child), options | libc::WEXITED, status, || {
            libc::waitpid(child, status, options)
        })
    }

    fn wait4(
        child: libc::pid_t,
        status: *mut c_int,
        options: c_int,
        used: *mut libc::rusage,
    ) -> libc::pid_t {
        waits(whom(child), options | libc::WEXITED, status, || {
            libc::wait4(child, status, options, used)
        })
    }

    fn waitid(
        kind: libc::idtype_t,
        which: libc::id_t,
        about: *mut libc::siginfo_t,
        options: c_int,
    ) -> c_int {
        waits((kind, which), options, std::ptr::null(), || {
            libc::waitid(kind, which, about, options)
        })
    }

    fn system(command: *const c_char) -> c_int {
        let Some(call) = Call::begin() else {
            return libc::system(command);
        };
        call.reads_text(command);
        match call.turn() {
            Some(turn) => turn.patiently(|| {
                control::processor::loosen_me();
                libc::system(command)
            }),
            None => libc::system(command),
        }
    }

    fn posix_spawn(
        process: *mut libc::pid_t,
        path: *const c_char,
        actions: *const libc::posix_spawn_file_actions_t,
        attributes: *const libc::posix_spawnattr_t,
        arguments: *const *mut c_char,
        environment: *const *mut c_char,
    ) -> c_int {
        spawns(process, path, || {
            libc::posix_spawn(process, path, actions, attributes, arguments, environment)
        })
    }

    fn posix_spawnp(
        process: *mut libc::pid_t,
        file: *const c_char,
        actions: *const libc::posix_spawn_file_actions_t,
        attributes: *const libc::posix_spawnattr_t,
        arguments: *const *mut c_char,
        environment: *const *mut c_char,
    ) -> c_int {
        spawns(process, file, || {
            libc::posix_spawnp(process, file, actions, attributes, arguments, environment)
        })
    }

    fn _exit(code: c_int) -> ! {
        end_at_once(code)
    }

    fn _Exit(code: c_int) -> ! {
        end_at_once(code)
    }

    /// The child of `vfork` runs on the parent's stack and memory, which our
    /// bookkeeping cannot follow. A true fork does all that the standard promises.
    fn vfork() -> libc::pid_t {
        match Call::begin() {
            Some(call) => fork::requested(call.place, || libc::fork()),
            None => libc::fork(),
        }
    }

    fn fork() -> libc::pid_t {
        match Call::begin() {
            Some(call) => fork::requested(call.place, || libc::fork()),
            None => libc::fork(),
        }
    }

    fn _Fork() -> libc::pid_t {
        match Call::begin() {
            Some(call) => fork::requested(call.place, || fork::around(|| real::_Fork())),
            None => real::_Fork(),
        }
    }

    fn clone(
        start: Start,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        parent_id: *mut libc::pid_t,
        storage: *mut c_void,
        child_id: *mut libc::pid_t,
    ) -> c_int {
        // Whoever shares our memory is a thread that nobody has told us of.
        let copies = flags & libc::CLONE_VM == 0;
        let Some(_call) = Call::begin().filter(|_| copies) else {
            return real::clone(start, stack, flags, argument, parent_id, storage, child_id);
        };
        let mut beginning = Beginning { start, argument };
        let argument = (&raw mut beginning).cast();
        fork::before();
        let result = real::clone(begin, stack, flags, argument, parent_id, storage, child_id);
        fork::in_parent();
        result
    }
}
