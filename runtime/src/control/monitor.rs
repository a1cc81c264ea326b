//! Watches over control itself: the program must not hang because of us.
//!
//! The thread that has the baton may come to wait for something that only another
//! one can bring about, in a way that we do not see: a lock in code that is not
//! instrumented, a system call that is not interposed, a loop without any step in
//! it. So a thread of our own looks, every few milliseconds, whether something has
//! happened; if not, and the running thread sleeps in the kernel or has computed
//! for very long, it counts as outside and somebody else goes on.
//!
//! It also has the strategy let go of threads that it has held back for long while
//! others computed (racefuzzer.txt §4). Most of those never get that far: who spins
//! is noticed by its steps, and then somebody is let go of by the strategy itself.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use racehound_trace::ThreadId;

use super::clock::Moment;
use super::processor::Crowd;
use super::roster::{Next, Standing};
use super::wanderers::{self, Away};
use super::{children, doubt, roster};
use crate::tls::hot;

const PERIOD: Duration = Duration::from_millis(5);
/// While nobody runs, because all wait for the outside world.
const SHORT_PERIOD: Duration = Duration::from_micros(500);
/// Looks at a thread that sleeps before it counts as outside, and at one that
/// computes.
const ASLEEP: u32 = 3;
const BUSY: u32 = 400;
/// Looks at a thread that has a reason to sleep.
const EXCUSED: u32 = 600;
/// Looks at a thread that computes before real time counts for timers.
const TIMELESS: u32 = 20;
/// Looks at nobody running before others do not wait for a library any more.
const LONG_AWAY: u32 = 2000;
/// How long a strategy may hold a thread back.
const HELD: Duration = Duration::from_secs(5);

