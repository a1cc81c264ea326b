//! Tasks of OpenMP: they know what their makers knew, and are known to whoever waits for
//! them.
//!
//! Without control the library runs them. Under control they wait in a queue of our own (see
//! [`control::tasks`](crate::control::tasks)), or are run at once, as OpenMP always allows.

use std::alloc::Layout;
use std::ffi::{c_int, c_long, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::openmp::{Body, address, in_library, may_cancel};
use super::{Call, heap, interpose};
use crate::control::tasks::{Needs, Origin, Ready, Which};
use crate::control::{Turn, doubt};
use crate::sync;
use crate::thread::{self, Visit};

type Copy = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// All tasks together are one object: which of them a wait is for is not known.
static TASKS: u64 = 0;
/// The library runs some.
static IN_LIBRARY: AtomicBool = AtomicBool::new(false);

/// Flags of a task.
const DEPENDS: c_uint = 1 << 3;
const FINAL: c_uint = 1 << 1;
const IS_DEFERRED: c_uint = 1 << 10;
const DETACHED: c_uint = 1 << 13;

/// So many tasks wait for each thread of a team before others are run at once, as in the
/// library.
const MOST: usize = 64;

/// The thread knows what tasks did that are done.
pub(super) fn known(call: &Call) {
    sync::take(&Visit::begin(), address(&TASKS), call.place);
}

/// What the thread did is known to tasks, and to those who wait for this one.
pub(super) fn done(call: &Call) {
    sync::post(&Visit::begin(), address(&TASKS), call.place);
}

/// What a thread works at, as far as tasks go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    task: u64,
    group: u64,
    /// Tasks of the group add up to something that the library has for this thread.
    adds_up: bool,
}

/// The thread works at something else; what it has worked at.
fn works_at(work: Work) -> Work {
    thread::current().map_or(work, |thread| std::mem::replace(&mut thread.work, work))
}

fn current() -> Work {
    thread::current().map_or(Work::default(), |thread| thread.work)
}

/// The thread begins its part of what a team does; what it has worked at.
pub(super) fn begin(place: usize) -> Work {
    let turn = Call::around(place).and_then(|call| call.turn());
    works_at(Work {
        task: turn.map_or(0, |turn| turn.name_task()),
        ..Work::default()
    })
}

pub(super) fn end(outer: Work) {
    works_at(outer);
}

/// The thread has come to the end of what its team does: there all wait, and run tasks.
pub(super) fn finish(call: &Call, team: usize) {
    let Some(turn) = call.turn() else {
        return;
    };
    done(call);
    turn.comes_to_end(team);
    while let Some(task) = turn.finish(team) {
        run(call, &turn, &task);
    }
    known(call);
}

/// Runs tasks until all of these are done.
fn await_all(call: &Call, turn: &Turn, which: Which) {
    while let Some(task) = turn.next_task(which) {
        run(call, turn, &task);
    }
}

/// What a task carries in front of its own data.
#[repr(C)]
struct Task {
    body: Body,
    copy: Option<Copy>,
    data: *mut c_void,
    size: c_long,
    /// How far behind the task's own data are.
    gap: usize,
}

impl Task {
    /// Copies it, and its data behind it.
    ///
    /// # Safety
    /// There is room.
    unsafe fn copy_to(&self, to: *mut c_void) {
        // SAFETY: the caller's promise; what the program gave is copied as it wants.
        unsafe {
            ptr::copy_nonoverlapping(self, to.cast::<Self>(), 1);
            let data = to.cast::<u8>().add(self.gap).cast::<c_void>();
            match self.copy {
                Some(copy) => copy(data, self.data),
                None => ptr::copy_nonoverlapping(
                    self.data.cast::<u8>(),
                    data.cast(),
                    self.size as usize,
                ),
            }
        }
    }
}

unsafe extern "C" fn copy_task(to: *mut c_void, from: *mut c_void) {
    // The library has allocated the task's memory since `GOMP_task`.
    if let Some(call) = Call::begin() {
        done(&call);
    }
    // SAFETY: made by `GOMP_task`, which asked for that much room.
    unsafe { (*from.cast::<Task>()).copy_to(to) };
}

