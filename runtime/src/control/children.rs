//! Child processes: what they do by themselves is waited for.
//!
//! A child runs beside the threads of its parent, so what it has written, closed or
//! become by the time that somebody looks would depend on how fast it is. So whenever a
//! thread looks, and when it has done something that a child may take notice of, its next
//! step waits until the children have *settled*: all of them, and theirs, are gone or sleep. They have
//! done then what they can do without our help, as in every execution. Those that
//! compute for long are not waited for any longer, and it is said.
//!
//! So it is with locks and conditions in memory that this process shares with them: what one
//! child does with them before each step of ours is the same in every execution, since it
//! does all it can. What two children do at once nobody orders: a child does what it can
//! before there is another one, and where both are still there, it is said.
//!
//! A child that sleeps for a while only has settled too early. Whoever waits for
//! something from outside and is overtaken by others meanwhile says so
//! (see [`Turn::await_world`](super::turn::Turn)).

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::turn::Turn;
use super::wanderers::Away;
use super::{doubt, is_on, roster};
use crate::interpose::Errno;
use crate::shared_memory;
use crate::spin::Locked;
use crate::thread::Visit;
use crate::tls::hot;

/// There may be children.
static ARE_THERE: AtomicBool = AtomicBool::new(false);
/// They may have noticed something since they were last waited for.
static STIRRED: AtomicBool = AtomicBool::new(false);

/// What they may have noticed is in memory that they share.
static IN_MEMORY: AtomicBool = AtomicBool::new(false);
/// Threads of this process that wait for what is there.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// This process is a child, and when it was made there were others.
static HAS_SIBLINGS: AtomicBool = AtomicBool::new(false);

/// How long they are waited for, and how long once that was in vain.
const LONGEST: Duration = Duration::from_secs(2);
const NO_LONGER: Duration = Duration::from_millis(5);
/// It was.
static IN_VAIN: AtomicBool = AtomicBool::new(false);
/// How often they have to be found asleep: who hands work on to another one of its
/// threads may sleep by the time that we look at it, and the other one not yet be awake
/// when we did.
const LOOKS: u32 = 3;
const BETWEEN: Duration = Duration::from_micros(200);

/// A process was made.
pub(crate) fn begin() {
    ARE_THERE.store(true, Ordering::Relaxed);
}

/// This process is about to be copied. Where memory is shared, those who are there go first.
pub(crate) fn before_copy() {
    // SAFETY: our own block, and a thread stays while it is in it.
    let me = unsafe { (*hot()).home.as_ref().map(|home| home.number) };
    if is_on()
        && are_there()
        && shared_memory::is_in_family()
        && let Some(me) = me
    {
        settle(me);
        HAS_SIBLINGS.store(live(), Ordering::Relaxed);
    }
}

/// This process was copied.
pub(crate) fn begin_copy() {
    begin();
    HAS_SIBLINGS.store(false, Ordering::Relaxed);
}

/// This is a process that has none yet.
pub(super) fn forget() {
    ARE_THERE.store(false, Ordering::Relaxed);
    STIRRED.store(false, Ordering::Relaxed);
    IN_MEMORY.store(false, Ordering::Relaxed);
    WAITING.store(0, Ordering::Relaxed);
}

/// Whether there may be some.
pub(crate) fn are_there() -> bool {
    ARE_THERE.load(Ordering::Relaxed)
}

/// Whether some are alive.
pub(crate) fn live() -> bool {
    let _visit = Visit::begin();
    are_there() && census() != Census::Gone
}

/// Whether a thread waits for what is in memory that they share.
pub(super) fn are_waited_for() -> bool {
    WAITING.load(Ordering::Relaxed) > 0
}

/// Whether one does, and they have yet to do what they can. Not for ever: they may compute
/// until time has passed here.
pub(super) fn are_awaited() -> bool {
    static SINCE: Locked<Option<Instant>> = Locked::new(None);
    let is_so = are_waited_for()
        && are_there()
        && !IN_VAIN.load(Ordering::Relaxed)
        && census() == Census::Awake;
    let mut since = SINCE.lock();
    if !is_so {
        *since = None;
        return false;
    }
    let is_in_time = since.get_or_insert_with(Instant::now).elapsed() < LONGEST;
    if !is_in_time {
        give_up();
    }
    is_in_time
}

/// From now on they are not waited for any longer.
fn give_up() {
    IN_VAIN.store(true, Ordering::Relaxed);
    doubt::tell("a child process", "runs for long");
}

/// Something is done that they may notice, if there are any.
pub(crate) fn stir() {
    if are_there() {
        STIRRED.store(true, Ordering::Relaxed);
    }
}

