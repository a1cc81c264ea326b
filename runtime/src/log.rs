//! The accesses of a thread that is recorded, as they come, and its calls where they
//! are wanted.
//!
//! The hot path in [`entry`](crate::entry) leaves two words for each on a page of
//! the thread's own: what was accessed, and from where; the top byte of the second
//! says how, or that a function is entered or left there. When the page is full, and
//! before anything else of the thread is told, the entries become events of the trace.
//!
//! # Signals
//! A handler may come while the hot path is about to leave an entry: it knows
//! where, and has not said so yet. So the entries are taken before a handler begins
//! and at its end, and then the cursor and the half-made entry are made what they
//! were, with blanks before.

use racehound_trace::Loc;

use crate::benign;
use crate::tape::{self, Recorder};
use crate::thread::Visit;
use crate::tls::{Hot, hot};

/// An access, or a function that is entered or left.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Entry {
    address: usize,
    /// The place, and the kind of access in the top byte; 0 if there is none.
    what: usize,
}

/// The hot path knows these sizes.
pub(crate) const PAGE: usize = 4096;
const _: () = assert!(size_of::<Entry>() == 16 && size_of::<Page>() == PAGE);

/// Entries of a thread. The first stays unused: a cursor at the beginning of a
/// page is one at the end of the page before, or nowhere.
#[repr(C, align(4096))]
struct Page([Entry; PAGE / size_of::<Entry>()]);

const KIND_AT: u32 = 56;
/// Kinds below are accesses: reads of these sizes, and writes.
const CALL: usize = SIZES.len();
const WRITE: usize = CALL / 2;
const SIZES: [u32; 10] = [1, 2, 4, 8, 16, 1, 2, 4, 8, 16];

/// What a thread did at a place.
pub(crate) enum Note {
    Access {
        loc: Loc,
        size: u32,
        write: bool,
    },
    /// It entered the function of the place.
    Call {
        /// Where it was called.
        from: usize,
    },
    /// It left it.
    Return,
}

impl Entry {
    #[inline(always)]
    fn note(&self) -> (usize, Note) {
        let place = self.what & ((1 << KIND_AT) - 1);
        let note = match self.what >> KIND_AT {
            kind @ ..CALL => Note::Access {
                loc: Loc(self.address as u64),
                size: SIZES[kind],
                write: kind >= WRITE,
            },
            CALL => Note::Call { from: self.address },
            _ => Note::Return,
        };
        (place, note)
    }
}

/// A thread's log.
#[derive(Default)]
pub(crate) struct Log {
    page: Option<Box<Page>>,
    /// Whether what is in it counts; else the program wants it ignored.
    ignored: bool,
}

/// What a handler has interrupted.
#[derive(Default)]
pub(crate) struct Interrupted {
    cursor: usize,
    entry: Entry,
}

impl Log {
    /// Where the first entry goes; 0 if there is no page.
    pub(crate) fn start(&self) -> usize {
        let page = self.page.as_deref();
        page.map_or(0, |page| &raw const page.0[1] as usize)
    }

    /// Makes the entries events, and room for others.
    pub(crate) fn drain(&mut self, hot: *mut Hot, thread: u32, recorder: &mut Recorder) {
        // SAFETY: our own block.
        let cursor = unsafe { std::mem::replace(&mut (*hot).log, self.start()) };
        self.tell(cursor, thread, recorder);
    }

    /// Makes the entries up to a cursor events.
    pub(crate) fn tell(&self, cursor: usize, thread: u32, recorder: &mut Recorder) {
        let Some((end, page)) = self.index(cursor).zip(self.page.as_deref()) else {
            return;
        };
        if !tape::is_recording() {
            return;
        }
        let entries = page.0[1..end].iter().filter(|entry| entry.what != 0);
        // Calls are told of in any case: one may be ignored and its end not.
        let is_told = |(_, note): &(usize, Note)| match note {
            Note::Access { loc, size, .. } => {
                !self.ignored && !benign::holds(loc.0 as usize, *size as usize)
            }
            Note::Call { .. } | Note::Return => true,
        };
        recorder.notes(thread, entries.map(Entry::note).filter(is_told));
    }

    /// From now on, what comes is ignored or not. There are no entries.
    pub(crate) fn set_ignored(&mut self, ignored: bool) {
        self.ignored = ignored;
    }

    /// A handler begins. The entries up to the cursor have been taken.
    pub(crate) fn interrupt(&self, cursor: usize) -> Interrupted {
        let entry = self
            .index(cursor)
            .and_then(|at| self.page.as_ref()?.0.get(at));
        Interrupted {
            cursor,
            entry: entry.copied().unwrap_or_default(),
        }
    }

    /// It ends, and its entries have been taken.
    pub(crate) fn resume(&mut self, hot: *mut Hot, interrupted: &Interrupted) {
        let Some(at) = self.index(interrupted.cursor) else {
            return;
        };
        if let Some(page) = &mut self.page {
            page.0.fill(Entry::default());
            if let Some(entry) = page.0.get_mut(at) {
                *entry = interrupted.entry;
            }
        }
        // SAFETY: our own block.
        unsafe { (*hot).log = interrupted.cursor };
    }

    /// Which entry a cursor is at, if it is at one of the page.
    fn index(&self, cursor: usize) -> Option<usize> {
        let start = self.page.as_deref()?.0.as_ptr() as usize;
        Some(cursor.checked_sub(start)? / size_of::<Entry>())
    }
}

/// Makes room for an entry of the current thread. False if it has ended.
pub(crate) extern "C" fn make_room() -> bool {
    let hot = hot();
    // SAFETY: our own block.
    if unsafe { (*hot).gone() } {
        return false;
    }
    let visit = Visit::begin();
    let thread = visit.thread();
    thread.settle_log();
    if thread.log.page.is_none() {
        thread.log.page = Some(Box::new(Page([Entry::default(); PAGE / 16])));
        // SAFETY: our own block.
        unsafe { (*hot).log = thread.log.start() };
    }
    true
}
