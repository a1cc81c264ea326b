//! All threads there are and were: who made them, what became of them, and what
//! they knew in the end.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use racehound_detect::clock::Epoch;
use racehound_detect::order::ThreadCell;
use racehound_trace::{Mode, ThreadId};
use rustc_hash::FxHashMap;

use crate::context::{self, Context};
use crate::frames;
use crate::options;
use crate::sampling::calls::CallWord;
use crate::spin::{Guard, Locked};
use crate::thread::{Thread, Visit};
use crate::tls::{Hot, hot};

/// What reports say of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    pub(crate) number: u32,
    pub(crate) name: String,
    /// Who made it, and where.
    pub(crate) parent: Option<u32>,
    pub(crate) made: Context,
    pub(crate) os_id: i32,
    pub(crate) finished: bool,
    pub(crate) detached: bool,
    pub(crate) joined: bool,
    /// When it was made and waited for, in the order of such events, and by whom.
    made_at: u64,
    joined_at: u64,
    joined_by: u32,
    /// Its path in the tree of threads: `0.2` is the main thread's second.
    pub(crate) path: String,
    children: u32,
    /// Which child of its maker it is, from 1.
    pub(crate) ordinal: u32,
    handle: usize,
    /// What it knew at its end, for whoever joins it.
    last: Option<Box<ThreadCell>>,
    /// Where it is in thread-local storage while it runs.
    pub(crate) hot: usize,
    /// Where the rest is while it exists.
    thread: usize,
    /// The program switches to it and from it.
    pub(crate) fiber: bool,
    pub(crate) stack: (usize, usize),
    /// Thread-local storage within the stack.
    pub(crate) tls: std::ops::Range<usize>,
}

/// A line of threads of which each knew all of its predecessor: they share one
/// entry in every clock.
struct Chain {
    id: ThreadId,
    last: Epoch,
}

#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) threads: Vec<Info>,
    by_handle: FxHashMap<usize, u32>,
    chains: VecDeque<Chain>,
    chains_made: u32,
}

static REGISTRY: Locked<Option<Registry>> = Locked::new(None);

