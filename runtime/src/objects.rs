//! Synchronisation objects: whatever in the program's memory orders threads, but
//! for atomics, which are [`messages`].
//!
//! An object lives at the address the program knows it by. Its number is in the
//! [`cell`](crate::cell) of the eight bytes around that address, so finding it
//! takes two loads and no hashing, and memory that is freed takes its objects
//! along. Several objects may share eight bytes; they form a list.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use racehound_detect::order::SyncCell;
use racehound_trace::SyncId;

use crate::cell::{Cell, Spare};
use crate::context::Context;
use crate::memory;
use crate::messages;
use crate::shadow;
use crate::shared_memory::known_as;
use crate::spin::{Locked, Spin};
use crate::stamp::Stamp;
use crate::thread::Thread;

/// An object. Guarded by its own lock.
pub(crate) struct Object {
    lock: Spin,
    state: UnsafeCell<State>,
}

/// What is known of it.
#[derive(Default)]
pub(crate) struct State {
    /// Its number in reports and in sets of locks; never used twice.
    pub(crate) id: u32,
    pub(crate) address: usize,
    /// The next object in the same eight bytes.
    next: u32,
    pub(crate) order: SyncCell,
    /// Where it was made, as far as known.
    pub(crate) made: Context,
    pub(crate) mutex: Mutex,
}

/// What a lock must keep to be told wrong use from right.
#[derive(Default, Clone, Copy)]
pub(crate) struct Mutex {
    /// The thread that holds it exclusively, plus one.
    pub(crate) owner: u32,
    pub(crate) depth: u32,
    /// Threads that hold it for reading.
    pub(crate) readers: u32,
    /// Where it was taken last.
    pub(crate) taken: Context,
    pub(crate) recursive: bool,
    /// The program says so: it is there from the beginning to the end.
    pub(crate) is_static: bool,
    /// The program says so: its destruction counts where others' does not.
    pub(crate) is_not_static: bool,
    /// It was made by a call for that, where its object says.
    pub(crate) was_made: bool,
    /// Who made it, if that was told and is of interest.
    pub(crate) first_use: Stamp,
    /// The last access by its users, before they gave it back.
    pub(crate) last_use: Stamp,
    /// Wrong use was reported; once is enough.
    pub(crate) broken: bool,
    /// Its place in the graph of lock orders, plus one.
    pub(crate) node: u32,
    /// Its class, plus one, if somebody asked.
    pub(crate) class: u32,
}

const OBJECTS: usize = 1 << 24;

static BASE: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicU32 = AtomicU32::new(1);
static IDS: AtomicU32 = AtomicU32::new(0);
static FREE: Locked<Vec<u32>> = Locked::new(Vec::new());

/// Reserves room for objects.
pub(crate) fn init() {
    let bytes = OBJECTS * size_of::<Object>();
    BASE.store(memory::reserve(bytes) as usize, Ordering::Relaxed);
}

fn slot(number: u32) -> &'static Object {
    let base = BASE.load(Ordering::Relaxed) as *const Object;
    // SAFETY: numbers are below OBJECTS; zeroes, and a freed object, are valid.
    unsafe { &*base.add(number as usize) }
}

/// An object that is held by the current thread.
pub(crate) struct Held(&'static Object);

impl std::ops::Deref for Held {
    type Target = State;
    fn deref(&self) -> &State {
        // SAFETY: the lock is held.
        unsafe { &*self.0.state.get() }
    }
}

impl std::ops::DerefMut for Held {
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.state.get() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.lock.unlock();
    }
}

impl State {
    pub(crate) fn id(&self) -> SyncId {
        SyncId(self.id)
    }
}

/// Finds the object at an address in the list that begins with `first`.
fn find(first: u32, address: usize) -> Option<u32> {
    let mut at = first;
    while at != 0 {
        // SAFETY: the list changes only with the cell held, which the caller has.
        let state = unsafe { &*slot(at).state.get() };
        if state.address == address {
            return Some(at);
        }
        at = state.next;
    }
    None
}

/// The object of a held cell at an address, made if need be.
pub(crate) fn in_cell(cell: &Cell, address: usize, made: Context) -> u32 {
    let first = messages::behind(cell);
    if let Some(number) = find(first, address) {
        return number;
    }
    let recycled = FREE.lock().pop();
    let number = match recycled {
        Some(number) => number,
        None => {
            let number = USED.fetch_add(1, Ordering::Relaxed);
            if number as usize >= OBJECTS {
                crate::fatal("more than sixteen million synchronisation objects at once");
            }
            number
        }
    };
    let object = slot(number);
    object.lock.lock();
    // SAFETY: held.
    unsafe {
        object.state.get().write(State {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            address,
            next: first,
            made,
            ..State::default()
        });
    }
    object.lock.unlock();
    remember(unsafe { (*object.state.get()).id }, address, made);
    messages::set_behind(cell, number);
    number
}

/// The object at an address, held; made if need be.
pub(crate) fn at(thread: &mut Thread, address: usize, place: usize) -> Held {
    let address = known_as(address);
    let group = shadow::group(address);
    let number = match existing_fast(group, address) {
        Some(number) => number,
        None => {
            let made = thread.context(place);
            let cell = Cell::of(group, &mut thread.spare);
            let number = in_cell(&cell, address, made);
            cell.unlock();
            number
        }
    };
    let object = slot(number);
    object.lock.lock();
    Held(object)
}

