//! Descriptors: their numbers are shared memory of a kind, and what goes through
//! them orders threads.
//!
//! # Races on the number
//! Each descriptor has eight bytes of private memory. Whatever makes it writes
//! them, closing writes them, every other use reads them: a race there is a race
//! of `close` with a use, or with another `close`, and is found, remembered and
//! reported as any other. What makes a descriptor overwrites the past of its
//! number without looking: the kernel hands a number out only after it was
//! closed. A number that was closed and then works again was made by somebody
//! unseen, so its past is forgotten; one that was closed and fails with `EBADF`
//! is used after its end.
//!
//! # Channels
//! What one thread writes and another reads goes through a *channel*, an address
//! in a range of our own. Which one is found out at the first use, from what the
//! kernel says the descriptor is:
//! - a file, a directory or a pipe: one for each inode, so that the two ends of
//!   a pipe, and all descriptors of a file, share it;
//! - a socket: one for all, since the other end of a connection cannot be told,
//!   but one for each pair made by `socketpair`;
//! - all else (event counters, `epoll`, terminals): one each.
//!
//! Some tell of what happens elsewhere: who reads from a `signalfd` knows what the senders
//! of its signals knew, and who reads from an `inotify` what those knew who made, changed
//! or closed files.
//!
//! Channels are taken from a table by hash. Two that fall together only order
//! more than they should.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use super::{Call, Errno};
use crate::context::Context;
use crate::control::children;
use crate::control::signalling::{self, Set};
use crate::spin::Locked;
use crate::thread;
use crate::thread::Visit;
use crate::{fork, memory, shadow_range, signals};

/// Descriptors that are watched: as many as systems allow a process.
const MOST: usize = 1 << 20;
const CHANNELS: usize = 1 << 16;
/// The channel of all sockets. 0 is none.
const SOCKETS: u32 = 1;
/// The channel of names in file systems.
const NAMES: u32 = 2;
const FIRST: u32 = 3;

/// Bytes of a slot and of a channel.
const GRAIN: usize = 8;

/// What is known of a descriptor.
#[derive(Default)]
struct Descriptor {
    /// 0 if not found out yet.
    channel: AtomicU32,
    state: AtomicU32,
    /// Whether the other end was made with it.
    paired: AtomicU32,
    /// Whether it is a file: nobody waits for that.
    never_waits: AtomicBool,
    /// Whether it tells of changes to files.
    tells_of_names: AtomicBool,
    /// The signals it tells of.
    tells_of_signals: AtomicU64,
    /// Who made it, plus one, and where.
    thread: AtomicU32,
    made: AtomicU32,
}

impl Descriptor {
    /// What is known of another is true of this one.
    fn is_like(&self, other: c_int) {
        let Some(other) = descriptor(other) else {
            return;
        };
        let relaxed = Ordering::Relaxed;
        self.never_waits
            .store(other.never_waits.load(relaxed), relaxed);
        self.tells_of_names
            .store(other.tells_of_names.load(relaxed), relaxed);
        self.tells_of_signals
            .store(other.tells_of_signals.load(relaxed), relaxed);
    }
}

/// Made behind our back, or made and open.
const OPEN: u32 = 0;
const CLOSED: u32 = 1;

struct Tables {
    slots: usize,
    channels: usize,
    descriptors: &'static [Descriptor],
}

static TABLES: OnceLock<Tables> = OnceLock::new();
/// One above the highest number seen.
static HIGHEST: AtomicU32 = AtomicU32::new(0);
/// Channels of descriptors that are alone with theirs.
static ALONE: AtomicU32 = AtomicU32::new(0);

fn tables() -> &'static Tables {
    match TABLES.get() {
        Some(tables) => tables,
        None => make_tables(),
    }
}

