//! What may-trigger relations are made of: the functions a thread is in, and the
//! classes of the locks it takes, both by names that survive a rerun.
//!
//! Under DrFinder a thread that is about to synchronise says where it
//! [stands](stand), which the strategy collects relations from and foresees by.
//! With the plan `collect` nobody interferes, and every acquisition is
//! [collected](collect) at once; where a thread has come the same [way](ways) to the same
//! lock before, there is nothing to collect. New relations go to their file as they are found
//! ([`store`]), so they are there however the process ends.
//!
//! Functions of the C++ standard library do not count, as those of Java's do not
//! in the paper (drfinder.txt §6.1): a thread in `std::mutex::lock` is where that
//! was called. Nor does a function that takes, at one and the same place, locks of
//! several classes: it takes what it is given, so its caller is who decides.

mod classes;
mod functions;
mod store;
mod ways;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use racehound_schedule::{ClassId, Collecting, Collector, Relations};
use racehound_trace::FunctionId;
use rustc_hash::FxHashSet;

use crate::context::Context;
use crate::interpose::Errno;
use crate::spin::Locked;
use crate::thread::{self, Visit};
use crate::tls::hot;
use crate::{detector, options, real, tape};

pub(crate) use store::{load, save};

/// How many functions of a stack are asked for; 0 if nobody asks.
static DEPTH: AtomicUsize = AtomicUsize::new(0);
static COLLECTING: AtomicBool = AtomicBool::new(false);
/// Set while that is all that is wanted.
static NOTHING_ELSE: AtomicBool = AtomicBool::new(false);
static COLLECTOR: Locked<Option<Free>> = Locked::new(None);

/// Collects while nobody interferes.
struct Free {
    collector: Collector,
    file: Option<String>,
}

/// Whether anybody asks where threads stand.
#[inline]
pub(crate) fn is_asked() -> bool {
    DEPTH.load(Ordering::Relaxed) != 0
}

/// From now on somebody asks.
pub(crate) fn begin(depth: usize) {
    DEPTH.store(depth, Ordering::Relaxed);
}

/// From now on acquisitions are collected, with what is known already.
pub(crate) fn begin_collecting(collecting: &Collecting) {
    let file = collecting.relations.clone();
    let known = file.as_deref().map(load).unwrap_or_default();
    let depth = collecting.depth as usize;
    let collector = Collector::new(&known, depth);
    *COLLECTOR.lock() = Some(Free { collector, file });
    begin(depth);
    COLLECTING.store(true, Ordering::Relaxed);
    let nothing_else = detector::is_idle() && !tape::is_recording();
    NOTHING_ELSE.store(nothing_else, Ordering::Relaxed);
    if nothing_else {
        real::step_aside_for(&MUTE);
    }
    if let Some(thread) = thread::current() {
        thread.attend();
    }
}

/// Where a thread stands, and the class of the lock that it asks for.
pub(crate) struct Stand {
    pub(crate) functions: Vec<FunctionId>,
    pub(crate) class: Option<ClassId>,
}

/// Where the current thread stands, about to do something at `place`, and to take
/// a lock if there is one.
pub(crate) fn stand(visit: &Visit, place: usize, lock: Option<usize>) -> Stand {
    let _errno = Errno::keep();
    let class = lock.map(|lock| {
        let class = classes::of(visit.thread(), lock, place);
        functions::uses(place, class);
        class
    });
    let depth = match class {
        Some(_) => DEPTH.load(Ordering::Relaxed),
        None => 1,
    };
    let functions = functions::stack(visit.hot(), place, depth);
    Stand { functions, class }
}

/// The current thread gives a lock back at `place`.
pub(crate) fn gives_back(visit: &Visit, place: usize, lock: usize) {
    let _errno = Errno::keep();
    let class = classes::of(visit.thread(), lock, place);
    functions::uses(place, class);
}

/// Names that functions and classes have got since this was asked last.
pub(crate) struct Names {
    pub(crate) functions: Vec<(FunctionId, String)>,
    pub(crate) classes: Vec<(ClassId, String)>,
}

/// Takes them.
pub(crate) fn new_names() -> Names {
    Names {
        functions: functions::new_names(),
        classes: classes::new_names(),
    }
}

