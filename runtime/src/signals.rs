//! Signals of the program.
//!
//! Handlers may run instrumented code, so they must not run while the thread is
//! inside the runtime: it could come to wait for itself. We install a handler of
//! our own in place of each of the program's. It runs the program's at once if
//! the thread is in the program, or if the signal is the thread's own doing (a
//! fault), and otherwise puts it off for the few instructions until the thread
//! is out again.
//!
//! Under control it also takes the place of what the system does about signals
//! that end the process: it dies of them all the same, but not before it has said
//! what there is to say of its execution. So it does about signals that ask a process to
//! end, or that end it because it has failed, while its events are collected: they are told.
//! What [`sampling`] shares with other processes is mended, should one of them damage it.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use racehound_report::finding::{HANDLER_OF, SIGNAL};

use crate::context::Context;
use crate::report::{self, Kind};
use crate::thread::{self, Inside, Visit};
use crate::tls::hot;
use crate::{control, options, record, sampling, sync};

/// Signals there are.
const SIGNALS: usize = 65;
/// Signals that can wait in one thread, of the same or different kinds.
const WAITING: usize = 32;

/// A thread's side of signals.
#[derive(Default)]
pub(crate) struct Signals {
    waiting: Vec<Waiting>,
    /// Handlers of signals that came from outside, which the thread is in.
    pub(crate) handling: u32,
    /// A handler has run that lets calls fail which it interrupts.
    interrupts: bool,
}

struct Waiting {
    signal: c_int,
    info: libc::siginfo_t,
    context: libc::ucontext_t,
}

/// What the program wants done about a signal.
struct Action {
    handler: AtomicUsize,
    flags: AtomicUsize,
    mask: UnsafeCell<libc::sigset_t>,
}

// SAFETY: the mask is written only by `install`, as the program's own `sigaction`
// would do with the kernel's copy.
unsafe impl Sync for Action {}

static ACTIONS: [Action; SIGNALS] = [const {
    Action {
        handler: AtomicUsize::new(0),
        flags: AtomicUsize::new(0),
        // SAFETY: no signals.
        mask: UnsafeCell::new(unsafe { std::mem::zeroed() }),
    }
}; SIGNALS];

fn action(signal: c_int) -> Option<&'static Action> {
    usize::try_from(signal)
        .ok()
        .and_then(|signal| ACTIONS.get(signal))
}

/// Whether the program has a handler for any signal.
pub(crate) fn are_handled() -> bool {
    let mut handlers = ACTIONS.iter().map(|a| a.handler.load(Ordering::Acquire));
    handlers.any(is_function)
}

/// Whether a handler is a function.
fn is_function(handler: usize) -> bool {
    handler != libc::SIG_DFL && handler != libc::SIG_IGN
}

/// Replaces what the program wants done by what we do, and tells it what it had
/// asked for before.
///
/// # Safety
/// As `sigaction`.
pub(crate) unsafe fn install(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
    real: unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int,
) -> c_int {
    let Some(action) = action(signal) else {
        // SAFETY: the caller's promise.
        return unsafe { real(signal, new, old) };
    };
    // SAFETY: the caller's promise; what is ours is ours.
    unsafe {
        let before = (
            action.handler.load(Ordering::Acquire),
            action.flags.load(Ordering::Relaxed),
            *action.mask.get(),
        );
        let mut replaced = std::mem::zeroed::<libc::sigaction>();
        let result = if new.is_null() {
            real(signal, std::ptr::null(), &raw mut replaced)
        } else {
            let mut ours = *new;
            let is_handled = is_function(ours.sa_sigaction);
            if is_handled {
                action
                    .flags
                    .store(ours.sa_flags as usize, Ordering::Relaxed);
                *action.mask.get() = ours.sa_mask;
                action.handler.store(ours.sa_sigaction, Ordering::Release);
                ours.sa_sigaction = mine();
                ours.sa_flags |= libc::SA_SIGINFO;
            } else if ours.sa_sigaction == libc::SIG_DFL && is_mourned(signal) {
                ours = last_words();
            }
            let result = real(signal, &raw const ours, &raw mut replaced);
            if result == 0 && !is_handled {
                action.handler.store(0, Ordering::Release);
                action.flags.store(0, Ordering::Relaxed);
            }
            result
        };
        if result == 0 && !old.is_null() {
            if replaced.sa_sigaction == mine() {
                let (handler, flags, mask) = before;
                replaced.sa_sigaction = handler;
                replaced.sa_flags = flags as c_int;
                replaced.sa_mask = mask;
            }
            old.write(replaced);
        }
        result
    }
}

