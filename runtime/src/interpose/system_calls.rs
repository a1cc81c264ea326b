//! System calls that programs make themselves: by `syscall`, or by an instruction
//! of their own between calls of two hooks that LLVM's sanitizers have for each.
//!
//! What the kernel reads and writes for the program counts as the program's, and
//! descriptors order what they order in the functions of the C library. A thread
//! that was woken from its wait for a futex knows what its waker knew.

use std::ffi::{c_int, c_long};

use super::{Call, Errno, descriptors, futexes, interpose};
use crate::abi::is_off;
use crate::control::processor;
use crate::control::signalling::Set;
use crate::fork;
use crate::tls::hot;

type Arguments = [usize; 6];

/// Reads the parts of a buffer.
unsafe fn parts(parts: usize, count: usize) -> impl Iterator<Item = (*const libc::c_void, usize)> {
    let parts = parts as *const libc::iovec;
    // SAFETY: the program has that many of them.
    (0..count).map(move |i| unsafe {
        (
            (*parts.add(i)).iov_base.cast_const(),
            (*parts.add(i)).iov_len,
        )
    })
}

/// The program is about to make a system call.
unsafe fn before(call: &Call, number: c_long, arguments: &Arguments) {
    let [first, second, third, fourth, ..] = *arguments;
    let descriptor = first as c_int;
    match number {
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_sendto => {
            call.reads(second as *const u8, third);
            descriptors::hands_on(call, descriptor);
        }
        libc::SYS_writev | libc::SYS_pwritev => {
            // SAFETY: what the kernel was given.
            for (part, size) in unsafe { parts(second, third) } {
                call.reads(part, size);
            }
            descriptors::hands_on(call, descriptor);
        }
        libc::SYS_sendfile => {
            descriptors::learns(call, second as c_int);
            descriptors::hands_on(call, descriptor);
        }
        libc::SYS_tee => {
            descriptors::learns(call, descriptor);
            descriptors::hands_on(call, second as c_int);
        }
        libc::SYS_splice | libc::SYS_copy_file_range => {
            descriptors::learns(call, descriptor);
            descriptors::hands_on(call, third as c_int);
        }
        libc::SYS_close => descriptors::closing(call, descriptor),
        libc::SYS_sched_setaffinity => processor::leave_to_program(),
        libc::SYS_sched_getaffinity => processor::loosen_me(),
        libc::SYS_nanosleep => call.reads(first as *const u8, size_of::<libc::timespec>()),
        libc::SYS_clock_nanosleep => call.reads(third as *const u8, size_of::<libc::timespec>()),
        libc::SYS_futex => match futex_operation(second) {
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET | libc::FUTEX_UNLOCK_PI => {
                call.hands_on(first);
            }
            libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE | libc::FUTEX_WAKE_OP => {
                call.hands_on(first);
                call.hands_on(arguments[4]);
            }
            _ => {
                if fourth != 0 && waits_for_futex(second) {
                    call.reads(fourth as *const u8, size_of::<libc::timespec>());
                }
            }
        },
        _ if copies(number, arguments) => fork::before(),
        _ => {}
    }
}