#[cold]
fn make_tables() -> &'static Tables {
    let _errno = Errno::keep();
    // While it lasts, no signal comes and nobody forks.
    let _visit = Visit::begin();
    TABLES.get_or_init(|| {
        let descriptors = memory::reserve(MOST * size_of::<Descriptor>()).cast();
        Tables {
            slots: memory::reserve(MOST * GRAIN) as usize,
            channels: memory::reserve(CHANNELS * GRAIN) as usize,
            // SAFETY: reserved for as many, and zeroes are a descriptor.
            descriptors: unsafe { std::slice::from_raw_parts(descriptors, MOST) },
        }
    })
}

fn descriptor(fd: c_int) -> Option<&'static Descriptor> {
    let number = usize::try_from(fd).ok()?;
    let descriptor = tables().descriptors.get(number)?;
    HIGHEST.fetch_max(number as u32 + 1, Ordering::Relaxed);
    Some(descriptor)
}

fn slot(fd: c_int) -> *const u64 {
    (tables().slots + fd as usize * GRAIN) as *const u64
}

/// The descriptor whose slot is at that address, who made it, and where.
pub(crate) fn describe(address: usize) -> Option<(c_int, u32, Context)> {
    let tables = TABLES.get()?;
    let number = address.checked_sub(tables.slots)? / GRAIN;
    let descriptor = tables.descriptors.get(number)?;
    let thread = descriptor.thread.load(Ordering::Relaxed).checked_sub(1)?;
    let made = Context(descriptor.made.load(Ordering::Relaxed));
    Some((number as c_int, thread, made))
}

fn mix(a: u64, b: u64) -> u32 {
    let hash = (a.rotate_left(32) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 32) as u32 % (CHANNELS as u32 - FIRST) + FIRST
}

/// The channel of a descriptor of which nothing is known.
fn find_out(fd: c_int, descriptor: &Descriptor) -> u32 {
    let _errno = Errno::keep();
    // SAFETY: zeroes are a result like any other.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a result of that size.
    if unsafe { libc::fstat(fd, &raw mut about) } != 0 {
        return 0;
    }
    let kind = about.st_mode & libc::S_IFMT;
    let never_waits = matches!(kind, libc::S_IFREG | libc::S_IFDIR);
    descriptor.never_waits.store(never_waits, Ordering::Relaxed);
    match kind {
        libc::S_IFSOCK => SOCKETS,
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFIFO | libc::S_IFBLK => {
            mix(about.st_dev, about.st_ino)
        }
        _ => mix(u64::MAX, ALONE.fetch_add(1, Ordering::Relaxed).into()),
    }
}

fn channel(fd: c_int) -> Option<usize> {
    let descriptor = descriptor(fd)?;
    let mut number = descriptor.channel.load(Ordering::Relaxed);
    if number == 0 {
        let found = find_out(fd, descriptor);
        let first =
            descriptor
                .channel
                .compare_exchange(0, found, Ordering::Relaxed, Ordering::Relaxed);
        number = first.err().unwrap_or(found);
    }
    (number != 0).then(|| at(number))
}

fn at(channel: u32) -> usize {
    tables().channels + channel as usize * GRAIN
}

/// A descriptor was made.
pub(crate) fn opened(call: &Call, fd: c_int) {
    let Some(descriptor) = descriptor(fd) else {
        return;
    };
    note(call, descriptor, 0);
    let _errno = Errno::keep();
    let visit = Visit::begin();
    let thread = visit.thread();
    if thread.ignore != 0 {
        return shadow_range::forget(thread, slot(fd) as usize, GRAIN);
    }
    let stamp = thread.stamp(visit.hot(), call.place);
    shadow_range::written(thread, slot(fd) as usize, GRAIN, stamp);
}

fn note(call: &Call, descriptor: &Descriptor, channel: u32) {
    let visit = Visit::begin();
    let thread = visit.thread();
    let made = thread.context(call.place);
    descriptor
        .thread
        .store(thread.number + 1, Ordering::Relaxed);
    descriptor.made.store(made.0, Ordering::Relaxed);
    descriptor.channel.store(channel, Ordering::Relaxed);
    descriptor.state.store(OPEN, Ordering::Relaxed);
    descriptor.paired.store(0, Ordering::Relaxed);
    descriptor.never_waits.store(false, Ordering::Relaxed);
    descriptor.tells_of_names.store(false, Ordering::Relaxed);
    descriptor.tells_of_signals.store(0, Ordering::Relaxed);
}