/// Begins to watch.
pub(super) fn start() {
    // SAFETY: the thread takes no argument; its handle is not needed.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let mut handle = std::mem::zeroed();
        let made = libc::pthread_create(
            &raw mut handle,
            std::ptr::null(),
            watch,
            std::ptr::null_mut(),
        );
        if made == 0 {
            HANDLE.store(handle as usize, Ordering::Relaxed);
            DISMISSED.store(false, Ordering::Relaxed);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
}

static HANDLE: AtomicUsize = AtomicUsize::new(0);
static DISMISSED: AtomicBool = AtomicBool::new(false);

/// Stops watching: the last thread of the program ends, and the process ends with
/// it only if there is no other one.
pub(super) fn dismiss() {
    DISMISSED.store(true, Ordering::Relaxed);
    let handle = HANDLE.swap(0, Ordering::Relaxed);
    if handle != 0 {
        // SAFETY: the thread that was made above, and nobody waits for it twice.
        unsafe { libc::pthread_join(handle as libc::pthread_t, std::ptr::null_mut()) };
    }
}

extern "C" fn watch(_: *mut c_void) -> *mut c_void {
    // SAFETY: our own block. What the C library does for this thread is not the
    // program's doing.
    unsafe { (*hot()).gone = 1 };
    let mut seen = (None, 0);
    let (mut asleep, mut busy, mut excused, mut away) = (0, 0, 0, 0);
    let mut patience = Patience::default();
    let mut crowd = Crowd::new();
    while !DISMISSED.load(Ordering::Relaxed) {
        let began = Instant::now();
        std::thread::sleep(match seen.0 {
            Some(_) => PERIOD,
            None => SHORT_PERIOD,
        });
        let now = {
            let roster = roster();
            (roster.running, roster.steps)
        };
        let Some(number) = now.0 else {
            crowd.forget();
            away = if now == seen { away + 1 } else { 0 };
            // A look takes longer than it should, the more so the busier the machine is.
            let_real_time_pass(match seen.0 {
                Some(_) => SHORT_PERIOD,
                None => began.elapsed(),
            });
            seen = now;
            if away == LONG_AWAY && roster().gives_library_up() {
                doubt::tell("OpenMP", "takes long to come back; others go on meanwhile");
            }
            continue;
        };
        patience.look();
        crowd.avoid(&mut roster());
        if now != seen {
            (seen, asleep, busy, excused) = (now, 0, 0, 0);
            continue;
        }
        if excused < EXCUSED && roster().excused {
            (asleep, busy, excused) = (0, 0, excused + 1);
            continue;
        }
        if !roster().timers.is_empty() && busy > TIMELESS {
            let_timers_go_off(now);
        }
        let Some(os_id) = roster().member(number).map(|member| member.os_id) else {
            continue;
        };
        match state(os_id) {
            Some(b'S') if !is_on_its_way(number) && !is_inside(number) => asleep += 1,
            _ => busy += 1,
        }
        let sleeps = asleep >= ASLEEP;
        if (sleeps || busy >= BUSY) && send_outside(now, !sleeps) {
            tell(number, sleeps);
        }
    }
    std::ptr::null_mut()
}

/// Whether the turn of a thread has come, and who gives it has not come to say so: it
/// tells what has happened, or the system lets others run.
fn is_on_its_way(number: u32) -> bool {
    roster()
        .member(number)
        .is_some_and(|member| member.baton.is_awaited())
}

/// Whether a thread waits on our behalf: that is not what it would do by itself.
fn is_inside(number: u32) -> bool {
    let hot = roster().member(number).map(|member| member.hot);
    // SAFETY: the block of a thread that has the baton, and so is there.
    hot.is_some_and(|hot| {
        !hot.is_null() && unsafe { (&raw const (*hot).busy).read_volatile() } != 0
    })
}

/// Since when threads are held back.
#[derive(Default)]
struct Patience(Vec<(ThreadId, Instant)>);

impl Patience {
    /// Lets go of those who have been held back for too long.
    fn look(&mut self) {
        let held = roster().held();
        if held.is_empty() {
            return self.0.clear();
        }
        self.0.retain(|(thread, _)| held.contains(thread));
        for thread in held {
            match self.0.iter().find(|(known, _)| *known == thread) {
                None => self.0.push((thread, Instant::now())),
                Some((_, since)) if since.elapsed() < HELD => {}
                Some(_) => {
                    roster().release(thread);
                    self.0.retain(|(known, _)| *known != thread);
                    let who = format!("T{}", thread.0);
                    doubt::tell(&who, "was held back for long and is let go");
                }
            }
        }
    }
}

/// Nobody runs: somebody is outside, and time passes for all as it does there.
fn let_real_time_pass(passed: Duration) {
    if children::are_awaited() {
        return;
    }
    let mut roster = roster();
    let now = roster.clock.now();
    roster.clock.jump(Moment(now.0 + passed.as_nanos() as u64));
    roster.time_out();
    go_on(&mut roster);
}

/// A thread computes for long, perhaps until a timer goes off.
fn let_timers_go_off(seen: (Option<u32>, u64)) {
    let goes_off = {
        let mut roster = roster();
        if (roster.running, roster.steps) != seen {
            return;
        }
        let now = roster.clock.now();
        roster.clock.jump(Moment(now.0 + PERIOD.as_nanos() as u64));
        let next = roster.timers.next();
        let goes_off = next.is_some_and(|next| next <= roster.clock.now());
        roster.go_off();
        goes_off
    };
    if goes_off {
        // The handler may run in another thread.
        send_outside(seen, true);
        doubt::tell("a timer", "goes off while a thread computes");
    }
}

/// Counts the running thread as outside, where it waits or computes, if nothing has happened
/// meanwhile; whether that is so.
fn send_outside(seen: (Option<u32>, u64), computes: bool) -> bool {
    let mut roster = roster();
    if (roster.running, roster.steps) != seen {
        return false;
    }
    let Some(member) = seen.0.and_then(|number| roster.member(number)) else {
        return false;
    };
    member.standing = Standing::Outside;
    member.baton.bond.loosen(member.os_id);
    if computes {
        member.away = Away::Computing;
        wanderers::begin();
    }
    roster.running = None;
    go_on(&mut roster);
    true
}

/// Says that control was given up.
fn tell(number: u32, sleeps: bool) {
    let what = match sleeps {
        true => "waits for something that cannot be seen from here; others go on meanwhile",
        false => {
            "computes for long without a step that others could wait for; they go on meanwhile"
        }
    };
    doubt::tell(&format!("T{number}"), what);
}

fn go_on(roster: &mut super::roster::Roster) {
    if let Next::Other(baton) = roster.next(u32::MAX) {
        baton.give();
    }
}

/// Whether there is a thread that watches.
pub(super) fn is_there() -> bool {
    HANDLE.load(Ordering::Relaxed) != 0
}

/// How many threads the process has.
pub(super) fn threads() -> Option<usize> {
    /// Behind the name, counted from 0.
    const THREADS: usize = 17;
    let text = std::fs::read("/proc/self/stat").ok()?;
    let name_ends = text.iter().rposition(|&c| c == b')')?;
    let fields = text[name_ends + 1..].split(|&c| c == b' ').skip(1);
    let threads = fields.into_iter().nth(THREADS)?;
    std::str::from_utf8(threads).ok()?.parse().ok()
}

/// Whether a thread sleeps.
pub(super) fn is_asleep(os_id: i32) -> bool {
    state(os_id) == Some(b'S')
}

/// What the kernel says a thread does.
fn state(os_id: i32) -> Option<u8> {
    let text = std::fs::read(format!("/proc/self/task/{os_id}/stat")).ok()?;
    let name_ends = text.iter().rposition(|&c| c == b')')?;
    text.get(name_ends + 2).copied()
}