/// It has made it.
unsafe fn after(call: &Call, number: c_long, arguments: &Arguments, result: isize) {
    let [first, second, third, fourth, ..] = *arguments;
    let descriptor = first as c_int;
    if result < 0 {
        return;
    }
    let done = result as usize;
    let writes = |to: usize, size: usize| call.writes(to as *const u8, size);
    match number {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_recvfrom => {
            descriptors::learns(call, descriptor);
            writes(second, done);
        }
        libc::SYS_sendfile => descriptors::learns(call, second as c_int),
        libc::SYS_tee | libc::SYS_splice | libc::SYS_copy_file_range => {
            descriptors::learns(call, descriptor);
        }
        libc::SYS_readv | libc::SYS_preadv => {
            descriptors::learns(call, descriptor);
            let mut left = done;
            // SAFETY: what the kernel was given.
            for (part, size) in unsafe { parts(second, third) } {
                call.writes(part, size.min(left));
                left -= size.min(left);
            }
        }
        libc::SYS_open
        | libc::SYS_openat
        | libc::SYS_creat
        | libc::SYS_socket
        | libc::SYS_timerfd_create
        | libc::SYS_epoll_create
        | libc::SYS_epoll_create1 => {
            descriptors::opened(call, done as c_int);
        }
        libc::SYS_inotify_init | libc::SYS_inotify_init1 => {
            descriptors::opened(call, done as c_int);
            descriptors::tells_of_names(done as c_int);
        }
        libc::SYS_signalfd | libc::SYS_signalfd4 => {
            if descriptor < 0 {
                descriptors::opened(call, done as c_int);
            }
            // SAFETY: the kernel has read it.
            let signals = unsafe { (second as *const Set).read() };
            descriptors::tells_of_signals(done as c_int, signals);
        }
        libc::SYS_eventfd | libc::SYS_eventfd2 => {
            descriptors::opened(call, done as c_int);
            descriptors::is_its_own_end(done as c_int);
        }
        libc::SYS_pipe | libc::SYS_pipe2 => {
            writes(first, size_of::<[c_int; 2]>());
            // SAFETY: the kernel has just written it.
            descriptors::opened_pair(call, unsafe { (first as *const [c_int; 2]).read() });
        }
        libc::SYS_dup => descriptors::copied(call, descriptor, done as c_int),
        libc::SYS_dup2 | libc::SYS_dup3 => descriptors::copied(call, descriptor, done as c_int),
        libc::SYS_clock_gettime | libc::SYS_clock_getres => {
            writes(second, size_of::<libc::timespec>());
        }
        libc::SYS_gettimeofday => writes(first, size_of::<libc::timeval>()),
        libc::SYS_getrandom | libc::SYS_getcwd => writes(first, done),
        libc::SYS_uname => writes(first, size_of::<libc::utsname>()),
        libc::SYS_stat | libc::SYS_lstat | libc::SYS_fstat => {
            writes(second, size_of::<libc::stat>());
        }
        libc::SYS_newfstatat => writes(third, size_of::<libc::stat>()),
        libc::SYS_readlink => writes(second, done),
        libc::SYS_readlinkat => writes(third, done),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => {
            descriptors::learns(call, descriptor);
            writes(second, done * size_of::<libc::epoll_event>());
        }
        libc::SYS_poll => writes(first, second * size_of::<libc::pollfd>()),
        libc::SYS_wait4 => writes(second, size_of::<c_int>()),
        libc::SYS_rt_sigprocmask if third != 0 => writes(third, fourth),
        libc::SYS_futex if waits_for_futex(second) => call.learns(first),
        _ => {}
    }
}

/// The process was copied.
fn copied(result: isize) {
    match result {
        0 => fork::in_child(),
        _ => fork::in_parent(),
    }
}

/// Whether a call copies the process.
fn copies(number: c_long, arguments: &Arguments) -> bool {
    let shares_memory = arguments[0] as c_int & libc::CLONE_VM != 0;
    matches!(number, libc::SYS_fork | libc::SYS_vfork)
        || number == libc::SYS_clone && !shares_memory
}

fn futex_operation(operation: usize) -> c_int {
    operation as c_int & libc::FUTEX_CMD_MASK
}

fn waits_for_futex(operation: usize) -> bool {
    let waits = [
        libc::FUTEX_WAIT,
        libc::FUTEX_WAIT_BITSET,
        libc::FUTEX_LOCK_PI,
        libc::FUTEX_TRYLOCK_PI,
        libc::FUTEX_WAIT_REQUEUE_PI,
    ];
    waits.contains(&futex_operation(operation))
}

mod real {
    use std::ffi::c_long;

    unsafe extern "C" {
        pub(super) fn syscall(
            number: c_long,
            first: usize,
            second: usize,
            third: usize,
            fourth: usize,
            fifth: usize,
            sixth: usize,
        ) -> c_long;
    }
}

interpose! {
    // Calls have at most six arguments; those that are not there are not looked
    // at. In stacks it is the program itself that makes the call, as it is where
    // it has hooks.
    fn syscall(
        number: c_long,
        first: usize,
        second: usize,
        third: usize,
        fourth: usize,
        fifth: usize,
        sixth: usize,
    ) -> c_long {
        let real = || real::syscall(number, first, second, third, fourth, fifth, sixth);
        let Some(call) = Call::around((*hot()).caller) else {
            return real();
        };
        let arguments = [first, second, third, fourth, fifth, sixth];
        before(&call, number, &arguments);
        let result = match call.turn() {
            Some(turn) if number == libc::SYS_futex => {
                match call.is_shared(first) && second as c_int & libc::FUTEX_PRIVATE_FLAG == 0 {
                    true => {
                        turn.touch();
                        turn.among_kin(real)
                    }
                    false => futexes::call(&turn, &arguments).unwrap_or_else(real),
                }
            }
            Some(turn) if number == libc::SYS_sched_yield => {
                turn.give_way();
                0
            }
            _ => real(),
        };
        let _errno = Errno::keep();
        match copies(number, &arguments) {
            true => copied(result as isize),
            false => after(&call, number, &arguments, result as isize),
        }
        result
    }
}