/// Whether both ends of what a descriptor leads to were made here, and nobody else has
/// them: no other process was made by copying this one.
pub(crate) fn leads_nowhere_else(fd: c_int) -> bool {
    !fork::has_copied() && is_paired(fd)
}

/// Somebody is about to use a descriptor: child processes may have its other end.
pub(crate) fn stir(fd: c_int) {
    if children::are_there() && !never_waits(fd) {
        children::stir();
    }
}

/// Whether a descriptor is known to be a file that is read and written without waiting.
pub(crate) fn never_waits(fd: c_int) -> bool {
    channel(fd).is_some()
        && descriptor(fd).is_some_and(|descriptor| descriptor.never_waits.load(Ordering::Relaxed))
}

/// What a descriptor is, as `stat` has it; 0 if it is something else.
fn kind(fd: c_int) -> libc::mode_t {
    let _errno = Errno::keep();
    // SAFETY: zeroes are a result like any other, and it is of that size.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        match libc::fstat(fd, &raw mut about) {
            0 => about.st_mode & libc::S_IFMT,
            _ => 0,
        }
    }
}

/// Whether other processes decide when there is something to be had from a descriptor, as
/// far as can be told: they are at its other end, or at that of any socket where it is
/// only known that it is about some.
pub(crate) fn depends_on_others(fd: c_int) -> bool {
    let _errno = Errno::keep();
    let all = || 0..HIGHEST.load(Ordering::Relaxed) as c_int;
    let is_foreign = |fd| kind(fd) == libc::S_IFSOCK && has_stranger_at_other_end(fd);
    match kind(fd) {
        libc::S_IFIFO => !leads_nowhere_else(fd) && (!is_paired(fd) || children::live()),
        libc::S_IFCHR => true,
        libc::S_IFSOCK => has_stranger_at_other_end(fd),
        0 => all().any(is_foreign),
        _ => false,
    }
}

/// Whether a socket is connected to one of another process.
fn has_stranger_at_other_end(fd: c_int) -> bool {
    let Some(peer) = name(fd, libc::getpeername) else {
        return false;
    };
    if i32::from(peer.ss_family) == libc::AF_UNIX {
        // SAFETY: zeroes are such a result, of that size; asks.
        return unsafe {
            let mut peer: libc::ucred = std::mem::zeroed();
            let mut size = size_of::<libc::ucred>() as libc::socklen_t;
            let (level, what) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
            let to = (&raw mut peer).cast();
            libc::getsockopt(fd, level, what, to, &raw mut size) != 0
                || peer.pid != libc::getpid()
                || children::live()
        };
    }
    let own = (0..HIGHEST.load(Ordering::Relaxed) as c_int)
        .filter(|other| kind(*other) == libc::S_IFSOCK)
        .filter_map(|other| name(other, libc::getsockname));
    // Of a connection that nobody has accepted yet the other end is whoever listens there.
    own.into_iter().all(|own| port(&own) != port(&peer)) || children::live()
}

type Ask = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int;

/// The name of a socket, or of who is at its other end.
fn name(fd: c_int, ask: Ask) -> Option<libc::sockaddr_storage> {
    // SAFETY: zeroes are a name, and there is room for any.
    unsafe {
        let mut name: libc::sockaddr_storage = std::mem::zeroed();
        let mut size = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        let found = ask(fd, (&raw mut name).cast(), &raw mut size) == 0;
        found.then_some(name)
    }
}

/// The port in a name, which is at the same place in all that have one.
fn port(name: &libc::sockaddr_storage) -> Option<u16> {
    let has_one = matches!(i32::from(name.ss_family), libc::AF_INET | libc::AF_INET6);
    // SAFETY: such a name begins like this.
    has_one.then(|| unsafe { (*std::ptr::from_ref(name).cast::<libc::sockaddr_in>()).sin_port })
}