/// What the system is told to do in place of the program's handlers.
fn mine() -> usize {
    let mine: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = arrived;
    mine as usize
}

/// Whether a signal comes to us.
pub(crate) fn is_ours(signal: c_int) -> bool {
    // SAFETY: zeroes are an action.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now);
        now.sa_sigaction == mine()
    }
}

/// Whether something is said before the process dies of such a signal.
fn is_mourned(signal: c_int) -> bool {
    let ends_the_process = match signal {
        libc::SIGKILL | libc::SIGSTOP => false,
        libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH => false,
        libc::SIGCONT | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => false,
        // The C library has two for itself.
        32 | 33 => false,
        _ => true,
    };
    let asks_to_end = matches!(signal, libc::SIGTERM | libc::SIGINT | libc::SIGHUP);
    let is_told = asks_to_end || FAILURES.contains(&signal);
    ends_the_process && (control::is_on() || is_told && record::is_active())
        || signal == libc::SIGBUS && sampling::may_be_cut_short()
}

/// Signals of a program that has failed.
const FAILURES: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

/// The thread may have no stack left.
fn last_words() -> libc::sigaction {
    // SAFETY: zeroes are an action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = mine();
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    action
}

/// From now on the process says something before it dies of a signal.
pub(crate) fn mourn() {
    for signal in (1..SIGNALS as c_int).filter(|signal| is_mourned(*signal)) {
        // SAFETY: zeroes are an action, and both are.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut now);
            if now.sa_sigaction == libc::SIG_DFL {
                let ours = last_words();
                libc::sigaction(signal, &raw const ours, std::ptr::null_mut());
            }
        }
    }
}

/// Nobody handles the signal: the process dies of it.
unsafe fn dies(signal: c_int, info: *const libc::siginfo_t) {
    // SAFETY: our own block; the kernel gives the rest.
    unsafe {
        if (*hot()).busy == 0 {
            // Who has ended is not introduced as another one, see there.
            if thread::current().is_some() {
                record::finish();
            }
            control::gives_up();
        }
        let mut usual: libc::sigaction = std::mem::zeroed();
        usual.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &raw const usual, std::ptr::null_mut());
        // What the thread does again brings the signal back.
        let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];
        if !(faults.contains(&signal) && is_own(signal, info)) {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal);
        }
    }
}

/// What is handed from the installation of a handler to its run.
pub(crate) fn edge(signal: c_int) -> usize {
    action(signal).map_or(0, |action| std::ptr::from_ref(&action.handler) as usize)
}

/// What is handed from whoever sends a signal to whoever waits for it. A handler that
/// interrupts somebody learns nothing of the sender: no standard says that it does.
pub(crate) fn letters(signal: c_int) -> usize {
    action(signal).map_or(0, |action| std::ptr::from_ref(&action.flags) as usize)
}

/// What is handed on at an address, if that has to do with signals.
pub(crate) fn describe(address: usize) -> Option<String> {
    let signal = ACTIONS.iter().position(|action| {
        let action = std::ptr::from_ref(action) as usize;
        (action..action + size_of::<Action>()).contains(&address)
    })? as c_int;
    let name = name(signal);
    Some(match address == edge(signal) {
        true => format!("{HANDLER_OF}{name}"),
        false => format!("{SIGNAL}{name}"),
    })
}