/// The call around which a hook was entered, and its number.
fn hooked() -> Option<(Call, c_long)> {
    // SAFETY: our own block, in which the hook has left both.
    let (caller, number) = unsafe { ((*hot()).caller, (*hot()).function) };
    let call = match is_off() {
        true => None,
        false => Call::around(caller),
    };
    Some((call?, number as c_long))
}

unsafe extern "C" fn pre(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) {
    if let Some((call, number)) = hooked() {
        // SAFETY: the program is about to make the call with these.
        unsafe { before(&call, number, &[a, b, c, d, e, f]) };
    }
}

unsafe extern "C" fn post(
    result: isize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) {
    let arguments = [a, b, c, d, e, f];
    // SAFETY: our own block, in which the hook has left it.
    if copies(unsafe { (*hot()).function } as c_long, &arguments) {
        // The runtime is busy from before the copy on.
        return copied(result);
    }
    if let Some((call, number)) = hooked() {
        // SAFETY: the program has made the call with these.
        unsafe { after(&call, number, &arguments, result) };
    }
}

/// The hooks of system calls by their names there, with their numbers.
macro_rules! hooks {
    ($($name:ident $number:expr;)*) => {
        $(
            hooks!(@ "__sanitizer_syscall_pre_impl_", $name, $number, pre);
            hooks!(@ "__sanitizer_syscall_post_impl_", $name, $number, post);
        )*
    };
    (@ $prefix:literal, $name:ident, $number:expr, $body:ident) => {
        const _: () = {
            #[unsafe(export_name = concat!($prefix, stringify!($name)))]
            #[unsafe(naked)]
            extern "C" fn hook() {
                // Caller and number go along out of band: the arguments stay as
                // they are.
                std::arch::naked_asm!(
                    "mov r11, qword ptr [rip + __racehound_hot@GOTTPOFF]",
                    "mov r10, qword ptr [rsp]",
                    "mov qword ptr fs:[r11 + 32], r10",
                    "mov qword ptr fs:[r11 + 40], {number}",
                    "jmp {body}",
                    number = const $number,
                    body = sym $body,
                )
            }
        };
    };
}

/// Calls by the names of their numbers.
macro_rules! named_hooks {
    ($($name:ident $number:ident),* $(,)?) => {
        hooks! { $($name libc::$number;)* }
    };
}

/// Calls that other processors and other times have.
macro_rules! foreign_hooks {
    ($($name:ident),* $(,)?) => {
        hooks! { $($name -1;)* }
    };
}