fn is_paired(fd: c_int) -> bool {
    descriptor(fd).is_some_and(|descriptor| descriptor.paired.load(Ordering::Relaxed) != 0)
}

/// What comes out of a descriptor is of this process's making: what was written to an event
/// counter, the time that a timer was set to. The same of an `epoll` as long as it watches nothing else, see [`watch`].
pub(crate) fn is_its_own_end(fd: c_int) {
    if let Some(descriptor) = descriptor(fd) {
        descriptor.paired.store(1, Ordering::Relaxed);
    }
}

/// The descriptor tells of these signals.
pub(crate) fn tells_of_signals(fd: c_int, signals: Set) {
    if let Some(descriptor) = descriptor(fd) {
        descriptor
            .tells_of_signals
            .store(signals, Ordering::Relaxed);
    }
}

/// Whether any descriptor tells of what happens to files.
static NAMES_ARE_TOLD: AtomicBool = AtomicBool::new(false);

/// The descriptor, if it is one, tells of what happens to files.
pub(crate) fn tells_of_names(fd: c_int) -> c_int {
    if let Some(descriptor) = descriptor(fd) {
        descriptor.tells_of_names.store(true, Ordering::Relaxed);
        NAMES_ARE_TOLD.store(true, Ordering::Relaxed);
    }
    fd
}

/// Two ends of one channel were made.
pub(crate) fn opened_pair(call: &Call, fds: [c_int; 2]) {
    let number = mix(u64::MAX, ALONE.fetch_add(1, Ordering::Relaxed).into());
    for fd in fds {
        opened(call, fd);
        if let Some(descriptor) = descriptor(fd) {
            descriptor.channel.store(number, Ordering::Relaxed);
            descriptor.paired.store(1, Ordering::Relaxed);
        }
    }
}

/// A descriptor was copied to a new number.
pub(crate) fn copied(call: &Call, from: c_int, to: c_int) {
    // Only what is known of it makes a difference between the two.
    let same = channel(from).map(|_| known_channel(from));
    opened(call, to);
    if let (Some(same), Some(descriptor)) = (same, descriptor(to)) {
        descriptor.channel.store(same, Ordering::Relaxed);
        descriptor.is_like(from);
    }
}

fn known_channel(fd: c_int) -> u32 {
    descriptor(fd).map_or(0, |d| d.channel.load(Ordering::Relaxed))
}

/// A descriptor was copied over another. That counts as a use of its number
/// only: to put something harmless in the place of what others still use is how
/// careful programs close.
pub(crate) fn replaced(call: &Call, from: c_int, to: c_int) {
    if from == to {
        return;
    }
    _ = channel(from);
    let same = known_channel(from);
    if let Some(descriptor) = descriptor(to) {
        call.reads(slot(to), GRAIN);
        note(call, descriptor, same);
        descriptor.is_like(from);
    }
}

/// A descriptor is about to be closed: afterwards the number may be another's.
/// Whoever waits at the other end learns of it.
pub(crate) fn closing(call: &Call, fd: c_int) {
    let Some(descriptor) = descriptor(fd) else {
        return;
    };
    if descriptor.state.load(Ordering::Relaxed) == CLOSED {
        return;
    }
    if channel(fd).is_none() {
        // Not open: nothing to close.
        return;
    }
    hands_on(call, fd);
    stir(fd);
    call.writes(slot(fd), GRAIN);
    descriptor.channel.store(0, Ordering::Relaxed);
    descriptor.state.store(CLOSED, Ordering::Relaxed);
}