/// Calls what a task is about.
unsafe fn call_body(task: *mut Task) {
    // SAFETY: copied with its data behind it.
    unsafe { ((*task).body)(task.cast::<u8>().add((*task).gap).cast()) };
}

unsafe extern "C" fn run_task(task: *mut c_void) {
    if let Some(call) = Call::begin() {
        known(&call);
    }
    // SAFETY: copied by `copy_task`.
    let body = || unsafe { call_body(task.cast()) };
    match Call::begin().and_then(|call| call.turn()) {
        Some(turn) => {
            let work = Work {
                task: turn.name_task(),
                ..current()
            };
            let outer = works_at(work);
            turn.task(body);
            works_at(outer);
        }
        None => body(),
    }
    if let Some(call) = Call::begin() {
        done(&call);
    }
}

/// Runs a task that was kept.
pub(super) fn run(call: &Call, turn: &Turn, task: &Ready) {
    let outer = works_at(Work {
        task: task.id,
        group: task.group,
        adds_up: false,
    });
    known(call);
    let block = task.body as *mut c_void;
    // SAFETY: made by `keep`.
    unsafe {
        call_body(first_multiple(block).cast());
        heap::free(block);
    }
    done(call);
    works_at(outer);
    turn.task_is_done(task.id);
}

/// Tasks begin at multiples of what they say, behind the block's beginning, where it is noted.
unsafe fn first_multiple(block: *mut c_void) -> *mut c_void {
    // SAFETY: made by `keep`, which has noted it.
    unsafe { block.cast::<*mut c_void>().read() }
}

/// Makes a copy of a task that lasts, and keeps it until somebody runs it.
unsafe fn keep(call: &Call, turn: &Turn, task: &Task, align: usize, origin: Origin, needs: Needs) {
    let size = size_of::<usize>() + align + task.gap + task.size as usize;
    // SAFETY: there is room for the note, to get to the next multiple, and for the task.
    let block = unsafe {
        let block = heap::malloc(size);
        if block.is_null() {
            std::alloc::handle_alloc_error(Layout::new::<Task>());
        }
        let note = block.cast::<*mut c_void>();
        let begins = (note.add(1) as usize).next_multiple_of(align) as *mut c_void;
        note.write(begins);
        task.copy_to(begins);
        block
    };
    done(call);
    turn.defer(origin, needs, block as usize);
}

/// What a task depends on, as compilers write it down: how many addresses there are, of how
/// many the next state, and then the addresses.
unsafe fn needs(flags: c_uint, depend: *mut *mut c_void) -> Needs {
    if flags & DEPENDS == 0 {
        return Needs::Some(Vec::new());
    }
    // SAFETY: the compiler made it so.
    unsafe {
        let all = *depend as usize;
        if all == 0 {
            return Needs::All;
        }
        let states = *depend.add(1) as usize;
        let address = |index| *depend.add(2 + index) as usize;
        Needs::Some((0..all).map(|i| (address(i), i < states)).collect())
    }
}

mod real {
    use super::{Body, Copy};
    use std::ffi::{c_int, c_long, c_uint, c_void};

    unsafe extern "C" {
        pub(super) fn omp_get_num_threads() -> c_int;
        pub(super) fn omp_in_final() -> c_int;
        pub(super) fn GOMP_taskwait();
        pub(super) fn GOMP_taskwait_depend(depend: *mut *mut c_void);
        pub(super) fn GOMP_taskgroup_start();
        pub(super) fn GOMP_taskgroup_end();
        pub(super) fn GOMP_taskgroup_reduction_register(data: *mut usize);
        pub(super) fn GOMP_task(
            body: Body,
            data: *mut c_void,
            copy: Option<Copy>,
            size: c_long,
            align: c_long,
            condition: bool,
            flags: c_uint,
            depend: *mut *mut c_void,
            priority: c_int,
            detach: *mut c_void,
        );
        pub(super) fn GOMP_taskloop(
            body: Body,
            data: *mut c_void,
            copy: Option<Copy>,
            size: c_long,
            align: c_long,
            flags: c_uint,
            count: usize,
            priority: c_int,
            start: c_long,
            end: c_long,
            step: c_long,
        );
    }
}