pub(crate) struct All(Guard<'static, Option<Registry>>);

impl std::ops::Deref for All {
    type Target = Registry;
    fn deref(&self) -> &Registry {
        self.0.as_ref().expect("set when it was locked")
    }
}

impl std::ops::DerefMut for All {
    fn deref_mut(&mut self) -> &mut Registry {
        self.0.as_mut().expect("set when it was locked")
    }
}

/// All threads. Like every lock of the runtime this one is held inside of it
/// only, or with signals blocked: a handler that came meanwhile could come to
/// want it, too.
pub(crate) fn all() -> All {
    let mut guard = REGISTRY.lock();
    guard.get_or_insert_default();
    All(guard)
}

/// Chains that wait for somebody who knows them; beyond, the oldest is given to
/// whoever comes: a thread that ended long ago and was never heard of again.
const WAITING_CHAINS: usize = 256;

impl Registry {
    /// A clock for a new thread whose maker has this one.
    fn chain(&mut self, maker: Option<&ThreadCell>) -> ThreadCell {
        let known =
            maker.and_then(|maker| self.chains.iter().position(|c| maker.clock.knows(c.last)));
        let at = match known {
            None if self.chains.len() > WAITING_CHAINS => Some(0),
            other => other,
        };
        match at.and_then(|at| self.chains.remove(at)) {
            Some(chain) => {
                let mut cell = ThreadCell::new(chain.id);
                cell.clock.set_epoch(chain.last.after(1));
                cell
            }
            None => {
                self.chains_made += 1;
                ThreadCell::new(ThreadId(self.chains_made - 1))
            }
        }
    }

    fn add(&mut self, parent: Option<u32>, made: Context) -> u32 {
        let number = self.threads.len() as u32;
        let (path, ordinal) = match parent {
            None if number == 0 => ("0".to_owned(), 0),
            None => (format!("?.{number}"), number),
            Some(parent) => {
                let parent = &mut self.threads[parent as usize];
                parent.children += 1;
                (
                    format!("{}.{}", parent.path, parent.children),
                    parent.children,
                )
            }
        };
        self.threads.push(Info {
            number,
            name: String::new(),
            parent,
            made,
            os_id: 0,
            finished: false,
            detached: false,
            joined: false,
            made_at: tick(),
            joined_at: 0,
            joined_by: 0,
            path,
            children: 0,
            ordinal,
            handle: 0,
            last: None,
            hot: 0,
            thread: 0,
            fiber: false,
            stack: (0, 0),
            tls: 0..0,
        });
        number
    }

    pub(crate) fn by_handle(&self, handle: usize) -> Option<u32> {
        self.by_handle.get(&handle).copied()
    }

    /// The thread's handle is not its own any more; it may be another's already.
    fn forget_handle(&mut self, number: u32) {
        let handle = self.threads[number as usize].handle;
        if self.by_handle(handle) == Some(number) {
            self.by_handle.remove(&handle);
        }
    }

    fn retire(&mut self, number: u32) {
        let info = &mut self.threads[number as usize];
        if let Some(last) = info.last.take() {
            let epoch = last.epoch();
            self.chains.push_back(Chain {
                id: epoch.thread(),
                last: epoch,
            });
        }
    }
}

/// A thread is about to be made by the current one.
pub(crate) fn fork(thread: &mut Thread, made: Context, stack: usize) -> Box<Thread> {
    let order = options::get().order();
    let parent = thread.number;
    let (number, mut clock) = {
        let mut all = all();
        thread.clock.clock.set_epoch(thread.now());
        let clock = all.chain(Some(&thread.clock));
        (all.add(Some(parent), made), clock)
    };
    thread.synchronise(|sync, t| sync.fork(t, &mut clock));
    crate::record::fork(thread, number);
    let mut child = Thread::new(number, clock, order, stack);
    child.ignore = thread.ignore;
    child.ignore_sync = thread.ignore_sync;
    all().threads[number as usize].thread = std::ptr::from_mut(&mut *child) as usize;
    child
}

/// The current thread makes a fiber.
pub(crate) fn fork_fiber(thread: &mut Thread, made: Context, stack: usize) -> *mut Thread {
    let mut fiber = fork(thread, made, stack);
    // It ignores nothing because its maker happens to.
    fiber.ignore = 0;
    fiber.ignore_sync = 0;
    fiber.resting = fiber.frames.bottom();
    let mut all = all();
    let info = &mut all.threads[fiber.number as usize];
    info.fiber = true;
    info.detached = true;
    Box::into_raw(fiber)
}

/// A fiber will not be switched to any more.
///
/// # Safety
/// It was made by [`fork_fiber`], is current nowhere, and ends only once.
pub(crate) unsafe fn end_fiber(fiber: *mut Thread) {
    // SAFETY: the caller's promise.
    ended(unsafe { Box::from_raw(fiber) });
}

/// The thread could not be made.
pub(crate) fn never_began(child: Box<Thread>) {
    let mut all = all();
    let number = child.number;
    let info = &mut all.threads[number as usize];
    info.finished = true;
    info.joined = true;
    info.thread = 0;
    info.last = Some(Box::new(child.clock));
    all.retire(number);
}

/// The current processor thread becomes the thread that was made for it.
pub(crate) fn begin(mut thread: Box<Thread>) {
    // What the C library does for us here is not the program's doing.
    // SAFETY: our own block.
    unsafe { (*hot()).busy += 1 };
    // SAFETY: both ask for who we are.
    let (handle, os_id) = unsafe { (libc::pthread_self() as usize, libc::gettid()) };
    register(thread.number, handle, os_id);
    all().threads[thread.number as usize].thread = std::ptr::from_mut(&mut *thread) as usize;
    let bottom = thread.frames.bottom();
    // SAFETY: it is current nowhere yet.
    unsafe {
        let thread = Box::leak(thread);
        (*hot()).home = thread;
        thread.enter(bottom);
        (*hot()).busy -= 1;
    }
}

/// Notes what is known of a thread that runs.
fn register(number: u32, handle: usize, os_id: i32) {
    let mut all = all();
    all.by_handle.insert(handle, number);
    let info = &mut all.threads[number as usize];
    info.handle = handle;
    info.os_id = os_id;
    info.hot = hot() as usize;
}

/// The current thread finds out where its stack is. The C library allocates for that, and
/// maps memory when a thread does so for the first time: under control it is the thread's
/// turn, so that addresses are the same in every execution.
pub(crate) fn find_stack(visit: &Visit) {
    let stack = crate::stack::extent();
    let thread = visit.thread();
    thread.extent = stack.clone();
    let mut all = all();
    let info = &mut all.threads[thread.number as usize];
    info.stack = (stack.start, stack.end);
    // The C library keeps the thread's own data at the end of its stack.
    let tls_end = info.handle + crate::stack::DESCRIPTOR;
    if thread.number == 0 || stack.contains(&info.handle) {
        info.tls = crate::stack::tls_start()..tls_end;
    }
}

/// The maker knows its handle now, perhaps before the thread itself does.
pub(crate) fn made(number: u32, handle: usize) {
    let mut all = all();
    let info = &all.threads[number as usize];
    if !info.finished && info.handle == 0 {
        all.by_handle.insert(handle, number);
    }
}

/// Introduces a thread that nobody has announced: the main thread, or one that
/// a library made behind our back.
#[cold]
pub(crate) fn introduce() {
    crate::init();
    if !unsafe { (*hot()).thread }.is_null() {
        return;
    }
    let order = options::get().order();
    let (number, clock) = {
        let mut all = all();
        let clock = all.chain(None);
        (all.add(None, Context::UNKNOWN), clock)
    };
    let stack = crate::stack::extent();
    let mut thread = Thread::new(number, clock, order, stack.len());
    thread.is_a_librarys = number != 0;
    begin(thread);
    find_stack(&Visit::begin());
}

/// The current thread ends.
pub(crate) fn finish() {
    let hot: *mut Hot = hot();
    // SAFETY: our own block; nobody else has the thread.
    unsafe {
        let thread = (*hot).thread;
        if thread.is_null() {
            return;
        }
        // Whoever wants everybody out waits until it is no longer counted.
        let _visit = Visit::begin();
        // What ends is what the processor's thread began as; a fiber that it is
        // on rests.
        let home = (*hot).home;
        (*thread).settle_log();
        let at_home = (*thread).switch(home);
        if !at_home {
            (*thread).resting = (*hot).top;
        }
        (*hot).thread = std::ptr::null_mut();
        (*hot).home = std::ptr::null_mut();
        (*hot).top = std::ptr::null_mut();
        (*hot).floor = 0;
        (*hot).span = 0;
        (*hot).log = 0;
        (*hot).calls = std::ptr::null_mut();
        (*hot).tables = std::ptr::null_mut();
        (*hot).presence = std::ptr::null();
        (*hot).call = CallWord::OUTSIDE;
        // What the C library does from now on is not the program's doing.
        (*hot).gone = 1;
        match at_home {
            true => {
                let thread = Box::from_raw(home);
                crate::finish::check_ignores(&thread);
                ended(thread);
            }
            // Another processor's thread goes on with it.
            false => {
                let mut all = all();
                let info = &mut all.threads[(*home).number as usize];
                info.hot = 0;
                info.fiber = true;
            }
        }
    }
}

/// A thread that is not current any more is over.
fn ended(mut thread: Box<Thread>) {
    crate::sync::leave_behind(&mut thread);
    thread.clock.clock.set_epoch(thread.now());
    crate::record::end(&mut thread);
    crate::cell::give_back(&mut thread.spare);
    crate::messages::give_back(&mut thread.messages);
    thread.quarantine.clear();
    let mut all = all();
    let number = thread.number;
    let info = &mut all.threads[number as usize];
    info.finished = true;
    info.hot = 0;
    info.thread = 0;
    info.last = Some(Box::new(thread.clock.clone()));
    if info.detached {
        all.forget_handle(number);
        all.retire(number);
    }
}

/// The thread that belongs to a handle, before it is joined: afterwards the
/// handle may be another's.
pub(crate) fn joining(handle: usize) -> Option<u32> {
    all().by_handle(handle)
}

/// The current thread has waited for the end of another one.
pub(crate) fn joined(visit: &Visit, number: u32) {
    let thread = visit.thread();
    let last = {
        let mut all = all();
        all.forget_handle(number);
        let info = &mut all.threads[number as usize];
        info.joined = true;
        info.joined_at = tick();
        info.joined_by = thread.number;
        info.last.clone()
    };
    if let Some(last) = last {
        thread.synchronise(|sync, t| sync.join(t, &last));
    }
    crate::record::join(thread, number);
    all().retire(number);
}

/// Nobody will wait for the end of that thread.
pub(crate) fn detach(handle: usize) {
    let mut all = all();
    let Some(number) = all.by_handle(handle) else {
        return;
    };
    all.threads[number as usize].detached = true;
    if all.threads[number as usize].finished {
        all.forget_handle(number);
        all.retire(number);
    }
}

/// Gives a thread a name.
pub(crate) fn name(number: u32, name: &str) {
    name.clone_into(&mut all().threads[number as usize].name);
}

/// In the child of a fork only the current thread goes on. What the others have
/// done is over: nothing in this process can come before it or meet it. Who they
/// were.
pub(crate) fn only_me(thread: &mut Thread) -> Vec<u32> {
    let mut gone = Vec::new();
    let mut all = all();
    for info in &mut all.threads {
        let goes_on = info.fiber || info.hot == hot() as usize;
        if info.number == thread.number || goes_on {
            continue;
        }
        gone.push(info.number);
        if let Some(last) = &info.last {
            thread.synchronise(|sync, t| sync.join(t, last));
        }
        if !info.finished {
            // SAFETY: if it is there, it has stopped for good, outside of the runtime.
            if let Some(stopped) = unsafe { (info.thread as *mut Thread).as_mut() } {
                let last = stopped.up_to_now();
                thread.synchronise(|sync, t| sync.join(t, last));
            }
            info.finished = true;
            info.joined = true;
            info.hot = 0;
            info.thread = 0;
        }
    }
    FORKED.store(true, std::sync::atomic::Ordering::Relaxed);
    // SAFETY: asks who we are.
    all.threads[thread.number as usize].os_id = unsafe { libc::gettid() };
    gone
}

/// What is known of a thread.
pub(crate) fn info(number: u32) -> Option<Info> {
    all().threads.get(number as usize).cloned()
}

/// Where a thread is that waits for its turn in a function of ours.
pub(crate) fn parked_at(number: u32) -> Context {
    let hot = all().threads.get(number as usize).map_or(0, |i| i.hot) as *const Hot;
    if hot.is_null() {
        return Context::UNKNOWN;
    }
    // SAFETY: it is there as long as it is noted here, and its thread does not run.
    unsafe {
        let parent = frames::context((*hot).top, context::inside);
        context::inside(parent, (*hot).function)
    }
}

/// The locks that a thread holds which waits for its turn, or asks.
pub(crate) fn held_by(number: u32) -> Vec<(u32, Mode)> {
    let all = all();
    let thread = all.threads.get(number as usize).map_or(0, |i| i.thread);
    // SAFETY: it is there as long as it is noted here, and does not run.
    let held = unsafe { (thread as *const Thread).as_ref() }.map(|thread| thread.held.all());
    let holds = held.unwrap_or_default().iter();
    holds.map(|h| (h.hold.lock.0, h.hold.mode)).collect()
}

/// Whether a thread that waits for its turn is in a handler of a signal.
pub(crate) fn is_in_handler(number: u32) -> bool {
    let all = all();
    let thread = all.threads.get(number as usize).map_or(0, |i| i.thread);
    // SAFETY: it is there as long as it is noted here, and does not run.
    let thread = unsafe { (thread as *const Thread).as_ref() };
    thread.is_some_and(|thread| thread.signals.handling > 0)
}

/// Whose stack an address is in; true if it is in what the C library keeps at
/// its end, that is thread-local storage.
pub(crate) fn whose_stack(address: usize) -> Option<(u32, bool)> {
    let all = all();
    let of = |info: &&Info| {
        (info.stack.0..info.stack.1).contains(&address) || info.tls.contains(&address)
    };
    let info = all.threads.iter().rev().find(of)?;
    Some((info.number, info.tls.contains(&address)))
}

/// What every thread has come to now, as far as that can be told from outside.
pub(crate) fn everybody() -> Vec<Epoch> {
    let all = all();
    let running = all.threads.iter().filter(|info| info.thread != 0);
    let running = running.map(|info| {
        let thread = info.thread as *const Thread;
        // SAFETY: the thread cannot end while we hold the lock; its stamp is one
        // word.
        unsafe { (&raw const (*thread).stamp).read_volatile().epoch() }
    });
    let ended = all.threads.iter().filter_map(|info| info.last.as_ref());
    running.chain(ended.map(|last| last.epoch())).collect()
}

/// Whether threads other than the current one run.
pub(crate) fn others_run() -> bool {
    let all = all();
    let runs = |info: &&Info| !info.finished && !info.fiber;
    all.threads.iter().filter(runs).count() > 1
}

/// Whether any thread of the program runs.
pub(crate) fn anybody_left() -> bool {
    all()
        .threads
        .iter()
        .any(|info| !info.finished && !info.fiber)
}

/// Whether this process was forked off another one.
pub(crate) fn is_forked() -> bool {
    FORKED.load(std::sync::atomic::Ordering::Relaxed)
}

static FORKED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Threads that nobody waited for, one for each place where they were made, and
/// how many.
pub(crate) fn leaks() -> Vec<(u32, usize)> {
    let mut places: Vec<(Context, u32, usize)> = Vec::new();
    let all = all();
    let leaked =
        |info: &&Info| info.finished && info.parent.is_some() && !info.detached && !info.joined;
    for info in all.threads.iter().filter(leaked) {
        match places.iter_mut().find(|(made, ..)| *made == info.made) {
            Some((_, _, count)) => *count += 1,
            None => places.push((info.made, info.number, 1)),
        }
    }
    places
        .into_iter()
        .map(|(_, number, count)| (number, count))
        .collect()
}

/// Whether a thread with another block than `me` is in the runtime.
pub(crate) fn any_busy(me: usize) -> bool {
    let all = all();
    let blocks = all.threads.iter().rev().map(|info| info.hot);
    blocks.filter(|&hot| hot != 0 && hot != me).any(|hot| {
        // SAFETY: the thread has not ended, and cannot while we hold the lock.
        let busy = unsafe { (&raw const (*(hot as *const Hot)).busy).read_volatile() };
        busy & !Hot::ASIDE != 0
    })
}

/// Calls `each` with the block of every running thread.
pub(crate) fn each_block(each: impl Fn(*mut Hot)) {
    let all = all();
    let blocks = all.threads.iter().map(|info| info.hot);
    blocks
        .filter(|&hot| hot != 0)
        .for_each(|hot| each(hot as *mut Hot));
}

/// Calls `each` with every running thread; all but the current one are out of
/// the runtime.
pub(crate) fn each_thread(mut each: impl FnMut(&mut Thread)) {
    let all = all();
    for info in all.threads.iter().filter(|info| info.thread != 0) {
        // SAFETY: as above; and who is out of the runtime, or rests, does not
        // touch it.
        each(unsafe { &mut *(info.thread as *mut Thread) });
    }
}

/// Tells what others than `me` have noted for the trace; nobody else is in the
/// runtime. They go on, but what they note from now on is of no interest.
pub(crate) fn peek_logs(me: *const Hot) {
    let infos = |all: All| all.threads.iter().map(|info| info.hot).collect();
    let blocks: Vec<usize> = infos(all());
    for block in blocks.into_iter().map(|block| block as *const Hot) {
        if block.is_null() || block == me {
            continue;
        }
        // SAFETY: who has not ended has both, and is elsewhere.
        if let Some(thread) = unsafe { (*block).thread.as_mut() } {
            thread.peek_log(block);
        }
    }
}

/// All other threads, while nobody else is in the runtime: those who run do not
/// touch what is theirs here, and none ends.
pub(crate) fn others(me: &Thread) -> Vec<&'static mut Thread> {
    let all = all();
    let numbers = all.threads.iter().filter(|info| info.number != me.number);
    let threads = numbers.map(|info| info.thread as *mut Thread);
    // SAFETY: as above; they are there as long as they have not ended.
    threads
        .filter_map(|thread| unsafe { thread.as_mut() })
        .collect()
}

/// Counts what happens to threads.
fn tick() -> u64 {
    static TIME: AtomicU64 = AtomicU64::new(1);
    TIME.fetch_add(1, Ordering::Relaxed)
}

/// Whether one of two threads had ended, and been waited for, before the other
/// was made or waited itself: they cannot have met.
pub(crate) fn in_turn(a: u32, b: u32) -> bool {
    let all = all();
    let (Some(a), Some(b)) = (all.threads.get(a as usize), all.threads.get(b as usize)) else {
        return false;
    };
    let before = |a: &Info, b: &Info| {
        a.joined && (a.joined_by == b.number || a.joined_at != 0 && a.joined_at < b.made_at)
    };
    before(a, b) || before(b, a)
}