/// Closes a descriptor.
pub(crate) fn closes<R: Outcome>(call: &Call, fd: c_int, real: impl FnOnce() -> R) -> R {
    let is_closed = |d: &&Descriptor| d.state.load(Ordering::Relaxed) == CLOSED;
    if descriptor(fd).as_ref().is_none_or(|d| !is_closed(d)) {
        closing(call, fd);
        return real();
    }
    let result = real();
    if descriptor(fd).as_ref().is_some_and(is_closed) {
        match result.failed() && Errno::now() == libc::EBADF {
            true => call.writes(slot(fd), GRAIN),
            false => forget(fd),
        }
    }
    result
}

fn forget(fd: c_int) {
    let _errno = Errno::keep();
    let visit = Visit::begin();
    shadow_range::forget(visit.thread(), slot(fd) as usize, GRAIN);
}

/// All descriptors of a range are about to be closed.
pub(crate) fn closing_range(call: &Call, first: u32, last: u32) {
    let end = HIGHEST.load(Ordering::Relaxed);
    for fd in first..end.min(last.saturating_add(1)) {
        let descriptor = &tables().descriptors[fd as usize];
        if descriptor.thread.load(Ordering::Relaxed) != 0 {
            closing(call, fd as c_int);
        }
    }
}

/// What the real functions return when they fail.
pub(crate) trait Outcome: Copy {
    fn failed(self) -> bool;

    fn failure() -> Self;

    /// Fails with an error.
    fn fails(error: c_int) -> Self {
        // SAFETY: our own.
        unsafe { *libc::__errno_location() = error };
        Self::failure()
    }
}

impl Outcome for c_int {
    fn failed(self) -> bool {
        self < 0
    }

    fn failure() -> Self {
        -1
    }
}

impl Outcome for isize {
    fn failed(self) -> bool {
        self < 0
    }

    fn failure() -> Self {
        -1
    }
}

/// Does something with a descriptor that says nothing about what goes through.
pub(crate) fn uses<R: Outcome>(call: &Call, fd: c_int, real: impl FnOnce() -> R) -> R {
    let Some(descriptor) = descriptor(fd) else {
        return real();
    };
    if descriptor.state.load(Ordering::Relaxed) != CLOSED {
        call.reads(slot(fd), GRAIN);
        return real();
    }
    let result = real();
    if descriptor.state.load(Ordering::Relaxed) == CLOSED {
        match result.failed() {
            true if Errno::now() == libc::EBADF => call.reads(slot(fd), GRAIN),
            true => {}
            false => {
                descriptor.state.store(OPEN, Ordering::Relaxed);
                descriptor.thread.store(0, Ordering::Relaxed);
                forget(fd);
            }
        }
    }
    result
}

/// Puts something into a descriptor.
pub(crate) fn puts<R: Outcome>(call: &Call, fd: c_int, real: impl FnOnce() -> R) -> R {
    uses(call, fd, || {
        hands_on(call, fd);
        real()
    })
}

/// Puts something into a descriptor when there is room. It is handed on then: until it is
/// the thread's turn, others get what was put there before, and learn no more than that.
pub(crate) fn puts_when_ready<R: Outcome>(call: &Call, fd: c_int, real: impl FnOnce() -> R) -> R {
    uses(call, fd, || {
        call.waits(fd, libc::POLLOUT, || {
            hands_on(call, fd);
            real()
        })
    })
}

/// Gets something out of it.
pub(crate) fn gets<R: Outcome>(call: &Call, fd: c_int, real: impl FnOnce() -> R) -> R {
    let result = uses(call, fd, || call.waits(fd, libc::POLLIN, real));
    if !result.failed() {
        learns(call, fd);
    }
    result
}

/// Whether the call that is going on fails where it would have to wait.
pub(super) fn fails_instead_of_waiting(fd: c_int, events: i16) -> bool {
    let impatient = thread::current().is_some_and(|thread| thread.impatient);
    let _errno = Errno::keep();
    // SAFETY: asks.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    impatient || flags < 0 || flags & libc::O_NONBLOCK != 0 || is_wrong_way(flags, events)
}

/// Whether a descriptor can be read and is to be written, or the other way round: that
/// fails at once.
pub(crate) fn leads_wrong_way(fd: c_int, events: i16) -> bool {
    // SAFETY: asks.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    flags >= 0 && is_wrong_way(flags, events)
}