/// Functions that the program calls often and that take no lock.
const MUTE: [&str; 29] = [
    "_ZNSt8__detail15_List_node_base10_M_reverseEv",
    "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_",
    "_ZNSt8__detail15_List_node_base4swapERS0_S1_",
    "_ZNSt8__detail15_List_node_base7_M_hookEPS0_",
    "_ZNSt8__detail15_List_node_base9_M_unhookEv",
    "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
    "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
    "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
    "bcmp",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "pthread_mutex_unlock",
    "pthread_rwlock_unlock",
    "pthread_spin_unlock",
    "strchr",
    "strcmp",
    "strcpy",
    "strlen",
    "strncmp",
    "strncpy",
    "strnlen",
    "strrchr",
    "strstr",
];

/// Whether the current thread has nothing to tell when it takes the lock, in a function
/// that we stand in for, and nobody wants to know anything else.
#[inline]
pub(crate) fn is_known(lock: usize) -> bool {
    is_all() && {
        let hot = hot();
        // SAFETY: our own block and frames. Who is inside tells nothing either.
        unsafe {
            let calls = [(*hot).function, (*hot).caller];
            let thread = (*hot).thread.as_ref();
            thread.is_some_and(|thread| {
                thread
                    .triggered
                    .ways
                    .include(ways::Way::new(calls, (*hot).top, lock))
            })
        }
    }
}

/// The thread has taken a lock, if that is collected. Stacks that took locks of the
/// same class before have nothing to tell.
#[inline]
pub(crate) fn collect(visit: &Visit, place: usize, lock: usize) {
    if !COLLECTING.load(Ordering::Relaxed) {
        return;
    }
    let (thread, hot) = (visit.thread(), visit.hot());
    // SAFETY: our own frames.
    let way = unsafe { ways::Way::new([place], (*hot).top, lock) };
    if !thread.triggered.ways.include(way) {
        let taken = thread.context_of(hot, place);
        collect_new(visit, place, lock, taken);
        thread.triggered.ways.add(way);
    }
}

#[cold]
fn collect_new(visit: &Visit, place: usize, lock: usize, taken: Context) {
    let _errno = Errno::keep();
    let thread = visit.thread();
    let class = classes::of(thread, lock, place);
    if !thread.triggered.told.insert((taken, class)) {
        return;
    }
    let depth = DEPTH.load(Ordering::Relaxed);
    let functions = functions::stack(visit.hot(), place, depth);
    let names = new_names();
    let (new, file) = {
        let mut free = COLLECTOR.lock();
        let Some(Free { collector, file }) = free.as_mut() else {
            return;
        };
        for (function, name) in &names.functions {
            collector.name_function(*function, name);
        }
        for (class, name) in &names.classes {
            collector.name_class(*class, name);
        }
        collector.acquires(&functions, class);
        (collector.take_unsaved(), file.clone())
    };
    keep(&new, file.as_deref());
}

/// What a thread has told while it was collected.
#[derive(Default)]
pub(crate) struct Triggered {
    ways: ways::Ways,
    /// Stacks, and the classes of all locks they took.
    told: FxHashSet<(Context, ClassId)>,
}

/// Adds new relations to their file, if they have one.
pub(crate) fn keep(new: &Relations, file: Option<&str>) {
    if let Some(file) = file
        && !new.is_empty()
    {
        save(file, new);
    }
}

/// Whether that is all that is wanted, so that nothing else need be looked at.
#[inline]
pub(crate) fn is_all() -> bool {
    NOTHING_ELSE.load(Ordering::Relaxed)
}

/// What is said in the end of what was collected.
pub(crate) fn conclude() -> Option<String> {
    let free = COLLECTOR.lock();
    let Free { collector, .. } = free.as_ref()?;
    let plan = options::get().plan.as_ref()?;
    let (known, new) = (collector.known(), collector.new_ones());
    Some(format!(
        "racehound: schedule {plan}: {known} relations known, {new} new\n"
    ))
}

fn is_of_program(place: usize) -> bool {
    place != 0 && crate::real::name_at(place).is_none()
}
