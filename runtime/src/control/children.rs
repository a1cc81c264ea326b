//! Child processes: what they do by themselves is waited for.
//!
//! A child runs beside the threads of its parent, so what it has written, closed or
//! become by the time that somebody looks would depend on how fast it is. So whenever a
//! thread looks, and when it has done something that a child may take notice of, its next
//! step waits until the children have *settled*: all of them, and theirs, are gone or sleep. They have
//! done then what they can do without our help, as in every execution. Those that
//! compute for long are not waited for any longer, and it is said.
//!
//! A child that sleeps for a while only has settled too early. Whoever waits for
//! something from outside and is overtaken by others meanwhile says so
//! (see [`Turn::await_world`](super::turn::Turn)).

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::doubt;
use super::turn::Turn;
use crate::interpose::Errno;
use crate::thread::Visit;

/// There may be children.
static ARE_THERE: AtomicBool = AtomicBool::new(false);
/// They may have noticed something since they were last waited for.
static STIRRED: AtomicBool = AtomicBool::new(false);

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

/// This is a process that has none yet.
pub(super) fn forget() {
    ARE_THERE.store(false, Ordering::Relaxed);
    STIRRED.store(false, Ordering::Relaxed);
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

/// Something is done that they may notice, if there are any.
pub(crate) fn stir() {
    if are_there() {
        STIRRED.store(true, Ordering::Relaxed);
    }
}

impl Turn {
    /// Waits for the children, if they have something to notice.
    #[inline]
    pub(super) fn let_children_settle(&self) {
        if STIRRED.load(Ordering::Relaxed) {
            self.settle();
        }
    }

    #[cold]
    fn settle(&self) {
        STIRRED.store(false, Ordering::Relaxed);
        let _errno = Errno::keep();
        // What is allocated to look at them is not the program's doing, and that the thread
        // sleeps meanwhile is not either.
        let _visit = Visit::begin();
        if !exist() {
            return ARE_THERE.store(false, Ordering::Relaxed);
        }
        self.note(|roster| roster.excused = true);
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
        self.note(|roster| roster.excused = false);
        if began.elapsed() >= longest {
            IN_VAIN.store(true, Ordering::Relaxed);
            doubt::tell("a child process", "runs for long");
        }
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum Census {
    Gone,
    Asleep,
    Awake,
}

fn census() -> Census {
    let mut found = Census::Gone;
    let mut processes = vec!["self".to_owned()];
    while let Some(process) = processes.pop() {
        let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let path = task.path();
            if process != "self" {
                match state(&path) {
                    Some(b'R' | b'D') => return Census::Awake,
                    Some(b'Z' | b'X') | None => {}
                    Some(_) => found = Census::Asleep,
                }
            }
            // Not every kernel tells.
            if let Ok(children) = fs::read_to_string(path.join("children")) {
                processes.extend(children.split_whitespace().map(str::to_owned));
            }
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