/// Without taking the cell: right in nearly all cases, and confirmed.
fn existing_fast(group: &shadow::Group, address: usize) -> Option<u32> {
    let number = shadow::load(group)[0].as_cell()?;
    let first = crate::cell::object_of(number);
    if first == 0 || messages::is_message(first) {
        return None;
    }
    // SAFETY: objects are never unmapped; a wrong one is told by its address.
    let state = unsafe { &*slot(first).state.get() };
    (state.address == address && shadow::load(group)[0].as_cell() == Some(number)).then_some(first)
}

/// The object at an address, held, if there is one.
pub(crate) fn existing(address: usize) -> Option<Held> {
    let address = known_as(address);
    let group = shadow::group(address);
    let cell = Cell::existing(group)?;
    let number = find(messages::behind(&cell), address);
    cell.unlock();
    let object = slot(number?);
    object.lock.lock();
    Some(Held(object))
}

/// A lock that was held when its memory was given back, and where it was taken.
#[derive(Clone, Copy)]
pub(crate) struct Abandoned {
    pub(crate) id: u32,
    pub(crate) taken: Context,
}

/// Forgets all objects of a held cell: their memory is gone. A lock among them
/// that is held.
pub(crate) fn forget_all(cell: &Cell, spare: &mut messages::Spare) -> Option<Abandoned> {
    let mut abandoned = None;
    messages::forget_all(cell, spare);
    let mut at = cell.first_object();
    cell.set_first_object(0);
    while at != 0 {
        let object = slot(at);
        object.lock.lock();
        // SAFETY: held.
        let state = unsafe { &mut *object.state.get() };
        let next = state.next;
        if state.mutex.owner != 0 && !state.mutex.broken {
            abandoned = Some(Abandoned {
                id: state.id,
                taken: state.mutex.taken,
            });
        }
        if state.mutex.node != 0 {
            crate::deadlock::forget(state.mutex.node);
        }
        *state = State::default();
        object.lock.unlock();
        FREE.lock().push(at);
        at = next;
    }
    abandoned
}

/// Forgets the object at an address.
pub(crate) fn forget(thread: &mut Thread, address: usize) {
    let group = shadow::group(known_as(address));
    if let Some(cell) = Cell::existing(group) {
        forget_all(&cell, &mut thread.messages);
        let spare: &mut Spare = &mut thread.spare;
        cell.finish(group, spare);
    }
}

/// An object that was taken from its address and is at none.
pub(crate) enum Lifted {
    Object(u32),
    Message(messages::Lifted),
}

/// Takes the objects at some addresses out of the eight bytes at `address`.
/// Nobody uses them meanwhile.
pub(crate) fn lift(thread: &mut Thread, address: usize, which: Range<usize>) -> Vec<Lifted> {
    let group = shadow::group(address);
    let Some(cell) = Cell::existing(group) else {
        return Vec::new();
    };
    let mut lifted = Vec::new();
    let mut left = 0;
    let mut at = messages::behind(&cell);
    while at != 0 {
        // SAFETY: the list changes only with the cell held.
        let state = unsafe { &mut *slot(at).state.get() };
        let next = state.next;
        match which.contains(&state.address) {
            true => lifted.push(Lifted::Object(at)),
            false => {
                state.next = left;
                left = at;
            }
        }
        at = next;
    }
    let messages = messages::lift(&cell);
    cell.set_first_object(left);
    for message in messages {
        match which.contains(&message.address()) {
            true => lifted.push(Lifted::Message(message)),
            false => {
                let address = message.address();
                message.settle(&cell, address);
            }
        }
    }
    cell.finish(group, &mut thread.spare);
    lifted
}

/// Puts an object where it belongs, given where it was.
pub(crate) fn settle(thread: &mut Thread, lifted: Lifted, to: impl Fn(usize) -> usize) {
    let number = match lifted {
        Lifted::Object(number) => number,
        Lifted::Message(message) => {
            let address = to(message.address());
            let cell = Cell::of(shadow::group(address), &mut thread.spare);
            message.settle(&cell, address);
            return cell.unlock();
        }
    };
    let object = slot(number);
    object.lock.lock();
    // SAFETY: held.
    let state = unsafe { &mut *object.state.get() };
    state.address = to(state.address);
    let (id, address) = (state.id, state.address);
    let cell = Cell::of(shadow::group(address), &mut thread.spare);
    state.next = messages::behind(&cell);
    object.lock.unlock();
    messages::set_behind(&cell, number);
    cell.unlock();
    if let Some(past) = PAST.lock().get_mut(id as usize) {
        past.address = address;
    }
}

/// What reports say of an object that may be gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    pub(crate) address: usize,
    pub(crate) made: Context,
}

static PAST: Locked<Vec<Past>> = Locked::new(Vec::new());

fn remember(id: u32, address: usize, made: Context) {
    let mut past = PAST.lock();
    if past.len() <= id as usize {
        let nothing = Past {
            address: 0,
            made: Context::UNKNOWN,
        };
        past.resize(id as usize + 1, nothing);
    }
    past[id as usize] = Past { address, made };
}

/// Address and origin of the object with that id.
pub(crate) fn past(id: u32) -> Option<Past> {
    PAST.lock().get(id as usize).copied()
}

/// Notes where an object was made, once that is known better.
pub(crate) fn made(id: u32, made: Context) {
    if let Some(past) = PAST.lock().get_mut(id as usize) {
        past.made = made;
    }
}

/// Calls `each` with the accesses that objects remember; nobody else is in the
/// runtime.
pub(crate) fn each_stamp(mut each: impl FnMut(&mut Stamp)) {
    for number in 1..USED.load(Ordering::Relaxed) {
        // SAFETY: nobody else touches objects meanwhile; those of none are zeroes.
        let mutex = unsafe { &mut (*slot(number).state.get()).mutex };
        each(&mut mutex.first_use);
        each(&mut mutex.last_use);
    }
}
