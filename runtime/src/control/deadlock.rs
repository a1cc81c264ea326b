//! Nobody can go on, and nothing outside can help: a deadlock.

use racehound_trace::Mode;

use super::holders::Holders;
use super::roster;
use super::roster::{Roster, Standing, Want};
use crate::report::{self, Keeper, Kept, Wait};
use crate::thread::Visit;
use crate::{finish, fork, output, registry};

/// Says who waits for what, and ends the process: it would hang for ever.
pub(super) fn report() -> ! {
    let _visit = Visit::begin();
    let waits = waits(&roster());
    report::stuck(waits);
    __racehound_deadlock();
    if let Some(text) = super::conclude() {
        output::write(&text);
    }
    finish::die();
}

/// Where a debugger can stop: every thread is where it waits, this one included.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn __racehound_deadlock() {
    std::hint::black_box(());
}

/// What keeps a thread from getting a lock.
fn obstacle(roster: &Roster, holders: &Holders, thread: u32, mode: Mode) -> String {
    if let Some(owner) = holders.owner {
        return match (owner == thread, why_kept(roster, owner, thread)) {
            (true, _) => " that it holds itself:".to_owned(),
            (false, Some(Kept::Ended)) => format!(" that T{owner} held when it ended:"),
            (false, Some(Kept::NotCopied)) => format!(" that T{owner} held at the fork:"),
            (false, _) => format!(" that T{owner} holds:"),
        };
    }
    match mode {
        Mode::Exclusive if holders.readers.is_empty() => String::new(),
        Mode::Exclusive => format!(" that {} for reading:", hold(&holders.readers, thread)),
        Mode::Shared => match holders.preferred.first() {
            Some(writer) => format!(" that T{writer}, which goes first, waits to write:"),
            None => String::new(),
        },
    }
}

/// Why a thread that holds a lock will not give it back to one that waits for it, if it does
/// not wait for anything itself.
fn why_kept(roster: &Roster, holder: u32, waiting: u32) -> Option<Kept> {
    let member = roster.members.get(holder as usize).and_then(Option::as_ref);
    match member {
        _ if holder == waiting => registry::is_in_handler(holder).then_some(Kept::Interrupted),
        Some(member) => (member.standing == Standing::Ended).then_some(Kept::Ended),
        None => fork::is_copy().then_some(Kept::NotCopied),
    }
}

/// Those who hold a lock and will never give it back.
fn keepers(roster: &Roster, address: usize, thread: u32) -> Vec<Keeper> {
    let Some(holders) = roster.locks.holders(address) else {
        return Vec::new();
    };
    let mut all: Vec<u32> = holders.owner.into_iter().collect();
    all.extend(&holders.readers);
    all.sort_unstable();
    all.dedup();
    let keeper = |holder: u32| {
        let why = why_kept(roster, holder, thread)?;
        Some(Keeper {
            thread: holder,
            address,
            why,
        })
    };
    all.into_iter().filter_map(keeper).collect()
}

fn what_is_done_once(doer: Option<u32>, thread: u32) -> String {
    match doer {
        Some(doer) if doer == thread => "what it is doing once itself".to_owned(),
        Some(doer) => format!("what T{doer} is doing once"),
        None => "what another thread is doing once".to_owned(),
    }
}

/// Who holds something, told to one of them perhaps.
fn hold(holders: &[u32], thread: u32) -> String {
    let mut holders = holders.to_vec();
    holders.sort_unstable();
    holders.dedup();
    let names: Vec<String> = holders
        .iter()
        .map(|&holder| match holder == thread {
            true => "itself".to_owned(),
            false => format!("T{holder}"),
        })
        .collect();
    match &names[..] {
        [only] if only == "itself" => "it holds itself".to_owned(),
        [only] => format!("{only} holds"),
        [most @ .., last] => format!("{} and {last} hold", most.join(", ")),
        [] => String::new(),
    }
}

fn waits(roster: &Roster) -> Vec<Wait> {
    let mut waits = Vec::new();
    for (number, member) in roster.members.iter().enumerate() {
        let Some(member) = member else { continue };
        if member.standing != Standing::Waiting {
            continue;
        }
        let (for_what, address) = match member.want {
            Want::Lock { address, mode, .. } => {
                let holders = roster.locks.holders(address);
                let why = holders.map_or(String::new(), |holders| {
                    obstacle(roster, holders, number as u32, mode)
                });
                (format!("a lock{why}"), Some(address))
            }
            Want::Notice { lock, .. } if member.told => ("a lock:".to_owned(), Some(lock)),
            Want::Notice { .. } => ("a condition that nobody signals".to_owned(), None),
            Want::Semaphore(_) => ("a semaphore that nobody raises".to_owned(), None),
            Want::End(other) => (format!("the end of T{other}"), None),
            Want::Wake { .. } => ("a futex that nobody wakes".to_owned(), None),
            Want::Round { .. } => ("a barrier that too few reach".to_owned(), None),
            Want::Gathering { .. } | Want::Finish(_) => ("the others of its team".to_owned(), None),
            Want::Tasks(_) => ("tasks of its own".to_owned(), None),
            Want::Once(address) => (what_is_done_once(roster.doer(address), number as u32), None),
            Want::Nothing | Want::Time | Want::Change { .. } => ("its turn".to_owned(), None),
            Want::Ready { events, .. } if events & libc::POLLIN != 0 => {
                ("something to read that nobody writes".to_owned(), None)
            }
            Want::Ready { .. } => ("room to write that nobody makes".to_owned(), None),
            Want::Polled { .. } => ("descriptors that nobody uses".to_owned(), None),
            Want::Child { .. } | Want::Signal { .. } => ("the outside world".to_owned(), None),
        };
        let object = match member.want {
            Want::Notice { condition, .. } if !member.told => Some(condition),
            Want::Semaphore(object)
            | Want::Wake { futex: object, .. }
            | Want::Round {
                barrier: object, ..
            } => Some(object),
            _ => None,
        };
        waits.push(Wait {
            thread: number as u32,
            for_what,
            for_end: matches!(member.want, Want::End(_)),
            address,
            object,
            keepers: address.map_or(Vec::new(), |at| keepers(roster, at, number as u32)),
            holds: roster.locks.of(number as u32),
        });
    }
    waits
}