/// What a signal is called: `SIGUSR1`.
fn name(signal: c_int) -> String {
    let name = match signal {
        libc::SIGHUP => "HUP",
        libc::SIGINT => "INT",
        libc::SIGQUIT => "QUIT",
        libc::SIGILL => "ILL",
        libc::SIGTRAP => "TRAP",
        libc::SIGABRT => "ABRT",
        libc::SIGBUS => "BUS",
        libc::SIGFPE => "FPE",
        libc::SIGUSR1 => "USR1",
        libc::SIGSEGV => "SEGV",
        libc::SIGUSR2 => "USR2",
        libc::SIGPIPE => "PIPE",
        libc::SIGALRM => "ALRM",
        libc::SIGTERM => "TERM",
        libc::SIGCHLD => "CHLD",
        libc::SIGCONT => "CONT",
        libc::SIGURG => "URG",
        libc::SIGVTALRM => "VTALRM",
        libc::SIGPROF => "PROF",
        libc::SIGWINCH => "WINCH",
        libc::SIGIO => "IO",
        other => return other.to_string(),
    };
    format!("SIG{name}")
}

/// Whether the thread itself has caused the signal.
fn is_own(signal: c_int, info: *const libc::siginfo_t) -> bool {
    match signal {
        libc::SIGSEGV
        | libc::SIGBUS
        | libc::SIGILL
        | libc::SIGFPE
        | libc::SIGTRAP
        | libc::SIGABRT
        | libc::SIGSYS
        | libc::SIGPIPE => {
            // SAFETY: the kernel gives it.
            let code = unsafe { (*info).si_code };
            signal == libc::SIGABRT || signal == libc::SIGPIPE || code > 0 && code != 0x80
        }
        _ => false,
    }
}

extern "C" fn arrived(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let hot = hot();
    // SAFETY: our own block; the kernel gives the rest.
    unsafe {
        let own = is_own(signal, info);
        if signal == libc::SIGBUS && own && sampling::mends((*info).si_addr() as usize) {
            return;
        }
        let handled = action(signal).is_some_and(|a| a.handler.load(Ordering::Acquire) != 0);
        let from_outside = (*info).si_pid() != libc::getpid();
        if !handled && (own || (*hot).busy == 0 && from_outside) {
            return dies(signal, info);
        }
        let elsewhere = (*hot).busy != 0 || (*hot).parked != 0;
        if elsewhere && !own && !(*hot).thread.is_null() {
            let signals = &mut (*(*hot).thread).signals;
            // No memory is allocated here: there is room from the beginning.
            if signals.waiting.len() < signals.waiting.capacity() {
                signals.waiting.push(Waiting {
                    signal,
                    info: *info,
                    context: *context.cast::<libc::ucontext_t>(),
                });
                (*hot).pending = 1;
            }
            // Whoever expects it goes on as soon as it counts as arrived.
            let is_expected = control::signalling::is_expected();
            let arrivals = &raw mut (*hot).arrivals;
            arrivals.write_volatile(arrivals.read().wrapping_add(1));
            if (*hot).busy == 0 && !is_expected {
                control::interrupt();
            }
            return;
        }
        run(signal, info, context, own);
    }
}

/// Runs the program's handler.
unsafe fn run(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void, own: bool) {
    let Some(action) = action(signal) else {
        return;
    };
    let handler = action.handler.load(Ordering::Acquire);
    if !is_function(handler) {
        // SAFETY: as it came.
        return unsafe { dies(signal, info) };
    }
    let flags = action.flags.load(Ordering::Relaxed) as c_int;
    if flags & libc::SA_RESETHAND != 0 {
        action.handler.store(0, Ordering::Release);
    }
    let hot = hot();
    // SAFETY: our own block and thread; the handler is the program's.
    unsafe {
        let known = !(*hot).thread.is_null() && (*hot).busy == 0;
        // The thread may be in the middle of entering a function, or of a call
        // into a function of ours.
        let (caller, function) = ((*hot).caller, (*hot).function);
        let mut outside = None;
        if known {
            let visit = Visit::begin();
            let thread = visit.thread();
            let cursor = (*hot).log;
            thread.settle_log();
            let log = thread.log.interrupt(cursor);
            // What the thread ignores where it was interrupted is looked at in
            // the handler.
            let ignores = (
                std::mem::take(&mut thread.ignore),
                std::mem::take(&mut thread.ignore_sync),
            );
            thread.publish_ignore();
            sync::take(&visit, edge(signal), 0);
            thread.signals.handling += u32::from(!own);
            thread.signals.interrupts |= flags & libc::SA_RESTART == 0;
            outside = Some((Inside::begin(Context::ROOT), ignores, log));
        }
        let errno = libc::__errno_location();
        let before = errno.read();
        if flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        }
        if let Some((inside, ignores, log)) = outside {
            let visit = Visit::begin();
            let thread = visit.thread();
            (thread.ignore, thread.ignore_sync) = ignores;
            thread.publish_ignore();
            thread.log.resume(hot, &log);
            thread.signals.handling -= u32::from(!own);
            drop(inside);
            let options = options::get();
            if !own
                && errno.read() != before
                && options.report_bugs
                && options.report_signal_unsafe
                && options.check_errno
            {
                // The place behind the first instruction, as for a return
                // address.
                let place = visit.thread().context(handler + 1);
                report::in_handler(Kind::ErrnoInHandler, place, Some(signal));
            }
        }
        (*hot).caller = caller;
        (*hot).function = function;
        errno.write(before);
    }
}