/// Waits for tasks, and runs some of them meanwhile.
fn awaits(which: impl FnOnce() -> Which, real: impl FnOnce()) {
    let Some(call) = Call::begin() else {
        return real();
    };
    if let Some(turn) = call.turn() {
        await_all(&call, &turn, which());
    }
    match IN_LIBRARY.load(Ordering::Relaxed) {
        true => in_library(&call, real),
        false => real(),
    }
    known(&call);
}

interpose! {
    /// Whether the current task is one whose tasks are all run at once.
    fn omp_in_final() -> c_int {
        real::omp_in_final()
    }

    fn GOMP_taskwait() {
        awaits(|| Which::Children(current().task), || real::GOMP_taskwait());
    }

    // For all rather than for some.
    fn GOMP_taskwait_depend(depend: *mut *mut c_void) {
        awaits(|| Which::Children(current().task), || real::GOMP_taskwait_depend(depend));
    }

    fn GOMP_taskgroup_start() {
        real::GOMP_taskgroup_start();
        if let Some(turn) = Call::begin().and_then(|call| call.turn())
            && let Some(thread) = thread::current()
        {
            thread.groups.push(thread.work);
            thread.work = Work { group: turn.name_task(), adds_up: false, ..thread.work };
        }
    }

    fn GOMP_taskgroup_reduction_register(data: *mut usize) {
        real::GOMP_taskgroup_reduction_register(data);
        works_at(Work { adds_up: true, ..current() });
    }

    fn GOMP_taskgroup_end() {
        awaits(|| Which::Group(current().group), || real::GOMP_taskgroup_end());
        if let Some(outer) = thread::current().and_then(|thread| thread.groups.pop()) {
            works_at(outer);
        }
    }

    fn GOMP_task(
        body: Body,
        data: *mut c_void,
        copy: Option<Copy>,
        size: c_long,
        align: c_long,
        condition: bool,
        flags: c_uint,
        depend: *mut *mut c_void,
        priority: c_int,
        detach: *mut c_void,
    ) {
        let Some(call) = Call::begin() else {
            return real::GOMP_task(
                body, data, copy, size, align, condition, flags, depend, priority, detach,
            );
        };
        done(&call);
        let align = align.max(align_of::<Task>() as c_long);
        let gap = size_of::<Task>().next_multiple_of(align as usize);
        let mut task = Task { body, copy, data, size, gap };
        let mut condition = condition;
        if flags & DETACHED != 0 || may_cancel() {
            if call.turn().is_some() && !IN_LIBRARY.swap(true, Ordering::Relaxed) {
                doubt::tell("OpenMP", "runs tasks in whichever thread it likes");
            }
        } else if let Some(turn) = call.turn() {
            let team = thread::current().map_or(0, |thread| thread.team);
            let threads = real::omp_get_num_threads().max(0) as usize;
            let work = current();
            let is_kept = condition
                && flags & FINAL == 0
                && team != 0
                && threads > 1
                && !work.adds_up
                && real::omp_in_final() == 0
                && !turn.has_enough_tasks(team, MOST * threads);
            if is_kept {
                let origin = Origin { team, parent: work.task, group: work.group };
                return keep(&call, &turn, &task, align as usize, origin, needs(flags, depend));
            }
            if flags & DEPENDS != 0 {
                await_all(&call, &turn, Which::Children(work.task));
            }
            condition = false;
        }
        real::GOMP_task(
            run_task,
            (&raw mut task).cast(),
            Some(copy_task),
            size + gap as c_long,
            align,
            condition,
            flags,
            depend,
            priority,
            detach,
        );
    }

    // Under control all of it is run at once.
    fn GOMP_taskloop(
        body: Body,
        data: *mut c_void,
        copy: Option<Copy>,
        size: c_long,
        align: c_long,
        flags: c_uint,
        count: usize,
        priority: c_int,
        start: c_long,
        end: c_long,
        step: c_long,
    ) {
        let turn = Call::begin().and_then(|call| call.turn());
        let flags = match turn {
            Some(_) => flags & !IS_DEFERRED,
            None => flags,
        };
        real::GOMP_taskloop(body, data, copy, size, align, flags, count, priority, start, end, step);
    }
}