fn is_wrong_way(flags: c_int, events: i16) -> bool {
    let wrong_way = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => libc::POLLOUT,
        libc::O_WRONLY => libc::POLLIN,
        _ => 0,
    };
    events & wrong_way != 0
}

/// While it lasts, calls of the current thread fail where they would have to wait,
/// if the flags say so.
pub(super) struct Impatient(bool);

impl Impatient {
    pub(super) fn begin(flags: c_int) -> Self {
        Self::begin_if(flags & libc::MSG_DONTWAIT != 0)
    }

    pub(super) fn begin_if(now: bool) -> Self {
        let before = thread::current().map(|t| std::mem::replace(&mut t.impatient, now));
        Self(before.unwrap_or(false))
    }
}

impl Drop for Impatient {
    fn drop(&mut self) {
        if let Some(thread) = thread::current() {
            thread.impatient = self.0;
        }
    }
}

/// Hands on what the thread knows to whoever gets something out of it.
pub(crate) fn hands_on(call: &Call, fd: c_int) {
    if let Some(channel) = channel(fd) {
        call.hands_on(channel);
        if NAMES_ARE_TOLD.load(Ordering::Relaxed) && never_waits(fd) {
            names_change(call);
        }
    }
}

/// Learns what was handed on.
pub(crate) fn learns(call: &Call, fd: c_int) {
    let (Some(channel), Some(descriptor)) = (channel(fd), descriptor(fd)) else {
        return;
    };
    call.learns(channel);
    if descriptor.tells_of_names.load(Ordering::Relaxed) {
        name_sought(call);
    }
    let signals = descriptor.tells_of_signals.load(Ordering::Relaxed);
    for signal in signalling::each(signals) {
        call.learns(signals::letters(signal));
    }
}

/// Names of files are given, changed or taken away: whoever opens or looks for
/// one may find out by that.
pub(crate) fn names_change(call: &Call) {
    call.hands_on(at(NAMES));
}

/// A file is about to be opened, which is new or not: whoever finds it may find out by that,
/// and whoever is told of files is told of this.
pub(crate) fn name_opened(call: &Call, is_new: impl FnOnce() -> bool) {
    if NAMES_ARE_TOLD.load(Ordering::Relaxed) || is_new() {
        names_change(call);
    }
}

/// A name was looked for.
pub(crate) fn name_sought(call: &Call) {
    call.learns(at(NAMES));
}

/// A connection is offered or asked for.
pub(crate) fn offers_connection(call: &Call) {
    call.hands_on(at(SOCKETS));
}

/// A connection has come about.
pub(crate) fn connected(call: &Call) {
    call.learns(at(SOCKETS));
}

/// Which descriptor an event of an `epoll` is about, by what the program gave it
/// to be told: a program need not read what it is told there is to read.
static WATCHED: Locked<Option<FxHashMap<(c_int, u64), c_int>>> = Locked::new(None);

/// A descriptor is watched from now on.
pub(crate) fn watch(epoll: c_int, fd: c_int, data: u64) {
    let _visit = Visit::begin();
    if !leads_nowhere_else(fd)
        && let Some(descriptor) = descriptor(epoll)
    {
        descriptor.paired.store(0, Ordering::Relaxed);
    }
    WATCHED
        .lock()
        .get_or_insert_default()
        .insert((epoll, data), fd);
}

/// A new `epoll` watches nothing.
pub(crate) fn watch_nothing(epoll: c_int) {
    let _visit = Visit::begin();
    if let Some(watched) = WATCHED.lock().as_mut() {
        watched.retain(|key, _| key.0 != epoll);
    }
}

/// The descriptor that such an event is about.
pub(crate) fn watched(epoll: c_int, data: u64) -> Option<c_int> {
    let _visit = Visit::begin();
    WATCHED.lock().as_ref()?.get(&(epoll, data)).copied()
}
