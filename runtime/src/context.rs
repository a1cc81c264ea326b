//! Calling contexts: every stack that mattered, once.
//!
//! A context is a place in the program and the context of the call it is in: a
//! tree, shared by all threads, that only grows. Equal stacks are equal
//! numbers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::memory;

/// A stack, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct Context(pub(crate) u32);

impl Context {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self(0);
    /// Outside of all calls.
    pub(crate) const ROOT: Self = Self(1);
}

#[repr(C)]
struct Node {
    parent: AtomicU32,
    /// The next one with the same hash.
    next: AtomicU32,
    place: usize,
}

/// Contexts there can be: beyond, stacks are unknown.
const NODES: usize = 1 << 27;
const BUCKETS: usize = 1 << 20;

struct Tree {
    nodes: *mut Node,
    buckets: *const AtomicU32,
}

// SAFETY: nodes are written before they are published and never change; the
// rest is atomic.
unsafe impl Send for Tree {}
// SAFETY: as above.
unsafe impl Sync for Tree {}

static TREE: OnceLock<Tree> = OnceLock::new();
static USED: AtomicU32 = AtomicU32::new(2);

fn tree() -> &'static Tree {
    TREE.get_or_init(|| Tree {
        nodes: memory::reserve(NODES * size_of::<Node>()).cast(),
        buckets: memory::reserve(BUCKETS * size_of::<AtomicU32>()).cast(),
    })
}

impl Tree {
    fn node(&self, context: u32) -> &Node {
        // SAFETY: numbers are below NODES.
        unsafe { &*self.nodes.add(context as usize) }
    }

    fn bucket(&self, parent: u32, place: usize) -> &AtomicU32 {
        let hash = (place as u64 ^ u64::from(parent) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // SAFETY: below BUCKETS.
        unsafe { &*self.buckets.add((hash >> 44) as usize % BUCKETS) }
    }

    fn find(&self, first: u32, until: u32, parent: u32, place: usize) -> Option<u32> {
        let mut at = first;
        while at != until && at != 0 {
            let node = self.node(at);
            if node.place == place && node.parent.load(Ordering::Relaxed) == parent {
                return Some(at);
            }
            at = node.next.load(Ordering::Relaxed);
        }
        None
    }
}

/// The context of `place` in `parent`.
pub(crate) fn inside(parent: Context, place: usize) -> Context {
    let tree = tree();
    let bucket = tree.bucket(parent.0, place);
    let mut first = bucket.load(Ordering::Acquire);
    if let Some(known) = tree.find(first, 0, parent.0, place) {
        return Context(known);
    }
    let new = USED.fetch_add(1, Ordering::Relaxed);
    if new as usize >= NODES {
        USED.fetch_sub(1, Ordering::Relaxed);
        return Context::UNKNOWN;
    }
    // SAFETY: the number is ours alone until it is published.
    unsafe {
        tree.nodes.add(new as usize).write(Node {
            parent: AtomicU32::new(parent.0),
            next: AtomicU32::new(first),
            place,
        });
    }
    loop {
        match bucket.compare_exchange(first, new, Ordering::Release, Ordering::Acquire) {
            Ok(_) => return Context(new),
            Err(now) => {
                // Somebody was faster, perhaps with the same; then ours is lost.
                if let Some(known) = tree.find(now, first, parent.0, place) {
                    return Context(known);
                }
                first = now;
                tree.node(new).next.store(first, Ordering::Relaxed);
            }
        }
    }
}

impl Context {
    /// The place, and the context of the call it is in.
    pub(crate) fn split(self) -> Option<(usize, Context)> {
        if self <= Self::ROOT {
            return None;
        }
        let node = tree().node(self.0);
        Some((node.place, Self(node.parent.load(Ordering::Relaxed))))
    }

    /// The places, innermost first.
    pub(crate) fn places(self) -> impl Iterator<Item = usize> {
        let mut at = self;
        std::iter::from_fn(move || {
            let (place, parent) = at.split()?;
            at = parent;
            Some(place)
        })
    }
}
