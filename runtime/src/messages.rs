//! What atomics hand on: the clock of each atomic location that was written with
//! release order, or after a fence.
//!
//! Programs have many, and they come and go with the objects they count: so they
//! are small, are found through the [`cell`](crate::cell) of the eight bytes around
//! their address, and are guarded by it. Freed ones stay with the thread that freed
//! them, with the room that their clocks take.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use racehound_detect::order::AtomicCell;

use crate::cell::Cell;
use crate::memory;
use crate::spin::Locked;

struct Message {
    address: usize,
    /// What follows in the list of the cell.
    next: u32,
    order: AtomicCell,
}

/// Tells messages from other objects in the list of a cell. They come first.
const MESSAGE: u32 = 1 << 31;

const MOST: usize = 1 << 26;
/// Messages that a thread takes at once.
const BATCH: u32 = 32;

static BASE: AtomicUsize = AtomicUsize::new(0);
/// Handed out. Message 0 is none.
static USED: AtomicU32 = AtomicU32::new(1);
static LEFT_OVER: Locked<Spare> = Locked::new(Spare { first: 0 });

/// Reserves room for messages.
pub(crate) fn init() {
    let bytes = MOST * size_of::<Message>();
    BASE.store(memory::reserve(bytes) as usize, Ordering::Relaxed);
}

#[inline(always)]
fn slot(number: u32) -> *mut Message {
    let base = BASE.load(Ordering::Relaxed) as *mut Message;
    // SAFETY: numbers are below MOST.
    unsafe { base.add(number as usize) }
}

/// Free messages of a thread.
#[derive(Default)]
pub(crate) struct Spare {
    first: u32,
}

impl Spare {
    #[inline]
    fn take(&mut self) -> u32 {
        if self.first == 0 {
            self.refill();
        }
        let number = self.first;
        // SAFETY: a free message of ours.
        self.first = unsafe { (*slot(number)).next };
        number
    }

    fn give(&mut self, number: u32) {
        // SAFETY: a message that is in no list.
        unsafe {
            (*slot(number)).order.clear();
            (*slot(number)).next = self.first;
        }
        self.first = number;
    }

    #[cold]
    fn refill(&mut self) {
        std::mem::swap(self, &mut *LEFT_OVER.lock());
        if self.first != 0 {
            return;
        }
        let start = USED.fetch_add(BATCH, Ordering::Relaxed);
        if (start + BATCH) as usize > MOST {
            crate::fatal("more than sixty million atomics that hand on something at once");
        }
        for number in start..start + BATCH {
            let fresh = Message {
                address: 0,
                next: self.first,
                order: AtomicCell::default(),
            };
            // SAFETY: nobody had it before.
            unsafe { slot(number).write(fresh) };
            self.first = number;
        }
    }
}

/// A thread ends: others may have its free messages.
pub(crate) fn give_back(spare: &mut Spare) {
    let mut left_over = LEFT_OVER.lock();
    while spare.first != 0 {
        let number = spare.take();
        left_over.give(number);
    }
}

/// The message at an address of a held cell.
#[inline]
pub(crate) fn find(cell: &mut Cell, address: usize) -> Option<&mut AtomicCell> {
    let mut link = cell.first_object();
    while link & MESSAGE != 0 {
        // SAFETY: messages in its list are guarded by the cell, which is held.
        let message = unsafe { &mut *slot(link & !MESSAGE) };
        if message.address == address {
            return Some(&mut message.order);
        }
        link = message.next;
    }
    None
}

/// A new message at an address of a held cell, which has none there.
#[inline]
pub(crate) fn add<'a>(cell: &'a mut Cell, address: usize, spare: &mut Spare) -> &'a mut AtomicCell {
    let number = spare.take();
    put(cell, number, address);
    // SAFETY: guarded by the cell.
    unsafe { &mut (*slot(number)).order }
}

#[inline]
fn put(cell: &Cell, number: u32, address: usize) {
    // SAFETY: a message that is in no list.
    let message = unsafe { &mut *slot(number) };
    message.address = address;
    message.next = cell.first_object();
    cell.set_first_object(number | MESSAGE);
}

/// The other objects of a held cell, behind its messages.
pub(crate) fn behind(cell: &Cell) -> u32 {
    let mut link = cell.first_object();
    while link & MESSAGE != 0 {
        // SAFETY: guarded by the cell.
        link = unsafe { (*slot(link & !MESSAGE)).next };
    }
    link
}

/// Replaces the other objects of a held cell.
pub(crate) fn set_behind(cell: &Cell, objects: u32) {
    let (mut link, mut last) = (cell.first_object(), 0);
    while link & MESSAGE != 0 {
        last = link & !MESSAGE;
        // SAFETY: guarded by the cell.
        link = unsafe { (*slot(last)).next };
    }
    match last {
        0 => cell.set_first_object(objects),
        // SAFETY: guarded by the cell.
        last => unsafe { (*slot(last)).next = objects },
    }
}

/// Whether a link in the list of a cell leads to a message.
pub(crate) fn is_message(link: u32) -> bool {
    link & MESSAGE != 0
}

/// Forgets all messages of a held cell.
pub(crate) fn forget_all(cell: &Cell, spare: &mut Spare) {
    take_all(cell, |number| spare.give(number));
}

/// Takes all messages out of a held cell.
fn take_all(cell: &Cell, mut each: impl FnMut(u32)) {
    let mut link = cell.first_object();
    while link & MESSAGE != 0 {
        let number = link & !MESSAGE;
        // SAFETY: guarded by the cell.
        link = unsafe { (*slot(number)).next };
        each(number);
    }
    cell.set_first_object(link);
}

/// A message that was taken from its address and is at none.
pub(crate) struct Lifted(u32);

/// Takes all messages out of a held cell, to be put somewhere else.
pub(crate) fn lift(cell: &Cell) -> Vec<Lifted> {
    let mut lifted = Vec::new();
    take_all(cell, |number| lifted.push(Lifted(number)));
    lifted
}

impl Lifted {
    /// Where it was.
    pub(crate) fn address(&self) -> usize {
        // SAFETY: in no list, so ours.
        unsafe { (*slot(self.0)).address }
    }

    /// Puts it into a held cell.
    pub(crate) fn settle(self, cell: &Cell, address: usize) {
        put(cell, self.0, address);
    }
}