named_hooks! {
    time SYS_time, gettimeofday SYS_gettimeofday, settimeofday SYS_settimeofday, adjtimex
    SYS_adjtimex, times SYS_times, gettid SYS_gettid, nanosleep SYS_nanosleep, alarm
    SYS_alarm, getpid SYS_getpid, getppid SYS_getppid, getuid SYS_getuid, geteuid
    SYS_geteuid, getgid SYS_getgid, getegid SYS_getegid, getresuid SYS_getresuid, getresgid
    SYS_getresgid, getpgid SYS_getpgid, getpgrp SYS_getpgrp, getsid SYS_getsid, getgroups
    SYS_getgroups, setregid SYS_setregid, setgid SYS_setgid, setreuid SYS_setreuid, setuid
    SYS_setuid, setresuid SYS_setresuid, setresgid SYS_setresgid, setfsuid SYS_setfsuid,
    setfsgid SYS_setfsgid, setpgid SYS_setpgid, setsid SYS_setsid, setgroups SYS_setgroups,
    acct SYS_acct, capget SYS_capget, capset SYS_capset, personality SYS_personality,
    getitimer SYS_getitimer, setitimer SYS_setitimer, timer_create SYS_timer_create,
    timer_gettime SYS_timer_gettime, timer_getoverrun SYS_timer_getoverrun, timer_settime
    SYS_timer_settime, timer_delete SYS_timer_delete, clock_settime SYS_clock_settime,
    clock_gettime SYS_clock_gettime, clock_adjtime SYS_clock_adjtime, clock_getres
    SYS_clock_getres, clock_nanosleep SYS_clock_nanosleep, sched_setscheduler
    SYS_sched_setscheduler, sched_setparam SYS_sched_setparam, sched_getscheduler
    SYS_sched_getscheduler, sched_getparam SYS_sched_getparam, sched_setaffinity
    SYS_sched_setaffinity, sched_getaffinity SYS_sched_getaffinity, sched_yield
    SYS_sched_yield, sched_get_priority_max SYS_sched_get_priority_max,
    sched_get_priority_min SYS_sched_get_priority_min, sched_rr_get_interval
    SYS_sched_rr_get_interval, setpriority SYS_setpriority, getpriority SYS_getpriority,
    shutdown SYS_shutdown, reboot SYS_reboot, restart_syscall SYS_restart_syscall,
    kexec_load SYS_kexec_load, exit SYS_exit, exit_group SYS_exit_group, wait4 SYS_wait4,
    waitid SYS_waitid, set_tid_address SYS_set_tid_address, init_module SYS_init_module,
    delete_module SYS_delete_module, rt_sigprocmask SYS_rt_sigprocmask, rt_sigpending
    SYS_rt_sigpending, rt_sigtimedwait SYS_rt_sigtimedwait, rt_tgsigqueueinfo
    SYS_rt_tgsigqueueinfo, kill SYS_kill, tgkill SYS_tgkill, tkill SYS_tkill,
    rt_sigqueueinfo SYS_rt_sigqueueinfo, pause SYS_pause, sync SYS_sync, fsync SYS_fsync,
    fdatasync SYS_fdatasync, mount SYS_mount, truncate SYS_truncate, ftruncate
    SYS_ftruncate, stat SYS_stat, statfs SYS_statfs, fstatfs SYS_fstatfs, lstat SYS_lstat,
    fstat SYS_fstat, ustat SYS_ustat, setxattr SYS_setxattr, lsetxattr SYS_lsetxattr,
    fsetxattr SYS_fsetxattr, getxattr SYS_getxattr, lgetxattr SYS_lgetxattr, fgetxattr
    SYS_fgetxattr, listxattr SYS_listxattr, llistxattr SYS_llistxattr, flistxattr
    SYS_flistxattr, removexattr SYS_removexattr, lremovexattr SYS_lremovexattr, fremovexattr
    SYS_fremovexattr, brk SYS_brk, mprotect SYS_mprotect, mremap SYS_mremap,
    remap_file_pages SYS_remap_file_pages, msync SYS_msync, munmap SYS_munmap, mlock
    SYS_mlock, munlock SYS_munlock, mlockall SYS_mlockall, munlockall SYS_munlockall,
    madvise SYS_madvise, mincore SYS_mincore, pivot_root SYS_pivot_root, chroot SYS_chroot,
    mknod SYS_mknod, link SYS_link, symlink SYS_symlink, unlink SYS_unlink, rename
    SYS_rename, chmod SYS_chmod, fchmod SYS_fchmod, fcntl SYS_fcntl, pipe SYS_pipe, pipe2
    SYS_pipe2, dup SYS_dup, dup2 SYS_dup2, dup3 SYS_dup3, ioperm SYS_ioperm, ioctl
    SYS_ioctl, flock SYS_flock, io_setup SYS_io_setup, io_destroy SYS_io_destroy,
    io_getevents SYS_io_getevents, io_submit SYS_io_submit, io_cancel SYS_io_cancel,
    sendfile SYS_sendfile, readlink SYS_readlink, creat SYS_creat, open SYS_open, close
    SYS_close, access SYS_access, vhangup SYS_vhangup, chown SYS_chown, lchown SYS_lchown,
    fchown SYS_fchown, utime SYS_utime, utimes SYS_utimes, lseek SYS_lseek, read SYS_read,
    readv SYS_readv, write SYS_write, writev SYS_writev, pread64 SYS_pread64, pwrite64
    SYS_pwrite64, preadv SYS_preadv, pwritev SYS_pwritev, getcwd SYS_getcwd, mkdir
    SYS_mkdir, chdir SYS_chdir, fchdir SYS_fchdir, rmdir SYS_rmdir, lookup_dcookie
    SYS_lookup_dcookie, quotactl SYS_quotactl, getdents SYS_getdents, getdents64
    SYS_getdents64, setsockopt SYS_setsockopt, getsockopt SYS_getsockopt, bind SYS_bind,
    connect SYS_connect, accept SYS_accept, accept4 SYS_accept4, getsockname
    SYS_getsockname, getpeername SYS_getpeername, sendto SYS_sendto, sendmsg SYS_sendmsg,
    sendmmsg SYS_sendmmsg, recvfrom SYS_recvfrom, recvmsg SYS_recvmsg, recvmmsg
    SYS_recvmmsg, socket SYS_socket, socketpair SYS_socketpair, listen SYS_listen, poll
    SYS_poll, select SYS_select, epoll_create SYS_epoll_create, epoll_create1
    SYS_epoll_create1, epoll_ctl SYS_epoll_ctl, epoll_wait SYS_epoll_wait, epoll_pwait
    SYS_epoll_pwait, epoll_pwait2 SYS_epoll_pwait2, sethostname SYS_sethostname,
    setdomainname SYS_setdomainname, uname SYS_uname, getrlimit SYS_getrlimit, setrlimit
    SYS_setrlimit, prlimit64 SYS_prlimit64, getrusage SYS_getrusage, umask SYS_umask, msgget
    SYS_msgget, msgsnd SYS_msgsnd, msgrcv SYS_msgrcv, msgctl SYS_msgctl, semget SYS_semget,
    semop SYS_semop, semctl SYS_semctl, semtimedop SYS_semtimedop, shmat SYS_shmat, shmget
    SYS_shmget, shmdt SYS_shmdt, shmctl SYS_shmctl, mq_open SYS_mq_open, mq_unlink
    SYS_mq_unlink, mq_timedsend SYS_mq_timedsend, mq_timedreceive SYS_mq_timedreceive,
    mq_notify SYS_mq_notify, mq_getsetattr SYS_mq_getsetattr, swapon SYS_swapon, swapoff
    SYS_swapoff, sysinfo SYS_sysinfo, sysfs SYS_sysfs, syslog SYS_syslog, uselib SYS_uselib,
    ptrace SYS_ptrace, add_key SYS_add_key, request_key SYS_request_key, keyctl SYS_keyctl,
    ioprio_set SYS_ioprio_set, ioprio_get SYS_ioprio_get, set_mempolicy SYS_set_mempolicy,
    migrate_pages SYS_migrate_pages, move_pages SYS_move_pages, mbind SYS_mbind,
    get_mempolicy SYS_get_mempolicy, inotify_init SYS_inotify_init, inotify_init1
    SYS_inotify_init1, inotify_add_watch SYS_inotify_add_watch, inotify_rm_watch
    SYS_inotify_rm_watch, mknodat SYS_mknodat, mkdirat SYS_mkdirat, unlinkat SYS_unlinkat,
    symlinkat SYS_symlinkat, linkat SYS_linkat, renameat SYS_renameat, futimesat
    SYS_futimesat, faccessat SYS_faccessat, fchmodat SYS_fchmodat, fchownat SYS_fchownat,
    openat SYS_openat, newfstatat SYS_newfstatat, readlinkat SYS_readlinkat, utimensat
    SYS_utimensat, unshare SYS_unshare, splice SYS_splice, vmsplice SYS_vmsplice, tee
    SYS_tee, get_robust_list SYS_get_robust_list, set_robust_list SYS_set_robust_list,
    getcpu SYS_getcpu, signalfd SYS_signalfd, signalfd4 SYS_signalfd4, timerfd_create
    SYS_timerfd_create, timerfd_settime SYS_timerfd_settime, timerfd_gettime
    SYS_timerfd_gettime, eventfd SYS_eventfd, eventfd2 SYS_eventfd2, pselect6 SYS_pselect6,
    ppoll SYS_ppoll, fanotify_init SYS_fanotify_init, fanotify_mark SYS_fanotify_mark,
    syncfs SYS_syncfs, perf_event_open SYS_perf_event_open, name_to_handle_at
    SYS_name_to_handle_at, open_by_handle_at SYS_open_by_handle_at, setns SYS_setns,
    process_vm_readv SYS_process_vm_readv, process_vm_writev SYS_process_vm_writev, fork
    SYS_fork, vfork SYS_vfork, rt_sigaction SYS_rt_sigaction, sigaltstack SYS_sigaltstack,
    futex SYS_futex, umount SYS_umount2, newstat SYS_stat, newlstat SYS_lstat, newfstat
    SYS_fstat, sendfile64 SYS_sendfile, newuname SYS_uname,
}

foreign_hooks! {
    stime, sigpending, sigprocmask, nice, waitpid, sgetmask, ssetmask, signal, bdflush,
    oldumount, statfs64, fstatfs64, stat64, fstat64, lstat64, fcntl64, chown16, lchown16,
    fchown16, setregid16, setgid16, setreuid16, setuid16, setresuid16, getresuid16,
    setresgid16, getresgid16, setfsuid16, setfsgid16, getgroups16, setgroups16, getuid16,
    geteuid16, getgid16, getegid16, llseek, send, recv, socketcall, old_select, gethostname,
    olduname, old_getrlimit, ipc, pciconfig_iobase, pciconfig_read, pciconfig_write, sysctl,
    ni_syscall, spu_run, spu_create, fstatat64, old_readdir, mmap_pgoff, old_mmap, sigaction,
}