/// Something is done to memory that they share, or is about to be.
pub(crate) fn share() {
    if HAS_SIBLINGS.load(Ordering::Relaxed) {
        tell_of_several();
    }
    if are_there() {
        IN_MEMORY.store(true, Ordering::Relaxed);
        STIRRED.store(true, Ordering::Relaxed);
    }
}

fn tell_of_several() {
    doubt::tell(
        "a lock or condition",
        "is shared by several other processes",
    );
}

impl Turn {
    /// Waits for the children, if they have something to notice.
    #[inline]
    pub(super) fn let_children_settle(&self) {
        if STIRRED.load(Ordering::Relaxed) || are_waited_for() {
            settle(self.number);
        }
    }

    /// Does something that may wait for processes with which memory is shared, in a step in
    /// which they have done what they can. Others who go on meanwhile wait until the thread is
    /// back, or waits indeed.
    pub(crate) fn among_kin<R>(&self, real: impl FnOnce() -> R) -> R {
        WAITING.fetch_add(1, Ordering::Relaxed);
        self.note(|roster| {
            if let Some(member) = roster.member(self.number) {
                member.away = Away::AmongKin;
            }
        });
        let result = self.outside(real);
        WAITING.fetch_sub(1, Ordering::Relaxed);
        share();
        result
    }
}

/// Waits for the children, if the thread is the one that runs: nobody else of this process
/// does anything that they notice.
#[cold]
fn settle(me: u32) {
    let _visit = Visit::begin();
    if roster().running != Some(me) {
        return;
    }
    STIRRED.store(false, Ordering::Relaxed);
    let in_memory = IN_MEMORY.swap(false, Ordering::Relaxed);
    let _errno = Errno::keep();
    // What is allocated to look at them is not the program's doing, and that the thread
    // sleeps meanwhile is not either.
    if !exist() {
        return ARE_THERE.store(false, Ordering::Relaxed);
    }
    if in_memory && living().len() > 1 {
        tell_of_several();
    }
    roster().excused = true;
    let longest = match IN_VAIN.load(Ordering::Relaxed) {
        true => NO_LONGER,
        false => LONGEST,
    };
    let began = Instant::now();
    let mut quiet = 0;
    while quiet < LOOKS && began.elapsed() < longest {
        match census() {
            Census::Gone => break,
            Census::Asleep => quiet += 1,
            Census::Awake => quiet = 0,
        }
        std::thread::sleep(BETWEEN);
    }
    roster().excused = false;
    if began.elapsed() >= longest {
        give_up();
    }
}

/// Whether there is a child, be it one of which nobody has asked yet how it ended.
fn exist() -> bool {
    // SAFETY: zeroes are such information, and the call fills it in.
    unsafe {
        let mut about: libc::siginfo_t = std::mem::zeroed();
        let peek = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_ALL, 0, &raw mut about, peek) == 0
    }
}

/// What the descendants of this process do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Census {
    Gone,
    Asleep,
    Awake,
}

fn census() -> Census {
    living().into_iter().max().unwrap_or(Census::Gone)
}

/// What each of those does that are not gone.
fn living() -> Vec<Census> {
    let mut found = Vec::new();
    let mut processes = vec!["self".to_owned()];
    while let Some(process) = processes.pop() {
        let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
            continue;
        };
        let mut does = Census::Gone;
        for task in tasks.flatten() {
            let path = task.path();
            does = does.max(match state(&path) {
                Some(b'R' | b'D') => Census::Awake,
                Some(b'Z' | b'X') | None => Census::Gone,
                Some(_) => Census::Asleep,
            });
            // Not every kernel tells.
            if let Ok(children) = fs::read_to_string(path.join("children")) {
                processes.extend(children.split_whitespace().map(str::to_owned));
            }
        }
        if process != "self" && does != Census::Gone {
            found.push(does);
        }
    }
    found
}

/// What the kernel says that a thread does.
fn state(task: &std::path::Path) -> Option<u8> {
    let text = fs::read(task.join("stat")).ok()?;
    let name_ends = text.iter().rposition(|&c| c == b')')?;
    text.get(name_ends + 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_is_asleep_while_it_waits_for_us_and_then_gone() {
        let mut cat = Command::new("cat");
        let cat = cat.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut cat = cat.unwrap();
        let comes_to = |wanted: Census| {
            let began = Instant::now();
            while census() != wanted {
                assert!(began.elapsed() < Duration::from_secs(20));
                std::thread::sleep(BETWEEN);
            }
        };
        comes_to(Census::Asleep);
        assert!(exist());
        cat.stdin.take().unwrap().write_all(b"the end").unwrap();
        comes_to(Census::Gone);
        cat.wait().unwrap();
    }
}