/// While it lasts, no signal comes to the thread; and none to a thread that it
/// makes meanwhile, until that [`unblock`]s them.
pub(crate) struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    pub(crate) fn begin() -> Self {
        // SAFETY: sets of signals.
        unsafe {
            let mut all = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self { before }
        }
    }

    /// The signals that were blocked before.
    pub(crate) fn before(&self) -> libc::sigset_t {
        self.before
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        unblock(&self.before);
    }
}

/// Lets signals come again, but for some.
pub(crate) fn unblock(but: &libc::sigset_t) {
    // SAFETY: a set of signals.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, but, std::ptr::null_mut()) };
}

impl Signals {
    /// Takes over signals that wait for another one, which the processor's
    /// thread was until now.
    #[cold]
    pub(crate) fn take_over(&mut self, other: &mut Self) {
        let _blocked = Blocked::begin();
        self.waiting.append(&mut other.waiting);
    }

    /// Room for signals that wait.
    pub(crate) fn prepare(&mut self) {
        self.waiting.reserve_exact(WAITING);
    }
}

/// Runs the handlers of signals that have waited.
#[cold]
pub(crate) fn deliver() {
    let hot = hot();
    loop {
        // SAFETY: our own block and thread.
        let waiting = unsafe {
            if (*hot).thread.is_null() {
                (*hot).pending = 0;
                return;
            }
            if (*hot).parked != 0 {
                return;
            }
            // Signals must not come in between.
            (*hot).busy += 1;
            let signals = &mut (*(*hot).thread).signals;
            let first = (!signals.waiting.is_empty()).then(|| signals.waiting.remove(0));
            (*hot).pending = u32::from(!signals.waiting.is_empty());
            (*hot).busy -= 1;
            first
        };
        let Some(mut waiting) = waiting else {
            return;
        };
        // SAFETY: as the kernel would do it: with the signals of the mask held
        // back.
        unsafe {
            let Some(action) = action(waiting.signal) else {
                continue;
            };
            let mut mask = *action.mask.get();
            if action.flags.load(Ordering::Relaxed) as c_int & libc::SA_NODEFER == 0 {
                libc::sigaddset(&raw mut mask, waiting.signal);
            }
            let mut old = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const mask, &raw mut old);
            let context = (&raw mut waiting.context).cast();
            run(waiting.signal, &raw mut waiting.info, context, false);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
        }
    }
}

/// The program calls a function that must not be called in a signal handler.
#[inline]
pub(crate) fn unsafe_call(place: usize) {
    if depth() != 0 && options::get().report_signal_unsafe {
        report_unsafe_call(place);
    }
}

#[cold]
fn report_unsafe_call(place: usize) {
    let visit = Visit::begin();
    let thread = visit.thread();
    report::in_handler(Kind::SignalUnsafe, thread.context(place), None);
}

/// Whether a call that waits has to fail, because of a handler that has run since this
/// was asked last.
pub(crate) fn interrupted() -> bool {
    thread::current().is_some_and(|thread| std::mem::take(&mut thread.signals.interrupts))
}

/// How deep the thread is in handlers, for a jump out of them.
#[inline]
pub(crate) fn depth() -> u32 {
    thread::current().map_or(0, |thread| thread.signals.handling)
}
